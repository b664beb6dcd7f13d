/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/test.h"

static struct json_parser *parser;

static int setup(void **state)
{
	(void)state;
	parser = json_parser_new();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	json_parser_free(parser);
	return 0;
}

/* Parses a literal from a copy that ends exactly at its end, so that a sanitizer sees every byte read too far. */
static int parse_text(const char *text, yyjson_doc **ret, struct err *err)
{
	_cleanup_free_ char *copy = mem_dup(text, strlen(text));

	return json_parse(parser, copy, strlen(text), false, ret, err);
}

static void test_walks_a_path_through_what_may_be_missing(void **state)
{
	struct err err = { 0 };
	yyjson_doc *doc;
	yyjson_val *root;

	(void)state;
	assert_int_equal(
	        parse_text("{\"a\":{\"b\":\"c\",\"n\":-5,\"t\":true,\"big\":18446744073709551615,\"z\":\"x\\u0000y\"}}",
	                   &doc, &err),
	        0);
	root = yyjson_doc_get_root(doc);
	assert_string_equal(json_str(json_get(json_get(root, "a"), "b")), "c");
	assert_null(json_str(json_get(json_get(root, "x"), "b")));
	assert_null(json_str(json_get(json_get(root, "a"), "n")));
	assert_null(json_str(json_get(json_get(root, "a"), "z"))); /* a NUL inside would cut it */
	assert_int_equal(json_int(json_get(json_get(root, "a"), "n"), 7), -5);
	assert_int_equal(json_int(json_get(json_get(root, "a"), "b"), 7), 7);
	assert_int_equal(json_int(json_get(json_get(root, "a"), "big"), 7), 7);
	assert_int_equal(json_int(NULL, 7), 7);
	assert_true(json_bool(json_get(json_get(root, "a"), "t"), false));
	assert_true(json_bool(json_get(json_get(root, "a"), "b"), true));
}

static void test_errors_say_where_and_show_what_is_there(void **state)
{
	static const struct {
		const char *text, *error, *end; /* between them yyjson says it in its own words, which change */
	} cases[] = {
		{ "<html><body>502 Bad Gateway</body></html>", "not JSON at byte 0: unexpected character, ",
		  ", found '<html><body>502 Bad Gateway</body></html>'" },
		{ "", "not JSON: it is empty" },
		{ " \n", "not JSON: it is empty" },
		{ "{\"a\":[1,2", "not JSON: it ends in the middle, after 9 bytes" },
		{ "{\"a\":1}\n\x1b[31mred\xff",
		  "not JSON at byte 8: unexpected content after document, found '\\x1b[31mred\\xff'" },
		{ "upstream connect error or disconnect/reset before headers. reset reason: connection failure", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = { 0 };
		yyjson_doc *doc = NULL;

		assert_int_equal(parse_text(cases[i].text, &doc, &err), -EBADMSG);
		assert_null(doc);
		if (cases[i].end) {
			assert_true(str_starts(err.text, cases[i].error));
			assert_true(str_ends(err.text, cases[i].end));
		} else if (cases[i].error)
			assert_string_equal(err.text, cases[i].error);
		else
			assert_true(str_ends(err.text, "before…'") || str_ends(err.text, "…'"));
		assert_int_equal(json_parse_copy(cases[i].text, strlen(cases[i].text), &doc, NULL), -EBADMSG);
	}
}

static void test_in_place_uses_the_text_itself(void **state)
{
	char text[64] = "{\"name\":\"a\\tb\"}";
	size_t len = strlen(text);
	struct err err = { 0 };
	yyjson_doc *doc;
	const char *name;

	(void)state;
	assert_int_equal(json_parse(parser, text, len, true, &doc, &err), 0);
	name = json_str(json_get(yyjson_doc_get_root(doc), "name"));
	assert_string_equal(name, "a\tb");
	assert_true(name > text && name < text + sizeof(text));
}

static char *numbers(size_t n, size_t *ret_len)
{
	struct buf b = BUF((size_t)64 << 20);

	buf_add_char(&b, '[');
	for (size_t i = 0; i < n; i++)
		buf_printf(&b, "%s%zu", i ? "," : "", i);
	buf_add_char(&b, ']');
	*ret_len = b.len;
	return buf_take(&b);
}

static void test_memory_is_used_again_and_given_back_after_a_large_document(void **state)
{
	size_t small_len, large_len, after_small, after_large;
	_cleanup_free_ char *small = numbers(1000, &small_len), *large = numbers(300000, &large_len);
	yyjson_doc *doc;

	(void)state;
	assert_int_equal(json_parse(parser, small, small_len, false, &doc, NULL), 0);
	after_small = json_parser_memory(parser);
	for (int i = 0; i < 100; i++)
		assert_int_equal(json_parse(parser, small, small_len, false, &doc, NULL), 0);
	assert_int_equal(json_parser_memory(parser), after_small);

	for (int i = 0; i < 5; i++)
		assert_int_equal(json_parse(parser, large, large_len, false, &doc, NULL), 0);
	after_large = json_parser_memory(parser);
	assert_true(after_large > 100 * after_small);
	assert_int_equal(yyjson_arr_size(yyjson_doc_get_root(doc)), 300000);

	/* some small ones between large ones cost nothing, many small ones give the memory back */
	for (int i = 0; i < 20; i++) {
		bool is_large = i % 5 == 4;

		assert_int_equal(json_parse(parser, is_large ? large : small, is_large ? large_len : small_len, false,
		                            &doc, NULL),
		                 0);
		assert_int_equal(json_parser_memory(parser), after_large);
	}
	for (int i = 0; i < 100; i++)
		assert_int_equal(json_parse(parser, small, small_len, false, &doc, NULL), 0);
	assert_int_equal(json_parser_memory(parser), after_small);
	assert_int_equal(yyjson_get_uint(yyjson_arr_get(yyjson_doc_get_root(doc), 999)), 999);
}

static void test_a_document_that_needs_too_much_memory_is_refused(void **state)
{
	size_t len = (size_t)200 << 20; /* zero pages: refused before they are touched */
	_cleanup_free_ char *text = mem_alloc(len + YYJSON_PADDING_SIZE);
	struct err err = { 0 };
	yyjson_doc *doc = NULL;

	(void)state;
	text[0] = '[';
	assert_int_equal(json_parse(parser, text, len, true, &doc, &err), -E2BIG);
	assert_string_equal(err.text, "JSON of 209715200 bytes needs more than 512 MiB to parse");
	assert_null(doc);
	/* and the parser is as good as before */
	assert_int_equal(parse_text("[1]", &doc, &err), 0);
}

#define TEST_P(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
TEST_MAIN(TEST_P(walks_a_path_through_what_may_be_missing), TEST_P(errors_say_where_and_show_what_is_there),
          TEST_P(in_place_uses_the_text_itself), TEST_P(memory_is_used_again_and_given_back_after_a_large_document),
          TEST_P(a_document_that_needs_too_much_memory_is_refused))
