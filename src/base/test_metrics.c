/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/metrics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "base/test.h"

#define TEXT_MAX ((size_t)1 << 20)
#define L(...) ((const struct metric_label[]) { __VA_ARGS__, { NULL } })

static const double bounds[] = { 0.1, 0.5, 2 };

static void assert_written(struct metrics *m, const char *expected)
{
	_cleanup_buf_ struct buf out = BUF(TEXT_MAX);

	metrics_write(m, &out);
	assert_int_equal(out.error, 0);
	assert_string_equal(buf_text(&out), expected);
}

static void test_help_and_type_come_once_before_all_series_of_a_family(void **state)
{
	_cleanup_(metrics_freep) struct metrics *m = metrics_new();

	(void)state;
	*metrics_counter(m, "sunk_calls_total", "Calls.", L({ "verb", "get" })) += 2;
	*metrics_gauge(m, "sunk_pods", "Pods now.", NULL) = 7;
	*metrics_counter(m, "sunk_calls_total", "Calls.", L({ "verb", "put" }, { "code", "200" })) += 1;
	*metrics_counter(m, "sunk_calls_total", "Calls.", L({ "verb", "get" })) += 1;
	assert_written(m, "# HELP sunk_calls_total Calls.\n"
	                  "# TYPE sunk_calls_total counter\n"
	                  "sunk_calls_total{verb=\"get\"} 3\n"
	                  "sunk_calls_total{verb=\"put\",code=\"200\"} 1\n"
	                  "# HELP sunk_pods Pods now.\n"
	                  "# TYPE sunk_pods gauge\n"
	                  "sunk_pods 7\n");
}

static void test_histograms_cumulate_and_end_with_infinity(void **state)
{
	_cleanup_(metrics_freep) struct metrics *m = metrics_new();
	struct histogram *h = metrics_histogram(m, "sunk_wait_seconds", "Waited.", NULL, bounds, ARRAY_LEN(bounds));

	(void)state;
	histogram_observe(h, 0.1); /* a bound is its bucket's own */
	histogram_observe(h, 0.25);
	histogram_observe(h, 0.25);
	histogram_observe(h, 8);
	assert_int_equal(histogram_count(h), 4);
	h = metrics_histogram(m, "sunk_wait_seconds", "Waited.", L({ "verb", "get" }), bounds, ARRAY_LEN(bounds));
	histogram_observe(h, 1);
	assert_written(m, "# HELP sunk_wait_seconds Waited.\n"
	                  "# TYPE sunk_wait_seconds histogram\n"
	                  "sunk_wait_seconds_bucket{le=\"0.1\"} 1\n"
	                  "sunk_wait_seconds_bucket{le=\"0.5\"} 3\n"
	                  "sunk_wait_seconds_bucket{le=\"2\"} 3\n"
	                  "sunk_wait_seconds_bucket{le=\"+Inf\"} 4\n"
	                  "sunk_wait_seconds_sum 8.6\n"
	                  "sunk_wait_seconds_count 4\n"
	                  "sunk_wait_seconds_bucket{verb=\"get\",le=\"0.1\"} 0\n"
	                  "sunk_wait_seconds_bucket{verb=\"get\",le=\"0.5\"} 0\n"
	                  "sunk_wait_seconds_bucket{verb=\"get\",le=\"2\"} 1\n"
	                  "sunk_wait_seconds_bucket{verb=\"get\",le=\"+Inf\"} 1\n"
	                  "sunk_wait_seconds_sum{verb=\"get\"} 1\n"
	                  "sunk_wait_seconds_count{verb=\"get\"} 1\n");
}

static void test_foreign_text_cannot_break_a_line(void **state)
{
	_cleanup_(metrics_freep) struct metrics *m = metrics_new();

	(void)state;
	*metrics_gauge(m, "a", "back\\slash, \"quotes\"\nand lines", L({ "v", "x\\y \"z\"\n1" })) = 1;
	*metrics_gauge(m, "a", "back\\slash, \"quotes\"\nand lines", L({ "v", "\xff\xc3\xa4" })) = 2;
	*metrics_gauge(m, "a", "back\\slash, \"quotes\"\nand lines", L({ "v", "\xc3\xa4" })) = 3;
	*metrics_gauge(m, "a", "back\\slash, \"quotes\"\nand lines", L({ "v", NULL })) = 4;
	assert_written(m, "# HELP a back\\\\slash, \"quotes\"\\nand lines\n"
	                  "# TYPE a gauge\n"
	                  "a{v=\"x\\\\y \\\"z\\\"\\n1\"} 1\n"
	                  "a{v=\"???\"} 2\n"
	                  "a{v=\"\xc3\xa4\"} 3\n"
	                  "a{v=\"\"} 4\n");
}

