/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The settings on which it depends how Pods become jobs (policy/rules.h), as flags and config keys: the same for the
 * scheduler and for those who only look.
 */
#pragma once

#include "base/args.h"
#include "policy/rules.h"

#define POD_RULES_ROWS 7

struct pod_rules {
	char *scheduler_name, *gpu_type_label;
	usec_t kill_wait, termination_offset;
	bool allow_static_cpu;
	struct arg_list gpu_resources;
	struct arg_map gpu_types;
};

/* Sets the defaults and makes the rows that fill them; returns how many. args_done() frees. */
size_t pod_rules_rows(struct pod_rules *s, struct arg rows[POD_RULES_ROWS]);

/* Puts them into the rules, of which the other members stay; all text is borrowed. */
void pod_rules_apply(const struct pod_rules *s, struct rules *rules);
