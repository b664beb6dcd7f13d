/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/test_samples.h"

static void test_equal_means_the_same_value_in_any_order(void **state)
{
	static const struct {
		const char *a, *b;
		bool equal;
	} rows[] = {
		{ "{'a':1,'b':[1,2]}", "{'b':[1,2],'a':1}", true },
		{ "{'a':1}", "{'a':1.0}", true },
		{ "{'a':1}", "{'a':2}", false },
		{ "{'a':1}", "{'a':1,'b':null}", false },
		{ "{'a':1,'c':2}", "{'a':1,'b':2}", false },
		{ "[1,2]", "[2,1]", false },
		{ "[]", "{}", false },
		{ "'x'", "'x'", true },
		{ "true", "false", false },
		{ "null", "null", true },
		{ "-1", "18446744073709551615", false },
		{ "-1", "-1", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_mut_doc_ yyjson_mut_doc *a = quoted(rows[i].a), *b = quoted(rows[i].b);

		if (obj_equal(yyjson_mut_doc_get_root(a), yyjson_mut_doc_get_root(b)) != rows[i].equal)
			fail_msg("row %zu: %s and %s", i, rows[i].a, rows[i].b);
	}
}

static void test_setting_keeps_the_place_of_a_member(void **state)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = quoted("{'z':1,'a':2}");
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
	_cleanup_free_ char *text = NULL;

	(void)state;
	obj_set_str(doc, root, "z", "new");
	obj_set_int(doc, obj_make(doc, root, "m"), "n", 3);
	obj_set_null(doc, root, "gone");
	obj_drop(root, "gone");
	obj_drop(root, "never there");
	text = obj_text(root, NULL);
	assert_string_equal(text, "{\"z\":\"new\",\"a\":2,\"m\":{\"n\":3}}");
	obj_sort(doc, root);
	free(text);
	text = obj_text(root, NULL);
	assert_string_equal(text, "{\"a\":2,\"m\":{\"n\":3},\"z\":\"new\"}");
}

static void test_paths_through_nothing_give_nothing(void **state)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = quoted("{'a':{'b':[{'c':5}]},'s':'text'}");
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);

	(void)state;
	assert_null(obj_at(root, "x", "y", "z"));
	assert_null(obj_at(root, "s", "y"));
	assert_null(obj_str(obj_at(root, "a", "b")));
	assert_string_equal(obj_str(obj_at(root, "s")), "text");
	assert_int_equal(obj_int(obj_at(root, "s"), 7), 7);
	assert_int_equal(obj_size(obj_at(root, "a", "b")), 1);
	assert_int_equal(obj_size(NULL), 0);
	OBJ_EACH (key, val, (yyjson_mut_val *)NULL)
		fail_msg("walked nothing: %p %p", (void *)key, (void *)val);
	ARR_EACH (val, obj_at(root, "s"))
		fail_msg("walked a string: %p", (void *)val);
}

static void test_quoting_survives_a_parser(void **state)
{
	_cleanup_buf_ struct buf out = BUF(1000);
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL;

	(void)state;
	obj_add_quoted(&out, "a\"b\\c\nd\te\x01ü");
	doc = obj_parse(buf_text(&out));
	assert_non_null(doc);
	assert_string_equal(obj_str(yyjson_mut_doc_get_root(doc)), "a\"b\\c\nd\te\x01ü");
}

TEST_MAIN(TEST(equal_means_the_same_value_in_any_order), TEST(setting_keeps_the_place_of_a_member),
          TEST(paths_through_nothing_give_nothing), TEST(quoting_survives_a_parser))
