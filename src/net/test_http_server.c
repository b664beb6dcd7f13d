/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/test_call.h"
#include "net/test_certs.h"

#define MIB ((size_t)1024 * 1024)
#define KEPT_MAX 5000
#define GET_X "GET /x HTTP/1.1\r\nHost: h\r\n\r\n"

struct fixture {
	struct loop *loop;
	struct http_server *server;
	struct http_client *client;
	char url[100];
	bool keep; /* the handler keeps requests */
	struct http_incoming *kept[KEPT_MAX];
	int n_kept;
};

/* Answers with what it was asked, or keeps it for later. */
static void handle(void *arg, struct http_incoming *in)
{
	struct fixture *f = arg;
	_cleanup_buf_ struct buf b = BUF(10 * MIB);
	size_t len;

	if (f->keep) {
		assert_true(f->n_kept < KEPT_MAX);
		f->kept[f->n_kept++] = in;
		return;
	}
	if (str_eq(http_in_path(in), "/error")) {
		http_reply_error(in, 409, "node \"%s\" is\n%s", http_in_query(in, "node"), "not\\here\xff");
		return;
	}
	buf_printf(&b, "%s %s x=%s y=%s test=%s from %s: ", http_in_method(in), http_in_path(in),
	           str_or(http_in_query(in, "x"), "-"), str_or(http_in_query(in, "y"), "-"),
	           str_or(http_in_header(in, "x-test"), "-"), http_in_peer(in));
	http_in_body(in, &len);
	buf_add(&b, http_in_body(in, NULL), len);
	http_reply(in, 200, "text/plain", b.data, b.len);
}

static struct fixture *fixture_new(const struct http_server_options *options)
{
	struct http_server_options o = *options;
	struct fixture *f = NEW(struct fixture);
	struct err err = { 0 };

	f->loop = loop_new();
	o.address = str_or(o.address, "127.0.0.1");
	f->server = http_server_new(f->loop, &o, handle, f, &err);
	assert_string_equal(err_text(&err), "no error");
	assert_non_null(f->server);
	f->client = http_client_new(f->loop, "sunk-test");
	url_of(f->url, o.cert_pem ? "https" : "http", http_server_port(f->server), "/x");
	return f;
}

static void fixture_free(struct fixture *f)
{
	http_client_free(f->client);
	http_server_free(f->server);
	loop_free(f->loop);
	free(f);
}
DEFINE_FREEP(struct fixture, fixture_free)
#define _cleanup_fixture_ _cleanup_(fixture_freep)

static struct http_request get(const char *url)
{
	return (struct http_request) { .method = "GET", .url = url, .body_max = 10 * MIB };
}

/* A client of bare bytes: does not block. */

static int raw_connect(const struct fixture *f)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a.sin_port = htons(http_server_port(f->server));
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

static void raw_send(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n < 0) /* the server may have heard enough */
			return;
		at += n;
		len -= (size_t)n;
	}
}

static int raw_open(const struct fixture *f, const char *text)
{
	int fd = raw_connect(f);

	raw_send(fd, text, strlen(text));
	return fd;
}

/* Reads until the text wanted has come (NULL: until the end). False at the end of the connection. The core runs
 * meanwhile when `run`. */
static bool raw_read(struct fixture *f, int fd, struct buf *out, const char *wanted, bool run)
{
	usec_t end = clock_mono(clock_real()) + TEST_DEADLINE;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char data[4096];
	ssize_t n;

	while (!wanted || !strstr(buf_text(out), wanted)) {
		assert_true(clock_mono(clock_real()) < end);
		if (run)
			loop_run_once(f->loop, 0);
		if (poll(&p, 1, 5) == 0)
			continue;
		n = read(fd, data, sizeof(data));
		if (n <= 0)
			return false;
		buf_add(out, data, (size_t)n);
	}
	return true;
}

/* Sends, reads the status line, closes. 0 when the connection ended without one. */
static int raw_status(struct fixture *f, const char *text)
{
	_cleanup_fd_ int fd = raw_open(f, text);
	_cleanup_buf_ struct buf out = BUF(MIB);

	return raw_read(f, fd, &out, "\r\n", true) ? (int)strtol(out.data + 9, NULL, 10) : 0;
}

