/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A model Kubernetes. The truth is here; a process sees it through its watches, late, and changes it through requests that may
 * fail before their effect or after it. Everything that was sent arrives within ARRIVAL_MAX, also from a process that is
 * dead by then.
 */
#include "tests/sim/world.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "policy/placeholder.h"
#include "policy/rules.h"
#include "port/kinds.h"

#define LIST_MAX 64 /* elements of lists in one object */

/* ---- the truth ---- */

bool pod_ended(const struct pod *p)
{
	return p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
}

struct kpod *pod_by_uid(struct world *w, const char *uid)
{
	for (size_t i = 0; i < w->api.n_pods; i++)
		if (str_eq(w->api.pods[i]->pod->meta.uid, uid))
			return w->api.pods[i];
	return NULL;
}

static struct kpod *pod_by_number(struct world *w, uint64_t number)
{
	for (size_t i = 0; i < w->api.n_pods; i++)
		if (w->api.pods[i]->number == number)
			return w->api.pods[i];
	return NULL;
}

struct kpod *pod_by_name(struct world *w, const char *ns, const char *name)
{
	for (size_t i = 0; i < w->api.n_pods; i++) {
		const struct meta *m = &w->api.pods[i]->pod->meta;

		if (str_eq(m->ns, ns) && str_eq(m->name, name))
			return w->api.pods[i];
	}
	return NULL;
}

int kube_node_number(const struct world *w, const char *name)
{
	for (unsigned i = 0; name && i < w->n_nodes; i++)
		if (str_eq(w->api.nodes[i].node->meta.name, name))
			return (int)i;
	return -1;
}

/* ---- watches ---- */

struct list { /* on its way */
	size_t n;
	struct version *items[];
};

static struct stream *stream_of(struct life *l, enum kube_kind kind)
{
	return &l->streams[kind == KUBE_PODS ? 0 : 1];
}

static bool selected(const struct stream *s, const struct version *v)
{
	const struct meta *m = v->object;

	return (!s->ns || str_eq(s->ns, m->ns)) && (!s->label || pair_get(m->labels, m->n_labels, s->label));
}

static void put(struct stream *s, const struct version *v)
{
	size_t size;
	const struct meta *m = v->object;

	if (!selected(s, v))
		return;
	if (v->removed)
		store_remove(s->store, m->ns, m->name);
	else {
		void *copy = object_copy(v->kind, v->object, &size);

		store_put(s->store, copy, size);
	}
}

static void news_arrive(struct world *w, struct ev *e)
{
	struct version *v = e->p;
	struct life *l = life_get(w, e->a);
	struct stream *s = l ? stream_of(l, v->kind) : NULL;

	if (s && s->epoch == e->b) {
		put(s, v);
		store_alive(s->store, w->now);
	}
	version_unref(v);
}

static void list_arrives(struct world *w, struct ev *e)
{
	struct list *list = e->p;
	struct life *l = life_get(w, e->a);
	struct stream *s = l ? &l->streams[e->b & 1] : NULL;

	if (s && s->epoch == e->b >> 1) {
		store_replace_begin(s->store);
		for (size_t i = 0; i < list->n; i++)
			put(s, list->items[i]);
		store_replace_end(s->store);
		store_alive(s->store, w->now);
		life_wakes(l);
		say(w, "life %llu: listed %s: %zu", (unsigned long long)l->serial,
		    s->kind == KUBE_PODS ? "Pods" : "Nodes", list->n);
	}
	for (size_t i = 0; i < list->n; i++)
		version_unref(list->items[i]);
	free(list);
}

static void list_taken(struct world *w, struct ev *e)
{
	struct life *l = life_get(w, e->a);
	struct stream *s = l ? &l->streams[e->b & 1] : NULL;
	size_t n, max;
	struct list *list;
	usec_t takes = span(w, USEC_MSEC, fault_on(w, FAULT_WATCH_SLOW) ? 5 * USEC_SEC : 50 * USEC_MSEC);

	if (!s || s->epoch != e->b >> 1)
		return;
	max = s->kind == KUBE_PODS ? w->api.n_pods : w->n_nodes;
	list = mem_alloc(sizeof(*list) + max * sizeof(struct version *));
	for (n = 0; n < max; n++)
		list->items[n] = version_ref(s->kind == KUBE_PODS ? w->api.pods[n]->v : w->api.nodes[n].v);
	list->n = n;
	s->broken = false;
	s->last = w->now + takes;
	at(w, s->last, list_arrives, l->serial, e->b, list);
}

