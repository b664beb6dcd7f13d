/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/str.h"

#include <errno.h>
#include <stdio.h>

#include "base/rand.h"
#include "base/test.h"

static void test_comparing_takes_null(void **state)
{
	(void)state;
	assert_true(str_eq(NULL, NULL));
	assert_false(str_eq(NULL, ""));
	assert_true(str_eq("a", "a"));
	assert_false(str_eq("a", "A"));
	assert_true(str_empty(NULL) && str_empty("") && !str_empty(" "));
	assert_string_equal(str_or(NULL, "x"), "x");
	assert_string_equal(str_or("", "x"), "");
	assert_true(str_starts("abc", "ab") && str_starts("abc", "") && !str_starts("ab", "abc") &&
	            !str_starts(NULL, ""));
	assert_true(str_ends("abc", "bc") && str_ends("abc", "") && !str_ends("bc", "abc") && !str_ends(NULL, ""));
}

static void test_a_copy_is_cut_between_characters_and_says_so(void **state)
{
	char to[5];

	(void)state;
	assert_true(str_copy(to, sizeof(to), "abcd"));
	assert_string_equal(to, "abcd");
	assert_false(str_copy(to, sizeof(to), "abcde"));
	assert_string_equal(to, "abcd");
	assert_false(str_copy(to, sizeof(to), "abc€"));
	assert_string_equal(to, "abc");
	assert_false(str_copy(to, sizeof(to), "a€€"));
	assert_string_equal(to, "a€");
	assert_true(str_copy(to, sizeof(to), NULL));
	assert_string_equal(to, "");
	assert_true(str_copy(to, 1, ""));
	assert_false(str_copy(to, 1, "x"));
	assert_string_equal(to, "");
}

static void test_numbers_are_whole_strings_within_their_range(void **state)
{
	int64_t v = 5;

	(void)state;
	assert_int_equal(str_to_i64("0", 0, 10, &v), 0);
	assert_true(v == 0);
	assert_int_equal(str_to_i64("-7", -10, 10, &v), 0);
	assert_true(v == -7);
	assert_int_equal(str_to_i64("9223372036854775807", INT64_MIN, INT64_MAX, &v), 0);
	assert_true(v == INT64_MAX);
	assert_int_equal(str_to_i64("-9223372036854775808", INT64_MIN, INT64_MAX, &v), 0);
	assert_true(v == INT64_MIN);
	v = 5;
	assert_int_equal(str_to_i64("9223372036854775808", INT64_MIN, INT64_MAX, &v), -ERANGE);
	assert_int_equal(str_to_i64("-9223372036854775809", INT64_MIN, INT64_MAX, &v), -ERANGE);
	assert_int_equal(str_to_i64("11", 0, 10, &v), -ERANGE);
	assert_int_equal(str_to_i64("-1", 0, 10, &v), -ERANGE);
	assert_true(v == 5);
}

static void test_what_is_no_number_is_refused(void **state)
{
	static const char *const bad[] = { "",    "-",   "+1",  " 1",  "1 ",
		                           "1x",  "0x1", "1.0", "1e3", "--1",
		                           "1-1", "\t1", "1\n", "٣",   "99999999999999999999x" };
	int64_t v = 5;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (str_to_i64(bad[i], INT64_MIN, INT64_MAX, &v) != -EINVAL)
			fail_msg("'%s' was taken", bad[i]);
	assert_true(v == 5);
}

