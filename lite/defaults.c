/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Defaults by type: constants come from the types' texts, the rest from one function per struct.
 */
#include "lite/defaults.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/crd_schema.h"
#include "lite/decode_types.h"
#include "lite/defaults_types.h"
#include "lite/obj.h"
#include "lite/types.h"

/* ----------------------------------------------------------------------------------------- structs other than Pods */

static void default_rolling(yyjson_mut_doc *doc, yyjson_mut_val *v)
{
	if (str_eq(obj_str(obj_get(v, "type")), "RollingUpdate"))
		obj_make(doc, v, "rollingUpdate");
}

static void default_stateful_strategy(yyjson_mut_doc *doc, yyjson_mut_val *v)
{
	if (!str_empty(obj_str(obj_get(v, "type"))))
		return;
	obj_set_str(doc, v, "type", "RollingUpdate");
	obj_make(doc, v, "rollingUpdate");
}

static void default_job(yyjson_mut_doc *doc, yyjson_mut_val *v)
{
	yyjson_mut_val *labels = obj_at(v, "spec", "template", "metadata", "labels"),
	               *meta = obj_make(doc, v, "metadata");

	if (obj_size(labels) && !obj_size(obj_get(meta, "labels")))
		obj_set_copy(doc, meta, "labels", labels);
}

/* Its constant default of parallelism comes after this: "both unset" is still to be seen. */
static void default_job_spec(yyjson_mut_doc *doc, yyjson_mut_val *v)
{
	if (!obj_is_set(obj_get(v, "completions")) && !obj_is_set(obj_get(v, "parallelism")))
		obj_set_int(doc, v, "completions", 1);
	if (!obj_is_set(obj_get(v, "backoffLimit")))
		obj_set_int(doc, v, "backoffLimit", obj_is_set(obj_get(v, "backoffLimitPerIndex")) ? INT32_MAX : 6);
	if (!obj_is_set(obj_get(v, "podReplacementPolicy")))
		obj_set_str(doc, v, "podReplacementPolicy",
		            obj_get(v, "podFailurePolicy") ? "Failed" : "TerminatingOrFailed");
}

static void default_service_port(yyjson_mut_doc *doc, yyjson_mut_val *v)
{
	yyjson_mut_val *target = obj_get(v, "targetPort");

	if (!obj_is_set(target) || str_eq(obj_str(target), "") || (yyjson_mut_is_int(target) && !obj_int(target, 0)))
		obj_set_copy(doc, v, "targetPort", obj_get(v, "port"));
}

static void default_service_spec(yyjson_mut_doc *doc, yyjson_mut_val *v)
{
	if (str_eq(obj_str(obj_get(v, "type")), "ExternalName"))
		return;
	if (!obj_get(v, "internalTrafficPolicy"))
		obj_set_str(doc, v, "internalTrafficPolicy", "Cluster");
	if (!obj_get(v, "ipFamilyPolicy"))
		obj_set_str(doc, v, "ipFamilyPolicy", "SingleStack");
	if (!obj_get(v, "ipFamilies"))
		yyjson_mut_arr_append(obj_make_arr(doc, v, "ipFamilies"), yyjson_mut_str(doc, "IPv4"));
}

static void default_node_status(yyjson_mut_doc *doc, yyjson_mut_val *v)
{
	if (!obj_get(v, "allocatable") && obj_get(v, "capacity"))
		obj_set_copy(doc, v, "allocatable", obj_get(v, "capacity"));
}

static void default_namespace(yyjson_mut_doc *doc, yyjson_mut_val *v)
{
	yyjson_mut_val *meta = obj_make(doc, v, "metadata");
	const char *name = obj_str(obj_get(meta, "name"));

	if (!str_empty(name))
		obj_set_str(doc, obj_make(doc, meta, "labels"), "kubernetes.io/metadata.name", name);
}

/* stringData is only a way to write: it becomes data. */
static void default_secret(yyjson_mut_doc *doc, yyjson_mut_val *v)
{
	yyjson_mut_val *text = obj_drop(v, "stringData"), *data;

	if (!obj_size(text))
		return;
	data = obj_make(doc, v, "data");
	OBJ_EACH (key, val, text) {
		_cleanup_buf_ struct buf coded = BUF(16u << 20);

		str_add_base64(&coded, str_or(obj_str(val), ""), yyjson_mut_get_len(val));
		obj_set_str(doc, data, yyjson_mut_get_str(key), buf_text(&coded));
	}
}

