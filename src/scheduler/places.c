/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Slurm's nodes with the Kubernetes Nodes behind them. The join: a NodeSet Pod (label nodeset, in the cluster's own namespace) has
 * the Slurm node's name and runs on the Kubernetes Node. Slurm's nodes are listed now and then; Pods and Nodes come from the stores. A Slurm node
 * without a NodeSet Pod on a Node cannot run Pods, and so is excluded like every other that does not fit.
 *
 * Feasibility is worked out once for all Pods that ask for the same, and again when a Node changed in a way that matters.
 */
#include "scheduler/inside.h"

#include <assert.h>
#include <stdio.h>

#include "base/hostlist.h"
#include "base/log.h"
#include "base/str.h"
#include "policy/hold.h"

#define NODES_SPAN (5 * USEC_SEC)
#define NODES_SPAN_MAX (30 * USEC_SEC) /* one slow answer must not blind us for long */
#define NODES_SHARE 100
#define RETRY_SPAN (2 * USEC_SEC)
#define HOLD_TRIES 3
#define SPREAD (200 * USEC_MSEC) /* a change of Nodes is looked at by all waiting Pods, together */
#define SHARED_MAX 1024          /* kinds of Pods whose feasibility is kept */

struct nodeset_pod { /* a Pod that runs slurmd */
	char *name, *node;
};

struct shared {
	char *key;
	struct feasible f;
};

struct places {
	struct scheduler *s;
	struct map nodeset_pods; /* by Slurm node name */
	struct map by_kube_node; /* the same, by the Node's name */
	/* Slurm's nodes, as last listed */
	void *block;
	struct snode *snodes;
	uint32_t n_snodes;
	struct map by_name; /* struct snode */
	usec_t as_of, due, known_at;
	bool asking, known;
	/* joined */
	struct place *list;
	size_t n_list;
	bool stale;    /* the list: it points into stores and blocks that changed */
	bool outdated; /* what was worked out from it, too */
	usec_t tell_at; /* when waiting Pods are told; USEC_NEVER = nothing to tell */
	struct map shared;
	struct feasible one; /* of the last Pod whose result is not shared */
};

/* ---- the join ---- */

static void pods_look_again(struct places *p)
{
	p->stale = p->outdated = true;
	p->tell_at = MIN_OF(p->tell_at, usec_add(now_of(p->s), SPREAD));
	wake(p->s);
}

static void nodeset_pod_free(struct places *p, struct nodeset_pod *n)
{
	if (!n)
		return;
	if (map_get(&p->by_kube_node, n->node) == n)
		map_remove(&p->by_kube_node, n->node);
	free(n->name);
	free(n->node);
	free(n);
}

/* Whoever may make Pods somewhere must not move Slurm's nodes: only those of our namespace count, where a name is there once. */
static void nodeset_pod_changed(void *arg, enum store_event event, const void *was, const void *is)
{
	struct places *p = arg;
	const struct pod *pod = is ? is : was;
	struct nodeset_pod *n;
	bool here;

	(void)event;
	if (!str_eq(pod->meta.ns, p->s->o.nodeset_ns))
		return;
	n = map_get(&p->nodeset_pods, pod->meta.name);
	here = is && pair_get(pod->meta.labels, pod->meta.n_labels, LABEL_NODESET) && !str_empty(pod->node_name) &&
	       !pod_is_over(pod);
	if (n ? here && str_eq(n->node, pod->node_name) : !here)
		return;
	if (n) {
		map_remove(&p->nodeset_pods, n->name);
		nodeset_pod_free(p, n);
	}
	if (here) {
		n = NEW(struct nodeset_pod);
		n->name = mem_strdup(pod->meta.name);
		n->node = mem_strdup(pod->node_name);
		map_put(&p->nodeset_pods, n->name, n);
		map_put(&p->by_kube_node, n->node, n);
	}
	pods_look_again(p);
}

static bool same_pairs(const struct pair *a, uint32_t n, const struct pair *b, uint32_t m)
{
	if (n != m)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!str_eq(a[i].key, b[i].key) || !str_eq(a[i].value, b[i].value))
			return false;
	return true;
}

