/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/time.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/rand.h"
#include "base/test.h"

static usec_t parse(const char *text)
{
	usec_t t = -1;

	if (time_parse_rfc3339(text, strlen(text), &t) != 0)
		fail_msg("'%s' is not taken", text);
	return t;
}

static void test_known_moments(void **state)
{
	(void)state;
	assert_true(parse("1970-01-01T00:00:00Z") == 0);
	assert_true(parse("1969-12-31T23:59:59Z") == -USEC_SEC);
	assert_true(parse("2000-02-29T12:00:00Z") == 951825600 * USEC_SEC);
	assert_true(parse("2026-11-15T18:15:55Z") == 1794766555 * USEC_SEC);
	assert_true(parse("2038-01-19T03:14:08Z") == 2147483648 * USEC_SEC);
	assert_true(parse("0001-01-01T00:00:00Z") == -62135596800 * USEC_SEC); /* Go's zero time */
	assert_true(parse("9999-12-31T23:59:59.999999Z") == 253402300799999999);
}

static void test_fractions_and_offsets(void **state)
{
	usec_t noon = parse("2026-11-15T12:00:00Z");

	(void)state;
	assert_true(parse("2026-11-15T12:00:00.5Z") == noon + 500000);
	assert_true(parse("2026-11-15T12:00:00.123456Z") == noon + 123456);
	assert_true(parse("2026-11-15T12:00:00.123456789Z") == noon + 123456);
	assert_true(parse("2026-11-15T13:00:00+01:00") == noon);
	assert_true(parse("2026-11-15T06:30:00-05:30") == noon);
	assert_true(parse("2026-11-16T11:59:00+23:59") == noon);
	assert_true(parse("2026-11-15T12:00:00-00:00") == noon);
	assert_true(parse("2026-11-15t12:00:00z") == noon);
	assert_true(parse("2026-11-15T11:59:60Z") == noon); /* a leap second */
}

static void test_what_is_no_time_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"2026",
		"2026-11-15",
		"2026-11-15T12:00:00",
		"2026-11-15 12:00:00Z",
		"2026-11-15T12:00Z",
		"2026-11-15T12:00:00.Z",
		"2026-11-15T12:00:00.1234567890Z",
		"2026-11-15T12:00:00+0100",
		"2026-11-15T12:00:00+24:00",
		"2026-11-15T12:00:00+01:60",
		"2026-11-15T12:00:00ZZ",
		"2026-11-15T12:00:00Z ",
		"2026-13-01T00:00:00Z",
		"2026-00-01T00:00:00Z",
		"2026-01-00T00:00:00Z",
		"2026-01-32T00:00:00Z",
		"2026-04-31T00:00:00Z",
		"2026-02-29T00:00:00Z",
		"1900-02-29T00:00:00Z",
		"2026-01-01T24:00:00Z",
		"2026-01-01T00:60:00Z",
		"2026-01-01T00:00:61Z",
		"-026-01-01T00:00:00Z",
		"2026-1-01T00:00:00Z",
		"02026-01-01T00:00:00Z",
		"2026-11-15T12:00:00+",
		"2026-11-15T12:00:00+01",
		"2026-11-15T12:00:00+01:",
		"null",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		usec_t t = 7;

		if (time_parse_rfc3339(bad[i], strlen(bad[i]), &t) != -EINVAL)
			fail_msg("'%s' was taken", bad[i]);
		assert_true(t == 7);
	}
}

static void test_every_day_of_eight_centuries_agrees_with_the_c_library(void **state)
{
	char text[TIME_TEXT_MAX];

	(void)state;
	for (int64_t day = -135140; day < 157054; day++) { /* 1600 to 2399 */
		time_t seconds = (time_t)(day * 86400 + 43200);
		struct tm tm;
		char want[TIME_TEXT_MAX];

		gmtime_r(&seconds, &tm);
		strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%SZ", &tm);
		assert_string_equal(time_format(seconds * USEC_SEC, text), want);
		assert_true(parse(want) == seconds * USEC_SEC);
	}
}

static void test_writing_and_reading_gives_the_same_moment(void **state)
{
	struct rng rng = rng_seeded(11);
	char text[TIME_TEXT_MAX];

	(void)state;
	for (int i = 0; i < 20000; i++) {
		/* years 1 to 9999 */
		usec_t t = (usec_t)rng_below(&rng, 315537897600000000) - 62135596800000000;

		assert_true(parse(time_format_micro(t, text)) == t);
		assert_int_equal(strlen(text), 27);
	}
	assert_string_equal(time_format_micro(-1, text), "1969-12-31T23:59:59.999999Z");
	assert_string_equal(time_format(-1, text), "1969-12-31T23:59:59Z");
	assert_string_equal(time_format_micro(0, text), "1970-01-01T00:00:00.000000Z");
	/* far outside of any calendar: still text that ends */
	assert_true(strlen(time_format_micro(INT64_MAX, text)) < TIME_TEXT_MAX);
	assert_true(strlen(time_format_micro(INT64_MIN, text)) < TIME_TEXT_MAX);
}

