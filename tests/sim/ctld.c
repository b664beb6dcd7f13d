/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A model Slurm: one slurmctld, a slurmd on every node. Jobs wait, start (prolog, then the script), and end in all the ways that
 * FACTS lists: by themselves, cancelled (TERM, KillWait, KILL, epilog), preempted, timed out, requeued, suspended, with their
 * node, or because the controller forgot them.
 */
#include "tests/sim/world.h"

#include <stdio.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/str.h"
#include "policy/drain.h"
#include "policy/podjob.h"

#define REQUEUE_DELAY (120 * USEC_SEC)
#define PREEMPTING_TIER 100
#define SLURMD_TIMEOUT (5 * USEC_MINUTE)

/* ---- looking ---- */

struct sjob *job_by_serial(struct world *w, uint64_t serial)
{
	for (size_t i = 0; i < w->ctld.n_jobs; i++)
		if (w->ctld.jobs[i]->serial == serial)
			return w->ctld.jobs[i];
	return NULL;
}

struct sjob *job_by_id(struct world *w, uint32_t id)
{
	for (size_t i = 0; i < w->ctld.n_jobs; i++)
		if (w->ctld.jobs[i]->id == id && !w->ctld.jobs[i]->forgotten)
			return w->ctld.jobs[i];
	return NULL;
}

int slurm_node_number(const struct world *w, const char *name)
{
	for (unsigned i = 0; name && i < w->n_nodes; i++)
		if (str_eq(w->ctld.nodes[i].name, name))
			return (int)i;
	return -1;
}

bool job_alive(const struct sjob *j)
{
	return !j->forgotten && j->state <= JOB_SUSPENDED;
}

bool job_on_node(const struct sjob *j)
{
	return !j->forgotten && j->node >= 0 && (j->state == JOB_RUNNING || (j->flags & JOBF_COMPLETING));
}

uint32_t node_cpus_used(const struct world *w, unsigned i)
{
	uint32_t used = 0;

	for (size_t k = 0; k < w->ctld.n_jobs; k++)
		if (job_on_node(w->ctld.jobs[k]) && w->ctld.jobs[k]->node == (int)i)
			used += w->ctld.jobs[k]->cpus;
	return used;
}

static uint32_t tier_of(const struct sjob *j)
{
	return str_eq(j->partition, "high") ? PREEMPTING_TIER : str_eq(j->partition, "low") ? 1 : 10;
}

static void touched(struct world *w)
{
	w->ctld.changes++;
}

static void ring_now(struct world *w, struct ev *e)
{
	struct life *l = life_get(w, e->a);

	if (l && !l->dying && l->ring)
		l->ring(l->ring_arg);
}

void ctld_ring(struct world *w)
{
	for (unsigned i = 0; i < LIVES; i++)
		if (w->lives[i] && w->lives[i]->role == ROLE_SCHEDULER && chance(w, 800))
			in(w, span(w, USEC_MSEC, 10 * USEC_MSEC), ring_now, w->lives[i]->serial, 0, NULL);
}

/* ---- records ---- */

static void job_free(struct sjob *j)
{
	free(j->name);
	free(j->extra);
	free(j->admin_comment);
	free(j->excluded);
	free(j->required);
	free(j->partition);
	free(j->token);
	free(j->script);
	free(j);
}

static void job_drop(struct world *w, struct sjob *j)
{
	for (size_t i = 0; i < w->ctld.n_jobs; i++)
		if (w->ctld.jobs[i] == j) {
			memmove(&w->ctld.jobs[i], &w->ctld.jobs[i + 1],
			        (w->ctld.n_jobs - i - 1) * sizeof(struct sjob *));
			w->ctld.n_jobs--;
			break;
		}
	job_free(j);
}

/* Something that a Pod does not get over happened to its job. */
static void disturb(struct world *w, const struct sjob *j, bool cancelled)
{
	struct kpod *k = *j->uid ? pod_by_uid(w, j->uid) : NULL;

	if (!k)
		return;
	k->disturbed = true;
	k->cancelled |= cancelled;
}

