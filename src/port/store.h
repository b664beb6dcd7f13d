/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A cache of Kubernetes objects of one kind, with indexes. Objects are decoded blocks that begin with `struct meta`;
 * the store owns them. Filled by an informer (kube/) or by the simulation, read by the shells, all on the core thread.
 *
 * What holds: an object is found under its key and under every index key it has, or not at all; readers see either
 * the object before a change or after it; a pointer that a reader got is good until the next put or remove.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/time.h"
#include "model/meta.h"

#define STORE_INDEXES_MAX 4
#define STORE_KEY_MAX (253 + 1 + 253 + 1) /* namespace/name and NUL */

struct store;

/* An index calls add() for each key under which the object is to be found. */
typedef void (*store_index_add)(void *arg, const char *key);
typedef void (*store_index_fn)(const void *object, store_index_add add, void *arg);

struct store_kind {
	const char *name; /* "pods" */
	store_index_fn indexes[STORE_INDEXES_MAX];
	bool custom; /* has a definition that may change: then a new list shows the same version of an object otherwise */
};

enum store_event { STORE_ADDED, STORE_CHANGED, STORE_REMOVED };

/* Called after the change: was is NULL for ADDED, is NULL for REMOVED; `was` is freed after the call. Marks keys dirty,
 * decides nothing. */
typedef void (*store_listener)(void *arg, enum store_event event, const void *was, const void *is);

struct store *store_new(const struct store_kind *kind);
void store_free(struct store *s);
DEFINE_FREEP(struct store, store_free)

void store_listen(struct store *s, store_listener listener, void *arg); /* several may; in the order of listening */

/* Reading. */
const void *store_get(const struct store *s, const char *ns, const char *name);
const void *store_get_key(const struct store *s, const char *key); /* "ns/name", "name" for cluster-wide ones */
size_t store_count(const struct store *s);
const void *store_next(const struct store *s, size_t *i); /* walk, in order of insertion: i starts at 0 */

/* Objects under a key of index number `index`: walk with a cursor that starts as { 0 }. No change during the walk. */
struct store_cursor {
	const void *at;
	bool started;
};
const void *store_find(const struct store *s, unsigned index, const char *key, struct store_cursor *cursor);
size_t store_find_count(const struct store *s, unsigned index, const char *key);

const char *meta_key(const struct meta *m, char key[STORE_KEY_MAX]);

/* Writing: takes the object over. Puts of the same resourceVersion as stored change nothing and call nobody. */
void store_put(struct store *s, void *object, size_t size);
void store_remove(struct store *s, const char *ns, const char *name);

/* A full list arrives: begin, put every object, end. At the end what was not put since begin is removed. An abandoned
 * list (begin again without end) removes nothing. */
void store_replace_begin(struct store *s);
void store_replace_end(struct store *s);
/* The list has this one, but nobody could read it: what is stored, if anything, stays. */
void store_keep(struct store *s, const char *ns, const char *name);

/* Not synced from now on, until the next full list has come. What is stored stays. */
void store_doubt(struct store *s);

/* Freshness. Not synced until the first full list; `stale_since` is when the source was last known to be alive
 * (monotonic), so that a reader can refuse to decide from old news. */
bool store_synced(const struct store *s);
usec_t store_seen_alive(const struct store *s);
void store_alive(struct store *s, usec_t mono);

size_t store_memory(const struct store *s); /* bytes: objects, entries, tables */
