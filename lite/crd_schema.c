/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A definition's schema becomes types (types.h), the same that built-in kinds have; each keeps a pointer to its part of
 * the schema, which crd_validate.c reads for the rest.
 */
#include "lite/crd_schema.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/obj.h"
#include "lite/types.h"
#include "json/json.h"

#define SUB_VERBS (VERB_GET | VERB_PATCH | VERB_UPDATE)

struct crd_schema {
	yyjson_doc *doc;     /* the version's entry and the names: all texts point into it */
	yyjson_val *openapi; /* in doc; NULL = none */
	struct crd_column *columns;
	size_t n_columns;
	struct crd_scale scale;
	bool has_scale;
	void **blocks; /* everything allocated for types and lists */
	size_t n_blocks;
};

static void *keep(struct crd_schema *s, void *p)
{
	s->blocks = mem_realloc_n(s->blocks, s->n_blocks + 1, sizeof(*s->blocks));
	s->blocks[s->n_blocks++] = p;
	return p;
}

void crd_kind_free(struct kind *k)
{
	if (!k)
		return;
	for (size_t i = 0; k->schema && i < k->schema->n_blocks; i++)
		free(k->schema->blocks[i]);
	if (k->schema) {
		free(k->schema->blocks);
		free(k->schema->columns);
		yyjson_doc_free(k->schema->doc);
	}
	free(k->schema);
	free(k);
}

/* ----------------------------------------------------------------------------------------------------------- types */

static const struct type *compile(struct crd_schema *s, yyjson_val *node);

static bool flag(yyjson_val *node, const char *name)
{
	return yyjson_get_bool(yyjson_obj_get(node, name));
}

static void set_list_merge(struct type *t, yyjson_val *node)
{
	const char *list = json_str(yyjson_obj_get(node, "x-kubernetes-list-type"));
	size_t i, max, n = 0;
	yyjson_val *key;

	t->merge = str_eq(list, "set") ? MERGE_SET : str_eq(list, "map") ? MERGE_MAP : MERGE_ATOMIC;
	if (t->merge != MERGE_MAP)
		return;
	yyjson_arr_foreach(yyjson_obj_get(node, "x-kubernetes-list-map-keys"), i, max,
	                   key) if (n < TYPE_KEYS_MAX && yyjson_is_str(key)) t->keys[n++] = yyjson_get_str(key);
}

/* What every object has, besides its schema. */
static size_t add_meta_fields(struct field *fields)
{
	static const struct type text = { .kind = TYPE_STRING, .name = "string" };

	fields[0] = (struct field) { .name = "apiVersion", .type = &text };
	fields[1] = (struct field) { .name = "kind", .type = &text };
	fields[2] = (struct field) { .name = "metadata",
		                     .type = type_named("io.k8s.apimachinery.pkg.apis.meta.v1", "ObjectMeta"),
		                     .always = true };
	return 3;
}

static bool is_required(yyjson_val *node, const char *name)
{
	size_t i, max;
	yyjson_val *v;

	yyjson_arr_foreach(yyjson_obj_get(node, "required"), i, max, v) if (yyjson_equals_str(v, name)) return true;
	return false;
}

static void set_fields(struct crd_schema *s, struct type *t, yyjson_val *node, bool meta)
{
	yyjson_val *properties = yyjson_obj_get(node, "properties"), *key, *val;
	struct field *fields = keep(s, mem_alloc_n(yyjson_obj_size(properties) + 3, sizeof(*fields)));
	size_t i, max, n = meta ? add_meta_fields(fields) : 0, first = n;

	yyjson_obj_foreach(properties, i, max, key, val)
	{
		const char *name = yyjson_get_str(key);
		bool seen = false;

		for (size_t j = 0; j < first; j++)
			seen = seen || str_eq(fields[j].name, name);
		if (seen)
			continue;
		fields[n++] = (struct field) { .name = name,
			                       .type = compile(s, val),
			                       .description = json_str(yyjson_obj_get(val, "description")),
			                       .required = is_required(node, name),
			                       .pointer = true };
	}
	t->fields = fields;
	t->n_fields = n;
}

