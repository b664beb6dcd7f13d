/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/explain_pod.h"

#include <string.h>

#include "base/str.h"
#include "base/test.h"
#include "policy/annotations.h"
#include "policy/explain_reason.h"
#include "policy/placeholder.h"

#define NOW (1000000 * USEC_SEC)
#define OURS .scheduler_name = "slurm-lab"
#define META .meta = { .ns = "ml", .name = "web", .uid = "u1", .created = NOW - 200 * USEC_SEC }

static const struct rules rules = { .scheduler_name = "slurm-lab" };

static struct condition unscheduled = {
	.type = "PodScheduled", .status = COND_FALSE, .reason = "Unschedulable", .message = "0 of 3 nodes are feasible"
};
static struct condition not_live = { .type = CONDITION_JOB_LIVE, .status = COND_FALSE };
static struct pair job_id = { ANNOTATION_JOB_ID, "7" };
static struct condition node_ready = { .type = "Ready", .status = COND_TRUE };
static struct condition node_unready = { .type = "Ready", .status = COND_UNKNOWN };
static const char *gates[] = { "example.com/quota", "other" };
static struct container_status pulls = {
	.name = "main", .waiting = true, .reason = "ImagePullBackOff", .message = "no such image"
};
static struct container_status failed = { .name = "main", .terminated = true, .exit_code = 3 };

static const struct pod
        fresh = { META, OURS, .phase = POD_PENDING },
        young = { .meta = { .ns = "ml", .name = "web", .uid = "u1", .created = NOW - 2 * USEC_SEC },
	          OURS,
	          .phase = POD_PENDING },
        foreign = { META, .scheduler_name = "default-scheduler", .phase = POD_PENDING },
        nowhere = { META, OURS, .phase = POD_PENDING, .conditions = &unscheduled, .n_conditions = 1 },
        gated = { META, OURS, .phase = POD_PENDING, .gates = gates, .n_gates = 2 },
        bound = { META, OURS, .phase = POD_PENDING, .node_name = "k1", .statuses = &pulls, .n_statuses = 1 },
        running = { META, OURS, .phase = POD_RUNNING, .node_name = "k1" },
        forgotten = { .meta = { .ns = "ml",
	                        .name = "web",
	                        .uid = "u1",
	                        .created = NOW - 200 * USEC_SEC,
	                        .annotations = &job_id,
	                        .n_annotations = 1 },
	              OURS,
	              .phase = POD_RUNNING,
	              .node_name = "k1" },
        marked = { META, OURS, .phase = POD_RUNNING, .node_name = "k1", .conditions = &not_live, .n_conditions = 1 },
        done = { META, OURS, .phase = POD_SUCCEEDED, .node_name = "k1" },
        broken = { META, OURS, .phase = POD_FAILED, .node_name = "k1", .statuses = &failed, .n_statuses = 1 },
        deleted = { .meta = { .ns = "ml",
	                      .name = "web",
	                      .uid = "u1",
	                      .created = NOW - 200 * USEC_SEC,
	                      .deletion = NOW - 60 * USEC_SEC },
	            OURS,
	            .phase = POD_RUNNING,
	            .node_name = "k1" },
        deleted_unbound = { .meta = { .ns = "ml", .name = "web", .uid = "u1", .created = NOW, .deletion = NOW },
	                    OURS,
	                    .phase = POD_PENDING };

static const struct job
        pending = { .id = 7,
	            .state = JOB_PENDING,
	            .reason = "Resources",
	            .partition = "main",
	            .submitted = NOW - 190 * USEC_SEC,
	            .extra = "ml/web/u1" },
        held = { .id = 7,
	         .state = JOB_PENDING,
	         .reason = "JobHeldUser",
	         .reason_detail = "launch failed requeued held",
	         .extra = "ml/web/u1" },
        strange = { .id = 7, .state = JOB_PENDING, .reason = "Whatever", .extra = "ml/web/u1" },
        prolog = { .id = 7, .state = JOB_RUNNING, .reason = "Prolog", .nodes = "n1", .extra = "ml/web/u1" },
        started = { .id = 7, .state = JOB_RUNNING, .nodes = "n1", .extra = "ml/web/u1: started" },
        restarted = { .id = 7, .state = JOB_RUNNING, .nodes = "n1", .restarts = 1, .extra = "ml/web/u1: started" },
        completing = { .id = 7,
	               .state = JOB_CANCELLED,
	               .flags = JOBF_COMPLETING,
	               .nodes = "n1",
	               .extra = "ml/web/u1: started" },
        suspended = { .id = 7, .state = JOB_SUSPENDED, .nodes = "n1", .extra = "ml/web/u1: started" },
        cancelled = { .id = 7, .state = JOB_CANCELLED, .extra = "ml/web/u1" };

