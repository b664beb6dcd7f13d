/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Strategic merge: like RFC 7386, but lists whose type has a merge key are merged element by element, and directives in
 * the patch say more ($patch, $retainKeys, $setElementOrder/LIST, $deleteFromPrimitiveList/LIST). Elements of the patch
 * come before those that only the server has, each in their order, and both in the server's order where it knows them.
 *
 * The patch is copied into the object's document first, so that its parts can be moved.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/obj.h"
#include "lite/patches.h"
#include "lite/types.h"

#define MARKER "$patch"
#define RETAIN "$retainKeys"
#define ORDER "$setElementOrder/"
#define DELETE "$deleteFromPrimitiveList/"

struct merger {
	yyjson_mut_doc *doc;
	struct status *st;
};

/* A list under way: elements that are in no container. */
struct items {
	yyjson_mut_val **v;
	size_t n;
};

static void items_done(struct items *l)
{
	free(l->v);
}
#define _cleanup_items_ _cleanup_(items_done)

static void items_add(struct items *l, yyjson_mut_val *v)
{
	l->v = mem_realloc_n(l->v, l->n + 1, sizeof(*l->v));
	l->v[l->n++] = v;
}

static void items_of(struct items *l, yyjson_mut_val *arr)
{
	ARR_EACH (v, arr)
		items_add(l, v);
}

static yyjson_mut_val *items_array(struct merger *m, const struct items *l)
{
	yyjson_mut_val *arr = yyjson_mut_arr(m->doc);

	for (size_t i = 0; i < l->n; i++)
		yyjson_mut_arr_append(arr, l->v[i]);
	return arr;
}

static int merge_map(struct merger *m, const struct type *t, yyjson_mut_val **original, yyjson_mut_val *patch);

/* ---------------------------------------------------------------------------------------------------------- errors */

/* What the real server did not foresee comes back as a bare 500 with the library's words. */
static int no_merge_key(struct merger *m, yyjson_mut_val *item, const char *key)
{
	_cleanup_free_ char *text = obj_text(item, NULL);

	return status_fail(m->st, 500, NULL, NULL, "map: %s does not contain declared merge key: %s", text, key);
}

static int bad_patch_type(struct merger *m, yyjson_mut_val *map)
{
	_cleanup_free_ char *text = obj_text(map, NULL);

	return status_fail(m->st, 500, NULL, NULL, "unknown patch type: %s in map: %s",
	                   str_or(obj_str(obj_get(map, MARKER)), "?"), text);
}

/* ---------------------------------------------------------------------------------------------------------- fields */

/* The type and merge rules of a member; a map's members are all alike. */
static struct field member(const struct type *t, const char *name)
{
	const struct field *f;

	if (t && t->kind == TYPE_STRUCT) {
		f = type_field(t, name, strlen(name));
		return f ? *f : (struct field) { 0 };
	}
	return (struct field) { .type = t && t->kind == TYPE_MAP ? t->elem : NULL };
}

/* Takes directives out of a value that is used as it is; NULL when it was nothing but one. */
static yyjson_mut_val *plain(struct merger *m, yyjson_mut_val *v)
{
	if (yyjson_mut_is_obj(v)) {
		yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(v);
		yyjson_mut_val *key;

		if (obj_get(v, MARKER))
			return NULL;
		while ((key = yyjson_mut_obj_iter_next(&it))) {
			yyjson_mut_val *val = yyjson_mut_obj_iter_get_val(key);

			if (yyjson_mut_is_null(val) || !plain(m, val))
				yyjson_mut_obj_iter_remove(&it);
		}
	} else if (yyjson_mut_is_arr(v)) {
		yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(v);
		yyjson_mut_val *item;

		while ((item = yyjson_mut_arr_iter_next(&it)))
			if (!plain(m, item))
				yyjson_mut_arr_iter_remove(&it);
	}
	return v;
}

static void set_plain(struct merger *m, yyjson_mut_val *obj, const char *name, yyjson_mut_val *v)
{
	v = plain(m, v);
	if (v)
		obj_set(m->doc, obj, name, v);
	else
		obj_drop(obj, name);
}

/* ----------------------------------------------------------------------------------------------------------- lists */

