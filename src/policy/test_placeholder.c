/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/placeholder.h"

#include <string.h>

#include "base/str.h"
#include "base/test.h"

#define NOW (1000 * USEC_SEC)

static struct pair annotated_7[] = { { ANNOTATION_JOB_ID, "7" } };
static struct toleration lock_tolerated[] = {
	{ .key = TAINT_LOCK, .op = TOLERATE_EXISTS, .effect = EFFECT_NO_EXECUTE },
};
static const char *gate = "wait";
static const struct feasible some_fit = { .n_places = 3, .n_fit = 2, .summary = (char *)"2 of 3 nodes are feasible" };
static const struct feasible none_fits = { .n_places = 3,
	                                   .n_fit = 0,
	                                   .summary = (char *)"0 of 3 nodes are feasible: 3 are cordoned" };
static const struct rules delete_rules = { .on_cancel = ON_CANCEL_DELETE };
static const struct rules resubmit_rules = { .on_cancel = ON_CANCEL_RESUBMIT };

/* Shapes of Pods. */
enum shape {
	NO_POD,
	NEW_POD,
	GATED,
	ADOPTED,
	BOUND,
	BOUND_BY_OTHERS,
	LOST_UNMARKED,
	UNBOUND_LEAVES,
	BOUND_LEAVES,
	DONE
};

static struct pod pod_of(enum shape shape)
{
	static struct condition lost = { .type = CONDITION_JOB_LIVE, .status = COND_FALSE };
	struct pod p = { .meta = { .ns = "a", .name = "p", .uid = "u", .resource_version = "1" },
		         .phase = POD_PENDING };

	if (shape == GATED) {
		p.gates = &gate;
		p.n_gates = 1;
	}
	if (shape == LOST_UNMARKED) {
		p.conditions = &lost;
		p.n_conditions = 1;
	}
	if (shape >= ADOPTED && shape != BOUND_BY_OTHERS && shape != LOST_UNMARKED && shape != UNBOUND_LEAVES) {
		p.meta.annotations = annotated_7;
		p.meta.n_annotations = 1;
		p.tolerations = lock_tolerated;
		p.n_tolerations = 1;
	}
	if (shape == BOUND || shape == BOUND_BY_OTHERS || shape == LOST_UNMARKED || shape == BOUND_LEAVES ||
	    shape == DONE) {
		p.node_name = "k1";
		p.phase = shape == DONE ? POD_SUCCEEDED : POD_RUNNING;
	}
	if (shape == UNBOUND_LEAVES || shape == BOUND_LEAVES)
		p.meta.deletion = 5;
	return p;
}

/* clang-format off */
#define SILENT .hook_restarts = -1
#define HERE .node = "n1", .kube_node = "k1"
#define JOB_RAW(...) { .id = 7, __VA_ARGS__ }
#define JOB(...) JOB_RAW(SILENT, HERE, .excluded_is_current = true, __VA_ARGS__)
#define PENDING JOB_RAW(SILENT, .state = JOB_PENDING, .excluded_is_current = true, .reason = "Resources")
#define IN_PROLOG JOB(.state = JOB_RUNNING)
#define STARTED JOB(.state = JOB_RUNNING, .mark = EXTRA_STARTED)
#define ENDING(s) JOB(.state = (s), .flags = JOBF_COMPLETING, .mark = EXTRA_STARTED)
#define REFUSED(i, since) { .id = (i), HERE, .state = JOB_CANCELLED, .released = true, .over_since = (since) }
#define OVER(s) JOB(.state = (s), .over_since = NOW - USEC_HOUR)

struct scenario {
	const char *what;
	enum shape pod;
	struct placeholder_job jobs[3];
	uint32_t n_jobs;
	bool out_of_scope, jobs_unknown, pod_unseen, terminate, nodes_unknown, none_fits, resubmit, unsure;
	usec_t pod_since;
	enum placing placing;
	enum step want;
	uint32_t want_job;
	const char *want_event, *want_unscheduled; /* reasons; NULL = none */
	bool want_lost, want_live;
	usec_t want_again; /* 0 = not looked at */
};

