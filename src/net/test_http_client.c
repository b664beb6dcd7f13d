/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/http_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "net/test_call.h"
#include "net/test_peer.h"

#define MIB ((size_t)1024 * 1024)
#define SMALL_OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

/* A loop, a client, and a peer with its URL. */
struct fixture {
	struct loop *loop;
	struct http_client *client;
	struct peer *peer;
	char url[100];
};

static size_t n_lines; /* of each client; 0: curl has all calls */

static struct http_client *new_client(struct loop *l)
{
	struct http_client *c = http_client_new(l, "sunk-test");

	if (n_lines)
		http_client_lines(c, n_lines);
	return c;
}

static void fixture_done(struct fixture *f)
{
	http_client_free(f->client);
	loop_free(f->loop);
	peer_stop(f->peer);
}
#define _cleanup_fixture_ _cleanup_(fixture_done)

static struct fixture with_peer(void (*serve)(struct peer_conn *c, void *arg), const void *arg)
{
	struct fixture f = { .loop = loop_new() };

	f.client = new_client(f.loop);
	f.peer = peer_start(&(struct peer_options) { .serve = serve, .arg = (void *)arg });
	url_of(f.url, "http", peer_port(f.peer), "/x");
	return f;
}

static struct fixture without_peer(void)
{
	struct fixture f = { .loop = loop_new() };

	f.client = new_client(f.loop);
	return f;
}

static struct http_request get(const char *url)
{
	return (struct http_request) { .method = "GET", .url = url, .body_max = MIB };
}

/* "GET http://127.0.0.1:PORT/x: …" */
static void assert_error(const struct fixture *f, const struct result *r, int code, const char *text)
{
	_cleanup_free_ char *whole = str_printf("GET %s: %s", f->url, text);

	assert_string_equal(r->error, whole);
	assert_int_equal(r->code, code);
}

/* What peers do */

/* Answers every request of a connection with the text `arg`. */
static void serve_text(struct peer_conn *c, void *arg)
{
	char request[8192];

	while (peer_read_request(c, request, sizeof(request)))
		peer_say(c, arg);
}

/* Answers once and closes. */
static void serve_text_once(struct peer_conn *c, void *arg)
{
	char request[8192];

	if (peer_read_request(c, request, sizeof(request)))
		peer_say(c, arg);
}

/* Sends the text and then neither more nor an end. */
static void serve_text_and_hang(struct peer_conn *c, void *arg)
{
	char request[8192];

	if (peer_read_request(c, request, sizeof(request)))
		peer_say(c, arg);
	peer_wait_gone(c);
}

/* Sends the text, then its last byte again and again. */
static void serve_without_end(struct peer_conn *c, void *arg)
{
	static char more[4096];
	char request[8192];
	const char *text = arg;

	memset(more, text[strlen(text) - 1], sizeof(more));
	if (peer_read_request(c, request, sizeof(request)) && peer_say(c, text))
		while (peer_send(c, more, sizeof(more)))
			;
}

/* Each byte in a packet of its own. */
static void serve_bytewise(struct peer_conn *c, void *arg)
{
	char request[8192];

	if (peer_read_request(c, request, sizeof(request)))
		for (const char *at = arg; *at; at++)
			peer_send(c, at, 1);
}

/* The body of the answer is the request. */
static void serve_echo(struct peer_conn *c, void *arg)
{
	char request[8192], head[100];

	(void)arg;
	while (peer_read_request(c, request, sizeof(request))) {
		snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",
		         strncmp(request, "HEAD", 4) == 0 ? 0 : strlen(request));
		peer_say(c, head);
		if (strncmp(request, "HEAD", 4) != 0)
			peer_say(c, request);
	}
}

/* The body of the answer is the size of the request's. */
static void serve_size(struct peer_conn *c, void *arg)
{
	_cleanup_free_ char *request = mem_alloc(4 * MIB);
	char answer[200], number[20];

	(void)arg;
	if (!peer_read_request(c, request, 4 * MIB))
		return;
	snprintf(number, sizeof(number), "%zu", strlen(strstr(request, "\r\n\r\n") + 4));
	snprintf(answer, sizeof(answer), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(number), number);
	peer_say(c, answer);
}

/* Answers */

static void test_an_answer_has_status_type_and_body(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(
	        serve_text, "HTTP/1.1 503 Busy\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html>no way>");
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);

	(void)state;
	do_call(f.loop, f.client, &q, &r);
	assert_int_equal(r.status, 503);
	assert_string_equal(r.content_type, "text/html");
	assert_string_equal(r.body, "<html>no way>");
	assert_int_equal(r.body_len, 13);
	assert_string_equal(r.error, "");
	assert_true(r.sent);
	assert_int_equal(r.retry_after, 0);
}

static void test_an_empty_answer_is_an_empty_text(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(serve_text, "HTTP/1.1 204 No Content\r\n\r\n");
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);

	(void)state;
	do_call(f.loop, f.client, &q, &r);
	assert_int_equal(r.status, 204);
	assert_string_equal(r.body, "");
	assert_string_equal(r.content_type, "");
	assert_string_equal(r.error, "");
}

