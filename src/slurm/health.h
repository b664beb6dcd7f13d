/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Is Slurm there? Decided from what was heard and what was not; when to ask again. Pure: time comes in as a value.
 *
 * Unknown until a first answer. A failure that no answer has followed since makes us doubt, and ask (a probe); when the
 * probe fails too, Slurm is away, and probes go on with growing pauses until one is answered. Silence alone leads to a
 * probe as well.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/rand.h"
#include "base/time.h"

enum health_state { HEALTH_UNKNOWN, HEALTH_UP, HEALTH_DOUBT, HEALTH_AWAY };

struct health {
	enum health_state state;
	struct err why;    /* AWAY: the reason */
	usec_t heard;      /* when Slurm last answered anything */
	usec_t next_probe; /* not before; the caller sends one at a time */
	unsigned failed;   /* probes in a row */
	usec_t silence_max, pause_max;
	struct rng rng;
};

/* A probe is due at once. */
void health_init(struct health *h, usec_t silence_max, usec_t pause_max);

void health_heard(struct health *h, usec_t now);
/* Something asked at `asked` got no answer. */
void health_missed(struct health *h, usec_t asked, bool was_probe, const char *why, usec_t now);

/* May requests be sent? False with the reason. */
bool health_ready(const struct health *h, struct err *ret_why);
