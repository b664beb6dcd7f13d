/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/objects.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/test.h"
#include "model/lease.h"
#include "model/volume.h"
#include "json/json.h"

#define SAMPLE_MAX ((size_t)4 << 20)

static struct json_scratch scratch;

/* From YAML, which reads better here. */
static int decode_text(enum kube_kind kind, const char *yaml, void **ret, size_t *ret_size, struct err *err)
{
	yyjson_doc *doc;
	int r;

	if (yaml_parse(yaml, strlen(yaml), "test text", &doc, err) < 0)
		fail_msg("%s", err->text);
	r = kube_decode(kind, yyjson_doc_get_root(doc), &scratch, ret, ret_size, err);
	yyjson_doc_free(doc);
	return r;
}

static void *decode(enum kube_kind kind, const char *text)
{
	struct err err = { 0 };
	void *object = NULL;

	if (decode_text(kind, text, &object, NULL, &err) < 0)
		fail_msg("refused: %s", err.text);
	return object;
}

static const char whole_pod[] =
        "kind: Pod\n"
        "metadata:\n"
        "  name: p\n"
        "  namespace: a\n"
        "  uid: u-1\n"
        "  resourceVersion: '12'\n"
        "  generation: 3\n"
        "  creationTimestamp: 2026-11-15T18:15:55Z\n"
        "  deletionTimestamp: 2026-11-15T18:16:25Z\n"
        "  deletionGracePeriodSeconds: 30\n"
        "  labels: {app: x, tier: ''}\n"
        "  annotations: {foreign/a: dropped, sunk.coreweave.com/job-id: '17'}\n"
        "  ownerReferences: [{apiVersion: v1, kind: ReplicaSet, name: r, uid: u-2, controller: true}]\n"
        "  finalizers: [f/one, f/two]\n"
        "  managedFields: [{fieldsV1: {'f:spec': {}}}]\n"
        "spec:\n"
        "  volumes: [{name: v, persistentVolumeClaim: {claimName: c}}, {name: w, emptyDir: {}}]\n"
        "  initContainers: [{name: side, restartPolicy: Always}, {name: init}]\n"
        "  containers:\n"
        "  - name: main\n"
        "    image: i\n"
        "    ports: [{name: h, hostPort: 80, containerPort: 8080, protocol: UDP, hostIP: 10.0.0.1}, {containerPort: "
        "1}]\n"
        "    resources: {limits: {cpu: '2', nvidia.com/gpu: '8'}, requests: {cpu: 500m, memory: 1Gi}}\n"
        "  restartPolicy: OnFailure\n"
        "  terminationGracePeriodSeconds: 0\n"
        "  activeDeadlineSeconds: 600\n"
        "  nodeSelector: {zone: z1}\n"
        "  nodeName: n1\n"
        "  hostNetwork: true\n"
        "  affinity:\n"
        "    nodeAffinity:\n"
        "      requiredDuringSchedulingIgnoredDuringExecution:\n"
        "        nodeSelectorTerms:\n"
        "        - matchExpressions: [{key: k, operator: NotIn, values: [a, b]}]\n"
        "          matchFields: [{key: metadata.name, operator: In, values: [n1]}]\n"
        "      preferredDuringSchedulingIgnoredDuringExecution: []\n"
        "  schedulerName: sunk\n"
        "  tolerations: [{key: t, value: v, effect: NoExecute, tolerationSeconds: 0}, {operator: Exists}, {key: n, "
        "operator: Gt, value: '5'}, {key: n, operator: Lt, value: '9'}]\n"
        "  priorityClassName: high\n"
        "  priority: -10\n"
        "  resources: {requests: {cpu: 3}, limits: {memory: 1Gi}}\n"
        "  overhead: {memory: 120Mi}\n"
        "  schedulingGates: [{name: g1}, {name: g2}]\n"
        "  resourceClaims: [{name: gpu, resourceClaimTemplateName: t}]\n"
        "status:\n"
        "  phase: Running\n"
        "  conditions:\n"
        "  - {type: Initialized, status: 'True'}\n"
        "  - type: Ready\n"
        "    status: 'False'\n"
        "    lastProbeTime: null\n"
        "    lastTransitionTime: 2026-11-15T18:16:00Z\n"
        "    reason: ContainersNotReady\n"
        "    message: m\n"
        "  message: pm\n"
        "  reason: pr\n"
        "  hostIP: 10.0.0.1\n"
        "  podIP: 10.1.0.1\n"
        "  startTime: 2026-11-15T18:15:56Z\n"
        "  initContainerStatuses:\n"
        "  - name: init\n"
        "    state:\n"
        "      terminated:\n"
        "        exitCode: 137\n"
        "        signal: 9\n"
        "        reason: Error\n"
        "        message: tm\n"
        "        startedAt: 2026-11-15T18:15:57Z\n"
        "        finishedAt: 2026-11-15T18:15:58Z\n"
        "    restartCount: 2\n"
        "  containerStatuses:\n"
        "  - name: main\n"
        "    state: {running: {startedAt: '2026-11-15T18:15:59Z'}}\n"
        "    lastState: {terminated: {exitCode: 5}}\n"
        "    ready: true\n"
        "    restartCount: 1\n"
        "    allocatedResources: {cpu: 500m, memory: 1Gi, nvidia.com/gpu: '8'}\n"
        "    resources: {limits: {cpu: '9'}, requests: {cpu: 250m, memory: 2Gi}}\n"
        "  - {name: late, state: {waiting: {reason: ContainerCreating}}}\n"
        "  qosClass: Burstable\n";

