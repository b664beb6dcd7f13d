/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A NodeSet in the model, its NodeSlices and its Pods as the operator makes them; people who scale it, change its template and take
 * Nodes away from it; and what must hold: one Pod on a Node, no Pod is deleted under a job, a name is in one slice and stays there.
 */
#include "tests/sim/world.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "policy/nodeset_plan.h"

#define LABEL_HERE "sim/slurm"
#define LABEL_NAME "sim/name"
#define MAX_UNAVAILABLE 1
#define EDIT_SHOWS USEC_MINUTE
#define SLOW                                                                                                           \
	(1u << FAULT_WATCH_SLOW | 1u << FAULT_WATCH_DROP | 1u << FAULT_PARTITION | 1u << FAULT_CRASH | 1u << FAULT_LATE)

/* ---- the truth ---- */

static void set_write(struct world *w, const struct nodeset *set)
{
	struct version *v = versioned(w, KUBE_NODESETS, &set->meta, false);

	version_unref(w->api.set);
	w->api.set = v;
	w->api.nodeset = v->object;
	notify(w, v);
}

static int slice_number(const struct world *w, const char *name)
{
	for (unsigned i = 0; i < w->api.n_slices; i++)
		if (str_eq(((const struct meta *)w->api.slices[i]->object)->name, name))
			return (int)i;
	return -1;
}

static void slice_write(struct world *w, unsigned i, const struct nodeslice *slice)
{
	struct version *v = versioned(w, KUBE_NODESLICES, &slice->meta, false);

	version_unref(w->api.slices[i]);
	w->api.slices[i] = v;
	notify(w, v);
}

static const struct nodeslice *slice_of(const struct world *w, unsigned i)
{
	return w->api.slices[i]->object;
}

/* ---- what must hold ---- */

static bool slice_lists(const struct nodeslice *s, const char *name)
{
	for (uint32_t i = 0; i < s->n_nodes; i++)
		if (str_eq(s->nodes[i], name))
			return true;
	return false;
}

/* slice `number` is to be as `to`; one that is new has the number n_slices */
static void check_slice(struct world *w, unsigned number, const struct nodeslice *to)
{
	for (uint32_t i = 0; i < to->n_nodes; i++) {
		for (uint32_t k = 0; k < i; k++)
			if (str_eq(to->nodes[i], to->nodes[k]))
				broken(w, "NodeSlice %s lists %s twice", to->meta.name, to->nodes[i]);
		for (unsigned s = 0; s < w->api.n_slices; s++)
			if (s != number && slice_lists(slice_of(w, s), to->nodes[i]))
				broken(w, "%s is in the NodeSlices %s and %s", to->nodes[i], to->meta.name,
				       slice_of(w, s)->meta.name);
	}
}

static void check_one_pod(struct world *w, int nodeset)
{
	unsigned n = 0;

	for (size_t i = 0; i < w->api.n_pods; i++)
		n += w->api.pods[i]->nodeset == nodeset && !pod_ended(w->api.pods[i]->pod);
	if (n > 1)
		broken(w, "k%d has %u Pods of the NodeSet", nodeset - 1, n);
}

/* The operator deletes it: no job is past its prolog there, and none gets past it any more (nodeset_check_start). */
void nodeset_check_remove(struct world *w, struct kpod *k)
{
	const struct sjob *j = node_job(w, (unsigned)k->nodeset - 1);

	w->counts.nodeset_deletes++;
	k->given_up = true;
	if (j && j->procs && k->containers == CONTAINERS_RUN)
		broken(w, "the operator deletes Pod %s, whose node runs job %u", k->pod->meta.name, j->id);
}

void nodeset_check_start(struct world *w, const struct sjob *j)
{
	const struct kpod *k = nodeset_pod(w, (unsigned)j->node);

	if (k && k->given_up)
		broken(w, "job %u starts in Pod %s, which the operator has deleted", j->id, k->pod->meta.name);
}

static bool is_labelled(const struct world *w, unsigned i)
{
	const struct meta *m = &w->api.nodes[i].node->meta;

	return !w->api.nodes[i].gone && pair_get(m->labels, m->n_labels, LABEL_HERE) != NULL;
}

/* … and has wanted so for long enough that the operator must know. */
static bool wants_all(const struct world *w)
{
	const struct nodeset *s = w->api.nodeset;

	return (!s->has_replicas || s->replicas >= (int32_t)w->n_nodes) &&
	       s->status.observed_generation == s->meta.generation &&
	       (!w->api.nodes_edited || w->now - w->api.nodes_edited > (w->faults & SLOW ? EDIT_SHOWS : 10 * USEC_SEC));
}

