/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/client.h"

#include <stdio.h>

#include "base/str.h"
#include "base/test.h"
#include "kube/test_dir.h"
#include "kube/test_replay.h"
#include "kube/test_sample_table.h"
#include "json/json.h"

#define POD_PATH "/api/v1/namespaces/ns/pods/p"
#define POD_BODY "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"uid\":\"u-1\",\"resourceVersion\":\"17\"}}"
#define UNAUTHORIZED                                                                                                   \
	"{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"Unauthorized\",\"reason\":\"Unauthorized\","        \
	"\"code\":401}"

static const struct kube_ref pod = { KUBE_PODS, "ns", "p", NULL, NULL };

/* What came back. */
struct got {
	int n;
	bool stopped;
	struct kube_answer a;
	int status;
	size_t streamed;
};

static void done(void *arg, const struct kube_reply *reply)
{
	struct got *g = arg;

	g->n++;
	g->stopped = reply->stopped;
	g->status = reply->http->status;
	kube_reply_read(reply, &g->a);
}

static struct kube_call *start_get(struct world *w, const struct kube_call_options *o, struct got *g)
{
	_cleanup_request_ struct kube_request r = { 0 };

	assert_int_equal(kube_request_get(&r, &pod, NULL, NULL), 0);
	return kube_call_start(w->client, &r, o, done, g);
}

static struct kube_call *start_delete(struct world *w, const struct kube_call_options *o, struct got *g)
{
	_cleanup_request_ struct kube_request r = { 0 };

	assert_int_equal(kube_request_delete(&r, &pod, -1, NULL), 0);
	return kube_call_start(w->client, &r, o, done, g);
}

static void test_a_request_says_who_we_are_and_what_we_take(void **state)
{
	struct got g = { 0 };
	struct world w;
	const char *request;

	(void)state;
	world_init(&w);
	replay_add(w.replay, &(struct replay_rule) { .status = 200, .body = POD_BODY });
	start_get(&w, NULL, &g);
	assert_int_equal(g.n, 0); /* never from within */
	assert_int_equal(kube_client_under_way(w.client), 1);
	WORLD_WAIT(&w, g.n);
	assert_int_equal(kube_client_under_way(w.client), 0);
	assert_int_equal(g.a.result.outcome, KUBE_OK);
	assert_string_equal(g.a.result.uid, "u-1");
	assert_string_equal(g.a.result.resource_version, "17");
	request = replay_request(w.replay, NULL, 0);
	assert_true(str_starts(request, "GET " POD_PATH " HTTP/1.1\r\n"));
	assert_non_null(strstr(request, "\r\nUser-Agent: sunk/" SUNK_VERSION "\r\n"));
	assert_non_null(strstr(request, "\r\nAuthorization: Bearer secret\r\n"));
	assert_non_null(strstr(request, "\r\nAccept: application/json\r\n"));
	world_done(&w);
}

static void test_a_body_goes_out_with_its_content_type(void **state)
{
	struct got g = { 0 };
	struct world w;
	const char *request;

	(void)state;
	world_init(&w);
	replay_add(w.replay, &(struct replay_rule) { .status = 200, .body = POD_BODY });
	start_delete(&w, NULL, &g);
	WORLD_WAIT(&w, g.n);
	request = replay_request(w.replay, NULL, 0);
	assert_true(str_starts(request, "DELETE " POD_PATH " HTTP/1.1\r\n"));
	assert_non_null(strstr(request, "\r\nContent-Type: application/json\r\n"));
	assert_non_null(strstr(request, "\r\n\r\n{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\""));
	world_done(&w);
}

static void check_over_the_wire(const struct sample_case *c)
{
	_cleanup_(sample_freep) struct sample *s = sample_read(c->file);
	struct got g = { 0 };
	struct world w;

	world_init(&w);
	replay_add_sample(w.replay, NULL, 0, s);
	if (c->role == SAMPLE_READ)
		start_get(&w, NULL, &g);
	else
		start_delete(&w, NULL, &g);
	WORLD_WAIT(&w, g.n);
	if (g.a.result.outcome != c->outcome || !str_eq(g.a.reason, c->reason) || !strstr(g.a.message, c->text))
		fail_msg("%s: %s", c->file, g.a.message);
	assert_int_equal(g.a.result.http_status, s->status);
	assert_int_equal(g.a.result.retry_after, c->retry_after);
	assert_int_equal(g.a.result.maybe_done, c->maybe_done);
	assert_int_equal(g.a.expired, c->expired);
	world_done(&w);
}

