/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The safety net under doorbell and hooks: asks for the states of all jobs again and again, compares with the last
 * answer, and tells which jobs are new, changed or gone. It asks as often as it may: so that asking never takes more
 * than about a fiftieth of the controller's time.
 *
 * Only a whole answer is compared. One that failed says nothing about any job.
 */
#pragma once

#include "net/loop.h"
#include "port/slurm.h"

enum poll_what { POLL_NEW, POLL_CHANGED, POLL_GONE };

struct poll_event {
	enum poll_what what;
	struct job_brief now, before; /* GONE: only before; NEW: only now */
};

/* The pure parts. */

/* How long to wait after an answer that took `cost`. */
usec_t poll_interval(usec_t cost, usec_t min, usec_t max);

/* In order of the id, which must be unique. */
void poll_sort(struct job_brief *jobs, uint32_t n);

/* Differences between two sorted sets, in order of the id; at most n_before + n_now. Returns how many. `out` may be
 * NULL. */
size_t poll_diff(const struct job_brief *before, uint32_t n_before, const struct job_brief *now, uint32_t n_now,
                 struct poll_event *out);

struct poll_options {
	usec_t min, max; /* bounds of the interval; 0 = 200 ms and 30 s */
	usec_t timeout;  /* of one question; 0 = the port's default */
};

struct poll;

/* Starts asking at once. `tell` gets what changed; the very first answer tells every job as NEW. `asked` is when the
 * question left: what is told is at least as new. */
struct poll *poll_new(struct loop *loop, struct slurm_port *port, const struct poll_options *options,
                      void (*tell)(void *arg, const struct poll_event *events, size_t n, usec_t asked), void *arg);
/* Before the port is closed. An answer still to come is dropped. */
void poll_free(struct poll *p);

/* Asks soon instead of at the next interval: someone rang. Never more often than the interval allows. */
void poll_soon(struct poll *p);

usec_t poll_cost(const struct poll *p); /* of the last question */
