/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What an HTTP answer means: OK, gone, conflict, refused, try again … and one sentence for a person. Pure.
 *
 * What holds: only the API server's own word makes an object "not found". A proxy's page, an unknown API group or a
 * server that is still starting never does, because what is not found is forgotten above.
 */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include "net/http_client.h"
#include "port/kube.h"

#define KUBE_MESSAGE_MAX 1024
#define KUBE_CONTINUE_MAX 4096
#define KUBE_RETRY_AFTER_MAX USEC_HOUR

/* result points into the struct: pass it by reference, never copy it. */
struct kube_answer {
	struct kube_result result;
	bool expired;                   /* 410: the resourceVersion or continue token is too old */
	char token[KUBE_CONTINUE_MAX + 1];     /* expired: goes on inconsistently; "" when there is none */
	char assigned_to[254];                 /* a binding refused because the Pod has this node; "" otherwise */
	char reason[64], uid[64], version[128];
	char message[KUBE_MESSAGE_MAX];
};

/* Reads an answer. `what` was tried ("bind Pod ns/p to n1"), `server` is its URL; `effect` says whether it was to
 * change something. The answer's body is left as it is. */
void kube_answer_read(struct kube_answer *a, const struct http_answer *http, const char *what, const char *server,
                      bool effect);

/* Reads a Status object that came by itself, in the stream of a watch. */
void kube_answer_read_status(struct kube_answer *a, yyjson_val *status, const char *what);

/* For what was never sent. */
void kube_answer_set(struct kube_answer *a, enum kube_outcome outcome, bool maybe_done, const char *what,
                     const char *message);

/* JSON by its Content-Type, and 2xx, and whole. */
bool kube_answer_is_object(const struct http_answer *http);
