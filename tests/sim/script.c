/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Placeholder scripts on the model's nodes. What they do is decided by hook/plan.h, the plan of the real ones; here are only the
 * ways of their calls to a process of the scheduler and back, and scontrol.
 */
#include "tests/sim/world.h"

#include <string.h>

#include "base/str.h"
#include "hook/outcome.h"

#define PARKED_MAX (90 * USEC_SEC) /* as hook/placeholder.c has them */
#define SHORT_MAX (30 * USEC_SEC)
#define PATIENCE (60 * USEC_SEC) /* of `started`: less than real ones have, so that its end is seen */

static const char *const tasks[TASKS] = {
	[TASK_STARTED] = "started",     [TASK_MARK] = "mark",   [TASK_WAIT] = "wait",
	[TASK_TERMINATE] = "terminate", [TASK_DRAIN] = "drain",
};

/* ---- calls ---- */

static struct hook_call *call_get(struct world *w, uint64_t serial)
{
	for (size_t i = 0; i < w->n_calls; i++)
		if (w->calls[i]->serial == serial)
			return w->calls[i];
	return NULL;
}

static void call_drop(struct world *w, struct hook_call *c)
{
	for (size_t i = 0; i < w->n_calls; i++)
		if (w->calls[i] == c) {
			w->calls[i] = w->calls[--w->n_calls];
			break;
		}
	free(c);
}

/* status | readable << 16 | over << 17 | (exit code + 1) << 24 */
static uint64_t pack_answer(int status, const char *json)
{
	struct outcome o = { .exit_code = -1 };
	bool readable = status == 200 && json && outcome_read(json, strlen(json), &o) == 0;

	return (uint64_t)status | (uint64_t)readable << 16 | (uint64_t)o.over << 17 | (uint64_t)(o.exit_code + 1) << 24;
}

static void script_hears(struct world *w, struct ev *e)
{
	struct sjob *j = job_by_serial(w, e->a >> 8);
	enum plan_task t = (enum plan_task)(e->a & 0xff);
	uint64_t serial = (uint64_t)(uintptr_t)e->p;
	struct plan_answer a = { .status = (int)(e->b & 0xffff),
		                 .readable = e->b >> 16 & 1,
		                 .over = e->b >> 17 & 1,
		                 .exit_code = (int)(e->b >> 24) - 1 };

	if (!j || !j->script || j->script->calls[t] != serial)
		return; /* nobody waits for it any more */
	j->script->calls[t] = 0;
	say(w, "job %u: %s → %d", j->id, tasks[t], a.status);
	if (t == TASK_DRAIN && a.status == 200)
		j->script->told_drained = true;
	(void)plan_answered(&j->script->plan, t, &a, w->now);
	script_run(w, j);
}

static void prolog_answer(struct world *w, struct ev *e)
{
	struct sjob *j = job_by_serial(w, e->a);

	if (j)
		prolog_hears(w, j, e->b, (int)(uintptr_t)e->p);
}

static void tell_script(struct world *w, const struct hook_call *c, int status, const char *json)
{
	if (c->task == TASKS) {
		in(w, span(w, USEC_MSEC, 5 * USEC_MSEC), prolog_answer, c->job, c->serial, (void *)(uintptr_t)status);
		return;
	}
	in(w, span(w, USEC_MSEC, 5 * USEC_MSEC), script_hears, c->job << 8 | c->task, pack_answer(status, json),
	   (void *)(uintptr_t)c->serial);
}

static void replied(void *arg, int status, const char *json)
{
	struct hook_call *c = arg;
	struct world *w = c->w;

	if (c->answered) {
		broken(w, "the hook %s of job serial %llu was answered twice",
		       c->task == TASKS ? "pre-hook" : tasks[c->task], (unsigned long long)c->job);
		return;
	}
	c->answered = true;
	if (!fault_hits(w, FAULT_HOOK, 50))
		tell_script(w, c, status, json);
}