static const struct scenario scenarios[] = {
	/* the way in */
	{ "a new Pod is submitted", NEW_POD, .want = STEP_SUBMIT },
	{ "not before all jobs have been seen: it may have one", NEW_POD, .jobs_unknown = true, .want = STEP_LIST_JOBS },
	{ "not before the nodes are known", NEW_POD, .nodes_unknown = true, .want = STEP_REST },
	{ "a gated Pod waits", GATED, .want = STEP_REST },
	{ "a Pod that fits nowhere says so", NEW_POD, .none_fits = true, .want = STEP_REST, .want_event = "FailedScheduling",
	  .want_unscheduled = "Unschedulable" },
	{ "a submitted job is written on the Pod", NEW_POD, { PENDING }, 1, .want = STEP_ADOPT, .want_job = 7, .want_event = "Submitted" },
	{ "also one that was found after a crash and runs already", NEW_POD, { STARTED }, 1, .want = STEP_ADOPT, .want_job = 7,
	  .want_event = "Submitted" },
	{ "a pending job: the Pod says why", ADOPTED, { PENDING }, 1, .want = STEP_REST, .want_unscheduled = "Unschedulable" },
	{ "its exclude list is kept current", ADOPTED, { JOB_RAW(SILENT, .state = JOB_PENDING) }, 1, .want = STEP_EXCLUDE,
	  .want_job = 7, .want_unscheduled = "Unschedulable" },
	{ "but not emptied while nodes are not known", ADOPTED, { JOB_RAW(SILENT, .state = JOB_PENDING) }, 1, .nodes_unknown = true,
	  .want = STEP_REST, .want_unscheduled = "Unschedulable" },
	{ "and so is its extra", ADOPTED, { JOB_RAW(SILENT, .state = JOB_PENDING, .misnamed = true) }, 1, .want = STEP_IDENTIFY,
	  .want_job = 7, .want_unscheduled = "Unschedulable" },
	{ "once it runs its script writes that", ADOPTED, { JOB(.state = JOB_RUNNING, .misnamed = true) }, 1, .want = STEP_REST,
	  .want_unscheduled = "Unschedulable" },
	{ "a pending job that fits nowhere any more is given up", ADOPTED, { PENDING }, 1, .none_fits = true, .want = STEP_RELEASE,
	  .want_job = 7, .want_event = "FailedScheduling", .want_unscheduled = "Unschedulable" },
	{ "no binding before the prolog is done", ADOPTED, { IN_PROLOG }, 1, .want = STEP_REST, .want_unscheduled = "Unschedulable" },
	{ "started: first look whether it fits", ADOPTED, { STARTED }, 1, .want = STEP_PLACE, .want_job = 7 },
	{ "the hook's word is enough", ADOPTED, { JOB_RAW(HERE, .state = JOB_RUNNING) }, 1, .want = STEP_PLACE, .want_job = 7 },
	{ "it fits: bind", ADOPTED, { STARTED }, 1, .placing = PLACE_OK, .want = STEP_BIND, .want_job = 7 },
	{ "it does not: give the job back and try again", ADOPTED, { STARTED }, 1, .placing = PLACE_BAD, .want = STEP_RELEASE, .want_job = 7,
	  .want_event = "NodeRefused" },
	{ "given up, and its script started all the same", ADOPTED, { JOB(.state = JOB_RUNNING, .mark = EXTRA_STARTED, .released = true) }, 1,
	  .placing = PLACE_OK, .want = STEP_CANCEL, .want_job = 7 },
	{ "and wrote its mark before it was cancelled: nobody's scancel", ADOPTED,
	  { JOB(.state = JOB_CANCELLED, .mark = EXTRA_STARTED, .released = true, .over_since = NOW) }, 1, .want = STEP_SUBMIT },
	{ "a mark of an earlier run does not count", ADOPTED, { JOB(.state = JOB_RUNNING, .mark = EXTRA_STARTED, .restarts = 1) }, 1,
	  .want = STEP_REST, .want_unscheduled = "Unschedulable" },
	{ "nor does the hook's word of an earlier run", ADOPTED, { JOB_RAW(HERE, .state = JOB_RUNNING, .restarts = 1) }, 1,
	  .want = STEP_REST, .want_unscheduled = "Unschedulable" },
	{ "the mark of this run does", ADOPTED, { JOB(.state = JOB_RUNNING, .mark = EXTRA_STARTED, .restarts = 1, .mark_restarts = 1) }, 1,
	  .want = STEP_PLACE, .want_job = 7 },
	{ "a job that Slurm is about to end is not bound to", ADOPTED, { STARTED }, 1, .terminate = true, .want = STEP_REST },
	{ "a suspended job is no place", ADOPTED, { JOB(.state = JOB_SUSPENDED) }, 1, .want = STEP_RELEASE, .want_job = 7,
	  .want_event = "Suspended" },
	/* exactly one job */
	{ "of two pending jobs the second goes", NEW_POD, { PENDING, { .id = 9, .state = JOB_PENDING, .hook_restarts = -1 } }, 2,
	  .want = STEP_RELEASE, .want_job = 9, .want_event = "DuplicateJob" },
	{ "but one that runs stays", NEW_POD, { PENDING, { .id = 9, .state = JOB_RUNNING, .hook_restarts = -1 } }, 2, .want = STEP_RELEASE,
	  .want_job = 7, .want_event = "DuplicateJob" },
	{ "of a bound Pod's the one on its node stays", BOUND,
	  { JOB_RAW(SILENT, .state = JOB_RUNNING, .mark = EXTRA_STARTED, .node = "n2", .kube_node = "k2"),
	    { .id = 9, .state = JOB_RUNNING, .hook_restarts = -1, .node = "n1", .kube_node = "k1" } },
	  2, .want = STEP_RELEASE, .want_job = 7, .want_event = "DuplicateJob" },
	{ "one too many that we ended is nobody's cancel", ADOPTED, { OVER(JOB_PREEMPTED), { .id = 9, .state = JOB_CANCELLED, .released = true } },
	  2, .want = STEP_SUBMIT },
	{ "and hides nobody's", ADOPTED, { OVER(JOB_CANCELLED), { .id = 9, .state = JOB_CANCELLED, .released = true } }, 2,
	  .want = STEP_DELETE, .want_event = "Cancelled" },
	/* jobs that end before the Pod ran */
	{ "a pending job cancelled by someone: the Pod goes", ADOPTED, { OVER(JOB_CANCELLED) }, 1, .want = STEP_DELETE,
	  .want_event = "Cancelled" },
	{ "or is submitted again, as configured", ADOPTED, { OVER(JOB_CANCELLED) }, 1, .resubmit = true, .want = STEP_SUBMIT },
	{ "cancelled by ourselves: again", ADOPTED, { JOB(.state = JOB_CANCELLED, .released = true, .over_since = NOW) }, 1,
	  .want = STEP_SUBMIT },
	{ "its second node was no good either: after a pause", ADOPTED, { REFUSED(7, NOW - USEC_MINUTE), REFUSED(8, NOW) }, 2, .want = STEP_REST,
	  .want_unscheduled = "Unschedulable", .want_again = NOW + PLACEHOLDER_AGAIN },
	{ "which grows", ADOPTED, { REFUSED(7, NOW - USEC_MINUTE), REFUSED(8, NOW - USEC_MINUTE), REFUSED(9, NOW - USEC_SEC) }, 3, .want = STEP_REST,
	  .want_unscheduled = "Unschedulable", .want_again = NOW - USEC_SEC + 2 * PLACEHOLDER_AGAIN },
	{ "and ends", ADOPTED, { REFUSED(7, NOW - USEC_MINUTE), REFUSED(8, NOW - PLACEHOLDER_AGAIN) }, 2, .want = STEP_SUBMIT },
	{ "also when another one before it ended otherwise", ADOPTED, { OVER(JOB_NODE_FAIL), REFUSED(8, NOW - USEC_SEC), REFUSED(9, NOW) }, 3,
	  .want = STEP_REST, .want_unscheduled = "Unschedulable", .want_again = NOW + PLACEHOLDER_AGAIN },
	{ "given up while it waited: no node was tried", ADOPTED,
	  { { .id = 7, .state = JOB_CANCELLED, .released = true, .over_since = NOW }, { .id = 8, .state = JOB_CANCELLED, .released = true, .over_since = NOW } },
	  2, .want = STEP_SUBMIT },
	{ "given up, but not cancelled yet (crash in between)", ADOPTED, { JOB(.state = JOB_PENDING, .released = true) }, 1,
	  .want = STEP_CANCEL, .want_job = 7 },
	{ "a prolog that failed is no cancel", ADOPTED, { JOB(.state = JOB_CANCELLED, .launch_failed = true, .over_since = NOW) }, 1,
	  .want = STEP_REST, .want_event = "LaunchFailed", .want_unscheduled = "Unschedulable", .want_again = NOW + PLACEHOLDER_AGAIN },
	{ "preempted before it ran: again, after a pause", ADOPTED, { JOB(.state = JOB_PREEMPTED, .over_since = NOW) }, 1, .want = STEP_REST,
	  .want_event = "Preempted", .want_unscheduled = "Unschedulable", .want_again = NOW + PLACEHOLDER_AGAIN },
	{ "after the pause", ADOPTED, { OVER(JOB_PREEMPTED) }, 1, .want = STEP_SUBMIT },
	{ "the pause grows", ADOPTED, { OVER(JOB_NODE_FAIL), { .id = 8, .state = JOB_NODE_FAIL, .over_since = NOW } }, 2, .want = STEP_REST,
	  .want_event = "NodeFailed", .want_unscheduled = "Unschedulable", .want_again = NOW + 2 * PLACEHOLDER_AGAIN },
	{ "a controller that lost its state: again", ADOPTED, .want = STEP_SUBMIT },
	{ "nothing new while the old one ends", ADOPTED, { ENDING(JOB_CANCELLED) }, 1, .want = STEP_REST, .want_unscheduled = "Unschedulable" },
	/* the Pod runs */
	{ "all is well", BOUND, { STARTED }, 1, .want = STEP_REST },
	{ "the answer to the binding was lost: once more", BOUND, { STARTED }, 1, .unsure = true, .want = STEP_BIND, .want_job = 7 },
	{ "but not when the Pod is on its way out", BOUND_LEAVES, { STARTED }, 1, .unsure = true, .want = STEP_REST },
	{ "nor when the job ends: it may run", BOUND, { ENDING(JOB_CANCELLED) }, 1, .unsure = true, .want = STEP_DELETE, .want_event = "Cancelled" },
	{ "a changed annotation is put right", BOUND, { { .id = 8, .state = JOB_RUNNING, .mark = EXTRA_STARTED, .hook_restarts = -1, .node = "n1", .kube_node = "k1" } },
	  1, .want = STEP_ADOPT, .want_job = 8 },
	{ "a Pod that someone placed is not ours", BOUND_BY_OTHERS, .want = STEP_REST },
	{ "cancelled: the Pod goes first", BOUND, { ENDING(JOB_CANCELLED) }, 1, .want = STEP_DELETE, .want_event = "Cancelled" },
	{ "timed out", BOUND, { ENDING(JOB_TIMEOUT) }, 1, .want = STEP_DELETE, .want_event = "TimedOut" },
	{ "preempted", BOUND, { ENDING(JOB_PREEMPTED) }, 1, .want = STEP_DELETE, .want_event = "Preempted" },
	{ "the script was told to end", BOUND, { STARTED }, 1, .terminate = true, .want = STEP_DELETE, .want_event = "Terminated" },
	{ "and is on its way", BOUND_LEAVES, { ENDING(JOB_CANCELLED) }, 1, .want = STEP_REST, .want_event = "Cancelled" },
	{ "deleted by a person: the job stays until it is gone", BOUND_LEAVES, { STARTED }, 1, .want = STEP_REST },
	{ "the node failed: the Pod has no allocation", BOUND, { OVER(JOB_NODE_FAIL) }, 1, .want = STEP_DELETE, .want_event = "NodeFailed",
	  .want_lost = true },
	{ "killed at KillWait: still there", BOUND_LEAVES, { OVER(JOB_CANCELLED) }, 1, .want = STEP_REST, .want_event = "Cancelled",
	  .want_lost = true },
	{ "Slurm lost its state", BOUND, .want = STEP_DELETE, .want_event = "JobLost", .want_lost = true },
	{ "and someone took the annotation off", LOST_UNMARKED, .want = STEP_DELETE, .want_event = "JobLost", .want_lost = true },
	{ "not known is not lost", BOUND, .jobs_unknown = true, .want = STEP_LIST_JOBS },
	{ "an ended job with others unknown is not lost either", BOUND, { OVER(JOB_CANCELLED) }, 1, .jobs_unknown = true, .want = STEP_LIST_JOBS },
	{ "requeued by an admin: the Pod goes", BOUND, { PENDING }, 1, .want = STEP_DELETE, .want_event = "Requeued", .want_lost = true },
	{ "also while its first run still ends", BOUND, { JOB(.state = JOB_PENDING, .flags = JOBF_COMPLETING, .restarts = 1) }, 1,
	  .want = STEP_DELETE, .want_event = "Requeued" },
	{ "then the job", BOUND_LEAVES, { PENDING }, 1, .want = STEP_CANCEL, .want_job = 7, .want_lost = true },
	{ "resumed before it went: all is well again", BOUND, { STARTED }, 1, .want = STEP_REST, .want_live = true },
	{ "suspended: the Pod goes", BOUND, { JOB(.state = JOB_SUSPENDED) }, 1, .want = STEP_DELETE, .want_event = "Suspended", .want_lost = true },
	{ "a job on another node is not the Pod's", BOUND, { JOB_RAW(SILENT, .state = JOB_RUNNING, .mark = EXTRA_STARTED, .node = "n2", .kube_node = "k2") }, 1,
	  .want = STEP_RELEASE, .want_job = 7, .want_event = "WrongNode" },
	{ "another scheduler's is left alone", BOUND, { ENDING(JOB_CANCELLED) }, 1, .out_of_scope = true, .want = STEP_REST },
	{ "unless its script, which has our token, says that it is being ended", BOUND, { STARTED }, 1, .out_of_scope = true, .terminate = true,
	  .want = STEP_DELETE, .want_event = "Terminated" },
	/* the Pod is over */
	{ "the script is told and ends by itself", DONE, { STARTED }, 1, .pod_since = NOW - USEC_SEC, .want = STEP_REST,
	  .want_again = NOW - USEC_SEC + PLACEHOLDER_LINGER },
	{ "or is cancelled", DONE, { STARTED }, 1, .pod_since = NOW - PLACEHOLDER_LINGER, .want = STEP_CANCEL, .want_job = 7 },
	{ "nothing left", DONE, { OVER(JOB_COMPLETE) }, 1, .pod_since = NOW - USEC_HOUR, .want = STEP_REST },
	/* the Pod is gone */
	{ "deleted while pending: cancelled at once", NO_POD, { PENDING }, 1, .pod_since = NOW, .want = STEP_CANCEL, .want_job = 7 },
	{ "and in the prolog", NO_POD, { IN_PROLOG }, 1, .pod_since = NOW, .want = STEP_CANCEL, .want_job = 7 },
	{ "deleted while running: the script ends by itself", NO_POD, { STARTED }, 1, .pod_since = NOW, .want = STEP_REST,
	  .want_again = NOW + PLACEHOLDER_LINGER },
	{ "or is cancelled", NO_POD, { STARTED }, 1, .pod_since = NOW - PLACEHOLDER_LINGER, .want = STEP_CANCEL, .want_job = 7 },
	{ "a Pod that we never saw may only be new to us", NO_POD, { PENDING }, 1, .pod_unseen = true, .pod_since = NOW, .want = STEP_REST,
	  .want_again = NOW + PLACEHOLDER_UNSEEN },
	{ "until it had its time to appear", NO_POD, { PENDING }, 1, .pod_unseen = true, .pod_since = NOW - PLACEHOLDER_UNSEEN,
	  .want = STEP_CANCEL, .want_job = 7 },
	{ "what ends already is left to end", NO_POD, { ENDING(JOB_CANCELLED) }, 1, .pod_since = NOW - USEC_HOUR, .want = STEP_REST },
	{ "deleted before it was bound", UNBOUND_LEAVES, { PENDING }, 1, .want = STEP_CANCEL, .want_job = 7 },
	{ "and nothing to cancel", UNBOUND_LEAVES, .want = STEP_REST },
};
/* clang-format on */