static const char *env_of(const struct job_spec *spec, const char *key)
{
	size_t n = strlen(key);

	for (uint32_t i = 0; i < spec->n_env; i++)
		if (strncmp(spec->env[i], key, n) == 0 && spec->env[i][n] == '=')
			return spec->env[i] + n + 1;
	return NULL;
}

struct sjob *ctld_submit(struct world *w, const struct job_spec *spec)
{
	struct ctld *c = &w->ctld;
	struct sjob *j = NEW(struct sjob);
	struct extra_id id;
	int64_t kill_wait = 0;

	j->serial = ++w->serial;
	j->id = c->next_id++;
	j->name = mem_strdup(spec->name);
	j->extra = mem_strdup(spec->extra);
	j->admin_comment = mem_strdup(spec->admin_comment);
	j->excluded = mem_strdup(spec->excluded);
	j->required = mem_strdup(spec->required);
	j->partition = mem_strdup(str_or(spec->partition, "main"));
	j->token = mem_strdup(env_of(spec, "SUNK_HOOK_TOKEN"));
	j->state = JOB_PENDING;
	j->reason = "None";
	j->cpus = MAX_OF(spec->cpus, 1);
	j->priority = spec->priority;
	j->held = spec->hold;
	j->submitted = j->begin = w->now;
	j->limit = spec->time_limit_min ? (usec_t)spec->time_limit_min * USEC_MINUTE : USEC_NEVER;
	j->node = -1;
	j->run_for = USEC_NEVER;
	if (spec->extra && extra_parse(spec->extra, &id)) {
		str_copy(j->uid, sizeof(j->uid), id.uid);
		str_copy(j->pod_name, sizeof(j->pod_name), id.name);
		(void)str_to_i64(str_or(env_of(spec, "SUNK_KILL_WAIT"), "0"), 0, 100000, &kill_wait);
		j->kill_wait = kill_wait * USEC_SEC;
		w->counts.jobs++;
	}
	if (c->n_jobs == c->size_jobs) {
		c->size_jobs = c->size_jobs ? 2 * c->size_jobs : 64;
		c->jobs = mem_realloc_n(c->jobs, c->size_jobs, sizeof(*c->jobs));
	}
	c->jobs[c->n_jobs++] = j;
	touched(w);
	return j;
}

/* ---- ends ---- */

static void purge(struct world *w, struct ev *e)
{
	struct sjob *j = job_by_serial(w, e->a);

	if (!j || j->run != e->b || j->forgotten || job_alive(j))
		return;
	if (j->script) { /* its node is away, and it runs there */
		in(w, 10 * USEC_SEC, purge, e->a, e->b, NULL);
		return;
	}
	job_drop(w, j);
	touched(w);
}

static void job_over(struct world *w, struct sjob *j)
{
	j->flags = 0;
	j->ended = w->now;
	j->in_prolog = j->procs = false;
	j->run++;
	say(w, "job %u of %s is over: state %d", j->id, str_or(j->name, "?"), j->state);
	in(w, w->ctld.min_job_age, purge, j->serial, j->run, NULL);
	touched(w);
	ctld_ring(w);
}

static void start_jobs(struct world *w);

static void job_waits_again(struct world *w, struct sjob *j)
{
	say(w, "job %u waits again", j->id);
	j->flags = 0;
	j->state = JOB_PENDING;
	j->node = -1;
	j->in_prolog = j->procs = false;
	j->run++;
	j->begin = w->now + (chance(w, 500) ? REQUEUE_DELAY : 0); /* or an administrator says "now" */
	j->reason = "BeginTime";
	j->ended_by = BY_NOBODY;
	touched(w);
}

static void epilog_done(struct world *w, struct ev *e)
{
	struct sjob *j = job_by_serial(w, e->a);

	if (!j || j->run != e->b || !(j->flags & JOBF_COMPLETING))
		return;
	if (!w->ctld.up) {
		in(w, 500 * USEC_MSEC, epilog_done, e->a, e->b, NULL);
		return;
	}
	if (j->flags & JOBF_REQUEUED) {
		job_waits_again(w, j);
		return;
	}
	job_over(w, j);
	if (w->ctld.prompt || chance(w, 500))
		start_jobs(w);
}

