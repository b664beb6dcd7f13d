/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/defaults.h"

#include "lite/decode.h"
#include "lite/test_samples.h"

static yyjson_mut_doc *create(const char *group, const char *plural, const char *text)
{
	_cleanup_mut_doc_ yyjson_mut_doc *given = quoted(text);
	_cleanup_free_ char *json = obj_text(yyjson_mut_doc_get_root(given), NULL);
	const struct kind *k = kind_builtin(group, plural);
	_cleanup_status_ struct status st = STATUS_INIT;
	yyjson_mut_doc *doc = NULL;
	usec_t now;

	assert_int_equal(time_parse_rfc3339("2026-11-15T18:16:35Z", 20, &now), 0);
	if (decode_body(k, NULL, json, strlen(json), FIELDS_WARN, &doc, NULL, &st) < 0)
		fail_msg("%s", st.body);
	defaults_create(k, doc, now);
	return doc;
}

/* Without what the store sets. */
static void strip(yyjson_mut_doc *doc)
{
	static const char *const names[] = { "uid", "resourceVersion", "creationTimestamp", "managedFields",
		                             "namespace" };
	yyjson_mut_val *meta = obj_at(yyjson_mut_doc_get_root(doc), "metadata");

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		obj_drop(meta, names[i]);
}

static void test_created_objects_are_those_of_the_real_server(void **state)
{
	static const char *const rows[][4] = {
		{ "", "pods", "05-create-pod-201",
		  "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p1','labels':{'app':'x'}},'spec':{'"
		  "schedulerName':'foo',"
		  "'terminationGracePeriodSeconds':5,'containers':[{'name':'c','image':'busybox','resources':{'"
		  "requests':{'cpu':'100m'}}}]}}" },
		{ "", "pods", "10j-unknown-field-warn",
		  "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'uf'},'spec':{'bogus':1,'containers':[{'name':'c'"
		  ",'image':'i'}]}}" },
		{ "", "namespaces", "04-create-ns-201", "{'metadata':{'name':'s1794766553'}}" },
		{ "policy", "poddisruptionbudgets", "13-pdb-create",
		  "{'metadata':{'name':'pdb'},'spec':{'minAvailable':1,'selector':{'matchLabels':{'app':'x'}}}}" },
		{ "", "events", "15-event-corev1",
		  "{'metadata':{'name':'p4.17a0000000000001'},'involvedObject':{'apiVersion':'v1','kind':'Pod','"
		  "namespace':'s1794766553',"
		  "'name':'p4','uid':'57039d95-d3f4-4531-b711-b01894e8d0ae'},'reason':'SlurmPending','message':'job 42 "
		  "pending','type':"
		  "'Normal','source':{'component':'bridge'},'firstTimestamp':'2026-11-15T18:16:35Z','lastTimestamp':"
		  "'2026-11-15T18:16:35Z','count':1}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_mut_doc_ yyjson_mut_doc *should = sample_body(rows[i][2]),
		                                 *is = create(rows[i][0], rows[i][1], rows[i][3]);
		_cleanup_free_ char *a = NULL, *b = NULL;

		strip(should);
		strip(is);
		a = obj_text(yyjson_mut_doc_get_root(is), NULL);
		b = obj_text(yyjson_mut_doc_get_root(should), NULL);
		assert_string_equal(a, b);
	}
}

static void test_a_gated_pod_says_so(void **state)
{
	_cleanup_mut_doc_ yyjson_mut_doc *sample = sample_body("11i-gate-removal-patch");
	_cleanup_mut_doc_ yyjson_mut_doc *is =
	        create("", "pods",
	               "{'metadata':{'name':'g'},'spec':{'schedulingGates':[{'name':'x'}],"
	               "'containers':[{'name':'c','image':'i','resources':{'limits':{'cpu':'1'}}}]}}");

	(void)state;
	assert_json(obj_at(yyjson_mut_doc_get_root(is), "status"), obj_at(yyjson_mut_doc_get_root(sample), "status"));
}

static void test_parts_of_objects_get_their_defaults(void **state)
{
	static const struct {
		const char *group, *plural, *given;
		const char *path[5];
		const char *should;
	} rows[] = {
		{ "",
		  "pods",
		  "{'spec':{'containers':[{'name':'c','image':'a/"
		  "b:1','ports':[{'containerPort':80}],'resources':{'limits':{'cpu':'1',"
		  "'memory':'1Gi'},'requests':{'cpu':'500m'}}}],'hostNetwork':true}}",
		  { "spec", "containers" },
		  "[{'name':'c','image':'a/"
		  "b:1','ports':[{'hostPort':80,'containerPort':80,'protocol':'TCP'}],'resources':{'limits':{'cpu':'1',"
		  "'memory':'1Gi'},'requests':{'cpu':'500m','memory':'1Gi'}},'terminationMessagePath':'/dev/"
		  "termination-log',"
		  "'terminationMessagePolicy':'File','imagePullPolicy':'IfNotPresent'}]" },
		{ "",
		  "pods",
		  "{'spec':{'containers':[{'name':'c','image':'i','readinessProbe':{'httpGet':{'port':80}},'env':[{'"
		  "name':'A','valueFrom':"
		  "{'fieldRef':{'fieldPath':'metadata.name'}}}]}]}}",
		  { "spec", "containers" },
		  "[{'name':'c','image':'i','env':[{'name':'A','valueFrom':{'fieldRef':{'apiVersion':'v1','fieldPath':'"
		  "metadata.name'}}}],"
		  "'resources':{},'readinessProbe':{'httpGet':{'path':'/"
		  "','port':80,'scheme':'HTTP'},'timeoutSeconds':1,'periodSeconds':10,"
		  "'successThreshold':1,'failureThreshold':3},'terminationMessagePath':'/dev/"
		  "termination-log','terminationMessagePolicy':"
		  "'File','imagePullPolicy':'Always'}]" },
		{ "",
		  "pods",
		  "{'spec':{'volumes':[{'name':'a'},{'name':'b','configMap':{'name':'m'}},{'name':'c','hostPath':{'"
		  "path':'/x'}}]}}",
		  { "spec", "volumes" },
		  "[{'name':'a','emptyDir':{}},{'name':'b','configMap':{'name':'m','defaultMode':420}},{'name':'c','"
		  "hostPath':{'path':'/x',"
		  "'type':''}}]" },
		{ "",
		  "pods",
		  "{'spec':{'tolerations':[{'operator':'Exists'}]}}",
		  { "spec", "tolerations" },
		  "[{'operator':'Exists'}]" },
		{ "", "pods", "{'spec':{'serviceAccount':'x'}}", { "spec", "serviceAccountName" }, "'x'" },
		{ "",
		  "pods",
		  "{'spec':{'priorityClassName':'system-node-critical'}}",
		  { "spec", "priority" },
		  "2000001000" },
		{ "apps",
		  "deployments",
		  "{'spec':{'selector':{'matchLabels':{'a':'b'}}}}",
		  { "spec", "strategy" },
		  "{'type':'RollingUpdate','rollingUpdate':{'maxUnavailable':'25%','maxSurge':'25%'}}" },
		{ "apps",
		  "deployments",
		  "{'spec':{'strategy':{'type':'Recreate'}}}",
		  { "spec", "strategy" },
		  "{'type':'Recreate'}" },
		{ "apps", "deployments", "{'spec':{'replicas':0}}", { "spec", "replicas" }, "0" },
		{ "apps", "deployments", "{}", { "spec", "replicas" }, "1" },
		{ "apps", "deployments", "{}", { "status" }, "{}" },
		{ "apps",
		  "deployments",
		  "{'spec':{'template':{'spec':{'containers':[{'name':'c','image':'i'}]}}}}",
		  { "spec", "template" },
		  "{'metadata':{},'spec':{'containers':[{'name':'c','image':'i','resources':{},'terminationMessagePath'"
		  ":"
		  "'/dev/"
		  "termination-log','terminationMessagePolicy':'File','imagePullPolicy':'Always'}],'restartPolicy':'"
		  "Always',"
		  "'terminationGracePeriodSeconds':30,'dnsPolicy':'ClusterFirst','securityContext':{},'schedulerName':'"
		  "default-scheduler'}}" },
		{ "apps", "replicasets", "{}", { "status" }, "{'replicas':0}" },
		{ "apps",
		  "daemonsets",
		  "{}",
		  { "spec", "updateStrategy" },
		  "{'type':'RollingUpdate','rollingUpdate':{'maxUnavailable':1,'maxSurge':0}}" },
		{ "apps",
		  "daemonsets",
		  "{'status':{'numberReady':7}}",
		  { "status" },
		  "{'currentNumberScheduled':0,'numberMisscheduled':0,'desiredNumberScheduled':0,'numberReady':0}" },
		{ "batch",
		  "jobs",
		  "{'metadata':{'name':'j','uid':'u'},'spec':{'template':{'metadata':{'labels':{'x':'y'}},'spec':null}}"
		  "}",
		  { "metadata", "labels" },
		  "{'x':'y'}" },
		{ "batch",
		  "jobs",
		  "{'metadata':{'name':'j','uid':'u'}}",
		  { "spec", "selector" },
		  "{'matchLabels':{'batch.kubernetes.io/controller-uid':'u'}}" },
		{ "batch",
		  "jobs",
		  "{'metadata':{'name':'j','uid':'u'}}",
		  { "spec", "template", "metadata", "labels" },
		  "{'batch.kubernetes.io/controller-uid':'u','batch.kubernetes.io/"
		  "job-name':'j','controller-uid':'u','job-name':'j'}" },
		{ "batch", "jobs", "{}", { "spec", "completions" }, "1" },
		{ "batch", "jobs", "{}", { "spec", "parallelism" }, "1" },
		{ "batch", "jobs", "{}", { "spec", "backoffLimit" }, "6" },
		{ "", "nodes", "{'status':{'capacity':{'cpu':'2'}}}", { "status", "allocatable" }, "{'cpu':'2'}" },
		{ "", "secrets", "{'stringData':{'k':'hello'}}", { "data" }, "{'k':'aGVsbG8='}" },
		{ "", "secrets", "{}", { "type" }, "'Opaque'" },
		{ "",
		  "services",
		  "{'spec':{'ports':[{'port':80}]}}",
		  { "spec", "ports" },
		  "[{'protocol':'TCP','port':80,'targetPort':80}]" },
		{ "apiextensions.k8s.io",
		  "customresourcedefinitions",
		  "{'spec':{'group':'example.com','names':{'plural':'widgets','kind':'Widget'},'scope':'Namespaced','"
		  "versions':[{'name':'v1',"
		  "'served':true,'storage':true}]}}",
		  { "status", "acceptedNames" },
		  "{'plural':'widgets','singular':'widget','kind':'Widget','listKind':'WidgetList'}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_mut_doc_ yyjson_mut_doc *is = create(rows[i].group, rows[i].plural, rows[i].given),
		                                 *should = quoted(rows[i].should);
		yyjson_mut_val *part = obj_at_(yyjson_mut_doc_get_root(is), rows[i].path);
		_cleanup_free_ char *a = NULL, *b = NULL;

		if (!part)
			fail_msg("row %zu: nothing there", i);
		a = obj_text(part, NULL);
		b = obj_text(yyjson_mut_doc_get_root(should), NULL);
		assert_string_equal(a, b);
	}
}

static void test_quality_of_service(void **state)
{
	static const char *const rows[][2] = {
		{ "{'spec':{'containers':[{}]}}", "BestEffort" },
		{ "{'spec':{'containers':[{'resources':{'requests':{'nvidia.com/gpu':'1'}}}]}}", "BestEffort" },
		{ "{'spec':{'containers':[{'resources':{'requests':{'cpu':'1'}}}]}}", "Burstable" },
		{ "{'spec':{'containers':[{'resources':{'limits':{'cpu':'1','memory':'1Gi'},'requests':{'cpu':'1000m','"
		  "memory':'1024Mi'}}}]}}",
		  "Guaranteed" },
		{ "{'spec':{'containers':[{'resources':{'limits':{'cpu':'1','memory':'1Gi'},'requests':{'cpu':'1','"
		  "memory':'1Gi'}}},{}]}}",
		  "Burstable" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_mut_doc_ yyjson_mut_doc *pod = quoted(rows[i][0]);

		assert_string_equal(pod_qos(yyjson_mut_doc_get_root(pod)), rows[i][1]);
	}
}

static yyjson_mut_doc *update(const char *group, const char *plural, const char *old_text, const char *new_text,
                              const char *sub)
{
	_cleanup_mut_doc_ yyjson_mut_doc *old = quoted(old_text);
	yyjson_mut_doc *doc = quoted(new_text);

	defaults_update(kind_builtin(group, plural), doc, yyjson_mut_doc_get_root(old), sub, 0);
	return doc;
}

static void test_an_update_keeps_what_it_may_not_touch(void **state)
{
	static const char old[] =
	        "{'metadata':{'name':'a','uid':'u','generation':3,'creationTimestamp':'t','labels':{'l':'1'}},"
	        "'spec':{'paused':true},'status':{'replicas':2}}";
	_cleanup_mut_doc_ yyjson_mut_doc *spec =
	        update("apps", "deployments", old,
	               "{'metadata':{'name':'a','labels':{'l':'2'}},'spec':{},'status':{'replicas':9}}", NULL);
	_cleanup_mut_doc_ yyjson_mut_doc *status =
	        update("apps", "deployments", old,
	               "{'metadata':{'name':'a','labels':{'l':'2'},'annotations':{'x':'y'}},'spec':{},"
	               "'status':{'replicas':9}}",
	               "status");
	yyjson_mut_val *root = yyjson_mut_doc_get_root(spec);

	(void)state;
	assert_json_is(obj_at(root, "metadata"),
	               "{'name':'a','uid':'u','generation':4,'creationTimestamp':'t','labels':{'l':'2'}}");
	assert_json_is(obj_at(root, "status"), "{'replicas':2}");
	root = yyjson_mut_doc_get_root(status);
	assert_json_is(obj_at(root, "metadata"), "{'name':'a','uid':'u','generation':3,'creationTimestamp':'t','labels'"
	                                         ":{'l':'1'},'annotations':{'x':'y'}}");
	assert_json_is(obj_at(root, "status"), "{'replicas':9}");
	assert_true(obj_bool(obj_at(root, "spec", "paused"), false));
}

static void test_generation_counts_changes_of_the_spec_only(void **state)
{
	_cleanup_mut_doc_ yyjson_mut_doc *pod =
	        create("", "pods", "{'metadata':{'name':'a'},'spec':{'containers':[{'name':'c','image':'i'}]}}");
	_cleanup_mut_doc_ yyjson_mut_doc *same = obj_doc_of_mut(yyjson_mut_doc_get_root(pod));
	yyjson_mut_val *root = yyjson_mut_doc_get_root(same);

	(void)state;
	obj_set_str(same, obj_make(same, obj_at(root, "metadata"), "labels"), "new", "1");
	defaults_update(kind_builtin("", "pods"), same, yyjson_mut_doc_get_root(pod), NULL, 0);
	assert_int_equal(obj_int(obj_at(root, "metadata", "generation"), 0), 1);
	obj_set_int(same, obj_at(root, "spec"), "activeDeadlineSeconds", 5);
	defaults_update(kind_builtin("", "pods"), same, yyjson_mut_doc_get_root(pod), NULL, 0);
	assert_int_equal(obj_int(obj_at(root, "metadata", "generation"), 0), 2);
}

static void test_a_status_written_whole_keeps_the_qos_class(void **state)
{
	_cleanup_mut_doc_ yyjson_mut_doc *pod =
	        update("", "pods", "{'metadata':{'name':'a'},'spec':{},'status':{'qosClass':'Burstable'}}",
	               "{'metadata':{'name':'a'},'spec':{},'status':{'phase':'Running','podIP':'10.0.0.1'}}", "status");

	(void)state;
	assert_json_is(obj_at(yyjson_mut_doc_get_root(pod), "status"),
	               "{'phase':'Running','podIP':'10.0.0.1','podIPs':[{'ip':'10.0.0.1'}],'qosClass':'Burstable'}");
}

static void test_sameness_ignores_versions_and_times(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} rows[] = {
		{ "{'metadata':{'resourceVersion':'1'},'x':1}", "{'metadata':{'resourceVersion':'2'},'x':1}", true },
		{ "{'metadata':{},'x':1}", "{'metadata':{},'x':2}", false },
		{ "{'metadata':{},'x':1}", "{'metadata':{}}", false },
		{ "{'metadata':{'labels':{'a':'b'}}}", "{'metadata':{}}", false },
		{ "{'metadata':{'managedFields':[{'manager':'m','time':'1'}]}}",
		  "{'metadata':{'managedFields':[{'manager':'m','time':'2'}]}}", true },
		{ "{'metadata':{'managedFields':[{'manager':'m'}]}}",
		  "{'metadata':{'managedFields':[{'manager':'n'}]}}", false },
		{ "{'metadata':{'managedFields':[{'manager':'m'}]}}", "{'metadata':{}}", false },
		{ "{'metadata':{}}", "{'metadata':{'managedFields':[{'manager':'m'}]}}", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_mut_doc_ yyjson_mut_doc *a = quoted(rows[i].a), *b = quoted(rows[i].b);

		if (defaults_same(yyjson_mut_doc_get_root(a), yyjson_mut_doc_get_root(b)) != rows[i].same)
			fail_msg("row %zu", i);
	}
}

TEST_MAIN(TEST(created_objects_are_those_of_the_real_server), TEST(a_gated_pod_says_so),
          TEST(parts_of_objects_get_their_defaults), TEST(quality_of_service),
          TEST(an_update_keeps_what_it_may_not_touch), TEST(generation_counts_changes_of_the_spec_only),
          TEST(a_status_written_whole_keeps_the_qos_class), TEST(sameness_ignores_versions_and_times))