/* Each recorded answer over the wire means the same as read from its file. */
static void test_every_recorded_answer_over_the_wire(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_sample_cases; i++)
		if (sample_cases[i].role == SAMPLE_READ || sample_cases[i].role == SAMPLE_EFFECT)
			check_over_the_wire(&sample_cases[i]);
}

/* What may be compressed (lists) goes over HTTP/2 where the server speaks it. */
static void test_recorded_answers_over_http_2(void **state)
{
	static const struct kube_call_options compressed = { .compressed = true };
	_cleanup_(sample_freep) struct sample *version = sample_read("01-alpn-h2.txt"),
	                                      *busy = sample_read("14-apf-429-http2.txt");
	_cleanup_request_ struct kube_request r = { 0 };
	struct got v = { 0 }, b = { 0 };
	struct test_cert ca, cert;
	struct world w;

	(void)state;
	test_cert_make(&ca, NULL, "ca", NULL, -60, 3600);
	test_cert_make(&cert, &ca, "localhost", "DNS:localhost,IP:127.0.0.1", -60, 3600);
	world_init_h2(&w, &cert, ca.cert_pem);
	replay_add_sample(w.replay, "/version", 0, version);
	replay_add_sample(w.replay, NULL, 0, busy);
	kube_request_plain(&r, "/version");
	kube_call_start(w.client, &r, &compressed, done, &v);
	start_delete(&w, &compressed, &b);
	WORLD_WAIT(&w, v.n && b.n);
	assert_int_equal(v.status, 200);
	assert_int_equal(b.a.result.outcome, KUBE_RETRY);
	assert_int_equal(b.a.result.retry_after, USEC_SEC);
	assert_non_null(strstr(replay_request(w.replay, "/version", 0), " HTTP/2\r\n"));
	WORLD_WAIT(&w, replay_connections(w.replay) == 1);
	world_done(&w);
	test_cert_done(&cert);
	test_cert_done(&ca);
}

static void test_version_and_readiness_are_plain_gets(void **state)
{
	static const char *const files[] = { "02-http11.txt", "16b-gzip-small-not-compressed.txt",
		                             "20-readyz-verbose.txt" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		_cleanup_(sample_freep) struct sample *s = sample_read(files[i]);
		_cleanup_request_ struct kube_request r = { 0 };
		struct got g = { 0 };
		struct world w;

		world_init(&w);
		replay_add_sample(w.replay, NULL, 0, s);
		kube_request_plain(&r, "/version");
		kube_call_start(w.client, &r, NULL, done, &g);
		WORLD_WAIT(&w, g.n);
		assert_int_equal(g.status, 200);
		world_done(&w);
	}
}

/* Second tries */

static void test_an_expired_token_is_read_again_and_tried_once_more(void **state)
{
	struct got g = { 0 };
	struct test_dir dir;
	struct world w;

	(void)state;
	test_dir_init(&dir);
	world_init(&w);
	kube_client_free(w.client);
	cred_free(w.cred);
	free(w.config.token);
	w.config.token = NULL;
	w.config.token_file = mem_strdup(test_dir_write(&dir, "token", "old", 0600));
	world_connect(&w);
	replay_add(w.replay, &(struct replay_rule) { .times = 1, .status = 200, .body = POD_BODY });
	replay_add(w.replay, &(struct replay_rule) { .times = 1, .status = 401, .body = UNAUTHORIZED });
	replay_add(w.replay, &(struct replay_rule) { .status = 200, .body = POD_BODY });
	start_get(&w, NULL, &g);
	WORLD_WAIT(&w, g.n == 1);
	test_dir_write(&dir, "token", "new", 0600);
	start_delete(&w, NULL, &g); /* an effect: a 401 has had none */
	WORLD_WAIT(&w, g.n == 2);
	assert_int_equal(g.a.result.outcome, KUBE_OK);
	assert_int_equal(replay_count(w.replay, NULL), 3);
	assert_non_null(strstr(replay_request(w.replay, NULL, 1), "Bearer old\r\n"));
	assert_non_null(strstr(replay_request(w.replay, NULL, 2), "Bearer new\r\n"));
	world_done(&w);
	test_dir_done(&dir);
}

