/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/crd_schema.h"

#include "lite/decode.h"
#include "lite/defaults.h"
#include "lite/openapi.h"
#include "lite/table.h"
#include "lite/test_samples.h"
#include "lite/types.h"
#include "lite/validate.h"

static const char definition[] =
        "{'metadata':{'name':'widgets.example.com'},'spec':{'group':'example.com','scope':'Namespaced','names':{'"
        "plural':'widgets','singular':"
        "'widget','kind':'Widget','listKind':'WidgetList','shortNames':['wd'],'categories':['all']},'versions':["
        "{'name':'v1','served':true,'storage':true,'subresources':{'status':{},'scale':{'specReplicasPath':'.spec."
        "replicas',"
        "'statusReplicasPath':'.status.replicas','labelSelectorPath':'.status.selector'}},'additionalPrinterColumns':[{"
        "'name':'Replicas','type':"
        "'integer','jsonPath':'.spec.replicas'},{'name':'Mode','type':'string','jsonPath':'.spec.mode'},{'name':'Ready'"
        ",'type':'string',"
        "'jsonPath':'.status.conditions[?(@.type==\\\"Ready\\\")].status'},{'name':'Age','type':'date','jsonPath':"
        "'.metadata.creationTimestamp'}],'schema':{'openAPIV3Schema':{'type':'object','description':'A "
        "widget.','required':['spec'],"
        "'properties':{'spec':{'type':'object','required':['replicas'],'properties':{"
        "'replicas':{'type':'integer','minimum':0,'maximum':10,'default':1},"
        "'mode':{'type':'string','enum':['fast','slow'],'default':'fast'},"
        "'name':{'type':'string','pattern':'^[a-z]\\\\d*$','maxLength':5,'x-kubernetes-validations':[{'rule':'self "
        "== oldSelf','message':"
        "'name is fixed'}]},"
        "'port':{'x-kubernetes-int-or-string':true},"
        "'when':{'type':'string','format':'date-time'},"
        "'note':{'type':'string','nullable':true},"
        "'tags':{'type':'array','items':{'type':'string'},'x-kubernetes-list-type':'set','maxItems':3},"
        "'parts':{'type':'array','x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['id'],'items':{'type':'"
        "object','required':['id'],"
        "'properties':{'id':{'type':'string'},'size':{'type':'number','default':2.5}}}},"
        "'limits':{'type':'object','additionalProperties':{'type':'integer'}},"
        "'free':{'type':'object','x-kubernetes-preserve-unknown-fields':true}}},"
        "'status':{'type':'object','properties':{'replicas':{'type':'integer'},'selector':{'type':'string'},'"
        "conditions':{'type':'array','items':{"
        "'type':'object','x-kubernetes-preserve-unknown-fields':true}}}}}}}},"
        "{'name':'v2','served':false,'storage':false,'schema':{'openAPIV3Schema':{'type':'object'}}}]}}";

static struct kind *widgets(void)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = quoted(definition);
	_cleanup_doc_ yyjson_doc *read = yyjson_mut_doc_imut_copy(doc, NULL);
	struct kind *k = crd_kind_new(yyjson_doc_get_root(read), "v1");

	assert_non_null(k);
	return k;
}

static yyjson_mut_doc *made(const struct kind *k, const char *spec, struct warnings *w)
{
	_cleanup_free_ char *text = str_printf(
	        "{'apiVersion':'example.com/v1','kind':'Widget','metadata':{'name':'w','namespace':'d'},%s}", spec);
	_cleanup_mut_doc_ yyjson_mut_doc *given = quoted(text);
	_cleanup_free_ char *json = obj_text(yyjson_mut_doc_get_root(given), NULL);
	_cleanup_status_ struct status st = STATUS_INIT;
	yyjson_mut_doc *doc = NULL;

	if (decode_body(k, NULL, json, strlen(json), FIELDS_WARN, &doc, w, &st) < 0)
		fail_msg("%s", st.body);
	return doc;
}

