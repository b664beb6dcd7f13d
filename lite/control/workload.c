/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/control/workload.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/obj.h"
#include "json/json.h"

const char *item_uid(yyjson_val *root)
{
	return json_str(val_at(root, "metadata", "uid"));
}

bool is_deleting(yyjson_val *root)
{
	return val_at(root, "metadata", "deletionTimestamp");
}

static yyjson_val *controller_ref(yyjson_val *root)
{
	yyjson_val *v;
	size_t i, n;

	yyjson_arr_foreach(val_at(root, "metadata", "ownerReferences"), i, n,
	                   v) if (json_bool(json_get(v, "controller"), false)) return v;
	return NULL;
}

const char *controller_uid(yyjson_val *root)
{
	return json_str(json_get(controller_ref(root), "uid"));
}

static void mark_ref(struct controller *c, const struct item *i, const char *kind)
{
	_cleanup_doc_ yyjson_doc *doc = i && strstr(i->text, "\"ownerReferences\":[") ? reg_read(i) : NULL;
	yyjson_val *ref = doc ? controller_ref(yyjson_doc_get_root(doc)) : NULL;
	_cleanup_free_ char *key = NULL;

	if (!ref || !str_eq(json_str(json_get(ref, "kind")), kind))
		return;
	key = str_printf("%.*s/%s", (int)i->ns_len, i->key, str_or(json_str(json_get(ref, "name")), ""));
	mark(c, key, 0);
}

void mark_controller(struct controller *c, const struct event *e, const char *kind)
{
	mark_ref(c, e->item, kind);
	if (e->prev && e->change == CHANGE_MODIFIED)
		mark_ref(c, e->prev, kind);
}

void set_owner(yyjson_mut_doc *doc, const struct kind *owner_kind, yyjson_val *owner_root)
{
	yyjson_mut_val *meta = obj_make(doc, yyjson_mut_doc_get_root(doc), "metadata");
	yyjson_mut_val *ref = yyjson_mut_arr_add_obj(doc, obj_make_arr(doc, meta, "ownerReferences"));
	char version[256];

	obj_set_str(doc, ref, "apiVersion", kind_api_version(owner_kind, version, sizeof(version)));
	obj_set_str(doc, ref, "kind", owner_kind->kind);
	obj_set_str(doc, ref, "name", str_or(json_str(val_at(owner_root, "metadata", "name")), ""));
	obj_set_str(doc, ref, "uid", str_or(item_uid(owner_root), ""));
	obj_set_bool(doc, ref, "controller", true);
	obj_set_bool(doc, ref, "blockOwnerDeletion", true);
}

void set_label(yyjson_mut_doc *doc, const char *key, const char *value)
{
	yyjson_mut_val *meta = obj_make(doc, yyjson_mut_doc_get_root(doc), "metadata");

	obj_set_str(doc, obj_make(doc, meta, "labels"), key, value);
}

void set_annotation(yyjson_mut_doc *doc, const char *key, const char *value)
{
	yyjson_mut_val *meta = obj_make(doc, yyjson_mut_doc_get_root(doc), "metadata");

	obj_set_str(doc, obj_make(doc, meta, "annotations"), key, value);
}

yyjson_mut_doc *from_template(const struct kind *owner_kind, const struct item *owner, yyjson_val *owner_root)
{
	static const char *const copied[] = { "labels", "annotations", "finalizers" };
	yyjson_val *template = val_at(owner_root, "spec", "template");
	yyjson_mut_doc *doc = obj_doc();
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *meta;
	_cleanup_free_ char *base = str_printf("%s-", owner->name), *ns = mem_strndup(owner->key, owner->ns_len);

	obj_set_str(doc, root, "kind", "Pod");
	obj_set_str(doc, root, "apiVersion", "v1");
	meta = obj_make(doc, root, "metadata");
	obj_set_str(doc, meta, "generateName", base);
	obj_set_str(doc, meta, "namespace", ns);
	for (size_t i = 0; i < ARRAY_LEN(copied); i++) {
		yyjson_val *v = val_at(template, "metadata", copied[i]);

		if (v)
			obj_set(doc, meta, copied[i], yyjson_val_mut_copy(doc, v));
	}
	set_owner(doc, owner_kind, owner_root);
	obj_set(doc, root, "spec", yyjson_val_mut_copy(doc, json_get(template, "spec")));
	return doc;
}

int64_t int_or_percent(yyjson_val *v, int64_t otherwise, int64_t total, bool up)
{
	const char *text = json_str(v);
	int64_t percent;

	if (yyjson_is_int(v))
		return yyjson_get_sint(v);
	if (!text || !str_ends(text, "%"))
		return otherwise;
	percent = strtoll(text, NULL, 10);
	return (percent * total + (up ? 99 : 0)) / 100;
}

void hash_text(yyjson_val *v, char text[HASH_TEXT])
{
	static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
	_cleanup_free_ char *json = v ? yyjson_val_write(v, 0, NULL) : NULL;
	uint64_t h = 14695981039346656037u;

	for (const char *p = json; p && *p; p++)
		h = (h ^ (unsigned char)*p) * 1099511628211u;
	for (size_t i = 0; i < HASH_TEXT - 1; i++, h /= sizeof(alphabet) - 1)
		text[i] = alphabet[h % (sizeof(alphabet) - 1)];
	text[HASH_TEXT - 1] = '\0';
}

static int removal_rank(const struct pod *p)
{
	if (str_empty(p->node_name))
		return 0;
	if (p->phase == POD_PENDING)
		return 1;
	return pod_is_ready(p) ? 3 : 2;
}

static int by_removal(const void *a, const void *b)
{
	const struct pod *x = (*(struct vpod *const *)a)->pod, *y = (*(struct vpod *const *)b)->pod;
	int d = removal_rank(x) - removal_rank(y);

	if (d != 0)
		return d;
	if (x->meta.created != y->meta.created)
		return x->meta.created > y->meta.created ? -1 : 1;
	return strcmp(x->meta.name, y->meta.name);
}

void sort_for_removal(struct vpod **list, size_t n)
{
	if (n > 1)
		qsort(list, n, sizeof(*list), by_removal);
}