static void test_a_token_that_stays_wrong_is_told(void **state)
{
	struct got g = { 0 };
	struct world w;

	(void)state;
	world_init(&w);
	replay_add(w.replay, &(struct replay_rule) { .status = 401, .body = UNAUTHORIZED });
	start_get(&w, NULL, &g);
	WORLD_WAIT(&w, g.n);
	assert_int_equal(g.a.result.outcome, KUBE_FORBIDDEN);
	assert_string_equal(g.a.message,
	                    "get Pod ns/p: Unauthorized (401 Unauthorized): the credentials are wrong or have "
	                    "expired");
	assert_true(replay_count(w.replay, NULL) <= 2);
	world_done(&w);
}

static void test_reads_are_tried_again_effects_are_not(void **state)
{
	static const struct kube_call_options retry = { .retry = true };
	struct got read = { 0 }, effect = { 0 };
	struct world w;

	(void)state;
	world_init(&w);
	replay_add(w.replay,
	           &(struct replay_rule) { .match = "GET", .times = 1, .status = 503, .content_type = "text/plain" });
	replay_add(w.replay, &(struct replay_rule) { .match = "GET", .times = 1, .end = REPLAY_RESET });
	replay_add(w.replay, &(struct replay_rule) { .match = "GET", .status = 200, .body = POD_BODY });
	replay_add(w.replay, &(struct replay_rule) { .match = "DELETE", .status = 503, .content_type = "text/plain" });
	start_get(&w, &retry, &read);
	start_delete(&w, NULL, &effect);
	WORLD_WAIT(&w, read.n && effect.n);
	assert_int_equal(read.a.result.outcome, KUBE_OK);
	assert_int_equal(replay_count(w.replay, "GET"), 3);
	assert_int_equal(effect.a.result.outcome, KUBE_RETRY);
	assert_true(effect.a.result.maybe_done);
	assert_int_equal(replay_count(w.replay, "DELETE"), 1);
	world_done(&w);
}

static void test_what_the_server_asks_for_is_waited(void **state)
{
	static const struct kube_call_options retry = { .retry = true };
	struct got g = { 0 };
	struct world w;
	usec_t start;

	(void)state;
	world_init(&w);
	replay_add(w.replay,
	           &(struct replay_rule) {
	                   .times = 1, .status = 429, .content_type = "text/plain", .headers = "Retry-After: 1\r\n" });
	replay_add(w.replay, &(struct replay_rule) { .status = 200, .body = POD_BODY });
	start = clock_mono(clock_real());
	start_get(&w, &retry, &g);
	WORLD_WAIT(&w, g.n);
	assert_int_equal(g.a.result.outcome, KUBE_OK);
	assert_true(clock_mono(clock_real()) - start >= USEC_SEC);
	world_done(&w);
}

static void test_tries_end_with_the_deadline_and_after_a_few(void **state)
{
	static const struct kube_call_options brief = { .retry = true, .timeout = 10 * USEC_SEC },
	                                      many = { .retry = true };
	struct got late = { 0 }, often = { 0 };
	struct world w;

	(void)state;
	world_init(&w);
	replay_add(w.replay, &(struct replay_rule) { .times = 1,
	                                             .status = 503,
	                                             .content_type = "text/plain",
	                                             .headers = "Retry-After: 3600\r\n" });
	replay_add(w.replay, &(struct replay_rule) { .status = 503, .content_type = "text/plain", .body = "starting" });
	start_get(&w, &brief, &late);
	WORLD_WAIT(&w, late.n);
	assert_int_equal(late.a.result.retry_after, USEC_HOUR);
	start_get(&w, &many, &often);
	WORLD_WAIT(&w, often.n);
	assert_string_equal(often.a.message, "get Pod ns/p: starting (503)");
	assert_int_equal(replay_count(w.replay, NULL), 1 + KUBE_TRIES_MAX);
	world_done(&w);
}

