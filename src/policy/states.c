/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/states.h"

#include <assert.h>

#include "base/mem.h"

const char *const job_words[JOB_WORDS] = {
	[JOBW_UNKNOWN] = "unknown",
	[JOBW_PENDING] = "pending",
	[JOBW_RUNNING] = "running",
	[JOBW_SUSPENDED] = "suspended",
	[JOBW_COMPLETED] = "completed",
	[JOBW_CANCELLED] = "cancelled",
	[JOBW_FAILED] = "failed",
	[JOBW_TIMEOUT] = "timeout",
	[JOBW_NODE_FAIL] = "node_fail",
	[JOBW_PREEMPTED] = "preempted",
	[JOBW_BOOT_FAIL] = "boot_fail",
	[JOBW_DEADLINE] = "deadline",
	[JOBW_OUT_OF_MEMORY] = "out_of_memory",
	[JOBW_COMPLETING] = "completing",
	[JOBW_CONFIGURING] = "configuring",
};

const char *const snode_words[SNODE_WORDS] = {
	[NODEW_UNKNOWN] = "unknown",
	[NODEW_DOWN] = "down",
	[NODEW_IDLE] = "idle",
	[NODEW_ALLOCATED] = "allocated",
	[NODEW_MIXED] = "mixed",
	[NODEW_ERROR] = "error",
	[NODEW_FUTURE] = "future",
	[NODEW_COMPLETING] = "completing",
	[NODEW_DRAINED] = "drained",
	[NODEW_DRAINING] = "draining",
	[NODEW_FAIL] = "fail",
	[NODEW_FAILING] = "failing",
	[NODEW_INVAL] = "inval",
	[NODEW_MAINT] = "maint",
	[NODEW_PLANNED] = "planned",
	[NODEW_POWERED_DOWN] = "powered_down",
	[NODEW_POWERING_DOWN] = "powering_down",
	[NODEW_POWERING_UP] = "powering_up",
	[NODEW_REBOOT] = "reboot",
	[NODEW_RESERVED] = "reserved",
};

static_assert((int)JOBW_OUT_OF_MEMORY == (int)JOB_OOM, "the first words are the states");
static_assert((int)NODEW_FUTURE == (int)NODE_FUTURE, "the first words are the states");

enum job_word job_word(const struct job *j)
{
	if (j->flags & JOBF_COMPLETING)
		return JOBW_COMPLETING;
	if (j->flags & JOBF_CONFIGURING)
		return JOBW_CONFIGURING;
	return j->state >= JOB_UNKNOWN && j->state <= JOB_OOM ? (enum job_word)j->state : JOBW_UNKNOWN;
}

/* Of an idle node, what is going on beside. */
static enum snode_word idle_word(uint32_t flags)
{
	static const struct {
		uint32_t flag;
		enum snode_word word;
	} table[] = {
		{ NODEF_POWERING_DOWN, NODEW_POWERING_DOWN },
		{ NODEF_POWERED_DOWN, NODEW_POWERED_DOWN },
		{ NODEF_POWERING_UP, NODEW_POWERING_UP },
		{ NODEF_RESERVED, NODEW_RESERVED },
		{ NODEF_PLANNED, NODEW_PLANNED },
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (flags & table[i].flag)
			return table[i].word;
	return NODEW_IDLE;
}

enum snode_word snode_word(const struct snode *n)
{
	bool jobs = n->state == NODE_ALLOCATED || n->state == NODE_MIXED;
	bool busy = jobs || n->flags & NODEF_COMPLETING;

	if (n->flags & NODEF_INVALID_REG)
		return NODEW_INVAL;
	if (n->flags & NODEF_MAINT && !(n->flags & NODEF_DRAIN) && !jobs && n->state != NODE_DOWN)
		return NODEW_MAINT;
	if (n->flags & NODEF_DRAIN)
		return busy ? NODEW_DRAINING : NODEW_DRAINED;
	if (n->flags & NODEF_REBOOT_ISSUED && !jobs)
		return NODEW_REBOOT;
	if (n->flags & NODEF_FAIL)
		return busy ? NODEW_FAILING : NODEW_FAIL;
	if (n->flags & NODEF_COMPLETING && n->state != NODE_DOWN && n->state != NODE_ALLOCATED)
		return NODEW_COMPLETING;
	if (n->state == NODE_IDLE)
		return idle_word(n->flags);
	return n->state >= NODE_UNKNOWN && n->state <= NODE_FUTURE ? (enum snode_word)n->state : NODEW_UNKNOWN;
}
