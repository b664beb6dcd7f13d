/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Around a write: what a new object starts with, and what an update takes over from the object it replaces.
 */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/crd_schema.h"
#include "lite/decode_types.h"
#include "lite/defaults.h"
#include "lite/defaults_types.h"
#include "lite/obj.h"

static bool is_kind(const struct kind *k, const char *group, const char *kind)
{
	return str_eq(k->group, group) && str_eq(k->kind, kind);
}

/* ---------------------------------------------------------------------------------------------------------- create */

/* A Job's Pods are found by its uid, and labelled with its name. */
static void job_selector(yyjson_mut_doc *doc, yyjson_mut_val *job)
{
	yyjson_mut_val *spec = obj_make(doc, job, "spec"), *template = obj_make(doc, spec, "template"), *labels, *match;
	const char *name = str_or(obj_str(obj_at(job, "metadata", "name")), ""),
	           *uid = str_or(obj_str(obj_at(job, "metadata", "uid")), "");
	const char *const rows[][2] = { { "batch.kubernetes.io/controller-uid", uid },
		                        { "batch.kubernetes.io/job-name", name },
		                        { "controller-uid", uid },
		                        { "job-name", name } };

	if (obj_bool(obj_get(spec, "manualSelector"), false))
		return;
	labels = obj_make(doc, obj_make(doc, template, "metadata"), "labels");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!obj_get(labels, rows[i][0]))
			obj_set_str(doc, labels, rows[i][0], rows[i][1]);
	match = obj_make(doc, obj_make(doc, spec, "selector"), "matchLabels");
	if (!obj_get(match, rows[0][0]))
		obj_set_str(doc, match, rows[0][0], uid);
	/* A Job without labels has those of its Pods. */
	if (!obj_size(obj_at(job, "metadata", "labels")))
		obj_set_copy(doc, obj_get(job, "metadata"), "labels", labels);
}

/* The status of a new object: what decoding an empty one gives, and defaults add. */
static void fresh_status(const struct kind *k, yyjson_mut_doc *doc)
{
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
	const struct field *f = k->type ? type_field(k->type, "status", 6) : NULL;
	struct type_walk walk;

	obj_drop(root, "status");
	if (!f || kind_is_custom(k))
		return;
	type_walk_init(&walk, doc);
	type_walk_object(&walk, f->type, obj_make(doc, root, "status"));
	type_walk_done(&walk);
}

void defaults_create(const struct kind *k, yyjson_mut_doc *doc, usec_t now)
{
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *meta = obj_make(doc, root, "metadata");
	char now_text[TIME_TEXT_MAX];

	time_format(now, now_text);
	obj_drop(meta, "deletionTimestamp");
	obj_drop(meta, "deletionGracePeriodSeconds");
	obj_drop(meta, "selfLink");
	obj_drop(meta, "generation");
	if (k->has_generation)
		obj_set_int(doc, meta, "generation", 1);
	if (k->has_status && !is_kind(k, "", "Node"))
		fresh_status(k, doc);
	if (is_kind(k, "", "Namespace")) {
		yyjson_mut_val *finalizers = obj_make_arr(doc, obj_make(doc, root, "spec"), "finalizers");

		if (!obj_size(finalizers))
			yyjson_mut_arr_append(finalizers, yyjson_mut_str(doc, "kubernetes"));
	}
	if (kind_is_custom(k))
		crd_default(k, doc);
	else
		defaults_fill_part(k->type, doc, root);
	if (is_kind(k, "", "Pod"))
		pod_prepare_create(doc, root, now_text);
	else if (is_kind(k, "batch", "Job"))
		job_selector(doc, root);
	else if (is_kind(k, "apiextensions.k8s.io", "CustomResourceDefinition"))
		crd_set_established(doc, now_text);
	if (k->type)
		type_order(doc, k->type, root);
}

/* ---------------------------------------------------------------------------------------------------------- update */

static void take_over(yyjson_mut_doc *doc, yyjson_mut_val *obj, yyjson_mut_val *old, const char *name)
{
	obj_set_copy(doc, obj, name, obj_get(old, name));
}

/* Everything but metadata and status. */
static bool spec_changed(const struct kind *k, yyjson_mut_val *obj, yyjson_mut_val *old)
{
	static const char *const apart[] = { "metadata", "kind", "apiVersion" };

	if (is_kind(k, "apps", "Deployment") &&
	    !obj_equal(obj_at(obj, "metadata", "annotations"), obj_at(old, "metadata", "annotations")))
		return true;
	for (int round = 0; round < 2; round++) {
		yyjson_mut_val *a = round ? old : obj, *b = round ? obj : old;

		OBJ_EACH (key, val, a) {
			const char *name = yyjson_mut_get_str(key);
			bool skip = k->has_status && str_eq(name, "status");

			for (size_t i = 0; i < ARRAY_LEN(apart); i++)
				skip = skip || str_eq(name, apart[i]);
			if (!skip && !obj_equal(val, obj_get(b, name)))
				return true;
		}
	}
	return false;
}

