/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The gate that every effect passes. Only the leader may act, and only while its lease is surely its own: `until` is
 * the last successful renewal plus a span shorter than the lease, so a leader that cannot renew stops before another
 * can begin. Ports look at the gate at the moment they send, also for what was queued while it was open.
 */
#pragma once

#include <stdbool.h>

#include "base/time.h"

struct gate {
	bool leader;
	usec_t until;  /* monotonic */
	uint64_t term; /* counts up with every new leadership; an effect of an older term is dropped */
};

/* For tools and tests that need no election. */
#define GATE_ALWAYS_OPEN ((struct gate) { .leader = true, .until = USEC_NEVER })

static inline bool gate_open(const struct gate *g, usec_t mono)
{
	return g->leader && mono < g->until;
}