static void default_subject(yyjson_mut_doc *doc, yyjson_mut_val *v)
{
	const char *kind = obj_str(obj_get(v, "kind"));

	if (!obj_get(v, "apiGroup") && (str_eq(kind, "User") || str_eq(kind, "Group")))
		obj_set_str(doc, v, "apiGroup", "rbac.authorization.k8s.io");
}

static void default_crd_names(yyjson_mut_doc *doc, yyjson_mut_val *v)
{
	const char *kind = str_or(obj_str(obj_get(v, "kind")), "");
	_cleanup_free_ char *text = NULL;

	if (str_empty(kind))
		return;
	if (str_empty(obj_str(obj_get(v, "singular")))) {
		text = mem_strdup(kind);
		for (char *p = text; *p; p++)
			*p = (char)tolower((unsigned char)*p);
		obj_set_str(doc, v, "singular", text);
	}
	if (str_empty(obj_str(obj_get(v, "listKind")))) {
		free(text);
		text = str_printf("%sList", kind);
		obj_set_str(doc, v, "listKind", text);
	}
}

static const struct {
	const char *type;
	default_fn *fill;
	bool first; /* before the constants */
} functions[] = {
	{ "Container", default_container },
	{ "EphemeralContainer", default_container },
	{ "Volume", default_volume },
	{ "PodSpec", default_pod_spec },
	{ "Pod", default_pod },
	{ "PodStatus", default_pod_status },
	{ "DeploymentStrategy", default_rolling },
	{ "DaemonSetUpdateStrategy", default_rolling },
	{ "StatefulSetUpdateStrategy", default_stateful_strategy },
	{ "Job", default_job },
	{ "JobSpec", default_job_spec, true },
	{ "ServicePort", default_service_port },
	{ "ServiceSpec", default_service_spec },
	{ "NodeStatus", default_node_status },
	{ "Namespace", default_namespace },
	{ "Secret", default_secret },
	{ "Subject", default_subject },
	{ "CustomResourceDefinitionNames", default_crd_names },
};

static void call(const struct type *t, bool first, yyjson_mut_doc *doc, yyjson_mut_val *v)
{
	for (size_t i = 0; i < ARRAY_LEN(functions); i++)
		if (functions[i].first == first && functions[i].type[0] == t->name[0] &&
		    str_eq(functions[i].type, t->name))
			functions[i].fill(doc, v);
}

/* -------------------------------------------------------------------------------------------------------- the walk */

static bool lacks(yyjson_mut_val *v, const struct field *f)
{
	return !obj_is_set(v) || (!f->pointer && yyjson_mut_is_str(v) && !yyjson_mut_get_len(v));
}

/* Most are plain words and numbers, and every write asks for a dozen of them: only the others go through the parser. */
static yyjson_mut_val *constant(yyjson_mut_doc *doc, const char *json)
{
	size_t len = strlen(json);
	_cleanup_doc_ yyjson_doc *parsed = NULL;
	int64_t number;

	if (json[0] == '"' && !strchr(json, '\\'))
		return yyjson_mut_strncpy(doc, json + 1, len - 2);
	if (str_to_i64(json, INT64_MIN, INT64_MAX, &number) == 0)
		return yyjson_mut_sint(doc, number);
	parsed = yyjson_read(json, len, 0);
	return yyjson_val_mut_copy(doc, yyjson_doc_get_root(parsed));
}

static void fill(const struct type *t, yyjson_mut_doc *doc, yyjson_mut_val *v)
{
	if (t->kind == TYPE_LIST && t->elem->kind == TYPE_STRUCT) {
		ARR_EACH (item, v)
			fill(t->elem, doc, item);
		return;
	}
	if (t->kind != TYPE_STRUCT || !yyjson_mut_is_obj(v))
		return;
	call(t, true, doc, v);
	for (size_t i = 0; i < t->n_fields; i++) {
		const struct field *f = &t->fields[i];

		if (f->fallback && lacks(obj_get(v, f->name), f))
			obj_set(doc, v, f->name, constant(doc, f->fallback));
	}
	call(t, false, doc, v);
	OBJ_EACH (key, val, v) {
		const struct field *f = type_field(t, yyjson_mut_get_str(key), yyjson_mut_get_len(key));

		if (f)
			fill(f->type, doc, val);
	}
}

void defaults_fill_part(const struct type *t, yyjson_mut_doc *doc, yyjson_mut_val *v)
{
	fill(t, doc, v);
}

void defaults_fill(const struct kind *k, yyjson_mut_doc *doc)
{
	if (kind_is_custom(k)) {
		crd_default(k, doc);
		return;
	}
	fill(k->type, doc, yyjson_mut_doc_get_root(doc));
	type_order(doc, k->type, yyjson_mut_doc_get_root(doc));
}
