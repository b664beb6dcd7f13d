/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The stores that a port fills: one kind for each kind of object, and under which keys its objects are found. The same
 * for the real port and the simulation's, so that shells can rely on the numbers.
 */
#pragma once

#include "port/kube.h"
#include "port/store.h"

/* Pods: KUBE_PODS */
enum pod_index {
	POD_BY_NODE,  /* spec.nodeName; not those without */
	POD_BY_LABEL, /* "key=value" */
	POD_BY_OWNER, /* uid of an owner */
	POD_BY_CLAIM, /* "namespace/claim" of each volume that is one */
};

/* Nodes: KUBE_NODES */
enum node_index {
	NODE_BY_LABEL, /* "key=value" */
};

/* PersistentVolumeClaims: KUBE_CLAIMS */
enum claim_index {
	CLAIM_BY_VOLUME, /* spec.volumeName; not those without */
	CLAIM_BY_CLASS,  /* spec.storageClassName; not those without */
};

/* PersistentVolumes: KUBE_VOLUMES */
enum volume_index {
	VOLUME_BY_CLASS, /* spec.storageClassName; not those without */
};

/* NodeSlices: KUBE_NODESLICES */
enum nodeslice_index {
	NODESLICE_BY_NODE, /* each Slurm node that it lists */
};

#define LABEL_KEY_MAX (317 + 1 + 63 + 1) /* "prefix/name=value" and NUL */

/* The key of a label in an index; what is too long to be one is cut (and found under the same cut). */
const char *label_key(const char *key, const char *value, char text[LABEL_KEY_MAX]);

/* Pods, Nodes, Leases, claims, volumes, storage classes, NodeSets and NodeSlices. NULL for kinds that are never kept. */
const struct store_kind *store_kind_of(enum kube_kind kind);