static void test_a_chunked_answer_in_single_bytes_comes_whole(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(
	        serve_bytewise, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
	                        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	                        "5;name=value\r\nhello\r\n1\r\n \r\nA\r\nwide world\r\n0\r\nTrailer: t\r\n\r\n");
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);

	(void)state;
	do_call(f.loop, f.client, &q, &r);
	assert_int_equal(r.status, 200);
	assert_string_equal(r.body, "hello wide world");
	assert_string_equal(r.error, "");
}

static void test_a_redirect_is_not_followed(void **state)
{
	_cleanup_fixture_ struct fixture f =
	        with_peer(serve_text, "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n");
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);

	(void)state;
	do_call(f.loop, f.client, &q, &r);
	assert_int_equal(r.status, 302);
	assert_string_equal(r.error, "");
}

static void test_retry_after_is_read_as_seconds_and_as_date(void **state)
{
	char date[64], header[200];
	time_t soon = time(NULL) + 100;
	struct tm tm;
	const struct {
		const char *value;
		usec_t least, most;
	} cases[] = {
		{ "7", 7 * USEC_SEC, 7 * USEC_SEC },
		{ "0", 0, 0 },
		{ "99999999999999999999", 0, USEC_HOUR },
		{ "86400", USEC_HOUR, USEC_HOUR },
		{ "soon", 0, 0 },
		{ "-5", 0, 0 },
		{ "Sun, 06 Nov 1994 08:49:37 GMT", 0, 0 },
		{ date, 60 * USEC_SEC, 100 * USEC_SEC },
	};

	(void)state;
	strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&soon, &tm));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_result_ struct result r = { 0 };
		_cleanup_fixture_ struct fixture f = { 0 };
		struct http_request q;

		snprintf(header, sizeof(header), "HTTP/1.1 429 Slow\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n",
		         cases[i].value);
		f = with_peer(serve_text, header);
		q = get(f.url);
		do_call(f.loop, f.client, &q, &r);
		assert_int_equal(r.status, 429);
		assert_between(r.retry_after, cases[i].least, cases[i].most);
	}
}

/* {"kind":"PodList"}, and 64 KiB of zeros */
static const unsigned char gzip_list[] = {
	0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xff, 0xab, 0x56, 0xca,
	0xce, 0xcc, 0x4b, 0x51, 0xb2, 0x52, 0x0a, 0xc8, 0x4f, 0xf1, 0xc9, 0x2c, 0x2e,
	0x51, 0xaa, 0x05, 0x00, 0x70, 0x51, 0x2a, 0x49, 0x12, 0x00, 0x00, 0x00,
};
static const unsigned char gzip_zeros[] = {
	0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xff, 0xed, 0xc1, 0x01, 0x01, 0x00, 0x00,
	0x00, 0x80, 0x90, 0xfe, 0xaf, 0xee, 0x08, 0x0a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x6a, 0xeb, 0x8e, 0x97, 0xd7, 0x00, 0x00, 0x01, 0x00,
};

static void serve_gzip(struct peer_conn *c, void *arg)
{
	char request[8192], head[200];
	bool bomb = strcmp(arg, "bomb") == 0;
	size_t len = bomb ? sizeof(gzip_zeros) : sizeof(gzip_list);

	while (peer_read_request(c, request, sizeof(request))) {
		bool asked = strcasestr(request, "\r\nAccept-Encoding: gzip\r\n");

		snprintf(head, sizeof(head), "HTTP/1.1 %d OK\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n",
		         asked ? 200 : 406, len);
		peer_say(c, head);
		peer_send(c, bomb ? gzip_zeros : gzip_list, len);
	}
}

static void test_a_compressed_answer_is_unpacked_when_asked_for(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(serve_gzip, "list");
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);

	(void)state;
	q.compressed = true;
	do_call(f.loop, f.client, &q, &r);
	assert_int_equal(r.status, 200);
	assert_string_equal(r.body, "{\"kind\":\"PodList\"}");
	q.compressed = false;
	do_call(f.loop, f.client, &q, &r);
	assert_int_equal(r.status, 406);
}

static void test_the_limit_counts_what_is_unpacked(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(serve_gzip, "bomb");
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);

	(void)state;
	q.compressed = true;
	q.body_max = 65535;
	do_call(f.loop, f.client, &q, &r);
	assert_error(&f, &r, -EMSGSIZE, "answer larger than 65535 bytes");
	q.body_max = 65536;
	do_call(f.loop, f.client, &q, &r);
	assert_string_equal(r.error, "");
	assert_int_equal(r.body_len, 65536);
}

/* Limits and bad servers */

static void test_an_answer_up_to_the_limit_is_fine_and_one_byte_more_is_not(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(serve_text, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n1234");
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);

	(void)state;
	q.body_max = 4;
	do_call(f.loop, f.client, &q, &r);
	assert_string_equal(r.error, "");
	assert_string_equal(r.body, "1234");
	q.body_max = 3;
	do_call(f.loop, f.client, &q, &r);
	assert_error(&f, &r, -EMSGSIZE, "answer larger than 3 bytes");
	assert_int_equal(r.status, 200);
}

static void test_a_body_without_end_ends_at_the_limit(void **state)
{
	_cleanup_fixture_ struct fixture f =
	        with_peer(serve_without_end, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nx");
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);

	(void)state;
	do_call(f.loop, f.client, &q, &r);
	assert_error(&f, &r, -EMSGSIZE, "answer larger than 1 MiB");
	assert_int_equal(r.status, 200);
}

