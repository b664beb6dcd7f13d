/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "port/store.h"

#include <stdio.h>
#include <string.h>

#include "base/rand.h"
#include "base/str.h"
#include "base/test.h"

struct thing {
	struct meta meta;
	char ns[8], name[16], version[16], node[8];
	char tags[4][8];
	int n_tags;
};

enum { BY_NODE, BY_TAG };

static void by_node(const void *object, store_index_add add, void *arg)
{
	const struct thing *t = object;

	if (t->node[0])
		add(arg, t->node);
}

static void by_tag(const void *object, store_index_add add, void *arg)
{
	const struct thing *t = object;
	char key[16]; /* a key may be made on the stack */

	for (int i = 0; i < t->n_tags; i++) {
		snprintf(key, sizeof(key), "tag=%s", t->tags[i]);
		add(arg, key);
	}
}

static const struct store_kind things = { .name = "things", .indexes = { [BY_NODE] = by_node, [BY_TAG] = by_tag } };

static struct thing *thing_new(const char *ns, const char *name, const char *version, const char *node)
{
	struct thing *t = NEW(struct thing);

	str_copy(t->ns, sizeof(t->ns), ns);
	str_copy(t->name, sizeof(t->name), name);
	str_copy(t->version, sizeof(t->version), version);
	str_copy(t->node, sizeof(t->node), node);
	t->meta =
	        (struct meta) { .ns = ns ? t->ns : NULL, .name = t->name, .uid = "u", .resource_version = t->version };
	return t;
}

static void put(struct store *s, const char *ns, const char *name, const char *version, const char *node)
{
	store_put(s, thing_new(ns, name, version, node), sizeof(struct thing));
}

static void add_tag(struct thing *t, const char *tag)
{
	str_copy(t->tags[t->n_tags++], sizeof(t->tags[0]), tag);
}

/* Notes events as text: "+a/x@1", "~a/x@1>2", "-a/x@2". */
static void note(void *arg, enum store_event event, const void *was, const void *is)
{
	const struct thing *before = was, *after = is, *t = after ? after : before;
	char key[STORE_KEY_MAX];

	assert_true((event == STORE_ADDED) == !was);
	assert_true((event == STORE_REMOVED) == !is);
	buf_printf(arg, "%c%s@%s", "+~-"[event], meta_key(&t->meta, key), before ? before->version : after->version);
	if (event == STORE_CHANGED)
		buf_printf(arg, ">%s", after->version);
	buf_add_char(arg, ' ');
}

/* The names under a key, in order, with blanks between. */
static const char *found(const struct store *s, unsigned index, const char *key)
{
	static char text[256];
	struct store_cursor cursor = { 0 };
	const struct thing *t;
	size_t n = 0, at = 0;

	text[0] = 0;
	while ((t = store_find(s, index, key, &cursor))) {
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", at ? " " : "", t->name);
		n++;
	}
	assert_null(store_find(s, index, key, &cursor)); /* the end stays the end */
	assert_int_equal(store_find_count(s, index, key), n);
	return text;
}

static void test_objects_are_found_by_namespace_and_name(void **state)
{
	_cleanup_(store_freep) struct store *s = store_new(&things);
	const struct thing *t;

	(void)state;
	put(s, "a", "x", "1", "");
	put(s, "b", "x", "2", "");
	put(s, NULL, "x", "3", "");
	assert_int_equal(store_count(s), 3);
	t = store_get(s, "a", "x");
	assert_string_equal(t->version, "1");
	t = store_get_key(s, "b/x");
	assert_string_equal(t->version, "2");
	t = store_get(s, NULL, "x");
	assert_string_equal(t->version, "3");
	assert_ptr_equal(store_get_key(s, "x"), t);
	assert_null(store_get(s, "c", "x"));
	assert_null(store_get(s, "a", "y"));
}

static void test_walk_goes_in_order_of_insertion(void **state)
{
	_cleanup_(store_freep) struct store *s = store_new(&things);
	static const char *const names[] = { "q", "b", "z", "a" };
	const struct thing *t;
	size_t i = 0, n = 0;

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(names); k++)
		put(s, "a", names[k], "1", "");
	put(s, "a", "b", "2", "");
	while ((t = store_next(s, &i)))
		assert_string_equal(t->name, names[n++]);
	assert_int_equal(n, ARRAY_LEN(names));
}

