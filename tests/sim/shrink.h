/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A run that breaks, made short: fewer steps, faults, nodes, names and acts of people, as long as it breaks with the same words
 * (numbers aside). What is left is replayed with the flags that it prints.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tests/sim/world.h"

struct recipe { /* a run, by all that it depends on */
	uint64_t seed, steps;
	unsigned nodes, names; /* 0: the seed chooses */
	uint32_t faults;
	bool alone, random_faults; /* the seed chooses the faults */
	bool skip[ACTS_MAX]; /* acts of people that do not happen */
};

/* Runs it to its end in w, which the caller ends. trace: 0 = none, 1 = the last lines are kept, 2 = printed. */
void recipe_run(const struct recipe *r, struct world *w, int trace);
void recipe_print(const struct recipe *r); /* the flags that make it */
int recipe_skip(struct recipe *r, const char *list); /* "3,5-9"; -1 when it is no such list */

/* r breaks; it is made as short as it gets within so many seconds. */
void recipe_shrink(struct recipe *r, double seconds);