static void to_epilog(struct world *w, struct sjob *j)
{
	j->procs = false;
	if (w->whole)
		epilog_start(w, j);
	in(w, span(w, 20 * USEC_MSEC, 2 * USEC_SEC), epilog_done, j->serial, j->run, NULL);
}

/* slurmd tells that the script is no more. */
static void script_reported(struct world *w, struct ev *e)
{
	struct sjob *j = job_by_serial(w, e->a);

	if (!j || j->run != e->b)
		return;
	if (!w->ctld.up) {
		in(w, 500 * USEC_MSEC, script_reported, e->a, e->b, NULL);
		return;
	}
	if (j->forgotten) {
		job_drop(w, j);
		return;
	}
	if (!(j->flags & JOBF_COMPLETING)) {
		j->state = j->exit_code ? JOB_FAILED : JOB_COMPLETE;
		j->flags |= JOBF_COMPLETING;
		j->ended_by = BY_ITSELF;
		touched(w);
	}
	to_epilog(w, j);
}

void job_script_ended(struct world *w, struct sjob *j, int exit_code)
{
	j->exit_code = exit_code;
	in(w, span(w, USEC_MSEC, 20 * USEC_MSEC), script_reported, j->serial, j->run, NULL);
}

static void kill_event(struct world *w, struct ev *e)
{
	struct sjob *j = job_by_serial(w, e->a);

	if (!j || j->run != e->b || !j->script)
		return;
	say(w, "job %u: KILL", j->id);
	script_kill(w, j);
	job_script_ended(w, j, 137);
}

static void term_event(struct world *w, struct ev *e)
{
	struct sjob *j = job_by_serial(w, e->a);

	if (!j || j->run != e->b || !j->script)
		return;
	say(w, "job %u: TERM", j->id);
	j->script->frozen = false;
	plan_end(&j->script->plan, w->now);
	script_run(w, j);
}

static void user_job_ends(struct world *w, struct ev *e)
{
	struct sjob *j = job_by_serial(w, e->a);

	if (!j || j->run != e->b || j->state == JOB_SUSPENDED)
		return;
	job_script_ended(w, j, j->user_exit);
}

void job_terminate(struct world *w, struct sjob *j, int state, enum ended_by by)
{
	if (!job_alive(j) || (j->flags & JOBF_COMPLETING))
		return;
	j->ended_by = by;
	if (by != BY_SCHEDULER)
		disturb(w, j, by == BY_USER || by == BY_TIME);
	if (j->state == JOB_PENDING) {
		j->state = state;
		job_over(w, j);
		return;
	}
	j->state = state;
	j->flags |= JOBF_COMPLETING;
	if (state == JOB_PREEMPTED)
		j->preempted = w->now;
	touched(w);
	ctld_ring(w);
	if (j->in_prolog)
		return; /* then its end is waited for */
	if (j->script) {
		in(w, span(w, USEC_MSEC, 60 * USEC_MSEC), term_event, j->serial, j->run, NULL);
		in(w, w->ctld.kill_wait, kill_event, j->serial, j->run, NULL);
	} else if (!*j->uid && j->stubborn) {
		in(w, w->ctld.kill_wait, user_job_ends, j->serial, j->run, NULL);
	} else if (!*j->uid) {
		job_script_ended(w, j, 143);
	} /* else: it has ended by itself just now, and slurmd says so soon */
}

void job_requeue(struct world *w, struct sjob *j)
{
	if (j->state != JOB_RUNNING || (j->flags & JOBF_COMPLETING))
		return;
	say(w, "job %u is requeued", j->id);
	job_terminate(w, j, JOB_PENDING, BY_REQUEUE);
	j->flags |= JOBF_REQUEUED;
	j->restarts++;
}

