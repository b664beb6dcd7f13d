/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/informer.h"

#include <stdio.h>

#include "base/str.h"
#include "base/test.h"
#include "kube/informer_plan.h"
#include "kube/test_replay.h"
#include "kube/test_sample_table.h"

#define LIST "pods?limit="
#define WATCH "watch=true"
#define PAGE(version, token, items)                                                                                    \
	"{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" version "\",\"continue\":\"" token                \
	"\"},\"items\":[" items "]}"
#define OBJECT(name, version, spec)                                                                                    \
	"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"" name "\",\"uid\":\"u-" name                                  \
	"\",\"resourceVersion\":\"" version "\"},\"spec\":" spec "}"
#define EVENT(type, name, version) "{\"type\":\"" type "\",\"object\":" OBJECT(name, version, "{}") "}\n"
#define STATUS(code, reason)                                                                                           \
	"{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"m\",\"reason\":\"" reason "\",\"code\":" #code "}"

struct fixture {
	struct world w;
	struct informer *i;
	struct store *store;
};

static void begin(struct fixture *x)
{
	world_init(&x->w);
}

static void go_with(struct fixture *x, const struct informer_options *o)
{
	x->i = informer_new(x->w.loop, clock_real(), x->w.client, o);
	x->store = informer_store(x->i);
}

static void go(struct fixture *x)
{
	go_with(x, &(struct informer_options) { .kind = KUBE_PODS });
}

static void end(struct fixture *x)
{
	informer_free(x->i);
	world_done(&x->w);
}

static void rule(struct fixture *x, struct replay_rule r)
{
	replay_add(x->w.replay, &r);
}

static void rule_page(struct fixture *x, const char *match, int times, const char *body)
{
	rule(x, (struct replay_rule) { .match = match, .times = times, .status = 200, .body = body });
}

/* A watch that says this and then nothing. */
static void rule_hold(struct fixture *x, const char *match, int times, const char *body)
{
	rule(x,
	     (struct replay_rule) {
	             .match = match, .times = times, .status = 200, .body = body, .piece = 4096, .end = REPLAY_HOLD });
}

/* A watch that says this and ends as it should. */
static void rule_stream(struct fixture *x, const char *match, int times, const char *body)
{
	rule(x, (struct replay_rule) { .match = match, .times = times, .status = 200, .body = body, .piece = 4096 });
}

static const char *names(const struct store *s)
{
	static char text[4096];
	const struct meta *m;
	size_t i = 0;

	text[0] = '\0';
	while ((m = store_next(s, &i)))
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", text[0] ? " " : "", m->name);
	return text;
}

#define WAIT(x, condition) WORLD_WAIT(&(x)->w, condition)
#define COUNT(x, match) replay_count((x)->w.replay, match)

static struct informer_stats stats(const struct fixture *x)
{
	struct informer_stats s;

	informer_read_stats(x->i, &s);
	return s;
}

static void test_pages_are_listed_and_then_watched_from_their_version(void **state)
{
	_cleanup_(sample_freep) struct sample *one = sample_read("06-list-limit2.txt"),
	                                      *two = sample_read("06b-list-continue.txt");
	_cleanup_(sample_freep) struct sample *last = sample_read("06d-list-labelselector-empty.txt");
	const char *request;
	struct fixture x;
	unsigned s = 0;

	(void)state;
	begin(&x);
	replay_add_sample(x.w.replay, LIST, 1, one);
	replay_add_sample(x.w.replay,
	                  LIST "500&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MjYxLCJzdGFydCI6Ii9wMVx1MDAwMCJ9", 1,
	                  two);
	replay_add_sample(x.w.replay,
	                  LIST "500&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MjYxLCJzdGFydCI6Ii9wM1x1MDAwMCJ9", 1,
	                  last);
	rule_hold(&x, WATCH, 0, EVENT("ADDED", "w", "262"));
	go(&x);
	assert_false(store_synced(x.store));
	WAIT(&x, store_get(x.store, "ns", "w"));
	assert_true(store_synced(x.store));
	assert_string_equal(names(x.store), "gen-ql6jn p1 p2 p3 w");
	request = replay_request(x.w.replay, WATCH, 0);
	assert_true(str_starts(request,
	                       "GET /api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=261&timeout"));
	assert_int_equal(sscanf(strstr(request, "timeoutSeconds="), "timeoutSeconds=%u", &s), 1);
	assert_between(s, 270, 330);
	assert_int_equal(stats(&x).lists, 1);
	assert_int_equal(stats(&x).pages, 3);
	assert_int_equal(stats(&x).events, 1);
	assert_true(stats(&x).bytes > one->body_len + two->body_len);
	assert_null(informer_error(x.i));
	end(&x);
}

