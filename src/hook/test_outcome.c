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
		bool over;
	} rows[] = {
		{ "{\"phase\":\"Succeeded\",\"exitCode\":0}", 0, true },
		{ "{\"phase\":\"Failed\",\"exitCode\":3}", 3, true },
		{ " {\r\n\t\"exitCode\" : 255 , \"phase\" : \"Failed\" } \n", 255, true },
		{ "{\"phase\":\"Failed\",\"exitCode\":256}", 255, true },
		{ "{\"phase\":\"Failed\",\"exitCode\":-1}", 255, true },
		{ "{\"phase\":\"Failed\",\"exitCode\":9223372036854775807}", 255, true },
		{ "{\"phase\":\"Failed\"}", 1, true },
		{ "{\"phase\":\"Succeeded\",\"exitCode\":null}", 0, true },
		{ "{\"phase\":\"Gone\"}", -1, true },
		{ "{\"phase\":7}", -1, false },
		{ "{}", -1, false },
		{ "{\"a\":{\"exitCode\":9,\"s\":\"}]\\\"\"},\"b\":[1,[2,{}]],\"c\":true,\"d\":-1.5e+3,\"exitCode\":4}",
		  4, false },
		{ "{\"why\":\"a \\\" and a \\\\\",\"phase\":\"Failed\"}", 1, true },
		{ "{\"phase\":\"Running\"}", -1, false },
		{ "{\"phase\":\"\",\"exitCode\":3}", 3, false },
		{ "{\"exitCode\":0}", 0, false },
		{ "{\"a\":{\"phase\":\"Failed\"}}", -1, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct outcome o = { .exit_code = -2 };

		if (outcome_read(rows[i].text, strlen(rows[i].text), &o) < 0 || o.exit_code != rows[i].code ||
		    o.over != rows[i].over)
			fail_msg("%s: %d, %d", rows[i].text, o.exit_code, o.over);
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
	struct outcome o = { .exit_code = -2 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (outcome_read(texts[i], strlen(texts[i]), &o) != -EINVAL)
			fail_msg("taken: %s", texts[i]);
	assert_int_equal(outcome_read("{\"a\":1\0}", 8, &o), -EINVAL);
	assert_int_equal(o.exit_code, -2);
}

/* Each text cut at each byte, in memory that ends there: the sanitizer sees a byte read too far. */
static void test_a_text_that_is_cut_is_never_read_beyond_its_end(void **state)
{
	static const char text[] = "{\"why\":\"\\\"x\",\"n\":[1,{\"y\":\"]\"}],\"phase\":\"Failed\",\"exitCode\":12}";
	struct outcome o;

	(void)state;
	for (size_t len = 0; len < strlen(text); len++) {
		char *cut = mem_dup(text, len);

		assert_int_equal(outcome_read(cut, len, &o), -EINVAL);
		free(cut);
	}
}

TEST_MAIN(TEST(the_exit_code_told_counts_then_the_phase), TEST(what_is_no_object_is_refused),
          TEST(a_text_that_is_cut_is_never_read_beyond_its_end))
