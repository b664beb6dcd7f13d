/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Features of a Slurm node that come from its NodeSet Pod: added to those the node has by itself, and taken away again when the
 * Pod no longer names them. Those that somebody else gave the node are never taken away. Pure.
 */
#pragma once

#include <stdbool.h>

#define FEATURES_MAX 1024   /* bytes of a list, and NUL */
#define FEATURES_OURS_MAX 512
#define FEATURE_NAME_MAX 64

struct features {
	bool change;             /* all differs from what the node has */
	char all[FEATURES_MAX];  /* what the node should have */
	char ours[FEATURES_OURS_MAX]; /* those of them that are there because of us: to be remembered */
};

/* Lists separated by commas; NULL = none. `ours` is what an earlier call returned. Names that Slurm could not hold, and what does not
 * fit, are left out. */
void features_decide(const char *now, const char *ours, const char *wanted, struct features *ret);
