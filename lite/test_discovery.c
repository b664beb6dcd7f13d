/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/discovery.h"

#include "lite/openapi.h"
#include "lite/test_samples.h"

static yyjson_mut_doc *parse(struct buf *out)
{
	yyjson_mut_doc *doc = obj_parse(buf_text(out));

	if (!doc)
		fail_msg("no JSON: %s", buf_text(out));
	buf_clear(out);
	return doc;
}

static yyjson_mut_val *find(yyjson_mut_val *list, const char *key, const char *value)
{
	ARR_EACH (v, list)
		if (str_eq(obj_str(obj_get(v, key)), value))
			return v;
	fail_msg("no %s %s", key, value);
	return NULL;
}

static void test_resources_are_listed_as_the_real_server_does(void **state)
{
	_cleanup_buf_ struct buf out = BUF(1u << 20);
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL;
	yyjson_mut_val *list;
	struct kinds set;

	(void)state;
	kinds_init(&set);
	discovery_resources(&set, "", "v1", &out);
	doc = parse(&out);
	list = obj_at(yyjson_mut_doc_get_root(doc), "resources");
	assert_json_is(find(list, "name", "pods"),
	               "{'name':'pods','singularName':'pod','namespaced':true,'kind':'Pod','verbs':['create','delete','"
	               "deletecollection','get',"
	               "'list','patch','update','watch'],'shortNames':['po'],'categories':['all']}");
	assert_json_is(find(list, "name", "namespaces"), "{'name':'namespaces','singularName':'namespace','namespaced':"
	                                                 "false,'kind':'Namespace','verbs':['create','delete','get',"
	                                                 "'list','patch','update','watch'],'shortNames':['ns']}");
	assert_json_is(find(list, "name", "pods/eviction"), "{'name':'pods/"
	                                                    "eviction','singularName':'','namespaced':true,'group':'"
	                                                    "policy','version':'v1','kind':'Eviction','verbs':["
	                                                    "'create']}");
	assert_json_is(find(list, "name", "nodes/status"),
	               "{'name':'nodes/"
	               "status','singularName':'','namespaced':false,'kind':'Node','verbs':['get','patch','update']}");
	assert_string_equal(obj_str(obj_at(yyjson_mut_doc_get_root(doc), "groupVersion")), "v1");
	kinds_done(&set);
}

static void test_groups_prefer_their_newest_stable_version(void **state)
{
	static const struct kind kinds[] = {
		{ .group = "example.com", .version = "v1beta1", .kind = "A", .plural = "as", .singular = "a" },
		{ .group = "example.com", .version = "v1", .kind = "A", .plural = "as", .singular = "a" },
		{ .group = "example.com", .version = "v10", .kind = "A", .plural = "as", .singular = "a" },
		{ .group = "example.com", .version = "v2alpha1", .kind = "A", .plural = "as", .singular = "a" },
	};
	_cleanup_buf_ struct buf out = BUF(1u << 20);
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL, *all = NULL;
	struct kinds set;

	(void)state;
	kinds_init(&set);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		kinds_add(&set, &kinds[i]);
	discovery_group(&set, "example.com", &out);
	doc = parse(&out);
	assert_json_is(yyjson_mut_doc_get_root(doc),
	               "{'kind':'APIGroup','apiVersion':'v1','name':'example.com','versions':[{'groupVersion':'example."
	               "com/v10','version':'v10'},"
	               "{'groupVersion':'example.com/v1','version':'v1'},{'groupVersion':'example.com/"
	               "v1beta1','version':'v1beta1'},"
	               "{'groupVersion':'example.com/"
	               "v2alpha1','version':'v2alpha1'}],'preferredVersion':{'groupVersion':'example.com/v10',"
	               "'version':'v10'}}");
	discovery_apis(&set, &out);
	all = parse(&out);
	find(obj_at(yyjson_mut_doc_get_root(all), "groups"), "name", "apps");
	find(obj_at(yyjson_mut_doc_get_root(all), "groups"), "name", "example.com");
	kinds_done(&set);
}

