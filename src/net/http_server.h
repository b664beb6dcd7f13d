/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * HTTP server over libmicrohttpd, with an epoll thread of its own. That thread reads requests, checks limits and
 * hands each over to the core thread as a message; the connection is parked (suspended) until the core answers, be it
 * a millisecond or minutes later. Thousands may be parked. The server thread decides nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "net/loop.h"

struct http_server;
struct http_incoming;

struct http_server_options {
	const char *address;  /* "127.0.0.1", "::", "0.0.0.0" */
	uint16_t port;        /* 0 = any free one, see http_server_port() */
	const char *cert_pem, *key_pem; /* TLS when both are set */
	size_t body_max;        /* default 64 KiB: 413 beyond */
	unsigned connections_max;         /* default 12,000: further ones are closed */
	unsigned connections_per_ip_max;  /* default 0 = no limit of its own */
	unsigned queue_max; /* complete requests that the core has not seen yet: default connections_max, 503 beyond */
	usec_t read_timeout; /* a client that does not finish its request: default 10 s */
};

/* Called on the core thread for each complete request. The handler answers now or keeps the pointer and answers later;
 * exactly once. */
typedef void (*http_handler)(void *arg, struct http_incoming *in);

struct http_server *http_server_new(struct loop *l, const struct http_server_options *o, http_handler handler,
                                    void *arg, struct err *err);
/* Parked requests get 503 first, and are gone then. Not from within the handler. */
void http_server_free(struct http_server *s);
DEFINE_FREEP(struct http_server, http_server_free)

uint16_t http_server_port(const struct http_server *s);
size_t http_server_parked(const struct http_server *s);

/* The request, valid until it is answered. */
const char *http_in_method(const struct http_incoming *in);
const char *http_in_path(const struct http_incoming *in); /* without query; percent-decoded */
const char *http_in_query(const struct http_incoming *in, const char *key); /* NULL when absent */
const char *http_in_header(const struct http_incoming *in, const char *name); /* NULL when absent */
const char *http_in_body(const struct http_incoming *in, size_t *ret_len);
const char *http_in_peer(const struct http_incoming *in); /* address, for logs */

/* "Authorization: Bearer …" equals the token, compared in constant time. Empty tokens never match. */
bool http_in_bearer_is(const struct http_incoming *in, const char *token);

/* Answers and frees. content_type NULL = "application/json". The body is copied. */
void http_reply(struct http_incoming *in, int status, const char *content_type, const void *body, size_t len);
/* {"error": "…"} with the message escaped. */
void http_reply_error(struct http_incoming *in, int status, const char *fmt, ...) _printf_(3, 4);
