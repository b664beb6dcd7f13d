/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/feed.h"

#include <errno.h>

#include "base/rand.h"
#include "base/str.h"
#include "base/test.h"
#include "kube/lines.h"
#include "kube/test_sample_table.h"
#include "kube/test_samples.h"
#include "model/pod.h"

#define LINE_MAX_BYTES (1u << 20)

static const struct store_kind pods = { .name = "pods" };

/* A store with all that fills it, as an informer has. */
struct fixture {
	struct store *store;
	struct feed feed;
	struct lines lines;
	char version[128];
	bool ended; /* by an ERROR event */
};

static void fixture_init(struct fixture *x)
{
	*x = (struct fixture) { .store = store_new(&pods), .version = "1" };
	feed_init(&x->feed, KUBE_PODS, x->store);
	lines_init(&x->lines, LINE_MAX_BYTES);
}

static void fixture_done(struct fixture *x)
{
	lines_done(&x->lines);
	feed_done(&x->feed);
	store_free(x->store);
}

static int got_line(void *arg, const char *line, size_t len, struct err *err)
{
	struct fixture *x = arg;
	const char *version = NULL;
	enum feed_event event;
	int r = feed_line(&x->feed, line, len, &event, &version, err);

	if (r < 0)
		return r;
	if (event == FEED_ERROR)
		x->ended = true;
	else
		str_copy(x->version, sizeof(x->version), version);
	return 0;
}

static int feed_bytes(struct fixture *x, const char *data, size_t len, struct err *err)
{
	return lines_feed(&x->lines, data, len, got_line, x, err);
}

static void names_in(const struct store *s, struct buf *out)
{
	const struct meta *m;
	size_t i = 0;

	while ((m = store_next(s, &i)))
		buf_printf(out, "%s%s", out->len ? " " : "", m->name);
}

static void assert_names(const struct fixture *x, const char *names)
{
	_cleanup_buf_ struct buf b = BUF(100000);

	names_in(x->store, &b);
	assert_string_equal(buf_text(&b), names);
}

static int feed_text(struct feed *f, const char *text, struct feed_page *ret, struct err *err)
{
	static char copy[65536];

	assert_true(str_copy(copy, sizeof(copy) - 8, text));
	return feed_page(f, copy, strlen(copy), ret, err);
}

static void test_every_recorded_page_fills_the_store(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_sample_cases; i++) {
		const struct sample_case *c = &sample_cases[i];
		_cleanup_(sample_freep) struct sample *s = NULL;
		struct feed_page page = { 0 };
		struct err err = { 0 };
		struct fixture x;
		int r;

		if (c->role != SAMPLE_LIST)
			continue;
		s = sample_read(c->file);
		fixture_init(&x);
		store_replace_begin(x.store);
		r = feed_page(&x.feed, s->body, s->body_len, &page, &err);
		if ((r == 0) != (c->outcome == KUBE_OK))
			fail_msg("%s: %d %s", c->file, r, err.text);
		if (r == 0) /* of a page that was cut off, the items before the cut are there */
			assert_names(&x, c->text);
		if (c->version)
			assert_string_equal(page.version, c->version);
		fixture_done(&x);
	}
}

static void test_a_page_gives_the_token_of_the_next(void **state)
{
	_cleanup_(sample_freep) struct sample *more = sample_read("06-list-limit2.txt");
	_cleanup_(sample_freep) struct sample *last = sample_read("06d-list-labelselector-empty.txt");
	struct feed_page page;
	struct fixture x;

	(void)state;
	fixture_init(&x);
	assert_int_equal(feed_page(&x.feed, more->body, more->body_len, &page, NULL), 0);
	assert_string_equal(page.token, "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MjYxLCJzdGFydCI6Ii9wMVx1MDAwMCJ9");
	assert_int_equal(page.n, 2);
	assert_int_equal(feed_page(&x.feed, last->body, last->body_len, &page, NULL), 0);
	assert_null(page.token);
	fixture_done(&x);
}

