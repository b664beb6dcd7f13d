/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sunk-sim: runs worlds, one for each seed, and tells of the first that breaks.
 */
#include "tests/sim/world.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/args.h"
#include "base/log.h"
#include "base/str.h"

#define REST_MAX (60 * USEC_MINUTE)

struct options {
	int64_t seed, seeds, steps, nodes, pods, seconds;
	bool trace, all, alone;
	char *faults, *list;
};

struct totals {
	uint64_t seeds, steps;
	usec_t virtual;
	struct counts counts;
};

static uint32_t faults_named(const char *list)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < FAULTS; i++) {
		const char *at_ = list;
		size_t n = strlen(fault_names[i]);

		while ((at_ = strstr(at_, fault_names[i]))) {
			if ((at_ == list || at_[-1] == ',') && (!at_[n] || at_[n] == ','))
				bits |= 1u << i;
			at_ += n;
		}
	}
	return bits;
}

static void choose(struct world *w, const struct options *o)
{
	w->n_nodes = o->nodes ? (unsigned)o->nodes : 1 + (unsigned)below(w, 4);
	w->n_names = o->pods ? (unsigned)o->pods : 1 + (unsigned)below(w, 10);
	w->node_cpus = 1 + (uint32_t)below(w, 4);
	w->poll_min = chance(w, 500) ? USEC_SEC : 200 * USEC_MSEC;
	w->on_cancel = chance(w, 500) ? ON_CANCEL_DELETE : ON_CANCEL_RESUBMIT;
	w->faults = (uint32_t)(rng_u64(&w->faults_rng) & rng_u64(&w->faults_rng)) & ((1u << FAULTS) - 1);
	if (str_eq(o->faults, "all"))
		w->faults = (1u << FAULTS) - 1;
	else if (!str_eq(o->faults, "random"))
		w->faults = faults_named(o->faults);
	w->whole = !o->alone;
	if (o->alone)
		w->faults &= (1u << FAULT_NODESET) - 1;
}

static void run(struct world *w, const struct options *o, uint64_t seed, bool trace_all, bool trace_end)
{
	char why[256] = "";
	usec_t calm_at;
	uint64_t n = 0;

	world_init(w, seed);
	w->trace = trace_all || trace_end;
	w->trace_end = !trace_all;
	choose(w, o);
	say(w, "seed %llu: %u nodes with %u CPUs, %u names", (unsigned long long)seed, w->n_nodes, w->node_cpus,
	    w->n_names);
	for (size_t i = 0; i < FAULTS; i++)
		if (w->faults & (1u << i))
			say(w, "fault %s", fault_names[i]);
	kube_init(w);
	ctld_init(w);
	cluster_init(w);
	lives_init(w);
	people_init(w);
	while (n++ < (uint64_t)o->steps && world_step(w))
		;
	if (w->failed)
		return;
	people_calm(w);
	calm_at = w->now;
	while (!w->failed && w->now < calm_at + REST_MAX) {
		usec_t until = w->now + 5 * USEC_SEC;

		if (world_at_rest(w, why, sizeof(why)))
			return;
		while (w->now < until && world_step(w))
			;
	}
	if (!w->failed)
		broken(w, "the world does not come to rest: %s", why);
}

static void add(struct totals *t, const struct world *w)
{
	const uint64_t *from = (const uint64_t *)&w->counts;
	uint64_t *to = (uint64_t *)&t->counts;

	t->seeds++;
	t->steps += w->steps;
	t->virtual += w->now - 1000 * USEC_SEC;
	for (size_t i = 0; i < sizeof(w->counts) / sizeof(uint64_t); i++)
		to[i] += from[i];
}

static double seconds_since(const struct timespec *start)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)(t.tv_sec - start->tv_sec) + (double)(t.tv_nsec - start->tv_nsec) / 1e9;
}

static void sum_up(const struct totals *t, double seconds)
{
	const struct counts *c = &t->counts;

	printf("%llu seeds, %llu steps, %.0f steps/s, %.1f simulated hours (%.0f s per wall second)\n",
	       (unsigned long long)t->seeds, (unsigned long long)t->steps, (double)t->steps / seconds,
	       (double)t->virtual / (double)USEC_HOUR, (double)t->virtual / (double)USEC_SEC / seconds);
	printf("%llu Pods, %llu placeholder jobs, %llu jobs of users, %llu bound, %llu finished, %llu deleted by the "
	       "scheduler, %llu lost their job, "
	       "%llu drains, %llu crashes, %llu leaderships\n"
	       "%llu ordinary Pods, %llu evicted, %llu locks, %llu unlocks, %llu prologs gave up, %llu writes to "
	       "Kubernetes\n",
	       (unsigned long long)c->pods, (unsigned long long)c->jobs, (unsigned long long)c->foreign,
	       (unsigned long long)c->binds, (unsigned long long)c->finished, (unsigned long long)c->deletes,
	       (unsigned long long)c->lost, (unsigned long long)c->drains, (unsigned long long)c->crashes,
	       (unsigned long long)c->leaders, (unsigned long long)c->plain, (unsigned long long)c->evicted,
	       (unsigned long long)c->locks, (unsigned long long)c->unlocks, (unsigned long long)c->prolog_timeouts,
	       (unsigned long long)c->writes);
}

