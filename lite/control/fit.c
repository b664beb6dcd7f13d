/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/control/fit.h"

#include <stdio.h>

#include "base/str.h"
#include "policy/room.h"
#include "policy/selector.h"
#include "policy/taints.h"

bool fits_taints(const struct pod *p, const struct knode *n, char reason[FIT_REASON_MAX])
{
	uint32_t i = 0;
	const struct taint *t = taint_in_the_way(p, n, &i);

	if (t)
		snprintf(reason, FIT_REASON_MAX, "node(s) had untolerated taint {%s: %s}", str_or(t->key, ""),
		         str_or(t->value, ""));
	return !t;
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

static bool fits_ports(const struct vpod *p, const struct vnode *n, char reason[FIT_REASON_MAX])
{
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
	if (n->node->unschedulable && !cordon_tolerated(p->pod)) {
		snprintf(reason, FIT_REASON_MAX, "node(s) were unschedulable");
		return false;
	}
	if (!fits_taints(p->pod, n->node, reason))
		return false;
	if (!pod_selects(p->pod, n->node, NULL)) {
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
	return MAX_OF(0, sum - (int64_t)n->n_pods); /* even those that ask for nothing weigh something */
}
