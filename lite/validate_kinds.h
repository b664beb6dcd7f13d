/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Inside validation: one function per kind for what it must be, and one for what an update may not change. Both are
 * called at the root of the object, after metadata.
 */
#pragma once

#include "lite/checks.h"

typedef void check_fn(struct check *c, yyjson_mut_val *obj);
typedef void check_update_fn(struct check *c, yyjson_mut_val *obj, yyjson_mut_val *old);

/* validate_pod.c; a Pod's spec, at the spec's place. */
void check_pod_spec(struct check *c, yyjson_mut_val *spec);
check_fn check_pod;
void check_tolerations(struct check *c, yyjson_mut_val *spec);

/* validate_pod_update.c */
check_update_fn check_pod_update, check_pod_status_update;

/* validate_workloads.c */
check_fn check_deployment, check_replica_set, check_daemon_set, check_stateful_set, check_job;
check_update_fn check_selector_kept, check_job_update;

/* validate_volumes.c */
check_fn check_claim, check_volume, check_storage_class;
check_update_fn check_claim_update, check_storage_class_update;

/* validate_kinds.c */
check_fn check_namespace, check_node, check_config_map, check_secret, check_lease, check_budget, check_event_v1,
        check_event, check_service, check_priority_class, check_role_binding, check_crd;
check_update_fn check_config_map_update, check_secret_update, check_node_update, check_priority_class_update,
        check_role_binding_update, check_crd_update;

void check_share(struct check *c, yyjson_mut_val *obj, const char *member);   /* a number of Pods, or "25%" of them */
void check_amounts(struct check *c, yyjson_mut_val *obj, const char *member); /* a map of quantities, none negative */