/* What a stream must leave behind, fed in pieces. */
static void check_stream(const struct sample_case *c, const struct sample *s, const size_t *cuts, size_t n_cuts)
{
	struct err err = { 0 };
	struct fixture x;
	size_t at = 0;

	fixture_init(&x);
	for (size_t i = 0; i <= n_cuts; i++) {
		size_t end = i < n_cuts ? cuts[i] : s->body_len;

		if (feed_bytes(&x, s->body + at, end - at, &err) < 0)
			fail_msg("%s cut at %zu: %s", c->file, at, err.text);
		at = end;
	}
	if (c->text)
		assert_names(&x, c->text);
	if (c->version)
		assert_string_equal(x.version, c->version);
	assert_int_equal(x.ended, c->outcome == KUBE_RETRY);
	if (x.ended)
		assert_int_equal(x.feed.status->expired, c->expired);
	assert_int_equal(x.feed.unreadable, 0);
	fixture_done(&x);
}

static void test_every_recorded_stream_cut_at_every_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_sample_cases; i++) {
		const struct sample_case *c = &sample_cases[i];
		_cleanup_(sample_freep) struct sample *s = NULL;
		_cleanup_free_ size_t *all = NULL;

		/* 07f holds HTTP's own chunks: the replay over the wire has it */
		if (c->role != SAMPLE_WATCH || str_starts(c->file, "07f"))
			continue;
		s = sample_read(c->file);
		sample_make_pods(s);
		all = mem_alloc_n(s->body_len, sizeof(*all));
		for (size_t at = 0; at < s->body_len; at++)
			all[at] = at;
		check_stream(c, s, all, s->body_len); /* a byte at a time */
		for (size_t at = 0; at < s->body_len; at += s->body_len > 100000 ? 9973 : 7)
			check_stream(c, s, &all[at], 1);
	}
}

/* How Pods were when they went, as "name phase exit". */
static void note_removed(void *arg, enum store_event event, const void *was, const void *is)
{
	const struct pod *p = was;

	(void)is;
	if (event == STORE_REMOVED)
		buf_printf(arg, "%s %d %d\n", p->meta.name, p->phase, p->n_statuses ? p->statuses[0].exit_code : -1);
}

static void test_the_life_of_real_pods_ends_as_recorded(void **state)
{
	_cleanup_(sample_freep) struct sample *s = sample_read("30-kubelet-lifecycle.jsonl");
	_cleanup_buf_ struct buf removed = BUF(10000);
	struct rng rng = rng_seeded(3);
	struct err err = { 0 };
	struct fixture x;
	size_t at = 0;

	(void)state;
	fixture_init(&x);
	store_listen(x.store, note_removed, &removed);
	while (at < s->body_len) {
		size_t n = MIN_OF((size_t)rng_below(&rng, 5000) + 1, s->body_len - at);

		assert_int_equal(feed_bytes(&x, s->body + at, n, &err), 0);
		at += n;
	}
	assert_non_null(strstr(buf_text(&removed), "ok 3 0\n"));   /* Succeeded */
	assert_non_null(strstr(buf_text(&removed), "fail 4 3\n")); /* Failed */
	assert_true(x.feed.events > 50);
	assert_int_equal(x.feed.unreadable, 0);
	assert_int_equal(store_count(x.store), 0);
	fixture_done(&x);
}

#define EVENT(type, name, version, spec)                                                                               \
	"{\"type\":\"" type "\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"ns\",\"name\":\"" name      \
	"\",\"uid\":\"u-" name "\",\"resourceVersion\":\"" version "\"},\"spec\":" spec "}}\n"

static void feed_ok(struct fixture *x, const char *text)
{
	struct err err = { 0 };

	if (feed_bytes(x, text, strlen(text), &err) < 0)
		fail_msg("%s", err.text);
}

