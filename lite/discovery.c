/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/discovery.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/obj.h"

#define SERVED_AS "v1.36.0" /* the API whose answers these are */

static yyjson_mut_val *add_words(yyjson_mut_doc *doc, yyjson_mut_val *to, const char *name, const char *const *words)
{
	yyjson_mut_val *arr;

	if (!words)
		return NULL;
	arr = obj_make_arr(doc, to, name);
	for (; *words; words++)
		yyjson_mut_arr_append(arr, yyjson_mut_str(doc, *words));
	return arr;
}

static void add_verbs(yyjson_mut_doc *doc, yyjson_mut_val *to, unsigned verbs)
{
	static const char *const words[] = { "create", "delete", "deletecollection", "get",
		                             "list",   "patch",  "update",           "watch" };
	yyjson_mut_val *arr = obj_make_arr(doc, to, "verbs");

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (verbs & (1u << i))
			yyjson_mut_arr_append(arr, yyjson_mut_str(doc, words[i]));
}

static void write_out(yyjson_mut_doc *doc, struct buf *out)
{
	obj_add_text(out, yyjson_mut_doc_get_root(doc));
	yyjson_mut_doc_free(doc);
}

static yyjson_mut_doc *begin(const char *kind, const char *api_version)
{
	yyjson_mut_doc *doc = obj_doc();

	obj_set_str(doc, yyjson_mut_doc_get_root(doc), "kind", kind);
	if (api_version)
		obj_set_str(doc, yyjson_mut_doc_get_root(doc), "apiVersion", api_version);
	return doc;
}

/* -------------------------------------------------------------------------------------------------------- versions */

/* "v2" before "v1" before "v1beta2" before "v1alpha1" before anything else. */
static long rank(const char *version)
{
	long major, minor = 0, level = 3;
	char *end;

	if (version[0] != 'v' || !isdigit((unsigned char)version[1]))
		return 0;
	major = strtol(version + 1, &end, 10);
	if (str_starts(end, "beta") || str_starts(end, "alpha")) {
		level = *end == 'b' ? 2 : 1;
		minor = strtol(end + (level == 2 ? 4 : 5), &end, 10);
	}
	return *end ? 0 : level * 100000000 + MIN_OF(major, 9999) * 10000 + MIN_OF(minor, 9999);
}

#define VERSIONS_MAX 32

struct versions {
	const char *list[VERSIONS_MAX];
	size_t n;
};

static void add_version(struct versions *v, const char *version)
{
	size_t at = 0;

	for (size_t i = 0; i < v->n; i++)
		if (str_eq(v->list[i], version))
			return;
	if (v->n == VERSIONS_MAX)
		return;
	while (at < v->n && rank(v->list[at]) >= rank(version))
		at++;
	memmove(&v->list[at + 1], &v->list[at], (v->n - at) * sizeof(*v->list));
	v->list[at] = version;
	v->n++;
}

/* The versions of a group, the preferred one first. */
static struct versions versions_of(const struct kinds *set, const char *group)
{
	struct versions v = { 0 };

	for (size_t i = 0; i < set->n; i++)
		if (str_eq(set->list[i]->group, group))
			add_version(&v, set->list[i]->version);
	return v;
}

/* Is this kind the first of its group in the set? */
static bool is_first_of_group(const struct kinds *set, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (str_eq(set->list[j]->group, set->list[i]->group))
			return false;
	return true;
}

/* ----------------------------------------------------------------------------------------------- classic documents */

void discovery_version(struct buf *out)
{
	yyjson_mut_doc *doc = obj_doc();
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);

	obj_set_str(doc, root, "major", "1");
	obj_set_str(doc, root, "minor", "36");
	obj_set_str(doc, root, "gitVersion", SERVED_AS "+lite");
	obj_set_str(doc, root, "gitCommit", "sunk-lite " SUNK_VERSION);
	obj_set_str(doc, root, "gitTreeState", "clean");
	obj_set_str(doc, root, "buildDate", "2026-01-01T00:00:00Z");
	obj_set_str(doc, root, "goVersion", "none");
	obj_set_str(doc, root, "compiler", "cc");
	obj_set_str(doc, root, "platform", "linux/amd64");
	write_out(doc, out);
}