/* Whether a Node differs in what feasibility depends on; heartbeats do not. */
static bool node_is_same(const struct knode *a, const struct knode *b)
{
	if (a->unschedulable != b->unschedulable || a->n_taints != b->n_taints || a->n_allocatable != b->n_allocatable)
		return false;
	for (uint32_t i = 0; i < a->n_taints; i++)
		if (!str_eq(a->taints[i].key, b->taints[i].key) || !str_eq(a->taints[i].value, b->taints[i].value) ||
		    a->taints[i].effect != b->taints[i].effect)
			return false;
	for (uint32_t i = 0; i < a->n_allocatable; i++)
		if (!str_eq(a->allocatable[i].name, b->allocatable[i].name) ||
		    a->allocatable[i].milli != b->allocatable[i].milli)
			return false;
	return same_pairs(a->meta.labels, a->meta.n_labels, b->meta.labels, b->meta.n_labels);
}

static void node_changed(void *arg, enum store_event event, const void *was, const void *is)
{
	struct places *p = arg;

	(void)event;
	if (was && is && node_is_same(was, is)) {
		p->stale = true; /* pointers only */
		return;
	}
	pods_look_again(p);
}

const char *places_kube_node(const struct scheduler *s, const char *slurm_node)
{
	const struct nodeset_pod *n = slurm_node ? map_get(&s->places->nodeset_pods, slurm_node) : NULL;

	return n ? n->node : NULL;
}

const char *places_slurm_node(const struct scheduler *s, const char *kube_node)
{
	const struct nodeset_pod *n = kube_node ? map_get(&s->places->by_kube_node, kube_node) : NULL;

	return n ? n->name : NULL;
}

static struct place place_of(const struct places *p, const char *slurm_node)
{
	const char *node = places_kube_node(p->s, slurm_node);

	return (struct place) { .slurm_node = slurm_node,
		                .node_name = node,
		                .node = node ? store_get(p->s->nodes, NULL, node) : NULL };
}

static void forget_shared(struct places *p)
{
	struct shared *f;
	size_t i = 0;

	while ((f = map_next(&p->shared, &i))) {
		map_remove(&p->shared, f->key);
		feasible_done(&f->f);
		free(f->key);
		free(f);
	}
	map_done(&p->shared);
}

static void refresh(struct places *p)
{
	if (!p->stale)
		return;
	p->stale = false;
	if (p->outdated)
		forget_shared(p);
	p->outdated = false;
	p->list = mem_realloc_n(p->list, p->n_snodes + 1u, sizeof(*p->list));
	p->n_list = 0;
	for (uint32_t i = 0; i < p->n_snodes; i++)
		if (p->snodes[i].name && p->snodes[i].state != NODE_FUTURE)
			p->list[p->n_list++] = place_of(p, p->snodes[i].name);
}

/* ---- what fits ---- */

const struct feasible *places_feasible(struct scheduler *s, const struct pod *pod, const struct pod_volumes *volumes)
{
	struct places *p = s->places;
	_cleanup_buf_ struct buf key = BUF(FEASIBLE_KEY_MAX);
	struct shared *f;

	if (!p->known)
		return NULL;
	refresh(p);
	if (volumes && !volumes->n)
		volumes = NULL;
	feasible_key(pod, volumes, &key);
	if (key.error || map_count(&p->shared) >= SHARED_MAX) {
		feasible_done(&p->one);
		feasible_make(pod, p->list, p->n_list, volumes, &s->rules, &p->one);
		return &p->one;
	}
	f = map_get(&p->shared, buf_text(&key));
	if (!f) {
		f = NEW(struct shared);
		feasible_make(pod, p->list, p->n_list, volumes, &s->rules, &f->f);
		f->key = buf_take(&key);
		map_put(&p->shared, f->key, f);
	}
	return &f->f;
}

/* Avoided for a while, and still known to Slurm: a name it does not know would spoil the job. */
static bool is_avoided(struct scheduler *s, const struct avoided *a)
{
	return a->node && now_of(s) < a->until && map_get(&s->places->by_name, a->node);
}

static int by_name(const void *a, const void *b)
{
	return hostlist_compare(*(char *const *)a, *(char *const *)b);
}

