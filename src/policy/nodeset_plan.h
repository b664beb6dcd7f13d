/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a NodeSet does next: which Pods are made, drained and deleted. It sees the set, all Nodes and the set's Pods (with what Slurm
 * says in their conditions) and returns independent steps; the shell takes them, waits until they show, and asks again. Pure.
 *
 * What holds:
 *  - A Pod is deleted only when it is marked, and Slurm, asked after that, says that nothing runs there and that nothing can start
 *    there as things are (drained, down or not there), and no prolog has asked for its lock; or when it never ran; or when a person
 *    forces it (annotation force-delete). Not knowing keeps it. Unless forced, it is deleted as it was read and in no other version:
 *    a prolog that asks meanwhile makes another.
 *  - A Pod is marked (ANNOTATION_PENDING_DELETION: the syncer drains) before, and unmarked when it may stay after all.
 *  - At most one Pod of any NodeSet is made for a Node.
 *  - An update takes no more Pods away than maxUnavailable allows, those that are missing for other reasons counted.
 *  - A slurmd whose node Slurm lost (a person deleted it, slurmctld lost its state) does not register again by itself: its Pod is replaced, no
 *    more at a time than by an update.
 *  - What only a later version understands (set->strange, a revision that is none of ours) takes no Pod away: neither for being one too many, nor on a Node
 *    that does not match, nor of an older template.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/knode.h"
#include "model/nodeset.h"
#include "policy/nodeset.h"

#define ANNOTATION_FORCE_DELETE ANNOTATION_PREFIX "force-delete" /* on a Pod: deleted although a job may run there */
#define LABEL_REVISION ANNOTATION_PREFIX "revision"
#define REVISION_MAX 17           /* and NUL */
#define NODESET_POD_NAME_MAX 64   /* and NUL: a host name */
#define NODESET_STAND_IN (5 * 60 * USEC_SEC) /* not ready for so long: another may stand in */
#define NODESET_UNKNOWN_MAX (3 * 60 * USEC_SEC) /* ready, and Slurm does not have its node: a new one registers */

enum nodeset_act {
	NODESET_CREATE, /* Pod `name` on `node` */
	NODESET_ADOPT,  /* `pod` has our label and no owner: own it */
	NODESET_MARK,   /* `pod`: pending deletion, `why` */
	NODESET_UNMARK, /* `pod` may stay */
	NODESET_DELETE, /* `pod`, as it was read: uid and resourceVersion are preconditions */
};

struct nodeset_step {
	enum nodeset_act act;
	const struct knode *node;
	const struct pod *pod;
	const char *why;
	bool replaced; /* DELETE: another of its name comes in its place */
	bool forced;   /* DELETE: whatever became of it meanwhile */
	char name[NODESET_POD_NAME_MAX];
};

struct nodeset_node {
	const struct knode *node;
	bool taken; /* by another NodeSet: it has a Pod there, or is about to */
};

struct nodeset_view {
	const struct nodeset *set;
	const struct nodeset_node *nodes;
	size_t n_nodes;
	const struct pod *const *pods; /* in its namespace; others than nodeset_has() are ignored */
	size_t n_pods;
	usec_t now; /* wall */
	/* Has any Pod of the namespace this name? NULL: none but ours. */
	bool (*name_taken)(void *arg, const char *name);
	void *arg;
};

struct nodeset_outlook {
	struct nodeset_status status; /* its revision points here, its selector is not set */
	char revision[REVISION_MAX];
	size_t n_unsure; /* marked Pods of which nobody says whether a job runs there */
	size_t n_busy;   /* marked Pods that wait for their jobs to end */
	size_t n_cordoned, n_nameless, n_taken; /* Nodes that would do, but for this */
	size_t n_lost;           /* Pods that cannot go yet, and whose Nodes Kubernetes does not have any more */
	const struct pod *lost;  /* the first of these */
	size_t n_foreign;        /* Pods with a revision that another version of the operator made in another way */
};

/* Returns how many steps were written to `steps`. A set that is being deleted wants no Pods. */
size_t nodeset_plan(const struct nodeset_view *v, struct nodeset_step *steps, size_t max, struct nodeset_outlook *ret);

/* The condition Ready: reason and a sentence that says what to do. True when all is as wanted. */
#define NODESET_MESSAGE_MAX 512
bool nodeset_ready(const struct nodeset *set, const struct nodeset_outlook *o, const char **ret_reason,
                   char message[NODESET_MESSAGE_MAX]);

/* Its own, or one with its label that nobody owns: to be adopted, but not by a set that is being deleted, whose Pods may just have been
 * orphaned. */
bool nodeset_has(const struct nodeset *set, const struct pod *pod);
/* Why somebody else than sunk drained its Slurm node; NULL when nobody did. */
const char *nodeset_foreign_drain(const struct pod *pod);
bool nodeset_is_rolling(const struct nodeset *set);
const char *nodeset_prefix(const struct nodeset *set);
/* 16 hexadecimal digits. A version that makes it in another way gives it another form, so that this one can tell. */
void nodeset_revision(const struct nodeset *set, char revision[REVISION_MAX]);
bool nodeset_is_revision(const char *text);
/* The Node that a Pod is on, or pinned to; NULL when none. */
const char *nodeset_pod_node(const struct pod *pod);
/* What the Node's label says, where the set has a nameLabel and the Node that label; else PREFIX-012-002 for 10.174.12.2; without an
 * IPv4 address PREFIX-NODENAME. `again`: that name is taken, another one. */
void nodeset_pod_name(const struct nodeset *set, const struct knode *node, bool again, char name[NODESET_POD_NAME_MAX]);
/* How many of `desired` an update may take away, at least 1. text as in struct nodeset. */
int32_t nodeset_max_unavailable(const char *text, int32_t desired);
