/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/selector.h"

#include <errno.h>

#include "lite/test_samples.h"

static yyjson_doc *read_quoted(const char *text)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = quoted(text);

	return yyjson_mut_doc_imut_copy(doc, NULL);
}

static const char *message(const struct status *st)
{
	static char text[4000];
	_cleanup_mut_doc_ yyjson_mut_doc *doc = obj_parse(st->body);

	str_copy(text, sizeof(text), obj_str(obj_at(yyjson_mut_doc_get_root(doc), "message")));
	return text;
}

static void test_labels_are_matched_by_every_syntax(void **state)
{
	static const struct {
		const char *selector;
		bool matches; /* {'app':'x','n':'5','tier':'','in':'notin'} */
		const char *text;
	} rows[] = {
		{ "", true, "" },
		{ "app=x", true, "app=x" },
		{ "app==x", true, "app=x" },
		{ " app = x , n ", true, "app=x,n" },
		{ "app!=x", false, "app!=x" },
		{ "other!=x", true, "other!=x" },
		{ "app in (y,z),!foo", false, "app in (y,z),!foo" },
		{ "app in (x,y)", true, "app in (x,y)" },
		{ "app in (y,x,y)", true, "app in (x,y)" },
		{ "app notin (x)", false, "app notin (x)" },
		{ "gone notin (x)", true, "gone notin (x)" },
		{ "app", true, "app" },
		{ "!app", false, "!app" },
		{ "!gone", true, "!gone" },
		{ "n>4", true, "n>4" },
		{ "n<5", false, "n<5" },
		{ "app>1", false, "app>1" },
		{ "tier=", true, "tier=" },
		{ "tier in ()", true, "tier in ()" },
		{ "tier in (,a)", true, "tier in (,a)" },
		{ "app=,n=5", false, "app=,n=5" },
		{ "in in (notin)", true, "in in (notin)" },
		{ "example.com/a.b_c!=1", true, "example.com/a.b_c!=1" },
	};
	_cleanup_doc_ yyjson_doc *pod =
	        read_quoted("{'metadata':{'labels':{'app':'x','n':'5','tier':'','in':'notin'}}}");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(selector_freep) struct selector *s = NULL;
		_cleanup_status_ struct status st = STATUS_INIT;
		_cleanup_free_ char *text = NULL;

		if (selector_parse_labels(rows[i].selector, &s, &st) < 0)
			fail_msg("%s: %s", rows[i].selector, message(&st));
		if (selector_matches_labels(s, yyjson_doc_get_root(pod)) != rows[i].matches)
			fail_msg("%s should %smatch", rows[i].selector, rows[i].matches ? "" : "not ");
		text = selector_text(s);
		assert_string_equal(text, rows[i].text);
	}
}

static void test_bad_label_selectors_say_what_was_expected(void **state)
{
	static const char *const rows[][2] = {
		{ "a=b=c", "found '=', expected: ',' or 'end of string'" },
		{ "a,", "found '', expected: identifier after ','" },
		{ ",a", "found ',', expected: !, identifier, or 'end of string'" },
		{ "a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt" },
		{ "a in b", "unable to parse requirement: found 'b' expected: '('" },
		{ "a in (b", "unable to parse requirement: found '', expected: ',' or ')'" },
		{ "a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'" },
		{ "a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier" },
		{ "!", "unable to parse requirement: found '', expected: identifier" },
		{ "!a=b", "found '=', expected: ',' or 'end of string'" },
		{ "a>x", "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the "
		         "value must be "
		         "an integer" },
		{ "-a",
		  "unable to parse requirement: <nil>: Invalid value: \"-a\": name part must consist of alphanumeric "
		  "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  "
		  "or "
		  "'my.name',  or '123-abc', regex used for validation is "
		  "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')" },
		{ "a=b*",
		  "unable to parse requirement: values[0][a]: Invalid value: \"b*\": a valid label must be an empty "
		  "string "
		  "or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
		  "character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
		  "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct selector *s = NULL;
		_cleanup_status_ struct status st = STATUS_INIT;

		if (selector_parse_labels(rows[i][0], &s, &st) == 0)
			fail_msg("%s was taken", rows[i][0]);
		assert_null(s);
		assert_int_equal(st.code, 400);
		assert_string_equal(message(&st), rows[i][1]);
	}
}

static void test_fields_are_matched(void **state)
{
	static const struct {
		const char *group, *plural, *selector;
		bool matches;
	} rows[] = {
		{ "", "pods", "metadata.name=p1", true },
		{ "", "pods", "metadata.name==p1,spec.nodeName=", true },
		{ "", "pods", "metadata.name!=p1", false },
		{ "", "pods", "spec.nodeName!=", false },
		{ "", "pods", "status.phase=Running,spec.hostNetwork=false", true },
		{ "", "pods", "metadata.namespace=a\\,b\\=c\\\\d", true },
		{ "", "pods", ",,metadata.name=p1,", true },
		{ "", "pods", "", true },
		{ "", "nodes", "spec.unschedulable=false", true },
		{ "", "nodes", "spec.unschedulable=true", false },
		{ "batch", "jobs", "status.successful=3", true },
		{ "", "events", "involvedObject.kind=Pod,source=kubelet", true },
		{ "events.k8s.io", "events", "regarding.kind=Pod,reportingController=", true },
	};
	_cleanup_doc_ yyjson_doc *object =
	        read_quoted("{'metadata':{'name':'p1','namespace':'a,b=c\\\\d'},'spec':{},'status':{'phase':'Running','"
	                    "succeeded':3},"
	                    "'involvedObject':{'kind':'Pod'},'source':{'component':'kubelet'}}");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(selector_freep) struct selector *s = NULL;
		_cleanup_status_ struct status st = STATUS_INIT;

		if (selector_parse_fields(kind_builtin(rows[i].group, rows[i].plural), rows[i].selector, &s, &st) < 0)
			fail_msg("%s: %s", rows[i].selector, message(&st));
		if (selector_matches_fields(s, yyjson_doc_get_root(object)) != rows[i].matches)
			fail_msg("%s should %smatch", rows[i].selector, rows[i].matches ? "" : "not ");
	}
}

