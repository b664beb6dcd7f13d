/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What must hold, looked at after every event; and what must come to hold, counted only in time in which everything worked.
 */
#include "tests/sim/world.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "policy/placeholder.h"

#define LOST_MAX (60 * USEC_SEC)
#define ORPHAN_MAX (120 * USEC_SEC)
#define UNTOLD_MAX (15 * USEC_SEC) /* half of KillWait: the rest is for the Pod's own grace */
#define SETTLED (10 * USEC_SEC)

static struct sjob *next_job_of(struct world *w, const char *uid, size_t *i)
{
	while (*i < w->ctld.n_jobs) {
		struct sjob *j = w->ctld.jobs[(*i)++];

		if (!j->forgotten && str_eq(j->uid, uid))
			return j;
	}
	return NULL;
}

/* ---- when effects arrive ---- */

void check_bind(struct world *w, const struct kpod *k, const char *node)
{
	const struct sjob *j, *last = NULL;
	int number = kube_node_number(w, node);
	size_t i = 0;

	storage_check_bind(w, k, node);
	while ((j = next_job_of(w, k->pod->meta.uid, &i))) {
		if (j->node != number)
			continue;
		if (j->script)
			return;
		last = j;
	}
	if (!last && !k->disturbed)
		broken(w, "Pod %s is bound to %s, where it has no job", k->pod->meta.name, node);
	else if (last && last->in_prolog)
		broken(w, "Pod %s is bound to %s before job %u has started its script", k->pod->meta.name, node,
		       last->id);
	else if (last && (last->ended_by == BY_ITSELF || (last->ended_by == BY_SCHEDULER && !k->disturbed)))
		broken(w, "Pod %s is bound to %s after its job %u had ended there", k->pod->meta.name, node, last->id);
}

void check_remove(struct world *w, struct kpod *k)
{
	bool cause;

	if (k->nodeset) {
		nodeset_check_remove(w, k);
		return;
	}
	cause = k->pod->node_name || k->bind_doubted ? k->disturbed : k->cancelled;

	if (!cause)
		broken(w, "the scheduler deletes Pod %s (%s), and nobody had touched its job", k->pod->meta.name,
		       k->pod->node_name ? "bound" : "waiting");
}

void check_cancel(struct world *w, const struct sjob *j)
{
	const struct kpod *k = pod_by_uid(w, j->uid);

	if (!k || !k->pod->node_name || pod_ended(k->pod) || k->pod->meta.deletion)
		return;
	if (j->node >= 0 && kube_node_number(w, k->pod->node_name) == j->node)
		broken(w, "the scheduler cancels job %u under Pod %s, which runs and was not told to go", j->id,
		       k->pod->meta.name);
}

void check_script_left(struct world *w, const struct sjob *j)
{
	const struct kpod *k = pod_by_uid(w, j->uid);

	if (k && k->pod->node_name && !pod_ended(k->pod) && kube_node_number(w, k->pod->node_name) == j->node)
		broken(w, "the placeholder of job %u ends by itself while its Pod %s is on %s", j->id,
		       k->pod->meta.name, k->pod->node_name);
}

void check_node_change(struct world *w, enum role role, const struct snode_state *n, const struct node_change *c)
{
	if (!n->drained || n->drained_by == (int)role)
		return;
	if (!(c->what & (NODE_CHANGE_UNDRAIN | NODE_CHANGE_DRAIN | NODE_CHANGE_REASON | NODE_CHANGE_RESUME)))
		return;
	/* one that asks for it is lifted by whoever has verified the node since */
	if (!n->foreign || role != ROLE_SYNCER || !strstr(n->reason, "verify-undrain") || n->verified <= n->drained_at)
		broken(w, "the %s changes the drain '%s' of %s, which is not its own",
		       role == ROLE_SYNCER ? "syncer" : "scheduler", n->reason, n->name);
}

/* ---- after every step ---- */