static bool same_item(yyjson_mut_val *a, yyjson_mut_val *b, const char *key)
{
	return key ? obj_equal(obj_get(a, key), obj_get(b, key)) : obj_equal(a, b);
}

static size_t index_of(const struct items *l, yyjson_mut_val *v, const char *key)
{
	size_t i = 0;

	while (i < l->n && !(l->v[i] && same_item(l->v[i], v, key)))
		i++;
	return i;
}

/* Those of `from` that are in `order`, in that order, then the rest. */
static void in_order(struct items *ret, struct items *from, const struct items *order, const char *key)
{
	for (size_t i = 0; i < order->n; i++) {
		size_t at = index_of(from, order->v[i], key);

		if (at < from->n) {
			items_add(ret, from->v[at]);
			from->v[at] = NULL;
		}
	}
	for (size_t i = 0; i < from->n; i++)
		if (from->v[i])
			items_add(ret, from->v[i]);
}

/* Merges the two parts of a list: an element only the server has goes first when the server had it before the other. */
static yyjson_mut_val *arrange(struct merger *m, const struct items *merged, const struct items *patch_order,
                               const struct items *server_order, const char *key)
{
	_cleanup_items_ struct items ours = { 0 }, theirs = { 0 }, left = { 0 }, right = { 0 }, all = { 0 };
	size_t i = 0, j = 0;

	for (size_t n = 0; n < merged->n; n++)
		items_add(index_of(patch_order, merged->v[n], key) < patch_order->n ? &ours : &theirs, merged->v[n]);
	in_order(&right, &ours, patch_order, key);
	in_order(&left, &theirs, server_order, key);
	while (i < left.n || j < right.n) {
		size_t li, ri;

		if (i == left.n || j == right.n) {
			items_add(&all, i < left.n ? left.v[i++] : right.v[j++]);
			continue;
		}
		li = index_of(server_order, left.v[i], key);
		ri = index_of(server_order, right.v[j], key);
		if (ri < server_order->n && li < ri)
			items_add(&all, left.v[i++]);
		else
			items_add(&all, right.v[j++]);
	}
	return items_array(m, &all);
}

static int check_keys(struct merger *m, const struct items *l, const char *key)
{
	for (size_t i = 0; i < l->n; i++)
		if (!obj_get(l->v[i], key))
			return no_merge_key(m, l->v[i], key);
	return 0;
}

/* Elements with a $patch of their own: deletions, or one that says the patch is the whole list. */
static int special_elements(struct merger *m, struct items *original, struct items *patch, const char *key)
{
	_cleanup_items_ struct items rest = { 0 };
	bool replace = false;

	for (size_t i = 0; i < patch->n; i++) {
		const char *what = obj_str(obj_get(patch->v[i], MARKER));

		if (!obj_get(patch->v[i], MARKER)) {
			items_add(&rest, patch->v[i]);
		} else if (str_eq(what, "delete")) {
			size_t at, n = 0;

			if (!obj_get(patch->v[i], key))
				return no_merge_key(m, patch->v[i], key);
			for (at = 0; at < original->n; at++)
				if (!same_item(original->v[at], patch->v[i], key))
					original->v[n++] = original->v[at];
			original->n = n;
		} else if (str_eq(what, "replace")) {
			replace = true;
		} else if (str_eq(what, "merge")) {
			return status_fail(m->st, 500, NULL, NULL,
			                   "merging lists cannot yet be specified in the patch");
		} else {
			return bad_patch_type(m, patch->v[i]);
		}
	}
	if (replace) {
		original->n = 0;
		for (size_t i = 0; i < rest.n; i++)
			items_add(original, rest.v[i]);
		patch->n = 0;
	} else {
		free(patch->v);
		*patch = rest;
		rest = (struct items) { 0 };
	}
	return 0;
}

static int merge_structs(struct merger *m, const struct field *f, struct items *original, const struct items *patch)
{
	int r = check_keys(m, patch, f->merge_key);

	for (size_t i = 0; r == 0 && i < patch->n; i++) {
		size_t at = index_of(original, patch->v[i], f->merge_key);

		if (at == original->n)
			items_add(original, plain(m, patch->v[i]));
		else
			r = merge_map(m, f->type->elem, &original->v[at], patch->v[i]);
	}
	return r;
}

