/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/metrics.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/str.h"

#define LABEL_TEXT_MAX (METRIC_LABELS_MAX * (2 * METRIC_VALUE_MAX + 128))
#define NUMBER_MAX 32
#define EXACT_MAX 9007199254740992.0 /* 2^53: whole numbers up to here are themselves */

enum type { COUNTER, GAUGE, HISTOGRAM };
static const char *const type_names[] = { "counter", "gauge", "histogram" };

struct histogram {
	const struct family *family;
	double sum;
	uint64_t count;
	uint64_t *counts; /* n_bounds + 1, the last one is +Inf; not cumulated */
};

struct series {
	double value;
	struct histogram histogram;
	char labels[]; /* `a="x",b="y"` as it is written; its key in the family */
};

struct family {
	char *name, *help;
	enum type type;
	double *bounds;
	size_t n_bounds;
	struct map series; /* labels → struct series */
};

struct fill {
	void (*fill)(void *arg);
	void *arg;
};

struct metrics {
	struct map families; /* name → struct family */
	struct fill *fills;
	size_t n_fills;
	struct buf labels; /* scratch: the labels being looked up */
};

struct metrics *metrics_new(void)
{
	struct metrics *m = NEW(struct metrics);

	m->labels = BUF(LABEL_TEXT_MAX);
	return m;
}

static void drop_series(struct family *f)
{
	struct series *s;
	size_t i = 0;

	while ((s = map_next(&f->series, &i))) {
		free(s->histogram.counts);
		free(s);
	}
	map_done(&f->series);
}

static void family_free(struct family *f)
{
	drop_series(f);
	free(f->name);
	free(f->help);
	free(f->bounds);
	free(f);
}

void metrics_free(struct metrics *m)
{
	struct family *f;
	size_t i = 0;

	if (!m)
		return;
	while ((f = map_next(&m->families, &i)))
		family_free(f);
	map_done(&m->families);
	free(m->fills);
	buf_done(&m->labels);
	free(m);
}

static bool is_name(const char *s, bool colons)
{
	for (size_t i = 0; s[i]; i++) {
		bool letter = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') || s[i] == '_';

		if (!letter && !(colons && s[i] == ':') && !(i && s[i] >= '0' && s[i] <= '9'))
			return false;
	}
	return *s;
}

/* Backslash and newline as \\ and \n, quotes too where the text stands between them. */
static void add_escaped(struct buf *out, const char *s, size_t len, bool quoted)
{
	const char *special = quoted ? "\\\n\"" : "\\\n";

	while (len) {
		size_t plain = strcspn(s, special);

		buf_add(out, s, plain);
		if (plain == len)
			return;
		buf_add_char(out, '\\');
		buf_add_char(out, s[plain] == '\n' ? 'n' : s[plain]);
		s += plain + 1;
		len -= plain + 1;
	}
}

static void add_value(struct buf *out, const char *value)
{
	char cut[METRIC_VALUE_MAX + 1];
	size_t len;

	str_copy(cut, sizeof(cut), value);
	len = strlen(cut);
	if (!str_is_utf8(cut, len))
		for (size_t i = 0; i < len; i++)
			if ((unsigned char)cut[i] >= 0x80)
				cut[i] = '?';
	add_escaped(out, cut, len, true);
}

static bool named_before(const struct metric_label *labels, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(labels[i].name, labels[n].name))
			return true;
	return false;
}

static void format_labels(struct buf *out, const struct metric_label *labels, enum type type)
{
	buf_clear(out);
	for (size_t i = 0; labels && labels[i].name; i++) {
		assert(i < METRIC_LABELS_MAX && is_name(labels[i].name, false) && !str_starts(labels[i].name, "__"));
		assert(!(type == HISTOGRAM && str_eq(labels[i].name, "le")) && !named_before(labels, i));
		buf_printf(out, "%s%s=\"", i ? "," : "", labels[i].name);
		add_value(out, labels[i].value);
		buf_add_char(out, '"');
	}
	assert(!out->error);
}

static bool bounds_grow(const double *bounds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isfinite(bounds[i]) || (i && bounds[i] <= bounds[i - 1]))
			return false;
	return true;
}

static struct family *family_get(struct metrics *m, const char *name, const char *help, enum type type,
                                 const double *bounds, size_t n_bounds)
{
	struct family *f = map_get(&m->families, name);

	if (f) {
		assert(f->type == type && str_eq(f->help, help) && f->n_bounds == n_bounds);
		for (size_t i = 0; i < n_bounds; i++)
			assert(f->bounds[i] == bounds[i]);
		return f;
	}
	assert(is_name(name, true) && str_is_utf8(help, strlen(help)));
	assert(n_bounds <= METRIC_BOUNDS_MAX && bounds_grow(bounds, n_bounds));
	f = NEW(struct family);
	f->name = mem_strdup(name);
	f->help = mem_strdup(help);
	f->type = type;
	f->n_bounds = n_bounds;
	if (n_bounds)
		f->bounds = mem_dup(bounds, n_bounds * sizeof(*bounds));
	map_put(&m->families, f->name, f);
	return f;
}