void job_suspend(struct world *w, struct sjob *j)
{
	if (j->state != JOB_RUNNING || j->flags || j->in_prolog)
		return;
	say(w, "job %u is suspended", j->id);
	j->state = JOB_SUSPENDED;
	disturb(w, j, false);
	if (j->script)
		j->script->frozen = true;
	touched(w);
}

void job_resume(struct world *w, struct sjob *j)
{
	if (j->state != JOB_SUSPENDED || node_cpus_used(w, (unsigned)j->node) + j->cpus > w->ctld.nodes[j->node].cpus)
		return;
	say(w, "job %u is resumed", j->id);
	j->state = JOB_RUNNING;
	if (j->script) {
		j->script->frozen = false;
		script_run(w, j);
	} else if (!*j->uid)
		in(w, j->run_for, user_job_ends, j->serial, j->run, NULL);
	touched(w);
}

/* ---- starts ---- */

static void time_limit(struct world *w, struct ev *e)
{
	struct sjob *j = job_by_serial(w, e->a);

	if (!j || j->run != e->b || j->forgotten)
		return;
	if (!w->ctld.up) {
		in(w, USEC_SEC, time_limit, e->a, e->b, NULL);
		return;
	}
	if (j->state != JOB_RUNNING || (j->flags & JOBF_COMPLETING))
		return;
	say(w, "job %u reached its time limit", j->id);
	job_terminate(w, j, JOB_TIMEOUT, BY_TIME);
}

/* slurmctld drains a little after it has given the job up, before the node has no remains of it; but not over another drain. */
static void drain_for_prolog(struct world *w, struct ev *e)
{
	/* once it is calm, nobody is left who would lift it */
	if (!w->calm && !w->ctld.nodes[e->a].drained)
		node_drain(w, (unsigned)e->a, "Prolog error", ROLES);
}

/* reason: what the prolog itself drains with; slurmctld keeps it, and has one of its own for all others. */
void job_prolog_fails(struct world *w, struct sjob *j, const char *reason)
{
	say(w, "job %u: prolog failed on n%d", j->id, j->node);
	if (reason)
		node_drain(w, (unsigned)j->node, reason,
		           str_starts(reason, DRAIN_PREFIX) ? (int)ROLE_SYNCER : (int)ROLES);
	else
		in(w, span(w, 0, 15 * USEC_MSEC), drain_for_prolog, (uint64_t)j->node, 0, NULL);
	j->in_prolog = false;
	if (!(j->flags & JOBF_COMPLETING)) {
		j->state = JOB_CANCELLED;
		j->flags |= JOBF_COMPLETING;
		j->prolog_failed = true;
		j->ended_by = BY_PROLOG;
		disturb(w, j, false);
		touched(w);
	}
	to_epilog(w, j);
}

static void prolog_done(struct world *w, struct ev *e)
{
	struct sjob *j = job_by_serial(w, e->a);

	if (!j || j->run != e->b || !j->in_prolog)
		return;
	if (w->ctld.nodes[j->node].slurmd_away || w->ctld.nodes[j->node].loss_to_come)
		return; /* it died with slurmd */
	if (!w->ctld.up) {
		in(w, 500 * USEC_MSEC, prolog_done, e->a, e->b, NULL);
		return;
	}
	j->in_prolog = false;
	if (j->forgotten) {
		job_drop(w, j);
		return;
	}
	touched(w);
	if (j->flags & JOBF_COMPLETING) {
		to_epilog(w, j);
		return;
	}
	if (w->ctld.prolog_broken || fault_hits(w, FAULT_PROLOG, 150)) {
		job_prolog_fails(w, j, NULL);
		return;
	}
	j->reason = "None";
	j->procs = true;
	w->look_at_locks = true;
	if (w->whole) {
		locks_check_start(w, j);
		nodeset_check_start(w, j);
	}
	if (*j->uid)
		script_start(w, j);
	else
		in(w, j->run_for, user_job_ends, j->serial, j->run, NULL);
	if (j->limit != USEC_NEVER)
		in(w, j->limit + span(w, 0, 20 * USEC_SEC), time_limit, j->serial, j->run, NULL);
}