static void test_an_object_that_cannot_be_read_keeps_its_last_version(void **state)
{
	const struct pod *p;
	struct fixture x;

	(void)state;
	fixture_init(&x);
	feed_ok(&x, EVENT("ADDED", "p", "5", "{\"nodeName\":\"n1\"}"));
	feed_ok(&x, EVENT("MODIFIED", "p", "6", "{\"nodeName\":17}"));
	feed_ok(&x, EVENT("ADDED", "q", "7", "{\"containers\":\"none\"}"));
	p = store_get(x.store, "ns", "p");
	assert_string_equal(p->node_name, "n1");
	assert_string_equal(p->meta.resource_version, "5");
	assert_null(store_get(x.store, "ns", "q"));
	assert_int_equal(x.feed.unreadable, 2);
	assert_non_null(strstr(x.feed.last_unreadable.text, "Pod ns/q: spec.containers"));
	assert_string_equal(x.version, "7"); /* the stream goes on behind it */
	feed_ok(&x, EVENT("DELETED", "p", "8", "{\"nodeName\":17}"));
	assert_int_equal(store_count(x.store), 0);
	fixture_done(&x);
}

static void test_what_a_container_writes_cannot_hide_its_pod(void **state)
{
	const struct pod *p;
	struct fixture x;

	(void)state;
	fixture_init(&x);
	feed_ok(&x, EVENT("ADDED", "p", "5", "{\"nodeName\":\"n1\"}"));
	feed_ok(&x, "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"namespace\":\"ns\",\"name\":\"p\","
	            "\"resourceVersion\":\"6\"},\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[{\"state\":{"
	            "\"terminated\":{\"exitCode\":3,\"message\":\"bye\\u0000\"}}}]}}}\n");
	p = store_get(x.store, "ns", "p");
	assert_int_equal(x.feed.unreadable, 0);
	assert_int_equal(p->phase, POD_FAILED);
	assert_int_equal(p->statuses[0].exit_code, 3);
	assert_string_equal(p->statuses[0].message, "bye\x01");
	feed_ok(&x, EVENT("ADDED", "p\\u0000q", "7", "{}")); /* but who it is must be sure */
	assert_int_equal(x.feed.unreadable, 1);
	assert_int_equal(store_count(x.store), 1);
	fixture_done(&x);
}

#define PAGE(items) "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[" items "]}"
#define ITEM(name, version, spec)                                                                                      \
	"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"" name "\",\"resourceVersion\":\"" version                     \
	"\"},\"spec\":" spec "}"

static void test_an_unreadable_item_of_a_list_is_not_taken_for_deleted(void **state)
{
	struct feed_page page;
	struct fixture x;

	(void)state;
	fixture_init(&x);
	feed_ok(&x, EVENT("ADDED", "p", "5", "{}") EVENT("ADDED", "gone", "6", "{}"));
	store_replace_begin(x.store);
	assert_int_equal(
	        feed_text(&x.feed, PAGE(ITEM("p", "8", "{\"nodeName\":[]}") "," ITEM("r", "9", "{}")), &page, NULL), 0);
	store_replace_end(x.store);
	assert_names(&x, "p r");
	assert_int_equal(x.feed.unreadable, 1);
	fixture_done(&x);
}

static void test_a_list_with_a_nameless_item_says_nothing_about_deletions(void **state)
{
	static const char *const bad[] = { PAGE("{}"), PAGE("{\"metadata\":{\"name\":\"\"}}"), PAGE("17"),
		                           PAGE("null") };
	struct feed_page page;
	struct fixture x;

	(void)state;
	fixture_init(&x);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err err = { 0 };

		assert_int_equal(feed_text(&x.feed, bad[i], &page, &err), -EBADMSG);
		assert_string_equal(err.text, "item 0 of the list of pods has no proper name");
	}
	fixture_done(&x);
}

