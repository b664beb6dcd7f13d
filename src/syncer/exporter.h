/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The metrics of a Slurm cluster, for Prometheus: one snapshot of what Slurm told → text. One table (exporter_table.c) names
 * every metric; the text and docs/metrics.md are made from it. Pure: a scrape reads the snapshot and asks nobody.
 *
 * What holds: names, labels and units are a contract with dashboards; a part that was never read, or is too old, has no series (never
 * zeros); array jobs count task by task; the text is bounded, and what did not fit is counted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "model/slurm.h"

#define EXPORT_TEXT_MAX ((size_t)256 << 20) /* make the buffer with it */
#define EXPORT_LABEL_MAX 256                /* bytes of one value; longer ones are cut */
#define EXPORT_STALE (5 * USEC_MINUTE)      /* older parts have no series */

/* What Slurm told, part by part; each with the wall time of its reading, 0 = never read. */
struct slurm_snapshot {
	const struct job *jobs; /* with detail */
	const struct snode *nodes;
	const struct spartition *partitions;
	const struct slurm_stats *stats;
	uint32_t n_jobs, n_nodes, n_partitions;
	usec_t jobs_at, nodes_at, partitions_at, stats_at;
};

enum metric_part { METRIC_NODES, METRIC_JOBS, METRIC_STATS, METRIC_ALWAYS };
enum metric_kind { METRIC_GAUGE, METRIC_COUNTER };

struct export;

struct metric_row {
	const char *name;
	enum metric_kind kind;
	const char *unit;   /* "count", "seconds", "MB", "opm", "" */
	const char *labels; /* separated by blanks */
	const char *help;
	enum metric_part part;
	void (*write)(struct export *e, const struct metric_row *row);
	size_t arg; /* for write: which field, state or quantity */
};

extern const struct metric_row metric_rows[];
extern const size_t n_metric_rows;

/* What "# TYPE" says. Names are a contract; where one contradicts its kind (a gauge that ends in "_total", a counter that does not, a
 * "_count") promtool accepts it as "untyped" only. Queries see no difference. */
const char *metric_type(const struct metric_row *row);

/* Appends the whole text. */
void exporter_write(const struct slurm_snapshot *s, usec_t now, struct buf *out);

/* The reference: a table in Markdown. */
void exporter_reference(struct buf *out);
