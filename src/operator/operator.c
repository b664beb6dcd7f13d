/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "operator/operator.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/dirty.h"
#include "base/log.h"
#include "base/map.h"
#include "base/rand.h"
#include "base/str.h"
#include "policy/lock.h"
#include "policy/mirror.h"
#include "policy/nodeset.h"
#include "port/kinds.h"

#define SETTLE_SPAN (3 * USEC_SEC) /* for the watch to show what we wrote */
#define RETRY_BASE (100 * USEC_MSEC)
#define RETRY_MAX (10 * USEC_SEC)
#define BLOCKED_TELL USEC_SEC /* in the way for longer than this: it is said */
#define REMIND_SPAN (10 * USEC_SEC) /* for Kubernetes to begin an eviction */
#define BLOCKED_TEXT_MAX 1024
#define BLOCKED_NAMES_MAX 5
#define NODES_PER_STEP 256
/* Writes under way beyond which nothing is begun that no prolog waits for: mirrors, and the steps after a lock was shown. */
#define LATER_MAX 16
#define LATER_PAUSE (50 * USEC_MSEC)

/* One Node: as long as it exists or a NodeSet Pod is bound to it. */
struct node_entry {
	char *name;
	char *settle_node, *settle_pod; /* resourceVersions that we wrote over */
	usec_t settle_until, not_before, asked_at, blocked_since, overlooked_since;
	uint64_t asked_epoch; /* whose locking is being timed */
	uint64_t said; /* hash of the last event */
	uint64_t
	        wrote_for; /* what the Node says of its lock by our last write: who finds something else finds a hand in it */
	enum lock_state wrote_state;
	unsigned tries;
	bool busy;
};

struct operator
{
	struct operator_options o;
	struct store *pods, *nodes;
	struct map entries;
	struct dirty dirty;
	struct rng rng;
	bool leading;
	uint64_t term;
	unsigned n_open; /* writes that are not answered yet */
	/* numbers */
	double *writes, *restored, *reminded, *locks, *unlocks, *retries;
	struct histogram *lock_seconds;
};

static usec_t now_of(const struct operator* op)
{
	return clock_mono(op->o.clock);
}

static void mark(struct operator* op, const char *node, usec_t at)
{
	struct node_entry *e = map_get(&op->entries, node);

	if (!e) {
		e = NEW(struct node_entry);
		e->name = mem_strdup(node);
		map_put(&op->entries, e->name, e);
	}
	dirty_mark(&op->dirty, node, at);
	if (op->o.wake)
		op->o.wake(op->o.wake_arg);
}

static void entry_free(struct operator* op, struct node_entry *e)
{
	map_remove(&op->entries, e->name);
	free(e->name);
	free(e->settle_node);
	free(e->settle_pod);
	free(e);
}

/* ---- what changed ---- */

static void pod_changed(void *arg, enum store_event event, const void *was, const void *is)
{
	const struct pod *before = was, *pod = is;

	(void)event;
	if (before && !str_empty(before->node_name))
		mark(arg, before->node_name, 0);
	if (pod && !str_empty(pod->node_name) && !(before && str_eq(before->node_name, pod->node_name)))
		mark(arg, pod->node_name, 0);
}

static void node_changed(void *arg, enum store_event event, const void *was, const void *is)
{
	const struct meta *m = is ? is : was;

	(void)event;
	mark(arg, m->name, 0);
}

/* ---- effects ---- */

struct effect {
	struct operator* op;
	struct node_entry *e;
	uint64_t term;
	const char *what;
	char *node_rv, *pod_rv; /* the one that is written */
	bool locks, restores; /* writes the Node's lock; puts back what a person took */
	bool shows; /* lets the Pod say that it is locked now */
	uint64_t lock_for;
	enum lock_state lock_state;
};

static void tell(struct operator* op, struct node_entry *e, const struct knode *node, bool warning, const char *reason,
                 const char *text)
{
	uint64_t said = map_hash(reason) * 31u + map_hash(text);

	if (e->said == said)
		return;
	e->said = said;
	op->o.kube->ops->event(
	        op->o.kube,
	        &(struct kube_event) { .about = { .kind = KUBE_NODES, .name = node->meta.name, .uid = node->meta.uid },
	                               .type = warning ? "Warning" : "Normal",
	                               .reason = reason,
	                               .action = "Locking",
	                               .message = text });
}