static void test_a_definition_becomes_a_kind(void **state)
{
	_cleanup_(crd_kind_freep) struct kind *k = widgets();
	_cleanup_mut_doc_ yyjson_mut_doc *doc = quoted(definition);
	_cleanup_doc_ yyjson_doc *read = yyjson_mut_doc_imut_copy(doc, NULL);
	_cleanup_causes_ struct causes causes = CAUSES_INIT;

	(void)state;
	assert_string_equal(k->kind, "Widget");
	assert_string_equal(k->stored_as, "widgets.example.com");
	assert_string_equal(k->short_names[0], "wd");
	assert_true(k->namespaced && k->has_status && k->has_generation && kind_is_custom(k));
	assert_string_equal(crd_scale_of(k)->spec_replicas, ".spec.replicas");
	assert_non_null(kind_sub(k, "scale"));
	assert_int_equal(type_field(type_field(k->type, "spec", 4)->type, "parts", 5)->type->merge, MERGE_MAP);
	assert_null(crd_kind_new(yyjson_doc_get_root(read), "v2"));
	assert_null(crd_kind_new(yyjson_doc_get_root(read), "v3"));
	crd_check(yyjson_mut_doc_get_root(doc), &causes);
	if (causes.n)
		fail_msg("%s: %s", causes.list[0].field, causes.list[0].message);
}

static void test_objects_are_pruned_and_defaulted(void **state)
{
	_cleanup_(crd_kind_freep) struct kind *k = widgets();
	_cleanup_warnings_ struct warnings w = WARNINGS_INIT;
	_cleanup_mut_doc_ yyjson_mut_doc *doc =
	        made(k,
	             "'spec':{'parts':[{'id':'a','bogus':1}],'free':{'any':{'thing':1}},'what':3,'note':null,"
	             "'limits':{'a':1}},'extra':{}",
	             &w);
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);

	(void)state;
	defaults_create(k, doc, 0);
	assert_json_is(obj_at(root, "spec"),
	               "{'parts':[{'id':'a','size':2.5}],'free':{'any':{'thing':1}},'note':null,'limits':{'a':1},"
	               "'replicas':1,'mode':'fast'}");
	assert_int_equal(w.n, 3);
	assert_string_equal(w.list[0], "unknown field \"spec.parts[0].bogus\"");
	assert_string_equal(w.list[1], "unknown field \"spec.what\"");
	assert_string_equal(w.list[2], "unknown field \"extra\"");
	assert_int_equal(obj_int(obj_at(root, "metadata", "generation"), 0), 1);
}

static void test_objects_are_checked_against_the_schema(void **state)
{
	static const char *const rows[][2] = {
		{ "'spec':{'replicas':3,'mode':'slow','name':'a1','port':'http','when':'2026-01-01T00:00:00Z','note':"
		  "null}",
		  "" },
		{ "'spec':{'replicas':3,'port':80}", "" },
		{ "'x':1", "spec: Required value" },
		{ "'spec':{}", "spec.replicas: Required value" },
		{ "'spec':{'replicas':'3'}", "spec.replicas: Invalid value: \"string\": spec.replicas in body must be "
		                             "of type integer: \"string\"" },
		{ "'spec':{'replicas':11}",
		  "spec.replicas: Invalid value: 11: spec.replicas in body should be less than or equal to 10" },
		{ "'spec':{'replicas':-1}",
		  "spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0" },
		{ "'spec':{'replicas':1,'mode':'odd'}",
		  "spec.mode: Unsupported value: \"odd\": supported values: \"fast\", \"slow\"" },
		{ "'spec':{'replicas':1,'name':'A'}",
		  "spec.name: Invalid value: \"A\": spec.name in body should match '^[a-z]\\d*$'" },
		{ "'spec':{'replicas':1,'name':'a123456'}", "spec.name: Too long: may not be more than 5 bytes" },
		{ "'spec':{'replicas':1,'name':null}",
		  "spec.name: Invalid value: \"null\": spec.name in body must be of type string: \"null\"" },
		{ "'spec':{'replicas':1,'port':true}", "spec.port: Invalid value: \"boolean\": spec.port in body must "
		                                       "be of type integer,string: \"boolean\"" },
		{ "'spec':{'replicas':1,'when':'soon'}",
		  "spec.when: Invalid value: \"soon\": spec.when in body must be of type date-time: \"soon\"" },
		{ "'spec':{'replicas':1,'tags':['a','b','a']}", "spec.tags[2]: Duplicate value: \"a\"" },
		{ "'spec':{'replicas':1,'tags':['a','b','c','d']}",
		  "spec.tags: Too many: 4: must have at most 3 items" },
		{ "'spec':{'replicas':1,'parts':[{'id':'a'},{'id':'a'},{}]}",
		  "spec.parts[1]: Duplicate value: {\"id\":\"a\"}\nspec.parts[2].id: Required value" },
		{ "'spec':{'replicas':1,'limits':{'a':'b'}}", "spec.limits.a: Invalid value: \"string\": spec.limits.a "
		                                              "in body must be of type integer: \"string\"" },
	};
	_cleanup_(crd_kind_freep) struct kind *k = widgets();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_mut_doc_ yyjson_mut_doc *doc = made(k, rows[i][0], NULL);
		_cleanup_causes_ struct causes causes = CAUSES_INIT;
		_cleanup_buf_ struct buf told = BUF(10000);

		crd_validate(k, yyjson_mut_doc_get_root(doc), NULL, &causes);
		for (size_t j = 0; j < causes.n; j++)
			buf_printf(&told, "%s%s: %s", j ? "\n" : "", causes.list[j].field, causes.list[j].message);
		assert_string_equal(buf_text(&told), rows[i][1]);
	}
}