static bool leaves_any(const struct places *p, const struct hostlist *excluded)
{
	for (size_t i = 0; i < p->n_list; i++)
		if (!bsearch(&p->list[i].slurm_node, excluded->names, excluded->n, sizeof(*excluded->names), by_name))
			return true;
	return false;
}

char *places_excluded(struct scheduler *s, struct entry *e, const struct feasible *f, const struct wishes *w)
{
	_cleanup_hostlist_ struct hostlist h = HOSTLIST_INIT;
	_cleanup_buf_ struct buf text = BUF(4u << 20);
	bool avoids = false;

	if (!f)
		return NULL;
	for (uint32_t i = 0; i < e->n_avoid; i++)
		avoids |= is_avoided(s, &e->avoid[i]);
	if ((!avoids && !w->excluded_nodes) || hostlist_parse(&h, f->excluded, NULL) < 0 ||
	    hostlist_parse(&h, w->excluded_nodes, NULL) < 0)
		return mem_strdup(f->excluded);
	for (uint32_t i = 0; i < e->n_avoid; i++)
		if (is_avoided(s, &e->avoid[i]))
			hostlist_add(&h, e->avoid[i].node);
	hostlist_sort_unique(&h);
	if (avoids && !leaves_any(s->places, &h)) { /* better to try one of them again */
		hostlist_done(&h);
		h = HOSTLIST_INIT;
		(void)hostlist_parse(&h, f->excluded, NULL);
		(void)hostlist_parse(&h, w->excluded_nodes, NULL);
		hostlist_sort_unique(&h);
	}
	hostlist_format(&h, &text);
	return buf_take(&text);
}

void places_avoid(struct scheduler *s, struct entry *e, const char *slurm_node)
{
	struct avoided *a = NULL;

	if (str_empty(slurm_node))
		return;
	for (uint32_t i = 0; i < e->n_avoid; i++) /* the one of that name, else the one that is over first */
		if (str_eq(e->avoid[i].node, slurm_node)) {
			a = &e->avoid[i];
			break;
		} else if (!a || e->avoid[i].until < a->until)
			a = &e->avoid[i];
	if (!a || (!str_eq(a->node, slurm_node) && now_of(s) < a->until && e->n_avoid < AVOID_MAX)) {
		e->avoid = mem_realloc_n(e->avoid, e->n_avoid + 1, sizeof(*e->avoid));
		a = &e->avoid[e->n_avoid++];
		a->node = NULL;
	}
	free(a->node);
	a->node = mem_strdup(slurm_node);
	a->until = usec_add(now_of(s), AVOID_SPAN);
}

static void set_placing(struct entry *e, enum placing what, const char *why, usec_t now)
{
	if (what != PLACE_WAIT || e->placing != PLACE_WAIT)
		e->placing_since = now;
	e->placing = (uint8_t)what;
	free(e->place_why);
	e->place_why = mem_strdup(why);
}

/* A claim needs the node's name, or had it already. */
static void set_selecting(struct entry *e, const struct pvc *claim, uint32_t job, usec_t now)
{
	char why[FIT_WHY_MAX];

	switch (selection_of(e->selected, job, claim)) {
	case SELECT_NOW: set_placing(e, PLACE_SELECT_NODE, NULL, now); break;
	case SELECT_UNSEEN: set_placing(e, PLACE_WAIT, "its claim was just given the node's name", now); break;
	case SELECT_UNDONE:
		snprintf(why, sizeof(why), "storage class %.80s cannot make the volume of claim %.100s there",
		         str_or(claim->storage_class, "?"), claim->meta.name);
		set_placing(e, PLACE_BAD, why, now);
	}
}

/* The claims, once the node is chosen. */
static bool volumes_are_ready(struct entry *e, const struct pod *pod, const struct pod_volumes *volumes,
                              const struct place *place, uint32_t job, usec_t now)
{
	char why[FIT_WHY_MAX] = "";

	switch (volumes_before_bind(pod, volumes, place, &e->placing_claim, why)) {
	case VOLUMES_READY: return true;
	case VOLUMES_TAKE: set_placing(e, PLACE_TAKE_VOLUME, NULL, now); break;
	case VOLUMES_SELECT:
		assert(volumes); /* who has none has no claim that waits */
		set_selecting(e, volumes->claims[e->placing_claim], job, now);
		break;
	case VOLUMES_WAIT: set_placing(e, PLACE_WAIT, why, now); break;
	case VOLUMES_ELSEWHERE: set_placing(e, PLACE_BAD, why, now); break;
	}
	return false;
}

