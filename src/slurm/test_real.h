/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the tests against a real slurmctld share: a port over the cluster that tests/slurm/run-real made, requests that
 * wait for their answer, and programs to compare with. Such a test program is its own Slurm worker.
 */
#pragma once

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"
#include "slurm/open.h"

struct real {
	struct loop *loop;
	struct slurm_port *port;
	struct gate gate;
	int rings;
};

/* Options NULL: defaults. The port is ready when this returns, unless may_be_away. */
void real_open(struct real *r, const struct slurm_options *options, bool may_be_away);
void real_close(struct real *r);

/* Asks and waits. The caller frees block. */
struct slurm_result real_call(struct real *r, const struct slurm_request *request);
/* Same, for those that must succeed. */
struct slurm_result real_ok(struct real *r, const struct slurm_request *request);
void real_expect(struct real *r, const struct slurm_request *request, enum slurm_outcome outcome, int code);

uint32_t real_submit(struct real *r, const struct job_spec *spec);
/* A job that sleeps until it is ended. */
uint32_t real_submit_sleeper(struct real *r, const char *name);
/* Waits until the job is in that state and not completing; the caller frees block. */
struct slurm_result real_await(struct real *r, uint32_t job_id, int state);
void real_cancel(struct real *r, uint32_t job_id);
/* One node; the caller frees block. */
struct slurm_result real_node(struct real *r, const char *name);

/* Runs a shell command line, gives what it wrote; fails the test unless it ends with 0. The caller frees. */
char *real_sh(const char *fmt, ...) _printf_(1, 2);
/* The value behind "Key=" in a line of scontrol's, up to the next blank; "" when there is none. The caller frees. */
char *real_value(const char *line, const char *key);

const char *real_cluster(void); /* the cluster's directory */
const char *real_work(void);    /* a directory that jobs of any user may write to */

#define REAL_WAIT(r, seconds, condition)                                                                               \
	do {                                                                                                           \
		usec_t end_ = clock_mono(clock_real()) + (seconds) * USEC_SEC;                                         \
		while (!(condition) && clock_mono(clock_real()) < end_)                                                \
			loop_run_once((r)->loop, 20 * USEC_MSEC);                                                      \
		assert_true(condition);                                                                                \
	} while (0)

/* main() of such a program. */
int real_main(int argc, char **argv, const struct CMUnitTest *tests, size_t n);
