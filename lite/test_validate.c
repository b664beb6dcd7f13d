/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/validate.h"

#include "lite/decode.h"
#include "lite/defaults.h"
#include "lite/test_samples.h"

static yyjson_mut_doc *made(const struct kind *k, const char *text)
{
	_cleanup_mut_doc_ yyjson_mut_doc *given = quoted(text);
	_cleanup_free_ char *json = obj_text(yyjson_mut_doc_get_root(given), NULL);
	_cleanup_status_ struct status st = STATUS_INIT;
	yyjson_mut_doc *doc = NULL;
	yyjson_mut_val *meta;

	if (decode_body(k, NULL, json, strlen(json), FIELDS_STRICT, &doc, NULL, &st) < 0)
		fail_msg("%s", st.body);
	meta = obj_make(doc, yyjson_mut_doc_get_root(doc), "metadata");
	if (!obj_get(meta, "name"))
		obj_set_str(doc, meta, "name", "x");
	if (k->namespaced && !obj_get(meta, "namespace"))
		obj_set_str(doc, meta, "namespace", "default");
	obj_set_str(doc, meta, "uid", "u");
	defaults_create(k, doc, 0);
	return doc;
}

/* The causes as "field: message" lines. */
static char *causes_of(const struct status *st)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = st->body ? obj_parse(st->body) : NULL;
	_cleanup_buf_ struct buf out = BUF(1u << 20);

	if (!doc)
		return mem_strdup("");
	ARR_EACH (cause, obj_at(yyjson_mut_doc_get_root(doc), "details", "causes"))
		buf_printf(&out, "%s%s: %s", out.len ? "\n" : "", obj_str(obj_get(cause, "field")),
		           obj_str(obj_get(cause, "message")));
	return mem_strdup(buf_text(&out));
}

static void is_sample(const struct status *st, const char *name)
{
	_cleanup_mut_doc_ yyjson_mut_doc *should = sample_body(name);

	assert_non_null(st->body);
	assert_json_text(st->body, yyjson_mut_doc_get_root(should));
}

static void test_refusals_of_the_real_server(void **state)
{
	_cleanup_mut_doc_ yyjson_mut_doc *pod =
	        made(kind_builtin("", "pods"), "{'metadata':{'name':'Bad_Name'},'spec':{'containers':[]}}");
	_cleanup_mut_doc_ yyjson_mut_doc *event =
	        made(kind_builtin("events.k8s.io", "events"),
	             "{'metadata':{'name':'bad','namespace':'s1794766553'},'reason':'X','type':'Normal',"
	             "'regarding':{'kind':'Pod','namespace':'s1794766553','name':'p4'}}");
	_cleanup_status_ struct status st = STATUS_INIT;

	(void)state;
	assert_true(validate_create(kind_builtin("", "pods"), yyjson_mut_doc_get_root(pod), &st) < 0);
	is_sample(&st, "10-invalid-422");
	assert_true(validate_create(kind_builtin("events.k8s.io", "events"), yyjson_mut_doc_get_root(event), &st) < 0);
	is_sample(&st, "15e-event-v1-invalid-422");
}

