/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A live cluster, read once: its Slurm nodes with the Kubernetes Nodes behind them, and whether a Pod may run there. For
 * programs that look and end. Runs a loop of its own while it reads.
 */
#pragma once

#include "kube/config.h"
#include "policy/feasible.h"

struct cluster_nodes;

/* Reads Nodes and NodeSet Pods (of one namespace; "" = of all); fails at the first error, or when it takes longer than the
 * timeout. */
int cluster_nodes_open(const struct kube_config_options *config, const char *nodeset_ns, usec_t timeout,
                       struct cluster_nodes **ret, struct err *err);
void cluster_nodes_free(struct cluster_nodes *c);
DEFINE_FREEP(struct cluster_nodes, cluster_nodes_free)

/* Where one Pod may run. */
struct cluster_fit {
	struct feasible feasible;
	const struct place *places; /* in the natural order of their Slurm names; good until the next look */
	char **why; /* one for each place: why it does not fit, NULL = it fits */
	size_t n;
	char *waits; /* the claim that the scheduler waits for before it submits a job, and why; NULL = none */
	char *blind; /* why its volumes were not looked at; NULL = they were, or it has none */
};

/* Reads the claims too, once, when the Pod has some. */
void cluster_nodes_look(struct cluster_nodes *c, const struct pod *pod, const struct rules *rules,
                        struct cluster_fit *ret);
void cluster_fit_done(struct cluster_fit *f);
