/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/nodeset_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/drain.h"
#include "policy/room.h"
#include "policy/selector.h"
#include "policy/taints.h"

/* In this order they are given up. */
enum rank { RANK_NOT_READY, RANK_IDLE, RANK_DRAINING, RANK_RUNNING };

struct row { /* one Pod of the set */
	const struct pod *pod;
	const struct nodeset_node *at; /* NULL: its Node is gone, or it has none */
	enum rank rank;
	bool marked, ready, over, leaving; /* over: finished; leaving: Kubernetes deletes it already */
	bool going;      /* it is not to be there */
	bool replaced;   /* … and another comes in its place */
	const char *why;
};

struct plan {
	const struct nodeset_view *v;
	struct map by_name;    /* Nodes */
	struct row *rows;      /* in the order in which they are given up */
	size_t n_rows;
	bool *has_pod, *has_kept, *fits; /* by number of the Node */
	int32_t target, stay;
	struct nodeset_step *steps;
	size_t n_steps, max;
	struct nodeset_outlook *o;
};

/* ---- one Pod ---- */

static const struct condition *says(const struct pod *p, const char *type)
{
	return condition_get(p->conditions, p->n_conditions, type);
}

static bool is_true(const struct pod *p, const char *type)
{
	const struct condition *c = says(p, type);

	return c && c->status == COND_TRUE;
}

static bool is_unbound(const struct pod *p)
{
	return str_empty(p->node_name) && p->phase == POD_PENDING;
}

enum safety { SAFE, BUSY, UNSURE };

static const char *note(const struct pod *p, const char *key)
{
	return pair_get(p->meta.annotations, p->meta.n_annotations, key);
}

/* May a marked Pod be deleted? What Slurm said before the mark does not count: a drain may have been lifted, a job started since.
 * What it said after that may be old, too: a node that is down comes back by itself (ReturnToService), one that is not there
 * registers, a person lifts a drain. But no job gets past its prolog without a request for the lock on this Pod. Where there is none,
 * one that comes makes another version of the Pod, which the delete does not touch. */
static enum safety safe_to_delete(const struct pod *p)
{
	static const char *const to_go[] = { REASON_DRAINED_TO_GO, REASON_DOWN_TO_GO, REASON_ABSENT_TO_GO };
	const struct condition *drain = says(p, CONDITION_DRAIN);

	if (note(p, ANNOTATION_FORCE_DELETE))
		return SAFE;
	if (note(p, ANNOTATION_LOCK_REQUEST))
		return BUSY;
	if (!drain && !says(p, CONDITION_RUNNING))
		return p->phase == POD_PENDING ? SAFE : UNSURE; /* slurmd has not begun */
	if (!drain || is_true(p, CONDITION_RUNNING))
		return BUSY;
	for (size_t i = 0; i < ARRAY_LEN(to_go); i++)
		if (str_eq(drain->reason, to_go[i]))
			return SAFE;
	return BUSY;
}

const char *nodeset_foreign_drain(const struct pod *p)
{
	const struct condition *drain = says(p, CONDITION_DRAIN);

	if (!drain || drain->status != COND_TRUE || str_starts(str_or(drain->message, ""), DRAIN_PREFIX))
		return NULL;
	return str_or(drain->message, "");
}

static enum rank rank_of(const struct pod *p)
{
	const struct condition *running = says(p, CONDITION_RUNNING);

	if (running && running->status == COND_TRUE)
		return !pod_is_ready(p) ? RANK_NOT_READY : is_true(p, CONDITION_DRAIN) ? RANK_DRAINING : RANK_RUNNING;
	return pod_is_ready(p) ? RANK_IDLE : RANK_NOT_READY;
}

/* Those to be given up first are first; among equals those that are marked already, then the newer. */
static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->marked != y->marked)
		return x->marked ? -1 : 1;
	if (x->pod->meta.created != y->pod->meta.created)
		return x->pod->meta.created > y->pod->meta.created ? -1 : 1;
	return strcmp(y->pod->meta.name, x->pod->meta.name);
}

bool nodeset_has(const struct nodeset *set, const struct pod *p)
{
	const struct owner *controller = meta_controller(&p->meta);

	if (controller)
		return str_eq(controller->uid, set->meta.uid);
	return !set->meta.deletion && p->meta.n_owners == 0 &&
	       str_eq(pair_get(p->meta.labels, p->meta.n_labels, LABEL_NODESET), set->meta.name);
}