static void check(const struct scenario *c)
{
	struct pod pod = pod_of(c->pod);
	const struct placeholder_view v = {
		.pod = c->pod == NO_POD ? NULL : &pod,
		.pod_was_seen = !c->pod_unseen,
		.in_scope = !c->out_of_scope,
		.pod_since = c->pod_since,
		.jobs = c->jobs,
		.n_jobs = c->n_jobs,
		.jobs_known = !c->jobs_unknown,
		.terminate = c->terminate,
		.bind_unsure = c->unsure,
		.feasible = c->nodes_unknown ? NULL
		            : c->none_fits   ? &none_fits
		                             : &some_fit,
		.placing = c->placing,
		.rules = c->resubmit ? &resubmit_rules : &delete_rules,
		.now = NOW,
	};
	struct decision d;

	placeholder_decide(&v, &d);
	if (d.step != c->want || d.job != c->want_job)
		fail_msg("%s: %s of job %u instead of %s of job %u", c->what, step_name(d.step), d.job,
		         step_name(c->want), c->want_job);
	if (!str_eq(d.event, c->want_event))
		fail_msg("%s: event %s instead of %s", c->what, str_or(d.event, "none"), str_or(c->want_event, "none"));
	if (!str_eq(d.unscheduled, c->want_unscheduled))
		fail_msg("%s: unscheduled because of %s instead of %s", c->what, str_or(d.unscheduled, "nothing"),
		         str_or(c->want_unscheduled, "nothing"));
	if (c->want_live && !d.live)
		fail_msg("%s: not live", c->what);
	if (d.lost && d.live)
		fail_msg("%s: lost and live", c->what);
	if (d.lost != c->want_lost)
		fail_msg("%s: lost is %d", c->what, d.lost);
	if (c->want_again && d.again != c->want_again)
		fail_msg("%s: again at %lld instead of %lld", c->what, (long long)d.again, (long long)c->want_again);
}

