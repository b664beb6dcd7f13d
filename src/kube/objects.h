/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Objects of Kubernetes as the API server sends them → the structs of model/. One table of fields for each kind; what a
 * table does not name is skipped. Pure but for the scratch memory.
 */
#pragma once

#include "port/kube.h"
#include "json/decode.h"

extern const struct json_type kube_pod_type;   /* struct pod */
extern const struct json_type kube_node_type;  /* struct knode */
extern const struct json_type kube_lease_type; /* struct klease */
extern const struct json_type kube_claim_type; /* struct pvc */
extern const struct json_type kube_volume_type; /* struct pv */
extern const struct json_type kube_class_type; /* struct storage_class */
extern const struct json_type kube_nodeset_type; /* struct nodeset */
extern const struct json_type kube_nodeslice_type; /* struct nodeslice */

/* Decodes an object of the kind (any but EVENTS), from a list (where items do not say what they are), from a watch,
 * or on its own. The result begins with `struct meta` and is one block: free() it, or give it to a store with its
 * *ret_size. An object of another kind, without a name, or with one that is too long for a store's key is refused.
 * Errors name the object: "Pod a/b: spec.priority: expected an integer, got a string". */
int kube_decode(enum kube_kind kind, yyjson_val *value, struct json_scratch *s, void **ret, size_t *ret_size,
                struct err *err);