static void test_utf8_is_what_the_standard_says(void **state)
{
	static const char *const good[] = {
		"", "abc", "é", "€", "𝄞", "\xF4\x8F\xBF\xBF", "\xEF\xBF\xBF", "\xED\x9F\xBF"
	};
	static const char *const bad[] = {
		"\x80",
		"\xC3",
		"\xE2\x82",
		"\xF0\x9D\x84",
		"a\xFFz",
		"\xC0\x80",
		"\xC1\xBF",
		"\xE0\x80\x80",
		"\xF0\x80\x80\x80",
		"\xED\xA0\x80" /* a surrogate */,
		"\xF4\x90\x80\x80" /* above U+10FFFF */,
		"\xF8\x88\x80\x80\x80",
		"\xC3(",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_true(str_is_utf8(good[i], strlen(good[i])));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (str_is_utf8(bad[i], strlen(bad[i])))
			fail_msg("bad text %zu was taken", i);
	assert_false(str_is_utf8("€", 2));
	assert_true(str_is_utf8(NULL, 0));
	assert_true(str_is_utf8("a\0b", 3));
}

static void test_control_characters_are_found(void **state)
{
	(void)state;
	assert_false(str_has_control("abc é", 6));
	assert_true(str_has_control("a\nb", 3));
	assert_true(str_has_control("\x7f", 1));
	assert_true(str_has_control("a\0", 2));
	assert_false(str_has_control(NULL, 0));
}

static void assert_safe(const char *in, size_t len, size_t max, const char *want)
{
	_cleanup_buf_ struct buf out = BUF(1000);

	str_add_safe(&out, in, len, max);
	assert_string_equal(buf_text(&out), want);
	assert_true(out.len <= max);
}

static void test_foreign_text_is_made_harmless(void **state)
{
	(void)state;
	assert_safe("plain é €", 12, 100, "plain é €");
	assert_safe("a\nb\rc\td", 7, 100, "a\\nb\\rc\\td");
	assert_safe("a\\nb", 4, 100, "a\\\\nb"); /* what looks escaped is not what was escaped */
	assert_safe("\x1b[31m", 5, 100, "\\x1b[31m");
	assert_safe("a\0b", 3, 100, "a\\x00b");
	assert_safe("\xff\xc3(", 3, 100, "\\xff\\xc3(");
	assert_safe("\xc2\x9b"
	            "2J",
	            4, 100, "\\x9b2J"); /* the one-byte escape of a terminal */
	assert_safe("a\xe2\x80\xa8z", 5, 100, "a\\u2028z"); /* a line separator */
	assert_safe("\xe2\x80\xae"
	            "txt.exe",
	            10, 100, "\\u202etxt.exe"); /* right to left from here */
	assert_safe("\xe2\x81\xa6x\xe2\x81\xa9", 7, 100, "\\u2066x\\u2069");
	assert_safe("\x7f", 1, 100, "\\x7f");
	assert_safe(NULL, 0, 100, "");
}

static void test_foreign_text_is_cut_at_the_limit_with_a_mark(void **state)
{
	(void)state;
	assert_safe("1234567890", 10, 10, "1234567890");
	assert_safe("12345678901", 11, 10, "1234567…");
	assert_safe("1234567\n\n\n", 10, 10, "1234567…");
	assert_safe("€€€€", 12, 12, "€€€€");
	assert_safe("€€€€", 12, 11, "€€…");
	assert_safe("abc", 3, 2, "");
	assert_safe("abcd", 4, 3, "…");
}

/* Random bytes: what comes out is one line of text, within the limit, that a terminal does not obey. */
static void test_no_bytes_get_through_unescaped(void **state)
{
	struct rng rng = rng_seeded(9);

	(void)state;
	for (int i = 0; i < 20000; i++) {
		_cleanup_buf_ struct buf out = BUF(1000);
		char in[32];
		size_t len = rng_below(&rng, sizeof(in)), max = rng_below(&rng, 64);
		char copy[sizeof(in) + 1];

		for (size_t n = 0; n < len; n++)
			in[n] = (char)(rng_below(&rng, 2) ? 0xC0 + rng_below(&rng, 64) : rng_below(&rng, 256));
		str_add_safe(&out, in, len, max);
		assert_true(out.len <= max);
		assert_true(str_is_utf8(buf_text(&out), out.len));
		assert_false(str_has_control(buf_text(&out), out.len));
		memcpy(copy, in, len);
		copy[len] = 0;
		len = strlen(copy);
		str_mask_unsafe(copy);
		assert_int_equal(strlen(copy), len);
		assert_true(str_is_utf8(copy, len) && !str_has_control(copy, len));
	}
}

static void test_masking_leaves_good_text_alone(void **state)
{
	char good[] = "a \\ é € 𝄞 \"'", bad[] = "é\n\xe2\x80\xae\xff";

	(void)state;
	str_mask_unsafe(good);
	assert_string_equal(good, "a \\ é € 𝄞 \"'");
	str_mask_unsafe(bad);
	assert_string_equal(bad, "é?????");
}

static void test_base64_of_the_standard(void **state)
{
	static const char *const pairs[][2] = { { "", "" },
		                                { "f", "Zg==" },
		                                { "fo", "Zm8=" },
		                                { "foo", "Zm9v" },
		                                { "foob", "Zm9vYg==" },
		                                { "fooba", "Zm9vYmE=" },
		                                { "foobar", "Zm9vYmFy" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		_cleanup_buf_ struct buf text = BUF(100), bytes = BUF(100);

		str_add_base64(&text, pairs[i][0], strlen(pairs[i][0]));
		assert_string_equal(buf_text(&text), pairs[i][1]);
		assert_int_equal(str_add_unbase64(&bytes, pairs[i][1], strlen(pairs[i][1])), 0);
		assert_string_equal(buf_text(&bytes), pairs[i][0]);
	}
}

static void test_base64_that_is_broken_leaves_the_buffer_as_it_was(void **state)
{
	static const char *const bad[] = { "Z",        "Zg",    "Zg=",      "Zm8",    "=",    "====",
		                           "Zg===",    "Zm9v=", "Zm9vZ",    "Zh==",   "Zm9=", "Zg==Zg==",
		                           "Zm9v!a==", "Zm-_",  "Zm9vZg=a", "\xffZZZ" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_buf_ struct buf out = BUF(100);

		buf_add_str(&out, "before");
		if (str_add_unbase64(&out, bad[i], strlen(bad[i])) != -EINVAL)
			fail_msg("'%s' was taken", bad[i]);
		assert_string_equal(buf_text(&out), "before");
		assert_int_equal(out.len, 6);
	}
	{
		_cleanup_buf_ struct buf out = BUF(5);

		assert_int_equal(str_add_unbase64(&out, "Zm9vYmFy", 8), -EMSGSIZE);
		assert_string_equal(buf_text(&out), "");
	}
}

static void test_base64_may_be_broken_into_lines(void **state)
{
	_cleanup_buf_ struct buf out = BUF(100);
	static const char text[] = " Zm9v\r\n YmE\t=\n";

	(void)state;
	assert_int_equal(str_add_unbase64(&out, text, strlen(text)), 0);
	assert_string_equal(buf_text(&out), "fooba");
}

static void test_any_bytes_survive_base64(void **state)
{
	struct rng rng = rng_seeded(13);

	(void)state;
	for (int i = 0; i < 2000; i++) {
		_cleanup_buf_ struct buf text = BUF(200), bytes = BUF(200);
		_cleanup_free_ char *in = NULL;
		size_t len = rng_below(&rng, 100);

		in = mem_alloc(len);
		for (size_t n = 0; n < len; n++)
			in[n] = (char)rng_u64(&rng);
		str_add_base64(&text, in, len);
		assert_int_equal(text.len, (len + 2) / 3 * 4);
		assert_int_equal(str_add_unbase64(&bytes, buf_text(&text), text.len), 0);
		assert_int_equal(bytes.len, len);
		assert_memory_equal(buf_text(&bytes), in, len);
	}
}

static void test_hex(void **state)
{
	_cleanup_buf_ struct buf out = BUF(100);

	(void)state;
	str_add_hex(&out, "\x00\xff\x1a", 3);
	assert_string_equal(buf_text(&out), "00ff1a");
}

static void collect(void *arg, const char *s, size_t len)
{
	buf_printf(arg, "<%.*s>", (int)len, s);
}

static void test_lists_are_split_without_blanks(void **state)
{
	static const char *const pairs[][2] = {
		{ "a,b", "<a><b>" }, { " a , b ,", "<a><b>" }, { "", "" },
		{ ",, ,", "" },      { "a b", "<a b>" },       { "\ta\n", "<a>" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		_cleanup_buf_ struct buf out = BUF(100);

		str_each(pairs[i][0], ',', collect, &out);
		assert_string_equal(buf_text(&out), pairs[i][1]);
	}
	str_each(NULL, ',', collect, NULL);
}

static void test_printing_makes_text_of_any_length(void **state)
{
	_cleanup_free_ char *s = str_printf("%s-%05d", "x", 42), *empty = str_printf("%s", ""),
	                    *big = str_printf("%5000d", 1);

	(void)state;
	assert_string_equal(s, "x-00042");
	assert_string_equal(empty, "");
	assert_int_equal(strlen(big), 5000);
}

TEST_MAIN(TEST(comparing_takes_null), TEST(a_copy_is_cut_between_characters_and_says_so),
          TEST(numbers_are_whole_strings_within_their_range), TEST(what_is_no_number_is_refused),
          TEST(utf8_is_what_the_standard_says), TEST(control_characters_are_found), TEST(foreign_text_is_made_harmless),
          TEST(foreign_text_is_cut_at_the_limit_with_a_mark), TEST(no_bytes_get_through_unescaped),
          TEST(masking_leaves_good_text_alone), TEST(base64_of_the_standard),
          TEST(base64_that_is_broken_leaves_the_buffer_as_it_was), TEST(base64_may_be_broken_into_lines),
          TEST(any_bytes_survive_base64), TEST(hex), TEST(lists_are_split_without_blanks),
          TEST(printing_makes_text_of_any_length))
