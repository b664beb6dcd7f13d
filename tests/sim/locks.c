/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What must hold of locks and drains, seen from outside: where a job's processes run, the Node is locked and nothing runs that does
 * not tolerate it; nobody is locked out for nothing; Slurm's drains follow Kubernetes and the other way round.
 */
#include "tests/sim/world.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "policy/drain.h"
#include "policy/lock.h"
#include "policy/mirror.h"
#include "policy/nodeset.h"

#define MEDDLED_MAX (2 * USEC_MINUTE) /* who takes a lock off is answered for this long */
#define IDLE_LOCKED_MAX (2 * USEC_MINUTE) /* a request may be under way for one */
#define UNLIKE_MAX (3 * USEC_MINUTE) /* requests may be a minute late */
#define UNTOLD_CORDON_MAX (3 * USEC_MINUTE)
#define UNHEARD_MAX (10 * USEC_MINUTE) /* replaced after three, one at a time */

/* One that runs there, as far as Slurm can know. */
static const struct sjob *runs_on(const struct world *w, unsigned node)
{
	for (size_t i = 0; i < w->ctld.n_jobs; i++) {
		const struct sjob *j = w->ctld.jobs[i];

		if (j->procs && !j->forgotten && j->node == (int)node && job_on_node(j))
			return j;
	}
	return NULL;
}

static bool meddled(const struct world *w, unsigned node)
{
	const struct knode_state *n = &w->api.nodes[node];

	return n->gone || (n->meddled && w->now - n->meddled < MEDDLED_MAX);
}

/* One that tolerates the lock for some seconds may come to a locked node, as Kubernetes sees it; but not have been there before. */
static bool stays(const struct world *w, const struct kpod *k, unsigned node)
{
	struct taint lock = { .key = TAINT_LOCK, .value = LOCK_TAINT_VALUE, .effect = EFFECT_NO_EXECUTE };
	const struct toleration *by = NULL;

	return pod_tolerates(k->pod, &lock, &by) && (!by->has_seconds || k->bound > w->api.nodes[node].locked_since);
}

static bool runs_plain(const struct world *w, const struct kpod *k, unsigned node)
{
	return k->plain && k->containers == CONTAINERS_RUN && kube_node_number(w, k->pod->node_name) == (int)node;
}

void locks_check(struct world *w)
{
	w->look_at_locks = false;
	for (unsigned i = 0; i < w->n_nodes; i++) {
		const struct sjob *j = runs_on(w, i);

		if (!j || w->ctld.nodes[i].down || meddled(w, i))
			continue;
		if (!node_locked(w, i))
			broken(w, "job %u runs on n%u, which is not locked", j->id, i);
		for (size_t p = 0; p < w->api.n_pods; p++)
			if (runs_plain(w, w->api.pods[p], i) && !stays(w, w->api.pods[p], i))
				broken(w, "job %u runs on n%u beside Pod %s, which does not tolerate it", j->id, i,
				       w->api.pods[p]->pod->meta.name);
	}
}

/* When the first process starts: who is in the way and was so before the Node was locked is gone. */
void locks_check_start(struct world *w, const struct sjob *j)
{
	unsigned node = (unsigned)j->node;
	usec_t since = w->api.nodes[node].locked_since;

	if (meddled(w, node))
		return;
	for (size_t p = 0; p < w->api.n_pods; p++) {
		const struct kpod *k = w->api.pods[p];

		if (*j->uid && runs_plain(w, k, node) && k->bound < since)
			broken(w, "placeholder %u starts on n%u beside Pod %s, which Slurm does not account for", j->id,
			       node, k->pod->meta.name);
		if (k->containers == CONTAINERS_RUN && k->not_live_since && k->not_live_since < since &&
		    pod_note(k, ANNOTATION_JOB_ID) && /* who takes it off makes it any Pod */
		    kube_node_number(w, k->pod->node_name) == j->node)
			broken(w, "job %u starts on n%u beside Pod %s, which outlived its job", j->id, node,
			       k->pod->meta.name);
	}
}

/* ---- in time ---- */

const struct sjob *node_job(const struct world *w, unsigned node)
{
	for (size_t i = 0; i < w->ctld.n_jobs; i++) {
		const struct sjob *j = w->ctld.jobs[i];

		if (j->node == (int)node && !j->forgotten && (job_on_node(j) || j->state == JOB_SUSPENDED))
			return j;
	}
	return NULL;
}

static bool wanted_by_slurm(const struct world *w, unsigned node)
{
	return node_job(w, node) != NULL;
}

static void check_idle_lock(struct world *w, unsigned i, usec_t passed)
{
	struct knode_state *n = &w->api.nodes[i];

	n->idle_locked = node_locked(w, i) && !wanted_by_slurm(w, i) ? n->idle_locked + passed : 0;
	if (n->idle_locked > IDLE_LOCKED_MAX) {
		const struct kpod *k = nodeset_pod(w, i);

		broken(w, "k%u is locked, and nothing runs on n%u; its Pod asks for %s and says %s", i, i,
		       k ? str_or(pod_note(k, LOCK_REQUEST_ANNOTATION), "none") : "nothing",
		       k ? str_or(pod_note(k, LOCK_ANNOTATION), "nothing") : "nothing");
	}
}