static void test_a_silent_server_is_given_up_at_the_deadline(void **state)
{
	static const struct kube_call_options brief = { .timeout = USEC_SEC };
	struct got g = { 0 };
	struct world w;

	(void)state;
	world_init(&w);
	replay_add(w.replay, &(struct replay_rule) { .end = REPLAY_HOLD });
	start_delete(&w, &brief, &g);
	WORLD_WAIT(&w, g.n);
	assert_int_equal(g.a.result.outcome, KUBE_RETRY);
	assert_true(g.a.result.maybe_done);
	assert_true(str_starts(g.a.message, "delete Pod ns/p: "));
	assert_non_null(strstr(g.a.message, "no answer within"));
	assert_non_null(strstr(g.a.message, w.server));
	world_done(&w);
}

static void test_a_server_that_is_away_is_told_with_its_address(void **state)
{
	struct got g = { 0 };
	struct world w;

	(void)state;
	world_init(&w);
	replay_stop(w.replay);
	w.replay = NULL;
	start_delete(&w, NULL, &g);
	WORLD_WAIT(&w, g.n);
	assert_int_equal(g.a.result.outcome, KUBE_RETRY);
	assert_false(g.a.result.maybe_done);
	assert_non_null(strstr(g.a.message, w.server));
	world_done(&w);
}

/* Gates */

static void test_without_leadership_nothing_is_sent(void **state)
{
	struct gate gate = { .leader = false, .until = USEC_NEVER };
	struct kube_call_options o = { .gate = &gate };
	struct got g = { 0 };
	struct world w;

	(void)state;
	world_init(&w);
	start_delete(&w, &o, &g);
	assert_int_equal(g.n, 0);
	WORLD_WAIT(&w, g.n);
	assert_int_equal(g.a.result.outcome, KUBE_NOT_LEADER);
	assert_false(g.a.result.maybe_done);
	assert_string_equal(g.a.message, "delete Pod ns/p: not the leader");
	gate = (struct gate) { .leader = true, .until = clock_mono(clock_real()) };
	start_delete(&w, &o, &g);
	WORLD_WAIT(&w, g.n == 2);
	assert_int_equal(g.a.result.outcome, KUBE_NOT_LEADER);
	assert_int_equal(replay_count(w.replay, NULL), 0);
	assert_int_equal(replay_connections(w.replay), 0);
	world_done(&w);
}

static void test_an_open_gate_lets_through(void **state)
{
	struct gate gate = GATE_ALWAYS_OPEN;
	struct kube_call_options o = { .gate = &gate };
	struct got g = { 0 };
	struct world w;

	(void)state;
	world_init(&w);
	replay_add(w.replay, &(struct replay_rule) { .status = 200, .body = POD_BODY });
	start_delete(&w, &o, &g);
	WORLD_WAIT(&w, g.n);
	assert_int_equal(g.a.result.outcome, KUBE_OK);
	world_done(&w);
}

static void test_a_lost_lease_cuts_off_what_is_under_way(void **state)
{
	struct gate gate = { .leader = true, .until = USEC_NEVER, .term = 1 };
	struct kube_call_options o = { .gate = &gate };
	struct got gated = { 0 }, free_call = { 0 };
	struct world w;

	(void)state;
	world_init(&w);
	replay_add(w.replay, &(struct replay_rule) { .end = REPLAY_HOLD });
	start_delete(&w, &o, &gated);
	start_get(&w, NULL, &free_call);
	WORLD_WAIT(&w, replay_count(w.replay, NULL) == 2);
	gate.leader = false;
	kube_client_gate_closed(w.client);
	assert_int_equal(gated.n, 0);
	WORLD_WAIT(&w, gated.n);
	assert_true(gated.stopped);
	assert_int_equal(gated.a.result.outcome, KUBE_NOT_LEADER);
	assert_true(gated.a.result.maybe_done);
	assert_int_equal(free_call.n, 0);
	assert_int_equal(kube_client_under_way(w.client), 1);
	world_done(&w);
}

