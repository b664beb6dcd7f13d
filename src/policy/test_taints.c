/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/taints.h"

#include "base/mem.h"
#include "base/test.h"

#define NOSCHED EFFECT_NO_SCHEDULE
#define NOEXEC EFFECT_NO_EXECUTE
#define PREFER EFFECT_PREFER_NO_SCHEDULE

static void test_tolerations_cover_taints_as_in_kubernetes(void **state)
{
	static const struct {
		const char *what;
		struct toleration o;
		struct taint t;
		bool want;
	} cases[] = {
		{ "Equal, the same", { "k", "v" }, { "k", "v", NOSCHED }, true },
		{ "Equal, another value", { "k", "w" }, { "k", "v", NOSCHED }, false },
		{ "Equal, another key", { "l", "v" }, { "k", "v", NOSCHED }, false },
		{ "Equal, no value on both sides", { "k", NULL }, { "k", "", NOSCHED }, true },
		{ "Equal, no value against one", { "k", NULL }, { "k", "v", NOSCHED }, false },
		{ "Exists takes any value", { "k", NULL, TOLERATE_EXISTS }, { "k", "v", NOSCHED }, true },
		{ "Exists takes no other key", { "l", NULL, TOLERATE_EXISTS }, { "k", "v", NOSCHED }, false },
		{ "Exists without a key takes all", { NULL, NULL, TOLERATE_EXISTS }, { "k", "v", NOEXEC }, true },
		{ "an empty key is no key", { "", "", TOLERATE_EXISTS }, { "k", "v", NOEXEC }, true },
		{ "Exists without a key, of one effect",
		  { NULL, NULL, TOLERATE_EXISTS, NOEXEC },
		  { "k", "v", NOSCHED },
		  false },
		{ "Equal without a key compares the value", { NULL, "v" }, { "k", "v", NOSCHED }, true },
		{ "Equal without a key, another value", { NULL, "w" }, { "k", "v", NOSCHED }, false },
		{ "the same effect", { "k", "v", TOLERATE_EQUAL, NOEXEC }, { "k", "v", NOEXEC }, true },
		{ "another effect", { "k", "v", TOLERATE_EQUAL, NOSCHED }, { "k", "v", NOEXEC }, false },
		{ "Gt is no Equal", { "k", "5", TOLERATE_GT }, { "k", "5", NOSCHED }, false },
		{ "Lt is no Equal", { "k", "5", TOLERATE_LT }, { "k", "5", NOSCHED }, false },
		{ "for a time is tolerated, for placing",
		  { "k", "v", TOLERATE_EQUAL, NOEXEC, true, 0 },
		  { "k", "v", NOEXEC },
		  true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (toleration_covers(&cases[i].o, &cases[i].t) != cases[i].want)
			fail_msg("%s: want %d", cases[i].what, cases[i].want);
}

static void test_the_taints_that_count_and_are_not_tolerated_are_told(void **state)
{
	struct taint taints[] = {
		{ "soft", "x", PREFER },  { "unknown", "x", EFFECT_ANY }, { "fine", "x", NOSCHED },
		{ "hard", "x", NOSCHED }, { "bad", "x", NOEXEC },
	};
	struct toleration fine = { "fine", NULL, TOLERATE_EXISTS };
	struct pod pod = { .tolerations = &fine, .n_tolerations = 1 };
	struct knode node = { .taints = taints, .n_taints = 3 };
	uint32_t i = 0;

	(void)state;
	assert_null(taint_in_the_way(&pod, &node, &i));
	node.n_taints = 5;
	i = 0;
	assert_ptr_equal(taint_in_the_way(&pod, &node, &i), &taints[3]);
	assert_ptr_equal(taint_in_the_way(&pod, &node, &i), &taints[4]);
	assert_null(taint_in_the_way(&pod, &node, &i));
	assert_ptr_equal(taint_tolerated(&pod, &taints[2]), &fine);
	assert_null(taint_tolerated(&pod, &taints[4]));
}

static void test_a_cordon_is_tolerated_by_its_taint(void **state)
{
	struct toleration t = { TAINT_CORDON, NULL, TOLERATE_EXISTS };
	struct pod pod = { .tolerations = &t, .n_tolerations = 1 };

	(void)state;
	assert_true(cordon_tolerated(&pod));
	t.effect = NOSCHED;
	assert_true(cordon_tolerated(&pod));
	t.effect = NOEXEC;
	assert_false(cordon_tolerated(&pod));
	t = (struct toleration) { TAINT_CORDON, "yes", TOLERATE_EQUAL };
	assert_false(cordon_tolerated(&pod));
	pod.n_tolerations = 0;
	assert_false(cordon_tolerated(&pod));
}

TEST_MAIN(TEST(tolerations_cover_taints_as_in_kubernetes), TEST(the_taints_that_count_and_are_not_tolerated_are_told),
          TEST(a_cordon_is_tolerated_by_its_taint))
