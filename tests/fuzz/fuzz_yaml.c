/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Any bytes: refused with a reason, or a document within the limits that is the same after being written as JSON.
 */
#include <assert.h>
#include <string.h>

#include "base/str.h"
#include "json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(yyjson_val *v, unsigned depth)
{
	size_t i, n;
	yyjson_val *key, *value;

	assert(depth <= YAML_DEPTH_MAX);
	if (yyjson_is_str(v))
		assert(json_str(v) && str_is_utf8(json_str(v), yyjson_get_len(v)));
	yyjson_arr_foreach(v, i, n, value) check(value, depth + 1);
	yyjson_obj_foreach(v, i, n, key, value)
	{
		assert(json_get(v, json_str(key)) == value); /* no key twice */
		check(value, depth + 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *copy = mem_dup(data, size), *text = NULL;
	struct err err = { 0 };
	yyjson_doc *doc, *again;
	size_t len;

	if (yaml_parse(copy, size, "f.yaml", &doc, &err) < 0) {
		assert(err.code < 0 && str_starts(err.text, "f.yaml:"));
		return 0;
	}
	check(yyjson_doc_get_root(doc), 0);
	text = yyjson_write(doc, 0, &len);
	assert(text);
	assert(json_parse_copy(text, len, &again, &err) == 0);
	assert(yyjson_equals(yyjson_doc_get_root(doc), yyjson_doc_get_root(again)));
	yyjson_doc_free(doc);
	yyjson_doc_free(again);
	return 0;
}
