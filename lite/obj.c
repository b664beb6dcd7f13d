/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/obj.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

yyjson_mut_doc *obj_doc(void)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);

	yyjson_mut_doc_set_root(doc, yyjson_mut_obj(doc));
	return doc;
}

yyjson_mut_doc *obj_doc_of(yyjson_val *value)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);

	yyjson_mut_doc_set_root(doc, yyjson_val_mut_copy(doc, value));
	return doc;
}

yyjson_mut_doc *obj_doc_of_mut(yyjson_mut_val *value)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);

	yyjson_mut_doc_set_root(doc, yyjson_mut_val_mut_copy(doc, value));
	return doc;
}

yyjson_mut_doc *obj_parse(const char *text)
{
	_cleanup_doc_ yyjson_doc *doc = yyjson_read(text, strlen(text), 0);

	return doc ? obj_doc_of(yyjson_doc_get_root(doc)) : NULL;
}

yyjson_mut_val *obj_get(yyjson_mut_val *obj, const char *key)
{
	return yyjson_mut_obj_get(obj, key);
}

yyjson_mut_val *obj_at_(yyjson_mut_val *obj, const char *const *path)
{
	for (; obj && *path; path++)
		obj = yyjson_mut_obj_get(obj, *path);
	return obj;
}

yyjson_val *val_at_(yyjson_val *obj, const char *const *path)
{
	for (; obj && *path; path++)
		obj = yyjson_obj_get(obj, *path);
	return obj;
}

const char *obj_str(yyjson_mut_val *v)
{
	return yyjson_mut_get_str(v);
}

int64_t obj_int(yyjson_mut_val *v, int64_t otherwise)
{
	return yyjson_mut_is_int(v) ? yyjson_mut_get_sint(v) : otherwise;
}

bool obj_bool(yyjson_mut_val *v, bool otherwise)
{
	return yyjson_mut_is_bool(v) ? yyjson_mut_get_bool(v) : otherwise;
}

bool obj_is_set(yyjson_mut_val *v)
{
	return v && !yyjson_mut_is_null(v);
}

size_t obj_size(yyjson_mut_val *v)
{
	return yyjson_mut_is_obj(v) ? yyjson_mut_obj_size(v) : yyjson_mut_arr_size(v);
}

/* ------------------------------------------------------------------------------------------------------- comparing */

static bool members_equal(yyjson_mut_val *a, yyjson_mut_val *b)
{
	yyjson_mut_obj_iter in_b = yyjson_mut_obj_iter_with(b);

	if (yyjson_mut_obj_size(a) != yyjson_mut_obj_size(b))
		return false;
	OBJ_EACH (key, val, a) {
		/* The iterator looks on from where it was: linear for members in the same order. */
		yyjson_mut_val *other =
		        yyjson_mut_obj_iter_getn(&in_b, yyjson_mut_get_str(key), yyjson_mut_get_len(key));

		if (!other || !obj_equal(val, other))
			return false;
	}
	return true;
}

static bool elements_equal(yyjson_mut_val *a, yyjson_mut_val *b)
{
	yyjson_mut_arr_iter in_b = yyjson_mut_arr_iter_with(b);

	if (yyjson_mut_arr_size(a) != yyjson_mut_arr_size(b))
		return false;
	ARR_EACH (val, a) {
		if (!obj_equal(val, yyjson_mut_arr_iter_next(&in_b)))
			return false;
	}
	return true;
}

static bool numbers_equal(yyjson_mut_val *a, yyjson_mut_val *b)
{
	if (yyjson_mut_is_int(a) && yyjson_mut_is_int(b))
		return yyjson_mut_get_subtype(a) == yyjson_mut_get_subtype(b)
		               ? yyjson_mut_get_uint(a) == yyjson_mut_get_uint(b)
		               : yyjson_mut_get_uint(a) == yyjson_mut_get_uint(b) && yyjson_mut_get_sint(a) >= 0;
	return yyjson_mut_get_num(a) == yyjson_mut_get_num(b);
}

bool obj_equal(yyjson_mut_val *a, yyjson_mut_val *b)
{
	if (!a || !b)
		return a == b;
	if (yyjson_mut_get_type(a) != yyjson_mut_get_type(b))
		return false;
	switch (yyjson_mut_get_type(a)) {
	case YYJSON_TYPE_OBJ: return members_equal(a, b);
	case YYJSON_TYPE_ARR: return elements_equal(a, b);
	case YYJSON_TYPE_NUM: return numbers_equal(a, b);
	case YYJSON_TYPE_BOOL: return yyjson_mut_get_bool(a) == yyjson_mut_get_bool(b);
	case YYJSON_TYPE_STR: return yyjson_mut_equals_strn(a, yyjson_mut_get_str(b), yyjson_mut_get_len(b));
	default: return true;
	}
}

