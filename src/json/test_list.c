/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json/list.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "base/test.h"

/* Writes down what it is called with: "kind=\"L\" 0:{…} 1:2 …". */
static void note_value(struct buf *b, yyjson_val *value)
{
	_cleanup_free_ char *text = yyjson_val_write(value, 0, NULL);

	buf_add_str(b, text);
	buf_add_char(b, ' ');
}

static int note_member(void *arg, const char *key, yyjson_val *value, struct err *err)
{
	buf_printf(arg, "%s=", key);
	note_value(arg, value);
	return str_eq(key, "stop") ? err_set(err, -ECANCELED, "stopped") : 0;
}

static int note_item(void *arg, size_t i, yyjson_val *value, struct err *err)
{
	buf_printf(arg, "%zu:", i);
	note_value(arg, value);
	return yyjson_equals_str(value, "stop") ? err_set(err, -ECANCELED, "stopped") : 0;
}

static const struct json_list_calls notes = { note_member, note_item };

static int walk(const char *text, struct buf *out, struct err *err)
{
	_cleanup_(json_parser_freep) struct json_parser *p = json_parser_new();
	size_t len = strlen(text);
	_cleanup_free_ char *copy = mem_alloc(len + YYJSON_PADDING_SIZE);

	memcpy(copy, text, len);
	memset(copy + len, 'x', YYJSON_PADDING_SIZE); /* need not be zero */
	return json_list_walk(p, copy, len, "items", &notes, out, err);
}

static void test_members_and_items_come_as_they_stand(void **state)
{
	static const struct {
		const char *text, *notes;
	} cases[] = {
		{ "{\"kind\":\"L\",\"metadata\":{\"a\":[1]},\"items\":[{\"x\":\"\\u0041]\\\"}\"},2,[],\"s\",null],"
		  "\"after\":true}\n",
		  "kind=\"L\" metadata={\"a\":[1]} 0:{\"x\":\"A]\\\"}\"} 1:2 2:[] 3:\"s\" 4:null after=true " },
		{ " {\n \"items\" : [ \n { \"a\" : 1 } ,\t{ } ] ,\r\n \"k\" : { } }\r\n", "0:{\"a\":1} 1:{} k={} " },
		{ "{\"k\":[1,2],\"items\":[3]}", "k=[1,2] 0:3 " },
		{ "{}", "" },
		{ "{\"items\":[]}", "" },
		{ "{\"items\":null,\"k\":1}", "k=1 " },
		{ "{\"it\\u0065ms\":[1]}", "0:1 " },
		{ "{\"k\":{\"items\":[1]}}", "k={\"items\":[1]} " },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_buf_ struct buf b = BUF(4096);
		struct err err = { 0 };

		if (walk(cases[i].text, &b, &err) < 0)
			fail_msg("'%s' was refused: %s", cases[i].text, err.text);
		assert_string_equal(buf_text(&b), cases[i].notes);
	}
}

static void test_what_is_no_list_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "", "not JSON: it is empty" },
		{ " \n", "not JSON: it is empty" },
		{ "<html>", "not JSON at byte 0: expected an object, found '<html>'" },
		{ "[1]", "not JSON at byte 0: expected an object, found '[1]'" },
		{ "{", "not JSON: it ends in the middle, after 1 bytes" },
		{ "{\"a\"", "not JSON: it ends in the middle, after 4 bytes" },
		{ "{\"a\":", "not JSON: it ends in the middle, after 5 bytes" },
		{ "{\"a\":1", "not JSON: it ends in the middle, after 6 bytes" },
		{ "{\"a\" 1}", "not JSON at byte 5: expected ':', found '1}'" },
		{ "{a:1}", "not JSON at byte 1: expected a key, found 'a:1}'" },
		{ "{\"a\":1,}", "not JSON at byte 7: expected a key, found '}'" },
		{ "{\"a\":1 \"b\":2}", "not JSON at byte 7: expected ',' or '}', found '\"b\":2}'" },
		{ "{\"items\":[1,]}", NULL },
		{ "{\"items\":[1 2]}", "not JSON at byte 12: expected ',' or ']', found '2]}'" },
		{ "{\"items\":[1", "not JSON: it ends in the middle, after 11 bytes" },
		{ "{\"items\":[{\"a\":tru}]}", NULL },
		{ "{\"items\":{}}", "items: expected an array" },
		{ "{} x", "not JSON at byte 3: unexpected content after the list, found 'x'" },
		{ "{\"stop\":1,\"a\":2}", "stopped" },
		{ "{\"items\":[\"stop\",2]}", "stopped" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_buf_ struct buf b = BUF(4096);
		struct err err = { 0 };

		assert_true(walk(cases[i].text, &b, &err) < 0);
		if (cases[i].error)
			assert_string_equal(err.text, cases[i].error);
		else
			assert_true(str_starts(err.text, "not JSON at byte 1"));
		assert_null(strstr(buf_text(&b), "2 ")); /* nothing after the error */
	}
}

static void test_a_nul_is_no_end(void **state)
{
	_cleanup_(json_parser_freep) struct json_parser *p = json_parser_new();
	_cleanup_buf_ struct buf b = BUF(64);
	struct err err = { 0 };
	char text[16] = "{}";

	(void)state;
	assert_int_equal(json_list_walk(p, text, 3, "items", &notes, &b, &err), -EBADMSG);
	assert_string_equal(err.text, "not JSON at byte 2: unexpected content after the list, found '\\x00'");
}

static int count_item(void *arg, size_t i, yyjson_val *value, struct err *err)
{
	(void)i;
	(void)err;
	*(size_t *)arg += yyjson_arr_size(value);
	return 0;
}

static void test_memory_is_that_of_one_item(void **state)
{
	static const struct json_list_calls count = { note_member, count_item };
	_cleanup_(json_parser_freep) struct json_parser *p = json_parser_new();
	_cleanup_buf_ struct buf b = BUF((size_t)8 << 20);
	struct err err = { 0 };
	size_t sum = 0;

	(void)state;
	buf_add_str(&b, "{\"items\":[");
	for (int i = 0; i < 20000; i++)
		buf_printf(&b, "%s[1,2,3,4,5,\"a text of some length\",{\"a\":{\"b\":[]}},8,9,10]", i ? "," : "");
	buf_add_str(&b, "]}");
	assert_non_null(buf_reserve(&b, YYJSON_PADDING_SIZE));
	assert_int_equal(json_list_walk(p, b.data, b.len, "items", &count, &sum, &err), 0);
	assert_int_equal(sum, 200000);
	assert_true(json_parser_memory(p) < 16384);
}

TEST_MAIN(TEST(members_and_items_come_as_they_stand), TEST(what_is_no_list_is_refused_with_its_place),
          TEST(a_nul_is_no_end), TEST(memory_is_that_of_one_item))
