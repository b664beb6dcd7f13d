/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "syncer/test_world.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "policy/nodeset.h"

#define START (1000 * USEC_SEC)
#define WALL (1700000000 * USEC_SEC)

static void *keep(struct world *w, void *p)
{
	w->texts = mem_realloc_n(w->texts, w->n_texts + 1, sizeof(*w->texts));
	return w->texts[w->n_texts++] = p;
}

const char *world_text(struct world *w, const char *text)
{
	return text ? keep(w, mem_strdup(text)) : NULL;
}

static usec_t mono(const struct clock *c)
{
	return CONTAINER_OF(c, struct world, clock)->mono;
}

static usec_t wall(const struct clock *c)
{
	return WALL + mono(c);
}

static struct world_answer *answer_later(struct world *w)
{
	assert(w->n_answers < ARRAY_LEN(w->answers));
	return memset(&w->answers[w->n_answers++], 0, sizeof(w->answers[0]));
}

/* ---- Kubernetes ---- */

static void set_pair(struct world *w, struct pair *pairs, uint32_t *n, const char *key, const char *value)
{
	for (uint32_t i = 0; i < *n; i++)
		if (str_eq(pairs[i].key, key)) {
			if (value)
				pairs[i].value = world_text(w, value);
			else
				pairs[i] = pairs[--*n];
			return;
		}
	if (!value)
		return;
	assert(*n < WORLD_NOTES);
	pairs[(*n)++] = (struct pair) { world_text(w, key), world_text(w, value) };
}

const char *world_value(const struct pair *pairs, uint32_t n, const char *key)
{
	return pair_get(pairs, n, key);
}

static void set_condition(struct world *w, struct world_pod *p, const struct condition *c)
{
	struct condition *to = NULL;

	for (uint32_t i = 0; i < p->n_conditions; i++)
		if (str_eq(p->conditions[i].type, c->type))
			to = &p->conditions[i];
	if (!to) {
		assert(p->n_conditions < WORLD_NOTES);
		to = &p->conditions[p->n_conditions++];
	}
	*to = (struct condition) { world_text(w, c->type), world_text(w, c->reason), world_text(w, c->message),
		                   c->status, c->changed };
}

/* The store frees the block; what it points to belongs to the world. */
void world_show(struct world *w, struct world_pod *p)
{
	struct pod *o = mem_alloc(sizeof(*o));
	char version[16];

	set_condition(w, p, &(struct condition) { .type = "Ready", .status = p->ready ? COND_TRUE : COND_FALSE });
	snprintf(version, sizeof(version), "%u", p->version);
	o->meta = (struct meta) { .ns = "slurm",
		                  .name = p->name,
		                  .uid = world_text(w, p->uid),
		                  .resource_version = world_text(w, version),
		                  .deletion = p->deleting ? WALL : 0 };
	o->meta.labels = mem_dup(p->labels, sizeof(p->labels));
	o->meta.n_labels = p->n_labels;
	o->meta.annotations = mem_dup(p->notes, sizeof(p->notes));
	o->meta.n_annotations = p->n_notes;
	o->conditions = mem_dup(p->conditions, sizeof(p->conditions));
	o->n_conditions = p->n_conditions;
	o->node_name = p->node;
	keep(w, o->meta.labels);
	keep(w, o->meta.annotations);
	keep(w, o->conditions);
	store_put(w->pods, o, sizeof(*o));
}

void world_note(struct world *w, struct world_pod *p, const char *key, const char *value)
{
	set_pair(w, p->notes, &p->n_notes, key, value);
	p->version = ++w->versions;
	world_show(w, p);
}

void world_remove(struct world *w, struct world_pod *p)
{
	p->there = false;
	store_remove(w->pods, "slurm", p->name);
}

void world_slice(struct world *w, const char *name, const char *one, const char *two)
{
	struct nodeslice *o = mem_alloc(sizeof(*o));
	const char **nodes = keep(w, mem_alloc_n(2, sizeof(*nodes)));
	char version[16];

	snprintf(version, sizeof(version), "%u", ++w->versions);
	*o = (struct nodeslice) { .nodes = nodes };
	o->meta = (struct meta) { .ns = "slurm",
		                  .name = world_text(w, name),
		                  .uid = world_text(w, name),
		                  .resource_version = world_text(w, version) };
	if (one)
		nodes[o->n_nodes++] = world_text(w, one);
	if (two)
		nodes[o->n_nodes++] = world_text(w, two);
	store_put(w->slices, o, sizeof(*o));
}

