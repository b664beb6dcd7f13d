/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scheduler/inside.h"

static const struct {
	const char *name, *help;
} counts[] = {
	[COUNT_SUBMITTED] = { "sunk_scheduler_jobs_submitted_total", "Placeholder jobs submitted." },
	[COUNT_ORPHANS] = { "sunk_scheduler_orphans_cancelled_total", "Jobs cancelled because their Pod is gone." },
	[COUNT_RETRIES] = { "sunk_scheduler_retries_total", "Effects on either side that had to be tried again." },
	[COUNT_BOUND] = { "sunk_scheduler_pods_bound_total", "Pods bound to a Node." },
	[COUNT_DELETED] = { "sunk_scheduler_pods_deleted_total", "Pods deleted because their job ended." },
	[COUNT_REFUSED] = { "sunk_scheduler_submits_refused_total", "Submissions that Slurm refused." },
	[COUNT_DRAINED] = { "sunk_scheduler_nodes_drained_total", "Nodes drained because a Pod outlived its job." },
};
_Static_assert(ARRAY_LEN(counts) == COUNTS, "every count has a name");

static const struct {
	const char *name, *help;
} latencies[] = {
	[LATENCY_SUBMIT] = { "sunk_scheduler_submit_seconds", "From seeing a Pod to its job's id." },
	[LATENCY_BIND] = { "sunk_scheduler_bind_seconds",
	                   "From the call of the job's script that it has started to the Pod being bound." },
	[LATENCY_TEARDOWN] = { "sunk_scheduler_teardown_seconds", "From seeing a job end to its Pod being deleted." },
};
_Static_assert(ARRAY_LEN(latencies) == LATENCIES, "every latency has a name");

static const double bounds[] = { 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30 };

enum pod_state { STATE_WAITING, STATE_PENDING, STATE_STARTING, STATE_BOUND, STATE_ENDING, STATE_LOST, POD_STATES };
static const char *const state_names[] = { "unsubmitted", "pending", "starting", "bound", "ending", "without_job" };
_Static_assert(ARRAY_LEN(state_names) == POD_STATES, "every state has a name");

struct numbers {
	struct scheduler *s;
	double *counts[COUNTS], *states[POD_STATES], *parked, *jobs, *dirty;
	struct histogram *latencies[LATENCIES];
};

void count(struct scheduler *s, enum count what)
{
	if (s->numbers)
		*s->numbers->counts[what] += 1;
}

void latency(struct scheduler *s, enum latency what, usec_t span)
{
	if (s->numbers)
		histogram_observe(s->numbers->latencies[what], (double)span / (double)USEC_SEC);
}

static enum pod_state state_of(const struct entry *e, const struct pod *pod)
{
	const struct known_job *j = e->n_jobs ? e->jobs[e->n_jobs - 1] : NULL;

	if (e->hold_node)
		return STATE_LOST;
	if (j && (j->p.flags & JOBF_COMPLETING))
		return STATE_ENDING;
	if (pod->node_name)
		return STATE_BOUND;
	if (!j || job_is_over(&j->p))
		return STATE_WAITING;
	return j->p.state == JOB_PENDING ? STATE_PENDING : STATE_STARTING;
}

static void fill(void *arg)
{
	struct numbers *n = arg;
	struct scheduler *s = n->s;
	double parked = 0, states[POD_STATES] = { 0 };
	struct entry *e;
	size_t i = 0;

	while ((e = map_next(&s->by_uid, &i))) {
		const struct pod *pod = entry_pod(s, e);

		if (pod && !pod_is_over(pod))
			states[state_of(e, pod)] += 1;
		LIST_EACH (l, &e->asks)
			parked += 1;
	}
	for (size_t k = 0; k < POD_STATES; k++)
		*n->states[k] = states[k];
	*n->parked = parked;
	*n->jobs = (double)map_count(&s->by_job);
	*n->dirty = (double)dirty_count(&s->dirty);
}

struct numbers *numbers_new(struct scheduler *s)
{
	struct numbers *n;
	struct metrics *m = s->o.metrics;

	if (!m)
		return NULL;
	n = NEW(struct numbers);
	n->s = s;
	for (size_t i = 0; i < COUNTS; i++)
		n->counts[i] = metrics_counter(m, counts[i].name, counts[i].help, NULL);
	for (size_t i = 0; i < LATENCIES; i++)
		n->latencies[i] =
		        metrics_histogram(m, latencies[i].name, latencies[i].help, NULL, bounds, ARRAY_LEN(bounds));
	for (size_t i = 0; i < POD_STATES; i++)
		n->states[i] = metrics_gauge(m, "sunk_scheduler_pods", "Pods of this scheduler, by state.",
		                             (struct metric_label[]) { { "state", state_names[i] }, { NULL, NULL } });
	n->parked =
	        metrics_gauge(m, "sunk_scheduler_hook_parked", "Calls of placeholders that wait for an answer.", NULL);
	n->jobs = metrics_gauge(m, "sunk_scheduler_jobs",
	                        "Slurm jobs that stand for a Pod, ended ones too until Slurm forgets them.", NULL);
	n->dirty = metrics_gauge(m, "sunk_scheduler_queue_depth", "Pods that are to be looked at, now or later.", NULL);
	metrics_on_write(m, fill, n);
	return n;
}

void numbers_free(struct numbers *n)
{
	free(n);
}
