/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The annotations with which a Pod speaks to Slurm: one table, from which parsing, validation and the reference in
 * docs/pod-scheduler.md are made. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/pod.h"
#include "model/slurm.h"
#include "policy/problems.h"
#include "policy/rules.h"

enum annotation_type { ANNOTATION_TEXT, ANNOTATION_INTEGER, ANNOTATION_EXCLUSIVE, ANNOTATION_NODES, ANNOTATION_PATH };

struct annotation_row {
	const char *name; /* without the prefix */
	enum annotation_type type;
	int64_t min, max;  /* integers: range; all others: max = bytes */
	size_t offset;     /* into struct wishes */
	const char *slurm; /* the sbatch option it stands for, "--qos" */
	const char *help;  /* one sentence for the reference */
	const char *example;
};

extern const struct annotation_row annotation_rows[];
extern const size_t n_annotation_rows;

/* What the annotations say. Text is borrowed from the Pod; NULL = not said. */
struct wishes {
	const char *account, *comment, *partition, *qos, *reservation, *constraints, *prefer;
	const char *excluded_nodes, *required_nodes; /* valid hostlists */
	const char *work_dir;
	int64_t priority, user_id, group_id, timeout_min; /* -1 = not said; priority 0 = held */
	int shared; /* enum job_shared */
};

#define WISHES_INIT ((struct wishes) { .priority = -1, .user_id = -1, .group_id = -1, .timeout_min = -1 })

/* Reads all of them; what cannot be passed on is a problem each (and stays unset); unknown keys under the prefix, other than those
 * that we or other parts of the system write, are warnings. A value of "" counts as not said. */
void annotations_read(const struct pod *pod, struct wishes *ret, struct problems *problems);
