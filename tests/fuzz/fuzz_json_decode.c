/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Any bytes: no JSON, or an object that is none of the kinds we know, or one whose every string and array can be read. And
 * a list that is walked is the list that is parsed.
 */
#include <assert.h>
#include <string.h>

#include "base/str.h"
#include "kube/objects.h"
#include "json/list.h"

static const struct json_type *const types[] = {
	[KUBE_PODS] = &kube_pod_type,     [KUBE_NODES] = &kube_node_type,     [KUBE_LEASES] = &kube_lease_type,
	[KUBE_CLAIMS] = &kube_claim_type, [KUBE_VOLUMES] = &kube_volume_type, [KUBE_CLASSES] = &kube_class_type,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t touch(const struct json_type *type, const char *base);

static size_t touch_text(const char *text)
{
	return text ? strlen(text) : 0;
}

/* Reads everything that a field points to: a sanitizer sees what is not in the block. */
static size_t touch_field(const struct json_field *f, const char *base)
{
	const char *at = base + f->offset, *array;
	size_t sum = 0, each;
	uint32_t n;

	switch ((enum json_kind)f->kind) {
	case JSON_KIND_STR:
	case JSON_KIND_RAW: return touch_text(*(const char *const *)(const void *)at);
	case JSON_KIND_INSIDE: return touch(f->sub, base);
	case JSON_KIND_STRUCT: return touch(f->sub, at);
	case JSON_KIND_ARRAY:
	case JSON_KIND_STRS:
	case JSON_KIND_PAIRS:
	case JSON_KIND_AMOUNTS: break;
	default: return 0;
	}
	array = *(const char *const *)(const void *)at;
	memcpy(&n, base + f->count_offset, sizeof(n));
	each = f->kind == JSON_KIND_ARRAY  ? f->sub->size
	       : f->kind == JSON_KIND_STRS ? sizeof(char *)
	                                   : sizeof(struct json_pair);
	for (uint32_t i = 0; i < n; i++, array += each) {
		if (f->kind == JSON_KIND_ARRAY) {
			sum += touch(f->sub, array);
			continue;
		}
		assert(*(const char *const *)(const void *)array);
		sum += touch_text(*(const char *const *)(const void *)array);
		if (f->kind == JSON_KIND_PAIRS)
			sum += touch_text(((const struct json_pair *)(const void *)array)->value);
	}
	return sum;
}

static size_t touch(const struct json_type *type, const char *base)
{
	size_t sum = 0;

	for (size_t i = 0; i < type->n_fields; i++)
		sum += touch_field(&type->fields[i], base);
	return sum;
}

static void decode_all(yyjson_val *value)
{
	struct json_scratch scratch = { 0 };

	for (size_t kind = 0; kind < ARRAY_LEN(types); kind++) {
		struct err err = { 0 };
		void *object = NULL;
		size_t len = 0;
		int r = kube_decode((enum kube_kind)kind, value, &scratch, &object, &len, &err);

		assert((r == 0) == (object != NULL));
		assert(r == 0 || (r < 0 && err.code == r && err.text[0]));
		if (r == 0)
			assert(len >= types[kind]->size && touch(types[kind], object) < (size_t)64 << 20);
		free(object);
	}
	json_scratch_done(&scratch);
}

static int count_member(void *arg, const char *key, yyjson_val *value, struct err *err)
{
	(void)arg;
	(void)value;
	(void)err;
	assert(strcmp(key, "items") != 0);
	return 0;
}

static int count_item(void *arg, size_t i, yyjson_val *value, struct err *err)
{
	(void)i;
	(void)err;
	assert(value);
	++*(size_t *)arg;
	return 0;
}

/* Items of all members of that name, -1 when one is neither an array nor null. */
static long items_of(yyjson_val *root)
{
	size_t i, n;
	yyjson_val *key, *value;
	long sum = 0;

	yyjson_obj_foreach(root, i, n, key, value)
	{
		if (strcmp(yyjson_get_str(key), "items") != 0)
			continue;
		if (!yyjson_is_arr(value) && !yyjson_is_null(value))
			return -1;
		sum += (long)yyjson_arr_size(value);
	}
	return sum;
}

static void walk(struct json_parser *p, const uint8_t *data, size_t size)
{
	static const struct json_list_calls calls = { count_member, count_item };
	_cleanup_free_ char *text = mem_alloc(size + YYJSON_PADDING_SIZE);
	struct err err = { 0 };
	yyjson_doc *doc;
	size_t n = 0;
	long expected;
	int r;

	memcpy(text, data, size);
	r = json_list_walk(p, text, size, "items", &calls, &n, &err);
	assert(r == 0 || (r < 0 && err.text[0]));
	if (json_parse_copy((const char *)data, size, &doc, NULL) < 0) {
		assert(r < 0);
		return;
	}
	expected = items_of(yyjson_doc_get_root(doc));
	if (yyjson_is_obj(yyjson_doc_get_root(doc)) && expected >= 0)
		assert(r == 0 && n == (size_t)expected);
	else
		assert(r < 0);
	yyjson_doc_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(json_parser_freep) struct json_parser *p = json_parser_new();
	_cleanup_free_ char *copy = mem_dup(data, size);
	struct err err = { 0 };
	yyjson_doc *doc;
	int r = json_parse(p, copy, size, false, &doc, &err);

	assert(r == 0 || (r < 0 && err.text[0]));
	if (r == 0)
		decode_all(yyjson_doc_get_root(doc));
	walk(p, data, size);
	return 0;
}
