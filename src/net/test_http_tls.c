/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "net/http_client.h"
#include "net/test_call.h"
#include "net/test_h2.h"
#include "net/test_peer.h"

#define MIB ((size_t)1024 * 1024)
#define DAY_S (24L * 3600)
#define LOCAL "DNS:localhost,IP:127.0.0.1"

static struct test_cert ca, other_ca, local, elsewhere, expired, early, stranger, alice, bob;

static int make_certs(void **state)
{
	(void)state;
	test_cert_make(&ca, NULL, "test CA", NULL, -DAY_S, DAY_S);
	test_cert_make(&other_ca, NULL, "other CA", NULL, -DAY_S, DAY_S);
	test_cert_make(&local, &ca, "server", LOCAL, -DAY_S, DAY_S);
	test_cert_make(&elsewhere, &ca, "server", "DNS:kube.test", -DAY_S, DAY_S);
	test_cert_make(&expired, &ca, "server", LOCAL, -2 * DAY_S, -DAY_S);
	test_cert_make(&early, &ca, "server", LOCAL, DAY_S, 2 * DAY_S);
	test_cert_make(&stranger, &other_ca, "stranger", LOCAL, -DAY_S, DAY_S);
	test_cert_make(&alice, &ca, "alice", "DNS:alice", -DAY_S, DAY_S);
	test_cert_make(&bob, &ca, "bob", "DNS:bob", -DAY_S, DAY_S);
	return 0;
}

static int free_certs(void **state)
{
	struct test_cert *all[] = { &ca, &other_ca, &local, &elsewhere, &expired, &early, &stranger, &alice, &bob };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		test_cert_done(all[i]);
	return 0;
}

struct fixture {
	struct loop *loop;
	struct http_client *client;
	struct peer *peer;
	char url[100];
};

static size_t n_lines; /* of each client; 0: curl has all calls */

static void fixture_done(struct fixture *f)
{
	http_client_free(f->client);
	loop_free(f->loop);
	peer_stop(f->peer);
}
#define _cleanup_fixture_ _cleanup_(fixture_done)

static struct fixture with_options(const struct peer_options *o)
{
	struct fixture f = { .loop = loop_new() };

	f.client = http_client_new(f.loop, "sunk-test");
	if (n_lines)
		http_client_lines(f.client, n_lines);
	f.peer = peer_start(o);
	url_of(f.url, "https", peer_port(f.peer), "/x");
	return f;
}

/* The body is the name in the client's certificate and the Host header. */
static void serve_who(struct peer_conn *c, void *arg)
{
	char request[8192], body[300], head[400];
	const char *host;

	(void)arg;
	while (peer_read_request(c, request, sizeof(request))) {
		host = strstr(request, "\r\nHost: ");
		snprintf(body, sizeof(body), "%s at %.*s", peer_client_name(c), (int)strcspn(host + 8, "\r"), host + 8);
		snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), body);
		peer_say(c, head);
	}
}

static struct http_request get(const char *url, const struct http_tls *tls)
{
	return (struct http_request) { .method = "GET", .url = url, .tls = tls, .body_max = MIB };
}

static void test_a_certificate_is_checked_and_errors_name_the_cause(void **state)
{
	const struct {
		const struct test_cert *server;
		struct http_tls tls;
		const char *error; /* NULL: it works */
	} cases[] = {
		{ &local, { .ca_pem = ca.cert_pem }, NULL },
		{ &local, { .ca_pem = other_ca.cert_pem }, "the server's certificate is not signed by the given CA" },
		{ &local, { 0 }, "the server's certificate is not signed by a CA that this machine trusts" },
		{ &elsewhere, { .ca_pem = ca.cert_pem }, "the server's certificate is not for '127.0.0.1'" },
		{ &elsewhere, { .ca_pem = ca.cert_pem, .server_name = "kube.test" }, NULL },
		{ &local,
		  { .ca_pem = ca.cert_pem, .server_name = "kube.test" },
		  "the server's certificate is not for 'kube.test'" },
		{ &local,
		  { .ca_pem = ca.cert_pem, .server_name = "a b" },
		  "'a b' is no name that a certificate could be for" },
		{ &expired, { .ca_pem = ca.cert_pem }, "the server's certificate has expired" },
		{ &early,
		  { .ca_pem = ca.cert_pem },
		  "the server's certificate is not valid yet; is this machine's clock right?" },
		{ &stranger, { .insecure = true }, NULL },
		{ &expired, { .ca_pem = other_ca.cert_pem, .insecure = true }, NULL },
		{ &local, { .ca_pem = "no PEM" }, "the given CA is no usable PEM certificate" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_fixture_ struct fixture f =
		        with_options(&(struct peer_options) { .serve = serve_who, .cert = cases[i].server });
		_cleanup_free_ char *text = str_printf("GET %s: %s", f.url, str_or(cases[i].error, ""));
		_cleanup_result_ struct result r = { 0 };
		struct http_request q = get(f.url, &cases[i].tls);

		do_call(f.loop, f.client, &q, &r);
		assert_string_equal(r.error, cases[i].error ? text : "");
		assert_int_equal(r.status, cases[i].error ? 0 : 200);
		assert_int_equal(r.sent, !cases[i].error);
	}
}

static void test_another_name_to_verify_changes_nothing_of_the_request(void **state)
{
	_cleanup_fixture_ struct fixture f =
	        with_options(&(struct peer_options) { .serve = serve_who, .cert = &elsewhere });
	_cleanup_free_ char *text = str_printf(" at 127.0.0.1:%d", peer_port(f.peer));
	struct http_tls tls = { .ca_pem = ca.cert_pem, .server_name = "kube.test" };
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url, &tls);

	(void)state;
	do_call(f.loop, f.client, &q, &r);
	assert_string_equal(r.error, "");
	assert_string_equal(r.body, text);
}