/* ---- one Node ---- */

static bool matches(const struct nodeset *set, const struct knode *node)
{
	return pod_selects(&set->select, node, NULL) && pod_selects(&set->shape, node, NULL);
}

static bool always_tolerated(const struct taint *t)
{
	return str_eq(t->key, TAINT_LOCK) || str_eq(t->key, TAINT_CORDON) ||
	       (t->effect == EFFECT_NO_EXECUTE &&
	        (str_eq(t->key, "node.kubernetes.io/not-ready") || str_eq(t->key, "node.kubernetes.io/unreachable")));
}

static bool tolerated(const struct nodeset *set, const struct knode *node)
{
	for (uint32_t i = 0; i < node->n_taints; i++) {
		const struct taint *t = &node->taints[i];

		if (t->effect != EFFECT_PREFER_NO_SCHEDULE && !always_tolerated(t) &&
		    !taint_tolerated(&set->select, t) && !taint_tolerated(&set->shape, t))
			return false;
	}
	return true;
}

static void look_at_nodes(struct plan *p)
{
	const struct nodeset *set = p->v->set;
	_cleanup_asks_ struct asks asks = { 0 };
	struct shortage s;

	asks_init(&asks, &set->shape);
	for (size_t i = 0; i < p->v->n_nodes; i++) {
		const struct nodeset_node *n = &p->v->nodes[i];

		map_put(&p->by_name, n->node->meta.name, (void *)n);
		p->fits[i] = matches(set, n->node) && tolerated(set, n->node) && room_ever(&asks, n->node, &s);
		p->o->n_taken += p->fits[i] && n->taken;
		p->fits[i] &= !n->taken;
	}
}

/* ---- who goes ---- */

/* Of a set that is half understood, no Pod is taken away that is there and in its place. */
static bool is_strange(const struct nodeset *set)
{
	return *set->strange;
}

static void go(struct row *r, const char *why)
{
	r->going = true;
	r->why = why;
}

static void look_at_pods(struct plan *p)
{
	for (size_t i = 0; i < p->v->n_pods; i++) {
		const struct pod *pod = p->v->pods[i];
		const char *node = nodeset_pod_node(pod);

		if (!nodeset_has(p->v->set, pod))
			continue;
		p->rows[p->n_rows++] = (struct row) {
			.pod = pod,
			.at = node ? map_get(&p->by_name, node) : NULL,
			.rank = rank_of(pod),
			.marked = note(pod, ANNOTATION_PENDING_DELETION) != NULL,
			.ready = pod_is_ready(pod),
			.over = pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED,
			.leaving = pod->meta.deletion != 0,
		};
	}
	if (p->n_rows)
		qsort(p->rows, p->n_rows, sizeof(*p->rows), compare_rows);
}

/* Backwards: of two on one Node, the one that would be given up later stays. */
static void send_those_out_of_place(struct plan *p)
{
	bool may = !is_strange(p->v->set);

	for (size_t i = p->n_rows; i-- > 0;) {
		struct row *r = &p->rows[i];
		size_t n = r->at ? (size_t)(r->at - p->v->nodes) : 0;

		if (r->over || r->leaving) {
			go(r, "is over");
		} else if (p->v->set->meta.deletion) {
			go(r, "the NodeSet is being deleted");
		} else if (!r->at) {
			go(r, "its Node is gone");
		} else if (may && !matches(p->v->set, r->at->node)) {
			go(r, "its Node no longer matches the NodeSet");
			p->o->status.misscheduled++;
		} else if (may && p->has_kept[n]) {
			go(r, "another Pod of the NodeSet is on its Node");
		} else {
			p->has_kept[n] = true;
			p->stay++;
		}
		if (r->at)
			p->has_pod[n] = true; /* no other is made there before this one is gone */
	}
}

static bool long_unready(const struct plan *p, const struct row *r)
{
	const struct condition *c = says(r->pod, "Ready");
	usec_t since = c && c->changed ? c->changed : r->pod->meta.created;

	return !r->ready && p->v->now > usec_add(since, NODESET_STAND_IN);
}

