/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a Kubernetes Node says of its Slurm node, and what a NodeSet Pod says of its Node. Slurm's word comes by way of the
 * NodeSet Pod (the syncer writes it there); only what differs from the objects as read is returned, so one write per
 * change. Pure.
 *
 * What holds: nothing but these keys is ever named; a drain that began in Kubernetes never comes back as SlurmCordon.
 */
#pragma once

#include "model/knode.h"
#include "model/pod.h"

#define ANNOTATION_NODE_DRAIN "sunk.coreweave.com/drain"           /* on the Node: Slurm's drain reason */
#define ANNOTATION_CORDON_REASON "node.coreweave.cloud/cordonReason" /* on the Node, by whoever cordons it */
#define CONDITION_CORDON "SlurmCordon" /* True: drained in Slurm, by Slurm's people */

#define MIRROR_LABELS 4
#define MIRROR_CONDITIONS 4
#define MIRROR_ANNOTATIONS 2

struct node_mirror { /* texts point into Node and Pod */
	struct pair labels[MIRROR_LABELS], annotations[MIRROR_ANNOTATIONS]; /* NULL value: remove */
	struct condition conditions[MIRROR_CONDITIONS];
	int n_labels, n_annotations, n_conditions;
};

/* pod: the NodeSet Pod on it, NULL = none. cluster: the Slurm cluster's name when the Pod does not say; may be NULL. */
void mirror_to_node(const struct knode *node, const struct pod *pod, const char *cluster, usec_t now,
                    struct node_mirror *ret);

struct pod_mirror {
	struct pair annotations[MIRROR_ANNOTATIONS];
	int n_annotations;
};
void mirror_to_pod(const struct pod *pod, const struct knode *node, struct pod_mirror *ret);
