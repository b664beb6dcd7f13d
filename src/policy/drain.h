/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Kubernetes' word on a Slurm node's drain. A node whose NodeSet Pod is cordoned, not ready, about to be deleted or gone is
 * drained with a reason that starts with "k8s:"; the drain goes when the condition does. Pure.
 *
 * What holds:
 * - a drain whose reason does not start with "k8s:" is never touched, whatever comes and goes on the Kubernetes side; one that
 *   a person puts over ours is theirs from then on;
 * - a node that is down, failing or about to be rebooted is left alone;
 * - "k8s: pod deletion timeout" belongs to the Pod Scheduler: neither set nor lifted here;
 * - a drain is lifted only when slurmd answers again;
 * - what is not known for sure (a list not complete, a watch that is stale) changes nothing.
 */
#pragma once

#include <stdbool.h>

#include "model/pod.h"
#include "model/slurm.h"

#define DRAIN_PREFIX "k8s:"
#define DRAIN_REASON_MAX 512 /* and NUL */
#define DRAIN_POD_TIMEOUT "k8s: pod deletion timeout"

enum pod_presence {
	PRESENCE_UNKNOWN, /* the Pods have not been read yet, or too long ago */
	PRESENCE_NEVER,   /* no Pod now, and no sign that there ever was one: a node outside of Kubernetes */
	PRESENCE_GONE,    /* no Pod now, but there was one */
	PRESENCE_THERE,
};

enum drain_owner {
	DRAIN_NONE,      /* not drained */
	DRAIN_OURS,
	DRAIN_SCHEDULER, /* the Pod Scheduler's */
	DRAIN_FOREIGN,
};

struct drain_view {
	enum pod_presence presence;
	const struct pod *pod;     /* PRESENCE_THERE */
	const struct snode *node;
	const char
	        *was_cordoned; /* GONE: why the Pod was cordoned when it was last seen; NULL = was not, or not known */
};

enum drain_act {
	DRAIN_KEEP, /* nothing to do */
	DRAIN_SET, /* drain, with reason */
	DRAIN_REWORD, /* it stays drained; another reason */
	DRAIN_LIFT,
};

struct drain_decision {
	enum drain_act act;
	char reason[DRAIN_REASON_MAX]; /* SET, REWORD */
};

struct drain_decision drain_decide(const struct drain_view *v);

enum drain_owner drain_owner(const struct snode *n);

/* The change for a decision other than KEEP, with the node as read for its precondition. Points into both. */
struct node_change drain_change(const struct drain_decision *d, const struct snode *n);
/* The precondition alone: the drain is as it was read. */
void drain_expect(struct node_change *c, const struct snode *n);

/* The node is down, failing, about to be rebooted or no real one: nobody's drain is touched. */
bool drain_hands_off(const struct snode *n);
/* Lifted before that, jobs would land on a node that cannot start them. */
bool drain_slurmd_answers(const struct snode *n);

/* The reason that Kubernetes wants there now: false when none. */
bool drain_wanted(const struct drain_view *v, char reason[DRAIN_REASON_MAX]);
