/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/cleanup.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/test.h"

#define GONE ((usec_t)100 * USEC_SEC)
#define LATER (GONE + CLEANUP_SETTLES)

static void test_a_node_is_deleted_only_when_nobody_has_it_and_nothing_runs_there(void **state)
{
	static const struct {
		const char *what;
		bool unknown, listed, pod, foreign, is_static;
		int state;
		uint32_t flags;
		usec_t now, asked;
		bool remove, forgets, news, ask;
		usec_t no_pod; /* 0: just now */
	} rows[] = {
		{ "it is gone, for long enough", .now = LATER, .asked = GONE + 1, .remove = true },
		{ "Kubernetes was not asked whether it has a Pod", .now = LATER, .asked = LATER, .no_pod = 1,
		  .ask = true },
		{ "it was asked before", .now = LATER, .asked = LATER, .no_pod = GONE, .ask = true },
		{ "long ago", .now = LATER + CLEANUP_JUST_NOW, .asked = LATER, .no_pod = LATER - 1, .ask = true },
		{ "drained, by whomever", .flags = NODEF_DRAIN, .now = LATER, .asked = GONE + 1, .remove = true },
		{ "down", .state = NODE_DOWN, .flags = NODEF_NO_RESPOND, .now = LATER, .asked = LATER, .remove = true },
		{ "not long enough", .now = LATER - 1, .asked = GONE + 1 },
		{ "what Slurm said is older", .now = LATER, .asked = GONE, .news = true },
		{ "a list is missing, or old", .unknown = true, .now = LATER, .asked = LATER, .forgets = true },
		{ "a slice has it", .listed = true, .now = LATER, .asked = LATER, .forgets = true },
		{ "a Pod has it", .pod = true, .now = LATER, .asked = LATER, .forgets = true },
		{ "no NodeSet ever had it", .foreign = true, .now = LATER, .asked = LATER, .forgets = true },
		{ "slurm.conf has it", .is_static = true, .now = LATER, .asked = LATER, .forgets = true },
		{ "a job runs there", .state = NODE_MIXED, .now = LATER, .asked = LATER },
		{ "jobs fill it", .state = NODE_ALLOCATED, .flags = NODEF_DRAIN, .now = LATER, .asked = LATER },
		{ "a job ends there", .flags = NODEF_COMPLETING, .now = LATER, .asked = LATER },
		{ "a job's remains on a lost node", .state = NODE_DOWN, .flags = NODEF_COMPLETING, .now = LATER,
		  .asked = LATER },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct snode node = { .state = rows[i].state ? rows[i].state : NODE_IDLE,
			                    .flags = rows[i].flags | (rows[i].is_static ? 0 : NODEF_DYNAMIC) };
		struct cleanup_decision d = cleanup_decide(
		        &(struct cleanup_view) { .node = &node,
		                                 .known = !rows[i].unknown,
		                                 .listed = rows[i].listed,
		                                 .pod = rows[i].pod,
		                                 .ours = !rows[i].foreign,
		                                 .now = rows[i].now,
		                                 .asked = rows[i].asked,
		                                 .missing = GONE,
		                                 .no_pod = rows[i].no_pod ? rows[i].no_pod : rows[i].now });

		if (d.remove != rows[i].remove || d.wants_news != rows[i].news || d.ask_pod != rows[i].ask ||
		    d.missing != (rows[i].forgets ? 0 : GONE))
			fail_msg("%s: remove %d, wants news %d, missing since %" PRIu64, rows[i].what, d.remove,
			         d.wants_news, (uint64_t)d.missing);
	}
}

static void test_the_time_begins_when_it_is_first_seen_to_be_missing(void **state)
{
	const struct snode node = { .state = NODE_IDLE, .flags = NODEF_DYNAMIC };
	struct cleanup_view v = { .node = &node, .known = true, .ours = true, .now = GONE, .asked = GONE };
	struct cleanup_decision d = cleanup_decide(&v);

	(void)state;
	assert_false(d.remove);
	assert_true(d.missing == GONE && d.again == LATER);
	v.missing = d.missing;
	v.now = v.asked = LATER;
	v.known = false; /* for a moment */
	d = cleanup_decide(&v);
	assert_true(!d.remove && !d.missing);
	v.missing = d.missing;
	v.known = true;
	d = cleanup_decide(&v);
	assert_true(!d.remove && d.missing == LATER);
}

TEST_MAIN(TEST(a_node_is_deleted_only_when_nobody_has_it_and_nothing_runs_there),
          TEST(the_time_begins_when_it_is_first_seen_to_be_missing))
