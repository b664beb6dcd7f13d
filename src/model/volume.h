/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Volumes, as far as they say where a Pod may run.
 */
#pragma once

#include "model/pod.h"

/* On a claim: the node that its first consumer will run on. */
#define ANNOTATION_SELECTED_NODE "volume.kubernetes.io/selected-node"

enum pvc_phase { PVC_PHASE_UNKNOWN, PVC_PENDING, PVC_BOUND, PVC_LOST };

struct pvc {
	struct meta meta;
	const char *volume, *storage_class; /* spec.volumeName, spec.storageClassName */
	int phase; /* enum pvc_phase */
};

struct pv {
	struct meta meta;
	struct selector_term *required_nodes; /* spec.nodeAffinity.required; any one term must hold */
	uint32_t n_required_nodes;
	bool has_required;
	const char *claim_ns, *claim_name; /* spec.claimRef */
};

struct storage_class {
	struct meta meta;
	const char *provisioner;
	int waits_for_consumer; /* 0 or 1; volumeBindingMode: WaitForFirstConsumer */
	struct selector_term *topologies; /* allowedTopologies: any one, none = anywhere; operators are not set */
	uint32_t n_topologies;
};
