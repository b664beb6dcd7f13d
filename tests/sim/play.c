/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A world of one node with one CPU, without any of our shells. After each event everything that jobs and the node say of themselves, as
 * an answer to a shell would have it, is written down when it is something else than before; as record.py does with a real Slurm.
 *
 * What is compared: of each job and of the node, for itself, all that it said, in order and field by field. What is not, because
 * there it depends on when one looks, or on nothing that we model:
 *  - the order between two of them: a job and the node are asked one after the other;
 *  - why a pending job waits, but for what the script waits for (until … PENDING REASON): these words change by themselves, between two looks;
 *  - the reason of jobs that are over or ending: nobody reads it;
 *  - what a node's reason is while it is not drained or down: Slurm keeps the old one for a while, nobody reads it.
 */
#include "tests/sim/play.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "tests/sim/world.h"

#define PLAY_JOBS 4
#define PATIENCE USEC_HOUR

struct player {
	struct world w;
	struct record said, script;
	struct {
		char name[8];
		uint64_t serial; /* 0: not looked at any more */
		char now[PLAY_LINE];
	} jobs[PLAY_JOBS];
	size_t n_jobs;
	char node[PLAY_LINE];
	char why[2 * PLAY_LINE];
};

/* ---- what they say ---- */

static const char *job_word(int state)
{
	static const char *const words[] = {
		[JOB_PENDING] = "PENDING",    [JOB_RUNNING] = "RUNNING",     [JOB_SUSPENDED] = "SUSPENDED",
		[JOB_COMPLETE] = "COMPLETED", [JOB_CANCELLED] = "CANCELLED", [JOB_FAILED] = "FAILED",
		[JOB_TIMEOUT] = "TIMEOUT",    [JOB_NODE_FAIL] = "NODE_FAIL", [JOB_PREEMPTED] = "PREEMPTED",
	};

	return (size_t)state < ARRAY_LEN(words) ? str_or(words[state], "?") : "?";
}

static const char *node_word(int state)
{
	static const char *const words[] = {
		[NODE_UNKNOWN] = "UNKNOWN",     [NODE_DOWN] = "DOWN",   [NODE_IDLE] = "IDLE",
		[NODE_ALLOCATED] = "ALLOCATED", [NODE_MIXED] = "MIXED",
	};

	return (size_t)state < ARRAY_LEN(words) ? str_or(words[state], "?") : "?";
}

static void note(struct record *r, const char *who, char now[PLAY_LINE], const char *says)
{
	if (str_eq(now, says))
		return;
	str_copy(now, PLAY_LINE, says);
	if (r->n < PLAY_LINES)
		snprintf(r->lines[r->n++], PLAY_LINE, "%.40s %.200s", who, says);
}

static void look(struct player *p)
{
	char says[PLAY_LINE];
	struct snode node;

	for (size_t i = 0; i < p->n_jobs; i++) {
		struct sjob *j = job_by_serial(&p->w, p->jobs[i].serial);
		struct job job;

		if (!p->jobs[i].serial)
			continue;
		if (!j || j->forgotten) {
			note(&p->said, p->jobs[i].name, p->jobs[i].now, "gone");
			continue;
		}
		job_shown(&p->w, j, &job);
		snprintf(says, sizeof(says), "%s%s reason=%s node=%s restarts=%u", job_word(job.state),
		         job.flags & JOBF_COMPLETING ? "+COMPLETING" : "", job.reason, str_or(job.nodes, "-"),
		         job.restarts);
		note(&p->said, p->jobs[i].name, p->jobs[i].now, says);
	}
	node_shown(&p->w, 0, &node);
	snprintf(says, sizeof(says), "%s%s%s cpus=%u reason=%s", node_word(node.state),
	         node.flags & NODEF_COMPLETING ? "+COMPLETING" : "", node.flags & NODEF_DRAIN ? "+DRAIN" : "",
	         node.cpus_alloc, *p->w.ctld.nodes[0].reason ? p->w.ctld.nodes[0].reason : "-");
	note(&p->said, "node", p->node, says);
}

/* ---- the script ---- */

static const char *word_of(const char *options, const char *key, char value[16])
{
	char line[PLAY_LINE], *rest = NULL;
	size_t n = strlen(key);

	str_copy(line, sizeof(line), options);
	for (char *o = strtok_r(line, " ", &rest); o; o = strtok_r(NULL, " ", &rest))
		if (strncmp(o, key, n) == 0 && (!o[n] || o[n] == '=')) {
			str_copy(value, 16, o[n] ? o + n + 1 : "");
			return value;
		}
	return NULL;
}

static int64_t number_of(const char *options, const char *key, int64_t otherwise)
{
	char value[16];
	int64_t n = otherwise;

	if (word_of(options, key, value))
		(void)str_to_i64(value, 0, 100000, &n);
	return n;
}