static void test_a_requeued_job_s_script_is_of_the_run_before(void **state)
{
	struct placeholder_job j = { .state = JOB_RUNNING, .restarts = 2 };

	(void)state;
	assert_int_equal(job_run(&j), 2);
	j.state = JOB_PENDING;
	assert_int_equal(job_run(&j), 2);
	j.flags = JOBF_COMPLETING;
	assert_int_equal(job_run(&j), 1);
	j.restarts = 0;
	assert_int_equal(job_run(&j), 0);
}

static void test_one_step_for_every_situation(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(scenarios); i++)
		check(&scenarios[i]);
}

static void test_all_problems_of_a_pod_are_told_at_once_and_nothing_is_submitted(void **state)
{
	struct pod pod = pod_of(NEW_POD);
	_cleanup_problems_ struct problems problems = PROBLEMS_INIT;
	struct placeholder_view v = { .pod = &pod,
		                      .in_scope = true,
		                      .jobs_known = true,
		                      .feasible = &some_fit,
		                      .problems = &problems,
		                      .rules = &delete_rules,
		                      .now = NOW };
	struct decision d;

	(void)state;
	problem_error(&problems, "spec.a", "is wrong");
	problem_error(&problems, "spec.b", "is wrong too");
	placeholder_decide(&v, &d);
	assert_int_equal(d.step, STEP_REST);
	assert_string_equal(d.unscheduled, "ValidationFailed");
	assert_string_equal(d.event, "ValidationFailed");
	assert_non_null(strstr(d.event_text, "spec.a: is wrong"));
	assert_non_null(strstr(d.event_text, "spec.b: is wrong too"));
	for (int i = 0; i < 20; i++)
		problem_error(&problems, "spec.c", "is %d of twenty with more words than an event has room for", i);
	placeholder_decide(&v, &d);
	assert_non_null(strstr(d.unscheduled_text, "spec.a: is wrong; spec.b"));
	assert_true(str_ends(d.unscheduled_text, "is 19 of twenty with more words than an event has room for"));
	assert_true(str_starts(d.event_text, "spec.a: is wrong; spec.b"));
	assert_true(str_ends(d.event_text, "has room for; and 7 more; see the condition PodScheduled"));
}

