/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Against a server that is this very thread: wire_step() never blocks, so each side moves when the test says.
 */
#include "hook/wire.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "hook/test_listen.h"

#define LONG (20 * USEC_SEC)
#define DEADLINE (10 * USEC_SEC)
#define OK "HTTP/1.1 200 OK\r\n"
#define FINE OK "Content-Length: 4\r\n\r\nfine"

#define TWO_ADDRESSES "two-addresses.test"
#define NO_NAME_SERVER "nobody-answers.test"

/* libc's, but for two names. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **ret)
{
	typedef int (*resolver)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
	resolver libc = (resolver)dlsym(RTLD_NEXT, "getaddrinfo");
	bool numeric = hints->ai_flags & AI_NUMERICHOST;

	if (str_eq(node, NO_NAME_SERVER) && !numeric)
		pause();
	if (!str_eq(node, TWO_ADDRESSES) || numeric)
		return libc(node, service, hints, ret);
	if (libc("127.0.0.2", service, hints, ret) || libc("127.0.0.1", service, hints, &(*ret)->ai_next))
		abort();
	return 0;
}

struct world {
	int listener;
	char url[64], authority[32], request[100000];
	struct hook_call call;
	struct wire *wire;
	int status;
	struct err err;
};

static usec_t now(void)
{
	return clock_mono(clock_real());
}

static struct world *world_new(void)
{
	struct world *w = NEW(struct world);
	uint16_t port = 0;

	w->listener = test_listen(&port);
	snprintf(w->authority, sizeof(w->authority), "127.0.0.1:%u", port);
	snprintf(w->url, sizeof(w->url), "http://%s/x?y=z", w->authority);
	w->call = (struct hook_call) { .method = "GET", .url = w->url };
	return w;
}

static void world_free(struct world *w)
{
	wire_free(w->wire);
	if (w->listener >= 0)
		close(w->listener);
	free(w);
}
DEFINE_FREEP(struct world, world_free)
#define _cleanup_world_ _cleanup_(world_freep)

static void start(struct world *w, usec_t span)
{
	wire_free(w->wire);
	w->err = (struct err) { 0 };
	w->wire = wire_new(&w->call, w->call.url, now() + span, &w->err);
	assert_non_null(w->wire);
	wire_step(w->wire);
}

/* One more request from this connection, up to this end. */
static void take_from(struct world *w, int fd, const char *end)
{
	usec_t late = now() + DEADLINE;
	size_t len = 0;
	ssize_t n;

	for (w->request[0] = 0; !strstr(w->request, end); w->request[len += (size_t)n] = 0) {
		n = 0;
		assert_true(now() < late);
		wire_step(w->wire);
		if (test_readable(fd, 1))
			assert_true((n = read(fd, w->request + len, sizeof(w->request) - 1 - len)) > 0);
	}
}

