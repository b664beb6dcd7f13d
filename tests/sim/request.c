/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Requests of processes, as the port has them: they fail before their effect, after it, or it comes when the caller has given up.
 * What was sent arrives, also from a process that is dead by then.
 */
#include "tests/sim/world.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "model/volume.h"
#include "policy/nodeset.h"
#include "policy/rules.h"
#include "port/kinds.h"

#define LIST_MAX 64 /* elements of lists in one object */

enum op { OP_CHANGE, OP_BIND, OP_REMOVE, OP_MAKE };
static const char *const op_names[] = { "change", "bind", "delete", "make" };

struct call {
	uint64_t life;
	enum op op;
	char *ns, *name, *uid, *rv, *node;
	char *claim_ns, *claim_name, *claim_uid; /* of a volume: whom it is given to */
	enum kube_kind kind;
	int64_t grace;
	/* A change: a block with what it says, where the real thing has its fields. Its two halves are two requests. */
	struct pod *patch;
	struct knode *node_patch;
	struct nodeset *set_patch;
	struct nodeslice *slice_patch;
	bool evict, has_owner, has_finalizers, has_nodes, has_status; /* has_status: also conditions */
	int unschedulable; /* -1 = leave */
	bool has_tolerations, has_taints, effect_lost, answer_lost, has_main, main_done;
	uint64_t term;
	char new_rv[24];
	kube_done done;
	void *arg;
	enum kube_outcome outcome;
	bool maybe_done;
	const char *reason;
};

static void call_free(struct call *c)
{
	free(c->ns);
	free(c->name);
	free(c->uid);
	free(c->rv);
	free(c->node);
	free(c->claim_ns);
	free(c->claim_name);
	free(c->claim_uid);
	free(c->patch);
	free(c->node_patch);
	free(c->set_patch);
	free(c->slice_patch);
	free(c);
}

static void call_answered(struct world *w, struct ev *e)
{
	struct call *c = e->p;
	struct life *l = life_get(w, c->life);
	struct kpod *k;
	char message[256];
	struct kube_result r = {
		.outcome = c->outcome,
		.maybe_done = c->maybe_done,
		.reason = str_or(c->reason, ""),
		.message = message,
		.resource_version = c->outcome == KUBE_OK && *c->new_rv ? c->new_rv : NULL,
	};

	snprintf(message, sizeof(message), "%s %s: %s", op_names[c->op], c->name, str_or(c->reason, "ok"));
	if (c->op == OP_BIND && c->maybe_done && (k = pod_by_uid(w, c->uid)))
		k->bind_doubted = true;
	if (l && !l->dying)
		c->done(c->arg, &r);
	if (!e->a) /* a late effect is still to come, and frees it */
		call_free(c);
}

/* These tell whether anything is something else now. */
static bool merge_pairs(struct pair **pairs, uint32_t *n_pairs, const struct pair *patch, uint32_t n_patch,
                        struct pair list[LIST_MAX])
{
	uint32_t n = 0;
	bool changed = false;

	for (uint32_t k = 0; k < n_patch; k++)
		changed |= !str_eq(pair_get(*pairs, *n_pairs, patch[k].key), patch[k].value);

	for (uint32_t i = 0; i < *n_pairs && n < LIST_MAX; i++) {
		bool replaced = false;

		for (uint32_t k = 0; k < n_patch; k++)
			replaced |= str_eq(patch[k].key, (*pairs)[i].key);
		if (!replaced)
			list[n++] = (*pairs)[i];
	}
	for (uint32_t k = 0; k < n_patch && n < LIST_MAX; k++)
		if (patch[k].value)
			list[n++] = patch[k];
	*pairs = list;
	*n_pairs = n;
	return changed;
}

static bool same_condition(const struct condition *a, const struct condition *b)
{
	return a && a->status == b->status && a->changed / USEC_SEC == b->changed / USEC_SEC &&
	       str_eq(str_or(a->reason, ""), str_or(b->reason, "")) &&
	       str_eq(str_or(a->message, ""), str_or(b->message, ""));
}

