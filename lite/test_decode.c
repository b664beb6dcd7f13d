/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/decode.h"

#include "lite/test_samples.h"
#include "lite/types.h"

static void is_sample(const struct status *st, const char *name)
{
	_cleanup_mut_doc_ yyjson_mut_doc *should = sample_body(name);

	assert_non_null(st->body);
	assert_json_text(st->body, yyjson_mut_doc_get_root(should));
}

static char *unquote(const char *text)
{
	char *copy = mem_strdup(text);

	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	return copy;
}

static int decode(const char *group, const char *plural, const char *sub, const char *text, enum field_validation v,
                  yyjson_mut_doc **ret, struct warnings *w, struct status *st)
{
	_cleanup_free_ char *json = unquote(text);
	const struct kind *k = kind_builtin(group, plural);

	return decode_body(k, sub ? kind_sub(k, sub) : NULL, json, strlen(json), v, ret, w, st);
}

static void test_bad_bodies_are_refused_like_by_the_real_server(void **state)
{
	_cleanup_status_ struct status st = STATUS_INIT;
	_cleanup_warnings_ struct warnings w = WARNINGS_INIT;
	yyjson_mut_doc *doc = NULL;

	(void)state;
	assert_true(decode("", "pods", NULL, "{'apiVersion':'v1','kind':'Pod',", FIELDS_WARN, &doc, &w, &st) < 0);
	is_sample(&st, "10c-bad-json-400");
	assert_true(decode("", "pods", NULL,
	                   "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'uf'},'spec':{'bogus':1,'containers':[{'"
	                   "name':'c',"
	                   "'image':'i'}]}}",
	                   FIELDS_STRICT, &doc, &w, &st) < 0);
	is_sample(&st, "10i-unknown-field-strict-400");
	assert_true(decode("coordination.k8s.io", "leases", NULL,
	                   "{'apiVersion':'coordination.k8s.io/"
	                   "v1','kind':'Lease','metadata':{'name':'l'},'spec':{'renewTime':"
	                   "'yesterday'}}",
	                   FIELDS_STRICT, &doc, &w, &st) < 0);
	is_sample(&st, "18d-lease-bad-microtime-400");
	assert_null(doc);
	assert_int_equal(w.n, 0);
}

static void test_refusals_name_the_field_and_the_types(void **state)
{
	static const char *const rows[][3] = {
		{ "pods", "{'spec':{'activeDeadlineSeconds':'x'}}",
		  "json: cannot unmarshal string into Go struct field PodSpec.spec.activeDeadlineSeconds of type "
		  "int64" },
		{ "pods", "{'spec':{'containers':[{'name':1}]}}",
		  "json: cannot unmarshal number into Go struct field Container.spec.containers.name of type string" },
		{ "pods", "{'spec':{'containers':{}}}",
		  "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container" },
		{ "pods", "{'spec':{'priority':3000000000}}",
		  "json: cannot unmarshal number 3000000000 into Go struct field PodSpec.spec.priority of type int32" },
		{ "pods", "{'metadata':{'labels':{'a':true}}}",
		  "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.labels.a of type string" },
		{ "pods", "{'spec':{'containers':[{'resources':{'limits':{'cpu':'lots'}}}]}}",
		  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'" },
		{ "secrets", "{'data':{'k':'***'}}", "illegal base64 data at input byte 0" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_status_ struct status st = STATUS_INIT;
		yyjson_mut_doc *doc = NULL;

		assert_true(decode("", rows[i][0], NULL, rows[i][1], FIELDS_WARN, &doc, NULL, &st) < 0);
		if (!strstr(st.body, rows[i][2]))
			fail_msg("%s: %s", rows[i][1], st.body);
	}
}

static void test_other_kinds_are_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "{'kind':'Service','apiVersion':'v1'}", "Service in version \\\"v1\\\" cannot be handled as a Pod" },
		{ "{'kind':'Pod','apiVersion':'apps/v1'}",
		  "no kind \\\"Pod\\\" is registered for version \\\"apps/v1\\\"" },
		{ "[1]", "cannot unmarshal array into Go value" },
		{ "", "unexpected end of JSON input (<empty>)" },
		{ "{} x", "invalid character 'x' after top-level value" },
		{ "{,}", "invalid character ',' looking for beginning of object key string" },
		{ "{'a':x}", "invalid character 'x' looking for beginning of value" },
		{ "{'a':1 'b'}", "after object key:value pair" },
		{ "hello", "(68656c6c6f)" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_status_ struct status st = STATUS_INIT;
		yyjson_mut_doc *doc = NULL;

		assert_true(decode("", "pods", NULL, rows[i].text, FIELDS_WARN, &doc, NULL, &st) < 0);
		assert_int_equal(st.code, 400);
		if (!strstr(st.body, rows[i].says))
			fail_msg("%s: %s", rows[i].text, st.body);
	}
}

