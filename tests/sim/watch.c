/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Watches: how a process sees the truth. News come late, in order, sometimes twice; a watch breaks, and what happened meanwhile is
 * only seen in the next list.
 */
#include "tests/sim/world.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "port/kinds.h"

#define BOOKMARK_SPAN USEC_MINUTE
#define SILENT_MAX (90 * USEC_SEC) /* who hears nothing for so long, lists anew (kube/informer_plan.h) */

static const struct {
	enum kube_kind kind;
	const char *name;
} kinds[STREAMS] = {
	{ KUBE_PODS, "Pods" },
	{ KUBE_NODES, "Nodes" },
	{ KUBE_CLAIMS, "claims" },
	{ KUBE_VOLUMES, "volumes" },
	{ KUBE_CLASSES, "classes" },
	{ KUBE_NODESETS, "NodeSets" },
	{ KUBE_NODESLICES, "NodeSlices" },
};

struct list { /* on its way */
	size_t n;
	struct version *items[];
};

struct stream *stream_of(struct life *l, enum kube_kind kind)
{
	for (unsigned i = 0; i < STREAMS; i++)
		if (kinds[i].kind == kind)
			return &l->streams[i];
	return NULL;
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
	struct stream *s = l ? &l->streams[e->b % STREAMS] : NULL;

	if (s && s->epoch == e->b / STREAMS) {
		store_replace_begin(s->store);
		for (size_t i = 0; i < list->n; i++)
			put(s, list->items[i]);
		store_replace_end(s->store);
		store_alive(s->store, w->now);
		life_wakes(l);
		say(w, "life %llu: listed %s: %zu", (unsigned long long)l->serial, kinds[e->b % STREAMS].name, list->n);
	}
	for (size_t i = 0; i < list->n; i++)
		version_unref(list->items[i]);
	free(list);
}

/* A sign of life where there are no news; where there are some on their way, these are that. */
static void bookmark(struct world *w, struct ev *e)
{
	struct life *l = life_get(w, e->a);
	struct stream *s = l ? &l->streams[e->b % STREAMS] : NULL;

	if (!s || s->epoch != e->b / STREAMS)
		return;
	if (s->last <= w->now)
		store_alive(s->store, w->now);
	in(w, BOOKMARK_SPAN, bookmark, e->a, e->b, NULL);
}

/* NULL: that one is not there. */
static struct version *object_number(const struct world *w, enum kube_kind kind, size_t n)
{
	switch (kind) {
	case KUBE_PODS: return n < w->api.n_pods ? w->api.pods[n]->v : NULL;
	case KUBE_NODES: return n < w->n_nodes && !w->api.nodes[n].gone ? w->api.nodes[n].v : NULL;
	case KUBE_NODESETS: return n == 0 ? w->api.set : NULL;
	case KUBE_NODESLICES: return n < w->api.n_slices ? w->api.slices[n] : NULL;
	default: return storage_get(w, kind, n);
	}
}

static void list_taken(struct world *w, struct ev *e)
{
	struct life *l = life_get(w, e->a);
	struct stream *s = l ? &l->streams[e->b % STREAMS] : NULL;
	size_t max;
	struct list *list;
	usec_t takes = span(w, USEC_MSEC, fault_on(w, FAULT_WATCH_SLOW) ? 5 * USEC_SEC : 50 * USEC_MSEC);

	if (!s || s->epoch != e->b / STREAMS)
		return;
	max = MAX_OF(w->api.n_pods, (size_t)SIM_VOLUMES);
	list = mem_alloc(sizeof(*list) + max * sizeof(struct version *));
	list->n = 0;
	for (size_t n = 0; n < max; n++) {
		struct version *v = object_number(w, s->kind, n);

		if (v)
			list->items[list->n++] = version_ref(v);
	}
	s->broken = false;
	s->last = w->now + takes;
	at(w, s->last, list_arrives, l->serial, e->b, list);
	at(w, s->last + BOOKMARK_SPAN, bookmark, l->serial, e->b, NULL);
}

void stream_begin(struct world *w, struct life *l, unsigned number, usec_t after)
{
	struct stream *s = &l->streams[number];

	s->epoch++;
	s->broken = true;
	in(w, after, list_taken, l->serial, s->epoch * STREAMS + number, NULL);
}

void streams_break(struct world *w, struct life *l)
{
	for (unsigned i = 0; i < STREAMS; i++)
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
		stream_begin(w, l, (unsigned)(s - l->streams),
		             chance(w, 50) ? SILENT_MAX + span(w, 0, USEC_SEC) /* nobody was told that it broke */
		                           : span(w, 10 * USEC_MSEC, 20 * USEC_SEC));
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

void notify(struct world *w, struct version *v)
{
	for (unsigned i = 0; i < LIVES; i++)
		if (w->lives[i] && !w->lives[i]->dying)
			send_news(w, w->lives[i], v);
}
