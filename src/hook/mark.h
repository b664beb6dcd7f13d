/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The `: started` mark in a job's extra, written with `scontrol update`: a child that never outlives us, run without a shell.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct mark {
	pid_t pid; /* 0: none runs */
	int said;  /* what the child says, a file in memory; -1: none */
};

#define MARK_NONE ((struct mark) { .said = -1 })

/* extra is the whole text. The child is ended after MARK_SECONDS_MAX by itself. */
#define MARK_SECONDS_MAX 120
int mark_start(struct mark *m, uint32_t job_id, const char *extra, struct err *err);
/* After SIGCHLD: false while it still runs. Else *ret is 0, or an error with what scontrol said. */
bool mark_ended(struct mark *m, int *ret, struct err *err);
/* Ends it and waits for it. */
void mark_stop(struct mark *m);
