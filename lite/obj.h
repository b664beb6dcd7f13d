/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Small words for working on JSON objects: yyjson's mutable values for what is being changed, its immutable ones
 * (json/json.h) for what is only read. All of them take NULL and give NULL, so that a path can be walked without
 * checks. Keys and strings that are set are copied into the document, except where a name says `lit` (a literal that
 * outlives it).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/mem.h"

static inline void mut_doc_freep(yyjson_mut_doc **doc)
{
	yyjson_mut_doc_free(*doc);
}
#define _cleanup_mut_doc_ _cleanup_(mut_doc_freep)

static inline void doc_freep(yyjson_doc **doc)
{
	yyjson_doc_free(*doc);
}
#define _cleanup_doc_ _cleanup_(doc_freep)

yyjson_mut_doc *obj_doc(void); /* an empty document with an empty object as its root */
yyjson_mut_doc *obj_doc_of(yyjson_val *value);         /* a copy to change */
yyjson_mut_doc *obj_doc_of_mut(yyjson_mut_val *value); /* a copy to change */
yyjson_mut_doc *obj_parse(const char *text);           /* for literals and tests: NULL when it is no JSON */

/* Reading. */
yyjson_mut_val *obj_get(yyjson_mut_val *obj, const char *key);
yyjson_mut_val *obj_at_(yyjson_mut_val *obj, const char *const *path);
#define obj_at(obj, ...) obj_at_(obj, (const char *const[]) { __VA_ARGS__, NULL })
yyjson_val *val_at_(yyjson_val *obj, const char *const *path);
#define val_at(obj, ...) val_at_(obj, (const char *const[]) { __VA_ARGS__, NULL })
const char *obj_str(yyjson_mut_val *v); /* NULL when no string */
int64_t obj_int(yyjson_mut_val *v, int64_t otherwise);
bool obj_bool(yyjson_mut_val *v, bool otherwise);
bool obj_is_set(yyjson_mut_val *v); /* there, and not null */
size_t obj_size(yyjson_mut_val *v); /* members or elements; 0 for anything else */

/* Same JSON value: members in any order, numbers by value. */
bool obj_equal(yyjson_mut_val *a, yyjson_mut_val *b);

/* Writing. A member that is there is replaced where it stands, else appended. `value` must belong to `doc` and be in no
 * other container. */
void obj_set(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, yyjson_mut_val *value);
void obj_set_str(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, const char *value);
void obj_set_int(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, int64_t value);
void obj_set_bool(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, bool value);
void obj_set_null(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key);
void obj_set_copy(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, yyjson_mut_val *value); /* NULL: drops */
yyjson_mut_val *obj_make(yyjson_mut_doc *doc, yyjson_mut_val *obj,
                         const char *key); /* the member object, made if need be */
yyjson_mut_val *obj_make_arr(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key); /* the same for an array */
yyjson_mut_val *obj_drop(yyjson_mut_val *obj, const char *key); /* removes; what was there */
yyjson_mut_val *obj_copy(yyjson_mut_doc *doc, yyjson_mut_val *value);
void obj_sort(yyjson_mut_doc *doc, yyjson_mut_val *obj); /* members by name, bytewise */

/* Compact JSON text; the caller frees. */
char *obj_text(yyjson_mut_val *v, size_t *ret_len);
void obj_add_text(struct buf *out, yyjson_mut_val *v);
void obj_add_quoted(struct buf *out, const char *s); /* a JSON string, quotes included */

/* Walking; NULL and values of another type are empty. Nested walks need different names for val. */
#define OBJ_EACH(key, val, from)                                                                                       \
	for (yyjson_mut_obj_iter val##_it = yyjson_mut_obj_iter_with(from); val##_it.obj; val##_it.obj = NULL)         \
		for (yyjson_mut_val * key, *val;                                                                       \
		     (key = yyjson_mut_obj_iter_next(&val##_it)) && (val = yyjson_mut_obj_iter_get_val(key));)
#define ARR_EACH(val, from)                                                                                            \
	for (yyjson_mut_arr_iter val##_it = yyjson_mut_arr_iter_with(from); val##_it.arr; val##_it.arr = NULL)         \
		for (yyjson_mut_val * val; (val = yyjson_mut_arr_iter_next(&val##_it));)
