/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/agent/node.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/rand.h"
#include "base/str.h"
#include "lite/agent/raw.h"
#include "json/patch.h"

#define LEASE_SPAN (10 * USEC_SEC)
#define LEASE_DURATION_S 40
#define STATUS_SPAN (5 * USEC_MINUTE)
#define RETRY_SPAN USEC_SEC
#define LABELS "metadata", "labels"
#define PATH_MAX_BYTES 512

enum stage { STAGE_CREATE, STAGE_LABEL, STAGE_STATUS, STAGE_LEASE_CREATE, STAGE_LEASE_RENEW };

struct agent_node {
	struct loop *loop;
	struct lane *lane;
	struct node_spec spec;
	struct loop_timer *timer;
	struct raw *call;
	enum stage stage;
	bool registered;
	usec_t next_status;
	struct rng rng;
};

static void act(void *arg);

const struct node_spec *agent_node_spec(const struct agent_node *n)
{
	return &n->spec;
}

bool agent_node_registered(const struct agent_node *n)
{
	return n->registered;
}

int64_t agent_node_allocatable(const struct agent_node *n, const char *resource)
{
	if (str_eq(resource, "cpu"))
		return n->spec.cpu_milli;
	if (str_eq(resource, "memory"))
		return n->spec.memory_bytes > INT64_MAX / 1000 ? INT64_MAX : n->spec.memory_bytes * 1000;
	if (str_eq(resource, "pods"))
		return n->spec.pods * 1000;
	return n->spec.gpus && str_eq(resource, n->spec.gpu_resource) ? n->spec.gpus * 1000 : 0;
}

/* "%" in a label's value is the number at the end of the node's name. */
static void put_label(const struct agent_node *n, struct patch *p, const char *label)
{
	_cleanup_free_ char *key = mem_strndup(label, strcspn(label, "=")), *value = NULL;
	const char *text = label[strlen(key)] ? label + strlen(key) + 1 : "",
	           *number = n->spec.name + strlen(n->spec.name);
	size_t before = strcspn(text, "%");

	while (number > n->spec.name && isdigit((unsigned char)number[-1]))
		number--;
	value = text[before] ? str_printf("%.*s%s%s", (int)before, text, number, text + before + 1) : mem_strdup(text);
	patch_str(p, value, PATH(LABELS, key));
}

static void put_labels(const struct agent_node *n, struct patch *p)
{
	patch_str(p, n->spec.name, PATH(LABELS, "kubernetes.io/hostname"));
	patch_str(p, "linux", PATH(LABELS, "kubernetes.io/os"));
	patch_str(p, "amd64", PATH(LABELS, "kubernetes.io/arch"));
	if (!str_empty(n->spec.gpu_model))
		patch_str(p, n->spec.gpu_model, PATH(LABELS, "gpu.nvidia.com/model"));
	if (n->spec.hollow)
		patch_str(p, "true", PATH(LABELS, "sunk-lite/hollow"));
	for (const char *const *label = n->spec.labels; label && *label; label++)
		put_label(n, p, *label);
}

static void put_condition(struct patch *p, const char *type, const char *status, const char *reason,
                          const char *message)
{
	struct patch *c = patch_add(p, PATH("status", "conditions"));
	usec_t now = clock_wall(clock_real());

	patch_str(c, type, PATH("type"));
	patch_str(c, status, PATH("status"));
	patch_str(c, reason, PATH("reason"));
	patch_str(c, message, PATH("message"));
	patch_time(c, now, PATH("lastHeartbeatTime"));
	patch_time(c, now, PATH("lastTransitionTime"));
}

static void put_amounts(const struct agent_node *n, struct patch *p, const char *list)
{
	char text[64];

	snprintf(text, sizeof(text), "%" PRId64 "m", n->spec.cpu_milli);
	if (n->spec.cpu_milli % 1000 == 0)
		snprintf(text, sizeof(text), "%" PRId64, n->spec.cpu_milli / 1000);
	patch_str(p, text, PATH("status", list, "cpu"));
	snprintf(text, sizeof(text), "%" PRId64 "Ki", n->spec.memory_bytes / 1024);
	patch_str(p, text, PATH("status", list, "memory"));
	snprintf(text, sizeof(text), "%" PRId64, n->spec.pods);
	patch_str(p, text, PATH("status", list, "pods"));
	if (n->spec.gpus) {
		snprintf(text, sizeof(text), "%" PRId64, n->spec.gpus);
		patch_str(p, text, PATH("status", list, n->spec.gpu_resource));
	}
}

static void put_address(struct patch *p, const char *type, const char *address)
{
	struct patch *a = patch_add(p, PATH("status", "addresses"));

	patch_str(a, type, PATH("type"));
	patch_str(a, address, PATH("address"));
}