static bool merge_conditions(struct condition **conditions, uint32_t *n_conditions, const struct condition *patch,
                             uint32_t n_patch, struct condition list[LIST_MAX])
{
	uint32_t n = 0;
	bool changed = false;

	for (uint32_t k = 0; k < n_patch; k++)
		changed |= !same_condition(condition_get(*conditions, *n_conditions, patch[k].type), &patch[k]);

	for (uint32_t i = 0; i < *n_conditions && n < LIST_MAX; i++)
		if (!condition_get(patch, n_patch, (*conditions)[i].type))
			list[n++] = (*conditions)[i];
	for (uint32_t k = 0; k < n_patch && n < LIST_MAX; k++)
		list[n++] = patch[k];
	*conditions = list;
	*n_conditions = n;
	return changed;
}

void pod_set_condition(struct world *w, struct kpod *k, const struct condition *c)
{
	struct pod p = *k->pod;
	struct condition list[LIST_MAX];

	if (merge_conditions(&p.conditions, &p.n_conditions, c, 1, list))
		pod_write(w, k, &p);
}

void pod_disrupted(struct world *w, struct kpod *k, const char *reason)
{
	pod_set_condition(w, k,
	                  &(struct condition) { .type = "DisruptionTarget",
	                                        .status = COND_TRUE,
	                                        .reason = reason,
	                                        .changed = clock_wall(&w->clock) });
}

/* The garbage collector of Pods whose Node is not there: nobody else will ever end them. */
void pod_collect(struct world *w, struct kpod *k)
{
	struct condition why = { .type = "DisruptionTarget",
		                 .status = COND_TRUE,
		                 .reason = "DeletionByPodGC",
		                 .changed = clock_wall(&w->clock) };
	struct condition list[LIST_MAX];
	struct pod p = *k->pod;

	if (!pod_ended(&p)) {
		(void)merge_conditions(&p.conditions, &p.n_conditions, &why, 1, list);
		p.phase = POD_FAILED;
		pod_write(w, k, &p);
	}
	pod_delete(w, k, 0);
}

static void pod_collected(struct world *w, struct ev *e)
{
	struct kpod *k = pod_by_number(w, e->a);

	if (k && kube_node_number(w, k->pod->node_name) < 0)
		pod_collect(w, k);
}

/* Which half of a change this is; in a world of the scheduler alone both at once. */
static bool main_half(const struct world *w, const struct call *c)
{
	return !w->whole || (c->has_main && !c->main_done);
}

static bool status_half(const struct world *w, const struct call *c)
{
	return !w->whole || !c->has_main || c->main_done;
}

static bool same_toleration(const struct toleration *a, const struct toleration *b)
{
	return str_eq(str_or(a->key, ""), str_or(b->key, "")) && str_eq(str_or(a->value, ""), str_or(b->value, "")) &&
	       a->op == b->op && a->effect == b->effect && a->has_seconds == b->has_seconds && a->seconds == b->seconds;
}

/* Those of `a` are all in `b`. */
static bool tolerations_kept(const struct pod *a, const struct pod *b)
{
	for (uint32_t i = 0; i < a->n_tolerations; i++) {
		bool kept = false;

		for (uint32_t k = 0; k < b->n_tolerations; k++)
			kept |= same_toleration(&a->tolerations[i], &b->tolerations[k]);
		if (!kept)
			return false;
	}
	return true;
}

static bool finalizers_kept(const struct meta *a, const struct meta *b)
{
	for (uint32_t i = 0; i < a->n_finalizers; i++) {
		bool kept = false;

		for (uint32_t k = 0; k < b->n_finalizers; k++)
			kept |= str_eq(a->finalizers[i], b->finalizers[k]);
		if (!kept)
			return false;
	}
	return true;
}

/* What of a Pod's metadata and spec may change. */
static enum kube_outcome change_pod_main(struct pod *p, const struct call *c, bool *ret_changed)
{
	const struct pod *patch = c->patch;