static void test_a_pod_with_everything_we_look_at(void **state)
{
	_cleanup_free_ struct pod *p = decode(KUBE_PODS, whole_pod);
	const struct selector_term *term = &p->required_nodes[0];

	(void)state;
	assert_string_equal(p->meta.ns, "a");
	assert_string_equal(p->meta.name, "p");
	assert_string_equal(p->meta.uid, "u-1");
	assert_string_equal(p->meta.resource_version, "12");
	assert_int_equal(p->meta.generation, 3);
	assert_int_equal(p->meta.deletion - p->meta.created, 30 * USEC_SEC);
	assert_int_equal(p->meta.deletion_grace_s, 30);
	assert_string_equal(pair_get(p->meta.labels, p->meta.n_labels, "app"), "x");
	assert_string_equal(pair_get(p->meta.labels, p->meta.n_labels, "tier"), "");
	assert_int_equal(p->meta.n_annotations, 1);
	assert_string_equal(pair_get(p->meta.annotations, 1, "sunk.coreweave.com/job-id"), "17");
	assert_string_equal(meta_controller(&p->meta)->kind, "ReplicaSet");
	assert_string_equal(meta_controller(&p->meta)->uid, "u-2");
	assert_int_equal(p->meta.n_finalizers, 2);
	assert_string_equal(p->meta.finalizers[1], "f/two");

	assert_int_equal(p->n_volumes, 1);
	assert_string_equal(p->volumes[0].volume, "v");
	assert_string_equal(p->volumes[0].claim, "c");
	assert_int_equal(p->n_init_containers, 2);
	assert_int_equal(p->init_containers[0].restart, RESTART_ALWAYS);
	assert_int_equal(p->init_containers[1].restart, RESTART_UNSET);
	assert_int_equal(p->n_containers, 1);
	assert_int_equal(p->containers[0].n_ports, 1);
	assert_int_equal(p->containers[0].ports[0].port, 80);
	assert_string_equal(p->containers[0].ports[0].protocol, "UDP");
	assert_string_equal(p->containers[0].ports[0].host_ip, "10.0.0.1");
	assert_int_equal(amount_get(p->containers[0].limits, p->containers[0].n_limits, "nvidia.com/gpu"), 8000);
	assert_int_equal(amount_get(p->containers[0].requests, p->containers[0].n_requests, "cpu"), 500);
	assert_int_equal(amount_get(p->containers[0].requests, p->containers[0].n_requests, "memory"),
	                 INT64_C(1073741824000));
	assert_int_equal(p->restart, RESTART_ON_FAILURE);
	assert_true(p->has_grace && p->grace_s == 0);
	assert_int_equal(p->active_deadline_s, 600);
	assert_string_equal(pair_get(p->node_selector, p->n_node_selector, "zone"), "z1");
	assert_string_equal(p->node_name, "n1");
	assert_true(p->host_network && p->has_required);
	assert_int_equal(p->n_required_nodes, 1);
	assert_int_equal(term->labels[0].op, SEL_NOT_IN);
	assert_int_equal(term->labels[0].n_values, 2);
	assert_string_equal(term->labels[0].values[1], "b");
	assert_string_equal(term->fields[0].key, "metadata.name");
	assert_int_equal(term->fields[0].op, SEL_IN);
	assert_string_equal(p->scheduler_name, "sunk");
	assert_int_equal(p->tolerations[0].op, TOLERATE_EQUAL);
	assert_int_equal(p->tolerations[0].effect, EFFECT_NO_EXECUTE);
	assert_true(p->tolerations[0].has_seconds && p->tolerations[0].seconds == 0);
	assert_int_equal(p->tolerations[1].op, TOLERATE_EXISTS);
	assert_int_equal(p->tolerations[1].effect, EFFECT_ANY);
	assert_true(!p->tolerations[1].key && !p->tolerations[1].has_seconds);
	assert_int_equal(p->tolerations[2].op, TOLERATE_GT);
	assert_string_equal(p->tolerations[2].value, "5");
	assert_int_equal(p->tolerations[3].op, TOLERATE_LT);
	assert_string_equal(p->priority_class, "high");
	assert_int_equal(p->priority, -10);
	assert_int_equal(amount_get(p->whole.requests, p->whole.n_requests, "cpu"), 3000);
	assert_int_equal(amount_get(p->whole.limits, p->whole.n_limits, "memory"), INT64_C(1073741824000));
	assert_int_equal(amount_get(p->overhead, p->n_overhead, "memory"), INT64_C(125829120000));
	assert_int_equal(p->n_gates, 2);
	assert_string_equal(p->gates[1], "g2");
	assert_int_equal(p->n_device_claims, 1);
	assert_string_equal(p->device_claims[0], "gpu");

	assert_int_equal(p->phase, POD_RUNNING);
	assert_int_equal(p->qos, QOS_BURSTABLE);
	assert_int_equal(p->n_conditions, 1);
	assert_int_equal(condition_get(p->conditions, p->n_conditions, "Ready")->status, COND_FALSE);
	assert_string_equal(p->conditions[0].reason, "ContainersNotReady");
	assert_int_equal(p->conditions[0].changed - p->started, 4 * USEC_SEC);
	assert_string_equal(p->message, "pm");
	assert_string_equal(p->reason, "pr");
	assert_string_equal(p->host_ip, "10.0.0.1");
	assert_string_equal(p->pod_ip, "10.1.0.1");
	assert_true(p->init_statuses[0].terminated && !p->init_statuses[0].running && !p->init_statuses[0].waiting);
	assert_int_equal(p->init_statuses[0].exit_code, 137);
	assert_int_equal(p->init_statuses[0].signal, 9);
	assert_int_equal(p->init_statuses[0].restarts, 2);
	assert_string_equal(p->init_statuses[0].message, "tm");
	assert_int_equal(p->init_statuses[0].finished - p->init_statuses[0].started, USEC_SEC);
	assert_true(p->statuses[0].running && p->statuses[0].ready && !p->statuses[0].terminated);
	assert_int_equal(p->statuses[0].granted.cpu, 500);
	assert_int_equal(p->statuses[0].granted.memory, INT64_C(1000) << 30);
	assert_int_equal(p->statuses[0].in_effect.cpu, 250);
	assert_int_equal(p->statuses[0].in_effect.memory, INT64_C(2000) << 30);
	assert_int_equal(p->statuses[0].exit_code, 0); /* lastState is not looked at */
	assert_int_equal(p->statuses[0].started - p->started, 3 * USEC_SEC);
	assert_true(p->statuses[1].waiting);
	assert_string_equal(p->statuses[1].reason, "ContainerCreating");
}