static void stream_begin(struct world *w, struct life *l, unsigned number, usec_t after)
{
	struct stream *s = &l->streams[number];

	s->epoch++;
	s->broken = true;
	in(w, after, list_taken, l->serial, s->epoch << 1 | number, NULL);
}

void streams_break(struct world *w, struct life *l)
{
	for (unsigned i = 0; i < 2; i++)
		if (l->streams[i].watched)
			stream_begin(w, l, i,
			             MAX_OF(l->partitioned_until - w->now, 0) +
			                     span(w, 100 * USEC_MSEC, 10 * USEC_SEC));
}

static void send_news(struct world *w, struct life *l, struct version *v)
{
	struct stream *s = stream_of(l, v->kind);
	usec_t delay = span(w, USEC_MSEC, 20 * USEC_MSEC);

	if (!s->watched || s->broken || !selected(s, v))
		return;
	if (fault_hits(w, FAULT_WATCH_DROP, 10)) {
		say(w, "life %llu: watch breaks", (unsigned long long)l->serial);
		stream_begin(w, l, (unsigned)(s - l->streams), span(w, 10 * USEC_MSEC, 20 * USEC_SEC));
		return;
	}
	if (fault_hits(w, FAULT_WATCH_SLOW, 20))
		delay = span(w, USEC_SEC, 40 * USEC_SEC);
	else if (fault_hits(w, FAULT_WATCH_SLOW, 200))
		delay = span(w, 100 * USEC_MSEC, 5 * USEC_SEC);
	s->last = MAX_OF(s->last, w->now + delay);
	at(w, s->last, news_arrive, l->serial, s->epoch, version_ref(v));
	if (fault_hits(w, FAULT_WATCH_TWICE, 100))
		at(w, s->last, news_arrive, l->serial, s->epoch, version_ref(v));
}

static void notify(struct world *w, struct version *v)
{
	for (unsigned i = 0; i < LIVES; i++)
		if (w->lives[i] && !w->lives[i]->dying)
			send_news(w, w->lives[i], v);
}

/* ---- writing the truth ---- */

static struct version *versioned(struct world *w, enum kube_kind kind, const struct meta *object, bool removed)
{
	struct version *v;
	char rv[24];
	union {
		struct meta meta;
		struct pod pod;
		struct knode node;
	} copy;

	snprintf(rv, sizeof(rv), "%llu", (unsigned long long)++w->api.rv);
	memcpy(&copy, object, kind == KUBE_PODS ? sizeof(copy.pod) : sizeof(copy.node));
	copy.meta.resource_version = rv;
	v = version_new(kind, &copy, removed);
	return v;
}

void pod_write(struct world *w, struct kpod *k, const struct pod *pod)
{
	struct version *v = versioned(w, KUBE_PODS, &pod->meta, false);

	const struct condition *live =
	        k->user_pod ? condition_get(pod->conditions, pod->n_conditions, CONDITION_JOB_LIVE) : NULL;

	if (!live || live->status != COND_FALSE)
		k->not_live_since = 0;
	else if (!k->not_live_since)
		k->not_live_since = w->now;
	version_unref(k->v);
	k->v = v;
	k->pod = v->object;
	notify(w, v);
}

struct kpod *pod_create(struct world *w, const struct pod *pod)
{
	struct kpod *k = NEW(struct kpod);
	struct pod p = *pod;
	char uid[32];

	k->number = ++w->api.uids;
	snprintf(uid, sizeof(uid), "u%llu", (unsigned long long)k->number);
	p.meta.uid = uid;
	p.meta.created = clock_wall(&w->clock);
	if (w->api.n_pods == w->api.size_pods) {
		w->api.size_pods = w->api.size_pods ? 2 * w->api.size_pods : 32;
		w->api.pods = mem_realloc_n(w->api.pods, w->api.size_pods, sizeof(*w->api.pods));
	}
	w->api.pods[w->api.n_pods++] = k;
	pod_write(w, k, &p);
	return k;
}

