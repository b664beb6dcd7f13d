/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The scale subresource: a small view of an object that has a number of replicas.
 */
#include <string.h>

#include "base/str.h"
#include "lite/crd_schema.h"
#include "lite/obj.h"
#include "lite/registry.h"
#include "lite/selector.h"
#include "lite/subs.h"
#include "lite/write.h"
#include "json/json.h"

#define PATH_PARTS_MAX 8

struct scale_paths {
	const char *spec, *status, *selector;
};

static struct scale_paths paths_of(const struct kind *k)
{
	const struct crd_scale *s = kind_is_custom(k) ? crd_scale_of(k) : NULL;

	if (s)
		return (struct scale_paths) { s->spec_replicas, s->status_replicas, s->label_selector };
	return (struct scale_paths) { ".spec.replicas", ".status.replicas", NULL };
}

/* A workload's selector is an object, a custom resource's a text. */
static char *selector_of(yyjson_val *root, const struct scale_paths *p)
{
	_cleanup_(selector_freep) struct selector *s = NULL;

	if (p->selector)
		return mem_strdup(json_str(jsonpath_first(root, p->selector)));
	if (selector_from_object(val_at(root, "spec", "selector"), &s) < 0 || !s)
		return NULL;
	return selector_text(s);
}

static yyjson_mut_doc *scale_doc(const struct kind *k, const struct item *i)
{
	static const char *const meta_keys[] = { "name", "namespace", "uid", "resourceVersion", "creationTimestamp" };
	struct scale_paths p = paths_of(k);
	_cleanup_doc_ yyjson_doc *read = reg_read(i);
	yyjson_val *root = yyjson_doc_get_root(read), *meta = json_get(root, "metadata");
	yyjson_mut_doc *doc = obj_doc();
	yyjson_mut_val *scale = yyjson_mut_doc_get_root(doc), *part;
	_cleanup_free_ char *selector = selector_of(root, &p);

	obj_set_str(doc, scale, "kind", "Scale");
	obj_set_str(doc, scale, "apiVersion", "autoscaling/v1");
	part = obj_make(doc, scale, "metadata");
	for (size_t n = 0; n < ARRAY_LEN(meta_keys); n++)
		if (json_get(meta, meta_keys[n]))
			obj_set_str(doc, part, meta_keys[n], json_str(json_get(meta, meta_keys[n])));
	part = obj_make(doc, scale, "spec");
	if (json_int(jsonpath_first(root, p.spec), 0) != 0)
		obj_set_int(doc, part, "replicas", json_int(jsonpath_first(root, p.spec), 0));
	part = obj_make(doc, scale, "status");
	obj_set_int(doc, part, "replicas", json_int(jsonpath_first(root, p.status), 0));
	if (selector)
		obj_set_str(doc, part, "selector", selector);
	return doc;
}

static int answer(struct call *c, const struct item *i)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = scale_doc(c->kind, i);
	_cleanup_buf_ struct buf out = BUF(BODY_MAX);

	obj_add_text(&out, yyjson_mut_doc_get_root(doc));
	return call_json(c, 200, &out);
}

/* Sets the number at a path like ".spec.replicas". */
static void set_at(yyjson_mut_doc *doc, const char *path, int64_t value)
{
	_cleanup_free_ char *copy = mem_strdup(path);
	yyjson_mut_val *at = yyjson_mut_doc_get_root(doc);
	char *save = NULL, *part = strtok_r(copy, ".", &save), *next;

	for (; part; part = next) {
		next = strtok_r(NULL, ".", &save);
		if (!next)
			obj_set_int(doc, at, part, value);
		else
			at = obj_make(doc, at, part);
	}
}

static int invalid_replicas(const char *name, int64_t value, struct status *st)
{
	_cleanup_causes_ struct causes causes = CAUSES_INIT;
	_cleanup_free_ char *text = str_printf("%lld", (long long)value);

	causes_add(&causes, CAUSE_INVALID, "spec.replicas", text, "must be greater than or equal to 0");
	return status_invalid(st, "autoscaling", "Scale", name, &causes);
}

static int write_scale(struct call *c, struct item *old, yyjson_mut_doc *scale, const struct write_options *o,
                       struct status *st)
{
	_cleanup_(item_unrefp) struct item *i = NULL;
	struct scale_paths p = paths_of(c->kind);
	yyjson_mut_val *root = yyjson_mut_doc_get_root(scale);
	int64_t replicas = obj_int(obj_at(root, "spec", "replicas"), 0);
	yyjson_mut_doc *doc;
	bool created;
	int r;

	doc = reg_doc(c->kind, old);
	r = reg_check_preconditions(c->kind, old, yyjson_mut_doc_get_root(doc),
	                            obj_str(obj_at(root, "metadata", "uid")),
	                            obj_str(obj_at(root, "metadata", "resourceVersion")), st);
	if (r == 0 && replicas < 0)
		r = invalid_replicas(c->route.name, replicas, st);
	if (r < 0) {
		yyjson_mut_doc_free(doc);
		return r;
	}
	set_at(doc, p.spec, replicas);
	r = reg_update(c->lite, c->kind, "", c->route.ns, c->route.name, doc, o, &i, &created, st);
	return r < 0 ? r : answer(c, i);
}

static int patched(struct call *c, const struct item *old, yyjson_mut_doc **ret, struct status *st)
{
	_cleanup_doc_ yyjson_doc *patch = NULL;
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL;
	enum patch_type type;
	struct err err = { 0 };
	const char *text;
	size_t len;
	int r;

	r = patch_type_of(c->kind, xch_header(c->x, "Content-Type"), &type, st);
	if (r < 0)
		return r;
	text = xch_body(c->x, &len);
	r = type == PATCH_APPLY ? yaml_parse(text, len, "patch", &patch, &err)
	                        : json_parse_copy(text, len, &patch, &err);
	if (r < 0)
		return status_bad_request(st, "error decoding patch: %s", err_text(&err));
	doc = scale_doc(c->kind, old);
	r = type == PATCH_JSON ? patch_json(doc, yyjson_doc_get_root(patch), st)
	                       : patch_merge(doc, yyjson_doc_get_root(patch), st);
	if (r == 0)
		*ret = TAKE_PTR(doc);
	return r;
}

/* A custom resource that does not say how many has no such view; a workload has a default. */
static int check_replicas(const struct kind *k, const struct item *i, struct status *st)
{
	_cleanup_doc_ yyjson_doc *read = kind_is_custom(k) ? reg_read(i) : NULL;
	struct scale_paths p = paths_of(k);

	if (read && !jsonpath_first(yyjson_doc_get_root(read), p.spec))
		return status_internal(st, "the spec replicas field \"%s\" does not exist", p.spec);
	return 0;
}

int sub_scale(struct call *c, struct status *st)
{
	_cleanup_mut_doc_ yyjson_mut_doc *scale = NULL;
	char manager[MANAGER_MAX + 1];
	struct write_options o;
	struct item *old = NULL;
	int r;

	r = reg_find(c->lite, c->kind, c->route.ns, c->route.name, &old, st);
	if (r < 0)
		return r;
	if (str_eq(c->route.verb, "get")) {
		r = check_replicas(c->kind, old, st);
		return r < 0 ? r : answer(c, old);
	}
	r = write_options(c, false, &o, manager, st);
	if (r == 0)
		r = str_eq(c->route.verb, "patch") ? patched(c, old, &scale, st)
		                                   : write_body(c, c->kind, c->sub, o.validation, &scale, st);
	return r < 0 ? r : write_scale(c, old, scale, &o, st);
}
