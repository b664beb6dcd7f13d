/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/db.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/str.h"

#define RING_FIRST 64
#define TIDY_FACTOR 4                /* the journal may be this many times what is alive */
#define TIDY_LEAST ((uint64_t)8 << 20)      /* and this large anyway */
#define RECORD_OVERHEAD 128

struct pending {
	struct collection *collection;
	struct event event; /* with references of its own: the history may drop it before the commit */
};

struct item *item_new(const char *ns, const char *name, const char *text, size_t len, uint64_t rv)
{
	size_t ns_len = ns ? strlen(ns) : 0, name_len = strlen(name), key_len = ns_len + (ns_len > 0) + name_len;
	struct item *o = mem_alloc(sizeof(*o) + len + 1 + key_len + 1);
	char *key = o->text + len + 1;

	assert(len < UINT32_MAX && key_len <= DB_KEY_MAX);
	o->refs = 1;
	o->rv = rv;
	o->len = (uint32_t)len;
	o->ns_len = (uint32_t)ns_len;
	memcpy(o->text, text, len);
	o->key = key;
	if (ns_len > 0) {
		memcpy(key, ns, ns_len);
		key[ns_len] = '/';
		key += ns_len + 1;
	}
	memcpy(key, name, name_len);
	o->name = key;
	return o;
}

struct item *item_ref(struct item *o)
{
	if (o)
		o->refs++;
	return o;
}

void item_unref(struct item *o)
{
	if (!o)
		return;
	assert(o->refs > 0);
	if (--o->refs == 0)
		free(o);
}

bool item_in_ns(const struct item *o, const char *ns)
{
	size_t len;

	if (str_empty(ns))
		return true;
	len = strlen(ns);
	return o->ns_len == len && memcmp(o->key, ns, len) == 0;
}

struct db *db_new(void)
{
	struct db *s = NEW(struct db);

	link_init(&s->listeners);
	return s;
}

static void event_done(struct collection *c, struct event *e)
{
	c->ring_bytes -= e->item->len;
	item_unref(e->item);
	item_unref(e->prev);
	*e = (struct event) { 0 };
}

static void collection_free(struct collection *c)
{
	for (uint64_t i = c->first; i < c->next; i++)
		event_done(c, &c->ring[i % c->ring_size]);
	for (size_t i = 0; i < c->n; i++)
		item_unref(c->items[i]);
	free(c->ring);
	free(c->items);
	free(c->name);
	free(c);
}

static void pending_done(struct pending *p)
{
	item_unref(p->event.item);
	item_unref(p->event.prev);
}

void db_free(struct db *s)
{
	struct collection *c;
	size_t i = 0;

	if (!s)
		return;
	for (size_t k = 0; k < s->n_pending; k++)
		pending_done(&s->pending[k]);
	while ((c = map_next(&s->collections, &i)))
		collection_free(c);
	map_done(&s->collections);
	journal_free(s->journal);
	free(s->pending);
	free(s);
}

struct collection *db_collection(struct db *s, const char *name)
{
	struct collection *c = map_get(&s->collections, name);

	if (c)
		return c;
	c = NEW(struct collection);
	c->db = s;
	c->name = mem_strdup(name);
	c->floor = s->start;
	link_init(&c->listeners);
	map_put(&s->collections, c->name, c);
	return c;
}

void db_listen(struct link *listeners, struct listener *l)
{
	list_add_tail(listeners, &l->link);
}

uint64_t db_next_rv(const struct db *s)
{
	return s->rv + 1;
}

