/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a shell may do to Kubernetes. Two implementations: the real client (kube/) and the simulation's. Reading is
 * through stores that the port fills; writing is through effects, in the terms of model/, never JSON.
 *
 * Every call returns at once and calls back exactly once, later, from the loop, never from within the call. Every
 * effect is idempotent or carries a precondition. Effects pass the gate: without leadership the answer is
 * KUBE_NOT_LEADER and nothing is sent.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "model/knode.h"
#include "model/meta.h"
#include "model/nodeset.h"
#include "model/pod.h"
#include "port/store.h"

enum kube_kind {
	KUBE_PODS,
	KUBE_NODES,
	KUBE_LEASES,
	KUBE_CLAIMS,  /* PersistentVolumeClaims: struct pvc of model/volume.h */
	KUBE_VOLUMES, /* PersistentVolumes: struct pv */
	KUBE_CLASSES, /* StorageClasses: struct storage_class */
	KUBE_NODESETS,   /* struct nodeset of model/nodeset.h */
	KUBE_NODESLICES, /* struct nodeslice */
	KUBE_EVENTS,
	KUBE_KINDS,
};

enum kube_outcome {
	KUBE_OK,
	KUBE_NOT_FOUND,  /* the object is gone, or another one has its name (uid precondition) */
	KUBE_CONFLICT,   /* resourceVersion or state changed meanwhile: look again */
	KUBE_EXISTS,
	KUBE_REFUSED,    /* 400, 413, 415, 422: the same again will fail the same way */
	KUBE_FORBIDDEN,  /* 401 after a refresh, 403 */
	KUBE_BUDGET,     /* an eviction that a PodDisruptionBudget refuses for now */
	KUBE_RETRY,      /* busy, broken or unreachable: again after retry_after */
	KUBE_NOT_LEADER,
};

struct kube_result {
	enum kube_outcome outcome;
	int http_status;       /* 0 when there was no answer */
	bool maybe_done;       /* RETRY: the effect may have happened all the same */
	usec_t retry_after;    /* a span; what the server asked for, or 0 */
	const char *reason;    /* "Conflict", "AlreadyExists" …; may be "" */
	const char *message;   /* one sentence with verb, object and cause; never NULL */
	const char *uid, *resource_version; /* of the object as written; NULL when unknown */
};

typedef void (*kube_done)(void *arg, const struct kube_result *result);
/* `object` of model/, borrowed until the call returns; NULL unless OK. */
typedef void (*kube_got)(void *arg, const struct kube_result *result, const void *object);

/* Which object. uid and resource_version are preconditions when not NULL. */
struct kube_ref {
	enum kube_kind kind;
	const char *ns, *name, *uid, *resource_version;
};

/* Changes to one object; what is not named stays as it is. Maps: a NULL value removes the key. Lists with n < 0 are left
 * alone. Metadata and spec go in one request; conditions (status) in another, after it. */
struct kube_change {
	struct kube_ref ref;
	const struct pair *annotations, *labels;
	int n_annotations, n_labels;
	const struct toleration *tolerations; /* Pods: the whole list; needs ref.resource_version */
	int n_tolerations;
	const struct taint *taints; /* Nodes: the whole list; needs ref.resource_version */
	int n_taints;
	int64_t active_deadline_s; /* Pods; 0 = leave */
	int unschedulable; /* Nodes; -1 = leave */
	const struct condition *conditions; /* merged by type; of NodeSets: all of them */
	int n_conditions;
	const struct nodeset_status *nodeset_status; /* NodeSets; NULL = leave */
	const struct owner
	        *owner; /* Pods that have none: the NodeSet that controls it from now on; needs ref.resource_version */
	const char *const *finalizers; /* the whole list; needs ref.resource_version */
	int n_finalizers;
	const char *const *nodes; /* NodeSlices: the whole list; needs ref.resource_version */
	int n_nodes;
	const struct meta *claim; /* PersistentVolumes: the claim that it is given to; needs ref.resource_version */
};

#define KUBE_CHANGE(r)                                                                                                 \
	((struct kube_change) { .ref = (r),                                                                            \
	                        .n_annotations = 0,                                                                    \
	                        .n_labels = 0,                                                                         \
	                        .n_tolerations = -1,                                                                   \
	                        .n_taints = -1,                                                                        \
	                        .unschedulable = -1,                                                                   \
	                        .n_conditions = 0,                                                                     \
	                        .n_finalizers = -1,                                                                    \
	                        .n_nodes = -1 })

/* A new object: a Pod from a NodeSet's template, or a NodeSlice. */
struct kube_make {
	struct kube_ref ref; /* kind, namespace and name */
	const struct owner *owner; /* the NodeSet */
	const struct pair *labels, *annotations; /* besides the template's, and before them */
	int n_labels, n_annotations;
	const char *template_json; /* Pods */
	const char *pin; /* Pods: the one Node that it may run on */
	const struct toleration *tolerations; /* Pods: besides the template's */
	int n_tolerations;
	const char *nodeset; /* NodeSlices */
	const char *const *nodes;
	int n_nodes;
};

struct kube_event {
	struct kube_ref about;
	const char *type; /* "Normal", "Warning" */
	const char *reason; /* CamelCase, "Submitted" */
	const char *action; /* what was done or tried, "Scheduling" */
	const char *message; /* cut at 1 KiB */
};

struct kube_port;

struct kube_port_ops {
	/* The store of a kind, filled from now on. The same store for the same arguments. Selectors as in Kubernetes, NULL
	 * = all; ns NULL = all namespaces. */
	struct store *(*watch)(struct kube_port *p, enum kube_kind kind, const char *ns, const char *label_selector,
	                       const char *field_selector);
	/* What the stores show may be older than what another leader did: none is synced until it has been listed anew. */
	void (*refresh)(struct kube_port *p);
	/* One object as it is now, for what no store is kept of. NOT_FOUND also when another one has its name (uid). */
	void (*get)(struct kube_port *p, const struct kube_ref *ref, kube_got done, void *arg);
	void (*change)(struct kube_port *p, const struct kube_change *change, kube_done done, void *arg);
	void (*bind)(struct kube_port *p, const struct kube_ref *pod, const char *node, kube_done done, void *arg);
	/* grace_s < 0: the object's own grace period; 0: at once, without asking the kubelet. */
	void (*evict)(struct kube_port *p, const struct kube_ref *pod, int64_t grace_s, kube_done done, void *arg);
	void (*remove)(struct kube_port *p, const struct kube_ref *ref, int64_t grace_s, kube_done done, void *arg);
	/* Makes an object from JSON text that came from a user's template. */
	void (*create)(struct kube_port *p, enum kube_kind kind, const char *ns, const char *json, kube_done done,
	               void *arg);
	void (*make)(struct kube_port *p, const struct kube_make *make, kube_done done, void *arg);
	/* Best effort, never answered: repeated events are counted into one object with a series. */
	void (*event)(struct kube_port *p, const struct kube_event *event);
};

struct kube_port {
	const struct kube_port_ops *ops;
};