	if ((c->has_tolerations || c->has_finalizers) && !c->rv)
		return KUBE_REFUSED;
	if (c->has_tolerations && !tolerations_kept(p, patch))
		return KUBE_REFUSED; /* they are only added to */
	if (patch->active_deadline_s && p->active_deadline_s && patch->active_deadline_s > p->active_deadline_s)
		return KUBE_REFUSED;
	if (c->has_finalizers && p->meta.deletion && !finalizers_kept(&patch->meta, &p->meta))
		return KUBE_REFUSED; /* too late for new ones */
	if (c->has_tolerations) {
		*ret_changed |= !tolerations_kept(patch, p);
		p->tolerations = patch->tolerations;
		p->n_tolerations = patch->n_tolerations;
	}
	if (patch->active_deadline_s) {
		*ret_changed |= p->active_deadline_s != patch->active_deadline_s;
		p->active_deadline_s = patch->active_deadline_s;
	}
	if (c->has_finalizers) {
		*ret_changed |=
		        p->meta.n_finalizers != patch->meta.n_finalizers || !finalizers_kept(&p->meta, &patch->meta);
		p->meta.finalizers = patch->meta.finalizers;
		p->meta.n_finalizers = patch->meta.n_finalizers;
	}
	return KUBE_OK;
}

/* A change that changes nothing is none: no new version, no news. So is one that lets go of what is deleted: it is gone. */
static enum kube_outcome change_pod(struct world *w, struct kpod *k, const struct call *c)
{
	struct pod p = *k->pod;
	const struct pod *patch = c->patch;
	bool marked = pod_note(k, ANNOTATION_PENDING_DELETION) != NULL;
	struct pair annotations[LIST_MAX], labels[LIST_MAX];
	struct condition conditions[LIST_MAX];
	enum kube_outcome r = KUBE_OK;
	bool changed = false;

	if (c->rv && !str_eq(c->rv, p.meta.resource_version))
		return KUBE_CONFLICT;
	if (main_half(w, c)) {
		changed |= merge_pairs(&p.meta.annotations, &p.meta.n_annotations, patch->meta.annotations,
		                       patch->meta.n_annotations, annotations);
		changed |=
		        merge_pairs(&p.meta.labels, &p.meta.n_labels, patch->meta.labels, patch->meta.n_labels, labels);
		r = change_pod_main(&p, c, &changed);
	}
	if (main_half(w, c) && c->has_owner && !p.meta.n_owners) {
		changed = true;
		p.meta.owners = patch->meta.owners;
		p.meta.n_owners = patch->meta.n_owners;
	}
	if (r == KUBE_OK && status_half(w, c))
		changed |= merge_conditions(&p.conditions, &p.n_conditions, patch->conditions, patch->n_conditions,
		                            conditions);
	if (r != KUBE_OK || !changed)
		return r;
	if (p.meta.deletion && !p.meta.deletion_grace_s && !p.meta.n_finalizers) {
		pod_vanishes(w, k);
		return KUBE_OK;
	}
	pod_write(w, k, &p);
	if (k->nodeset && !pod_note(k, ANNOTATION_PENDING_DELETION) == marked)
		nodeset_check_mark(w, k, c->life);
	return KUBE_OK;
}

static bool same_taints(const struct knode *a, const struct knode *b)
{
	bool same = a->n_taints == b->n_taints;

	for (uint32_t i = 0; same && i < a->n_taints; i++)
		same = str_eq(a->taints[i].key, b->taints[i].key) &&
		       str_eq(str_or(a->taints[i].value, ""), str_or(b->taints[i].value, "")) &&
		       a->taints[i].effect == b->taints[i].effect && a->taints[i].added == b->taints[i].added;
	return same;
}

static enum kube_outcome change_node(struct world *w, unsigned i, const struct call *c)
{
	struct knode n = *w->api.nodes[i].node;
	const struct knode *patch = c->node_patch;
	struct pair annotations[LIST_MAX], labels[LIST_MAX];
	struct condition conditions[LIST_MAX];
	bool changed = false;