static void test_selectors_and_namespaces_are_asked_for(void **state)
{
	struct informer_options o = { .kind = KUBE_LEASES,
		                      .ns = "kube-node-lease",
		                      .label_selector = "a=b",
		                      .field_selector = "metadata.name=x" };
	struct fixture x;

	(void)state;
	begin(&x);
	rule_page(&x, "limit=", 0, "{\"kind\":\"LeaseList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}");
	rule_hold(&x, WATCH, 0, "");
	go_with(&x, &o);
	WAIT(&x, COUNT(&x, WATCH) == 1);
	assert_true(str_starts(replay_request(x.w.replay, NULL, 0),
	                       "GET /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?"
	                       "labelSelector=a%3Db&fieldSelector=metadata.name%3Dx&limit=500 "));
	assert_non_null(
	        strstr(replay_request(x.w.replay, WATCH, 0), "labelSelector=a%3Db&fieldSelector=metadata.name%3Dx"));
	assert_true(informer_is_for(x.i, &o));
	assert_false(informer_is_for(x.i, &(struct informer_options) { .kind = KUBE_LEASES }));
	end(&x);
}

/* Each recorded stream over the wire, a byte at a time. */
static void test_every_recorded_stream_over_the_wire(void **state)
{
	(void)state;
	for (size_t n = 0; n < n_sample_cases; n++) {
		const struct sample_case *c = &sample_cases[n];
		_cleanup_(sample_freep) struct sample *s = NULL;
		struct fixture x;
		char resume[64];

		if (c->role != SAMPLE_WATCH)
			continue;
		s = sample_read(c->file);
		sample_make_pods(s);
		begin(&x);
		rule_page(&x, LIST, 1, PAGE("1", "", ""));
		rule(&x, (struct replay_rule) { .match = WATCH,
		                                .times = 1,
		                                .status = 200,
		                                .body = s->body,
		                                .len = s->body_len,
		                                .raw = str_starts(c->file, "07f"),
		                                .piece = s->body_len > 100000 ? 100 : 1 });
		rule_page(&x, LIST, 0, PAGE("77777", "", ""));
		rule_hold(&x, WATCH, 0, "");
		go(&x);
		WAIT(&x, COUNT(&x, WATCH) == 2);
		snprintf(resume, sizeof(resume), "resourceVersion=%s&", c->expired ? "77777" : c->version);
		if (!strstr(replay_request(x.w.replay, WATCH, 1), resume))
			fail_msg("%s: went on with %.200s", c->file, replay_request(x.w.replay, WATCH, 1));
		if (!str_eq(names(x.store), c->text))
			fail_msg("%s: %s", c->file, names(x.store));
		assert_int_equal(stats(&x).expired, c->expired);
		assert_int_equal(COUNT(&x, LIST), c->expired ? 2 : 1);
		end(&x);
	}
}

