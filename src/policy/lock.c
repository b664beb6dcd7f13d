/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/lock.h"

#include "base/str.h"
#include "policy/placeholder.h"

static const char *const states[] = { "false", "pending", "locked", "locked_strict" };

const char *lock_level_text(enum lock_level level)
{
	return level == LEVEL_NORMAL ? "normal" : level == LEVEL_STRICT ? "strict" : NULL;
}

enum lock_level lock_level_of(const char *text)
{
	if (str_empty(text))
		return LEVEL_NONE;
	return str_eq(text, "normal") ? LEVEL_NORMAL : LEVEL_STRICT;
}

const char *lock_state_text(enum lock_state state)
{
	return states[state];
}

enum lock_state lock_state_of(const char *text)
{
	for (size_t i = 0; i < ARRAY_LEN(states); i++)
		if (str_eq(states[i], text))
			return (enum lock_state)i;
	return LOCK_FALSE;
}

static uint64_t epoch_of(const char *text)
{
	int64_t n;

	return text && str_to_i64(text, 0, INT64_MAX, &n) == 0 ? (uint64_t)n : 0;
}

void lock_read(const struct meta *meta, struct lock_words *ret)
{
	const struct pair *a = meta->annotations;
	uint32_t n = meta->n_annotations;

	*ret = (struct lock_words) { .request = lock_level_of(pair_get(a, n, LOCK_REQUEST_ANNOTATION)),
		                     .epoch = epoch_of(pair_get(a, n, LOCK_EPOCH_ANNOTATION)),
		                     .state = lock_state_of(pair_get(a, n, LOCK_ANNOTATION)),
		                     .state_for = epoch_of(pair_get(a, n, LOCK_FOR_ANNOTATION)) };
}

bool node_has_lock_taint(const struct knode *node)
{
	for (uint32_t i = 0; i < node->n_taints; i++)
		if (str_eq(node->taints[i].key, LOCK_TAINT_KEY) && node->taints[i].effect == EFFECT_NO_EXECUTE)
			return true;
	return false;
}

/* ---- blockers ---- */

/* The lock, for ever or for a while. */
static bool tolerates(const struct pod *pod, bool for_a_while)
{
	for (uint32_t i = 0; i < pod->n_tolerations; i++) {
		const struct toleration *t = &pod->tolerations[i];

		if ((t->effect != EFFECT_ANY && t->effect != EFFECT_NO_EXECUTE) || (t->has_seconds && !for_a_while))
			continue;
		if (str_empty(t->key) ? t->op == TOLERATE_EXISTS
		                      : str_eq(t->key, LOCK_TAINT_KEY) &&
		                                (t->op == TOLERATE_EXISTS ||
		                                 (t->op == TOLERATE_EQUAL && str_eq(t->value, LOCK_TAINT_VALUE))))
			return true;
	}
	return false;
}

enum blocker lock_blocker(const struct pod *pod, enum lock_level level)
{
	const struct owner *owner = meta_controller(&pod->meta);
	const struct condition *live;

	if (pod_is_over(pod) || pair_get(pod->meta.labels, pod->meta.n_labels, LABEL_NODESET))
		return BLOCK_NOT;
	if (pair_get(pod->meta.annotations, pod->meta.n_annotations, "kubernetes.io/config.mirror"))
		return BLOCK_NOT; /* static: nothing but its node's files can end it */
	if (pair_get(pod->meta.annotations, pod->meta.n_annotations, ANNOTATION_JOB_ID)) {
		live = condition_get(pod->conditions, pod->n_conditions, CONDITION_JOB_LIVE);
		return live && live->status == COND_FALSE ? BLOCK_NO_JOB : BLOCK_NOT;
	}
	if (!tolerates(pod, false))
		return BLOCK_EVICTED;
	if (level != LEVEL_STRICT || (owner && str_eq(owner->kind, "DaemonSet")))
		return BLOCK_NOT;
	return BLOCK_STRAY;
}

bool lock_is_overlooked(const struct pod *pod)
{
	return lock_blocker(pod, LEVEL_NORMAL) == BLOCK_EVICTED && !pod->meta.deletion && !tolerates(pod, true);
}

const char *blocker_text(enum blocker b)
{
	switch (b) {
	case BLOCK_EVICTED: return "does not tolerate the lock and has not left yet";
	case BLOCK_NO_JOB: return "outlived its Slurm job and is not gone yet";
	case BLOCK_STRAY: return "tolerates the lock, but Slurm does not account for it";
	case BLOCK_NOT: break;
	}
	return "is not in the way";
}

