/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Inside of the exporter: what the rows of its table are written with. exporter.c counts once, exporter_series.c writes.
 */
#pragma once

#include <stdbool.h>

#include "base/map.h"
#include "policy/states.h"
#include "syncer/exporter.h"

/* What a node has, by itself and summed up for its partitions. */
enum quantity {
	CPU_ALLOC,
	CPU_IDLE,
	CPU_TOTAL,
	MEM_ALLOC,
	MEM_TOTAL,
	GPU_ALLOC,
	GPU_IDLE,
	GPU_TOTAL,
	QUANTITIES,
};

struct group { /* jobs with the same labels */
	uint64_t tasks[JOB_WORDS];
	char labels[]; /* `partition="a",account="b",user="c"` */
};

struct counted_job {
	const struct group *group;
	enum job_word word;
};

struct sums { /* of a partition */
	uint64_t q[QUANTITIES];
	char labels[]; /* `partition="a"` */
};

struct export
{
	const struct slurm_snapshot *s;
	struct buf *out;
	usec_t now;
	uint64_t dropped; /* lines */

	struct map groups; /* labels → struct group */
	struct counted_job *jobs;
	uint64_t tasks[JOB_WORDS], waiting_for_others;
	struct map partitions; /* labels → struct sums */
	uint64_t nodes[SNODE_WORDS], silent;
};

/* Appends `name="value"` with the value cut, made text and escaped. */
void export_label(struct buf *b, const char *name, const char *value);
void export_quantities(const struct snode *n, uint64_t q[QUANTITIES]);
uint32_t export_tasks(const struct job *j); /* how many a record stands for */
bool export_holds(const struct job *j);     /* it runs: it has what it was given */

/* One line: name{labels} value. Whole, or counted as dropped. */
void export_line(struct export *e, const char *name, const char *labels, uint64_t value);
void export_line_span(struct export *e, const char *name, const char *labels, usec_t span);

/* For the table. */
void write_rpc_count(struct export *e, const struct metric_row *row);
void write_rpc_mean(struct export *e, const struct metric_row *row);
void write_stat(struct export *e, const struct metric_row *row);      /* arg: offset of a uint32_t */
void write_stat_span(struct export *e, const struct metric_row *row); /* arg: offset of a usec_t */
void write_job_state(struct export *e, const struct metric_row *row);
void write_job_cpus(struct export *e, const struct metric_row *row);
void write_job_gpus(struct export *e, const struct metric_row *row);
void write_job_uptime(struct export *e, const struct metric_row *row);
void write_groups(struct export *e, const struct metric_row *row); /* arg: enum job_word */
void write_queue(struct export *e, const struct metric_row *row);  /* arg: enum job_word */
void write_queue_dependency(struct export *e, const struct metric_row *row);
void write_node_state(struct export *e, const struct metric_row *row);
void write_node(struct export *e, const struct metric_row *row);      /* arg: enum quantity */
void write_partition(struct export *e, const struct metric_row *row); /* arg: enum quantity */
void write_nodes(struct export *e, const struct metric_row *row);     /* arg: bits of enum snode_word */
void write_nodes_total(struct export *e, const struct metric_row *row);
void write_nodes_silent(struct export *e, const struct metric_row *row);
void write_ages(struct export *e, const struct metric_row *row);
void write_dropped(struct export *e, const struct metric_row *row);