/* The operator marks it: of those that it takes away for an update while they are ready, there are no more than it may. Who leads next may
 * not know of a mark that is still on its way. */
void nodeset_check_mark(struct world *w, struct kpod *k, uint64_t life)
{
	const char *why = pod_note(k, ANNOTATION_PENDING_DELETION);
	unsigned n = 0;

	k->updated_by = str_eq(why, "updated") && (k->updated_by || pod_is_ready(k->pod)) ? life : 0;
	for (size_t i = 0; k->updated_by && i < w->api.n_pods; i++)
		n += w->api.pods[i]->updated_by == life && is_labelled(w, (unsigned)w->api.pods[i]->nodeset - 1);
	if (n > MAX_UNAVAILABLE && wants_all(w))
		broken(w, "%u Pods are taken away at once for an update", n);
}

/* Its slurmd runs, and slurmctld is told to forget it. */
void nodeset_check_delete(struct world *w, unsigned node)
{
	const struct kpod *k = nodeset_pod(w, node);

	if (node_job(w, node))
		broken(w, "the syncer deletes n%u, which runs a job", node);
	else if (k && k->containers == CONTAINERS_RUN && !k->pod->meta.deletion && pod_is_ready(k->pod) &&
	         clock_wall(&w->clock) - k->pod->meta.created > 2 * USEC_SEC) /* else it was sent before */
		broken(w, "the syncer deletes n%u, whose Pod is ready", node);
}

/* It is to go, and waits for a job: for ever, when that one runs for ever. */
bool nodeset_waits(struct world *w, unsigned i)
{
	const struct kpod *k = nodeset_pod(w, i);
	const struct sjob *j = node_job(w, i);

	return k && pod_note(k, ANNOTATION_PENDING_DELETION) && j && j->procs;
}

bool nodeset_waits_anywhere(struct world *w)
{
	for (unsigned i = 0; w->whole && i < w->n_nodes; i++)
		if (nodeset_waits(w, i))
			return true;
	return false;
}

const char *nodeset_unrest(struct world *w)
{
	const struct nodeset *set = w->api.nodeset;
	const struct condition *ready = condition_get(set->conditions, set->n_conditions, "Ready");
	unsigned n = 0;

	for (unsigned i = 0; i < w->api.n_slices; i++)
		n += slice_of(w, i)->n_nodes;
	if (n != w->n_nodes)
		return "the NodeSlices do not list all nodes";
	if (nodeset_waits_anywhere(w))
		return ready && str_eq(ready->reason, "WaitingForJobs")
		               ? NULL
		               : "the NodeSet does not say that it waits for jobs";
	if (set->status.ready != (int32_t)w->n_nodes || set->status.desired != (int32_t)w->n_nodes)
		return "the NodeSet does not say that all Pods are ready";
	if (set->status.updated != (int32_t)w->n_nodes)
		return "not all Pods are of the template as it is now";
	return NULL;
}

/* ---- requests ---- */

static void bound_to_pin(struct world *w, struct ev *e)
{
	struct kpod *k = pod_by_number(w, e->a);
	struct pod p;

	if (!k || k->pod->node_name)
		return;
	p = *k->pod;
	p.node_name = w->api.nodes[k->nodeset - 1].node->meta.name;
	k->bound = w->now;
	pod_write(w, k, &p);
	kubelet_look(w, k, 0);
}

enum kube_outcome nodeset_make_pod(struct world *w, const struct pod *pod)
{
	struct kpod *k;
	int node = kube_node_number(w, nodeset_pod_node(pod));

	if (pod_by_name(w, pod->meta.ns, pod->meta.name))
		return KUBE_EXISTS;
	if (node < 0)
		return KUBE_REFUSED;
	if (!w->calm && w->now < w->api.nodes[node].refused_until)
		return KUBE_FORBIDDEN; /* a quota, as an administrator would say */
	k = pod_create(w, pod);
	k->run_for = USEC_NEVER;
	k->nodeset = 1 + node;
	say(w, "Pod %s %s of slurmd is made for k%d", pod->meta.name, k->pod->meta.uid, node);
	check_one_pod(w, k->nodeset);
	in(w, span(w, USEC_MSEC, 300 * USEC_MSEC), bound_to_pin, k->number, 0, NULL);
	return KUBE_OK;
}

