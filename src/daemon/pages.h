/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The pages that every daemon has: /healthz (the core thread answers, so it lives), /readyz (what is not ready, and why; with
 * ?verbose all of it as JSON) and /metrics. Core thread.
 */
#pragma once

#include "base/metrics.h"
#include "daemon/listen.h"
#include "net/loop.h"

#define CHECKS_MAX 16

struct check {
	const char *name; /* "slurm" */
	bool ready;
	struct err why; /* when not */
};

struct pages_options {
	struct metrics *metrics;
	/* Appends metrics that are not of that set; may be NULL. */
	void (*more_metrics)(void *arg, struct buf *out);
	/* Fills in what must be ready; returns how many. */
	size_t (*checks)(void *arg, struct check checks[CHECKS_MAX]);
	/* Who leads, for ?verbose; holder is never NULL. */
	bool (*leading)(void *arg, const char **ret_holder);
	void *arg;
};

struct pages;

struct pages *pages_new(struct loop *l, const struct listen *at, const struct pages_options *o, struct err *err);
void pages_free(struct pages *p);
DEFINE_FREEP(struct pages, pages_free)

uint16_t pages_port(const struct pages *p);
