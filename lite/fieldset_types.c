/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Walks over values by their type: what is one value, what merges member by member, what element by element. Structs
 * and maps merge unless they are atomic; lists only when they are sets or have keys; custom resources' free parts merge
 * as maps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/fieldset.h"
#include "lite/obj.h"

#define NAME_MAX_BYTES (64u << 10)

static const struct type free_part = { .kind = TYPE_ANY, .schema = "" };

static bool merges_as_map(const struct type *t)
{
	return ((t->kind == TYPE_STRUCT || t->kind == TYPE_MAP) && t->merge != MERGE_ATOMIC) ||
	       (t->kind == TYPE_ANY && t->schema);
}

static bool merges_as_list(const struct type *t)
{
	return t->kind == TYPE_LIST && t->merge != MERGE_ATOMIC;
}

static bool is_zero(yyjson_mut_val *v)
{
	switch (yyjson_mut_get_type(v)) {
	case YYJSON_TYPE_NULL: return true;
	case YYJSON_TYPE_BOOL: return !yyjson_mut_get_bool(v);
	case YYJSON_TYPE_NUM: return yyjson_mut_get_num(v) == 0;
	case YYJSON_TYPE_STR: return yyjson_mut_get_len(v) == 0 || yyjson_mut_equals_str(v, "0");
	default: return obj_size(v) == 0;
	}
}

static bool is_named(const struct type *t, const char *name)
{
	return t->kind == TYPE_STRUCT && type_field(t, name, strlen(name));
}

static const struct type *member_type(const struct type *t, const char *name)
{
	const struct field *f = t->kind == TYPE_STRUCT ? type_field(t, name, strlen(name)) : NULL;

	if (f)
		return f->type;
	return t->kind == TYPE_MAP ? t->elem : &free_part;
}

static char *member_name(const char *name)
{
	size_t len = strlen(name);
	char *text = mem_alloc(len + 3);

	memcpy(text, "f:", 2);
	memcpy(text + 2, name, len);
	return text;
}

static int compare_words(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A key that an element leaves out counts as its default. */
static void add_key(struct buf *out, const struct type *elem, yyjson_mut_val *item, const char *key)
{
	const struct field *f = elem->kind == TYPE_STRUCT ? type_field(elem, key, strlen(key)) : NULL;
	yyjson_mut_val *v = obj_get(item, key);

	obj_add_quoted(out, key);
	buf_add_char(out, ':');
	if (yyjson_mut_is_str(v))
		obj_add_quoted(out, yyjson_mut_get_str(v));
	else if (v)
		obj_add_text(out, v);
	else
		buf_add_str(out, f && f->fallback ? f->fallback : "null");
}

/* `k:{"name":"c"}` or `v:"x"`: the element's name in a set of fields. */
static char *item_name(const struct type *list, yyjson_mut_val *item)
{
	_cleanup_buf_ struct buf out = BUF(NAME_MAX_BYTES);
	const char *keys[TYPE_KEYS_MAX];
	size_t n = 0;

	if (list->merge == MERGE_SET) {
		buf_add_str(&out, "v:");
		obj_add_text(&out, item);
		return buf_take(&out);
	}
	for (; list->keys[n]; n++)
		keys[n] = list->keys[n];
	qsort(keys, n, sizeof(*keys), compare_words);
	buf_add_str(&out, "k:{");
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_add_char(&out, ',');
		add_key(&out, list->elem, item, keys[i]);
	}
	buf_add_char(&out, '}');
	return buf_take(&out);
}

static yyjson_mut_val *find_item(const struct type *list, yyjson_mut_val *arr, const char *name)
{
	ARR_EACH (item, arr) {
		_cleanup_free_ char *own = item_name(list, item);

		if (str_eq(own, name))
			return item;
	}
	return NULL;
}

/* ------------------------------------------------------------------------------------------------ a value's fields */

static void collect(const struct type *t, yyjson_mut_val *v, struct fields *to)
{
	if (merges_as_map(t)) {
		if (t->kind == TYPE_ANY && !yyjson_mut_is_obj(v))
			to->member = true;
		OBJ_EACH (key, val, v) {
			const char *name = yyjson_mut_get_str(key);
			_cleanup_free_ char *own = member_name(name);
			struct fields *kid = fields_kid(to, own);

			collect(member_type(t, name), val, kid);
			if (!is_named(t, name) || yyjson_mut_is_null(val) || (yyjson_mut_is_obj(val) && !obj_size(val)))
				kid->member = true;
		}
	} else if (merges_as_list(t)) {
		ARR_EACH (item, v) {
			_cleanup_free_ char *own = item_name(t, item);
			struct fields *kid = fields_kid(to, own);

			collect(t->elem, item, kid);
			kid->member = true;
		}
	} else {
		to->member = true;
	}
}