static void test_indexes_follow_changes(void **state)
{
	_cleanup_(store_freep) struct store *s = store_new(&things);
	struct thing *t;

	(void)state;
	put(s, "a", "x", "1", "n1");
	put(s, "a", "y", "1", "n1");
	put(s, "a", "z", "1", "");
	assert_string_equal(found(s, BY_NODE, "n1"), "x y");
	assert_string_equal(found(s, BY_NODE, "n2"), "");
	assert_string_equal(found(s, BY_NODE, ""), "");
	put(s, "a", "x", "2", "n1"); /* the same key: its place stays */
	assert_string_equal(found(s, BY_NODE, "n1"), "x y");
	put(s, "a", "x", "3", "n2");
	put(s, "a", "z", "2", "n2");
	assert_string_equal(found(s, BY_NODE, "n1"), "y");
	assert_string_equal(found(s, BY_NODE, "n2"), "x z");
	t = thing_new("a", "x", "4", "n2");
	add_tag(t, "r");
	add_tag(t, "s");
	add_tag(t, "r"); /* given twice, found once */
	store_put(s, t, sizeof(*t));
	assert_string_equal(found(s, BY_TAG, "tag=r"), "x");
	assert_string_equal(found(s, BY_TAG, "tag=s"), "x");
	assert_string_equal(found(s, BY_NODE, "tag=s"), "");
	t = thing_new("a", "x", "5", "n2");
	add_tag(t, "s");
	store_put(s, t, sizeof(*t));
	assert_string_equal(found(s, BY_TAG, "tag=r"), "");
	assert_string_equal(found(s, BY_TAG, "tag=s"), "x");
	store_remove(s, "a", "x");
	assert_string_equal(found(s, BY_TAG, "tag=s"), "");
	assert_string_equal(found(s, BY_NODE, "n2"), "z");
}

static void test_listeners_hear_each_change_once(void **state)
{
	_cleanup_(store_freep) struct store *s = store_new(&things);
	_cleanup_buf_ struct buf one = BUF(4096), two = BUF(4096);

	(void)state;
	store_listen(s, note, &one);
	store_listen(s, note, &two);
	put(s, "a", "x", "1", "");
	put(s, "a", "x", "1", "n9"); /* the same resourceVersion: nothing new */
	put(s, "a", "x", "2", "");
	store_remove(s, "a", "x");
	store_remove(s, "a", "x");
	assert_string_equal(buf_text(&one), "+a/x@1 ~a/x@1>2 -a/x@2 ");
	assert_string_equal(buf_text(&two), buf_text(&one));
}

static void test_the_same_version_of_another_object_is_a_change(void **state)
{
	_cleanup_(store_freep) struct store *s = store_new(&things);
	_cleanup_buf_ struct buf seen = BUF(4096);
	struct thing *t = thing_new("a", "x", "1", "");

	(void)state;
	store_listen(s, note, &seen);
	put(s, "a", "x", "1", "");
	t->meta.uid = "v";
	store_put(s, t, sizeof(*t));
	assert_string_equal(buf_text(&seen), "+a/x@1 ~a/x@1>1 ");
}

static void test_a_full_list_removes_what_it_does_not_have(void **state)
{
	_cleanup_(store_freep) struct store *s = store_new(&things);
	_cleanup_buf_ struct buf seen = BUF(4096);

	(void)state;
	assert_false(store_synced(s));
	put(s, "a", "x", "1", "");
	put(s, "a", "y", "1", "");
	assert_false(store_synced(s));
	store_listen(s, note, &seen);
	store_replace_begin(s);
	put(s, "a", "y", "1", "");
	put(s, "a", "z", "1", "");
	assert_string_equal(buf_text(&seen), "+a/z@1 ");
	assert_false(store_synced(s));
	store_replace_end(s);
	assert_true(store_synced(s));
	assert_string_equal(buf_text(&seen), "+a/z@1 -a/x@1 ");
	assert_int_equal(store_count(s), 2);
	store_doubt(s);
	assert_false(store_synced(s));
	assert_int_equal(store_count(s), 2);
	store_replace_begin(s);
	put(s, "a", "y", "1", "");
	assert_false(store_synced(s));
	store_replace_end(s);
	assert_true(store_synced(s));
	assert_int_equal(store_count(s), 1);
}

