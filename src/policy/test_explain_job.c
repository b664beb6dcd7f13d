/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/explain_job.h"

#include <string.h>

#include "base/str.h"
#include "base/test.h"
#include "policy/lock.h"

#define NOW (1000000 * USEC_SEC)
#define JOB .id = 7, .name = "train", .user = "ann", .partition = "main", .submitted = NOW - 90 * USEC_SEC

static struct pair asks_lock[] = { { LOCK_REQUEST_ANNOTATION, "normal" }, { LOCK_EPOCH_ANNOTATION, "4" } };
static const struct pod locking = {
	.meta = { .ns = "slurm", .name = "n1", .annotations = asks_lock, .n_annotations = 2 }, .node_name = "k1"
};
static struct pod stray = { .meta = { .ns = "web", .name = "a" }, .phase = POD_RUNNING, .node_name = "k1" };
static struct pod *const there[] = { &stray };
static const struct node_facts blocked = { .name = "n1", .pod = &locking, .pods = there, .n_pods = 1 },
                               unlocked = { .name = "n1", .pod = &locking };

static const struct job pending = { JOB, .state = JOB_PENDING, .reason = "Priority" },
                        held = { JOB, .state = JOB_PENDING, .reason = "JobHeldUser" },
                        running = { JOB, .state = JOB_RUNNING, .nodes = "n1", .started = NOW - 60 * USEC_SEC },
                        configuring = { JOB, .state = JOB_RUNNING, .flags = JOBF_CONFIGURING, .nodes = "n1" },
                        placeholder = { JOB, .state = JOB_RUNNING, .nodes = "n1", .extra = "ml/web/u1: started",
	                                .started = NOW - 60 * USEC_SEC },
                        starting = { JOB, .state = JOB_RUNNING, .nodes = "n1", .extra = "ml/web/u1" },
                        ending = { JOB, .state = JOB_CANCELLED, .flags = JOBF_COMPLETING, .nodes = "n1" },
                        ending_pod = { JOB, .state = JOB_CANCELLED, .flags = JOBF_COMPLETING, .nodes = "n1",
	                               .extra = "ml/web/u1: started" },
                        suspended = { JOB, .state = JOB_SUSPENDED, .nodes = "n1" },
                        done = { JOB, .state = JOB_COMPLETE, .nodes = "n1", .ended = NOW - 5 * USEC_SEC },
                        failed = { JOB, .state = JOB_FAILED, .nodes = "n1", .exit_status = 3,
	                           .ended = NOW - 5 * USEC_SEC },
                        prolog = { JOB, .state = JOB_CANCELLED, .nodes = "n1", .batch_host = "n1",
	                           .prolog_failed = true };

static const struct row {
	const struct job *job;
	const struct node_facts *node;
	const char *slurm_error;
	const char *state, *summary, *waits_for, *todo;
} rows[] = {
	{ .state = "absent", .summary = "knows no job 7", .todo = "sacct -j 7" },
	{ .slurm_error = "refused", .state = "unknown", .waits_for = "refused", .todo = "sunk check" },
	{ .job = &pending,
	  .state = "queued",
	  .summary = "Job 7 waits in Slurm's queue (Priority)",
	  .waits_for = "jobs of higher priority",
	  .todo = "squeue --start -j 7" },
	{ .job = &held, .state = "queued", .waits_for = "someone to release it", .todo = "`scontrol release 7`" },
	{ .job = &configuring,
	  .state = "starting",
	  .summary = "has its nodes (n1)",
	  .waits_for = "the prologs to end" },
	{ .job = &running,
	  .node = &blocked,
	  .state = "starting",
	  .waits_for = "Pods to leave k1: web/a does not tolerate the lock",
	  .todo = "sunk explain node n1" },
	{ .job = &configuring,
	  .node = &unlocked,
	  .state = "starting",
	  .waits_for = "the lock of k1",
	  .todo = "nothing" },
	{ .job = &starting, .state = "starting", .waits_for = "the prologs to end" },
	{ .job = &running, .state = "running", .summary = "Job 7 has run for 1m on n1." },
	{ .job = &placeholder, .state = "running", .summary = "on n1", .todo = "sunk explain pod ml/web" },
	{ .job = &ending, .state = "ending", .waits_for = "its processes and the epilog" },
	{ .job = &ending_pod,
	  .state = "ending",
	  .waits_for = "Pod ml/web to be gone",
	  .todo = "sunk explain pod ml/web" },
	{ .job = &suspended, .state = "suspended", .todo = "scontrol resume 7" },
	{ .job = &done, .state = "completed", .summary = "ended 5s ago: completed, exit code 0." },
	{ .job = &failed, .state = "failed", .summary = "failed, exit code 3" },
	{ .job = &prolog, .state = "failed", .summary = "a prolog on n1 failed", .todo = "sunk explain node n1" },
};

static void assert_has(size_t row, const char *said, const char *part)
{
	if (part && !strstr(said, part))
		fail_msg("row %zu: no '%s' in '%s'", row, part, said);
}

static void test_each_way_a_job_can_be_is_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];
		const struct job_facts f = {
			.id = "7", .job = r->job, .slurm_error = r->slurm_error, .node = r->node, .now = NOW
		};
		struct explanation e;

		explain_job(&f, &e);
		if (!str_eq(e.state, r->state))
			fail_msg("row %zu is '%s', not '%s'", i, e.state, r->state);
		assert_true(*e.summary);
		assert_has(i, e.summary, r->summary);
		assert_has(i, e.waits_for, r->waits_for);
		if (!r->waits_for && *e.waits_for)
			fail_msg("row %zu waits for: %s", i, e.waits_for);
		assert_has(i, e.n_todo ? e.todo[0] : "", r->todo);
		if (!r->todo && e.n_todo)
			fail_msg("row %zu has to do: %s", i, e.todo[0]);
	}
}

static void test_the_facts_are_told_too(void **state)
{
	static const struct snode n1 = { .name = "n1", .state = NODE_IDLE, .flags = NODEF_DRAIN, .reason = "bad gpu" };
	const struct job_facts f = {
		.id = "7", .job = &placeholder, .n_tasks = 3, .snodes = &n1, .n_snodes = 1, .now = NOW
	};
	struct explanation e;

	(void)state;
	explain_job(&f, &e);
	assert_int_equal(e.n_facts, 4);
	assert_string_equal(e.facts[0].text, "7 (train) of ann is running, partition main, submitted 1m30s ago, on n1");
	assert_string_equal(e.facts[1].text, "7 is an array of 3 tasks, this is about one of them");
	assert_string_equal(e.facts[2].text, "ml/web: this job stands for it");
	assert_string_equal(e.facts[3].text, "n1 is drained, drain of person: bad gpu");
}

TEST_MAIN(TEST(each_way_a_job_can_be_is_told), TEST(the_facts_are_told_too))
