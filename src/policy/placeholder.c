/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/placeholder.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "policy/annotations.h"

static const char *const step_names[] = {
	[STEP_REST] = "rest",
	[STEP_LIST_JOBS] = "list-jobs",
	[STEP_PLACE] = "place",
	[STEP_SUBMIT] = "submit",
	[STEP_ADOPT] = "adopt",
	[STEP_IDENTIFY] = "identify",
	[STEP_EXCLUDE] = "exclude",
	[STEP_TAKE_VOLUME] = "take-volume",
	[STEP_SELECT_NODE] = "select-node",
	[STEP_BIND] = "bind",
	[STEP_RELEASE] = "release",
	[STEP_CANCEL] = "cancel",
	[STEP_DELETE] = "delete",
};
_Static_assert(ARRAY_LEN(step_names) == STEPS, "every step has a name");

const char *step_name(enum step step)
{
	return step_names[step];
}

/* ---- what a job is ---- */

static bool state_is_final(int state)
{
	return state >= JOB_COMPLETE;
}

bool job_is_over(const struct placeholder_job *j)
{
	return state_is_final(j->state) && !(j->flags & JOBF_COMPLETING);
}

static bool job_is_ending(const struct placeholder_job *j)
{
	return (j->flags & JOBF_COMPLETING) != 0;
}

bool job_holds_node(const struct placeholder_job *j)
{
	return j->state == JOB_RUNNING || j->state == JOB_SUSPENDED || job_is_ending(j);
}

uint32_t job_run(const struct placeholder_job *j)
{
	return j->restarts - (j->state == JOB_PENDING && job_is_ending(j) && j->restarts > 0);
}

bool job_has_started(const struct placeholder_job *j)
{
	return j->state == JOB_RUNNING && !job_is_ending(j) &&
	       ((j->mark == EXTRA_STARTED && j->mark_restarts == j->restarts) ||
	        j->hook_restarts == (int64_t)j->restarts);
}

/* How far a job is: of two that are alive for one Pod the further one stays. */
static int job_rank(const struct placeholder_job *j)
{
	if (job_is_over(j))
		return 0;
	if (j->released)
		return 1;
	if (job_has_started(j))
		return 6;
	if (j->state == JOB_RUNNING && !job_is_ending(j))
		return 5;
	if (j->state == JOB_SUSPENDED)
		return 4;
	if (job_is_ending(j))
		return 3;
	return 2; /* pending */
}

/* A job on another node than the Pod's is not what holds the Pod's resources. */
static bool job_is_elsewhere(const struct pod *pod, const struct placeholder_job *j)
{
	return pod && pod->node_name && j->kube_node && !str_eq(pod->node_name, j->kube_node);
}

const struct placeholder_job *placeholder_job_of(const struct placeholder_view *v)
{
	const struct placeholder_job *best = NULL;

	for (uint32_t i = 0; i < v->n_jobs; i++) {
		const struct placeholder_job *j = &v->jobs[i];
		bool better;

		if (!best)
			better = true;
		else if (job_is_over(j) &&
		         job_is_over(best)) /* the latest that we did not end ourselves tells how it ended */
			better = !j->released || best->released;
		else if (job_is_elsewhere(v->pod, j) != job_is_elsewhere(v->pod, best))
			better = !job_is_elsewhere(v->pod, j) && !job_is_over(j);
		else
			better = job_rank(j) > job_rank(best);
		if (better)
			best = j;
	}
	return best;
}

/* ---- what a Pod is ---- */

bool pod_is_over(const struct pod *pod)
{
	return pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED;
}

bool pod_tolerates_lock(const struct pod *pod)
{
	for (uint32_t i = 0; i < pod->n_tolerations; i++) {
		const struct toleration *t = &pod->tolerations[i];

		if (t->effect != EFFECT_ANY && t->effect != EFFECT_NO_EXECUTE)
			continue;
		if (t->has_seconds) /* evicted all the same, only later */
			continue;
		if (t->op == TOLERATE_EXISTS && (str_empty(t->key) || str_eq(t->key, TAINT_LOCK)))
			return true;
	}
	return false;
}

bool pod_had_job(const struct pod *pod)
{
	/* The condition, too: someone may have taken the annotation off since it was found to be lost. */
	return pair_get(pod->meta.annotations, pod->meta.n_annotations, ANNOTATION_JOB_ID) ||
	       condition_get(pod->conditions, pod->n_conditions, CONDITION_JOB_LIVE);
}

