/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/misfit.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/str.h"
#include "policy/taints.h"

#define EXPRESSION_MAX 160

void misfit_query_init(struct misfit_query *q, const struct pod *pod, const struct pod_volumes *volumes)
{
	*q = (struct misfit_query) { .pod = pod, .volumes = volumes };
	asks_init(&q->asks, pod);
	/* One that cannot be read keeps the Pod from being submitted at all: validate_pod() says so. */
	(void)hostlist_parse(&q->required,
	                     pair_get(pod->meta.annotations, pod->meta.n_annotations, ANNOTATION_REQUIRED_NODES), NULL);
	hostlist_sort_unique(&q->required);
}

void misfit_query_done(struct misfit_query *q)
{
	asks_done(&q->asks);
	hostlist_done(&q->required);
}

static int by_name(const void *a, const void *b)
{
	return hostlist_compare(*(char *const *)a, *(char *const *)b);
}

static bool is_required(const struct misfit_query *q, const char *node)
{
	return q->required.n == 0 ||
	       (node && bsearch(&node, q->required.names, q->required.n, sizeof(*q->required.names), by_name));
}

static enum misfit misfit_taints(const struct pod *pod, const struct knode *node, const struct taint **ret)
{
	bool cordoned = node->unschedulable && !cordon_tolerated(pod);
	const struct taint *t;
	uint32_t i = 0;

	while ((t = taint_in_the_way(pod, node, &i))) {
		if (str_eq(t->key, TAINT_LOCK) && t->effect == EFFECT_NO_EXECUTE)
			continue;
		*ret = t;
		if (!str_eq(t->key, TAINT_CORDON))
			return MISFIT_TAINT;
		cordoned = true; /* a cordon is a taint as well, once a controller has seen it */
	}
	return cordoned ? MISFIT_UNSCHEDULABLE : FIT_OK;
}

enum misfit misfit_ever(const struct misfit_query *q, const struct place *place, struct misfit_detail *ret)
{
	const struct knode *node = place->node;

	if (!is_required(q, place->slurm_node))
		return MISFIT_NOT_REQUIRED;
	if (!node)
		return MISFIT_NO_NODE;
	if (!pod_selects(q->pod, node, &ret->selector))
		return MISFIT_SELECTOR;
	if (q->volumes && q->pod->n_volumes > 0) {
		uint32_t claim = 0;
		enum out_of_reach how = volumes_reach(q->pod, q->volumes, node, &claim);

		ret->volume.how = how;
		ret->volume.claim = claim;
		if (how != REACH_OK)
			return MISFIT_VOLUME;
	}
	if (!room_ever(&q->asks, node, &ret->shortage))
		return MISFIT_CAPACITY;
	return misfit_taints(q->pod, node, &ret->taint);
}

/* ---- words ---- */

static const char *taint_text(const struct taint *t, char text[EXPRESSION_MAX])
{
	static const char *const effects[] = { "", ":NoSchedule", ":PreferNoSchedule", ":NoExecute" };
	bool valued = !str_empty(t->value);

	snprintf(text, EXPRESSION_MAX, "%.80s%s%.40s%s", str_or(t->key, ""), valued ? "=" : "", valued ? t->value : "",
	         t->effect >= 0 && (size_t)t->effect < ARRAY_LEN(effects) ? effects[t->effect] : "");
	return text;
}