static void test_adding_is_held_at_never(void **state)
{
	(void)state;
	assert_true(usec_add(1, 2) == 3);
	assert_true(usec_add(USEC_NEVER, 1) == USEC_NEVER);
	assert_true(usec_add(1, USEC_NEVER) == USEC_NEVER);
	assert_true(usec_add(USEC_NEVER - 5, 5) == USEC_NEVER);
	assert_true(usec_add(INT64_MIN, -1) == INT64_MIN);
	assert_true(usec_add(USEC_NEVER, -1) == USEC_NEVER - 1);
}

static void test_durations_are_read(void **state)
{
	static const struct {
		const char *text;
		usec_t span;
	} good[] = {
		{ "0", 0 },
		{ "0s", 0 },
		{ "30s", 30 * USEC_SEC },
		{ "1m30s", 90 * USEC_SEC },
		{ "250ms", 250 * USEC_MSEC },
		{ "2h", 2 * USEC_HOUR },
		{ "1us", 1 },
		{ "1h1m1s1ms1us", USEC_HOUR + USEC_MINUTE + USEC_SEC + USEC_MSEC + 1 },
		{ "5m", 5 * USEC_MINUTE },
		{ "90m", 90 * USEC_MINUTE },
		{ "8784h", 8784 * USEC_HOUR },
		{ "007s", 7 * USEC_SEC },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		usec_t span = -1;
		struct err err = { 0 };

		if (duration_parse(good[i].text, &span, &err) != 0 || span != good[i].span)
			fail_msg("'%s' gave %lld: %s", good[i].text, (long long)span, err_text(&err));
	}
}

static void test_what_is_no_duration_is_refused_with_an_example(void **state)
{
	static const struct {
		const char *text;
		int code;
	} bad[] = {
		{ "", -EINVAL },
		{ "s", -EINVAL },
		{ "5", -EINVAL },
		{ "-5s", -EINVAL },
		{ "5 s", -EINVAL },
		{ " 5s", -EINVAL },
		{ "5s ", -EINVAL },
		{ "1.5s", -EINVAL },
		{ "5d", -EINVAL },
		{ "5sec", -EINVAL },
		{ "1h30", -EINVAL },
		{ "00", -EINVAL },
		{ "+5s", -EINVAL },
		{ "8785h", -ERANGE },
		{ "5µs", -EINVAL },
		{ "99999999999999999999s", -ERANGE },
		{ "9223372036854775807h", -ERANGE },
		{ "8784h1us", -ERANGE },
		{ "9223372036854775807us9223372036854775807us", -ERANGE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		usec_t span = 7;
		struct err err = { 0 };

		if (duration_parse(bad[i].text, &span, &err) != bad[i].code)
			fail_msg("'%s' gave %d: %s", bad[i].text, err.code, err_text(&err));
		assert_true(span == 7);
		assert_memory_equal(err.text + 1, bad[i].text, MIN_OF(strlen(bad[i].text), (size_t)40));
	}
}

static void test_a_duration_survives_being_written(void **state)
{
	static const usec_t units[] = { 1, USEC_MSEC, USEC_SEC, USEC_MINUTE, USEC_HOUR };
	struct rng rng = rng_seeded(5);
	char text[TIME_TEXT_MAX];

	(void)state;
	assert_string_equal(duration_format(90 * USEC_SEC, text), "1m30s");
	assert_string_equal(duration_format(0, text), "0s");
	assert_string_equal(duration_format(-5, text), "0s");
	assert_string_equal(duration_format(1500, text), "1ms500us");
	assert_string_equal(duration_format(36 * USEC_HOUR, text), "36h");
	for (int i = 0; i < 10000; i++) {
		usec_t unit = units[rng_below(&rng, ARRAY_LEN(units))];
		usec_t span = (usec_t)rng_below(&rng, (uint64_t)(8784 * USEC_HOUR / unit) + 1) * unit, again = -1;
		struct err err = { 0 };

		if (duration_parse(duration_format(span, text), &again, &err) != 0 || again != span)
			fail_msg("%lld became '%s': %s", (long long)span, text, err_text(&err));
	}
	assert_true(strlen(duration_format(USEC_NEVER, text)) < TIME_TEXT_MAX);
}

static void test_the_real_clocks_go_forward(void **state)
{
	const struct clock *c = clock_real();
	usec_t mono = clock_mono(c), wall = clock_wall(c);

	(void)state;
	for (int i = 0; i < 1000; i++) {
		usec_t now = clock_mono(c);

		assert_true(now >= mono);
		mono = now;
	}
	assert_true(wall > parse("2024-01-01T00:00:00Z"));
}

TEST_MAIN(TEST(known_moments), TEST(fractions_and_offsets), TEST(what_is_no_time_is_refused),
          TEST(every_day_of_eight_centuries_agrees_with_the_c_library), TEST(writing_and_reading_gives_the_same_moment),
          TEST(adding_is_held_at_never), TEST(durations_are_read), TEST(what_is_no_duration_is_refused_with_an_example),
          TEST(a_duration_survives_being_written), TEST(the_real_clocks_go_forward))
