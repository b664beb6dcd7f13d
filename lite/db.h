/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The store: all objects of the cluster as JSON text, in one collection per resource, ordered by key; one counter of
 * resourceVersions for all; and for each collection the last changes, for watches and for lists of an earlier moment. One
 * thread, no locks.
 *
 * A change is in the collections at once, in the journal and with the listeners at db_commit(). Until then nobody outside
 * may learn of it. An object never changes: a new version is a new object, and whoever holds a reference to the old
 * one keeps it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"
#include "base/map.h"
#include "lite/journal.h"

#define DB_KEY_MAX JOURNAL_NAME_MAX
#define HISTORY_EVENTS_MAX 8192            /* changes kept per collection */
#define HISTORY_BYTES_MAX ((size_t)12 << 20) /* and their text */

struct item {
	unsigned refs;
	uint32_t len;    /* of text */
	uint32_t ns_len; /* 0: no namespace */
	uint64_t rv;
	const char *key;  /* "namespace/name", or "name" */
	const char *name; /* inside key */
	char text[];      /* compact JSON, NUL-terminated, its resourceVersion is rv */
};

struct item *item_ref(struct item *o);
void item_unref(struct item *o);
DEFINE_FREEP(struct item, item_unref)

/* An object that is in no store. ns NULL or "": no namespace. The text is copied. */
struct item *item_new(const char *ns, const char *name, const char *text, size_t len, uint64_t rv);

bool item_in_ns(const struct item *o, const char *ns); /* ns NULL or "": any */

enum change { CHANGE_ADDED, CHANGE_MODIFIED, CHANGE_DELETED };

struct event {
	uint64_t number; /* of the collection's changes, from 0 on */
	uint64_t rv;
	enum change change;
	struct item *item;  /* as it is now; of a deleted one, as it went */
	struct item *prev; /* as it was; NULL when added */
};

struct collection {
	struct db *db;
	char *name; /* "pods", "leases.coordination.k8s.io" */
	struct item **items; /* ordered by key */
	size_t n, size;
	size_t bytes; /* of their text */

	/* History: a ring of the last changes; the n-th change ever of this collection is at [n % ring_size]. */
	struct event *ring;
	size_t ring_size;
	uint64_t first, next; /* numbers: the oldest change kept, and the one to come */
	uint64_t told;        /* number: changes from this one on are not committed */
	size_t ring_bytes;
	uint64_t floor; /* rv: changes up to this one may be missing */

	struct link listeners;
};

struct db {
	struct map collections;
	uint64_t rv;
	uint64_t start; /* rv: older changes are in no history */
	struct journal *journal; /* NULL: not on disk */
	struct link listeners;   /* to every collection */
	struct pending *pending; /* changes not yet committed, in order */
	size_t n_pending, pending_size;
	bool in_commit;
	void (*wake)(void *arg); /* told of the first change after a commit; NULL: nobody */
	void *wake_arg;
};

/* Called for each committed change. May not change the store: it notes, and acts later. */
struct listener {
	struct link link;
	void (*changed)(struct listener *l, struct collection *c, const struct event *e);
};

struct db *db_new(void);
void db_free(struct db *s);
DEFINE_FREEP(struct db, db_free)

/* Replays the journal at path into the (still empty) store and keeps it from now on. */
int db_open_journal(struct db *s, const char *path, bool sync, uint64_t *ret_cut, struct err *err);

struct collection *db_collection(struct db *s, const char *name); /* made when missing */
void db_listen(struct link *listeners, struct listener *l); /* to store->listeners or collection->listeners */

/* The resourceVersion that the next change gets; its text must carry it. */
uint64_t db_next_rv(const struct db *s);

/* Creates or replaces. ns NULL or "": no namespace. The text is copied. Returns the stored object (borrowed). */
struct item *db_put(struct collection *c, const char *ns, const char *name, const char *text, size_t len);

/* Removes; text is the object as watchers see it go, with the next resourceVersion. It must exist. */
void db_delete(struct collection *c, const struct item *o, const char *text, size_t len);

/* Writes the journal and tells the listeners. An error is final: what was not committed must not be answered. */
int db_commit(struct db *s, struct err *err);
bool db_pending(const struct db *s);

/* Rewrites the journal when it has grown far over what is alive. */
int db_tidy(struct db *s, struct err *err);

struct item *db_get(const struct collection *c, const char *ns, const char *name); /* borrowed; NULL */

/* The objects of a namespace (or all) from key `from` on ("" or NULL: all), in order, now. Borrowed, valid until the
 * next change. */
struct item *const *db_span(const struct collection *c, const char *ns, const char *from, size_t *ret_n);

/* The same as of an earlier moment: -ESTALE when the history does not reach back. The array is the caller's, the
 * objects are borrowed as above. */
int db_span_at(const struct collection *c, uint64_t rv, const char *ns, const char *from, struct item ***ret,
               size_t *ret_n);

/* The number of the first change after rv; -ESTALE when some may be missing. */
int db_seek(const struct collection *c, uint64_t rv, uint64_t *ret_number);
const struct event *db_event(const struct collection *c, uint64_t number); /* NULL: no longer, or not yet, there */

/* Forgets the history, as etcd's compaction does. c NULL: of all collections. */
void db_forget(struct db *s, struct collection *c);