static void test_absent_is_told_from_zero(void **state)
{
	_cleanup_free_ struct pod *p = decode(KUBE_PODS, "{metadata: {name: p}, spec: {affinity: {nodeAffinity: {}}}}");
	_cleanup_free_ struct pod *q = decode(KUBE_PODS, "{metadata: {name: p}, spec: {affinity: {nodeAffinity: "
	                                                 "{requiredDuringSchedulingIgnoredDuringExecution: {}}}}}");

	(void)state;
	assert_false(p->has_grace);
	assert_false(p->has_required);
	assert_true(q->has_required && q->n_required_nodes == 0);
	assert_int_equal(p->phase, POD_PHASE_UNKNOWN);
	assert_int_equal(p->restart, RESTART_UNSET);
	assert_int_equal(p->qos, QOS_UNSET);
	assert_null(p->meta.ns);
}

static const char whole_node[] =
        "metadata:\n"
        "  name: n1\n"
        "  uid: u\n"
        "  resourceVersion: '5'\n"
        "  labels: {kubernetes.io/hostname: n1}\n"
        "  annotations: {node.coreweave.cloud/x: y, csi.volume.kubernetes.io/nodeid: '{}'}\n"
        "spec:\n"
        "  podCIDR: 10.2.0.0/24\n"
        "  unschedulable: true\n"
        "  taints:\n"
        "  - {key: k, value: v, effect: NoSchedule, timeAdded: '2026-11-15T18:15:55Z'}\n"
        "  - {key: l, effect: PreferNoSchedule}\n"
        "status:\n"
        "  capacity: {cpu: '128', memory: 1056277768Ki, nvidia.com/gpu: '8', pods: '110'}\n"
        "  allocatable: {cpu: 127500m, memory: 1000Gi}\n"
        "  conditions:\n"
        "  - {type: Ready, status: 'True', lastTransitionTime: '2026-11-15T18:15:55Z', reason: KubeletReady}\n"
        "  - {type: DiskPressure, status: Unknown}\n"
        "  addresses: [{type: InternalIP, address: 10.0.0.1}, {type: Hostname, address: n1}]\n"
        "  daemonEndpoints: {kubeletEndpoint: {Port: 10250}}\n"
        "  nodeInfo: {machineID: m, systemUUID: s, bootID: b-1, kubeletVersion: v1.36.0}\n"
        "  images: [{names: [i]}]\n";