static void test_each_client_certificate_has_its_own_connection(void **state)
{
	_cleanup_fixture_ struct fixture f =
	        with_options(&(struct peer_options) { .serve = serve_who, .cert = &local, .client_ca = &ca });
	const struct http_tls as_nobody = { .ca_pem = ca.cert_pem },
	                      as_alice = { ca.cert_pem, alice.cert_pem, alice.key_pem },
	                      as_bob = { ca.cert_pem, bob.cert_pem, bob.key_pem };
	const struct {
		const struct http_tls *tls;
		const char *name;
		int connections;
	} steps[] = { { &as_alice, "alice at", 1 }, { &as_alice, "alice at", 1 }, { &as_bob, "bob at", 2 },
		      { &as_nobody, " at", 3 },     { &as_alice, "alice at", 3 }, { &as_bob, "bob at", 3 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		_cleanup_result_ struct result r = { 0 };
		struct http_request q = get(f.url, steps[i].tls);

		do_call(f.loop, f.client, &q, &r);
		assert_string_equal(r.error, "");
		assert_true(str_starts(r.body, steps[i].name));
		assert_int_equal(peer_accepted(f.peer), steps[i].connections);
	}
}

static void test_a_client_certificate_that_is_refused_or_broken_is_named_so(void **state)
{
	const struct {
		struct http_tls tls;
		const char *text;
	} cases[] = {
		{ { ca.cert_pem, stranger.cert_pem, stranger.key_pem },
		  "the server does not accept the client certificate, or wants one: " },
		{ { ca.cert_pem, alice.cert_pem, bob.key_pem }, "the client certificate or its key cannot be used" },
		{ { ca.cert_pem, "no PEM", bob.key_pem }, "the client certificate or its key cannot be used" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_fixture_ struct fixture f =
		        with_options(&(struct peer_options) { .serve = serve_who, .cert = &local, .client_ca = &ca });
		_cleanup_result_ struct result r = { 0 };
		struct http_request q = get(f.url, &cases[i].tls);

		do_call(f.loop, f.client, &q, &r);
		assert_int_equal(r.status, 0);
		if (!strstr(r.error, cases[i].text))
			fail_msg("'%s' does not say '%s'", r.error, cases[i].text);
	}
}

static void serve_plain_answer(struct peer_conn *c, void *arg)
{
	(void)arg;
	peer_say(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
	peer_wait_gone(c);
}

static void serve_silence(struct peer_conn *c, void *arg)
{
	(void)arg;
	peer_wait_gone(c);
}

static void test_a_server_without_tls_is_named_so_and_nothing_was_sent(void **state)
{
	_cleanup_fixture_ struct fixture plain = with_options(&(struct peer_options) { .serve = serve_plain_answer }),
	                                 silent = with_options(&(struct peer_options) { .serve = serve_silence });
	struct http_tls tls = { .ca_pem = ca.cert_pem };
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(plain.url, &tls);

	(void)state;
	do_call(plain.loop, plain.client, &q, &r);
	assert_non_null(strstr(r.error, "TLS handshake failed: "));
	assert_false(r.sent);
	q = get(silent.url, &tls);
	q.connect_timeout = 100 * USEC_MSEC;
	do_call(silent.loop, silent.client, &q, &r);
	assert_non_null(strstr(r.error, "no connection within 100ms"));
	assert_false(r.sent);
}

/* HTTP/2 */

static const struct peer_options h2_peer = { .serve = serve_h2, .cert = &local, .alpn = "h2" };

static const char *h2_url(const struct fixture *f, const char *path, char text[100])
{
	return url_of(text, "https", peer_port(f->peer), path);
}

static int count_chunks(void *arg, const char *data, size_t len, struct err *err)
{
	(void)data, (void)len, (void)err;
	(*(int *)arg)++;
	return 0;
}

struct watch {
	int n_chunks; /* first: count_chunks() takes it */
	struct result end;
};

static void watch_ended(void *arg, struct http_answer *a)
{
	keep_result(&((struct watch *)arg)->end, a);
}

static void start_watch(struct fixture *f, struct watch *w)
{
	struct http_tls tls = { .ca_pem = ca.cert_pem };
	char url[100];
	struct http_request q = get(h2_url(f, "/watch", url), &tls);

	q.timeout = USEC_NEVER;
	http_start(f->client, &q, count_chunks, watch_ended, w);
	wait_for(f->loop, &w->n_chunks, 1);
}

/* Says something at once, and then nothing for ever. */
static void serve_h1_watch(struct peer_conn *c, void *arg)
{
	char request[8192];

	(void)arg;
	if (!peer_read_request(c, request, sizeof(request)))
		return;
	peer_say(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nyes\r\n");
	(void)peer_read_request(c, request, sizeof(request));
}

static void test_watches_that_never_end_do_not_wait_for_each_other_on_http1(void **state)
{
	_cleanup_fixture_ struct fixture f =
	        with_options(&(struct peer_options) { .serve = serve_h1_watch, .cert = &local, .alpn = "http/1.1" });
	const struct http_tls tls = { .ca_pem = ca.cert_pem };
	struct watch watches[3] = { 0 };
	struct http_request q = get(f.url, &tls);

	(void)state;
	q.timeout = USEC_NEVER;
	for (size_t i = 0; i < ARRAY_LEN(watches); i++)
		http_start(f.client, &q, count_chunks, watch_ended, &watches[i]);
	for (size_t i = 0; i < ARRAY_LEN(watches); i++)
		wait_for(f.loop, &watches[i].n_chunks, 1);
}

static void test_requests_and_watches_share_one_h2_connection(void **state)
{
	enum { N = 20 };
	_cleanup_fixture_ struct fixture f = with_options(&h2_peer);
	struct http_tls tls = { .ca_pem = ca.cert_pem };
	char url[100];
	struct http_request q = get(h2_url(&f, "/ok", url), &tls);
	struct result r[N] = { 0 };
	struct watch w = { 0 };

	(void)state;
	http_start(f.client, &q, NULL, keep_result, &r[0]);
	wait_for(f.loop, &r[0].n, 1); /* as a list comes before its watch */
	start_watch(&f, &w);
	for (int i = 1; i < N; i++)
		http_start(f.client, &q, NULL, keep_result, &r[i]);
	for (int i = 0; i < N; i++) {
		wait_for(f.loop, &r[i].n, 1);
		assert_string_equal(r[i].error, "");
		assert_string_equal(r[i].body, "ok");
		result_done(&r[i]);
	}
	assert_int_equal(peer_accepted(f.peer), 1);
	assert_int_equal(w.end.n, 0);
}

/* Curl would put further requests on the dead connection as long as the watch holds it. */
static void test_a_dead_h2_peer_is_noticed_and_its_connection_not_used_again(void **state)
{
	_cleanup_fixture_ struct fixture f = with_options(&h2_peer);
	struct http_tls tls = { .ca_pem = ca.cert_pem };
	_cleanup_result_ struct result r = { 0 };
	struct watch w = { 0 };
	char url[100];
	struct http_request q;

	(void)state;
	start_watch(&f, &w);
	q = get(h2_url(&f, "/dead", url), &tls);
	q.timeout = 150 * USEC_MSEC;
	do_call(f.loop, f.client, &q, &r);
	assert_non_null(strstr(r.error, "/dead: no answer within 150ms"));
	assert_true(r.sent);
	q = get(h2_url(&f, "/ok", url), &tls);
	do_call(f.loop, f.client, &q, &r);
	assert_string_equal(r.error, "");
	assert_string_equal(r.body, "ok");
	assert_int_equal(peer_accepted(f.peer), 2);
	assert_int_equal(w.end.n, 0); /* the watch has its own limits */
}

static void test_a_silent_h2_watch_ends_at_its_idle_limit(void **state)
{
	_cleanup_fixture_ struct fixture f = with_options(&h2_peer);
	struct http_tls tls = { .ca_pem = ca.cert_pem };
	struct watch w = { 0 };
	char url[100];
	struct http_request q = get(h2_url(&f, "/watch", url), &tls);

	(void)state;
	q.timeout = USEC_NEVER;
	q.idle_timeout = 300 * USEC_MSEC;
	http_start(f.client, &q, count_chunks, watch_ended, &w);
	wait_for(f.loop, &w.end.n, 1);
	assert_non_null(strstr(w.end.error, "/watch: no byte for 300ms"));
	assert_int_equal(w.n_chunks, 1);
	result_done(&w.end);
}

static void test_a_stream_broken_off_leaves_the_connection_to_the_others(void **state)
{
	_cleanup_fixture_ struct fixture f = with_options(&h2_peer);
	struct http_tls tls = { .ca_pem = ca.cert_pem };
	_cleanup_result_ struct result r = { 0 };
	struct watch w = { 0 };
	char url[100];
	struct http_request q;

	(void)state;
	start_watch(&f, &w);
	q = get(h2_url(&f, "/reset", url), &tls);
	q.method = "POST";
	do_call(f.loop, f.client, &q, &r);
	assert_int_equal(r.status, 0);
	assert_int_equal(r.code, -ECONNRESET);
	assert_true(r.sent);
	q = get(h2_url(&f, "/ok", url), &tls);
	do_call(f.loop, f.client, &q, &r);
	assert_string_equal(r.body, "ok");
	assert_int_equal(peer_accepted(f.peer), 1);
	assert_int_equal(w.end.n, 0);
}

static void test_a_cancelled_h2_call_leaves_the_connection_to_the_others(void **state)
{
	_cleanup_fixture_ struct fixture f = with_options(&h2_peer);
	struct http_tls tls = { .ca_pem = ca.cert_pem };
	_cleanup_result_ struct result r = { 0 };
	int n_chunks = 0;
	char url[100];
	struct http_request q = get(h2_url(&f, "/watch", url), &tls);
	struct http_call *call;

	(void)state;
	call = http_start(f.client, &q, count_chunks, keep_result, &n_chunks);
	wait_for(f.loop, &n_chunks, 1);
	http_cancel(call);
	q = get(h2_url(&f, "/ok", url), &tls);
	do_call(f.loop, f.client, &q, &r);
	assert_string_equal(r.body, "ok");
	assert_int_equal(peer_accepted(f.peer), 1);
}

static void test_a_server_that_goes_away_fails_a_post_once(void **state)
{
	_cleanup_fixture_ struct fixture f = with_options(&h2_peer);
	struct http_tls tls = { .ca_pem = ca.cert_pem };
	_cleanup_result_ struct result r = { 0 };
	char url[100];
	struct http_request q = get(h2_url(&f, "/ok", url), &tls);

	(void)state;
	do_call(f.loop, f.client, &q, &r);
	assert_string_equal(r.body, "ok");
	q = get(h2_url(&f, "/goaway", url), &tls);
	q.method = "POST";
	do_call(f.loop, f.client, &q, &r);
	assert_int_equal(r.status, 0);
	assert_non_null(strstr(r.error, "the connection was closed before an answer came"));
	q = get(h2_url(&f, "/ok", url), &tls);
	do_call(f.loop, f.client, &q, &r);
	assert_string_equal(r.body, "ok");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_certificate_is_checked_and_errors_name_the_cause),
		TEST(another_name_to_verify_changes_nothing_of_the_request),
		TEST(each_client_certificate_has_its_own_connection),
		TEST(a_client_certificate_that_is_refused_or_broken_is_named_so),
		TEST(a_server_without_tls_is_named_so_and_nothing_was_sent),
		TEST(watches_that_never_end_do_not_wait_for_each_other_on_http1),
		TEST(requests_and_watches_share_one_h2_connection),
		TEST(a_dead_h2_peer_is_noticed_and_its_connection_not_used_again),
		TEST(a_silent_h2_watch_ends_at_its_idle_limit),
		TEST(a_stream_broken_off_leaves_the_connection_to_the_others),
		TEST(a_cancelled_h2_call_leaves_the_connection_to_the_others),
		TEST(a_server_that_goes_away_fails_a_post_once),
	};
	const struct CMUnitTest over_lines[] = {
		TEST(a_certificate_is_checked_and_errors_name_the_cause),
		TEST(another_name_to_verify_changes_nothing_of_the_request),
		TEST(each_client_certificate_has_its_own_connection),
		TEST(a_client_certificate_that_is_refused_or_broken_is_named_so),
		TEST(a_server_without_tls_is_named_so_and_nothing_was_sent),
	};
	int r;

	r = cmocka_run_group_tests_name("by curl", tests, make_certs, free_certs);
	n_lines = 16;
	return r + cmocka_run_group_tests_name("over lines", over_lines, make_certs, free_certs);
}