	if (c->rv && !str_eq(c->rv, n.meta.resource_version))
		return KUBE_CONFLICT;
	if (main_half(w, c)) {
		changed |= merge_pairs(&n.meta.annotations, &n.meta.n_annotations, patch->meta.annotations,
		                       patch->meta.n_annotations, annotations);
		changed |=
		        merge_pairs(&n.meta.labels, &n.meta.n_labels, patch->meta.labels, patch->meta.n_labels, labels);
		changed |= c->unschedulable >= 0 && n.unschedulable != (c->unschedulable > 0);
		if (c->unschedulable >= 0)
			n.unschedulable = c->unschedulable > 0;
	}
	if (main_half(w, c) && c->has_taints) {
		bool was = node_locked(w, i);

		if (!c->rv)
			return KUBE_REFUSED;
		changed |= !same_taints(&n, patch);
		n.taints = patch->taints;
		n.n_taints = patch->n_taints;
		for (uint32_t t = 0; t < n.n_taints; t++)
			w->counts.locks += !was && str_eq(n.taints[t].key, TAINT_LOCK);
		w->counts.unlocks += was && n.n_taints < w->api.nodes[i].node->n_taints;
	}
	if (status_half(w, c) && patch->n_conditions) { /* also when it was told before: there is the time of telling */
		(void)merge_conditions(&n.conditions, &n.n_conditions, patch->conditions, patch->n_conditions,
		                       conditions);
		changed = true;
	}
	if (changed)
		node_write(w, i, &n);
	return KUBE_OK;
}

static enum kube_outcome bind_pod(struct world *w, struct kpod *k, const struct call *c)
{
	struct pod p = *k->pod;
	struct condition conditions[LIST_MAX];
	int node = kube_node_number(w, c->node);
	struct condition scheduled = { .type = "PodScheduled", .status = COND_TRUE, .changed = clock_wall(&w->clock) };

	if (p.node_name)
		return str_eq(p.node_name, c->node) ? KUBE_OK : KUBE_CONFLICT;
	if (p.meta.deletion || p.n_gates || pod_ended(&p))
		return KUBE_CONFLICT;
	check_bind(w, k, c->node);
	merge_conditions(&p.conditions, &p.n_conditions, &scheduled, 1, conditions);
	p.node_name = c->node;
	k->bound = w->now;
	w->counts.binds++;
	pod_write(w, k, &p);
	kubelet_look(w, k, 0);
	if (node < 0) /* the API server does not look */
		in(w, span(w, 40 * USEC_SEC, 80 * USEC_SEC), pod_collected, k->number, 0, NULL);
	else if (w->whole)
		taints_look(w, (unsigned)node);
	return KUBE_OK;
}

static enum kube_outcome change_storage(struct world *w, struct call *c)
{
	struct kube_ref ref = {
		.kind = c->kind, .ns = c->ns, .name = c->name, .uid = c->uid, .resource_version = c->rv
	};
	struct meta claim = { .ns = c->claim_ns, .name = c->claim_name, .uid = c->claim_uid };
	const char *rv = "";
	enum kube_outcome r = storage_change(w, &ref, &claim, c->node, &rv);

	str_copy(c->new_rv, sizeof(c->new_rv), rv);
	return r;
}

static void call_arrives(struct world *w, struct ev *e);

/* The first half is done: now its conditions, when whoever asked still lives and leads. */
static bool second_half(struct world *w, struct call *c)
{
	struct life *l = life_get(w, c->life);

	if (c->op != OP_CHANGE || !w->whole || !c->has_main || c->main_done || !c->has_status)
		return false;
	if (!l || l->dying || !life_effect(l)) {
		call_free(c);
		return true;
	}
	c->main_done = true;
	if (c->rv) {
		free(c->rv);
		c->rv = mem_strdup(c->new_rv);
	}
	if (l->gate.term != c->term || !gate_open(&l->gate, w->now)) {
		c->outcome = KUBE_NOT_LEADER;
		c->maybe_done = true;
		in(w, 0, call_answered, 0, 0, c);
	} else if (fault_hits(w, FAULT_KUBE_FAIL, 60) || w->now < l->partitioned_until) {
		c->outcome = KUBE_RETRY;
		c->maybe_done = true;
		c->reason = "503";
		in(w, span(w, USEC_MSEC, 20 * USEC_MSEC), call_answered, 0, 0, c);
	} else {
		in(w, span(w, 2 * USEC_MSEC, fault_hits(w, FAULT_KUBE_SLOW, 100) ? 3 * USEC_SEC : 40 * USEC_MSEC),
		   call_arrives, 0, 0, c);
	}
	return true;
}

/* NodeSets and their slices. */
static enum kube_outcome set_request(struct world *w, const struct call *c)
{
	const struct meta *is = nodeset_object(w, c->kind, c->name);

