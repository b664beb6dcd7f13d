/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sunk-sim: runs worlds, one for each seed, and tells of the first that breaks.
 */
#include "tests/sim/coverage.h"
#include "tests/sim/play.h"
#include "tests/sim/shrink.h"
#include "tests/sim/world.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/args.h"
#include "base/log.h"
#include "base/str.h"

#define SHRINK_SECONDS 20

struct options {
	int64_t seed, seeds, steps, nodes, pods, seconds, hours;
	bool trace, all, alone, shrink, coverage, play;
	char *faults, *list, *skip;
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

	printf("%llu seeds, %llu steps, %.0f steps/s, %.1f simulated hours (%.1f hours per wall second)\n",
	       (unsigned long long)t->seeds, (unsigned long long)t->steps, (double)t->steps / seconds,
	       (double)t->virtual / (double)USEC_HOUR, (double)t->virtual / (double)USEC_HOUR / seconds);
	printf("%llu Pods, %llu placeholder jobs, %llu jobs of users, %llu bound, %llu finished, %llu deleted by the "
	       "scheduler, %llu lost their job, "
	       "%llu drains, %llu crashes, %llu leaderships\n"
	       "%llu ordinary Pods, %llu evicted, %llu locks, %llu unlocks, %llu prologs gave up, %llu writes to "
	       "Kubernetes\n"
	       "NodeSets: %llu Pods deleted by the operator, %llu nodes deleted from Slurm, %llu Nodes lost\n",
	       (unsigned long long)c->pods, (unsigned long long)c->jobs, (unsigned long long)c->foreign,
	       (unsigned long long)c->binds, (unsigned long long)c->finished, (unsigned long long)c->deletes,
	       (unsigned long long)c->lost, (unsigned long long)c->drains, (unsigned long long)c->crashes,
	       (unsigned long long)c->leaders, (unsigned long long)c->plain, (unsigned long long)c->evicted,
	       (unsigned long long)c->locks, (unsigned long long)c->unlocks, (unsigned long long)c->prolog_timeouts,
	       (unsigned long long)c->writes, (unsigned long long)c->nodeset_deletes,
	       (unsigned long long)c->node_deletes, (unsigned long long)c->node_losses);
}

static struct recipe recipe_of(const struct options *o, uint64_t seed)
{
	struct recipe r = { .seed = seed,
		            .steps = (uint64_t)o->steps,
		            .nodes = (unsigned)o->nodes,
		            .names = (unsigned)o->pods,
		            .alone = o->alone,
		            .random_faults = str_eq(o->faults, "random") };

	r.faults = str_eq(o->faults, "all") ? (1u << FAULTS) - 1 : faults_named(o->faults);
	if (o->skip)
		(void)recipe_skip(&r, o->skip); /* main() has looked at it */
	return r;
}

static void tell_broken(struct recipe *r, bool shrink)
{
	struct world w;

	if (shrink)
		recipe_shrink(r, SHRINK_SECONDS);
	recipe_run(r, &w, 1);
	trace_print(&w);
	printf("seed %llu broke after %llu steps: %s\nreplay: ", (unsigned long long)r->seed,
	       (unsigned long long)w.steps, w.why);
	recipe_print(r);
	world_done(&w);
}

/* One run; what it did is added up. True when nothing broke. */
static bool run_one(const struct options *o, uint64_t seed, struct totals *totals)
{
	struct recipe r = recipe_of(o, seed);
	struct world w;

	recipe_run(&r, &w, o->trace ? 2 : 0);
	add(totals, &w);
	world_done(&w);
	if (w.failed && (o->trace || o->all))
		printf("seed %llu broke after %llu steps: %s\n", (unsigned long long)seed, (unsigned long long)w.steps,
		       w.why);
	else if (w.failed)
		tell_broken(&r, o->shrink);
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

/* Scenes of a real Slurm, each with so many seeds. */
static bool play(const char *path, uint64_t seed, bool print)
{
	return (strstr(path, "/kube/") ? play_kube : play_trace)(path, seed, print);
}

static int run_plays(const struct options *o, char **paths, int n)
{
	int r = 0;

	for (int i = 0; i < n; i++) {
		int64_t k = 0;

		while (k < o->seeds && play(paths[i], (uint64_t)(o->seed + k), o->trace))
			k++;
		if (k == o->seeds)
			continue;
		printf("%s: the model (seed %lld) is not as the real one\n", paths[i], (long long)(o->seed + k));
		r = 1;
	}
	printf("%d scenes with %lld seeds each\n", n, (long long)o->seeds);
	return n ? r : 2;
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
		{ .flag = "hours",
		  .type = ARG_INT,
		  .value = &o.hours,
		  .help = "Go on with further seeds for so many hours of wall time." },
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
		{ .flag = "skip",
		  .type = ARG_STRING,
		  .value = &o.skip,
		  .help = "Acts of people that do not happen: 3,5-9." },
		{ .flag = "shrink",
		  .type = ARG_BOOL,
		  .value = &o.shrink,
		  .help = "Make a run that breaks as short as it gets before telling of it." },
		{ .flag = "coverage",
		  .type = ARG_BOOL,
		  .value = &o.coverage,
		  .help = "Tell how often each outcome of a decision was seen." },
		{ .flag = "play",
		  .type = ARG_BOOL,
		  .value = &o.play,
		  .help = "Play the recorded scenes that are named, and compare: tests/sim/traces/*.txt, "
		          "tests/sim/traces/kube/*.txt" },
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
		printf("usage: sunk-sim [FLAG...]\n       sunk-sim --play TRACE...\n\n%s", buf_text(&help));
		return 0;
	}
	if (args_parse(args, ARRAY_LEN(args), argc, argv, &rest, &n_rest, &err) < 0 || (n_rest && !o.play)) {
		fprintf(stderr, "sunk-sim: %s\n", n_rest ? "no arguments are taken" : err_text(&err));
		return 2;
	}
	if (o.play)
		return run_plays(&o, rest, n_rest);
	if (recipe_skip(&(struct recipe) { 0 }, o.skip) < 0) {
		fprintf(stderr, "sunk-sim: --skip: a list like 3,5-9 with numbers below %d is wanted\n", ACTS_MAX);
		return 2;
	}
	if (o.hours) {
		o.seconds = o.hours * 3600;
		o.seeds = INT64_MAX;
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
	coverage_print(!o.alone, o.coverage);
	args_done(args, ARRAY_LEN(args));
	return r;
}
