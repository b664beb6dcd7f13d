/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * For tests of the HTTP client: starts a call, waits for it in the loop, keeps what it gave.
 */
#pragma once

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/test.h"
#include "net/http_client.h"

#define TEST_DEADLINE (60 * USEC_SEC)

struct result {
	int n; /* times that done was called */
	int status, code;
	bool sent;
	char *body, *content_type, *error; /* error "" when none */
	size_t body_len;
	usec_t retry_after;
};

static inline void result_done(struct result *r)
{
	free(r->body);
	free(r->content_type);
	free(r->error);
	*r = (struct result) { 0 };
}
#define _cleanup_result_ _cleanup_(result_done)

static inline void keep_result(void *arg, struct http_answer *a)
{
	struct result *r = arg;
	int n = r->n + 1;

	for (int i = 0; i <= 4; i++)
		assert_int_equal(a->body[a->body_len + (size_t)i], 0);
	assert_true(a->status || a->error);
	assert_true(a->took >= 0);
	result_done(r);
	*r = (struct result) {
		.n = n,
		.status = a->status,
		.code = a->error ? a->error->code : 0,
		.sent = a->sent,
		.body_len = a->body_len,
		.content_type = mem_strdup(a->content_type),
		.error = mem_strdup(a->error ? a->error->text : ""),
		.retry_after = a->retry_after,
	};
	r->body = TAKE_PTR(a->body);
}

/* Runs the loop until *count reaches want. */
static inline void wait_for(struct loop *l, const int *count, int want)
{
	usec_t end = clock_mono(clock_real()) + TEST_DEADLINE;

	while (*(const volatile int *)count < want && clock_mono(clock_real()) < end)
		loop_run_once(l, 50 * USEC_MSEC);
	assert_int_equal(*count, want);
}

/* One request from start to end. */
static inline void do_call(struct loop *l, struct http_client *c, const struct http_request *request,
                           struct result *ret)
{
	result_done(ret);
	http_start(c, request, NULL, keep_result, ret);
	assert_int_equal(ret->n, 0);
	wait_for(l, &ret->n, 1);
}

static inline const char *url_of(char text[100], const char *scheme, int port, const char *path)
{
	snprintf(text, 100, "%s://127.0.0.1:%d%s", scheme, port, path);
	return text;
}
