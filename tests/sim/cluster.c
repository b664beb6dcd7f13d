/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rest of a Kubernetes cluster: ordinary Pods and the scheduler that places them (from a view that is old when the binding
 * arrives), the eviction of Pods by NoExecute taints, the Pods of slurmd with whoever makes them again, and people who meddle
 * with what we wrote.
 */
#include "tests/sim/world.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "policy/lock.h"
#include "policy/mirror.h"
#include "policy/nodeset.h"
#include "policy/undrain.h"

#define PLAIN_NAMES 6

/* ---- taints ---- */

bool pod_tolerates(const struct pod *p, const struct taint *t, const struct toleration **ret_by)
{
	for (uint32_t i = 0; i < p->n_tolerations; i++) {
		const struct toleration *o = &p->tolerations[i];

		if (o->effect != EFFECT_ANY && o->effect != t->effect)
			continue;
		if (str_empty(o->key)
		            ? o->op != TOLERATE_EXISTS
		            : !str_eq(o->key, t->key) || (o->op != TOLERATE_EXISTS && !str_eq(o->value, t->value)))
			continue;
		*ret_by = o;
		return true;
	}
	return false;
}

/* As the kubelet looks at it before it starts containers. */
bool pod_tolerates_node(const struct pod *p, const struct knode *n)
{
	const struct toleration *by;

	for (uint32_t i = 0; i < n->n_taints; i++)
		if (n->taints[i].effect == EFFECT_NO_EXECUTE && !pod_tolerates(p, &n->taints[i], &by))
			return false;
	return true;
}

static void evict(struct world *w, struct kpod *k)
{
	if (k->pod->meta.deletion || pod_ended(k->pod))
		return;
	if (k->user_pod && pod_note(k, ANNOTATION_JOB_ID))
		broken(w, "a lock evicts Pod %s, which is of the Pod Scheduler", k->pod->meta.name);
	say(w, "Pod %s is evicted from %s", k->pod->meta.name, k->pod->node_name);
	w->counts.evicted++;
	pod_disrupted(w, k, "DeletionByTaintManager");
	pod_delete(w, k, -1);
}

static void evict_later(struct world *w, struct ev *e)
{
	struct kpod *k = pod_by_number(w, e->a);
	int node = k ? kube_node_number(w, k->pod->node_name) : -1;

	if (node >= 0 && node_locked(w, (unsigned)node))
		evict(w, k);
}

static void look_at_taints(struct world *w, struct ev *e)
{
	const struct knode *n = w->api.nodes[e->a].node;

	for (size_t i = w->api.n_pods; i-- > 0;) {
		struct kpod *k = w->api.pods[i];
		const struct toleration *by = NULL;

		if (kube_node_number(w, k->pod->node_name) != (int)e->a)
			continue;
		for (uint32_t t = 0; t < n->n_taints; t++) {
			if (n->taints[t].effect != EFFECT_NO_EXECUTE)
				continue;
			if (!pod_tolerates(k->pod, &n->taints[t], &by)) {
				evict(w, k);
				break;
			}
			if (by->has_seconds)
				in(w, by->seconds * USEC_SEC, evict_later, k->number, 0, NULL);
		}
	}
}

void taints_look(struct world *w, unsigned node)
{
	if (!w->api.nodes[node].node->n_taints)
		return;
	in(w,
	   fault_hits(w, FAULT_KUBE_SLOW, 200) ? span(w, USEC_SEC, 20 * USEC_SEC)
	                                       : span(w, 5 * USEC_MSEC, 200 * USEC_MSEC),
	   look_at_taints, node, 0, NULL);
}

/* ---- ordinary Pods ---- */

static uint32_t requested_on(const struct world *w, unsigned node)
{
	uint32_t used = 0;

	for (size_t i = 0; i < w->api.n_pods; i++) {
		const struct kpod *k = w->api.pods[i];

		if (!pod_ended(k->pod) && kube_node_number(w, k->pod->node_name) == (int)node)
			used += k->cpus;
	}
	return used;
}

static bool may_place(const struct world *w, const struct kpod *k, unsigned i)
{
	const struct knode *n = w->api.nodes[i].node;
	const struct toleration *by;

	if (w->api.nodes[i].gone || n->unschedulable || requested_on(w, i) + k->cpus > w->node_cpus)
		return false;
	for (uint32_t t = 0; t < n->n_taints; t++)
		if (n->taints[t].effect != EFFECT_PREFER_NO_SCHEDULE && !pod_tolerates(k->pod, &n->taints[t], &by))
			return false;
	return true;
}

