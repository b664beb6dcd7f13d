/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Metadata, which all kinds share, and the table of what each kind adds.
 */
#include "lite/validate.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/crd_schema.h"
#include "lite/obj.h"
#include "lite/validate_kinds.h"

#define ANNOTATIONS_MAX (256 * 1024) /* bytes of all together */

struct rules {
	const char *group, *kind;
	name_rule *name;
	check_fn *object;
	check_update_fn *update, *status;
};

static const struct rules rules[] = {
	{ "", "Pod", name_dns_subdomain, check_pod, check_pod_update, check_pod_status_update },
	{ "", "Node", name_dns_subdomain, check_node, check_node_update, NULL },
	{ "", "Namespace", name_dns_label, check_namespace, NULL, NULL },
	{ "", "ConfigMap", name_dns_subdomain, check_config_map, check_config_map_update, NULL },
	{ "", "Secret", name_dns_subdomain, check_secret, check_secret_update, NULL },
	{ "", "Service", name_dns1035_label, check_service, NULL, NULL },
	{ "", "Event", name_path_segment, check_event, NULL, NULL },
	{ "events.k8s.io", "Event", name_dns_subdomain, check_event_v1, NULL, NULL },
	{ "", "PersistentVolumeClaim", name_dns_subdomain, check_claim, check_claim_update, NULL },
	{ "", "PersistentVolume", name_dns_subdomain, check_volume, NULL, NULL },
	{ "storage.k8s.io", "StorageClass", name_dns_subdomain, check_storage_class, check_storage_class_update, NULL },
	{ "apps", "Deployment", name_dns_subdomain, check_deployment, check_selector_kept, NULL },
	{ "apps", "ReplicaSet", name_dns_subdomain, check_replica_set, check_selector_kept, NULL },
	{ "apps", "DaemonSet", name_dns_subdomain, check_daemon_set, check_selector_kept, NULL },
	{ "apps", "StatefulSet", name_dns_label, check_stateful_set, check_selector_kept, NULL },
	{ "batch", "Job", name_dns_subdomain, check_job, check_job_update, NULL },
	{ "policy", "PodDisruptionBudget", name_dns_subdomain, check_budget, NULL, NULL },
	{ "coordination.k8s.io", "Lease", name_dns_subdomain, check_lease, NULL, NULL },
	{ "scheduling.k8s.io", "PriorityClass", name_dns_subdomain, check_priority_class, check_priority_class_update,
	  NULL },
	{ "rbac.authorization.k8s.io", "Role", name_path_segment, NULL, NULL, NULL },
	{ "rbac.authorization.k8s.io", "ClusterRole", name_path_segment, NULL, NULL, NULL },
	{ "rbac.authorization.k8s.io", "RoleBinding", name_path_segment, check_role_binding, check_role_binding_update,
	  NULL },
	{ "rbac.authorization.k8s.io", "ClusterRoleBinding", name_path_segment, check_role_binding,
	  check_role_binding_update, NULL },
	{ "apiextensions.k8s.io", "CustomResourceDefinition", name_dns_subdomain, check_crd, check_crd_update, NULL },
};

static const struct rules *rules_of(const struct kind *k)
{
	static const struct rules other = { .name = name_dns_subdomain };

	for (size_t i = 0; !kind_is_custom(k) && i < ARRAY_LEN(rules); i++)
		if (str_eq(rules[i].group, k->group) && str_eq(rules[i].kind, k->kind))
			return &rules[i];
	return &other;
}

/* -------------------------------------------------------------------------------------------------------- metadata */

static void check_annotations(struct check *c, yyjson_mut_val *meta)
{
	size_t total = 0;

	OBJ_EACH (key, val, obj_get(meta, "annotations")) {
		const char *name = yyjson_mut_get_str(key);
		_cleanup_free_ char *lower = mem_strdup(name);
		struct name_errors errors;

		for (char *p = lower; *p; p++)
			*p = (char)tolower((unsigned char)*p);
		for (size_t i = 0, n = name_label_key(lower, &errors); i < n; i++)
			check_add_text(c, CAUSE_INVALID, "annotations", name, "%s", errors.text[i]);
		total += yyjson_mut_get_len(key) + yyjson_mut_get_len(val);
	}
	if (total > ANNOTATIONS_MAX)
		check_add(c, CAUSE_TOO_LONG, "annotations", NULL, "may not be more than %d bytes", ANNOTATIONS_MAX);
}