/* The first place whose key is not below `key`; *ret_found tells whether it is equal. */
static size_t place(const struct collection *c, const char *key, bool *ret_found)
{
	size_t low = 0, high = c->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(c->items[mid]->key, key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	*ret_found = low < c->n && strcmp(c->items[low]->key, key) == 0;
	return low;
}

static void ring_grow(struct collection *c)
{
	size_t size = c->ring_size ? c->ring_size * 2 : RING_FIRST;
	struct event *ring = mem_alloc_n(size, sizeof(*ring));

	for (uint64_t i = c->first; c->ring_size > 0 && i < c->next; i++)
		ring[i % size] = c->ring[i % c->ring_size];
	free(c->ring);
	c->ring = ring;
	c->ring_size = size;
}

static void ring_drop_first(struct collection *c)
{
	struct event *e = &c->ring[c->first % c->ring_size];

	c->floor = e->rv;
	event_done(c, e);
	c->first++;
}

/* Takes over both references. */
static void remember(struct collection *c, enum change change, struct item *item, struct item *prev)
{
	if (c->next - c->first == c->ring_size && c->ring_size < HISTORY_EVENTS_MAX)
		ring_grow(c);
	if (c->next - c->first == c->ring_size)
		ring_drop_first(c);
	c->ring[c->next % c->ring_size] = (struct event) { c->next, item->rv, change, item, prev };
	c->ring_bytes += item->len;
	c->next++;
	while (c->ring_bytes > HISTORY_BYTES_MAX && c->next - c->first > 1)
		ring_drop_first(c);
}

static void note_pending(struct collection *c)
{
	struct db *s = c->db;
	struct event e;

	assert(!s->in_commit);
	if (s->n_pending == s->pending_size) {
		s->pending_size = s->pending_size ? s->pending_size * 2 : 16;
		s->pending = mem_realloc_n(s->pending, s->pending_size, sizeof(*s->pending));
	}
	e = *db_event(c, c->next - 1);
	item_ref(e.item);
	item_ref(e.prev);
	if (s->n_pending == 0 && s->wake)
		s->wake(s->wake_arg);
	s->pending[s->n_pending++] = (struct pending) { c, e };
}

static struct item *apply_put(struct collection *c, struct item *o)
{
	enum change change = CHANGE_ADDED;
	struct item *prev = NULL;
	bool found;
	size_t at = place(c, o->key, &found);

	if (found) {
		change = CHANGE_MODIFIED;
		prev = c->items[at]; /* the collection's reference moves into the history */
		c->bytes -= prev->len;
	} else {
		if (c->n == c->size) {
			c->size = c->size ? c->size * 2 : 16;
			c->items = mem_realloc_n(c->items, c->size, sizeof(*c->items));
		}
		memmove(c->items + at + 1, c->items + at, (c->n - at) * sizeof(*c->items));
		c->n++;
	}
	c->items[at] = o;
	c->bytes += o->len;
	c->db->rv = o->rv;
	remember(c, change, item_ref(o), prev);
	return o;
}

/* Takes over the reference to `gone`. */
static void apply_delete(struct collection *c, struct item *gone)
{
	bool found;
	size_t at = place(c, gone->key, &found);
	struct item *prev = c->items[at];

	assert(found);
	c->n--;
	memmove(c->items + at, c->items + at + 1, (c->n - at) * sizeof(*c->items));
	c->bytes -= prev->len;
	c->db->rv = gone->rv;
	remember(c, CHANGE_DELETED, gone, prev);
}

static void journal_change(struct collection *c, enum journal_op op, const struct item *o)
{
	if (c->db->journal)
		journal_add(c->db->journal, &(struct journal_record) { op, o->rv, c->name, o->key, o->text, o->len });
}

struct item *db_put(struct collection *c, const char *ns, const char *name, const char *text, size_t len)
{
	struct item *o = apply_put(c, item_new(ns, name, text, len, db_next_rv(c->db)));

	journal_change(c, JOURNAL_PUT, o);
	note_pending(c);
	return o;
}

void db_delete(struct collection *c, const struct item *o, const char *text, size_t len)
{
	_cleanup_free_ char *ns = mem_strndup(o->key, o->ns_len);
	struct item *gone = item_new(ns, o->name, text, len, db_next_rv(c->db));

	apply_delete(c, gone);
	journal_change(c, JOURNAL_DELETE, gone);
	note_pending(c);
}

bool db_pending(const struct db *s)
{
	return s->n_pending > 0;
}

static void tell(struct link *listeners, const struct pending *p)
{
	LIST_EACH (l, listeners) {
		struct listener *listener = LIST_ITEM(l, struct listener, link);

		listener->changed(listener, p->collection, &p->event);
	}
}

int db_commit(struct db *s, struct err *err)
{
	int r;

	if (s->n_pending == 0)
		return 0;
	assert(!s->in_commit);
	r = s->journal ? journal_commit(s->journal, err) : 0;
	if (r < 0)
		return r;
	s->in_commit = true;
	for (size_t i = 0; i < s->n_pending; i++) {
		struct pending *p = &s->pending[i];

		p->collection->told = p->event.number + 1;
		tell(&p->collection->listeners, p);
		tell(&s->listeners, p);
		pending_done(p);
	}
	s->n_pending = 0;
	s->in_commit = false;
	return 0;
}

static uint64_t alive_bytes(const struct db *s)
{
	uint64_t sum = 0;
	struct collection *c;
	size_t i = 0;

	while ((c = map_next(&s->collections, &i)))
		sum += c->bytes + c->n * RECORD_OVERHEAD;
	return sum;
}

static void fill_journal(void *arg, struct journal *j)
{
	struct db *s = arg;
	struct collection *c;
	size_t i = 0;

	journal_add(j, &(struct journal_record) { JOURNAL_START, s->rv, "", "", "", 0 });
	while ((c = map_next(&s->collections, &i)))
		for (size_t k = 0; k < c->n; k++)
			journal_add(j,
			            &(struct journal_record) { JOURNAL_PUT, c->items[k]->rv, c->name, c->items[k]->key,
			                                       c->items[k]->text, c->items[k]->len });
}

int db_tidy(struct db *s, struct err *err)
{
	uint64_t size = s->journal ? journal_size(s->journal) : 0;

	if (size < TIDY_LEAST || size / TIDY_FACTOR < alive_bytes(s) || s->n_pending > 0)
		return 0;
	return journal_rewrite(s->journal, fill_journal, s, err);
}

/* Records up to `start` are the state of that moment, not changes. */
static int check_replayed(const struct db *s, const struct collection *c, const struct journal_record *record,
                          struct err *err)
{
	bool found;

	place(c, record->key, &found);
	if (str_empty(record->collection) || str_empty(record->key))
		return err_set(err, -EUCLEAN, "a record without a name");
	if (record->rv <= s->start ? found || record->op != JOURNAL_PUT : record->rv <= s->rv)
		return err_set(err, -EUCLEAN, "resourceVersion %llu of %s %s is out of order",
		               (unsigned long long)record->rv, record->collection, record->key);
	if (record->op == JOURNAL_DELETE && !found)
		return err_set(err, -EUCLEAN, "%s %s is removed but was not there", record->collection, record->key);
	return 0;
}

static int replay(void *arg, const struct journal_record *record, struct err *err)
{
	struct db *s = arg;
	const char *slash = strchr(record->key, '/');
	_cleanup_free_ char *ns = slash ? mem_strndup(record->key, (size_t)(slash - record->key)) : NULL;
	struct collection *c;
	struct item *o;
	int code;

	if (record->op == JOURNAL_START) {
		if (s->rv > 0)
			return err_set(err, -EUCLEAN, "a start behind other records");
		s->start = s->rv = record->rv;
		return 0;
	}
	if (record->op != JOURNAL_PUT && record->op != JOURNAL_DELETE)
		return err_set(err, -EUCLEAN, "unknown kind of record %d", (int)record->op);
	c = db_collection(s, record->collection);
	code = check_replayed(s, c, record, err);
	if (code < 0)
		return code;
	o = item_new(ns, slash ? slash + 1 : record->key, record->text, record->len, record->rv);
	if (record->op == JOURNAL_DELETE)
		apply_delete(c, o);
	else
		apply_put(c, o);
	c->told = c->next;
	if (record->rv <= s->start) { /* part of the state at the start */
		s->rv = s->start;
		db_forget(s, c);
	}
	return 0;
}

int db_open_journal(struct db *s, const char *path, bool sync, uint64_t *ret_cut, struct err *err)
{
	assert(s->rv == 0 && !s->journal);
	return journal_open(path, sync, replay, s, &s->journal, ret_cut, err);
}

struct item *db_get(const struct collection *c, const char *ns, const char *name)
{
	char key[DB_KEY_MAX + 1];
	size_t ns_len = ns ? strlen(ns) : 0, name_len = strlen(name), at = 0;
	bool found;

	if (ns_len + 1 + name_len > DB_KEY_MAX)
		return NULL;
	if (ns_len > 0) {
		memcpy(key, ns, ns_len);
		key[ns_len] = '/';
		at = ns_len + 1;
	}
	memcpy(key + at, name, name_len + 1);
	at = place(c, key, &found);
	return found ? c->items[at] : NULL;
}

/* The range of places that a namespace takes: '0' is the character behind '/'. */
static void ns_range(const struct collection *c, const char *ns, size_t *ret_from, size_t *ret_to)
{
	char key[DB_KEY_MAX + 2];
	size_t len;
	bool found;

	*ret_from = 0;
	*ret_to = c->n;
	if (str_empty(ns))
		return;
	len = strlen(ns);
	if (len + 1 > DB_KEY_MAX) {
		*ret_to = 0;
		return;
	}
	memcpy(key, ns, len);
	memcpy(key + len, "/", 2);
	*ret_from = place(c, key, &found);
	key[len] = '/' + 1;
	*ret_to = place(c, key, &found);
}

struct item *const *db_span(const struct collection *c, const char *ns, const char *from, size_t *ret_n)
{
	size_t low, high;
	bool found;

	ns_range(c, ns, &low, &high);
	if (!str_empty(from))
		low = MAX_OF(low, place(c, from, &found));
	*ret_n = low < high ? high - low : 0;
	return c->items + low;
}

static int by_key(const void *a, const void *b)
{
	return strcmp((*(struct item *const *)a)->key, (*(struct item *const *)b)->key);
}

/* Undoes, from the newest on, every change after rv; for each key the last word is the oldest of them. */
static void undo_after(const struct collection *c, uint64_t number, struct map *undone)
{
	for (uint64_t i = c->next; i-- > number;) {
		const struct event *e = &c->ring[i % c->ring_size];

		map_put(undone, e->item->key, (void *)e);
	}
}

int db_span_at(const struct collection *c, uint64_t rv, const char *ns, const char *from, struct item ***ret,
               size_t *ret_n)
{
	struct map undone = MAP_INIT;
	struct item *const *span;
	const struct event *e;
	struct item **list;
	uint64_t number;
	size_t n, kept = 0, i = 0;
	int r;

	r = db_seek(c, rv, &number);
	if (r < 0)
		return r;
	span = db_span(c, ns, from, &n);
	undo_after(c, number, &undone);
	list = mem_alloc_n(n + map_count(&undone), sizeof(struct item *));
	for (size_t k = 0; k < n; k++)
		if (map_count(&undone) == 0 || !map_get(&undone, span[k]->key))
			list[kept++] = span[k];
	while ((e = map_next(&undone, &i)))
		if (e->prev && item_in_ns(e->prev, ns) && (str_empty(from) || strcmp(e->prev->key, from) >= 0))
			list[kept++] = e->prev;
	if (map_count(&undone) > 0)
		qsort(list, kept, sizeof(struct item *), by_key);
	map_done(&undone);
	*ret = list;
	*ret_n = kept;
	return 0;
}

int db_seek(const struct collection *c, uint64_t rv, uint64_t *ret_number)
{
	uint64_t low = c->first, high = c->next;

	if (rv < c->floor)
		return -ESTALE;
	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (c->ring[mid % c->ring_size].rv <= rv)
			low = mid + 1;
		else
			high = mid;
	}
	*ret_number = low;
	return 0;
}

const struct event *db_event(const struct collection *c, uint64_t number)
{
	return number >= c->first && number < c->next ? &c->ring[number % c->ring_size] : NULL;
}

void db_forget(struct db *s, struct collection *c)
{
	struct collection *each;
	size_t i = 0;

	if (!c) {
		while ((each = map_next(&s->collections, &i)))
			db_forget(s, each);
		return;
	}
	while (c->first < c->next)
		ring_drop_first(c);
	c->floor = s->rv;
}