static void test_a_node_with_everything_we_look_at(void **state)
{
	_cleanup_free_ struct knode *n = decode(KUBE_NODES, whole_node);

	(void)state;
	assert_null(n->meta.ns);
	assert_string_equal(n->meta.name, "n1");
	assert_int_equal(n->meta.n_annotations, 1);
	assert_true(n->unschedulable);
	assert_int_equal(n->n_taints, 2);
	assert_string_equal(n->taints[0].value, "v");
	assert_int_equal(n->taints[0].effect, EFFECT_NO_SCHEDULE);
	assert_true(n->taints[0].added > 0);
	assert_int_equal(n->taints[1].effect, EFFECT_PREFER_NO_SCHEDULE);
	assert_null(n->taints[1].value);
	assert_int_equal(amount_get(n->capacity, n->n_capacity, "nvidia.com/gpu"), 8000);
	assert_int_equal(amount_get(n->capacity, n->n_capacity, "memory"), INT64_C(1056277768) * 1024 * 1000);
	assert_int_equal(amount_get(n->allocatable, n->n_allocatable, "cpu"), 127500);
	assert_int_equal(condition_get(n->conditions, n->n_conditions, "Ready")->status, COND_TRUE);
	assert_int_equal(condition_get(n->conditions, n->n_conditions, "DiskPressure")->status, COND_UNKNOWN);
	assert_int_equal(n->n_addresses, 2);
	assert_string_equal(n->addresses[0].type, "InternalIP");
	assert_string_equal(n->addresses[0].address, "10.0.0.1");
	assert_string_equal(n->boot_id, "b-1");
	assert_string_equal(n->kubelet_version, "v1.36.0");
}

