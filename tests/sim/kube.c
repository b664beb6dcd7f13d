/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A model Kubernetes: the truth. A process sees it through its watches (watch.c), late, and changes it through requests that may
 * fail before their effect or after it (request.c).
 */
#include "tests/sim/world.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "model/volume.h"
#include "policy/nodeset_plan.h"
#include "policy/placeholder.h"
#include "policy/rules.h"

#define TAINT_CORDON "node.kubernetes.io/unschedulable"
#define TAINTS_MAX 16

/* ---- the truth ---- */

bool pod_ended(const struct pod *p)
{
	return p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
}

struct kpod *pod_by_uid(struct world *w, const char *uid)
{
	for (size_t i = 0; i < w->api.n_pods; i++)
		if (str_eq(w->api.pods[i]->pod->meta.uid, uid))
			return w->api.pods[i];
	return NULL;
}

struct kpod *pod_by_number(struct world *w, uint64_t number)
{
	for (size_t i = 0; i < w->api.n_pods; i++)
		if (w->api.pods[i]->number == number)
			return w->api.pods[i];
	return NULL;
}

struct kpod *pod_by_name(struct world *w, const char *ns, const char *name)
{
	for (size_t i = 0; i < w->api.n_pods; i++) {
		const struct meta *m = &w->api.pods[i]->pod->meta;

		if (str_eq(m->ns, ns) && str_eq(m->name, name))
			return w->api.pods[i];
	}
	return NULL;
}

int kube_node_number(const struct world *w, const char *name)
{
	for (unsigned i = 0; name && i < w->n_nodes; i++)
		if (str_eq(w->api.nodes[i].node->meta.name, name))
			return (int)i;
	return -1;
}

/* ---- writing the truth ---- */

struct version *versioned(struct world *w, enum kube_kind kind, const struct meta *object, bool removed)
{
	struct version *v;
	char rv[24];
	union {
		struct meta meta;
		struct pod pod;
		struct knode node;
		struct nodeset set;
		struct nodeslice slice;
		struct pvc claim;
		struct pv volume;
		struct storage_class class;
	} copy;

	snprintf(rv, sizeof(rv), "%llu", (unsigned long long)++w->api.rv);
	memcpy(&copy, object, object_size(kind));
	copy.meta.resource_version = rv;
	v = version_new(kind, &copy, removed);
	return v;
}

void pod_write(struct world *w, struct kpod *k, const struct pod *pod)
{
	struct version *v = versioned(w, KUBE_PODS, &pod->meta, false);

	const struct condition *live =
	        k->user_pod ? condition_get(pod->conditions, pod->n_conditions, CONDITION_JOB_LIVE) : NULL;

	if (!live || live->status != COND_FALSE)
		k->not_live_since = 0;
	else if (!k->not_live_since)
		k->not_live_since = w->now;
	version_unref(k->v);
	k->v = v;
	k->pod = v->object;
	notify(w, v);
}

struct kpod *pod_create(struct world *w, const struct pod *pod)
{
	struct kpod *k = NEW(struct kpod);
	struct pod p = *pod;
	struct condition gated = { .type = "PodScheduled", .status = COND_FALSE, .reason = "SchedulingGated" };
	char uid[32];

	if (p.n_gates && !p.n_conditions) { /* the API server says so itself */
		gated.changed = clock_wall(&w->clock);
		p.conditions = &gated;
		p.n_conditions = 1;
	}
	k->number = ++w->api.uids;
	snprintf(uid, sizeof(uid), "u%llu", (unsigned long long)k->number);
	p.meta.uid = uid;
	p.meta.created = clock_wall(&w->clock);
	if (w->api.n_pods == w->api.size_pods) {
		w->api.size_pods = w->api.size_pods ? 2 * w->api.size_pods : 32;
		w->api.pods = mem_realloc_n(w->api.pods, w->api.size_pods, sizeof(*w->api.pods));
	}
	w->api.pods[w->api.n_pods++] = k;
	pod_write(w, k, &p);
	return k;
}

void pod_vanishes(struct world *w, struct kpod *k)
{
	struct version *v = versioned(w, KUBE_PODS, &k->pod->meta, true);
	int nodeset = k->nodeset;
	bool ran = k->containers == CONTAINERS_RUN;

	say(w, "Pod %s %s is gone", k->pod->meta.name, k->pod->meta.uid);
	notify(w, v);
	version_unref(v);
	version_unref(k->v);
	for (size_t i = 0; i < w->api.n_pods; i++)
		if (w->api.pods[i] == k) {
			memmove(&w->api.pods[i], &w->api.pods[i + 1], (w->api.n_pods - i - 1) * sizeof(struct kpod *));
			w->api.n_pods--;
			break;
		}
	free(k);
	if (nodeset)
		nodeset_gone(w, (unsigned)nodeset - 1, ran);
}