static void test_bad_field_selectors_are_refused(void **state)
{
	static const char *const rows[][3] = {
		{ "pods", "spec.foo=1", "field label not supported: spec.foo" },
		{ "pods", "metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'" },
		{ "pods", "metadata.name=a=b", "invalid field selector: unescaped character in value: 61" },
		{ "pods", "metadata.name=a\\b", "invalid field selector: invalid escape sequence: \\b" },
		{ "configmaps", "data.k=v",
		  "\"data.k\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct selector *s = NULL;
		_cleanup_status_ struct status st = STATUS_INIT;

		assert_true(selector_parse_fields(kind_builtin("", rows[i][0]), rows[i][1], &s, &st) < 0);
		assert_null(s);
		assert_string_equal(message(&st), rows[i][2]);
	}
}

static void test_a_pinned_name_is_found(void **state)
{
	_cleanup_(selector_freep) struct selector *s = NULL;
	_cleanup_status_ struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(selector_parse_fields(kind_builtin("", "pods"), "metadata.name=x,spec.nodeName!=y", &s, &st),
	                 0);
	assert_string_equal(selector_field_equals(s, "metadata.name"), "x");
	assert_null(selector_field_equals(s, "spec.nodeName"));
	assert_null(selector_field_equals(NULL, "metadata.name"));
}

static void test_selector_objects(void **state)
{
	static const struct {
		const char *selector;
		int matches; /* {'app':'x'}; negative: refused */
	} rows[] = {
		{ "null", 0 },
		{ "{}", 1 },
		{ "{'matchLabels':{'app':'x'}}", 1 },
		{ "{'matchLabels':{'app':'y'}}", 0 },
		{ "{'matchLabels':{'app':'x'},'matchExpressions':[{'key':'b','operator':'DoesNotExist'}]}", 1 },
		{ "{'matchExpressions':[{'key':'app','operator':'In','values':['x','y']}]}", 1 },
		{ "{'matchExpressions':[{'key':'app','operator':'NotIn','values':['x','y']}]}", 0 },
		{ "{'matchExpressions':[{'key':'app','operator':'Exists'}]}", 1 },
		{ "{'matchExpressions':[{'key':'app','operator':'Near'}]}", -EINVAL },
		{ "{'matchExpressions':[{'key':'app','operator':'In'}]}", -EINVAL },
	};
	_cleanup_doc_ yyjson_doc *labels = read_quoted("{'app':'x'}");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(selector_freep) struct selector *s = NULL;
		_cleanup_doc_ yyjson_doc *doc = read_quoted(rows[i].selector);
		int r = selector_from_object(yyjson_doc_get_root(doc), &s);

		if (r == 0)
			r = selector_matches(s, yyjson_doc_get_root(labels));
		if (r != rows[i].matches)
			fail_msg("%s: %d", rows[i].selector, r);
	}
}

TEST_MAIN(TEST(labels_are_matched_by_every_syntax), TEST(bad_label_selectors_say_what_was_expected),
          TEST(fields_are_matched), TEST(bad_field_selectors_are_refused), TEST(a_pinned_name_is_found),
          TEST(selector_objects))