bool pod_is_adopted(const struct pod *pod, uint32_t job, int64_t timeout_min)
{
	char id[16];

	snprintf(id, sizeof(id), "%u", job);
	if (!str_eq(pair_get(pod->meta.annotations, pod->meta.n_annotations, ANNOTATION_JOB_ID), id))
		return false;
	return pod_tolerates_lock(pod) && (timeout_min <= 0 || pod->active_deadline_s > 0);
}

/* ---- saying it ---- */

static void event(struct decision *d, bool warning, const char *reason, const char *fmt, ...) _printf_(4, 5);
static void event(struct decision *d, bool warning, const char *reason, const char *fmt, ...)
{
	va_list ap;

	d->warning = warning;
	d->event = reason;
	va_start(ap, fmt);
	(void)vsnprintf(d->event_text, sizeof(d->event_text), fmt, ap);
	va_end(ap);
}

static void unscheduled(struct decision *d, const char *reason, const char *fmt, ...) _printf_(3, 4);
static void unscheduled(struct decision *d, const char *reason, const char *fmt, ...)
{
	va_list ap;

	d->unscheduled = reason;
	va_start(ap, fmt);
	(void)vsnprintf(d->unscheduled_text, sizeof(d->unscheduled_text), fmt, ap);
	va_end(ap);
}

void cancelled_text(uint32_t job, const char *by, const char *and_so, char text[DECISION_TEXT_MAX])
{
	(void)snprintf(text, DECISION_TEXT_MAX, "Slurm job %u was cancelled %s%.200s; %s", job, by ? "by " : "in Slurm",
	               by ? by : "", and_so);
}

/* How a job came to its end, as an event on the Pod. */
static void tell_end(const struct placeholder_job *j, const char *and_so, struct decision *d)
{
	d->event_job = j->id;
	switch (j->state) {
	case JOB_PREEMPTED:
		d->event_waits = !j->preemptor && !j->preemptor_sought;
		if (j->preemptor)
			event(d, true, "Preempted", "Preempted by Slurm job %s: job %u had to make room; %s",
			      j->preemptor, j->id, and_so);
		else
			event(d, true, "Preempted", "Slurm preempted job %u; %s", j->id, and_so);
		return;
	case JOB_TIMEOUT:
	case JOB_DEADLINE: event(d, true, "TimedOut", "Slurm job %u reached its time limit; %s", j->id, and_so); return;
	case JOB_CANCELLED:
		if (j->launch_failed)
			event(d, true, "LaunchFailed", "Slurm job %u could not be started on %s (%s); %s", j->id,
			      str_or(j->node, "its node"), str_or(j->reason, "its prolog failed"), and_so);
		else {
			d->warning = true;
			d->event = "Cancelled";
			d->and_so = and_so;
			cancelled_text(j->id, NULL, and_so, d->event_text);
		}
		return;
	case JOB_PENDING: event(d, true, "Requeued", "Slurm job %u was requeued; %s", j->id, and_so); return;
	case JOB_NODE_FAIL:
	case JOB_BOOT_FAIL:
		event(d, true, "NodeFailed", "Slurm node %s of job %u failed; %s", str_or(j->node, "?"), j->id, and_so);
		return;
	default:
		event(d, true, "JobEnded", "Slurm job %u ended before its Pod did (%s); %s", j->id,
		      str_or(j->reason, "no reason given"), and_so);
	}
}

/* ---- deciding ---- */

static void rest(struct decision *d, usec_t again)
{
	d->step = STEP_REST;
	d->again = again;
}

static void step(struct decision *d, enum step what, const struct placeholder_job *j)
{
	d->step = what;
	d->job = j ? j->id : 0;
}

/* No Pod any more: whatever it still has in Slurm ends. The script is told and ends by itself, with the right exit code;
 * only one that does not is cancelled. */
static void decide_gone(const struct placeholder_view *v, struct decision *d)
{
	usec_t patience = v->pod_was_seen ? 0 : PLACEHOLDER_UNSEEN;

	rest(d, USEC_NEVER);
	for (uint32_t i = 0; i < v->n_jobs; i++) {
		const struct placeholder_job *j = &v->jobs[i];
		usec_t due;

		if (job_is_over(j) || job_is_ending(j))
			continue;
		due = usec_add(v->pod_since, job_has_started(j) ? MAX_OF(patience, PLACEHOLDER_LINGER) : patience);
		if (v->now >= due) {
			step(d, STEP_CANCEL, j);
			return;
		}
		d->again = MIN_OF(d->again, due);
	}
}