static void test_a_body_announced_too_large_is_not_waited_for(void **state)
{
	_cleanup_fixture_ struct fixture f =
	        with_peer(serve_text_and_hang, "HTTP/1.1 200 OK\r\nContent-Length: 5000000000\r\n\r\nx");
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);

	(void)state;
	q.body_max = 2048;
	do_call(f.loop, f.client, &q, &r);
	assert_error(&f, &r, -EMSGSIZE, "answer larger than 2 KiB");
}

static void serve_endless_headers(struct peer_conn *c, void *arg)
{
	char request[8192];

	(void)arg;
	if (peer_read_request(c, request, sizeof(request)) && peer_say(c, "HTTP/1.1 200 OK\r\n"))
		while (peer_say(c, "X-More: and more and more and more and more\r\n"))
			;
}

static void test_headers_without_end_end_at_the_limit(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(serve_endless_headers, NULL);
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);

	(void)state;
	do_call(f.loop, f.client, &q, &r);
	assert_error(&f, &r, -EMSGSIZE, "headers of the answer larger than 64 KiB");
}

static void test_one_header_without_end_ends_too(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(serve_without_end, "HTTP/1.1 200 OK\r\nX-Long: x");
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);

	(void)state;
	do_call(f.loop, f.client, &q, &r);
	assert_error(&f, &r, -EMSGSIZE,
	             n_lines ? "headers of the answer larger than 64 KiB" : "a header of the answer is too large");
}

static void test_an_answer_that_ends_in_the_middle_says_so(void **state)
{
	static const char *const cuts[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100\r\nhalf",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cuts); i++) {
		_cleanup_fixture_ struct fixture f = with_peer(serve_text_once, cuts[i]);
		_cleanup_result_ struct result r = { 0 };
		struct http_request q = get(f.url);

		do_call(f.loop, f.client, &q, &r);
		assert_error(&f, &r, -ECONNRESET, "the answer ended in the middle");
		assert_int_equal(r.status, 200);
		assert_string_equal(r.body, "half");
	}
}

static void serve_reset(struct peer_conn *c, void *arg)
{
	char request[8192];

	(void)arg;
	peer_read_request(c, request, sizeof(request));
	peer_reset(c);
}

static void test_a_broken_or_closed_connection_says_so(void **state)
{
	_cleanup_fixture_ struct fixture closes = with_peer(serve_text_once, ""), resets = with_peer(serve_reset, NULL);
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(closes.url);

	(void)state;
	do_call(closes.loop, closes.client, &q, &r);
	assert_error(&closes, &r, -ECONNRESET, "the connection was closed before an answer came");
	assert_true(r.sent);
	assert_int_equal(r.status, 0);
	q = get(resets.url);
	do_call(resets.loop, resets.client, &q, &r);
	assert_int_equal(r.code, -ECONNRESET);
	assert_non_null(strstr(r.error, ": the connection broke: "));
	assert_true(r.sent);
}

static void test_a_server_that_speaks_something_else_is_named_so(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(serve_text_once, "SSH-2.0-OpenSSH_9.2\r\n");
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);

	(void)state;
	do_call(f.loop, f.client, &q, &r);
	assert_int_equal(r.status, 0);
	assert_int_equal(r.code, -EPROTO);
	assert_non_null(strstr(r.error, ": the server does not speak HTTP"));
}

/* A port that surely nobody listens on: bound, but not listening. */
static int silent_port(int *ret_fd)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);

	*ret_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(*ret_fd, (struct sockaddr *)&a, sizeof(a)), 0);
	getsockname(*ret_fd, (struct sockaddr *)&a, &len);
	return ntohs(a.sin_port);
}

static void test_a_refused_connection_was_surely_not_sent(void **state)
{
	_cleanup_fixture_ struct fixture f = without_peer();
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);
	_cleanup_fd_ int fd = -1;

	(void)state;
	url_of(f.url, "http", silent_port(&fd), "/x");
	do_call(f.loop, f.client, &q, &r);
	assert_error(&f, &r, -ECONNREFUSED, "connection refused");
	assert_false(r.sent);
	assert_int_equal(r.status, 0);
}

