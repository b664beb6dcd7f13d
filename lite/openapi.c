/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Schemas are written from the types, paths from the kinds: one path per resource with its PATCH, where clients look
 * for what it takes. Each group's document holds every schema that its kinds lead to.
 */
#include "lite/openapi.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/crd_schema.h"
#include "lite/obj.h"
#include "lite/types.h"

/* One document under way. */
struct document {
	yyjson_mut_doc *doc;
	yyjson_mut_val *schemas; /* components.schemas, or definitions */
	const char *prefix;      /* of a reference: "#/components/schemas/" */
	bool v3;
};

static const char *const simple_types[][4] = {
	[TYPE_STRING] = { "string" },          [TYPE_INT32] = { "integer", "int32" },
	[TYPE_INT64] = { "integer", "int64" }, [TYPE_NUMBER] = { "number", "double" },
	[TYPE_BOOL] = { "boolean" },           [TYPE_BYTES] = { "string", "byte" },
};

static const struct {
	enum type_kind kind;
	const char *name, *v2, *v3;
} scalars[] = {
	{ TYPE_TIME, "io.k8s.apimachinery.pkg.apis.meta.v1.Time", "{\"format\":\"date-time\",\"type\":\"string\"}",
	  "{\"format\":\"date-time\",\"type\":\"string\"}" },
	{ TYPE_MICROTIME, "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
	  "{\"format\":\"date-time\",\"type\":\"string\"}", "{\"format\":\"date-time\",\"type\":\"string\"}" },
	{ TYPE_QUANTITY, "io.k8s.apimachinery.pkg.api.resource.Quantity", "{\"type\":\"string\"}",
	  "{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"number\"}]}" },
	{ TYPE_INT_OR_STRING, "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
	  "{\"format\":\"int-or-string\",\"type\":\"string\"}",
	  "{\"format\":\"int-or-string\",\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]}" },
};

/* What can be said in a sentence about fields that every object has; the rest is in the API's reference. */
static const struct {
	const char *field, *text;
} descriptions[] = {
	{ "apiVersion", "The version of the API this object is written in." },
	{ "kind", "What this object is." },
	{ "metadata", "Its name, labels, annotations and what the server keeps about it." },
	{ "spec", "What is wanted." },
	{ "status", "What was last seen." },
};

static void require(struct document *w, const struct type *t);

/* --------------------------------------------------------------------------------------------------------- schemas */

static yyjson_mut_val *reference(struct document *w, const char *name)
{
	yyjson_mut_val *r = yyjson_mut_obj(w->doc);
	_cleanup_free_ char *target = str_printf("%s%s", w->prefix, name);

	obj_set_str(w->doc, r, "$ref", target);
	return r;
}

static char *type_name(const struct type *t)
{
	return str_printf("%s.%s", t->package, t->name);
}

/* A place where the type stands: a reference, or the schema itself. */
static yyjson_mut_val *schema_of(struct document *w, const struct type *t)
{
	yyjson_mut_val *s;
	_cleanup_free_ char *name = NULL;

	for (size_t i = 0; i < ARRAY_LEN(scalars); i++)
		if (scalars[i].kind == t->kind)
			return reference(w, scalars[i].name);
	if (t->kind == TYPE_STRUCT) {
		name = type_name(t);
		return reference(w, name);
	}
	s = yyjson_mut_obj(w->doc);
	if (t->kind == TYPE_LIST) {
		obj_set(w->doc, s, "items", schema_of(w, t->elem));
		obj_set_str(w->doc, s, "type", "array");
	} else if (t->kind == TYPE_MAP) {
		obj_set(w->doc, s, "additionalProperties", schema_of(w, t->elem));
		obj_set_str(w->doc, s, "type", "object");
	} else if (t->kind == TYPE_ANY) {
		obj_set_str(w->doc, s, "type", "object");
	} else {
		if (simple_types[t->kind][1])
			obj_set_str(w->doc, s, "format", simple_types[t->kind][1]);
		obj_set_str(w->doc, s, "type", simple_types[t->kind][0]);
	}
	return s;
}