/* The streams that were recorded over HTTP/2, over HTTP/2; after the last, the server goes away as it did then. */
static void test_recorded_streams_over_http_2(void **state)
{
	static const char *const files[] = { "07b-watch-h2.txt", "08d-410-watch-in-stream-h2.txt",
		                             "40b-watch-at-shutdown-h2.txt" };
	struct test_cert ca, cert;

	(void)state;
	test_cert_make(&ca, NULL, "ca", NULL, -60, 3600);
	test_cert_make(&cert, &ca, "localhost", "DNS:localhost,IP:127.0.0.1", -60, 3600);
	for (size_t n = 0; n < n_sample_cases; n++) {
		const struct sample_case *c = &sample_cases[n];
		_cleanup_(sample_freep) struct sample *s = NULL;
		struct fixture x;
		char resume[64];

		if (!str_eq(c->file, files[0]) && !str_eq(c->file, files[1]) && !str_eq(c->file, files[2]))
			continue;
		s = sample_read(c->file);
		sample_make_pods(s);
		world_init_h2(&x.w, &cert, ca.cert_pem);
		rule_page(&x, LIST, 1, PAGE("1", "", ""));
		rule(&x, (struct replay_rule) { .match = WATCH,
		                                .times = 1,
		                                .status = 200,
		                                .body = s->body,
		                                .len = s->body_len,
		                                .end = str_starts(c->file, "40b") ? REPLAY_CLOSE : REPLAY_KEEP });
		rule_page(&x, LIST, 0, PAGE("77777", "", ""));
		rule_hold(&x, WATCH, 0, EVENT("ADDED", "later", "88888"));
		go(&x);
		WAIT(&x, store_get(x.store, "ns", "later"));
		snprintf(resume, sizeof(resume), "resourceVersion=%s&", c->expired ? "77777" : c->version);
		assert_non_null(strstr(replay_request(x.w.replay, WATCH, 1), resume));
		assert_non_null(
		        strstr(replay_request(x.w.replay, WATCH, 1), " HTTP/2\r\nAuthorization: Bearer secret\r\n"));
		assert_int_equal(stats(&x).expired, c->expired);
		/* one for requests, one for watches, and one more after the server went away */
		WAIT(&x, replay_connections(x.w.replay) == (str_starts(c->file, "40b") ? 3 : 2));
		end(&x);
	}
	test_cert_done(&cert);
	test_cert_done(&ca);
}

static void test_every_recorded_page_over_the_wire(void **state)
{
	(void)state;
	for (size_t n = 0; n < n_sample_cases; n++) {
		const struct sample_case *c = &sample_cases[n];
		_cleanup_(sample_freep) struct sample *s = NULL;
		struct fixture x;

		if (c->role != SAMPLE_LIST)
			continue;
		s = sample_read(c->file);
		begin(&x);
		replay_add_sample(x.w.replay, LIST, 1, s);
		rule(&x, (struct replay_rule) { .end = REPLAY_HOLD });
		go(&x);
		WAIT(&x, COUNT(&x, NULL) == 2);
		if (c->outcome == KUBE_OK && !str_eq(names(x.store), c->text))
			fail_msg("%s: %s", c->file, names(x.store));
		assert_int_equal(stats(&x).list_failures, c->outcome != KUBE_OK);
		if (c->outcome != KUBE_OK)
			assert_non_null(strstr(informer_error(x.i)->text, "not JSON"));
		end(&x);
	}
}

static void test_a_watch_goes_on_where_it_ended_however_it_ended(void **state)
{
	static const enum replay_end ends[] = { REPLAY_KEEP, REPLAY_CLOSE, REPLAY_RESET };

	(void)state;
	for (size_t n = 0; n < ARRAY_LEN(ends); n++) {
		struct fixture x;

		begin(&x);
		rule_page(&x, LIST, 0, PAGE("5", "", OBJECT("p", "4", "{}")));
		rule(&x, (struct replay_rule) { .match = WATCH,
		                                .times = 1,
		                                .status = 200,
		                                .body = EVENT("ADDED", "q", "6") "{\"type\":",
		                                .piece = 4096,
		                                .end = ends[n] });
		rule_hold(&x, WATCH "&allowWatchBookmarks=true&resourceVersion=6&", 0, EVENT("DELETED", "p", "7"));
		go(&x);
		WAIT(&x, !store_get(x.store, "ns", "p") && store_get(x.store, "ns", "q"));
		assert_int_equal(COUNT(&x, LIST), 1);
		assert_int_equal(stats(&x).watches, 2);
		end(&x);
	}
}

static void test_on_demand_everything_is_listed_anew_and_the_store_stays_meanwhile(void **state)
{
	struct fixture x;

	(void)state;
	begin(&x);
	rule_page(&x, LIST, 1, PAGE("1", "", OBJECT("a", "1", "{}")));
	rule_page(&x, LIST, 1, PAGE("2", "", OBJECT("b", "2", "{}")));
	rule_hold(&x, WATCH, 0, "");
	go(&x);
	WAIT(&x, COUNT(&x, WATCH) == 1);
	assert_true(store_synced(x.store));
	informer_refresh(x.i);
	assert_false(store_synced(x.store));
	assert_string_equal(names(x.store), "a");
	WAIT(&x, COUNT(&x, WATCH) == 2);
	assert_true(store_synced(x.store));
	assert_string_equal(names(x.store), "b");
	end(&x);
}