/* The kernel takes no further connection: the queue of the listener is full and nobody accepts. */
static void test_a_connection_that_is_not_taken_up_ends_at_its_deadline(void **state)
{
	_cleanup_fixture_ struct fixture f = without_peer();
	_cleanup_result_ struct result r = { 0 };
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct http_request q = get(f.url);
	_cleanup_fd_ int fd = -1;
	int waiting[4], port = silent_port(&fd);

	(void)state;
	assert_int_equal(listen(fd, 0), 0);
	a.sin_port = htons((uint16_t)port);
	for (size_t i = 0; i < ARRAY_LEN(waiting); i++) {
		waiting[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		connect(waiting[i], (struct sockaddr *)&a, sizeof(a));
	}
	url_of(f.url, "http", port, "/x");
	q.connect_timeout = 150 * USEC_MSEC;
	do_call(f.loop, f.client, &q, &r);
	assert_error(&f, &r, -ETIMEDOUT, "no connection within 150ms");
	assert_false(r.sent);
	q.connect_timeout = USEC_NEVER;
	q.timeout = 50 * USEC_MSEC;
	do_call(f.loop, f.client, &q, &r);
	assert_error(&f, &r, -ETIMEDOUT, "no connection within 50ms");
	assert_false(r.sent);
	for (size_t i = 0; i < ARRAY_LEN(waiting); i++)
		close(waiting[i]);
}

static void test_a_name_without_address_is_named_so(void **state)
{
	_cleanup_fixture_ struct fixture f = without_peer();
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get("http://no-such-host.invalid/");

	(void)state;
	q.connect_timeout = 3 * USEC_SEC;
	do_call(f.loop, f.client, &q, &r);
	assert_false(r.sent);
	/* Without any name server the resolver may think longer than we wait. */
	if (r.code != -ETIMEDOUT)
		assert_string_equal(r.error,
		                    "GET http://no-such-host.invalid/: the host's name does not resolve to an address");
}

/* Deadlines */

static void test_a_server_that_never_answers_is_not_waited_for(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(serve_text_and_hang, "");
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);

	(void)state;
	q.timeout = 100 * USEC_MSEC;
	do_call(f.loop, f.client, &q, &r);
	assert_error(&f, &r, -ETIMEDOUT, "no answer within 100ms");
	assert_true(r.sent);
	assert_int_equal(r.status, 0);
}

static void test_a_server_that_goes_silent_after_the_headers_is_noticed(void **state)
{
	_cleanup_fixture_ struct fixture f =
	        with_peer(serve_text_and_hang, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n");
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);

	(void)state;
	q.timeout = USEC_NEVER;
	q.idle_timeout = 100 * USEC_MSEC;
	do_call(f.loop, f.client, &q, &r);
	assert_error(&f, &r, -ETIMEDOUT, "no byte for 100ms");
	assert_int_equal(r.status, 200);
	assert_string_equal(r.body, "half");
}

static void serve_trickle(struct peer_conn *c, void *arg)
{
	struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	char request[8192];

	(void)arg;
	if (peer_read_request(c, request, sizeof(request)) && peer_say(c, "HTTP/1.1 200 OK\r\n\r\n"))
		while (peer_say(c, "."))
			nanosleep(&pause, NULL); /* the trickle itself */
}

static void test_bytes_hold_off_the_idle_limit_but_not_the_deadline(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(serve_trickle, NULL);
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);

	(void)state;
	q.timeout = 1500 * USEC_MSEC;
	q.idle_timeout = 1000 * USEC_MSEC;
	do_call(f.loop, f.client, &q, &r);
	assert_error(&f, &r, -ETIMEDOUT, "the answer did not end within 1s500ms");
	assert_true(r.body_len > 1);
}

/* Requests */

static void test_the_request_is_sent_as_given(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(serve_echo, NULL);
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = {
		.method = "PATCH",
		.url = f.url,
		.headers = { "Content-Type: application/merge-patch+json", "Accept: application/json" },
		.bearer = "s3cret",
		.body = "{\"a\":1}",
		.body_len = 7,
		.body_max = MIB,
	};

	(void)state;
	do_call(f.loop, f.client, &q, &r);
	assert_int_equal(r.status, 200);
	assert_true(str_starts(r.body, "PATCH /x HTTP/1.1\r\n"));
	assert_true(str_ends(r.body, "\r\n\r\n{\"a\":1}"));
	assert_non_null(strstr(r.body, "\r\nAuthorization: Bearer s3cret\r\n"));
	assert_non_null(strstr(r.body, "\r\nContent-Type: application/merge-patch+json\r\n"));
	assert_non_null(strstr(r.body, "\r\nAccept: application/json\r\n"));
	assert_non_null(strstr(r.body, "\r\nUser-Agent: sunk-test\r\n"));
	assert_null(strstr(r.body, "Expect"));
	assert_null(strstr(r.body, "Accept-Encoding"));

	/* And the next one on the same connection carries nothing of it. */
	q = (struct http_request) { .method = "DELETE", .url = f.url, .body_max = MIB };
	do_call(f.loop, f.client, &q, &r);
	assert_true(str_starts(r.body, "DELETE /x HTTP/1.1\r\n"));
	assert_null(strstr(r.body, "Authorization"));
	assert_null(strstr(r.body, "Content-"));

	q = (struct http_request) { .method = "POST", .url = f.url, .body_max = MIB };
	do_call(f.loop, f.client, &q, &r);
	assert_true(str_starts(r.body, "POST /x HTTP/1.1\r\n"));
	assert_non_null(strstr(r.body, "\r\nContent-Length: 0\r\n"));
	assert_null(strstr(r.body, "Content-Type"));

	q = (struct http_request) { .method = "HEAD", .url = f.url, .body_max = MIB };
	do_call(f.loop, f.client, &q, &r);
	assert_int_equal(r.status, 200);
	assert_int_equal(r.body_len, 0);
	assert_int_equal(peer_accepted(f.peer), 1);
}