static void tell_broken(const struct options *o, uint64_t seed)
{
	struct world w;

	run(&w, o, seed, false, true);
	trace_print(&w);
	printf("seed %llu broke after %llu steps: %s\n", (unsigned long long)seed, (unsigned long long)w.steps, w.why);
	printf("replay: sunk-sim --seed %llu --steps %lld --nodes %lld --pods %lld --faults %s%s --trace\n",
	       (unsigned long long)seed, (long long)o->steps, (long long)o->nodes, (long long)o->pods, o->faults,
	       o->alone ? " --alone" : "");
	world_done(&w);
}

/* One run; what it did is added up. True when nothing broke. */
static bool run_one(const struct options *o, uint64_t seed, struct totals *totals)
{
	struct world w;

	run(&w, o, seed, o->trace, false);
	add(totals, &w);
	world_done(&w);
	if (w.failed && (o->trace || o->all))
		printf("seed %llu broke after %llu steps: %s\n", (unsigned long long)seed, (unsigned long long)w.steps,
		       w.why);
	else if (w.failed)
		tell_broken(o, seed);
	return !w.failed;
}

/* Lines of "SEED FAULTS what it found"; "alone:FAULTS" for the scheduler only. */
static int run_list(struct options *o, struct totals *totals)
{
	FILE *f = fopen(o->list, "re");
	char line[512], faults[256];
	unsigned long long seed;
	int r = 0;

	if (!f) {
		fprintf(stderr, "sunk-sim: %s cannot be read\n", o->list);
		return 2;
	}
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llu %255s", &seed, faults) !=
		    2) /* NOLINT(cert-err34-c): a line that is none is skipped */
			continue;
		free(o->faults);
		o->alone = str_starts(faults, "alone:");
		o->faults = mem_strdup(o->alone ? faults + strlen("alone:") : faults);
		r |= !run_one(o, seed, totals);
	}
	fclose(f);
	return r;
}

int main(int argc, char **argv)
{
	struct options o = { .seed = 1, .seeds = 1, .steps = 3000, .faults = mem_strdup("random") };
	struct arg args[] = {
		{ .flag = "seed", .type = ARG_INT, .value = &o.seed, .help = "The first seed." },
		{ .flag = "seeds", .type = ARG_INT, .value = &o.seeds, .help = "How many, one after the other." },
		{ .flag = "steps", .type = ARG_INT, .value = &o.steps, .help = "Events before everything calms down." },
		{ .flag = "nodes",
		  .type = ARG_INT,
		  .value = &o.nodes,
		  .max = SIM_NODES_MAX,
		  .help = "Nodes; 0: the seed chooses." },
		{ .flag = "pods",
		  .type = ARG_INT,
		  .value = &o.pods,
		  .max = SIM_NAMES_MAX,
		  .help = "Names of Pods; 0: the seed chooses." },
		{ .flag = "seconds",
		  .type = ARG_INT,
		  .value = &o.seconds,
		  .help = "Stop before the next seed after this long; 0: never." },
		{ .flag = "faults",
		  .type = ARG_STRING,
		  .value = &o.faults,
		  .help = "random, all, none, or names separated by commas." },
		{ .flag = "list",
		  .type = ARG_STRING,
		  .value = &o.list,
		  .help = "Run the seeds of this file: lines of SEED FAULTS." },
		{ .flag = "all",
		  .type = ARG_BOOL,
		  .value = &o.all,
		  .help = "Go on after a seed that broke; one line for each." },
		{ .flag = "alone",
		  .type = ARG_BOOL,
		  .value = &o.alone,
		  .help = "The scheduler only: no syncer, no operator, no locks." },
		{ .flag = "trace", .type = ARG_BOOL, .value = &o.trace, .help = "Print everything that happens." },
	};
	struct totals totals = { 0 };
	struct timespec start;
	struct err err = { 0 };
	char **rest;
	int n_rest, r = 0;

	if (argc == 2 && str_eq(argv[1], "--help")) {
		_cleanup_buf_ struct buf help = BUF(65536);

		args_help(args, ARRAY_LEN(args), &help);
		printf("usage: sunk-sim [FLAG...]\n\n%s", buf_text(&help));
		return 0;
	}
	if (args_parse(args, ARRAY_LEN(args), argc, argv, &rest, &n_rest, &err) < 0 || n_rest) {
		fprintf(stderr, "sunk-sim: %s\n", n_rest ? "no arguments are taken" : err_text(&err));
		return 2;
	}
	log_setup("sim", o.trace ? LOG_DEBUG : LOG_ERROR + 1, LOG_TEXT, 1);
	clock_gettime(CLOCK_MONOTONIC, &start);
	if (o.list)
		r = run_list(&o, &totals);
	for (int64_t i = 0; !o.list && i < o.seeds && (!r || o.all); i++) {
		r |= !run_one(&o, (uint64_t)(o.seed + i), &totals);
		if (o.seconds && seconds_since(&start) > (double)o.seconds)
			break;
	}
	sum_up(&totals, seconds_since(&start));
	args_done(args, ARRAY_LEN(args));
	return r;
}