static void test_an_expired_watch_is_listed_anew_and_the_store_stays_meanwhile(void **state)
{
	struct fixture x;

	(void)state;
	begin(&x);
	rule_page(&x, LIST, 1, PAGE("5", "", OBJECT("stays", "4", "{}") "," OBJECT("goes", "5", "{}")));
	rule(&x, (struct replay_rule) { .match = WATCH, .times = 1, .status = 410, .body = STATUS(410, "Expired") });
	rule(&x, (struct replay_rule) { .match = LIST, .times = 1, .status = 503, .content_type = "text/plain" });
	rule_page(&x, LIST, 0, PAGE("9", "", OBJECT("stays", "4", "{}")));
	rule_hold(&x, WATCH, 0, "");
	go(&x);
	WAIT(&x, COUNT(&x, LIST) == 2);
	assert_string_equal(names(x.store), "stays goes");
	WAIT(&x, COUNT(&x, WATCH) == 2);
	assert_string_equal(names(x.store), "stays");
	assert_non_null(strstr(replay_request(x.w.replay, WATCH, 1), "resourceVersion=9&"));
	assert_int_equal(stats(&x).expired, 1);
	assert_int_equal(stats(&x).list_failures, 1);
	end(&x);
}

static void test_a_list_that_expires_half_way_begins_again_then_goes_on_inconsistently(void **state)
{
	_cleanup_(sample_freep) struct sample *expired = sample_read("08-410-continue-expired.txt");
	_cleanup_(sample_freep) struct sample *rest = sample_read("08f-410-inconsistent-continue.txt");
	struct fixture x;

	(void)state;
	begin(&x);
	replay_add_sample(x.w.replay, "continue=old", 0, expired);
	replay_add_sample(x.w.replay, "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYzJcdTAwMDAifQ", 0,
	                  rest);
	rule_page(&x, "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTI1NCwic3RhcnQiOiIvYzRcdTAwMDAifQ", 0,
	          PAGE("1254", "", OBJECT("c5", "1233", "{}")));
	rule_page(&x, LIST, 0, PAGE("1232", "old", OBJECT("c1", "1228", "{}") "," OBJECT("c2", "1229", "{}")));
	rule_hold(&x, WATCH, 0, "");
	go(&x);
	WAIT(&x, COUNT(&x, WATCH) == 1);
	assert_string_equal(names(x.store), "c1 c2 c3 c4 c5");
	assert_int_equal(COUNT(&x, "continue=old"), 2);
	assert_non_null(strstr(replay_request(x.w.replay, WATCH, 0), "resourceVersion=1232&"));
	end(&x);
}

static void test_garbage_is_told_and_the_watch_goes_on_from_the_same_version(void **state)
{
	struct fixture x;

	(void)state;
	begin(&x);
	rule_page(&x, LIST, 0, PAGE("5", "", OBJECT("p", "4", "{}")));
	rule_hold(&x, WATCH, 2, EVENT("MODIFIED", "p", "6") "<html>oops</html>\n");
	rule_hold(&x, WATCH, 0, EVENT("ADDED", "q", "7"));
	go(&x);
	WAIT(&x, stats(&x).watch_failures == 2);
	assert_non_null(strstr(informer_error(x.i)->text, "watch Pods: "));
	assert_non_null(strstr(informer_error(x.i)->text, x.w.server));
	assert_non_null(strstr(informer_error(x.i)->text, "in the stream of a watch: not JSON at byte 0"));
	WAIT(&x, store_get(x.store, "ns", "q"));
	assert_null(informer_error(x.i));
	assert_string_equal(names(x.store), "p q");
	assert_non_null(strstr(replay_request(x.w.replay, WATCH, 1), "resourceVersion=6&"));
	assert_int_equal(COUNT(&x, LIST), 1);
	end(&x);
}

