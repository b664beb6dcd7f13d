/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a NodeSet Pod (a Pod that runs slurmd; its name is the Slurm node's) carries for us: names of annotations, labels
 * and conditions. Users' dashboards and scripts know them too.
 */
#pragma once

#include "model/pod.h"
#include "policy/rules.h"

/* Written by the operator, read by the syncer. */
#define ANNOTATION_CORDON ANNOTATION_PREFIX "cordon" /* present: the Node is cordoned; the value says why */
#define ANNOTATION_PENDING_DELETION ANNOTATION_PREFIX "pending-deletion" /* present: drained first, deleted when idle */
#define ANNOTATION_LOCK ANNOTATION_PREFIX "lock" /* "false", "pending", "locked", "locked_strict" */
#define ANNOTATION_LOCK_BLOCKED_BY                                                                                     \
	ANNOTATION_PREFIX "lock-blocked-by" /* who keeps it from being locked, while that is so */
#define ANNOTATION_FEATURES ANNOTATION_PREFIX "features" /* features of the Slurm node, separated by commas */

/* Written by the syncer. */
#define ANNOTATION_LOCK_REQUEST ANNOTATION_PREFIX "lock-request" /* "normal", "strict" */
#define LABEL_RUNNING ANNOTATION_PREFIX "running"
#define LABEL_DRAIN ANNOTATION_PREFIX "drain"
#define LABEL_NOT_RESPONDING ANNOTATION_PREFIX "not_responding"
#define CONDITION_DRAIN "SlurmDrain"
#define CONDITION_RUNNING "SlurmRunning"
#define CONDITION_NOT_RESPONDING "SlurmNotResponding"
/* Reasons of CONDITION_DRAIN, read from Slurm after the Pod was marked ANNOTATION_PENDING_DELETION: nothing runs there and nothing can
 * start. */
#define REASON_DRAINED_TO_GO "DrainedForDeletion"
#define REASON_DOWN_TO_GO "DownForDeletion"
#define REASON_ABSENT_TO_GO "NoSlurmNodeForDeletion"

/* Written by others. */
#define CONDITION_VERIFIED "HPCVerification"

static inline bool pod_is_ready(const struct pod *p)
{
	const struct condition *c = condition_get(p->conditions, p->n_conditions, "Ready");

	return c && c->status == COND_TRUE;
}

/* Why it is cordoned, "" when nobody says; NULL when it is not. */
static inline const char *pod_cordon(const struct pod *p)
{
	return pair_get(p->meta.annotations, p->meta.n_annotations, ANNOTATION_CORDON);
}

static inline bool pod_pending_deletion(const struct pod *p)
{
	return p->meta.deletion || pair_get(p->meta.annotations, p->meta.n_annotations, ANNOTATION_PENDING_DELETION);
}
