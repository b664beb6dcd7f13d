/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/http_target.h"

#include <errno.h>

#include "base/str.h"
#include "base/test.h"

static void test_targets_are_split_and_decoded(void **state)
{
	static const struct {
		const char *target, *decoded; /* NULs shown as | */
	} cases[] = {
		{ "/", "/|" },
		{ "/a/b", "/a/b|" },
		{ "/a%20b%7e+c", "/a b~+c|" },
		{ "/%c3%A4", "/ä|" },
		{ "/a?", "/a|" },
		{ "/a?x", "/a|x||" },
		{ "/a?x=", "/a|x||" },
		{ "/a?=v", "/a||v|" },
		{ "/a?x=1&y=2", "/a|x|1|y|2|" },
		{ "/a?&&x=1&", "/a|x|1|" },
		{ "/a?x=a+b%2Bc%2fd=e?f/g", "/a|x|a b+c/d=e?f/g|" },
		{ "/a?x=%0a", "/a|x|\n|" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_buf_ struct buf out = BUF(1000);
		struct err err = { 0 };

		assert_int_equal(http_target_decode(cases[i].target, &out, &err), 0);
		assert_int_equal(out.len, strlen(cases[i].decoded));
		for (size_t c = 0; c < out.len; c++)
			assert_int_equal(out.data[c] ? out.data[c] : '|', cases[i].decoded[c]);
	}
}

static void test_bad_targets_are_refused_in_words(void **state)
{
	static const struct {
		const char *target, *text;
	} cases[] = {
		{ "", "the path does not begin with a slash" },
		{ "*", "the path does not begin with a slash" },
		{ "?x=1", "the path does not begin with a slash" },
		{ "http://host/x", "the path does not begin with a slash" },
		{ "/%", "the path has a broken escape in it" },
		{ "/%4", "the path has a broken escape in it" },
		{ "/%4?1", "the path has a broken escape in it" },
		{ "/%zz", "the path has a broken escape in it" },
		{ "/%00", "the path has a broken escape in it" },
		{ "/a%2fb", "the path has an encoded slash in it" },
		{ "/a%2Fb", "the path has an encoded slash in it" },
		{ "/a%0ab", "the path has a control character in it" },
		{ "/a\x7f", "the path has a control character in it" },
		{ "/%ff", "the path is no UTF-8" },
		{ "/?x=%0", "the query has a broken escape in it" },
		{ "/?x=%00", "the query has a broken escape in it" },
		{ "/?%g1=1", "the query has a broken escape in it" },
		{ "/?a=%2&b=1", "the query has a broken escape in it" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_buf_ struct buf out = BUF(1000);
		struct err err = { 0 };

		assert_int_equal(http_target_decode(cases[i].target, &out, &err), -EINVAL);
		assert_string_equal(err.text, cases[i].text);
	}
}

static void test_limits_hold(void **state)
{
	_cleanup_buf_ struct buf target = BUF(10000), out = BUF(10000), small = BUF(5);
	struct err err = { 0 };

	(void)state;
	buf_add_str(&target, "/?");
	for (int i = 0; i < HTTP_QUERY_MAX; i++)
		buf_add_str(&target, "x=1&");
	assert_int_equal(http_target_decode(target.data, &out, &err), 0);
	buf_add_str(&target, "x=1");
	assert_int_equal(http_target_decode(target.data, &out, &err), -EINVAL);
	assert_string_equal(err.text, "the query has more than 64 parts");
	assert_int_equal(http_target_decode("/longer", &small, &err), -EMSGSIZE);
}

static void test_the_first_of_equal_keys_is_found(void **state)
{
	static const char pairs[] = "a\0"
	                            "1\0"
	                            "A\0"
	                            "2\0"
	                            "\0"
	                            "3\0"
	                            "b\0"
	                            "\0"
	                            "a\0"
	                            "4";
	size_t len = sizeof(pairs);

	(void)state;
	assert_string_equal(http_pairs_find(pairs, len, "a", false), "1");
	assert_string_equal(http_pairs_find(pairs, len, "A", false), "2");
	assert_string_equal(http_pairs_find(pairs, len, "A", true), "1");
	assert_string_equal(http_pairs_find(pairs, len, "", false), "3");
	assert_string_equal(http_pairs_find(pairs, len, "b", false), "");
	assert_null(http_pairs_find(pairs, len, "1", false));
	assert_null(http_pairs_find(pairs, 0, "a", false));
}

TEST_MAIN(TEST(targets_are_split_and_decoded), TEST(bad_targets_are_refused_in_words), TEST(limits_hold),
          TEST(the_first_of_equal_keys_is_found))
