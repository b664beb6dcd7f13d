/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Numbers for Prometheus: counters, gauges and histograms with fixed labels, written in its text format (0.0.4). One set per
 * program, core thread. A family is named once with its help; each set of label values is one series.
 *
 * What holds: families are written in the order in which they were first named, series in that of their families. A name that
 * Prometheus would not take, or the same name with another type, help or bounds, is a bug and asserts; label values are foreign
 * text and are made to fit.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define METRIC_LABELS_MAX 16        /* of one series */
#define METRIC_VALUE_MAX 1024       /* bytes of a label's value; longer ones are cut */
#define METRIC_BOUNDS_MAX 64
#define METRICS_TEXT_MAX ((size_t)64 << 20) /* what is written of a whole set, for those who ask for it */

struct metrics;
struct histogram;

struct metric_label {
	const char *name, *value; /* a NULL value counts as "" */
};

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);
DEFINE_FREEP(struct metrics, metrics_free)

/* The value of a series, made when it is not there yet; good as long as the set, or until its family is cleared. Counters only
 * ever grow. Labels end with a NULL name; NULL = no labels. Values are copied and escaped. */
double *metrics_counter(struct metrics *m, const char *name, const char *help, const struct metric_label *labels);
double *metrics_gauge(struct metrics *m, const char *name, const char *help, const struct metric_label *labels);
/* bounds: upper ones, growing, without +Inf. */
struct histogram *metrics_histogram(struct metrics *m, const char *name, const char *help,
                                    const struct metric_label *labels, const double *bounds, size_t n_bounds);
void histogram_observe(struct histogram *h, double value);
uint64_t histogram_count(const struct histogram *h);

/* Drops all series of a family, for those that are filled in anew for each look (one series per job or node). Unknown names are
 * fine. */
void metrics_clear(struct metrics *m, const char *name);

/* Called before writing: fills in what is only looked up when someone asks. */
void metrics_on_write(struct metrics *m, void (*fill)(void *arg), void *arg);
/* Appends the whole set; out->error tells when it did not fit. */
void metrics_write(struct metrics *m, struct buf *out);