static int check_structs(struct merger *m, const struct field *f, const struct items *patch)
{
	if (!f->merge_key)
		return status_fail(m->st, 500, NULL, NULL, "cannot merge lists without merge key for %s",
		                   str_or(f->type->elem->name, f->name));
	for (size_t i = 0; i < patch->n; i++)
		if (!yyjson_mut_is_obj(patch->v[i]))
			return status_fail(m->st, 500, NULL, NULL, "list element types are not identical");
	return 0;
}

static int merge_list(struct merger *m, const struct field *f, yyjson_mut_val *original, yyjson_mut_val *patch,
                      yyjson_mut_val **ret)
{
	_cleanup_items_ struct items merged = { 0 }, items = { 0 }, server_order = { 0 };
	bool structs = f->type && f->type->elem && f->type->elem->kind == TYPE_STRUCT;
	int r = 0;

	if (!f->patch_merge) {
		*ret = plain(m, patch);
		return 0;
	}
	items_of(&merged, original);
	items_of(&items, patch);
	if (structs) {
		r = check_structs(m, f, &items);
		if (r == 0)
			r = special_elements(m, &merged, &items, f->merge_key);
	}
	for (size_t i = 0; i < merged.n; i++)
		items_add(&server_order, merged.v[i]);
	if (r == 0 && structs)
		r = merge_structs(m, f, &merged, &items);
	if (r < 0)
		return r;
	for (size_t i = 0; !structs && i < items.n; i++)
		if (index_of(&merged, items.v[i], NULL) == merged.n)
			items_add(&merged, items.v[i]);
	*ret = arrange(m, &merged, &items, &server_order, structs ? f->merge_key : NULL);
	return 0;
}

static int delete_from_list(struct merger *m, yyjson_mut_val *obj, const char *name, yyjson_mut_val *gone)
{
	_cleanup_items_ struct items away = { 0 };
	yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(obj_get(obj, name));
	yyjson_mut_val *v;

	if (!yyjson_mut_is_arr(gone))
		return status_bad_request(m->st, "invalid patch format of primitive list");
	items_of(&away, gone);
	while (it.arr && (v = yyjson_mut_arr_iter_next(&it)))
		if (index_of(&away, v, NULL) < away.n)
			yyjson_mut_arr_iter_remove(&it);
	return 0;
}

/* $setElementOrder/NAME: the list is merged here (and taken out of the patch), then brought into the given order. */
static int set_order(struct merger *m, const struct type *t, yyjson_mut_val *original, yyjson_mut_val *patch,
                     const char *name, yyjson_mut_val *order_list)
{
	struct field f = member(t, name);
	yyjson_mut_val *old = obj_get(original, name), *new = obj_drop(patch, name), *list = old ? old : new;
	_cleanup_items_ struct items merged = { 0 }, order = { 0 }, server_order = { 0 };
	const char *key = f.type && f.type->kind == TYPE_LIST && f.type->elem->kind == TYPE_STRUCT ? f.merge_key : NULL;
	int r;

	if (!yyjson_mut_is_arr(order_list) || (new && !yyjson_mut_is_arr(new)))
		return status_bad_request(m->st, "invalid patch format of setElementOrder list");
	if (!list || !yyjson_mut_is_arr(list))
		return 0;
	items_of(&order, order_list);
	items_of(&server_order, old);
	if (old && new) {
		r = merge_list(m, &f, old, new, &list);
		if (r < 0)
			return r;
	} else {
		list = plain(m, list);
	}
	items_of(&merged, list);
	if (key) {
		r = check_keys(m, &order, key);
		r = r < 0 ? r : check_keys(m, &merged, key);
		if (r < 0)
			return r;
	}
	obj_set(m->doc, original, name, arrange(m, &merged, &order, &server_order, key));
	return 0;
}

/* ------------------------------------------------------------------------------------------------------------ maps */

static bool in_list(yyjson_mut_val *list, const char *name)
{
	ARR_EACH (v, list)
		if (str_eq(obj_str(v), name))
			return true;
	return false;
}

