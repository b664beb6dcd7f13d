/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/control/fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static const char *label_of(const struct knode *n, const char *key)
{
	return pair_get(n->meta.labels, n->meta.n_labels, key);
}

static bool has_value(const struct requirement *r, const char *value)
{
	for (uint32_t i = 0; i < r->n_values; i++)
		if (str_eq(r->values[i], value))
			return true;
	return false;
}

static bool compares(const struct requirement *r, const char *value)
{
	char *end;
	long long a, b;

	if (!value || r->n_values != 1)
		return false;
	a = strtoll(value, &end, 10);
	if (end == value || *end)
		return false;
	b = strtoll(r->values[0], &end, 10);
	if (end == r->values[0] || *end)
		return false;
	return r->op == SEL_GT ? a > b : a < b;
}

static bool requirement_holds(const struct requirement *r, const char *value)
{
	switch (r->op) {
	case SEL_IN: return value && has_value(r, value);
	case SEL_NOT_IN: return !value || !has_value(r, value);
	case SEL_EXISTS: return value;
	case SEL_DOES_NOT_EXIST: return !value;
	case SEL_GT:
	case SEL_LT: return compares(r, value);
	default: return false;
	}
}

static bool term_holds(const struct selector_term *t, const struct knode *n)
{
	if (t->n_labels + t->n_fields == 0)
		return false; /* an empty term selects nothing */
	for (uint32_t i = 0; i < t->n_labels; i++)
		if (!requirement_holds(&t->labels[i], label_of(n, t->labels[i].key)))
			return false;
	for (uint32_t i = 0; i < t->n_fields; i++)
		if (!str_eq(t->fields[i].key, "metadata.name") || !requirement_holds(&t->fields[i], n->meta.name))
			return false;
	return true;
}

bool fits_labels(const struct pod *p, const struct knode *n)
{
	for (uint32_t i = 0; i < p->n_node_selector; i++)
		if (!str_eq(label_of(n, p->node_selector[i].key), str_or(p->node_selector[i].value, "")))
			return false;
	if (!p->has_required)
		return true;
	for (uint32_t i = 0; i < p->n_required_nodes; i++)
		if (term_holds(&p->required_nodes[i], n))
			return true;
	return false;
}

bool fits_taints(const struct pod *p, const struct knode *n, char reason[FIT_REASON_MAX])
{
	for (uint32_t i = 0; i < n->n_taints; i++) {
		const struct taint *t = &n->taints[i];

		if ((t->effect != EFFECT_NO_SCHEDULE && t->effect != EFFECT_NO_EXECUTE) || tolerated(p, t))
			continue;
		snprintf(reason, FIT_REASON_MAX, "node(s) had untolerated taint {%s: %s}", str_or(t->key, ""),
		         str_or(t->value, ""));
		return false;
	}
	return true;
}

static bool tolerates_cordon(const struct pod *p)
{
	const struct taint cordon = { .key = "node.kubernetes.io/unschedulable", .effect = EFFECT_NO_SCHEDULE };

	return tolerated(p, &cordon);
}

static bool fits_resources(const struct vpod *p, const struct vnode *n, char reason[FIT_REASON_MAX])
{
	const struct knode *k = n->node;
	int64_t pods = amount_get(k->allocatable, k->n_allocatable, "pods");

	if (pods > 0 && (int64_t)n->n_pods + 1 > pods / 1000) {
		snprintf(reason, FIT_REASON_MAX, "Too many pods");
		return false;
	}
	for (size_t i = 0; i < p->asks.n; i++) {
		const char *name = p->asks.list[i].name;
		int64_t asked = p->asks.list[i].milli;
		int64_t free_milli = amount_get(k->allocatable, k->n_allocatable, name) - amounts_get(&n->taken, name);

		if (asked <= 0 || asked <= free_milli)
			continue;
		snprintf(reason, FIT_REASON_MAX, "Insufficient %s", name);
		return false;
	}
	return true;
}

static bool ports_clash(const struct pod *a, const struct pod *b)
{
	for (uint32_t i = 0; i < a->n_containers; i++)
		for (uint32_t k = 0; k < a->containers[i].n_ports; k++)
			for (uint32_t x = 0; x < b->n_containers; x++)
				for (uint32_t y = 0; y < b->containers[x].n_ports; y++)
					if (a->containers[i].ports[k].port > 0 &&
					    a->containers[i].ports[k].port == b->containers[x].ports[y].port &&
					    str_eq(str_or(a->containers[i].ports[k].protocol, "TCP"),
					           str_or(b->containers[x].ports[y].protocol, "TCP")))
						return true;
	return false;
}

static bool asks_for_ports(const struct pod *p)
{
	for (uint32_t i = 0; i < p->n_containers; i++)
		for (uint32_t k = 0; k < p->containers[i].n_ports; k++)
			if (p->containers[i].ports[k].port > 0)
				return true;
	return false;
}

static bool fits_ports(const struct vpod *p, const struct vnode *n, char reason[FIT_REASON_MAX])
{
	if (!asks_for_ports(p->pod))
		return true;
	LIST_EACH (l, &n->pods) {
		const struct vpod *other = LIST_ITEM(l, struct vpod, on_node);

		if (pod_is_over(other->pod) || !ports_clash(p->pod, other->pod))
			continue;
		snprintf(reason, FIT_REASON_MAX, "node(s) didn't have free ports for the requested pod ports");
		return false;
	}
	return true;
}

bool fits(const struct vpod *p, const struct vnode *n, char reason[FIT_REASON_MAX])
{
	if (n->node->unschedulable && !tolerates_cordon(p->pod)) {
		snprintf(reason, FIT_REASON_MAX, "node(s) were unschedulable");
		return false;
	}
	if (!fits_taints(p->pod, n->node, reason))
		return false;
	if (!fits_labels(p->pod, n->node)) {
		snprintf(reason, FIT_REASON_MAX, "node(s) didn't match Pod's node affinity/selector");
		return false;
	}
	return fits_ports(p, n, reason) && fits_resources(p, n, reason);
}

int64_t fit_score(const struct vpod *p, const struct vnode *n)
{
	static const char *const names[] = { "cpu", "memory" };
	int64_t sum = 0;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		int64_t all = amount_get(n->node->allocatable, n->node->n_allocatable, names[i]);
		int64_t left = all - amounts_get(&n->taken, names[i]) - amounts_get(&p->asks, names[i]);

		if (all > 0 && left > 0)
			sum += (int64_t)((double)left / (double)all * 500);
	}
	return sum;
}
