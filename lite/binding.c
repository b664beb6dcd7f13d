/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Binding: a Pod gets its node, once.
 */
#include "lite/binding.h"
#include "base/str.h"
#include "lite/condition.h"
#include "lite/obj.h"
#include "lite/registry.h"
#include "lite/subs.h"
#include "lite/write.h"

static const char *kind_of(void)
{
	return "pods/binding";
}

static int check_target(yyjson_mut_val *binding, struct status *st)
{
	yyjson_mut_val *target = obj_get(binding, "target");
	const char *kind = str_or(obj_str(obj_get(target, "kind")), "");

	/* The real server answers both with a bare 500. */
	if (*kind && !str_eq(kind, "Node"))
		return status_fail(st, 500, NULL, NULL,
		                   "target.kind: Unsupported value: \"%s\": supported values: \"Node\", \"<empty>\"",
		                   kind);
	if (str_empty(obj_str(obj_get(target, "name"))))
		return status_fail(st, 500, NULL, NULL, "target.name: Required value");
	return 0;
}

static int check_pod(yyjson_mut_val *pod, const char *name, struct status *st)
{
	const char *node = obj_str(obj_at(pod, "spec", "nodeName"));

	if (obj_is_set(obj_at(pod, "metadata", "deletionTimestamp")))
		return status_conflict(st, "", kind_of(), name, "pod %s is being deleted, cannot be assigned to a host",
		                       name);
	if (!str_empty(node))
		return status_conflict(st, "", kind_of(), name, "pod %s is already assigned to node \"%s\"", name,
		                       node);
	if (obj_size(obj_at(pod, "spec", "schedulingGates")) > 0)
		return status_conflict(st, "", kind_of(), name, "pod %s has non-empty .spec.schedulingGates", name);
	return 0;
}

static void merge_texts(yyjson_mut_doc *doc, const char *key, yyjson_mut_val *more)
{
	yyjson_mut_val *meta = obj_get(yyjson_mut_doc_get_root(doc), "metadata");

	OBJ_EACH (k, v, more)
		obj_set_copy(doc, obj_make(doc, meta, key), yyjson_mut_get_str(k), v);
}

int bind_pod(struct lite *l, const char *ns, const char *name, yyjson_mut_val *binding, const struct write_options *o,
             struct status *st)
{
	const struct kind *k = kind_builtin("", "pods");
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL;
	yyjson_mut_val *meta = obj_get(binding, "metadata"), *root;
	struct item *old = NULL;
	int r;

	r = check_target(binding, st);
	if (r == 0)
		r = reg_find(l, k, ns, name, &old, st);
	if (r < 0)
		return r;
	doc = reg_doc(k, old);
	root = yyjson_mut_doc_get_root(doc);
	r = reg_check_preconditions(k, old, root, obj_str(obj_get(meta, "uid")),
	                            obj_str(obj_get(meta, "resourceVersion")), st);
	if (r == 0)
		r = check_pod(root, name, st);
	if (r < 0 || o->dry_run)
		return r;
	obj_set_str(doc, obj_make(doc, root, "spec"), "nodeName", obj_str(obj_at(binding, "target", "name")));
	merge_texts(doc, "annotations", obj_get(meta, "annotations"));
	merge_texts(doc, "labels", obj_get(meta, "labels"));
	set_condition(doc, "PodScheduled", "True", NULL, NULL, lite_now(l));
	decode_patched(k, NULL, doc, NULL, FIELDS_IGNORE, NULL, st); /* the order of its members */
	reg_replace(l, k, old, TAKE_PTR(doc), NULL);
	return 0;
}

int sub_binding(struct call *c, struct status *st)
{
	_cleanup_mut_doc_ yyjson_mut_doc *body = NULL;
	char manager[MANAGER_MAX + 1];
	struct write_options o;
	const char *name;
	int r;

	r = write_options(c, false, &o, manager, st);
	if (r == 0)
		r = write_body(c, c->sub ? c->kind : kind_builtin("", "bindings"), c->sub, o.validation, &body, st);
	if (r < 0)
		return r;
	name = str_or(obj_str(obj_at(yyjson_mut_doc_get_root(body), "metadata", "name")), "");
	if (c->sub && *name && !str_eq(name, c->route.name))
		return status_bad_request(st, "name in URL does not match name in Binding object");
	r = bind_pod(c->lite, c->route.ns, c->sub ? c->route.name : name, yyjson_mut_doc_get_root(body), &o, st);
	if (r < 0)
		return r;
	status_success(st, 201, NULL);
	call_send_status(c, st);
	return 0;
}
