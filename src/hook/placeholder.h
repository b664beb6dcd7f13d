/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The body of a placeholder job: holds the allocation for as long as its Pod has the node. It tells the scheduler that it
 * runs, marks that in the job, waits for the Pod's end and ends with its exit code; when Slurm wants the job to end, it has
 * the Pod deleted and waits until it is gone. plan.h decides, this does. Runs as any user, without privileges; one thread.
 *
 * What it is told, all in the environment: SUNK_POD (<namespace>/<name>/<uid>), SUNK_HOOK_URL, SUNK_HOOK_TOKEN,
 * SUNK_KILL_WAIT (seconds), SUNK_HOOK_CA (optional), and by Slurm SLURM_JOB_ID, SLURM_RESTART_COUNT and
 * SLURMD_NODENAME (optional).
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/time.h"

#define PLACEHOLDER_POD_MAX 512
#define PLACEHOLDER_URL_MAX 1024

struct placeholder_env {
	char *pod;         /* as given */
	const char *uid;   /* its last part */
	char *url;         /* without a slash at the end */
	char *token, *ca_file;
	usec_t kill_wait;
	uint32_t job_id, restarts;
	char *node; /* SLURMD_NODENAME; NULL = not set, or nothing that is safe in a URL */
};

/* -EINVAL with the variable's name when one is missing or malformed. The token is wiped from the environment in any case, for
 * children and for /proc/PID/environ. */
int placeholder_env_read(struct placeholder_env *e, struct err *err);
void placeholder_env_done(struct placeholder_env *e);

/* Until the Pod is over. The exit status; 2: the environment is not right. */
int placeholder_run(void);
