/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/drain.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"
#include "policy/nodeset.h"

enum { READY = 1, NOT_READY = 2, DELETING = 4, CORDON = 8, MARKED = 16 };

struct case_row {
	const char *what;
	enum pod_presence presence;
	int pod; /* of the above */
	const char *why, *was_cordoned;
	int state;
	uint32_t flags;
	const char *node_reason;
	enum drain_act act;
	const char *reason;
};

#define THERE .presence = PRESENCE_THERE
#define GONE .presence = PRESENCE_GONE
#define IDLE .state = NODE_IDLE
#define DRAINED(r) .state = NODE_IDLE, .flags = NODEF_DRAIN, .node_reason = (r)

static struct drain_decision run(const struct case_row *c)
{
	struct condition ready = { .type = "Ready", .status = c->pod & READY ? COND_TRUE : COND_FALSE };
	struct pair notes[2];
	struct pod pod = { .conditions = &ready, .n_conditions = c->pod & (READY | NOT_READY) ? 1 : 0 };
	struct snode node = { .name = "n1", .state = c->state, .flags = c->flags, .reason = c->node_reason };
	struct drain_view v = { .presence = c->presence, .node = &node, .was_cordoned = c->was_cordoned };

	pod.meta.annotations = notes;
	if (c->pod & CORDON)
		notes[pod.meta.n_annotations++] = (struct pair) { ANNOTATION_CORDON, str_or(c->why, "") };
	if (c->pod & MARKED)
		notes[pod.meta.n_annotations++] = (struct pair) { ANNOTATION_PENDING_DELETION, "true" };
	pod.meta.deletion = c->pod & DELETING ? USEC_SEC : 0;
	if (c->presence == PRESENCE_THERE)
		v.pod = &pod;
	return drain_decide(&v);
}

static void check(const struct case_row *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct drain_decision d = run(&cases[i]);

		if (d.act != cases[i].act)
			fail_msg("%s: act %d, want %d", cases[i].what, d.act, cases[i].act);
		if (cases[i].reason && !str_eq(d.reason, cases[i].reason))
			fail_msg("%s: reason '%s', want '%s'", cases[i].what, d.reason, cases[i].reason);
	}
}

static void test_each_condition_drains_with_its_reason(void **state)
{
	static const struct case_row cases[] = {
		{ "ready: nothing", THERE, READY, IDLE },
		{ "not ready", THERE, NOT_READY, IDLE, .act = DRAIN_SET, .reason = "k8s: pod not ready" },
		{ "no word on readiness is not ready", THERE, 0, IDLE, .act = DRAIN_SET,
		  .reason = "k8s: pod not ready" },
		{ "cordoned", THERE, READY | CORDON, "disk", IDLE, .act = DRAIN_SET, .reason = "k8s: cordon: disk" },
		{ "cordoned without a reason", THERE, READY | CORDON, IDLE, .act = DRAIN_SET,
		  .reason = "k8s: cordon: no reason given" },
		{ "being deleted", THERE, READY | DELETING, IDLE, .act = DRAIN_SET,
		  .reason = "k8s: pod pending deletion" },
		{ "to be deleted when idle", THERE, READY | MARKED, IDLE, .act = DRAIN_SET,
		  .reason = "k8s: pod pending deletion" },
		{ "deleted", GONE, IDLE, .act = DRAIN_SET, .reason = "k8s: pod terminated" },
		{ "deleted, was cordoned", GONE, .was_cordoned = "disk", IDLE, .act = DRAIN_SET,
		  .reason = "k8s: pod terminated: cordon: disk" },
		{ "a busy node is drained too", THERE, READY | CORDON, "x", .state = NODE_ALLOCATED, .act = DRAIN_SET,
		  .reason = "k8s: cordon: x" },
	};

	(void)state;
	check(cases, ARRAY_LEN(cases));
}

