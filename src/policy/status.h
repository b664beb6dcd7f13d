/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A cluster at a glance: Slurm nodes joined with the NodeSet Pods of the same name and the Kubernetes Nodes these run on, and how
 * many jobs and Pods are there. A Slurm node without a Pod and a Pod without a Slurm node are rows like any other. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/knode.h"
#include "model/pod.h"
#include "model/slurm.h"
#include "policy/lock.h"
#include "policy/states.h"
#include "policy/whose.h"

/* What each side says. A side that is not known (known false) has nothing in its lists. */
struct status_view {
	bool slurm_known, pods_known, knodes_known;
	const char *nodeset_ns; /* the namespace of the NodeSet Pods; NULL = any */
	const struct snode *snodes;
	const struct job *jobs;
	const struct pod *const *pods; /* all of them, NodeSet Pods too */
	const struct knode *const *knodes;
	uint32_t n_snodes, n_jobs, n_pods, n_knodes;
};

enum join { JOIN_BOTH, JOIN_NO_POD, JOIN_NO_SNODE, JOIN_UNKNOWN /* the other side was not asked */ };

struct status_row { /* all text is the view's */
	const char *name;
	enum join join;
	const struct snode *snode;
	const struct pod *pod; /* the NodeSet Pod */
	const struct knode *knode;
	enum whose whose;
	enum lock_state lock;
	enum lock_level asked; /* and not granted yet: a prolog waits */
	uint32_t jobs;     /* running or ending there, tasks of arrays one by one */
	uint32_t placed;   /* Pods that Slurm placed there */
	uint32_t others;   /* and the rest: neither NodeSet Pods nor finished */
};

struct status {
	struct status_row *rows; /* in the natural order of their names */
	uint32_t n_rows;
	uint32_t words[SNODE_WORDS], not_responding; /* of Slurm nodes */
	uint32_t jobs_running, jobs_pending, jobs_ending;
	uint32_t nodeset_pods, nodeset_ready, pods_placed, pods_waiting;
	uint32_t knodes, knodes_cordoned, knodes_not_ready;
	uint32_t no_pod, no_snode;
};

void status_make(const struct status_view *v, struct status *ret);
void status_done(struct status *s);
