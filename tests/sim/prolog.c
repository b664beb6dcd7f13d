/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Prologs and epilogs on the model's nodes, as hook/prolog.c has them: ask the syncer's pre-hook until it answers or the time
 * is over; when the node cannot be locked, drain it with a reason that says what lifts it. The job does not start then.
 */
#include "tests/sim/world.h"

#include <stdio.h>

#include "base/str.h"
#include "hook/prolog.h"

#define BACKOFF_FIRST (100 * USEC_MSEC)
#define BACKOFF_MAX (2 * USEC_SEC)

static void ask(struct world *w, struct ev *e)
{
	struct sjob *j = job_by_serial(w, e->a);

	if (!j || j->run != e->b || !j->in_prolog || j->prolog.call)
		return;
	j->prolog.call = hook_call_new(w, j, TASKS)->serial;
}

/* scontrol first: slurmctld drains with a reason of its own, but keeps one that is there. */
static void gives_up(struct world *w, struct sjob *j, const char *why, const char *reason)
{
	if (w->ctld.nodes[j->node].slurmd_away || w->ctld.nodes[j->node].loss_to_come)
		return;
	w->counts.prolog_timeouts++;
	say(w, "job %u: prolog gives up: %s", j->id, why);
	job_prolog_fails(w, j, w->ctld.nodes[j->node].drained ? NULL : reason);
}

static void time_is_over(struct world *w, struct ev *e)
{
	struct sjob *j = job_by_serial(w, e->a);

	if (!j || j->run != e->b || !j->in_prolog || j->prolog.passed)
		return;
	if (!w->ctld.up) {
		in(w, USEC_SEC, time_is_over, e->a, e->b, NULL);
		return;
	}
	gives_up(w, j, "no answer in time", PROLOG_REASON);
}

void prolog_start(struct world *w, struct sjob *j)
{
	usec_t first = span(w, 15 * USEC_MSEC, 50 * USEC_MSEC);
	const struct kpod *slurmd = w->ctld.nodes[j->node].slurmd_away ? NULL : nodeset_pod(w, (unsigned)j->node);

	if (fault_hits(w, FAULT_PROLOG, 200))
		first = span(w, USEC_SEC, 20 * USEC_SEC);
	str_copy(j->prolog.slurmd_uid, sizeof(j->prolog.slurmd_uid), slurmd ? slurmd->pod->meta.uid : "");
	j->prolog.began = w->now + first;
	j->prolog.call = 0;
	j->prolog.tries = 0;
	j->prolog.passed = j->prolog.gave_up = false;
	in(w, first, ask, j->serial, j->run, NULL);
	in(w, first + PROLOG_TIMEOUT, time_is_over, j->serial, j->run, NULL);
}

void prolog_hears(struct world *w, struct sjob *j, uint64_t call, int status)
{
	usec_t wait;

	if (!j->in_prolog || j->prolog.call != call || j->prolog.gave_up)
		return;
	j->prolog.call = 0;
	say(w, "job %u: pre-hook → %d", j->id, status);
	if (status == 200) {
		j->prolog.passed = true;
		job_prolog_passed(w, j, span(w, 10 * USEC_MSEC, 100 * USEC_MSEC));
		return;
	}
	if (status == PLAN_NO_ANSWER || status == 429 || (status >= 500 && status != 504) ||
	    (status == 404 && w->now - j->prolog.began < PROLOG_UNKNOWN_MAX)) {
		wait = MIN_OF(BACKOFF_FIRST << MIN_OF(j->prolog.tries, 6u), BACKOFF_MAX);
		j->prolog.tries++;
		in(w, span(w, wait / 2, wait), ask, j->serial, j->run, NULL);
		return;
	}
	if (w->ctld.up)
		gives_up(w, j, "refused", status == PROLOG_GOING ? PROLOG_GOING_REASON : PROLOG_REASON);
	else /* slurmd tells it when somebody listens; by then its time is over too */
		j->prolog.gave_up = true;
}

/* ---- epilogs ---- */

static void nobody_listens(void *arg, int status, const char *json)
{
	(void)arg, (void)status, (void)json;
}

static void epilog_calls(struct world *w, struct ev *e)
{
	struct life *l = life_leading(w, ROLE_SYNCER);

	if (l && !fault_hits(w, FAULT_HOOK, 200))
		syncer_hook(l->syncer, &(struct syncer_ask) { .hook = SYNCER_POST_HOOK,
		                                              .node = w->ctld.nodes[e->a].name,
		                                              .reply = nobody_listens });
}

void epilog_start(struct world *w, struct sjob *j)
{
	if (j->node >= 0)
		in(w, span(w, 5 * USEC_MSEC, 30 * USEC_MSEC), epilog_calls, (uint64_t)j->node, 0, NULL);
}
