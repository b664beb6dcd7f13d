/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a placeholder does next. Pure: values in, values out; time and answers come from placeholder.c, which does what is
 * wanted here and reports what came of it.
 *
 *   started ──► told ──► over                   a Pod ends by itself: the call lasts until then
 *   started ──► wait ──► told ──► over          the Pod runs for longer than a call, or the scheduler is an older one
 *   any moment, on a signal ──► terminate ──► over, with drain shortly before Slurm's KILL
 *
 * The job is marked meanwhile, or between told and over. `started` that broke is said again, for the next scheduler may not
 * have heard it.
 *
 * What must hold: it is over only when the hook said that the Pod is over, or that there is none (404 for long). Whatever
 * else is answered, or not answered, only leads to another try: Slurm must not give the node to others while a Pod may run.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/rand.h"
#include "base/time.h"

/* MARK is done with scontrol, the others are calls of the hook. */
enum plan_task { TASK_STARTED, TASK_MARK, TASK_WAIT, TASK_TERMINATE, TASK_DRAIN, TASKS };

/* Worth a line to a person; each again only when it came anew, and not too often. */
enum plan_news {
	NEWS_NONE,
	NEWS_UNREACHABLE,  /* no answer, or one that says "later" */
	NEWS_REFUSED,      /* 401, 403: has the secret changed? */
	NEWS_ODD,          /* an answer that the hook does not give: is the address right? */
	NEWS_UNKNOWN,      /* 404 for long: over */
	NEWS_NOT_MARKED,   /* scontrol failed */
	NEWS_NOT_DRAINED,  /* the end is near, and the hook did not take the drain */
	NEWS_KINDS
};

#define PLAN_NO_ANSWER 0
#define PLAN_STATUS_TERM 143 /* 128 + SIGTERM, when nobody told another */
#define PLAN_UNKNOWN_MIN (30 * USEC_SEC)

struct plan_answer {
	int status;    /* HTTP's; PLAN_NO_ANSWER: none. scontrol: 200, or PLAN_NO_ANSWER when it failed */
	bool readable; /* 200: what came is what the hook says (an object) */
	bool over; /* and it tells a Pod's end: an older scheduler only says that it heard `started` */
	int exit_code; /* the Pod's; -1: not told */
};

struct plan {
	usec_t kill_wait;
	struct rng rng;
	struct plan_try {
		bool running, done;
		unsigned failures;
		usec_t since, not_before;
	} tries[TASKS];
	bool ending;
	usec_t ending_since;
	unsigned n_unknown; /* 404 without another answer between */
	usec_t unknown_since;
	enum plan_news trouble[TASKS];
	usec_t said[NEWS_KINDS]; /* when last; 0: never */
	bool told; /* how the Pod ended; the job is not marked yet */
	usec_t told_at;
	bool over; /* see plan_is_over() */
	int exit_status;
};

void plan_init(struct plan *p, usec_t kill_wait, struct rng rng);

/* Is it to run now? When it does not run: start it, and say so with plan_began(). When it runs and this is false: stop it, and
 * say so with plan_stopped(). */
bool plan_wants(const struct plan *p, enum plan_task t, usec_t now);
void plan_began(struct plan *p, enum plan_task t, usec_t now);
void plan_stopped(struct plan *p, enum plan_task t);
enum plan_news plan_answered(struct plan *p, enum plan_task t, const struct plan_answer *a, usec_t now);

/* Slurm wants the job to end. The first time counts. */
void plan_end(struct plan *p, usec_t now);

/* Nothing is wanted any more: the job ends with exit_status. */
bool plan_is_over(const struct plan *p, usec_t now);

/* When something will be wanted that is not now, or it is over; USEC_NEVER: nothing but an answer or a signal changes anything. */
usec_t plan_next(const struct plan *p, usec_t now);

/* The drain is asked for this long after the signal: three seconds before KillWait, at 60 % of a short one. */
usec_t plan_drain_after(usec_t kill_wait);
