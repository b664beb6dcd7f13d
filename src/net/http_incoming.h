/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Inside of the HTTP server: one request. The server's thread fills it and parks the connection; from the message in
 * the mailbox until http_reply() it is the core thread's alone; then it is the server's thread's again, which sends the
 * answer and frees it. No field is ever used by two threads at once.
 */
#pragma once

#include <microhttpd.h>
#include <netinet/in.h>

#include "base/buf.h"
#include "base/list.h"
#include "net/http_server.h"

struct http_incoming {
	struct link link; /* http_server.parked, on the core thread */
	struct http_server *server;
	struct MHD_Connection *connection;
	struct buf text; /* the path, the query's pairs, the headers' pairs */
	size_t query_at, headers_at;
	struct buf body;
	size_t n_dropped; /* bytes of the body beyond the limit */
	bool begun;       /* its headers are complete */
	bool by_core;     /* the answer is the core's, and counted */
	char method[16];
	char peer[INET6_ADDRSTRLEN];
	char *refused; /* why it will be answered with 400; NULL: it will not */
	struct MHD_Response *response; /* set: to be sent */
	unsigned status;
};

struct http_incoming *incoming_new(struct http_server *s, struct MHD_Connection *connection, size_t body_max);
void incoming_free(struct http_incoming *in);

/* Sets the answer; sends nothing. */
void incoming_answer(struct http_incoming *in, int status, const char *content_type, const void *body, size_t len);
void incoming_answer_error(struct http_incoming *in, int status, const char *message);

/* The core thread is done with it: back to the server's thread. */
void server_take_answered(struct http_server *s, struct http_incoming *in);