/* -------------------------------------------------------------------------------------------------------- changing */

void obj_set(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, yyjson_mut_val *value)
{
	yyjson_mut_val *k = yyjson_mut_strcpy(doc, key);

	if (!yyjson_mut_obj_replace(obj, k, value))
		yyjson_mut_obj_add(obj, k, value);
}

void obj_set_str(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, const char *value)
{
	obj_set(doc, obj, key, yyjson_mut_strcpy(doc, value));
}

void obj_set_int(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, int64_t value)
{
	obj_set(doc, obj, key, yyjson_mut_sint(doc, value));
}

void obj_set_bool(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, bool value)
{
	obj_set(doc, obj, key, yyjson_mut_bool(doc, value));
}

void obj_set_null(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key)
{
	obj_set(doc, obj, key, yyjson_mut_null(doc));
}

void obj_set_copy(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, yyjson_mut_val *value)
{
	if (value)
		obj_set(doc, obj, key, yyjson_mut_val_mut_copy(doc, value));
	else
		obj_drop(obj, key);
}

yyjson_mut_val *obj_make(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key)
{
	yyjson_mut_val *v = yyjson_mut_obj_get(obj, key);

	if (!yyjson_mut_is_obj(v)) {
		v = yyjson_mut_obj(doc);
		obj_set(doc, obj, key, v);
	}
	return v;
}

yyjson_mut_val *obj_make_arr(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key)
{
	yyjson_mut_val *v = yyjson_mut_obj_get(obj, key);

	if (!yyjson_mut_is_arr(v)) {
		v = yyjson_mut_arr(doc);
		obj_set(doc, obj, key, v);
	}
	return v;
}

yyjson_mut_val *obj_drop(yyjson_mut_val *obj, const char *key)
{
	return obj ? yyjson_mut_obj_remove_key(obj, key) : NULL;
}

yyjson_mut_val *obj_copy(yyjson_mut_doc *doc, yyjson_mut_val *value)
{
	return yyjson_mut_val_mut_copy(doc, value);
}

struct member {
	yyjson_mut_val *key, *val;
};

static int compare_members(const void *a, const void *b)
{
	return strcmp(yyjson_mut_get_str(((const struct member *)a)->key),
	              yyjson_mut_get_str(((const struct member *)b)->key));
}

void obj_sort(yyjson_mut_doc *doc, yyjson_mut_val *obj)
{
	size_t n = yyjson_mut_obj_size(obj), i = 0;
	_cleanup_free_ struct member *members = NULL;

	(void)doc;
	if (n < 2)
		return;
	members = mem_alloc_n(n, sizeof(*members));
	OBJ_EACH (key, val, obj)
		members[i++] = (struct member) { key, val };
	qsort(members, n, sizeof(*members), compare_members);
	yyjson_mut_obj_clear(obj);
	for (i = 0; i < n; i++)
		yyjson_mut_obj_add(obj, members[i].key, members[i].val);
}

/* ------------------------------------------------------------------------------------------------------------ text */

char *obj_text(yyjson_mut_val *v, size_t *ret_len)
{
	/* Invalid UTF-8 cannot come in through the parser; what our own code sets is text. */
	return yyjson_mut_val_write(v, YYJSON_WRITE_ALLOW_INVALID_UNICODE, ret_len);
}

void obj_add_text(struct buf *out, yyjson_mut_val *v)
{
	size_t len = 0;
	_cleanup_free_ char *text = obj_text(v, &len);

	buf_add(out, text, len);
}

void obj_add_quoted(struct buf *out, const char *s)
{
	buf_add_char(out, '"');
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\') {
			buf_add_char(out, '\\');
			buf_add_char(out, (char)c);
		} else if (c == '\n') {
			buf_add_str(out, "\\n");
		} else if (c == '\t') {
			buf_add_str(out, "\\t");
		} else if (c == '\r') {
			buf_add_str(out, "\\r");
		} else if (c < 0x20) {
			buf_printf(out, "\\u%04x", c);
		} else {
			buf_add_char(out, (char)c);
		}
	}
	buf_add_char(out, '"');
}
