/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The metrics that every daemon has, looked up when someone asks for them: the process, the caches of Kubernetes, the pool of
 * Slurm workers, readiness and leadership. Core thread.
 */
#pragma once

#include "base/metrics.h"
#include "daemon/pages.h"
#include "kube/kube.h"
#include "port/slurm.h"

struct vitals {
	struct metrics *metrics;
	const struct clock *clock;
	struct kube *kube;
	const struct slurm_port *slurm; /* the real one, see slurm/open.h */
	size_t (*checks)(void *arg, struct check checks[CHECKS_MAX]);
	bool (*leading)(void *arg, const char **ret_holder);
	void *arg;
};

/* All borrowed, as long as the metrics are written. */
void vitals_start(const struct vitals *v);