static void put_status(const struct agent_node *n, struct patch *p)
{
	put_condition(p, "MemoryPressure", "False", "KubeletHasSufficientMemory",
	              "kubelet has sufficient memory available");
	put_condition(p, "DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure");
	put_condition(p, "PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available");
	put_condition(p, "Ready", "True", "KubeletReady",
	              n->spec.hollow ? "a hollow node: its Pods only pretend to run"
	                             : "Pods run as local processes; images are not used");
	put_amounts(n, p, "capacity");
	put_amounts(n, p, "allocatable");
	put_address(p, "InternalIP", n->spec.ip);
	put_address(p, "Hostname", n->spec.port ? "127.0.0.1" : n->spec.name);
	if (n->spec.port)
		patch_int(p, n->spec.port, PATH("status", "daemonEndpoints", "kubeletEndpoint", "Port"));
	patch_str(p, "v1.36.0-sunk-lite", PATH("status", "nodeInfo", "kubeletVersion"));
	patch_str(p, "linux", PATH("status", "nodeInfo", "operatingSystem"));
	patch_str(p, "amd64", PATH("status", "nodeInfo", "architecture"));
	patch_str(p, "sunk-lite", PATH("status", "nodeInfo", "osImage"));
	patch_str(p, "none, local processes", PATH("status", "nodeInfo", "containerRuntimeVersion"));
	for (const char *const *key = (const char *const[]) { "kernelVersion", "kubeProxyVersion", "machineID",
	                                                      "systemUUID", "bootID", NULL };
	     *key; key++)
		patch_str(p, "", PATH("status", "nodeInfo", *key));
}

static void put_lease(const struct agent_node *n, struct patch *p, bool whole)
{
	usec_t now = clock_wall(clock_real());

	if (whole) {
		patch_str(p, "coordination.k8s.io/v1", PATH("apiVersion"));
		patch_str(p, "Lease", PATH("kind"));
		patch_str(p, n->spec.name, PATH("metadata", "name"));
		patch_str(p, "kube-node-lease", PATH("metadata", "namespace"));
	}
	patch_str(p, n->spec.name, PATH("spec", "holderIdentity"));
	patch_int(p, LEASE_DURATION_S, PATH("spec", "leaseDurationSeconds"));
	patch_micro_time(p, now, PATH("spec", "renewTime"));
}

/* What follows a stage that went well. */
static void go_on(struct agent_node *n, enum stage next, usec_t span)
{
	n->stage = next;
	loop_set_timer(n->timer, loop_now(n->loop) + span);
}

static usec_t jittered(struct agent_node *n, usec_t span)
{
	return span - (usec_t)rng_below(&n->rng, (uint64_t)span / 5);
}

static void answered(void *arg, const struct kube_result *result, yyjson_val *object)
{
	struct agent_node *n = arg;
	enum kube_outcome outcome = result->outcome;

	(void)object;
	n->call = NULL;
	switch (n->stage) {
	case STAGE_CREATE:
		if (outcome == KUBE_OK || outcome == KUBE_EXISTS)
			return go_on(n, STAGE_LABEL, 0);
		break;
	case STAGE_LABEL:
		if (outcome == KUBE_OK)
			return go_on(n, STAGE_STATUS, 0);
		break;
	case STAGE_STATUS:
		n->registered = outcome == KUBE_OK;
		n->next_status = loop_now(n->loop) + jittered(n, STATUS_SPAN);
		if (outcome == KUBE_OK || outcome == KUBE_NOT_FOUND)
			return go_on(n, STAGE_LEASE_RENEW, 0);
		break;
	case STAGE_LEASE_CREATE:
	case STAGE_LEASE_RENEW:
		if (outcome == KUBE_NOT_FOUND)
			return go_on(n, STAGE_LEASE_CREATE, 0);
		if (outcome == KUBE_OK || outcome == KUBE_EXISTS)
			return go_on(n, loop_now(n->loop) >= n->next_status ? STAGE_STATUS : STAGE_LEASE_RENEW,
			             jittered(n, LEASE_SPAN));
		break;
	}
	log_warn("node %s: %s", n->spec.name, result->message);
	go_on(n, n->stage, jittered(n, RETRY_SPAN));
}

static void act(void *arg)
{
	struct agent_node *n = arg;
	struct patch *p = patch_new();
	char object[PATH_MAX_BYTES], status[PATH_MAX_BYTES], lease[PATH_MAX_BYTES];
	const char *method = "PATCH", *path = object, *type = RAW_MERGE;
	_cleanup_free_ char *body = NULL;

	snprintf(object, sizeof(object), "/api/v1/nodes/%s", n->spec.name);
	snprintf(status, sizeof(status), "/api/v1/nodes/%s/status", n->spec.name);
	snprintf(lease, sizeof(lease), "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/%s",
	         n->spec.name);
	switch (n->stage) {
	case STAGE_CREATE:
		method = "POST";
		path = "/api/v1/nodes";
		type = "application/json";
		patch_str(p, "v1", PATH("apiVersion"));
		patch_str(p, "Node", PATH("kind"));
		patch_str(p, n->spec.name, PATH("metadata", "name"));
		put_labels(n, p);
		break;
	case STAGE_LABEL: put_labels(n, p); break;
	case STAGE_STATUS:
		path = status;
		type = RAW_STRATEGIC;
		put_status(n, p);
		break;
	case STAGE_LEASE_CREATE:
		method = "POST";
		path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
		type = "application/json";
		put_lease(n, p, true);
		break;
	case STAGE_LEASE_RENEW:
		path = lease;
		put_lease(n, p, false);
		break;
	}
	body = patch_text(p, NULL);
	n->call = raw_send(n->lane, method, path, type, body, answered, n);
	patch_free(p);
}

struct agent_node *agent_node_new(struct loop *l, struct lane *lane, const struct node_spec *spec)
{
	struct agent_node *n = NEW(struct agent_node);

	*n = (struct agent_node) { .loop = l, .lane = lane, .spec = *spec, .rng = rng_from_kernel() };
	n->timer = loop_add_timer(l, act, n);
	loop_set_timer(n->timer, loop_now(l));
	return n;
}

void agent_node_free(struct agent_node *n)
{
	if (!n)
		return;
	raw_cancel(n->call);
	loop_remove_timer(n->timer);
	free(n);
}