static void add_merge_rules(struct document *w, yyjson_mut_val *s, const struct field *f)
{
	static const char *const names[] = { [MERGE_ATOMIC] = "atomic", [MERGE_SET] = "set", [MERGE_MAP] = "map" };
	yyjson_mut_val *keys;

	if (f->type->kind == TYPE_LIST) {
		obj_set_str(w->doc, s, "x-kubernetes-list-type", names[f->type->merge]);
		for (size_t i = 0; f->type->keys[i]; i++) {
			keys = obj_make_arr(w->doc, s, "x-kubernetes-list-map-keys");
			yyjson_mut_arr_append(keys, yyjson_mut_str(w->doc, f->type->keys[i]));
		}
	} else if (f->type->kind == TYPE_MAP && f->type->merge == MERGE_ATOMIC) {
		obj_set_str(w->doc, s, "x-kubernetes-map-type", "atomic");
	}
	if (f->merge_key)
		obj_set_str(w->doc, s, "x-kubernetes-patch-merge-key", f->merge_key);
	if (f->patch_replace)
		obj_set_str(w->doc, s, "x-kubernetes-patch-strategy", "replace");
	if (f->patch_merge || f->retain_keys)
		obj_set_str(w->doc, s, "x-kubernetes-patch-strategy",
		            f->patch_merge && f->retain_keys ? "merge,retainKeys"
		            : f->patch_merge                 ? "merge"
		                                             : "retainKeys");
}

static yyjson_mut_val *property(struct document *w, const struct field *f)
{
	yyjson_mut_val *s = schema_of(w, f->type), *all;
	const char *text = f->description;

	for (size_t i = 0; !text && i < ARRAY_LEN(descriptions); i++)
		if (str_eq(descriptions[i].field, f->name))
			text = descriptions[i].text;
	/* Beside a reference nothing else counts in v3, so it is wrapped. */
	if (w->v3 && obj_get(s, "$ref")) {
		all = yyjson_mut_obj(w->doc);
		yyjson_mut_arr_append(obj_make_arr(w->doc, all, "allOf"), s);
		s = all;
		if (f->always && f->type->kind == TYPE_STRUCT)
			obj_make(w->doc, s, "default");
	}
	if (text)
		obj_set_str(w->doc, s, "description", text);
	add_merge_rules(w, s, f);
	return s;
}

static void require_elements(struct document *w, const struct type *t)
{
	while (t->kind == TYPE_LIST || t->kind == TYPE_MAP)
		t = t->elem;
	require(w, t);
}

static void require_scalar(struct document *w, enum type_kind kind)
{
	for (size_t i = 0; i < ARRAY_LEN(scalars); i++) {
		const char *text = w->v3 ? scalars[i].v3 : scalars[i].v2;
		_cleanup_doc_ yyjson_doc *doc = NULL;

		if (scalars[i].kind != kind || obj_get(w->schemas, scalars[i].name))
			continue;
		doc = yyjson_read(text, strlen(text), 0);
		obj_set(w->doc, w->schemas, scalars[i].name, yyjson_val_mut_copy(w->doc, yyjson_doc_get_root(doc)));
	}
}

/* Makes sure that the type's schema, and all it leads to, are in the document. */
static void require(struct document *w, const struct type *t)
{
	_cleanup_free_ char *name = NULL;
	yyjson_mut_val *s, *properties;

	require_scalar(w, t->kind);
	if (t->kind != TYPE_STRUCT)
		return;
	name = type_name(t);
	if (obj_get(w->schemas, name))
		return;
	s = obj_make(w->doc, w->schemas, name);
	properties = obj_make(w->doc, s, "properties");
	for (size_t i = 0; i < t->n_fields; i++)
		obj_set(w->doc, properties, t->fields[i].name, property(w, &t->fields[i]));
	for (size_t i = 0; i < t->n_fields; i++)
		if (t->fields[i].required)
			yyjson_mut_arr_append(obj_make_arr(w->doc, s, "required"),
			                      yyjson_mut_str(w->doc, t->fields[i].name));
	obj_set_str(w->doc, s, "type", "object");
	if (t->merge == MERGE_ATOMIC)
		obj_set_str(w->doc, s, "x-kubernetes-map-type", "atomic");
	for (size_t i = 0; i < t->n_fields; i++)
		require_elements(w, t->fields[i].type);
}

/* ----------------------------------------------------------------------------------------------------------- kinds */

static yyjson_mut_val *gvk(struct document *w, const struct kind *k)
{
	yyjson_mut_val *o = yyjson_mut_obj(w->doc);

	obj_set_str(w->doc, o, "group", k->group);
	obj_set_str(w->doc, o, "kind", k->kind);
	obj_set_str(w->doc, o, "version", k->version);
	return o;
}