static struct type *compile_object(struct crd_schema *s, yyjson_val *node, bool meta)
{
	struct type *t = keep(s, NEW(struct type));
	yyjson_val *more = yyjson_obj_get(node, "additionalProperties");

	t->schema = node;
	t->description = json_str(yyjson_obj_get(node, "description"));
	t->merge = str_eq(json_str(yyjson_obj_get(node, "x-kubernetes-map-type")), "atomic") ? MERGE_ATOMIC : MERGE_MAP;
	t->embedded = flag(node, "x-kubernetes-embedded-resource");
	t->keep_unknown = flag(node, "x-kubernetes-preserve-unknown-fields");
	if (!meta && !t->embedded && (yyjson_is_obj(more) || yyjson_get_bool(more))) {
		t->kind = TYPE_MAP;
		t->elem = compile(s, yyjson_is_obj(more) ? more : NULL);
		return t;
	}
	t->kind = TYPE_STRUCT;
	set_fields(s, t, node, meta || t->embedded);
	return t;
}

static const struct type *compile(struct crd_schema *s, yyjson_val *node)
{
	static const struct {
		const char *name;
		enum type_kind kind;
	} simple[] = { { "string", TYPE_STRING },
		       { "integer", TYPE_INT64 },
		       { "number", TYPE_NUMBER },
		       { "boolean", TYPE_BOOL } };
	const char *name = json_str(yyjson_obj_get(node, "type"));
	struct type *t;

	if (str_eq(name, "object"))
		return compile_object(s, node, false);
	t = keep(s, NEW(struct type));
	t->schema = node ? (const void *)node : "";
	t->kind = flag(node, "x-kubernetes-int-or-string") ? TYPE_INT_OR_STRING : TYPE_ANY;
	t->description = json_str(yyjson_obj_get(node, "description"));
	for (size_t i = 0; i < ARRAY_LEN(simple); i++)
		if (str_eq(name, simple[i].name))
			t->kind = simple[i].kind;
	if (str_eq(name, "array")) {
		t->kind = TYPE_LIST;
		t->elem = compile(s, yyjson_obj_get(node, "items"));
		set_list_merge(t, node);
	}
	return t;
}

/* ------------------------------------------------------------------------------------------------------------ kind */

static const char *const *words(struct crd_schema *s, yyjson_val *list)
{
	size_t i, max, n = 0;
	const char **out;
	yyjson_val *v;

	if (!yyjson_arr_size(list))
		return NULL;
	out = keep(s, mem_alloc_n(yyjson_arr_size(list) + 1, sizeof(*out)));
	yyjson_arr_foreach(list, i, max, v) if (yyjson_is_str(v)) out[n++] = yyjson_get_str(v);
	return out;
}

static void set_columns(struct crd_schema *s, yyjson_val *version)
{
	yyjson_val *list = yyjson_obj_get(version, "additionalPrinterColumns"), *v;
	size_t i, max;

	s->columns = mem_alloc_n(yyjson_arr_size(list) + 1, sizeof(*s->columns));
	yyjson_arr_foreach(list, i, max, v) s->columns[s->n_columns++] = (struct crd_column) {
		.name = str_or(json_str(yyjson_obj_get(v, "name")), ""),
		.type = str_or(json_str(yyjson_obj_get(v, "type")), "string"),
		.format = str_or(json_str(yyjson_obj_get(v, "format")), ""),
		.description = str_or(json_str(yyjson_obj_get(v, "description")), ""),
		.json_path = str_or(json_str(yyjson_obj_get(v, "jsonPath")), ""),
		.priority = json_int(yyjson_obj_get(v, "priority"), 0),
	};
	if (!s->n_columns)
		s->columns[s->n_columns++] = (struct crd_column) {
			.name = "Age",
			.type = "date",
			.format = "",
			.json_path = ".metadata.creationTimestamp",
			.description = "CreationTimestamp is a timestamp representing the server time when this object "
			               "was created.",
		};
}