static void test_garbage_that_comes_again_and_again_ends_in_a_new_list(void **state)
{
	struct fixture x;

	(void)state;
	begin(&x);
	rule_page(&x, LIST, 0, PAGE("5", "", ""));
	rule_hold(&x, WATCH, PLAN_BAD_MAX, "garbage\n");
	rule_hold(&x, WATCH, 0, "");
	go(&x);
	WAIT(&x, COUNT(&x, WATCH) == PLAN_BAD_MAX + 1);
	assert_int_equal(COUNT(&x, LIST), 2);
	end(&x);
}

static void test_silence_after_a_restored_etcd_ends_in_a_new_list(void **state)
{
	_cleanup_(sample_freep) struct sample *silence = sample_read("07g-watch-future-rv.txt");
	struct informer_options o = { .kind = KUBE_PODS, .silent = 300 * USEC_MSEC };
	struct fixture x;

	(void)state;
	assert_int_equal(silence->body_len, 0);
	begin(&x);
	rule_page(&x, LIST, 1, PAGE("999999999", "", OBJECT("lost", "999999998", "{}")));
	rule_hold(&x, WATCH, 1, "");
	rule_page(&x, LIST, 0, PAGE("261", "", OBJECT("restored", "255", "{}")));
	rule_hold(&x, WATCH, 0, "");
	go_with(&x, &o);
	WAIT(&x, COUNT(&x, LIST) >= 2 && COUNT(&x, WATCH) >= 2);
	assert_string_equal(names(x.store), "restored");
	assert_non_null(strstr(replay_request(x.w.replay, WATCH, 1), "resourceVersion=261&"));
	end(&x);
}

static void test_bookmarks_are_signs_of_life(void **state)
{
	struct informer_options o = { .kind = KUBE_PODS, .silent = 2 * USEC_SEC };
	struct fixture x;
	usec_t before;

	(void)state;
	begin(&x);
	rule_page(&x, LIST, 0, PAGE("5", "", ""));
	rule_hold(&x, WATCH, 0,
	          "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"6\"}}}\n");
	before = clock_mono(clock_real());
	go_with(&x, &o);
	assert_int_equal(store_seen_alive(x.store), 0);
	WAIT(&x, stats(&x).events == 1);
	assert_true(store_seen_alive(x.store) > before);
	end(&x);
}

static void test_a_server_that_ends_watches_at_once_is_not_hammered(void **state)
{
	struct fixture x;
	usec_t start;

	(void)state;
	begin(&x);
	rule_page(&x, LIST, 0, PAGE("5", "", ""));
	rule_stream(&x, WATCH, 0, EVENT("ADDED", "p", "6"));
	start = clock_mono(clock_real());
	go(&x);
	WAIT(&x, COUNT(&x, WATCH) == 4);
	/* three waits of at least half of 250, 500 and 1000 ms */
	assert_true(clock_mono(clock_real()) - start >= 875 * USEC_MSEC);
	assert_int_equal(COUNT(&x, LIST), 1);
	end(&x);
}

static void test_a_server_that_is_starting_is_waited_for(void **state)
{
	struct fixture x;

	(void)state;
	begin(&x);
	rule(&x, (struct replay_rule) { .times = 1, .end = REPLAY_RESET });
	rule(&x,
	     (struct replay_rule) { .times = 1, .status = 500, .content_type = "text/plain", .body = "[+]ping ok" });
	rule(&x, (struct replay_rule) {
	                 .times = 1, .status = 404, .content_type = "text/plain", .body = "404 page not found" });
	rule_page(&x, LIST, 0, PAGE("5", "", ""));
	rule_hold(&x, WATCH, 0, "");
	go(&x);
	WAIT(&x, COUNT(&x, NULL) == 2);
	assert_false(store_synced(x.store));
	assert_non_null(informer_error(x.i));
	WAIT(&x, store_synced(x.store));
	assert_int_equal(stats(&x).list_failures, 3);
	end(&x);
}

static void test_a_server_that_asks_for_time_gets_it(void **state)
{
	_cleanup_(sample_freep) struct sample *busy = sample_read("14-apf-429-http1.1.txt");
	struct fixture x;
	usec_t start;

	(void)state;
	begin(&x);
	replay_add_sample(x.w.replay, LIST, 1, busy);
	rule_page(&x, LIST, 0, PAGE("5", "", ""));
	rule_hold(&x, WATCH, 0, "");
	start = clock_mono(clock_real());
	go(&x);
	WAIT(&x, store_synced(x.store));
	assert_true(clock_mono(clock_real()) - start >= USEC_SEC);
	end(&x);
}

