/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A NodeSet's Slurm nodes, in slices of at most NODESLICE_MAX names. Stable: a name stays in its slice, a new one goes to the first
 * slice with room, so that one change touches one slice, whatever the number of nodes. Pure.
 */
#pragma once

#include <stddef.h>

#include "model/nodeset.h"

#define NODESLICE_NAME_MAX 254

enum nodeslice_act { NODESLICE_CREATE, NODESLICE_CHANGE, NODESLICE_DELETE };

struct nodeslice_step {
	enum nodeslice_act act;
	const struct nodeslice *slice; /* CHANGE, DELETE */
	char name[NODESLICE_NAME_MAX]; /* CREATE */
	const char *nodes[NODESLICE_MAX]; /* CREATE, CHANGE: all of it, from now on; point into names and slice */
	size_t n_nodes;
};

/* Slices of the NodeSet as they are, and the names that should be in them, each once. Writes at most max steps; the rest
 * comes when asked again. Returns their number. */
size_t nodeslice_plan(const char *nodeset, const struct nodeslice *const *slices, size_t n_slices,
                      const char *const *names, size_t n_names, struct nodeslice_step *steps, size_t max);
