/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Processes of the scheduler: each with its own stores, ports and gate. One leads, by a lease as in kube/elect; another may stand
 * by. A process dies at any moment, also between two effects of one step, and what it had sent still arrives.
 */
#include "tests/sim/world.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "policy/rules.h"

#define LEASE_SPAN (15 * USEC_SEC)
#define GATE_SPAN (10 * USEC_SEC)
#define RENEW_SPAN (2 * USEC_SEC)
#define STEPS_PER_SECOND_MAX 5000

static const char *const gpus[] = { "nvidia.com/gpu" };

struct life *life_get(struct world *w, uint64_t serial)
{
	for (unsigned i = 0; i < LIVES; i++)
		if (w->lives[i] && w->lives[i]->serial == serial)
			return w->lives[i];
	return NULL;
}

struct life *life_leading(struct world *w)
{
	for (unsigned i = 0; i < LIVES; i++)
		if (w->lives[i] && w->lives[i]->leading && !w->lives[i]->dying && gate_open(&w->lives[i]->gate, w->now))
			return w->lives[i];
	return NULL;
}

/* ---- its loop ---- */

static void life_steps(struct world *w, struct ev *e)
{
	struct life *l = life_get(w, e->a);
	usec_t next;

	if (!l || l->dying || l->step_serial != e->b)
		return;
	l->step_serial++;
	l->step_at = USEC_NEVER;
	if (w->now / USEC_SEC != l->second) {
		l->second = w->now / USEC_SEC;
		l->steps_this_second = 0;
	}
	if (l->steps_this_second++ > STEPS_PER_SECOND_MAX) {
		broken(w, "the scheduler is busy with nothing: more than %d steps in a second", STEPS_PER_SECOND_MAX);
		return;
	}
	next = scheduler_step(l->s);
	if (next < l->step_at && next != USEC_NEVER) {
		l->step_at = MAX_OF(next, w->now);
		at(w, l->step_at, life_steps, l->serial, ++l->step_serial, NULL);
	}
}

void life_wakes(struct life *l)
{
	struct world *w = l->w;

	if (l->step_at <= w->now)
		return;
	l->step_at = w->now;
	at(w, w->now, life_steps, l->serial, ++l->step_serial, NULL);
}

static void wake_life(void *arg)
{
	life_wakes(arg);
}

/* ---- birth, leadership, death ---- */

static void lead(struct world *w, struct life *l, bool leading)
{
	if (l->leading == leading)
		return;
	say(w, "life %llu %s", (unsigned long long)l->serial, leading ? "leads" : "does not lead any more");
	l->leading = leading;
	l->gate.leader = leading;
	if (leading) {
		l->gate.term++;
		l->leading_since = w->now;
		w->counts.leaders++;
	}
	scheduler_leading(l->s, leading);
}

/* Tries for the lease, or renews it. */
static void elect(struct world *w, struct ev *e)
{
	struct life *l = life_get(w, e->a);

	if (!l || l->dying)
		return;
	in(w, RENEW_SPAN + span(w, 0, 500 * USEC_MSEC), elect, e->a, 0, NULL);
	if (w->now >= l->partitioned_until && !fault_hits(w, FAULT_KUBE_FAIL, 100) &&
	    (w->lease_holder == l->slot + 1 || w->now >= w->lease_until)) {
		w->lease_holder = l->slot + 1; /* a process that was started again in its place has the same name */
		w->lease_until = w->now + LEASE_SPAN;
		l->gate.until = w->now + GATE_SPAN;
		lead(w, l, true);
	} else if (l->leading && w->now >= l->gate.until) {
		lead(w, l, false);
	}
}

static void life_begins(struct world *w, struct ev *e)
{
	struct life *l;
	struct scheduler_options o;

	if (w->lives[e->a])
		return;
	l = NEW(struct life);
	w->lives[e->a] = l;
	l->w = w;
	l->serial = ++w->serial;
	l->slot = (unsigned)e->a;
	l->born = w->now;
	l->step_at = USEC_NEVER;
	kube_port_init(l);
	slurm_port_init(l);
	o = (struct scheduler_options) {
		.kube = &l->kube,
		.slurm = &l->slurm,
		.clock = &w->clock,
		.wake = wake_life,
		.wake_arg = l,
		.rules = { .scheduler_name = SIM_SCHEDULER,
		           .kill_wait = 30 * USEC_SEC,
		           .on_cancel = w->on_cancel,
		           .gpu_resources = gpus,
		           .n_gpu_resources = 1 },
		.hook_program = "/usr/bin/sunk-hook",
		.hook_url = "http://scheduler:8090",
		.secret = SIM_SECRET,
		.secret_len = strlen(SIM_SECRET),
		.bell_host = "scheduler",
		.bell_port = 6,
		.poll_min = w->poll_min,
		.poll_max = 5 * USEC_SEC,
		.seed = w->seed + l->serial,
	};
	l->s = scheduler_new(&o);
	say(w, "life %llu begins", (unsigned long long)l->serial);
	in(w, span(w, USEC_MSEC, 500 * USEC_MSEC), elect, l->serial, 0, NULL);
	life_wakes(l);
}

void life_dies(struct world *w, struct life *l)
{
	if (l->dying)
		return;
	say(w, "life %llu dies", (unsigned long long)l->serial);
	l->dying = true;
	w->counts.crashes++;
}

bool life_effect(struct life *l)
{
	if (!l->dying && fault_hits(l->w, FAULT_CRASH, 8))
		life_dies(l->w, l);
	return !l->dying;
}

/* Not from within a step of it: here. What was sent may arrive for two seconds more, so the next one takes longer to come. */
void lives_bury(struct world *w)
{
	for (unsigned i = 0; i < LIVES; i++) {
		struct life *l = w->lives[i];

		if (!l || !l->dying)
			continue;
		scheduler_free(l->s);
		hook_calls_of_dead_life(w, l->serial);
		kube_life_ends(l);
		w->lives[i] = NULL;
		free(l);
		in(w, span(w, 2500 * USEC_MSEC, 20 * USEC_SEC), life_begins, i, 0, NULL);
	}
}

void lives_init(struct world *w)
{
	in(w, 0, life_begins, 0, 0, NULL);
	if (w->faults & (1u << FAULT_PARTITION))
		in(w, span(w, 0, USEC_SEC), life_begins, 1, 0, NULL);
}

void lives_done(struct world *w)
{
	for (unsigned i = 0; i < LIVES; i++) {
		struct life *l = w->lives[i];

		if (!l)
			continue;
		l->dying = true;
		scheduler_free(l->s);
		kube_life_ends(l);
		free(l);
		w->lives[i] = NULL;
	}
}
