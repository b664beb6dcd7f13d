/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What holds this node, since when, and what lifts it? From what Slurm says of it and Kubernetes of the NodeSet Pod and the Node behind
 * it, in plain words. Pure.
 */
#pragma once

#include <stdbool.h>

#include "model/knode.h"
#include "model/pod.h"
#include "model/slurm.h"
#include "policy/explain.h"

/* All of it may be missing, and says so by NULL or 0. */
struct node_facts {
	const char *name; /* as asked: Slurm's or Kubernetes' */
	const struct snode *snode;
	const char *slurm_error; /* why Slurm could not be asked; NULL = it was */
	const struct pod *pod; /* the NodeSet Pod */
	const char *kube_error; /* why Kubernetes could not be asked for it */
	const struct knode *knode; /* where that runs, or the one that was asked for */
	const char *knode_error;
	struct pod *const *pods; /* all on the Node, the NodeSet Pod too */
	uint32_t n_pods;
	const struct job *jobs; /* on the Slurm node, and not over */
	uint32_t n_jobs;
	const char *reason_user; /* who set the drain; NULL = nobody knows */
	bool had_pod; /* the Slurm node remembers one */
	usec_t now; /* wall */
};

void explain_node(const struct node_facts *f, struct explanation *ret);

/* The Pods that keep the lock from being made at the level that is asked for; the number of all, text has the first ones. */
uint32_t explain_blockers(const struct node_facts *f, char text[EXPLAIN_TEXT_MAX]);
