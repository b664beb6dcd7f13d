/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Processes of the scheduler, the syncer and the operator: each with its own stores, ports and gate. One leads, by a lease as in kube/elect; another may stand
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

static const char *const role_names[ROLES] = { "scheduler", "syncer", "operator" };
static const char *const gpus[] = { "nvidia.com/gpu" };

struct life *life_get(struct world *w, uint64_t serial)
{
	for (unsigned i = 0; i < LIVES; i++)
		if (w->lives[i] && w->lives[i]->serial == serial)
			return w->lives[i];
	return NULL;
}

struct life *life_leading(struct world *w, enum role role)
{
	for (unsigned i = 0; i < LIVES; i++)
		if (w->lives[i] && w->lives[i]->role == role && w->lives[i]->leading && !w->lives[i]->dying &&
		    gate_open(&w->lives[i]->gate, w->now))
			return w->lives[i];
	return NULL;
}

static usec_t life_mono(const struct clock *c)
{
	return CONTAINER_OF(c, struct life, clock)->w->now;
}

static usec_t life_wall(const struct clock *c)
{
	const struct life *l = CONTAINER_OF(c, struct life, clock);

	return clock_wall(&l->w->clock) + l->skew;
}

/* ---- the three shells ---- */

static usec_t shell_step(struct life *l)
{
	switch (l->role) {
	case ROLE_SYNCER: return syncer_step(l->syncer);
	case ROLE_OPERATOR: {
		usec_t at_ = operator_step(l->operator), sets = nodesets_step(l->nodesets);

		return MIN_OF(at_, sets);
	}
	default: return scheduler_step(l->s);
	}
}

static void shell_leading(struct life *l, bool leading)
{
	switch (l->role) {
	case ROLE_SYNCER: syncer_leading(l->syncer, leading); break;
	case ROLE_OPERATOR:
		operator_leading(l->operator, leading);
		nodesets_leading(l->nodesets, leading);
		break;
	default: scheduler_leading(l->s, leading);
	}
}

static void shell_free(struct life *l)
{
	scheduler_free(l->s);
	syncer_free(l->syncer);
	nodesets_free(l->nodesets);
	operator_free(l->operator);
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
		broken(w, "the %s is busy with nothing: more than %d steps in a second", role_names[l->role],
		       STEPS_PER_SECOND_MAX);
		return;
	}
	next = shell_step(l);
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
	shell_leading(l, leading);
}

/* Tries for the lease, or renews it. */
static void elect(struct world *w, struct ev *e)
{
	struct life *l = life_get(w, e->a);

	if (!l || l->dying)
		return;
	in(w, RENEW_SPAN + span(w, 0, 500 * USEC_MSEC), elect, e->a, 0, NULL);
	if (w->now >= l->partitioned_until && !fault_hits(w, FAULT_KUBE_FAIL, 100) &&
	    (w->lease_holder[l->role] == l->slot + 1 || w->now >= w->lease_until[l->role])) {
		w->lease_holder[l->role] =
		        l->slot + 1; /* a process that was started again in its place has the same name */
		w->lease_until[l->role] = w->now + LEASE_SPAN;
		l->gate.until = w->now + GATE_SPAN;
		lead(w, l, true);
	} else if (l->leading && w->now >= l->gate.until) {
		lead(w, l, false);
	}
}

static struct scheduler *scheduler_born(struct life *l)
{
	struct world *w = l->w;

	return scheduler_new(&(struct scheduler_options) {
	        .kube = &l->kube,
	        .slurm = &l->slurm,
	        .clock = &l->clock,
	        .wake = wake_life,
	        .wake_arg = l,
	        .rules = { .scheduler_name = SIM_SCHEDULER,
	                   .kill_wait = 30 * USEC_SEC,
	                   .on_cancel = w->on_cancel,
	                   .gpu_resources = gpus,
	                   .n_gpu_resources = 1 },
	        .nodeset_ns = SIM_SYSTEM_NS,
	        .hook_program = "/usr/bin/sunk-hook",
	        .hook_url = "http://scheduler:8090",
	        .secret = SIM_SECRET,
	        .secret_len = strlen(SIM_SECRET),
	        .bell_host = "scheduler",
	        .bell_port = 6,
	        .poll_min = w->poll_min,
	        .poll_max = 5 * USEC_SEC,
	        .seed = w->seed + l->serial,
	});
}

static struct syncer *syncer_born(struct life *l)
{
	return syncer_new(&(struct syncer_options) {
	        .kube = &l->kube,
	        .slurm = &l->slurm,
	        .clock = &l->clock,
	        .wake = wake_life,
	        .wake_arg = l,
	        .ns = SIM_SYSTEM_NS,
	        .poll_min = 2 * l->w->poll_min,
	        .poll_max = 10 * USEC_SEC,
	        .node_cleanup = true,
	        .metrics_interval = 10 * USEC_MINUTE, /* what is exported is not looked at here */
	        .seed = l->w->seed + l->serial,
	});
}

static struct operator* operator_born(struct life *l)
{
	return operator_new(&(struct operator_options) { .kube = &l->kube,
	                                                 .clock = &l->clock,
	                                                 .wake = wake_life,
	                                                 .wake_arg = l,
	                                                 .cluster = "sim",
	                                                 .seed = l->w->seed + l->serial });
}

static void life_begins(struct world *w, struct ev *e)
{
	struct life *l;

	if (w->lives[e->a])
		return;
	l = NEW(struct life);
	w->lives[e->a] = l;
	l->w = w;
	l->serial = ++w->serial;
	l->slot = (unsigned)e->a;
	l->role = (enum role)(e->a / SLOTS);
	l->clock = (struct clock) { life_mono, life_wall };
	if (fault_on(w, FAULT_SKEW))
		l->skew = span(w, 0, 10 * USEC_MINUTE) - 5 * USEC_MINUTE;
	l->born = w->now;
	l->step_at = USEC_NEVER;
	kube_port_init(l);
	slurm_port_init(l);
	switch (l->role) {
	case ROLE_SYNCER: l->syncer = syncer_born(l); break;
	case ROLE_OPERATOR:
		l->operator= operator_born(l);
		l->nodesets = nodesets_new(&(struct nodesets_options) { .kube = &l->kube,
		                                                        .clock = &l->clock,
		                                                        .wake = wake_life,
		                                                        .wake_arg = l,
		                                                        .seed = w->seed + l->serial });
		break;
	default: l->s = scheduler_born(l);
	}
	say(w, "life %llu begins: %s", (unsigned long long)l->serial, role_names[l->role]);
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
		shell_free(l);
		hook_calls_of_dead_life(w, l->serial);
		kube_life_ends(l);
		w->lives[i] = NULL;
		free(l);
		in(w, span(w, 2500 * USEC_MSEC, 20 * USEC_SEC), life_begins, i, 0, NULL);
	}
}

void lives_init(struct world *w)
{
	for (unsigned role = 0; role < (w->whole ? ROLES : 1u); role++) {
		in(w, 0, life_begins, role * SLOTS, 0, NULL);
		if (w->faults & (1u << FAULT_PARTITION))
			in(w, span(w, 0, USEC_SEC), life_begins, role * SLOTS + 1, 0, NULL);
	}
}

void lives_done(struct world *w)
{
	for (unsigned i = 0; i < LIVES; i++) {
		struct life *l = w->lives[i];

		if (!l)
			continue;
		l->dying = true;
		shell_free(l);
		kube_life_ends(l);
		free(l);
		w->lives[i] = NULL;
	}
}
