/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/events.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "base/test.h"
#include "kube/test_samples.h"
#include "json/json.h"

#define EVENTS_PATH "/apis/events.k8s.io/v1/namespaces/"

struct world {
	struct recorder *r;
	struct event_time now;
	struct event_request q; /* the last one taken */
	yyjson_doc *doc;        /* its body */
};

static int setup(void **state)
{
	struct world *w = NEW(struct world);

	w->r = recorder_new("sunk.coreweave.com/scheduler", "scheduler-0");
	w->now = (struct event_time) { .mono = 1000 * USEC_SEC, .wall = 1794766601 * USEC_SEC + 7 };
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	yyjson_doc_free(w->doc);
	recorder_free(w->r);
	free(w);
	return 0;
}

static void pass(struct world *w, usec_t span)
{
	w->now.mono += span;
	w->now.wall += span;
}

static struct event about_pod(const char *note)
{
	return (struct event) { "v1", "Pod", "ns", "p4", "uid-4", "Warning", "FailedScheduling", "Scheduling", note };
}

static void tell(struct world *w, const char *note)
{
	struct event e = about_pod(note);

	recorder_add(w->r, &e, w->now);
}

static bool take(struct world *w)
{
	struct err err;

	if (!recorder_take(w->r, w->now, &w->q))
		return false;
	yyjson_doc_free(w->doc);
	w->doc = NULL;
	if (json_parse_copy(w->q.rest.body, w->q.rest.body_len, &w->doc, &err) < 0)
		fail_msg("%s", err_text(&err));
	return true;
}

static void take_kind(struct world *w, const char *method)
{
	assert_true(take(w));
	assert_string_equal(w->q.rest.method, method);
}

static void answer(struct world *w, int status)
{
	recorder_answered(w->r, w->q.id, status, w->now);
}

static const char *text_at(struct world *w, const char *a, const char *b)
{
	yyjson_val *v = json_get(yyjson_doc_get_root(w->doc), a);

	return json_str(b ? json_get(v, b) : v);
}

static int64_t series_count(struct world *w)
{
	return json_int(json_get(json_get(yyjson_doc_get_root(w->doc), "series"), "count"), 0);
}

/* The members of an object are exactly those of another. */
static void assert_same_members(yyjson_val *a, yyjson_val *b)
{
	yyjson_val *key, *value;
	size_t i, n;

	yyjson_obj_foreach(a, i, n, key, value)
	{
		yyjson_val *other = json_get(b, yyjson_get_str(key));

		if (!other)
			fail_msg("member %s is not in the other", yyjson_get_str(key));
		assert_int_equal(yyjson_get_type(value), yyjson_get_type(other));
		if (yyjson_is_obj(value))
			assert_same_members(value, other);
	}
}

/* What the request of a recorded exchange had as its body: in the curl command line, with shell quoting. */
static yyjson_doc *sample_request(const char *name)
{
	_cleanup_(sample_freep) struct sample *s = sample_read(name);
	_cleanup_buf_ struct buf b = BUF(65536);
	const char *p = strstr(s->text, " -d ");
	yyjson_doc *doc;

	assert_non_null(p);
	for (p += 4; *p && *p != ' ' && *p != '\n'; p++) {
		if (*p == '\\')
			p++;
		buf_add_char(&b, *p);
	}
	assert_int_equal(json_parse_copy(buf_text(&b), b.len, &doc, NULL), 0);
	return doc;
}

static void test_the_first_time_makes_an_object_as_a_server_takes_it(void **state)
{
	struct world *w = *state;
	yyjson_doc *sample = sample_request("15c-event-v1.txt");

	tell(w, "waiting for Slurm");
	assert_int_equal(recorder_next(w->r), w->now.mono);
	take_kind(w, "POST");
	assert_string_equal(w->q.rest.path, EVENTS_PATH "ns/events");
	assert_string_equal(w->q.rest.content_type, "application/json");
	assert_same_members(yyjson_doc_get_root(sample), yyjson_doc_get_root(w->doc));
	assert_same_members(yyjson_doc_get_root(w->doc), yyjson_doc_get_root(sample));
	assert_string_equal(text_at(w, "apiVersion", NULL), "events.k8s.io/v1");
	assert_string_equal(text_at(w, "eventTime", NULL), "2026-11-15T18:16:41.000007Z");
	assert_string_equal(text_at(w, "reportingController", NULL), "sunk.coreweave.com/scheduler");
	assert_string_equal(text_at(w, "reportingInstance", NULL), "scheduler-0");
	assert_string_equal(text_at(w, "action", NULL), "Scheduling");
	assert_string_equal(text_at(w, "reason", NULL), "FailedScheduling");
	assert_string_equal(text_at(w, "type", NULL), "Warning");
	assert_string_equal(text_at(w, "note", NULL), "waiting for Slurm");
	assert_string_equal(text_at(w, "regarding", "kind"), "Pod");
	assert_string_equal(text_at(w, "regarding", "name"), "p4");
	assert_string_equal(text_at(w, "regarding", "uid"), "uid-4");
	assert_string_equal(text_at(w, "regarding", "namespace"), "ns");
	assert_true(str_starts(text_at(w, "metadata", "name"), "p4."));
	assert_false(take(w));
	answer(w, 201);
	assert_false(take(w));
	yyjson_doc_free(sample);
}