/* Told only now: a write by an old view of the Node, in which nobody had touched anything, would have met a conflict. */
static void note_written(struct operator* op, struct node_entry *e, const struct effect *x)
{
	const struct knode *node = store_get(op->nodes, NULL, e->name);

	if (op->writes)
		*op->writes += 1;
	if (x->shows) {
		if (op->locks)
			*op->locks += 1;
		if (op->lock_seconds && e->asked_at)
			histogram_observe(op->lock_seconds, (double)(now_of(op) - e->asked_at) / (double)USEC_SEC);
		e->asked_at = 0;
	}
	if (!x->locks)
		return;
	if (!x->lock_for && op->unlocks)
		*op->unlocks += 1;
	e->wrote_for = x->lock_for;
	e->wrote_state = x->lock_state;
	if (!x->restores || !node)
		return;
	e->said = 0; /* every time */
	tell(op, e, node, true, "LockRestored",
	     "The lock was taken off or edited by hand while Slurm uses this Node: put back");
	if (op->restored)
		*op->restored += 1;
}

static void answered(void *arg, const struct kube_result *r)
{
	struct effect *x = arg;
	struct operator* op = x->op;
	struct node_entry *e = x->e;
	usec_t wait = 0;

	e->busy = false;
	op->n_open--;
	if (r->outcome == KUBE_OK) {
		e->tries = 0;
		free(e->settle_node);
		free(e->settle_pod);
		e->settle_node = TAKE_PTR(x->node_rv);
		e->settle_pod = TAKE_PTR(x->pod_rv);
		e->settle_until = usec_add(now_of(op), SETTLE_SPAN);
		note_written(op, e, x);
	} else if (r->outcome == KUBE_NOT_LEADER) {
		wait = USEC_SEC;
	} else {
		wait = r->outcome == KUBE_CONFLICT && e->tries == 0
		               ? 10 * USEC_MSEC
		               : backoff_span(&op->rng, e->tries, RETRY_BASE, RETRY_MAX);
		wait = MAX_OF(wait, r->retry_after);
		e->tries += e->tries < 100;
		if (op->retries)
			*op->retries += 1;
		if (r->outcome == KUBE_REFUSED || r->outcome == KUBE_FORBIDDEN)
			log_error("Node %s: %s: %s", e->name, x->what, r->message);
		else
			log_debug("Node %s: %s: %s", e->name, x->what, r->message);
	}
	e->not_before = wait ? usec_add(now_of(op), wait) : 0;
	mark(op, e->name, e->not_before);
	free(x->node_rv);
	free(x->pod_rv);
	free(x);
}

static struct effect *begin(struct operator* op, struct node_entry *e, const char *what, const struct knode *node,
                            const struct pod *pod)
{
	struct effect *x = NEW(struct effect);

	*x = (struct effect) { .op = op,
		               .e = e,
		               .term = op->term,
		               .what = what,
		               .node_rv = node ? mem_strdup(node->meta.resource_version) : NULL,
		               .pod_rv = pod ? mem_strdup(pod->meta.resource_version) : NULL };
	e->busy = true;
	op->n_open++;
	return x;
}

static struct kube_ref node_ref(const struct knode *n)
{
	return (struct kube_ref) { .kind = KUBE_NODES,
		                   .name = n->meta.name,
		                   .uid = n->meta.uid,
		                   .resource_version = n->meta.resource_version };
}

static struct kube_ref pod_ref(const struct pod *p)
{
	return (struct kube_ref) { .kind = KUBE_PODS,
		                   .ns = p->meta.ns,
		                   .name = p->meta.name,
		                   .uid = p->meta.uid,
		                   .resource_version = p->meta.resource_version };
}

/* The Node's taints with ours, or without. The caller frees. */
static struct taint *taints_with(const struct knode *node, bool lock, usec_t now, int *ret_n)
{
	struct taint *t = mem_alloc_n(node->n_taints + 1u, sizeof(*t));
	int n = 0;