/* "com.example.v1.Widget" */
static char *custom_name(const struct kind *k)
{
	_cleanup_buf_ struct buf out = BUF(1024);
	_cleanup_free_ char *group = mem_strdup(k->group);

	for (char *dot; (dot = strrchr(group, '.')); *dot = '\0')
		buf_printf(&out, "%s.", dot + 1);
	buf_printf(&out, "%s.%s.%s", group, k->version, k->kind);
	return mem_strdup(buf_text(&out));
}

static void require_custom(struct document *w, const struct kind *k)
{
	_cleanup_free_ char *name = custom_name(k);
	yyjson_val *given = crd_openapi(k);
	yyjson_mut_val *s = given ? yyjson_val_mut_copy(w->doc, given) : yyjson_mut_obj(w->doc), *properties;

	require(w, k->type->fields[2].type);
	properties = obj_make(w->doc, s, "properties");
	for (size_t i = 0; i < 3; i++)
		obj_set(w->doc, properties, k->type->fields[i].name, property(w, &k->type->fields[i]));
	obj_set_str(w->doc, s, "type", "object");
	yyjson_mut_arr_append(obj_make_arr(w->doc, s, "x-kubernetes-group-version-kind"), gvk(w, k));
	obj_set(w->doc, w->schemas, name, s);
}

static void require_kind(struct document *w, const struct kind *k)
{
	_cleanup_free_ char *name = NULL;
	yyjson_mut_val *s;

	if (kind_is_custom(k)) {
		require_custom(w, k);
		return;
	}
	require(w, k->type);
	name = type_name(k->type);
	s = obj_get(w->schemas, name);
	if (!obj_get(s, "x-kubernetes-group-version-kind"))
		yyjson_mut_arr_append(obj_make_arr(w->doc, s, "x-kubernetes-group-version-kind"), gvk(w, k));
}

static void add_parameters(struct document *w, yyjson_mut_val *operation)
{
	static const char *const names[][2] = { { "dryRun", "string" },
		                                { "fieldManager", "string" },
		                                { "fieldValidation", "string" },
		                                { "force", "boolean" } };
	yyjson_mut_val *list = obj_make_arr(w->doc, operation, "parameters"), *p;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		p = yyjson_mut_arr_add_obj(w->doc, list);
		obj_set_str(w->doc, p, "name", names[i][0]);
		obj_set_str(w->doc, p, "in", "query");
		obj_set_str(w->doc, w->v3 ? obj_make(w->doc, p, "schema") : p, "type", names[i][1]);
	}
}

static void add_patch_bodies(struct document *w, yyjson_mut_val *operation, const struct kind *k)
{
	static const char *const types[] = { "application/apply-patch+yaml", "application/json-patch+json",
		                             "application/merge-patch+json", "application/strategic-merge-patch+json" };
	yyjson_mut_val *content = w->v3 ? obj_make(w->doc, obj_make(w->doc, operation, "requestBody"), "content")
	                                : obj_make_arr(w->doc, operation, "consumes");

	/* The last is for built-in kinds only. */
	for (size_t i = 0; i < ARRAY_LEN(types) - (kind_is_custom(k) ? 1 : 0); i++) {
		if (w->v3)
			obj_set_str(w->doc, obj_make(w->doc, obj_make(w->doc, content, types[i]), "schema"), "type",
			            "object");
		else
			yyjson_mut_arr_append(content, yyjson_mut_str(w->doc, types[i]));
	}
}

static void add_responses(struct document *w, yyjson_mut_val *operation, const struct kind *k)
{
	_cleanup_free_ char *name = kind_is_custom(k) ? custom_name(k) : type_name(k->type);
	yyjson_mut_val *ok = obj_make(w->doc, obj_make(w->doc, operation, "responses"), "200");

	obj_set_str(w->doc, ok, "description", "OK");
	if (w->v3)
		ok = obj_make(w->doc, obj_make(w->doc, ok, "content"), "application/json");
	obj_set(w->doc, ok, "schema", reference(w, name));
}

