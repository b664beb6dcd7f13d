/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/patches.h"

#include "lite/decode.h"
#include "lite/test_samples.h"

static yyjson_doc *read_quoted(const char *text)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = quoted(text);

	return yyjson_mut_doc_imut_copy(doc, NULL);
}

struct row {
	const char *given, *patch, *becomes; /* becomes NULL: refused */
	int code;
};

static void run(const struct row *row, int (*patch)(yyjson_mut_doc *, yyjson_val *, struct status *))
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = quoted(row->given), *should = NULL;
	_cleanup_doc_ yyjson_doc *p = read_quoted(row->patch);
	_cleanup_status_ struct status st = STATUS_INIT;
	_cleanup_free_ char *is = NULL, *expected = NULL;
	int r = patch(doc, yyjson_doc_get_root(p), &st);

	if ((r == 0) != (row->becomes != NULL))
		fail_msg("%s: %s", row->patch, r == 0 ? "was taken" : st.body);
	if (r < 0) {
		if (st.code != row->code)
			fail_msg("%s: %s", row->patch, st.body);
		return;
	}
	should = quoted(row->becomes);
	is = obj_text(yyjson_mut_doc_get_root(doc), NULL);
	expected = obj_text(yyjson_mut_doc_get_root(should), NULL);
	if (strcmp(is, expected) != 0)
		fail_msg("\n  patch    %s\n  got      %s\n  expected %s", row->patch, is, expected);
}