static const struct knode ready_node = { .meta = { .name = "k1" }, .conditions = &node_ready, .n_conditions = 1 },
                          dead_node = { .meta = { .name = "k1" },
	                                .conditions = &node_unready,
	                                .n_conditions = 1,
	                                .unschedulable = true };
static const struct snode silent_node = { .name = "n1",
	                                  .state = NODE_IDLE,
	                                  .flags = NODEF_NO_RESPOND | NODEF_DRAIN,
	                                  .reason = "k8s: pod not ready",
	                                  .cpus = 64 };

/* What there is, and what is to be said of it. Texts are parts of what is said. */
static const struct row {
	const struct pod *pod;
	const struct job *job;
	const struct knode *knode;
	const struct snode *snode;
	const char *slurm_error, *leader;
	const char *state, *summary, *waits_for, *todo;
} rows[] = {
	{ .state = "absent", .summary = "There is no Pod ml/web." },
	{ .job = &cancelled, .state = "absent", .summary = "There is no Pod ml/web." },
	{ .job = &pending,
	  .state = "orphan",
	  .summary = "no Pod ml/web, but Slurm job 7 still stands for one",
	  .waits_for = "scheduler to cancel",
	  .todo = "scancel 7" },
	{ .pod = &foreign,
	  .state = "foreign",
	  .summary = "its spec.schedulerName is default-scheduler",
	  .todo = "spec.schedulerName: slurm-lab" },
	{ .pod = &fresh,
	  .state = "unsubmitted",
	  .summary = "has no Slurm job yet",
	  .waits_for = "scheduler to submit one",
	  .todo = "a scheduler named slurm-lab runs and looks at namespace ml" },
	{ .pod = &young, .state = "unsubmitted", .waits_for = "scheduler to submit one" },
	{ .pod = &young,
	  .leader = "",
	  .state = "unsubmitted",
	  .waits_for = "scheduler to submit one",
	  .todo = "nobody leads the scheduler slurm-lab" },
	{ .pod = &nowhere, .state = "unsubmitted", .waits_for = "0 of 3 nodes are feasible" },
	{ .pod = &nowhere,
	  .job = &cancelled,
	  .state = "unsubmitted",
	  .summary = "has no Slurm job any more",
	  .waits_for = "0 of 3 nodes" },
	{ .pod = &gated,
	  .state = "gated",
	  .waits_for = "gate example.com/quota and others to be removed",
	  .todo = "whoever set the gate" },
	{ .pod = &fresh,
	  .slurm_error = "munge is away",
	  .state = "unknown",
	  .summary = "Slurm cannot be asked why",
	  .waits_for = "munge is away",
	  .todo = "sunk check" },
	{ .pod = &fresh,
	  .job = &pending,
	  .state = "queued",
	  .summary = "waits in Slurm's queue as job 7 (Resources)",
	  .waits_for = "free resources",
	  .todo = "runs when jobs or Pods end" },
	{ .pod = &fresh,
	  .job = &held,
	  .state = "queued",
	  .waits_for = "someone to release it: its owner, or Slurm after a failed start, holds it (launch failed "
	               "requeued held)",
	  .todo = "`scontrol release 7`" },
	{ .pod = &fresh,
	  .job = &strange,
	  .state = "queued",
	  .summary = "(Whatever)",
	  .todo = "`scontrol show job 7` tells more" },
	{ .pod = &fresh,
	  .job = &prolog,
	  .state = "placed",
	  .summary = "Slurm has chosen n1 for Pod ml/web and starts its job 7 there",
	  .waits_for = "the prolog of n1" },
	{ .pod = &fresh, .job = &restarted, .state = "placed", .waits_for = "the prolog of n1" },
	{ .pod = &fresh,
	  .job = &prolog,
	  .snode = &silent_node,
	  .state = "placed",
	  .waits_for = "the prolog of n1",
	  .todo = "n1 does not respond" },
	{ .pod = &fresh, .job = &started, .state = "placed", .waits_for = "the scheduler to bind it" },
	{ .pod = &fresh,
	  .job = &started,
	  .leader = "",
	  .state = "placed",
	  .waits_for = "the scheduler to bind it",
	  .todo = "nobody leads" },
	{ .pod = &fresh, .job = &completing, .state = "ending", .summary = "Slurm ends job 7" },
	{ .pod = &fresh, .job = &suspended, .state = "suspended", .todo = "`scontrol resume 7`" },
	{ .pod = &bound,
	  .job = &started,
	  .knode = &ready_node,
	  .state = "starting",
	  .summary = "starts on k1",
	  .waits_for = "the kubelet of k1",
	  .todo = "container main waits: ImagePullBackOff, no such image" },
	{ .pod = &running,
	  .job = &started,
	  .knode = &ready_node,
	  .state = "running",
	  .summary = "Pod ml/web runs on k1." },
	{ .pod = &running, .job = &started, .knode = &dead_node, .state = "running", .todo = "k1 is not Ready" },
	{ .pod = &running, .slurm_error = "away", .state = "running" },
	{ .pod = &running,
	  .job = &cancelled,
	  .state = "lost",
	  .summary = "no Slurm job holds that place for it any more",
	  .waits_for = "scheduler to delete it",
	  .todo = "its controller" },
	{ .pod = &forgotten, .state = "lost", .waits_for = "scheduler to delete it", .todo = "its controller" },
	{ .pod = &marked, .state = "lost", .waits_for = "scheduler to delete it", .todo = "its controller" },
	{ .pod = &running, .state = "bypassed", .summary = "the scheduler leaves it alone", .todo = "spec.nodeName" },
	{ .pod = &done, .job = &started, .state = "succeeded", .waits_for = "its placeholder job 7 to end" },
	{ .pod = &broken,
	  .job = &cancelled,
	  .state = "failed",
	  .summary = "exit code 3",
	  .todo = "kubectl logs -n ml web" },
	{ .pod = &deleted,
	  .job = &started,
	  .knode = &ready_node,
	  .state = "ending",
	  .summary = "its Slurm job ends only when it is gone",
	  .waits_for = "the kubelet of k1 to end",
	  .todo = "gone 1m ago" },
	{ .pod = &deleted,
	  .job = &started,
	  .knode = &dead_node,
	  .state = "ending",
	  .waits_for = "the kubelet of k1 to end",
	  .todo = "kubectl delete pod -n ml web --grace-period=0 --force" },
	{ .pod = &deleted_unbound, .job = &pending, .state = "ending", .summary = "is being deleted" },
};

