/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The syncer's half of the node lock (policy/lock.h has the other): when a prolog's question becomes a request on the NodeSet Pod, when
 * the prolog may go on, and when the request is taken back. Pure.
 *
 * What holds: a prolog is let through only by a lock beside a request that this syncer wrote in this leadership, so an unlock that was
 * under way when the prolog asked can never be taken for it. Nor is what a Node still says of the Pod before this one: no two Pods count
 * from the same number.
 */
#pragma once

#include "policy/lock.h"

struct lock_ask_view {
	struct lock_words pod; /* as read */
	enum lock_level asked; /* the strictest that a prolog waits for now; NONE = none waits */
	uint64_t own_epoch;    /* the last that this syncer wrote, on this Pod and in this leadership; 0 = none */
	uint64_t
	        first_epoch; /* what a Pod that was never asked begins after; differs between Pods of one name, see below */
	bool may_clear; /* see lock_may_clear() */
};

enum lock_ask_act {
	LOCK_ASK_KEEP,
	LOCK_ASK_REQUEST, /* write level and epoch, in one */
	LOCK_ASK_WITHDRAW, /* remove the level; the epoch stays */
};

struct lock_ask_decision {
	enum lock_ask_act act;
	enum lock_level level;
	uint64_t epoch;
	enum lock_level holds; /* prologs that ask for no more than this may go on */
};

struct lock_ask_decision lock_ask_decide(const struct lock_ask_view *v);