static void test_a_bad_url_is_refused_in_words(void **state)
{
	_cleanup_fixture_ struct fixture f = without_peer();
	_cleanup_free_ char *longest = mem_alloc(HTTP_URL_MAX + 100);
	const struct {
		const char *url, *text;
	} cases[] = {
		{ "ftp://127.0.0.1/", "GET ftp://127.0.0.1/: this is no http or https URL" },
		{ "/etc/passwd", "GET /etc/passwd: this is no http or https URL" },
		{ "", "GET : this is no http or https URL" },
		{ "http://127.0.0.1:99999/", "GET http://127.0.0.1:99999/: this is no http or https URL" },
		{ "http://a\nb/", "GET http://a\\nb/: this is no http or https URL" },
		{ "http://me:pass@127.0.0.1/", "GET: a URL with a user or password in it is refused" },
		{ longest, "GET http://127.0.0.1/xxxxxxxxxxxxxxx" },
	};

	(void)state;
	memset(longest, 'x', HTTP_URL_MAX + 50);
	memcpy(longest, "http://127.0.0.1/", 17);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_result_ struct result r = { 0 };
		struct http_request q = get(cases[i].url);

		do_call(f.loop, f.client, &q, &r);
		assert_int_equal(r.code, -EINVAL);
		assert_false(r.sent);
		assert_true(str_starts(r.error, cases[i].text));
		assert_null(strstr(r.error, "pass@"));
		if (cases[i].url == longest)
			assert_true(str_ends(r.error, "…: the URL is longer than 8192 bytes"));
	}
}

static void test_a_token_that_would_break_the_header_is_not_sent_nor_shown(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(serve_echo, NULL);
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);

	(void)state;
	q.bearer = "s3cret\r\nX-Evil: 1";
	do_call(f.loop, f.client, &q, &r);
	assert_error(&f, &r, -EINVAL, "the bearer token has a control character in it or is too long; not sent");
	assert_false(r.sent);
	q.bearer = NULL;
	q.headers[0] = "A: b\nC: d";
	do_call(f.loop, f.client, &q, &r);
	assert_error(&f, &r, -EINVAL, "a header has a control character in it or is too long; not sent");
}

static void test_a_given_proxy_is_used(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(serve_echo, NULL);
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get("http://10.255.255.1/api");
	char proxy[100];

	(void)state;
	q.proxy = url_of(proxy, "http", peer_port(f.peer), "");
	do_call(f.loop, f.client, &q, &r);
	assert_int_equal(r.status, 200);
	assert_true(str_starts(r.body, "GET http://10.255.255.1/api HTTP/1.1\r\n"));
}

/* Connections */

static void serve_and_count_ends(struct peer_conn *c, void *arg)
{
	serve_text(c, SMALL_OK);
	atomic_fetch_add((atomic_int *)arg, 1);
}

/* Also when some of those under way are cancelled: their places are given on. */
static void test_more_than_the_limit_wait_and_all_get_their_turn(void **state)
{
	enum { N = 40, LIMIT = 3 };
	_cleanup_fixture_ struct fixture f = with_peer(serve_text, SMALL_OK);
	struct result r[N] = { 0 };
	struct http_call *calls[N];
	struct http_request request = get(f.url);

	(void)state;
	http_client_free(f.client);
	f.client = http_client_new(f.loop, "sunk-test");
	http_client_lines(f.client, LIMIT);
	for (int i = 0; i < N; i++)
		calls[i] = http_start(f.client, &request, NULL, keep_result, &r[i]);
	loop_run_once(f.loop, 0);
	http_cancel(calls[0]); /* on its way */
	http_cancel(calls[N - 1]); /* waits */
	for (int i = 1; i < N - 1; i++) {
		wait_for(f.loop, &r[i].n, 1);
		assert_int_equal(r[i].status, 200);
		result_done(&r[i]);
	}
	assert_true(peer_accepted(f.peer) <= LIMIT + 1);
	assert_int_equal(r[0].n + r[N - 1].n, 0);
}

static void test_connections_are_kept_until_forgotten(void **state)
{
	atomic_int n_ends = 0;
	_cleanup_fixture_ struct fixture f = with_peer(serve_and_count_ends, &n_ends);
	usec_t end = loop_now(f.loop) + TEST_DEADLINE;
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);

	(void)state;
	for (int i = 0; i < 5; i++)
		do_call(f.loop, f.client, &q, &r);
	assert_int_equal(peer_accepted(f.peer), 1);
	assert_int_equal(atomic_load(&n_ends), 0);
	http_client_forget_connections(f.client);
	while (atomic_load(&n_ends) < 1 && loop_now(f.loop) < end)
		loop_run_once(f.loop, 10 * USEC_MSEC);
	assert_int_equal(atomic_load(&n_ends), 1);
	do_call(f.loop, f.client, &q, &r);
	do_call(f.loop, f.client, &q, &r);
	assert_int_equal(r.status, 200);
	assert_int_equal(peer_accepted(f.peer), 2);
}

/* The first connection answers once, and closes only when it has read the next request. */
static void serve_close_on_second(struct peer_conn *c, void *arg)
{
	char request[8192];
	atomic_int *n = arg;

	for (int i = 0; peer_read_request(c, request, sizeof(request)); i++) {
		atomic_fetch_add(n, 1);
		if (peer_number(c) == 0 && i == 1)
			return;
		peer_say(c, SMALL_OK);
	}
}

