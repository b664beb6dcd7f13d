/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Kubelets: they start what is bound to their Node, end what is deleted, and tell of both; slow, or not at all.
 */
#include "tests/sim/world.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

static void pod_terminal(struct world *w, struct kpod *k, const char *reason)
{
	struct pod p = *k->pod;
	struct container_status status = { .name = "main", .terminated = true, .exit_code = k->exit_code };

	p.phase = k->exit_code || reason ? POD_FAILED : POD_SUCCEEDED;
	p.reason = reason;
	p.statuses = &status;
	p.n_statuses = 1;
	say(w, "Pod %s %s is %s", p.meta.name, p.meta.uid, p.phase == POD_FAILED ? "Failed" : "Succeeded");
	w->counts.finished++;
	pod_write(w, k, &p);
}

static void containers_end(struct world *w, struct ev *e)
{
	struct kpod *k = pod_by_number(w, e->a);

	if (!k || k->containers != CONTAINERS_RUN || (e->b && !k->stopping))
		return;
	k->containers = CONTAINERS_ENDED;
	if (k->nodeset)
		nodeset_ended(w, k);
	kubelet_look(w, k, span(w, USEC_MSEC, 10 * USEC_MSEC));
}

static bool admits(struct world *w, const struct kpod *k)
{
	uint32_t used = 0;

	for (size_t i = 0; i < w->api.n_pods; i++) {
		const struct kpod *o = w->api.pods[i];

		if (o != k && o->containers == CONTAINERS_RUN && str_eq(o->pod->node_name, k->pod->node_name))
			used += o->cpus;
	}
	return used + k->cpus <= w->node_cpus;
}

static void pod_begins(struct world *w, struct kpod *k)
{
	const struct condition scheduled = { .type = "PodScheduled",
		                             .status = COND_TRUE,
		                             .changed = clock_wall(&w->clock) };
	bool tolerated;
	struct pod p;

	if (!condition_get(k->pod->conditions, k->pod->n_conditions, "PodScheduled"))
		pod_set_condition(w, k, &scheduled); /* it was made with its Node */
	p = *k->pod;
	tolerated = !w->whole || pod_tolerates_node(&p, w->api.nodes[kube_node_number(w, p.node_name)].node);

	if (!tolerated || !admits(w, k)) {
		k->exit_code = 1;
		k->containers = CONTAINERS_ENDED;
		pod_terminal(w, k, tolerated ? "OutOfcpu" : "TaintToleration");
		return;
	}
	k->containers = CONTAINERS_RUN;
	w->look_at_locks = true;
	p.phase = POD_RUNNING;
	p.started = clock_wall(&w->clock);
	say(w, "Pod %s %s runs on %s", p.meta.name, p.meta.uid, p.node_name);
	pod_write(w, k, &p);
	if (k->nodeset)
		nodeset_made(w, k);
	if (k->run_for != USEC_NEVER)
		in(w, k->run_for, containers_end, k->number, 0, NULL);
}

static void kubelet_event(struct world *w, struct ev *e)
{
	struct kpod *k = pod_by_number(w, e->a);
	int node = k ? kube_node_number(w, k->pod->node_name) : -1;

	if (node < 0 || w->api.nodes[node].kubelet_dead)
		return;
	if (k->containers == CONTAINERS_ENDED && !pod_ended(k->pod)) {
		pod_terminal(w, k, NULL);
		kubelet_look(w, k, span(w, USEC_MSEC, 20 * USEC_MSEC));
	} else if (k->pod->meta.deletion && k->containers == CONTAINERS_RUN) {
		usec_t grace = k->pod->meta.deletion_grace_s * USEC_SEC;

		k->stopping = true; /* again when the grace has become shorter */
		in(w,
		   MIN_OF(k->stop_for, grace) +
		           (fault_hits(w, FAULT_KUBELET_SLOW, 300) ? span(w, 0, 90 * USEC_SEC) : 0),
		   containers_end, k->number, 1, NULL);
	} else if (k->pod->meta.deletion) {
		pod_delete(w, k, 0);
	} else if (k->containers == CONTAINERS_NONE && !pod_ended(k->pod)) {
		pod_begins(w, k);
	}
}

void kubelet_look(struct world *w, struct kpod *k, usec_t after)
{
	usec_t delay = span(w, 2 * USEC_MSEC, 300 * USEC_MSEC);

	if (fault_hits(w, FAULT_KUBELET_SLOW, 150))
		delay = span(w, USEC_SEC, 30 * USEC_SEC);
	in(w, after + delay, kubelet_event, k->number, 0, NULL);
}

void kubelet_returns(struct world *w, unsigned node)
{
	struct knode_state *n = &w->api.nodes[node];

	if (!n->kubelet_dead || w->now < n->dead_until)
		return;
	n->kubelet_dead = n->gone_dark = false;
	say(w, "kubelet of %s is back", n->node->meta.name);
	for (size_t i = 0; i < w->api.n_pods; i++)
		if ((w->whole || w->api.pods[i]->user_pod) &&
		    kube_node_number(w, w->api.pods[i]->pod->node_name) == (int)node)
			kubelet_look(w, w->api.pods[i], 0);
}