	if (c->op == OP_MAKE)
		return nodeset_make_slice(w, c->slice_patch);
	if (!is || (c->uid && !str_eq(c->uid, is->uid)))
		return KUBE_NOT_FOUND;
	if (c->rv && !str_eq(c->rv, is->resource_version))
		return KUBE_CONFLICT;
	if (c->op == OP_REMOVE)
		nodeset_remove_slice(w, c->name);
	else if (c->kind == KUBE_NODESLICES)
		nodeset_change_slice(w, c->name, c->slice_patch);
	else
		nodeset_change_set(w, c->set_patch, c->has_finalizers && main_half(w, c),
		                   c->has_status && status_half(w, c));
	return KUBE_OK;
}

static const char *version_of(struct world *w, const struct call *c)
{
	const struct kpod *k = c->kind == KUBE_PODS ? pod_by_name(w, c->ns, c->name) : NULL;
	int node = c->kind == KUBE_NODES ? kube_node_number(w, c->name) : -1;
	const struct meta *m = c->kind == KUBE_NODESETS || c->kind == KUBE_NODESLICES
	                               ? nodeset_object(w, c->kind, c->name)
	                       : node >= 0 ? &w->api.nodes[node].node->meta
	                       : k         ? &k->pod->meta
	                                   : NULL;

	return m ? m->resource_version : "";
}

static bool has_node(const struct world *w, int i, const char *uid)
{
	return i >= 0 && !w->api.nodes[i].gone && (!uid || str_eq(uid, w->api.nodes[i].node->meta.uid));
}

static void call_arrives(struct world *w, struct ev *e)
{
	struct call *c = e->p;
	struct kpod *k = c->kind == KUBE_PODS ? pod_by_name(w, c->ns, c->name) : NULL;
	int node = c->kind == KUBE_NODES ? kube_node_number(w, c->name) : -1;

	str_copy(c->new_rv, sizeof(c->new_rv), version_of(w, c));
	if (c->kind == KUBE_NODESETS || c->kind == KUBE_NODESLICES)
		c->outcome = set_request(w, c);
	else if (c->kind == KUBE_CLAIMS || c->kind == KUBE_VOLUMES)
		c->outcome = change_storage(w, c);
	else if (c->kind == KUBE_NODES && !has_node(w, node, c->uid))
		c->outcome = KUBE_NOT_FOUND;
	else if (node >= 0)
		c->outcome = change_node(w, (unsigned)node, c);
	else if (c->op == OP_MAKE)
		c->outcome = nodeset_make_pod(w, c->patch);
	else if (!k || (c->uid && !str_eq(c->uid, k->pod->meta.uid)))
		c->outcome = KUBE_NOT_FOUND;
	else if (c->rv && c->op == OP_REMOVE && !str_eq(c->rv, k->pod->meta.resource_version))
		c->outcome = KUBE_CONFLICT;
	else if (c->op == OP_CHANGE)
		c->outcome = change_pod(w, k, c);
	else if (c->op == OP_BIND)
		c->outcome = bind_pod(w, k, c);
	else {
		c->outcome = KUBE_OK;
		check_remove(w, k);
		w->counts.deletes++;
		if (c->evict)
			pod_disrupted(w, k, "EvictionByEvictionAPI");
		pod_delete(w, k, c->grace);
	}
	say(w, "life %llu: %s %s%s%s → %d%s", (unsigned long long)c->life, op_names[c->op], c->name,
	    c->node ? " to " : "", str_or(c->node, ""), c->outcome, c->answer_lost ? " (nobody hears it)" : "");
	if (c->outcome == KUBE_OK && c->op == OP_CHANGE && *version_of(w, c)) /* it may be gone: then as it was */
		str_copy(c->new_rv, sizeof(c->new_rv), version_of(w, c));
	if (e->a) { /* the answer was given long ago */
		call_free(c);
		return;
	}
	if (c->outcome == KUBE_OK && second_half(w, c))
		return;
	c->reason = c->outcome == KUBE_OK ? NULL : "it is not as it was";
	if (c->answer_lost) {
		c->outcome = KUBE_RETRY;
		c->maybe_done = true;
		c->reason = "connection lost";
		in(w, span(w, USEC_MSEC, 3 * USEC_SEC), call_answered, 0, 0, c);
	} else {
		in(w, span(w, USEC_MSEC, fault_hits(w, FAULT_KUBE_SLOW, 100) ? 3 * USEC_SEC : 20 * USEC_MSEC),
		   call_answered, 0, 0, c);
	}
}