static void set_target(struct plan *p)
{
	const struct nodeset *set = p->v->set;
	struct nodeset_status *s = &p->o->status;
	int64_t extra = 0;

	for (size_t i = 0; i < p->v->n_nodes; i++) {
		if (!p->fits[i])
			continue;
		if (p->v->nodes[i].node->unschedulable && !p->has_pod[i])
			p->o->n_cordoned++;
		else
			s->feasible++;
	}
	for (size_t i = 0; i < p->n_rows; i++)
		extra += !p->rows[i].going && long_unready(p, &p->rows[i]);
	extra = MIN_OF(extra, (int64_t)set->over_provision);
	if (set->meta.deletion)
		s->desired = p->target = 0;
	else if (set->unreadable)
		s->desired = p->target = p->stay;
	else if (!set->has_replicas)
		s->desired = p->target = MAX_OF(s->feasible, p->stay); /* a taint that came later takes none away */
	else {
		s->desired = set->replicas;
		p->target = (int32_t)MIN_OF((int64_t)set->replicas + extra, (int64_t)INT32_MAX);
	}
}

static void send_surplus(struct plan *p)
{
	for (size_t i = 0; i < p->n_rows && p->stay > p->target && !is_strange(p->v->set); i++) {
		if (p->rows[i].going)
			continue;
		go(&p->rows[i], "scaled down");
		p->stay--;
	}
}

static bool is_unknown_to_slurm(const struct plan *p, const struct row *r)
{
	const struct condition *c = says(r->pod, CONDITION_RUNNING);

	return r->ready && c && c->status == COND_UNKNOWN && c->changed &&
	       p->v->now > usec_add(c->changed, NODESET_UNKNOWN_MAX);
}

static int32_t wanted_now(const struct plan *p)
{
	return MIN_OF(p->target, MAX_OF(p->o->status.feasible, p->stay));
}

static void send_unknown(struct plan *p)
{
	int32_t may = nodeset_max_unavailable(p->v->set->max_unavailable, wanted_now(p));

	for (size_t i = 0; i < p->n_rows && may > 0 && !is_strange(p->v->set); i++) {
		struct row *r = &p->rows[i];

		if (r->going || !is_unknown_to_slurm(p, r))
			continue;
		go(r, "Slurm does not have its node");
		r->replaced = true;
		may--;
	}
}

static const char *revision_of(const struct row *r)
{
	return pair_get(r->pod->meta.labels, r->pod->meta.n_labels, LABEL_REVISION);
}

/* Whether it is of the template as it is now, only the version that made it can tell. */
static bool is_foreign(const struct row *r)
{
	const char *revision = revision_of(r);

	return !str_empty(revision) && !nodeset_is_revision(revision);
}

static bool is_old(const struct plan *p, const struct row *r)
{
	return !r->going && !is_foreign(r) && !str_eq(revision_of(r), p->o->revision);
}

static void replace(struct row *r)
{
	go(r, "updated");
	r->replaced = true;
}

bool nodeset_is_rolling(const struct nodeset *set)
{
	return set->update == UPDATE_ROLLING || !set->has_update;
}

/* Those that are away already cost nothing; then as many as may be away. */
static void send_old(struct plan *p)
{
	int32_t wanted = wanted_now(p), away = MAX_OF(wanted - p->stay, 0);
	int32_t may = nodeset_max_unavailable(p->v->set->max_unavailable, wanted);

	if (!nodeset_is_rolling(p->v->set) || is_strange(p->v->set))
		return;
	for (size_t i = 0; i < p->n_rows; i++) {
		struct row *r = &p->rows[i];

		if (r->going)
			continue;
		away += !r->ready || (r->marked && is_old(p, r));
		if (is_old(p, r) && (!r->ready || r->marked))
			replace(r);
	}
	for (size_t i = 0; i < p->n_rows && away < may; i++) {
		if (!is_old(p, &p->rows[i]))
			continue;
		replace(&p->rows[i]);
		away++;
	}
}

/* ---- steps ---- */

static struct nodeset_step *step(struct plan *p, enum nodeset_act act, const struct row *r)
{
	static struct nodeset_step unused;
	struct nodeset_step *s = p->n_steps < p->max ? &p->steps[p->n_steps++] : &unused;

	*s = (struct nodeset_step) { .act = act };
	if (r) {
		s->pod = r->pod;
		s->node = r->at ? r->at->node : NULL;
		s->why = r->why;
		s->replaced = r->replaced;
		s->forced = act == NODESET_DELETE && note(r->pod, ANNOTATION_FORCE_DELETE);
	}
	return s;
}