static struct store *watch(struct kube_port *k, enum kube_kind kind, const char *ns, const char *labels,
                           const char *fields)
{
	struct world *w = CONTAINER_OF(k, struct world, kube);

	if (kind == KUBE_NODESLICES)
		return w->slices;
	assert(kind == KUBE_PODS && str_eq(ns, "slurm") && str_eq(labels, LABEL_NODESET) && !fields);
	return w->pods;
}

static struct world_pod *find_pod(struct world *w, const struct kube_ref *ref)
{
	for (int i = 0; i < WORLD_MAX; i++)
		if (w->pod[i].there && str_eq(w->pod[i].name, ref->name) &&
		    (!ref->uid || str_eq(w->pod[i].uid, ref->uid)))
			return &w->pod[i];
	return NULL;
}

static int change_pod(struct world *w, const struct kube_change *c, char version[16])
{
	struct world_pod *p = find_pod(w, &c->ref);
	char now[16];

	if (!p)
		return KUBE_NOT_FOUND;
	if (w->kube_forbids)
		return KUBE_FORBIDDEN;
	snprintf(now, sizeof(now), "%u", p->version);
	if (w->kube_conflicts || (c->ref.resource_version && !str_eq(c->ref.resource_version, now)))
		return KUBE_CONFLICT;
	for (int i = 0; i < c->n_annotations; i++)
		set_pair(w, p->notes, &p->n_notes, c->annotations[i].key, c->annotations[i].value);
	for (int i = 0; i < c->n_labels; i++)
		set_pair(w, p->labels, &p->n_labels, c->labels[i].key, c->labels[i].value);
	for (int i = 0; i < c->n_conditions; i++)
		set_condition(w, p, &c->conditions[i]);
	p->version = ++w->versions;
	snprintf(version, 16, "%u", p->version);
	return KUBE_OK;
}

static void change(struct kube_port *k, const struct kube_change *c, kube_done done, void *arg)
{
	struct world *w = CONTAINER_OF(k, struct world, kube);
	struct world_answer *a = answer_later(w);

	w->n_kube++;
	w->kube_now++;
	w->kube_most = MAX_OF(w->kube_most, w->kube_now);
	a->kube = true;
	a->kube_done = done;
	a->arg = arg;
	if (c->ref.kind == KUBE_PODS) {
		a->outcome = change_pod(w, c, a->version);
		if (w->changed)
			w->changed(w);
		return;
	}
	assert(c->ref.kind == KUBE_NODES && c->n_conditions == 1);
	str_copy(w->node_condition_of, sizeof(w->node_condition_of), c->ref.name);
	w->node_condition = c->conditions[0];
	w->node_condition.type = world_text(w, c->conditions[0].type);
	w->node_condition.reason = world_text(w, c->conditions[0].reason);
	a->outcome = KUBE_OK;
}

static void get(struct kube_port *k, const struct kube_ref *ref, kube_got done, void *arg)
{
	struct world *w = CONTAINER_OF(k, struct world, kube);
	struct world_answer *a = answer_later(w);

	a->kube_got = done;
	a->arg = arg;
	if (!str_eq(ref->ns, "ns")) { /* one of slurmd's, as it is: watches may not show it yet */
		a->outcome = w->hidden_pod && str_eq(ref->name, w->hidden_pod) ? KUBE_OK : KUBE_NOT_FOUND;
		return;
	}
	assert(ref->kind == KUBE_PODS && str_eq(ref->name, "p"));
	w->single.n_asked++;
	a->outcome = w->single.away                                     ? KUBE_RETRY
	             : w->single.there && str_eq(ref->uid, "uid-12345") ? KUBE_OK
	                                                                : KUBE_NOT_FOUND;
}

static const struct kube_port_ops kube_ops = { .watch = watch, .change = change, .get = get };

/* ---- Slurm ---- */