static void call_sent(struct life *l, struct call *c)
{
	struct world *w = l->w;
	usec_t takes = span(w, USEC_MSEC, 20 * USEC_MSEC);

	if (!life_effect(l)) {
		call_free(c);
		return;
	}
	c->life = l->serial;
	c->term = l->gate.term;
	c->outcome = KUBE_RETRY;
	w->counts.writes++;
	if (!gate_open(&l->gate, w->now)) {
		c->outcome = KUBE_NOT_LEADER;
		c->reason = "not the leader";
		in(w, 0, call_answered, 0, 0, c);
	} else if (w->now < l->partitioned_until) {
		c->reason = "no route";
		c->maybe_done = chance(w, 500);
		in(w, span(w, USEC_MSEC, 5 * USEC_SEC), call_answered, 0, 0, c);
	} else if (fault_hits(w, FAULT_KUBE_FAIL, 60)) {
		c->reason = "503";
		c->maybe_done = chance(w, 500);
		in(w, takes, call_answered, 0, 0, c);
	} else if (fault_hits(w, FAULT_KUBE_FAIL, 30)) { /* the effect comes when the caller has given up */
		c->reason = "timeout";
		c->maybe_done = true;
		takes = span(w, USEC_MSEC, USEC_SEC);
		in(w, takes, call_answered, 1, 0, c);
		in(w, takes + span(w, 1, USEC_SEC), call_arrives, 1, 0, c);
	} else {
		c->answer_lost = fault_hits(w, FAULT_KUBE_FAIL, 60);
		if (fault_hits(w, FAULT_KUBE_SLOW, 100))
			takes = span(w, USEC_MSEC, 2 * USEC_SEC);
		if (l->role != ROLE_SCHEDULER && fault_hits(w, FAULT_LATE, 20))
			takes = span(w, USEC_SEC, 60 * USEC_SEC);
		in(w, takes, call_arrives, 0, 0, c);
	}
}

static struct life *life_of(struct kube_port *p)
{
	return CONTAINER_OF(p, struct life, kube);
}

static struct call *call_new(enum op op, const struct kube_ref *ref, kube_done done, void *arg)
{
	struct call *c = NEW(struct call);

	c->unschedulable = -1;
	assert(ref->kind == KUBE_PODS || ref->kind == KUBE_NODESLICES || op == OP_CHANGE);
	c->kind = ref->kind;
	c->op = op;
	c->ns = mem_strdup(ref->ns);
	c->name = mem_strdup(ref->name);
	c->uid = mem_strdup(ref->uid);
	c->rv = mem_strdup(ref->resource_version);
	c->done = done;
	c->arg = arg;
	return c;
}

static struct store *port_watch(struct kube_port *p, enum kube_kind kind, const char *ns, const char *label_selector,
                                const char *field_selector)
{
	struct life *l = life_of(p);
	struct stream *s = stream_of(l, kind);

	assert(!field_selector && object_size(kind));
	if (!s->watched) {
		s->ns = ns; /* both are literals */
		s->label = label_selector;
		s->watched = true;
		s->kind = kind;
		s->store = store_new(store_kind_of(kind));
		stream_begin(l->w, l, (unsigned)(s - l->streams), span(l->w, USEC_MSEC, USEC_SEC));
	}
	return s->store;
}

static void port_refresh(struct kube_port *p)
{
	struct life *l = life_of(p);

	for (unsigned i = 0; i < STREAMS; i++)
		if (l->streams[i].watched) {
			store_doubt(l->streams[i].store);
			stream_begin(l->w, l, i, span(l->w, USEC_MSEC, 50 * USEC_MSEC));
		}
}