/* The Pods on a Node, and those that may be there by now: we asked for it, and the watch does not show it yet. */
static const struct pod **pods_on(struct scheduler *s, const char *node, size_t *ret_n)
{
	size_t n = 0, max = store_find_count(s->pods, POD_BY_NODE, node) + 1;
	const struct pod **list = mem_alloc_n(max, sizeof(*list));
	struct store_cursor cursor = { 0 };
	const struct pod *pod;

	while ((pod = store_find(s->pods, POD_BY_NODE, node, &cursor)))
		list[n++] = pod;
	LIST_EACH (l, &s->bindings) {
		const struct entry *e = LIST_ITEM(l, struct entry, binding);

		if (!str_eq(e->bound_node, node) || !(pod = entry_pod(s, e)) || pod->node_name)
			continue;
		if (n == max)
			list = mem_realloc_n(list, max *= 2, sizeof(*list));
		list[n++] = pod;
	}
	*ret_n = n;
	return list;
}

void places_try(struct scheduler *s, struct entry *e, const struct pod *pod, const struct pod_volumes *volumes,
                const struct known_job *j)
{
	usec_t now = now_of(s);
	_cleanup_free_ const struct pod **on_node = NULL;
	struct place place;
	char why[FIT_WHY_MAX] = "";
	enum misfit misfit;
	size_t n = 0;

	if (!j || !j->node || !pod) {
		set_placing(e, PLACE_UNKNOWN, NULL, now);
		return;
	}
	place = place_of(s->places, j->node);
	if (!place.node_name) {
		set_placing(e, PLACE_BAD, "no NodeSet Pod of that name runs on any Node", now);
		return;
	}
	on_node = pods_on(s, place.node_name, &n);
	misfit = fits_now(pod, &place, volumes && volumes->n ? volumes : NULL, on_node, n, &s->rules, why);
	if (misfit == FIT_OK && pod->n_volumes && !volumes_are_ready(e, pod, volumes, &place, j->p.id, now))
		return;
	set_placing(e, misfit == FIT_OK ? PLACE_OK : PLACE_BAD, misfit == FIT_OK ? NULL : why, now);
}

/* ---- Slurm's nodes ---- */

static usec_t pause_after(usec_t took)
{
	return MIN_OF(MAX_OF(NODES_SPAN, NODES_SHARE * took), NODES_SPAN_MAX);
}

static void nodes_told(void *arg, struct slurm_result *r)
{
	struct places *p = arg;
	usec_t now = now_of(p->s);
	bool changed, stirred = false;

	p->asking = false;
	if (r->outcome == SLURM_UNCHANGED) {
		p->due = usec_add(now, pause_after(now - r->asked));
		p->known_at = r->asked;
		wake(p->s);
		return;
	}
	if (r->outcome != SLURM_OK) {
		p->due = usec_add(now, RETRY_SPAN);
		wake(p->s);
		return;
	}
	changed = !p->known || r->n != p->n_snodes;
	for (uint32_t i = 0; i < r->n && !changed; i++)
		changed = !str_eq(r->nodes[i].name, p->snodes[i].name) ||
		          (r->nodes[i].state == NODE_FUTURE) != (p->snodes[i].state == NODE_FUTURE);
	for (uint32_t i = 0; i < r->n && !changed && !stirred; i++)
		stirred = r->nodes[i].state != p->snodes[i].state || r->nodes[i].flags != p->snodes[i].flags;
	map_done(&p->by_name);
	p->by_name = MAP_INIT;
	free(p->block);
	p->block = TAKE_PTR(r->block);
	p->snodes = r->nodes;
	p->n_snodes = r->n;
	p->as_of = r->as_of;
	p->known_at = r->asked;
	p->known = true;
	p->stale = true; /* names point into the block */
	for (uint32_t i = 0; i < p->n_snodes; i++)
		if (p->snodes[i].name)
			map_put(&p->by_name, p->snodes[i].name, &p->snodes[i]);
	p->due = usec_add(now, pause_after(now - r->asked));
	if (changed)
		pods_look_again(p);
	if (changed || stirred)
		jobs_stirred(p->s);
	wake(p->s);
}

