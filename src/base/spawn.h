/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Starting another program, never through a shell. The child gets exactly the descriptors it is given, in a process
 * group of its own, with default signal handling.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct spawn {
	const char *const *argv; /* argv[0] is looked up in PATH unless it has a slash; NULL-terminated */
	const char *const *env;  /* more variables "K=V" that override the parent's, NULL-terminated; NULL = none */
	bool env_only;           /* these variables and none of the parent's */
	const char *cwd;         /* where it starts; NULL = the parent's */
	int in, out, err;        /* the child's 0, 1, 2; -1 = /dev/null (err: -1 = the parent's) */
	int extra;               /* the child's 3; -1 = none */
};

/* The child is running when this returns 0. The caller waits for ret_pid. */
int spawn(const struct spawn *s, pid_t *ret_pid, struct err *err);
