/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/problems.h"

#include "base/str.h"
#include "base/test.h"

static const char *joined(const struct problems *p, bool warnings, struct buf *out)
{
	buf_clear(out);
	problems_join(p, warnings, NULL, out);
	assert_int_equal(out->error, 0);
	return buf_text(out);
}

static void test_all_problems_are_told_at_once_and_apart_from_warnings(void **state)
{
	_cleanup_problems_ struct problems p = PROBLEMS_INIT;
	_cleanup_buf_ struct buf out = BUF(4096);

	(void)state;
	assert_string_equal(joined(&p, false, &out), "");
	problem_error(&p, "spec.a", "is %d", 1);
	problem_warning(&p, "spec.b", "is odd");
	problem_error(&p, "spec.c", "is missing");
	assert_int_equal(p.n, 3);
	assert_int_equal(p.n_errors, 2);
	assert_int_equal(p.n_warnings, 1);
	assert_string_equal(joined(&p, false, &out), "spec.a: is 1; spec.c: is missing");
	assert_string_equal(joined(&p, true, &out), "spec.b: is odd");
}

static void test_beyond_the_maximum_they_are_counted(void **state)
{
	_cleanup_problems_ struct problems p = PROBLEMS_INIT;
	_cleanup_buf_ struct buf out = BUF(65536);

	(void)state;
	for (int i = 0; i < PROBLEMS_MAX + 5; i++)
		problem_error(&p, "f", "%d", i);
	assert_int_equal(p.n, PROBLEMS_MAX);
	assert_int_equal(p.n_errors, PROBLEMS_MAX + 5);
	assert_int_equal(p.dropped, 5);
	assert_true(str_ends(joined(&p, false, &out), "f: 31; and 5 more"));
}

static void test_warnings_never_crowd_out_an_error(void **state)
{
	_cleanup_problems_ struct problems p = PROBLEMS_INIT;
	_cleanup_buf_ struct buf out = BUF(65536);

	(void)state;
	for (int i = 0; i < PROBLEMS_MAX + 1; i++)
		problem_warning(&p, "w", "%d", i);
	problem_error(&p, "e", "the one that matters");
	assert_int_equal(p.n, PROBLEMS_MAX);
	assert_int_equal(p.dropped, 2);
	assert_string_equal(joined(&p, false, &out), "e: the one that matters");
	assert_true(str_ends(joined(&p, true, &out), "w: 30; and 2 more"));
}

static void test_long_text_is_cut_with_a_mark_and_never_inside_a_character(void **state)
{
	_cleanup_problems_ struct problems p = PROBLEMS_INIT;
	char longer[3 * PROBLEM_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i + 2 < sizeof(longer); i += 2)
		memcpy(longer + i, "é", 3);
	for (int shift = 0; shift < 3; shift++) {
		problem_error(&p, longer, "%.*s%s", shift, "ab", longer);
		const struct problem *last = &p.list[p.n - 1];

		assert_between(strlen(last->text), PROBLEM_TEXT_MAX - 3, PROBLEM_TEXT_MAX - 1);
		assert_true(str_ends(last->text, "é…"));
		assert_true(str_is_utf8(last->text, strlen(last->text)));
		assert_true(str_is_utf8(last->field, strlen(last->field)));
		assert_true(str_ends(last->field, "…"));
	}
}

static void test_what_is_joined_fits_the_buffer_whatever_its_size(void **state)
{
	_cleanup_problems_ struct problems p = PROBLEMS_INIT;

	(void)state;
	problem_error(&p, "field", "größer als erlaubt");
	for (size_t max = 0; max < 40; max++) {
		_cleanup_buf_ struct buf out = BUF(max);

		problems_join(&p, false, "see there", &out);
		assert_int_equal(out.error, 0);
		assert_true(out.len <= max);
		assert_true(str_is_utf8(buf_text(&out), out.len));
		if (max >= strlen("field: größer als erlaubt"))
			assert_string_equal(buf_text(&out), "field: größer als erlaubt");
		else if (max >= 3)
			assert_true(str_ends(buf_text(&out), "…"));
	}
}

#define X20 "xxxxxxxxxxxxxxxxxxxx"
#define X37 X20 "xxxxxxxxxxxxxxxxx"

static void test_what_does_not_fit_is_left_out_whole_and_counted(void **state)
{
	static const struct {
		uint32_t n; /* problems of forty bytes each */
		size_t room;
		const char *want;
	} cases[] = {
		{ 3, 1000, "f: " X37 "; f: " X37 "; f: " X37 },
		{ 3, 124, "f: " X37 "; f: " X37 "; f: " X37 },
		{ 3, 123, "f: " X37 "; f: " X37 "; and 1 more; see there" },
		{ 3, 105, "f: " X37 "; f: " X37 "; and 1 more; see there" },
		{ 3, 104, "f: " X37 "; and 2 more; see there" },
		{ 3, 63, "f: " X37 "; and 2 more; see there" },
		{ PROBLEMS_MAX + 9, 120, "f: " X37 "; f: " X37 "; and 39 more; see there" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_problems_ struct problems p = PROBLEMS_INIT;
		_cleanup_buf_ struct buf out = BUF(cases[i].room);

		for (uint32_t k = 0; k < cases[i].n; k++)
			problem_error(&p, "f", "%s", X37);
		problems_join(&p, false, "see there", &out);
		assert_string_equal(buf_text(&out), cases[i].want);
	}
}

static void test_all_that_can_be_listed_has_room(void **state)
{
	_cleanup_problems_ struct problems p = PROBLEMS_INIT;
	_cleanup_buf_ struct buf out = BUF(PROBLEMS_TEXT_MAX - 1);
	char longest[2 * PROBLEM_TEXT_MAX];

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	for (int i = 0; i < PROBLEMS_MAX + 5; i++)
		problem_error(&p, longest, "%s", longest);
	problems_join(&p, false, "see there", &out);
	assert_true(str_ends(buf_text(&out), "…; and 5 more"));
}

static void test_foreign_text_cannot_leave_its_line(void **state)
{
	_cleanup_problems_ struct problems p = PROBLEMS_INIT;
	char quoted[PROBLEM_QUOTE_MAX], many[1000];

	(void)state;
	assert_string_equal(problem_quote("a\nb\x1b[2J\xff\\", quoted), "'a\\nb\\x1b[2J\\xff\\\\'");
	memset(many, '\n', sizeof(many) - 1);
	many[sizeof(many) - 1] = 0;
	problem_quote(many, quoted);
	assert_true(strlen(quoted) < PROBLEM_QUOTE_MAX);
	assert_true(str_ends(quoted, "…'"));
	/* and where someone forgot to quote */
	problem_error(&p, "a\nb", "x\r\n%s", "\x1b\xff");
	assert_string_equal(p.list[0].field, "a?b");
	assert_string_equal(p.list[0].text, "x????");
}

TEST_MAIN(TEST(all_problems_are_told_at_once_and_apart_from_warnings), TEST(beyond_the_maximum_they_are_counted),
          TEST(warnings_never_crowd_out_an_error), TEST(long_text_is_cut_with_a_mark_and_never_inside_a_character),
          TEST(what_is_joined_fits_the_buffer_whatever_its_size), TEST(what_does_not_fit_is_left_out_whole_and_counted),
          TEST(all_that_can_be_listed_has_room), TEST(foreign_text_cannot_leave_its_line))
