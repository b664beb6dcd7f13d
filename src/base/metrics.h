/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Numbers for Prometheus: counters, gauges and histograms with fixed labels, written in its text format. One set per program,
 * core thread. A family is named once with its help; each set of label values is one series.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"

struct metrics;
struct histogram;

struct metric_label {
	const char *name, *value;
};

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);
DEFINE_FREEP(struct metrics, metrics_free)

/* The value of a series, made when it is not there yet; good as long as the set. Counters only ever grow. Labels end with a NULL
 * name; NULL = no labels. Values are copied and escaped. */
double *metrics_counter(struct metrics *m, const char *name, const char *help, const struct metric_label *labels);
double *metrics_gauge(struct metrics *m, const char *name, const char *help, const struct metric_label *labels);
/* bounds: upper ones, growing, without +Inf. */
struct histogram *metrics_histogram(struct metrics *m, const char *name, const char *help,
                                    const struct metric_label *labels, const double *bounds, size_t n_bounds);
void histogram_observe(struct histogram *h, double value);

/* Called before writing: fills in what is only looked up when someone asks. */
void metrics_on_write(struct metrics *m, void (*fill)(void *arg), void *arg);
void metrics_write(struct metrics *m, struct buf *out);
