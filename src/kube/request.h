/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The verbs: each makes one request to send, from values. Pure; client.h sends it. An error here means that nothing
 * like it can be sent (a name that is none, a template that is no JSON).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "kube/resource.h"
#include "port/kube.h"

#define KUBE_BODY_MAX (4u << 20) /* the server takes 3 MiB */
#define KUBE_FIELD_MANAGER "sunk"

struct kube_request {
	const char *method, *content_type; /* content_type NULL without a body */
	char *path, *body;
	size_t body_len;
	bool effect;                   /* it changes something */
	char what[KUBE_WHAT_MAX + 300]; /* "bind Pod ns/p to n1" */
};

void kube_request_done(struct kube_request *r);
#define _cleanup_request_ _cleanup_(kube_request_done)

enum kube_patch { KUBE_PATCH_MERGE, KUBE_PATCH_STRATEGIC, KUBE_PATCH_APPLY };

int kube_request_get(struct kube_request *r, const struct kube_ref *ref, const char *sub, struct err *err);
/* A page (query->limit, query->continue_token) or a watch (query->watch) of a collection. */
int kube_request_list(struct kube_request *r, const struct kube_ref *collection, const struct kube_query *query,
                      struct err *err);
int kube_request_create(struct kube_request *r, enum kube_kind kind, const char *ns, const char *json, size_t len,
                        struct err *err);
int kube_request_patch(struct kube_request *r, const struct kube_ref *ref, const char *sub, enum kube_patch how,
                       const char *json, size_t len, struct err *err);
/* grace_s < 0: the object's own grace period. Preconditions are those of ref. */
int kube_request_delete(struct kube_request *r, const struct kube_ref *ref, int64_t grace_s, struct err *err);
int kube_request_evict(struct kube_request *r, const struct kube_ref *pod, int64_t grace_s, struct err *err);
int kube_request_bind(struct kube_request *r, const struct kube_ref *pod, const char *node, struct err *err);
int kube_request_scale(struct kube_request *r, const struct kube_ref *ref, int32_t replicas, struct err *err);
/* /version, /readyz */
void kube_request_plain(struct kube_request *r, const char *path);