static int change_node(struct world *w, const char *name, const struct node_change *c)
{
	struct snode *n = NULL;

	if (w->meanwhile)
		w->meanwhile(w);
	for (int i = 0; i < WORLD_MAX; i++)
		if (w->node[i].there && str_eq(w->node[i].n.name, name))
			n = &w->node[i].n;
	if (!n)
		return SLURM_GONE;
	if (c->expect_extra_is && !str_eq(str_or(n->extra, ""), str_or(c->expect_extra, "")))
		return SLURM_CONFLICT;
	if (c->expect && (n->state == NODE_DOWN || !(n->flags & NODEF_DRAIN) == c->expect_drained))
		return SLURM_CONFLICT;
	if (c->expect_answers && n->flags & NODEF_NO_RESPOND)
		return SLURM_CONFLICT;
	if (c->expect && c->expect_drained &&
	    (!str_eq(n->reason, c->expect_reason) || n->reason_set != c->expect_reason_set))
		return SLURM_CONFLICT;
	if (c->what & NODE_CHANGE_DRAIN)
		n->flags |= NODEF_DRAIN;
	if (c->what & (NODE_CHANGE_DRAIN | NODE_CHANGE_REASON)) {
		n->reason = world_text(w, c->reason);
		n->reason_set = wall(&w->clock);
	}
	if (c->what & NODE_CHANGE_UNDRAIN)
		n->flags &= ~(uint32_t)NODEF_DRAIN;
	if (c->what & NODE_CHANGE_EXTRA)
		n->extra = world_text(w, c->extra);
	if (c->what & NODE_CHANGE_COMMENT)
		n->comment = world_text(w, c->comment);
	if (c->what & NODE_CHANGE_FEATURES)
		n->features = world_text(w, c->features);
	return SLURM_OK;
}

static int delete_node(struct world *w, const char *name)
{
	for (int i = 0; i < WORLD_MAX; i++)
		if (w->node[i].there && str_eq(w->node[i].n.name, name)) {
			if (w->node[i].n.state == NODE_ALLOCATED)
				return SLURM_RETRY;
			w->node[i].there = false;
			w->n_deleted++;
			return SLURM_OK;
		}
	return SLURM_GONE;
}

static void read_slurm(struct world *w, const struct slurm_request *rq, struct world_answer *a)
{
	struct snode *nodes = mem_alloc_n(WORLD_MAX, sizeof(*nodes));

	a->block = nodes;
	a->part = rq->verb;
	if (rq->verb != SLURM_LOAD_NODES)
		return;
	w->n_reads++;
	for (int i = 0; i < WORLD_MAX; i++)
		if (w->node[i].there)
			nodes[a->n++] = w->node[i].n;
}

static void call(struct slurm_port *p, const struct slurm_request *rq, slurm_done done, void *arg)
{
	struct world *w = CONTAINER_OF(p, struct world, slurm);
	struct world_answer *a = answer_later(w);

	a->slurm_done = done;
	a->arg = arg;
	a->asked = w->mono;
	if (w->slurm_away)
		a->outcome = SLURM_RETRY;
	else if (rq->verb == SLURM_CHANGE_NODE) {
		w->n_slurm++;
		a->words = rq->node_change->what & NODE_CHANGE_EXTRA;
		w->words_now += a->words;
		w->words_most = MAX_OF(w->words_most, w->words_now);
		a->outcome = change_node(w, rq->node, rq->node_change);
	} else if (rq->verb == SLURM_DELETE_NODE) {
		a->outcome = delete_node(w, rq->node);
	} else
		read_slurm(w, rq, a);
}

static const struct slurm_port_ops slurm_ops = { .call = call };

void world_drain(struct world *w, struct snode *n, const char *reason)
{
	n->flags = reason ? n->flags | NODEF_DRAIN : n->flags & ~(uint32_t)NODEF_DRAIN;
	n->reason = world_text(w, reason);
	n->reason_uid = 1000;
	n->reason_set = wall(&w->clock);
}

/* ---- running ---- */

