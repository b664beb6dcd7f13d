/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A Kubernetes Node, as far as we look at it.
 */
#pragma once

#include "model/meta.h"

struct taint {
	const char *key, *value;
	int effect; /* enum taint_effect of model/pod.h */
	usec_t added;
};

struct address {
	const char *type, *address;
};

struct knode {
	struct meta meta;
	struct taint *taints;
	struct condition *conditions;
	struct amount *capacity, *allocatable;
	struct address *addresses;
	uint32_t n_taints, n_conditions, n_capacity, n_allocatable, n_addresses;
	bool unschedulable;
	const char *kubelet_version, *boot_id;
};