/* A writer of status changes nothing else; of metadata, what the real one lets through. */
static void keep_all_but_status(const struct kind *k, yyjson_mut_doc *doc, yyjson_mut_val *obj, yyjson_mut_val *old)
{
	yyjson_mut_val *status = obj_get(obj, "status"), *meta = obj_make(doc, obj, "metadata"),
	               *old_meta = obj_get(old, "metadata");
	yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(obj);
	yyjson_mut_val *key;

	while ((key = yyjson_mut_obj_iter_next(&it)))
		if (!obj_get(old, yyjson_mut_get_str(key)) && !yyjson_mut_equals_str(key, "status"))
			yyjson_mut_obj_iter_remove(&it);
	OBJ_EACH (name, val, old) {
		const char *text = yyjson_mut_get_str(name);

		if (str_eq(text, "status") || str_eq(text, "metadata"))
			continue;
		/* Mostly it is the same already. */
		if (!obj_equal(obj_get(obj, text), val))
			obj_set_copy(doc, obj, text, val);
	}
	if (kind_is_custom(k)) {
		yyjson_mut_val *version = obj_get(meta, "resourceVersion"), *copy = obj_copy(doc, old_meta);

		if (version)
			obj_set_copy(doc, copy, "resourceVersion", version);
		obj_set(doc, obj, "metadata", copy);
	}
	if (is_kind(k, "", "Pod"))
		take_over(doc, meta, old_meta, "ownerReferences");
	if (str_eq(k->group, "apps"))
		take_over(doc, meta, old_meta, "labels");
	if (status && is_kind(k, "", "Pod") && str_empty(obj_str(obj_get(status, "qosClass"))))
		take_over(doc, status, obj_get(old, "status"), "qosClass");
}

static void keep_system_metadata(yyjson_mut_doc *doc, yyjson_mut_val *obj, yyjson_mut_val *old)
{
	static const char *const names[] = { "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
		                             "generation",        "generateName",      "selfLink" };
	yyjson_mut_val *meta = obj_make(doc, obj, "metadata"), *old_meta = obj_get(old, "metadata");

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		take_over(doc, meta, old_meta, names[i]);
	/* Given ones are checked against the old by validate_update(). */
	if (str_empty(obj_str(obj_get(meta, "uid"))))
		take_over(doc, meta, old_meta, "uid");
	if (str_empty(obj_str(obj_get(meta, "namespace"))))
		take_over(doc, meta, old_meta, "namespace");
}

void defaults_update(const struct kind *k, yyjson_mut_doc *doc, yyjson_mut_val *old, const char *sub, usec_t now)
{
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *meta;
	bool status = str_eq(sub, "status") && k->has_status;

	(void)now;
	if (kind_is_custom(k))
		crd_default(k, doc);
	else if (!status)
		defaults_fill_part(k->type, doc, root);
	else if (obj_get(root, "status"))
		defaults_fill_part(type_field(k->type, "status", 6)->type, doc, obj_get(root, "status"));
	if (status)
		keep_all_but_status(k, doc, root, old);
	else if (k->has_status)
		take_over(doc, root, old, "status");
	if (str_eq(k->plural, "pods") && str_empty(k->group) && str_empty(sub))
		pod_prepare_update(doc, root);
	keep_system_metadata(doc, root, old);
	meta = obj_get(root, "metadata");
	if (k->has_generation && !status && spec_changed(k, root, old))
		obj_set_int(doc, meta, "generation", obj_int(obj_at(old, "metadata", "generation"), 0) + 1);
	if (k->type)
		type_order(doc, k->type, root);
}

/* ------------------------------------------------------------------------------------------------------------ same */

static bool same_but(yyjson_mut_val *a, yyjson_mut_val *b, const char *apart, const char *also,
                     bool (*compare)(yyjson_mut_val *, yyjson_mut_val *))
{
	for (int round = 0; round < 2; round++) {
		yyjson_mut_val *x = round ? b : a, *y = round ? a : b;

		OBJ_EACH (key, val, x) {
			const char *name = yyjson_mut_get_str(key);

			if (str_eq(name, also))
				continue;
			if (str_eq(name, apart)) {
				if (compare && !round && !compare(val, obj_get(y, name)))
					return false;
			} else if (!obj_equal(val, obj_get(y, name))) {
				return false;
			}
		}
	}
	return true;
}

static bool same_managers(yyjson_mut_val *a, yyjson_mut_val *b)
{
	yyjson_mut_arr_iter in_b = yyjson_mut_arr_iter_with(b);

	if (obj_size(a) != obj_size(b))
		return false;
	ARR_EACH (entry, a)
		if (!same_but(entry, yyjson_mut_arr_iter_next(&in_b), "time", NULL, NULL))
			return false;
	return true;
}

static bool same_metadata(yyjson_mut_val *a, yyjson_mut_val *b)
{
	return (!obj_get(a, "managedFields") == !obj_get(b, "managedFields")) &&
	       same_but(a, b, "managedFields", "resourceVersion", same_managers);
}

bool defaults_same(yyjson_mut_val *a, yyjson_mut_val *b)
{
	return same_but(a, b, "metadata", NULL, same_metadata);
}