static void submit(struct player *p, const char *name, const char *options)
{
	char partition[16], unused[16];
	struct job_spec spec = { .name = name,
		                 .cpus = 1,
		                 .partition = word_of(options, "partition", partition),
		                 .time_limit_min = (uint32_t)number_of(options, "limit", 0),
		                 .hold = word_of(options, "hold", unused) != NULL };
	struct sjob *j = ctld_submit(&p->w, &spec);

	j->run_for = number_of(options, "run", 1) * USEC_SEC;
	j->user_exit = (int)number_of(options, "exit", 0);
	j->stubborn = word_of(options, "stubborn", unused) != NULL;
	if (p->n_jobs == PLAY_JOBS)
		return;
	str_copy(p->jobs[p->n_jobs].name, sizeof(p->jobs[0].name), name);
	p->jobs[p->n_jobs++].serial = j->serial;
}

static struct sjob *job_named(struct player *p, const char *name)
{
	for (size_t i = 0; i < p->n_jobs; i++)
		if (str_eq(p->jobs[i].name, name))
			return job_by_serial(&p->w, p->jobs[i].serial);
	return NULL;
}

static const char *now_of(const struct player *p, const char *who)
{
	for (size_t i = 0; i < p->n_jobs; i++)
		if (str_eq(p->jobs[i].name, who))
			return p->jobs[i].now;
	return p->node;
}

/* RUNNING means that the prolog is over. */
static bool is_so(const struct player *p, const char *who, const char *state, const char *reason)
{
	const char *now = now_of(p, who), *said = strstr(now, "reason=");
	size_t n = strlen(state), m = said ? strcspn(said + 7, " ") : 0;

	if (strncmp(now, state, n) != 0 || (now[n] && now[n] != ' '))
		return false;
	if (*reason)
		return said && m == strlen(reason) && strncmp(said + 7, reason, m) == 0;
	return !str_eq(state, "RUNNING") || !said || !str_starts(said, "reason=Prolog");
}

static bool until(struct player *p, const char *who, const char *rest)
{
	char state[32] = "", reason[32] = "";
	usec_t end = p->w.now + PATIENCE;

	(void)sscanf(rest, "%31s %31s", state, reason);
	for (look(p); !is_so(p, who, state, reason); look(p))
		if (p->w.now > end || !world_step(&p->w)) {
			snprintf(p->why, sizeof(p->why), "%s is %s, and does not become %s %s", who, now_of(p, who),
			         state, reason);
			return false;
		}
	return true;
}

static void controller(struct player *p, bool forgets)
{
	ctld_stop(&p->w, USEC_SEC, forgets);
	while (!p->w.ctld.up && world_step(&p->w))
		;
	for (size_t i = 0; forgets && i < p->n_jobs; i++)
		p->jobs[i].serial = 0; /* there their numbers are given again */
}

static bool play_job(struct player *p, const char *verb, const char *name)
{
	struct sjob *j = job_named(p, name);

	if (!j)
		return false;
	if (str_eq(verb, "cancel"))
		job_terminate(&p->w, j, JOB_CANCELLED, BY_USER);
	else if (str_eq(verb, "requeue"))
		job_requeue(&p->w, j);
	else if (str_eq(verb, "suspend"))
		job_suspend(&p->w, j);
	else if (str_eq(verb, "resume"))
		job_resume(&p->w, j);
	else
		return false;
	return true;
}

static bool play_line(struct player *p, const char *line)
{
	char verb[16] = "", what[16] = "";
	int at_ = 0;
	const char *rest;

	(void)sscanf(line, "%15s %15s %n", verb, what, &at_);
	rest = at_ ? line + at_ : "";
	if (str_eq(verb, "submit"))
		submit(p, what, rest);
	else if (str_eq(verb, "until"))
		return until(p, what, rest);
	else if (str_eq(verb, "drain"))
		node_drain(&p->w, 0, line + strlen("drain "), ROLES);
	else if (str_eq(verb, "undrain"))
		node_undrain(&p->w, 0);
	else if (str_eq(verb, "prolog"))
		p->w.ctld.prolog_broken = str_eq(what, "fails");
	else if (str_eq(verb, "slurmd") && str_eq(what, "ends"))
		node_fails(&p->w, 0, false, USEC_NEVER);
	else if (str_eq(verb, "slurmd"))
		slurmd_back(&p->w, 0);
	else if (str_eq(verb, "controller"))
		controller(p, str_eq(what, "forgets"));
	else if (!play_job(p, verb, what)) {
		snprintf(p->why, sizeof(p->why), "what is '%s'?", line);
		return false;
	}
	look(p);
	return true;
}

