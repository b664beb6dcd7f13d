/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/decode_types.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/obj.h"
#include "lite/scalars.h"

#define PATH_MAX_BYTES 4096
#define FIELDS_MAX 64

void type_walk_init(struct type_walk *w, yyjson_mut_doc *doc)
{
	*w = (struct type_walk) {
		.doc = doc, .report = true, .path = BUF(PATH_MAX_BYTES), .error = BUF(PATH_MAX_BYTES)
	};
}

void type_walk_done(struct type_walk *w)
{
	for (size_t i = 0; i < w->n_strict; i++)
		free(w->strict[i]);
	buf_done(&w->path);
	buf_done(&w->error);
}

/* ----------------------------------------------------------------------------------------------------------- paths */

static size_t enter(struct type_walk *w, const char *name)
{
	size_t before = w->path.len;

	if (before)
		buf_add_char(&w->path, '.');
	buf_add_str(&w->path, name);
	return before;
}

static size_t enter_index(struct type_walk *w, size_t i)
{
	size_t before = w->path.len;

	buf_printf(&w->path, "[%zu]", i);
	return before;
}

static void leave(struct type_walk *w, size_t before)
{
	if (w->path.data && w->path.len > before) {
		w->path.len = before;
		w->path.data[before] = '\0';
	}
	w->path.error = 0;
}

static void report(struct type_walk *w, const char *what, const char *name)
{
	if (w->report && w->n_strict < STRICT_ERRORS_MAX)
		w->strict[w->n_strict++] =
		        str_printf("%s field \"%s%s%s\"", what, buf_text(&w->path), w->path.len ? "." : "", name);
}

/* -------------------------------------------------------------------------------------------------------- refusals */

static void add_go_type(struct buf *out, const struct type *t)
{
	static const char *const names[] = {
		[TYPE_STRING] = "string",
		[TYPE_INT32] = "int32",
		[TYPE_INT64] = "int64",
		[TYPE_NUMBER] = "float64",
		[TYPE_BOOL] = "bool",
		[TYPE_TIME] = "v1.Time",
		[TYPE_MICROTIME] = "v1.MicroTime",
		[TYPE_QUANTITY] = "resource.Quantity",
		[TYPE_INT_OR_STRING] = "intstr.IntOrString",
		[TYPE_BYTES] = "[]uint8",
		[TYPE_ANY] = "interface {}",
	};

	if (t->kind == TYPE_STRUCT)
		buf_printf(out, "v1.%s", str_or(t->name, ""));
	else if (t->kind == TYPE_LIST || t->kind == TYPE_MAP) {
		buf_add_str(out, t->kind == TYPE_LIST ? "[]" : "map[string]");
		add_go_type(out, t->elem);
	} else
		buf_add_str(out, names[t->kind]);
}

/* "json: cannot unmarshal string into Go struct field PodSpec.spec.activeDeadlineSeconds of type int64" */
static void wrong_type(struct type_walk *w, const struct type *owner, const struct type *t, yyjson_mut_val *v)
{
	static const char *const words[] = { [YYJSON_TYPE_BOOL] = "bool",
		                             [YYJSON_TYPE_NUM] = "number",
		                             [YYJSON_TYPE_STR] = "string",
		                             [YYJSON_TYPE_ARR] = "array",
		                             [YYJSON_TYPE_OBJ] = "object" };

	if (w->error.len)
		return;
	buf_printf(&w->error, "json: cannot unmarshal %s", str_or(words[yyjson_mut_get_type(v)], "null"));
	if (yyjson_mut_is_num(v) && (t->kind == TYPE_INT32 || t->kind == TYPE_INT64)) {
		buf_add_char(&w->error, ' ');
		obj_add_text(&w->error, v);
	}
	buf_printf(&w->error, " into Go struct field %s.", owner && owner->name ? owner->name : "");
	for (const char *p = buf_text(&w->path); *p; p++) {
		if (*p == '[')
			p += strcspn(p, "]");
		else
			buf_add_char(&w->error, *p);
	}
	buf_add_str(&w->error, " of type ");
	add_go_type(&w->error, t);
}

/* ---------------------------------------------------------------------------------------------------------- values */

static void walk(struct type_walk *w, const struct type *owner, const struct type *t, yyjson_mut_val *v);

/* What a value that was not given is written as. */
static yyjson_mut_val *zero(struct type_walk *w, const struct field *f)
{
	yyjson_mut_val *v;

	if (f->pointer)
		return yyjson_mut_null(w->doc);
	switch (f->type->kind) {
	case TYPE_STRING: return yyjson_mut_str(w->doc, "");
	case TYPE_INT32:
	case TYPE_INT64:
	case TYPE_NUMBER:
	case TYPE_INT_OR_STRING: return yyjson_mut_sint(w->doc, 0);
	case TYPE_BOOL: return yyjson_mut_bool(w->doc, false);
	case TYPE_QUANTITY: return yyjson_mut_str(w->doc, "0");
	case TYPE_STRUCT:
		v = yyjson_mut_obj(w->doc);
		walk(w, NULL, f->type, v);
		return v;
	default: return yyjson_mut_null(w->doc);
	}
}