	for (uint32_t i = 0; i < node->n_taints; i++)
		if (!str_eq(node->taints[i].key, LOCK_TAINT_KEY))
			t[n++] = node->taints[i];
	if (lock)
		t[n++] = (struct taint) {
			.key = LOCK_TAINT_KEY, .value = LOCK_TAINT_VALUE, .effect = EFFECT_NO_EXECUTE, .added = now
		};
	*ret_n = n;
	return t;
}

/* Whether a person took the lock off this Node, or edited it. */
static bool is_meddled(const struct node_entry *e, const struct lock_view *v)
{
	if (v->node.state_for == v->pod.epoch && v->node.state != LOCK_FALSE && !v->node.taint)
		return true; /* as a fresh operator can see, too */
	return e->wrote_for && e->wrote_for == v->pod.epoch &&
	       (!v->node.taint || v->node.state_for != e->wrote_for || v->node.state != e->wrote_state);
}

static void write_node(struct operator* op, struct node_entry *e, const struct knode *node, const struct lock_view *v,
                       const struct lock_decision *d)
{
	bool lock = d->step != LOCK_UNTAINT;
	_cleanup_free_ struct taint *taints = NULL;
	struct kube_change change = KUBE_CHANGE(node_ref(node));
	struct effect *x = begin(op, e, lock ? "lock" : "unlock", node, NULL);
	char epoch[24];
	const struct pair annotations[] = { { LOCK_ANNOTATION, lock ? lock_state_text(d->node_state) : NULL },
		                            { LOCK_FOR_ANNOTATION, lock ? epoch : NULL } };

	snprintf(epoch, sizeof(epoch), "%" PRIu64, d->epoch);
	change.annotations = annotations;
	change.n_annotations = ARRAY_LEN(annotations);
	if (d->step != LOCK_CONFIRM && node_has_lock_taint(node) != lock) {
		taints = taints_with(node, lock, clock_wall(op->o.clock), &change.n_taints);
		change.taints = taints;
	}
	x->locks = true;
	x->restores = lock && is_meddled(e, v);
	x->lock_for = lock ? d->epoch : 0;
	x->lock_state = d->node_state;
	op->o.kube->ops->change(op->o.kube, &change, answered, x);
}

static void write_pod(struct operator* op, struct node_entry *e, const struct pod *pod, const struct lock_view *v,
                      const struct lock_decision *d)
{
	bool show = d->step == LOCK_SHOW;
	struct effect *x = begin(op, e, "show the lock", NULL, pod);
	struct kube_change change = KUBE_CHANGE(pod_ref(pod));
	char epoch[24];
	const struct pair annotations[] = { { LOCK_ANNOTATION, show ? lock_state_text(d->pod_state) : NULL },
		                            { LOCK_FOR_ANNOTATION, show ? epoch : NULL },
		                            { ANNOTATION_LOCK_BLOCKED_BY, NULL } };
	bool unblock = pair_get(pod->meta.annotations, pod->meta.n_annotations, ANNOTATION_LOCK_BLOCKED_BY) != NULL;

	if (show) /* the epoch tells whose answer it is: other writers of the Pod need not matter */
		change.ref.resource_version = NULL;
	snprintf(epoch, sizeof(epoch), "%" PRIu64, d->epoch);
	change.annotations = annotations;
	change.n_annotations = (int)ARRAY_LEN(annotations) - !unblock;
	x->shows = show && d->pod_state >= LOCK_LOCKED && v->pod.state < LOCK_LOCKED;
	op->o.kube->ops->change(op->o.kube, &change, answered, x);
}

/* ---- the lock ---- */

/* Counts those in the way, and those that Kubernetes overlooked; names the first few. */
static size_t find_blockers(struct operator* op, const char *node, enum lock_level level, struct buf *names,
                            size_t *ret_overlooked)
{
	struct store_cursor cursor = { 0 };
	const struct pod *pod;
	size_t n = 0;

	while ((pod = store_find(op->pods, POD_BY_NODE, node, &cursor))) {
		enum blocker b = lock_blocker(pod, level);

		if (b == BLOCK_NOT)
			continue;
		*ret_overlooked += lock_is_overlooked(pod);
		if (n < BLOCKED_NAMES_MAX)
			buf_printf(names, "%sPod %s/%s %s", n ? "; " : "", pod->meta.ns, pod->meta.name,
			           blocker_text(b));
		else if (n == BLOCKED_NAMES_MAX)
			buf_add_str(names, "; and more");
		n++;
	}
	return n;
}

