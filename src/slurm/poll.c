/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm/poll.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

#define SHARE 50 /* asking takes at most one part in so many of the controller's time */

struct poll {
	struct loop *loop;
	struct slurm_port *port;
	struct poll_options o;
	struct loop_timer *timer;
	struct job_brief *last; /* inside block */
	void *block;
	uint32_t n_last;
	usec_t cost, not_before;
	bool asking, freed; /* freed while asking: the answer frees it */
	void (*tell)(void *arg, const struct poll_event *events, size_t n, usec_t asked);
	void *arg;
};

usec_t poll_interval(usec_t cost, usec_t min, usec_t max)
{
	if (cost > max / SHARE)
		return max;
	return MAX_OF(cost * SHARE, min);
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = ((const struct job_brief *)a)->id, y = ((const struct job_brief *)b)->id;

	return (x > y) - (x < y);
}

void poll_sort(struct job_brief *jobs, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		if (jobs[i - 1].id > jobs[i].id) {
			qsort(jobs, n, sizeof(*jobs), by_id);
			return;
		}
	}
}

static bool same(const struct job_brief *a, const struct job_brief *b)
{
	return a->state == b->state && a->flags == b->flags && a->array_job_id == b->array_job_id &&
	       a->array_task_id == b->array_task_id;
}

size_t poll_diff(const struct job_brief *before, uint32_t n_before, const struct job_brief *now, uint32_t n_now,
                 struct poll_event *out)
{
	uint32_t i = 0, j = 0;
	size_t n = 0;

	while (i < n_before || j < n_now) {
		struct poll_event e = { 0 };

		if (j == n_now || (i < n_before && before[i].id < now[j].id)) {
			e.what = POLL_GONE;
			e.before = before[i++];
		} else if (i == n_before || now[j].id < before[i].id) {
			e.what = POLL_NEW;
			e.now = now[j++];
		} else {
			e.what = POLL_CHANGED;
			e.before = before[i++];
			e.now = now[j++];
			if (same(&e.before, &e.now))
				continue;
		}
		if (out)
			out[n] = e;
		n++;
	}
	return n;
}

static void really_free(struct poll *p)
{
	free(p->block);
	free(p);
}

static void compare(struct poll *p, struct slurm_result *r)
{
	_cleanup_free_ struct poll_event *events = NULL;
	size_t n;

	poll_sort(r->states, r->n);
	n = poll_diff(p->last, p->n_last, r->states, r->n, NULL);
	if (n) {
		events = mem_alloc_n(n, sizeof(*events));
		poll_diff(p->last, p->n_last, r->states, r->n, events);
	}
	free(p->block);
	p->block = TAKE_PTR(r->block);
	p->last = r->states;
	p->n_last = r->n;
	if (n)
		p->tell(p->arg, events, n, r->asked);
}

static void answered(void *arg, struct slurm_result *r)
{
	struct poll *p = arg;
	usec_t now = loop_now(p->loop);

	p->asking = false;
	if (p->freed) {
		really_free(p);
		return;
	}
	if (r->outcome == SLURM_OK)
		p->cost = now - r->asked;
	else
		log_debug("job state poll: %s", r->message);
	/* without an answer nothing is known of its cost: as after a cheap one, the port itself holds back what is
	 * futile */
	p->not_before = now + poll_interval(r->outcome == SLURM_OK ? p->cost : 0, p->o.min, p->o.max);
	loop_set_timer(p->timer, p->not_before);
	if (r->outcome == SLURM_OK && r->states)
		compare(p, r);
}

static void ask(void *arg)
{
	struct poll *p = arg;
	struct slurm_request rq = { .verb = SLURM_LOAD_JOB_STATES, .timeout = p->o.timeout };

	if (p->asking)
		return;
	p->asking = true;
	p->port->ops->call(p->port, &rq, answered, p);
}

struct poll *poll_new(struct loop *loop, struct slurm_port *port, const struct poll_options *o,
                      void (*tell)(void *arg, const struct poll_event *events, size_t n, usec_t asked), void *arg)
{
	struct poll *p = NEW(struct poll);

	*p = (struct poll) { .loop = loop, .port = port, .o = *o, .tell = tell, .arg = arg };
	p->o.min = o->min > 0 ? o->min : 200 * USEC_MSEC;
	p->o.max = o->max > 0 ? o->max : 30 * USEC_SEC;
	p->timer = loop_add_timer(loop, ask, p);
	loop_set_timer(p->timer, loop_now(loop));
	return p;
}

void poll_free(struct poll *p)
{
	if (!p)
		return;
	loop_remove_timer(TAKE_PTR(p->timer));
	p->freed = true;
	if (!p->asking)
		really_free(p);
}

void poll_soon(struct poll *p)
{
	if (!p->asking)
		loop_set_timer(p->timer, MAX_OF(p->not_before, loop_now(p->loop)));
}

usec_t poll_cost(const struct poll *p)
{
	return p->cost;
}
