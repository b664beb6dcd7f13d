/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/preemptor.h"

#include "base/str.h"
#include "base/test.h"

#define AT (100 * USEC_SEC) /* when it was preempted */
#define JOBS_MAX 3

/* Another job: as it is when it waits for the place of the lost one, or has got it, but for what is said. */
struct other {
	const char *reason, *partition, *qos, *nodes, *excluded, *required;
	uint32_t n_nodes;
	bool runs, held, came_later;
	int late_s; /* seconds between the one after the preemption and its start */
};

static const struct spartition partitions[] = { { .name = "low", .priority_tier = 1 },
	                                        { .name = "main", .priority_tier = 10 },
	                                        { .name = "high", .priority_tier = 100 } };

/* Ids are 1, 2, 3 in order; the lost job has 9. */
static const struct {
	const char *what;
	struct other others[JOBS_MAX];
	uint32_t n, want; /* 0 = nobody is named */
	enum preempts by;
	bool over; /* nothing of the lost job is left */
	bool blind; /* tiers are not known */
} cases[] = {
	{ "one that waits for room", { { .reason = "Resources" } }, 1, 1 },
	{ "it has not been looked at since", { { .reason = "None" } }, 1, 1 },
	{ "it is not the first", { { .reason = "Priority" } }, 1, 1 },
	{ "nobody", .want = 0 },
	{ "it waits for another job", { { .reason = "Dependency" }, { .reason = "Resources" } }, 2, 2 },
	{ "only others that wait for something else",
	  { { .reason = "BeginTime" }, { .reason = "Licenses" }, { .reason = "Reservation" } },
	  3,
	  0 },
	{ "held", { { .reason = "JobHeldUser", .held = true } }, 1, 0 },
	{ "held a moment ago", { { .held = true } }, 1, 0 },
	{ "no reason at all", { { .reason = "" } }, 1, 0 },
	{ "of the same partition and QOS", { { .partition = "main" } }, 1, 0 },
	{ "of a partition below", { { .partition = "low" } }, 1, 0 },
	{ "of a partition below, which nobody knows", { { .partition = "low" } }, 1, 1, .blind = true },
	{ "of several partitions, one above", { { .partition = "low,main,high" } }, 1, 1 },
	{ "of several partitions, none above", { { .partition = "main,low" } }, 1, 0 },
	{ "another QOS", { { .partition = "main", .qos = "urgent" } }, 1, 1 },
	{ "another QOS where QOS counts",
	  { { .reason = "Resources" }, { .qos = "urgent", .partition = "low" } },
	  2,
	  2,
	  PREEMPTS_BY_QOS },
	{ "another QOS where partitions count",
	  { { .partition = "main", .qos = "urgent" }, { .reason = "Resources" } },
	  2,
	  2,
	  PREEMPTS_BY_PARTITION },
	{ "it must not run there", { { .excluded = "n[1,3]" }, { .reason = "Resources" } }, 2, 2 },
	{ "it must run elsewhere", { { .required = "n[2-3]", .n_nodes = 2 }, { .reason = "Resources" } }, 2, 2 },
	{ "it must run elsewhere, too", { { .required = "n[2-3]", .n_nodes = 3 } }, 1, 1 },
	{ "it must run there", { { .required = "n1", .n_nodes = 1 } }, 1, 1 },
	{ "it was not there yet", { { .came_later = true }, { .reason = "Resources" } }, 2, 2 },
	{ "two that wait for room", { { .reason = "Resources" }, { .reason = "Resources" } }, 2, 0 },
	{ "the first of a queue", { { .reason = "Priority" }, { .reason = "Resources" }, { .reason = "None" } }, 3, 2 },
	{ "two of a queue, and not its first", { { .reason = "Priority" }, { .reason = "None" } }, 2, 0 },

	{ "one that started there", { { .runs = true } }, 1, 1, .over = true },
	{ "in the same second", { { .runs = true, .late_s = -1 } }, 1, 1, .over = true },
	{ "it ran before", { { .runs = true, .late_s = -2 } }, 1, 0, .over = true },
	{ "it runs elsewhere", { { .runs = true, .nodes = "n[2-4]" } }, 1, 0, .over = true },
	{ "it is no better", { { .runs = true, .partition = "low" }, { .runs = true } }, 2, 2, .over = true },
	{ "it came later and found the room", { { .runs = true, .came_later = true } }, 1, 0, .over = true },
	{ "two that started there", { { .runs = true }, { .runs = true, .late_s = 59 } }, 2, 0, .over = true },
	{ "who runs there has got the place", { { .reason = "Resources" }, { .runs = true } }, 2, 2, .over = true },
	{ "who waits has not got it yet", { { .reason = "Resources" }, { .runs = true } }, 2, 1 },
	{ "nobody runs there yet", { { .reason = "Resources" } }, 1, 1, .over = true },
	{ "of two that run there it may be either, whoever waits",
	  { { .runs = true }, { .runs = true }, { .reason = "Resources" } },
	  3,
	  0,
	  .over = true },
};