static const char whole_lease[] = "kind: Lease\n"
                                  "metadata: {name: l, namespace: s}\n"
                                  "spec:\n"
                                  "  holderIdentity: a\n"
                                  "  leaseDurationSeconds: 15\n"
                                  "  acquireTime: 1970-01-01T00:00:01.000001Z\n"
                                  "  renewTime: 1970-01-01T00:00:02.5Z\n"
                                  "  leaseTransitions: 4\n";

static void test_a_lease(void **state)
{
	_cleanup_free_ struct klease *l = decode(KUBE_LEASES, whole_lease);

	(void)state;
	assert_string_equal(l->holder, "a");
	assert_int_equal(l->duration_s, 15);
	assert_int_equal(l->acquired, 1000001);
	assert_int_equal(l->renewed, 2500000);
	assert_int_equal(l->transitions, 4);
}

static const char whole_claim[] =
        "kind: PersistentVolumeClaim\n"
        "apiVersion: v1\n"
        "metadata:\n"
        "  name: data\n"
        "  namespace: ml\n"
        "  uid: u-1\n"
        "  annotations: {volume.kubernetes.io/selected-node: n1, pv.kubernetes.io/bind-completed: 'yes'}\n"
        "  finalizers: [kubernetes.io/pvc-protection]\n"
        "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, volumeName: pv-1,\n"
        "  storageClassName: fast, volumeMode: Block, volumeAttributesClassName: gold,\n"
        "  selector: {matchLabels: {disk: ssd}, matchExpressions: [{key: tier, operator: NotIn, values: [x]}]}}\n"
        "status: {phase: Bound, capacity: {storage: 1Gi}}\n";

static const char whole_volume[] =
        "kind: PersistentVolume\n"
        "apiVersion: v1\n"
        "metadata: {name: pv-1, uid: u-2}\n"
        "spec:\n"
        "  capacity: {storage: 1Gi}\n"
        "  accessModes: [ReadWriteOnce, ReadOnlyMany]\n"
        "  hostPath: {path: /x}\n"
        "  storageClassName: fast\n"
        "  volumeMode: Block\n"
        "  claimRef: {kind: PersistentVolumeClaim, namespace: ml, name: data, uid: u-1}\n"
        "  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname,\n"
        "    operator: In, values: [n1, n2]}]}]}}\n"
        "status: {phase: Bound}\n";

static const char whole_class[] = "kind: StorageClass\n"
                                  "apiVersion: storage.k8s.io/v1\n"
                                  "metadata: {name: fast}\n"
                                  "provisioner: example.com/disk\n"
                                  "parameters: {type: ssd}\n"
                                  "reclaimPolicy: Delete\n"
                                  "volumeBindingMode: WaitForFirstConsumer\n"
                                  "allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a, b]}]}, {}]\n";