/* As a real server said it. */
static void test_replicas_that_cannot_be_scaled_are_refused(void **state)
{
	static const char *rows[][2] = {
		{ "3", NULL },
		{ "{'zone-a':1}",
		  ".spec.replicas accessor error: map[zone-a:1] is of the type map[string]interface {}, "
		  "expected int64" },
		{ "'x'", ".spec.replicas accessor error: x is of the type string, expected int64" },
		{ "-1", "should be a non-negative integer" },
	};
	_cleanup_mut_doc_ yyjson_mut_doc *doc = quoted(
	        "{'metadata':{'name':'as.example.com'},'spec':{'group':'example.com','scope':'Namespaced','names':{"
	        "'plural':'as','kind':'A'},'versions':[{'name':'v1','served':true,'storage':true,'subresources':{"
	        "'scale':{'specReplicasPath':'.spec.replicas','statusReplicasPath':'.status.replicas'}},'schema':{"
	        "'openAPIV3Schema':{'type':'object','x-kubernetes-preserve-unknown-fields':true}}}]}}");
	_cleanup_doc_ yyjson_doc *read = yyjson_mut_doc_imut_copy(doc, NULL);
	_cleanup_(crd_kind_freep) struct kind *k = crd_kind_new(yyjson_doc_get_root(read), "v1");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_free_ char *text = str_printf("{'spec':{'replicas':%s}}", rows[i][0]);
		_cleanup_mut_doc_ yyjson_mut_doc *object = quoted(text);
		_cleanup_causes_ struct causes causes = CAUSES_INIT;

		crd_validate(k, yyjson_mut_doc_get_root(object), NULL, &causes);
		assert_int_equal(causes.n, rows[i][1] ? 1 : 0);
		if (causes.n)
			assert_non_null(strstr(causes.list[0].message, rows[i][1]));
	}
}

static void test_a_version_that_objects_are_kept_in_stays(void **state)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = quoted(definition), *status = quoted("{'storedVersions':['v1','v0']}");
	_cleanup_causes_ struct causes causes = CAUSES_INIT;

	(void)state;
	obj_set_copy(doc, yyjson_mut_doc_get_root(doc), "status", yyjson_mut_doc_get_root(status));
	crd_check(yyjson_mut_doc_get_root(doc), &causes);
	assert_int_equal(causes.n, 1);
	assert_string_equal(causes.list[0].field, "status.storedVersions[1]");
	assert_non_null(strstr(causes.list[0].message, "\"v0\": missing from spec.versions; v0 was previously"));
}

static void test_a_fixed_value_stays(void **state)
{
	_cleanup_(crd_kind_freep) struct kind *k = widgets();
	_cleanup_mut_doc_ yyjson_mut_doc *old = made(k, "'spec':{'replicas':1,'name':'a'}", NULL),
	                                 *new = made(k, "'spec':{'replicas':1,'name':'b'}", NULL);
	_cleanup_status_ struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(validate_update(k, yyjson_mut_doc_get_root(old), yyjson_mut_doc_get_root(old), NULL, &st), 0);
	assert_true(validate_update(k, yyjson_mut_doc_get_root(new), yyjson_mut_doc_get_root(old), NULL, &st) < 0);
	assert_non_null(strstr(
	        st.body,
	        "Widget.example.com \\\"w\\\" is invalid: spec.name: Invalid value: \\\"string\\\": name is fixed"));
}

