/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Inside of the HTTP client: one request on its way. http_client.c moves it through its states. Either curl has it: http_call.c
 * turns the request into curl's options and takes the answer in. Or it goes over a line of ours (http_line.h). http_error.c finds
 * words for what went wrong.
 */
#pragma once

#include <curl/curl.h>

#include "base/list.h"
#include "net/http_client.h"

enum call_state {
	CALL_WAITING,   /* for the next round; not with curl yet */
	CALL_RUNNING,   /* in a pool, on a line, or in the queue for one */
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
	CURL *easy; /* NULL: it goes over a line */
	struct curl_slist *headers, *connect_to;
	void *body;
	char *name;       /* "GET https://…", opens every error */
	char *host;       /* that the certificate must be for */
	bool own_ca;      /* a CA was given */
	bool resendable;  /* GET, HEAD: doing it twice is harmless */
	bool no_body;     /* HEAD */
	http_chunk chunk;
	http_done done;
	void *arg;

	usec_t started, last_byte;                     /* monotonic */
	usec_t timeout, idle_timeout, connect_timeout; /* spans */

	bool sent;
	struct buf answer;
	size_t body_max, n_streamed, n_header;

	/* Over a line */
	struct http_origin *origin; /* NULL once it is over */
	struct http_line *line;     /* NULL until it has one */
	struct link turn;           /* http_origin.queue, until then */
	struct buf out;             /* the request as it is sent, token included */
	size_t n_out;               /* bytes of it that are */
	int status;                 /* 0 before the headers are whole */
	char *content_type;
	usec_t retry_after;
	struct err error; /* ours; stands before what curl says */
	char curl_says[CURL_ERROR_SIZE];
};

/* What curl gave instead of a success, and where. */
struct curl_failure {
	CURLcode result;
	CURL *easy;
	const char *says; /* its own words; "" = none */
	const char *host; /* that the certificate must be for */
	bool own_ca;      /* a CA was given */
};

/* Fills what does not depend on who sends it. */
void call_begin(struct http_call *call, const struct http_request *request);
/* Fills the rest for curl; `easy` is fresh. On failure error is set. */
int call_prepare(struct http_call *call, const struct http_request *request, const char *user_agent);
void call_done(struct http_call *call);

/* What it takes to connect, for transfers and for lines. NULL for the system's CAs, no proxy. True when a CA was given. */
bool easy_set_connection(CURL *easy, const struct http_tls *tls, const char *proxy, usec_t connect_timeout);

/* The host of a URL that nobody can read in two ways: a name or an address, perhaps a port, and a path behind it. The caller frees;
 * NULL: look closer. */
char *plain_host(const char *url);
/* Whether a header can be sent: a line break in it would be another header. On failure error is set. */
int call_check_header(struct http_call *call, const char *line, const char *what);
/* Adds to the body of the answer, of which `expected` bytes are announced (-1: not told). On failure error is set. */
int call_collect(struct http_call *call, const char *data, size_t len, int64_t expected);

/* Sets the call's error, with its name before it; the first one stays. Returns code. */
int call_fail(struct http_call *call, int code, const char *fmt, ...) _printf_(3, 4);
/* The same from what curl gave. */
void call_fail_curl(struct http_call *call, const struct curl_failure *f);
/* The same for a call that took too long or was silent for too long. */
void call_fail_late(struct http_call *call, usec_t now);
/* The same for headers that do not end. */
int call_fail_headers(struct http_call *call);
#define ANSWER_HEADERS_MAX ((size_t)64 * 1024)

/* When call_fail_late() would be true next. */
usec_t call_late_at(const struct http_call *call);

/* 0 before the final status line. */
int call_status(const struct http_call *call);