static void check_owners(struct check *c, yyjson_mut_val *meta)
{
	static const char *const needed[] = { "apiVersion", "kind", "name", "uid" };
	yyjson_mut_val *list = obj_get(meta, "ownerReferences"), *controller = NULL;
	size_t i = 0;

	ARR_EACH (ref, list) {
		size_t up = check_enter(c, "ownerReferences"), in = check_enter_index(c, i++);

		(void)in;
		for (size_t j = 0; j < ARRAY_LEN(needed); j++)
			if (str_empty(obj_str(obj_get(ref, needed[j]))))
				check_add(c, CAUSE_REQUIRED, needed[j], NULL, "must not be empty");
		check_leave(c, up);
		if (!obj_bool(obj_get(ref, "controller"), false))
			continue;
		if (controller)
			check_add(c, CAUSE_INVALID, "ownerReferences", list,
			          "Only one reference can have Controller set to true. Found \"true\" in references "
			          "for %s/%s and %s/%s",
			          str_or(obj_str(obj_get(controller, "kind")), ""),
			          str_or(obj_str(obj_get(controller, "name")), ""),
			          str_or(obj_str(obj_get(ref, "kind")), ""), str_or(obj_str(obj_get(ref, "name")), ""));
		else
			controller = ref;
	}
}

static void check_meta(struct check *c, const struct kind *k, yyjson_mut_val *obj)
{
	yyjson_mut_val *meta = obj_get(obj, "metadata");
	const char *namespace = obj_str(obj_get(meta, "namespace"));
	size_t up = check_enter(c, "metadata");

	if (str_empty(obj_str(obj_get(meta, "name"))))
		check_add(c, CAUSE_REQUIRED, "name", NULL, "name or generateName is required");
	else
		check_name(c, meta, "name", rules_of(k)->name);
	if (k->namespaced && str_empty(namespace))
		check_add(c, CAUSE_REQUIRED, "namespace", NULL, NULL);
	else if (k->namespaced)
		check_name(c, meta, "namespace", name_dns_label);
	else if (!str_empty(namespace))
		check_add(c, CAUSE_FORBIDDEN, "namespace", NULL, "not allowed on this type");
	check_labels(c, meta, "labels");
	check_annotations(c, meta);
	check_owners(c, meta);
	ARR_EACH (f, obj_get(meta, "finalizers"))
		check_text(c, "finalizers", str_or(obj_str(f), ""), name_label_key);
	check_leave(c, up);
}

static bool has_finalizer(yyjson_mut_val *meta, const char *name)
{
	ARR_EACH (f, obj_get(meta, "finalizers"))
		if (str_eq(obj_str(f), name))
			return true;
	return false;
}

static void check_meta_update(struct check *c, yyjson_mut_val *obj, yyjson_mut_val *old)
{
	static const char *const kept[] = {
		"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"
	};
	yyjson_mut_val *meta = obj_get(obj, "metadata"), *before = obj_get(old, "metadata");
	size_t up = check_enter(c, "metadata");

	if (obj_is_set(obj_get(before, "deletionTimestamp"))) {
		ARR_EACH (f, obj_get(meta, "finalizers"))
			if (!has_finalizer(before, str_or(obj_str(f), "")))
				check_add(c, CAUSE_FORBIDDEN, "finalizers", NULL,
				          "no new finalizers can be added if the object is being deleted, found new "
				          "finalizers "
				          "[]string{\"%s\"}",
				          str_or(obj_str(f), ""));
	}
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		check_same(c, meta, before, kept[i]);
	check_leave(c, up);
}

/* ----------------------------------------------------------------------------------------------------------- asked */

static int verdict(const struct kind *k, yyjson_mut_val *obj, const struct causes *causes, struct status *st)
{
	/* Both groups' Events are refused by the same, groupless name. */
	const char *group = str_eq(k->group, "events.k8s.io") ? "" : k->group;

	if (!causes->n)
		return 0;
	return status_invalid(st, group, k->kind, str_or(obj_str(obj_at(obj, "metadata", "name")), ""), causes);
}

int validate_create(const struct kind *k, yyjson_mut_val *obj, struct status *st)
{
	_cleanup_causes_ struct causes causes = CAUSES_INIT;
	_cleanup_check_ struct check c = check_begin(&causes);
	const struct rules *r = rules_of(k);

	check_meta(&c, k, obj);
	if (r->object)
		r->object(&c, obj);
	if (kind_is_custom(k))
		crd_validate(k, obj, NULL, &causes);
	return verdict(k, obj, &causes, st);
}

int validate_update(const struct kind *k, yyjson_mut_val *obj, yyjson_mut_val *old, const char *sub, struct status *st)
{
	_cleanup_causes_ struct causes causes = CAUSES_INIT;
	_cleanup_check_ struct check c = check_begin(&causes);
	const struct rules *r = rules_of(k);
	bool status = str_eq(sub, "status");

	check_meta(&c, k, obj);
	check_meta_update(&c, obj, old);
	if (!status && r->object)
		r->object(&c, obj);
	if (!status && r->update)
		r->update(&c, obj, old);
	if (status && r->status)
		r->status(&c, obj, old);
	if (kind_is_custom(k))
		crd_validate(k, obj, old, &causes);
	return verdict(k, obj, &causes, st);
}
