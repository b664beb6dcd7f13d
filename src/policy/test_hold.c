/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/hold.h"

#include "base/mem.h"
#include "base/test.h"

#define OURS "k8s: pod deletion timeout"

static void test_only_our_own_drain_is_ever_lifted(void **state)
{
	static const struct {
		const char *what;
		bool held;
		struct snode node;
		enum hold want;
	} cases[] = {
		{ "a Pod without a job", true, { .state = NODE_IDLE }, HOLD_DRAIN },
		{ "also on a node that is down: it may come back", true, { .state = NODE_DOWN }, HOLD_DRAIN },
		{ "because it does not answer", true, { .state = NODE_DOWN, .reason = "Not responding" }, HOLD_DRAIN },
		{ "or was held before", true, { .state = NODE_DOWN, .reason = OURS }, HOLD_DRAIN },
		{ "an old drain of the syncer", true, { .state = NODE_DOWN, .reason = "k8s: cordon: x" }, HOLD_DRAIN },
		{ "not when somebody took it down and said why",
		  true,
		  { .state = NODE_DOWN, .reason = "disk" },
		  HOLD_LEAVE },
		{ "his reason does not count when it is back",
		  true,
		  { .state = NODE_IDLE, .reason = "disk" },
		  HOLD_DRAIN },
		{ "drained already", true, { .flags = NODEF_DRAIN, .reason = OURS }, HOLD_LEAVE },
		{ "by someone else", true, { .flags = NODEF_DRAIN, .reason = "disk" }, HOLD_LEAVE },
		{ "gone: lifted", false, { .flags = NODEF_DRAIN, .reason = OURS }, HOLD_LIFT },
		{ "not someone else's", false, { .flags = NODEF_DRAIN, .reason = "disk" }, HOLD_LEAVE },
		{ "not what someone made of ours",
		  false,
		  { .flags = NODEF_DRAIN, .reason = OURS " (bob looks at it)" },
		  HOLD_LEAVE },
		{ "not the syncer's", false, { .flags = NODEF_DRAIN, .reason = "k8s: pod not ready" }, HOLD_LEAVE },
		{ "an old reason without a drain", false, { .reason = OURS }, HOLD_LEAVE },
		{ "no reason at all", false, { .flags = NODEF_DRAIN }, HOLD_LEAVE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (hold_decide(cases[i].held, &cases[i].node, OURS) != cases[i].want)
			fail_msg("%s", cases[i].what);
}

TEST_MAIN(TEST(only_our_own_drain_is_ever_lifted))
