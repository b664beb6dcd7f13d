/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Users of Kubernetes and of Slurm, administrators, and what breaks by itself: one of them does something every now and then.
 */
#include "tests/sim/world.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "policy/rules.h"

#define MIB_MILLI ((INT64_C(1) << 20) * 1000)

static struct kpod *any_pod(struct world *w, bool bound)
{
	struct kpod *found = NULL;
	uint64_t n = 0;

	for (size_t i = 0; i < w->api.n_pods; i++)
		if (w->api.pods[i]->user_pod && (!bound || w->api.pods[i]->pod->node_name) && below(w, ++n) == 0)
			found = w->api.pods[i];
	return found;
}

static struct sjob *any_job(struct world *w, bool running)
{
	struct sjob *found = NULL;
	uint64_t n = 0;

	for (size_t i = 0; i < w->ctld.n_jobs; i++)
		if (job_alive(w->ctld.jobs[i]) && (!running || w->ctld.jobs[i]->state == JOB_RUNNING) &&
		    below(w, ++n) == 0)
			found = w->ctld.jobs[i];
	return found;
}

/* ---- users of Kubernetes ---- */

static void create_pod(struct world *w)
{
	char name[32];
	uint32_t cpus = chance(w, 20) ? w->node_cpus + 1 : 1 + (uint32_t)below(w, w->node_cpus);
	struct amount requests[] = { { "cpu", (int64_t)cpus * 1000 - (chance(w, 200) ? 500 : 0) },
		                     { "memory", 64 * MIB_MILLI } };
	struct container container = { .name = "main", .requests = requests, .n_requests = ARRAY_LEN(requests) };
	struct pair annotations[4];
	struct volume_claim claims[2];
	char claim_names[2][16];
	const char *gate = "someone/waits";
	struct pod p = { .phase = POD_PENDING,
		         .scheduler_name = SIM_SCHEDULER,
		         .containers = &container,
		         .n_containers = 1,
		         .has_grace = true,
		         .grace_s = chance(w, 30) ? 30 : 1 + (int64_t)below(w, 24) };
	struct kpod *k;

	snprintf(name, sizeof(name), "p%u", (unsigned)below(w, w->n_names));
	if (pod_by_name(w, SIM_NS, name))
		return;
	p.meta.ns = SIM_NS;
	p.meta.name = name;
	p.meta.annotations = annotations;
	if (chance(w, 300))
		annotations[p.meta.n_annotations++] =
		        (struct pair) { ANNOTATION_PREFIX "partition", chance(w, 700) ? "low" : "high" };
	else if (chance(w, 20))
		annotations[p.meta.n_annotations++] = (struct pair) { ANNOTATION_PREFIX "partition", "nowhere" };
	if (chance(w, 100))
		annotations[p.meta.n_annotations++] =
		        (struct pair) { ANNOTATION_PREFIX "timeout", chance(w, 500) ? "1" : "5" };
	if (chance(w, 50)) {
		p.gates = &gate;
		p.n_gates = 1;
	}
	p.volumes = claims;
	p.n_volumes = claims_of_new_pod(w, claims, claim_names);
	k = pod_create(w, &p);
	k->user_pod = true;
	k->cpus = cpus;
	k->run_for = chance(w, 500) ? USEC_NEVER : span(w, 100 * USEC_MSEC, 3 * USEC_MINUTE);
	k->stop_for = chance(w, 300) ? USEC_HOUR : span(w, 0, 5 * USEC_SEC);
	k->exit_code = chance(w, 300) ? 3 : 0;
	w->counts.pods++;
	say(w, "user creates Pod %s %s with %u CPUs", name, k->pod->meta.uid, cpus);
}

static void delete_pod(struct world *w)
{
	struct kpod *k = any_pod(w, false);
	bool force = fault_hits(w, FAULT_FORCE, 300);

	if (!k)
		return;
	say(w, "user deletes Pod %s %s%s", k->pod->meta.name, k->pod->meta.uid, force ? " by force" : "");
	pod_delete(w, k, force ? 0 : -1);
}