static void test_other_kinds_and_versions_are_refused(void **state)
{
	static const char *const rows[][2] = {
		{ "{\"apiVersion\":\"example.com/v2\",\"kind\":\"Widget\"}",
		  "the API version in the data (example.com/v2) does not match" },
		{ "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Gadget\"}",
		  "kind: Invalid value: \\\"Gadget\\\": must be Widget" },
		{ "{}", "Object 'Kind' is missing in '{}'" },
	};
	_cleanup_(crd_kind_freep) struct kind *k = widgets();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_status_ struct status st = STATUS_INIT;
		yyjson_mut_doc *doc = NULL;

		assert_true(decode_body(k, NULL, rows[i][0], strlen(rows[i][0]), FIELDS_WARN, &doc, NULL, &st) < 0);
		if (!strstr(st.body, rows[i][1]))
			fail_msg("%s", st.body);
	}
}

static void test_columns_and_explanation_come_from_the_definition(void **state)
{
	_cleanup_(crd_kind_freep) struct kind *k = widgets();
	_cleanup_mut_doc_ yyjson_mut_doc *doc = quoted(
	                                         "{'metadata':{'name':'w','creationTimestamp':'2026-01-01T00:00:00Z'},'"
	                                         "spec':{'replicas':3,'mode':'fast'},'status':{'conditions':[{"
	                                         "'type':'A','status':'x'},{'type':'Ready','status':'True'}]}}"),
	                                 *row = NULL, *api = NULL;
	_cleanup_doc_ yyjson_doc *read = yyjson_mut_doc_imut_copy(doc, NULL);
	_cleanup_buf_ struct buf out = BUF(OPENAPI_MAX);
	struct kinds set;
	usec_t now;

	(void)state;
	assert_int_equal(time_parse_rfc3339("2026-01-01T00:01:00Z", 20, &now), 0);
	table_add_row(k, yyjson_doc_get_root(read), TABLE_NONE, now, &out);
	row = obj_parse(buf_text(&out));
	assert_json_is(obj_at(yyjson_mut_doc_get_root(row), "cells"), "['w',3,'fast','True','60s']");
	kinds_init(&set);
	kinds_add(&set, k);
	buf_clear(&out);
	assert_true(openapi_v3(&set, "example.com", "v1", &out));
	api = obj_parse(buf_text(&out));
	assert_string_equal(obj_str(obj_at(yyjson_mut_doc_get_root(api), "components", "schemas",
	                                   "com.example.v1.Widget", "description")),
	                    "A widget.");
	assert_non_null(obj_at(yyjson_mut_doc_get_root(api), "components", "schemas",
	                       "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"));
	assert_null(obj_at(yyjson_mut_doc_get_root(api), "paths",
	                   "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}", "patch", "requestBody",
	                   "content", "application/strategic-merge-patch+json"));
	kinds_done(&set);
}

static void test_paths_find_values(void **state)
{
	static const char *const rows[][2] = {
		{ ".a.b", "1" },
		{ ".a['x.y']", "2" },
		{ ".l[0].n", "'p'" },
		{ ".l[-1].n", "'q'" },
		{ ".l[?(@.n==\"q\")].v", "7" },
		{ ".l[?(@.v==5)].n", "'p'" },
		{ ".a.x\\.y", "2" },
		{ ".l[*].n", "'p'" },
		{ ".gone.far", NULL },
		{ ".l[9]", NULL },
		{ ".l[?(@.n!=\"p\")].n", "'q'" },
		{ "{bad", NULL },
	};
	_cleanup_mut_doc_ yyjson_mut_doc *doc = quoted("{'a':{'b':1,'x.y':2},'l':[{'n':'p','v':5},{'n':'q','v':7}]}");
	_cleanup_doc_ yyjson_doc *read = yyjson_mut_doc_imut_copy(doc, NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		yyjson_val *v = jsonpath_first(yyjson_doc_get_root(read), rows[i][0]);
		_cleanup_mut_doc_ yyjson_mut_doc *is = v ? obj_doc_of(v) : NULL;

		if (!v != !rows[i][1])
			fail_msg("%s", rows[i][0]);
		if (v)
			assert_json_is(yyjson_mut_doc_get_root(is), rows[i][1]);
	}
	assert_non_null(jsonpath_check("spec"));
	assert_non_null(jsonpath_check(".a[?(x)]"));
	assert_null(jsonpath_check(".a[0].b['c']"));
}

TEST_MAIN(TEST(a_definition_becomes_a_kind), TEST(objects_are_pruned_and_defaulted),
          TEST(objects_are_checked_against_the_schema), TEST(a_fixed_value_stays),
          TEST(replicas_that_cannot_be_scaled_are_refused), TEST(a_version_that_objects_are_kept_in_stays),
          TEST(other_kinds_and_versions_are_refused), TEST(columns_and_explanation_come_from_the_definition),
          TEST(paths_find_values))
