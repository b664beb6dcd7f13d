/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Definitions of custom resources: names, versions, columns, and whether the schema is one that objects can be pruned
 * by.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/checks.h"
#include "lite/crd_schema.h"
#include "lite/obj.h"

#define WORDS(...) ((const char *const[]) { __VA_ARGS__, NULL })

static void check_label(struct check *c, const char *member, const char *text)
{
	struct name_errors errors;
	char all[2000];

	if (name_dns1035_label(text, &errors))
		check_add_text(c, CAUSE_INVALID, member, text, "%s", name_errors_text(&errors, all, sizeof(all)));
}

static void check_kind_name(struct check *c, yyjson_mut_val *names, const char *member)
{
	const char *text = str_or(obj_str(obj_get(names, member)), "");
	_cleanup_free_ char *lower = mem_strdup(text);
	struct name_errors errors;
	char all[2000];

	for (char *p = lower; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	if (check_given(c, names, member) && name_dns1035_label(lower, &errors))
		check_add_text(c, CAUSE_INVALID, member, text, "may have mixed case, but should otherwise match: %s",
		               name_errors_text(&errors, all, sizeof(all)));
}

static void check_names(struct check *c, yyjson_mut_val *names)
{
	size_t up = check_enter(c, "names"), i = 0;

	if (check_given(c, names, "plural"))
		check_label(c, "plural", obj_str(obj_get(names, "plural")));
	if (check_given(c, names, "singular"))
		check_label(c, "singular", obj_str(obj_get(names, "singular")));
	check_kind_name(c, names, "kind");
	check_kind_name(c, names, "listKind");
	if (obj_get(names, "kind") && obj_equal(obj_get(names, "kind"), obj_get(names, "listKind")))
		check_add(c, CAUSE_INVALID, "listKind", obj_get(names, "listKind"),
		          "kind and listKind may not be the same");
	ARR_EACH (s, obj_get(names, "shortNames")) {
		size_t in = check_enter(c, "shortNames");

		check_enter_index(c, i++);
		check_label(c, NULL, str_or(obj_str(s), ""));
		check_leave(c, in);
	}
	check_leave(c, up);
}

/* --------------------------------------------------------------------------------------------------------- schemas */

/* Structural: every value has its type said, in the schema itself and not only inside allOf and the like. */
static void check_node(struct check *c, yyjson_mut_val *node, bool root)
{
	const char *type = obj_str(obj_get(node, "type"));
	bool free_form = obj_bool(obj_get(node, "x-kubernetes-int-or-string"), false) ||
	                 obj_bool(obj_get(node, "x-kubernetes-preserve-unknown-fields"), false);
	yyjson_mut_val *properties = obj_get(node, "properties"), *more = obj_get(node, "additionalProperties"),
	               *items = obj_get(node, "items");
	size_t up;

	if (str_empty(type) && !free_form)
		check_add(c, CAUSE_REQUIRED, "type", NULL,
		          root ? "must not be empty at the root" : "must not be empty for specified object fields");
	else if (root && !str_empty(type) && !str_eq(type, "object"))
		check_add_text(c, CAUSE_INVALID, "type", type, "must be object at the root");
	check_word(c, node, "type", WORDS("array", "boolean", "integer", "number", "object", "string"), false);
	if (obj_size(properties) && yyjson_mut_is_obj(more))
		check_add(c, CAUSE_FORBIDDEN, "additionalProperties", NULL,
		          "additionalProperties and properties are mutual exclusive");
	if (str_eq(type, "array") && !yyjson_mut_is_obj(items))
		check_add(c, CAUSE_REQUIRED, "items", NULL, "must be specified");
	if (str_eq(obj_str(obj_get(node, "x-kubernetes-list-type")), "map") &&
	    !obj_size(obj_get(node, "x-kubernetes-list-map-keys")))
		check_add(c, CAUSE_REQUIRED, "x-kubernetes-list-map-keys", NULL,
		          "must not be empty if x-kubernetes-list-type is map");
	check_word(c, node, "x-kubernetes-list-type", WORDS("atomic", "map", "set"), false);
	OBJ_EACH (key, val, properties) {
		up = check_enter(c, "properties");
		check_enter_key(c, yyjson_mut_get_str(key));
		if (!(root && str_eq(yyjson_mut_get_str(key), "metadata")))
			check_node(c, val, false);
		check_leave(c, up);
	}
	if (yyjson_mut_is_obj(more)) {
		up = check_enter(c, "additionalProperties");
		check_node(c, more, false);
		check_leave(c, up);
	}
	if (yyjson_mut_is_obj(items)) {
		up = check_enter(c, "items");
		check_node(c, items, false);
		check_leave(c, up);
	}
}

static void check_column(struct check *c, yyjson_mut_val *column)
{
	static const char *const types[] = { "boolean", "date", "integer", "number", "string", NULL };
	const char *type = str_or(obj_str(obj_get(column, "type")), ""), *path = obj_str(obj_get(column, "jsonPath"));
	bool known = false;

	check_given(c, column, "name");
	for (size_t i = 0; types[i]; i++)
		known = known || str_eq(types[i], type);
	if (!*type)
		check_add(c, CAUSE_REQUIRED, "type", NULL, "must be one of boolean,date,integer,number,string");
	else if (!known)
		check_add_text(c, CAUSE_INVALID, "type", type, "must be one of boolean,date,integer,number,string");
	if (str_empty(path))
		check_add(c, CAUSE_REQUIRED, "JSONPath", NULL, NULL);
	else if (jsonpath_check(path))
		check_add_text(c, CAUSE_INVALID, "JSONPath", path, "%s", jsonpath_check(path));
}

static void check_scale(struct check *c, yyjson_mut_val *scale)
{
	static const struct {
		const char *member, *root;
		bool required;
	} rows[] = { { "specReplicasPath", ".spec.", true },
		     { "statusReplicasPath", ".status.", true },
		     { "labelSelectorPath", ".s", false } };
	size_t up = check_enter(c, "subresources.scale");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *path = obj_str(obj_get(scale, rows[i].member));

		if (str_empty(path) && rows[i].required)
			check_add(c, CAUSE_REQUIRED, rows[i].member, NULL, NULL);
		else if (!str_empty(path) && (!str_starts(path, rows[i].root) || jsonpath_check(path)))
			check_add_text(c, CAUSE_INVALID, rows[i].member, path, "should be a json path under %s",
			               rows[i].required ? rows[i].root : "either .spec or .status");
	}
	check_leave(c, up);
}