static bool drain_is_wanted(struct world *w, unsigned i)
{
	const struct kpod *k = nodeset_pod(w, i);

	return !k || k->pod->meta.deletion || !pod_is_ready(k->pod) || w->api.nodes[i].node->unschedulable ||
	       pod_note(k, ANNOTATION_PENDING_DELETION);
}

static void check_drain(struct world *w, unsigned i, usec_t passed)
{
	struct snode_state *n = &w->ctld.nodes[i];
	bool ours = n->drained && n->drained_by == ROLE_SYNCER, wanted = drain_is_wanted(w, i);

	n->unlike = !n->down && !n->absent && (wanted ? !n->drained : ours && !n->silent) ? n->unlike + passed : 0;
	if (n->unlike > UNLIKE_MAX)
		broken(w,
		       wanted ? "n%u is not drained, though its Pod is not as it should be"
		              : "n%u is still drained: %s",
		       i, n->reason);
}

/* Its Pod says that the Node is cordoned, or that it is not any more. */
static void check_cordon(struct world *w, unsigned i, usec_t passed)
{
	const struct kpod *k = nodeset_pod(w, i);
	struct knode_state *n = &w->api.nodes[i];
	bool untold =
	        k && !n->gone && !k->pod->meta.deletion && !!pod_note(k, ANNOTATION_CORDON) != n->node->unschedulable;

	n->untold_cordon = untold ? n->untold_cordon + passed : 0;
	if (n->untold_cordon > UNTOLD_CORDON_MAX)
		broken(w, "k%u is %scordoned, and its Pod does not say so", i, n->node->unschedulable ? "" : "not ");
}

/* Its slurmd runs, and slurmctld does not know the node: nobody would make it again. */
static void check_known(struct world *w, unsigned i, usec_t passed)
{
	const struct kpod *k = nodeset_pod(w, i);
	struct snode_state *n = &w->ctld.nodes[i];

	n->unheard = n->absent && k && k->containers == CONTAINERS_RUN ? n->unheard + passed : 0;
	if (n->unheard > UNHEARD_MAX)
		broken(w, "Pod n%u runs, and Slurm does not have its node", i);
}

void locks_time_passes(struct world *w, usec_t passed)
{
	for (unsigned i = 0; i < w->n_nodes; i++) {
		check_idle_lock(w, i, passed);
		check_drain(w, i, passed);
		check_cordon(w, i, passed);
		check_known(w, i, passed);
	}
}

/* ---- rest ---- */

static bool condition_is(const struct condition *list, uint32_t n, const char *type, bool want)
{
	const struct condition *c = condition_get(list, n, type);

	return c && c->status == (want ? COND_TRUE : COND_FALSE);
}

static const char *node_unrest(struct world *w, unsigned i)
{
	const struct kpod *k = nodeset_pod(w, i);
	const struct knode *n = w->api.nodes[i].node;
	bool busy = wanted_by_slurm(w, i);

	if (!k || k->pod->meta.deletion || !pod_is_ready(k->pod))
		return "its Pod is not there, or not ready";
	if (w->ctld.nodes[i].down || w->ctld.nodes[i].absent)
		return "it is down, or Slurm does not know it";
	if (!busy && node_locked(w, i))
		return "it is locked, and runs nothing";
	if (runs_on(w, i) && (!node_locked(w, i) || !pod_note(k, LOCK_REQUEST_ANNOTATION)))
		return "it is not locked, and runs something";
	if (!busy && (pod_note(k, LOCK_REQUEST_ANNOTATION) || pod_note(k, LOCK_ANNOTATION)))
		return "its Pod asks for a lock, and it runs nothing";
	if (!condition_is(k->pod->conditions, k->pod->n_conditions, CONDITION_RUNNING, busy) ||
	    !condition_is(n->conditions, n->n_conditions, CONDITION_RUNNING, busy))
		return busy ? "it does not say that it runs something" : "it does not say that it runs nothing";
	if (!condition_is(k->pod->conditions, k->pod->n_conditions, CONDITION_DRAIN, w->ctld.nodes[i].drained) ||
	    !condition_is(n->conditions, n->n_conditions, CONDITION_DRAIN, w->ctld.nodes[i].drained))
		return "it does not tell of its drain";
	if (!!pod_note(k, ANNOTATION_CORDON) != n->unschedulable)
		return "its Pod does not tell of the cordon";
	if (!str_eq(w->ctld.nodes[i].comment, n->meta.name))
		return "Slurm does not know its Kubernetes Node";
	return NULL;
}

bool locks_at_rest(struct world *w, char *text, size_t size)
{
	for (size_t i = 0; i < w->ctld.n_jobs; i++)
		if (w->ctld.jobs[i]->in_prolog && !w->ctld.jobs[i]->forgotten) {
			snprintf(text, size, "job %u is in its prolog", w->ctld.jobs[i]->id);
			return false;
		}
	if (nodeset_unrest(w)) {
		snprintf(text, size, "%s", nodeset_unrest(w));
		return false;
	}
	for (unsigned i = 0; i < w->n_nodes; i++) {
		const char *why = node_unrest(w, i);

		if (why) {
			snprintf(text, size, "node n%u: %s", i, why);
			return false;
		}
	}
	return true;
}