static void test_unknown_fields_warn_and_vanish(void **state)
{
	_cleanup_status_ struct status st = STATUS_INIT;
	_cleanup_warnings_ struct warnings w = WARNINGS_INIT;
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL;

	(void)state;
	assert_int_equal(
	        decode("", "pods", NULL,
	               "{'metadata':{'name':'uf'},'spec':{'bogus':1,'containers':[{'name':'c','x':{},'name':'d'}]}}",
	               FIELDS_WARN, &doc, &w, &st),
	        0);
	assert_int_equal(w.n, 3);
	assert_string_equal(w.list[0], "unknown field \"spec.bogus\"");
	assert_string_equal(w.list[1], "unknown field \"spec.containers[0].x\"");
	assert_string_equal(w.list[2], "duplicate field \"spec.containers[0].name\"");
	assert_json_is(yyjson_mut_doc_get_root(doc),
	               "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'uf'},'spec':{'containers':[{'name':'d',"
	               "'resources':{}}]},'status':{}}");
}

static void test_objects_get_their_order_and_zeros(void **state)
{
	static const struct {
		const char *group, *plural, *given, *becomes;
	} rows[] = {
		{ "", "pods",
		  "{'status':{'conditions':[{'status':'True','type':'Ready'}]},'spec':{'hostNetwork':false,'priority':"
		  "0,'nodeName':'',"
		  "'containers':null,'tolerations':[]},'kind':'Pod','apiVersion':'v1','metadata':{'name':'a','"
		  "creationTimestamp':null}}",
		  "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'a'},'spec':{'containers':null,'priority':0},"
		  "'status':{'conditions':[{'type':'Ready','status':'True','lastProbeTime':null,'lastTransitionTime':"
		  "null}]}}" },
		{ "", "events", "{'type':'Normal','count':1}",
		  "{'kind':'Event','apiVersion':'v1','metadata':{},'involvedObject':{},'source':{},'firstTimestamp':"
		  "null,"
		  "'lastTimestamp':null,'count':1,'type':'Normal','eventTime':null,'reportingComponent':'','"
		  "reportingInstance':''}" },
		{ "", "configmaps", "{'data':{'b':'1','a':null}}",
		  "{'kind':'ConfigMap','apiVersion':'v1','metadata':{},'data':{'b':'1','a':''}}" },
		{ "policy", "poddisruptionbudgets", "{'spec':{'minAvailable':'50%'}}",
		  "{'kind':'PodDisruptionBudget','apiVersion':'policy/v1','metadata':{},'spec':{'minAvailable':'50%'},"
		  "'status':{'disruptionsAllowed':0,'currentHealthy':0,'desiredHealthy':0,'expectedPods':0}}" },
		{ "", "nodes",
		  "{'status':{'capacity':{'cpu':4,'memory':'1024Mi'}},'spec':{'taints':[{'key':'a','effect':'"
		  "NoSchedule'}]}}",
		  "{'kind':'Node','apiVersion':'v1','metadata':{},'spec':{'taints':[{'key':'a','effect':'NoSchedule'}]}"
		  ",'status':{"
		  "'capacity':{'cpu':'4','memory':'1Gi'},'daemonEndpoints':{'kubeletEndpoint':{'Port':0}},'nodeInfo':{'"
		  "machineID':'',"
		  "'systemUUID':'','bootID':'','kernelVersion':'','osImage':'','containerRuntimeVersion':'','"
		  "kubeletVersion':'',"
		  "'kubeProxyVersion':'','operatingSystem':'','architecture':''}}}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_status_ struct status st = STATUS_INIT;
		_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL;
		_cleanup_free_ char *text = NULL, *becomes = unquote(rows[i].becomes);

		if (decode(rows[i].group, rows[i].plural, NULL, rows[i].given, FIELDS_STRICT, &doc, NULL, &st) < 0)
			fail_msg("%s", st.body);
		text = obj_text(yyjson_mut_doc_get_root(doc), NULL);
		assert_string_equal(text, becomes);
	}
}

static void test_real_objects_come_out_as_they_went_in(void **state)
{
	static const struct {
		const char *sample, *group, *plural;
	} rows[] = {
		{ "05-create-pod-201", "", "pods" },
		{ "12b-status-strategic-patch", "", "pods" },
		{ "04-create-ns-201", "", "namespaces" },
		{ "12e-apply-create-201", "", "configmaps" },
		{ "15-event-corev1", "", "events" },
		{ "15d-event-v1-series-patch", "events.k8s.io", "events" },
		{ "13-pdb-create", "policy", "poddisruptionbudgets" },
		{ "18-lease-create", "coordination.k8s.io", "leases" },
		{ "13f-pod-after-eviction", "", "pods" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_mut_doc_ yyjson_mut_doc *sample = sample_body(rows[i].sample), *doc = NULL;
		_cleanup_status_ struct status st = STATUS_INIT;
		_cleanup_free_ char *before = obj_text(yyjson_mut_doc_get_root(sample), NULL), *after = NULL;
		const struct kind *k = kind_builtin(rows[i].group, rows[i].plural);

		if (decode_body(k, NULL, before, strlen(before), FIELDS_STRICT, &doc, NULL, &st) < 0)
			fail_msg("%s: %s", rows[i].sample, st.body);
		after = obj_text(yyjson_mut_doc_get_root(doc), NULL);
		assert_string_equal(after, before);
	}
}

static void test_a_subresource_takes_its_own_kind(void **state)
{
	_cleanup_status_ struct status st = STATUS_INIT;
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL;
	yyjson_mut_doc *none = NULL;

	(void)state;
	assert_int_equal(
	        decode("", "pods", "binding", "{'target':{'kind':'Node','name':'n'}}", FIELDS_STRICT, &doc, NULL, &st),
	        0);
	assert_string_equal(obj_str(obj_at(yyjson_mut_doc_get_root(doc), "kind")), "Binding");
	assert_true(decode("", "pods", "eviction", "{'kind':'Eviction','apiVersion':'v1'}", FIELDS_STRICT, &none, NULL,
	                   &st) < 0);
	assert_true(decode("", "pods", "status", "{'kind':'Binding','apiVersion':'v1'}", FIELDS_STRICT, &none, NULL,
	                   &st) < 0);
}

static void test_patched_objects_are_refused_with_the_patch(void **state)
{
	_cleanup_status_ struct status st = STATUS_INIT;
	_cleanup_mut_doc_ yyjson_mut_doc *doc = quoted("{'kind':'Pod','apiVersion':'v1','spec':{'bogus':1}}");

	(void)state;
	assert_true(decode_patched(kind_builtin("", "pods"), NULL, doc, "{\"x\":1}", FIELDS_STRICT, NULL, &st) < 0);
	assert_int_equal(st.code, 422);
	assert_non_null(strstr(
	        st.body, "patch: Invalid value: \\\"{\\\\\\\"x\\\\\\\":1}\\\": strict decoding error: unknown field "
	                 "\\\"spec.bogus\\\""));
}

static void test_depth_and_validation_words_are_limited(void **state)
{
	_cleanup_buf_ struct buf text = BUF(100000), why = BUF(1000);
	_cleanup_status_ struct status st = STATUS_INIT;
	enum field_validation v;
	yyjson_doc *doc = NULL;

	(void)state;
	for (int i = 0; i < DECODE_DEPTH_MAX + 1; i++)
		buf_add_char(&text, '[');
	assert_true(decode_json(buf_text(&text), text.len, &doc, &why) < 0);
	assert_non_null(strstr(buf_text(&why), "depth"));
	assert_int_equal(decode_field_validation("Strict", "CreateOptions", &v, &st), 0);
	assert_int_equal(v, FIELDS_STRICT);
	assert_int_equal(decode_field_validation(NULL, "CreateOptions", &v, &st), 0);
	assert_int_equal(v, FIELDS_WARN);
	assert_true(decode_field_validation("Maybe", "CreateOptions", &v, &st) < 0);
	assert_non_null(strstr(st.body,
	                       "CreateOptions.meta.k8s.io \\\"\\\" is invalid: fieldValidation: Unsupported value: "
	                       "\\\"Maybe\\\""));
}

static void test_delete_options_may_be_absent(void **state)
{
	_cleanup_status_ struct status st = STATUS_INIT;
	_cleanup_mut_doc_ yyjson_mut_doc *none = NULL, *some = NULL;
	yyjson_mut_doc *bad = NULL;
	const char *text =
	        "{\"apiVersion\":\"policy/"
	        "v1\",\"kind\":\"DeleteOptions\",\"gracePeriodSeconds\":0,\"preconditions\":{\"uid\":\"u\"}}";

	(void)state;
	assert_int_equal(decode_delete_options("", 0, &none, &st), 0);
	assert_int_equal(decode_delete_options(text, strlen(text), &some, &st), 0);
	assert_int_equal(obj_int(obj_at(yyjson_mut_doc_get_root(some), "gracePeriodSeconds"), -1), 0);
	assert_true(decode_delete_options("{\"gracePeriodSeconds\":\"x\"}", 26, &bad, &st) < 0);
}

/* Seen on a v1.36 server: 201, and each byte that is no UTF-8 came back as one U+FFFD. */
static void test_bytes_that_are_no_utf8_are_replaced_one_by_one(void **state)
{
	static const char text[] = "{\"x\":\"a\xff\xfe\xc3(b\xe2\x82z\xed\xa0\x80\xc3\xa9\"}";
	_cleanup_buf_ struct buf why = BUF(1000);
	_cleanup_doc_ yyjson_doc *doc = NULL;

	(void)state;
	assert_int_equal(decode_json(text, sizeof(text) - 1, &doc, &why), 0);
#define R "\xef\xbf\xbd"
	assert_string_equal(yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(doc), "x")),
	                    "a" R R R "(b" R R "z" R R R "\xc3\xa9");
#undef R
}

TEST_MAIN(TEST(bad_bodies_are_refused_like_by_the_real_server), TEST(refusals_name_the_field_and_the_types),
          TEST(other_kinds_are_refused), TEST(unknown_fields_warn_and_vanish), TEST(objects_get_their_order_and_zeros),
          TEST(real_objects_come_out_as_they_went_in), TEST(a_subresource_takes_its_own_kind),
          TEST(patched_objects_are_refused_with_the_patch), TEST(depth_and_validation_words_are_limited),
          TEST(delete_options_may_be_absent), TEST(bytes_that_are_no_utf8_are_replaced_one_by_one))