static void test_a_new_list_of_a_custom_kind_shows_the_same_version_otherwise(void **state)
{
	static const struct store_kind custom = { .name = "customs", .indexes = { by_node }, .custom = true };
	_cleanup_(store_freep) struct store *s = store_new(&custom);
	_cleanup_buf_ struct buf seen = BUF(4096);

	(void)state;
	put(s, "a", "x", "1", "n1");
	store_listen(s, note, &seen);
	put(s, "a", "x", "1", "n2"); /* told twice */
	assert_string_equal(buf_text(&seen), "");
	store_replace_begin(s);
	put(s, "a", "x", "1", "n2");
	store_replace_end(s);
	assert_string_equal(((const struct thing *)store_get(s, "a", "x"))->node, "n2");
	assert_int_not_equal(seen.len, 0);
}

static void test_an_abandoned_list_removes_nothing(void **state)
{
	_cleanup_(store_freep) struct store *s = store_new(&things);

	(void)state;
	put(s, "a", "x", "1", "");
	store_replace_begin(s);
	put(s, "a", "y", "1", "");
	store_replace_begin(s);
	assert_int_equal(store_count(s), 2);
	put(s, "a", "x", "1", "");
	put(s, "a", "z", "1", "");
	store_replace_end(s);
	assert_non_null(store_get(s, "a", "x"));
	assert_null(store_get(s, "a", "y")); /* only the abandoned list had it */
	assert_non_null(store_get(s, "a", "z"));
}

static void test_what_a_list_has_but_nobody_could_read_stays(void **state)
{
	_cleanup_(store_freep) struct store *s = store_new(&things);

	(void)state;
	put(s, "a", "x", "1", "");
	put(s, "a", "y", "1", "");
	store_replace_begin(s);
	store_keep(s, "a", "x");
	store_keep(s, "a", "never-seen");
	store_replace_end(s);
	assert_non_null(store_get(s, "a", "x"));
	assert_int_equal(store_count(s), 1);
}

static void test_freshness_is_what_the_source_said_last(void **state)
{
	_cleanup_(store_freep) struct store *s = store_new(&things);

	(void)state;
	assert_int_equal(store_seen_alive(s), 0);
	store_alive(s, 5 * USEC_SEC);
	assert_int_equal(store_seen_alive(s), 5 * USEC_SEC);
}

static void test_memory_is_accounted_and_comes_back(void **state)
{
	_cleanup_(store_freep) struct store *s = store_new(&things);
	size_t before = store_memory(s), full;
	char name[16];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "x%d", i);
		put(s, "a", name, "1", i % 2 ? "n1" : "n2");
	}
	full = store_memory(s);
	assert_true(full - before >= 1000 * (sizeof(struct thing) + 8));
	assert_true(full - before <= 1000 * (sizeof(struct thing) + 300));
	store_replace_begin(s);
	store_replace_end(s);
	assert_int_equal(store_count(s), 0);
	/* what is left is tables, for as many as there were */
	assert_true(store_memory(s) - before < 1000 * 120);
}

/* Random writes against a plain array that is searched from end to end. */
enum { NAMES = 150, NODES = 5, TAGS = 6 };

struct model {
	struct thing *things[NAMES]; /* NULL: not there */
	bool listed[NAMES];
};

static struct thing *random_thing(struct rng *rng, int i, int version)
{
	char name[16], text[16], node[8] = "";
	struct thing *t;

	snprintf(name, sizeof(name), "x%d", i);
	snprintf(text, sizeof(text), "%d", version);
	if (rng_below(rng, 3))
		snprintf(node, sizeof(node), "n%d", (int)rng_below(rng, NODES));
	t = thing_new(i % 2 ? "a" : NULL, name, text, node);
	for (int k = (int)rng_below(rng, 4); k > 0; k--) {
		snprintf(text, sizeof(text), "%d", (int)rng_below(rng, TAGS));
		add_tag(t, text);
	}
	return t;
}

static bool has_tag(const struct thing *t, const char *tag)
{
	for (int i = 0; i < t->n_tags; i++)
		if (str_eq(t->tags[i], tag))
			return true;
	return false;
}

