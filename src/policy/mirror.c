/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/mirror.h"

#include "base/str.h"
#include "policy/nodeset.h"

#define LABEL_CLUSTER ANNOTATION_PREFIX "cluster"
#define LABEL_NAMESPACE ANNOTATION_PREFIX "namespace"
#define LABEL_POD ANNOTATION_PREFIX "pod"
#define LABEL_PART_OF "app.kubernetes.io/part-of"
#define KUBE_DRAIN_PREFIX "k8s:"

static void want_pair(struct pair *list, int *n, const struct pair *have, uint32_t n_have, const char *key,
                      const char *value)
{
	if (!str_eq(pair_get(have, n_have, key), value))
		list[(*n)++] = (struct pair) { key, value };
}

static void want_condition(const struct knode *node, const struct condition *want, usec_t now, struct node_mirror *m)
{
	const struct condition *is = condition_get(node->conditions, node->n_conditions, want->type);
	struct condition c = *want;

	if (is && is->status == c.status && str_eq(str_or(is->message, ""), str_or(c.message, "")) &&
	    str_eq(str_or(is->reason, ""), str_or(c.reason, "")))
		return;
	if (is && is->status == c.status)
		c.changed = is->changed; /* only its words changed */
	else if (!c.changed)
		c.changed = now;
	m->conditions[m->n_conditions++] = c;
}

static void mirror_condition(const struct knode *node, const struct pod *pod, const char *type, usec_t now,
                             struct node_mirror *m)
{
	const struct condition *from = pod ? condition_get(pod->conditions, pod->n_conditions, type) : NULL;

	if (from)
		want_condition(node, from, now, m);
	else if (pod || condition_get(node->conditions, node->n_conditions, type))
		want_condition(node,
		               &(struct condition) { .type = type,
		                                     .status = COND_UNKNOWN,
		                                     .reason = pod ? "NotReported" : "NoNodeSetPod",
		                                     .message = pod ? "the syncer has not reported the Slurm node yet"
		                                                    : "no NodeSet Pod runs on this Node" },
		               now, m);
}

static void mirror_cordon(const struct knode *node, const struct pod *pod, usec_t now, struct node_mirror *m)
{
	const struct condition *drain = pod ? condition_get(pod->conditions, pod->n_conditions, CONDITION_DRAIN) : NULL;
	struct condition want = {
		.type = CONDITION_CORDON, .status = COND_FALSE, .reason = "NotDrained", .message = ""
	};

	if (!drain || drain->status == COND_UNKNOWN) {
		if (!pod && !condition_get(node->conditions, node->n_conditions, CONDITION_CORDON))
			return;
		want.status = COND_UNKNOWN;
		want.reason = pod ? "NotReported" : "NoNodeSetPod";
	} else if (drain->status == COND_TRUE && str_starts(str_or(drain->message, ""), KUBE_DRAIN_PREFIX)) {
		want.reason = "DrainedByKubernetes";
	} else if (drain->status == COND_TRUE) {
		want.status = COND_TRUE;
		want.reason = "DrainedInSlurm";
		want.message = drain->message;
		want.changed = drain->changed;
	}
	want_condition(node, &want, now, m);
}

void mirror_to_node(const struct knode *node, const struct pod *pod, const char *cluster, usec_t now,
                    struct node_mirror *ret)
{
	const struct pair *labels = node->meta.labels;
	uint32_t n = node->meta.n_labels;
	const struct condition *drain = pod ? condition_get(pod->conditions, pod->n_conditions, CONDITION_DRAIN) : NULL;
	const char *nodeset = NULL, *part_of = NULL;

	*ret = (struct node_mirror) { 0 };
	if (pod) {
		nodeset = pair_get(pod->meta.labels, pod->meta.n_labels, LABEL_NODESET);
		part_of = pair_get(pod->meta.labels, pod->meta.n_labels, LABEL_CLUSTER);
		if (!part_of)
			part_of = pair_get(pod->meta.labels, pod->meta.n_labels, LABEL_PART_OF);
		if (!part_of)
			part_of = cluster;
	}
	want_pair(ret->labels, &ret->n_labels, labels, n, LABEL_NODESET, nodeset);
	want_pair(ret->labels, &ret->n_labels, labels, n, LABEL_NAMESPACE, pod ? pod->meta.ns : NULL);
	want_pair(ret->labels, &ret->n_labels, labels, n, LABEL_POD, pod ? pod->meta.name : NULL);
	want_pair(ret->labels, &ret->n_labels, labels, n, LABEL_CLUSTER, part_of);
	want_pair(ret->annotations, &ret->n_annotations, node->meta.annotations, node->meta.n_annotations,
	          ANNOTATION_NODE_DRAIN, drain && drain->status == COND_TRUE ? str_or(drain->message, "") : NULL);
	mirror_condition(node, pod, CONDITION_DRAIN, now, ret);
	mirror_condition(node, pod, CONDITION_RUNNING, now, ret);
	mirror_condition(node, pod, CONDITION_NOT_RESPONDING, now, ret);
	mirror_cordon(node, pod, now, ret);
}

void mirror_to_pod(const struct pod *pod, const struct knode *node, struct pod_mirror *ret)
{
	const char *why = NULL;

	*ret = (struct pod_mirror) { 0 };
	if (node->unschedulable)
		why = str_or(pair_get(node->meta.annotations, node->meta.n_annotations, ANNOTATION_CORDON_REASON), "");
	want_pair(ret->annotations, &ret->n_annotations, pod->meta.annotations, pod->meta.n_annotations,
	          ANNOTATION_CORDON, why);
}
