/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/admission.h"

#include <stdio.h>

#include "base/str.h"
#include "lite/crd.h"
#include "lite/crd_schema.h"
#include "lite/obj.h"
#include "lite/registry.h"

static bool is(const struct kind *k, const char *group, const char *plural)
{
	return str_eq(k->group, group) && str_eq(k->plural, plural);
}

int admit_namespace(struct lite *l, const struct kind *k, const char *ns, yyjson_mut_doc *doc, struct status *st)
{
	const struct item *i;
	const char *name;
	_cleanup_doc_ yyjson_doc *read = NULL;

	if (!k->namespaced)
		return 0;
	i = reg_get(l, kind_builtin("", "namespaces"), NULL, ns);
	if (!i)
		return status_not_found(st, "", "namespaces", ns);
	read = reg_read(i);
	if (!val_at(yyjson_doc_get_root(read), "metadata", "deletionTimestamp"))
		return 0;
	_cleanup_causes_ struct causes causes = CAUSES_INIT;
	_cleanup_free_ char *text = str_printf("namespace %s is being terminated", ns);
	char resource[256];

	name = str_or(obj_str(obj_at(yyjson_mut_doc_get_root(doc), "metadata", "name")), "");
	causes_add_raw(&causes, "NamespaceTerminating", "metadata.namespace", text);
	return status_fail(
	        st, 403, "Forbidden",
	        &(struct status_details) { .name = name, .group = k->group, .kind = k->plural, .causes = &causes },
	        "%s \"%s\" is forbidden: unable to create new content in namespace %s because it is being terminated",
	        kind_resource_name(k, resource, sizeof(resource)), name, ns);
}

/* ---- Pods ---- */

static int admit_service_account(struct lite *l, const char *ns, yyjson_mut_val *root, struct status *st)
{
	const char *name = obj_str(obj_at(root, "spec", "serviceAccountName"));

	if (str_empty(name) || reg_get(l, kind_builtin("", "serviceaccounts"), ns, name))
		return 0;
	return status_forbidden(st, "", "pods", obj_str(obj_at(root, "metadata", "name")),
	                        "error looking up service account %s/%s: serviceaccount \"%s\" not found", ns, name,
	                        name);
}

static int admit_priority(struct lite *l, yyjson_mut_doc *doc, struct status *st)
{
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *spec = obj_get(root, "spec");
	const char *class = obj_str(obj_get(spec, "priorityClassName"));
	_cleanup_doc_ yyjson_doc *read = NULL;
	const char *policy;
	struct item *i;

	if (str_empty(class))
		return 0;
	i = reg_get(l, kind_builtin("scheduling.k8s.io", "priorityclasses"), NULL, class);
	if (!i)
		return status_forbidden(st, "", "pods", obj_str(obj_at(root, "metadata", "name")),
		                        "no PriorityClass with name %s was found", class);
	read = reg_read(i);
	obj_set_int(doc, spec, "priority", yyjson_get_sint(val_at(yyjson_doc_get_root(read), "value")));
	policy = yyjson_get_str(val_at(yyjson_doc_get_root(read), "preemptionPolicy"));
	obj_set_str(doc, spec, "preemptionPolicy", str_or(policy, "PreemptLowerPriority"));
	return 0;
}

static int admit_pod(struct lite *l, const char *ns, yyjson_mut_doc *doc, struct status *st)
{
	int r = admit_service_account(l, ns, yyjson_mut_doc_get_root(doc), st);

	return r < 0 ? r : admit_priority(l, doc, st);
}

/* A new Node takes no Pods until it is known to be ready; the node lifecycle controller takes this away. */
static void taint_new_node(yyjson_mut_doc *doc)
{
	yyjson_mut_val *spec = obj_make(doc, yyjson_mut_doc_get_root(doc), "spec"), *taints, *taint;

	taints = obj_make_arr(doc, spec, "taints");
	ARR_EACH (t, taints)
		if (str_eq(obj_str(obj_get(t, "key")), "node.kubernetes.io/not-ready") &&
		    str_eq(obj_str(obj_get(t, "effect")), "NoSchedule"))
			return;
	taint = yyjson_mut_obj(doc);
	obj_set_str(doc, taint, "key", "node.kubernetes.io/not-ready");
	obj_set_str(doc, taint, "effect", "NoSchedule");
	yyjson_mut_arr_append(taints, taint);
}

int admit_create(struct lite *l, const struct kind *k, const char *ns, yyjson_mut_doc *doc, struct warnings *w,
                 struct status *st)
{
	(void)w;
	if (is(k, "", "pods"))
		return admit_pod(l, ns, doc, st);
	if (is(k, "", "nodes") && l->control)
		taint_new_node(doc);
	if (is(k, "apiextensions.k8s.io", "customresourcedefinitions"))
		crd_admit(l, doc);
	return 0;
}

int admit_update(struct lite *l, const struct kind *k, const char *sub, yyjson_mut_doc *doc, yyjson_mut_val *old,
                 struct status *st)
{
	(void)old;
	(void)st;
	if (is(k, "apiextensions.k8s.io", "customresourcedefinitions") && str_empty(sub))
		crd_admit(l, doc);
	return 0;
}

int admit_delete(struct lite *l, const struct kind *k, yyjson_mut_val *root, const char *name, struct status *st)
{
	static const char *const kept[] = { "default", "kube-system", "kube-public" };

	(void)l;
	if (!is(k, "", "namespaces"))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		if (str_eq(name, kept[i]))
			return status_forbidden(st, "", "namespaces", name, "this namespace may not be deleted");
	if (obj_is_set(obj_at(root, "metadata", "deletionTimestamp")))
		return status_conflict(
		        st, "", "namespaces", name,
		        "The system is ensuring all content is removed from this namespace.  Upon completion, this "
		        "namespace will automatically be purged by the system.");
	return 0;
}