static void placed(struct world *w, struct ev *e)
{
	struct kpod *k = pod_by_number(w, e->a);
	struct pod p;

	if (!k || k->pod->node_name)
		return;
	p = *k->pod;
	p.node_name = w->api.nodes[e->b].node->meta.name;
	k->bound = w->now;
	say(w, "Pod %s is bound to %s by the default scheduler", p.meta.name, p.node_name);
	pod_write(w, k, &p);
	kubelet_look(w, k, 0);
	taints_look(w, (unsigned)e->b);
}

static void place(struct world *w, struct ev *e)
{
	struct kpod *k = pod_by_number(w, e->a);
	unsigned first = (unsigned)below(w, w->n_nodes);

	if (!k || k->pod->node_name)
		return;
	for (unsigned n = 0; n < w->n_nodes; n++) {
		unsigned i = (first + n) % w->n_nodes;

		if (!may_place(w, k, i))
			continue;
		in(w,
		   fault_hits(w, FAULT_KUBE_SLOW, 200) ? span(w, 10 * USEC_MSEC, 5 * USEC_SEC)
		                                       : span(w, USEC_MSEC, 50 * USEC_MSEC),
		   placed, k->number, i, NULL);
		return;
	}
	if (!w->calm) /* one that finds no room waits; later it does not matter any more */
		in(w, span(w, USEC_SEC, 10 * USEC_SEC), place, k->number, 0, NULL);
}

void plain_create(struct world *w)
{
	char name[32];
	uint32_t cpus = 1 + (uint32_t)below(w, w->node_cpus);
	struct amount requests[] = { { "cpu", (int64_t)cpus * 1000 } };
	struct container container = { .name = "main", .requests = requests, .n_requests = ARRAY_LEN(requests) };
	struct toleration toleration = { .key = TAINT_LOCK, .op = TOLERATE_EXISTS, .effect = EFFECT_NO_EXECUTE };
	struct pod p = { .phase = POD_PENDING,
		         .scheduler_name = "default-scheduler",
		         .containers = &container,
		         .n_containers = 1,
		         .has_grace = true,
		         .grace_s = 1 + (int64_t)below(w, 30) };
	struct kpod *k;

	snprintf(name, sizeof(name), "q%u", (unsigned)below(w, PLAIN_NAMES));
	if (pod_by_name(w, SIM_NS, name))
		return;
	p.meta.ns = SIM_NS;
	p.meta.name = name;
	if (chance(w, 250)) {
		p.tolerations = &toleration;
		p.n_tolerations = 1;
		if (chance(w, 500)) {
			toleration.has_seconds = true;
			toleration.seconds = (int64_t)below(w, 30);
		}
	}
	k = pod_create(w, &p);
	k->plain = true;
	k->cpus = cpus;
	k->run_for = chance(w, 500) ? USEC_NEVER : span(w, 100 * USEC_MSEC, 3 * USEC_MINUTE);
	k->stop_for = chance(w, 200) ? USEC_HOUR : span(w, 0, 5 * USEC_SEC);
	w->counts.plain++;
	say(w, "user creates ordinary Pod %s with %u CPUs%s", name, cpus,
	    p.n_tolerations ? ", tolerating the lock" : "");
	in(w, span(w, USEC_MSEC, 100 * USEC_MSEC), place, k->number, 0, NULL);
}

void plain_delete(struct world *w)
{
	struct kpod *found = NULL;
	uint64_t n = 0;

	for (size_t i = 0; i < w->api.n_pods; i++)
		if (w->api.pods[i]->plain && below(w, ++n) == 0)
			found = w->api.pods[i];
	if (found)
		pod_delete(w, found, -1);
}

/* ---- Pods of slurmd ---- */

struct kpod *nodeset_pod(struct world *w, unsigned node)
{
	for (size_t i = 0; i < w->api.n_pods; i++)
		if (w->api.pods[i]->nodeset == 1 + (int)node)
			return w->api.pods[i];
	return NULL;
}

static void set_ready(struct world *w, struct kpod *k, bool ready)
{
	say(w, "Pod %s is %sready", k->pod->meta.name, ready ? "" : "not ");
	pod_set_condition(w, k,
	                  &(struct condition) { .type = "Ready",
	                                        .status = ready ? COND_TRUE : COND_FALSE,
	                                        .changed = clock_wall(&w->clock) });
}

