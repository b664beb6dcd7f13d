/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "port/store.h"

#include <assert.h>
#include <stdio.h>

#include "base/map.h"
#include "base/str.h"

#define LISTENERS_MAX 8

struct entry;

/* All objects under one key of one index, in the order in which they came under it. */
struct bucket {
	struct node *first, *last;
	size_t count;
	char key[];
};

/* One object in one bucket. */
struct node {
	struct entry *entry;
	struct bucket *bucket;
	struct node *next, *prev;
	unsigned index;
};

struct entry {
	void *object; /* begins with struct meta */
	struct node *nodes;
	uint32_t n_nodes;
	uint32_t round; /* of the last full list that had it, or of the put */
	size_t size;
	char key[];
};

struct store {
	const struct store_kind *kind;
	struct map by_key;
	struct map buckets[STORE_INDEXES_MAX];
	struct {
		store_listener call;
		void *arg;
	} listeners[LISTENERS_MAX];
	unsigned n_listeners;
	uint32_t round;
	bool replacing, synced;
	bool telling; /* listeners run: nobody may write */
	usec_t alive;
	size_t bytes; /* objects, entries, nodes, buckets */
};

struct store *store_new(const struct store_kind *kind)
{
	struct store *s = NEW(struct store);

	s->kind = kind;
	return s;
}

void store_listen(struct store *s, store_listener listener, void *arg)
{
	assert(s->n_listeners < LISTENERS_MAX);
	s->listeners[s->n_listeners].call = listener;
	s->listeners[s->n_listeners++].arg = arg;
}

static void tell(struct store *s, enum store_event event, const void *was, const void *is)
{
	s->telling = true;
	for (unsigned i = 0; i < s->n_listeners; i++)
		s->listeners[i].call(s->listeners[i].arg, event, was, is);
	s->telling = false;
}

static const char *make_key(const char *ns, const char *name, char key[STORE_KEY_MAX])
{
	if (str_empty(ns))
		snprintf(key, STORE_KEY_MAX, "%s", name);
	else
		snprintf(key, STORE_KEY_MAX, "%s/%s", ns, name);
	return key;
}

const char *meta_key(const struct meta *m, char key[STORE_KEY_MAX])
{
	return make_key(m->ns, str_or(m->name, ""), key);
}

/* ---- indexes ---- */

static void node_unlink(struct store *s, struct node *n)
{
	struct bucket *b = n->bucket;

	*(n->prev ? &n->prev->next : &b->first) = n->next;
	*(n->next ? &n->next->prev : &b->last) = n->prev;
	if (--b->count == 0) {
		map_remove(&s->buckets[n->index], b->key);
		s->bytes -= sizeof(*b) + strlen(b->key) + 1;
		free(b);
	}
}

static void node_link(struct node *n)
{
	struct bucket *b = n->bucket;

	n->next = NULL;
	n->prev = b->last;
	*(n->prev ? &n->prev->next : &b->first) = n;
	b->last = n;
	b->count++;
}

static void leave_indexes(struct store *s, struct entry *e)
{
	for (uint32_t i = 0; i < e->n_nodes; i++)
		node_unlink(s, &e->nodes[i]);
	s->bytes -= e->n_nodes * sizeof(*e->nodes);
	free(e->nodes);
	e->nodes = NULL;
	e->n_nodes = 0;
}

/* The keys of an object, gathered before anything is linked: nodes move while their array grows. */
struct gather {
	struct store *s;
	const struct entry *entry;
	struct node *nodes;
	uint32_t n, size;
	unsigned index;
	bool same; /* so far the keys are those that the entry has */
};

static void compare_key(void *arg, const char *key)
{
	struct gather *g = arg;
	const struct node *n = g->n < g->entry->n_nodes ? &g->entry->nodes[g->n] : NULL;

	g->same = g->same && n && n->index == g->index && str_eq(n->bucket->key, key);
	g->n++;
}

static void gather_key(void *arg, const char *key)
{
	struct gather *g = arg;
	struct bucket *b = map_get(&g->s->buckets[g->index], key);

	if (!b) {
		size_t len = strlen(key) + 1;

		b = mem_alloc(sizeof(*b) + len);
		memcpy(b->key, key, len);
		map_put(&g->s->buckets[g->index], b->key, b);
		g->s->bytes += sizeof(*b) + len;
	}
	if (g->n == g->size) {
		g->size = g->size ? 2 * g->size : 4;
		g->nodes = mem_realloc_n(g->nodes, g->size, sizeof(*g->nodes));
	}
	g->nodes[g->n++] = (struct node) { .bucket = b, .index = g->index };
}

static void each_key(struct gather *g, const void *object, store_index_add add)
{
	const store_index_fn *indexes = g->s->kind->indexes;

	for (g->index = 0; g->index < STORE_INDEXES_MAX; g->index++)
		if (indexes[g->index])
			indexes[g->index](object, add, g);
}