static void pod_vanishes(struct world *w, struct kpod *k)
{
	struct version *v = versioned(w, KUBE_PODS, &k->pod->meta, true);
	int nodeset = k->nodeset;
	bool ran = k->containers == CONTAINERS_RUN;

	say(w, "Pod %s %s is gone", k->pod->meta.name, k->pod->meta.uid);
	notify(w, v);
	version_unref(v);
	version_unref(k->v);
	for (size_t i = 0; i < w->api.n_pods; i++)
		if (w->api.pods[i] == k) {
			memmove(&w->api.pods[i], &w->api.pods[i + 1], (w->api.n_pods - i - 1) * sizeof(struct kpod *));
			w->api.n_pods--;
			break;
		}
	free(k);
	if (nodeset)
		nodeset_gone(w, (unsigned)nodeset - 1, ran);
}

void pod_delete(struct world *w, struct kpod *k, int64_t grace_s)
{
	struct pod p = *k->pod;

	if (grace_s < 0)
		grace_s = p.grace_s;
	if (!p.node_name || grace_s == 0) {
		pod_vanishes(w, k);
		return;
	}
	if (p.meta.deletion)
		return;
	p.meta.deletion = clock_wall(&w->clock) + grace_s * USEC_SEC;
	p.meta.deletion_grace_s = grace_s;
	pod_write(w, k, &p);
	kubelet_look(w, k, 0);
}

const char *pod_note(const struct kpod *k, const char *key)
{
	return pair_get(k->pod->meta.annotations, k->pod->meta.n_annotations, key);
}

bool node_locked(const struct world *w, unsigned node)
{
	const struct knode *n = w->api.nodes[node].node;

	for (uint32_t i = 0; i < n->n_taints; i++)
		if (str_eq(n->taints[i].key, TAINT_LOCK) && n->taints[i].effect == EFFECT_NO_EXECUTE)
			return true;
	return false;
}

void node_write(struct world *w, unsigned i, const struct knode *node)
{
	struct version *v = versioned(w, KUBE_NODES, &node->meta, false);
	bool was_locked = w->api.nodes[i].node && node_locked(w, i);

	version_unref(w->api.nodes[i].v);
	w->api.nodes[i].v = v;
	w->api.nodes[i].node = v->object;
	if (!was_locked && node_locked(w, i))
		w->api.nodes[i].locked_since = w->now;
	w->look_at_locks = true;
	notify(w, v);
	if (w->whole && node->n_taints)
		taints_look(w, i);
}

/* ---- kubelets ---- */

static void pod_terminal(struct world *w, struct kpod *k, const char *reason)
{
	struct pod p = *k->pod;
	struct container_status status = { .name = "main", .terminated = true, .exit_code = k->exit_code };

	p.phase = k->exit_code || reason ? POD_FAILED : POD_SUCCEEDED;
	p.reason = reason;
	p.statuses = &status;
	p.n_statuses = 1;
	say(w, "Pod %s %s is %s", p.meta.name, p.meta.uid, p.phase == POD_FAILED ? "Failed" : "Succeeded");
	w->counts.finished++;
	pod_write(w, k, &p);
}

static void containers_end(struct world *w, struct ev *e)
{
	struct kpod *k = pod_by_number(w, e->a);

	if (!k || k->containers != CONTAINERS_RUN || (e->b && !k->stopping))
		return;
	k->containers = CONTAINERS_ENDED;
	if (k->nodeset)
		nodeset_ended(w, k);
	kubelet_look(w, k, span(w, USEC_MSEC, 10 * USEC_MSEC));
}

static bool admits(struct world *w, const struct kpod *k)
{
	uint32_t used = 0;

	for (size_t i = 0; i < w->api.n_pods; i++) {
		const struct kpod *o = w->api.pods[i];

		if (o != k && o->containers == CONTAINERS_RUN && str_eq(o->pod->node_name, k->pod->node_name))
			used += o->cpus;
	}
	return used + k->cpus <= w->node_cpus;
}

static void pod_begins(struct world *w, struct kpod *k)
{
	struct pod p = *k->pod;

	bool tolerated = !w->whole || pod_tolerates_node(&p, w->api.nodes[kube_node_number(w, p.node_name)].node);

	if (!tolerated || !admits(w, k)) {
		k->exit_code = 1;
		k->containers = CONTAINERS_ENDED;
		pod_terminal(w, k, tolerated ? "OutOfcpu" : "TaintToleration");
		return;
	}
	k->containers = CONTAINERS_RUN;
	w->look_at_locks = true;
	p.phase = POD_RUNNING;
	p.started = clock_wall(&w->clock);
	say(w, "Pod %s %s runs on %s", p.meta.name, p.meta.uid, p.node_name);
	pod_write(w, k, &p);
	if (k->nodeset)
		nodeset_made(w, k);
	if (k->run_for != USEC_NEVER)
		in(w, k->run_for, containers_end, k->number, 0, NULL);
}

