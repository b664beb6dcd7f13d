/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The fields of a table stand in the order in which the API server sends them: that is fastest.
 */
#include "kube/objects.h"

#include <assert.h>
#include <errno.h>

#include "base/str.h"
#include "kube/strange.h"
#include "kube/words.h"
#include "model/lease.h"
#include "model/nodeset.h"
#include "model/volume.h"
#include "json/json.h"

#define NAME_MAX_BYTES 253
#define EXCERPT_MAX 64

static_assert(2 * NAME_MAX_BYTES + 2 <= STORE_KEY_MAX, "every accepted name makes a key");
static_assert(sizeof(struct pair) == sizeof(struct json_pair) &&
                      offsetof(struct pair, key) == offsetof(struct json_pair, key) &&
                      offsetof(struct pair, value) == offsetof(struct json_pair, value),
              "pairs are decoded as json_pair");
static_assert(sizeof(struct amount) == sizeof(struct json_amount) &&
                      offsetof(struct amount, name) == offsetof(struct json_amount, name) &&
                      offsetof(struct amount, milli) == offsetof(struct json_amount, milli),
              "amounts are decoded as json_amount");

/* ---- what all objects have ---- */

static const struct json_field owner_fields[] = {
	JSON_STR("kind", struct owner, kind),
	JSON_STR("name", struct owner, name),
	JSON_STR("uid", struct owner, uid),
	JSON_BOOL("controller", struct owner, controller),
};
static const struct json_type owner_type = JSON_TYPE(struct owner, owner_fields);

static const struct json_field meta_fields[] = {
	JSON_STR_NEEDED("name", struct meta, name),
	JSON_STR("namespace", struct meta, ns),
	JSON_STR("uid", struct meta, uid),
	JSON_STR("resourceVersion", struct meta, resource_version),
	JSON_INT64("generation", struct meta, generation),
	JSON_TIME("creationTimestamp", struct meta, created),
	JSON_TIME("deletionTimestamp", struct meta, deletion),
	JSON_INT64("deletionGracePeriodSeconds", struct meta, deletion_grace_s),
	JSON_PAIRS("labels", struct meta, labels, n_labels, NULL),
	JSON_PAIRS("annotations", struct meta, annotations, n_annotations, annotation_matters),
	JSON_ARRAY("ownerReferences", struct meta, owners, n_owners, owner_type),
	JSON_STRS("finalizers", struct meta, finalizers, n_finalizers),
};
static const struct json_type meta_type = JSON_TYPE(struct meta, meta_fields);

static const char *const cond_statuses[] = { "Unknown", "True", "False", NULL };

static const struct json_field condition_fields[] = {
	JSON_STR("type", struct condition, type),
	JSON_ENUM("status", struct condition, status, cond_statuses),
	JSON_TIME("lastTransitionTime", struct condition, changed),
	JSON_STR("reason", struct condition, reason),
	JSON_STR("message", struct condition, message),
};
static const struct json_type condition_type = JSON_TYPE(struct condition, condition_fields);

static const char *const effects[] = { "", "NoSchedule", "PreferNoSchedule", "NoExecute", NULL };

/* ---- Pod: spec ---- */