/* The Pod has finished; its object is still there. */
static void decide_over(const struct placeholder_view *v, struct decision *d)
{
	rest(d, USEC_NEVER);
	for (uint32_t i = 0; i < v->n_jobs; i++) {
		const struct placeholder_job *j = &v->jobs[i];
		usec_t due;

		if (job_is_over(j) || job_is_ending(j))
			continue;
		due = job_has_started(j) ? usec_add(v->pod_since, PLACEHOLDER_LINGER) : 0;
		if (v->now >= due) {
			step(d, STEP_CANCEL, j);
			return;
		}
		d->again = MIN_OF(d->again, due);
	}
}

/* Every live job but `keep` is one too many. */
static bool cancel_others(const struct placeholder_view *v, const struct placeholder_job *keep, struct decision *d)
{
	for (uint32_t i = 0; i < v->n_jobs; i++) {
		const struct placeholder_job *j = &v->jobs[i];

		if (j == keep || job_is_over(j) || job_is_ending(j))
			continue;
		step(d, keep ? STEP_RELEASE : STEP_CANCEL, j);
		event(d, true, "DuplicateJob", "Cancelling Slurm job %u: the Pod already has job %u", j->id,
		      keep ? keep->id : 0);
		return true;
	}
	return false;
}

static void delete_pod(const struct placeholder_view *v, struct decision *d)
{
	if (v->pod->meta.deletion)
		rest(d, USEC_NEVER); /* it is on its way */
	else
		step(d, STEP_DELETE, NULL);
}

/* The Pod runs, or will as soon as its kubelet sees it. */
static void decide_bound(const struct placeholder_view *v, const struct placeholder_job *j, struct decision *d)
{
	const struct pod *pod = v->pod;

	rest(d, USEC_NEVER);
	if (!j && !pod_had_job(pod))
		return;
	if (j && !job_is_over(j) && job_is_elsewhere(pod, j) && v->jobs_known) {
		if (job_is_ending(j))
			j = NULL; /* and so lost, below */
		else {
			step(d, STEP_RELEASE, j);
			event(d, true, "WrongNode", "Slurm job %u runs on %s, but the Pod is on Node %s", j->id,
			      str_or(j->node, "?"), pod->node_name);
			return;
		}
	}
	if (!j || job_is_over(j)) {
		if (!v->jobs_known) {
			step(d, STEP_LIST_JOBS, NULL);
			return;
		}
		d->lost = true;
		if (j)
			tell_end(j, "the Pod has no allocation any more and is deleted", d);
		else
			event(d, true, "JobLost",
			      "Slurm does not know job %s any more: the Pod has no allocation and is deleted",
			      str_or(pair_get(pod->meta.annotations, pod->meta.n_annotations, ANNOTATION_JOB_ID), "?"));
		delete_pod(v, d);
		return;
	}
	if (cancel_others(v, j, d))
		return;
	if (job_is_ending(j) || v->terminate) {
		if (job_is_ending(j))
			tell_end(j, "the Pod is deleted", d);
		else
			event(d, true, "Terminated", "Slurm ends job %u; the Pod is deleted", j->id);
		delete_pod(v, d);
		return;
	}
	if (j->state == JOB_RUNNING) {
		d->live = !pod->meta.deletion;
		if (!pod->meta.deletion && v->bind_unsure)
			step(d, STEP_BIND, j); /* the same again does no harm, and this time we hear what came of it */
		else if (!pod->meta.deletion && !pod_is_adopted(pod, j->id, 0)) /* someone changed the annotation */
			step(d, STEP_ADOPT, j);
		return;
	}
	/* Requeued or suspended: Slurm gives the resources away while the Pod uses them. */
	d->lost = true;
	if (!pod->meta.deletion) {
		event(d, true, j->state == JOB_SUSPENDED ? "Suspended" : "Requeued",
		      "Slurm job %u was %s, which a Pod cannot follow; the Pod is deleted", j->id,
		      j->state == JOB_SUSPENDED ? "suspended" : "requeued");
		step(d, STEP_DELETE, NULL);
		return;
	}
	step(d, STEP_CANCEL, j);
}

static usec_t again_after(const struct placeholder_view *v, const struct placeholder_job *j)
{
	usec_t pause = PLACEHOLDER_AGAIN;

	for (uint32_t i = 0; i < v->n_jobs && pause < PLACEHOLDER_AGAIN_MAX; i++)
		if (job_is_over(&v->jobs[i]) && &v->jobs[i] != j)
			pause *= 2;
	return usec_add(j->over_since, MIN_OF(pause, PLACEHOLDER_AGAIN_MAX));
}