static void test_volumes(void **state)
{
	_cleanup_free_ struct pvc *c = decode(KUBE_CLAIMS, whole_claim),
	                          *bare = decode(KUBE_CLAIMS, "metadata: {name: c}");
	_cleanup_free_ struct pv *v = decode(KUBE_VOLUMES, whole_volume), *open = NULL;
	_cleanup_free_ struct storage_class *s = decode(KUBE_CLASSES, whole_class), *at_once = NULL;

	(void)state;
	assert_string_equal(c->meta.ns, "ml");
	assert_string_equal(pair_get(c->meta.annotations, c->meta.n_annotations, ANNOTATION_SELECTED_NODE), "n1");
	assert_string_equal(c->volume, "pv-1");
	assert_string_equal(c->storage_class, "fast");
	assert_int_equal(c->phase, PVC_BOUND);
	assert_int_equal(c->request, (int64_t)1000 << 30);
	assert_int_equal(c->n_access_modes, 1);
	assert_string_equal(c->access_modes[0], "ReadWriteOnce");
	assert_int_equal(c->mode, VOLUME_BLOCK);
	assert_string_equal(c->attributes_class, "gold");
	assert_string_equal(pair_get(c->match_labels, c->n_match_labels, "disk"), "ssd");
	assert_int_equal(c->n_match, 1);
	assert_int_equal(c->match[0].op, SEL_NOT_IN);
	assert_null(bare->volume);
	assert_null(bare->storage_class);
	assert_int_equal(bare->phase, PVC_PHASE_UNKNOWN);
	assert_string_equal(v->claim_ns, "ml");
	assert_string_equal(v->claim_name, "data");
	assert_string_equal(v->claim_uid, "u-1");
	assert_string_equal(v->storage_class, "fast");
	assert_int_equal(v->capacity, (int64_t)1000 << 30);
	assert_int_equal(v->n_access_modes, 2);
	assert_string_equal(v->access_modes[1], "ReadOnlyMany");
	assert_int_equal(v->mode, VOLUME_BLOCK);
	assert_int_equal(v->phase, PV_BOUND);
	assert_true(v->has_required);
	assert_int_equal(v->n_required_nodes, 1);
	assert_int_equal(v->required_nodes[0].labels[0].op, SEL_IN);
	assert_string_equal(v->required_nodes[0].labels[0].values[1], "n2");
	open = decode(KUBE_VOLUMES, "{metadata: {name: v}, spec: {nodeAffinity: {required: null}}}");
	assert_false(open->has_required);
	assert_int_equal(open->mode, VOLUME_FILESYSTEM);
	assert_int_equal(open->phase, PV_PHASE_UNKNOWN);
	assert_string_equal(s->provisioner, "example.com/disk");
	assert_true(s->waits_for_consumer);
	assert_int_equal(s->n_topologies, 2);
	assert_string_equal(s->topologies[0].labels[0].key, "zone");
	assert_int_equal(s->topologies[0].labels[0].n_values, 2);
	at_once = decode(KUBE_CLASSES, "{metadata: {name: s}, volumeBindingMode: Immediate}");
	assert_false(at_once->waits_for_consumer);
	assert_int_equal(at_once->n_topologies, 0);
}

static void test_an_ephemeral_volume_is_a_claim_of_the_pod(void **state)
{
	_cleanup_free_ struct pod *p =
	        decode(KUBE_PODS, "{metadata: {name: p}, spec: {volumes: [{name: e, emptyDir: {}}, {name: a,\n"
	                          "  ephemeral: {volumeClaimTemplate: {spec: {}}}}, {name: b, persistentVolumeClaim:\n"
	                          "  {claimName: data}}]}}");

	(void)state;
	assert_int_equal(p->n_volumes, 2);
	assert_string_equal(p->volumes[0].volume, "a");
	assert_true(p->volumes[0].ephemeral);
	assert_null(p->volumes[0].claim);
	assert_string_equal(p->volumes[1].claim, "data");
	assert_false(p->volumes[1].ephemeral);
}

static void test_what_is_refused_is_named(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "{metadata: {name: b, namespace: a}, spec: {priority: high}}",
		  "Pod a/b: spec.priority: expected an integer, got a string" },
		{ "{metadata: {name: b}, status: {containerStatuses: [{state: {running: {startedAt: now}}}]}}",
		  "Pod b: status.containerStatuses[0].state.running.startedAt: expected a time like "
		  "2026-11-15T18:15:55Z, got 'now'" },
		{ "{kind: Status, code: 410}", "expected a Pod, got a Status" },
		{ "{}", "Pod ?: metadata: required, but missing" },
		{ "{metadata: {}}", "Pod ?: metadata.name: required, but missing" },
		{ "{metadata: {name: ''}}", "Pod : metadata.name: empty" },
		{ "{metadata: {name: 7}}", "Pod ?: metadata.name: expected a string, got a number" },
		{ "[]", "Pod ?: expected an object, got an array" },
	};
	char name[400];
	_cleanup_free_ char *text = NULL;
	struct err err = { 0 };
	void *object = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_true(decode_text(KUBE_PODS, cases[i].text, &object, NULL, &err) < 0);
		assert_string_equal(err.text, cases[i].error);
		assert_null(object);
	}
	memset(name, 'n', sizeof(name));
	text = str_printf("{metadata: {name: %.*s}}", 254, name);
	assert_int_equal(decode_text(KUBE_PODS, text, &object, NULL, &err), -E2BIG);
	assert_true(str_ends(err.text, "nnn…: metadata.name: longer than 253 bytes"));
}

