/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * HTTPS for the API: libmicrohttpd driven by the loop, everything on the loop's thread. A request (struct exchange) is
 * handed to the handler when it is complete; the handler answers at once, later, or with a stream that goes on until one
 * side ends it (watches, logs).
 *
 * An answer leaves only when the world has settled: before sending, `settle` is asked. It makes what the answer tells
 * durable and says true, or says false and calls web_release() when it has.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/list.h"
#include "net/loop.h"

struct web;
struct exchange;
struct MHD_Connection;

#define WEB_CONNECTIONS_MAX 16000
#define WEB_HEADERS_MAX 24 /* of an answer */

struct web_options {
	const char *address;
	uint16_t port; /* 0: any free one */
	const char *cert_pem, *key_pem;
	size_t body_max;
	void (*handle)(void *arg, struct exchange *x);
	bool (*settle)(void *arg);
	void *arg;
};

int web_new(struct loop *l, const struct web_options *o, struct web **ret, struct err *err);
void web_free(struct web *w); /* ends streams, drops what was not answered */
DEFINE_FREEP(struct web, web_free)

uint16_t web_port(const struct web *w);
size_t web_exchanges(const struct web *w); /* in progress, streams included */
void web_release(struct web *w);

/* The request. What is not there is NULL; texts live as long as the exchange. */
const char *xch_method(const struct exchange *x);
const char *xch_path(const struct exchange *x); /* percent-decoded, without the query */
const char *xch_query(const struct exchange *x, const char *key);
const char *xch_header(const struct exchange *x, const char *name);
void xch_each_header(const struct exchange *x, const char *name, void (*each)(void *arg, const char *value), void *arg);
const char *xch_body(const struct exchange *x, size_t *ret_len); /* never NULL, NUL-terminated, padded for yyjson */
bool xch_too_large(const struct exchange *x);                    /* the body was over the limit, and is not there */

/* A header of the answer to come. */
void xch_add_header(struct exchange *x, const char *name, const char *value);

/* Answers, exactly once. The body is taken over (free()d). The exchange may be gone when this returns. */
void xch_answer(struct exchange *x, int status, const char *content_type, char *body, size_t len);
void xch_drop(struct exchange *x); /* closes the connection without an answer */

struct stream_ops {
	/* Writes up to max bytes; 0: nothing now, xch_wake() will tell; -1: the end. */
	ssize_t (*read)(void *arg, char *to, size_t max);
	/* The stream is over, whoever ended it; the exchange is gone afterwards. Called exactly once. */
	void (*closed)(void *arg);
};
void xch_stream(struct exchange *x, int status, const char *content_type, const struct stream_ops *ops, void *arg);
void xch_wake(struct exchange *x);
void xch_break(struct exchange *x); /* a stream: cuts the connection in the middle */