/* All of its jobs are over, and the Pod has never run: again, or is that what someone wanted? */
static bool decide_ended_early(const struct placeholder_view *v, const struct placeholder_job *j, struct decision *d)
{
	bool meant =
	        !j->launch_failed && (j->state == JOB_CANCELLED || j->state == JOB_TIMEOUT || j->state == JOB_DEADLINE);
	usec_t again;

	if (j->released)
		return false; /* we did that ourselves */
	if (meant && v->rules->on_cancel == ON_CANCEL_DELETE) {
		tell_end(j, "the Pod has not run yet and is deleted", d);
		delete_pod(v, d);
		return true;
	}
	again = again_after(v, j);
	if (v->now >= again)
		return false;
	tell_end(j, "the Pod is submitted again", d);
	unscheduled(d, "Unschedulable", "Slurm job %u ended before the Pod could run; it is submitted again soon",
	            j->id);
	rest(d, again);
	return true;
}

/* Nodes that Slurm chose were no good. After the first another one is tried at once; then there may be none that is better, and each
 * try costs a prolog, a lock, and a record that Slurm keeps for minutes. */
static bool decide_refused(const struct placeholder_view *v, struct decision *d)
{
	const struct placeholder_job *last = NULL;
	usec_t pause = 0, again;

	for (uint32_t i = 0; i < v->n_jobs; i++) {
		const struct placeholder_job *j = &v->jobs[i];

		if (!job_is_over(j) || !j->released || !j->node)
			continue;
		if (last)
			pause = MIN_OF(pause ? 2 * pause : PLACEHOLDER_AGAIN, PLACEHOLDER_REFUSED_MAX);
		last = j;
	}
	if (!last)
		return false;
	again = usec_add(last->over_since, pause);
	if (v->now >= again)
		return false;
	unscheduled(d, "Unschedulable", "Slurm chose %s, where the Pod cannot run: %s; it is submitted again soon",
	            last->node, str_or(v->place_why, "its event NodeRefused says why"));
	rest(d, again);
	return true;
}

static void decide_submit(const struct placeholder_view *v, const struct placeholder_job *ended, struct decision *d)
{
	rest(d, USEC_NEVER);
	if (!v->jobs_known) {
		step(d, STEP_LIST_JOBS, NULL);
		return;
	}
	if (ended && (decide_ended_early(v, ended, d) || decide_refused(v, d)))
		return;
	if (v->refused && v->now < v->refused_until) {
		event(d, true, "SubmitFailed", "Slurm refuses the job: %s", v->refused);
		unscheduled(d, "Unschedulable", "Slurm refuses the job: %s", v->refused);
		rest(d, v->refused_until);
		return;
	}
	if (!v->feasible)
		return;
	if (v->feasible->n_fit == 0) {
		unscheduled(d, "Unschedulable", "%s", str_or(v->feasible->summary, "no node is feasible"));
		event(d, true, "FailedScheduling", "%s", str_or(v->feasible->summary, "no node is feasible"));
		return;
	}
	if (v->waits_for) {
		unscheduled(d, "Unschedulable", "%s", v->waits_for);
		return;
	}
	step(d, STEP_SUBMIT, NULL);
}

static void decide_pending(const struct placeholder_view *v, const struct placeholder_job *j, struct decision *d)
{
	rest(d, USEC_NEVER);
	if (v->feasible && v->feasible->n_fit == 0) {
		step(d, STEP_RELEASE, j);
		event(d, true, "FailedScheduling", "%s", str_or(v->feasible->summary, "no node is feasible"));
		unscheduled(d, "Unschedulable", "%s", str_or(v->feasible->summary, "no node is feasible"));
		return;
	}
	unscheduled(d, "Unschedulable", "Slurm job %u is pending: %s%s%s%s", j->id, str_or(j->reason, "None"),
	            v->feasible && v->feasible->n_fit < v->feasible->n_places ? " (" : "",
	            v->feasible && v->feasible->n_fit < v->feasible->n_places ? str_or(v->feasible->summary, "") : "",
	            v->feasible && v->feasible->n_fit < v->feasible->n_places ? ")" : "");
	d->patient = true;
	if (j->misnamed) /* later its own script writes it */
		step(d, STEP_IDENTIFY, j);
	else if (v->feasible && !j->excluded_is_current)
		step(d, STEP_EXCLUDE, j);
}