static void port_change(struct kube_port *p, const struct kube_change *change, kube_done done, void *arg)
{
	struct call *c = call_new(OP_CHANGE, &change->ref, done, arg);
	struct meta meta = { .annotations = (struct pair *)change->annotations,
		             .labels = (struct pair *)change->labels,
		             .owners = (struct owner *)change->owner,
		             .n_annotations = (uint32_t)change->n_annotations,
		             .n_labels = (uint32_t)change->n_labels,
		             .n_owners = change->owner ? 1 : 0 };
	struct condition *conditions = (struct condition *)change->conditions;
	uint32_t n_conditions = (uint32_t)change->n_conditions;
	size_t size;

	if (c->kind == KUBE_CLAIMS || c->kind == KUBE_VOLUMES) {
		c->node = mem_strdup(
		        pair_get(change->annotations, (uint32_t)change->n_annotations, ANNOTATION_SELECTED_NODE));
		c->claim_ns = change->claim ? mem_strdup(change->claim->ns) : NULL;
		c->claim_name = change->claim ? mem_strdup(change->claim->name) : NULL;
		c->claim_uid = change->claim ? mem_strdup(change->claim->uid) : NULL;
		call_sent(life_of(p), c);
		return;
	}
	c->has_tolerations = change->n_tolerations >= 0;
	c->has_taints = change->n_taints >= 0;
	c->has_finalizers = change->n_finalizers >= 0;
	c->has_nodes = change->n_nodes >= 0;
	c->has_owner = change->owner != NULL;
	c->has_status = n_conditions || change->nodeset_status;
	c->has_main = meta.n_annotations || meta.n_labels || c->has_tolerations || c->has_taints || c->has_finalizers ||
	              c->has_nodes || c->has_owner || change->unschedulable >= 0 || change->active_deadline_s;
	if (c->has_finalizers) {
		meta.finalizers = (const char **)change->finalizers;
		meta.n_finalizers = (uint32_t)change->n_finalizers;
	}
	c->unschedulable = change->unschedulable;
	if (c->kind == KUBE_PODS)
		c->patch = object_copy(
		        KUBE_PODS,
		        &(struct pod) { .meta = meta,
		                        .tolerations = (struct toleration *)change->tolerations,
		                        .n_tolerations = c->has_tolerations ? (uint32_t)change->n_tolerations : 0,
		                        .active_deadline_s = change->active_deadline_s,
		                        .conditions = conditions,
		                        .n_conditions = n_conditions },
		        &size);
	else if (c->kind == KUBE_NODES)
		c->node_patch =
		        object_copy(KUBE_NODES,
		                    &(struct knode) { .meta = meta,
		                                      .taints = (struct taint *)change->taints,
		                                      .n_taints = c->has_taints ? (uint32_t)change->n_taints : 0,
		                                      .conditions = conditions,
		                                      .n_conditions = n_conditions },
		                    &size);
	else if (c->kind == KUBE_NODESETS)
		c->set_patch = object_copy(KUBE_NODESETS,
		                           &(struct nodeset) { .meta = meta,
		                                               .status = change->nodeset_status
		                                                                 ? *change->nodeset_status
		                                                                 : (struct nodeset_status) { 0 },
		                                               .conditions = conditions,
		                                               .n_conditions = n_conditions },
		                           &size);
	else
		c->slice_patch = object_copy(KUBE_NODESLICES,
		                             &(struct nodeslice) { .meta = meta,
		                                                   .nodes = (const char **)change->nodes,
		                                                   .n_nodes = (uint32_t)change->n_nodes },
		                             &size);
	call_sent(life_of(p), c);
}

static void port_make(struct kube_port *p, const struct kube_make *make, kube_done done, void *arg)
{
	struct call *c = call_new(OP_MAKE, &make->ref, done, arg);
	struct meta meta = { .ns = make->ref.ns,
		             .name = make->ref.name,
		             .labels = (struct pair *)make->labels,
		             .annotations = (struct pair *)make->annotations,
		             .owners = (struct owner *)make->owner,
		             .n_labels = (uint32_t)make->n_labels,
		             .n_annotations = (uint32_t)make->n_annotations,
		             .n_owners = 1 };
	const char *pin = make->pin;
	struct requirement pinned = { .key = "metadata.name", .op = SEL_IN, .values = &pin, .n_values = 1 };
	struct selector_term term = { .fields = &pinned, .n_fields = 1 };
	size_t size;

	if (c->kind == KUBE_PODS)
		c->patch = object_copy(KUBE_PODS,
		                       &(struct pod) { .meta = meta,
		                                       .phase = POD_PENDING,
		                                       .scheduler_name = "default-scheduler",
		                                       .required_nodes = &term,
		                                       .n_required_nodes = 1,
		                                       .has_required = true,
		                                       .tolerations = (struct toleration *)make->tolerations,
		                                       .n_tolerations = (uint32_t)make->n_tolerations,
		                                       .has_grace = true,
		                                       .grace_s = 5 },
		                       &size);
	else
		c->slice_patch = object_copy(KUBE_NODESLICES,
		                             &(struct nodeslice) { .meta = meta,
		                                                   .nodeset = make->nodeset,
		                                                   .nodes = (const char **)make->nodes,
		                                                   .n_nodes = (uint32_t)make->n_nodes },
		                             &size);
	call_sent(life_of(p), c);
}