static void check_one_job_per_pod(struct world *w)
{
	for (size_t i = 0; i < w->ctld.n_jobs; i++) {
		const struct sjob *a = w->ctld.jobs[i];

		if (!*a->uid || !job_alive(a) || (a->flags & JOBF_COMPLETING))
			continue;
		for (size_t k = i + 1; k < w->ctld.n_jobs; k++) {
			const struct sjob *b = w->ctld.jobs[k];

			if (job_alive(b) && !(b->flags & JOBF_COMPLETING) && str_eq(a->uid, b->uid)) {
				broken(w, "Pod %s has two live jobs, %u and %u", a->pod_name, a->id, b->id);
				return;
			}
		}
	}
}

void check_step(struct world *w)
{
	check_one_job_per_pod(w);
	if (w->whole && w->look_at_locks)
		locks_check(w);
}

/* ---- in time ---- */

static bool stream_current(const struct world *w, const struct stream *s)
{
	return !s->broken && s->last <= w->now + USEC_SEC;
}

static bool role_healthy(struct world *w, enum role role)
{
	const struct life *l = life_leading(w, role);

	if (!l || w->now - l->leading_since <= SETTLED || w->now < l->partitioned_until)
		return false;
	for (unsigned i = 0; i < ARRAY_LEN(l->streams); i++)
		if (l->streams[i].watched && !stream_current(w, &l->streams[i]))
			return false;
	return true;
}

bool world_healthy(struct world *w)
{
	if (!w->ctld.up || w->now - w->ctld.up_since <= SETTLED)
		return false;
	for (unsigned role = 0; role < (w->whole ? ROLES : 1u); role++)
		if (!role_healthy(w, (enum role)role))
			return false;
	return true;
}

static const struct sjob *job_under(struct world *w, const struct kpod *k)
{
	int node = kube_node_number(w, k->pod->node_name);
	const struct sjob *j;
	size_t i = 0;

	while ((j = next_job_of(w, k->pod->meta.uid, &i)))
		if (job_on_node(j) && j->node == node)
			return j;
	return NULL;
}

static void check_lost(struct world *w, struct kpod *k, usec_t passed)
{
	const struct condition *live;
	int node = kube_node_number(w, k->pod->node_name);
	bool held, told;

	/* Who takes the annotation away too makes it a Pod that never had a job. */
	if (!k->pod->node_name || pod_ended(k->pod) || job_under(w, k) ||
	    !pair_get(k->pod->meta.annotations, k->pod->meta.n_annotations, ANNOTATION_JOB_ID)) {
		k->lost = 0;
		k->was_lost = false;
		return;
	}
	if (!k->was_lost)
		w->counts.lost++;
	k->was_lost = true;
	live = condition_get(k->pod->conditions, k->pod->n_conditions, CONDITION_JOB_LIVE);
	told = live && live->status == COND_FALSE;
	held = w->ctld.nodes[node].drained || w->ctld.nodes[node].down || w->ctld.nodes[node].absent;
	k->lost = told && held ? 0 : k->lost + passed;
	if (k->lost > LOST_MAX)
		broken(w, "Pod %s is on %s without a job, and %s%s%s", k->pod->meta.name, k->pod->node_name,
		       told ? "" : "nothing says so", told || held ? "" : " and ",
		       held ? "" : "others may start there");
}

/* Slurm ends the job: its Pod is told to go while the placeholder still waits for it. */
static void check_told(struct world *w, struct kpod *k, usec_t passed)
{
	const struct sjob *j = k->pod->node_name ? job_under(w, k) : NULL;
	bool untold = j && j->script && j->script->plan.ending && !k->pod->meta.deletion && !pod_ended(k->pod);

	k->untold = untold ? k->untold + passed : 0;
	if (k->untold > UNTOLD_MAX)
		broken(w, "Slurm ends job %u, and its Pod %s is not told to go", j->id, k->pod->meta.name);
}

static void check_orphan(struct world *w, struct sjob *j, usec_t passed)
{
	const struct kpod *k;

	if (!*j->uid || !job_alive(j) || (j->flags & JOBF_COMPLETING))
		return;
	k = pod_by_uid(w, j->uid);
	j->orphan = !k || pod_ended(k->pod) ? j->orphan + passed : 0;
	if (j->orphan > ORPHAN_MAX)
		broken(w, "job %u is still there, but its Pod %s is %s", j->id, j->pod_name, k ? "over" : "gone");
}

