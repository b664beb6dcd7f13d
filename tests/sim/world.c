/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/sim/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const fault_names[FAULTS] = {
	[FAULT_KUBE_SLOW] = "kube-slow",
	[FAULT_KUBE_FAIL] = "kube-fail",
	[FAULT_WATCH_SLOW] = "watch-slow",
	[FAULT_WATCH_DROP] = "watch-drop",
	[FAULT_WATCH_TWICE] = "watch-twice",
	[FAULT_SLURM_SLOW] = "slurm-slow",
	[FAULT_SLURM_FAIL] = "slurm-fail",
	[FAULT_CTLD_RESTART] = "ctld-restart",
	[FAULT_CTLD_AMNESIA] = "ctld-amnesia",
	[FAULT_NODE_FAIL] = "node-fail",
	[FAULT_PROLOG] = "prolog",
	[FAULT_KUBELET_SLOW] = "kubelet-slow",
	[FAULT_KUBELET_DEAD] = "kubelet-dead",
	[FAULT_CRASH] = "crash",
	[FAULT_PARTITION] = "partition",
	[FAULT_HOOK] = "hook",
	[FAULT_CANCEL] = "cancel",
	[FAULT_PREEMPT] = "preempt",
	[FAULT_REQUEUE] = "requeue",
	[FAULT_SUSPEND] = "suspend",
	[FAULT_DRAIN] = "drain",
	[FAULT_CORDON] = "cordon",
	[FAULT_EDIT] = "edit",
	[FAULT_FORCE] = "force",
	[FAULT_VOLUMES] = "volumes",
	[FAULT_NODESET] = "nodeset",
	[FAULT_MEDDLE] = "meddle",
	[FAULT_SKEW] = "skew",
	[FAULT_LATE] = "late",
};

static usec_t world_mono(const struct clock *c)
{
	return CONTAINER_OF(c, struct world, clock)->now;
}

static usec_t world_wall(const struct clock *c)
{
	return CONTAINER_OF(c, struct world, clock)->now + (usec_t)1700000000 * USEC_SEC;
}

void world_init(struct world *w, uint64_t seed)
{
	*w = (struct world) { .clock = { world_mono, world_wall }, .now = 1000 * USEC_SEC, .seed = seed };
	w->rng = rng_seeded(seed * 0x9e3779b97f4a7c15u + 1);
	w->faults_rng = rng_seeded(seed ^ 0x5851f42d4c957f2du);
	w->people_rng = rng_seeded(seed * 0xd1342543de82ef95u + 3);
}

/* ---- chance ---- */

uint64_t below(struct world *w, uint64_t n)
{
	return rng_below(&w->rng, n);
}

bool chance(struct world *w, unsigned permille)
{
	return below(w, 1000) < permille;
}

usec_t span(struct world *w, usec_t least, usec_t most)
{
	return least + (usec_t)below(w, (uint64_t)(most - least) + 1);
}

bool fault_on(const struct world *w, enum fault f)
{
	return !w->calm && (w->faults & (1u << f));
}

bool fault_hits(struct world *w, enum fault f, unsigned permille)
{
	return fault_on(w, f) && chance(w, permille);
}

/* ---- events ---- */

static bool before(const struct ev *a, const struct ev *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

void at(struct world *w, usec_t when, ev_fn fn, uint64_t a, uint64_t b, void *p)
{
	struct ev e = { .at = MAX_OF(when, w->now), .order = w->order++, .fn = fn, .a = a, .b = b, .p = p };
	size_t i;

	if (w->n == w->size) {
		w->size = w->size ? 2 * w->size : 256;
		w->heap = mem_realloc_n(w->heap, w->size, sizeof(*w->heap));
	}
	for (i = w->n++; i > 0 && before(&e, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = e;
}

static struct ev take(struct world *w)
{
	struct ev first = w->heap[0], last = w->heap[--w->n];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < w->n && before(&w->heap[child + 1], &w->heap[child]))
			child++;
		if (child >= w->n || !before(&w->heap[child], &last))
			break;
		w->heap[i] = w->heap[child];
		i = child;
	}
	w->heap[i] = last;
	return first;
}

bool world_step(struct world *w)
{
	struct ev e;

	if (!w->n || w->failed)
		return false;
	e = take(w);
	if (e.at > w->now) {
		check_time_passes(w, e.at - w->now);
		w->now = e.at;
	}
	w->steps++;
	e.fn(w, &e);
	lives_bury(w);
	check_step(w);
	return !w->failed;
}

/* ---- telling ---- */

static void tell(struct world *w, const char *fmt, va_list ap) _printf_(2, 0);
static void tell(struct world *w, const char *fmt, va_list ap)
{
	usec_t t = w->now - 1000 * USEC_SEC;
	char line[TRACE_LINE_MAX];
	int n = snprintf(line, sizeof(line), "%6llu %5lld.%06lld  ", (unsigned long long)w->steps,
	                 (long long)(t / USEC_SEC), (long long)(t % USEC_SEC));

	vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, ap);
	if (!w->trace_end) {
		puts(line);
		fflush(stdout);
		return;
	}
	if (!w->lines)
		w->lines = mem_alloc_n(TRACE_LINES, TRACE_LINE_MAX);
	memcpy(w->lines[w->n_lines++ % TRACE_LINES], line, sizeof(line));
}

void trace_print(const struct world *w)
{
	for (size_t i = w->n_lines > TRACE_LINES ? w->n_lines - TRACE_LINES : 0; i < w->n_lines; i++)
		puts(w->lines[i % TRACE_LINES]);
}

void say(struct world *w, const char *fmt, ...)
{
	va_list ap;

	if (!w->trace)
		return;
	va_start(ap, fmt);
	tell(w, fmt, ap);
	va_end(ap);
}

void broken(struct world *w, const char *fmt, ...)
{
	va_list ap;

	if (w->failed)
		return;
	w->failed = true;
	va_start(ap, fmt);
	vsnprintf(w->why, sizeof(w->why), fmt, ap);
	va_end(ap);
	say(w, "BROKEN: %s", w->why);
}

void world_done(struct world *w)
{
	lives_done(w);
	hook_calls_done(w);
	ctld_done(w);
	kube_done_all(w);
	free(w->lines);
	free(w->heap); /* what its events point to is lost with them: the process ends soon */
}
