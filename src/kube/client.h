/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Sends requests to the API server: credentials, deadlines, one more try after a 401, and (for reads that ask for it)
 * more tries with back-off. Core thread.
 *
 * What holds:
 *  - A call ends exactly once, later, from the loop, never from within a call to this file.
 *  - What changes something is sent once; whether to try again is for those who know what it means.
 *  - A call with a gate is sent only while the gate is open and of the term in which the call was started, looked at in
 *    the moment of sending. One under way when the gate closes is cut off.
 *  - Watches and requests do not share connections: a large list never holds up a watch, nor the other way round. Nor do
 *    requests of different lanes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "kube/cred.h"
#include "kube/request.h"
#include "kube/rest.h"
#include "kube/status.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "port/gate.h"

#define KUBE_CALLS_MAX 8192                  /* under way; more are refused */
#define KUBE_TIMEOUT (30 * USEC_SEC)         /* of a call, tries included, when it does not say */
#define KUBE_TRIES_MAX 5                     /* of a read */
#define KUBE_TRY_BACKOFF_BASE (200 * USEC_MSEC)
#define KUBE_TRY_BACKOFF_MAX (5 * USEC_SEC)

struct kube_client;
struct kube_call;

/* Each has connections of its own: what everything waits for does not wait itself. */
enum kube_lane {
	KUBE_COMMON,
	KUBE_URGENT, /* the lease, bindings, deletions */
	KUBE_LAZY,   /* events */
	KUBE_LANES
};

struct kube_call_options {
	bool watch;      /* goes over the watches' connections */
	enum kube_lane lane;
	bool retry;      /* a read that may be tried again until the timeout */
	bool compressed; /* large answers may come as gzip */
	usec_t timeout;  /* 0 = KUBE_TIMEOUT */
	usec_t idle_timeout;
	size_t body_max; /* 0 = KUBE_BODY_MAX; with `chunk`, of the whole stream, 0 = none */
	http_chunk chunk;
	const struct gate *gate; /* NULL = none; borrowed until the call ends */
};

struct kube_reply {
	struct http_answer *http; /* status 0 when stopped */
	bool stopped;             /* by its gate; http->sent tells whether it had been sent */
	bool effect;
	const char *what, *server; /* for messages */
};

typedef void (*kube_call_done)(void *arg, const struct kube_reply *reply);

/* What a reply means. */
void kube_reply_read(const struct kube_reply *reply, struct kube_answer *ret);

/* All borrowed, must outlive it. */
struct kube_client *kube_client_new(struct loop *l, const struct clock *clock, struct cred *cred);
void kube_client_free(struct kube_client *c); /* calls under way end without calling back */
DEFINE_FREEP(struct kube_client, kube_client_free)

/* The request is copied; options may be NULL. `arg` is given to done and chunk. */
struct kube_call *kube_call_start(struct kube_client *c, const struct kube_request *request,
                                  const struct kube_call_options *options, kube_call_done done, void *arg);
void kube_call_cancel(struct kube_call *call); /* `done` is not called; NULL is fine */

/* The gate of some calls has closed: cuts them off now. Found out by itself when the gate's time runs out. */
void kube_client_gate_closed(struct kube_client *c);

/* The same client for those who speak in plain requests (leader election, events). No gate, no second tries. */
const struct rest *kube_client_rest(struct kube_client *c);

size_t kube_client_under_way(const struct kube_client *c);