static void give(struct world *w, struct world_answer *a)
{
	w->kube_now -= a->kube;
	w->words_now -= a->words;
	if (a->kube_got) {
		struct kube_result r = { .outcome = (enum kube_outcome)a->outcome, .message = "" };
		struct pod pod = { .node_name = w->single.node, .phase = w->single.over ? POD_SUCCEEDED : POD_RUNNING };

		a->kube_got(a->arg, &r, r.outcome == KUBE_OK ? &pod : NULL);
	} else if (a->kube) {
		struct kube_result r = { .outcome = (enum kube_outcome)a->outcome,
			                 .message = "",
			                 .resource_version = *a->version ? a->version : NULL };

		a->kube_done(a->arg, &r);
	} else {
		static struct slurm_stats stats;
		struct slurm_result r = { .outcome = (enum slurm_outcome)a->outcome,
			                  .message = "",
			                  .asked = a->asked,
			                  .as_of = 1,
			                  .n = a->n,
			                  .block = a->block };

		if (a->part == SLURM_LOAD_NODES)
			r.nodes = a->block;
		if (a->part == SLURM_LOAD_STATS)
			r.stats = &stats;
		a->slurm_done(a->arg, &r);
		free(r.block);
	}
}

static void round_of(struct world *w)
{
	struct world_answer now[ARRAY_LEN(w->answers)];
	unsigned n = w->n_answers;

	memcpy(now, w->answers, n * sizeof(now[0]));
	w->n_answers = 0;
	for (unsigned i = 0; i < n; i++) {
		give(w, &now[i]);
		for (int k = 0; now[i].kube && k < WORLD_MAX; k++)
			if (w->pod[k].there)
				world_show(w, &w->pod[k]); /* what is as it was makes no event */
	}
}

void world_run(struct world *w, usec_t span)
{
	usec_t end = w->mono + span, next;

	for (;;) {
		next = syncer_step(w->syncer);
		if (w->n_answers) {
			w->mono += USEC_MSEC;
			round_of(w);
			continue;
		}
		if (next <= w->mono)
			continue;
		if (w->mono >= end)
			return;
		w->mono = MIN_OF(next, end);
	}
}

struct snode *world_node(struct world *w, const char *name)
{
	int i = 0;

	while (w->node[i].there)
		i++;
	assert(i < WORLD_MAX);
	w->node[i] =
	        (struct world_node) { true, { .name = world_text(w, name), .state = NODE_IDLE, .features = "dyn" } };
	return &w->node[i].n;
}

struct world_pod *world_pod(struct world *w, const char *name)
{
	struct world_pod *p;
	int i = 0;

	while (w->pod[i].there)
		i++;
	assert(i < WORLD_MAX);
	p = &w->pod[i];
	*p = (struct world_pod) { .there = true, .ready = true, .version = ++w->versions };
	str_copy(p->name, sizeof(p->name), name);
	snprintf(p->node, sizeof(p->node), "kube-%s", name);
	snprintf(p->uid, sizeof(p->uid), "u%u", ++w->uids);
	world_show(w, p);
	for (i = 0; i < WORLD_MAX; i++)
		if (w->node[i].there && str_eq(w->node[i].n.name, name))
			return p;
	world_node(w, name);
	return p;
}

static void begin(struct world *w)
{
	w->syncer = syncer_new(&w->options);
	syncer_leading(w->syncer, true);
}

void world_open(struct world *w)
{
	*w = (struct world) { .kube = { &kube_ops }, .slurm = { &slurm_ops }, .clock = { mono, wall }, .mono = START };
	w->pods = store_new(store_kind_of(KUBE_PODS));
	store_replace_begin(w->pods);
	store_replace_end(w->pods);
	w->slices = store_new(store_kind_of(KUBE_NODESLICES));
	w->options =
	        (struct syncer_options) { .kube = &w->kube, .slurm = &w->slurm, .clock = &w->clock, .ns = "slurm" };
	begin(w);
}

static void end(struct world *w)
{
	while (w->n_answers)
		round_of(w);
	syncer_free(w->syncer);
}

/* The store keeps its listeners: a restart has a store of its own. */
void world_restart(struct world *w)
{
	end(w);
	store_free(w->pods);
	w->pods = store_new(store_kind_of(KUBE_PODS));
	store_replace_begin(w->pods);
	for (int i = 0; i < WORLD_MAX; i++)
		if (w->pod[i].there)
			world_show(w, &w->pod[i]);
	store_replace_end(w->pods);
	store_free(w->slices);
	w->slices = store_new(store_kind_of(KUBE_NODESLICES)); /* not listed yet */
	begin(w);
}

void world_close(struct world *w)
{
	end(w);
	store_free(w->pods);
	store_free(w->slices);
	for (unsigned i = 0; i < w->n_texts; i++)
		free(w->texts[i]);
	free(w->texts);
}