static void call_reaches(struct world *w, struct ev *e)
{
	struct hook_call *c = call_get(w, e->a);
	struct sjob *j = c ? job_by_serial(w, c->job) : NULL;
	struct life *l = NULL;
	static const enum scheduler_hook hooks[TASKS] = {
		[TASK_STARTED] = HOOK_STARTED,
		[TASK_WAIT] = HOOK_WAIT,
		[TASK_TERMINATE] = HOOK_TERMINATE,
		[TASK_DRAIN] = HOOK_DRAIN,
	};
	struct hook_ask ask;

	if (!c)
		return;
	for (unsigned i = 0, first = (unsigned)below(w, SLOTS); i < SLOTS && !l; i++)
		l = w->lives[(c->task == TASKS ? ROLE_SYNCER * SLOTS : 0) + (first + i) % SLOTS];
	if (!j || !l || l->dying || (c->task == TASKS && j->node < 0) || fault_hits(w, FAULT_HOOK, 100)) {
		tell_script(w, c, PLAN_NO_ANSWER, NULL);
		call_drop(w, c);
		return;
	}
	c->life = l->serial;
	c->sent = true;
	if (c->task == TASKS) {
		j->prolog.asked = w->now;
		syncer_hook(l->syncer, &(struct syncer_ask) { .hook = SYNCER_PRE_HOOK,
		                                              .node = w->ctld.nodes[j->node].name,
		                                              .strict = *j->uid,
		                                              .slurmd_uid = j->prolog.slurmd_uid,
		                                              .reply = replied,
		                                              .arg = c });
		return;
	}
	ask = (struct hook_ask) { .hook = hooks[c->task],
		                  .job_id = j->id,
		                  .run = c->run,
		                  .uid = j->uid,
		                  .token = j->token,
		                  .reply = replied,
		                  .arg = c };
	if (c->node >= 0)
		ask.node = w->ctld.nodes[c->node].name;
	if (c->task == TASK_STARTED && !c->old)
		ask.park = PATIENCE;
	scheduler_hook(l->s, &ask);
}

void hook_calls_of_dead_life(struct world *w, uint64_t life)
{
	for (size_t i = w->n_calls; i-- > 0;) {
		struct hook_call *c = w->calls[i];

		if (!c->sent || c->life != life)
			continue;
		if (!c->answered)
			tell_script(w, c, PLAN_NO_ANSWER, NULL);
		call_drop(w, c);
	}
}

void hook_calls_done(struct world *w)
{
	for (size_t i = 0; i < w->n_calls; i++)
		free(w->calls[i]);
	free(w->calls);
}

/* Answered calls are kept until nothing can answer them a second time, or until they are many. */
static void forget_answered(struct world *w)
{
	if (w->n_calls < 256)
		return;
	for (size_t i = w->n_calls; i-- > 0;)
		if (w->calls[i]->answered)
			call_drop(w, w->calls[i]);
}

struct hook_call *hook_call_new(struct world *w, struct sjob *j, enum plan_task t)
{
	struct hook_call *c = NEW(struct hook_call);

	forget_answered(w);
	*c = (struct hook_call) {
		.w = w,
		.serial = ++w->serial,
		.job = j->serial,
		.run = j->script ? j->script->restarts : 0,
		.node = j->node,
		.task = t,
		.old = j->script && j->script->old,
	};
	if (w->n_calls == w->size_calls) {
		w->size_calls = w->size_calls ? 2 * w->size_calls : 64;
		w->calls = mem_realloc_n(w->calls, w->size_calls, sizeof(*w->calls));
	}
	w->calls[w->n_calls++] = c;
	/* a proxy on the way may hold it up: then whoever called has long given up */
	in(w,
	   fault_hits(w, FAULT_HOOK, t == TASK_STARTED ? 120 : 30) ? span(w, USEC_SEC, 90 * USEC_SEC)
	                                                           : span(w, USEC_MSEC, 5 * USEC_MSEC),
	   call_reaches, c->serial, 0, NULL);
	return c;
}