/* Each object under the key exactly once, and no other. */
static void assert_bucket(const struct store *s, const struct model *m, unsigned index, const char *key,
                          const char *plain)
{
	struct store_cursor cursor = { 0 };
	const struct thing *t;
	size_t expected = 0, n = 0;

	for (int i = 0; i < NAMES; i++)
		if (m->things[i])
			expected += index == BY_NODE ? str_eq(m->things[i]->node, plain) : has_tag(m->things[i], plain);
	while ((t = store_find(s, index, key, &cursor))) {
		assert_true(index == BY_NODE ? str_eq(t->node, plain) : has_tag(t, plain));
		assert_ptr_equal(store_get(s, t->meta.ns, t->name), t);
		n++;
	}
	assert_int_equal(n, expected);
	assert_int_equal(store_find_count(s, index, key), expected);
}

static void assert_agree(const struct store *s, const struct model *m)
{
	size_t n = 0;

	for (int i = 0; i < NAMES; i++) {
		char name[16];
		const struct thing *t;

		snprintf(name, sizeof(name), "x%d", i);
		t = store_get(s, i % 2 ? "a" : NULL, name);
		assert_true(!t == !m->things[i]);
		if (t)
			assert_string_equal(t->version, m->things[i]->version);
		n += t != NULL;
	}
	assert_int_equal(store_count(s), n);
	for (int i = 0; i < MAX_OF(NODES, TAGS); i++) {
		char node[16], tag[16], plain[16];

		snprintf(plain, sizeof(plain), "%d", i);
		snprintf(node, sizeof(node), "n%d", i);
		snprintf(tag, sizeof(tag), "tag=%d", i);
		assert_bucket(s, m, BY_NODE, node, node);
		assert_bucket(s, m, BY_TAG, tag, plain);
	}
}

static void model_set(struct model *m, int i, struct thing *t)
{
	free(m->things[i]);
	m->things[i] = t;
}

static void random_put(struct store *s, struct model *m, struct rng *rng, int i, int version)
{
	struct thing *t = random_thing(rng, i, version);

	store_put(s, t, sizeof(*t));
	model_set(m, i, mem_dup(t, sizeof(*t)));
	m->listed[i] = true;
}

static void random_remove(struct store *s, struct model *m, int i)
{
	char name[16];

	snprintf(name, sizeof(name), "x%d", i);
	store_remove(s, i % 2 ? "a" : NULL, name);
	model_set(m, i, NULL);
}

static void random_list(struct store *s, struct model *m, struct rng *rng, int *version)
{
	memset(m->listed, 0, sizeof(m->listed));
	store_replace_begin(s);
	for (int i = 0; i < NAMES; i++)
		if (rng_below(rng, 4))
			random_put(s, m, rng, i, ++*version);
	if (rng_below(rng, 3) == 0)
		return; /* abandoned */
	store_replace_end(s);
	for (int i = 0; i < NAMES; i++)
		if (!m->listed[i])
			model_set(m, i, NULL);
}

static void test_agrees_with_a_plain_array_over_many_changes(void **state)
{
	_cleanup_(store_freep) struct store *s = store_new(&things);
	struct rng rng = rng_seeded(7);
	struct model m = { 0 };
	int version = 0;

	(void)state;
	for (int step = 0; step < 5000; step++) {
		int i = (int)rng_below(&rng, NAMES);

		switch (rng_below(&rng, 40)) {
		case 0: random_list(s, &m, &rng, &version); break;
		case 1 ... 12: random_remove(s, &m, i); break;
		default: random_put(s, &m, &rng, i, ++version); break;
		}
		assert_agree(s, &m);
	}
	for (int i = 0; i < NAMES; i++)
		free(m.things[i]);
}

TEST_MAIN(TEST(objects_are_found_by_namespace_and_name), TEST(walk_goes_in_order_of_insertion),
          TEST(indexes_follow_changes), TEST(listeners_hear_each_change_once),
          TEST(the_same_version_of_another_object_is_a_change), TEST(a_full_list_removes_what_it_does_not_have),
          TEST(a_new_list_of_a_custom_kind_shows_the_same_version_otherwise), TEST(an_abandoned_list_removes_nothing),
          TEST(what_a_list_has_but_nobody_could_read_stays), TEST(freshness_is_what_the_source_said_last),
          TEST(memory_is_accounted_and_comes_back), TEST(agrees_with_a_plain_array_over_many_changes))