static const char *const restart_policies[] = { "", "Always", "OnFailure", "Never", NULL };
static const char *const toleration_ops[] = { "Equal", "Exists", "Gt", "Lt", NULL };
static const char *const selector_ops[] = { "", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", NULL };

static bool has_claim(yyjson_val *volume)
{
	return yyjson_is_obj(json_get(volume, "persistentVolumeClaim")) || yyjson_is_obj(json_get(volume, "ephemeral"));
}

static bool is_of_the_host(yyjson_val *port)
{
	yyjson_val *number = json_get(port, "hostPort");

	return number && !yyjson_is_null(number) && json_int(number, 1) != 0;
}

static const struct json_field claim_fields[] = {
	JSON_STR("claimName", struct volume_claim, claim),
};
static const struct json_type claim_type = JSON_TYPE(struct volume_claim, claim_fields);

static const struct json_field volume_fields[] = {
	JSON_STR("name", struct volume_claim, volume),
	JSON_INSIDE("persistentVolumeClaim", claim_type),
	JSON_PRESENT("ephemeral", struct volume_claim, ephemeral),
};
static const struct json_type volume_type = JSON_TYPE(struct volume_claim, volume_fields);

static const struct json_field port_fields[] = {
	JSON_INT32("hostPort", struct host_port, port),
	JSON_STR("protocol", struct host_port, protocol),
	JSON_STR("hostIP", struct host_port, host_ip),
};
static const struct json_type port_type = JSON_TYPE(struct host_port, port_fields);

static const struct json_field resources_fields[] = {
	JSON_AMOUNTS("limits", struct container, limits, n_limits),
	JSON_AMOUNTS("requests", struct container, requests, n_requests),
};
static const struct json_type resources_type = JSON_TYPE(struct container, resources_fields);

static const struct json_field container_fields[] = {
	JSON_STR("name", struct container, name),
	JSON_ARRAY_SOME("ports", struct container, ports, n_ports, port_type, is_of_the_host),
	JSON_INSIDE("resources", resources_type),
	JSON_ENUM("restartPolicy", struct container, restart, restart_policies),
};
static const struct json_type container_type = JSON_TYPE(struct container, container_fields);

static const struct json_field requirement_fields[] = {
	JSON_STR("key", struct requirement, key),
	JSON_ENUM("operator", struct requirement, op, selector_ops),
	JSON_STRS("values", struct requirement, values, n_values),
};
static const struct json_type requirement_type = JSON_TYPE(struct requirement, requirement_fields);

static const struct json_field term_fields[] = {
	JSON_ARRAY("matchExpressions", struct selector_term, labels, n_labels, requirement_type),
	JSON_ARRAY("matchFields", struct selector_term, fields, n_fields, requirement_type),
};
static const struct json_type term_type = JSON_TYPE(struct selector_term, term_fields);

static const struct json_field required_fields[] = {
	JSON_ARRAY("nodeSelectorTerms", struct pod, required_nodes, n_required_nodes, term_type),
};
static const struct json_type required_type = JSON_TYPE(struct pod, required_fields);

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
static const struct json_field node_affinity_fields[] = {
	JSON_PRESENT(REQUIRED, struct pod, has_required),
	JSON_INSIDE(REQUIRED, required_type),
};
static const struct json_type node_affinity_type = JSON_TYPE(struct pod, node_affinity_fields);

static const struct json_field affinity_fields[] = {
	JSON_INSIDE("nodeAffinity", node_affinity_type),
};
static const struct json_type affinity_type = JSON_TYPE(struct pod, affinity_fields);

static const struct json_field toleration_fields[] = {
	JSON_STR("key", struct toleration, key),
	JSON_ENUM("operator", struct toleration, op, toleration_ops),
	JSON_STR("value", struct toleration, value),
	JSON_ENUM("effect", struct toleration, effect, effects),
	JSON_INT64("tolerationSeconds", struct toleration, seconds),
	JSON_PRESENT("tolerationSeconds", struct toleration, has_seconds),
};
static const struct json_type toleration_type = JSON_TYPE(struct toleration, toleration_fields);

/* An array of { "name": … } is an array of strings: a struct of one string has the size of the string's pointer. */
struct named {
	const char *name;
};
static_assert(sizeof(struct named) == sizeof(const char *), "gates and claims are decoded as strings");

static const struct json_field named_fields[] = {
	JSON_STR_NEEDED("name", struct named, name),
};
static const struct json_type named_type = JSON_TYPE(struct named, named_fields);

static const struct json_field pod_spec_fields[] = {
	JSON_ARRAY_SOME("volumes", struct pod, volumes, n_volumes, volume_type, has_claim),
	JSON_ARRAY("initContainers", struct pod, init_containers, n_init_containers, container_type),
	JSON_ARRAY("containers", struct pod, containers, n_containers, container_type),
	JSON_ENUM("restartPolicy", struct pod, restart, restart_policies),
	JSON_INT64("terminationGracePeriodSeconds", struct pod, grace_s),
	JSON_PRESENT("terminationGracePeriodSeconds", struct pod, has_grace),
	JSON_INT64("activeDeadlineSeconds", struct pod, active_deadline_s),
	JSON_PAIRS("nodeSelector", struct pod, node_selector, n_node_selector, NULL),
	JSON_STR("nodeName", struct pod, node_name),
	JSON_BOOL("hostNetwork", struct pod, host_network),
	JSON_INSIDE("affinity", affinity_type),
	JSON_STR("schedulerName", struct pod, scheduler_name),
	JSON_ARRAY("tolerations", struct pod, tolerations, n_tolerations, toleration_type),
	JSON_STR("priorityClassName", struct pod, priority_class),
	JSON_INT32("priority", struct pod, priority),
	JSON_STRUCT("resources", struct pod, whole, resources_type),
	JSON_AMOUNTS("overhead", struct pod, overhead, n_overhead),
	JSON_ARRAY("schedulingGates", struct pod, gates, n_gates, named_type),
	JSON_ARRAY("resourceClaims", struct pod, device_claims, n_device_claims, named_type),
};
static const struct json_type pod_spec_type = JSON_TYPE(struct pod, pod_spec_fields);

/* ---- Pod: status ---- */

static const char *const phases[] = { "Unknown", "Pending", "Running", "Succeeded", "Failed", NULL };
static const char *const qos_classes[] = { "", "Guaranteed", "Burstable", "BestEffort", NULL };

/* Every running Pod has these; they say how far a kubelet got, and nothing is decided from them. */
static bool condition_matters(yyjson_val *condition)
{
	static const char *const steps[] = { "PodReadyToStartContainers", "Initialized", "ContainersReady" };
	yyjson_val *type = json_get(condition, "type");

	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		if (yyjson_equals_str(type, steps[i]))
			return false;
	return true;
}

static const struct json_field waiting_fields[] = {
	JSON_STR("reason", struct container_status, reason),
	JSON_STR("message", struct container_status, message),
};
static const struct json_type waiting_type = JSON_TYPE(struct container_status, waiting_fields);

static const struct json_field running_fields[] = {
	JSON_TIME("startedAt", struct container_status, started),
};
static const struct json_type running_type = JSON_TYPE(struct container_status, running_fields);

static const struct json_field terminated_fields[] = {
	JSON_INT32("exitCode", struct container_status, exit_code),
	JSON_INT32("signal", struct container_status, signal),
	JSON_STR("reason", struct container_status, reason),
	JSON_STR("message", struct container_status, message),
	JSON_TIME("startedAt", struct container_status, started),
	JSON_TIME("finishedAt", struct container_status, finished),
};
static const struct json_type terminated_type = JSON_TYPE(struct container_status, terminated_fields);

static const struct json_field state_fields[] = {
	JSON_PRESENT("waiting", struct container_status, waiting),       JSON_INSIDE("waiting", waiting_type),
	JSON_PRESENT("running", struct container_status, running),       JSON_INSIDE("running", running_type),
	JSON_PRESENT("terminated", struct container_status, terminated), JSON_INSIDE("terminated", terminated_type),
};
static const struct json_type state_type = JSON_TYPE(struct container_status, state_fields);

static const struct json_field granted_fields[] = {
	JSON_AMOUNT("cpu", struct container_status, granted.cpu),
	JSON_AMOUNT("memory", struct container_status, granted.memory),
};
static const struct json_type granted_type = JSON_TYPE(struct container_status, granted_fields);

static const struct json_field in_effect_fields[] = {
	JSON_AMOUNT("cpu", struct container_status, in_effect.cpu),
	JSON_AMOUNT("memory", struct container_status, in_effect.memory),
};
static const struct json_type in_effect_type = JSON_TYPE(struct container_status, in_effect_fields);

static const struct json_field status_resources_fields[] = {
	JSON_INSIDE("requests", in_effect_type),
};
static const struct json_type status_resources_type = JSON_TYPE(struct container_status, status_resources_fields);

static const struct json_field status_fields[] = {
	JSON_STR("name", struct container_status, name),
	JSON_INSIDE("state", state_type),
	JSON_BOOL("ready", struct container_status, ready),
	JSON_INT32("restartCount", struct container_status, restarts),
	JSON_INSIDE("allocatedResources", granted_type),
	JSON_INSIDE("resources", status_resources_type),
};
static const struct json_type status_type = JSON_TYPE(struct container_status, status_fields);

static const struct json_field pod_status_fields[] = {
	JSON_ENUM("phase", struct pod, phase, phases),
	JSON_ARRAY_SOME("conditions", struct pod, conditions, n_conditions, condition_type, condition_matters),
	JSON_STR("message", struct pod, message),
	JSON_STR("reason", struct pod, reason),
	JSON_STR("hostIP", struct pod, host_ip),
	JSON_STR("podIP", struct pod, pod_ip),
	JSON_TIME("startTime", struct pod, started),
	JSON_ARRAY("initContainerStatuses", struct pod, init_statuses, n_init_statuses, status_type),
	JSON_ARRAY("containerStatuses", struct pod, statuses, n_statuses, status_type),
	JSON_ENUM("qosClass", struct pod, qos, qos_classes),
};
static const struct json_type pod_status_type = JSON_TYPE(struct pod, pod_status_fields);

static const struct json_field pod_fields[] = {
	JSON_STRUCT_NEEDED("metadata", struct pod, meta, meta_type),
	JSON_INSIDE("spec", pod_spec_type),
	JSON_INSIDE("status", pod_status_type),
};
const struct json_type kube_pod_type = JSON_TYPE_WORDS(struct pod, pod_fields, kube_words);

/* ---- Node ---- */

static const struct json_field taint_fields[] = {
	JSON_STR("key", struct taint, key),
	JSON_STR("value", struct taint, value),
	JSON_ENUM("effect", struct taint, effect, effects),
	JSON_TIME("timeAdded", struct taint, added),
};
static const struct json_type taint_type = JSON_TYPE(struct taint, taint_fields);

static const struct json_field node_spec_fields[] = {
	JSON_BOOL("unschedulable", struct knode, unschedulable),
	JSON_ARRAY("taints", struct knode, taints, n_taints, taint_type),
};
static const struct json_type node_spec_type = JSON_TYPE(struct knode, node_spec_fields);

static const struct json_field address_fields[] = {
	JSON_STR("type", struct address, type),
	JSON_STR("address", struct address, address),
};
static const struct json_type address_type = JSON_TYPE(struct address, address_fields);

static const struct json_field node_info_fields[] = {
	JSON_STR("bootID", struct knode, boot_id),
	JSON_STR("kubeletVersion", struct knode, kubelet_version),
};
static const struct json_type node_info_type = JSON_TYPE(struct knode, node_info_fields);

static const struct json_field node_status_fields[] = {
	JSON_AMOUNTS("capacity", struct knode, capacity, n_capacity),
	JSON_AMOUNTS("allocatable", struct knode, allocatable, n_allocatable),
	JSON_ARRAY("conditions", struct knode, conditions, n_conditions, condition_type),
	JSON_ARRAY("addresses", struct knode, addresses, n_addresses, address_type),
	JSON_INSIDE("nodeInfo", node_info_type),
};
static const struct json_type node_status_type = JSON_TYPE(struct knode, node_status_fields);

static const struct json_field node_fields[] = {
	JSON_STRUCT_NEEDED("metadata", struct knode, meta, meta_type),
	JSON_INSIDE("spec", node_spec_type),
	JSON_INSIDE("status", node_status_type),
};
const struct json_type kube_node_type = JSON_TYPE_WORDS(struct knode, node_fields, kube_words);

/* ---- Lease ---- */

static const struct json_field lease_spec_fields[] = {
	JSON_STR("holderIdentity", struct klease, holder),
	JSON_INT32("leaseDurationSeconds", struct klease, duration_s),
	JSON_TIME("acquireTime", struct klease, acquired),
	JSON_TIME("renewTime", struct klease, renewed),
	JSON_INT32("leaseTransitions", struct klease, transitions),
};
static const struct json_type lease_spec_type = JSON_TYPE(struct klease, lease_spec_fields);

static const struct json_field lease_fields[] = {
	JSON_STRUCT_NEEDED("metadata", struct klease, meta, meta_type),
	JSON_INSIDE("spec", lease_spec_type),
};
const struct json_type kube_lease_type = JSON_TYPE_WORDS(struct klease, lease_fields, kube_words);

/* ---- volumes ---- */

static const char *const claim_phases[] = { "", "Pending", "Bound", "Lost", NULL };

static const char *const volume_modes[] = { "Filesystem", "Block", NULL };
static const char *const volume_phases[] = { "", "Pending", "Available", "Bound", "Released", "Failed", NULL };

static const struct json_field pvc_selector_fields[] = {
	JSON_PAIRS("matchLabels", struct pvc, match_labels, n_match_labels, NULL),
	JSON_ARRAY("matchExpressions", struct pvc, match, n_match, requirement_type),
};
static const struct json_type pvc_selector_type = JSON_TYPE(struct pvc, pvc_selector_fields);

static const struct json_field pvc_requests_fields[] = {
	JSON_AMOUNT("storage", struct pvc, request),
};
static const struct json_type pvc_requests_type = JSON_TYPE(struct pvc, pvc_requests_fields);

static const struct json_field pvc_resources_fields[] = {
	JSON_INSIDE("requests", pvc_requests_type),
};
static const struct json_type pvc_resources_type = JSON_TYPE(struct pvc, pvc_resources_fields);

static const struct json_field pvc_spec_fields[] = {
	JSON_STRS("accessModes", struct pvc, access_modes, n_access_modes),
	JSON_INSIDE("selector", pvc_selector_type),
	JSON_INSIDE("resources", pvc_resources_type),
	JSON_STR("volumeName", struct pvc, volume),
	JSON_STR("storageClassName", struct pvc, storage_class),
	JSON_ENUM("volumeMode", struct pvc, mode, volume_modes),
	JSON_STR("volumeAttributesClassName", struct pvc, attributes_class),
};
static const struct json_type pvc_spec_type = JSON_TYPE(struct pvc, pvc_spec_fields);

static const struct json_field pvc_status_fields[] = {
	JSON_ENUM("phase", struct pvc, phase, claim_phases),
};
static const struct json_type pvc_status_type = JSON_TYPE(struct pvc, pvc_status_fields);

static const struct json_field pvc_fields[] = {
	JSON_STRUCT_NEEDED("metadata", struct pvc, meta, meta_type),
	JSON_INSIDE("spec", pvc_spec_type),
	JSON_INSIDE("status", pvc_status_type),
};
const struct json_type kube_claim_type = JSON_TYPE_WORDS(struct pvc, pvc_fields, kube_words);

static const struct json_field claim_ref_fields[] = {
	JSON_STR("namespace", struct pv, claim_ns),
	JSON_STR("name", struct pv, claim_name),
	JSON_STR("uid", struct pv, claim_uid),
};
static const struct json_type claim_ref_type = JSON_TYPE(struct pv, claim_ref_fields);

static const struct json_field pv_required_fields[] = {
	JSON_ARRAY("nodeSelectorTerms", struct pv, required_nodes, n_required_nodes, term_type),
};
static const struct json_type pv_required_type = JSON_TYPE(struct pv, pv_required_fields);

static const struct json_field pv_affinity_fields[] = {
	JSON_PRESENT("required", struct pv, has_required),
	JSON_INSIDE("required", pv_required_type),
};
static const struct json_type pv_affinity_type = JSON_TYPE(struct pv, pv_affinity_fields);

static const struct json_field pv_capacity_fields[] = {
	JSON_AMOUNT("storage", struct pv, capacity),
};
static const struct json_type pv_capacity_type = JSON_TYPE(struct pv, pv_capacity_fields);

static const struct json_field pv_spec_fields[] = {
	JSON_INSIDE("capacity", pv_capacity_type),
	JSON_STRS("accessModes", struct pv, access_modes, n_access_modes),
	JSON_INSIDE("claimRef", claim_ref_type),
	JSON_STR("storageClassName", struct pv, storage_class),
	JSON_ENUM("volumeMode", struct pv, mode, volume_modes),
	JSON_INSIDE("nodeAffinity", pv_affinity_type),
	JSON_STR("volumeAttributesClassName", struct pv, attributes_class),
};
static const struct json_type pv_spec_type = JSON_TYPE(struct pv, pv_spec_fields);

static const struct json_field pv_status_fields[] = {
	JSON_ENUM("phase", struct pv, phase, volume_phases),
};
static const struct json_type pv_status_type = JSON_TYPE(struct pv, pv_status_fields);

static const struct json_field pv_fields[] = {
	JSON_STRUCT_NEEDED("metadata", struct pv, meta, meta_type),
	JSON_INSIDE("spec", pv_spec_type),
	JSON_INSIDE("status", pv_status_type),
};
const struct json_type kube_volume_type = JSON_TYPE_WORDS(struct pv, pv_fields, kube_words);

static const char *const binding_modes[] = { "Immediate", "WaitForFirstConsumer", NULL };

static const struct json_field topology_fields[] = {
	JSON_ARRAY("matchLabelExpressions", struct selector_term, labels, n_labels, requirement_type),
};
static const struct json_type topology_type = JSON_TYPE(struct selector_term, topology_fields);

static const struct json_field class_fields[] = {
	JSON_STRUCT_NEEDED("metadata", struct storage_class, meta, meta_type),
	JSON_STR("provisioner", struct storage_class, provisioner),
	JSON_ENUM("volumeBindingMode", struct storage_class, waits_for_consumer, binding_modes),
	JSON_ARRAY("allowedTopologies", struct storage_class, topologies, n_topologies, topology_type),
};
const struct json_type kube_class_type = JSON_TYPE_WORDS(struct storage_class, class_fields, kube_words);

/* ---- NodeSets ---- */

static const char *const update_types[] = { "", "RollingUpdate", "OnDelete", NULL };

/* The template's spec, as that of a Pod. */
static const struct json_field template_fields[] = {
	JSON_INSIDE("spec", pod_spec_type),
};
static const struct json_type template_type = JSON_TYPE(struct pod, template_fields);

/* What a NodeSet itself says of Nodes, as a Pod would. */
static const struct json_field select_fields[] = {
	JSON_PAIRS("nodeSelector", struct pod, node_selector, n_node_selector, NULL),
	JSON_INSIDE("affinity", affinity_type),
	JSON_ARRAY("tolerations", struct pod, tolerations, n_tolerations, toleration_type),
};
static const struct json_type select_type = JSON_TYPE(struct pod, select_fields);

static const struct json_field update_fields[] = {
	JSON_ENUM("type", struct nodeset, update, update_types),
	JSON_PRESENT("type", struct nodeset, has_update),
	JSON_RAW("maxUnavailable", struct nodeset, max_unavailable),
};
static const struct json_type update_type = JSON_TYPE(struct nodeset, update_fields);

static const struct json_field nodeset_spec_fields[] = {
	JSON_INT32("replicas", struct nodeset, replicas),
	JSON_PRESENT("replicas", struct nodeset, has_replicas),
	JSON_INT32("overProvision", struct nodeset, over_provision),
	JSON_STR("namePrefix", struct nodeset, name_prefix),
	JSON_STR("nameLabel", struct nodeset, name_label),
	JSON_STRS("features", struct nodeset, features, n_features),
	JSON_STRS("featureLabels", struct nodeset, feature_labels, n_feature_labels),
	JSON_INSIDE("updateStrategy", update_type),
	JSON_STRUCT("template", struct nodeset, shape, template_type),
	JSON_RAW("template", struct nodeset, template_json),
};
static const struct json_type nodeset_spec_type = JSON_TYPE(struct nodeset, nodeset_spec_fields);

#define COUNT(key, member) JSON_INT32(key, struct nodeset, status.member)
static const struct json_field nodeset_status_fields[] = {
	JSON_INT64("observedGeneration", struct nodeset, status.observed_generation),
	COUNT("desired", desired),
	COUNT("feasible", feasible),
	COUNT("current", current),
	COUNT("ready", ready),
	COUNT("updated", updated),
	COUNT("drained", drained),
	COUNT("misscheduled", misscheduled),
	COUNT("unavailable", unavailable),
	COUNT("leaving", leaving),
	COUNT("replicas", replicas),
	JSON_STR("selector", struct nodeset, status.selector),
	JSON_STR("revision", struct nodeset, status.revision),
	JSON_ARRAY("conditions", struct nodeset, conditions, n_conditions, condition_type),
};
static const struct json_type nodeset_status_type = JSON_TYPE(struct nodeset, nodeset_status_fields);

static const struct json_field nodeset_fields[] = {
	JSON_STRUCT_NEEDED("metadata", struct nodeset, meta, meta_type),
	JSON_STRUCT("spec", struct nodeset, select, select_type),
	JSON_INSIDE("spec", nodeset_spec_type),
	JSON_INSIDE("status", nodeset_status_type),
};
const struct json_type kube_nodeset_type = JSON_TYPE_WORDS(struct nodeset, nodeset_fields, kube_words);

/* One that a later version wrote in a way we cannot read: who it is, for a person must be told, and nobody else tells. */
static const struct json_field bare_nodeset_fields[] = {
	JSON_STRUCT_NEEDED("metadata", struct nodeset, meta, meta_type),
	JSON_INSIDE("status", nodeset_status_type),
};
static const struct json_type bare_nodeset_type = JSON_TYPE_WORDS(struct nodeset, bare_nodeset_fields, kube_words);

static const struct json_field nodeslice_fields[] = {
	JSON_STRUCT_NEEDED("metadata", struct nodeslice, meta, meta_type),
	JSON_STR("nodeSet", struct nodeslice, nodeset),
	JSON_STRS("nodes", struct nodeslice, nodes, n_nodes),
};
const struct json_type kube_nodeslice_type = JSON_TYPE_WORDS(struct nodeslice, nodeslice_fields, kube_words);

/* ---- any of them ---- */

static const struct {
	const char *name;
	const struct json_type *type;
} kinds[] = {
	[KUBE_PODS] = { "Pod", &kube_pod_type },
	[KUBE_NODES] = { "Node", &kube_node_type },
	[KUBE_LEASES] = { "Lease", &kube_lease_type },
	[KUBE_CLAIMS] = { "PersistentVolumeClaim", &kube_claim_type },
	[KUBE_VOLUMES] = { "PersistentVolume", &kube_volume_type },
	[KUBE_CLASSES] = { "StorageClass", &kube_class_type },
	[KUBE_NODESETS] = { "NodeSet", &kube_nodeset_type },
	[KUBE_NODESLICES] = { "NodeSlice", &kube_nodeslice_type },
};

static_assert(offsetof(struct pod, meta) == 0 && offsetof(struct knode, meta) == 0 &&
                      offsetof(struct klease, meta) == 0 && offsetof(struct pvc, meta) == 0 &&
                      offsetof(struct pv, meta) == 0 && offsetof(struct storage_class, meta) == 0 &&
                      offsetof(struct nodeset, meta) == 0 && offsetof(struct nodeslice, meta) == 0,
              "every object begins with its metadata");

static int check_meta(const struct meta *m, struct err *err)
{
	if (!*m->name)
		return err_set(err, -EBADMSG, "metadata.name: empty");
	if (strlen(m->name) > NAME_MAX_BYTES)
		return err_set(err, -E2BIG, "metadata.name: longer than %d bytes", NAME_MAX_BYTES);
	if (strchr(m->name, JSON_NUL) ||
	    (m->ns && strchr(m->ns, JSON_NUL))) /* it would be another in a DELETED event */
		return err_set(err, -EBADMSG, "metadata: a NUL character in a name");
	if (m->ns && strlen(m->ns) > NAME_MAX_BYTES)
		return err_set(err, -E2BIG, "metadata.namespace: longer than %d bytes", NAME_MAX_BYTES);
	return 0;
}

/* "Pod a/b: " before the error, as far as the object says who it is. */
static int name_it(const char *kind, yyjson_val *value, int r, struct err *err)
{
	_cleanup_buf_ struct buf who = BUF(4 * EXCERPT_MAX);
	yyjson_val *meta = json_get(value, "metadata");
	yyjson_val *ns = json_get(meta, "namespace"), *name = json_get(meta, "name");

	str_add_safe(&who, str_or(yyjson_get_str(ns), ""), yyjson_get_len(ns), EXCERPT_MAX);
	if (who.len)
		buf_add_char(&who, '/');
	str_add_safe(&who, str_or(yyjson_get_str(name), "?"), yyjson_is_str(name) ? yyjson_get_len(name) : 1,
	             EXCERPT_MAX);
	return err_wrap(err, r, "%s %s", kind, buf_text(&who));
}

static int decode_nodeset(yyjson_val *value, struct json_scratch *s, void **ret, size_t *ret_size, struct err *err)
{
	struct err bare_err = { 0 };
	struct nodeset *set = NULL;
	int r = json_decode(&kube_nodeset_type, value, s, ret, ret_size, err);

	if (r == 0) {
		nodeset_find_strange(value, *ret);
		return 0;
	}
	if (json_decode(&bare_nodeset_type, value, s, ret, ret_size, &bare_err) < 0)
		return r;
	set = *ret;
	set->unreadable = true;
	str_copy(set->strange, sizeof(set->strange), err->text);
	str_mask_unsafe(set->strange);
	return 0;
}

int kube_decode(enum kube_kind kind, yyjson_val *value, struct json_scratch *s, void **ret, size_t *ret_size,
                struct err *err)
{
	_cleanup_free_ void *object = NULL;
	const char *says = json_str(json_get(value, "kind"));
	size_t size;
	int r;

	assert((size_t)kind < ARRAY_LEN(kinds));
	if (says && !str_eq(says, kinds[kind].name))
		return err_set(err, -EBADMSG, "expected a %s, got a %.*s", kinds[kind].name, EXCERPT_MAX, says);
	if (kind == KUBE_NODESETS)
		r = decode_nodeset(value, s, &object, &size, err);
	else
		r = json_decode(kinds[kind].type, value, s, &object, &size, err);
	if (r == 0)
		r = check_meta(object, err);
	if (r < 0)
		return name_it(kinds[kind].name, value, r, err);
	*ret = TAKE_PTR(object);
	if (ret_size)
		*ret_size = size;
	return 0;
}