static void test_without_the_right_to_list_the_reason_is_told(void **state)
{
	_cleanup_(sample_freep) struct sample *forbidden = sample_read("03c-rbac-403.txt");
	struct fixture x;

	(void)state;
	begin(&x);
	replay_add_sample(x.w.replay, NULL, 0, forbidden);
	go(&x);
	WAIT(&x, stats(&x).list_failures == 2); /* and asked again: rights may be given later */
	assert_false(store_synced(x.store));
	assert_non_null(strstr(informer_error(x.i)->text, "list Pods: pods is forbidden: User \"nobody\" cannot list"));
	end(&x);
}

static void test_a_server_that_is_none_is_told(void **state)
{
	struct fixture x;

	(void)state;
	begin(&x);
	rule(&x, (struct replay_rule) { .status = 200, .content_type = "text/html", .body = "<html>" });
	go(&x);
	WAIT(&x, stats(&x).list_failures == 1);
	assert_non_null(strstr(informer_error(x.i)->text, x.w.server));
	assert_non_null(strstr(informer_error(x.i)->text,
	                       "answered text/html, not a Kubernetes API: is the server address right?"));
	end(&x);
}

static void test_a_line_without_end_is_cut_off_and_listed_instead(void **state)
{
	_cleanup_free_ char *big = mem_alloc(INFORMER_LINE_BYTES_MAX + (1u << 20));
	struct fixture x;

	(void)state;
	memset(big, ' ', INFORMER_LINE_BYTES_MAX + (1u << 20) - 1);
	begin(&x);
	rule_page(&x, LIST, 0, PAGE("5", "", ""));
	rule(&x,
	     (struct replay_rule) {
	             .match = WATCH, .times = 1, .status = 200, .body = big, .piece = 1u << 20, .end = REPLAY_HOLD });
	rule_hold(&x, WATCH, 0, "");
	go(&x);
	WAIT(&x, stats(&x).watch_failures == 1);
	assert_non_null(strstr(informer_error(x.i)->text, x.w.server));
	assert_non_null(strstr(informer_error(x.i)->text, "a line of more than 8388608 bytes"));
	WAIT(&x, COUNT(&x, WATCH) == 2);
	assert_int_equal(COUNT(&x, LIST), 2);
	end(&x);
}

static void test_a_page_without_end_is_cut_off_and_asked_for_smaller(void **state)
{
	size_t len = INFORMER_PAGE_BYTES_MAX + (4u << 20);
	_cleanup_free_ char *big = mem_alloc(len + 1);
	struct fixture x;

	(void)state;
	memset(big, ' ', len);
	begin(&x);
	rule(&x, (struct replay_rule) { .match = LIST "500",
	                                .status = 200,
	                                .body = big,
	                                .len = len,
	                                .piece = 1u << 20,
	                                .end = REPLAY_HOLD });
	rule_page(&x, LIST "125 ", 0, PAGE("5", "", ""));
	rule_hold(&x, WATCH, 0, "");
	go(&x);
	WAIT(&x, stats(&x).list_failures == 1);
	assert_non_null(strstr(informer_error(x.i)->text, x.w.server));
	assert_non_null(strstr(informer_error(x.i)->text, "answer larger than 64 MiB"));
	WAIT(&x, store_synced(x.store));
	end(&x);
}

static void test_a_list_without_end_is_noticed(void **state)
{
	struct fixture x;

	(void)state;
	begin(&x);
	rule_page(&x, LIST, 0, PAGE("5", "again", ""));
	go(&x);
	WAIT(&x, stats(&x).list_failures == 1);
	assert_non_null(strstr(informer_error(x.i)->text, "a list without end"));
	assert_int_equal(COUNT(&x, LIST), 2);
	end(&x);
}