static bool listed(const char *hostlist, const char *node)
{
	_cleanup_hostlist_ struct hostlist h = HOSTLIST_INIT;

	return !str_empty(hostlist) && hostlist_parse(&h, hostlist, NULL) == 0 && hostlist_has(&h, node);
}

static bool may_run_on(const struct world *w, const struct sjob *j, unsigned i)
{
	const struct snode_state *n = &w->ctld.nodes[i];

	return !n->absent && !n->down && !n->silent && !n->unknown && !n->drained && j->cpus <= n->cpus &&
	       !listed(j->excluded, n->name) && (str_empty(j->required) || listed(j->required, n->name));
}

/* It did not answer, and gets no more jobs until it does. */
static void slurmd_is_missed(struct world *w, struct ev *e)
{
	struct snode_state *n = &w->ctld.nodes[e->a];

	if (!w->ctld.up || !n->loss_to_come || n->losses != e->b || n->silent)
		return;
	say(w, "node %s does not respond", n->name);
	n->silent = true;
	touched(w);
}

static void job_start(struct world *w, struct sjob *j, unsigned i)
{
	usec_t takes = span(w, 15 * USEC_MSEC, 2 * USEC_SEC);

	if (fault_hits(w, FAULT_PROLOG, 200))
		takes = span(w, USEC_SEC, 60 * USEC_SEC);
	j->state = JOB_RUNNING;
	j->reason = "Prolog";
	j->node = (int)i;
	j->started = w->now;
	j->in_prolog = true;
	j->run++;
	say(w, "job %u (%s) starts on n%u", j->id, j->name, i);
	if (w->ctld.nodes[i].slurmd_away) /* nobody is there to launch it */
		in(w, span(w, 10 * USEC_MSEC, 10 * USEC_SEC), slurmd_is_missed, i, w->ctld.nodes[i].losses, NULL);
	else if (w->whole)
		prolog_start(w, j);
	else
		in(w, takes, prolog_done, j->serial, j->run, NULL);
	touched(w);
}

void job_prolog_passed(struct world *w, struct sjob *j, usec_t after)
{
	in(w, after, prolog_done, j->serial, j->run, NULL);
}

/* Room on node i, counting what of it ends now, or would when all of a lower tier had to go. */
static uint32_t room(const struct world *w, unsigned i, uint32_t below_tier, bool with_ending)
{
	uint32_t free_cpus = w->ctld.nodes[i].cpus - MIN_OF(w->ctld.nodes[i].cpus, node_cpus_used(w, i));

	for (size_t k = 0; k < w->ctld.n_jobs; k++) {
		const struct sjob *o = w->ctld.jobs[k];

		if (!job_on_node(o) || o->node != (int)i)
			continue;
		if (o->flags & JOBF_COMPLETING ? with_ending : tier_of(o) < below_tier)
			free_cpus += o->cpus;
	}
	return free_cpus;
}

static void preempt_for(struct world *w, const struct sjob *j)
{
	for (unsigned i = 0; i < w->n_nodes; i++)
		if (may_run_on(w, j, i) && room(w, i, 0, true) >= j->cpus)
			return; /* it only has to wait */
	for (unsigned i = 0; i < w->n_nodes; i++) {
		if (!may_run_on(w, j, i) || room(w, i, tier_of(j), true) < j->cpus)
			continue;
		for (size_t k = 0; k < w->ctld.n_jobs && room(w, i, 0, true) < j->cpus; k++) {
			struct sjob *o = w->ctld.jobs[k];

			if (!job_on_node(o) || o->node != (int)i || (o->flags & JOBF_COMPLETING) ||
			    tier_of(o) >= tier_of(j))
				continue;
			say(w, "job %u is preempted by %u", o->id, j->id);
			job_terminate(w, o, JOB_PREEMPTED, BY_PREEMPTION);
		}
		return;
	}
}

