/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Who took the place of a preempted job? Slurm does not tell; it can only be concluded from what its queue looks like. A wrong name is
 * worse than none: where more than one may have been it, nobody is named. Pure.
 */
#pragma once

#include "model/slurm.h"

enum preempts { PREEMPTS_UNKNOWN, PREEMPTS_BY_QOS, PREEMPTS_BY_PARTITION };

enum preempts preempts_of(const char *preempt_type); /* as in slurm.conf; NULL = not known */

struct preemption {
	const struct job *lost;
	const char *node; /* the one that it had */
	const struct job *jobs; /* all, as they were after it; the lost one may be among them */
	uint32_t n_jobs;
	enum preempts by;
	const struct spartition *partitions; /* one that is not here: its tier is not known */
	uint32_t n_partitions;
};

/* One of the jobs; NULL = it cannot be told. */
const struct job *preemptor_find(const struct preemption *p);
