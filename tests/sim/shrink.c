/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/sim/shrink.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/str.h"

#define REST_MAX (60 * USEC_MINUTE)

/* ---- a run ---- */

static void choose(struct world *w, const struct recipe *r)
{
	unsigned nodes = 1 + (unsigned)below(w, 4), names = 1 + (unsigned)below(w, 10);

	w->n_nodes = r->nodes ? r->nodes : nodes;
	w->n_names = r->names ? r->names : names;
	w->node_cpus = 1 + (uint32_t)below(w, 4);
	w->poll_min = chance(w, 500) ? USEC_SEC : 200 * USEC_MSEC;
	w->on_cancel = chance(w, 500) ? ON_CANCEL_DELETE : ON_CANCEL_RESUBMIT;
	w->faults = (uint32_t)(rng_u64(&w->faults_rng) & rng_u64(&w->faults_rng)) & ((1u << FAULTS) - 1);
	if (!r->random_faults)
		w->faults = r->faults;
	w->whole = !r->alone;
	if (r->alone)
		w->faults &= (1u << FAULT_NODESET) - 1;
	w->skip = r->skip;
}

void recipe_run(const struct recipe *r, struct world *w, int trace)
{
	char why[256] = "";
	usec_t calm_at;
	uint64_t n = 0;

	world_init(w, r->seed);
	w->trace = trace != 0;
	w->trace_end = trace == 1;
	choose(w, r);
	say(w, "seed %llu: %u nodes with %u CPUs, %u names", (unsigned long long)r->seed, w->n_nodes, w->node_cpus,
	    w->n_names);
	for (size_t i = 0; i < FAULTS; i++)
		if (w->faults & (1u << i))
			say(w, "fault %s", fault_names[i]);
	kube_init(w);
	ctld_init(w);
	cluster_init(w);
	lives_init(w);
	people_init(w);
	while (n++ < r->steps && world_step(w))
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

/* ---- as flags ---- */

static void print_skip(const bool skip[ACTS_MAX])
{
	const char *before = " --skip ";

	for (int i = 0; i < ACTS_MAX; i++) {
		int last = i;

		if (!skip[i])
			continue;
		while (last + 1 < ACTS_MAX && skip[last + 1])
			last++;
		if (last > i)
			printf("%s%d-%d", before, i, last);
		else
			printf("%s%d", before, i);
		before = ",";
		i = last;
	}
}

void recipe_print(const struct recipe *r)
{
	const char *before = "";

	printf("sunk-sim --seed %llu --steps %llu --nodes %u --pods %u%s --faults ", (unsigned long long)r->seed,
	       (unsigned long long)r->steps, r->nodes, r->names, r->alone ? " --alone" : "");
	if (r->random_faults)
		printf("random");
	else if (!r->faults)
		printf("none");
	for (size_t i = 0; !r->random_faults && i < FAULTS; i++)
		if (r->faults & (1u << i)) {
			printf("%s%s", before, fault_names[i]);
			before = ",";
		}
	print_skip(r->skip);
	printf(" --trace\n");
}

int recipe_skip(struct recipe *r, const char *list)
{
	while (list && *list) {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = first;

		if (end == list)
			return -1;
		if (*end == '-') {
			list = end + 1;
			last = strtoul(list, &end, 10);
			if (end == list)
				return -1;
		}
		if (last >= ACTS_MAX || first > last || (*end && *end != ','))
			return -1;
		for (; first <= last; first++)
			r->skip[first] = true;
		list = *end ? end + 1 : end;
	}
	return 0;
}

/* ---- shorter ---- */

struct hunt {
	struct recipe best;
	char why[1024]; /* without its numbers */
	uint64_t steps; /* that it took */
	unsigned acts;
	struct timespec until;
	unsigned runs;
};

static void without_numbers(const char *from, char *to, size_t size)
{
	size_t n = 0;

	for (; *from && n + 1 < size; from++)
		if (!isdigit((unsigned char)*from))
			to[n++] = *from;
	to[n] = 0;
}

static bool time_is_left(const struct hunt *h)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec < h->until.tv_sec;
}

/* Whether it breaks in the same way, and not later: then it is the best so far. */
static bool try(struct hunt *h, const struct recipe *r)
{
	struct world w;
	char why[sizeof(h->why)];
	bool better;

	if (!time_is_left(h))
		return false;
	recipe_run(r, &w, 0);
	h->runs++;
	without_numbers(w.why, why, sizeof(why));
	better = w.failed && str_eq(why, h->why) && w.steps <= h->steps;
	if (better) {
		h->best = *r;
		h->steps = w.steps;
		h->acts = w.n_acts;
		if (w.steps < h->best.steps)
			h->best.steps = w.steps;
	}
	world_done(&w);
	return better;
}

static void fewer_faults(struct hunt *h)
{
	for (size_t i = 0; i < FAULTS; i++) {
		struct recipe r = h->best;

		if (!(r.faults & (1u << i)))
			continue;
		r.faults &= ~(1u << i);
		try(h, &r);
	}
}

static void fewer_things(struct hunt *h)
{
	for (unsigned n = 1; n < h->best.nodes; n++) {
		struct recipe r = h->best;

		r.nodes = n;
		if (try(h, &r))
			break;
	}
	for (unsigned n = 1; n < h->best.names; n++) {
		struct recipe r = h->best;

		r.names = n;
		if (try(h, &r))
			break;
	}
}

/* Halves, quarters … of what people did are left out. */
static void fewer_acts(struct hunt *h)
{
	for (unsigned chunk = MIN_OF(h->acts, (unsigned)ACTS_MAX); chunk > 0 && time_is_left(h); chunk /= 2)
		for (unsigned first = 0; first < h->acts && first < ACTS_MAX; first += chunk) {
			struct recipe r = h->best;
			bool differs = false;

			for (unsigned i = first; i < first + chunk && i < ACTS_MAX; i++) {
				differs |= !r.skip[i];
				r.skip[i] = true;
			}
			if (differs)
				try(h, &r);
		}
}

/* Other seeds, now that there is little left that they could do. */
static void other_seeds(struct hunt *h)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct recipe r = h->best;

		r.seed = seed;
		memset(r.skip, 0, sizeof(r.skip));
		if (try(h, &r))
			fewer_acts(h);
	}
}

void recipe_shrink(struct recipe *r, double seconds)
{
	struct hunt h = { .best = *r };
	struct world w;
	uint64_t before;

	recipe_run(r, &w, 0);
	h.steps = before = w.steps;
	h.acts = w.n_acts;
	without_numbers(w.why, h.why, sizeof(h.why));
	h.best.random_faults = false;
	h.best.faults = w.faults;
	h.best.nodes = w.n_nodes;
	h.best.names = w.n_names;
	if (h.best.steps > w.steps)
		h.best.steps = w.steps;
	world_done(&w);
	clock_gettime(CLOCK_MONOTONIC, &h.until);
	h.until.tv_sec += (time_t)seconds + 1;
	fewer_faults(&h);
	fewer_things(&h);
	fewer_acts(&h);
	other_seeds(&h);
	fewer_faults(&h);
	fewer_things(&h);
	printf("made shorter in %u runs: %llu steps instead of %llu\n", h.runs, (unsigned long long)h.steps,
	       (unsigned long long)before);
	*r = h.best;
}