static void wait_kept(struct fixture *f, int n)
{
	wait_for(f->loop, &f->n_kept, n);
}

static void release(struct fixture *f, int i)
{
	http_reply(f->kept[i], 200, NULL, "{}", 2);
	f->kept[i] = NULL;
}

/* Requests and answers */

static void test_a_request_arrives_with_all_its_parts(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new(&(struct http_server_options) { 0 });
	_cleanup_result_ struct result r = { 0 };
	_cleanup_free_ char *url = str_printf("%s/a%%20b?x=1+2&y=%%2F%%26&z", f->url);
	struct http_request q = {
		.method = "PATCH",
		.url = url,
		.headers = { "X-Test: yes" },
		.body = "a\0b",
		.body_len = 3,
		.body_max = MIB,
	};

	(void)state;
	do_call(f->loop, f->client, &q, &r);
	assert_string_equal(r.error, "");
	assert_int_equal(r.status, 200);
	assert_string_equal(r.content_type, "text/plain");
	assert_string_equal(r.body, "PATCH /x/a b x=1 2 y=/& test=yes from 127.0.0.1: a");
	assert_int_equal(r.body_len, strlen(r.body) + 2);
	q = get(f->url);
	do_call(f->loop, f->client, &q, &r);
	assert_string_equal(r.body, "GET /x x=- y=- test=- from 127.0.0.1: ");
	q.method = "HEAD";
	do_call(f->loop, f->client, &q, &r);
	assert_int_equal(r.status, 200);
	assert_int_equal(http_server_parked(f->server), 0);
}

static void test_an_error_is_json_whatever_is_in_it(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new(&(struct http_server_options) { 0 });
	_cleanup_result_ struct result r = { 0 };
	char url[100];
	struct http_request q = get(url_of(url, "http", http_server_port(f->server), "/error?node=a%22b%01%C3%A4"));

	(void)state;
	do_call(f->loop, f->client, &q, &r);
	assert_int_equal(r.status, 409);
	assert_string_equal(r.content_type, "application/json");
	assert_string_equal(r.body, "{\"error\": \"node \\\"a\\\"b\\\\x01ä\\\" is\\\\nnot\\\\\\\\here\\\\xff\"}");
}

static void test_requests_on_one_connection_are_answered_in_order(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new(&(struct http_server_options) { 0 });
	_cleanup_buf_ struct buf out = BUF(MIB);
	_cleanup_fd_ int fd = raw_open(f, "GET /one HTTP/1.1\r\nHost: h\r\n\r\n"
	                                  "POST /two HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"
	                                  "POST /three HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
	                                  "Transfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n1\r\nz\r\n0\r\n\r\n");
	const char *one, *two, *three;

	(void)state;
	assert_false(raw_read(f, fd, &out, NULL, true));
	one = strstr(out.data, "GET /one x=- y=- test=- from 127.0.0.1: ");
	two = strstr(out.data, "POST /two x=- y=- test=- from 127.0.0.1: abc");
	three = strstr(out.data, "POST /three x=- y=- test=- from 127.0.0.1: xyz");
	assert_true(one && two && three && one < two && two < three);
}

static const struct {
	const char *header; /* NULL: none */
	const char *token;
	bool matches;
} bearers[] = {
	{ "Bearer s3cret", "s3cret", true },
	{ "bearer  s3cret", "s3cret", true },
	{ "Bearer s3cre", "s3cret", false },
	{ "Bearer s3crets", "s3cret", false },
	{ "Bearer S3CRET", "s3cret", false },
	{ "Bearer", "s3cret", false },
	{ "Basic s3cret", "s3cret", false },
	{ "s3cret", "s3cret", false },
	{ NULL, "s3cret", false },
	{ "Bearer ", "", false },
	{ NULL, "", false },
	{ "Bearer x", NULL, false },
};

static void test_a_bearer_token_must_match_wholly(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new(&(struct http_server_options) { 0 });

	(void)state;
	f->keep = true;
	for (int i = 0; i < (int)ARRAY_LEN(bearers); i++) {
		_cleanup_free_ char *text =
		        str_printf("GET / HTTP/1.1\r\nHost: h\r\n%s%s\r\n\r\n",
		                   bearers[i].header ? "Authorization: " : "X: y", str_or(bearers[i].header, ""));
		_cleanup_fd_ int fd = raw_open(f, text);

		wait_kept(f, i + 1);
		assert_int_equal(http_in_bearer_is(f->kept[i], bearers[i].token), bearers[i].matches);
		release(f, i);
	}
}