/* Whether it has been so for this long; looked at again when it will have been. */
static bool has_lasted(struct operator* op, const struct node_entry *e, bool is_so, usec_t *since, usec_t span)
{
	usec_t now = now_of(op);

	if (!is_so)
		*since = 0;
	else if (!*since)
		*since = now;
	if (!is_so || now >= usec_add(*since, span))
		return is_so;
	mark(op, e->name, usec_add(*since, span));
	return false;
}

/* Says who is in the way, once that takes a while: on the NodeSet Pod for the pre-hook's answer, as an event for people. */
static bool tell_blocked(struct operator* op, struct node_entry *e, const struct knode *node, const struct pod *pod,
                         size_t n, const char *names)
{
	struct kube_change change;
	struct pair annotation = { ANNOTATION_LOCK_BLOCKED_BY, names };

	if (!n)
		e->said = 0;
	if (!has_lasted(op, e, n > 0, &e->blocked_since, BLOCKED_TELL))
		return false;
	tell(op, e, node, true, "LockBlocked", names);
	if (str_eq(pair_get(pod->meta.annotations, pod->meta.n_annotations, ANNOTATION_LOCK_BLOCKED_BY), names))
		return false;
	change = KUBE_CHANGE(pod_ref(pod));
	change.annotations = &annotation;
	change.n_annotations = 1;
	op->o.kube->ops->change(op->o.kube, &change, answered, begin(op, e, "say who is in the way", NULL, pod));
	return true;
}

/* Kubernetes tries an eviction once. When the API server was away just then, only a taint that changes makes it look again. */
static bool remind(struct operator* op, struct node_entry *e, const struct knode *node, size_t n)
{
	_cleanup_free_ struct taint *taints = NULL;
	struct kube_change change;

	if (!has_lasted(op, e, n > 0, &e->overlooked_since, REMIND_SPAN))
		return false;
	log_warn("Node %s: Kubernetes has not begun to evict %zu Pods that do not tolerate the lock: it is put on anew",
	         e->name, n);
	e->overlooked_since = now_of(op);
	if (op->reminded)
		*op->reminded += 1;
	change = KUBE_CHANGE(node_ref(node));
	taints = taints_with(node, true, clock_wall(op->o.clock), &change.n_taints);
	change.taints = taints;
	op->o.kube->ops->change(op->o.kube, &change, answered, begin(op, e, "put the lock on anew", node, NULL));
	return true;
}

static void note_lock(struct operator* op, struct node_entry *e, const struct lock_view *v,
                      const struct lock_decision *d)
{
	char text[128];

	if (v->pod.request != LEVEL_NONE && v->pod.epoch != e->asked_epoch &&
	    !lock_satisfies(&v->pod, v->pod.request)) {
		e->asked_epoch = v->pod.epoch;
		e->asked_at = now_of(op);
	}
	if (d->step != LOCK_REST) {
		snprintf(text, sizeof(text), "request %s, Pod %s, Node %s: step %d",
		         str_or(lock_level_text(v->pod.request), "none"), lock_state_text(v->pod.state),
		         lock_state_text(v->node.state), d->step);
		log_debug("Node %s: %s", e->name, text);
	}
}