static void test_of_several_conditions_the_most_lasting_is_told(void **state)
{
	static const struct case_row cases[] = {
		{ "cordon over not ready", THERE, NOT_READY | CORDON, "a", IDLE, .act = DRAIN_SET,
		  .reason = "k8s: cordon: a" },
		{ "pending deletion over cordon", THERE, NOT_READY | CORDON | DELETING, "a", IDLE, .act = DRAIN_SET,
		  .reason = "k8s: pod pending deletion" },
		{ "deleted over all", GONE, DRAINED("k8s: pod pending deletion"), .act = DRAIN_REWORD,
		  .reason = "k8s: pod terminated" },
	};

	(void)state;
	check(cases, ARRAY_LEN(cases));
}

static void test_our_drain_follows_the_condition(void **state)
{
	static const struct case_row cases[] = {
		{ "unchanged: nothing", THERE, NOT_READY, DRAINED("k8s: pod not ready") },
		{ "another condition: another reason", THERE, NOT_READY | CORDON, "a", DRAINED("k8s: pod not ready"),
		  .act = DRAIN_REWORD, .reason = "k8s: cordon: a" },
		{ "another reason for the cordon", THERE, READY | CORDON, "b", DRAINED("k8s: cordon: a"),
		  .act = DRAIN_REWORD, .reason = "k8s: cordon: b" },
		{ "cleared: lifted", THERE, READY, DRAINED("k8s: cordon: a"), .act = DRAIN_LIFT },
		{ "lifted also while jobs run", THERE, READY, .state = NODE_MIXED, .flags = NODEF_DRAIN,
		  .node_reason = "k8s: cordon: a", .act = DRAIN_LIFT },
		{ "removed in Slurm while the condition stands: once more", THERE, READY | CORDON, "a", IDLE,
		  .node_reason = "k8s: cordon: a", .act = DRAIN_SET, .reason = "k8s: cordon: a" },
		{ "a new Pod of that name is ready: lifted", THERE, READY, DRAINED("k8s: pod terminated"),
		  .act = DRAIN_LIFT },
		{ "only the node remembers the cordon", GONE, DRAINED("k8s: cordon: disk"), .act = DRAIN_REWORD,
		  .reason = "k8s: pod terminated: cordon: disk" },
		{ "and goes on remembering it", GONE, DRAINED("k8s: pod terminated: cordon: disk") },
		{ "whatever the shell remembers", GONE, .was_cordoned = "other",
		  DRAINED("k8s: pod terminated: cordon: disk") },
		{ "a reason with our prefix that we never write is ours too", THERE, READY,
		  DRAINED("k8s: from an older one"), .act = DRAIN_LIFT },
		{ "also without a blank", THERE, READY, DRAINED("k8s:"), .act = DRAIN_LIFT },
	};

	(void)state;
	check(cases, ARRAY_LEN(cases));
}

/* "gpu 3 fell off" was put there before or after a drain of ours: it makes no difference. */
static void test_a_foreign_drain_is_never_touched(void **state)
{
	static const char *const foreign[] = {
		"gpu 3 fell off",
		"",
		NULL,
		"K8S: pod not ready",
		" k8s: pod not ready",
		"k8s",
		"not k8s: pod not ready",
		"prolog pre-hook failed (sunk:verify-undrain)",
	};
	static const struct case_row kube[] = {
		{ "ready", THERE, READY },
		{ "not ready", THERE, NOT_READY },
		{ "cordoned", THERE, READY | CORDON },
		{ "pending deletion", THERE, READY | DELETING },
		{ "gone", GONE },
		{ "gone, was cordoned", GONE, .was_cordoned = "x" },
		{ "never there", .presence = PRESENCE_NEVER },
		{ "not known", .presence = PRESENCE_UNKNOWN },
	};

	(void)state;
	for (size_t f = 0; f < ARRAY_LEN(foreign); f++)
		for (size_t k = 0; k < ARRAY_LEN(kube); k++) {
			struct case_row c = kube[k];

			c.state = NODE_IDLE;
			c.flags = NODEF_DRAIN;
			c.node_reason = foreign[f];
			check(&c, 1);
		}
}