static void call_start(struct world *w, struct sjob *j, enum plan_task t)
{
	struct hook_call *c = hook_call_new(w, j, t);

	j->script->calls[t] = c->serial;
	/* its own clock: also for an answer that was lost, and whoever gave it may be dead. Once it was answered it does not listen to this */
	in(w, t == TASK_DRAIN || (t == TASK_STARTED && c->old) ? SHORT_MAX : PARKED_MAX, script_hears,
	   j->serial << 8 | t, pack_answer(PLAN_NO_ANSWER, NULL), (void *)(uintptr_t)c->serial);
}

/* ---- scontrol ---- */

static void mark_done(struct world *w, struct ev *e)
{
	struct sjob *j = job_by_serial(w, e->a);
	uint64_t serial = e->b;
	bool ok;

	if (!j || !j->script || j->script->calls[TASK_MARK] != serial)
		return;
	ok = w->ctld.up && !j->forgotten && j->state == JOB_RUNNING && !(j->flags & JOBF_COMPLETING) &&
	     !fault_hits(w, FAULT_SLURM_FAIL, 100);
	if (ok) {
		char *pod = str_printf("%s/%s/%s", SIM_NS, j->pod_name, j->uid);

		free(j->extra);
		j->extra = j->script->restarts ? str_printf("%s: started %u", pod, j->script->restarts)
		                               : str_printf("%s: started", pod);
		free(pod);
		w->ctld.changes++;
	}
	in(w, 0, script_hears, j->serial << 8 | TASK_MARK, pack_answer(ok ? 200 : PLAN_NO_ANSWER, NULL),
	   (void *)(uintptr_t)serial);
}

static void mark_start(struct world *w, struct sjob *j)
{
	j->script->calls[TASK_MARK] = ++w->serial;
	in(w, span(w, 5 * USEC_MSEC, fault_on(w, FAULT_SLURM_SLOW) ? 3 * USEC_SEC : 50 * USEC_MSEC), mark_done,
	   j->serial, j->script->calls[TASK_MARK], NULL);
}

/* ---- the script ---- */

static void script_tick(struct world *w, struct ev *e)
{
	struct sjob *j = job_by_serial(w, e->a);

	if (j && j->script && j->script->tick == e->b)
		script_run(w, j);
}

static void script_exits(struct world *w, struct sjob *j)
{
	int code = j->script->plan.exit_status;

	say(w, "job %u: script ends with %d", j->id, code);
	if (!j->forgotten && (j->state == JOB_RUNNING || (j->flags & JOBF_COMPLETING)))
		check_script_left(w, j);
	script_kill(w, j);
	job_script_ended(w, j, code);
}

void script_run(struct world *w, struct sjob *j)
{
	struct script *s = j->script;
	usec_t next;

	if (s->frozen)
		return;
	for (enum plan_task t = 0; t < TASKS && !plan_is_over(&s->plan, w->now); t++) {
		bool runs = s->plan.tries[t].running, wanted = plan_wants(&s->plan, t, w->now);

		if (wanted && !runs) {
			plan_began(&s->plan, t, w->now);
			if (t == TASK_MARK)
				mark_start(w, j);
			else
				call_start(w, j, t);
		} else if (runs && !wanted) {
			s->calls[t] = 0;
			plan_stopped(&s->plan, t);
		}
	}
	if (plan_is_over(&s->plan, w->now)) {
		script_exits(w, j);
		return;
	}
	next = plan_next(&s->plan, w->now);
	s->tick++;
	if (next != USEC_NEVER)
		at(w, next, script_tick, j->serial, s->tick, NULL);
}

void script_start(struct world *w, struct sjob *j)
{
	struct script *s = NEW(struct script);

	s->restarts = j->restarts;
	s->old = below(w, 4) == 0;
	j->script = s;
	plan_init(&s->plan, j->kill_wait, rng_seeded(w->seed + j->serial));
	say(w, "job %u: script starts on n%d", j->id, j->node);
	script_run(w, j);
}

void script_kill(struct world *w, struct sjob *j)
{
	(void)w;
	free(j->script);
	j->script = NULL;
}
