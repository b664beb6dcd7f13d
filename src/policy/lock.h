/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The lock of a node: no Slurm job starts before Kubernetes has left it, and none runs while it is unlocked. The state is
 * kept in annotations and a taint, so that any part can be killed at any moment; each round of asking has a number (epoch),
 * so that an answer to an old question is never taken for one to the new. docs/node-locking.md draws it. Pure.
 *
 * Who writes what: the syncer the request (level and epoch) on the NodeSet Pod; the operator the Node (taint, state, the epoch it
 * is for) and the state on the NodeSet Pod.
 *
 * What holds:
 *  - The Pod says `locked` for an epoch only after the taint was on the Node for that epoch, and every Pod that was bound before
 *    has been looked at.
 *  - The taint goes only when nobody asks and the Pod no longer says `locked`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/knode.h"
#include "model/pod.h"
#include "policy/rules.h"

#define LOCK_TAINT_KEY TAINT_LOCK
#define LOCK_TAINT_VALUE "true"
#define LOCK_ANNOTATION ANNOTATION_PREFIX "lock"
#define LOCK_FOR_ANNOTATION ANNOTATION_PREFIX "lock-for"
#define LOCK_REQUEST_ANNOTATION ANNOTATION_PREFIX "lock-request"
#define LOCK_EPOCH_ANNOTATION ANNOTATION_PREFIX "lock-epoch"

enum lock_level { LEVEL_NONE, LEVEL_NORMAL, LEVEL_STRICT };
enum lock_state { LOCK_FALSE, LOCK_PENDING, LOCK_LOCKED, LOCK_LOCKED_STRICT };

const char *lock_level_text(enum lock_level level); /* "normal", "strict"; NULL for NONE */
enum lock_level lock_level_of(
        const char *text);    /* what is unknown counts as strict: the safe side; NULL and "" as NONE */
const char *lock_state_text(enum lock_state state);
enum lock_state lock_state_of(const char *text);    /* NULL and what is unknown count as false */

/* What is written on an object: on the NodeSet Pod and on the Node. */
struct lock_words {
	enum lock_level request; /* Pods */
	uint64_t epoch;          /* Pods; 0 = never asked */
	enum lock_state state;
	uint64_t state_for;      /* the epoch that the state is for */
	bool taint;              /* Nodes */
};
void lock_read(const struct meta *meta, struct lock_words *ret);
bool node_has_lock_taint(const struct knode *node);

/* ---- why a Pod is in the way ---- */

enum blocker {
	BLOCK_NOT,
	BLOCK_EVICTED,   /* does not tolerate the lock: Kubernetes evicts it, and it is not gone yet */
	BLOCK_NO_JOB,    /* of the Pod Scheduler, but its job is over: it still uses what Slurm thinks is free */
	BLOCK_STRAY,     /* strict only: tolerates the lock, and Slurm does not account for it */
};
enum blocker lock_blocker(const struct pod *pod, enum lock_level level);
const char *blocker_text(enum blocker b); /* one clause: "is being evicted" */

/* Kubernetes would have to evict it at once, and has not begun: when its one try fails, it does not try again by itself. */
bool lock_is_overlooked(const struct pod *pod);

/* ---- the step ---- */

struct lock_view {
	struct lock_words pod, node;
	bool pod_there; /* the NodeSet Pod exists: without it nobody may ask */
	bool pods_are_fresh; /* the Pods below are as of after the taint was on for pod.epoch */
	size_t n_blockers; /* of the level asked for */
	bool pod_goes; /* it is being deleted: a lock that it has stays until its last job is over, but it gets none */
};

enum lock_step {
	LOCK_REST,
	LOCK_TAINT, /* Node: taint, state `node_state`, for = epoch: one write */
	LOCK_SHOW, /* Pod: state `pod_state`, for = epoch */
	LOCK_CONFIRM, /* Node: state `node_state`, for = epoch; the taint stays */
	LOCK_HIDE, /* Pod: state and for are removed */
	LOCK_UNTAINT, /* Node: taint, state and for are removed */
};
struct lock_decision {
	enum lock_step step;
	enum lock_state pod_state, node_state;
	uint64_t epoch;
};
struct lock_decision lock_decide(const struct lock_view *view);

/* ---- asking (the syncer's side) ---- */

/* Whether a pre-hook of this level may be answered, given what is on the NodeSet Pod. */
bool lock_satisfies(const struct lock_words *pod, enum lock_level level);

/* Whether the request may be taken back: nothing ran or was ending on the Slurm node in a snapshot that was asked for after the
 * last pre-hook call began. Times are monotonic; last_call 0 = none since we began, snapshot 0 = none. began: when we began
 * to lead: an older process may have answered a pre-hook just before. */
bool lock_may_clear(bool busy, usec_t snapshot_asked, usec_t last_call, usec_t began);