static void set_subresources(struct kind *k, yyjson_val *version)
{
	yyjson_val *subs = yyjson_obj_get(version, "subresources"), *scale = yyjson_obj_get(subs, "scale");

	if (yyjson_is_obj(scale)) {
		k->schema->has_scale = true;
		k->schema->scale = (struct crd_scale) { json_str(yyjson_obj_get(scale, "specReplicasPath")),
			                                json_str(yyjson_obj_get(scale, "statusReplicasPath")),
			                                json_str(yyjson_obj_get(scale, "labelSelectorPath")) };
		k->subs[k->n_subs++] =
		        (struct subresource) { .name = "scale",
			                       .group = "autoscaling",
			                       .version = "v1",
			                       .kind = "Scale",
			                       .verbs = SUB_VERBS,
			                       .type = type_named("io.k8s.api.autoscaling.v1", "Scale") };
	}
	if (yyjson_is_obj(yyjson_obj_get(subs, "status"))) {
		k->has_status = true;
		k->subs[k->n_subs++] = (struct subresource) { .name = "status", .kind = k->kind, .verbs = SUB_VERBS };
	}
}

static yyjson_val *find_version(yyjson_val *spec, const char *name)
{
	size_t i, max;
	yyjson_val *v;

	yyjson_arr_foreach(yyjson_obj_get(spec, "versions"), i, max,
	                   v) if (yyjson_equals_str(yyjson_obj_get(v, "name"), name) && flag(v, "served")) return v;
	return NULL;
}

/* A document of our own with what the kind needs, so that every text in it lives as long as the kind. */
static yyjson_doc *own_copy(yyjson_val *spec, yyjson_val *version)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = obj_doc();
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);

	obj_set(doc, root, "group", yyjson_val_mut_copy(doc, yyjson_obj_get(spec, "group")));
	obj_set(doc, root, "names", yyjson_val_mut_copy(doc, yyjson_obj_get(spec, "names")));
	obj_set(doc, root, "scope", yyjson_val_mut_copy(doc, yyjson_obj_get(spec, "scope")));
	obj_set(doc, root, "version", yyjson_val_mut_copy(doc, version));
	return yyjson_mut_doc_imut_copy(doc, NULL);
}

struct kind *crd_kind_new(yyjson_val *crd, const char *version_name)
{
	yyjson_val *spec = yyjson_obj_get(crd, "spec"), *version = find_version(spec, version_name), *root, *names;
	_cleanup_(crd_kind_freep) struct kind *k = NULL;

	if (!version)
		return NULL;
	k = NEW(struct kind);
	k->schema = NEW(struct crd_schema);
	k->schema->doc = own_copy(spec, version);
	root = yyjson_doc_get_root(k->schema->doc);
	version = yyjson_obj_get(root, "version");
	names = yyjson_obj_get(root, "names");
	k->group = json_str(yyjson_obj_get(root, "group"));
	k->version = json_str(yyjson_obj_get(version, "name"));
	k->kind = json_str(yyjson_obj_get(names, "kind"));
	k->plural = json_str(yyjson_obj_get(names, "plural"));
	if (!k->group || !k->version || !k->kind || !k->plural)
		return NULL;
	k->list = str_or(json_str(yyjson_obj_get(names, "listKind")), keep(k->schema, str_printf("%sList", k->kind)));
	k->singular = str_or(json_str(yyjson_obj_get(names, "singular")), k->plural);
	k->stored_as = keep(k->schema, str_printf("%s.%s", k->plural, k->group));
	k->short_names = words(k->schema, yyjson_obj_get(names, "shortNames"));
	k->categories = words(k->schema, yyjson_obj_get(names, "categories"));
	k->namespaced = !str_eq(json_str(yyjson_obj_get(root, "scope")), "Cluster");
	k->verbs = VERB_ALL;
	k->has_generation = true;
	k->allow_create_on_update = false;
	k->schema->openapi = val_at(version, "schema", "openAPIV3Schema");
	k->type = compile_object(k->schema, k->schema->openapi, true);
	set_columns(k->schema, version);
	set_subresources(k, version);
	return TAKE_PTR(k);
}