void discovery_api(const char *server_address, struct buf *out)
{
	yyjson_mut_doc *doc = begin("APIVersions", NULL);
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *addresses;

	add_words(doc, root, "versions", (const char *const[]) { "v1", NULL });
	addresses = yyjson_mut_arr_add_obj(doc, obj_make_arr(doc, root, "serverAddressByClientCIDRs"));
	obj_set_str(doc, addresses, "clientCIDR", "0.0.0.0/0");
	obj_set_str(doc, addresses, "serverAddress", str_or(server_address, ""));
	write_out(doc, out);
}

static void set_version(yyjson_mut_doc *doc, yyjson_mut_val *to, const char *group, const char *version)
{
	_cleanup_free_ char *both = str_printf("%s/%s", group, version);

	obj_set_str(doc, to, "groupVersion", both);
	obj_set_str(doc, to, "version", version);
}

static void fill_group(yyjson_mut_doc *doc, yyjson_mut_val *to, const struct kinds *set, const char *group)
{
	struct versions v = versions_of(set, group);
	yyjson_mut_val *list;

	obj_set_str(doc, to, "name", group);
	list = obj_make_arr(doc, to, "versions");
	for (size_t i = 0; i < v.n; i++)
		set_version(doc, yyjson_mut_arr_add_obj(doc, list), group, v.list[i]);
	if (v.n)
		set_version(doc, obj_make(doc, to, "preferredVersion"), group, v.list[0]);
}

void discovery_apis(const struct kinds *set, struct buf *out)
{
	yyjson_mut_doc *doc = begin("APIGroupList", "v1");
	yyjson_mut_val *groups = obj_make_arr(doc, yyjson_mut_doc_get_root(doc), "groups");

	for (size_t i = 0; i < set->n; i++)
		if (*set->list[i]->group && is_first_of_group(set, i))
			fill_group(doc, yyjson_mut_arr_add_obj(doc, groups), set, set->list[i]->group);
	write_out(doc, out);
}

void discovery_group(const struct kinds *set, const char *group, struct buf *out)
{
	yyjson_mut_doc *doc = begin("APIGroup", "v1");

	fill_group(doc, yyjson_mut_doc_get_root(doc), set, group);
	write_out(doc, out);
}

static void add_subresource(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct kind *k,
                            const struct subresource *s)
{
	yyjson_mut_val *r = yyjson_mut_arr_add_obj(doc, list);
	_cleanup_free_ char *name = str_printf("%s/%s", k->plural, s->name);

	obj_set_str(doc, r, "name", name);
	obj_set_str(doc, r, "singularName", "");
	obj_set_bool(doc, r, "namespaced", k->namespaced);
	if (s->group)
		obj_set_str(doc, r, "group", s->group);
	if (s->version)
		obj_set_str(doc, r, "version", s->version);
	obj_set_str(doc, r, "kind", s->kind);
	add_verbs(doc, r, s->verbs);
}

static void add_resource(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct kind *k)
{
	yyjson_mut_val *r = yyjson_mut_arr_add_obj(doc, list);

	obj_set_str(doc, r, "name", k->plural);
	obj_set_str(doc, r, "singularName", k->singular);
	obj_set_bool(doc, r, "namespaced", k->namespaced);
	obj_set_str(doc, r, "kind", k->kind);
	add_verbs(doc, r, k->verbs);
	add_words(doc, r, "shortNames", k->short_names);
	add_words(doc, r, "categories", k->categories);
	for (size_t i = 0; i < k->n_subs; i++)
		add_subresource(doc, list, k, &k->subs[i]);
}