static void test_the_pod_schedulers_drain_is_neither_set_nor_lifted(void **state)
{
	static const struct case_row cases[] = {
		{ "ready", THERE, READY, DRAINED(DRAIN_POD_TIMEOUT) },
		{ "with more behind it", THERE, READY, DRAINED(DRAIN_POD_TIMEOUT ": default/web-0") },
		{ "cordoned meanwhile", THERE, READY | CORDON, "x", DRAINED(DRAIN_POD_TIMEOUT) },
		{ "the Pod is gone", GONE, DRAINED(DRAIN_POD_TIMEOUT) },
		{ "no Pod ever", .presence = PRESENCE_NEVER, DRAINED(DRAIN_POD_TIMEOUT) },
	};

	(void)state;
	check(cases, ARRAY_LEN(cases));
}

static void test_nodes_that_are_down_or_in_other_hands_are_left_alone(void **state)
{
	static const struct case_row cases[] = {
		{ "down: not drained", THERE, NOT_READY, .state = NODE_DOWN },
		{ "down: not undrained", THERE, READY, .state = NODE_DOWN, .flags = NODEF_DRAIN,
		  .node_reason = "k8s: pod not ready" },
		{ "down: not reworded", GONE, .state = NODE_DOWN, .flags = NODEF_DRAIN,
		  .node_reason = "k8s: cordon: x" },
		{ "failing", THERE, NOT_READY, .state = NODE_IDLE, .flags = NODEF_FAIL, .node_reason = "disk" },
		{ "to be rebooted", THERE, READY, .state = NODE_IDLE, .flags = NODEF_DRAIN | NODEF_REBOOT_REQUESTED,
		  .node_reason = "k8s: cordon: x : reboot ASAP" },
		{ "rebooting", THERE, NOT_READY, .state = NODE_IDLE, .flags = NODEF_REBOOT_ISSUED },
		{ "no real node yet", GONE, .state = NODE_FUTURE },
	};

	(void)state;
	check(cases, ARRAY_LEN(cases));
}

static void test_a_drain_is_lifted_only_when_slurmd_answers(void **state)
{
	static const struct case_row cases[] = {
		{ "silent", THERE, READY, .state = NODE_IDLE, .flags = NODEF_DRAIN | NODEF_NO_RESPOND,
		  .node_reason = "k8s: pod not ready" },
		{ "the controller has just started", THERE, READY, .state = NODE_UNKNOWN, .flags = NODEF_DRAIN,
		  .node_reason = "k8s: pod not ready" },
		{ "but set at once", THERE, NOT_READY, .state = NODE_IDLE, .flags = NODEF_NO_RESPOND,
		  .act = DRAIN_SET },
	};

	(void)state;
	check(cases, ARRAY_LEN(cases));
}

static void test_nodes_that_never_had_a_pod_are_not_drained(void **state)
{
	static const struct case_row cases[] = {
		{ "outside of Kubernetes", .presence = PRESENCE_NEVER, IDLE },
		{ "a drain of ours is a sign of a Pod", .presence = PRESENCE_NEVER, DRAINED("k8s: pod not ready"),
		  .act = DRAIN_REWORD, .reason = "k8s: pod terminated" },
	};

	(void)state;
	check(cases, ARRAY_LEN(cases));
}

static void test_what_is_not_known_changes_nothing(void **state)
{
	static const struct case_row cases[] = {
		{ "free", .presence = PRESENCE_UNKNOWN, IDLE },
		{ "drained by us", .presence = PRESENCE_UNKNOWN, DRAINED("k8s: pod not ready") },
	};

	(void)state;
	check(cases, ARRAY_LEN(cases));
}

