/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A hash map from text to pointer. Keys are not copied: they live in the value, as long as it is in the map (the map
 * borrows both, and frees neither). Walking it goes in the order of insertion, whatever the hash's seed, so that what
 * a walk decides can be replayed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_entry {
	const char *key; /* NULL: removed */
	void *value;
	uint32_t hash;
};

struct map {
	struct map_entry *entries; /* in order of insertion, with holes */
	uint32_t *slots;           /* index + 1 into entries, 0 = free; open addressing */
	size_t n_slots;            /* a power of two */
	size_t n_entries;          /* used part of entries, holes included */
	size_t count;              /* live ones */
};

#define MAP_INIT ((struct map) { 0 })

void map_done(struct map *m); /* forgets all, frees the table, not the values */

void *map_get(const struct map *m, const char *key); /* NULL when absent */

/* Puts value under key; returns what it replaced (its key is no longer used) or NULL. value may not be NULL. */
void *map_put(struct map *m, const char *key, void *value);

/* Removes; returns the value that was there or NULL. */
void *map_remove(struct map *m, const char *key);

static inline size_t map_count(const struct map *m)
{
	return m->count;
}

/* Walks the map: `size_t i = 0; while ((v = map_next(m, &i)))`. Removing the one just returned is allowed. */
void *map_next(const struct map *m, size_t *i);

/* The hash that maps use, for other tables of names: keyed once per process, so that a client that picks names cannot
 * pick collisions. */
uint32_t map_hash(const char *key);

/* Bytes of the table itself, for metrics. */
size_t map_memory(const struct map *m);