static void test_only_a_harmless_request_is_sent_again_on_another_connection(void **state)
{
	static const struct {
		const char *method;
		int status, n_requests;
	} cases[] = { { "GET", 200, 3 }, { "POST", 0, 2 }, { "DELETE", 0, 2 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		atomic_int n = 0;
		_cleanup_fixture_ struct fixture f = with_peer(serve_close_on_second, &n);
		_cleanup_result_ struct result r = { 0 };
		struct http_request q = get(f.url);

		do_call(f.loop, f.client, &q, &r);
		q.method = cases[i].method;
		do_call(f.loop, f.client, &q, &r);
		assert_int_equal(r.status, cases[i].status);
		assert_int_equal(atomic_load(&n), cases[i].n_requests);
		assert_true(r.sent);
		if (r.status == 0)
			assert_non_null(strstr(r.error, "the connection was closed before an answer came"));
	}
}

/* Also one that cannot be sent twice. Newer libcurls do not look before they send. */
static void test_a_connection_that_was_closed_meanwhile_costs_no_request(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(serve_text_once, SMALL_OK);
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);
	int n_answers = 0;

	(void)state;
	q.method = "POST";
	for (int i = 0; i < 5; i++) {
		do_call(f.loop, f.client, &q, &r);
		assert_true(r.status == 200 || (!n_lines && r.code == -ECONNRESET));
		n_answers += r.status == 200;
		while (peer_ended(f.peer) < n_answers) /* the loop does not run meanwhile, and sees nothing of it */
			usleep(1000);
	}
}

static void test_words_before_the_answer_are_passed_over(void **state)
{
	_cleanup_fixture_ struct fixture f =
	        with_peer(serve_text, "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" SMALL_OK);
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);

	(void)state;
	for (int i = 0; i < 2; i++) {
		do_call(f.loop, f.client, &q, &r);
		assert_int_equal(r.status, 200);
		assert_string_equal(r.body, "ok");
	}
	assert_int_equal(peer_accepted(f.peer), 1);
}

/* What stands behind an answer is not taken for the next one. */
static void test_an_answer_that_nobody_asked_for_is_nobodys(void **state)
{
	_cleanup_fixture_ struct fixture f =
	        with_peer(serve_text, SMALL_OK "HTTP/1.1 500 Other\r\nContent-Length: 0\r\n\r\n");
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);

	(void)state;
	for (int i = 0; i < 3; i++) {
		do_call(f.loop, f.client, &q, &r);
		assert_int_equal(r.status, 200);
		assert_string_equal(r.body, "ok");
	}
	assert_int_equal(peer_accepted(f.peer), 3);
}

static void test_an_answer_may_end_with_its_connection(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(serve_text_once, "HTTP/1.1 200 OK\r\n\r\nto the end");
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);

	(void)state;
	do_call(f.loop, f.client, &q, &r);
	assert_int_equal(r.status, 200);
	assert_int_equal(r.code, 0);
	assert_string_equal(r.body, "to the end");
}

static void test_a_large_request_goes_out_in_pieces(void **state)
{
	static char body[3 * 1024 * 1024];
	_cleanup_fixture_ struct fixture f = with_peer(serve_size, NULL);
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);

	(void)state;
	memset(body, 'x', sizeof(body));
	q.method = "PUT";
	q.body = body;
	q.body_len = sizeof(body);
	do_call(f.loop, f.client, &q, &r);
	assert_int_equal(r.status, 200);
	assert_string_equal(r.body, "3145728");
}

/* Reads only the beginning of a request, answers, and wants no more: what else is sent is answered with a reset. */
static void serve_refusal(struct peer_conn *c, void *arg)
{
	char some[1000];

	peer_read(c, some, sizeof(some));
	peer_say(c, arg);
}

static void test_a_refusal_before_the_request_was_read_is_heard(void **state)
{
	static char body[16 * 1024 * 1024];
	_cleanup_fixture_ struct fixture f = with_peer(
	        serve_refusal, "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 4\r\n\r\nmuch");
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = get(f.url);

	(void)state;
	q.method = "PUT";
	q.body = body;
	q.body_len = sizeof(body);
	do_call(f.loop, f.client, &q, &r);
	assert_int_equal(r.status, 413);
	assert_string_equal(r.body, "much");
}

static void test_many_calls_at_once_all_end(void **state)
{
	enum { N = 60 };
	_cleanup_fixture_ struct fixture f = with_peer(serve_text, SMALL_OK);
	struct result r[N] = { 0 };
	struct http_request q = get(f.url);

	(void)state;
	for (int i = 0; i < N; i++)
		http_start(f.client, &q, NULL, keep_result, &r[i]);
	for (int i = 0; i < N; i++) {
		wait_for(f.loop, &r[i].n, 1);
		assert_int_equal(r[i].status, 200);
		result_done(&r[i]);
	}
}

/* Streams */

struct stream {
	struct fixture *f;
	struct http_call *call;
	char text[200];
	int n_chunks, n_done, fail_at;
	bool cancel;
	struct result answer;
};

static int take_chunk(void *arg, const char *data, size_t len, struct err *err)
{
	struct stream *s = arg;

	strncat(s->text, data, len);
	s->n_chunks++;
	if (s->cancel)
		http_cancel(s->call);
	if (s->fail_at && s->n_chunks >= s->fail_at)
		return err_set(err, -EBADMSG, "line %d is no JSON", s->n_chunks);
	return 0;
}

static void stream_done(void *arg, struct http_answer *a)
{
	struct stream *s = arg;

	s->n_done++;
	keep_result(&s->answer, a);
}

#define STREAM                                                                                                         \
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"                      \
	"4\r\none \r\n4\r\ntwo \r\n5\r\nthree\r\n0\r\n\r\n"

