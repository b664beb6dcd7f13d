/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/status.h"

#include "base/test.h"
#include "policy/rules.h"

static struct condition ready = { .type = "Ready", .status = COND_TRUE };
static struct pair nodeset_label = { LABEL_NODESET, "gpu" };
static struct pair job_note = { ANNOTATION_JOB_ID, "7" };
static struct pair asks_lock[] = { { LOCK_REQUEST_ANNOTATION, "normal" },
	                           { LOCK_EPOCH_ANNOTATION, "4" },
	                           { LOCK_ANNOTATION, "pending" },
	                           { LOCK_FOR_ANNOTATION, "4" } };

#define SLURMD(n, k, ...)                                                                                              \
	{ .meta = { .ns = "slurm", .name = (n), .labels = &nodeset_label, .n_labels = 1, __VA_ARGS__ },                \
	  .node_name = (k),                                                                                            \
	  .phase = POD_RUNNING,                                                                                        \
	  .conditions = &ready,                                                                                        \
	  .n_conditions = 1 }
#define PLACED(n, k)                                                                                                   \
	{ .meta = { .ns = "ml", .name = (n), .annotations = &job_note, .n_annotations = 1 },                           \
	  .node_name = (k),                                                                                            \
	  .phase = (k) ? POD_RUNNING : POD_PENDING }

static const struct pod n10 = SLURMD("n10", "k10", 0),
                        n2 = SLURMD("n2", "k2", .annotations = asks_lock, .n_annotations = 4),
                        n9 = SLURMD("n9", NULL, 0), a = PLACED("a", "k10"), b = PLACED("b", NULL),
                        other = { .meta = { .ns = "web", .name = "o" }, .node_name = "k10", .phase = POD_RUNNING },
                        over = { .meta = { .ns = "web", .name = "x" }, .node_name = "k10", .phase = POD_FAILED };
static const struct pod *const pods[] = { &a, &b, &other, &over, &n10, &n2, &n9 };

static const struct knode k10 = { .meta = { .name = "k10" }, .conditions = &ready, .n_conditions = 1 },
                          k2 = { .meta = { .name = "k2" }, .unschedulable = true };
static const struct knode *const knodes[] = { &k10, &k2 };

static const struct snode snodes[] = {
	{ .name = "n10", .state = NODE_MIXED },
	{ .name = "n2", .state = NODE_IDLE, .flags = NODEF_DRAIN, .reason = "k8s: cordon: x" },
	{ .name = "n1", .state = NODE_IDLE, .flags = NODEF_NO_RESPOND },
};

static const struct job jobs[] = {
	{ .id = 1, .state = JOB_RUNNING, .nodes = "n[1,10]" },
	{ .id = 2, .state = JOB_RUNNING, .nodes = "n10" },
	{ .id = 3, .state = JOB_CANCELLED, .flags = JOBF_COMPLETING, .nodes = "n10" },
	{ .id = 4, .state = JOB_PENDING, .array_tasks = 7 },
	{ .id = 5, .state = JOB_COMPLETE, .nodes = "n10" },
};

static const struct status_view view = { .slurm_known = true,
	                                 .pods_known = true,
	                                 .knodes_known = true,
	                                 .snodes = snodes,
	                                 .n_snodes = 3,
	                                 .jobs = jobs,
	                                 .n_jobs = 5,
	                                 .pods = pods,
	                                 .n_pods = 7,
	                                 .knodes = knodes,
	                                 .n_knodes = 2 };

static void test_both_sides_are_joined_by_name_in_natural_order(void **state)
{
	static const struct {
		const char *name;
		enum join join;
	} want[] = { { "n1", JOIN_NO_POD }, { "n2", JOIN_BOTH }, { "n9", JOIN_NO_SNODE }, { "n10", JOIN_BOTH } };
	struct status s;

	(void)state;
	status_make(&view, &s);
	assert_int_equal(s.n_rows, 4);
	for (int i = 0; i < 4; i++) {
		assert_string_equal(s.rows[i].name, want[i].name);
		assert_int_equal(s.rows[i].join, want[i].join);
	}
	assert_int_equal(s.no_pod, 1);
	assert_int_equal(s.no_snode, 1);
	assert_ptr_equal(s.rows[3].knode, &k10);
	status_done(&s);
}

static void test_jobs_and_pods_are_counted_where_they_are(void **state)
{
	struct status s;

	(void)state;
	status_make(&view, &s);
	assert_int_equal(s.rows[0].jobs, 1);
	assert_int_equal(s.rows[3].jobs, 3); /* the one that ends is still there */
	assert_int_equal(s.rows[3].placed, 1);
	assert_int_equal(s.rows[3].others, 1); /* one that is over does not count, nor does slurmd */
	assert_int_equal(s.jobs_running, 2);
	assert_int_equal(s.jobs_ending, 1);
	assert_int_equal(s.jobs_pending, 7);
	assert_int_equal(s.pods_placed, 1);
	assert_int_equal(s.pods_waiting, 1);
	assert_int_equal(s.nodeset_pods, 3);
	assert_int_equal(s.words[NODEW_DRAINED], 1);
	assert_int_equal(s.not_responding, 1);
	assert_int_equal(s.knodes_cordoned, 1);
	assert_int_equal(s.knodes_not_ready, 1);
	assert_int_equal(s.rows[1].whose, WHOSE_KUBERNETES);
	assert_int_equal(s.rows[1].asked, LEVEL_NORMAL);
	status_done(&s);
}

static void test_a_side_that_is_away_is_unknown_not_empty(void **state)
{
	struct status_view v = view;
	struct status s;

	(void)state;
	v.slurm_known = false;
	v.n_snodes = v.n_jobs = 0;
	status_make(&v, &s);
	assert_int_equal(s.n_rows, 3);
	for (uint32_t i = 0; i < s.n_rows; i++)
		assert_int_equal(s.rows[i].join, JOIN_UNKNOWN);
	assert_int_equal(s.no_snode, 0);
	status_done(&s);
	v = view;
	v.pods_known = v.knodes_known = false;
	v.n_pods = v.n_knodes = 0;
	status_make(&v, &s);
	assert_int_equal(s.n_rows, 3);
	assert_int_equal(s.rows[0].join, JOIN_UNKNOWN);
	assert_int_equal(s.no_pod, 0);
	status_done(&s);
}

static void test_a_nodeset_pod_of_another_namespace_is_like_any_other(void **state)
{
	static const struct pod stray = {
		.meta = { .ns = "web", .name = "n1", .labels = &nodeset_label, .n_labels = 1 },
		.node_name = "k10",
		.phase = POD_RUNNING
	};
	const struct pod *both[] = { &n10, &stray };
	struct status_view v = view;
	struct status s;

	(void)state;
	v.pods = both;
	v.n_pods = 2;
	v.nodeset_ns = "slurm";
	status_make(&v, &s);
	assert_int_equal(s.rows[0].join, JOIN_NO_POD);
	assert_int_equal(s.nodeset_pods, 1);
	assert_int_equal(s.rows[2].others, 1);
	status_done(&s);
	v.nodeset_ns = NULL;
	status_make(&v, &s);
	assert_int_equal(s.rows[0].join, JOIN_BOTH);
	status_done(&s);
}

TEST_MAIN(TEST(a_nodeset_pod_of_another_namespace_is_like_any_other),
          TEST(both_sides_are_joined_by_name_in_natural_order), TEST(jobs_and_pods_are_counted_where_they_are),
          TEST(a_side_that_is_away_is_unknown_not_empty))