static void assert_has(const struct row *r, const char *said, const char *part)
{
	if (part ? !strstr(said, part) : false)
		fail_msg("row %td: no '%s' in '%s'", r - rows, part, said);
}

static void test_each_way_a_pod_can_be_is_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];
		const struct pod_facts f = {
			.ns = "ml",
			.name = "web",
			.pod = r->pod,
			.rules = &rules,
			.jobs = r->job,
			.n_jobs = r->job ? 1 : 0,
			.slurm_error = r->slurm_error,
			.snode = r->snode,
			.knode = r->knode,
			.leader = r->leader,
			.now = NOW,
		};
		struct explanation e;

		explain_pod(&f, &e);
		if (!str_eq(e.state, r->state))
			fail_msg("row %zu is '%s', not '%s'", i, e.state, r->state);
		assert_has(r, e.summary, r->summary);
		assert_true(*e.summary);
		assert_has(r, e.waits_for, r->waits_for);
		if (!r->waits_for && !str_eq(r->state, "queued"))
			assert_string_equal(e.waits_for, "");
		assert_has(r, e.n_todo ? e.todo[0] : "", r->todo);
		if (!r->todo && e.n_todo)
			fail_msg("row %zu has to do: %s", i, e.todo[0]);
	}
}

static void test_all_problems_of_a_refused_pod_are_told(void **state)
{
	_cleanup_problems_ struct problems problems = PROBLEMS_INIT;
	struct pod_facts f = {
		.ns = "ml", .name = "web", .pod = &fresh, .rules = &rules, .problems = &problems, .now = NOW
	};
	struct explanation e;

	(void)state;
	problem_warning(&problems, "x", "only a warning");
	explain_pod(&f, &e);
	assert_string_equal(e.state, "unsubmitted");
	problem_error(&problems, "spec.a", "is bad");
	problem_error(&problems, "spec.b", "is worse");
	explain_pod(&f, &e);
	assert_string_equal(e.state, "refused");
	assert_int_equal(e.n_todo, 2);
	assert_string_equal(e.todo[0], "spec.a: is bad");
	assert_string_equal(e.todo[1], "spec.b: is worse");
	f.jobs = &pending; /* it was taken before, and Slurm has it */
	f.n_jobs = 1;
	explain_pod(&f, &e);
	assert_string_equal(e.state, "queued");
}