struct fields *fields_of(const struct type *t, yyjson_mut_val *v)
{
	struct fields *f = fields_new();

	if (v)
		collect(t, v, f);
	f->member = false;
	return f;
}

/* ------------------------------------------------------------------------------------------------------- comparing */

void fields_diff_done(struct fields_diff *d)
{
	fields_free(d->added);
	fields_free(d->modified);
	fields_free(d->removed);
	*d = (struct fields_diff) { 0 };
}

static void compare(const struct type *t, yyjson_mut_val *old, yyjson_mut_val *new, struct fields_diff *to);

/* Everything in a value that is only on one side. */
static void add_all(const struct type *t, yyjson_mut_val *v, struct fields *to)
{
	to->member = true;
	if (merges_as_map(t)) {
		OBJ_EACH (key, val, v) {
			_cleanup_free_ char *own = member_name(yyjson_mut_get_str(key));

			add_all(member_type(t, yyjson_mut_get_str(key)), val, fields_kid(to, own));
		}
	} else if (merges_as_list(t)) {
		ARR_EACH (item, v) {
			_cleanup_free_ char *own = item_name(t, item);

			add_all(t->elem, item, fields_kid(to, own));
		}
	}
}

/* One step down, the same in all three sets. */
static void compare_kid(const struct type *t, yyjson_mut_val *old, yyjson_mut_val *new, struct fields_diff *up,
                        const char *name)
{
	struct fields_diff d;

	if (!old) {
		add_all(t, new, fields_kid(up->added, name));
	} else if (!new) {
		add_all(t, old, fields_kid(up->removed, name));
	} else if (!obj_equal(old, new)) {
		d = (struct fields_diff) { fields_kid(up->added, name), fields_kid(up->modified, name),
			                   fields_kid(up->removed, name) };
		compare(t, old, new, &d);
	}
}

static void compare_maps(const struct type *t, yyjson_mut_val *old, yyjson_mut_val *new, struct fields_diff *to)
{
	OBJ_EACH (key, val, old) {
		const char *name = yyjson_mut_get_str(key);
		_cleanup_free_ char *own = member_name(name);

		compare_kid(member_type(t, name), val, obj_get(new, name), to, own);
	}
	OBJ_EACH (key, val, new) {
		const char *name = yyjson_mut_get_str(key);
		_cleanup_free_ char *own = member_name(name);

		if (!obj_get(old, name))
			compare_kid(member_type(t, name), NULL, val, to, own);
	}
}

static void compare_lists(const struct type *t, yyjson_mut_val *old, yyjson_mut_val *new, struct fields_diff *to)
{
	ARR_EACH (item, old) {
		_cleanup_free_ char *own = item_name(t, item);

		compare_kid(t->elem, item, find_item(t, new, own), to, own);
	}
	ARR_EACH (item, new) {
		_cleanup_free_ char *own = item_name(t, item);

		if (!find_item(t, old, own))
			compare_kid(t->elem, NULL, item, to, own);
	}
}

static void compare(const struct type *t, yyjson_mut_val *old, yyjson_mut_val *new, struct fields_diff *to)
{
	bool map = merges_as_map(t) && (yyjson_mut_is_obj(old) || yyjson_mut_is_obj(new));
	bool list = merges_as_list(t) && (yyjson_mut_is_arr(old) || yyjson_mut_is_arr(new));
	/* Empty ones are values like any other: {} and null differ. */
	bool leaf = (!map && !list) || (!obj_size(old) && !obj_size(new));

	if (!leaf && map)
		compare_maps(t, old, new, to);
	if (!leaf && list)
		compare_lists(t, old, new, to);
	if (leaf && !obj_equal(old, new))
		to->modified->member = true;
}

struct fields_diff fields_compare(const struct type *t, yyjson_mut_val *old, yyjson_mut_val *new)
{
	struct fields_diff d = { fields_new(), fields_new(), fields_new() };

