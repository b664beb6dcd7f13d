/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/map.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/rand.h"

#define FIRST_SLOTS 8

/* FNV-1a mixed with the seed and finished with a strong bit mixer; keys are short names. */
static uint64_t hash_seed;

__attribute__((constructor)) static void seed_once(void)
{
	rand_secure(&hash_seed, sizeof(hash_seed));
}

uint32_t map_hash(const char *key)
{
	uint64_t h = hash_seed;

	for (; *key; key++)
		h = (h ^ (unsigned char)*key) * 0x100000001b3;
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93;
	h ^= h >> 32;
	return (uint32_t)h;
}

void map_done(struct map *m)
{
	free(m->entries);
	free(m->slots);
	*m = MAP_INIT;
}

/* The slot that holds key, or the free slot where it would go. */
static size_t find_slot(const struct map *m, const char *key, uint32_t hash)
{
	size_t i = hash & (m->n_slots - 1);

	while (m->slots[i]) {
		const struct map_entry *e = &m->entries[m->slots[i] - 1];

		if (e->key && e->hash == hash && strcmp(e->key, key) == 0)
			break;
		i = (i + 1) & (m->n_slots - 1);
	}
	return i;
}

void *map_get(const struct map *m, const char *key)
{
	size_t i;

	if (!m->count)
		return NULL;
	i = find_slot(m, key, map_hash(key));
	return m->slots[i] ? m->entries[m->slots[i] - 1].value : NULL;
}

/* Makes room for one more: drops the holes, and grows when more than half would be in use. */
static void make_room(struct map *m)
{
	size_t n_slots = m->n_slots ? m->n_slots : FIRST_SLOTS, n = 0;

	while (n_slots < (m->count + 1) * 2)
		n_slots *= 2;
	while (n_slots > FIRST_SLOTS && n_slots > (m->count + 1) * 8)
		n_slots /= 2;
	for (size_t i = 0; i < m->n_entries; i++)
		if (m->entries[i].key)
			m->entries[n++] = m->entries[i];
	assert(n == m->count);
	m->n_entries = n;
	m->entries = mem_realloc_n(m->entries, n_slots / 2 + 1, sizeof(*m->entries));
	free(m->slots);
	m->slots = mem_alloc_n(n_slots, sizeof(*m->slots));
	m->n_slots = n_slots;
	for (size_t i = 0; i < n; i++) {
		size_t slot = m->entries[i].hash & (n_slots - 1);

		while (m->slots[slot])
			slot = (slot + 1) & (n_slots - 1);
		m->slots[slot] = (uint32_t)(i + 1);
	}
}

void *map_put(struct map *m, const char *key, void *value)
{
	uint32_t hash = map_hash(key);
	size_t slot;

	assert(value);
	if (m->n_slots) {
		slot = find_slot(m, key, hash);
		if (m->slots[slot]) {
			struct map_entry *e = &m->entries[m->slots[slot] - 1];
			void *old = e->value;

			e->key = key;
			e->value = value;
			return old;
		}
	}
	if (m->n_entries >= m->n_slots / 2)
		make_room(m);
	slot = find_slot(m, key, hash);
	m->entries[m->n_entries] = (struct map_entry) { key, value, hash };
	m->slots[slot] = (uint32_t)(++m->n_entries);
	m->count++;
	return NULL;
}

void *map_remove(struct map *m, const char *key)
{
	struct map_entry *e;
	size_t slot;

	if (!m->count)
		return NULL;
	slot = find_slot(m, key, map_hash(key));
	if (!m->slots[slot])
		return NULL;
	/* The slot keeps pointing at the hole: it is the tombstone, until make_room() clears both. */
	e = &m->entries[m->slots[slot] - 1];
	e->key = NULL;
	m->count--;
	return e->value;
}

void *map_next(const struct map *m, size_t *i)
{
	while (*i < m->n_entries) {
		const struct map_entry *e = &m->entries[(*i)++];

		if (e->key)
			return e->value;
	}
	return NULL;
}

size_t map_memory(const struct map *m)
{
	return m->n_slots * sizeof(*m->slots) + (m->n_slots / 2 + 1) * sizeof(*m->entries);
}
