/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/err.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "base/test.h"

static void test_every_function_returns_its_code_and_takes_no_object(void **state)
{
	(void)state;
	assert_int_equal(err_set(NULL, -EINVAL, "x"), -EINVAL);
	assert_int_equal(err_errno(NULL, -EIO, "x"), -EIO);
	assert_int_equal(err_wrap(NULL, -ENOENT, "x"), -ENOENT);
	assert_string_equal(err_text(NULL), "no error");
}

static void test_context_goes_in_front_on_the_way_up(void **state)
{
	struct err err = { 0 };

	(void)state;
	assert_string_equal(err_text(&err), "no error");
	assert_int_equal(err_errno(&err, -EACCES, "opening %s", "/etc/x"), -EACCES);
	assert_string_equal(err_text(&err), "opening /etc/x: Permission denied");
	assert_int_equal(err_wrap(&err, -EIO, "reading the %s", "credentials"), -EIO);
	assert_string_equal(err_text(&err), "reading the credentials: opening /etc/x: Permission denied");
	assert_int_equal(err.code, -EIO);
}

static void test_a_cause_that_said_nothing_still_gets_a_text(void **state)
{
	struct err err = { 0 };

	(void)state;
	err_wrap(&err, -ENOSPC, "writing");
	assert_string_equal(err_text(&err), "writing: No space left on device");
	err_errno(&err, -123456, "odd");
	assert_string_equal(err_text(&err), "odd: unknown error");
}

static void test_the_text_may_be_used_to_make_itself(void **state)
{
	struct err err = { 0 };

	(void)state;
	err_set(&err, -EIO, "inner");
	err_set(&err, -EIO, "(%s) and (%s)", err.text, err.text);
	assert_string_equal(err_text(&err), "(inner) and (inner)");
}

static void test_long_text_is_cut_between_characters(void **state)
{
	char text[2 * ERR_TEXT_MAX];

	(void)state;
	/* every alignment of a three byte character against the limit */
	for (size_t shift = 0; shift < 4; shift++) {
		struct err err = { 0 };

		memset(text, 'x', sizeof(text));
		for (size_t i = shift; i + 3 < sizeof(text); i += 3)
			memcpy(text + i, "€", 3);
		text[sizeof(text) - 4] = 0;
		err_set(&err, -EINVAL, "%s", text);
		assert_true(strlen(err.text) < ERR_TEXT_MAX);
		assert_true(strlen(err.text) > ERR_TEXT_MAX - 8);
		assert_true(str_is_utf8(err.text, strlen(err.text)));
		assert_null(strchr(err.text, '?'));
		assert_true(str_ends(err.text, "…"));
	}
}

static void test_a_text_that_just_fits_is_not_cut(void **state)
{
	char text[ERR_TEXT_MAX + 1];
	struct err err = { 0 };

	(void)state;
	memset(text, 'x', sizeof(text));
	text[ERR_TEXT_MAX - 1] = 0;
	err_set(&err, -EINVAL, "%s", text);
	assert_string_equal(err.text, text);
	text[ERR_TEXT_MAX - 1] = 'x';
	text[ERR_TEXT_MAX] = 0;
	err_set(&err, -EINVAL, "%s", text);
	assert_true(str_ends(err.text, "…"));
}

static void test_a_long_context_does_not_push_the_cause_out(void **state)
{
	char url[4 * ERR_TEXT_MAX];
	struct err err = { 0 };

	(void)state;
	memset(url, 'u', sizeof(url) - 1);
	url[sizeof(url) - 1] = 0;
	err_set(&err, -EIO, "the certificate has expired");
	err_wrap(&err, -EIO, "GET %s", url);
	assert_true(str_starts(err.text, "GET uuu"));
	assert_true(str_ends(err.text, "…: the certificate has expired"));
	assert_int_equal(strlen(err.text), ERR_TEXT_MAX - 1); /* all the room is used */
	url[ERR_TEXT_MAX - 1] = 0;
	err_set(&err, -EIO, "%s", url);
	err_wrap(&err, -EIO, "%s", url); /* both too long: half and half */
	assert_true(str_ends(err.text, "u…"));
	assert_non_null(strstr(err.text, "…: uuu"));
	err_errno(&err, -ENOENT, "opening %s and %s", url, url);
	assert_true(str_ends(err.text, "…: No such file or directory"));
}

static void test_foreign_bytes_stay_on_one_line_of_valid_text(void **state)
{
	struct err err = { 0 };

	(void)state;
	err_set(&err, -EINVAL, "'%s'", "a\nb\x1b[2J\xff\xc3");
	assert_string_equal(err.text, "'a?b?[2J?"
	                              "?'");
	err_set(&err, -EINVAL, "'%.4s'", "abcé"); /* a precision that cuts a character in half */
	assert_string_equal(err.text, "'abc?'");
}

TEST_MAIN(TEST(every_function_returns_its_code_and_takes_no_object), TEST(context_goes_in_front_on_the_way_up),
          TEST(a_cause_that_said_nothing_still_gets_a_text), TEST(the_text_may_be_used_to_make_itself),
          TEST(long_text_is_cut_between_characters), TEST(a_text_that_just_fits_is_not_cut),
          TEST(a_long_context_does_not_push_the_cause_out), TEST(foreign_bytes_stay_on_one_line_of_valid_text))