static bool is_zero(yyjson_mut_val *v)
{
	switch (yyjson_mut_get_type(v)) {
	case YYJSON_TYPE_NULL: return true;
	case YYJSON_TYPE_BOOL: return !yyjson_mut_get_bool(v);
	case YYJSON_TYPE_NUM: return yyjson_mut_get_num(v) == 0;
	case YYJSON_TYPE_STR: return yyjson_mut_get_len(v) == 0;
	default: return obj_size(v) == 0;
	}
}

static void walk_int(struct type_walk *w, const struct type *owner, const struct type *t, yyjson_mut_val *v)
{
	int64_t n = yyjson_mut_get_sint(v);

	if (!yyjson_mut_is_int(v) || (yyjson_mut_is_uint(v) && yyjson_mut_get_uint(v) > INT64_MAX) ||
	    (t->kind == TYPE_INT32 && (n < INT32_MIN || n > INT32_MAX)))
		wrong_type(w, owner, t, v);
}

static void walk_text(struct type_walk *w, const struct type *owner, const struct type *t, yyjson_mut_val *v)
{
	char text[SCALAR_TEXT_MAX] = "", why[SCALAR_WHY_MAX];
	_cleanup_free_ char *number = NULL;
	const char *given = yyjson_mut_get_str(v);
	int r;

	if (t->kind == TYPE_QUANTITY && yyjson_mut_is_num(v))
		given = number = obj_text(v, NULL);
	if (!given) {
		wrong_type(w, owner, t, v);
		return;
	}
	r = t->kind == TYPE_QUANTITY ? quantity_canonical(given, text, why)
	                             : time_canonical(given, t->kind == TYPE_MICROTIME, text, why);
	if (r < 0) {
		if (!w->error.len)
			buf_add_str(&w->error, why);
		return;
	}
	if (!str_eq(text, given) || number) {
		yyjson_mut_val *copy = yyjson_mut_strcpy(w->doc, text);

		yyjson_mut_set_str(v, yyjson_mut_get_str(copy));
	}
}

static void walk_list(struct type_walk *w, const struct type *owner, const struct type *t, yyjson_mut_val *v)
{
	struct field elem = { .type = t->elem };
	size_t i = 0;

	if (!yyjson_mut_is_arr(v)) {
		wrong_type(w, owner, t, v);
		return;
	}
	ARR_EACH (item, v) {
		size_t before = enter_index(w, i++);

		if (yyjson_mut_is_null(item) && !t->schema) {
			/* null in a list is the element's zero value */
			yyjson_mut_val *z = zero(w, &elem);
			yyjson_mut_val *next = item->next;

			*item = *z;
			item->next = next;
		} else {
			walk(w, owner, t->elem, item);
		}
		leave(w, before);
	}
}

static void walk_map(struct type_walk *w, const struct type *owner, const struct type *t, yyjson_mut_val *v)
{
	if (!yyjson_mut_is_obj(v)) {
		wrong_type(w, owner, t, v);
		return;
	}
	OBJ_EACH (key, val, v) {
		size_t before = enter(w, yyjson_mut_get_str(key));

		if (!yyjson_mut_is_null(val) || t->schema)
			walk(w, owner, t->elem, val);
		else if (t->elem->kind == TYPE_STRING)
			yyjson_mut_set_str(val, "");
		leave(w, before);
	}
}

/* Members in the order of the type; what is zero left out, what is always written filled in. */
static void walk_struct(struct type_walk *w, const struct type *owner, const struct type *t, yyjson_mut_val *v)
{
	yyjson_mut_val *keys[FIELDS_MAX] = { 0 }, *vals[FIELDS_MAX] = { 0 };

	assert(t->n_fields <= FIELDS_MAX);
	if (!yyjson_mut_is_obj(v)) {
		wrong_type(w, owner, t, v);
		return;
	}
	OBJ_EACH (key, val, v) {
		const struct field *f = type_field(t, yyjson_mut_get_str(key), yyjson_mut_get_len(key));
		size_t at = f ? (size_t)(f - t->fields) : 0;

		if (!f || keys[at])
			report(w, f ? "duplicate" : "unknown", yyjson_mut_get_str(key));
		if (f) {
			keys[at] = key;
			vals[at] = val;
		}
	}
	yyjson_mut_obj_clear(v);
	for (size_t i = 0; i < t->n_fields; i++) {
		const struct field *f = &t->fields[i];
		size_t before;

		if (vals[i] && yyjson_mut_is_null(vals[i]))
			vals[i] = NULL;
		if (vals[i]) {
			before = enter(w, f->name);
			walk(w, t, f->type, vals[i]);
			leave(w, before);
		}
		if (vals[i] && !f->pointer && !f->always && is_zero(vals[i]))
			continue;
		if (!vals[i] && !f->always)
			continue;
		yyjson_mut_obj_add(v, keys[i] ? keys[i] : yyjson_mut_str(w->doc, f->name),
		                   vals[i] ? vals[i] : zero(w, f));
	}
}