/* ---- what real servers sent ---- */

struct tally {
	const char *file;
	unsigned pods, leases, lists, dry_runs;
	unsigned terminated, running, waiting, succeeded, failed, deleting;
};

static void check_pod(struct tally *t, const struct pod *p, size_t size)
{
	assert_true(p->meta.ns && p->meta.uid && p->meta.created > 0);
	t->dry_runs += !p->meta.resource_version;
	assert_true(p->n_containers >= 1 && p->containers[0].name && p->scheduler_name && p->has_grace);
	assert_true(size >= sizeof(*p) && size < 4096);
	t->pods++;
	t->succeeded += p->phase == POD_SUCCEEDED;
	t->failed += p->phase == POD_FAILED;
	t->deleting += p->meta.deletion != 0;
	for (uint32_t i = 0; i < p->n_statuses; i++) {
		const struct container_status *s = &p->statuses[i];

		assert_int_equal(s->running + s->waiting + s->terminated, 1);
		assert_true(!s->running || s->started);
		assert_true(!s->terminated || (s->reason && s->finished >= s->started));
		t->running += s->running;
		t->waiting += s->waiting;
		t->terminated += s->terminated;
	}
}

static void take_object(struct tally *t, yyjson_val *v, const char *kind)
{
	struct err err = { 0 };
	void *object = NULL;
	size_t size;
	bool is_pod = str_eq(kind, "Pod");

	if (!is_pod && !str_eq(kind, "Lease"))
		return;
	if (kube_decode(is_pod ? KUBE_PODS : KUBE_LEASES, v, &scratch, &object, &size, &err) < 0)
		fail_msg("%s: %s", t->file, err.text);
	if (is_pod)
		check_pod(t, object, size);
	else
		t->leases++;
	free(object);
}

/* An object, a list of them, or a watch event with one. */
static void take_document(struct tally *t, yyjson_val *root)
{
	const char *kind = json_str(json_get(root, "kind")), *type = json_str(json_get(root, "type"));
	yyjson_val *object = json_get(root, "object");
	yyjson_arr_iter iter;
	yyjson_val *item;

	if (object && type && !str_eq(type, "BOOKMARK"))
		take_object(t, object, json_str(json_get(object, "kind")));
	if (str_eq(kind, "PodList") && yyjson_arr_iter_init(json_get(root, "items"), &iter)) {
		t->lists++;
		while ((item = yyjson_arr_iter_next(&iter)))
			take_object(t, item, "Pod");
	}
	if (kind && json_get(root, "metadata"))
		take_object(t, root, kind);
}

static void take_body(struct tally *t, const char *text)
{
	yyjson_doc *doc;

	if (json_parse_copy(text, strlen(text), &doc, NULL) == 0) {
		take_document(t, yyjson_doc_get_root(doc));
		yyjson_doc_free(doc);
		return;
	}
	while (*text) { /* a watch: one document a line; some lines are of the transport */
		size_t len = strcspn(text, "\n");

		if (json_parse_copy(text, len, &doc, NULL) == 0) {
			take_document(t, yyjson_doc_get_root(doc));
			yyjson_doc_free(doc);
		}
		text += len + (text[len] == '\n');
	}
}

/* "" when all of it is known. */
static void check_strange(const char *spec, const char *strange, bool unreadable)
{
	_cleanup_free_ char *text =
	        str_printf("kind: NodeSet\nmetadata: {name: a, namespace: b}\nother: {x: 1}\nspec: %s\n", spec);
	_cleanup_free_ struct nodeset *set = decode(KUBE_NODESETS, text);

	assert_string_equal(set->strange, strange);
	assert_int_equal(set->unreadable, unreadable);
	assert_string_equal(set->meta.name, "a");
	assert_true(!set->unreadable || (!set->template_json && !set->has_replicas));
}