static void edit_pod(struct world *w)
{
	static const char *const keys[] = { ANNOTATION_JOB_ID, ANNOTATION_PREFIX "partition",
		                            ANNOTATION_PREFIX "excluded-nodes", ANNOTATION_PREFIX "priority" };
	static const char *const values[] = { "1", "4711", "low", "nowhere", "n0", "n[0-1]", "no number", "7" };
	struct kpod *k = any_pod(w, false);
	struct pair list[16];
	struct pod p;
	const char *key = keys[below(w, ARRAY_LEN(keys))];
	uint32_t n = 0;

	if (!k)
		return;
	p = *k->pod;
	for (uint32_t i = 0; i < p.meta.n_annotations && n < ARRAY_LEN(list) - 1; i++)
		if (!str_eq(p.meta.annotations[i].key, key))
			list[n++] = p.meta.annotations[i];
	if (chance(w, 600))
		list[n++] = (struct pair) { key, values[below(w, ARRAY_LEN(values))] };
	p.meta.annotations = list;
	p.meta.n_annotations = n;
	say(w, "user edits %s of Pod %s", key, p.meta.name);
	pod_write(w, k, &p);
}

static void open_gate(struct world *w, struct kpod *k)
{
	struct pod p;

	if (!k || !k->pod->n_gates)
		return;
	p = *k->pod;
	p.n_gates = 0;
	pod_write(w, k, &p);
}

/* ---- users of Slurm ---- */

static void submit_job(struct world *w)
{
	struct job_spec spec = { .name = "train", .cpus = 1 + (uint32_t)below(w, w->node_cpus) };
	struct sjob *j;

	if (!w->ctld.up)
		return;
	if (fault_hits(w, FAULT_PREEMPT, 500))
		spec.partition = "high";
	j = ctld_submit(w, &spec);
	j->run_for = span(w, USEC_SEC, 60 * USEC_SEC);
	w->counts.foreign++;
	say(w, "user submits job %u with %u CPUs%s", j->id, j->cpus, spec.partition ? ", high" : "");
}

static void cancel_job(struct world *w)
{
	struct sjob *j = any_job(w, false);

	if (!j || !w->ctld.up)
		return;
	say(w, "user cancels job %u (%s)", j->id, j->name);
	job_terminate(w, j, JOB_CANCELLED, BY_USER);
}

/* ---- administrators ---- */

static void admin_drains(struct world *w)
{
	unsigned i = (unsigned)below(w, w->n_nodes);

	if (!w->ctld.up)
		return;
	if (w->ctld.nodes[i].absent)
		return;
	if (w->ctld.nodes[i].drained && !(w->whole && chance(w, 400)))
		node_undrain(w, i);
	else
		node_drain(w, i, w->whole && chance(w, 200) ? "check it (verify-undrain)" : "ticket 17", ROLES);
}

/* The Node without its "dedicated" taint, which is returned in place; what others put there stays. */
static bool without_dedicated(struct knode *n, struct taint taints[8])
{
	uint32_t kept = 0;
	bool had = false;

	for (uint32_t t = 0; t < n->n_taints && kept < 7; t++) {
		if (str_eq(n->taints[t].key, "dedicated"))
			had = true;
		else
			taints[kept++] = n->taints[t];
	}
	n->taints = taints;
	n->n_taints = kept;
	return had;
}

static void admin_cordons(struct world *w)
{
	unsigned i = (unsigned)below(w, w->n_nodes);
	struct knode n = *w->api.nodes[i].node;
	struct taint taints[8];

	if (chance(w, 500))
		n.unschedulable = !n.unschedulable;
	else if (!without_dedicated(&n, taints))
		taints[n.n_taints++] =
		        (struct taint) { .key = "dedicated", .value = "ml", .effect = EFFECT_NO_SCHEDULE };
	say(w, "Node k%u: %s%s", i, n.unschedulable ? "cordoned" : "not cordoned", n.n_taints ? ", tainted" : "");
	node_write(w, i, &n);
}