/* Custom resources: only pruned, order and zeros are theirs; types are the schema's business. */
static void walk_custom_struct(struct type_walk *w, const struct type *t, yyjson_mut_val *v)
{
	yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(v);
	yyjson_mut_val *key, *val;

	while ((key = yyjson_mut_obj_iter_next(&it))) {
		const char *name = yyjson_mut_get_str(key);
		const struct field *f = type_field(t, name, yyjson_mut_get_len(key));
		size_t before;

		val = yyjson_mut_obj_iter_get_val(key);
		if (!f && !t->keep_unknown) {
			report(w, "unknown", name);
			yyjson_mut_obj_iter_remove(&it);
		} else if (f && !yyjson_mut_is_null(val)) {
			before = enter(w, name);
			walk(w, t, f->type, val);
			leave(w, before);
		}
	}
}

static bool shape_fits(const struct type *t, yyjson_mut_val *v)
{
	return t->kind == TYPE_LIST ? yyjson_mut_is_arr(v) : yyjson_mut_is_obj(v);
}

static void walk(struct type_walk *w, const struct type *owner, const struct type *t, yyjson_mut_val *v)
{
	char why[SCALAR_WHY_MAX];

	if (w->error.len)
		return;
	if (t->schema) {
		if ((t->kind != TYPE_STRUCT && t->kind != TYPE_LIST && t->kind != TYPE_MAP) || !shape_fits(t, v))
			return;
		if (t->kind == TYPE_STRUCT) {
			walk_custom_struct(w, t, v);
			return;
		}
	}
	switch (t->kind) {
	case TYPE_STRING:
		if (!yyjson_mut_is_str(v))
			wrong_type(w, owner, t, v);
		break;
	case TYPE_INT32:
	case TYPE_INT64: walk_int(w, owner, t, v); break;
	case TYPE_NUMBER:
		if (!yyjson_mut_is_num(v))
			wrong_type(w, owner, t, v);
		break;
	case TYPE_BOOL:
		if (!yyjson_mut_is_bool(v))
			wrong_type(w, owner, t, v);
		break;
	case TYPE_TIME:
	case TYPE_MICROTIME:
	case TYPE_QUANTITY: walk_text(w, owner, t, v); break;
	case TYPE_INT_OR_STRING:
		if (!yyjson_mut_is_str(v) && !yyjson_mut_is_int(v))
			wrong_type(w, owner, t, v);
		break;
	case TYPE_BYTES:
		if (!yyjson_mut_is_str(v))
			wrong_type(w, owner, t, v);
		else if (base64_check(yyjson_mut_get_str(v), yyjson_mut_get_len(v), why) < 0)
			buf_add_str(&w->error, why);
		break;
	case TYPE_ANY: break;
	case TYPE_STRUCT: walk_struct(w, owner, t, v); break;
	case TYPE_LIST: walk_list(w, owner, t, v); break;
	case TYPE_MAP: walk_map(w, owner, t, v); break;
	}
}

void type_walk_object(struct type_walk *w, const struct type *t, yyjson_mut_val *v)
{
	walk(w, NULL, t, v);
}

/* ----------------------------------------------------------------------------------------------------------- order */

static void order_struct(yyjson_mut_doc *doc, const struct type *t, yyjson_mut_val *v)
{
	yyjson_mut_val *keys[FIELDS_MAX] = { 0 }, *vals[FIELDS_MAX] = { 0 };
	size_t last = 0;
	bool ordered = true;

	OBJ_EACH (key, val, v) {
		const struct field *f = type_field(t, yyjson_mut_get_str(key), yyjson_mut_get_len(key));
		size_t at = f ? (size_t)(f - t->fields) : 0;

		assert(f);
		ordered = ordered && at >= last;
		last = at;
		keys[at] = key;
		vals[at] = val;
		type_order(doc, f->type, val);
	}
	if (ordered)
		return;
	yyjson_mut_obj_clear(v);
	for (size_t i = 0; i < t->n_fields; i++)
		if (keys[i])
			yyjson_mut_obj_add(v, keys[i], vals[i]);
}

void type_order(yyjson_mut_doc *doc, const struct type *t, yyjson_mut_val *v)
{
	if (t->schema)
		return;
	if (t->kind == TYPE_STRUCT) {
		order_struct(doc, t, v);
	} else if (t->kind == TYPE_LIST && t->elem->kind == TYPE_STRUCT) {
		ARR_EACH (item, v)
			type_order(doc, t->elem, item);
	}
}
