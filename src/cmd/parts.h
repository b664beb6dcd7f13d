/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The parts that daemons are made of (daemon/daemon.h): each verb runs its own, one that runs several takes them from here.
 */
#pragma once

#include "daemon/daemon.h"

struct part *scheduler_part_new(void);
void scheduler_part_free(struct part *p);
DEFINE_FREEP(struct part, scheduler_part_free)

struct part *syncer_part_new(void);
void syncer_part_free(struct part *p);
DEFINE_FREEP(struct part, syncer_part_free)

struct part *operator_part_new(void);
void operator_part_free(struct part *p);
DEFINE_FREEP(struct part, operator_part_free)