static void test_a_stream_is_given_as_it_comes(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(serve_bytewise, STREAM);
	struct http_request q = { .method = "GET", .url = f.url, .timeout = USEC_NEVER };
	struct stream s = { .f = &f };

	(void)state;
	http_start(f.client, &q, take_chunk, stream_done, &s);
	wait_for(f.loop, &s.n_done, 1);
	assert_string_equal(s.text, "one two three");
	assert_string_equal(s.answer.body, "");
	assert_int_equal(s.answer.status, 200);
	assert_string_equal(s.answer.error, "");
	assert_string_equal(s.answer.content_type, "application/json");
	result_done(&s.answer);
}

static void test_a_stream_that_was_refused_is_collected(void **state)
{
	_cleanup_fixture_ struct fixture f =
	        with_peer(serve_text, "HTTP/1.1 410 Gone\r\nContent-Length: 4\r\n\r\ngone");
	struct http_request q = { .method = "GET", .url = f.url };
	struct stream s = { .f = &f };

	(void)state;
	http_start(f.client, &q, take_chunk, stream_done, &s);
	wait_for(f.loop, &s.n_done, 1);
	assert_int_equal(s.n_chunks, 0);
	assert_int_equal(s.answer.status, 410);
	assert_string_equal(s.answer.body, "gone");
	result_done(&s.answer);
}

static void test_a_refused_stream_without_end_ends_at_one_mebibyte(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(serve_without_end, "HTTP/1.1 500 Oops\r\n\r\nx");
	struct http_request q = { .method = "GET", .url = f.url };
	struct stream s = { .f = &f };

	(void)state;
	http_start(f.client, &q, take_chunk, stream_done, &s);
	wait_for(f.loop, &s.n_done, 1);
	assert_error(&f, &s.answer, -EMSGSIZE, "answer larger than 1 MiB");
	result_done(&s.answer);
}

static void test_a_streams_own_limit_holds(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(serve_text, STREAM);
	struct http_request q = { .method = "GET", .url = f.url, .body_max = 10 };
	struct stream s = { .f = &f };

	(void)state;
	http_start(f.client, &q, take_chunk, stream_done, &s);
	wait_for(f.loop, &s.n_done, 1);
	assert_error(&f, &s.answer, -EMSGSIZE, "answer larger than 10 bytes");
	result_done(&s.answer);
}

static void test_an_error_of_the_taker_ends_the_stream_with_it(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(serve_bytewise, STREAM);
	struct http_request q = { .method = "GET", .url = f.url };
	struct stream s = { .f = &f, .fail_at = 1 };

	(void)state;
	http_start(f.client, &q, take_chunk, stream_done, &s);
	wait_for(f.loop, &s.n_done, 1);
	assert_error(&f, &s.answer, -EBADMSG, "line 1 is no JSON");
	assert_int_equal(s.n_chunks, 1);
	assert_int_equal(s.answer.status, 200);
	result_done(&s.answer);
}

/* Calls from within callbacks */

static void test_a_stream_may_cancel_itself(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(serve_bytewise, STREAM);
	_cleanup_result_ struct result r = { 0 };
	struct http_request q = { .method = "GET", .url = f.url }, later = get(f.url);
	struct stream s = { .f = &f, .cancel = true };

	(void)state;
	s.call = http_start(f.client, &q, take_chunk, stream_done, &s);
	wait_for(f.loop, &s.n_chunks, 1);
	do_call(f.loop, f.client, &later, &r); /* the client is well, and nothing more came meanwhile */
	assert_int_equal(r.status, 200);
	assert_int_equal(s.n_chunks, 1);
	assert_int_equal(s.n_done, 0);
}

static int chunk_starts_another(void *arg, const char *data, size_t len, struct err *err)
{
	struct stream *s = arg;
	struct http_request q = get(s->f->url);

	(void)data, (void)len, (void)err;
	if (s->n_chunks++ == 0)
		http_start(s->f->client, &q, NULL, stream_done, s);
	http_client_forget_connections(s->f->client);
	return 0;
}

static void test_a_stream_may_start_another_call(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(serve_bytewise, STREAM);
	struct http_request q = { .method = "GET", .url = f.url };
	struct stream s = { .f = &f };

	(void)state;
	http_start(f.client, &q, chunk_starts_another, stream_done, &s);
	wait_for(f.loop, &s.n_done, 2);
	assert_int_equal(s.answer.status, 200);
	result_done(&s.answer);
}

struct chain {
	struct fixture *f;
	int left, n_done;
	struct http_call *own, *other;
	bool free_client;
};

static void chain_done(void *arg, struct http_answer *a)
{
	struct chain *c = arg;
	struct http_request q = get(c->f->url);

	assert_int_equal(a->status, 200);
	c->n_done++;
	http_cancel(c->own); /* too late, and harmless */
	http_cancel(c->other);
	c->other = NULL;
	if (c->free_client) {
		http_client_free(c->f->client);
		c->f->client = NULL;
	} else if (c->left-- > 0)
		c->own = http_start(c->f->client, &q, NULL, chain_done, c);
}

static void must_not_end(void *arg, struct http_answer *a)
{
	(void)arg, (void)a;
	fail_msg("a cancelled call called back");
}

