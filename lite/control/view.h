/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Pods and Nodes as structs, kept up to date from the store's changes, with the indexes that controllers need: the Pods
 * of a node and of an owner, and what is taken on each node.
 */
#pragma once

#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "lite/db.h"
#include "model/knode.h"
#include "model/pod.h"
#include "port/kube.h"

#define VIEW_RESOURCES_MAX 16 /* different resources on one node or of one Pod; more are not counted */

struct amounts {
	struct {
		char *name;
		int64_t milli;
	} list[VIEW_RESOURCES_MAX];
	size_t n;
};

int64_t amounts_get(const struct amounts *a, const char *name);
void amounts_add(struct amounts *a, const char *name, int64_t milli);

struct vpod {
	char *key;
	struct pod *pod;
	struct link on_node, of_owner; /* of its vnode and vowner */
	struct amounts asks;
};

struct vnode {
	char *name;
	struct knode *node; /* NULL: Pods are bound to it but it is not there */
	struct link pods;
	size_t n_pods; /* that are not over */
	struct amounts taken; /* by those */
};

struct vowner {
	char *uid;
	struct link pods;
};

struct view {
	struct map pods, nodes, owners;
	struct json_scratch *scratch;
};

struct view *view_new(void);
void view_free(struct view *v);
DEFINE_FREEP(struct view, view_free)

/* An object of the store as a struct of model/; free() it. NULL when it cannot be read as one. */
void *view_decode(struct view *v, enum kube_kind kind, const struct item *i);

void view_pod(struct view *v, const struct item *i, bool gone);
void view_node(struct view *v, const struct item *i, bool gone);

struct vpod *view_get_pod(const struct view *v, const char *key);   /* NULL */
struct vnode *view_get_node(const struct view *v, const char *name); /* NULL */

/* The Pods that an object controls: link to walk, NULL when none. */
struct link *view_pods_of(const struct view *v, const char *uid);
#define VPODS_EACH(p, links)                                                                                           \
	for (struct link *p##_head = (links), *p##_at = p##_head ? p##_head->next : NULL;                              \
	     p##_head && p##_at != p##_head; p##_at = p##_at->next)                                                    \
		for (struct vpod *p = LIST_ITEM(p##_at, struct vpod, of_owner), *p##_once = p; p##_once;               \
		     p##_once = NULL)

bool pod_is_over(const struct pod *p); /* Succeeded or Failed */
bool pod_is_ready(const struct pod *p);
bool pod_is_available(const struct pod *p, int64_t min_ready_s, usec_t now,
                      usec_t *ret_at); /* *ret_at: when it will be */