/* True when something was written, or is to be. */
static bool lock(struct operator* op, struct node_entry *e, const struct knode *node, const struct pod *pod)
{
	_cleanup_buf_ struct buf names = BUF(BLOCKED_TEXT_MAX);
	struct lock_view v = { .pod_there = pod != NULL,
		               .pod_goes = pod && pod->meta.deletion,
		               .pods_are_fresh = store_synced(op->pods) };
	struct lock_decision d;
	size_t overlooked = 0;

	if (pod)
		lock_read(&pod->meta, &v.pod);
	lock_read(&node->meta, &v.node);
	v.node.taint = node_has_lock_taint(node);
	if (v.pod.request != LEVEL_NONE)
		v.n_blockers = find_blockers(op, e->name, v.pod.request, &names, &overlooked);
	d = lock_decide(&v);
	if (op->n_open >= LATER_MAX && (d.step == LOCK_CONFIRM || d.step == LOCK_HIDE || d.step == LOCK_UNTAINT)) {
		mark(op, e->name, usec_add(now_of(op), LATER_PAUSE));
		return true;
	}
	note_lock(op, e, &v, &d);
	switch (d.step) {
	case LOCK_REST: break;
	case LOCK_TAINT:
	case LOCK_CONFIRM:
	case LOCK_UNTAINT: write_node(op, e, node, &v, &d); return true;
	case LOCK_SHOW:
	case LOCK_HIDE: write_pod(op, e, pod, &v, &d); return true;
	}
	if (v.node.taint && remind(op, e, node, overlooked))
		return true;
	return pod &&
	       tell_blocked(op, e, node, pod,
	                    v.pod.state >= LOCK_LOCKED && lock_satisfies(&v.pod, v.pod.request) ? 0 : v.n_blockers,
	                    buf_text(&names));
}

/* ---- mirrors ---- */

static bool mirror(struct operator* op, struct node_entry *e, const struct knode *node, const struct pod *pod)
{
	struct node_mirror m;
	struct pod_mirror p = { 0 };
	struct kube_change change;

	if (pod)
		mirror_to_pod(pod, node, &p);
	if (p.n_annotations) {
		change = KUBE_CHANGE(pod_ref(pod));
		change.annotations = p.annotations;
		change.n_annotations = p.n_annotations;
		op->o.kube->ops->change(op->o.kube, &change, answered,
		                        begin(op, e, "tell the Pod of its Node", NULL, pod));
		return true;
	}
	mirror_to_node(node, pod, op->o.cluster, clock_wall(op->o.clock), &m);
	if (!m.n_labels && !m.n_annotations && !m.n_conditions)
		return false;
	change = KUBE_CHANGE(node_ref(node));
	if (m.n_labels + m.n_annotations) /* conditions alone: other writers of the Node need not matter */
		change.ref.resource_version = node->meta.resource_version;
	else
		change.ref.resource_version = NULL;
	change.labels = m.labels;
	change.n_labels = m.n_labels;
	change.annotations = m.annotations;
	change.n_annotations = m.n_annotations;
	change.conditions = m.conditions;
	change.n_conditions = m.n_conditions;
	op->o.kube->ops->change(op->o.kube, &change, answered,
	                        begin(op, e, "tell the Node of its Slurm node", node, NULL));
	return true;
}

/* ---- looking at one Node ---- */

/* The Pod that runs slurmd there: of several (one is being replaced) the one that stays, then the older. */
static const struct pod *nodeset_pod_on(const struct operator* op, const char *node)
{
	struct store_cursor cursor = { 0 };
	const struct pod *pod, *best = NULL;

	while ((pod = store_find(op->pods, POD_BY_NODE, node, &cursor))) {
		if (!pair_get(pod->meta.labels, pod->meta.n_labels, LABEL_NODESET) || pod->phase == POD_SUCCEEDED ||
		    pod->phase == POD_FAILED)
			continue;
		if (!best || (best->meta.deletion && !pod->meta.deletion) ||
		    (!best->meta.deletion == !pod->meta.deletion && pod->meta.created < best->meta.created))
			best = pod;
	}
	return best;
}

static bool is_settling(struct operator* op, struct node_entry *e, const struct knode *node, const struct pod *pod)
{
	if (!e->settle_node && !e->settle_pod)
		return false;
	if (now_of(op) < e->settle_until &&
	    ((e->settle_node && node && str_eq(e->settle_node, node->meta.resource_version)) ||
	     (e->settle_pod && pod && str_eq(e->settle_pod, pod->meta.resource_version)))) {
		mark(op, e->name, e->settle_until);
		return true;
	}
	free(e->settle_node);
	free(e->settle_pod);
	e->settle_node = e->settle_pod = NULL;
	return false;
}