/* ---- the step ---- */

static struct lock_decision take(enum lock_step step, enum lock_state pod, enum lock_state node, uint64_t epoch)
{
	return (struct lock_decision) { .step = step, .pod_state = pod, .node_state = node, .epoch = epoch };
}

static bool is_locked(enum lock_state state)
{
	return state >= LOCK_LOCKED;
}

static struct lock_decision decide_unlock(const struct lock_view *v)
{
	if (v->pod_there && v->pod.state != LOCK_FALSE)
		return take(LOCK_HIDE, LOCK_FALSE, v->node.state, 0);
	if (v->node.taint || v->node.state != LOCK_FALSE || v->node.state_for)
		return take(LOCK_UNTAINT, LOCK_FALSE, LOCK_FALSE, 0);
	return take(LOCK_REST, LOCK_FALSE, LOCK_FALSE, 0);
}

/* A NodeSet Pod that was made again counts from 1 again: what the Node says for that number may be of the Pod before, and gone by now. A Node
 * is locked for a number only after its Pod said so. */
static bool is_of_another_pod(const struct lock_view *v)
{
	return is_locked(v->node.state) && !is_locked(v->pod.state) && v->pod.state_for != v->pod.epoch;
}

/* Where neither says locked, nobody has been let through. */
static bool gets_none(const struct lock_view *v)
{
	return v->pod_goes && !is_locked(v->pod.state) && !is_locked(v->node.state);
}

struct lock_decision lock_decide(const struct lock_view *v)
{
	enum lock_state want = v->pod.request == LEVEL_STRICT ? LOCK_LOCKED_STRICT : LOCK_LOCKED;
	bool upgrade;

	if (!v->pod_there || v->pod.request == LEVEL_NONE || gets_none(v))
		return decide_unlock(v);
	/* The Node first, for every new epoch: also when the taint is there, for an unlock of an older leader may be on its way. */
	if (!v->node.taint || v->node.state_for != v->pod.epoch || is_of_another_pod(v)) {
		/* Locked it stays only as long as the Pod was never told otherwise: what the Node says may have been
		 * written by an old view of the Pod. */
		upgrade = v->node.taint && is_locked(v->node.state) && is_locked(v->pod.state);
		return take(LOCK_TAINT, v->pod.state, upgrade ? v->node.state : LOCK_PENDING, v->pod.epoch);
	}
	/* Then the Pod says so: the mark by which we know that we have seen every Pod bound before. */
	if (v->pod.state_for != v->pod.epoch || v->pod.state == LOCK_FALSE) {
		enum lock_state show = is_locked(v->node.state) ? v->node.state : LOCK_PENDING;

		return take(LOCK_SHOW, show, v->node.state, v->pod.epoch);
	}
	if (!v->pods_are_fresh)
		return take(LOCK_REST, v->pod.state, v->node.state, v->pod.epoch);
	if (v->n_blockers == 0) {
		if (v->pod.state < want)
			return take(LOCK_SHOW, want, v->node.state, v->pod.epoch);
		if (v->node.state != v->pod.state)
			return take(LOCK_CONFIRM, v->pod.state, v->pod.state, v->pod.epoch);
		return take(LOCK_REST, v->pod.state, v->node.state, v->pod.epoch);
	}
	/* Once locked it stays locked while a job may run: what comes later is evicted by the taint. */
	if (is_locked(v->pod.state) && v->node.state != v->pod.state)
		return take(LOCK_CONFIRM, v->pod.state, v->pod.state, v->pod.epoch);
	if (v->node.state == LOCK_FALSE) /* someone took the annotation off by hand */
		return take(LOCK_CONFIRM, v->pod.state, LOCK_PENDING, v->pod.epoch);
	return take(LOCK_REST, v->pod.state, v->node.state, v->pod.epoch);
}

/* ---- asking ---- */

bool lock_satisfies(const struct lock_words *pod, enum lock_level level)
{
	enum lock_state want = level == LEVEL_STRICT ? LOCK_LOCKED_STRICT : LOCK_LOCKED;

	return pod->request >= level && pod->epoch && pod->state_for == pod->epoch && pod->state >= want;
}

bool lock_may_clear(bool busy, usec_t snapshot_asked, usec_t last_call, usec_t began)
{
	return !busy && snapshot_asked && snapshot_asked > last_call && snapshot_asked > began;
}
