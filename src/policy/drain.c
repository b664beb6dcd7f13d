/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/drain.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "policy/nodeset.h"

#define CORDON "k8s: cordon: "
#define TERMINATED "k8s: pod terminated"
#define TERMINATED_CORDON TERMINATED ": cordon: "

/* What others are in the middle of with the node: a person's "fail", a reboot (which drains, and appends to the reason). */
#define BUSY_FLAGS (NODEF_FAIL | NODEF_REBOOT_REQUESTED | NODEF_REBOOT_ISSUED)

enum drain_owner drain_owner(const struct snode *n)
{
	if (!(n->flags & NODEF_DRAIN))
		return DRAIN_NONE; /* a reason may linger for some seconds after an undrain */
	if (!str_starts(str_or(n->reason, ""), DRAIN_PREFIX))
		return DRAIN_FOREIGN;
	return str_starts(n->reason, DRAIN_POD_TIMEOUT) ? DRAIN_SCHEDULER : DRAIN_OURS;
}

/* Our texts with what others wrote in them: one line, bounded. */
static void put(char reason[DRAIN_REASON_MAX], const char *prefix, const char *why)
{
	size_t len = strlen(prefix);

	str_copy(reason, DRAIN_REASON_MAX, prefix);
	str_copy(reason + len, DRAIN_REASON_MAX - len, *why ? why : "no reason given");
	str_mask_unsafe(reason + len);
}

/* Why the Pod that is gone was cordoned: the node itself may still say so. */
static const char *cordon_of_gone(const struct drain_view *v)
{
	static const char *const prefixes[] = { CORDON, TERMINATED_CORDON };

	if (drain_owner(v->node) == DRAIN_OURS)
		for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
			if (str_starts(v->node->reason, prefixes[i]))
				return v->node->reason + strlen(prefixes[i]);
	return v->was_cordoned;
}

/* The most lasting condition wins: deleted, pending deletion, cordon, not ready. */
bool drain_wanted(const struct drain_view *v, char reason[DRAIN_REASON_MAX])
{
	const char *why;

	switch (v->presence) {
	case PRESENCE_UNKNOWN: return false;
	case PRESENCE_NEVER:
		/* a drain of ours is a sign too */
		if (drain_owner(v->node) != DRAIN_OURS)
			return false;
		/* fall through */
	case PRESENCE_GONE:
		why = cordon_of_gone(v);
		if (why)
			put(reason, TERMINATED_CORDON, why);
		else
			str_copy(reason, DRAIN_REASON_MAX, TERMINATED);
		return true;
	case PRESENCE_THERE: break;
	}
	why = pod_cordon(v->pod);
	if (pod_pending_deletion(v->pod))
		str_copy(reason, DRAIN_REASON_MAX, "k8s: pod pending deletion");
	else if (why)
		put(reason, CORDON, why);
	else if (!pod_is_ready(v->pod))
		str_copy(reason, DRAIN_REASON_MAX, "k8s: pod not ready");
	else
		return false;
	return true;
}

bool drain_hands_off(const struct snode *n)
{
	return n->state == NODE_DOWN || n->state == NODE_FUTURE || n->flags & BUSY_FLAGS;
}

bool drain_slurmd_answers(const struct snode *n)
{
	return n->state != NODE_UNKNOWN && !(n->flags & NODEF_NO_RESPOND);
}

struct drain_decision drain_decide(const struct drain_view *v)
{
	struct drain_decision d = { .act = DRAIN_KEEP };
	const struct snode *n = v->node;
	enum drain_owner owner = drain_owner(n);
	bool wanted;

	if (v->presence == PRESENCE_UNKNOWN || drain_hands_off(n))
		return d;
	if (owner == DRAIN_FOREIGN || owner == DRAIN_SCHEDULER)
		return d;
	wanted = drain_wanted(v, d.reason);
	if (wanted && owner == DRAIN_NONE)
		d.act = DRAIN_SET;
	else if (wanted && !str_eq(n->reason, d.reason))
		d.act = DRAIN_REWORD;
	else if (!wanted && owner == DRAIN_OURS && drain_slurmd_answers(n))
		d.act = DRAIN_LIFT;
	return d;
}

void drain_expect(struct node_change *c, const struct snode *n)
{
	c->expect = true;
	c->expect_drained = n->flags & NODEF_DRAIN;
	if (!c->expect_drained)
		return;
	c->expect_reason = n->reason;
	c->expect_reason_uid = n->reason_uid;
	c->expect_reason_set = n->reason_set;
}

struct node_change drain_change(const struct drain_decision *d, const struct snode *n)
{
	static const uint32_t bits[] = {
		[DRAIN_SET] = NODE_CHANGE_DRAIN,
		[DRAIN_REWORD] = NODE_CHANGE_REASON,
		[DRAIN_LIFT] = NODE_CHANGE_UNDRAIN,
	};
	struct node_change c = { .what = bits[d->act], .reason = d->act == DRAIN_LIFT ? NULL : d->reason };

	drain_expect(&c, n);
	c.expect_answers = d->act == DRAIN_LIFT;
	return c;
}
