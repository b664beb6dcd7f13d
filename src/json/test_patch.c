/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json/patch.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/test.h"

static void assert_text(const struct patch *p, const char *expected)
{
	size_t len;
	_cleanup_free_ char *text = patch_text(p, &len);

	assert_string_equal(text, expected);
	assert_int_equal(len, strlen(expected));
}

static void test_values_land_at_their_path(void **state)
{
	_cleanup_(patch_freep) struct patch *p = patch_new();

	(void)state;
	assert_true(patch_is_empty(p));
	assert_text(p, "{}");
	patch_str(p, "17", PATH("metadata", "annotations", "sunk.coreweave.com/job-id"));
	patch_null(p, PATH("metadata", "annotations", "old"));
	patch_str(p, NULL, PATH("metadata", "labels", "a.b"));
	patch_int(p, INT64_MIN, PATH("spec", "n"));
	patch_bool(p, true, PATH("spec", "on"));
	patch_time(p, 1500000, PATH("t"));
	patch_micro_time(p, 1500000, PATH("u"));
	patch_time(p, 0, PATH("v"));
	patch_micro_time(p, 0, PATH("w"));
	assert_false(patch_is_empty(p));
	assert_text(p, "{\"metadata\":{\"annotations\":{\"sunk.coreweave.com/job-id\":\"17\",\"old\":null},"
	               "\"labels\":{\"a.b\":null}},\"spec\":{\"n\":-9223372036854775808,\"on\":true},"
	               "\"t\":\"1970-01-01T00:00:01Z\",\"u\":\"1970-01-01T00:00:01.500000Z\",\"v\":null,\"w\":null}");
}

static void test_setting_again_replaces(void **state)
{
	_cleanup_(patch_freep) struct patch *p = patch_new();

	(void)state;
	patch_str(p, "1", PATH("a", "b"));
	patch_int(p, 2, PATH("c"));
	patch_str(p, "3", PATH("a", "b"));
	assert_text(p, "{\"a\":{\"b\":\"3\"},\"c\":2}");
}

static void test_arrays_take_objects_and_strings(void **state)
{
	_cleanup_(patch_freep) struct patch *p = patch_new();
	struct patch *first, *second, *deep;

	(void)state;
	first = patch_add(p, PATH("status", "conditions"));
	second = patch_add(p, PATH("status", "conditions"));
	patch_str(second, "Ready", PATH("type"));
	patch_str(first, "Other", PATH("type"));
	deep = patch_add(first, PATH("x", "y"));
	patch_bool(deep, false, PATH("z"));
	patch_add_str(p, "u", PATH("words"));
	patch_add_str(p, "v", PATH("words"));
	patch_empty_array(p, PATH("none"));
	assert_text(p, "{\"status\":{\"conditions\":[{\"type\":\"Other\",\"x\":{\"y\":[{\"z\":false}]}},{\"type\":"
	               "\"Ready\"}]},"
	               "\"words\":[\"u\",\"v\"],\"none\":[]}");
}

static void test_raw_json_is_placed_or_refused(void **state)
{
	_cleanup_(patch_freep) struct patch *p = patch_new();
	struct err err = { 0 };

	(void)state;
	assert_int_equal(patch_raw(p, "{\"a\":[1,{\"b\":null}]}", 20, PATH("spec"), &err), 0);
	assert_text(p, "{\"spec\":{\"a\":[1,{\"b\":null}]}}");
	patch_str(p, "c", PATH("spec", "d"));
	assert_int_equal(patch_raw(p, "{\"a\":", 5, PATH("x"), &err), -EBADMSG);
	assert_string_equal(err.text, "not JSON: it ends in the middle, after 5 bytes");
	assert_text(p, "{\"spec\":{\"a\":[1,{\"b\":null}],\"d\":\"c\"}}");
}

static void test_text_that_is_no_utf8_is_made_so(void **state)
{
	_cleanup_(patch_freep) struct patch *p = patch_new();

	(void)state;
	patch_str(p, "caf\xc3\xa9 \xff\xfe \xe2\x82", PATH("v"));
	patch_add_str(p, "\xed\xa0\x80", PATH("w")); /* half of a surrogate pair */
	patch_str(p, "\xf0\x9f\x98\x80", PATH("k\xff"));
	patch_str(p, "\"\\\n\x01", PATH("q"));
	assert_text(p, "{\"v\":\"caf\xc3\xa9 \xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\","
	               "\"w\":[\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"],\"k\xef\xbf\xbd\":\"\xf0\x9f\x98\x80\","
	               "\"q\":\"\\\"\\\\\\n\\u0001\"}");
}

static void test_free_takes_null(void **state)
{
	(void)state;
	patch_free(NULL);
}

TEST_MAIN(TEST(values_land_at_their_path), TEST(setting_again_replaces), TEST(arrays_take_objects_and_strings),
          TEST(raw_json_is_placed_or_refused), TEST(text_that_is_no_utf8_is_made_so), TEST(free_takes_null))