static void add_operation(struct document *w, yyjson_mut_val *path, const char *method, const struct kind *k)
{
	yyjson_mut_val *op = obj_make(w->doc, path, method);

	if (str_eq(method, "patch") || str_eq(method, "post"))
		add_parameters(w, op);
	if (str_eq(method, "patch"))
		add_patch_bodies(w, op, k);
	add_responses(w, op, k);
	obj_set_str(w->doc, op, "x-kubernetes-action", str_eq(method, "post") ? "post" : method);
	obj_set(w->doc, op, "x-kubernetes-group-version-kind", gvk(w, k));
}

static void add_paths(struct document *w, yyjson_mut_val *paths, const struct kind *k)
{
	_cleanup_free_ char *all = str_printf("%s%s/%s/%s%s", *k->group ? "/apis/" : "/api", k->group, k->version,
	                                      k->namespaced ? "namespaces/{namespace}/" : "", k->plural);
	_cleanup_free_ char *one = str_printf("%s/{name}", all);
	yyjson_mut_val *path = obj_make(w->doc, paths, all);

	if (k->verbs & VERB_LIST)
		add_operation(w, path, "get", k);
	if (k->verbs & VERB_CREATE)
		add_operation(w, path, "post", k);
	if (!(k->verbs & VERB_PATCH))
		return;
	path = obj_make(w->doc, paths, one);
	add_operation(w, path, "get", k);
	add_operation(w, path, "patch", k);
}

static void add_info(yyjson_mut_doc *doc, const char *key, const char *version)
{
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *info;

	obj_set_str(doc, root, key, version);
	info = obj_make(doc, root, "info");
	obj_set_str(doc, info, "title", "Kubernetes");
	obj_set_str(doc, info, "version", "v1.36.0");
}

void openapi_v2(const struct kinds *set, struct buf *out)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = obj_doc();
	yyjson_mut_val *paths;
	struct document w = { .doc = doc, .prefix = "#/definitions/" };

	add_info(doc, "swagger", "2.0");
	paths = obj_make(doc, yyjson_mut_doc_get_root(doc), "paths");
	w.schemas = obj_make(doc, yyjson_mut_doc_get_root(doc), "definitions");
	for (size_t i = 0; i < set->n; i++) {
		require_kind(&w, set->list[i]);
		add_paths(&w, paths, set->list[i]);
	}
	obj_add_text(out, yyjson_mut_doc_get_root(doc));
}

bool openapi_v3(const struct kinds *set, const char *group, const char *version, struct buf *out)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = obj_doc();
	yyjson_mut_val *paths;
	struct document w = { .doc = doc, .prefix = "#/components/schemas/", .v3 = true };
	bool any = false;

	add_info(doc, "openapi", "3.0.0");
	paths = obj_make(doc, yyjson_mut_doc_get_root(doc), "paths");
	w.schemas = obj_make(doc, obj_make(doc, yyjson_mut_doc_get_root(doc), "components"), "schemas");
	for (size_t i = 0; i < set->n; i++) {
		if (!str_eq(set->list[i]->group, group) || !str_eq(set->list[i]->version, version))
			continue;
		any = true;
		require_kind(&w, set->list[i]);
		add_paths(&w, paths, set->list[i]);
	}
	if (any)
		obj_add_text(out, yyjson_mut_doc_get_root(doc));
	return any;
}

static unsigned long long hash_of(const char *text)
{
	unsigned long long h = 1469598103934665603ull;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 1099511628211ull;
	return h;
}

/* Clients keep a document as long as its hash in this index stays. */
void openapi_v3_index(const struct kinds *set, struct buf *out)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = obj_doc();
	yyjson_mut_val *paths = obj_make(doc, yyjson_mut_doc_get_root(doc), "paths");

	for (size_t i = 0; i < set->n; i++) {
		const struct kind *k = set->list[i];
		_cleanup_free_ char *path = str_printf("%s%s/%s", *k->group ? "apis/" : "api", k->group, k->version),
		                    *url = NULL;
		_cleanup_buf_ struct buf text = BUF(OPENAPI_MAX);

		if (obj_get(paths, path))
			continue;
		openapi_v3(set, k->group, k->version, &text);
		url = str_printf("/openapi/v3/%s?hash=%016llX", path, hash_of(buf_text(&text)));
		obj_set_str(doc, obj_make(doc, paths, path), "serverRelativeURL", url);
	}
	obj_add_text(out, yyjson_mut_doc_get_root(doc));
}