static void look(struct operator* op, struct node_entry *e)
{
	const struct knode *node = store_get(op->nodes, NULL, e->name);
	const struct pod *pod = nodeset_pod_on(op, e->name);
	usec_t now = now_of(op);

	if (e->busy)
		return;
	if (!node) {
		if (!pod)
			entry_free(op, e);
		return;
	}
	if (is_settling(op, e, node, pod))
		return;
	if (now < e->not_before) {
		mark(op, e->name, e->not_before);
		return;
	}
	if (lock(op, e, node, pod))
		return;
	if (op->n_open < LATER_MAX)
		(void)mirror(op, e, node, pod);
	else
		mark(op, e->name, usec_add(now, LATER_PAUSE));
}

/* ---- */

usec_t operator_step(struct operator* op)
{
	usec_t now = now_of(op);
	unsigned n = 0;
	char *name;

	if (!op->leading)
		return USEC_NEVER;
	if (!store_synced(op->pods) || !store_synced(op->nodes))
		return usec_add(now, 100 * USEC_MSEC);
	while (n++ < NODES_PER_STEP && (name = dirty_take(&op->dirty, now))) {
		struct node_entry *e = map_get(&op->entries, name);

		if (e)
			look(op, e);
		free(name);
	}
	return dirty_next(&op->dirty);
}

void operator_leading(struct operator* op, bool leading)
{
	struct node_entry *e;
	size_t i = 0;

	if (op->leading == leading)
		return;
	op->leading = leading;
	op->term++;
	if (leading) /* another leader may have unlocked and locked meanwhile: old Pods beside new Nodes tell lies */
		op->o.kube->ops->refresh(op->o.kube);
	while (leading && (e = map_next(&op->entries, &i)))
		mark(op, e->name, 0);
	if (op->o.wake)
		op->o.wake(op->o.wake_arg);
}

bool operator_ready(const struct operator* op, struct err *ret_why)
{
	if (store_synced(op->pods) && store_synced(op->nodes))
		return true;
	err_set(ret_why, -EAGAIN, "%s have not been listed yet", store_synced(op->pods) ? "Nodes" : "Pods");
	return false;
}

static void numbers(struct operator* op)
{
	static const double bounds[] = { 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60 };
	struct metrics *m = op->o.metrics;

	if (!m)
		return;
	op->writes = metrics_counter(m, "sunk_operator_writes_total", "Writes to Nodes and NodeSet Pods.", NULL);
	op->locks = metrics_counter(m, "sunk_operator_locks_total", "Nodes locked for Slurm.", NULL);
	op->unlocks = metrics_counter(m, "sunk_operator_unlocks_total", "Nodes unlocked.", NULL);
	op->restored = metrics_counter(m, "sunk_operator_locks_restored_total",
	                               "Locks that someone had removed by hand.", NULL);
	op->reminded = metrics_counter(m, "sunk_operator_locks_reminded_total",
	                               "Locks put on anew because Kubernetes had not begun to evict.", NULL);
	op->retries = metrics_counter(m, "sunk_operator_retries_total", "Writes that had to be tried again.", NULL);
	op->lock_seconds =
	        metrics_histogram(m, "sunk_operator_lock_seconds", "From seeing a request to the Pod saying locked.",
	                          NULL, bounds, ARRAY_LEN(bounds));
}

struct operator* operator_new(const struct operator_options *o)
{
	struct operator* op = NEW(struct operator);

	op->o = *o;
	op->rng = o->seed ? rng_seeded(o->seed) : rng_from_kernel();
	op->pods = o->kube->ops->watch(o->kube, KUBE_PODS, NULL, NULL, NULL);
	op->nodes = o->kube->ops->watch(o->kube, KUBE_NODES, NULL, NULL, NULL);
	store_listen(op->pods, pod_changed, op);
	store_listen(op->nodes, node_changed, op);
	numbers(op);
	return op;
}

void operator_free(struct operator* op)
{
	struct node_entry *e;
	size_t i = 0;

	if (!op)
		return;
	while ((e = map_next(&op->entries, &i)))
		entry_free(op, e);
	map_done(&op->entries);
	dirty_done(&op->dirty);
	free(op);
}