/* Bad requests and limits */

static void test_bad_requests_are_refused(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new(&(struct http_server_options) { .body_max = 100 });
	static const struct {
		const char *text;
		int status, or_status; /* of other versions of libmicrohttpd */
	} cases[] = {
		{ "GET /%00 HTTP/1.1\r\nHost: h\r\n\r\n", 400 },
		{ "GET /a%2Fb HTTP/1.1\r\nHost: h\r\n\r\n", 400 },
		{ "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", 400 },
		{ "GET /?x=% HTTP/1.1\r\nHost: h\r\n\r\n", 400 },
		{ "GET http://h/x HTTP/1.1\r\nHost: h\r\n\r\n", 400 },
		{ "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", 400 },
		{ "GET /x HTTP/1.1\r\n\r\n", 400 }, /* no Host */
		{ "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n", 400 },
		{ "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 1x\r\n\r\n", 400 },
		{ "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n", 413, 400 },
		{ "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 5000000000\r\n\r\n", 413 },
		{ "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400 },
		{ "VERYVERYLONGMETHOD /x HTTP/1.1\r\nHost: h\r\n\r\n", 501 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int status = raw_status(f, cases[i].text);

		if (status != cases[i].status && (!cases[i].or_status || status != cases[i].or_status))
			fail_msg("%d instead of %d for %s", status, cases[i].status, cases[i].text);
	}
	assert_int_equal(raw_status(f, GET_X), 200);
}

static void test_headers_and_targets_have_a_limit(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new(&(struct http_server_options) { 0 });
	_cleanup_buf_ struct buf many = BUF(MIB), target = BUF(MIB), fitting = BUF(MIB);

	(void)state;
	buf_add_str(&many, "GET /x HTTP/1.1\r\nHost: h\r\n");
	for (int i = 0; i < 1000; i++)
		buf_printf(&many, "X-%d: and more and more\r\n", i);
	buf_add_str(&many, "\r\n");
	assert_int_equal(raw_status(f, many.data), 431);
	buf_add_str(&target, "GET /");
	for (int i = 0; i < 10000; i++)
		buf_add_char(&target, 'x');
	buf_add_str(&target, " HTTP/1.1\r\nHost: h\r\n\r\n");
	assert_int_equal(raw_status(f, target.data), 414);
	/* A service account's token is about this long. */
	buf_add_str(&fitting,
	            "GET /x HTTP/1.1\r\nHost: h\r\nUser-Agent: sunk\r\nAccept: */*\r\nAuthorization: Bearer ");
	for (int i = 0; i < 1500; i++)
		buf_add_char(&fitting, 'x');
	buf_add_str(&fitting, "\r\n\r\n");
	assert_int_equal(raw_status(f, fitting.data), 200);
}

static void test_a_body_has_a_limit(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new(&(struct http_server_options) { .body_max = 20000 });
	_cleanup_free_ char *body = mem_alloc(2 * MIB);
	static const struct {
		size_t len;
		int status;
	} cases[] = { { 20000, 200 }, { 20001, 413 }, { 500000, 413 } };

	(void)state;
	memset(body, 'b', 2 * MIB);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_result_ struct result r = { 0 };
		_cleanup_free_ char *chunked = NULL;
		struct http_request q = get(f->url);

		q.method = "POST";
		q.body = body;
		q.body_len = cases[i].len;
		do_call(f->loop, f->client, &q, &r);
		assert_int_equal(r.status, cases[i].status);
		chunked = str_printf("POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
		                     "%zx\r\n%.*s\r\n0\r\n\r\n",
		                     cases[i].len, (int)cases[i].len, body);
		assert_int_equal(raw_status(f, chunked), cases[i].status);
	}
}

static void test_a_body_without_end_is_cut_off(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new(&(struct http_server_options) { .body_max = 1000 });
	_cleanup_fd_ int fd = raw_open(f, "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
	usec_t end = clock_mono(clock_real()) + TEST_DEADLINE;
	char chunk[1006];

	(void)state;
	memset(chunk, 'x', sizeof(chunk));
	memcpy(chunk, "3e7\r\n", 5); /* 999 bytes, and a line end */
	memcpy(chunk + sizeof(chunk) - 2, "\r\n", 2);
	while (send(fd, chunk, sizeof(chunk), MSG_NOSIGNAL) > 0)
		assert_true(clock_mono(clock_real()) < end);
	assert_int_equal(raw_status(f, GET_X), 200);
}

static void test_garbage_does_no_harm(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new(&(struct http_server_options) { .read_timeout = USEC_SEC });
	static const char *const texts[] = {
		"\r\n\r\n\r\n",
		"\x16\x03\x01\x02",
		"GET\r\n\r\n",
		"GET / HTTP/9.9\r\n\r\n",
		"\xff\xff\xff\xff\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"GET / HTTP/1.1\r\n: x\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nx",
		"GET /zzzzzzzzzzzzzzzzzzzzzzzz?a&c HTTP/1.0\r\n\r\n", /* kills libmicrohttpd 1.0.1 */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		_cleanup_fd_ int fd = raw_open(f, texts[i]);
		_cleanup_buf_ struct buf out = BUF(MIB);

		shutdown(fd, SHUT_WR);
		assert_false(raw_read(f, fd, &out, NULL, true));
	}
	assert_int_equal(raw_status(f, GET_X), 200);
}

/* Parking */

static void test_a_parked_request_is_answered_when_the_core_says(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new(&(struct http_server_options) { 0 });
	_cleanup_result_ struct result a = { 0 }, b = { 0 };
	struct http_request q = get(f->url);

	(void)state;
	f->keep = true;
	http_start(f->client, &q, NULL, keep_result, &a);
	wait_kept(f, 1);
	http_start(f->client, &q, NULL, keep_result, &b);
	wait_kept(f, 2);
	assert_int_equal(http_server_parked(f->server), 2);
	release(f, 1);
	wait_for(f->loop, &b.n, 1);
	assert_int_equal(b.status, 200);
	assert_int_equal(a.n, 0);
	assert_int_equal(http_server_parked(f->server), 1);
	http_reply(f->kept[0], 401, "text/plain", "who?", 4);
	wait_for(f->loop, &a.n, 1);
	assert_int_equal(a.status, 401);
	assert_string_equal(a.body, "who?");
	assert_int_equal(http_server_parked(f->server), 0);
}

static void test_a_client_that_left_while_parked_does_no_harm(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new(&(struct http_server_options) { .connections_max = 1 });
	usec_t end = clock_mono(clock_real()) + TEST_DEADLINE;
	int fd = raw_open(f, GET_X);
	struct linger hard = { .l_onoff = 1 };

	(void)state;
	f->keep = true;
	wait_kept(f, 1);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	close(fd);
	assert_int_equal(raw_status(f, GET_X), 0); /* the place is still taken */
	release(f, 0);
	f->keep = false;
	while (raw_status(f, GET_X) != 200) /* and free again, once the server has noticed */
		assert_true(clock_mono(clock_real()) < end);
}

static void test_freeing_answers_what_is_parked(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new(&(struct http_server_options) { 0 });
	_cleanup_fd_ int seen = -1, unseen = -1, unfinished = -1;
	_cleanup_buf_ struct buf a = BUF(MIB), b = BUF(MIB), c = BUF(MIB);

	(void)state;
	f->keep = true;
	unfinished = raw_open(f, "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
	seen = raw_open(f, GET_X);
	wait_kept(f, 1);
	unseen = raw_open(f, GET_X); /* the core does not look any more; it may be posted, read, or not even accepted */
	http_server_free(f->server);
	f->server = NULL;
	raw_read(f, seen, &a, NULL, false);
	assert_true(str_starts(buf_text(&a), "HTTP/1.1 503 "));
	assert_true(str_ends(a.data, "{\"error\": \"this server is ending\"}"));
	raw_read(f, unseen, &b, NULL, false);
	assert_true(b.len == 0 || str_starts(buf_text(&b), "HTTP/1.1 503 "));
	raw_read(f, unfinished, &c, NULL, false);
	http_server_free(NULL);
}

static void test_freeing_answers_what_the_core_has_not_seen(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new(&(struct http_server_options) { .queue_max = 1 });
	_cleanup_fd_ int a = raw_open(f, GET_X), b = raw_open(f, GET_X);
	_cleanup_buf_ struct buf out_a = BUF(MIB), out_b = BUF(MIB);
	struct pollfd p[2] = { { .fd = a, .events = POLLIN }, { .fd = b, .events = POLLIN } };

	(void)state;
	/* One of the two found the queue full: then the other is in it. */
	assert_true(poll(p, 2, (int)(TEST_DEADLINE / USEC_MSEC)) > 0);
	http_server_free(f->server);
	f->server = NULL;
	raw_read(f, a, &out_a, NULL, false);
	raw_read(f, b, &out_b, NULL, false);
	assert_true(str_starts(buf_text(&out_a), "HTTP/1.1 503 "));
	assert_true(str_starts(buf_text(&out_b), "HTTP/1.1 503 "));
	assert_int_equal(strstr(out_a.data, "this server is ending") != NULL,
	                 strstr(out_b.data, "too busy, or ending") != NULL);
}

static void test_a_full_queue_refuses(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new(&(struct http_server_options) { .queue_max = 1 });
	_cleanup_fd_ int first = raw_open(f, GET_X), second = raw_open(f, GET_X);
	_cleanup_buf_ struct buf out_first = BUF(MIB), out_second = BUF(MIB);
	struct pollfd p[2] = { { .fd = first, .events = POLLIN }, { .fd = second, .events = POLLIN } };
	bool first_refused;

	(void)state;
	assert_true(poll(p, 2, (int)(TEST_DEADLINE / USEC_MSEC)) > 0); /* the core looks at nothing meanwhile */
	first_refused = p[0].revents;
	assert_true(raw_read(f, first, &out_first, "\r\n\r\n", !first_refused));
	assert_true(raw_read(f, second, &out_second, "\r\n\r\n", first_refused));
	assert_true(str_starts(out_first.data, first_refused ? "HTTP/1.1 503 " : "HTTP/1.1 200 "));
	assert_true(str_starts(out_second.data, first_refused ? "HTTP/1.1 200 " : "HTTP/1.1 503 "));
}

static long resident_kib(void)
{
	_cleanup_buf_ struct buf b = BUF(MIB);
	const char *line;

	buf_read_file(&b, "/proc/self/status");
	line = strstr(buf_text(&b), "VmRSS:");
	return line ? strtol(line + 6, NULL, 10) : 0;
}

/* As many as the process may have descriptors for, both ends being its own. */
static int many(void)
{
	struct rlimit r;

	getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
	return r.rlim_cur == RLIM_INFINITY || r.rlim_cur > 2 * KEPT_MAX + 200 ? KEPT_MAX : ((int)r.rlim_cur - 200) / 2;
}

static void test_thousands_are_parked_and_all_released(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new(&(struct http_server_options) { 0 });
	_cleanup_free_ int *fds = mem_alloc_n(KEPT_MAX, sizeof(int));
	long before = resident_kib(), after;
	int n = many();

	(void)state;
	f->keep = true;
	for (int i = 0; i < n; i++) {
		fds[i] = raw_open(
		        f, "POST /prolog?job=1234567 HTTP/1.1\r\nHost: sunk-scheduler.sunk:8080\r\n"
		           "Authorization: Bearer 0123456789abcdef0123456789abcdef\r\nContent-Length: 2\r\n\r\n{}");
		if (i % 100 == 0)
			loop_run_once(f->loop, 0);
	}
	wait_kept(f, n);
	assert_int_equal(http_server_parked(f->server), n);
	after = resident_kib();
	print_message("%d parked: %ld KiB more, %.1f KiB each\n", n, after - before, (double)(after - before) / n);
	for (int i = 0; i < n; i++)
		release(f, i);
	for (int i = 0; i < n; i++) {
		_cleanup_buf_ struct buf out = BUF(MIB);

		assert_true(raw_read(f, fds[i], &out, "\r\n\r\n{}", false));
		assert_true(str_starts(out.data, "HTTP/1.1 200 "));
		close(fds[i]);
	}
	assert_int_equal(http_server_parked(f->server), 0);
}

/* Time and numbers */

static void test_a_silent_client_is_closed_but_a_parked_one_waits(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new(&(struct http_server_options) { .read_timeout = USEC_SEC });
	_cleanup_buf_ struct buf nothing = BUF(MIB), answer = BUF(MIB);
	_cleanup_fd_ int parked = -1, silent = -1;

	(void)state;
	f->keep = true;
	parked = raw_open(f, GET_X);
	wait_kept(f, 1);
	silent = raw_open(f, "GET /x HTTP/1.1\r\nHo");
	assert_false(raw_read(f, silent, &nothing, NULL, true)); /* ends, after the timeout */
	release(f, 0);
	assert_true(raw_read(f, parked, &answer, "\r\n\r\n{}", true));
}

static void test_a_client_that_trickles_makes_place_for_newcomers(void **state)
{
	_cleanup_fixture_ struct fixture *f =
	        fixture_new(&(struct http_server_options) { .read_timeout = USEC_SEC, .connections_max = 1 });
	usec_t start = clock_mono(clock_real()), end = start + TEST_DEADLINE;
	_cleanup_fd_ int slow = raw_open(f, "GET /x HTTP/1.1\r\nX: ");
	int status;

	(void)state;
	while (raw_status(f, GET_X) != 200) {
		struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };

		assert_true(clock_mono(clock_real()) < end);
		raw_send(slow, "x", 1);
		nanosleep(&pause, NULL); /* the trickle itself */
	}
	assert_true(clock_mono(clock_real()) - start >= USEC_SEC);
	status = raw_status(f, GET_X);
	assert_true(status == 200 || status == 0); /* the one before may not be gone yet */
}

static void test_connections_have_a_limit(void **state)
{
	_cleanup_fixture_ struct fixture *all = fixture_new(&(struct http_server_options) { .connections_max = 2 }),
	                                 *per_ip = fixture_new(
	                                         &(struct http_server_options) { .connections_per_ip_max = 2 });
	struct fixture *both[] = { all, per_ip };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct fixture *f = both[i];
		_cleanup_fd_ int a = -1, b = -1;

		f->keep = true;
		a = raw_open(f, GET_X);
		b = raw_open(f, GET_X);
		wait_kept(f, 2);
		assert_int_equal(raw_status(f, GET_X), 0);
		release(f, 0);
		release(f, 1);
	}
}

static void test_as_many_descriptors_as_connections_are_asked_for(void **state)
{
	struct rlimit before, low, now;
	struct fixture *f;

	(void)state;
	getrlimit(RLIMIT_NOFILE, &before);
	low = before;
	low.rlim_cur = 100;
	setrlimit(RLIMIT_NOFILE, &low);
	f = fixture_new(&(struct http_server_options) { .connections_max = 300 });
	getrlimit(RLIMIT_NOFILE, &now);
	assert_true(now.rlim_cur > 300 || now.rlim_cur == now.rlim_max);
	fixture_free(f);
	setrlimit(RLIMIT_NOFILE, &before);
}

/* TLS and addresses */

static void test_tls_serves_and_parks_too(void **state)
{
	struct test_cert ca = { 0 }, cert = { 0 };
	_cleanup_result_ struct result r = { 0 }, parked = { 0 };
	_cleanup_fixture_ struct fixture *f = NULL;
	struct http_tls tls;
	struct http_request q;

	(void)state;
	test_cert_make(&ca, NULL, "test CA", NULL, -100, 3600);
	test_cert_make(&cert, &ca, "server", "IP:127.0.0.1", -100, 3600);
	f = fixture_new(&(struct http_server_options) { .cert_pem = cert.cert_pem, .key_pem = cert.key_pem });
	tls = (struct http_tls) { .ca_pem = ca.cert_pem };
	q = get(f->url);
	q.tls = &tls;
	do_call(f->loop, f->client, &q, &r);
	assert_string_equal(r.error, "");
	assert_string_equal(r.body, "GET /x x=- y=- test=- from 127.0.0.1: ");
	f->keep = true;
	http_start(f->client, &q, NULL, keep_result, &parked);
	wait_kept(f, 1);
	release(f, 0);
	wait_for(f->loop, &parked.n, 1);
	assert_int_equal(parked.status, 200);
	assert_int_equal(raw_status(f, GET_X), 0); /* no plain HTTP there */
	test_cert_done(&ca);
	test_cert_done(&cert);
}

static void assert_no_server(const struct http_server_options *o, const char *text)
{
	_cleanup_(loop_freep) struct loop *l = loop_new();
	struct err err = { 0 };

	assert_null(http_server_new(l, o, handle, NULL, &err));
	if (!str_starts(err.text, text))
		fail_msg("'%s' does not begin with '%s'", err.text, text);
}

static void test_a_server_that_cannot_start_says_why(void **state)
{
	_cleanup_fixture_ struct fixture *f = fixture_new(&(struct http_server_options) { 0 });
	uint16_t port = http_server_port(f->server);
	char text[200];

	(void)state;
	assert_no_server(&(struct http_server_options) { .address = "localhost" },
	                 "cannot listen on 'localhost': this is no IP address");
	snprintf(text, sizeof(text), "cannot listen on 127.0.0.1 port %d: Address already in use", port);
	assert_no_server(&(struct http_server_options) { .address = "127.0.0.1", .port = port }, text);
	assert_no_server(&(struct http_server_options) { .address = "192.0.2.1" },
	                 "cannot listen on 192.0.2.1 port 0: Cannot assign requested address");
	assert_no_server(&(struct http_server_options) { .address = "127.0.0.1", .cert_pem = "x" },
	                 "TLS needs a certificate and its key; only one is given");
	http_server_free(f->server);
	f->server = NULL;
	for (int i = 0; i < 2; i++) { /* twice: the first left the port free */
		snprintf(text, sizeof(text), "cannot serve HTTPS on 127.0.0.1 port %d: ", port);
		assert_no_server(&(struct http_server_options) { "127.0.0.1", port, "no PEM", "no PEM" }, text);
	}
}

static void test_both_families_are_served_and_v4_is_shown_as_v4(void **state)
{
	_cleanup_result_ struct result r = { 0 };
	_cleanup_fixture_ struct fixture *f = NULL;
	_cleanup_fd_ int six = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct http_request q;
	char url[100];

	(void)state;
	if (six < 0 || bind(six, (struct sockaddr *)&a, sizeof(a)) < 0)
		skip(); /* a machine without IPv6 */
	f = fixture_new(&(struct http_server_options) { .address = "::" });
	q = get(f->url);
	do_call(f->loop, f->client, &q, &r);
	assert_string_equal(r.body, "GET /x x=- y=- test=- from 127.0.0.1: ");
	snprintf(url, sizeof(url), "http://[::1]:%d/x", http_server_port(f->server));
	q = get(url);
	do_call(f->loop, f->client, &q, &r);
	assert_string_equal(r.body, "GET /x x=- y=- test=- from ::1: ");
}

TEST_MAIN(TEST(a_request_arrives_with_all_its_parts), TEST(an_error_is_json_whatever_is_in_it),
          TEST(requests_on_one_connection_are_answered_in_order), TEST(a_bearer_token_must_match_wholly),
          TEST(bad_requests_are_refused), TEST(headers_and_targets_have_a_limit), TEST(a_body_has_a_limit),
          TEST(a_body_without_end_is_cut_off), TEST(garbage_does_no_harm),
          TEST(a_parked_request_is_answered_when_the_core_says), TEST(a_client_that_left_while_parked_does_no_harm),
          TEST(freeing_answers_what_is_parked), TEST(freeing_answers_what_the_core_has_not_seen),
          TEST(a_full_queue_refuses), TEST(thousands_are_parked_and_all_released),
          TEST(a_silent_client_is_closed_but_a_parked_one_waits),
          TEST(a_client_that_trickles_makes_place_for_newcomers), TEST(connections_have_a_limit),
          TEST(as_many_descriptors_as_connections_are_asked_for), TEST(tls_serves_and_parks_too),
          TEST(a_server_that_cannot_start_says_why), TEST(both_families_are_served_and_v4_is_shown_as_v4))