static bool try_start(struct world *w, struct sjob *j)
{
	unsigned first = (unsigned)below(w, w->n_nodes);
	bool possible = false;

	if (j->held || j->begin > w->now) {
		j->reason = j->held ? "JobHeldUser" : "BeginTime";
		return false;
	}
	for (unsigned n = 0; n < w->n_nodes; n++) {
		unsigned i = (first + n) % w->n_nodes;

		if (!may_run_on(w, j, i))
			continue;
		possible = true;
		if (room(w, i, 0, false) < j->cpus)
			continue;
		job_start(w, j, i);
		return true;
	}
	j->reason = possible ? "Resources" : "ReqNodeNotAvail";
	if (tier_of(j) >= PREEMPTING_TIER && (w->faults & (1u << FAULT_PREEMPT)))
		preempt_for(w, j);
	return false;
}

static bool goes_first(const struct sjob *a, const struct sjob *b)
{
	if (tier_of(a) != tier_of(b))
		return tier_of(a) > tier_of(b);
	return a->priority != b->priority ? a->priority > b->priority : a->id < b->id;
}

static void start_jobs(struct world *w)
{
	uint64_t tried = 0, last = 0;

	for (;;) { /* the best of those that were not tried in this round */
		struct sjob *best = NULL, *previous = last ? job_by_serial(w, last) : NULL;

		for (size_t i = 0; i < w->ctld.n_jobs; i++) {
			struct sjob *j = w->ctld.jobs[i];

			if (j->forgotten || j->state != JOB_PENDING || j->flags ||
			    (previous && !goes_first(previous, j)))
				continue;
			if (!best || goes_first(j, best))
				best = j;
		}
		if (!best || tried++ > w->ctld.n_jobs)
			return;
		last = best->serial;
		(void)try_start(w, best);
	}
}

static void ctld_tick(struct world *w, struct ev *e)
{
	(void)e;
	in(w, USEC_SEC, ctld_tick, 0, 0, NULL);
	if (w->ctld.up)
		start_jobs(w);
}

/* ---- the controller itself ---- */

static void kill_forgotten(struct world *w, struct ev *e)
{
	struct sjob *j = job_by_serial(w, e->a);

	if (!j)
		return;
	if (j->script) {
		say(w, "job %u: KILL, slurmctld does not know it", j->id);
		script_kill(w, j);
	}
	job_drop(w, j);
}

static void node_known(struct world *w, struct ev *e)
{
	w->ctld.nodes[e->a].unknown = false;
	touched(w);
}

static void forget_everything(struct world *w)
{
	struct ctld *c = &w->ctld;

	say(w, "slurmctld has lost its state");
	for (size_t i = c->n_jobs; i-- > 0;) {
		struct sjob *j = c->jobs[i];

		if (job_alive(j) || j->flags & JOBF_COMPLETING)
			disturb(w, j, false);
		j->forgotten = true;
		if (j->script)
			in(w, span(w, 300 * USEC_MSEC, 3 * USEC_SEC), kill_forgotten, j->serial, 0, NULL);
		else
			job_drop(w, j);
	}
	for (unsigned i = 0; i < w->n_nodes; i++) {
		c->nodes[i].drained = c->nodes[i].foreign = false;
		*c->nodes[i].reason = 0;
		free(c->nodes[i].extra);
		free(c->nodes[i].comment);
		c->nodes[i].extra = c->nodes[i].comment = NULL;
	}
	c->next_id = 1;
}

static void ctld_starts(struct world *w, struct ev *e)
{
	if (w->ctld.up)
		return;
	if (e->a)
		forget_everything(w);
	w->ctld.up = true;
	w->ctld.up_since = w->now;
	for (unsigned i = 0; i < w->n_nodes; i++) {
		w->ctld.nodes[i].unknown = true;
		in(w, span(w, 100 * USEC_MSEC, 3 * USEC_SEC), node_known, i, 0, NULL);
	}
	touched(w);
	say(w, "slurmctld is up");
}