static void test_a_lease_that_runs_out_unnoticed_cuts_off_too(void **state)
{
	struct gate gate = { .leader = true, .until = clock_mono(clock_real()) + 2 * USEC_SEC, .term = 1 };
	struct kube_call_options o = { .gate = &gate };
	struct got g = { 0 };
	struct world w;

	(void)state;
	world_init(&w);
	replay_add(w.replay, &(struct replay_rule) { .end = REPLAY_HOLD });
	start_delete(&w, &o, &g);
	WORLD_WAIT(&w, replay_count(w.replay, NULL) == 1);
	gate.until += 500 * USEC_MSEC; /* renewed once, and then no more */
	WORLD_WAIT(&w, g.n);
	assert_true(clock_mono(clock_real()) >= gate.until);
	assert_int_equal(g.a.result.outcome, KUBE_NOT_LEADER);
	world_done(&w);
}

/* What waits for credentials is not sent by a leader of a later term either. */
static void test_what_was_queued_in_an_older_term_is_dropped(void **state)
{
	struct gate gate = { .leader = true, .until = USEC_NEVER, .term = 1 };
	struct kube_call_options o = { .gate = &gate };
	char *args[] = { (char[]) { "-c" },
		         (char[]) { "sleep 0.2; echo '{\"kind\":\"ExecCredential\",\"apiVersion\":"
		                    "\"client.authentication.k8s.io/v1\",\"status\":{\"token\":\"t\"}}'" },
		         NULL };
	char *env[] = { NULL };
	struct kube_exec exec = { .command = (char[]) { "/bin/sh" },
		                  .args = args,
		                  .env = env,
		                  .api_version = (char[]) { "client.authentication.k8s.io/v1" } };
	struct got old = { 0 }, new = { 0 };
	struct world w;

	(void)state;
	world_init(&w);
	kube_client_free(w.client);
	cred_free(w.cred);
	free(w.config.token);
	w.config.token = NULL;
	w.config.exec = &exec;
	world_connect(&w);
	replay_add(w.replay, &(struct replay_rule) { .status = 200, .body = POD_BODY });
	start_delete(&w, &o, &old);
	gate.term = 2;
	start_get(&w, &o, &new);
	WORLD_WAIT(&w, old.n && new.n);
	assert_int_equal(old.a.result.outcome, KUBE_NOT_LEADER);
	assert_false(old.a.result.maybe_done);
	assert_int_equal(new.a.result.outcome, KUBE_OK);
	assert_int_equal(replay_count(w.replay, "DELETE"), 0);
	world_done(&w);
}

/* The rest of the bad input */

static void test_a_server_that_answers_html_is_named(void **state)
{
	struct got g = { 0 };
	struct world w;

	(void)state;
	world_init(&w);
	replay_add(w.replay,
	           &(struct replay_rule) { .status = 200, .content_type = "text/html", .body = "<html>hi</html>" });
	start_get(&w, NULL, &g);
	WORLD_WAIT(&w, g.n);
	assert_int_equal(g.a.result.outcome, KUBE_RETRY);
	assert_non_null(strstr(g.a.message, w.server));
	assert_non_null(strstr(g.a.message, "answered text/html, not a Kubernetes API: is the server address right?"));
	world_done(&w);
}

static void test_a_wrong_ca_is_told_and_nothing_is_sent(void **state)
{
	struct test_cert ca, other_ca, cert;
	struct got g = { 0 };
	struct world w;

	(void)state;
	test_cert_make(&ca, NULL, "ca", NULL, -60, 3600);
	test_cert_make(&other_ca, NULL, "another ca", NULL, -60, 3600);
	test_cert_make(&cert, &ca, "localhost", "DNS:localhost,IP:127.0.0.1", -60, 3600);
	world_init_tls(&w, &cert, other_ca.cert_pem);
	replay_add(w.replay, &(struct replay_rule) { .status = 200, .body = POD_BODY });
	start_delete(&w, NULL, &g);
	WORLD_WAIT(&w, g.n);
	assert_int_equal(g.a.result.outcome, KUBE_RETRY);
	assert_false(g.a.result.maybe_done);
	assert_non_null(strstr(g.a.message, w.server));
	assert_non_null(strstr(g.a.message, "the server's certificate is not signed by the given CA"));
	assert_int_equal(replay_count(w.replay, NULL), 0);
	world_done(&w);

	g = (struct got) { 0 };
	world_init_tls(&w, &cert, ca.cert_pem);
	replay_add(w.replay, &(struct replay_rule) { .status = 200, .body = POD_BODY });
	start_get(&w, NULL, &g);
	WORLD_WAIT(&w, g.n);
	assert_int_equal(g.a.result.outcome, KUBE_OK);
	world_done(&w);
	test_cert_done(&cert);
	test_cert_done(&ca);
	test_cert_done(&other_ca);
}

