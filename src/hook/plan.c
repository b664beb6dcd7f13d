/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/plan.h"

#include "base/mem.h"

#define BACKOFF_FIRST (200 * USEC_MSEC)
#define BACKOFF_MAX (5 * USEC_SEC)
#define SLOW (10 * USEC_SEC) /* where only a person can help */
/* A server that answers "ask again" at once would else be asked without pause. */
#define ASK_AGAIN_MIN USEC_SEC
#define UNKNOWN_TIMES_MIN 3
#define SAY_AGAIN_MIN (10 * USEC_MINUTE)
#define DRAIN_BEFORE_KILL (3 * USEC_SEC)
/* The scheduler binds the Pod when it hears `started`, and scontrol would be in the way of that on a busy node; the mark is for a
 * scheduler that did not hear it. That it did shows only at the end. */
#define MARK_AFTER USEC_SEC
/* The end waits this long for the mark: while slurmctld is away, scontrol may hang. A job that was told its end is expected to
 * end within three seconds by the scheduler, which cancels it after ten. */
#define MARK_LAST_MAX (2 * USEC_SEC)

usec_t plan_drain_after(usec_t kill_wait)
{
	return MAX_OF(kill_wait - DRAIN_BEFORE_KILL, kill_wait * 6 / 10);
}

void plan_init(struct plan *p, usec_t kill_wait, struct rng rng)
{
	*p = (struct plan) { .kill_wait = kill_wait, .rng = rng };
}

static usec_t mark_after(const struct plan *p)
{
	const struct plan_try *started = &p->tries[TASK_STARTED];

	return p->told || started->done || started->failures ? 0 : started->since + MARK_AFTER;
}

/* When the task may run at all: from then on until something changes. USEC_NEVER: not as things are. */
static usec_t due(const struct plan *p, enum plan_task t)
{
	const struct plan_try *y = &p->tries[t];
	bool useful = false;
	usec_t at = y->not_before;

	switch (t) {
	case TASK_STARTED: useful = !p->ending && !p->told; break; /* nothing may start for a job that ends */
	case TASK_MARK:
		useful = !p->ending; /* nor can it be marked */
		at = MAX_OF(at, mark_after(p));
		break;
	case TASK_WAIT: useful = !p->ending && !p->told && p->tries[TASK_STARTED].done; break;
	case TASK_TERMINATE: useful = p->ending; break;
	case TASK_DRAIN:
		useful = p->ending;
		at = MAX_OF(at, p->ending_since + plan_drain_after(p->kill_wait));
		break;
	case TASKS: break;
	}
	return useful && !y->done ? at : USEC_NEVER;
}

bool plan_is_over(const struct plan *p, usec_t now)
{
	return p->over || (p->told && now >= p->told_at + MARK_LAST_MAX);
}

bool plan_wants(const struct plan *p, enum plan_task t, usec_t now)
{
	usec_t at = plan_is_over(p, now) ? USEC_NEVER : due(p, t);

	return p->tries[t].running ? at != USEC_NEVER : at <= now;
}

usec_t plan_next(const struct plan *p, usec_t now)
{
	usec_t next = p->told ? p->told_at + MARK_LAST_MAX : USEC_NEVER;

	if (plan_is_over(p, now))
		return now;
	for (enum plan_task t = 0; t < TASKS; t++) {
		usec_t at = due(p, t);

		if (!p->tries[t].running && at < next)
			next = MAX_OF(at, now);
	}
	return next;
}

void plan_began(struct plan *p, enum plan_task t, usec_t now)
{
	p->tries[t].running = true;
	p->tries[t].since = now;
}

void plan_stopped(struct plan *p, enum plan_task t)
{
	p->tries[t].running = false;
}

void plan_end(struct plan *p, usec_t now)
{
	if (p->ending)
		return;
	p->ending = true;
	p->ending_since = now;
	p->n_unknown = 0;
	if (p->told)
		p->over = true; /* the Pod is, and a job that ends cannot be marked */
}