static void test_what_slurm_refused_is_said_in_its_words_and_tried_again_later(void **state)
{
	struct pod pod = pod_of(NEW_POD);
	struct placeholder_view v = { .pod = &pod,
		                      .in_scope = true,
		                      .jobs_known = true,
		                      .feasible = &some_fit,
		                      .rules = &delete_rules,
		                      .refused = "Invalid partition name specified",
		                      .refused_until = NOW + 1,
		                      .now = NOW };
	struct decision d;

	(void)state;
	placeholder_decide(&v, &d);
	assert_int_equal(d.step, STEP_REST);
	assert_int_equal(d.again, NOW + 1);
	assert_non_null(strstr(d.unscheduled_text, "Invalid partition name specified"));
	v.now = v.refused_until;
	placeholder_decide(&v, &d);
	assert_int_equal(d.step, STEP_SUBMIT);
}

static void test_foreign_pods_are_left_alone(void **state)
{
	struct pod pod = pod_of(NEW_POD);
	struct placeholder_view v = {
		.pod = &pod, .jobs_known = true, .feasible = &some_fit, .rules = &delete_rules, .now = NOW
	};
	struct decision d;

	(void)state;
	placeholder_decide(&v, &d);
	assert_int_equal(d.step, STEP_REST);
	assert_null(d.event);
}

