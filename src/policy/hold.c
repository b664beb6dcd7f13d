/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/hold.h"

#include "base/str.h"

enum hold hold_decide(bool held, const struct snode *node, const char *our_reason)
{
	bool drained = (node->flags & NODEF_DRAIN) != 0;

	if (held)
		return drained ? HOLD_LEAVE : HOLD_DRAIN;
	return drained && str_eq(node->reason, our_reason) ? HOLD_LIFT : HOLD_LEAVE;
}