static struct series *series_get(struct metrics *m, struct family *f, const struct metric_label *labels)
{
	struct series *s;

	format_labels(&m->labels, labels, f->type);
	s = map_get(&f->series, buf_text(&m->labels));
	if (s)
		return s;
	s = mem_alloc(sizeof(*s) + m->labels.len + 1);
	memcpy(s->labels, buf_text(&m->labels), m->labels.len + 1);
	if (f->type == HISTOGRAM) {
		s->histogram.family = f;
		s->histogram.counts = mem_alloc_n(f->n_bounds + 1, sizeof(uint64_t));
	}
	map_put(&f->series, s->labels, s);
	return s;
}

double *metrics_counter(struct metrics *m, const char *name, const char *help, const struct metric_label *labels)
{
	return &series_get(m, family_get(m, name, help, COUNTER, NULL, 0), labels)->value;
}

double *metrics_gauge(struct metrics *m, const char *name, const char *help, const struct metric_label *labels)
{
	return &series_get(m, family_get(m, name, help, GAUGE, NULL, 0), labels)->value;
}

struct histogram *metrics_histogram(struct metrics *m, const char *name, const char *help,
                                    const struct metric_label *labels, const double *bounds, size_t n_bounds)
{
	return &series_get(m, family_get(m, name, help, HISTOGRAM, bounds, n_bounds), labels)->histogram;
}

void histogram_observe(struct histogram *h, double value)
{
	size_t i = 0;

	while (i < h->family->n_bounds && !(value <= h->family->bounds[i]))
		i++;
	h->counts[i]++;
	h->count++;
	h->sum += value;
}

uint64_t histogram_count(const struct histogram *h)
{
	return h->count;
}

void metrics_clear(struct metrics *m, const char *name)
{
	struct family *f = map_get(&m->families, name);

	if (f)
		drop_series(f);
}

void metrics_on_write(struct metrics *m, void (*fill)(void *arg), void *arg)
{
	m->fills = mem_realloc_n(m->fills, m->n_fills + 1, sizeof(*m->fills));
	m->fills[m->n_fills++] = (struct fill) { fill, arg };
}

/* The shortest text that reads back as the same number. */
static const char *format_number(double v, char text[NUMBER_MAX])
{
	if (isnan(v))
		return "NaN";
	if (isinf(v))
		return v > 0 ? "+Inf" : "-Inf";
	if (v >= -EXACT_MAX && v <= EXACT_MAX && v == (double)(int64_t)v) {
		snprintf(text, NUMBER_MAX, "%" PRId64, (int64_t)v);
		return text;
	}
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(text, NUMBER_MAX, "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	return text;
}

/* One line. bound NULL: no `le`. */
static void write_line(struct buf *out, const struct family *f, const char *suffix, const char *labels,
                       const char *bound, const char *number)
{
	buf_add_str(out, f->name);
	buf_add_str(out, suffix);
	if (*labels || bound) {
		buf_add_char(out, '{');
		buf_add_str(out, labels);
		if (bound)
			buf_printf(out, "%sle=\"%s\"", *labels ? "," : "", bound);
		buf_add_char(out, '}');
	}
	buf_add_char(out, ' ');
	buf_add_str(out, number);
	buf_add_char(out, '\n');
}

static void write_histogram(struct buf *out, const struct family *f, const struct series *s)
{
	char bound[NUMBER_MAX], number[NUMBER_MAX];
	uint64_t below = 0;

	for (size_t i = 0; i <= f->n_bounds; i++) {
		below += s->histogram.counts[i];
		write_line(out, f, "_bucket", s->labels,
		           format_number(i < f->n_bounds ? f->bounds[i] : INFINITY, bound),
		           format_number((double)below, number));
	}
	write_line(out, f, "_sum", s->labels, NULL, format_number(s->histogram.sum, number));
	write_line(out, f, "_count", s->labels, NULL, format_number((double)s->histogram.count, number));
}

static void write_family(struct buf *out, const struct family *f)
{
	char number[NUMBER_MAX];
	const struct series *s;
	size_t i = 0;

	if (!map_count(&f->series))
		return;
	buf_printf(out, "# HELP %s ", f->name);
	add_escaped(out, f->help, strlen(f->help), false);
	buf_printf(out, "\n# TYPE %s %s\n", f->name, type_names[f->type]);
	while ((s = map_next(&f->series, &i))) {
		if (f->type == HISTOGRAM)
			write_histogram(out, f, s);
		else
			write_line(out, f, "", s->labels, NULL, format_number(s->value, number));
	}
}

void metrics_write(struct metrics *m, struct buf *out)
{
	const struct family *f;
	size_t i = 0;

	for (size_t n = 0; n < m->n_fills; n++)
		m->fills[n].fill(m->fills[n].arg);
	while ((f = map_next(&m->families, &i)))
		write_family(out, f);
}