static void test_merge_patches(void **state)
{
	static const struct row rows[] = {
		{ "{'a':'b'}", "{'a':'c'}", "{'a':'c'}" },
		{ "{'a':'b'}", "{'b':'c'}", "{'a':'b','b':'c'}" },
		{ "{'a':'b','c':1}", "{'a':null}", "{'c':1}" },
		{ "{'a':['b']}", "{'a':'c'}", "{'a':'c'}" },
		{ "{'a':{'b':'c','x':1}}", "{'a':{'b':'d','c':null}}", "{'a':{'b':'d','x':1}}" },
		{ "{'a':[{'b':'c'}]}", "{'a':[1]}", "{'a':[1]}" },
		{ "{'e':null}", "{'a':1}", "{'e':null,'a':1}" },
		{ "{}", "{'a':{'bb':{'ccc':null,'d':1}}}", "{'a':{'bb':{'d':1}}}" },
		{ "{'a':'foo'}", "{'a':{'b':null}}", "{'a':{}}" },
		{ "{}", "['x']", NULL, 400 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		run(&rows[i], patch_merge);
}

static void test_json_patches(void **state)
{
	static const struct row rows[] = {
		{ "{'a':1}", "[{'op':'add','path':'/b','value':2}]", "{'a':1,'b':2}" },
		{ "{'a':[1,3]}", "[{'op':'add','path':'/a/1','value':2}]", "{'a':[1,2,3]}" },
		{ "{'a':[1]}", "[{'op':'add','path':'/a/-','value':2}]", "{'a':[1,2]}" },
		{ "{'a':[1,2,3]}", "[{'op':'remove','path':'/a/-1'}]", "{'a':[1,2]}" },
		{ "{'a':[1,2,3]}", "[{'op':'replace','path':'/a/1','value':9}]", "{'a':[1,9,3]}" },
		{ "{'a':1,'b':2}", "[{'op':'remove','path':'/a'}]", "{'b':2}" },
		{ "{'a':1}", "[{'op':'replace','path':'/a','value':{'x':[]}}]", "{'a':{'x':[]}}" },
		{ "{'a/b':1,'m~n':2}",
		  "[{'op':'replace','path':'/a~1b','value':3},{'op':'replace','path':'/m~0n','value':4}]",
		  "{'a/b':3,'m~n':4}" },
		{ "{'a':{'x':1},'b':{}}", "[{'op':'move','from':'/a/x','path':'/b/y'}]", "{'a':{},'b':{'y':1}}" },
		{ "{'a':{'x':1}}", "[{'op':'copy','from':'/a','path':'/b'}]", "{'a':{'x':1},'b':{'x':1}}" },
		{ "{'a':1}", "[{'op':'test','path':'/a','value':1},{'op':'add','path':'/a','value':2}]", "{'a':2}" },
		{ "{'a':1}", "[{'op':'test','path':'/b','value':null}]", "{'a':1}" },
		{ "{'a':1}", "[]", "{'a':1}" },
		{ "{'a':1}", "[{'op':'test','path':'/a','value':2}]", NULL, 422 },
		{ "{'a':1}", "[{'op':'remove','path':'/b'}]", NULL, 422 },
		{ "{'a':1}", "[{'op':'replace','path':'/b','value':1}]", NULL, 422 },
		{ "{'a':1}", "[{'op':'add','path':'/b/c','value':1}]", NULL, 422 },
		{ "{'a':[1]}", "[{'op':'add','path':'/a/2','value':1}]", NULL, 422 },
		{ "{'a':[1]}", "[{'op':'add','path':'/a/x','value':1}]", NULL, 422 },
		{ "{'a':[1]}", "[{'op':'remove','path':'/a/-'}]", NULL, 422 },
		{ "{'a':{}}", "[{'op':'move','from':'/a','path':'/a/b'}]", NULL, 422 },
		{ "{'a':1}", "[{'op':'add','path':'/b'}]", NULL, 422 },
		{ "{'a':1}", "[{'op':'jump','path':'/a'}]", NULL, 422 },
		{ "{'a':1}", "[{'path':'/a'}]", NULL, 422 },
		{ "{'a':1}", "[{'op':'remove','path':''}]", NULL, 422 },
		{ "{'a':1}", "[{'op':'replace','path':'','value':3}]", NULL, 422 },
		{ "{'a':1}", "[{'op':'add','path':'b','value':3}]", NULL, 422 },
		{ "{'a':1}", "{'op':'add'}", NULL, 400 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		run(&rows[i], patch_json);
}

static int strategic_pod(yyjson_mut_doc *doc, yyjson_val *patch, struct status *st)
{
	return patch_strategic(kind_builtin("", "pods"), doc, patch, st);
}

static void test_strategic_patches(void **state)
{
	static const struct row rows[] = {
		/* plain members and maps */
		{ "{'metadata':{'labels':{'a':'1'}}}", "{'metadata':{'labels':{'b':'2','a':null}}}",
		  "{'metadata':{'labels':{'b':'2'}}}" },
		{ "{'spec':{'nodeName':'x'}}", "{'spec':{'nodeName':null,'affinity':{'nodeAffinity':null}}}",
		  "{'spec':{'affinity':{}}}" },
		/* lists with a merge key; the patch's elements come first */
		{ "{'status':{'conditions':[{'type':'Ready','status':'True'}]}}",
		  "{'status':{'conditions':[{'type':'PodScheduled','status':'True'}]}}",
		  "{'status':{'conditions':[{'type':'PodScheduled','status':'True'},{'type':'Ready','status':'True'}]}"
		  "}" },
		{ "{'status':{'conditions':[{'type':'A','status':'True','reason':'r'},{'type':'B','status':'True'}]}}",
		  "{'status':{'conditions':[{'type':'B','status':'False'}]}}",
		  "{'status':{'conditions':[{'type':'A','status':'True','reason':'r'},{'type':'B','status':'False'}]}"
		  "}" },
		{ "{'spec':{'containers':[{'name':'a','image':'1'},{'name':'b','image':'2'}]}}",
		  "{'spec':{'containers':[{'name':'b','image':'3'}],'$setElementOrder/"
		  "containers':[{'name':'b'},{'name':'a'}]}}",
		  "{'spec':{'containers':[{'name':'b','image':'3'},{'name':'a','image':'1'}]}}" },
		{ "{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}",
		  "{'spec':{'$setElementOrder/containers':[{'name':'b'},{'name':'a'}]}}",
		  "{'spec':{'containers':[{'name':'b'},{'name':'a'}]}}" },
		{ "{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}",
		  "{'spec':{'containers':[{'name':'a','$patch':'delete'}]}}",
		  "{'spec':{'containers':[{'name':'b'}]}}" },
		{ "{'spec':{'containers':[{'name':'b','image':'1'},{'name':'a'}]}}",
		  "{'spec':{'containers':[{'name':'a'},{'name':'b'},{'$patch':'replace'}]}}",
		  "{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}" },
		/* lists without one are replaced */
		{ "{'spec':{'tolerations':[{'key':'a'}]}}", "{'spec':{'tolerations':[{'key':'b'}]}}",
		  "{'spec':{'tolerations':[{'key':'b'}]}}" },
		{ "{'spec':{'containers':[{'name':'a','args':['1']}]}}",
		  "{'spec':{'containers':[{'name':'a','args':['2','3']}]}}",
		  "{'spec':{'containers':[{'name':'a','args':['2','3']}]}}" },
		/* primitive lists */
		{ "{'metadata':{'finalizers':['a','b']}}", "{'metadata':{'finalizers':['c','a']}}",
		  "{'metadata':{'finalizers':['c','a','b']}}" },
		{ "{'metadata':{'finalizers':['a','b']}}", "{'metadata':{'$deleteFromPrimitiveList/finalizers':['a']}}",
		  "{'metadata':{'finalizers':['b']}}" },
		{ "{'metadata':{'finalizers':['a','b']}}",
		  "{'metadata':{'$setElementOrder/finalizers':['b'],'$deleteFromPrimitiveList/finalizers':['a']}}",
		  "{'metadata':{'finalizers':['b']}}" },
		/* directives on maps */
		{ "{'metadata':{'labels':{'a':'1'}}}", "{'metadata':{'labels':{'b':'2','$patch':'replace'}}}",
		  "{'metadata':{'labels':{'b':'2'}}}" },
		{ "{'metadata':{'labels':{'a':'1'}}}", "{'metadata':{'labels':{'$patch':'delete'}}}",
		  "{'metadata':{'labels':{}}}" },
		{ "{'spec':{'volumes':[{'name':'v','emptyDir':{}}]}}",
		  "{'spec':{'volumes':[{'$retainKeys':['name','hostPath'],'name':'v','hostPath':{'path':'/x'}}]}}",
		  "{'spec':{'volumes':[{'name':'v','hostPath':{'path':'/x'}}]}}" },
		{ "{}",
		  "{'spec':{'volumes':[{'name':'v','$patch':'delete'}],'containers':[{'name':'c','image':null}]}}",
		  "{'spec':{'volumes':[],'containers':[{'name':'c'}]}}" },
		/* refusals */
		{ "{'spec':{'containers':[{'name':'a'}]}}", "{'spec':{'containers':[{'image':'x'}]}}", NULL, 500 },
		{ "{'metadata':{'labels':{'a':'1'}}}", "{'metadata':{'labels':{'$patch':'eat'}}}", NULL, 500 },
		{ "{'spec':{'volumes':[{'name':'v'}]}}",
		  "{'spec':{'volumes':[{'$retainKeys':['name'],'name':'v','emptyDir':{}}]}}", NULL, 400 },
		{ "{}", "[]", NULL, 400 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		run(&rows[i], strategic_pod);
}

static void test_a_recorded_status_patch_gives_the_recorded_pod(void **state)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = sample_body("12-status-merge-patch"),
	                                 *should = sample_body("12b-status-strategic-patch");
	_cleanup_doc_ yyjson_doc *patch = read_quoted("{'status':{'conditions':[{'type':'PodScheduled','status':'True',"
	                                              "'reason':'SlurmJobRunning','message':'job 42',"
	                                              "'lastTransitionTime':'2026-11-15T18:16:35Z'}]}}");
	_cleanup_status_ struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(strategic_pod(doc, yyjson_doc_get_root(patch), &st), 0);
	assert_int_equal(decode_patched(kind_builtin("", "pods"), NULL, doc, NULL, FIELDS_STRICT, NULL, &st), 0);
	assert_json(obj_at(yyjson_mut_doc_get_root(doc), "status"), obj_at(yyjson_mut_doc_get_root(should), "status"));
}

static void test_the_content_type_says_which(void **state)
{
	static const struct kind custom = { .group = "example.com",
		                            .kind = "Widget",
		                            .schema = (struct crd_schema *)1 };
	_cleanup_status_ struct status st = STATUS_INIT;
	enum patch_type type;

	(void)state;
	assert_int_equal(
	        patch_type_of(kind_builtin("", "pods"), "application/merge-patch+json; charset=utf-8", &type, &st), 0);
	assert_int_equal(type, PATCH_MERGE);
	assert_int_equal(patch_type_of(kind_builtin("", "pods"), "application/strategic-merge-patch+json", &type, &st),
	                 0);
	assert_int_equal(type, PATCH_STRATEGIC);
	assert_true(patch_type_of(&custom, "application/strategic-merge-patch+json", &type, &st) < 0);
	assert_int_equal(st.code, 415);
	assert_true(patch_type_of(kind_builtin("", "pods"), "application/json", &type, &st) < 0);
	assert_true(patch_type_of(kind_builtin("", "pods"), NULL, &type, &st) < 0);
}

TEST_MAIN(TEST(merge_patches), TEST(json_patches), TEST(strategic_patches),
          TEST(a_recorded_status_patch_gives_the_recorded_pod), TEST(the_content_type_says_which))