static void test_text_that_is_no_page_is_an_error(void **state)
{
	static const char *const bad[] = {
		"",
		"<html>",
		"{}",
		"[]",
		"{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"1\"}}",
		"{\"kind\":\"PodList\",\"metadata\":{},\"items\":[]}",
		"{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"\"},\"items\":[]}",
		"{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":{}}",
	};
	struct feed_page page;
	struct fixture x;

	(void)state;
	fixture_init(&x);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_true(feed_text(&x.feed, bad[i], &page, NULL) < 0);
	assert_int_equal(feed_text(&x.feed,
	                           "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":null}",
	                           &page, NULL),
	                 0);
	fixture_done(&x);
}

static void test_garbage_in_a_stream_is_an_error_and_changes_nothing(void **state)
{
	static const char *const bad[] = {
		"<html>",
		"{",
		"17",
		"{}",
		"{\"type\":\"ADDED\"}",
		"{\"type\":\"ADDED\",\"object\":[]}",
		"{\"type\":\"ADDED\",\"object\":{}}",
		"{\"object\":{\"metadata\":{\"resourceVersion\":\"7\",\"name\":\"p\",\"namespace\":\"ns\"}}}",
		"{\"type\":\"RENAMED\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}",
		"{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}",
		"{\"type\":\"ERROR\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}",
		"\xff\xfe",
	};
	struct fixture x;

	(void)state;
	fixture_init(&x);
	feed_ok(&x, EVENT("ADDED", "p", "5", "{}"));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err err = { 0 };

		if (feed_bytes(&x, bad[i], strlen(bad[i]), &err) == 0 && feed_bytes(&x, "\n", 1, &err) == 0)
			fail_msg("taken: %s", bad[i]);
		assert_true(err.text[0]);
		lines_reset(&x.lines);
	}
	assert_names(&x, "p");
	assert_string_equal(x.version, "5");
	fixture_done(&x);
}

static void test_duplicate_events_change_nothing_and_versions_are_opaque(void **state)
{
	const struct pod *p;
	struct fixture x;

	(void)state;
	fixture_init(&x);
	feed_ok(&x, EVENT("ADDED", "p", "9", "{\"nodeName\":\"a\"}"));
	feed_ok(&x, EVENT("MODIFIED", "p", "9", "{\"nodeName\":\"b\"}"));
	p = store_get(x.store, "ns", "p");
	assert_string_equal(p->node_name, "a");
	feed_ok(&x, EVENT("MODIFIED", "p", "8", "{\"nodeName\":\"c\"}")); /* a smaller number is not an older version */
	p = store_get(x.store, "ns", "p");
	assert_string_equal(p->node_name, "c");
	feed_ok(&x, EVENT("DELETED", "never-seen", "10", "{}"));
	assert_names(&x, "p");
	fixture_done(&x);
}

static void test_a_bookmark_only_moves_the_version(void **state)
{
	struct fixture x;

	(void)state;
	fixture_init(&x);
	feed_ok(&x,
	        "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"77\"}}}\n");
	assert_string_equal(x.version, "77");
	assert_int_equal(store_count(x.store), 0);
	assert_int_equal(x.feed.unreadable, 0);
	fixture_done(&x);
}

TEST_MAIN(TEST(every_recorded_page_fills_the_store), TEST(a_page_gives_the_token_of_the_next),
          TEST(every_recorded_stream_cut_at_every_byte), TEST(the_life_of_real_pods_ends_as_recorded),
          TEST(an_object_that_cannot_be_read_keeps_its_last_version), TEST(what_a_container_writes_cannot_hide_its_pod),
          TEST(an_unreadable_item_of_a_list_is_not_taken_for_deleted),
          TEST(a_list_with_a_nameless_item_says_nothing_about_deletions), TEST(text_that_is_no_page_is_an_error),
          TEST(garbage_in_a_stream_is_an_error_and_changes_nothing),
          TEST(duplicate_events_change_nothing_and_versions_are_opaque), TEST(a_bookmark_only_moves_the_version))