void discovery_resources(const struct kinds *set, const char *group, const char *version, struct buf *out)
{
	yyjson_mut_doc *doc = begin("APIResourceList", *group ? "v1" : NULL);
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *list;
	_cleanup_free_ char *both = str_printf("%s%s%s", group, *group ? "/" : "", version);

	obj_set_str(doc, root, "groupVersion", both);
	list = obj_make_arr(doc, root, "resources");
	for (size_t i = 0; i < set->n; i++)
		if (str_eq(set->list[i]->group, group) && str_eq(set->list[i]->version, version))
			add_resource(doc, list, set->list[i]);
	write_out(doc, out);
}

/* ------------------------------------------------------------------------------------------------------ aggregated */

static void set_response_kind(yyjson_mut_doc *doc, yyjson_mut_val *to, const char *group, const char *version,
                              const char *kind)
{
	yyjson_mut_val *r = obj_make(doc, to, "responseKind");

	/* Empty means: as the resource it stands in. */
	obj_set_str(doc, r, "group", str_or(group, ""));
	obj_set_str(doc, r, "version", str_or(version, ""));
	obj_set_str(doc, r, "kind", kind);
}

static void aggregate(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct kind *k)
{
	yyjson_mut_val *r = yyjson_mut_arr_add_obj(doc, list), *subs;

	obj_set_str(doc, r, "resource", k->plural);
	set_response_kind(doc, r, NULL, NULL, k->kind);
	obj_set_str(doc, r, "scope", k->namespaced ? "Namespaced" : "Cluster");
	obj_set_str(doc, r, "singularResource", k->singular);
	add_verbs(doc, r, k->verbs);
	add_words(doc, r, "shortNames", k->short_names);
	add_words(doc, r, "categories", k->categories);
	if (!k->n_subs)
		return;
	subs = obj_make_arr(doc, r, "subresources");
	for (size_t i = 0; i < k->n_subs; i++) {
		yyjson_mut_val *s = yyjson_mut_arr_add_obj(doc, subs);

		obj_set_str(doc, s, "subresource", k->subs[i].name);
		set_response_kind(doc, s, k->subs[i].group, k->subs[i].version, k->subs[i].kind);
		add_verbs(doc, s, k->subs[i].verbs);
	}
}

static void aggregate_group(yyjson_mut_doc *doc, yyjson_mut_val *items, const struct kinds *set, const char *group)
{
	struct versions v = versions_of(set, group);
	yyjson_mut_val *item = yyjson_mut_arr_add_obj(doc, items), *meta = obj_make(doc, item, "metadata"), *versions;

	if (*group)
		obj_set_str(doc, meta, "name", group);
	versions = obj_make_arr(doc, item, "versions");
	for (size_t i = 0; i < v.n; i++) {
		yyjson_mut_val *one = yyjson_mut_arr_add_obj(doc, versions), *list;

		obj_set_str(doc, one, "version", v.list[i]);
		list = obj_make_arr(doc, one, "resources");
		for (size_t j = 0; j < set->n; j++)
			if (str_eq(set->list[j]->group, group) && str_eq(set->list[j]->version, v.list[i]))
				aggregate(doc, list, set->list[j]);
		obj_set_str(doc, one, "freshness", "Current");
	}
}

void discovery_aggregated(const struct kinds *set, bool core, const char *version, struct buf *out)
{
	_cleanup_free_ char *api_version = str_printf("apidiscovery.k8s.io/%s", version);
	yyjson_mut_doc *doc = begin("APIGroupDiscoveryList", api_version);
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *items;

	obj_make(doc, root, "metadata");
	items = obj_make_arr(doc, root, "items");
	for (size_t i = 0; i < set->n; i++)
		if (!*set->list[i]->group == core && is_first_of_group(set, i))
			aggregate_group(doc, items, set, set->list[i]->group);
	write_out(doc, out);
}
