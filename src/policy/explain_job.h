/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What is this Slurm job, what does it wait for, what can be done? Also for jobs that have nothing to do with a Pod: they wait for
 * locks, too. Pure.
 */
#pragma once

#include "policy/explain_node.h"

struct job_facts {
	const char *id; /* as asked: "7", "7_3" */
	const struct job *job; /* NULL = Slurm has none, or could not be asked */
	uint32_t n_tasks; /* of its array, when more than one was meant */
	const char *slurm_error;
	const struct snode *snodes; /* those that it is on */
	uint32_t n_snodes;
	const struct node_facts *node; /* the first of them, as for `explain node`; NULL = none */
	usec_t now; /* wall */
};

void explain_job(const struct job_facts *f, struct explanation *ret);