static void kubelet_event(struct world *w, struct ev *e)
{
	struct kpod *k = pod_by_number(w, e->a);
	int node = k ? kube_node_number(w, k->pod->node_name) : -1;

	if (node < 0 || w->api.nodes[node].kubelet_dead)
		return;
	if (k->containers == CONTAINERS_ENDED && !pod_ended(k->pod)) {
		pod_terminal(w, k, NULL);
		kubelet_look(w, k, span(w, USEC_MSEC, 20 * USEC_MSEC));
	} else if (k->pod->meta.deletion && k->containers == CONTAINERS_RUN) {
		usec_t grace = k->pod->meta.deletion_grace_s * USEC_SEC;

		if (k->stopping)
			return;
		k->stopping = true;
		in(w,
		   MIN_OF(k->stop_for, grace) +
		           (fault_hits(w, FAULT_KUBELET_SLOW, 300) ? span(w, 0, 90 * USEC_SEC) : 0),
		   containers_end, k->number, 1, NULL);
	} else if (k->pod->meta.deletion) {
		pod_vanishes(w, k);
	} else if (k->containers == CONTAINERS_NONE && !pod_ended(k->pod)) {
		pod_begins(w, k);
	}
}

void kubelet_look(struct world *w, struct kpod *k, usec_t after)
{
	usec_t delay = span(w, 2 * USEC_MSEC, 300 * USEC_MSEC);

	if (fault_hits(w, FAULT_KUBELET_SLOW, 150))
		delay = span(w, USEC_SEC, 30 * USEC_SEC);
	in(w, after + delay, kubelet_event, k->number, 0, NULL);
}

void kubelet_returns(struct world *w, unsigned node)
{
	struct knode_state *n = &w->api.nodes[node];

	if (!n->kubelet_dead || w->now < n->dead_until)
		return;
	n->kubelet_dead = n->gone_dark = false;
	say(w, "kubelet of %s is back", n->node->meta.name);
	for (size_t i = 0; i < w->api.n_pods; i++)
		if ((w->whole || w->api.pods[i]->user_pod) &&
		    kube_node_number(w, w->api.pods[i]->pod->node_name) == (int)node)
			kubelet_look(w, w->api.pods[i], 0);
}

/* ---- effects ---- */

enum op { OP_CHANGE, OP_BIND, OP_REMOVE };
static const char *const op_names[] = { "change", "bind", "delete" };

struct call {
	uint64_t life;
	enum op op;
	char *ns, *name, *uid, *rv, *node;
	enum kube_kind kind;
	int64_t grace;
	/* A change: a block with what it says, where the real thing has its fields. Its two halves are two requests. */
	struct pod *patch;
	struct knode *node_patch;
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
	free(c->patch);
	free(c->node_patch);
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

static void merge_pairs(struct pair **pairs, uint32_t *n_pairs, const struct pair *patch, uint32_t n_patch,
                        struct pair list[LIST_MAX])
{
	uint32_t n = 0;

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
}

static void merge_conditions(struct condition **conditions, uint32_t *n_conditions, const struct condition *patch,
                             uint32_t n_patch, struct condition list[LIST_MAX])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < *n_conditions && n < LIST_MAX; i++)
		if (!condition_get(patch, n_patch, (*conditions)[i].type))
			list[n++] = (*conditions)[i];
	for (uint32_t k = 0; k < n_patch && n < LIST_MAX; k++)
		list[n++] = patch[k];
	*conditions = list;
	*n_conditions = n;
}

