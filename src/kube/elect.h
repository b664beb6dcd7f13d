/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Leader election, the driver: runs leader_step() on the loop, sends what it asks for and keeps a gate filled in. Core
 * thread.
 */
#pragma once

#include "kube/leader.h"
#include "kube/rest.h"
#include "net/loop.h"

struct elect;

/* Called when leadership begins or ends (leading) and when the holder is another; holder may be "". Must not free the
 * elect. */
typedef void (*elect_changed)(void *arg, bool leading, const char *holder);

struct elect_options {
	struct leader_options leader; /* identity is copied */
	const char *ns, *name;        /* of the Lease */
	elect_changed changed;        /* may be NULL */
	void *arg;
};

/* Starts at once. rest, clock and gate are borrowed and must outlive it; the gate is closed until we lead. */
struct elect *elect_new(struct loop *l, const struct clock *clock, const struct rest *rest,
                        const struct elect_options *o, struct gate *gate, struct err *err);
void elect_free(struct elect *e); /* closes the gate; the lease is left to expire unless elect_release() was done */
DEFINE_FREEP(struct elect, elect_free)

/* Closes the gate now, gives the lease back so that another can take over at once, then calls done (from the loop, also
 * when it did not work). Call it once what was sent through the gate has been answered. */
void elect_release(struct elect *e, void (*done)(void *arg), void *arg);

const char *elect_holder(const struct elect *e); /* as last seen, "" = nobody or not known */
const struct err *elect_error(const struct elect *e); /* of the last request, NULL when it went well */