static void test_the_job_that_lives_counts(void **state)
{
	const struct job two[] = { pending, cancelled };
	struct pod_facts f = {
		.ns = "ml", .name = "web", .pod = &fresh, .rules = &rules, .jobs = two, .n_jobs = 2, .now = NOW
	};
	struct explanation e;

	(void)state;
	assert_ptr_equal(explain_job_of(&f), &two[0]);
	explain_pod(&f, &e);
	assert_string_equal(e.state, "queued");
	f.jobs = &two[1];
	f.n_jobs = 1;
	assert_ptr_equal(explain_job_of(&f), &two[1]);
	f.n_jobs = 0;
	assert_null(explain_job_of(&f));
}

static bool has_fact(const struct explanation *e, const char *about, const char *part)
{
	for (size_t i = 0; i < e->n_facts; i++)
		if (str_eq(e->facts[i].about, about) && strstr(e->facts[i].text, part))
			return true;
	return false;
}

static void test_the_facts_are_told_too(void **state)
{
	static const struct pod_event events[] = { { "Normal", "Submitted", "Slurm job 7", NOW - 190 * USEC_SEC, 1 },
		                                   { "Warning", "Waiting", "still", NOW - 10 * USEC_SEC, 4 } };
	const struct pod_facts f = { .ns = "ml",
		                     .name = "web",
		                     .pod = &nowhere,
		                     .rules = &rules,
		                     .jobs = &pending,
		                     .n_jobs = 1,
		                     .snode = &silent_node,
		                     .knode = &dead_node,
		                     .leader = "sched-0_1",
		                     .events = events,
		                     .n_events = 2,
		                     .now = NOW };
	struct explanation e;

	(void)state;
	explain_pod(&f, &e);
	assert_true(has_fact(&e, "Pod", "Pending, made 3m20s ago, asks for 0 CPUs, 0 MiB of memory"));
	assert_true(has_fact(&e, "Pod", "PodScheduled=False, Unschedulable: 0 of 3 nodes are feasible"));
	assert_true(has_fact(&e, "Job", "7 is pending (Resources), partition main, submitted 3m10s ago"));
	assert_true(has_fact(&e, "Slurm node",
	                     "n1 is drained (k8s: pod not ready) and does not respond, 0 of 64 CPUs in use"));
	assert_true(has_fact(&e, "Node", "k1: not Ready, cordoned"));
	assert_true(has_fact(&e, "Scheduler", "led by sched-0_1"));
	assert_true(has_fact(&e, "Event", "3m10s ago, Submitted: Slurm job 7"));
	assert_true(has_fact(&e, "Event", "10s ago (4 times), Waiting: still"));
}

static void test_many_facts_and_long_texts_are_bounded(void **state)
{
	struct job jobs[60];
	char reason[4000];
	struct pod_facts f = { .ns = "ml",
		               .name = "web",
		               .pod = &fresh,
		               .rules = &rules,
		               .jobs = jobs,
		               .n_jobs = ARRAY_LEN(jobs),
		               .now = NOW };
	struct explanation e;

	(void)state;
	memset(reason, 'x', sizeof(reason));
	reason[sizeof(reason) - 1] = 0;
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
		jobs[i] = pending;
		jobs[i].reason = reason;
	}
	explain_pod(&f, &e);
	assert_int_equal(e.n_facts, EXPLAIN_FACTS_MAX);
	assert_true(strlen(e.summary) < EXPLAIN_TEXT_MAX);
}

static void test_reasons_of_one_kind_share_their_words(void **state)
{
	(void)state;
	assert_ptr_equal(slurm_reason_of("QOSMaxCpuPerUserLimit"), slurm_reason_of("QOSGrpGRES"));
	assert_ptr_equal(slurm_reason_of(NULL), slurm_reason_of("None"));
	assert_ptr_not_equal(slurm_reason_of("PartitionDown"), slurm_reason_of("PartitionTimeLimit"));
	assert_string_equal(slurm_reason_of("NoneOfThese")->word, "");
}

TEST_MAIN(TEST(each_way_a_pod_can_be_is_told), TEST(all_problems_of_a_refused_pod_are_told),
          TEST(the_job_that_lives_counts), TEST(the_facts_are_told_too), TEST(many_facts_and_long_texts_are_bounded),
          TEST(reasons_of_one_kind_share_their_words))