static void test_a_repeat_is_a_series_of_the_same_object(void **state)
{
	struct world *w = *state;
	yyjson_doc *sample = sample_request("15d-event-v1-series-patch.txt");
	char path[300];

	tell(w, "n");
	take_kind(w, "POST");
	snprintf(path, sizeof(path), EVENTS_PATH "ns/events/%s", text_at(w, "metadata", "name"));
	answer(w, 201);
	pass(w, USEC_SEC);
	tell(w, "n");
	take_kind(w, "PATCH"); /* the first repeat at once */
	assert_string_equal(w->q.rest.path, path);
	assert_string_equal(w->q.rest.content_type, "application/strategic-merge-patch+json");
	assert_same_members(yyjson_doc_get_root(sample), yyjson_doc_get_root(w->doc));
	assert_same_members(yyjson_doc_get_root(w->doc), yyjson_doc_get_root(sample));
	assert_int_equal(series_count(w), 2);
	assert_string_equal(text_at(w, "series", "lastObservedTime"), "2026-11-15T18:16:42.000007Z");
	answer(w, 200);
	for (int i = 0; i < 1000; i++) { /* many more within a minute: one write */
		pass(w, 50 * USEC_MSEC);
		tell(w, "n");
		assert_false(take(w));
	}
	pass(w, 10 * USEC_SEC);
	take_kind(w, "PATCH");
	assert_string_equal(w->q.rest.path, path);
	assert_int_equal(series_count(w), 1002);
	answer(w, 200);
	assert_int_equal(recorder_count(w->r), 1);
	pass(w, 2 * USEC_MINUTE);
	assert_false(take(w)); /* nothing new, nothing to write */
	tell(w, "n");
	take_kind(w, "PATCH");
	assert_int_equal(series_count(w), 1003);
	yyjson_doc_free(sample);
}

static void test_repeats_while_the_first_is_on_its_way_wait_for_its_answer(void **state)
{
	struct world *w = *state;

	tell(w, "n");
	take_kind(w, "POST");
	tell(w, "n");
	tell(w, "n");
	assert_false(take(w));
	answer(w, 201);
	take_kind(w, "PATCH");
	assert_int_equal(series_count(w), 3);
}

static void test_any_difference_makes_another_object(void **state)
{
	struct world *w = *state;
	struct event base = about_pod("n"), e;
	static const size_t fields[] = { offsetof(struct event, uid), offsetof(struct event, reason),
		                         offsetof(struct event, action), offsetof(struct event, note) };

	recorder_add(w->r, &base, w->now);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		e = base;
		*(const char **)(void *)((char *)&e + fields[i]) = "different";
		recorder_add(w->r, &e, w->now);
	}
	e = base;
	e.type = "Normal";
	recorder_add(w->r, &e, w->now);
	assert_int_equal(recorder_count(w->r), 6);
	/* parts that could run into each other do not */
	e = base;
	e.reason = "FailedSchedulingS";
	e.action = "cheduling";
	recorder_add(w->r, &e, w->now);
	assert_int_equal(recorder_count(w->r), 7);
}

static void test_names_of_objects_are_all_different(void **state)
{
	struct world *w = *state;
	char first[300];

	tell(w, "a");
	tell(w, "b");
	take_kind(w, "POST");
	str_copy(first, sizeof(first), text_at(w, "metadata", "name"));
	take_kind(w, "POST");
	assert_string_not_equal(text_at(w, "metadata", "name"), first);
}

