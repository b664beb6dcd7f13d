/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Drives one part: steps it in the round after it was woken, however often that was, and at the time that its last step asked
 * for. Counts and times the steps. Core thread.
 */
#pragma once

#include "daemon/daemon.h"

struct drive;

/* All borrowed; sets part->driver. The first step comes after the first wake. */
struct drive *drive_new(struct loop *l, const struct clock *clock, struct metrics *metrics, struct part *part);
void drive_free(struct drive *d); /* not while the loop may still run a round */
DEFINE_FREEP(struct drive, drive_free)

void drive_wake(struct drive *d);
void drive_stop(struct drive *d); /* no step comes any more */