/* As the API server does it: whoever looks sees the deletion first, also of what is gone at once. */
void pod_delete(struct world *w, struct kpod *k, int64_t grace_s)
{
	struct pod p = *k->pod;
	bool asked = grace_s >= 0;

	if (!asked)
		grace_s = p.grace_s;
	if (!p.node_name || pod_ended(&p))
		grace_s = 0; /* there is no kubelet to be asked */
	if (p.meta.deletion && (grace_s >= p.meta.deletion_grace_s || (!asked && grace_s)))
		return; /* it can only become sooner */
	p.meta.deletion = clock_wall(&w->clock) + grace_s * USEC_SEC;
	p.meta.deletion_grace_s = grace_s;
	pod_write(w, k, &p);
	if (!pod_let_go(w, k))
		kubelet_look(w, k, 0);
}

bool pod_let_go(struct world *w, struct kpod *k)
{
	const struct meta *m = &k->pod->meta;

	if (!m->deletion || m->deletion_grace_s || m->n_finalizers)
		return false;
	pod_vanishes(w, k);
	return true;
}

const char *pod_note(const struct kpod *k, const char *key)
{
	return pair_get(k->pod->meta.annotations, k->pod->meta.n_annotations, key);
}

bool node_locked(const struct world *w, unsigned node)
{
	const struct knode *n = w->api.nodes[node].node;

	for (uint32_t i = 0; i < n->n_taints; i++)
		if (str_eq(n->taints[i].key, TAINT_LOCK) && n->taints[i].effect == EFFECT_NO_EXECUTE)
			return true;
	return false;
}

/* The node lifecycle controller: a cordon is also a taint, a moment later. */
static bool has_cordon_taint(const struct knode *n)
{
	for (uint32_t i = 0; i < n->n_taints; i++)
		if (str_eq(n->taints[i].key, TAINT_CORDON))
			return true;
	return false;
}

static void cordon_taints(struct world *w, struct ev *e)
{
	struct knode n = *w->api.nodes[e->a].node;
	struct taint taints[TAINTS_MAX];
	uint32_t kept = 0;

	if (has_cordon_taint(&n) == n.unschedulable)
		return;
	for (uint32_t i = 0; i < n.n_taints && kept < TAINTS_MAX - 1; i++)
		if (!str_eq(n.taints[i].key, TAINT_CORDON))
			taints[kept++] = n.taints[i];
	if (n.unschedulable)
		taints[kept++] = (struct taint) { .key = TAINT_CORDON, .effect = EFFECT_NO_SCHEDULE };
	n.taints = taints;
	n.n_taints = kept;
	node_write(w, (unsigned)e->a, &n);
}

void node_write(struct world *w, unsigned i, const struct knode *node)
{
	struct version *v;
	bool was_locked = w->api.nodes[i].node && node_locked(w, i);

	if (w->api.nodes[i].gone)
		return;
	v = versioned(w, KUBE_NODES, &node->meta, false);
	version_unref(w->api.nodes[i].v);
	w->api.nodes[i].v = v;
	w->api.nodes[i].node = v->object;
	if (!was_locked && node_locked(w, i))
		w->api.nodes[i].locked_since = w->now;
	w->look_at_locks = true;
	notify(w, v);
	if (w->whole && node->n_taints)
		taints_look(w, i);
	if (has_cordon_taint(w->api.nodes[i].node) != w->api.nodes[i].node->unschedulable)
		in(w, span(w, 5 * USEC_MSEC, 200 * USEC_MSEC), cordon_taints, i, 0, NULL);
}

/* ---- */

void kube_init(struct world *w)
{
	char revision[REVISION_MAX];

	nodeset_init(w);
	nodeset_revision(w->api.nodeset, revision);
	for (unsigned i = 0; i < w->n_nodes; i++) {
		char name[16], pod_name[16];
		const struct meta *set = &w->api.nodeset->meta;
		struct owner owner = { "NodeSet", set->name, set->uid, true };
		struct pair labels[] = { { LABEL_NODESET, set->name }, { LABEL_REVISION, revision } };
		struct toleration anything = { .op = TOLERATE_EXISTS };
		struct condition ready = { .type = "Ready", .status = COND_TRUE, .changed = clock_wall(&w->clock) };
		struct pod pod = { .phase = POD_RUNNING,
			           .scheduler_name = "default-scheduler",
			           .tolerations = &anything,
			           .n_tolerations = 1,
			           .conditions = &ready,
			           .n_conditions = 1,
			           .has_grace = true,
			           .grace_s = 5 };
		struct kpod *k;

		snprintf(name, sizeof(name), "k%u", i);
		snprintf(pod_name, sizeof(pod_name), "n%u", i);
		node_registers(w, i);
		pod.meta.ns = SIM_SYSTEM_NS;
		pod.meta.name = pod_name;
		pod.meta.labels = labels;
		pod.meta.n_labels = ARRAY_LEN(labels);
		pod.meta.owners = &owner;
		pod.meta.n_owners = 1;
		pod.node_name = name;
		k = pod_create(w, &pod);
		k->containers = CONTAINERS_RUN;
		k->run_for = USEC_NEVER;
		k->nodeset = 1 + (int)i;
	}
	storage_init(w);
}

void kube_done_all(struct world *w)
{
	for (size_t i = 0; i < w->api.n_pods; i++) {
		version_unref(w->api.pods[i]->v);
		free(w->api.pods[i]);
	}
	free(w->api.pods);
	for (unsigned i = 0; i < w->n_nodes; i++)
		version_unref(w->api.nodes[i].v);
	nodeset_done(w);
	storage_done(w);
}