/* ---- nodes that a Pod without a job holds ---- */

struct hold_op {
	struct scheduler *s;
	char *node;
	void (*done)(void *arg, bool ok, const char *why);
	void *arg;
	unsigned tries; /* that somebody else was faster */
};

static void hold_look(void *arg, struct slurm_result *r);

static void ask_node(struct hold_op *op)
{
	op->s->o.slurm->ops->call(op->s->o.slurm, &(struct slurm_request) { .verb = SLURM_LOAD_NODE, .node = op->node },
	                          hold_look, op);
}

static void hold_changed(void *arg, struct slurm_result *r)
{
	struct hold_op *op = arg;

	if (r->outcome == SLURM_CONFLICT &&
	    op->tries++ < HOLD_TRIES) { /* somebody was faster: what do we say to that? */
		ask_node(op);
		return;
	}
	if (r->outcome != SLURM_OK)
		log_warn("node %s: %s", op->node, r->message);
	op->s->places->due = 0; /* see what came of it */
	wake(op->s);
	if (op->done)
		op->done(op->arg, r->outcome == SLURM_OK, r->message);
	free(op->node);
	free(op);
}

static void hold_change(struct hold_op *op, enum hold what, const struct snode *seen)
{
	const struct node_change change = { .what = what == HOLD_DRAIN ? NODE_CHANGE_DRAIN : NODE_CHANGE_UNDRAIN,
		                            .reason = what == HOLD_DRAIN ? DRAIN_REASON : NULL,
		                            .expect = true,
		                            .expect_or_down =
		                                    true, /* it comes back, and then nothing may start there */
		                            .expect_drained = (seen->flags & NODEF_DRAIN) != 0,
		                            .expect_reason = seen->reason,
		                            .expect_reason_uid = seen->reason_uid,
		                            .expect_reason_set = seen->reason_set };

	log_warn("node %s: %s", op->node, what == HOLD_DRAIN ? "drained: " DRAIN_REASON : "undrained: its Pod is gone");
	if (what == HOLD_DRAIN)
		count(op->s, COUNT_DRAINED);
	op->s->o.slurm->ops->call(
	        op->s->o.slurm,
	        &(struct slurm_request) { .verb = SLURM_CHANGE_NODE, .node = op->node, .node_change = &change },
	        hold_changed, op);
}

/* Whether a Pod of ours is there that Slurm does not know of, or that does not go away. Not knowing counts as yes: a drain
 * too many can be seen and lifted, a job on top of a Pod cannot be undone. */
static bool node_is_held(struct scheduler *s, const char *slurm_node)
{
	const char *node = places_kube_node(s, slurm_node);
	struct store_cursor cursor = { 0 };
	const struct pod *pod;
	const struct entry *holder;
	size_t i = 0;

	if (!node)
		return true;
	while ((holder = map_next(&s->by_uid, &i))) /* also one that the watch does not show there yet */
		if (str_eq(holder->hold_node, slurm_node) && (pod = entry_pod(s, holder)) && !pod_is_over(pod))
			return true;
	while ((pod = store_find(s->pods, POD_BY_NODE, node, &cursor))) {
		const struct entry *e;

		if (!pod_in_scope(s, pod) || pod_is_over(pod))
			continue;
		e = entry_get(s, pod->meta.uid);
		if (pod->meta.deletion || (e && e->hold_node))
			return true;
	}
	return false;
}

/* The node as it is this very moment: a person may have drained it meanwhile, and that stays. */
static void hold_look(void *arg, struct slurm_result *r)
{
	struct hold_op *op = arg;
	enum hold what;

	if (r->outcome != SLURM_OK || r->n == 0) {
		if (op->done)
			op->done(op->arg, false, r->message);
		free(op->node);
		free(op);
		return;
	}
	what = hold_decide(op->done || node_is_held(op->s, op->node), &r->nodes[0], DRAIN_REASON);
	if (what == HOLD_LEAVE) {
		if (op->done)
			op->done(op->arg, true, "");
		free(op->node);
		free(op);
		return;
	}
	hold_change(op, what, &r->nodes[0]);
}

