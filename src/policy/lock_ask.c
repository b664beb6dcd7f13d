/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/lock_ask.h"

#include "base/mem.h"

static enum lock_level held(const struct lock_ask_view *v)
{
	struct lock_words w = v->pod;

	if (!v->own_epoch || v->own_epoch != w.epoch)
		return LEVEL_NONE;
	/* Who locks without numbers (a person, another operator) is believed when the lock is seen beside our request. */
	if (!w.state_for)
		w.state_for = w.epoch;
	for (enum lock_level l = LEVEL_STRICT; l > LEVEL_NONE; l--)
		if (lock_satisfies(&w, l))
			return l;
	return LEVEL_NONE;
}

struct lock_ask_decision lock_ask_decide(const struct lock_ask_view *v)
{
	struct lock_ask_decision d = { .act = LOCK_ASK_KEEP, .holds = held(v) };
	bool own = v->own_epoch && v->own_epoch == v->pod.epoch;

	if (v->own_epoch > v->pod.epoch)
		return d; /* the watch does not show our request yet */
	if (v->asked && !(own && v->pod.request >= v->asked)) {
		d.act = LOCK_ASK_REQUEST;
		d.level = MAX_OF(v->pod.request, v->asked);
		d.epoch = (v->pod.epoch ? v->pod.epoch : v->first_epoch) + 1;
	} else if (!v->asked && v->may_clear && v->pod.request)
		d.act = LOCK_ASK_WITHDRAW;
	return d;
}
