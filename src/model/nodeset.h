/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * NodeSets and NodeSlices (sunk.coreweave.com/v1alpha1), as far as we look at them. charts/sunk/crds says what they mean.
 */
#pragma once

#include "model/pod.h"

#define NODESLICE_MAX 100 /* names in one slice */
#define NODESET_STRANGE_MAX 224

enum update_type { UPDATE_UNKNOWN, UPDATE_ROLLING, UPDATE_ON_DELETE }; /* UNKNOWN: of a later version, or absent */

struct nodeset_status {
	int64_t observed_generation;
	int32_t desired, feasible, current, ready, updated, drained, misscheduled, unavailable, leaving, replicas;
	const char *selector, *revision;
};

struct nodeset {
	struct meta meta;
	int32_t replicas;
	bool has_replicas; /* else one on every Node that fits */
	int32_t over_provision;
	const char *name_prefix; /* NULL = the NodeSet's name */
	const char *name_label;  /* key of a Node's label that has the name; NULL = none */
	struct pod select;       /* the set's own nodeSelector, affinity and tolerations; nothing else */
	struct pod shape;        /* the template's spec; its metadata is not kept */
	const char *template_json;
	const char **features, **feature_labels;
	uint32_t n_features, n_feature_labels;
	int update;                  /* enum update_type */
	bool has_update;             /* else as UPDATE_ROLLING */
	const char *max_unavailable; /* JSON text: 2, "10%"; NULL = 1 */
	struct nodeset_status status;
	struct condition *conditions;
	uint32_t n_conditions;
	char strange[NODESET_STRANGE_MAX]; /* what of it only a later version knows: "spec.paused"; "" = nothing */
	bool unreadable;                   /* … and for that, nothing but its metadata and status was read */
};

struct nodeslice {
	struct meta meta;
	const char *nodeset;
	const char **nodes;
	uint32_t n_nodes;
};
