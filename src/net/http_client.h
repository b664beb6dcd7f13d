/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * HTTP requests from the core thread, over libcurl's multi interface driven by the loop. Connections are kept and
 * shared (h2 where the server offers it). Each request ends exactly once: with an answer, or with an error that names
 * the URL and the cause. Libcurl's own timers do not notice every dead peer, so deadlines here are the loop's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "net/loop.h"

#define HTTP_HEADERS_MAX 16
#define HTTP_URL_MAX 8192

struct http_client;
struct http_call;

/* Where and as whom. Borrowed for the call; the client copies. A request with other credentials never reuses a
 * connection made with these: client certificates belong to the connection. */
struct http_tls {
	const char *ca_pem, *cert_pem, *key_pem; /* PEM text, NULL = the system's CAs, no client certificate */
	const char *server_name;                 /* verify this name instead of the URL's host; NULL = the URL's */
	bool insecure;                    /* do not verify (kubeconfig's insecure-skip-tls-verify) */
};

struct http_request {
	const char *method; /* "GET" … */
	const char *url;
	const char *headers[HTTP_HEADERS_MAX]; /* "Name: value", NULL-terminated */
	const char *bearer;                    /* token, sent as Authorization; never logged */
	const void *body;
	size_t body_len;
	const struct http_tls *tls;
	usec_t connect_timeout, timeout; /* whole request; 0 = defaults (5 s, 30 s); USEC_NEVER = none (watches) */
	usec_t idle_timeout;             /* no byte for this long ends it; 0 = none */
	size_t body_max;                 /* of the answer; required unless `chunk` is set */
	bool compressed;                 /* accept gzip */
	const char *proxy;               /* NULL = none */
};

struct http_answer {
	int status;               /* 0: no answer, see error */
	const struct err *error;  /* set when status is 0, or when the body was cut short or too long */
	bool sent;                /* the request may have reached the server (the effect may have happened) */
	char *body; /* NUL-terminated, with 4 bytes of padding behind it: parse it in place. "" when streamed.
	                             Owned by the call: take it with TAKE_PTR and free() it to keep it. */
	size_t body_len;
	const char *content_type; /* "" when absent */
	usec_t retry_after; /* a span, 0 when absent; seconds or a date in the header; at most an hour */
	usec_t took;
};

typedef void (*http_done)(void *arg, struct http_answer *answer);
/* A piece of the body of a 2xx answer, as it comes. Other statuses are collected up to 1 MiB and given at the end.
 * Returning an error ends the call with it. */
typedef int (*http_chunk)(void *arg, const char *data, size_t len, struct err *err);

struct http_client *http_client_new(struct loop *l, const char *user_agent);
void http_client_free(struct http_client *c); /* calls in flight end without calling back */
/* From now on requests with a small answer (neither streamed nor compressed) go over at most so many connections on which we
 * speak HTTP/1.1 ourselves; all are kept, what is more waits. It costs a fraction of what a transfer of curl's does. Before the
 * first call. */
void http_client_lines(struct http_client *c, size_t max);
/* Nobody waits for its answers: streams and lines are patient (net/loop.h). Before anything else. */
void http_client_patient(struct http_client *c);
DEFINE_FREEP(struct http_client, http_client_free)

/* Starts a request; `done` comes later, from the loop, never from within. chunk may be NULL. */
struct http_call *http_start(struct http_client *c, const struct http_request *request, http_chunk chunk,
                             http_done done, void *arg);

/* Takes no more from the peer until it goes on, so that a reader that is slower than the peer needs no endless buffer. A
 * paused call still has its deadlines. May give chunks before it returns, when going on. */
void http_pause(struct http_call *call, bool paused);

/* Ends it now; `done` is not called. */
void http_cancel(struct http_call *call);

/* Drops kept connections (credentials changed). */
void http_client_forget_connections(struct http_client *c);
