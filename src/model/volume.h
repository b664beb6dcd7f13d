/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Volumes, as far as they say where a Pod may run.
 */
#pragma once

#include "model/pod.h"

/* On a claim: the node that its first consumer will run on. */
#define ANNOTATION_SELECTED_NODE "volume.kubernetes.io/selected-node"

enum pvc_phase { PVC_PHASE_UNKNOWN, PVC_PENDING, PVC_BOUND, PVC_LOST };

/* On a volume: it was not a person who gave it to its claim, and so a controller may take it back. */
#define ANNOTATION_BOUND_BY_CONTROLLER "pv.kubernetes.io/bound-by-controller"
#define NO_PROVISIONER "kubernetes.io/no-provisioner" /* nobody makes volumes of such a class */

enum volume_mode { VOLUME_FILESYSTEM, VOLUME_BLOCK };
enum pv_phase { PV_PHASE_UNKNOWN, PV_PENDING, PV_AVAILABLE, PV_BOUND, PV_RELEASED, PV_FAILED };

struct pvc {
	struct meta meta;
	const char *volume, *storage_class; /* spec.volumeName, spec.storageClassName */
	const char *attributes_class;
	const char **access_modes;
	struct pair *match_labels; /* spec.selector: all of these, … */
	struct requirement *match; /* … and of these */
	int64_t request; /* storage, thousandths of a byte */
	uint32_t n_access_modes, n_match_labels, n_match;
	int mode; /* enum volume_mode */
	int phase; /* enum pvc_phase */
};

struct pv {
	struct meta meta;
	struct selector_term *required_nodes; /* spec.nodeAffinity.required; any one term must hold */
	uint32_t n_required_nodes;
	bool has_required;
	const char *claim_ns, *claim_name, *claim_uid; /* spec.claimRef; without a uid: any claim of that name */
	const char *storage_class, *attributes_class;
	const char **access_modes;
	int64_t capacity; /* storage, thousandths of a byte */
	uint32_t n_access_modes;
	int mode; /* enum volume_mode */
	int phase; /* enum pv_phase */
};

struct storage_class {
	struct meta meta;
	const char *provisioner;
	int waits_for_consumer; /* 0 or 1; volumeBindingMode: WaitForFirstConsumer */
	struct selector_term *topologies; /* allowedTopologies: any one, none = anywhere; operators are not set */
	uint32_t n_topologies;
};