static void test_an_answer_without_end_has_a_maximum(void **state)
{
	static const struct kube_call_options small = { .body_max = 64u << 10 };
	_cleanup_free_ char *big = mem_alloc(100000);
	struct got g = { 0 };
	struct world w;

	(void)state;
	memset(big, ' ', 99999);
	world_init(&w);
	replay_add(w.replay, &(struct replay_rule) { .status = 200, .body = big, .piece = 1000, .end = REPLAY_HOLD });
	start_get(&w, &small, &g);
	WORLD_WAIT(&w, g.n);
	assert_int_equal(g.a.result.outcome, KUBE_RETRY);
	assert_non_null(strstr(g.a.message, w.server));
	assert_non_null(strstr(g.a.message, "answer larger than 64 KiB"));
	world_done(&w);
}

static void test_an_object_of_three_mebibytes_goes_out_and_its_refusal_comes_back(void **state)
{
	_cleanup_(sample_freep) struct sample *s = sample_read("10k-too-large-413.txt");
	_cleanup_request_ struct kube_request r = { 0 };
	_cleanup_buf_ struct buf json = BUF(4u << 20);
	struct got g = { 0 };
	struct world w;

	(void)state;
	buf_add_str(&json, "{\"metadata\":{\"name\":\"big\"},\"x\":\"");
	while (json.len < (3u << 20) + 100)
		buf_add_str(&json, "0123456789012345678901234567890123456789");
	buf_add_str(&json, "\"}");
	world_init(&w);
	replay_add_sample(w.replay, NULL, 0, s);
	assert_int_equal(kube_request_create(&r, KUBE_PODS, "ns", json.data, json.len, NULL), 0);
	kube_call_start(w.client, &r, NULL, done, &g);
	WORLD_WAIT(&w, g.n);
	assert_int_equal(g.a.result.outcome, KUBE_REFUSED);
	assert_string_equal(g.a.message, "create Pod ns/big: Request entity too large: limit is 3145728 (413 "
	                                 "RequestEntityTooLarge)");
	world_done(&w);
}

/* Ways to end */

static int count_bytes(void *arg, const char *data, size_t len, struct err *err)
{
	struct got *g = arg;

	(void)data;
	(void)err;
	g->streamed += len;
	return 0;
}

static void test_watches_have_connections_of_their_own(void **state)
{
	struct kube_call_options watch = { .watch = true, .chunk = count_bytes };
	struct got stream = { 0 }, a = { 0 }, b = { 0 };
	struct world w;

	(void)state;
	world_init(&w);
	replay_add(w.replay, &(struct replay_rule) { .times = 1, .status = 200, .body = "abc", .piece = 1 });
	replay_add(w.replay, &(struct replay_rule) { .status = 200, .body = POD_BODY });
	start_get(&w, &watch, &stream);
	WORLD_WAIT(&w, stream.n); /* its connection is free again, and is not for requests */
	assert_int_equal(stream.streamed, 3);
	start_get(&w, NULL, &a);
	WORLD_WAIT(&w, a.n && replay_connections(w.replay) == 2);
	start_get(&w, NULL, &b);
	WORLD_WAIT(&w, b.n);
	assert_int_equal(replay_connections(w.replay), 2);
	world_done(&w);
}

static void test_cancelled_and_freed_calls_do_not_call_back(void **state)
{
	struct gate closed = { .leader = false };
	struct kube_call_options o = { .gate = &closed };
	struct got g = { 0 };
	struct world w;

	(void)state;
	world_init(&w);
	replay_add(w.replay, &(struct replay_rule) { .end = REPLAY_HOLD });
	kube_call_cancel(start_delete(&w, NULL, &g));
	kube_call_cancel(start_delete(&w, &o, &g));
	kube_call_cancel(NULL);
	start_get(&w, NULL, &g);
	start_delete(&w, &o, &g);
	WORLD_WAIT(&w, replay_count(w.replay, "GET") == 1);
	world_done(&w);
	assert_int_equal(g.n, 1); /* the gated one had been told */
}

