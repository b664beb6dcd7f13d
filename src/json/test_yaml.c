/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "base/test.h"
#include "json/json.h"

/* YAML in, the same as JSON text out. */
static void assert_yaml(const char *yaml, const char *json)
{
	_cleanup_free_ char *copy = mem_dup(yaml, strlen(yaml)), *text = NULL;
	struct err err = { 0 };
	yyjson_doc *doc;

	if (yaml_parse(copy, strlen(yaml), "f.yaml", &doc, &err) < 0)
		fail_msg("'%s' was refused: %s", yaml, err.text);
	text = yyjson_write(doc, 0, NULL);
	yyjson_doc_free(doc);
	assert_string_equal(text, json);
}

static void assert_refused(const char *yaml, size_t len, const char *error)
{
	struct err err = { 0 };
	yyjson_doc *doc = NULL;

	assert_true(yaml_parse(yaml, len, "f.yaml", &doc, &err) < 0);
	assert_null(doc);
	assert_string_equal(err.text, error);
}

static void test_collections_nest(void **state)
{
	(void)state;
	assert_yaml("a:\n  b: [1, {c: d}]\n  e:\n  - f\n  - - g\n",
	            "{\"a\":{\"b\":[1,{\"c\":\"d\"}],\"e\":[\"f\",[\"g\"]]}}");
	assert_yaml("--- {}\n...\n", "{}");
	assert_yaml("%YAML 1.2\n---\n[]\n", "[]");
	assert_yaml("", "null");
	assert_yaml("# nothing but a comment\n", "null");
	assert_yaml("x", "\"x\"");
}

static void test_plain_scalars_get_core_types_and_quoted_ones_are_strings(void **state)
{
	(void)state;
	assert_yaml("[~, null, Null, NULL, true, TRUE, false]", "[null,null,null,null,true,true,false]");
	assert_yaml("a:\nb: {c: }\n", "{\"a\":null,\"b\":{\"c\":null}}");
	assert_yaml("[yes, no, on, off, y, N, tRue, nUll, nan, inf]",
	            "[\"yes\",\"no\",\"on\",\"off\",\"y\",\"N\",\"tRue\",\"nUll\",\"nan\",\"inf\"]");
	assert_yaml("[0, -7, +7, 012, 0o17, 0xfF, 18446744073709551615, -9223372036854775808]",
	            "[0,-7,7,12,15,255,18446744073709551615,-9223372036854775808]");
	assert_yaml("[1.5, -.5, 1., 1e3, 1.5E-1]", "[1.5,-0.5,1.0,1000.0,0.15]");
	assert_yaml("[18446744073709551616, -9223372036854775809]", "[18446744073709552000.0,-9223372036854776000.0]");
	assert_yaml("[\"1\", '1', 'true', \"null\", \"~\"]", "[\"1\",\"1\",\"true\",\"null\",\"~\"]");
	assert_yaml("[1:30, 1_000, 0b1, 0x, 0o8, 1e, ., -, 2026-11-15, 1.2.3, +]",
	            "[\"1:30\",\"1_000\",\"0b1\",\"0x\",\"0o8\",\"1e\",\".\",\"-\",\"2026-11-15\",\"1.2.3\",\"+\"]");
	assert_yaml("!!str 12", "\"12\"");
	assert_yaml("a: |\n  1\n  2\nb: >-\n  true\n", "{\"a\":\"1\\n2\\n\",\"b\":\"true\"}");
	assert_yaml("\"\\u00e9\\x41\"", "\"éA\"");
	assert_yaml("1: a\nnull: b\n'<<': c\n", "{\"1\":\"a\",\"null\":\"b\",\"<<\":\"c\"}");
}