static void test_endless_label_values_are_cut(void **state)
{
	_cleanup_(metrics_freep) struct metrics *m = metrics_new();
	_cleanup_buf_ struct buf out = BUF(TEXT_MAX);
	char value[3 * METRIC_VALUE_MAX];
	struct metric_label labels[METRIC_LABELS_MAX + 1] = { 0 };
	char names[METRIC_LABELS_MAX][8];

	(void)state;
	memset(value, '"', sizeof(value) - 1);
	value[sizeof(value) - 1] = 0;
	for (int i = 0; i < METRIC_LABELS_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "l%d", i);
		labels[i] = (struct metric_label) { names[i], value };
	}
	*metrics_gauge(m, "a", "A.", labels) = 1;
	metrics_write(m, &out);
	assert_int_equal(out.error, 0);
	assert_between(out.len, 2 * METRIC_LABELS_MAX * METRIC_VALUE_MAX, 3 * METRIC_LABELS_MAX * METRIC_VALUE_MAX);
}

static void test_numbers_read_back_as_what_they_were(void **state)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {
		{ 0, "0" },
		{ -0.0, "0" },
		{ 1, "1" },
		{ -3, "-3" },
		{ 0.1, "0.1" },
		{ 0.005, "0.005" },
		{ 1.0 / 3, "0.3333333333333333" },
		{ 123456789, "123456789" },
		{ 1731700000.25, "1731700000.25" },
		{ 9007199254740992, "9007199254740992" },
		{ 1e300, "1e+300" },
		{ -1e300, "-1e+300" },
		{ INFINITY, "+Inf" },
		{ -INFINITY, "-Inf" },
		{ NAN, "NaN" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(metrics_freep) struct metrics *m = metrics_new();
		_cleanup_free_ char *expected = str_printf("# HELP a A.\n# TYPE a gauge\na %s\n", cases[i].text);

		*metrics_gauge(m, "a", "A.", NULL) = cases[i].value;
		assert_written(m, expected);
	}
}

static void count_up(void *arg)
{
	*(double *)arg += 1;
}

static void test_what_is_looked_up_late_is_filled_in_before_each_writing(void **state)
{
	_cleanup_(metrics_freep) struct metrics *m = metrics_new();

	(void)state;
	metrics_on_write(m, count_up, metrics_gauge(m, "a", "A.", NULL));
	metrics_on_write(m, count_up, metrics_gauge(m, "b", "B.", NULL));
	assert_written(m, "# HELP a A.\n# TYPE a gauge\na 1\n# HELP b B.\n# TYPE b gauge\nb 1\n");
	assert_written(m, "# HELP a A.\n# TYPE a gauge\na 2\n# HELP b B.\n# TYPE b gauge\nb 2\n");
}

static void test_a_cleared_family_starts_anew_and_an_empty_one_is_not_written(void **state)
{
	_cleanup_(metrics_freep) struct metrics *m = metrics_new();

	(void)state;
	*metrics_gauge(m, "a", "A.", L({ "job", "1" })) = 1;
	*metrics_gauge(m, "b", "B.", NULL) = 1;
	metrics_clear(m, "a");
	metrics_clear(m, "never heard of");
	assert_written(m, "# HELP b B.\n# TYPE b gauge\nb 1\n");
	*metrics_gauge(m, "a", "A.", L({ "job", "2" })) = 2;
	assert_written(m, "# HELP a A.\n# TYPE a gauge\na{job=\"2\"} 2\n# HELP b B.\n# TYPE b gauge\nb 1\n");
}