static void test_long_names_make_valid_ones(void **state)
{
	struct world *w = *state;
	struct event e = about_pod("n");
	char name[254];

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	memset(name + 230, '-', 6); /* where it will be cut */
	e.name = name;
	recorder_add(w->r, &e, w->now);
	take_kind(w, "POST");
	assert_true(strlen(text_at(w, "metadata", "name")) <= 253);
	assert_null(strstr(text_at(w, "metadata", "name"), "-."));
	assert_string_equal(text_at(w, "regarding", "name"), name);
}

static void test_events_about_cluster_wide_objects_go_to_the_default_namespace(void **state)
{
	struct world *w = *state;
	struct event e = { "v1", "Node", NULL, "n1", NULL, "Normal", "Locked", "Locking", "n" };

	recorder_add(w->r, &e, w->now);
	take_kind(w, "POST");
	assert_string_equal(w->q.rest.path, EVENTS_PATH "default/events");
	assert_string_equal(text_at(w, "metadata", "namespace"), "default");
	assert_null(text_at(w, "regarding", "namespace"));
	assert_null(text_at(w, "regarding", "uid"));
}

static void test_notes_are_cut_between_characters(void **state)
{
	struct world *w = *state;
	static const char *const characters[] = { "a", "é", "…", "😀" };

	for (size_t i = 0; i < ARRAY_LEN(characters); i++)
		for (size_t n = 1018 / strlen(characters[i]); n < 1030; n++) {
			struct buf note = BUF(8192);
			const char *is;

			for (size_t k = 0; k < n; k++)
				buf_add_str(&note, characters[i]);
			pass(w, EVENT_SERIES_SPAN); /* a new series, a full bucket */
			tell(w, buf_text(&note));
			take_kind(w, "POST");
			is = text_at(w, "note", NULL);
			assert_true(strlen(is) <= EVENT_NOTE_MAX);
			assert_true(str_is_utf8(is, strlen(is)));
			if (note.len <= EVENT_NOTE_MAX)
				assert_string_equal(is, buf_text(&note));
			else
				assert_true(str_ends(is, "…") && strlen(is) > EVENT_NOTE_MAX - 8);
			answer(w, 201);
			buf_done(&note);
		}
}

static void test_text_that_is_no_utf8_can_still_be_sent(void **state)
{
	struct world *w = *state;
	struct event e = about_pod("a\xff\xfe\xc3.b\xe2\x80");

	e.reason = NULL;
	e.action = "";
	e.type = "Odd";
	recorder_add(w->r, &e, w->now);
	take_kind(w, "POST");
	assert_string_equal(text_at(w, "note", NULL), "a???.b??");
	assert_string_equal(text_at(w, "reason", NULL), "Unknown");
	assert_string_equal(text_at(w, "action", NULL), "Unknown");
	assert_string_equal(text_at(w, "type", NULL), "Normal");
}

static void test_one_object_cannot_flood_the_server(void **state)
{
	struct world *w = *state;
	struct event other = about_pod("other");
	unsigned sent = 0;
	char note[32];

	for (int i = 0; i < 60; i++) {
		snprintf(note, sizeof(note), "note %d", i);
		tell(w, note);
		while (take(w)) {
			sent++;
			answer(w, 201);
		}
	}
	assert_int_equal(sent, EVENT_BURST);
	other.uid = "uid-5";
	recorder_add(w->r, &other, w->now);
	take_kind(w, "POST"); /* others are not held up */
	answer(w, 201);
	other = about_pod("what matters more");
	other.reason = "Another";
	recorder_add(w->r, &other, w->now);
	take_kind(w, "POST"); /* nor is what has another reason */
	answer(w, 201);
	assert_int_equal(recorder_next(w->r), w->now.mono + EVENT_REFILL_SPAN);
	pass(w, EVENT_REFILL_SPAN);
	take_kind(w, "POST");
	assert_string_equal(text_at(w, "note", NULL), "note 25"); /* in the order they were told */
	answer(w, 201);
	assert_false(take(w));
	/* what has waited for too long is no news */
	while (recorder_count(w->r) && w->now.mono < USEC_HOUR * 10) {
		pass(w, USEC_MINUTE);
		while (take(w))
			answer(w, 201);
	}
	assert_int_equal(recorder_count(w->r), 0);
	assert_true(recorder_dropped(w->r) > 20);
}