static void test_an_object_of_three_mebibytes_is_just_an_object(void **state)
{
	_cleanup_buf_ struct buf page = BUF(8u << 20), event = BUF(8u << 20), filler = BUF(8u << 20);
	struct fixture x;

	(void)state;
	while (filler.len < (3u << 20))
		buf_add_str(&filler, "0123456789012345678901234567890123456789");
	buf_printf(&page, PAGE("5", "", OBJECT("p", "4", "{\"x\":\"%s\"}")), buf_text(&filler));
	buf_printf(&event, "{\"type\":\"ADDED\",\"object\":" OBJECT("q", "6", "{\"x\":\"%s\"}") "}\n",
	           buf_text(&filler));
	begin(&x);
	rule_page(&x, LIST, 0, buf_text(&page));
	rule(&x, (struct replay_rule) {
	                 .match = WATCH, .status = 200, .body = buf_text(&event), .piece = 10000, .end = REPLAY_HOLD });
	go(&x);
	WAIT(&x, store_get(x.store, "ns", "q"));
	assert_string_equal(names(x.store), "p q");
	assert_true(store_memory(x.store) < 64u << 10); /* only what we look at is kept */
	end(&x);
}

static void test_unreadable_objects_are_counted_told_and_kept(void **state)
{
	struct fixture x;

	(void)state;
	begin(&x);
	rule_page(&x, LIST, 1, PAGE("5", "", OBJECT("p", "4", "{\"nodeName\":\"n\"}") "," OBJECT("q", "5", "{}")));
	rule(&x, (struct replay_rule) { .match = WATCH, .times = 1, .status = 410, .body = STATUS(410, "Expired") });
	rule_page(&x, LIST, 0, PAGE("9", "", OBJECT("p", "8", "{\"nodeName\":17}")));
	rule_hold(&x, WATCH, 0, "");
	go(&x);
	WAIT(&x, COUNT(&x, WATCH) == 2);
	assert_string_equal(names(x.store), "p");
	assert_string_equal(((const struct pod *)store_get(x.store, "ns", "p"))->node_name, "n");
	assert_int_equal(stats(&x).unreadable, 1);
	assert_non_null(strstr(informer_unreadable(x.i)->text, "Pod ns/p: spec.nodeName"));
	assert_null(informer_error(x.i));
	end(&x);
}

static void test_freed_at_any_moment_it_leaves_nothing_behind(void **state)
{
	struct fixture x;

	(void)state;
	for (int when = 0; when < 4; when++) {
		begin(&x);
		if (when > 1)
			rule_page(&x, LIST, 0, PAGE("5", "", ""));
		rule_hold(&x, NULL, 0, "");
		go(&x);
		if (when > 0)
			WAIT(&x, COUNT(&x, when > 1 ? WATCH : LIST) == 1);
		if (when == 3)
			WAIT(&x, stats(&x).watches == 1);
		end(&x);
	}
	informer_free(NULL);
}

TEST_MAIN(TEST(pages_are_listed_and_then_watched_from_their_version), TEST(selectors_and_namespaces_are_asked_for),
          TEST(every_recorded_stream_over_the_wire), TEST(recorded_streams_over_http_2),
          TEST(every_recorded_page_over_the_wire), TEST(a_watch_goes_on_where_it_ended_however_it_ended),
          TEST(on_demand_everything_is_listed_anew_and_the_store_stays_meanwhile),
          TEST(an_expired_watch_is_listed_anew_and_the_store_stays_meanwhile),
          TEST(a_list_that_expires_half_way_begins_again_then_goes_on_inconsistently),
          TEST(garbage_is_told_and_the_watch_goes_on_from_the_same_version),
          TEST(garbage_that_comes_again_and_again_ends_in_a_new_list),
          TEST(silence_after_a_restored_etcd_ends_in_a_new_list), TEST(bookmarks_are_signs_of_life),
          TEST(a_server_that_ends_watches_at_once_is_not_hammered), TEST(a_server_that_is_starting_is_waited_for),
          TEST(a_server_that_asks_for_time_gets_it), TEST(without_the_right_to_list_the_reason_is_told),
          TEST(a_server_that_is_none_is_told), TEST(a_line_without_end_is_cut_off_and_listed_instead),
          TEST(a_page_without_end_is_cut_off_and_asked_for_smaller), TEST(a_list_without_end_is_noticed),
          TEST(an_object_of_three_mebibytes_is_just_an_object), TEST(unreadable_objects_are_counted_told_and_kept),
          TEST(freed_at_any_moment_it_leaves_nothing_behind))
