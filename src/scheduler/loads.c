/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Asking Slurm for single jobs. One request for one job costs Slurm and us as much as a list of about a hundred, so few are
 * asked for one by one, and as soon as many wait, all of them by one list: when a controller starts 200 jobs in one pass, the
 * last of their Pods does not wait for 199 answers. What is told is always of after it was asked for.
 */
#include "scheduler/inside.h"

#include <stdlib.h>

#define SINGLES_MAX 2    /* under way at once: a third worker is left for all else */
#define LIST_WORTH 4     /* as many as are worth a list of nothing */
#define LIST_WORTH_JOBS 100 /* and one more for so many jobs of Slurm's */

struct want {
	struct link link; /* scheduler.wants or list_wants; none when it is under way by itself */
	struct scheduler *s;
	uint32_t id;
	slurm_done done;
	void *arg;
};

static void answer(struct want *w, struct slurm_result *r)
{
	slurm_done done = w->done;
	void *arg = w->arg;

	link_remove(&w->link);
	free(w);
	done(arg, r);
}

static void single_answered(void *arg, struct slurm_result *r)
{
	struct want *w = arg;
	struct scheduler *s = w->s;

	s->singles--;
	answer(w, r);
	wake(s);
}

void loads_ask(struct scheduler *s, uint32_t id, slurm_done done, void *arg)
{
	struct want *w = NEW(struct want);

	*w = (struct want) { .s = s, .id = id, .done = done, .arg = arg };
	list_add_tail(&s->wants, &w->link);
	s->n_wants++;
	wake(s);
}

bool loads_want_list(const struct scheduler *s)
{
	return s->n_wants >= LIST_WORTH + s->n_slurm_jobs / LIST_WORTH_JOBS;
}

void loads_list_began(struct scheduler *s)
{
	struct link *l;

	while ((l = list_take_head(&s->wants)))
		list_add_tail(&s->list_wants, l);
	s->n_wants = 0;
}

void loads_step(struct scheduler *s)
{
	struct link *l;

	while (s->singles < SINGLES_MAX && (l = list_take_head(&s->wants))) {
		struct want *w = LIST_ITEM(l, struct want, link);

		s->n_wants--;
		s->singles++;
		s->o.slurm->ops->call(s->o.slurm, &(struct slurm_request) { .verb = SLURM_LOAD_JOB, .job_id = w->id },
		                      single_answered, w);
	}
}

static int by_id(const void *a, const void *b)
{
	const struct job *x = *(const struct job *const *)a, *y = *(const struct job *const *)b;

	return (x->id > y->id) - (x->id < y->id);
}

/* Each gets its part of the list, as if it had been asked for alone. */
void loads_listed(struct scheduler *s, const struct slurm_result *r)
{
	_cleanup_free_ struct job **sorted = NULL;
	struct link taken, *l;

	if (list_empty(&s->list_wants))
		return;
	link_init(&taken); /* whoever is told may ask again */
	while ((l = list_take_head(&s->list_wants)))
		list_add_tail(&taken, l);
	sorted = mem_alloc_n(r->n + 1u, sizeof(struct job *));
	for (uint32_t i = 0; i < r->n; i++)
		sorted[i] = &r->jobs[i];
	qsort(sorted, r->n, sizeof(struct job *), by_id);
	while (!list_empty(&taken)) {
		struct want *w = LIST_ITEM(taken.next, struct want, link);
		const struct job key = { .id = w->id }, *const of = &key;
		struct slurm_result one = *r;
		struct job **found = bsearch(&of, sorted, r->n, sizeof(struct job *), by_id);

		one.block = NULL;
		one.jobs = found ? *found : NULL;
		one.n = found ? 1 : 0;
		if (r->outcome == SLURM_OK && !found) {
			one.outcome = SLURM_GONE;
			one.message = "no such job";
		}
		answer(w, &one);
	}
}

void loads_give_up(struct scheduler *s)
{
	struct slurm_result none = { .outcome = SLURM_RETRY,
		                     .message = "the scheduler does not lead any more, or ends" };
	struct link *l;

	while ((l = list_take_head(&s->wants))) {
		s->n_wants--;
		answer(LIST_ITEM(l, struct want, link), &none);
	}
}

void loads_done(struct scheduler *s)
{
	struct link *l;

	while ((l = list_take_head(&s->list_wants))) {
		list_add_tail(&s->wants, l);
		s->n_wants++;
	}
	loads_give_up(s);
}