static int take_until(struct world *w, const char *end)
{
	usec_t late = now() + DEADLINE;
	int fd;

	while (!test_readable(w->listener, 1)) {
		assert_true(now() < late);
		wire_step(w->wire);
	}
	fd = accept4(w->listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	take_from(w, fd, end);
	return fd;
}

static int take(struct world *w)
{
	return take_until(w, "\r\n\r\n");
}

static void say(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* Waits as a caller does. */
static int end(struct world *w)
{
	usec_t late = now() + DEADLINE;

	while (!wire_step(w->wire)) {
		struct pollfd p;
		usec_t left = wire_waits_for(w->wire, &p) - now();

		assert_true(now() < late);
		(void)poll(&p, 1, (int)MIN_OF(MAX_OF(left, 0) / USEC_MSEC + 1, 10000));
	}
	return wire_result(w->wire, &w->status, &w->err);
}

static void assert_fine(struct world *w)
{
	if (end(w) < 0)
		fail_msg("%s", err_text(&w->err));
	assert_int_equal(w->status, 200);
	assert_string_equal(buf_text(wire_body(w->wire)), "fine");
}

static void assert_closed(int fd)
{
	char byte;

	assert_true(test_readable(fd, 10000));
	assert_true(read(fd, &byte, 1) <= 0);
	close(fd);
}

static void test_a_request_says_all_that_it_should(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	_cleanup_free_ char *get = NULL, *post = NULL, *empty = NULL;
	int fd;

	(void)state;
	get = str_printf("GET /x?y=z HTTP/1.1\r\nHost: %s\r\nUser-Agent: sunk-hook/" SUNK_VERSION
	                 "\r\nAccept: */*\r\n\r\n",
	                 w->authority);
	post = str_printf("POST /x?y=z HTTP/1.1\r\nHost: %s\r\nUser-Agent: sunk-hook/" SUNK_VERSION
	                  "\r\nAccept: */*\r\nAuthorization: Bearer t0ken\r\nContent-Type: application/json\r\n"
	                  "Content-Length: 7\r\n\r\n{\"a\":1}",
	                  w->authority);
	empty = str_printf("POST /x?y=z HTTP/1.1\r\nHost: %s\r\nUser-Agent: sunk-hook/" SUNK_VERSION
	                   "\r\nAccept: */*\r\nContent-Length: 0\r\n\r\n",
	                   w->authority);
	start(w, LONG);
	fd = take(w);
	assert_string_equal(w->request, get);
	say(fd, FINE);
	assert_fine(w);
	close(fd);

	w->call.method = "POST";
	start(w, LONG);
	fd = take(w);
	assert_string_equal(w->request, empty);
	close(fd);

	w->call.token = "t0ken";
	w->call.body = "{\"a\":1}";
	start(w, LONG);
	fd = take(w);
	if (!strstr(w->request, "}"))
		take_from(w, fd, "}");
	assert_string_equal(w->request, post);
	close(fd);
}

static void test_the_connection_is_watched_and_not_inherited(void **state)
{
	static const struct {
		int level, name, value;
	} wanted[] = {
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, 15 },
		{ IPPROTO_TCP, TCP_KEEPINTVL, 5 },
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
	};
	_cleanup_world_ struct world *w = world_new();
	struct pollfd p;
	int fd;

	(void)state;
	start(w, LONG);
	fd = take(w);
	wire_waits_for(w->wire, &p);
	assert_int_equal(p.events, POLLIN);
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		int value = -1;
		socklen_t len = sizeof(value);

		assert_int_equal(getsockopt(p.fd, wanted[i].level, wanted[i].name, &value, &len), 0);
		assert_int_equal(value, wanted[i].value);
	}
	assert_true(fcntl(p.fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

static void test_an_answer_may_come_byte_by_byte(void **state)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n" OK
	                           "Transfer-Encoding: chunked\r\n\r\n2\r\nfi\r\n2\r\nne\r\n0\r\nX-Trailer: t\r\n\r\n";
	_cleanup_world_ struct world *w = world_new();
	int fd;

	(void)state;
	start(w, LONG);
	fd = take(w);
	for (const char *c = text; *c; c++) {
		assert_false(wire_step(w->wire));
		assert_int_equal(write(fd, c, 1), 1);
	}
	assert_fine(w);
	wire_free(TAKE_PTR(w->wire));
	assert_closed(fd); /* nobody said that it should stay */
}

static void test_an_answer_may_last_until_the_connection_ends(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	int fd;

	(void)state;
	start(w, LONG);
	fd = take(w);
	say(fd, OK "\r\nfine");
	assert_false(wire_step(w->wire));
	close(fd);
	assert_fine(w);
}

static void test_bad_answers_are_errors_that_name_the_address(void **state)
{
	static const struct {
		const char *text;
		int code;
		const char *why;
	} cases[] = {
		{ "", -ECONNRESET, "closed without an answer" },
		{ OK, -ECONNRESET, "closed in the middle of the answer" },
		{ OK "Content-Length: 4\r\n\r\nfin", -ECONNRESET, "closed in the middle of the answer" },
		{ OK "Transfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n", -ECONNRESET, "in the middle" },
		{ "\x16\x03\x01 garbage", -EBADMSG, "the answer is no HTTP: " },
		{ OK "Content-Length: 4\r\nContent-Length: 3\r\n\r\nfine", -EBADMSG, "the answer is no HTTP: " },
	};
	_cleanup_world_ struct world *w = world_new();

	(void)state;
	w->call.token = "secret";
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int fd;

		start(w, LONG);
		fd = take(w);
		say(fd, cases[i].text);
		close(fd);
		assert_int_equal(end(w), cases[i].code);
		assert_true(str_starts(err_text(&w->err), w->url));
		if (!strstr(err_text(&w->err), cases[i].why))
			fail_msg("case %zu: %s", i, err_text(&w->err));
		assert_null(strstr(err_text(&w->err), "secret"));
	}
	assert_false(test_readable(w->listener, 0)); /* and none of them is asked for again */
}

static void test_an_answer_that_is_too_long_is_an_error(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	char block[4096];
	int fd;

	(void)state;
	start(w, LONG);
	fd = take(w);
	say(fd, OK "\r\n");
	memset(block, 'x', sizeof(block));
	while (!wire_step(w->wire))
		(void)!send(fd, block, sizeof(block), MSG_NOSIGNAL | MSG_DONTWAIT);
	assert_int_equal(end(w), -EMSGSIZE);
	assert_non_null(strstr(err_text(&w->err), "answer larger than 256 KiB"));
	assert_true(wire_body(w->wire)->len <= HOOK_ANSWER_MAX);
	close(fd);
}

static void test_silence_and_slowness_end_at_the_deadline(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	usec_t began = now();
	int fd;

	(void)state;
	start(w, 50 * USEC_MSEC);
	fd = take(w);
	assert_int_equal(end(w), -ETIMEDOUT);
	assert_true(now() - began >= 50 * USEC_MSEC);
	assert_non_null(strstr(err_text(&w->err), "no answer in time"));
	close(fd);

	began = now();
	start(w, 50 * USEC_MSEC);
	fd = take(w);
	say(fd, OK "X: ");
	while (!wire_step(w->wire)) {
		assert_true(now() < began + DEADLINE);
		(void)!send(fd, "x", 1, MSG_NOSIGNAL);
		usleep(1000);
	}
	assert_int_equal(end(w), -ETIMEDOUT);
	close(fd);
}

static void test_nobody_listening_is_said_plainly(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	_cleanup_free_ char *text = str_printf("%s: Connection refused", w->url);

	(void)state;
	fd_closep(&w->listener);
	start(w, LONG);
	assert_int_equal(end(w), -ECONNREFUSED);
	assert_string_equal(err_text(&w->err), text);
}

/* Nobody takes connections any more, so that the next one hangs. */
static void test_a_connection_that_does_not_come_about_ends_at_the_deadline(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	int others[16];

	(void)state;
	assert_int_equal(listen(w->listener, 0), 0);
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		struct sockaddr_in a;
		socklen_t len = sizeof(a);

		assert_int_equal(getsockname(w->listener, (struct sockaddr *)&a, &len), 0);
		others[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void)!connect(others[i], (struct sockaddr *)&a, len);
	}
	start(w, 100 * USEC_MSEC);
	assert_int_equal(end(w), -ETIMEDOUT);
	assert_non_null(strstr(err_text(&w->err), "no connection in time"));
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		close(others[i]);
}