static void check_version(struct check *c, yyjson_mut_val *v)
{
	yyjson_mut_val *schema = obj_at(v, "schema", "openAPIV3Schema");
	size_t i = 0, up;

	check_label(c, "name", str_or(obj_str(obj_get(v, "name")), ""));
	if (!obj_is_set(schema)) {
		check_add(c, CAUSE_REQUIRED, "schema.openAPIV3Schema", NULL, NULL);
	} else {
		up = check_enter(c, "schema.openAPIV3Schema");
		check_node(c, schema, true);
		check_leave(c, up);
	}
	if (obj_is_set(obj_at(v, "subresources", "scale")))
		check_scale(c, obj_at(v, "subresources", "scale"));
	ARR_EACH (column, obj_get(v, "additionalPrinterColumns")) {
		up = check_enter(c, "additionalPrinterColumns");
		check_enter_index(c, i++);
		check_column(c, column);
		check_leave(c, up);
	}
}

static void check_versions(struct check *c, yyjson_mut_val *spec)
{
	yyjson_mut_val *versions = obj_get(spec, "versions");
	size_t i = 0, stored = 0;
	bool unique = true;

	ARR_EACH (v, versions) {
		size_t up = check_enter(c, "versions");

		check_enter_index(c, i++);
		check_version(c, v);
		check_leave(c, up);
		stored += obj_bool(obj_get(v, "storage"), false);
		ARR_EACH (other, versions)
			unique = unique && (other == v || !obj_equal(obj_get(other, "name"), obj_get(v, "name")));
	}
	if (!unique)
		check_add(c, CAUSE_INVALID, "versions", versions, "must contain unique version names");
	if (stored != 1)
		check_add(c, CAUSE_INVALID, "versions", versions,
		          "must have exactly one version marked as storage version");
}

/* Objects may still be kept in a version that was the storage version once. */
static void check_stored(struct check *c, yyjson_mut_val *crd)
{
	size_t i = 0, up;

	ARR_EACH (stored, obj_at(crd, "status", "storedVersions")) {
		const char *name = str_or(obj_str(stored), "");
		bool there = false;

		ARR_EACH (v, obj_at(crd, "spec", "versions"))
			there = there || str_eq(obj_str(obj_get(v, "name")), name);
		up = check_enter(c, "status.storedVersions");
		check_enter_index(c, i++);
		if (!there)
			check_add_text(c, CAUSE_INVALID, NULL, name,
			               "missing from spec.versions; %s was previously a storage version, and must "
			               "remain in spec.versions until a storage migration ensures no data remains "
			               "persisted in %s and removes %s from status.storedVersions",
			               name, name, name);
		check_leave(c, up);
	}
}

void crd_check(yyjson_mut_val *crd, struct causes *causes)
{
	_cleanup_check_ struct check c = check_begin(causes);
	yyjson_mut_val *spec = obj_get(crd, "spec");
	const char *name = str_or(obj_str(obj_at(crd, "metadata", "name")), ""),
	           *group = obj_str(obj_get(spec, "group"));
	_cleanup_free_ char *should =
	        str_printf("%s.%s", str_or(obj_str(obj_at(spec, "names", "plural")), ""), str_or(group, ""));
	struct name_errors errors;
	char text[2000];

	if (!str_eq(name, should))
		check_add_text(&c, CAUSE_INVALID, "metadata.name", name, "must be spec.names.plural+\".\"+spec.group");
	check_enter(&c, "spec");
	if (check_given(&c, spec, "group")) {
		if (name_dns_subdomain(group, &errors))
			check_add_text(&c, CAUSE_INVALID, "group", group, "%s",
			               name_errors_text(&errors, text, sizeof(text)));
		else if (!strchr(group, '.'))
			check_add_text(&c, CAUSE_INVALID, "group", group, "should be a domain with at least one dot");
	}
	check_word(&c, spec, "scope", WORDS("Cluster", "Namespaced"), true);
	check_versions(&c, spec);
	check_names(&c, obj_get(spec, "names"));
	check_leave(&c, 0);
	check_stored(&c, crd);
}
