/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What Slurm's own tools call the state of a job (squeue) and of a node (sinfo): one word made of state and flags. Pure.
 */
#pragma once

#include "model/slurm.h"

enum job_word {
	JOBW_UNKNOWN,
	JOBW_PENDING,
	JOBW_RUNNING,
	JOBW_SUSPENDED,
	JOBW_COMPLETED,
	JOBW_CANCELLED,
	JOBW_FAILED,
	JOBW_TIMEOUT,
	JOBW_NODE_FAIL,
	JOBW_PREEMPTED,
	JOBW_BOOT_FAIL,
	JOBW_DEADLINE,
	JOBW_OUT_OF_MEMORY,
	JOBW_COMPLETING,
	JOBW_CONFIGURING,
	JOB_WORDS,
};

enum snode_word {
	NODEW_UNKNOWN,
	NODEW_DOWN,
	NODEW_IDLE,
	NODEW_ALLOCATED,
	NODEW_MIXED,
	NODEW_ERROR,
	NODEW_FUTURE,
	NODEW_COMPLETING,
	NODEW_DRAINED,
	NODEW_DRAINING,
	NODEW_FAIL,
	NODEW_FAILING,
	NODEW_INVAL,
	NODEW_MAINT,
	NODEW_PLANNED,
	NODEW_POWERED_DOWN,
	NODEW_POWERING_DOWN,
	NODEW_POWERING_UP,
	NODEW_REBOOT,
	NODEW_RESERVED,
	SNODE_WORDS,
};

extern const char *const job_words[JOB_WORDS];     /* "running" */
extern const char *const snode_words[SNODE_WORDS]; /* "drained" */

enum job_word job_word(const struct job *j);
enum snode_word snode_word(const struct snode *n);