static void test_an_end_is_told_once_and_a_preemption_with_its_cause(void **state)
{
	struct pod pod = pod_of(BOUND);
	struct placeholder_job j = ENDING(JOB_PREEMPTED);
	struct placeholder_view v = { .pod = &pod,
		                      .in_scope = true,
		                      .jobs = &j,
		                      .n_jobs = 1,
		                      .jobs_known = true,
		                      .feasible = &some_fit,
		                      .rules = &delete_rules,
		                      .now = NOW };
	char text[DECISION_TEXT_MAX];
	struct decision d;

	(void)state;
	placeholder_decide(&v, &d);
	assert_string_equal(d.event, "Preempted");
	assert_int_equal(d.step, STEP_DELETE); /* which does not wait */
	assert_true(d.event_waits);
	j.preemptor_sought = true;
	placeholder_decide(&v, &d);
	assert_false(d.event_waits);
	j.preemptor = "9 (train of alice)";
	placeholder_decide(&v, &d);
	assert_non_null(strstr(d.event_text, "by Slurm job 9 (train of alice)"));
	assert_int_equal(d.event_job, 7);
	j.flags = 0; /* over, and the Pod is still there: the same end */
	placeholder_decide(&v, &d);
	assert_string_equal(d.event, "Preempted");
	assert_int_equal(d.event_job, 7);
	assert_null(d.and_so);
	j.state = JOB_CANCELLED;
	placeholder_decide(&v, &d);
	assert_false(d.event_waits);
	cancelled_text(d.event_job, NULL, d.and_so, text); /* as it is told when nobody knows who it was */
	assert_string_equal(d.event_text, text);
	cancelled_text(d.event_job, "user alice (uid 1000)", d.and_so, text);
	assert_non_null(strstr(text, "Slurm job 7 was cancelled by user alice (uid 1000); the Pod "));
	j.launch_failed = true; /* that was nobody */
	placeholder_decide(&v, &d);
	assert_null(d.and_so);
}