/* ---- comparing ---- */

/* The script has "until WHO PENDING REASON" for this line. */
static bool is_awaited(const struct record *script, const char *line, const char *reason)
{
	size_t who = strcspn(line, " "), n = strcspn(reason + strlen(" reason="), " ");
	char want[PLAY_LINE];

	snprintf(want, sizeof(want), "until %.*s PENDING %.*s", (int)who, line, (int)n, reason + strlen(" reason="));
	for (size_t i = 0; i < script->n; i++)
		if (str_eq(script->lines[i], want))
			return true;
	return false;
}

/* What of a line is compared; false: nothing. See the top. */
static bool normal(const struct record *script, char *line)
{
	char *reason = strstr(line, " reason=");
	bool of_node = str_starts(line, "node ");
	const char *state = strchr(line, ' ') ? strchr(line, ' ') + 1 : line;

	if (!reason)
		return true;
	if (of_node) {
		if (!strstr(line, "DRAIN") && !strstr(line, "DOWN"))
			*reason = 0;
		return true;
	}
	if (str_starts(state, "PENDING ") && !is_awaited(script, line, reason))
		return false;
	if (!str_starts(state, "PENDING ") && !str_starts(state, "RUNNING ")) {
		size_t n = 1 + strcspn(reason + 1, " ");

		memmove(reason, reason + n, strlen(reason + n) + 1);
	}
	return true;
}

/* The lines of one, normalised, without what then is the same as before. */
static void lines_of(const struct record *script, const struct record *r, const char *who, struct record *ret)
{
	size_t n = strlen(who);

	ret->n = 0;
	for (size_t i = 0; i < r->n; i++) {
		char line[PLAY_LINE];

		str_copy(line, sizeof(line), r->lines[i]);
		if (strncmp(line, who, n) != 0 || line[n] != ' ' || !normal(script, line) ||
		    (ret->n && str_eq(ret->lines[ret->n - 1], line)))
			continue;
		str_copy(ret->lines[ret->n++], PLAY_LINE, line);
	}
}

static bool compare(const struct record *script, const struct record *real, const struct record *model, const char *who)
{
	struct record a, b;

	lines_of(script, real, who, &a);
	lines_of(script, model, who, &b);
	for (size_t i = 0; i < MAX_OF(a.n, b.n); i++) {
		const char *x = i < a.n ? a.lines[i] : "nothing more", *y = i < b.n ? b.lines[i] : "nothing more";

		if (str_eq(x, y))
			continue;
		printf("  after '%s' Slurm says '%s', and the model '%s'\n", i ? a.lines[i - 1] : "nothing", x, y);
		return false;
	}
	return true;
}

/* ---- */

static void player_init(struct player *p, uint64_t seed)
{
	struct world *w = &p->w;

	world_init(w, seed);
	w->n_nodes = 1;
	w->node_cpus = 1;
	w->faults = 1u << FAULT_PREEMPT;
	kube_init(w);
	ctld_init(w);
	w->ctld.kill_wait = 3 * USEC_SEC;
	w->ctld.prompt = true;
	str_copy(w->ctld.nodes[0].name, sizeof(w->ctld.nodes[0].name), "n1");
	look(p);
}

static bool play_file(struct player *p, FILE *f, struct record *real)
{
	char line[PLAY_LINE];

	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (*line == '>') {
			if (p->script.n < PLAY_LINES)
				str_copy(p->script.lines[p->script.n++], PLAY_LINE, line + 2);
			if (!play_line(p, line + 2))
				return false;
		} else if (*line && *line != '#' && real->n < PLAY_LINES) {
			str_copy(real->lines[real->n++], PLAY_LINE, line);
		}
	}
	if (!real->n)
		snprintf(p->why, sizeof(p->why), "nothing is recorded");
	return real->n > 0;
}

bool play_trace(const char *path, uint64_t seed, bool print)
{
	struct player *p = NEW(struct player);
	struct record *real = NEW(struct record);
	FILE *f = fopen(path, "re");
	bool ok;

	if (!f)
		snprintf(p->why, sizeof(p->why), "it cannot be read");
	else
		player_init(p, seed);
	ok = f && play_file(p, f, real);
	if (!ok)
		printf("  %s\n", p->why);
	ok = ok && compare(&p->script, real, &p->said, "node");
	for (size_t i = 0; i < p->n_jobs && ok; i++)
		ok = compare(&p->script, real, &p->said, p->jobs[i].name);
	for (size_t i = 0; i < p->said.n && print; i++)
		printf("  %s\n", p->said.lines[i]);
	if (f) {
		world_done(&p->w);
		fclose(f);
	}
	free(real);
	free(p);
	return ok;
}