/* Nobody listens at the first. */
static void test_all_addresses_of_a_name_are_tried(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	_cleanup_free_ char *url = str_printf("http://%s%s", TWO_ADDRESSES, strrchr(w->authority, ':'));
	int fd;

	(void)state;
	w->call.url = url;
	start(w, LONG);
	fd = take(w);
	assert_non_null(strstr(w->request, "\r\nHost: " TWO_ADDRESSES ":"));
	assert_true(str_starts(w->request, "GET / HTTP/1.1\r\n"));
	say(fd, FINE);
	assert_fine(w);
	close(fd);
	fd_closep(&w->listener);
	start(w, LONG);
	assert_int_equal(end(w), -ECONNREFUSED);
}

/* And when the caller waits no longer, nobody is left behind. */
static void test_a_name_server_that_does_not_answer_blocks_nothing(void **state)
{
	_cleanup_world_ struct world *w = world_new();

	(void)state;
	w->call.url = "http://" NO_NAME_SERVER "/";
	start(w, 50 * USEC_MSEC);
	assert_int_equal(end(w), -ETIMEDOUT);
	assert_string_equal(err_text(&w->err), "http://" NO_NAME_SERVER "/: the name was not looked up in time");
	start(w, LONG);
	assert_false(wire_step(w->wire));
	wire_free(TAKE_PTR(w->wire));
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void test_an_ipv6_address_stands_in_brackets(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	_cleanup_free_ char *url = NULL, *host = NULL;
	socklen_t len = sizeof(a);
	int fd;

	(void)state;
	close(w->listener);
	w->listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (w->listener < 0 || bind(w->listener, (struct sockaddr *)&a, len) < 0)
		skip(); /* no IPv6 here */
	assert_int_equal(listen(w->listener, 5), 0);
	assert_int_equal(getsockname(w->listener, (struct sockaddr *)&a, &len), 0);
	url = str_printf("http://[::1]:%u/", ntohs(a.sin6_port));
	host = str_printf("\r\nHost: [::1]:%u\r\n", ntohs(a.sin6_port));
	w->call.url = url;
	start(w, LONG);
	fd = take(w);
	assert_non_null(strstr(w->request, host));
	say(fd, FINE);
	assert_fine(w);
	close(fd);
}

/* Nobody reads for a while, and what is under way has little room. */
static void test_a_long_request_is_sent_in_pieces(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	_cleanup_free_ char *body = mem_alloc(60001);
	int small = 2048, segment = 536, fd;
	struct pollfd p;

	(void)state;
	setsockopt(w->listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	setsockopt(w->listener, IPPROTO_TCP, TCP_MAXSEG, &segment,
	           sizeof(segment)); /* a sender has room for some of them */
	memset(body, 'b', 60000);
	body[59999] = '!';
	w->call.method = "POST";
	w->call.body = body;
	start(w, LONG);
	wire_waits_for(w->wire, &p);
	assert_int_equal(p.events, POLLOUT);
	fd = take_until(w, "!");
	assert_int_equal(strspn(strstr(w->request, "\r\n\r\n") + 4, "b"), 59999);
	say(fd, FINE);
	assert_fine(w);
	close(fd);
}

static void test_a_request_that_is_too_long_is_not_sent(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	_cleanup_free_ char *body = mem_alloc(70001);

	(void)state;
	memset(body, 'b', 70000);
	w->call.body = body;
	assert_null(wire_new(&w->call, w->url, now() + LONG, &w->err));
	assert_int_equal(w->err.code, -EMSGSIZE);
}

TEST_MAIN(TEST(a_request_says_all_that_it_should), TEST(the_connection_is_watched_and_not_inherited),
          TEST(an_answer_may_come_byte_by_byte), TEST(an_answer_may_last_until_the_connection_ends),
          TEST(bad_answers_are_errors_that_name_the_address), TEST(an_answer_that_is_too_long_is_an_error),
          TEST(silence_and_slowness_end_at_the_deadline), TEST(nobody_listening_is_said_plainly),
          TEST(a_connection_that_does_not_come_about_ends_at_the_deadline), TEST(all_addresses_of_a_name_are_tried),
          TEST(a_name_server_that_does_not_answer_blocks_nothing), TEST(an_ipv6_address_stands_in_brackets),
          TEST(a_long_request_is_sent_in_pieces), TEST(a_request_that_is_too_long_is_not_sent))
