/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/outcome.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/test.h"

static void test_the_exit_code_told_counts_then_the_phase(void **state)
{
	static const struct {
		const char *text;
		int code;
	} rows[] = {
		{ "{\"phase\":\"Succeeded\",\"exitCode\":0}", 0 },
		{ "{\"phase\":\"Failed\",\"exitCode\":3}", 3 },
		{ " {\r\n\t\"exitCode\" : 255 , \"phase\" : \"Failed\" } \n", 255 },
		{ "{\"phase\":\"Failed\",\"exitCode\":256}", 255 },
		{ "{\"phase\":\"Failed\",\"exitCode\":-1}", 255 },
		{ "{\"phase\":\"Failed\",\"exitCode\":9223372036854775807}", 255 },
		{ "{\"phase\":\"Failed\"}", 1 },
		{ "{\"phase\":\"Succeeded\",\"exitCode\":null}", 0 },
		{ "{\"phase\":\"Gone\"}", -1 },
		{ "{\"phase\":7}", -1 },
		{ "{}", -1 },
		{ "{\"a\":{\"exitCode\":9,\"s\":\"}]\\\"\"},\"b\":[1,[2,{}]],\"c\":true,\"d\":-1.5e+3,\"exitCode\":4}",
		  4 },
		{ "{\"why\":\"a \\\" and a \\\\\",\"phase\":\"Failed\"}", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int code = -2;

		if (outcome_read(rows[i].text, strlen(rows[i].text), &code) < 0 || code != rows[i].code)
			fail_msg("%s: %d", rows[i].text, code);
	}
}

static void test_what_is_no_object_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		" ",
		"ok",
		"<html>",
		"[]",
		"7",
		"null",
		"{",
		"{\"",
		"{\"a",
		"{\"a\"",
		"{\"a\":",
		"{\"a\":}",
		"{\"a\":1",
		"{\"a\":1,",
		"{\"a\":1,}",
		"{\"a\" 1}",
		"{a:1}",
		"{\"a\":1} x",
		"{\"a\":\"\\",
		"{\"a\":\"\n\"}",
		"{\"a\":[}",
		"{\"a\":{\"b\":\"}",
		"{\"exitCode\":\"3\"}",
		"{\"exitCode\":3.5}",
		"{\"exitCode\":true}",
		"{\"exitCode\":{}}",
		"{\"exitCode\":99999999999999999999}",
		"{\"exitCode\":1111111111111111111111111111}",
		"{\"a\":[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]}",
	};
	int code = -2;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (outcome_read(texts[i], strlen(texts[i]), &code) != -EINVAL)
			fail_msg("taken: %s", texts[i]);
	assert_int_equal(outcome_read("{\"a\":1\0}", 8, &code), -EINVAL);
	assert_int_equal(code, -2);
}

/* Each text cut at each byte, in memory that ends there: the sanitizer sees a byte read too far. */
static void test_a_text_that_is_cut_is_never_read_beyond_its_end(void **state)
{
	static const char text[] = "{\"why\":\"\\\"x\",\"n\":[1,{\"y\":\"]\"}],\"phase\":\"Failed\",\"exitCode\":12}";
	int code;

	(void)state;
	for (size_t len = 0; len < strlen(text); len++) {
		char *cut = mem_dup(text, len);

		assert_int_equal(outcome_read(cut, len, &code), -EINVAL);
		free(cut);
	}
}

TEST_MAIN(TEST(the_exit_code_told_counts_then_the_phase), TEST(what_is_no_object_is_refused),
          TEST(a_text_that_is_cut_is_never_read_beyond_its_end))