static void decide_place(const struct placeholder_view *v, const struct placeholder_job *j, struct decision *d)
{
	const char *why = str_or(v->place_why, "");

	switch (v->placing) {
	case PLACE_UNKNOWN: step(d, STEP_PLACE, j); return;
	case PLACE_OK: step(d, STEP_BIND, j); return;
	case PLACE_TAKE_VOLUME: step(d, STEP_TAKE_VOLUME, j); return;
	case PLACE_SELECT_NODE: step(d, STEP_SELECT_NODE, j); return;
	case PLACE_WAIT:
		unscheduled(d, "Unschedulable", "Slurm job %u holds %s: %s", j->id, str_or(j->node, "?"), why);
		if (v->now < usec_add(v->placing_since, PLACEHOLDER_VOLUME_WAIT)) {
			rest(d, usec_add(v->placing_since, PLACEHOLDER_VOLUME_WAIT));
			return;
		}
		break;
	case PLACE_BAD: break;
	}
	event(d, true, "NodeRefused", "Slurm chose %s, where the Pod cannot run: %s; trying again",
	      str_or(j->node, "?"), why); /* without the job: the same again is counted, not told anew */
	step(d, STEP_RELEASE, j);
	d->avoid = true;
}

static void decide_unbound(const struct placeholder_view *v, const struct placeholder_job *j, struct decision *d)
{
	rest(d, USEC_NEVER);
	if (v->pod->n_gates)
		return; /* the API server says so on the Pod */
	if (j && !job_is_over(j) && cancel_others(v, j, d))
		return;
	if (v->problems && v->problems->n_errors) {
		_cleanup_buf_ struct buf all = BUF(CONDITION_TEXT_MAX - 1), some = BUF(DECISION_TEXT_MAX - 1);

		if (j && !job_is_over(j) && !job_is_ending(j)) { /* the Pod was changed for the worse */
			step(d, STEP_RELEASE, j);
			return;
		}
		problems_join(v->problems, false, NULL, &all);
		unscheduled(d, "ValidationFailed", "%s", buf_text(&all));
		problems_join(v->problems, false, "see the condition PodScheduled", &some);
		event(d, true, "ValidationFailed", "%s", buf_text(&some));
		return;
	}
	if (!j || job_is_over(j)) {
		decide_submit(v, j, d);
		return;
	}
	if (job_is_ending(j)) {
		unscheduled(d, "Unschedulable", "Slurm job %u is ending", j->id);
		d->patient = true;
		return;
	}
	if (j->released) {
		step(d, STEP_CANCEL, j);
		return;
	}
	if (j->state == JOB_SUSPENDED) {
		step(d, STEP_RELEASE, j);
		event(d, true, "Suspended", "Slurm job %u was suspended, which a Pod cannot follow; trying again",
		      j->id);
		return;
	}
	if (v->terminate) { /* Slurm is about to end it: its state will say how */
		rest(d, usec_add(v->now, USEC_SEC));
		return;
	}
	if (!pod_is_adopted(v->pod, j->id, 0)) {
		step(d, STEP_ADOPT, j);
		event(d, false, "Submitted", "Slurm job %u stands for this Pod", j->id);
		return;
	}
	if (j->state == JOB_PENDING) {
		decide_pending(v, j, d);
		return;
	}
	if (!job_has_started(j)) {
		unscheduled(d, "Unschedulable", "Slurm job %u starts on %s: its prolog is not done yet", j->id,
		            str_or(j->node, "a node"));
		d->patient = true;
		return;
	}
	decide_place(v, j, d);
}

/* Another scheduler's, or ours before it had another name. But who called with our token and is being ended has a job of ours. */
static void decide_out_of_scope(const struct placeholder_view *v, const struct placeholder_job *j, struct decision *d)
{
	rest(d, USEC_NEVER);
	if (!v->terminate || !v->pod->node_name || pod_is_over(v->pod))
		return;
	event(d, true, "Terminated", "Slurm ends job %u; the Pod is deleted", j->id);
	delete_pod(v, d);
}

void placeholder_decide(const struct placeholder_view *v, struct decision *ret)
{
	const struct placeholder_job *j = placeholder_job_of(v);

	memset(ret, 0, offsetof(struct decision, unscheduled_text) + 1);
	rest(ret, USEC_NEVER);
	if (!v->pod)
		decide_gone(v, ret);
	else if (!v->in_scope)
		decide_out_of_scope(v, j, ret);
	else if (pod_is_over(v->pod))
		decide_over(v, ret);
	else if (v->pod->node_name)
		decide_bound(v, j, ret);
	else if (v->pod->meta.deletion) { /* it never ran: nothing to wait for */
		if (!cancel_others(v, NULL, ret))
			rest(ret, USEC_NEVER);
		ret->event = NULL;
	} else
		decide_unbound(v, j, ret);
}
