/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The server's one context: what every part of it works on. One thread, one loop. Parts keep their own state behind
 * their own pointers; this struct only brings them together.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/rand.h"
#include "base/time.h"
#include "lite/kinds.h"
#include "net/loop.h"

struct db;
struct collection;
struct web;
struct auth;
struct faults;
struct watches;
struct crds;
struct control;
struct logs;

struct lite {
	struct loop *loop;
	const struct clock *clock;
	struct rng rng; /* names and jitter; seeded in tests */
	struct db *db;
	struct kinds kinds;
	struct crds *crds;
	struct auth *auth;
	struct faults *faults;
	struct watches *watches;
	struct control *control; /* controllers; NULL: none run */
	struct web *web;
	struct logs *logs; /* of Pods, on their way through */
	FILE *audit; /* who asks for what; NULL: nobody wants to know */
	struct loop_timer *commit_soon;
	bool sync;    /* each commit waits for the disk; so commits are made once per round */
	bool ready;
	bool failed;  /* the journal cannot be written */
	bool restart; /* a fault: end, and start again after `down` */
	usec_t down;
};

static inline usec_t lite_now(const struct lite *l)
{
	return clock_wall(l->clock);
}

/* Writes the journal and tells everybody, now. When that fails the server stops: nothing more may be answered. */
bool lite_commit(struct lite *l);

struct collection *lite_collection(struct lite *l, const struct kind *k);