static void test_what_surprises_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *yaml, *error;
	} cases[] = {
		{ "a: &x 1\nb: 2\n", "f.yaml:1:4: anchors ('&x') are not supported: write the value out" },
		{ "a: 1\nb: *x\n", "f.yaml:2:4: aliases ('*x') are not supported: write the value out" },
		{ "a: &x {b: 1}\n", "f.yaml:1:4: anchors ('&x') are not supported: write the value out" },
		{ "a: {b: 1}\nc:\n  <<: {d: 1}\n",
		  "f.yaml:3:3: merge keys ('<<') are not supported: write the fields out" },
		{ "a: 1\n---\nb: 2\n", "f.yaml:2:1: a second document starts here: only one is expected" },
		{ "a: 1\nb: 2\na: 3\n", "f.yaml:3:1: the key 'a' is there twice" },
		{ "a: {b: 1, \"b\": 2}\n", "f.yaml:1:11: the key 'b' is there twice" },
		{ "? [a]\n: 1\n", "f.yaml:1:3: a key must be a plain or quoted text" },
		{ "a: !!binary aGk=\n", "f.yaml:1:4: the tag 'tag:yaml.org,2002:binary' is not supported" },
		{ "a: !!map {}\n", "f.yaml:1:4: the tag 'tag:yaml.org,2002:map' is not supported" },
		{ "a: .inf\n", "f.yaml:1:4: the number .inf is out of range" },
		{ "a: 1e999\n", "f.yaml:1:4: the number 1e999 is out of range" },
		{ "a: 0x10000000000000000\n", "f.yaml:1:4: the number 0x10000000000000000 is out of range" },
		{ "a: \"x\\0y\"\n", "f.yaml:1:4: a NUL character" },
		{ "\"x\\0y\": 1\n", "f.yaml:1:1: a NUL character in a key" },
		{ "a:\n\t- b\n",
		  "f.yaml:2:1: found character that cannot start any token while scanning for the next token" },
		{ "a: [1, 2\n", "f.yaml:2:1: did not find expected ',' or ']' while parsing a flow sequence" },
		{ "a: \xff\n", "f.yaml:1:1: invalid leading UTF-8 octet (byte 3)" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_refused(cases[i].yaml, strlen(cases[i].yaml), cases[i].error);
}

static void test_limits_hold(void **state)
{
	_cleanup_buf_ struct buf deep = BUF(4096), many = BUF(YAML_TEXT_MAX + 1), keys = BUF(YAML_TEXT_MAX);
	yyjson_doc *doc;

	(void)state;
	for (int i = 0; i < YAML_DEPTH_MAX; i++)
		buf_add_char(&deep, '[');
	for (int i = 0; i < YAML_DEPTH_MAX; i++)
		buf_add_char(&deep, ']');
	assert_int_equal(yaml_parse(deep.data, deep.len, "f.yaml", &doc, NULL), 0);
	yyjson_doc_free(doc);
	buf_clear(&deep);
	for (int i = 0; i < YAML_DEPTH_MAX + 1; i++)
		buf_add_char(&deep, '[');
	assert_refused(deep.data, deep.len, "f.yaml:1:65: nested deeper than 64 levels");

	for (int i = 0; i <= YAML_NODES_MAX / 2; i++)
		buf_printf(&keys, "k%d: 1\n", i);
	assert_refused(keys.data, keys.len, "f.yaml:50000:9: more than 100000 values");

	while (many.len <= YAML_TEXT_MAX)
		buf_add_char(&many, ' ');
	assert_refused(many.data, many.len, "f.yaml: larger than 1024 KiB");
	assert_int_equal(yaml_parse(many.data, YAML_TEXT_MAX, "f.yaml", &doc, NULL), 0);
	yyjson_doc_free(doc);
}

static size_t line_of(const char *yaml, const char *a, const char *b, const char *c)
{
	const char *path[] = { a, b, c };

	return yaml_line(yaml, strlen(yaml), path, c ? 3 : b ? 2 : 1);
}

static void test_what_stands_where_can_be_told(void **state)
{
	static const char yaml[] = "# first\n"
	                           "a: {b: 1, c: 2}\n"
	                           "d:\n"
	                           "  b: x\n"
	                           "  c:\n"
	                           "  - {b: 1}\n"
	                           "  - b\n"
	                           "b: 7\n"
	                           "? e\n"
	                           ": [[1],\n"
	                           "   [2]]\n";

	(void)state;
	assert_int_equal(line_of(yaml, "a", NULL, NULL), 2);
	assert_int_equal(line_of(yaml, "a", "c", NULL), 2);
	assert_int_equal(line_of(yaml, "d", NULL, NULL), 3);
	assert_int_equal(line_of(yaml, "d", "b", NULL), 4);
	assert_int_equal(line_of(yaml, "d", "c", "0"), 6);
	assert_int_equal(line_of(yaml, "d", "c", "1"), 7);
	assert_int_equal(line_of(yaml, "b", NULL, NULL), 8);
	assert_int_equal(line_of(yaml, "e", "1", "0"), 11);
	assert_int_equal(line_of(yaml, "d", "c", "2"), 0);
	assert_int_equal(line_of(yaml, "c", NULL, NULL), 0);
	assert_int_equal(line_of("", "c", NULL, NULL), 0);
	assert_int_equal(line_of("a: [", "c", NULL, NULL), 0);
}

static void test_several_documents_become_an_array(void **state)
{
	const struct {
		const char *yaml, *want;
	} cases[] = {
		{ "", "[]" },
		{ "a: 1\n", "[{\"a\":1}]" },
		{ "---\na: 1\n---\n- 2\n...\n---\n'x'\n", "[{\"a\":1},[2],\"x\"]" },
		{ "a: 1\n---\n---\nb: |\n  ---\n  c\n", "[{\"a\":1},null,{\"b\":\"---\\nc\\n\"}]" },
	};
	struct err err = { 0 };
	yyjson_doc *doc;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_free_ char *got = NULL;

		assert_int_equal(yaml_parse_all(cases[i].yaml, strlen(cases[i].yaml), "t", &doc, &err), 0);
		got = yyjson_write(doc, 0, NULL);
		assert_string_equal(got, cases[i].want);
		yyjson_doc_free(doc);
	}
	assert_int_equal(yaml_parse_all("a: 1\n---\nb: [\n", 14, "t", &doc, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "t:4"));
}

TEST_MAIN(TEST(collections_nest), TEST(plain_scalars_get_core_types_and_quoted_ones_are_strings),
          TEST(what_surprises_is_refused_with_its_place), TEST(several_documents_become_an_array), TEST(limits_hold),
          TEST(what_stands_where_can_be_told))
