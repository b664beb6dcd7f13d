/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Ten thousand objects and more: so what the store adds to each is kept small. Entries and nodes live in arrays and
 * know each other by number (1 is the first, 0 is none); names are those inside the objects, not copied.
 */
#include "port/store.h"

#include <assert.h>
#include <stdio.h>

#include "base/map.h"
#include "base/str.h"

#define LISTENERS_MAX 8
#define FIRST_SLOTS 16

struct entry { /* an object */
	void *object; /* begins with struct meta; NULL: not in use, `next` is the next such one */
	uint32_t size, hash;
	uint32_t round;      /* of the last full list that had it, or of the put */
	uint32_t next, prev; /* in order of insertion */
	uint32_t node;       /* its first */
};

struct node { /* an object under a key of an index */
	struct bucket *bucket;
	uint32_t entry;
	uint32_t next, prev; /* in the bucket */
	uint32_t sibling;    /* the entry's next; the next free one when not in use */
};

struct bucket { /* all objects under one key of one index, in the order in which they came under it */
	uint32_t first, last, count, index;
	char key[];
};

struct store {
	const struct store_kind *kind;
	struct entry *entries;
	uint32_t n_entries, size_entries, free_entry; /* n: used so far, free ones included */
	uint32_t first, last, count;
	uint32_t *slots; /* numbers of entries, by hash; open addressing, at most half full */
	uint32_t n_slots;
	struct node *nodes;
	uint32_t n_nodes, size_nodes, free_node;
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
	size_t bytes; /* objects and buckets */
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

static struct entry *entry_at(const struct store *s, uint32_t number)
{
	return &s->entries[number - 1];
}

static struct node *node_at(const struct store *s, uint32_t number)
{
	return &s->nodes[number - 1];
}

/* Room for one more, a quarter at a time. */
static void *grow(void *array, uint32_t n, uint32_t *size, size_t each)
{
	if (n < *size)
		return array;
	*size += *size / 4 + 16;
	return mem_realloc_n(array, *size, each);
}

/* ---- names ---- */

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

static bool has_key(const struct meta *m, const char *key)
{
	char own[STORE_KEY_MAX];

	return str_eq(meta_key(m, own), key);
}

/* The slot that holds key, or the free one where it would go. There are slots. */
static uint32_t find_slot(const struct store *s, const char *key, uint32_t hash)
{
	uint32_t i = hash & (s->n_slots - 1);

	while (s->slots[i]) {
		const struct entry *e = entry_at(s, s->slots[i]);

		if (e->hash == hash && has_key(e->object, key))
			break;
		i = (i + 1) & (s->n_slots - 1);
	}
	return i;
}

static uint32_t find_entry(const struct store *s, const char *key)
{
	return s->count ? s->slots[find_slot(s, key, map_hash(key))] : 0;
}

static void grow_slots(struct store *s)
{
	s->n_slots = s->n_slots ? 2 * s->n_slots : FIRST_SLOTS;
	free(s->slots);
	s->slots = mem_alloc_n(s->n_slots, sizeof(*s->slots));
	for (uint32_t number = s->first; number; number = entry_at(s, number)->next) {
		uint32_t i = entry_at(s, number)->hash & (s->n_slots - 1);

		while (s->slots[i])
			i = (i + 1) & (s->n_slots - 1);
		s->slots[i] = number;
	}
}

/* Frees a slot, and closes the hole: those behind it that would not be found any more move up. */
static void clear_slot(struct store *s, uint32_t hole)
{
	const uint32_t mask = s->n_slots - 1;

	for (uint32_t i = (hole + 1) & mask; s->slots[i]; i = (i + 1) & mask) {
		uint32_t home = entry_at(s, s->slots[i])->hash & mask;

		if (((i - home) & mask) < ((i - hole) & mask))
			continue; /* its home lies behind the hole */
		s->slots[hole] = s->slots[i];
		hole = i;
	}
	s->slots[hole] = 0;
}

/* ---- indexes ---- */

static struct bucket *bucket_get(struct store *s, unsigned index, const char *key)
{
	struct bucket *b = map_get(&s->buckets[index], key);
	size_t len = strlen(key) + 1;