static void admin_requeues(struct world *w)
{
	struct sjob *j = any_job(w, true);

	if (j && w->ctld.up && *j->uid)
		job_requeue(w, j);
}

/* Renamed, and its extra used for a note. Not its admin comment: who knows what that is for leaves it. */
static void admin_renames(struct world *w)
{
	struct sjob *j = any_job(w, false);

	if (!j || !w->ctld.up || !*j->uid)
		return;
	say(w, "job %u is renamed, and its extra is a note", j->id);
	free(j->name);
	free(j->extra);
	j->name = mem_strdup("renamed");
	j->extra = mem_strdup("a note");
	w->ctld.changes++;
}

static void resumes_again(struct world *w, struct ev *e)
{
	struct sjob *j = job_by_serial(w, e->a);

	if (j && w->ctld.up && !j->forgotten)
		job_resume(w, j);
}

static void admin_suspends(struct world *w)
{
	struct sjob *j = any_job(w, false);

	if (!j || !w->ctld.up)
		return;
	if (j->state == JOB_SUSPENDED)
		job_resume(w, j);
	else
		job_suspend(w, j);
	if (j->state == JOB_SUSPENDED && chance(w, 500)) /* it was the wrong one */
		in(w, span(w, USEC_MSEC, chance(w, 500) ? 500 * USEC_MSEC : 3 * USEC_SEC), resumes_again, j->serial, 0,
		   NULL);
}

/* ---- what breaks ---- */

static void kubelet_returns_event(struct world *w, struct ev *e)
{
	kubelet_returns(w, (unsigned)e->a);
}

static void kubelet_dies(struct world *w)
{
	unsigned i = (unsigned)below(w, w->n_nodes);
	struct knode_state *n = &w->api.nodes[i];

	if (n->kubelet_dead)
		return;
	n->kubelet_dead = true;
	n->dead_until = w->now + span(w, 5 * USEC_SEC, 120 * USEC_SEC);
	say(w, "kubelet of k%u dies", i);
	at(w, n->dead_until, kubelet_returns_event, i, 0, NULL);
}

static void leader_is_cut_off(struct world *w)
{
	struct life *l = life_leading(w, w->whole ? (enum role)below(w, ROLES) : ROLE_SCHEDULER);

	if (!l || w->now < l->partitioned_until)
		return;
	l->partitioned_until = w->now + span(w, USEC_SEC, 60 * USEC_SEC);
	say(w, "life %llu is cut off from Kubernetes", (unsigned long long)l->serial);
	streams_break(w, l);
}

static void crash(struct world *w)
{
	struct life *l = w->lives[below(w, w->whole ? LIVES : SLOTS)];

	if (l)
		life_dies(w, l);
}

static void ctld_restarts(struct world *w)
{
	ctld_stop(w, span(w, 100 * USEC_MSEC, chance(w, 800) ? 5 * USEC_SEC : 90 * USEC_SEC), false);
}

static void ctld_forgets(struct world *w)
{
	ctld_stop(w, span(w, 100 * USEC_MSEC, 10 * USEC_SEC), true);
}

static void some_node_fails(struct world *w)
{
	node_fails(w, (unsigned)below(w, w->n_nodes), chance(w, 500), span(w, 2 * USEC_SEC, 90 * USEC_SEC));
}

static void gate_opens(struct world *w)
{
	open_gate(w, any_pod(w, false));
}

#define FAULTS_WHOLE ((enum fault)(FAULTS + 1))

