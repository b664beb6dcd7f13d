/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The default scheduler: ordinary Pods to nodes that take them. One that fits nowhere is looked at again when a node or
 * the Pods on one change.
 */
#include <string.h>

#include "base/str.h"
#include "lite/binding.h"
#include "lite/condition.h"
#include "lite/control/claims.h"
#include "lite/control/fit.h"
#include "lite/control/workload.h"
#include "lite/obj.h"
#include "policy/volumes.h"
#include "json/json.h"

#define NAME "default-scheduler"
#define REASONS_MAX 32
#define RETRY_SPAN (5 * USEC_MINUTE) /* as the real one, should a change have been missed */
#define SCORE_NODES_ENOUGH 50        /* so many that fit are enough to choose from */
#define MESSAGE_MAX 1000

/* Pods that fit nowhere, by key. */
static void start(struct controller *c)
{
	c->state = NEW(struct map);
}

static void forget(struct controller *c, const char *key)
{
	free(map_remove(c->state, key));
}

static void stop(struct controller *c)
{
	struct map *waiting = c->state;
	size_t i = 0;
	char *key;

	while ((key = map_next(waiting, &i)))
		free(key);
	map_done(waiting);
	free(waiting);
}

static void mark_waiting(struct controller *c)
{
	size_t i = 0;
	char *key;

	while ((key = map_next(c->state, &i)))
		mark(c, key, 0);
}

static bool is_ours(const struct pod *p)
{
	return str_empty(p->node_name) && str_eq(p->scheduler_name, NAME) && p->n_gates == 0 && p->meta.deletion == 0 &&
	       !pod_is_over(p);
}

static void changed(struct controller *c, struct collection *in, const struct event *e)
{
	struct vpod *p;

	if (in == c->control->nodes || in == c->control->claims || in == c->control->volumes ||
	    in == c->control->classes) {
		mark_waiting(c);
	} else if (in == c->control->pods) {
		p = e->change == CHANGE_DELETED ? NULL : view_get_pod(c->control->view, e->item->key);
		if (p && is_ours(p->pod)) {
			/* What we wrote ourselves, that it fits nowhere, is no reason to look again. */
			if (!map_get(c->state, e->item->key) || (e->prev && e->change == CHANGE_MODIFIED))
				mark_item(c, e->item, map_get(c->state, e->item->key) ? USEC_SEC : 0);
			return;
		}
		forget(c, e->item->key);
		if (!p || pod_is_over(p->pod))
			mark_waiting(c); /* there is more room */
	}
}

struct reasons {
	struct {
		char text[FIT_REASON_MAX];
		size_t n;
	} list[REASONS_MAX];
	size_t n, nodes;
};

static void add_reason(struct reasons *r, const char *text)
{
	for (size_t i = 0; i < r->n; i++)
		if (str_eq(r->list[i].text, text)) {
			r->list[i].n++;
			return;
		}
	if (r->n == REASONS_MAX)
		return;
	str_copy(r->list[r->n].text, FIT_REASON_MAX, text);
	r->list[r->n++].n = 1;
}

static bool fits_volumes(const struct vpod *p, const struct claims *claims, const struct vnode *n,
                         char reason[FIT_REASON_MAX])
{
	uint32_t claim;

	switch (volumes_reach(p->pod, &claims->v, n->node, &claim)) {
	case REACH_OK: return true;
	case REACH_NONE:
		str_copy(reason, FIT_REASON_MAX, "node(s) didn't find available persistent volumes to bind");
		break;
	default: str_copy(reason, FIT_REASON_MAX, "node(s) had volume node affinity conflict");
	}
	return false;
}

/* The best of those that fit; ties are drawn. */
static struct vnode *choose(struct controller *c, const struct vpod *p, const struct claims *claims, struct reasons *r)
{
	struct vnode *best = NULL, *n;
	char reason[FIT_REASON_MAX];
	int64_t score, top = -1;
	size_t i = 0, found = 0, ties = 0;