enum kube_outcome nodeset_make_slice(struct world *w, const struct nodeslice *slice)
{
	struct nodeslice s = *slice;
	char uid[32];

	if (slice_number(w, slice->meta.name) >= 0)
		return KUBE_EXISTS;
	if (w->api.n_slices == SIM_SLICES_MAX) {
		broken(w, "there are more than %d NodeSlices", SIM_SLICES_MAX);
		return KUBE_REFUSED;
	}
	check_slice(w, w->api.n_slices, slice);
	snprintf(uid, sizeof(uid), "u%llu", (unsigned long long)++w->api.uids);
	s.meta.uid = uid;
	w->api.slices[w->api.n_slices] = NULL;
	slice_write(w, w->api.n_slices++, &s);
	return KUBE_OK;
}

/* NULL: it is not there. */
const struct meta *nodeset_object(const struct world *w, enum kube_kind kind, const char *name)
{
	int i = kind == KUBE_NODESLICES ? slice_number(w, name) : -1;

	if (kind == KUBE_NODESETS)
		return str_eq(w->api.nodeset->meta.name, name) ? &w->api.nodeset->meta : NULL;
	return i < 0 ? NULL : w->api.slices[i]->object;
}

void nodeset_change_slice(struct world *w, const char *name, const struct nodeslice *patch)
{
	int i = slice_number(w, name);
	struct nodeslice s = *slice_of(w, (unsigned)i);
	bool same = s.n_nodes == patch->n_nodes;

	for (uint32_t n = 0; same && n < s.n_nodes; n++)
		same = slice_lists(patch, s.nodes[n]);
	if (same)
		w->counts.vain_writes++;
	s.nodes = patch->nodes;
	s.n_nodes = patch->n_nodes;
	check_slice(w, (unsigned)i, &s);
	slice_write(w, (unsigned)i, &s);
}

void nodeset_remove_slice(struct world *w, const char *name)
{
	unsigned i = (unsigned)slice_number(w, name);
	struct version *v = versioned(w, KUBE_NODESLICES, &slice_of(w, i)->meta, true);

	notify(w, v);
	version_unref(v);
	version_unref(w->api.slices[i]);
	w->api.slices[i] = w->api.slices[--w->api.n_slices];
}

void nodeset_change_set(struct world *w, const struct nodeset *patch, bool finalizers, bool status)
{
	struct nodeset s = *w->api.nodeset;

	if (finalizers) {
		s.meta.finalizers = patch->meta.finalizers;
		s.meta.n_finalizers = patch->meta.n_finalizers;
	}
	if (status) {
		s.status = patch->status;
		s.conditions = patch->conditions;
		s.n_conditions = patch->n_conditions;
	}
	set_write(w, &s);
}

/* ---- people ---- */

static void scale(struct world *w, struct nodeset *s)
{
	s->has_replicas = chance(w, 800);
	s->replicas = (int32_t)below(w, w->n_nodes + 1);
	say(w, "the NodeSet is scaled to %d", s->has_replicas ? s->replicas : (int)w->n_nodes);
}

static void roll(struct world *w, struct nodeset *s, char template[32])
{
	snprintf(template, 32, "{\"version\":%llu}", (unsigned long long)s->meta.generation + 1);
	s->template_json = template;
	say(w, "the NodeSet's template is %s", template);
}

static void node_labelled(struct world *w, unsigned i, bool here)
{
	struct knode n = *w->api.nodes[i].node;
	struct pair labels[16];
	uint32_t kept = 0;

	for (uint32_t k = 0; k < n.meta.n_labels && kept < ARRAY_LEN(labels) - 1; k++)
		if (!str_eq(n.meta.labels[k].key, LABEL_HERE))
			labels[kept++] = n.meta.labels[k];
	if (here)
		labels[kept++] = (struct pair) { LABEL_HERE, "yes" };
	n.meta.labels = labels;
	n.meta.n_labels = kept;
	say(w, "k%u is %s the NodeSet", i, here ? "for" : "not for");
	w->api.nodes_edited = w->now;
	node_write(w, i, &n);
}

/* ---- Nodes come and go ---- */

