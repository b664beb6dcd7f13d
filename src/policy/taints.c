/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/taints.h"

#include "base/str.h"

bool toleration_covers(const struct toleration *o, const struct taint *t)
{
	if (o->effect != EFFECT_ANY && o->effect != t->effect)
		return false;
	if (!str_empty(o->key) && !str_eq(o->key, str_or(t->key, "")))
		return false;
	return o->op == TOLERATE_EXISTS ||
	       (o->op == TOLERATE_EQUAL && str_eq(str_or(o->value, ""), str_or(t->value, "")));
}

const struct toleration *taint_tolerated(const struct pod *pod, const struct taint *t)
{
	for (uint32_t i = 0; i < pod->n_tolerations; i++)
		if (toleration_covers(&pod->tolerations[i], t))
			return &pod->tolerations[i];
	return NULL;
}

const struct taint *taint_in_the_way(const struct pod *pod, const struct knode *node, uint32_t *i)
{
	while (*i < node->n_taints) {
		const struct taint *t = &node->taints[(*i)++];
		bool counts = t->effect == EFFECT_NO_SCHEDULE || t->effect == EFFECT_NO_EXECUTE;

		if (counts && !taint_tolerated(pod, t))
			return t;
	}
	return NULL;
}

bool cordon_tolerated(const struct pod *pod)
{
	static const struct taint cordon = { .key = TAINT_CORDON, .effect = EFFECT_NO_SCHEDULE };

	return taint_tolerated(pod, &cordon);
}
