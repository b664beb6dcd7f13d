/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Inside of the HTTP client: one request on its way. http_client.c moves it through its states, http_call.c turns the
 * request into curl's options and takes the answer in, http_error.c finds words for what went wrong.
 */
#pragma once

#include <curl/curl.h>

#include "base/list.h"
#include "net/http_client.h"

enum call_state {
	CALL_WAITING,   /* for the next round; not with curl yet */
	CALL_RUNNING,   /* in a pool */
	CALL_ENDED,     /* result known, `done` to be called */
	CALL_CANCELLED, /* by a callback that curl is still below: to be taken away once curl has returned */
	CALL_TELLING,   /* in `done` */
};

struct http_call {
	struct link link; /* in the client's list of its state */
	enum call_state state;
	struct http_client *client;
	struct http_pool *pool; /* NULL unless given to curl */
	struct loop *loop;
	struct loop_timer *alarm;
	CURL *easy;
	struct curl_slist *headers, *connect_to;
	void *body;
	char *name;       /* "GET https://…", opens every error */
	char *host;       /* that the certificate must be for */
	bool own_ca;      /* a CA was given */
	bool resendable;  /* GET, HEAD: doing it twice is harmless */
	http_chunk chunk;
	http_done done;
	void *arg;

	usec_t started, last_byte;                     /* monotonic */
	usec_t timeout, idle_timeout, connect_timeout; /* spans */

	bool sent;
	struct buf answer;
	size_t body_max, n_streamed, n_header;
	struct err error; /* ours; stands before what curl says */
	char curl_says[CURL_ERROR_SIZE];
};

/* Fills the call from the request; `easy` is fresh. On failure error is set. */
int call_prepare(struct http_call *call, const struct http_request *request, const char *user_agent);
void call_done(struct http_call *call);

/* Sets the call's error, with its name before it; the first one stays. Returns code. */
int call_fail(struct http_call *call, int code, const char *fmt, ...) _printf_(3, 4);
/* The same from what curl gave. */
void call_fail_curl(struct http_call *call, CURLcode result);
/* The same for a call that took too long or was silent for too long. */
void call_fail_late(struct http_call *call, usec_t now);

/* When call_fail_late() would be true next. */
usec_t call_late_at(const struct http_call *call);

/* 0 before the final status line. */
int call_status(const struct http_call *call);