static void test_a_series_without_repeats_ends_and_the_next_is_a_new_object(void **state)
{
	struct world *w = *state;
	char first[300];

	tell(w, "n");
	take_kind(w, "POST");
	str_copy(first, sizeof(first), text_at(w, "metadata", "name"));
	answer(w, 201);
	assert_int_equal(recorder_next(w->r), w->now.mono + EVENT_SERIES_SPAN);
	pass(w, EVENT_SERIES_SPAN - 1);
	tell(w, "n");
	take_kind(w, "PATCH");
	answer(w, 200);
	pass(w, EVENT_SERIES_SPAN);
	tell(w, "n");
	take_kind(w, "POST");
	assert_string_not_equal(text_at(w, "metadata", "name"), first);
	assert_int_equal(series_count(w), 0);
	answer(w, 201);
	pass(w, EVENT_SERIES_SPAN);
	assert_false(take(w));
	assert_int_equal(recorder_count(w->r), 0);
	assert_int_equal(recorder_next(w->r), USEC_NEVER);
	assert_int_equal(recorder_dropped(w->r), 0);
}

static void test_an_object_that_is_gone_is_made_anew_with_its_series(void **state)
{
	struct world *w = *state;

	tell(w, "n");
	take_kind(w, "POST");
	answer(w, 201);
	tell(w, "n");
	take_kind(w, "PATCH");
	answer(w, 404);
	take_kind(w, "POST");
	assert_int_equal(series_count(w), 2);
	assert_string_equal(text_at(w, "eventTime", NULL), "2026-11-15T18:16:41.000007Z");
	answer(w, 201);
	tell(w, "n");
	pass(w, EVENT_PATCH_SPAN);
	take_kind(w, "PATCH");
	assert_int_equal(series_count(w), 3);
}

static void test_a_name_that_is_taken_is_changed(void **state)
{
	struct world *w = *state;
	char first[300];

	tell(w, "n");
	take_kind(w, "POST");
	str_copy(first, sizeof(first), text_at(w, "metadata", "name"));
	answer(w, 409);
	pass(w, USEC_MINUTE);
	take_kind(w, "POST");
	assert_string_not_equal(text_at(w, "metadata", "name"), first);
}

static void test_a_lost_answer_does_not_make_two_objects(void **state)
{
	struct world *w = *state;
	char first[300];

	tell(w, "n");
	take_kind(w, "POST");
	str_copy(first, sizeof(first), text_at(w, "metadata", "name"));
	answer(w, 0);
	pass(w, USEC_MINUTE);
	take_kind(w, "POST");
	assert_string_equal(text_at(w, "metadata", "name"), first);
	answer(w, 409); /* it had arrived */
	assert_false(take(w));
	tell(w, "n");
	take_kind(w, "PATCH");
}

static void test_a_server_that_is_away_is_tried_a_few_times(void **state)
{
	struct world *w = *state;
	static const int away[] = { 0, 401, 429, 500, 503 };

	for (size_t i = 0; i < ARRAY_LEN(away); i++) {
		unsigned tries = 0;
		usec_t start = w->now.mono;

		pass(w, EVENT_SERIES_SPAN * 10);
		tell(w, "n");
		while (recorder_next(w->r) != USEC_NEVER && w->now.mono < start + 20 * EVENT_SERIES_SPAN) {
			w->now.mono = MAX_OF(w->now.mono, recorder_next(w->r));
			if (!take(w))
				continue;
			tries++;
			answer(w, away[i]);
			assert_true(recorder_next(w->r) > w->now.mono);
		}
		assert_int_equal(tries, EVENT_TRIES_MAX);
		assert_int_equal(recorder_count(w->r), 0);
		assert_int_equal(recorder_dropped(w->r), i + 1);
	}
}

static void test_what_the_server_refuses_is_not_sent_again(void **state)
{
	struct world *w = *state;
	static const int refused[] = { 400, 403, 404, 413, 422 };

	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		pass(w, EVENT_SERIES_SPAN);
		tell(w, "n");
		take_kind(w, "POST");
		answer(w, refused[i]);
		for (int k = 0; k < 100; k++) {
			pass(w, USEC_SEC);
			tell(w, "n");
			assert_false(take(w));
		}
	}
}

static void test_at_most_some_are_on_their_way(void **state)
{
	struct world *w = *state;
	uint64_t first = 0;

	for (int i = 0; i < EVENT_IN_FLIGHT_MAX + 1; i++) {
		char uid[16];
		struct event e = about_pod("n");

		snprintf(uid, sizeof(uid), "uid-%d", i);
		e.uid = uid;
		recorder_add(w->r, &e, w->now);
	}
	for (int i = 0; i < EVENT_IN_FLIGHT_MAX; i++) {
		assert_true(take(w));
		first = first ? first : w->q.id;
	}
	assert_false(take(w));
	assert_int_equal(recorder_next(w->r), USEC_NEVER);
	recorder_answered(w->r, first, 201, w->now);
	recorder_answered(w->r, first, 201, w->now); /* twice, and one that never was: no harm */
	recorder_answered(w->r, 12345678, 201, w->now);
	assert_int_equal(recorder_next(w->r), w->now.mono);
	assert_true(take(w));
	assert_false(take(w));
}