static void test_aggregated_discovery_has_subresources(void **state)
{
	_cleanup_buf_ struct buf out = BUF(1u << 20);
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL, *core = NULL;
	yyjson_mut_val *apps = NULL;
	struct kinds set;

	(void)state;
	kinds_init(&set);
	discovery_aggregated(&set, false, "v2", &out);
	doc = parse(&out);
	ARR_EACH (item, obj_at(yyjson_mut_doc_get_root(doc), "items"))
		if (str_eq(obj_str(obj_at(item, "metadata", "name")), "apps"))
			apps = item;
	assert_json_is(find(obj_at(yyjson_mut_arr_get_first(obj_at(apps, "versions")), "resources"), "resource",
	                    "deployments"),
	               "{'resource':'deployments','responseKind':{'group':'','version':'','kind':'Deployment'},'scope':"
	               "'Namespaced',"
	               "'singularResource':'deployment','verbs':['create','delete','deletecollection','get','list','"
	               "patch','update','watch'],"
	               "'shortNames':['deploy'],'categories':['all'],'subresources':[{'subresource':'scale','"
	               "responseKind':{'group':"
	               "'autoscaling','version':'v1','kind':'Scale'},'verbs':['get','patch','update']},{'subresource':'"
	               "status','responseKind':"
	               "{'group':'','version':'','kind':'Deployment'},'verbs':['get','patch','update']}]}");
	discovery_aggregated(&set, true, "v2", &out);
	core = parse(&out);
	assert_int_equal(obj_size(obj_at(yyjson_mut_doc_get_root(core), "items")), 1);
	kinds_done(&set);
}

static void test_openapi_leads_to_every_schema_it_names(void **state)
{
	static const char *const versions[][2] = {
		{ "", "v1" }, { "apps", "v1" }, { "apiextensions.k8s.io", "v1" }, { "policy", "v1" }
	};
	_cleanup_buf_ struct buf out = BUF(OPENAPI_MAX);
	struct kinds set;

	(void)state;
	kinds_init(&set);
	for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
		_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL;
		yyjson_mut_val *schemas;
		const char *ref = "\"#/components/schemas/";
		_cleanup_free_ char *text = NULL;

		assert_true(openapi_v3(&set, versions[i][0], versions[i][1], &out));
		text = mem_strdup(buf_text(&out));
		doc = parse(&out);
		schemas = obj_at(yyjson_mut_doc_get_root(doc), "components", "schemas");
		assert_true(obj_size(schemas) > 5);
		for (char *p = text; (p = strstr(p, ref)); p++) {
			size_t len = strcspn(p + strlen(ref), "\"");
			_cleanup_free_ char *name = mem_strndup(p + strlen(ref), len);

			if (!obj_get(schemas, name))
				fail_msg("%s is not there", name);
		}
	}
	assert_false(openapi_v3(&set, "nosuch", "v1", &out));
	kinds_done(&set);
}

static void test_openapi_tells_what_a_patch_takes(void **state)
{
	_cleanup_buf_ struct buf out = BUF(OPENAPI_MAX);
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL, *v2 = NULL, *index = NULL;
	yyjson_mut_val *patch, *container;
	struct kinds set;

	(void)state;
	kinds_init(&set);
	openapi_v3(&set, "", "v1", &out);
	doc = parse(&out);
	patch = obj_at(yyjson_mut_doc_get_root(doc), "paths", "/api/v1/namespaces/{namespace}/pods/{name}", "patch");
	assert_json_is(obj_at(patch, "x-kubernetes-group-version-kind"), "{'group':'','kind':'Pod','version':'v1'}");
	find(obj_at(patch, "parameters"), "name", "fieldValidation");
	assert_non_null(obj_at(patch, "requestBody", "content", "application/strategic-merge-patch+json"));
	container = obj_at(yyjson_mut_doc_get_root(doc), "components", "schemas", "io.k8s.api.core.v1.Container",
	                   "properties");
	assert_json_is(obj_at(container, "ports"),
	               "{'items':{'$ref':'#/components/schemas/"
	               "io.k8s.api.core.v1.ContainerPort'},'type':'array','x-kubernetes-list-type':'map',"
	               "'x-kubernetes-list-map-keys':['containerPort','protocol'],'x-kubernetes-patch-merge-key':'"
	               "containerPort',"
	               "'x-kubernetes-patch-strategy':'merge'}");
	assert_json_is(
	        obj_at(container, "resources"),
	        "{'allOf':[{'$ref':'#/components/schemas/io.k8s.api.core.v1.ResourceRequirements'}],'default':{}}");
	openapi_v2(&set, &out);
	v2 = parse(&out);
	assert_non_null(obj_at(yyjson_mut_doc_get_root(v2), "definitions", "io.k8s.api.apps.v1.Deployment"));
	openapi_v3_index(&set, &out);
	index = parse(&out);
	assert_non_null(
	        strstr(obj_str(obj_at(yyjson_mut_doc_get_root(index), "paths", "apis/apps/v1", "serverRelativeURL")),
	               "/openapi/v3/apis/apps/v1?hash="));
	kinds_done(&set);
}

TEST_MAIN(TEST(resources_are_listed_as_the_real_server_does), TEST(groups_prefer_their_newest_stable_version),
          TEST(aggregated_discovery_has_subresources), TEST(openapi_leads_to_every_schema_it_names),
          TEST(openapi_tells_what_a_patch_takes))
