/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/slurm_conditions.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"
#include "policy/nodeset.h"

#define NOW (5000 * USEC_SEC)
#define BEFORE (4000 * USEC_SEC)
#define MONO (100 * USEC_SEC)

/* A Pod with everything as it is for an idle node. */
static struct condition conditions[4];
static struct pair labels[4];
static struct pod pod;
static struct snode node;
static struct slurm_conditions_view view;
static struct slurm_conditions out;

static int setup(void **state)
{
	(void)state;
	conditions[0] = (struct condition) { .type = "Ready", .status = COND_TRUE, .changed = BEFORE };
	conditions[1] = (struct condition) { CONDITION_DRAIN, "NotDrained", "", COND_FALSE, BEFORE };
	conditions[2] = (struct condition) { CONDITION_RUNNING, "Idle", NULL, COND_FALSE, BEFORE };
	conditions[3] = (struct condition) { CONDITION_NOT_RESPONDING, "Responding", NULL, COND_FALSE, BEFORE };
	labels[0] = (struct pair) { "app", "slurmd" };
	labels[1] = (struct pair) { LABEL_DRAIN, "false" };
	labels[2] = (struct pair) { LABEL_RUNNING, "false" };
	labels[3] = (struct pair) { LABEL_NOT_RESPONDING, "false" };
	pod = (struct pod) { .conditions = conditions, .n_conditions = 4 };
	pod.meta.labels = labels;
	pod.meta.n_labels = 4;
	node = (struct snode) { .name = "n1", .state = NODE_IDLE };
	view = (struct slurm_conditions_view) {
		.pod = &pod, .node = &node, .now = NOW, .mono = MONO, .node_asked = MONO
	};
	return 0;
}

static const struct condition *told(const char *type)
{
	slurm_conditions_decide(&view, &out);
	return condition_get(out.conditions, (uint32_t)out.n_conditions, type);
}

static void assert_says(const struct condition *c, int status, const char *reason, const char *message, usec_t changed)
{
	assert_non_null(c);
	assert_int_equal(c->status, status);
	assert_string_equal(c->reason, reason);
	assert_string_equal(c->message, message);
	assert_true(c->changed == changed);
}

static void test_a_new_pod_gets_all_three_conditions_and_labels(void **state)
{
	(void)state;
	pod.n_conditions = pod.meta.n_labels = 1;
	assert_says(told(CONDITION_DRAIN), COND_FALSE, "NotDrained", "", NOW);
	assert_int_equal(out.n_conditions, 3);
	assert_int_equal(out.n_labels, 3);
	for (int i = 0; i < 3; i++)
		assert_string_equal(out.labels[i].value, "false");
}

static void test_what_did_not_change_is_not_written(void **state)
{
	(void)state;
	slurm_conditions_decide(&view, &out);
	assert_int_equal(out.n_conditions, 0);
	assert_int_equal(out.n_labels, 0);
	assert_true(out.again == USEC_NEVER);
}

static void test_a_drain_is_told_with_its_reason(void **state)
{
	(void)state;
	node.flags = NODEF_DRAIN;
	node.reason = "gpu 3 \"fell\" off";
	assert_says(told(CONDITION_DRAIN), COND_TRUE, "Drained", "gpu 3 \"fell\" off", NOW);
	assert_int_equal(out.n_conditions, 1);
	assert_int_equal(out.n_labels, 1);
	assert_string_equal(out.labels[0].key, LABEL_DRAIN);
	assert_string_equal(out.labels[0].value, "true");
	node.state = NODE_ALLOCATED;
	assert_says(told(CONDITION_DRAIN), COND_TRUE, "Draining", "gpu 3 \"fell\" off", NOW);
}