static void test_the_table_is_bounded_and_the_oldest_goes_first(void **state)
{
	struct world *w = *state;
	char uid[32];
	struct event e = about_pod("n");

	e.uid = uid;
	for (int i = 0; i < EVENT_ENTRIES_MAX; i++) {
		snprintf(uid, sizeof(uid), "uid-%d", i);
		recorder_add(w->r, &e, w->now);
	}
	assert_int_equal(recorder_count(w->r), EVENT_ENTRIES_MAX);
	assert_int_equal(recorder_dropped(w->r), 0);
	snprintf(uid, sizeof(uid), "uid-0");
	recorder_add(w->r, &e, w->now); /* told again: no longer the oldest */
	for (int i = 0; i < 3 * EVENT_ENTRIES_MAX; i++) {
		snprintf(uid, sizeof(uid), "more-%d", i);
		recorder_add(w->r, &e, w->now);
		if (i == EVENT_ENTRIES_MAX / 2) {
			snprintf(uid, sizeof(uid), "uid-0");
			recorder_add(w->r, &e, w->now);
		}
		assert_true(recorder_count(w->r) <= EVENT_ENTRIES_MAX);
		if (i == EVENT_ENTRIES_MAX - 2)
			assert_int_equal(recorder_dropped(w->r), EVENT_ENTRIES_MAX - 1);
	}
	/* the slots were used again, and every entry still comes out once */
	for (int i = 0; i < EVENT_ENTRIES_MAX; i++) {
		assert_true(take(w));
		answer(w, 201);
	}
	assert_false(take(w));
}

static void test_one_object_cannot_fill_the_table(void **state)
{
	struct world *w = *state;
	char note[32];

	for (int i = 0; i < 1000; i++) {
		snprintf(note, sizeof(note), "note %d", i);
		tell(w, note);
	}
	assert_int_equal(recorder_count(w->r), EVENT_PER_OBJECT_MAX);
	assert_int_equal(recorder_dropped(w->r), 1000 - EVENT_PER_OBJECT_MAX);
	take_kind(w, "POST");
	assert_between(atoi(text_at(w, "note", NULL) + strlen("note ")), 1000 - EVENT_PER_OBJECT_MAX, 999);
}

static void test_what_cannot_be_sent_is_dropped(void **state)
{
	struct world *w = *state;
	struct event e = about_pod("n");

	e.ns = "../../secrets";
	recorder_add(w->r, &e, w->now);
	assert_false(take(w));
	e = about_pod("n");
	e.name = NULL;
	recorder_add(w->r, &e, w->now);
	assert_false(take(w));
	assert_int_equal(recorder_dropped(w->r), 2);
	assert_int_equal(recorder_count(w->r), 0);
}

#define IN_WORLD(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

TEST_MAIN(IN_WORLD(the_first_time_makes_an_object_as_a_server_takes_it),
          IN_WORLD(a_repeat_is_a_series_of_the_same_object),
          IN_WORLD(repeats_while_the_first_is_on_its_way_wait_for_its_answer),
          IN_WORLD(any_difference_makes_another_object), IN_WORLD(names_of_objects_are_all_different),
          IN_WORLD(long_names_make_valid_ones), IN_WORLD(events_about_cluster_wide_objects_go_to_the_default_namespace),
          IN_WORLD(notes_are_cut_between_characters), IN_WORLD(text_that_is_no_utf8_can_still_be_sent),
          IN_WORLD(one_object_cannot_flood_the_server),
          IN_WORLD(a_series_without_repeats_ends_and_the_next_is_a_new_object),
          IN_WORLD(an_object_that_is_gone_is_made_anew_with_its_series), IN_WORLD(a_name_that_is_taken_is_changed),
          IN_WORLD(a_lost_answer_does_not_make_two_objects), IN_WORLD(a_server_that_is_away_is_tried_a_few_times),
          IN_WORLD(what_the_server_refuses_is_not_sent_again), IN_WORLD(at_most_some_are_on_their_way),
          IN_WORLD(the_table_is_bounded_and_the_oldest_goes_first), IN_WORLD(one_object_cannot_fill_the_table),
          IN_WORLD(what_cannot_be_sent_is_dropped))