static void test_done_may_start_the_next_call_and_cancel_others(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(serve_text, SMALL_OK);
	_cleanup_fixture_ struct fixture silent =
	        with_peer(serve_text_and_hang, ""); /* never answers: it cannot end first */
	struct chain c = { .f = &f, .left = 3 };
	struct http_request q = get(f.url), other = get(silent.url);

	(void)state;
	c.own = http_start(f.client, &q, NULL, chain_done, &c);
	wait_for(f.loop, &c.n_done, 1);
	c.other = http_start(f.client, &other, NULL, must_not_end, NULL);
	wait_for(f.loop, &c.n_done, 4);
	loop_run_once(f.loop, 0);
	assert_int_equal(c.n_done, 4);
}

static void test_done_may_free_the_client(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(serve_text, SMALL_OK);
	struct chain c = { .f = &f, .free_client = true };
	struct http_request q = get(f.url);

	(void)state;
	c.own = http_start(f.client, &q, NULL, chain_done, &c);
	wait_for(f.loop, &c.n_done, 1);
	loop_run_once(f.loop, 0);
}

static void test_freeing_the_client_ends_calls_without_a_word(void **state)
{
	_cleanup_fixture_ struct fixture f = with_peer(serve_text_and_hang, "HTTP/1.1 200 OK\r\n\r\n"),
	                                 idle = with_peer(serve_text, SMALL_OK);
	struct stream s = { .f = &f };
	struct http_request q = get(f.url);

	(void)state;
	http_start(f.client, &q, NULL, must_not_end, NULL);
	while (peer_accepted(f.peer) < 1)
		loop_run_once(f.loop, 10 * USEC_MSEC);
	http_start(f.client, &q, take_chunk, must_not_end, &s); /* not even begun */
	http_cancel(http_start(f.client, &q, NULL, must_not_end, NULL));
	http_cancel(NULL);
	q.url = "nonsense";
	http_start(f.client, &q, NULL, must_not_end, NULL);
	http_client_free(f.client);
	f.client = NULL;
	loop_run_once(f.loop, 0);
	http_client_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_answer_has_status_type_and_body),
		TEST(an_empty_answer_is_an_empty_text),
		TEST(a_chunked_answer_in_single_bytes_comes_whole),
		TEST(a_redirect_is_not_followed),
		TEST(retry_after_is_read_as_seconds_and_as_date),
		TEST(a_compressed_answer_is_unpacked_when_asked_for),
		TEST(the_limit_counts_what_is_unpacked),
		TEST(an_answer_up_to_the_limit_is_fine_and_one_byte_more_is_not),
		TEST(a_body_without_end_ends_at_the_limit),
		TEST(a_body_announced_too_large_is_not_waited_for),
		TEST(headers_without_end_end_at_the_limit),
		TEST(one_header_without_end_ends_too),
		TEST(an_answer_that_ends_in_the_middle_says_so),
		TEST(a_broken_or_closed_connection_says_so),
		TEST(a_server_that_speaks_something_else_is_named_so),
		TEST(a_refused_connection_was_surely_not_sent),
		TEST(a_connection_that_is_not_taken_up_ends_at_its_deadline),
		TEST(a_name_without_address_is_named_so),
		TEST(a_server_that_never_answers_is_not_waited_for),
		TEST(a_server_that_goes_silent_after_the_headers_is_noticed),
		TEST(bytes_hold_off_the_idle_limit_but_not_the_deadline),
		TEST(the_request_is_sent_as_given),
		TEST(a_bad_url_is_refused_in_words),
		TEST(a_token_that_would_break_the_header_is_not_sent_nor_shown),
		TEST(a_given_proxy_is_used),
		TEST(more_than_the_limit_wait_and_all_get_their_turn),
		TEST(connections_are_kept_until_forgotten),
		TEST(only_a_harmless_request_is_sent_again_on_another_connection),
		TEST(a_connection_that_was_closed_meanwhile_costs_no_request),
		TEST(words_before_the_answer_are_passed_over),
		TEST(an_answer_that_nobody_asked_for_is_nobodys),
		TEST(an_answer_may_end_with_its_connection),
		TEST(a_large_request_goes_out_in_pieces),
		TEST(a_refusal_before_the_request_was_read_is_heard),
		TEST(many_calls_at_once_all_end),
		TEST(a_stream_is_given_as_it_comes),
		TEST(a_stream_that_was_refused_is_collected),
		TEST(a_refused_stream_without_end_ends_at_one_mebibyte),
		TEST(a_streams_own_limit_holds),
		TEST(an_error_of_the_taker_ends_the_stream_with_it),
		TEST(a_stream_may_cancel_itself),
		TEST(a_stream_may_start_another_call),
		TEST(done_may_start_the_next_call_and_cancel_others),
		TEST(done_may_free_the_client),
		TEST(freeing_the_client_ends_calls_without_a_word),
	};

	int r;

	/* What the environment says of proxies never counts. */
	setenv("http_proxy", "http://127.0.0.1:9", 1);
	setenv("https_proxy", "http://127.0.0.1:9", 1);
	setenv("no_proxy", "10.255.255.1", 1);
	r = cmocka_run_group_tests_name("by curl", tests, NULL, NULL);
	n_lines = 128;
	return r + cmocka_run_group_tests_name("over lines", tests, NULL, NULL);
}