static void ready_again(struct world *w, struct ev *e)
{
	struct kpod *k = pod_by_number(w, e->a);

	if (k && k->containers == CONTAINERS_RUN)
		set_ready(w, k, true);
}

void nodeset_made(struct world *w, struct kpod *k)
{
	slurmd_back(w, (unsigned)k->nodeset - 1);
	in(w, span(w, 100 * USEC_MSEC, 3 * USEC_SEC), ready_again, k->number, 0, NULL);
}

void nodeset_ended(struct world *w, struct kpod *k)
{
	slurmd_gone(w, (unsigned)k->nodeset - 1);
}

void nodeset_gone(struct world *w, unsigned node, bool ran)
{
	if (ran)
		slurmd_gone(w, node);
	if (fault_hits(w, FAULT_NODESET, 150)) /* nobody may make it again for a while */
		w->api.nodes[node].refused_until = w->now + span(w, 0, 10 * USEC_MINUTE);
}

void nodeset_disturb(struct world *w)
{
	struct kpod *k = nodeset_pod(w, (unsigned)below(w, w->n_nodes));

	if (chance(w, 400)) {
		nodeset_edited(w);
		return;
	}
	if (!k || k->pod->meta.deletion || k->containers != CONTAINERS_RUN)
		return;
	if (chance(w, 700)) {
		set_ready(w, k, false);
		in(w, span(w, USEC_SEC, 60 * USEC_SEC), ready_again, k->number, 0, NULL);
		return;
	}
	say(w, "someone deletes Pod %s of slurmd", k->pod->meta.name);
	k->stop_for = span(w, 0, 3 * USEC_SEC);
	pod_delete(w, k, fault_hits(w, FAULT_FORCE, 300) ? 0 : -1);
}

/* Whoever looks after nodes that ask for it: finds them good. */
static void verify(struct world *w, struct ev *e)
{
	for (unsigned i = 0; i < w->n_nodes; i++) {
		struct kpod *k = nodeset_pod(w, i);

		if (!k || !w->ctld.nodes[i].drained || !strstr(w->ctld.nodes[i].reason, VERIFY_UNDRAIN))
			continue;
		say(w, "node n%u is verified", i);
		w->ctld.nodes[i].verified = w->now;
		pod_set_condition(w, k,
		                  &(struct condition) { .type = CONDITION_VERIFIED,
		                                        .status = COND_TRUE,
		                                        .changed = clock_wall(&w->clock) });
	}
	in(w, span(w, 5 * USEC_SEC, 60 * USEC_SEC), verify, e->a, 0, NULL);
}

/* ---- people who meddle ---- */

static void drop_pair(struct meta *m, const char *key, struct pair list[16])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->n_annotations && n < 16; i++)
		if (!str_eq(m->annotations[i].key, key))
			list[n++] = m->annotations[i];
	m->annotations = list;
	m->n_annotations = n;
}

void admin_meddles(struct world *w)
{
	static const char *const keys[] = { LOCK_ANNOTATION, LOCK_FOR_ANNOTATION, ANNOTATION_NODE_DRAIN };
	unsigned i = (unsigned)below(w, w->n_nodes);
	struct knode n = *w->api.nodes[i].node;
	struct taint taints[8];
	struct pair list[16];
	uint32_t kept = 0;

	if (chance(w, 500)) {
		for (uint32_t t = 0; t < n.n_taints && kept < ARRAY_LEN(taints); t++)
			if (!str_eq(n.taints[t].key, TAINT_LOCK))
				taints[kept++] = n.taints[t];
		n.taints = taints;
		n.n_taints = kept;
	} else {
		drop_pair(&n.meta, keys[below(w, ARRAY_LEN(keys))], list);
	}
	say(w, "someone takes a lock or a note off Node k%u", i);
	w->api.nodes[i].meddled = w->now;
	node_write(w, i, &n);
}

/* ---- */

void cluster_init(struct world *w)
{
	if (w->whole)
		in(w, span(w, 5 * USEC_SEC, 60 * USEC_SEC), verify, 0, 0, NULL);
}

void cluster_calm(struct world *w)
{
	if (!w->whole)
		return;
	nodeset_calm(w);
	for (size_t i = w->api.n_pods; i-- > 0;) {
		struct kpod *k = w->api.pods[i];

		if (k->plain && k->run_for == USEC_NEVER && !k->pod->meta.deletion)
			pod_delete(w, k, -1);
	}
}