void check_time_passes(struct world *w, usec_t passed)
{
	bool healthy = world_healthy(w);

	if (w->whole)
		locks_time_passes(w, healthy ? passed : 0);
	if (!healthy)
		return;
	for (size_t i = 0; i < w->api.n_pods; i++)
		if (w->api.pods[i]->user_pod) {
			check_lost(w, w->api.pods[i], passed);
			check_told(w, w->api.pods[i], passed);
		}
	for (size_t i = 0; i < w->ctld.n_jobs; i++)
		if (!w->ctld.jobs[i]->forgotten)
			check_orphan(w, w->ctld.jobs[i], passed);
}

/* ---- rest ---- */

static bool pod_at_rest(struct world *w, struct kpod *k, const char **why)
{
	const struct pod *p = k->pod;
	const struct condition *c = condition_get(p->conditions, p->n_conditions, "PodScheduled");
	const struct sjob *j, *live = NULL;
	size_t i = 0;

	while ((j = next_job_of(w, p->meta.uid, &i)))
		if (job_alive(j) || (j->flags & JOBF_COMPLETING))
			live = j;
	*why = NULL;
	if (p->meta.deletion)
		*why = "is being deleted";
	else if (pod_ended(p)) {
		if (live)
			*why = "is over, but its job is not";
	} else if (p->node_name) {
		if (!live && !pair_get(p->meta.annotations, p->meta.n_annotations, ANNOTATION_JOB_ID))
			*why = NULL; /* as in check_lost() */
		else if (!live || live->state != JOB_RUNNING || live->flags ||
		         live->node != kube_node_number(w, p->node_name))
			*why = "is bound, but has no running job";
		else if (p->phase != POD_RUNNING)
			*why = "does not run yet";
	} else if (!c || c->status != COND_FALSE) {
		*why = "waits, and does not say why";
	} else if (live && live->state != JOB_PENDING) {
		*why = "waits, but its job runs";
	} else if (!live && str_eq(c->reason, "Unschedulable") && k->cpus <= w->node_cpus && storage_possible(w, p) &&
	           !str_eq(pair_get(p->meta.annotations, p->meta.n_annotations, ANNOTATION_PREFIX "partition"),
	                   "nowhere")) {
		*why = "waits, and has no job";
	} else if (live && live->node < 0 && str_eq(live->reason, "ReqNodeNotAvail") && !nodeset_waits_anywhere(w) &&
	           !pair_get(p->meta.annotations, p->meta.n_annotations, ANNOTATION_PREFIX "excluded-nodes")) {
		*why = "waits for nodes that are not there";
	}
	return !*why;
}

bool world_at_rest(struct world *w, char *text, size_t size)
{
	const char *why;

	*text = 0;
	for (size_t i = 0; i < w->api.n_pods; i++)
		if (w->api.pods[i]->user_pod && !pod_at_rest(w, w->api.pods[i], &why)) {
			snprintf(text, size, "Pod %s %s", w->api.pods[i]->pod->meta.name, why);
			return false;
		}
	for (size_t i = 0; i < w->ctld.n_jobs; i++) {
		const struct sjob *j = w->ctld.jobs[i];

		if (*j->uid && (job_alive(j) || (j->flags & JOBF_COMPLETING)) && !pod_by_uid(w, j->uid)) {
			snprintf(text, size, "job %u has no Pod any more", j->id);
			return false;
		}
	}
	for (unsigned i = 0; i < w->n_nodes; i++)
		if (w->ctld.nodes[i].drained && !(w->whole && nodeset_waits(w, i))) {
			snprintf(text, size, "node n%u is still drained: %s", i, w->ctld.nodes[i].reason);
			return false;
		}
	if (w->whole && !locks_at_rest(w, text, size))
		return false;
	return w->ctld.up;
}