/* fault FAULTS: always; FAULTS_WHOLE: always in a whole world */
static const struct {
	enum fault fault;
	unsigned weight;
	void (*act)(struct world *w);
} acts[] = {
	{ FAULTS, 300, create_pod },
	{ FAULTS, 60, delete_pod },
	{ FAULTS, 60, submit_job },
	{ FAULTS, 20, gate_opens },
	{ FAULT_EDIT, 40, edit_pod },
	{ FAULT_EDIT, 10, admin_renames },
	{ FAULT_CANCEL, 40, cancel_job },
	{ FAULT_VOLUMES, 60, claim_changes },
	{ FAULT_DRAIN, 40, admin_drains },
	{ FAULT_CORDON, 30, admin_cordons },
	{ FAULT_REQUEUE, 30, admin_requeues },
	{ FAULT_SUSPEND, 40, admin_suspends },
	{ FAULT_KUBELET_DEAD, 20, kubelet_dies },
	{ FAULT_PARTITION, 15, leader_is_cut_off },
	{ FAULT_CRASH, 15, crash },
	{ FAULT_CTLD_RESTART, 15, ctld_restarts },
	{ FAULT_CTLD_AMNESIA, 8, ctld_forgets },
	{ FAULT_NODE_FAIL, 20, some_node_fails },
	{ FAULTS_WHOLE, 150, plain_create },
	{ FAULTS_WHOLE, 30, plain_delete },
	{ FAULT_NODESET, 40, nodeset_disturb },
	{ FAULT_MEDDLE, 20, admin_meddles },
};

static bool acts_now(const struct world *w, enum fault f)
{
	return f == FAULTS || (f == FAULTS_WHOLE ? w->whole : fault_on(w, f));
}

static void act(struct world *w)
{
	unsigned sum = 0, pick;

	for (size_t i = 0; i < ARRAY_LEN(acts); i++)
		if (acts_now(w, acts[i].fault))
			sum += acts[i].weight;
	pick = (unsigned)below(w, sum);
	for (size_t i = 0; i < ARRAY_LEN(acts); i++) {
		if (!acts_now(w, acts[i].fault))
			continue;
		if (pick < acts[i].weight) {
			acts[i].act(w);
			return;
		}
		pick -= acts[i].weight;
	}
}

/* People have chances of their own, and each act begins with a new one: what they do and when does not depend on all the rest, nor on
 * whether one of them is left out. */
static void somebody_acts(struct world *w, struct ev *e)
{
	struct rng rng = w->rng;
	unsigned n = w->n_acts++;

	(void)e;
	if (w->calm)
		return;
	w->rng = w->people_rng;
	in(w, span(w, USEC_MSEC, chance(w, 300) ? 50 * USEC_MSEC : 4 * USEC_SEC), somebody_acts, 0, 0, NULL);
	w->people_rng = w->rng;
	w->rng = rng_seeded(rng_u64(&w->people_rng));
	if (!w->skip || n >= ACTS_MAX || !w->skip[n])
		act(w);
	w->rng = rng;
}

void people_init(struct world *w)
{
	in(w, span(w, 0, 2 * USEC_SEC), somebody_acts, 0, 0, NULL);
}

/* Faults stop, and people put right what they did. */
void people_calm(struct world *w)
{
	say(w, "calm");
	w->calm = true;
	for (unsigned i = 0; i < w->n_nodes; i++) {
		struct knode n = *w->api.nodes[i].node;
		struct taint taints[8];

		if (without_dedicated(&n, taints) || n.unschedulable) {
			n.unschedulable = false;
			node_write(w, i, &n);
		}
		if (w->ctld.nodes[i].drained && w->ctld.nodes[i].foreign)
			node_undrain(w, i);
		w->api.nodes[i].dead_until = w->now;
		if (!w->ctld.nodes[i].down)
			kubelet_returns(w, i);
	}
	for (size_t i = w->api.n_pods; i-- > 0;) {
		struct kpod *k = w->api.pods[i];

		if (!k->user_pod)
			continue;
		open_gate(w, k);
		if (k->run_for == USEC_NEVER && !k->pod->meta.deletion && chance(w, 500))
			pod_delete(w, k, -1);
	}
	cluster_calm(w);
}