static void test_what_people_write_stays_one_bounded_line(void **state)
{
	static char long_why[4000];
	struct case_row strange = { "strange", THERE, READY | CORDON, "a\nb \"c\" 'd' \xff\xfe \xc3\xbc", IDLE };
	struct case_row longer = { "long", THERE, READY | CORDON, long_why, IDLE };
	struct case_row gone = { "gone", GONE, .was_cordoned = long_why, IDLE };
	struct drain_decision d = run(&strange);

	(void)state;
	assert_string_equal(d.reason, "k8s: cordon: a?b \"c\" 'd' ?? \xc3\xbc");
	for (size_t i = 0; i + 3 < sizeof(long_why); i += 2)
		memcpy(long_why + i, "\xc3\xbc", 3);
	d = run(&longer);
	assert_true(strlen(d.reason) < DRAIN_REASON_MAX && strlen(d.reason) > DRAIN_REASON_MAX - 4);
	assert_true(str_is_utf8(d.reason, strlen(d.reason)));
	/* what was written is what is wanted: no writing for ever */
	longer.flags = NODEF_DRAIN;
	longer.node_reason = d.reason;
	assert_int_equal(run(&longer).act, DRAIN_KEEP);
	/* the same for what is carried over to the reason of the end */
	gone.flags = NODEF_DRAIN;
	gone.node_reason = longer.node_reason;
	{
		struct drain_decision e = run(&gone);

		assert_int_equal(e.act, DRAIN_REWORD);
		gone.node_reason = e.reason;
		assert_int_equal(run(&gone).act, DRAIN_KEEP);
	}
}

static void test_an_effect_expects_the_drain_as_it_was_read(void **state)
{
	struct snode free_node = {
		.name = "n1", .state = NODE_IDLE, .reason = "old words", .reason_uid = 7, .reason_set = 9
	};
	struct snode ours = {
		.name = "n1", .flags = NODEF_DRAIN, .reason = "k8s: cordon: x", .reason_uid = 7, .reason_set = 9
	};
	struct drain_decision set = { .act = DRAIN_SET, .reason = "k8s: pod not ready" };
	struct drain_decision lift = { .act = DRAIN_LIFT };
	struct drain_decision reword = { .act = DRAIN_REWORD, .reason = "k8s: pod terminated" };
	struct node_change c = drain_change(&set, &free_node);

	(void)state;
	assert_int_equal(c.what, NODE_CHANGE_DRAIN);
	assert_string_equal(c.reason, "k8s: pod not ready");
	assert_true(c.expect && !c.expect_drained);
	assert_null(c.expect_reason); /* it may linger, and go at any time */
	c = drain_change(&lift, &ours);
	assert_int_equal(c.what, NODE_CHANGE_UNDRAIN);
	assert_null(c.reason);
	assert_true(c.expect && c.expect_drained && c.expect_answers); /* it may have fallen silent since */
	assert_string_equal(c.expect_reason, "k8s: cordon: x");
	assert_int_equal(c.expect_reason_uid, 7);
	assert_int_equal(c.expect_reason_set, 9);
	c = drain_change(&reword, &ours);
	assert_int_equal(c.what, NODE_CHANGE_REASON);
	assert_string_equal(c.reason, "k8s: pod terminated");
	assert_true(c.expect && c.expect_drained && !c.expect_answers);
}

TEST_MAIN(TEST(each_condition_drains_with_its_reason), TEST(of_several_conditions_the_most_lasting_is_told),
          TEST(our_drain_follows_the_condition), TEST(a_foreign_drain_is_never_touched),
          TEST(the_pod_schedulers_drain_is_neither_set_nor_lifted),
          TEST(nodes_that_are_down_or_in_other_hands_are_left_alone), TEST(a_drain_is_lifted_only_when_slurmd_answers),
          TEST(nodes_that_never_had_a_pod_are_not_drained), TEST(what_is_not_known_changes_nothing),
          TEST(what_people_write_stays_one_bounded_line), TEST(an_effect_expects_the_drain_as_it_was_read))