	while (found < SCORE_NODES_ENOUGH && (n = map_next(&c->control->view->nodes, &i))) {
		if (!n->node)
			continue;
		r->nodes++;
		if (!fits(p, n, reason) || !fits_volumes(p, claims, n, reason)) {
			add_reason(r, reason);
			continue;
		}
		found++;
		score = fit_score(p, n);
		ties = score > top ? 1 : score == top ? ties + 1 : ties;
		if (score > top || (score == top && rng_below(&c->lite->rng, ties) == 0)) {
			best = n;
			top = score;
		}
	}
	return best;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void explain(struct reasons *r, struct buf *out)
{
	if (r->nodes == 0) {
		buf_add_str(out, "no nodes available to schedule pods");
		return;
	}
	qsort(r->list, r->n, sizeof(r->list[0]), by_text);
	buf_printf(out, "0/%zu nodes are available: ", r->nodes);
	for (size_t i = 0; i < r->n; i++)
		buf_printf(out, "%s%zu %s", i > 0 ? ", " : "", r->list[i].n, r->list[i].text);
	buf_add_str(out, ".");
}

/* It is looked at again when something changes. */
static void remember(struct controller *c, const struct item *i)
{
	char *key;

	if (!map_get(c->state, i->key)) {
		key = mem_strdup(i->key);
		map_put(c->state, key, key);
	}
	mark_item(c, i, RETRY_SPAN);
}

static void cannot(struct controller *c, const struct item *i, const char *message)
{
	const struct kind *k = kind_of("", "pods");
	yyjson_mut_doc *doc = reg_doc(k, i);

	remember(c, i);
	if (set_condition(doc, "PodScheduled", "False", "Unschedulable", message, lite_now(c->lite))) {
		tell(c, k, i, "Warning", "FailedScheduling", "%s", message);
		write_status(c, k, i, doc);
	} else {
		yyjson_mut_doc_free(doc);
	}
}

static void bind(struct controller *c, const struct item *i, const char *node)
{
	static const struct write_options o = { .manager = "kube-scheduler" };
	_cleanup_mut_doc_ yyjson_mut_doc *doc = obj_doc();
	_cleanup_status_ struct status st = STATUS_INIT;
	_cleanup_free_ char *ns = mem_strndup(i->key, i->ns_len);
	yyjson_mut_val *target = obj_make(doc, yyjson_mut_doc_get_root(doc), "target");

	obj_set_str(doc, target, "kind", "Node");
	obj_set_str(doc, target, "name", node);
	if (bind_pod(c->lite, ns, i->name, yyjson_mut_doc_get_root(doc), &o, &st) == 0)
		tell(c, kind_of("", "pods"), i, "Normal", "Scheduled", "Successfully assigned %s to %s", i->key, node);
}

static void select_node(struct controller *c, const struct pvc *claim, const char *node)
{
	const struct kind *k = kind_of("", "persistentvolumeclaims");
	_cleanup_(item_unrefp) struct item *i = item_ref(db_get(c->control->claims, claim->meta.ns, claim->meta.name));
	yyjson_mut_doc *doc;

	if (!i)
		return;
	doc = reg_doc(k, i);
	set_annotation(doc, ANNOTATION_SELECTED_NODE, node);
	write_object(c, k, i, doc);
}

/* The persistentvolume-controller does the rest. */
static void take_volume(struct controller *c, const struct pvc *claim, const struct pv *volume)
{
	const struct kind *k = kind_of("", "persistentvolumes");
	_cleanup_(item_unrefp) struct item *i =
	        volume ? item_ref(db_get(c->control->volumes, "", volume->meta.name)) : NULL;
	yyjson_mut_doc *doc;

	if (!i)
		return;
	doc = reg_doc(k, i);
	if (str_empty(volume->claim_name))
		set_annotation(doc, ANNOTATION_BOUND_BY_CONTROLLER, "yes");
	set_claim_ref(doc, &claim->meta);
	write_object(c, k, i, doc);
}

/* A node is chosen: volumes that wait for that are taken, or made for it, first. */
static void place(struct controller *c, const struct vpod *p, const struct item *i, const struct claims *claims,
                  const struct vnode *n)
{
	const struct place at = { n->name, n->node, n->name };
	char why[FIT_WHY_MAX];
	uint32_t claim = 0;

	switch (volumes_before_bind(p->pod, &claims->v, &at, &claim, why)) {
	case VOLUMES_READY:
		forget(c, i->key);
		bind(c, i, n->name);
		break;
	case VOLUMES_TAKE:
		remember(c, i);
		take_volume(c, claims->v.claims[claim], volumes_choice(p->pod, &claims->v, n->node, claim));
		break;
	case VOLUMES_SELECT:
		remember(c, i);
		select_node(c, claims->v.claims[claim], n->name);
		break;
	default: remember(c, i);
	}
}

static void look(struct controller *c, const char *key)
{
	struct vpod *p = view_get_pod(c->control->view, key);
	_cleanup_(item_unrefp) struct item *i = item_ref(get_item(c->control->pods, key));
	_cleanup_claims_ struct claims claims = { 0 };
	_cleanup_buf_ struct buf message = BUF(MESSAGE_MAX);
	_cleanup_free_ struct reasons *r = NULL;
	char why[FIT_WHY_MAX];
	uint32_t claim;
	struct vnode *n;

	if (!p || !i || !is_ours(p->pod)) {
		forget(c, key);
		return;
	}
	claims_gather(c->control, p->pod, &claims);
	if (volumes_before_bind(p->pod, &claims.v, NULL, &claim, why) != VOLUMES_READY) {
		buf_printf(&message, "0/%zu nodes are available: %s.", map_count(&c->control->view->nodes), why);
		cannot(c, i, buf_text(&message));
		return;
	}
	r = NEW(struct reasons);
	n = choose(c, p, &claims, r);
	if (n) {
		place(c, p, i, &claims, n);
	} else {
		explain(r, &message);
		cannot(c, i, buf_text(&message));
	}
}

const struct controller_ops scheduler_ops = { "scheduler", start, stop, changed, look };
