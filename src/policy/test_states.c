/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/states.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"

static void test_jobs_are_called_what_squeue_calls_them(void **state)
{
	static const struct {
		int state;
		uint32_t flags;
		const char *word;
	} cases[] = {
		{ JOB_PENDING, 0, "pending" },
		{ JOB_RUNNING, 0, "running" },
		{ JOB_RUNNING, JOBF_CONFIGURING, "configuring" },
		{ JOB_RUNNING, JOBF_COMPLETING, "completing" },
		{ JOB_COMPLETE, JOBF_COMPLETING, "completing" },
		{ JOB_COMPLETE, 0, "completed" },
		{ JOB_CANCELLED, 0, "cancelled" },
		{ JOB_NODE_FAIL, 0, "node_fail" },
		{ JOB_OOM, 0, "out_of_memory" },
		{ JOB_PENDING, JOBF_REQUEUED, "pending" },
		{ 99, 0, "unknown" },
		{ -1, 0, "unknown" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct job j = { .state = cases[i].state, .flags = cases[i].flags };

		assert_string_equal(job_words[job_word(&j)], cases[i].word);
	}
}

static void test_nodes_are_called_what_sinfo_calls_them(void **state)
{
	static const struct {
		int state;
		uint32_t flags;
		const char *word;
	} cases[] = {
		{ NODE_IDLE, 0, "idle" },
		{ NODE_IDLE, NODEF_NO_RESPOND | NODEF_DYNAMIC, "idle" },
		{ NODE_IDLE, NODEF_PLANNED, "planned" },
		{ NODE_IDLE, NODEF_RESERVED, "reserved" },
		{ NODE_ALLOCATED, NODEF_RESERVED, "allocated" },
		{ NODE_IDLE, NODEF_COMPLETING, "completing" },
		{ NODE_ALLOCATED, NODEF_COMPLETING, "allocated" },
		{ NODE_IDLE, NODEF_DRAIN, "drained" },
		{ NODE_MIXED, NODEF_DRAIN, "draining" },
		{ NODE_IDLE, NODEF_DRAIN | NODEF_COMPLETING, "draining" },
		{ NODE_DOWN, NODEF_DRAIN, "drained" },
		{ NODE_DOWN, NODEF_NO_RESPOND, "down" },
		{ NODE_IDLE, NODEF_MAINT, "maint" },
		{ NODE_IDLE, NODEF_MAINT | NODEF_DRAIN, "drained" },
		{ NODE_ALLOCATED, NODEF_MAINT, "allocated" },
		{ NODE_IDLE, NODEF_FAIL, "fail" },
		{ NODE_MIXED, NODEF_FAIL, "failing" },
		{ NODE_IDLE, NODEF_INVALID_REG | NODEF_DRAIN, "inval" },
		{ NODE_IDLE, NODEF_REBOOT_ISSUED, "reboot" },
		{ NODE_ERROR, 0, "error" },
		{ NODE_FUTURE, 0, "future" },
		{ NODE_UNKNOWN, 0, "unknown" },
		{ 77, 0, "unknown" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct snode n = { .state = cases[i].state, .flags = cases[i].flags };

		if (!str_eq(snode_words[snode_word(&n)], cases[i].word))
			fail_msg("case %zu: %s, want %s", i, snode_words[snode_word(&n)], cases[i].word);
	}
}

static void test_every_word_is_spelled(void **state)
{
	(void)state;
	for (int i = 0; i < JOB_WORDS; i++)
		assert_non_null(job_words[i]);
	for (int i = 0; i < SNODE_WORDS; i++)
		assert_non_null(snode_words[i]);
}

TEST_MAIN(TEST(jobs_are_called_what_squeue_calls_them), TEST(nodes_are_called_what_sinfo_calls_them),
          TEST(every_word_is_spelled))