void ctld_stop(struct world *w, usec_t span_down, bool amnesia)
{
	if (!w->ctld.up)
		return;
	say(w, "slurmctld goes down");
	w->ctld.up = false;
	in(w, span_down, ctld_starts, amnesia, 0, NULL);
}

/* ---- nodes ---- */

static void node_returns(struct world *w, struct ev *e)
{
	struct snode_state *n = &w->ctld.nodes[e->a];

	if (!n->down && !n->absent)
		return;
	if (n->slurmd_away) { /* the machine is back; slurmd's Pod has to be made again */
		kubelet_returns(w, (unsigned)e->a);
		return;
	}
	if (!w->ctld.up) {
		in(w, USEC_SEC, node_returns, e->a, 0, NULL);
		return;
	}
	say(w, "node %s is back", n->name);
	n->down = n->absent = false;
	for (size_t i = w->ctld.n_jobs; i-- > 0;) { /* what it still runs is none of Slurm's */
		struct sjob *j = w->ctld.jobs[i];

		if (j->node == (int)e->a && j->script && !job_alive(j) && !(j->flags & JOBF_COMPLETING))
			script_kill(w, j);
		if (j->node == (int)e->a && !job_on_node(j))
			j->procs = false;
	}
	kubelet_returns(w, (unsigned)e->a);
	touched(w);
}

static void machine_stops(struct world *w, unsigned i)
{
	struct knode_state *k = &w->api.nodes[i];

	k->kubelet_dead = k->gone_dark = true;
	for (size_t p = 0; p < w->api.n_pods; p++)
		if ((w->api.pods[p]->user_pod || w->api.pods[p]->plain) &&
		    w->api.pods[p]->containers == CONTAINERS_RUN &&
		    kube_node_number(w, w->api.pods[p]->pod->node_name) == (int)i) {
			w->api.pods[p]->containers = CONTAINERS_ENDED;
			w->api.pods[p]->exit_code = 137;
		}
}

void node_fails(struct world *w, unsigned i, bool machine, usec_t span_down)
{
	struct snode_state *n = &w->ctld.nodes[i];

	if (n->absent || n->down || !w->ctld.up)
		return;
	say(w, "node %s fails%s", n->name, machine ? ", the whole machine" : " (slurmd only)");
	n->down = true;
	if (!n->drained) {
		str_copy(n->reason, sizeof(n->reason), "Not responding");
		n->reason_uid = 0;
		n->reason_set = clock_wall(&w->clock);
	}
	if (machine)
		machine_stops(w, i);
	for (size_t k = 0; k < w->ctld.n_jobs; k++) {
		struct sjob *j = w->ctld.jobs[k];

		if (j->node != (int)i || j->forgotten)
			continue;
		if (machine && j->script)
			script_kill(w, j);
		if (!job_on_node(j) && j->state != JOB_SUSPENDED)
			continue;
		disturb(w, j, false);
		if (j->flags & JOBF_REQUEUED) { /* its node has no more to say to that */
			if (j->script)
				script_kill(w, j);
			job_waits_again(w, j);
			continue;
		}
		j->ended_by = BY_NODE;
		if (!(j->flags & JOBF_COMPLETING))
			j->state = JOB_NODE_FAIL;
		job_over(w, j);
	}
	if (span_down != USEC_NEVER)
		in(w, span_down, node_returns, i, 0, NULL);
}

bool node_delete(struct world *w, unsigned i)
{
	struct snode_state *n = &w->ctld.nodes[i];

	if (node_job(w, i))
		return false;
	say(w, "node %s is deleted", n->name);
	n->absent = true;
	n->down = n->silent = n->loss_to_come = n->drained = n->foreign = n->unknown = false;
	*n->reason = 0;
	free(n->extra);
	free(n->comment);
	free(n->features);
	n->extra = n->comment = n->features = NULL;
	w->counts.node_deletes++;
	touched(w);
	return true;
}