static void test_a_pod_to_be_deleted_hears_only_what_was_read_since(void **state)
{
	static const struct {
		int state;
		uint32_t flags;
		int64_t marked, hook; /* relative to when Slurm was asked */
		const char *reason;
	} rows[] = {
		{ NODE_IDLE, NODEF_DRAIN, -1, 0, REASON_DRAINED_TO_GO },
		{ NODE_IDLE, NODEF_DRAIN, 0, 0, "Drained" }, /* before the mark, perhaps */
		{ NODE_IDLE, NODEF_DRAIN, 1, 0, "Drained" },
		{ NODE_MIXED, NODEF_DRAIN, -1, 0, "Draining" },
		{ NODE_IDLE, NODEF_DRAIN | NODEF_COMPLETING, -1, 0, "Draining" },
		{ NODE_IDLE, NODEF_DRAIN, -1, 1, "Drained" }, /* a prolog has called since */
		{ NODE_DOWN, 0, -1, 0, REASON_DOWN_TO_GO },
		{ NODE_DOWN, 0, 1, 0, NULL }, /* NotDrained, as before */
		{ NODE_IDLE, 0, -1, 0, NULL },
		{ NODE_IDLE, NODEF_NO_RESPOND, -1, 0, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct condition *c;

		node.state = rows[i].state;
		node.flags = rows[i].flags;
		view.marked = (usec_t)((int64_t)MONO + rows[i].marked);
		view.hook = rows[i].hook ? (usec_t)((int64_t)MONO + rows[i].hook) : 0;
		c = told(CONDITION_DRAIN);
		assert_string_equal(c ? c->reason : "(none)", str_or(rows[i].reason, "(none)"));
	}
	view.hook = 0;
	view.node = NULL;
	pod.n_conditions = 1; /* nothing was ever said of it */
	view.marked = MONO - 1;
	assert_says(told(CONDITION_DRAIN), COND_UNKNOWN, REASON_ABSENT_TO_GO, "", NOW);
	view.marked = 0;
	conditions[0].changed = NOW;
	assert_null(told(CONDITION_DRAIN));
}

static void test_another_reason_keeps_the_time_of_the_drain(void **state)
{
	(void)state;
	conditions[1] = (struct condition) { CONDITION_DRAIN, "Drained", "one", COND_TRUE, BEFORE };
	labels[1].value = "true";
	node.flags = NODEF_DRAIN;
	node.reason = "two";
	assert_says(told(CONDITION_DRAIN), COND_TRUE, "Drained", "two", BEFORE);
	assert_int_equal(out.n_conditions, 1);
	assert_int_equal(out.n_labels, 0);
}

static void test_a_reason_that_lingers_is_no_drain(void **state)
{
	(void)state;
	node.reason = "k8s: pod not ready";
	assert_null(told(CONDITION_DRAIN));
}

static void test_strange_reasons_are_told_once(void **state)
{
	static char longer[5000];

	(void)state;
	memset(longer, 'x', sizeof(longer) - 1);
	node.flags = NODEF_DRAIN;
	node.reason = "a\nb\xff";
	assert_says(told(CONDITION_DRAIN), COND_TRUE, "Drained", "a?b?", NOW);
	conditions[1] = (struct condition) { CONDITION_DRAIN, "Drained", "a?b?", COND_TRUE, BEFORE };
	assert_null(told(CONDITION_DRAIN));
	node.reason = longer;
	assert_int_equal(strlen(told(CONDITION_DRAIN)->message), SLURM_CONDITION_MESSAGE_MAX);
	node.reason = NULL;
	assert_says(told(CONDITION_DRAIN), COND_TRUE, "Drained", "", BEFORE);
}

static void test_running_is_whatever_has_a_job_or_its_remains(void **state)
{
	static const struct {
		int state;
		uint32_t flags;
		bool running;
	} cases[] = {
		{ NODE_ALLOCATED, 0, true },           { NODE_MIXED, 0, true },
		{ NODE_IDLE, NODEF_COMPLETING, true }, { NODE_DOWN, NODEF_COMPLETING, true },
		{ NODE_IDLE, NODEF_PLANNED, false },   { NODE_DOWN, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct condition *c;

		node.state = cases[i].state;
		node.flags = cases[i].flags;
		c = told(CONDITION_RUNNING);
		assert_true(!!c == cases[i].running);
		if (c)
			assert_says(c, COND_TRUE, "JobsOnNode", "", NOW);
	}
}

/* For some seconds after slurmctld was started: the lock would be given back under a job. */
static void test_a_node_not_heard_of_since_the_controller_started_runs_what_was_given_away(void **state)
{
	(void)state;
	node.state = NODE_UNKNOWN;
	assert_null(told(CONDITION_RUNNING));
	node.cpus_alloc = 1;
	assert_says(told(CONDITION_RUNNING), COND_TRUE, "JobsOnNode", "", NOW);
	node.cpus_alloc = 0;
	node.memory_alloc_mb = 1; /* of a suspended job */
	assert_says(told(CONDITION_RUNNING), COND_TRUE, "JobsOnNode", "", NOW);
}

/* The lock depends on it: a job whose prolog asked must never be overlooked because of older news. */
static void test_a_prolog_counts_until_slurm_was_asked_after_it(void **state)
{
	(void)state;
	view.hook = MONO;
	view.node_asked = MONO - 1;
	assert_says(told(CONDITION_RUNNING), COND_TRUE, "JobsOnNode", "", NOW);
	view.node_asked = MONO;
	assert_non_null(told(CONDITION_RUNNING));
	view.node_asked = MONO + 1;
	assert_null(told(CONDITION_RUNNING));
}

static void test_silence_after_an_undrain_is_no_news(void **state)
{
	(void)state;
	node.flags = NODEF_NO_RESPOND;
	assert_says(told(CONDITION_NOT_RESPONDING), COND_TRUE, "NoAnswer", "", NOW);
	assert_string_equal(out.labels[0].key, LABEL_NOT_RESPONDING);
	view.undrained = MONO - USEC_SEC;
	assert_null(told(CONDITION_NOT_RESPONDING));
	assert_true(out.again == view.undrained + SLURM_UNDRAIN_SETTLES);
	/* but it is when it lasts */
	view.mono = out.again;
	assert_non_null(told(CONDITION_NOT_RESPONDING));
	/* and when it was silent before */
	view.mono = MONO;
	conditions[3] = (struct condition) { CONDITION_NOT_RESPONDING, "NoAnswer", "", COND_TRUE, BEFORE };
	assert_null(told(CONDITION_NOT_RESPONDING));
	assert_true(out.again == USEC_NEVER);
}

static void test_a_pod_without_a_slurm_node_says_that_nobody_knows(void **state)
{
	(void)state;
	view.node = NULL;
	assert_says(told(CONDITION_RUNNING), COND_UNKNOWN, "NoSlurmNode", "", NOW);
	assert_int_equal(out.n_conditions, 3);
	assert_int_equal(out.n_labels, 3);
	assert_null(out.labels[0].value);
	/* nothing was said, nothing is to be taken back; but when slurmd had the time to register, it is missed */
	pod.n_conditions = pod.meta.n_labels = 1;
	conditions[0].changed = NOW - SLURM_MISSES_AFTER + 1;
	slurm_conditions_decide(&view, &out);
	assert_int_equal(out.n_conditions, 0);
	assert_true(out.again == MONO + 1);
	conditions[0].changed--;
	assert_says(told(CONDITION_RUNNING), COND_UNKNOWN, "NoSlurmNode", "", NOW);
	assert_true(out.again == USEC_NEVER);
	conditions[0].status = COND_FALSE;
	slurm_conditions_decide(&view, &out);
	assert_int_equal(out.n_conditions, 0);
	assert_int_equal(out.n_labels, 0);
}

#define T(name) cmocka_unit_test_setup(test_##name, setup)
TEST_MAIN(T(a_new_pod_gets_all_three_conditions_and_labels), T(what_did_not_change_is_not_written),
          T(a_drain_is_told_with_its_reason), T(a_pod_to_be_deleted_hears_only_what_was_read_since),
          T(another_reason_keeps_the_time_of_the_drain), T(a_reason_that_lingers_is_no_drain),
          T(strange_reasons_are_told_once), T(running_is_whatever_has_a_job_or_its_remains),
          T(a_node_not_heard_of_since_the_controller_started_runs_what_was_given_away),
          T(a_prolog_counts_until_slurm_was_asked_after_it), T(silence_after_an_undrain_is_no_news),
          T(a_pod_without_a_slurm_node_says_that_nobody_knows))
