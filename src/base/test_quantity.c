/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/quantity.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/test.h"

struct pair {
	const char *text;
	int64_t milli;
};

static void assert_all(const struct pair *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int64_t milli = -1;

		if (quantity_parse(pairs[i].text, strlen(pairs[i].text), &milli) != 0 || milli != pairs[i].milli)
			fail_msg("'%s' gave %lld, not %lld", pairs[i].text, (long long)milli,
			         (long long)pairs[i].milli);
	}
}

static void test_every_suffix_has_its_size(void **state)
{
	static const struct pair pairs[] = {
		{ "0", 0 },
		{ "1", 1000 },
		{ "100m", 100 },
		{ "1500m", 1500 },
		{ "1k", 1000 * 1000LL },
		{ "500M", 500000000LL * 1000 },
		{ "3G", 3000000000LL * 1000 },
		{ "2T", 2000000000000LL * 1000 },
		{ "1P", 1000000000000000LL * 1000 },
		{ "1Ki", 1024 * 1000LL },
		{ "1Mi", (1LL << 20) * 1000 },
		{ "2Gi", (1LL << 31) * 1000 },
		{ "1Ti", (1LL << 40) * 1000 },
		{ "8Pi", (1LL << 53) * 1000 },
		{ "1e3", 1000000 },
		{ "1E3", 1000000 },
		{ "1e+3", 1000000 },
		{ "1.5e-1", 150 },
		{ "12E0", 12000 },
	};

	(void)state;
	assert_all(pairs, ARRAY_LEN(pairs));
}

static void test_signs_and_points_go_where_kubernetes_allows_them(void **state)
{
	static const struct pair pairs[] = {
		{ "+1", 1000 },       { "-1", -1000 },    { "1.5", 1500 },     { ".5", 500 },
		{ "5.", 5000 },       { "0.1", 100 },     { "-0.1", -100 },    { "1.5Gi", 1536LL * 1024 * 1024 * 1000 },
		{ "-2Ki", -2048000 }, { "00012", 12000 }, { "0.5Ki", 512000 }, { "-0", 0 },
	};

	(void)state;
	assert_all(pairs, ARRAY_LEN(pairs));
}

static void test_what_is_finer_than_a_thousandth_is_rounded_up(void **state)
{
	static const struct pair pairs[] = {
		{ "1n", 1 },
		{ "1u", 1 },
		{ "999u", 1 },
		{ "1000u", 1 },
		{ "1001u", 2 },
		{ "0.0001", 1 },
		{ "1.0001", 1001 },
		{ "1.0000000001", 1001 },
		{ "1e-9", 1 },
		{ "0.5m", 1 },
		{ "-1.0001", -1001 },
		{ "0.0000", 0 },
		{ "0n", 0 },
		{ "1e-9999", 1 },
		{ "0e-9999", 0 },
		{ "1.00000000000000000000000000000000000000000000000001", 1001 }, /* more digits than are held */
		{ "1.00000000000000000000000000000000000000000000000000", 1000 },
		{ "0.00000000000000000000000000000000000000000000000001", 1 },
		{ "1.000000000000000000000000000Ki", 1024000 },
		{ "0.000000000000000000000000000001Ei", 1 },
		{ "0.0009765625Ki", 1000 }, /* exactly one */
		{ "1000000000000000000000000000000000000000e-39", 1000 },
		{ "1000000000000000000000000000000000000001e-39", 1001 },
	};

	(void)state;
	assert_all(pairs, ARRAY_LEN(pairs));
}

static void test_what_is_too_large_is_held_at_the_maximum(void **state)
{
	static const struct pair pairs[] = {
		{ "9223372036854775.807", QUANTITY_MAX },
		{ "9223372036854775.806", QUANTITY_MAX - 1 },
		{ "9223372036854775.808", QUANTITY_MAX },
		{ "9223372036854775807", QUANTITY_MAX },
		{ "1Ei", QUANTITY_MAX },
		{ "1E", QUANTITY_MAX },
		{ "9999999999999999999999999999999999999999999999999999999Ei", QUANTITY_MAX },
		{ "1e9999", QUANTITY_MAX },
		{ "1e99999999999999999999", QUANTITY_MAX },
		{ "-1e9999", -QUANTITY_MAX },
		{ "0e9999", 0 },
		{ "1.000000000000000000000000000Ei", QUANTITY_MAX }, /* digits and suffix together overflow 128 bits */
		{ "0.007Ei", 8070450532247928832 },
		{ "0.007000000000000000000000000000Ei", 8070450532247928832 },
		{ "0.00000000000000000000000000000000000000000000000000001e99", QUANTITY_MAX },
	};

	(void)state;
	assert_all(pairs, ARRAY_LEN(pairs));
}

static void test_what_is_no_quantity_is_refused(void **state)
{
	static const char *const bad[] = { "",    "-",   "+",     ".",    "Ki",    "m",    "1K",   "1ki",
		                           "1KI", "1 ",  " 1",    "1 Gi", "--1",   "+-1",  "1..2", "1.2.",
		                           "1e",  "1e+", "1e1.5", "1e3m", "1mm",   "0x10", "1_0",  "1,5",
		                           "nan", "inf", "1Gib",  "1GB",  "1e3Ki", "½",    "1\n",  "e3" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		int64_t milli = 77;

		if (quantity_parse(bad[i], strlen(bad[i]), &milli) != -EINVAL)
			fail_msg("'%s' was taken as %lld", bad[i], (long long)milli);
		assert_true(milli == 77);
	}
	assert_int_equal(quantity_parse("1\0", 2, &(int64_t) { 0 }), -EINVAL);
}

static void test_only_the_given_bytes_are_read(void **state)
{
	int64_t milli = 0;

	(void)state;
	assert_int_equal(quantity_parse("100mGi", 4, &milli), 0);
	assert_true(milli == 100);
	assert_int_equal(quantity_parse("1e3", 1, &milli), 0);
	assert_true(milli == 1000);
}

/* Every number of thousandths, written as a decimal fraction, comes back as itself. */
static void test_thousandths_survive_being_written(void **state)
{
	(void)state;
	for (int64_t want = 0; want < 20000; want += 7) {
		int64_t milli = -1;
		char text[40];

		snprintf(text, sizeof(text), "%lld.%03lld", (long long)(want / 1000), (long long)(want % 1000));
		assert_int_equal(quantity_parse(text, strlen(text), &milli), 0);
		assert_true(milli == want);
	}
}

static void test_units_are_rounded_up(void **state)
{
	(void)state;
	assert_true(quantity_units(0) == 0);
	assert_true(quantity_units(1) == 1);
	assert_true(quantity_units(999) == 1);
	assert_true(quantity_units(1000) == 1);
	assert_true(quantity_units(1001) == 2);
	assert_true(quantity_units(QUANTITY_MAX) == 9223372036854776);
}

TEST_MAIN(TEST(every_suffix_has_its_size), TEST(signs_and_points_go_where_kubernetes_allows_them),
          TEST(what_is_finer_than_a_thousandth_is_rounded_up), TEST(what_is_too_large_is_held_at_the_maximum),
          TEST(what_is_no_quantity_is_refused), TEST(only_the_given_bytes_are_read),
          TEST(thousandths_survive_being_written), TEST(units_are_rounded_up))
