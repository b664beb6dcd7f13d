/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where both sides are and how long they may take, as flags: the same for all programs that look at them.
 */
#pragma once

#include "base/args.h"
#include "base/time.h"
#include "kube/config.h"
#include "slurm/open.h"

#define BOTH_SIDES_ROWS 6

struct both_sides {
	char *kubeconfig, *context, *slurm_conf;
	usec_t timeout;
	bool help, debug;
};

/* Sets the defaults and makes the rows that fill them; returns how many. args_done() frees. */
size_t both_sides_rows(struct both_sides *s, struct arg rows[BOTH_SIDES_ROWS]);

/* All text is borrowed. */
struct kube_config_options both_sides_kube(const struct both_sides *s);
struct slurm_options both_sides_slurm(const struct both_sides *s);

/* As with kubectl: -o is --output, and so on. */
void both_sides_letters(int argc, char **argv);