static void test_recorded_objects_are_valid(void **state)
{
	static const char *const rows[][3] = {
		{ "05-create-pod-201", "", "pods" },
		{ "04-create-ns-201", "", "namespaces" },
		{ "12e-apply-create-201", "", "configmaps" },
		{ "15-event-corev1", "", "events" },
		{ "15d-event-v1-series-patch", "events.k8s.io", "events" },
		{ "13-pdb-create", "policy", "poddisruptionbudgets" },
		{ "18-lease-create", "coordination.k8s.io", "leases" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_mut_doc_ yyjson_mut_doc *doc = sample_body(rows[i][0]);
		_cleanup_status_ struct status st = STATUS_INIT;

		if (validate_create(kind_builtin(rows[i][1], rows[i][2]), yyjson_mut_doc_get_root(doc), &st) < 0)
			fail_msg("%s: %s", rows[i][0], st.body);
	}
}

#define LABEL_SAYS                                                                                                     \
	"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and "    \
	"end with an "                                                                                                 \
	"alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "                         \
	"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
#define C "{'name':'c','image':'i'}"

static void test_creations_are_refused_with_every_cause(void **state)
{
	static const struct {
		const char *group, *plural, *object, *causes;
	} rows[] = {
		{ "", "pods", "{'spec':{'containers':[" C "]}}", "" },
		{ "", "pods", "{'spec':{'containers':[{'name':'C'}," C "," C "]}}",
		  "spec.containers[0].name: Invalid value: \"C\": " LABEL_SAYS "\n"
		  "spec.containers[0].image: Required value\n"
		  "spec.containers[2].name: Duplicate value: \"c\"" },
		{ "", "pods",
		  "{'spec':{'containers':[{'name':'c','image':'i','ports':[{'containerPort':70000,'protocol':'X','name'"
		  ":'UP'}]}]}}",
		  "spec.containers[0].ports[0].name: Invalid value: \"UP\": must contain only alpha-numeric characters "
		  "(a-z, 0-9), and hyphens "
		  "(-)\n"
		  "spec.containers[0].ports[0].name: Invalid value: \"UP\": must contain at least one letter (a-z)\n"
		  "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, "
		  "inclusive\n"
		  "spec.containers[0].ports[0].protocol: Unsupported value: \"X\": supported values: \"SCTP\", "
		  "\"TCP\", \"UDP\"" },
		{ "", "pods",
		  "{'spec':{'containers':[{'name':'c','image':'i','env':[{'name':'A=B'},{'name':'D','valueFrom':{}}],'"
		  "volumeMounts':[{"
		  "'name':'v','mountPath':'/x'}]}]}}",
		  "spec.containers[0].env[0].name: Invalid value: \"A=B\": a valid environment variable name must "
		  "consist only of printable ASCII "
		  "characters other than '='\n"
		  "spec.containers[0].env[1].valueFrom: Invalid value: \"\": must specify one of: `fieldRef`, "
		  "`resourceFieldRef`, "
		  "`configMapKeyRef`, `secretKeyRef` or `fileKeyRef`\n"
		  "spec.containers[0].volumeMounts[0].name: Not found: \"v\"" },
		{ "", "pods",
		  "{'spec':{'containers':[{'name':'c','image':'i','resources':{'requests':{'cpu':'2','nvidia.com/"
		  "gpu':'1'},'limits':{'cpu':'1',"
		  "'nvidia.com/gpu':'2','memory':'-1'}}}]}}",
		  "spec.containers[0].resources.limits[memory]: Invalid value: \"-1\": must be greater than or equal "
		  "to 0\n"
		  "spec.containers[0].resources.requests[memory]: Invalid value: \"-1\": must be greater than or equal "
		  "to 0\n"
		  "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu "
		  "limit of 1\n"
		  "spec.containers[0].resources.requests: Invalid value: \"1\": must be equal to nvidia.com/gpu limit "
		  "of 2" },
		{ "", "pods",
		  "{'spec':{'containers':[" C "],'restartPolicy':'Maybe','activeDeadlineSeconds':0,'tolerations':[{'"
		  "value':'x'},{'operator':'Exists',"
		  "'tolerationSeconds':1}],'schedulingGates':[{'name':'g'},{'name':'g'}],'volumes':[{'name':'v','"
		  "emptyDir':{},'secret':{}}]}}",
		  "spec.volumes[0].secret: Forbidden: may not specify more than 1 volume type\n"
		  "spec.restartPolicy: Unsupported value: \"Maybe\": supported values: \"Always\", \"OnFailure\", "
		  "\"Never\"\n"
		  "spec.schedulingGates[1]: Duplicate value: \"g\"\n"
		  "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive\n"
		  "spec.tolerations[0].operator: Invalid value: \"\": operator must be Exists when `key` is empty, "
		  "which means \"match all values "
		  "and all keys\"\n"
		  "spec.tolerations[1].effect: Invalid value: \"\": effect must be 'NoExecute' when "
		  "`tolerationSeconds` is set" },
		{ "", "pods",
		  "{'spec':{'containers':[" C "],'initContainers':[{'name':'c','image':'i','readinessProbe':{}}]}}",
		  "spec.initContainers[0].name: Duplicate value: \"c\"\n"
		  "spec.initContainers[0].readinessProbe: Forbidden: may not be set for init containers without "
		  "restartPolicy=Always" },
		{ "", "nodes",
		  "{'spec':{'taints':[{'key':'a','effect':'NoExecute'},{'key':'a','effect':'NoExecute'},{'key':'b','"
		  "effect':'Go'}]}}",
		  "metadata.taints[1]: Duplicate value: {\"key\":\"a\",\"effect\":\"NoExecute\"}: taints must be "
		  "unique by key and effect pair\n"
		  "metadata.taints[2].effect: Unsupported value: \"Go\": supported values: \"NoSchedule\", "
		  "\"PreferNoSchedule\", \"NoExecute\"" },
		{ "", "namespaces", "{'metadata':{'name':'a.b'}}",
		  "metadata.name: Invalid value: \"a.b\": must not contain dots" },
		{ "", "nodes", "{'metadata':{'name':'n','namespace':'x'}}",
		  "metadata.namespace: Forbidden: not allowed on this type" },
		{ "", "configmaps", "{'data':{'a/b':'','..':''}}",
		  "data[a/b]: Invalid value: \"a/b\": a valid config key must consist of alphanumeric characters, '-', "
		  "'_' or '.' (e.g. 'key.name', "
		  " or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')\n"
		  "data[..]: Invalid value: \"..\": must not be '..'" },
		{ "", "configmaps",
		  "{'metadata':{'labels':{'a b':'c'},'ownerReferences':[{'apiVersion':'v1','kind':'Pod','name':'p'}]}}",
		  "metadata.labels: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', "
		  "'_' or '.', and must start and end "
		  "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
		  "validation is "
		  "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')\n"
		  "metadata.ownerReferences[0].uid: Required value: must not be empty" },
		{ "", "secrets", "{'type':'kubernetes.io/tls','data':{'tls.crt':''}}",
		  "data[tls.key]: Required value" },
		{ "apps", "deployments", "{'spec':{'template':{'spec':{'containers':[" C "]}}}}",
		  "spec.selector: Required value" },
		{ "apps", "deployments",
		  "{'spec':{'replicas':-1,'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':'"
		  "c'}},'spec':{'containers':[" C "],'restartPolicy':'Never'}}}}",
		  "spec.replicas: Invalid value: -1: must be greater than or equal to 0\n"
		  "spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not match template "
		  "`labels`\n"
		  "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\"" },
		{ "apps", "daemonsets", "{'spec':{'selector':{},'template':{'spec':{'containers':[" C "]}}}}",
		  "spec.selector: Invalid value: {}: empty selector is invalid for daemonset" },
		/* mounts what only its claim templates will add */
		{ "apps", "statefulsets",
		  "{'spec':{'selector':{'matchLabels':{'a':'b'}},'serviceName':'s','template':{'metadata':{'labels':{'"
		  "a':'"
		  "b'}},'spec':{'containers':[{'name':'c','image':'i','volumeMounts':[{'name':'data','mountPath':'/"
		  "d'}]}]}},"
		  "'volumeClaimTemplates':[{'metadata':{'name':'data'},'spec':{'accessModes':['ReadWriteOnce'],"
		  "'resources':{'requests':{'storage':'1Gi'}}}}]}}",
		  "" },
		{ "batch", "jobs", "{'spec':{'template':{'spec':{'containers':[" C "]}}}}",
		  "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\"" },
		{ "batch", "jobs", "{'spec':{'template':{'spec':{'containers':[" C "],'restartPolicy':'Never'}}}}",
		  "" },
		{ "policy", "poddisruptionbudgets", "{'spec':{'minAvailable':'200%','maxUnavailable':-1}}",
		  "spec: Invalid value: {\"minAvailable\":\"200%\",\"maxUnavailable\":-1}: minAvailable and "
		  "maxUnavailable cannot be both set\n"
		  "spec.minAvailable: Invalid value: \"200%\": must not be greater than 100%\n"
		  "spec.maxUnavailable: Invalid value: -1: must be greater than or equal to 0" },
		{ "coordination.k8s.io", "leases", "{'spec':{'leaseDurationSeconds':0,'leaseTransitions':-1}}",
		  "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0\n"
		  "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0" },
		{ "", "events", "{'involvedObject':{'kind':'Pod','namespace':'other'}}",
		  "involvedObject.namespace: Invalid value: \"other\": does not match event.namespace" },
		{ "apiextensions.k8s.io", "customresourcedefinitions",
		  "{'metadata':{'name':'wrong'},'spec':{'group':'example','names':{'plural':'widgets','kind':'Widget'},"
		  "'scope':'Here','versions':[{"
		  "'name':'v1','served':true,'storage':false,'schema':{'openAPIV3Schema':{'type':'object','properties':"
		  "{'spec':{},'l':{'type':"
		  "'array'}}}},'additionalPrinterColumns':[{'name':'A','type':'thing','jsonPath':'spec'}]}]}}",
		  "metadata.name: Invalid value: \"wrong\": must be spec.names.plural+\".\"+spec.group\n"
		  "spec.group: Invalid value: \"example\": should be a domain with at least one dot\n"
		  "spec.scope: Unsupported value: \"Here\": supported values: \"Cluster\", \"Namespaced\"\n"
		  "spec.versions[0].schema.openAPIV3Schema.properties[spec].type: Required value: must not be empty "
		  "for specified object fields\n"
		  "spec.versions[0].schema.openAPIV3Schema.properties[l].items: Required value: must be specified\n"
		  "spec.versions[0].additionalPrinterColumns[0].type: Invalid value: \"thing\": must be one of "
		  "boolean,date,integer,number,string\n"
		  "spec.versions[0].additionalPrinterColumns[0].JSONPath: Invalid value: \"spec\": must be a simple "
		  "json path starting with .\n"
		  "spec.versions: Invalid value: "
		  "[{\"name\":\"v1\",\"served\":true,\"storage\":false,\"schema\":{\"openAPIV3Schema\":{\"type\":"
		  "\"object\","
		  "\"properties\":{\"spec\":{},\"l\":{\"type\":\"array\"}}}},\"additionalPrinterColumns\":[{\"name\":"
		  "\"A\",\"type\":\"thing\","
		  "\"jsonPath\":\"spec\"}]}]: must have exactly one version marked as storage version" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct kind *k = kind_builtin(rows[i].group, rows[i].plural);
		_cleanup_mut_doc_ yyjson_mut_doc *doc = made(k, rows[i].object);
		_cleanup_status_ struct status st = STATUS_INIT;
		_cleanup_free_ char *causes = NULL;
		int r = validate_create(k, yyjson_mut_doc_get_root(doc), &st);

		causes = causes_of(&st);
		if (strcmp(causes, rows[i].causes) != 0)
			fail_msg("row %zu\n  got:\n%s\n  expected:\n%s", i, causes, rows[i].causes);
		assert_int_equal(r < 0, *rows[i].causes != '\0');
	}
}

static void test_updates_are_refused_what_may_not_change(void **state)
{
	static const struct {
		const char *group, *plural, *old, *new, *sub, *causes; /* causes: what they begin with */
	} rows[] = {
		{ "", "pods", "{'spec':{'containers':[" C "]}}",
		  "{'spec':{'containers':[{'name':'c','image':'j'}],'activeDeadlineSeconds':9}}", NULL, "" },
		{ "", "pods", "{'spec':{'containers':[" C "]}}", "{'spec':{'containers':[" C "," C "]}}", NULL,
		  "spec.containers[1].name: Duplicate value: \"c\"\nspec.containers: Forbidden: pod updates may not "
		  "add or remove containers" },
		{ "", "pods", "{'spec':{'containers':[" C "],'schedulingGates':[{'name':'a'}]}}",
		  "{'spec':{'containers':[" C "]}}", NULL, "" },
		{ "", "pods", "{'spec':{'containers':[" C "]}}",
		  "{'spec':{'containers':[" C "],'schedulingGates':[{'name':'a'}]}}", NULL,
		  "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate "
		  "'a'" },
		{ "", "pods", "{'spec':{'containers':[" C "]}}",
		  "{'spec':{'containers':[" C "],'tolerations':[{'key':'k','operator':'Exists'}]}}", NULL, "" },
		{ "", "pods", "{'spec':{'containers':[" C "],'tolerations':[{'key':'k','operator':'Exists'}]}}",
		  "{'spec':{'containers':[" C "]}}", NULL,
		  "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds" },
		{ "", "pods", "{'spec':{'containers':[" C "],'activeDeadlineSeconds':5}}",
		  "{'spec':{'containers':[" C "],'activeDeadlineSeconds':6}}", NULL,
		  "spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value" },
		{ "", "pods", "{'spec':{'containers':[" C "],'nodeName':'a'}}",
		  "{'spec':{'containers':[" C "],'nodeName':'b'}}", NULL,
		  "spec: Forbidden: pod updates may not change fields other than" },
		{ "", "pods", "{'spec':{'containers':[" C "],'schedulingGates':[{'name':'a'}]}}",
		  "{'spec':{'containers':[" C "],'schedulingGates':[{'name':'a'}],'nodeSelector':{'x':'y'}}}", NULL,
		  "" },
		{ "", "configmaps", "{'immutable':true,'data':{'a':'b'}}", "{'immutable':true,'data':{'a':'c'}}", NULL,
		  "data: Forbidden: field is immutable when `immutable` is set" },
		{ "", "configmaps", "{}", "{'metadata':{'name':'other'}}", NULL,
		  "metadata.name: Invalid value: \"other\": field is immutable" },
		{ "", "secrets", "{'type':'a/b'}", "{'type':'c/d'}", NULL,
		  "type: Invalid value: \"c/d\": field is immutable" },
		{ "apps", "deployments",
		  "{'spec':{'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':'b','c':'d'}},'"
		  "spec':{'containers':[" C "]}}}}",
		  "{'spec':{'selector':{'matchLabels':{'c':'d'}},'template':{'metadata':{'labels':{'a':'b','c':'d'}},'"
		  "spec':{'containers':[" C "]}}}}",
		  NULL, "spec.selector: Invalid value: {\"matchLabels\":{\"c\":\"d\"}}: field is immutable" },
		{ "batch", "jobs", "{'spec':{'template':{'spec':{'containers':[" C "],'restartPolicy':'Never'}}}}",
		  "{'spec':{'completions':3,'template':{'spec':{'containers':[" C "],'restartPolicy':'Never'}}}}", NULL,
		  "spec.completions: Invalid value: 3: field is immutable" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct kind *k = kind_builtin(rows[i].group, rows[i].plural);
		_cleanup_mut_doc_ yyjson_mut_doc *old = made(k, rows[i].old), *new = made(k, rows[i].new);
		_cleanup_status_ struct status st = STATUS_INIT;
		_cleanup_free_ char *causes = NULL;

		validate_update(k, yyjson_mut_doc_get_root(new), yyjson_mut_doc_get_root(old), rows[i].sub, &st);
		causes = causes_of(&st);
		if (*rows[i].causes ? !str_starts(causes, rows[i].causes) : *causes)
			fail_msg("row %zu\n  got:\n%s\n  expected:\n%s", i, causes, rows[i].causes);
	}
}

static void test_a_changed_scheduler_name_is_shown(void **state)
{
	_cleanup_mut_doc_ yyjson_mut_doc *old = sample_body("05-create-pod-201"),
	                                 *new = sample_body("05-create-pod-201"),
	                                 *sample = sample_body("10b-immutable-422");
	_cleanup_status_ struct status st = STATUS_INIT;
	_cleanup_free_ char *causes = NULL;
	const char *real = obj_str(obj_at(yyjson_mut_doc_get_root(sample), "message")), *until;

	(void)state;
	obj_set_str(new, obj_at(yyjson_mut_doc_get_root(new), "spec"), "schedulerName", "bar");
	assert_true(validate_update(kind_builtin("", "pods"), yyjson_mut_doc_get_root(new),
	                            yyjson_mut_doc_get_root(old), NULL, &st) < 0);
	causes = causes_of(&st);
	/* The same sentence, and the same two lines; around them the real one shows its own struct. */
	until = strstr(real, "\n@@");
	real = strstr(real, "spec: Forbidden");
	assert_memory_equal(causes, real, (size_t)(until - real));
	assert_non_null(strstr(causes, "- \"SchedulerName\": \"foo\",\n+ \"SchedulerName\": \"bar\",\n"));
}

static void test_a_status_keeps_its_qos_class(void **state)
{
	_cleanup_mut_doc_ yyjson_mut_doc *old = sample_body("05-create-pod-201"),
	                                 *new = sample_body("05-create-pod-201");
	_cleanup_status_ struct status st = STATUS_INIT;
	_cleanup_free_ char *causes = NULL;

	(void)state;
	obj_set_str(new, obj_at(yyjson_mut_doc_get_root(new), "status"), "qosClass", "Guaranteed");
	assert_true(validate_update(kind_builtin("", "pods"), yyjson_mut_doc_get_root(new),
	                            yyjson_mut_doc_get_root(old), "status", &st) < 0);
	causes = causes_of(&st);
	assert_string_equal(causes, "status.qosClass: Invalid value: \"Guaranteed\": field is immutable");
}

TEST_MAIN(TEST(refusals_of_the_real_server), TEST(recorded_objects_are_valid),
          TEST(creations_are_refused_with_every_cause), TEST(updates_are_refused_what_may_not_change),
          TEST(a_changed_scheduler_name_is_shown), TEST(a_status_keeps_its_qos_class))