static void test_adoption_needs_annotation_toleration_and_deadline(void **state)
{
	struct pod pod = pod_of(ADOPTED);
	struct toleration seconds = lock_tolerated[0], all = { .op = TOLERATE_EXISTS };

	(void)state;
	assert_true(pod_is_adopted(&pod, 7, 0));
	assert_false(pod_is_adopted(&pod, 8, 0));
	assert_false(pod_is_adopted(&pod, 7, 5));
	pod.active_deadline_s = 60;
	assert_true(pod_is_adopted(&pod, 7, 5));
	pod.tolerations = &all;
	assert_true(pod_is_adopted(&pod, 7, 0));
	seconds.has_seconds = true;
	pod.tolerations = &seconds; /* a lock that stays would still evict it */
	assert_false(pod_is_adopted(&pod, 7, 0));
}

TEST_MAIN(TEST(a_requeued_job_s_script_is_of_the_run_before), TEST(one_step_for_every_situation),
          TEST(all_problems_of_a_pod_are_told_at_once_and_nothing_is_submitted),
          TEST(what_slurm_refused_is_said_in_its_words_and_tried_again_later), TEST(foreign_pods_are_left_alone),
          TEST(an_end_is_told_once_and_a_preemption_with_its_cause),
          TEST(adoption_needs_annotation_toleration_and_deadline))
