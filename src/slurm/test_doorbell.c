/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm/doorbell.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/test.h"

struct bench {
	struct loop *loop;
	struct bell *bell;
	int rings;
};

static void ring(void *arg)
{
	((struct bench *)arg)->rings++;
}

static struct bench bench_new(void)
{
	return (struct bench) { .loop = loop_new() };
}

static void hang_up(struct bench *b)
{
	struct err err = { 0 };

	b->bell = bell_new(b->loop, "127.0.0.1", 0, ring, b, &err);
	assert_non_null(b->bell);
	assert_true(bell_port(b->bell) > 0);
}

static void bench_done(struct bench *b)
{
	bell_free(b->bell);
	loop_free(b->loop);
}

static int press(const struct bench *b)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(bell_port(b->bell)) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(connect(fd, (void *)&a, sizeof(a)), 0);
	return fd;
}

/* True when the other side has closed. */
static bool is_closed(int fd)
{
	char c;
	ssize_t n = recv(fd, &c, 1, MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno != EAGAIN);
}

#define WAIT_FOR(b, condition)                                                                                         \
	do {                                                                                                           \
		usec_t end_ = clock_mono(clock_real()) + 20 * USEC_SEC;                                                \
		while (!(condition) && clock_mono(clock_real()) < end_)                                                \
			loop_run_once((b)->loop, 50 * USEC_MSEC);                                                      \
		assert_true(condition);                                                                                \
	} while (0)

static void test_a_ring_is_heard_and_never_answered(void **state)
{
	struct bench b = bench_new();
	char c;
	int fd;

	(void)state;
	hang_up(&b);
	fd = press(&b);
	assert_int_equal(send(fd, "sealed", 6, MSG_NOSIGNAL), 6);
	shutdown(fd, SHUT_WR);
	WAIT_FOR(&b, b.rings == 1);
	WAIT_FOR(&b, is_closed(fd));
	assert_int_equal(recv(fd, &c, 1, 0), 0); /* closed in order, not a byte sent, no reset */
	close(fd);
	bench_done(&b);
}

static void test_many_rings_are_few_and_the_last_is_not_lost(void **state)
{
	struct bench b = bench_new();
	int before;

	(void)state;
	hang_up(&b);
	for (int i = 0; i < 300; i++) {
		close(press(&b));
		if (i % 50 == 0)
			loop_run_once(b.loop, 0);
	}
	WAIT_FOR(&b, b.rings > 0);
	assert_true(b.rings < 150);
	/* one more, right behind a ring that was just told */
	before = b.rings;
	close(press(&b));
	WAIT_FOR(&b, b.rings > before);
	bench_done(&b);
}

static void test_callers_who_stay_are_shown_out(void **state)
{
	enum { N = BELL_CONNECTIONS_MAX + 20 };
	struct bench b = bench_new();
	int fds[N], open = 0;

	(void)state;
	hang_up(&b);
	for (int i = 0; i < N; i++)
		fds[i] = press(&b);
	WAIT_FOR(&b, is_closed(fds[19]));
	for (int i = 0; i < N; i++)
		open += !is_closed(fds[i]);
	assert_int_equal(open, BELL_CONNECTIONS_MAX);
	WAIT_FOR(&b, is_closed(fds[N - 1])); /* patience */
	for (int i = 0; i < N; i++)
		close(fds[i]);
	bench_done(&b);
}

static void test_a_caller_who_never_stops_talking_is_cut_off(void **state)
{
	static const char noise[8192];
	struct bench b = bench_new();
	int fd, small = 16384;
	ssize_t n, sent = 0;

	(void)state;
	hang_up(&b);
	fd = press(&b);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	while ((n = send(fd, noise, sizeof(noise), MSG_NOSIGNAL | MSG_DONTWAIT)) > 0 || errno == EAGAIN) {
		sent += MAX_OF(n, (ssize_t)0);
		loop_run_once(b.loop, 10 * USEC_MSEC);
	}
	assert_true(errno == EPIPE || errno == ECONNRESET);
	assert_true(sent < 100 * BELL_BYTES_MAX); /* what the kernel holds, too */
	assert_int_equal(b.rings, 1);
	close(fd);
	bench_done(&b);
}

static void test_a_taken_port_and_a_bad_address_are_named(void **state)
{
	struct bench b = bench_new();
	struct err err = { 0 };

	(void)state;
	hang_up(&b);
	assert_null(bell_new(b.loop, "127.0.0.1", bell_port(b.bell), ring, &b, &err));
	assert_int_equal(err.code, -EADDRINUSE);
	assert_non_null(strstr(err.text, "127.0.0.1 port"));
	assert_null(bell_new(b.loop, "localhost", 0, ring, &b, &err));
	assert_string_equal(err.text, "doorbell: 'localhost' is no numeric address");
	bench_done(&b);
}

TEST_MAIN(TEST(a_ring_is_heard_and_never_answered), TEST(many_rings_are_few_and_the_last_is_not_lost),
          TEST(callers_who_stay_are_shown_out), TEST(a_caller_who_never_stops_talking_is_cut_off),
          TEST(a_taken_port_and_a_bad_address_are_named))