void places_drain(struct scheduler *s, const char *slurm_node, void (*done)(void *arg, bool ok, const char *why),
                  void *arg)
{
	struct hold_op *op = NEW(struct hold_op);

	*op = (struct hold_op) { .s = s, .node = mem_strdup(slurm_node), .done = done, .arg = arg };
	ask_node(op);
}

void places_hold(struct scheduler *s, struct entry *e, const struct pod *pod, const struct decision *d)
{
	const char *on = pod && pod->node_name ? places_slurm_node(s, pod->node_name) : NULL;
	bool gone = !pod || pod_is_over(pod) || !pod->node_name || d->live || (on && !str_eq(on, e->hold_node));

	if (d->lost && on && !e->hold_node) {
		e->hold_node = mem_strdup(on);
		s->n_holds++;
		places_drain(s, on, NULL, NULL);
	} else if (e->hold_node && gone) { /* or it was never there: a binding that we were not sure of */
		_cleanup_free_ char *was = TAKE_PTR(e->hold_node);

		s->n_holds--;
		places_drain(s, was, NULL, NULL);
	}
}

/* Nodes that carry our drain, or should: looked at with every list of nodes. A drain that someone lifted, or that a controller
 * forgot, is made again as long as the Pod is there. */
static void check_holds(struct places *p)
{
	const struct entry *e;
	size_t k = 0;

	for (uint32_t i = 0; i < p->n_snodes; i++) {
		const struct snode *n = &p->snodes[i];

		if (n->name && (n->flags & NODEF_DRAIN) && str_eq(n->reason, DRAIN_REASON) &&
		    !node_is_held(p->s, n->name))
			places_drain(p->s, n->name, NULL, NULL);
	}
	while (p->s->n_holds && (e = map_next(&p->s->by_uid, &k))) {
		const struct snode *n = e->hold_node ? map_get(&p->by_name, e->hold_node) : NULL;

		if (n && hold_decide(true, n, DRAIN_REASON) == HOLD_DRAIN)
			places_drain(p->s, n->name, NULL, NULL);
	}
}

/* ---- */

void places_step(struct scheduler *s, usec_t now)
{
	struct places *p = s->places;

	if (!p->asking && now >= p->due) {
		p->asking = true;
		if (p->known && store_synced(s->pods) && s->listed_at)
			check_holds(p);
		s->o.slurm->ops->call(s->o.slurm,
		                      &(struct slurm_request) { .verb = SLURM_LOAD_NODES, .since = p->as_of },
		                      nodes_told, p);
	}
	if (now >= p->tell_at) {
		struct entry *e;
		size_t i = 0;

		p->tell_at = USEC_NEVER;
		while ((e = map_next(&s->by_uid, &i))) {
			const struct pod *pod = entry_pod(s, e);

			if (pod && !pod->node_name)
				entry_dirty(s, e, 0);
		}
	}
}

usec_t places_next(const struct scheduler *s)
{
	return MIN_OF(s->places->asking ? USEC_NEVER : s->places->due, s->places->tell_at);
}

void places_refresh(struct scheduler *s)
{
	s->places->due = 0;
	wake(s);
}

bool places_known(const struct scheduler *s)
{
	return s->places->known;
}

struct places *places_new(struct scheduler *s)
{
	struct places *p = NEW(struct places);

	p->s = s;
	p->stale = true;
	p->tell_at = USEC_NEVER;
	store_listen(s->pods, nodeset_pod_changed, p);
	store_listen(s->nodes, node_changed, p);
	return p;
}

void places_free(struct places *p)
{
	struct nodeset_pod *n;
	size_t i = 0;

	if (!p)
		return;
	forget_shared(p);
	feasible_done(&p->one);
	while ((n = map_next(&p->nodeset_pods, &i))) {
		map_remove(&p->nodeset_pods, n->name);
		nodeset_pod_free(p, n);
	}
	map_done(&p->nodeset_pods);
	map_done(&p->by_kube_node);
	map_done(&p->by_name);
	free(p->list);
	free(p->block);
	free(p);
}
