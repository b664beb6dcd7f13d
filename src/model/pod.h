/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A Pod, as far as we look at it.
 */
#pragma once

#include "model/meta.h"

enum pod_phase { POD_PHASE_UNKNOWN, POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED };
enum restart_policy { RESTART_UNSET, RESTART_ALWAYS, RESTART_ON_FAILURE, RESTART_NEVER };
enum qos_class { QOS_UNSET, QOS_GUARANTEED, QOS_BURSTABLE, QOS_BEST_EFFORT };
enum taint_effect { EFFECT_ANY, EFFECT_NO_SCHEDULE, EFFECT_PREFER_NO_SCHEDULE, EFFECT_NO_EXECUTE };
/* GT and LT compare numbers and are alpha in Kubernetes 1.35: they tolerate nothing here, and are kept as they are. */
enum toleration_op { TOLERATE_EQUAL, TOLERATE_EXISTS, TOLERATE_GT, TOLERATE_LT };
enum selector_op { SEL_UNKNOWN, SEL_IN, SEL_NOT_IN, SEL_EXISTS, SEL_DOES_NOT_EXIST, SEL_GT, SEL_LT };

struct host_port { /* a port of the host that a container takes */
	int32_t port;
	const char *protocol, *host_ip; /* NULL = TCP, any */
};

struct container {
	const char *name;
	struct amount *requests, *limits;
	struct host_port *ports;
	uint32_t n_requests, n_limits, n_ports;
	int restart; /* enum restart_policy; ALWAYS on an init container makes it a sidecar */
};

struct toleration {
	const char *key, *value; /* NULL key with EXISTS tolerates everything */
	int op;           /* enum toleration_op */
	int effect;              /* enum taint_effect, ANY = all */
	bool has_seconds;
	int64_t seconds;
};

struct requirement { /* one line of a node selector term */
	const char *key;
	int op; /* enum selector_op */
	const char **values;
	uint32_t n_values;
};

struct selector_term { /* all requirements must hold */
	struct requirement *labels, *fields;
	uint32_t n_labels, n_fields;
};

struct volume_claim { /* a volume that is a claim; other volumes are not kept */
	const char *volume, *claim;
	bool ephemeral; /* the claim is made for this Pod, as <pod>-<volume>, and controlled by it; `claim` is not set */
};

struct resized { /* what can be changed in place, in thousandths; 0 = not said */
	int64_t cpu, memory;
};

struct container_status {
	const char *name;
	bool ready, running, terminated, waiting;
	int32_t exit_code, signal, restarts;
	struct resized granted, in_effect; /* requests, by the kubelet: allocatedResources, resources */
	const char *reason, *message; /* of the terminated or waiting state */
	usec_t started, finished;
};

struct pod {
	struct meta meta;
	/* spec */
	const char *scheduler_name, *node_name, *priority_class;
	struct pair *node_selector;
	struct selector_term *required_nodes; /* any one term must hold; has_required tells an empty list from none */
	struct toleration *tolerations;
	struct container *containers, *init_containers;
	struct container
	        whole; /* spec.resources: what all containers have together; has nothing but requests and limits */
	struct amount *overhead;
	struct volume_claim *volumes;
	const char **gates; /* scheduling gates */
	const char **device_claims; /* spec.resourceClaims (dynamic resource allocation): their names in the Pod */
	uint32_t n_node_selector, n_required_nodes, n_tolerations, n_containers, n_init_containers, n_overhead,
	        n_volumes, n_gates, n_device_claims;
	int64_t grace_s; /* terminationGracePeriodSeconds */
	int64_t active_deadline_s; /* 0 = none */
	int32_t priority;
	int restart; /* enum restart_policy */
	bool has_required, host_network, has_grace;
	/* status */
	int phase; /* enum pod_phase */
	int qos; /* enum qos_class */
	struct condition *conditions; /* but for the kubelet's own steps: see kube/objects.c */
	struct container_status *statuses, *init_statuses;
	uint32_t n_conditions, n_statuses, n_init_statuses;
	const char *reason, *message, *pod_ip, *host_ip;
	usec_t started;
};