/* SlurmdTimeout is over. */
static void slurmd_lost(struct world *w, struct ev *e)
{
	if (!w->ctld.nodes[e->a].loss_to_come || w->ctld.nodes[e->a].losses != e->b)
		return;
	if (!w->ctld.up) {
		in(w, USEC_SEC, slurmd_lost, e->a, e->b, NULL);
		return;
	}
	w->ctld.nodes[e->a].loss_to_come = false;
	node_fails(w, (unsigned)e->a, false, USEC_NEVER);
}

void slurmd_gone(struct world *w, unsigned i)
{
	struct snode_state *n = &w->ctld.nodes[i];

	say(w, "slurmd of %s is gone, with all that it ran", n->name);
	n->slurmd_away = true;
	for (size_t k = 0; k < w->ctld.n_jobs; k++) {
		struct sjob *j = w->ctld.jobs[k];

		if (j->node != (int)i)
			continue;
		j->procs = false;
		if (j->script)
			script_kill(w, j);
		if (!j->forgotten && job_on_node(j))
			disturb(w, j, false);
	}
	if (!n->loss_to_come) {
		usec_t timeout = span(w, 0, chance(w, 700) ? 3 * USEC_SEC : SLURMD_TIMEOUT);

		n->loss_to_come = true;
		n->losses++;
		in(w, span(w, 0, timeout), slurmd_is_missed, i, n->losses, NULL);
		in(w, timeout, slurmd_lost, i, n->losses, NULL);
	}
}

static void slurmd_registers(struct world *w, struct ev *e)
{
	struct snode_state *n = &w->ctld.nodes[e->a];

	if (n->slurmd_away)
		return;
	if (!w->ctld.up) {
		in(w, USEC_SEC, slurmd_registers, e->a, 0, NULL);
		return;
	}
	n->silent = false;
	if (n->loss_to_come) { /* it does not know the jobs that it should have */
		n->loss_to_come = false;
		node_fails(w, (unsigned)e->a, false, USEC_NEVER);
	}
	in(w, 0, node_returns, e->a, 0, NULL);
	touched(w);
}

void slurmd_back(struct world *w, unsigned i)
{
	w->ctld.nodes[i].slurmd_away = false;
	in(w, span(w, 100 * USEC_MSEC, 2 * USEC_SEC), slurmd_registers, i, 0, NULL);
}

void node_drain(struct world *w, unsigned i, const char *reason, int by)
{
	struct snode_state *n = &w->ctld.nodes[i];
	bool foreign = by == ROLES;

	say(w, "node %s is drained: %s", n->name, reason);
	n->drained = true;
	n->foreign = foreign;
	n->drained_by = by;
	n->drained_at = w->now;
	n->reason_uid = foreign ? 1000 : 0;
	n->reason_set = clock_wall(&w->clock);
	str_copy(n->reason, sizeof(n->reason), reason);
	touched(w);
}

void node_undrain(struct world *w, unsigned i)
{
	if (w->ctld.nodes[i].drained)
		say(w, "node %s is undrained", w->ctld.nodes[i].name);
	w->ctld.nodes[i].drained = w->ctld.nodes[i].foreign = false; /* the reason lingers */
	touched(w);
}

/* ---- */

void ctld_init(struct world *w)
{
	w->ctld = (struct ctld) {
		.up = true, .up_since = w->now, .next_id = 1, .kill_wait = 30 * USEC_SEC, .min_job_age = 60 * USEC_SEC
	};
	for (unsigned i = 0; i < w->n_nodes; i++) {
		snprintf(w->ctld.nodes[i].name, sizeof(w->ctld.nodes[i].name), "n%u", i);
		w->ctld.nodes[i].cpus = w->node_cpus;
	}
	in(w, span(w, 0, USEC_SEC), ctld_tick, 0, 0, NULL);
}

void ctld_done(struct world *w)
{
	for (size_t i = 0; i < w->ctld.n_jobs; i++)
		job_free(w->ctld.jobs[i]);
	for (unsigned i = 0; i < w->n_nodes; i++) {
		free(w->ctld.nodes[i].extra);
		free(w->ctld.nodes[i].comment);
		free(w->ctld.nodes[i].features);
	}
	free(w->ctld.jobs);
}