void node_registers(struct world *w, unsigned i)
{
	char name[16], uid[24], pod_name[16];
	struct pair labels[] = { { LABEL_HERE, "yes" }, { LABEL_NAME, pod_name }, { "kubernetes.io/hostname", name } };
	struct amount allocatable[] = { { "cpu", (int64_t)w->node_cpus * 1000 },
		                        { "memory", (INT64_C(64) << 30) * 1000 },
		                        { "pods", 110 * 1000 } };
	struct knode node = { .meta = { .name = name, .uid = uid, .labels = labels, .n_labels = ARRAY_LEN(labels) },
		              .allocatable = allocatable,
		              .n_allocatable = ARRAY_LEN(allocatable) };

	snprintf(name, sizeof(name), "k%u", i);
	snprintf(uid, sizeof(uid), "k%u-%u", i, w->api.nodes[i].times++);
	snprintf(pod_name, sizeof(pod_name), "n%u", i);
	w->api.nodes[i].gone = false;
	node_write(w, i, &node);
}

static void node_returns(struct world *w, struct ev *e)
{
	struct knode_state *n = &w->api.nodes[e->a];

	if (!n->gone || n->times != e->b)
		return;
	say(w, "Node k%u registers again", (unsigned)e->a);
	n->meddled = w->api.nodes_edited = w->now; /* its lock is to be put back */
	node_registers(w, (unsigned)e->a);
}

/* Kubernetes deletes Pods of Nodes that it does not have, whatever runs there. */
static void pods_collected(struct world *w, struct ev *e)
{
	if (!w->api.nodes[e->a].gone || w->api.nodes[e->a].times != e->b)
		return;
	for (size_t i = w->api.n_pods; i-- > 0;)
		if (i < w->api.n_pods && kube_node_number(w, w->api.pods[i]->pod->node_name) == (int)e->a)
			pod_collect(w, w->api.pods[i]);
}

static void node_lost(struct world *w, unsigned i)
{
	struct knode_state *n = &w->api.nodes[i];
	struct knode bare = *n->node;
	struct version *v;

	if (n->gone)
		return;
	say(w, "Node k%u is deleted", i);
	w->counts.node_losses++;
	w->api.nodes_edited = w->now;
	bare.n_taints = 0;
	bare.unschedulable = false;
	node_write(w, i, &bare);
	n->gone = true;
	v = versioned(w, KUBE_NODES, &n->node->meta, true);
	notify(w, v);
	version_unref(v);
	in(w, span(w, USEC_SEC, 5 * USEC_MINUTE), node_returns, i, n->times, NULL);
	in(w, span(w, 40 * USEC_SEC, 80 * USEC_SEC), pods_collected, i, n->times, NULL);
}

void nodeset_edited(struct world *w)
{
	struct nodeset s = *w->api.nodeset;
	unsigned i = (unsigned)below(w, w->n_nodes);
	char template[32];

	if (chance(w, 100)) {
		node_lost(w, i);
		return;
	}
	if (chance(w, 300)) {
		node_labelled(w, i, !is_labelled(w, i));
		return;
	}
	if (chance(w, 600))
		scale(w, &s);
	else
		roll(w, &s, template);
	s.meta.generation++;
	set_write(w, &s);
}

void nodeset_calm(struct world *w)
{
	struct nodeset s = *w->api.nodeset;

	for (unsigned i = 0; i < w->n_nodes; i++) {
		in(w, 0, node_returns, i, w->api.nodes[i].times, NULL);
		if (!w->api.nodes[i].gone && !is_labelled(w, i))
			node_labelled(w, i, true);
	}
	s.has_replicas = false;
	s.meta.generation++;
	set_write(w, &s);
}

/* ---- */

void nodeset_init(struct world *w)
{
	struct pair selector = { LABEL_HERE, "yes" };
	struct toleration anything = { .op = TOLERATE_EXISTS };
	struct nodeset s = { .meta = { .ns = SIM_SYSTEM_NS, .name = "all", .uid = "s1", .generation = 1 },
		             .name_label = LABEL_NAME,
		             .select = { .node_selector = &selector,
		                         .n_node_selector = 1,
		                         .tolerations = &anything,
		                         .n_tolerations = 1 },
		             .template_json = "{\"version\":1}",
		             .update = UPDATE_ROLLING,
		             .has_update = true,
		             .max_unavailable = "1" };

	set_write(w, &s);
}

void nodeset_done(struct world *w)
{
	version_unref(w->api.set);
	for (unsigned i = 0; i < w->api.n_slices; i++)
		version_unref(w->api.slices[i]);
}