/* Puts the entry under the keys of its object. What is the same as before stays untouched. */
static void enter_indexes(struct store *s, struct entry *e)
{
	struct gather g = { .s = s, .entry = e, .same = true };

	each_key(&g, e->object, compare_key);
	if (g.same && g.n == e->n_nodes)
		return;
	leave_indexes(s, e);
	g.n = 0;
	each_key(&g, e->object, gather_key);
	for (uint32_t i = 0; i < g.n; i++) {
		struct node n = g.nodes[i];

		/* a key that the index gave twice: its bucket ends with this entry already */
		if (n.bucket->last && n.bucket->last->entry == e)
			continue;
		n.entry = e;
		g.nodes[e->n_nodes] = n;
		node_link(&g.nodes[e->n_nodes++]);
	}
	if (e->n_nodes)
		e->nodes = g.nodes;
	else
		free(g.nodes);
	s->bytes += e->n_nodes * sizeof(*e->nodes);
}

/* ---- writing ---- */

static void entry_free(struct store *s, struct entry *e)
{
	leave_indexes(s, e);
	s->bytes -= sizeof(*e) + strlen(e->key) + 1 + e->size;
	free(e->object);
	free(e);
}

void store_free(struct store *s)
{
	struct entry *e;
	size_t i = 0;

	if (!s)
		return;
	while ((e = map_next(&s->by_key, &i)))
		entry_free(s, e);
	assert(s->bytes == 0);
	map_done(&s->by_key);
	for (i = 0; i < STORE_INDEXES_MAX; i++)
		map_done(&s->buckets[i]);
	free(s);
}

static void add_entry(struct store *s, const char *key, void *object, size_t size)
{
	size_t len = strlen(key) + 1;
	struct entry *e = mem_alloc(sizeof(*e) + len);

	memcpy(e->key, key, len);
	e->object = object;
	e->size = size;
	e->round = s->round;
	s->bytes += sizeof(*e) + len + size;
	map_put(&s->by_key, e->key, e);
	enter_indexes(s, e);
	tell(s, STORE_ADDED, NULL, object);
}

static bool is_same(const struct meta *a, const struct meta *b)
{
	return a->resource_version && str_eq(a->resource_version, b->resource_version) && str_eq(a->uid, b->uid);
}

void store_put(struct store *s, void *object, size_t size)
{
	char key[STORE_KEY_MAX];
	struct entry *e;
	void *was;

	assert(!s->telling);
	e = map_get(&s->by_key, meta_key(object, key));
	if (!e) {
		add_entry(s, key, object, size);
		return;
	}
	e->round = s->round;
	if (is_same(e->object, object)) {
		free(object);
		return;
	}
	was = e->object;
	s->bytes += size - e->size;
	e->object = object;
	e->size = size;
	enter_indexes(s, e);
	tell(s, STORE_CHANGED, was, object);
	free(was);
}

static void remove_entry(struct store *s, struct entry *e)
{
	map_remove(&s->by_key, e->key);
	leave_indexes(s, e);
	tell(s, STORE_REMOVED, e->object, NULL);
	entry_free(s, e);
}

void store_remove(struct store *s, const char *ns, const char *name)
{
	char key[STORE_KEY_MAX];
	struct entry *e = map_get(&s->by_key, make_key(ns, name, key));

	assert(!s->telling);
	if (e)
		remove_entry(s, e);
}

void store_replace_begin(struct store *s)
{
	s->round++;
	s->replacing = true;
}

void store_replace_end(struct store *s)
{
	struct entry *e;
	size_t i = 0;

	assert(s->replacing && !s->telling);
	while ((e = map_next(&s->by_key, &i)))
		if (e->round != s->round)
			remove_entry(s, e);
	s->replacing = false;
	s->synced = true;
}

void store_keep(struct store *s, const char *ns, const char *name)
{
	char key[STORE_KEY_MAX];
	struct entry *e = map_get(&s->by_key, make_key(ns, name, key));

	if (e)
		e->round = s->round;
}

/* ---- reading ---- */

const void *store_get_key(const struct store *s, const char *key)
{
	const struct entry *e = map_get(&s->by_key, key);

	return e ? e->object : NULL;
}

const void *store_get(const struct store *s, const char *ns, const char *name)
{
	char key[STORE_KEY_MAX];

	return store_get_key(s, make_key(ns, name, key));
}

size_t store_count(const struct store *s)
{
	return map_count(&s->by_key);
}

const void *store_next(const struct store *s, size_t *i)
{
	const struct entry *e = map_next(&s->by_key, i);

	return e ? e->object : NULL;
}

const void *store_find(const struct store *s, unsigned index, const char *key, struct store_cursor *cursor)
{
	const struct node *n = cursor->at;

	assert(index < STORE_INDEXES_MAX);
	if (cursor->started)
		n = n ? n->next : NULL;
	else {
		const struct bucket *b = map_get(&s->buckets[index], key);

		n = b ? b->first : NULL;
	}
	cursor->started = true;
	cursor->at = n;
	return n ? n->entry->object : NULL;
}

size_t store_find_count(const struct store *s, unsigned index, const char *key)
{
	const struct bucket *b;

	assert(index < STORE_INDEXES_MAX);
	b = map_get(&s->buckets[index], key);
	return b ? b->count : 0;
}

bool store_synced(const struct store *s)
{
	return s->synced;
}

usec_t store_seen_alive(const struct store *s)
{
	return s->alive;
}

void store_alive(struct store *s, usec_t mono)
{
	s->alive = mono;
}

size_t store_memory(const struct store *s)
{
	size_t sum = sizeof(*s) + s->bytes + map_memory(&s->by_key);

	for (size_t i = 0; i < STORE_INDEXES_MAX; i++)
		sum += map_memory(&s->buckets[i]);
	return sum;
}