static void port_bind(struct kube_port *p, const struct kube_ref *pod, const char *node, kube_done done, void *arg)
{
	struct call *c = call_new(OP_BIND, pod, done, arg);

	c->node = mem_strdup(node);
	call_sent(life_of(p), c);
}

static void port_remove(struct kube_port *p, const struct kube_ref *ref, int64_t grace_s, kube_done done, void *arg)
{
	struct call *c = call_new(OP_REMOVE, ref, done, arg);

	c->grace = grace_s;
	call_sent(life_of(p), c);
}

static void port_evict(struct kube_port *p, const struct kube_ref *ref, int64_t grace_s, kube_done done, void *arg)
{
	struct call *c = call_new(OP_REMOVE, ref, done, arg);

	c->evict = true;
	c->grace = grace_s;
	call_sent(life_of(p), c);
}

/* A read: no gate, no effect, and its answer is of the moment it arrives. */
struct look {
	uint64_t life;
	char *ns, *name, *uid;
	kube_got got;
	void *arg;
};

static void looked(struct world *w, struct ev *e)
{
	struct look *k = e->p;
	struct life *l = life_get(w, k->life);
	const struct kpod *pod = pod_by_name(w, k->ns, k->name);
	struct kube_result r = { .outcome = KUBE_OK, .reason = "", .message = "get" };

	if (l && (w->now < l->partitioned_until || fault_hits(w, FAULT_KUBE_FAIL, 60)))
		r.outcome = KUBE_RETRY;
	else if (!pod || (k->uid && !str_eq(k->uid, pod->pod->meta.uid)))
		r.outcome = KUBE_NOT_FOUND;
	if (l && !l->dying)
		k->got(k->arg, &r, r.outcome == KUBE_OK ? pod->pod : NULL);
	free(k->ns);
	free(k->name);
	free(k->uid);
	free(k);
}

static void port_get(struct kube_port *p, const struct kube_ref *ref, kube_got got, void *arg)
{
	struct life *l = life_of(p);
	struct look *k = NEW(struct look);

	assert(ref->kind == KUBE_PODS);
	*k = (struct look) { l->serial, mem_strdup(ref->ns), mem_strdup(ref->name), mem_strdup(ref->uid), got, arg };
	in(l->w, span(l->w, 2 * USEC_MSEC, fault_hits(l->w, FAULT_KUBE_SLOW, 100) ? 3 * USEC_SEC : 40 * USEC_MSEC),
	   looked, 0, 0, k);
}

static void port_create(struct kube_port *p, enum kube_kind kind, const char *ns, const char *json, kube_done done,
                        void *arg)
{
	(void)p, (void)kind, (void)ns, (void)json, (void)done, (void)arg;
	assert(!"not modelled yet");
}

static void port_event(struct kube_port *p, const struct kube_event *event)
{
	struct life *l = life_of(p);

	say(l->w, "life %llu: event on %s: %s: %s", (unsigned long long)l->serial, event->about.name, event->reason,
	    event->message);
}

void kube_port_init(struct life *l)
{
	static const struct kube_port_ops ops = { .watch = port_watch,
		                                  .refresh = port_refresh,
		                                  .get = port_get,
		                                  .change = port_change,
		                                  .bind = port_bind,
		                                  .evict = port_evict,
		                                  .remove = port_remove,
		                                  .create = port_create,
		                                  .make = port_make,
		                                  .event = port_event };

	l->kube.ops = &ops;
}

void kube_life_ends(struct life *l)
{
	for (unsigned i = 0; i < STREAMS; i++)
		store_free(l->streams[i].store);
}