	compare(t, old, new, &d);
	d.added->member = d.modified->member = d.removed->member = false;
	fields_trim(d.added);
	fields_trim(d.modified);
	fields_trim(d.removed);
	return d;
}

/* A new object against one with nothing in it, which has what is always written, empty. */
static void add_created(const struct type *t, yyjson_mut_val *v, struct fields *to)
{
	OBJ_EACH (key, val, v) {
		const char *name = yyjson_mut_get_str(key);
		const struct field *f = t->kind == TYPE_STRUCT ? type_field(t, name, strlen(name)) : NULL;
		_cleanup_free_ char *own = member_name(name);

		if (!f || !f->always || t->schema) {
			add_all(member_type(t, name), val, fields_kid(to, own));
		} else if (f->type->kind == TYPE_STRUCT && merges_as_map(f->type)) {
			add_created(f->type, val, fields_kid(to, own));
		} else if (!is_zero(val)) {
			add_all(f->type, val, fields_kid(to, own));
			/* The list itself was there; a single value has changed. */
			fields_kid(to, own)->member = !merges_as_map(f->type) && !merges_as_list(f->type);
		}
	}
}

struct fields *fields_created(const struct type *t, yyjson_mut_val *new)
{
	struct fields *f = fields_new();

	add_created(t, new, f);
	return f;
}

/* ------------------------------------------------------------------------------------------------ named on the way */

static void ensure(const struct type *t, const struct fields *f, struct fields *to)
{
	to->member = to->member || f->member;
	for (size_t i = 0; i < f->n; i++) {
		const char *name = f->kids[i]->name;
		struct fields *kid = fields_kid(to, name);
		const struct type *sub = &free_part;

		if (str_starts(name, "f:")) {
			sub = member_type(t, name + 2);
			kid->member = kid->member || (is_named(t, name + 2) && f->kids[i]->n);
		} else if (t->kind == TYPE_LIST) {
			sub = t->elem;
		}
		ensure(sub, f->kids[i], kid);
	}
}

struct fields *fields_ensure_named(const struct type *t, const struct fields *f)
{
	struct fields *out = fields_new();

	if (f)
		ensure(t, f, out);
	return out;
}

/* -------------------------------------------------------------------------------------------------------- removing */

static yyjson_mut_val *remove_from_map(yyjson_mut_doc *doc, const struct type *t, yyjson_mut_val *v,
                                       const struct fields *gone)
{
	yyjson_mut_val *out = yyjson_mut_obj(doc);

	OBJ_EACH (key, val, v) {
		const char *name = yyjson_mut_get_str(key);
		_cleanup_free_ char *own = member_name(name);
		const struct fields *kid = fields_find(gone, own);
		yyjson_mut_val *left = val;

		if (kid && kid->member)
			continue;
		if (kid && !fields_empty(kid))
			left = fields_remove(doc, member_type(t, name), val, kid);
		obj_set(doc, out, name, left ? obj_copy(doc, left) : yyjson_mut_null(doc));
	}
	return obj_size(out) ? out : NULL;
}

static yyjson_mut_val *remove_from_list(yyjson_mut_doc *doc, const struct type *t, yyjson_mut_val *v,
                                        const struct fields *gone)
{
	yyjson_mut_val *out = yyjson_mut_arr(doc);

	ARR_EACH (item, v) {
		_cleanup_free_ char *own = item_name(t, item);
		const struct fields *kid = fields_find(gone, own);
		yyjson_mut_val *left = item;

		if (kid && kid->member)
			continue;
		if (kid && !fields_empty(kid))
			left = fields_remove(doc, t->elem, item, kid);
		yyjson_mut_arr_append(out, left ? obj_copy(doc, left) : yyjson_mut_null(doc));
	}
	return obj_size(out) ? out : NULL;
}

yyjson_mut_val *fields_remove(yyjson_mut_doc *doc, const struct type *t, yyjson_mut_val *v, const struct fields *gone)
{
	if (merges_as_map(t) && yyjson_mut_is_obj(v))
		return remove_from_map(doc, t, v, gone);
	if (merges_as_list(t) && yyjson_mut_is_arr(v))
		return remove_from_list(doc, t, v, gone);
	return merges_as_map(t) || merges_as_list(t) || t->kind == TYPE_LIST || t->kind == TYPE_MAP ||
	                       t->kind == TYPE_STRUCT
	               ? NULL
	               : v;
}

