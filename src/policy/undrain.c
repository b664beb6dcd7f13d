/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/undrain.h"

#include <string.h>

#include "base/str.h"
#include "policy/nodeset.h"

/* Both times have whole seconds: of the same second nobody knows which was first. */
static bool verified_since(const struct pod *p, usec_t drained)
{
	const struct condition *c = condition_get(p->conditions, p->n_conditions, CONDITION_VERIFIED);

	return c && c->status == COND_TRUE && drained && c->changed >= usec_add(drained, USEC_SEC);
}

struct drain_decision undrain_decide(const struct drain_view *v)
{
	struct drain_decision d = { .act = DRAIN_KEEP };
	const struct snode *n = v->node;

	if (v->presence != PRESENCE_THERE || drain_owner(n) != DRAIN_FOREIGN || drain_hands_off(n))
		return d;
	if (!n->reason || !strstr(n->reason, VERIFY_UNDRAIN) || !verified_since(v->pod, n->reason_set))
		return d;
	if (drain_wanted(v, d.reason))
		d.act = DRAIN_REWORD;
	else if (drain_slurmd_answers(n))
		d.act = DRAIN_LIFT;
	return d;
}
