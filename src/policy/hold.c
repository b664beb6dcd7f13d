/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/hold.h"

#include "base/mem.h"
#include "base/str.h"

/* Slurm's own words and ours; whatever else is the reason of a node that is down was written by somebody. */
static bool nobody_wrote(const char *reason)
{
	static const char *const words[] = { "Not responding", "Node unexpectedly rebooted",
		                             "k8s:" /* stale: no drain is left */ };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (str_starts(reason, words[i]))
			return true;
	return false;
}

enum hold hold_decide(bool held, const struct snode *node, const char *our_reason)
{
	bool drained = (node->flags & NODEF_DRAIN) != 0;

	if (held && !drained && node->state == NODE_DOWN && !str_empty(node->reason) &&
	    !str_eq(node->reason, our_reason) && !nobody_wrote(node->reason))
		return HOLD_LEAVE;
	if (held)
		return drained ? HOLD_LEAVE : HOLD_DRAIN;
	return drained && str_eq(node->reason, our_reason) ? HOLD_LIFT : HOLD_LEAVE;
}