static void test_too_many_calls_are_refused_not_queued_without_end(void **state)
{
	struct got many = { 0 }, one = { 0 };
	struct world w;

	(void)state;
	world_init(&w);
	replay_stop(w.replay);
	w.replay = NULL;
	for (int i = 0; i < KUBE_CALLS_MAX; i++)
		start_get(&w, NULL, &many);
	start_get(&w, NULL, &one);
	WORLD_WAIT(&w, one.n);
	assert_non_null(strstr(one.a.message, "more than 8192 requests under way"));
	assert_int_equal(one.a.result.outcome, KUBE_RETRY);
	WORLD_WAIT(&w, many.n == KUBE_CALLS_MAX);
	world_done(&w);
}

struct rest_got {
	int n, status;
	char body[512], error[512];
};

static void rest_answered(void *arg, const struct rest_answer *a)
{
	struct rest_got *g = arg;

	g->n++;
	g->status = a->status;
	str_copy(g->body, sizeof(g->body), a->body);
	str_copy(g->error, sizeof(g->error), a->error ? a->error->text : "");
}

static void test_plain_requests_go_the_same_way(void **state)
{
	struct rest_request put = { .method = "PUT",
		                    .path = "/apis/x/leases/l?a=b",
		                    .content_type = "application/json",
		                    .body = "{}",
		                    .body_len = 2 };
	struct rest_request brief = { .method = "GET", .path = "/hold", .timeout = 100 * USEC_MSEC };
	struct rest_got g = { 0 }, late = { 0 }, never = { 0 };
	const struct rest *rest;
	struct world w;

	(void)state;
	world_init(&w);
	rest = kube_client_rest(w.client);
	replay_add(w.replay, &(struct replay_rule) { .match = "/hold", .end = REPLAY_HOLD });
	replay_add(w.replay, &(struct replay_rule) { .match = "PUT", .status = 409, .body = "{\"kind\":\"Status\"}" });
	rest->send(rest, &put, rest_answered, &g);
	rest->send(rest, &brief, rest_answered, &late);
	rest->cancel(rest, rest->send(rest, &put, rest_answered, &never));
	WORLD_WAIT(&w, g.n && late.n);
	assert_int_equal(g.status, 409);
	assert_string_equal(g.body, "{\"kind\":\"Status\"}");
	assert_true(str_starts(replay_request(w.replay, "PUT", 0), "PUT /apis/x/leases/l?a=b HTTP/1.1\r\n"));
	assert_int_equal(late.status, 0);
	assert_non_null(strstr(late.error, " within 100ms"));
	assert_int_equal(never.n, 0);
	world_done(&w);
}

TEST_MAIN(TEST(a_request_says_who_we_are_and_what_we_take), TEST(a_body_goes_out_with_its_content_type),
          TEST(every_recorded_answer_over_the_wire), TEST(recorded_answers_over_http_2),
          TEST(version_and_readiness_are_plain_gets), TEST(an_expired_token_is_read_again_and_tried_once_more),
          TEST(a_token_that_stays_wrong_is_told), TEST(reads_are_tried_again_effects_are_not),
          TEST(what_the_server_asks_for_is_waited), TEST(tries_end_with_the_deadline_and_after_a_few),
          TEST(a_silent_server_is_given_up_at_the_deadline), TEST(a_server_that_is_away_is_told_with_its_address),
          TEST(without_leadership_nothing_is_sent), TEST(an_open_gate_lets_through),
          TEST(a_lost_lease_cuts_off_what_is_under_way), TEST(a_lease_that_runs_out_unnoticed_cuts_off_too),
          TEST(what_was_queued_in_an_older_term_is_dropped), TEST(a_server_that_answers_html_is_named),
          TEST(a_wrong_ca_is_told_and_nothing_is_sent), TEST(an_answer_without_end_has_a_maximum),
          TEST(an_object_of_three_mebibytes_goes_out_and_its_refusal_comes_back),
          TEST(watches_have_connections_of_their_own), TEST(cancelled_and_freed_calls_do_not_call_back),
          TEST(too_many_calls_are_refused_not_queued_without_end), TEST(plain_requests_go_the_same_way))