static void step_for(struct plan *p, const struct row *r)
{
	if (r->leaving)
		return;
	if (!r->going) {
		if (!meta_controller(&r->pod->meta))
			step(p, NODESET_ADOPT, r);
		else if (r->marked)
			step(p, NODESET_UNMARK, r);
		return;
	}
	if (r->over || is_unbound(r->pod)) {
		step(p, NODESET_DELETE, r);
	} else if (!r->marked) {
		step(p, NODESET_MARK, r);
	} else {
		switch (safe_to_delete(r->pod)) {
		case SAFE: step(p, NODESET_DELETE, r); break;
		case BUSY: p->o->n_busy++; break;
		case UNSURE: p->o->n_unsure++; break;
		}
	}
}

/* Kubernetes deletes Pods of Nodes that it does not have, whatever runs there: a person has to know before. */
static void note_lost(struct plan *p, const struct row *r)
{
	bool runs = is_true(r->pod, CONDITION_RUNNING) || (r->marked && safe_to_delete(r->pod) != SAFE);

	if (r->at || r->over || is_unbound(r->pod) || !runs)
		return;
	if (!p->o->n_lost++)
		p->o->lost = r->pod;
}

static bool is_taken(const struct plan *p, const char *name)
{
	for (size_t i = 0; i < p->v->n_pods; i++)
		if (str_eq(p->v->pods[i]->meta.name, name))
			return true;
	for (size_t i = 0; i < p->n_steps; i++)
		if (p->steps[i].act == NODESET_CREATE && str_eq(p->steps[i].name, name))
			return true;
	return p->v->name_taken && p->v->name_taken(p->v->arg, name);
}

static void make(struct plan *p, size_t node)
{
	const struct nodeset *set = p->v->set;
	const struct knode *n = p->v->nodes[node].node;
	char name[NODESET_POD_NAME_MAX];
	struct nodeset_step *s;

	nodeset_pod_name(set, n, false, name);
	if (is_taken(p, name))
		nodeset_pod_name(set, n, true, name);
	if (is_taken(p, name)) {
		p->o->n_nameless++;
		return;
	}
	s = step(p, NODESET_CREATE, NULL);
	s->node = n;
	str_copy(s->name, sizeof(s->name), name);
	p->stay++;
}

static void count(struct plan *p)
{
	struct nodeset_status *s = &p->o->status;
	int32_t available = 0;

	for (size_t i = 0; i < p->n_rows; i++) {
		const struct row *r = &p->rows[i];

		s->replicas += !r->over;
		s->drained += !r->over && is_true(r->pod, CONDITION_DRAIN);
		s->leaving += r->going && !r->over;
		if (r->going)
			continue;
		s->current++;
		s->ready += r->ready;
		s->updated += !is_old(p, r) && !is_foreign(r);
		p->o->n_foreign += is_foreign(r);
		available += r->ready && !r->marked;
	}
	s->unavailable = MAX_OF(s->desired - available, 0);
	s->observed_generation = p->v->set->meta.generation;
	s->revision = p->o->revision;
}

size_t nodeset_plan(const struct nodeset_view *v, struct nodeset_step *steps, size_t max, struct nodeset_outlook *ret)
{
	struct plan p = { .v = v, .steps = steps, .max = max, .o = ret };

	*ret = (struct nodeset_outlook) { 0 };
	nodeset_revision(v->set, ret->revision);
	p.rows = mem_alloc_n(v->n_pods + 1, sizeof(*p.rows));
	p.has_pod = mem_alloc_n(v->n_nodes + 1, sizeof(*p.has_pod));
	p.has_kept = mem_alloc_n(v->n_nodes + 1, sizeof(*p.has_kept));
	p.fits = mem_alloc_n(v->n_nodes + 1, sizeof(*p.fits));
	look_at_nodes(&p);
	look_at_pods(&p);
	send_those_out_of_place(&p);
	set_target(&p);
	send_surplus(&p);
	send_unknown(&p);
	send_old(&p);
	for (size_t i = 0; i < p.n_rows; i++)
		step_for(&p, &p.rows[i]);
	for (size_t i = 0; i < p.n_rows; i++)
		note_lost(&p, &p.rows[i]);
	for (size_t i = 0; i < v->n_nodes && p.stay < p.target && p.n_steps < max; i++)
		if (p.fits[i] && !p.has_pod[i] && !v->nodes[i].node->unschedulable)
			make(&p, i);
	count(&p);
	map_done(&p.by_name);
	free(p.rows);
	free(p.has_pod);
	free(p.has_kept);
	free(p.fits);
	return p.n_steps;
}