void pod_set_condition(struct world *w, struct kpod *k, const struct condition *c)
{
	struct pod p = *k->pod;
	struct condition list[LIST_MAX];

	merge_conditions(&p.conditions, &p.n_conditions, c, 1, list);
	pod_write(w, k, &p);
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

static enum kube_outcome change_pod(struct world *w, struct kpod *k, const struct call *c)
{
	struct pod p = *k->pod;
	const struct pod *patch = c->patch;
	struct pair annotations[LIST_MAX], labels[LIST_MAX];
	struct condition conditions[LIST_MAX];

	if (c->rv && !str_eq(c->rv, p.meta.resource_version))
		return KUBE_CONFLICT;
	if (main_half(w, c)) {
		merge_pairs(&p.meta.annotations, &p.meta.n_annotations, patch->meta.annotations,
		            patch->meta.n_annotations, annotations);
		merge_pairs(&p.meta.labels, &p.meta.n_labels, patch->meta.labels, patch->meta.n_labels, labels);
		if (patch->active_deadline_s)
			p.active_deadline_s = patch->active_deadline_s;
	}
	if (main_half(w, c) && c->has_tolerations) {
		if (!c->rv)
			return KUBE_REFUSED;
		p.tolerations = patch->tolerations;
		p.n_tolerations = patch->n_tolerations;
	}
	if (status_half(w, c))
		merge_conditions(&p.conditions, &p.n_conditions, patch->conditions, patch->n_conditions, conditions);
	pod_write(w, k, &p);
	return KUBE_OK;
}

static enum kube_outcome change_node(struct world *w, unsigned i, const struct call *c)
{
	struct knode n = *w->api.nodes[i].node;
	const struct knode *patch = c->node_patch;
	struct pair annotations[LIST_MAX], labels[LIST_MAX];
	struct condition conditions[LIST_MAX];

	if (c->rv && !str_eq(c->rv, n.meta.resource_version))
		return KUBE_CONFLICT;
	if (main_half(w, c)) {
		merge_pairs(&n.meta.annotations, &n.meta.n_annotations, patch->meta.annotations,
		            patch->meta.n_annotations, annotations);
		merge_pairs(&n.meta.labels, &n.meta.n_labels, patch->meta.labels, patch->meta.n_labels, labels);
	}
	if (main_half(w, c) && c->has_taints) {
		bool was = node_locked(w, i);

		if (!c->rv)
			return KUBE_REFUSED;
		n.taints = patch->taints;
		n.n_taints = patch->n_taints;
		for (uint32_t t = 0; t < n.n_taints; t++)
			w->counts.locks += !was && str_eq(n.taints[t].key, TAINT_LOCK);
		w->counts.unlocks += was && n.n_taints < w->api.nodes[i].node->n_taints;
	}
	if (status_half(w, c))
		merge_conditions(&n.conditions, &n.n_conditions, patch->conditions, patch->n_conditions, conditions);
	node_write(w, i, &n);
	return KUBE_OK;
}

static enum kube_outcome bind_pod(struct world *w, struct kpod *k, const struct call *c)
{
	struct pod p = *k->pod;
	struct condition conditions[LIST_MAX];
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
	if (w->whole)
		taints_look(w, (unsigned)kube_node_number(w, c->node));
	return KUBE_OK;
}

static void call_arrives(struct world *w, struct ev *e);

/* The first half is done: now its conditions, when whoever asked still lives and leads. */
static bool second_half(struct world *w, struct call *c)
{
	struct life *l = life_get(w, c->life);

	if (c->op != OP_CHANGE || !w->whole || !c->has_main || c->main_done ||
	    !(c->patch ? c->patch->n_conditions : c->node_patch->n_conditions))
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

static void call_arrives(struct world *w, struct ev *e)
{
	struct call *c = e->p;
	struct kpod *k = c->kind == KUBE_PODS ? pod_by_name(w, c->ns, c->name) : NULL;
	int node = c->kind == KUBE_NODES ? kube_node_number(w, c->name) : -1;

	*c->new_rv = 0;
	if (node >= 0)
		c->outcome = change_node(w, (unsigned)node, c);
	else if (!k || (c->uid && !str_eq(c->uid, k->pod->meta.uid)))
		c->outcome = KUBE_NOT_FOUND;
	else if (c->rv && c->op != OP_CHANGE && !str_eq(c->rv, k->pod->meta.resource_version))
		c->outcome = KUBE_CONFLICT;
	else if (c->op == OP_CHANGE)
		c->outcome = change_pod(w, k, c);
	else if (c->op == OP_BIND)
		c->outcome = bind_pod(w, k, c);
	else {
		c->outcome = KUBE_OK;
		check_remove(w, k);
		w->counts.deletes++;
		pod_delete(w, k, c->grace);
	}
	say(w, "life %llu: %s %s%s%s → %d%s", (unsigned long long)c->life, op_names[c->op], c->name,
	    c->node ? " to " : "", str_or(c->node, ""), c->outcome, c->answer_lost ? " (nobody hears it)" : "");
	if (c->outcome == KUBE_OK && c->op == OP_CHANGE)
		str_copy(c->new_rv, sizeof(c->new_rv),
		         node >= 0 ? w->api.nodes[node].node->meta.resource_version : k->pod->meta.resource_version);
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

	assert(ref->kind == KUBE_PODS || (ref->kind == KUBE_NODES && op == OP_CHANGE));
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

	assert(!field_selector && (kind == KUBE_PODS || kind == KUBE_NODES));
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

	for (unsigned i = 0; i < 2; i++)
		if (l->streams[i].watched) {
			store_doubt(l->streams[i].store);
			stream_begin(l->w, l, i, span(l->w, USEC_MSEC, 50 * USEC_MSEC));
		}
}

static void port_change(struct kube_port *p, const struct kube_change *change, kube_done done, void *arg)
{
	struct call *c = call_new(OP_CHANGE, &change->ref, done, arg);
	struct pod patch = { .active_deadline_s = change->active_deadline_s };
	struct knode node = { 0 };
	struct meta *meta = c->kind == KUBE_PODS ? &patch.meta : &node.meta;
	size_t size;

	meta->annotations = (struct pair *)change->annotations;
	meta->n_annotations = (uint32_t)change->n_annotations;
	meta->labels = (struct pair *)change->labels;
	meta->n_labels = (uint32_t)change->n_labels;
	patch.conditions = node.conditions = (struct condition *)change->conditions;
	patch.n_conditions = node.n_conditions = (uint32_t)change->n_conditions;
	if (change->n_tolerations >= 0) {
		c->has_tolerations = true;
		patch.tolerations = (struct toleration *)change->tolerations;
		patch.n_tolerations = (uint32_t)change->n_tolerations;
	}
	if (change->n_taints >= 0) {
		c->has_taints = true;
		node.taints = (struct taint *)change->taints;
		node.n_taints = (uint32_t)change->n_taints;
	}
	c->has_main = meta->n_annotations || meta->n_labels || c->has_tolerations || c->has_taints ||
	              change->active_deadline_s;
	if (c->kind == KUBE_PODS)
		c->patch = object_copy(KUBE_PODS, &patch, &size);
	else
		c->node_patch = object_copy(KUBE_NODES, &node, &size);
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
		                                  .change = port_change,
		                                  .bind = port_bind,
		                                  .evict = port_remove,
		                                  .remove = port_remove,
		                                  .create = port_create,
		                                  .event = port_event };

	l->kube.ops = &ops;
}

void kube_life_ends(struct life *l)
{
	for (unsigned i = 0; i < 2; i++)
		store_free(l->streams[i].store);
}

/* ---- */

void kube_init(struct world *w)
{
	for (unsigned i = 0; i < w->n_nodes; i++) {
		char name[16], pod_name[16];
		struct amount allocatable[] = { { "cpu", (int64_t)w->node_cpus * 1000 },
			                        { "memory", (INT64_C(64) << 30) * 1000 },
			                        { "pods", 110 * 1000 } };
		struct knode node = { .allocatable = allocatable, .n_allocatable = ARRAY_LEN(allocatable) };
		struct pair label = { LABEL_NODESET, "all" };
		struct toleration anything = { .op = TOLERATE_EXISTS };
		struct condition ready = { .type = "Ready", .status = COND_TRUE, .changed = clock_wall(&w->clock) };
		struct pod pod = { .phase = POD_RUNNING,
			           .scheduler_name = "default-scheduler",
			           .tolerations = &anything,
			           .n_tolerations = 1,
			           .conditions = &ready,
			           .n_conditions = 1,
			           .has_grace = true,
			           .grace_s = 5 };
		struct kpod *k;

		snprintf(name, sizeof(name), "k%u", i);
		snprintf(pod_name, sizeof(pod_name), "n%u", i);
		node.meta.name = name;
		node.meta.uid = name;
		node_write(w, i, &node);
		pod.meta.ns = SIM_SYSTEM_NS;
		pod.meta.name = pod_name;
		pod.meta.labels = &label;
		pod.meta.n_labels = 1;
		pod.node_name = name;
		k = pod_create(w, &pod);
		k->containers = CONTAINERS_RUN;
		k->run_for = USEC_NEVER;
		k->nodeset = 1 + (int)i;
	}
}

void kube_done_all(struct world *w)
{
	for (size_t i = 0; i < w->api.n_pods; i++) {
		version_unref(w->api.pods[i]->v);
		free(w->api.pods[i]);
	}
	free(w->api.pods);
	for (unsigned i = 0; i < w->n_nodes; i++)
		version_unref(w->api.nodes[i].v);
}
