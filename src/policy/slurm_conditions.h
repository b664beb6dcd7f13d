/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a NodeSet Pod tells of its Slurm node: conditions SlurmDrain (message = the reason), SlurmRunning, SlurmNotResponding,
 * and three labels for dashboards. Only what differs from the Pod as read is returned, so one patch per change. Pure.
 */
#pragma once

#include <stdbool.h>

#include "model/pod.h"
#include "model/slurm.h"

#define SLURM_CONDITIONS 3
#define SLURM_CONDITION_MESSAGE_MAX 1024 /* and NUL */
#define SLURM_MISSES_AFTER (30 * USEC_SEC) /* ready for so long, and Slurm never had its node: that is said */
#define SLURM_UNDRAIN_SETTLES (5 * USEC_SEC) /* after an undrain Slurm shows the node as not responding for up to 3 s */

struct slurm_conditions_view {
	const struct pod *pod;
	const struct snode *node; /* NULL: Slurm has no such node */
	usec_t now; /* wall, for transition times */
	usec_t mono;
	usec_t node_asked; /* monotonic: the node is as it was then, or newer */
	usec_t undrained; /* monotonic, when the drain was seen to go; 0 = not lately */
	usec_t marked; /* monotonic, when the Pod was first seen to be pending deletion; 0 = it is not */
	usec_t hook; /* monotonic, when a prolog last said that a job is about to start; 0 = not lately */
};

struct slurm_conditions {
	struct condition conditions[SLURM_CONDITIONS];
	struct pair labels[SLURM_CONDITIONS]; /* NULL value: remove */
	int n_conditions, n_labels;
	usec_t again; /* monotonic: look again then, though nothing changes; USEC_NEVER */
	char message[SLURM_CONDITION_MESSAGE_MAX + 1];
};

/* ret is filled in place: conditions point into it. */
void slurm_conditions_decide(const struct slurm_conditions_view *v, struct slurm_conditions *ret);

/* A job or its remains are on the node. */
bool snode_is_running(const struct snode *n);