/* "zone In (a, b)", "gen Gt 3", "gpu Exists" */
static const char *requirement_text(const struct requirement *r, char text[EXPRESSION_MAX])
{
	static const char *const ops[] = { "?", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt" };
	_cleanup_buf_ struct buf b = BUF(EXPRESSION_MAX);

	buf_printf(&b, "%.80s %s", str_or(r->key, ""),
	           ops[r->op >= 0 && (size_t)r->op < ARRAY_LEN(ops) ? r->op : SEL_UNKNOWN]);
	for (uint32_t i = 0; i < r->n_values && b.len < 100; i++)
		buf_printf(&b, "%s%.30s", i ? ", " : " (", str_or(r->values[i], ""));
	if (r->n_values)
		buf_add_str(&b, b.len < 100 ? ")" : ", …)");
	str_copy(text, EXPRESSION_MAX, buf_text(&b));
	return text;
}

static const char *unselected_text(const struct unselected *u, char text[EXPRESSION_MAX])
{
	if (u->label)
		snprintf(text, EXPRESSION_MAX, "%.80s=%.60s", str_or(u->label->key, ""), str_or(u->label->value, ""));
	else if (u->needs)
		requirement_text(u->needs, text);
	else
		*text = '\0';
	return text;
}

static void selector_why(const struct misfit_query *q, const struct unselected *u, char why[FIT_WHY_MAX])
{
	char text[EXPRESSION_MAX];

	unselected_text(u, text);
	if (u->label)
		snprintf(why, FIT_WHY_MAX, "the node selector asks for %s", text);
	else if (u->needs)
		snprintf(why, FIT_WHY_MAX, "the node affinity asks for %s", text);
	else if (q->pod->n_required_nodes <= 1)
		snprintf(why, FIT_WHY_MAX, "the node affinity is empty, which matches no node");
	else
		snprintf(why, FIT_WHY_MAX, "none of the %" PRIu32 " terms of the node affinity matches",
		         q->pod->n_required_nodes);
}

static void shortage_why(enum misfit m, const struct shortage *s, char why[FIT_WHY_MAX])
{
	char asked[AMOUNT_TEXT_MAX], has[AMOUNT_TEXT_MAX], whole[AMOUNT_TEXT_MAX];

	amount_text(s->resource, s->asked, asked);
	amount_text(s->resource, s->has, has);
	amount_text(s->resource, s->whole, whole);
	if (m == MISFIT_PODS)
		snprintf(why, FIT_WHY_MAX, "the Node has all the %s Pods it may have", whole);
	else if (m == MISFIT_CAPACITY)
		snprintf(why, FIT_WHY_MAX, "asks for %s %.100s, the whole Node has %s", asked, s->resource, whole);
	else
		snprintf(why, FIT_WHY_MAX, "asks for %s %.100s, the Node has %s left of %s", asked, s->resource, has,
		         whole);
}

void misfit_why(const struct misfit_query *q, enum misfit m, const struct misfit_detail *d, const struct place *place,
                char why[FIT_WHY_MAX])
{
	char text[EXPRESSION_MAX];

	switch (m) {
	case MISFIT_NO_NODE:
		if (str_empty(place->node_name))
			str_copy(why, FIT_WHY_MAX, "no NodeSet Pod runs there on a Kubernetes Node");
		else
			snprintf(why, FIT_WHY_MAX, "Kubernetes Node %.200s is gone", place->node_name);
		break;
	case MISFIT_NOT_REQUIRED: str_copy(why, FIT_WHY_MAX, "it is not among the nodes that the Pod requires"); break;
	case MISFIT_SELECTOR: selector_why(q, &d->selector, why); break;
	case MISFIT_VOLUME: reach_text(d->volume.how, q->pod, q->volumes, d->volume.claim, why); break;
	case MISFIT_TAINT: snprintf(why, FIT_WHY_MAX, "taint %s is not tolerated", taint_text(d->taint, text)); break;
	case MISFIT_UNSCHEDULABLE: str_copy(why, FIT_WHY_MAX, "the Node is cordoned"); break;
	case MISFIT_CAPACITY:
	case MISFIT_RESOURCES:
	case MISFIT_PODS: shortage_why(m, &d->shortage, why); break;
	case MISFIT_PORTS:
		snprintf(why, FIT_WHY_MAX, "host port %" PRId32 "/%.8s is taken by Pod %.80s/%.100s",
		         d->port.port->port, str_empty(d->port.port->protocol) ? "TCP" : d->port.port->protocol,
		         str_or(d->port.by->meta.ns, ""), str_or(d->port.by->meta.name, ""));
		break;
	default: *why = '\0'; return;
	}
	str_mask_unsafe(why);
}

void misfit_brief(const struct misfit_query *q, enum misfit m, const struct misfit_detail *d,
                  char text[MISFIT_BRIEF_MAX])
{
	char asked[AMOUNT_TEXT_MAX], has[AMOUNT_TEXT_MAX], name[CLAIM_NAME_MAX], long_text[EXPRESSION_MAX] = "";

	if (m == MISFIT_SELECTOR) {
		unselected_text(&d->selector, long_text);
	} else if (m == MISFIT_TAINT) {
		taint_text(d->taint, long_text);
	} else if (m == MISFIT_VOLUME) {
		snprintf(long_text, sizeof(long_text), "claim %.80s", claim_name(q->pod, d->volume.claim, name));
	} else if (m == MISFIT_CAPACITY) {
		snprintf(long_text, sizeof(long_text), "%.40s: asks for %s, the largest has %s", d->shortage.resource,
		         amount_text(d->shortage.resource, d->shortage.asked, asked),
		         amount_text(d->shortage.resource, d->shortage.has, has));
	}
	str_copy(text, MISFIT_BRIEF_MAX, long_text);
	str_mask_unsafe(text);
}

static bool same_taint(const struct taint *a, const struct taint *b)
{
	return a->effect == b->effect && str_eq(str_or(a->key, ""), str_or(b->key, "")) &&
	       str_eq(str_or(a->value, ""), str_or(b->value, ""));
}

bool misfit_same(enum misfit m, const struct misfit_detail *a, const struct misfit_detail *b)
{
	switch (m) {
	case MISFIT_SELECTOR: return a->selector.label == b->selector.label && a->selector.needs == b->selector.needs;
	case MISFIT_VOLUME: return a->volume.claim == b->volume.claim;
	case MISFIT_CAPACITY: return str_eq(a->shortage.resource, b->shortage.resource);
	case MISFIT_TAINT: return same_taint(a->taint, b->taint);
	default: return true;
	}
}