static void test_values_stay_where_they_are_while_thousands_are_added(void **state)
{
	_cleanup_(metrics_freep) struct metrics *m = metrics_new();
	_cleanup_buf_ struct buf out = BUF(4 * TEXT_MAX);
	double *first = metrics_gauge(m, "a", "A.", L({ "job", "0" }));
	const char *at;
	char value[16];

	(void)state;
	for (int i = 1; i < 20000; i++) {
		snprintf(value, sizeof(value), "%d", i);
		*metrics_gauge(m, "a", "A.", L({ "job", value })) = i;
	}
	*first = 0.5;
	assert_ptr_equal(first, metrics_gauge(m, "a", "A.", L({ "job", "0" })));
	metrics_write(m, &out);
	at = strstr(buf_text(&out), "a{job=\"0\"} 0.5\na{job=\"1\"} 1\na{job=\"2\"} 2\n");
	assert_non_null(at);
	assert_non_null(strstr(at, "\na{job=\"19999\"} 19999\n"));
}

static void test_what_does_not_fit_is_told(void **state)
{
	_cleanup_(metrics_freep) struct metrics *m = metrics_new();
	_cleanup_buf_ struct buf out = BUF(20);

	(void)state;
	*metrics_gauge(m, "a", "A.", NULL) = 1;
	metrics_write(m, &out);
	assert_true(out.error < 0);
}

/* Bugs, each of which must end the program. */

static void bad_name(struct metrics *m)
{
	metrics_gauge(m, "2nd", "A.", NULL);
}

static void dashed_name(struct metrics *m)
{
	metrics_gauge(m, "sunk-pods", "A.", NULL);
}

static void bad_label(struct metrics *m)
{
	metrics_gauge(m, "a", "A.", L({ "a:b", "x" }));
}

static void reserved_label(struct metrics *m)
{
	metrics_gauge(m, "a", "A.", L({ "__name", "x" }));
}

static void label_twice(struct metrics *m)
{
	metrics_gauge(m, "a", "A.", L({ "x", "1" }, { "x", "2" }));
}

static void le_on_a_histogram(struct metrics *m)
{
	metrics_histogram(m, "a", "A.", L({ "le", "1" }), bounds, ARRAY_LEN(bounds));
}

static void other_type(struct metrics *m)
{
	metrics_gauge(m, "a", "A.", NULL);
	metrics_counter(m, "a", "A.", NULL);
}

static void other_help(struct metrics *m)
{
	metrics_gauge(m, "a", "A.", NULL);
	metrics_gauge(m, "a", "B.", NULL);
}

static void bounds_that_shrink(struct metrics *m)
{
	metrics_histogram(m, "a", "A.", NULL, (const double[]) { 1, 1 }, 2);
}

static void other_bounds(struct metrics *m)
{
	metrics_histogram(m, "a", "A.", NULL, (const double[]) { 1, 2 }, 2);
	metrics_histogram(m, "a", "A.", NULL, (const double[]) { 1, 3 }, 2);
}

static void test_bugs_in_the_program_are_not_written_down(void **state)
{
	static void (*const bugs[])(
	        struct metrics *m) = { bad_name,          dashed_name, bad_label,  reserved_label,     label_twice,
		                       le_on_a_histogram, other_type,  other_help, bounds_that_shrink, other_bounds };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bugs); i++) {
		int status = 0;
		pid_t pid = fork();

		if (pid == 0) {
			setrlimit(RLIMIT_CORE, &(struct rlimit) { 0 });
			if (!freopen("/dev/null", "w", stderr))
				_exit(1);
			bugs[i](metrics_new());
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
	}
}

TEST_MAIN(TEST(help_and_type_come_once_before_all_series_of_a_family), TEST(histograms_cumulate_and_end_with_infinity),
          TEST(foreign_text_cannot_break_a_line), TEST(endless_label_values_are_cut),
          TEST(numbers_read_back_as_what_they_were), TEST(what_is_looked_up_late_is_filled_in_before_each_writing),
          TEST(a_cleared_family_starts_anew_and_an_empty_one_is_not_written),
          TEST(values_stay_where_they_are_while_thousands_are_added), TEST(what_does_not_fit_is_told),
          TEST(bugs_in_the_program_are_not_written_down))