/* -------------------------------------------------------------------------------------------------------- defaults */

static void fill(const struct type *t, yyjson_mut_doc *doc, yyjson_mut_val *v)
{
	if (!t->schema)
		return;
	if (t->kind == TYPE_LIST) {
		ARR_EACH (item, v)
			fill(t->elem, doc, item);
	} else if (t->kind == TYPE_MAP) {
		OBJ_EACH (key, val, v) {
			(void)key;
			fill(t->elem, doc, val);
		}
	} else if (t->kind == TYPE_STRUCT && yyjson_mut_is_obj(v)) {
		for (size_t i = 0; i < t->n_fields; i++) {
			const struct field *f = &t->fields[i];
			yyjson_val *node = f->type->schema ? (yyjson_val *)(uintptr_t)f->type->schema : NULL, *given;
			yyjson_mut_val *member = obj_get(v, f->name);

			given = node ? yyjson_obj_get(node, "default") : NULL;
			if (given && (!member || (yyjson_mut_is_null(member) && !flag(node, "nullable")))) {
				member = yyjson_val_mut_copy(doc, given);
				obj_set(doc, v, f->name, member);
			}
			if (member)
				fill(f->type, doc, member);
		}
	}
}

void crd_default(const struct kind *k, yyjson_mut_doc *doc)
{
	fill(k->type, doc, yyjson_mut_doc_get_root(doc));
}

/* ----------------------------------------------------------------------------------------------------------- asked */

const struct crd_column *crd_columns(const struct kind *k, size_t *ret_n)
{
	*ret_n = k->schema->n_columns;
	return k->schema->columns;
}

const struct crd_scale *crd_scale_of(const struct kind *k)
{
	return k->schema && k->schema->has_scale ? &k->schema->scale : NULL;
}

yyjson_val *crd_openapi(const struct kind *k)
{
	return k->schema->openapi;
}

/* ------------------------------------------------------------------------------------------ status of a definition */

static void set_condition(yyjson_mut_doc *doc, yyjson_mut_val *conditions, const char *type, const char *reason,
                          const char *message, const char *now_text)
{
	yyjson_mut_val *c;

	ARR_EACH (old, conditions)
		if (str_eq(obj_str(obj_get(old, "type")), type))
			return;
	c = yyjson_mut_arr_add_obj(doc, conditions);
	obj_set_str(doc, c, "type", type);
	obj_set_str(doc, c, "status", "True");
	obj_set_str(doc, c, "lastTransitionTime", now_text);
	obj_set_str(doc, c, "reason", reason);
	obj_set_str(doc, c, "message", message);
}

void crd_set_established(yyjson_mut_doc *crd, const char *now_text)
{
	yyjson_mut_val *root = yyjson_mut_doc_get_root(crd), *status = obj_make(crd, root, "status"), *conditions,
	               *stored;

	conditions = obj_make_arr(crd, status, "conditions");
	set_condition(crd, conditions, "NamesAccepted", "NoConflicts", "no conflicts found", now_text);
	set_condition(crd, conditions, "Established", "InitialNamesAccepted", "the initial names have been accepted",
	              now_text);
	obj_set_copy(crd, status, "acceptedNames", obj_at(root, "spec", "names"));
	stored = obj_make_arr(crd, status, "storedVersions");
	ARR_EACH (version, obj_at(root, "spec", "versions")) {
		const char *name = obj_str(obj_get(version, "name"));
		bool seen = !name || !obj_bool(obj_get(version, "storage"), false);

		ARR_EACH (old, stored)
			seen = seen || str_eq(obj_str(old), name);
		if (!seen)
			yyjson_mut_arr_append(stored, yyjson_mut_strcpy(crd, name));
	}
}