/* $retainKeys: members of the original that it does not name go; the patch may set no others. */
static int retain_keys(struct merger *m, yyjson_mut_val *original, yyjson_mut_val *patch)
{
	yyjson_mut_val *retain = obj_drop(patch, RETAIN);
	yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(original);
	yyjson_mut_val *key;

	if (!retain)
		return 0;
	if (!yyjson_mut_is_arr(retain))
		return status_bad_request(m->st, "invalid patch format of retainKeys");
	OBJ_EACH (name, val, patch) {
		const char *s = yyjson_mut_get_str(name);

		if (!yyjson_mut_is_null(val) && !str_starts(s, ORDER) && !str_starts(s, DELETE) && !in_list(retain, s))
			return status_bad_request(m->st, "invalid patch format of retainKeys");
	}
	while ((key = yyjson_mut_obj_iter_next(&it)))
		if (!in_list(retain, yyjson_mut_get_str(key)))
			yyjson_mut_obj_iter_remove(&it);
	return 0;
}

static int merge_member(struct merger *m, const struct type *t, yyjson_mut_val *original, const char *name,
                        yyjson_mut_val *value)
{
	struct field f = member(t, name);
	yyjson_mut_val *old = obj_get(original, name), *new = NULL;
	int r;

	if (yyjson_mut_is_obj(old) && yyjson_mut_is_obj(value) && !f.patch_replace) {
		new = old;
		r = merge_map(m, f.type, &new, value);
	} else if (yyjson_mut_is_arr(old) && yyjson_mut_is_arr(value)) {
		r = merge_list(m, &f, old, value, &new);
	} else {
		set_plain(m, original, name, value);
		return 0;
	}
	if (r == 0 && new != old)
		obj_set(m->doc, original, name, new);
	return r;
}

/* Member values are moved out of the patch one by one: collected first, because moving breaks the walk. */
static int merge_members(struct merger *m, const struct type *t, yyjson_mut_val *original, yyjson_mut_val *patch)
{
	_cleanup_items_ struct items keys = { 0 }, vals = { 0 };
	int r = 0;

	OBJ_EACH (key, val, patch) {
		items_add(&keys, key);
		items_add(&vals, val);
	}
	for (size_t i = 0; r == 0 && i < keys.n; i++) {
		const char *name = yyjson_mut_get_str(keys.v[i]);

		if (str_starts(name, DELETE))
			r = delete_from_list(m, original, name + strlen(DELETE), vals.v[i]);
		else if (yyjson_mut_is_null(vals.v[i]))
			obj_drop(original, name);
		else
			r = merge_member(m, t, original, name, vals.v[i]);
	}
	return r;
}

static int merge_map(struct merger *m, const struct type *t, yyjson_mut_val **original, yyjson_mut_val *patch)
{
	_cleanup_items_ struct items keys = { 0 };
	const char *what = obj_str(obj_get(patch, MARKER));
	int r;

	if (obj_get(patch, MARKER)) {
		if (!str_eq(what, "replace") && !str_eq(what, "delete"))
			return bad_patch_type(m, patch);
		obj_drop(patch, MARKER);
		*original = str_eq(what, "replace") ? patch : yyjson_mut_obj(m->doc);
		return 0;
	}
	r = retain_keys(m, *original, patch);
	if (r < 0)
		return r;
	OBJ_EACH (key, val, patch)
		if (str_starts(yyjson_mut_get_str(key), ORDER))
			items_add(&keys, key);
	for (size_t i = 0; i < keys.n; i++) {
		const char *name = yyjson_mut_get_str(keys.v[i]);

		r = set_order(m, t, *original, patch, name + strlen(ORDER), obj_drop(patch, name));
		if (r < 0)
			return r;
	}
	return merge_members(m, t, *original, patch);
}

int patch_strategic(const struct kind *k, yyjson_mut_doc *doc, yyjson_val *patch, struct status *st)
{
	struct merger m = { .doc = doc, .st = st };
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
	int r;

	if (!yyjson_is_obj(patch))
		return status_bad_request(st, "json: cannot unmarshal %s into Go value of type map[string]interface {}",
		                          yyjson_is_arr(patch) ? "array" : yyjson_get_type_desc(patch));
	r = merge_map(&m, k->type, &root, yyjson_val_mut_copy(doc, patch));
	if (r == 0)
		yyjson_mut_doc_set_root(doc, root);
	return r;
}