	if (b)
		return b;
	b = mem_alloc(sizeof(*b) + len);
	b->index = index;
	memcpy(b->key, key, len);
	map_put(&s->buckets[index], b->key, b);
	s->bytes += sizeof(*b) + len;
	return b;
}

static void bucket_drop(struct store *s, struct bucket *b)
{
	map_remove(&s->buckets[b->index], b->key);
	s->bytes -= sizeof(*b) + strlen(b->key) + 1;
	free(b);
}

/* A new last node of the bucket. */
static uint32_t node_new(struct store *s, struct bucket *b, uint32_t entry)
{
	uint32_t number = s->free_node;

	if (number)
		s->free_node = node_at(s, number)->sibling;
	else {
		s->nodes = grow(s->nodes, s->n_nodes, &s->size_nodes, sizeof(*s->nodes));
		number = ++s->n_nodes;
	}
	*node_at(s, number) = (struct node) { .bucket = b, .entry = entry, .prev = b->last };
	*(b->last ? &node_at(s, b->last)->next : &b->first) = number;
	b->last = number;
	b->count++;
	return number;
}

/* Returns the entry's next. */
static uint32_t node_drop(struct store *s, uint32_t number)
{
	struct node *n = node_at(s, number);
	struct bucket *b = n->bucket;
	uint32_t sibling = n->sibling;

	*(n->prev ? &node_at(s, n->prev)->next : &b->first) = n->next;
	*(n->next ? &node_at(s, n->next)->prev : &b->last) = n->prev;
	if (--b->count == 0)
		bucket_drop(s, b);
	*n = (struct node) { .sibling = s->free_node };
	s->free_node = number;
	return sibling;
}

static void leave_indexes(struct store *s, struct entry *e)
{
	while (e->node)
		e->node = node_drop(s, e->node);
}

/* Goes along the keys that an index gives. */
struct keys {
	struct store *s;
	uint32_t entry;
	uint32_t node; /* comparing: the one to compare with; adding: the last one added */
	unsigned index;
	bool same;
};

static void compare_key(void *arg, const char *key)
{
	struct keys *k = arg;
	const struct node *n = k->node ? node_at(k->s, k->node) : NULL;

	k->same = k->same && n && n->bucket->index == k->index && str_eq(n->bucket->key, key);
	k->node = n ? n->sibling : 0;
}

static void add_key(void *arg, const char *key)
{
	struct keys *k = arg;
	struct store *s = k->s;
	struct bucket *b = bucket_get(s, k->index, key);
	uint32_t number;

	/* a key that the index gave twice: its bucket ends with this entry already */
	if (b->last && node_at(s, b->last)->entry == k->entry)
		return;
	number = node_new(s, b, k->entry);
	*(k->node ? &node_at(s, k->node)->sibling : &entry_at(s, k->entry)->node) = number;
	k->node = number;
}

static void each_key(struct keys *k, const void *object, store_index_add add)
{
	const store_index_fn *indexes = k->s->kind->indexes;

	for (k->index = 0; k->index < STORE_INDEXES_MAX; k->index++)
		if (indexes[k->index])
			indexes[k->index](object, add, k);
}

/* Puts the entry under the keys of its object. When they are those of before, everything stays in its place. */
static void enter_indexes(struct store *s, uint32_t number)
{
	struct entry *e = entry_at(s, number);
	struct keys old = { .s = s, .node = e->node, .same = true }, new = { .s = s, .entry = number };

	each_key(&old, e->object, compare_key);
	if (old.same && !old.node)
		return;
	leave_indexes(s, e);
	each_key(&new, e->object, add_key);
}

/* ---- writing ---- */

static void add_entry(struct store *s, const char *key, void *object, size_t size)
{
	uint32_t hash = map_hash(key), number = s->free_entry;

	if (2 * (s->count + 1) > s->n_slots)
		grow_slots(s);
	if (number)
		s->free_entry = entry_at(s, number)->next;
	else {
		s->entries = grow(s->entries, s->n_entries, &s->size_entries, sizeof(*s->entries));
		number = ++s->n_entries;
	}
	*entry_at(s, number) = (struct entry) {
		.object = object, .size = (uint32_t)size, .hash = hash, .round = s->round, .prev = s->last
	};
	s->slots[find_slot(s, key, hash)] = number;
	*(s->last ? &entry_at(s, s->last)->next : &s->first) = number;
	s->last = number;
	s->count++;
	s->bytes += size;
	enter_indexes(s, number);
	tell(s, STORE_ADDED, NULL, object);
}

static void remove_entry(struct store *s, uint32_t number, uint32_t slot)
{
	struct entry *e = entry_at(s, number);
	void *was = e->object;

	clear_slot(s, slot);
	leave_indexes(s, e);
	*(e->prev ? &entry_at(s, e->prev)->next : &s->first) = e->next;
	*(e->next ? &entry_at(s, e->next)->prev : &s->last) = e->prev;
	s->count--;
	s->bytes -= e->size;
	*e = (struct entry) { .next = s->free_entry };
	s->free_entry = number;
	tell(s, STORE_REMOVED, was, NULL);
	free(was);
}

static bool is_same(const struct meta *a, const struct meta *b)
{
	return a->resource_version && str_eq(a->resource_version, b->resource_version) && str_eq(a->uid, b->uid);
}

void store_put(struct store *s, void *object, size_t size)
{
	char key[STORE_KEY_MAX];
	uint32_t number;
	struct entry *e;
	void *was;

	assert(!s->telling);
	assert(size <= UINT32_MAX);
	number = find_entry(s, meta_key(object, key));
	if (!number) {
		add_entry(s, key, object, size);
		return;
	}
	e = entry_at(s, number);
	e->round = s->round;
	if (is_same(e->object, object) && !(s->replacing && s->kind->custom)) {
		free(object);
		return;
	}
	was = e->object;
	s->bytes += size - e->size;
	e->object = object;
	e->size = (uint32_t)size;
	enter_indexes(s, number);
	tell(s, STORE_CHANGED, was, object);
	free(was);
}

void store_remove(struct store *s, const char *ns, const char *name)
{
	char key[STORE_KEY_MAX];
	uint32_t number;

	assert(!s->telling);
	number = find_entry(s, make_key(ns, name, key));
	if (number)
		remove_entry(s, number, find_slot(s, key, entry_at(s, number)->hash));
}

void store_replace_begin(struct store *s)
{
	s->round++;
	s->replacing = true;
}

void store_replace_end(struct store *s)
{
	char key[STORE_KEY_MAX];

	assert(s->replacing && !s->telling);
	for (uint32_t number = s->first, next; number; number = next) {
		const struct entry *e = entry_at(s, number);

		next = e->next;
		if (e->round != s->round)
			remove_entry(s, number, find_slot(s, meta_key(e->object, key), e->hash));
	}
	s->replacing = false;
	s->synced = true;
}

void store_keep(struct store *s, const char *ns, const char *name)
{
	char key[STORE_KEY_MAX];
	uint32_t number = find_entry(s, make_key(ns, name, key));

	if (number)
		entry_at(s, number)->round = s->round;
}

void store_free(struct store *s)
{
	if (!s)
		return;
	for (uint32_t number = s->first; number; number = entry_at(s, number)->next) {
		leave_indexes(s, entry_at(s, number));
		free(entry_at(s, number)->object);
	}
	for (size_t i = 0; i < STORE_INDEXES_MAX; i++)
		map_done(&s->buckets[i]);
	free(s->entries);
	free(s->nodes);
	free(s->slots);
	free(s);
}

/* ---- reading ---- */

const void *store_get_key(const struct store *s, const char *key)
{
	uint32_t number = find_entry(s, key);

	return number ? entry_at(s, number)->object : NULL;
}

const void *store_get(const struct store *s, const char *ns, const char *name)
{
	char key[STORE_KEY_MAX];

	return store_get_key(s, make_key(ns, name, key));
}

size_t store_count(const struct store *s)
{
	return s->count;
}

const void *store_next(const struct store *s, size_t *i)
{
	uint32_t number = *i == 0 ? s->first : (uint32_t)*i;

	if (number == 0 || *i == SIZE_MAX)
		return NULL;
	*i = entry_at(s, number)->next;
	if (*i == 0)
		*i = SIZE_MAX;
	return entry_at(s, number)->object;
}

const void *store_find(const struct store *s, unsigned index, const char *key, struct store_cursor *cursor)
{
	const struct node *n = cursor->at;
	uint32_t number = 0;

	assert(index < STORE_INDEXES_MAX);
	if (!cursor->started) {
		const struct bucket *b = map_get(&s->buckets[index], key);

		number = b ? b->first : 0;
	} else if (n)
		number = n->next;
	cursor->started = true;
	cursor->at = number ? node_at(s, number) : NULL;
	return number ? entry_at(s, node_at(s, number)->entry)->object : NULL;
}

size_t store_find_count(const struct store *s, unsigned index, const char *key)
{
	const struct bucket *b;

	assert(index < STORE_INDEXES_MAX);
	b = map_get(&s->buckets[index], key);
	return b ? b->count : 0;
}

void store_doubt(struct store *s)
{
	s->synced = false;
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
	size_t sum = sizeof(*s) + s->bytes + s->size_entries * sizeof(*s->entries) + s->size_nodes * sizeof(*s->nodes) +
	             s->n_slots * sizeof(*s->slots);

	for (size_t i = 0; i < STORE_INDEXES_MAX; i++)
		sum += map_memory(&s->buckets[i]);
	return sum;
}