/* The Pod is over. So is the job, but for the mark: it is made now if it was not, unless that has failed already. */
static void told(struct plan *p, int exit_status, usec_t now)
{
	const struct plan_try *mark = &p->tries[TASK_MARK];

	p->exit_status = exit_status;
	if (p->ending || mark->done || (mark->failures && !mark->running)) {
		p->over = true;
		return;
	}
	p->told = true;
	p->told_at = now;
}

/* Trouble is news when it is another than this task had, and was not said lately. */
static enum plan_news tell(struct plan *p, enum plan_task t, enum plan_news n, usec_t now)
{
	bool anew = p->trouble[t] != n;

	p->trouble[t] = n;
	if (n == NEWS_NONE || !anew || (p->said[n] && now - p->said[n] < SAY_AGAIN_MIN))
		return NEWS_NONE;
	p->said[n] = MAX_OF(now, 1);
	return n;
}

static void again(struct plan *p, enum plan_task t, usec_t now, usec_t least)
{
	struct plan_try *y = &p->tries[t];

	y->not_before = now + MAX_OF(least, backoff_span(&p->rng, y->failures, BACKOFF_FIRST, BACKOFF_MAX));
	y->failures++;
}

/* 200 or 204. */
static enum plan_news succeeded(struct plan *p, enum plan_task t, const struct plan_answer *a, usec_t now)
{
	struct plan_try *y = &p->tries[t];
	bool parks = t == TASK_STARTED || t == TASK_WAIT || t == TASK_TERMINATE;
	bool ends = a->status == 200 && parks && (t != TASK_STARTED || a->over);

	if (a->status == 200 && parks && !a->readable) {
		again(p, t, now, SLOW);
		return tell(p, t, NEWS_ODD, now);
	}
	y->failures = 0;
	if (ends)
		told(p, a->exit_code >= 0 ? a->exit_code : PLAN_STATUS_TERM, now);
	else if (a->status == 200 || t == TASK_STARTED)
		y->done = true;
	else
		y->not_before = y->since + ASK_AGAIN_MIN;
	return tell(p, t, NEWS_NONE, now);
}

/* The hook does not know the job. Not at once the truth: a scheduler may know less than it will in a moment. */
static enum plan_news unknown(struct plan *p, enum plan_task t, usec_t now)
{
	if (p->n_unknown++ == 0)
		p->unknown_since = now;
	again(p, t, now, 0);
	if (p->n_unknown < UNKNOWN_TIMES_MIN || now - p->unknown_since < PLAN_UNKNOWN_MIN)
		return NEWS_NONE;
	p->over = true;
	p->exit_status = p->ending ? PLAN_STATUS_TERM : 1;
	return NEWS_UNKNOWN;
}

enum plan_news plan_answered(struct plan *p, enum plan_task t, const struct plan_answer *a, usec_t now)
{
	p->tries[t].running = false;
	p->over |= t == TASK_MARK && p->told; /* made or not: the end waited for one try */
	if (t == TASK_MARK && a->status != 200) {
		again(p, t, now, 0);
		return tell(p, t, NEWS_NOT_MARKED, now);
	}
	if (t != TASK_MARK && a->status != 404)
		p->n_unknown = 0;
	if (a->status == 200 || a->status == 204)
		return succeeded(p, t, a, now);
	if (a->status == 404)
		return unknown(p, t, now);
	if (t == TASK_DRAIN) { /* there is little time left: no slow tries */
		again(p, t, now, 0);
		return tell(p, t, NEWS_NOT_DRAINED, now);
	}
	if (a->status == PLAN_NO_ANSWER || a->status == 429 || a->status >= 500) {
		again(p, t, now, 0);
		return tell(p, t, NEWS_UNREACHABLE, now);
	}
	again(p, t, now, SLOW);
	return tell(p, t, a->status == 401 || a->status == 403 ? NEWS_REFUSED : NEWS_ODD, now);
}
