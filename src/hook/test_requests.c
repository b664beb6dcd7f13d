/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Against a server that is this very thread: each test says what has come and gone before the next step.
 */
#include "hook/requests.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"
#include "hook/test_listen.h"

#define LONG (20 * USEC_SEC)
#define DEADLINE (10 * USEC_SEC)

struct world {
	struct requests *requests;
	int listener, other[2]; /* other: what requests_run() also listens to */
	char url[64];
	int n_done, status;
	char body[64];
};

static usec_t now(void)
{
	return clock_mono(clock_real());
}

static struct world *world_new(void)
{
	struct world *w = NEW(struct world);
	uint16_t port = 0;

	w->requests = requests_new();
	w->listener = test_listen(&port);
	snprintf(w->url, sizeof(w->url), "http://127.0.0.1:%u/x", port);
	assert_int_equal(pipe(w->other), 0);
	return w;
}

static void world_free(struct world *w)
{
	requests_free(w->requests);
	close(w->listener);
	close(w->other[0]);
	close(w->other[1]);
	free(w);
}
DEFINE_FREEP(struct world, world_free)
#define _cleanup_world_ _cleanup_(world_freep)

static void done(void *arg, int status, const struct buf *body, const struct err *err)
{
	struct world *w = arg;

	(void)err;
	w->n_done++;
	w->status = status;
	str_copy(w->body, sizeof(w->body), buf_text(body));
}

static struct request *start(struct world *w, usec_t span)
{
	struct hook_call call = { .method = "GET", .url = w->url, .token = "t", .deadline = now() + span };
	struct err err = { 0 };
	struct request *q = request_start(w->requests, &call, done, w, &err);

	assert_non_null(q);
	requests_push(w->requests);
	return q;
}

/* The connection on which a request has come. */
static int take(struct world *w)
{
	char request[4096] = "";
	size_t len = 0;
	usec_t end = now() + DEADLINE;
	int fd;

	while (!test_readable(w->listener, 1))
		assert_true(now() < end);
	fd = accept4(w->listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	while (!strstr(request, "\r\n\r\n")) {
		assert_true(now() < end);
		requests_push(w->requests);
		if (test_readable(fd, 1))
			len += (size_t)read(fd, request + len, sizeof(request) - 1 - len);
	}
	return fd;
}

static void answer(int fd, const char *body)
{
	_cleanup_free_ char *text = str_printf("HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), body);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void test_an_answer_wakes_who_waits(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	usec_t began = now();

	(void)state;
	start(w, LONG);
	answer(take(w), "yes");
	while (!w->n_done && now() < began + DEADLINE)
		requests_run(w->requests, w->other[0], LONG);
	assert_true(now() < began + DEADLINE);
	assert_int_equal(w->status, 200);
	assert_string_equal(w->body, "yes");
}

/* Pushing reads the answer, and then no socket has anything more to say. */
static void test_a_call_that_ended_while_pushed_is_told_of_at_once(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	usec_t began = now();

	(void)state;
	start(w, LONG);
	answer(take(w), "yes");
	requests_push(w->requests);
	assert_int_equal(w->n_done, 0);
	requests_run(w->requests, w->other[0], LONG);
	assert_int_equal(w->n_done, 1);
	assert_true(now() < began + DEADLINE);
	assert_string_equal(w->body, "yes");
}

static void test_the_other_thing_and_the_span_end_the_wait(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	usec_t began = now();

	(void)state;
	start(w, LONG);
	close(take(w)); /* nothing is said */
	requests_run(w->requests, w->other[0], LONG);
	assert_int_equal(w->n_done, 1);
	assert_int_equal(w->status, 0);
	requests_run(w->requests, w->other[0], USEC_MSEC);
	assert_int_equal(write(w->other[1], "x", 1), 1);
	requests_run(w->requests, w->other[0], LONG);
	assert_int_equal(w->n_done, 1);
	assert_true(now() < began + DEADLINE);
}

static void test_a_cancelled_call_is_not_told_of(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	struct request *q;
	char byte;
	int fd;

	(void)state;
	q = start(w, LONG);
	fd = take(w);
	request_cancel(q);
	requests_run(w->requests, w->other[0], USEC_MSEC);
	assert_int_equal(w->n_done, 0);
	assert_true(test_readable(fd, 10000));
	assert_true(read(fd, &byte, 1) <= 0);
	close(fd);
}

static void test_a_call_ends_at_its_deadline(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	usec_t began = now();
	int fd;

	(void)state;
	start(w, 50 * USEC_MSEC);
	fd = take(w);
	while (!w->n_done && now() < began + DEADLINE)
		requests_run(w->requests, w->other[0], LONG);
	assert_int_equal(w->n_done, 1);
	assert_true(now() < began + DEADLINE);
	assert_int_equal(w->status, 0);
	close(fd);
}

TEST_MAIN(TEST(an_answer_wakes_who_waits), TEST(a_call_that_ended_while_pushed_is_told_of_at_once),
          TEST(the_other_thing_and_the_span_end_the_wait), TEST(a_cancelled_call_is_not_told_of),
          TEST(a_call_ends_at_its_deadline))
