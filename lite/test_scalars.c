/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/scalars.h"

#include "lite/test_samples.h"

static void test_quantities_are_written_one_way(void **state)
{
	static const char *const rows[][2] = {
		{ "0", "0" },     { "0.0", "0" },         { "100m", "100m" },     { "0.1", "100m" },
		{ "1000m", "1" }, { "1500m", "1500m" },   { "1.5", "1500m" },     { "1k", "1k" },
		{ "1000", "1k" }, { "1024", "1024" },     { "2000000", "2M" },    { "1024Mi", "1Gi" },
		{ "1Ki", "1Ki" }, { "1.5Gi", "1536Mi" },  { "0.5Ki", "512" },     { "100Mi", "100Mi" },
		{ "1e3", "1e3" }, { "12E2", "1200" },     { "1E", "1E" },         { "-5", "-5" },
		{ "+5", "5" },    { "1.", "1" },          { ".5", "500m" },       { "0.0000000001", "1n" },
		{ "007", "7" },   { "5000Mi", "5000Mi" }, { "8388608Ki", "8Gi" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[SCALAR_TEXT_MAX] = "", why[SCALAR_WHY_MAX];

		if (quantity_canonical(rows[i][0], text, why) < 0)
			fail_msg("%s: %s", rows[i][0], why);
		if (strcmp(text, rows[i][1]) != 0)
			fail_msg("%s became %s, not %s", rows[i][0], text, rows[i][1]);
	}
}

static void test_what_is_no_quantity_is_told(void **state)
{
	static const char *const rows[][2] = {
		{ "", "must match" },   { "x", "must match" }, { "1 ", "must match" }, { "--1", "must match" },
		{ "1X", "must match" }, { "1Kim", "suffix" },  { "1mi", "suffix" },    { "1e", "suffix" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[SCALAR_TEXT_MAX], why[SCALAR_WHY_MAX] = "";

		if (quantity_canonical(rows[i][0], text, why) == 0)
			fail_msg("%s was taken as %s", rows[i][0], text);
		if (!strstr(why, rows[i][1]))
			fail_msg("%s: %s", rows[i][0], why);
	}
}

static void test_times_are_written_in_utc(void **state)
{
	char text[SCALAR_TEXT_MAX], why[SCALAR_WHY_MAX];

	(void)state;
	assert_int_equal(time_canonical("2026-11-15T19:16:41.25+01:00", false, text, why), 0);
	assert_string_equal(text, "2026-11-15T18:16:41Z");
	assert_int_equal(time_canonical("2026-11-15T18:16:41.000000Z", true, text, why), 0);
	assert_string_equal(text, "2026-11-15T18:16:41.000000Z");
	assert_true(time_canonical("yesterday", true, text, why) < 0);
	assert_string_equal(
	        why,
	        "parsing time \"yesterday\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"yesterday\" as "
	        "\"2006\"");
	assert_true(time_canonical("2026-11-15T18:16:41Z", true, text, why) < 0);
	assert_non_null(strstr(why, "cannot parse \"Z\" as \".000000\""));
	assert_true(time_canonical("2026-11-15 18:16:41Z", false, text, why) < 0);
	assert_non_null(strstr(why, "cannot parse \" 18:16:41Z\" as \"T\""));
	assert_true(time_canonical("2026-13-15T18:16:41Z", false, text, why) < 0);
	assert_true(time_canonical("2026-11-15T18:16:41", false, text, why) < 0);
}

static void test_base64_is_checked(void **state)
{
	static const struct {
		const char *text;
		bool ok;
	} rows[] = { { "", true },     { "YQ==", true }, { "YWI=", true },  { "YWJj", true },   { "YW\nJj", true },
		     { "YWJ", false }, { "YQ=", false }, { "Y===", false }, { "YQ==a", false }, { "Y-Jj", false } };
	char why[SCALAR_WHY_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if ((base64_check(rows[i].text, strlen(rows[i].text), why) == 0) != rows[i].ok)
			fail_msg("%s", rows[i].text);
}

TEST_MAIN(TEST(quantities_are_written_one_way), TEST(what_is_no_quantity_is_told), TEST(times_are_written_in_utc),
          TEST(base64_is_checked))