static void test_what_a_later_version_says_in_a_nodeset_is_found(void **state)
{
#define REQUIRED                                                                                                       \
	"{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: "     \
	"[{key: a, operator: "
	(void)state;
	check_strange("{replicas: 1, overProvision: 0, namePrefix: a, nameLabel: b, nodeSelector: {x: y}, features: "
	              "[a], featureLabels: [b], "
	              "updateStrategy: {type: Canary, maxUnavailable: 1}, tolerations: [{key: a, operator: Exists, "
	              "value: b, effect: "
	              "NoExecute, tolerationSeconds: 1}], affinity: " REQUIRED
	              "In, values: [b]}], matchFields: []}]}, preferredDuringSchedulingIgnoredDuringExecution: []}}, "
	              "template: {metadata: {x: 1}, "
	              "spec: {later: 1, affinity: {podAffinity: {}}}}}",
	              "", false);
	check_strange("{paused: true, template: {}}", "spec.paused", false);
	check_strange("{paused: null, template: {}}", "", false);
	check_strange("{updateStrategy: {type: OnDelete, partition: 3}}", "spec.updateStrategy.partition", false);
	check_strange("{tolerations: [{key: a}, {key: b, operator: Gt}]}", "spec.tolerations[1].operator 'Gt'", false);
	check_strange("{affinity: {zones: [a]}}", "spec.affinity.zones", false);
	check_strange("{template: {volumes: []}}", "spec.template.volumes", false);
	check_strange("{affinity: " REQUIRED "Like}]}]}}}}",
	              "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]."
	              "matchExpressions[0]."
	              "operator 'Like'",
	              false);
	check_strange("{template: {spec: {affinity: " REQUIRED "In, cel: x}]}]}}}}}}",
	              "spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
	              "nodeSelectorTerms[0]."
	              "matchExpressions[0].cel",
	              false);
	check_strange("{replicas: {zone-a: 3}}", "spec.replicas: expected an integer, got an object", true);
	check_strange("{template: [a, b]}", "spec.template: expected an object, got an array", true);
	check_strange("7", "spec: expected an object, got a number", true);
#undef REQUIRED
}

static void test_every_object_of_the_samples_decodes(void **state)
{
	const char *dir_name = getenv("SUNK_KUBE_SAMPLES");
	struct tally t = { 0 };
	struct dirent *entry;
	DIR *dir;

	(void)state;
	assert_non_null(dir_name);
	dir = opendir(dir_name);
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		_cleanup_free_ char *path = str_printf("%s/%s", dir_name, entry->d_name);
		_cleanup_buf_ struct buf b = BUF(SAMPLE_MAX);
		const char *body;

		if (entry->d_name[0] == '.')
			continue;
		assert_int_equal(buf_read_file(&b, path), 0);
		body = strstr(buf_text(&b), "--- body");
		t.file = entry->d_name;
		if (body)
			take_body(&t, body + strcspn(body, "\n"));
		else if (str_ends(entry->d_name, ".jsonl"))
			take_body(&t, buf_text(&b));
	}
	closedir(dir);
	/* none of the kinds of things that the samples are known to hold was missed */
	assert_true(t.pods > 120 && t.lists >= 5 && t.leases >= 2 && t.dry_runs <= 2);
	assert_true(t.terminated > 10 && t.running > 10 && t.waiting > 10);
	assert_true(t.succeeded > 0 && t.failed > 0 && t.deleting > 5);
}

static int done(void **state)
{
	(void)state;
	json_scratch_done(&scratch);
	return 0;
}

TEST_MAIN(TEST(a_pod_with_everything_we_look_at), TEST(absent_is_told_from_zero),
          TEST(a_node_with_everything_we_look_at), TEST(a_lease), TEST(volumes),
          TEST(an_ephemeral_volume_is_a_claim_of_the_pod), TEST(what_is_refused_is_named),
          TEST(what_a_later_version_says_in_a_nodeset_is_found),
          cmocka_unit_test_teardown(test_every_object_of_the_samples_decodes, done))