/* --------------------------------------------------------------------------------------------------------- merging */

static yyjson_mut_val *merge_maps(yyjson_mut_doc *doc, const struct type *t, yyjson_mut_val *live,
                                  yyjson_mut_val *config)
{
	yyjson_mut_val *out = live ? obj_copy(doc, live) : yyjson_mut_obj(doc);

	OBJ_EACH (key, val, config) {
		const char *name = yyjson_mut_get_str(key);

		obj_set(doc, out, name, fields_merge(doc, member_type(t, name), obj_get(out, name), val));
	}
	return out;
}

/* The first element of config, from `item` on, that live has too. */
static yyjson_mut_val *next_shared(const struct type *t, yyjson_mut_val *live, yyjson_mut_val *config,
                                   yyjson_mut_val *item)
{
	bool reached = false;

	ARR_EACH (v, config) {
		_cleanup_free_ char *own = NULL;
		yyjson_mut_val *shared;

		reached = reached || v == item;
		if (!reached)
			continue;
		own = item_name(t, v);
		shared = find_item(t, live, own);
		if (shared)
			return shared;
	}
	return NULL;
}

/* Takes elements that only live has, up to the next one that both have in this order. */
static void take_own(yyjson_mut_doc *doc, const struct type *t, yyjson_mut_val *config, yyjson_mut_arr_iter *in_live,
                     yyjson_mut_val **next, const yyjson_mut_val *until, yyjson_mut_val *out)
{
	for (; *next && *next != until; *next = yyjson_mut_arr_iter_next(in_live)) {
		_cleanup_free_ char *own = item_name(t, *next);

		if (!find_item(t, config, own))
			yyjson_mut_arr_append(out, obj_copy(doc, *next));
	}
}

/* Elements in the order of `config`; those only `live` has keep their place before those both have. */
static yyjson_mut_val *merge_lists(yyjson_mut_doc *doc, const struct type *t, yyjson_mut_val *live,
                                   yyjson_mut_val *config)
{
	yyjson_mut_val *out = yyjson_mut_arr(doc);
	yyjson_mut_arr_iter in_live = yyjson_mut_arr_iter_with(live);
	yyjson_mut_val *next = in_live.arr ? yyjson_mut_arr_iter_next(&in_live) : NULL;

	ARR_EACH (item, config) {
		_cleanup_free_ char *own = item_name(t, item);
		yyjson_mut_val *shared = find_item(t, live, own);

		take_own(doc, t, config, &in_live, &next, next_shared(t, live, config, item), out);
		if (shared && next == shared)
			next = yyjson_mut_arr_iter_next(&in_live);
		yyjson_mut_arr_append(out, fields_merge(doc, t->elem, shared, item));
	}
	take_own(doc, t, config, &in_live, &next, NULL, out);
	return out;
}

yyjson_mut_val *fields_merge(yyjson_mut_doc *doc, const struct type *t, yyjson_mut_val *live, yyjson_mut_val *config)
{
	if (merges_as_map(t) && yyjson_mut_is_obj(config))
		return merge_maps(doc, t, yyjson_mut_is_obj(live) ? live : NULL, config);
	if (merges_as_list(t) && yyjson_mut_is_arr(config))
		return merge_lists(doc, t, yyjson_mut_is_arr(live) ? live : NULL, config);
	return obj_copy(doc, config);
}

/* --------------------------------------------------------------------------------------------------------- unknown */

bool fields_unknown(const struct type *t, yyjson_mut_val *v, char *path, size_t size)
{
	size_t used = strlen(path), i = 0;

	if (t->kind == TYPE_STRUCT || t->kind == TYPE_MAP) {
		OBJ_EACH (key, val, v) {
			const char *name = yyjson_mut_get_str(key);

			snprintf(path + used, size - used, ".%s", name);
			if (t->kind == TYPE_STRUCT && !t->keep_unknown && !is_named(t, name))
				return true;
			if (fields_unknown(member_type(t, name), val, path, size))
				return true;
			path[used] = '\0';
		}
	} else if (t->kind == TYPE_LIST) {
		ARR_EACH (item, v) {
			snprintf(path + used, size - used, "[%zu]", i++);
			if (fields_unknown(t->elem, item, path, size))
				return true;
			path[used] = '\0';
		}
	}
	return false;
}