static struct job job_of(const struct other *o, uint32_t id)
{
	return (struct job) { .id = id,
		              .state = o->runs ? JOB_RUNNING : JOB_PENDING,
		              .reason = str_or(o->reason, o->runs ? "None" : "Resources"),
		              .partition = str_or(o->partition, "high"),
		              .qos = str_or(o->qos, "normal"),
		              .priority = o->held ? 0 : 9,
		              .submitted = o->came_later ? AT + USEC_SEC : AT - USEC_SEC,
		              .started = o->runs ? AT + (1 + o->late_s) * USEC_SEC : 0,
		              .nodes = o->runs ? str_or(o->nodes, "n[1-2]") : NULL,
		              .n_nodes = o->n_nodes,
		              .excluded = o->excluded,
		              .required = o->required };
}

static void test_a_preemptor_is_named_when_it_is_clear_who_it_was(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct job lost = { .id = 9,
			                  .state = JOB_PREEMPTED,
			                  .flags = cases[i].over ? 0 : JOBF_COMPLETING,
			                  .partition = "main",
			                  .qos = "normal",
			                  .nodes = "n1",
			                  .preempted = AT,
			                  .ended = AT + 5 * USEC_SEC };
		struct job jobs[JOBS_MAX + 1];
		struct preemption p = { .lost = &lost,
			                .node = "n1",
			                .jobs = jobs,
			                .n_jobs = cases[i].n + 1,
			                .by = cases[i].by,
			                .partitions = partitions,
			                .n_partitions = cases[i].blind ? 0 : ARRAY_LEN(partitions) };
		const struct job *got;

		print_message("  %s\n", cases[i].what);
		jobs[0] = lost;
		for (uint32_t k = 0; k < cases[i].n; k++)
			jobs[k + 1] = job_of(&cases[i].others[k], k + 1);
		got = preemptor_find(&p);
		assert_int_equal(got ? got->id : 0, cases[i].want);
	}
}

/* Where Slurm did not write down when it was, the end tells. */
static void test_without_a_time_of_preemption_the_end_counts(void **state)
{
	const struct job jobs[] = { job_of(&(struct other) { .runs = true, .late_s = -2 }, 1),
		                    job_of(&(struct other) { .runs = true }, 2) };
	const struct job lost = { .id = 9, .state = JOB_PREEMPTED, .partition = "main", .qos = "normal", .ended = AT };
	const struct job *got = preemptor_find(
	        &(struct preemption) { .lost = &lost, .node = "n1", .jobs = jobs, .n_jobs = ARRAY_LEN(jobs) });

	(void)state;
	assert_non_null(got);
	assert_int_equal(got->id, 2);
}

static void test_slurms_words_for_who_may_preempt(void **state)
{
	(void)state;
	assert_int_equal(preempts_of("preempt/qos"), PREEMPTS_BY_QOS);
	assert_int_equal(preempts_of("preempt/partition_prio"), PREEMPTS_BY_PARTITION);
	assert_int_equal(preempts_of("preempt/none"), PREEMPTS_UNKNOWN);
	assert_int_equal(preempts_of(NULL), PREEMPTS_UNKNOWN);
}

TEST_MAIN(TEST(a_preemptor_is_named_when_it_is_clear_who_it_was), TEST(without_a_time_of_preemption_the_end_counts),
          TEST(slurms_words_for_who_may_preempt))
