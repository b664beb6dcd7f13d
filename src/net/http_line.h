/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Inside of the HTTP client: kept connections ("lines") on which we speak HTTP/1.1 ourselves, one request at a time. Curl
 * connects, with proxy and TLS, and keeps the socket; llhttp reads the answers. Most of what a daemon sends is a request of a few
 * hundred bytes with a small answer, and for that a transfer of curl's costs several times what the request is worth.
 *
 * Requests to one origin (the server, and as whom) wait in one queue. A line that becomes free takes the next; where there is none
 * another one is made, one at a time: a handshake costs more than many requests, and lines become free meanwhile.
 */
#pragma once

#include "net/http_call.h"

struct http_lines;
struct http_origin;
struct http_line;

struct http_lines_options {
	struct loop *loop;
	const char *user_agent; /* borrowed */
	size_t max;             /* lines */
	bool patient;           /* for answers */
	/* The call is over: it has an answer or an error, and neither line nor origin. From anywhere; must not act on it yet. */
	void (*ended)(void *arg, struct http_call *call);
	/* After something was done because of a socket or a timer. May free everything. */
	void (*settle)(void *arg);
	void *arg;
};

struct http_lines *lines_new(const struct http_lines_options *o);
void lines_free(struct http_lines *ls); /* no call may be left */

/* Whether a request can go over a line. */
bool lines_take(const struct http_request *request, http_chunk chunk);
/* Writes the request down. On failure error is set. */
int lines_prepare(struct http_lines *ls, struct http_call *call, const struct http_request *request);
void lines_start(struct http_lines *ls, struct http_call *call);
/* The call is given up; what it was on is closed. */
void lines_leave(struct http_call *call);
/* Closes what is idle, and the others when they become so. */
void lines_forget(struct http_lines *ls);
/* Begins nothing any more; what is under way is still to be left. */
void lines_stop(struct http_lines *ls);
/* Drops what nobody needs any more. */
void lines_tidy(struct http_lines *ls);
