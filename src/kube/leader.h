/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Leader election on a Lease, the decision: a pure step from what was observed to what to do next. The driver is in
 * elect.h. Done as client-go does it, so that both can be candidates for one Lease.
 *
 * What holds:
 *  - `until` is the time at which the last successful write was *sent*, plus the renew deadline. Another candidate waits
 *    a whole lease duration (which is longer) from when *it saw* the record change, which was after that write. So of
 *    two gates at most one is open, whatever the wall clocks say.
 *  - Every write carries the resourceVersion it was decided from: of two that want the same lease one fails.
 *  - A lease that someone deletes ends the leadership of its holder at the next renewal. A candidate that had seen it held
 *    waits as if it were still there; only one that never saw it (the first start ever, or a start after the deletion)
 *    makes a new one at once.
 *  - At most one request is under way.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/rand.h"
#include "base/time.h"
#include "kube/lease.h"
#include "port/gate.h"

struct leader_options {
	const char *identity; /* who we are: unique among candidates; at most LEASE_HOLDER_MAX bytes, not "" */
	usec_t lease_duration; /* whole seconds; 0 = 15 s */
	usec_t renew_deadline; /* shorter than the lease; 0 = 10 s */
	usec_t retry_period;   /* shorter than the renew deadline; 0 = 2 s */
};

/* Both clocks at one moment. */
struct leader_time {
	usec_t mono, wall;
};

enum leader_seen {
	LEADER_SEEN_NOTHING,  /* time has passed */
	LEADER_SEEN_LEASE,    /* the lease as read, created or updated */
	LEADER_SEEN_ABSENT,   /* there is none (404) */
	LEADER_SEEN_CONFLICT, /* someone else wrote first (409) */
	LEADER_SEEN_FAILURE,  /* no answer, or one that tells nothing; a write may have happened all the same */
};

enum leader_do { LEADER_DO_NOTHING, LEADER_DO_GET, LEADER_DO_CREATE, LEADER_DO_UPDATE };

struct leader_action {
	enum leader_do what;
	struct lease lease; /* CREATE, UPDATE: to write */
	usec_t timeout;     /* a span; the answer must have come by then or be a failure */
	usec_t wake; /* monotonic; step again then even if nothing was seen. USEC_NEVER = only an answer counts */
};

struct leader_state {
	struct leader_options o;
	struct rng rng;
	struct gate gate;
	enum leader_do under_way; /* what was asked and not yet answered */
	usec_t asked_at; /* monotonic, when it was asked */
	bool known; /* `observed` is what was last seen of the lease */
	bool absent; /* … which has been deleted since */
	bool look; /* `observed` may be old: read before the next write */
	struct lease observed;
	usec_t observed_at; /* monotonic, when its record was first seen like this */
	usec_t next_try; /* monotonic */
	unsigned release_tries;
	bool releasing, released;
};

/* Fills in defaults; -EINVAL names what does not fit together. identity is borrowed. */
int leader_init(struct leader_state *s, const struct leader_options *o, uint64_t seed, struct err *err);

/* One step. `lease` belongs to LEADER_SEEN_LEASE. Afterwards s->gate says whether we lead. */
struct leader_action leader_step(struct leader_state *s, struct leader_time now, enum leader_seen seen,
                                 const struct lease *lease);

/* From now on: close the gate, give the lease back when it is ours, be done (s->released). Step afterwards. */
void leader_release(struct leader_state *s);
