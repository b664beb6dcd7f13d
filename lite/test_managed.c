/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "lite/decode.h"
#include "lite/defaults.h"
#include "lite/fieldset.h"
#include "lite/patches.h"
#include "lite/test_samples.h"

static usec_t at(const char *text)
{
	usec_t t;

	assert_int_equal(time_parse_rfc3339(text, strlen(text), &t), 0);
	return t;
}

static yyjson_doc *read_quoted(const char *text)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = quoted(text);

	return yyjson_mut_doc_imut_copy(doc, NULL);
}

static yyjson_mut_val *managed(yyjson_mut_doc *doc)
{
	return obj_at(yyjson_mut_doc_get_root(doc), "metadata", "managedFields");
}

static yyjson_mut_doc *create(const char *group, const char *plural, const char *text, const struct writer *by)
{
	_cleanup_mut_doc_ yyjson_mut_doc *given = quoted(text);
	_cleanup_free_ char *json = obj_text(yyjson_mut_doc_get_root(given), NULL);
	const struct kind *k = kind_builtin(group, plural);
	_cleanup_status_ struct status st = STATUS_INIT;
	yyjson_mut_doc *doc = NULL;

	if (decode_body(k, NULL, json, strlen(json), FIELDS_WARN, &doc, NULL, &st) < 0)
		fail_msg("%s", st.body);
	defaults_create(k, doc, by->now);
	managed_update(k, doc, NULL, by);
	return doc;
}

static void test_a_created_object_is_its_creators(void **state)
{
	static const char *const rows[][4] = {
		{ "", "pods", "05c-generateName",
		  "{'metadata':{'generateName':'gen-','labels':{'app':'x'}},'spec':{'schedulerName':'foo','"
		  "terminationGracePeriodSeconds':5,'containers':"
		  "[{'name':'c','image':'busybox','resources':{'requests':{'cpu':'100m'}}}]}}" },
		{ "", "pods", "10j-unknown-field-warn",
		  "{'metadata':{'name':'uf'},'spec':{'containers':[{'name':'c','image':'i'}]}}" },
		{ "", "namespaces", "04-create-ns-201", "{'metadata':{'name':'s1794766553'}}" },
		{ "policy", "poddisruptionbudgets", "13-pdb-create",
		  "{'metadata':{'name':'pdb'},'spec':{'minAvailable':1,'selector':{'matchLabels':{'app':'x'}}}}" },
		{ "", "events", "15-event-corev1",
		  "{'metadata':{'name':'e'},'involvedObject':{'kind':'Pod'},'reason':'r','message':'m','type':'Normal',"
		  "'source':{'component':'bridge'},"
		  "'firstTimestamp':'2026-11-15T18:16:35Z','lastTimestamp':'2026-11-15T18:16:35Z','count':1}" },
		{ "events.k8s.io", "events", "15c-event-v1",
		  "{'metadata':{'name':'e'},'eventTime':'2026-11-15T18:16:41.000000Z','reportingController':'a/"
		  "b','reportingInstance':'i','action':'S',"
		  "'reason':'F','type':'Warning','note':'w','regarding':{'kind':'Pod'}}" },
		{ "coordination.k8s.io", "leases", "18-lease-create",
		  "{'metadata':{'name':'l'},'spec':{'holderIdentity':'a','leaseDurationSeconds':15,'acquireTime':'2026-"
		  "11-15T18:16:41.000000Z',"
		  "'renewTime':'2026-11-15T18:16:41.000000Z','leaseTransitions':0}}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_mut_doc_ yyjson_mut_doc *should = sample_body(rows[i][2]), *is = NULL;
		struct writer by = { .manager = "curl",
			             .now = at(obj_str(obj_at(yyjson_mut_arr_get_first(managed(should)), "time"))) };
		_cleanup_free_ char *a = NULL, *b = NULL;

		is = create(rows[i][0], rows[i][1], rows[i][3], &by);
		a = obj_text(managed(is), NULL);
		b = obj_text(managed(should), NULL);
		assert_string_equal(a, b);
	}
}

/* From one recorded object to the next: what the writer's entries become. */
static void step(const char *from, const char *to, const char *sub, const char *time)
{
	_cleanup_mut_doc_ yyjson_mut_doc *old = sample_body(from), *new = sample_body(to), *should = sample_body(to);
	struct writer by = { .manager = "curl", .subresource = sub, .now = at(time) };
	_cleanup_free_ char *a = NULL, *b = NULL;

	obj_drop(obj_at(yyjson_mut_doc_get_root(new), "metadata"), "managedFields");
	managed_update(kind_builtin("", "pods"), new, yyjson_mut_doc_get_root(old), &by);
	a = obj_text(managed(new), NULL);
	b = obj_text(managed(should), NULL);
	assert_string_equal(a, b);
}

static void test_writes_are_recorded_like_by_the_real_server(void **state)
{
	(void)state;
	step("12-status-merge-patch", "12b-status-strategic-patch", "status", "2026-11-15T18:16:35Z");
	step("12b-status-strategic-patch", "12d-json-patch-ok", NULL, "2026-11-15T18:16:36Z");
}

static yyjson_mut_doc *apply(const char *live, const char *config, const char *manager, bool force, struct status *st)
{
	_cleanup_doc_ yyjson_doc *read = read_quoted(config);
	struct writer by = { .manager = manager, .now = at("2026-11-15T18:16:36Z") };
	yyjson_mut_doc *doc = live[0] == '{' ? quoted(live) : sample_body(live);

	if (patch_apply(kind_builtin("", "configmaps"), doc, yyjson_doc_get_root(read), &by, force, st) == 0)
		return doc;
	yyjson_mut_doc_free(doc);
	return NULL;
}

#define CM(data) "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'cm'}," data "}"

static void test_apply_creates_conflicts_and_forces(void **state)
{
	_cleanup_status_ struct status st = STATUS_INIT;
	_cleanup_mut_doc_ yyjson_mut_doc *created = sample_body("12e-apply-create-201"),
	                                 *conflict = sample_body("12g-apply-conflict-409"),
	                                 *forced = sample_body("12h-apply-force-200"), *is = NULL, *is_forced = NULL;

	(void)state;
	is = apply("{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'cm'}}", CM("'data':{'k':'v1'}"), "bridge",
	           false, &st);
	assert_json(managed(is), managed(created));
	assert_null(apply("12e-apply-create-201", CM("'data':{'k':'v2'}"), "other", false, &st));
	assert_json_text(st.body, yyjson_mut_doc_get_root(conflict));
	is_forced = apply("12e-apply-create-201", CM("'data':{'k':'v2'}"), "other", true, &st);
	assert_json(managed(is_forced), managed(forced));
	assert_json(obj_at(yyjson_mut_doc_get_root(is_forced), "data"),
	            obj_at(yyjson_mut_doc_get_root(forced), "data"));
}

static void test_apply_to_a_status(void **state)
{
	_cleanup_mut_doc_ yyjson_mut_doc *should = sample_body("12i-apply-status-pod"),
	                                 *live = sample_body("12i-apply-status-pod");
	_cleanup_doc_ yyjson_doc *config =
	        read_quoted("{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p4'},'status':{'conditions':[{'type':'"
	                    "SlurmQueued','status':'True','reason':"
	                    "'Pending','lastTransitionTime':'2026-11-15T18:16:35Z'}]}}");
	struct writer by = { .manager = "bridge", .subresource = "status", .now = at("2026-11-15T18:16:36Z") };
	_cleanup_status_ struct status st = STATUS_INIT;
	const struct kind *k = kind_builtin("", "pods");

	(void)state;
	/* As it was before: without the condition and its manager. */
	obj_drop(obj_at(yyjson_mut_doc_get_root(live), "status"), "conditions");
	yyjson_mut_arr_remove_first(managed(live));
	assert_int_equal(patch_apply(k, live, yyjson_doc_get_root(config), &by, true, &st), 0);
	assert_int_equal(decode_patched(k, NULL, live, NULL, FIELDS_STRICT, NULL, &st), 0);
	assert_json(yyjson_mut_doc_get_root(live), yyjson_mut_doc_get_root(should));
}

static void test_what_is_no_longer_applied_goes(void **state)
{
	static const struct {
		const char *live, *config, *manager, *data;
	} rows[] = {
		{ "{'data':{'a':'1','b':'2'},'metadata':{'uid':'u','managedFields':[{'manager':'m','operation':'Apply',"
		  "'apiVersion':'v1','fieldsV1':{"
		  "'f:data':{'f:a':{},'f:b':{}}}}]}}",
		  CM("'data':{'a':'1'}"), "m", "{'a':'1'}" },
		/* Another applier has it too: it stays. */
		{ "{'data':{'a':'1','b':'2'},'metadata':{'uid':'u','managedFields':[{'manager':'m','operation':'Apply',"
		  "'apiVersion':'v1','fieldsV1':{"
		  "'f:data':{'f:a':{},'f:b':{}}}},{'manager':'n','operation':'Apply','apiVersion':'v1','fieldsV1':{'f:"
		  "data':{'f:b':{}}}}]}}",
		  CM("'data':{'a':'1'}"), "m", "{'a':'1','b':'2'}" },
		/* Never applied by this manager: stays. */
		{ "{'data':{'a':'1','c':'3'},'metadata':{'uid':'u','managedFields':[{'manager':'m','operation':'Apply',"
		  "'apiVersion':'v1','fieldsV1':{"
		  "'f:data':{'f:a':{}}}}]}}",
		  CM("'data':{'b':'2'}"), "m", "{'c':'3','b':'2'}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_status_ struct status st = STATUS_INIT;
		_cleanup_mut_doc_ yyjson_mut_doc *is = apply(rows[i].live, rows[i].config, rows[i].manager, false, &st);

		if (!is)
			fail_msg("%s", st.body);
		assert_json_is(obj_at(yyjson_mut_doc_get_root(is), "data"), rows[i].data);
	}
}

static void test_bad_configurations_are_refused(void **state)
{
	static const char *const rows[][2] = {
		{ "{'apiVersion':'v2','kind':'ConfigMap'}",
		  "Incorrect version specified in apply patch. Specified patch version: v2, expected: v1" },
		{ CM("'bogus':1"), "failed to create typed patch object (/cm; v1, Kind=ConfigMap): .bogus: field not "
		                   "declared in schema" },
		{ "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'managedFields':[]}}",
		  "metadata.managedFields must be nil" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_status_ struct status st = STATUS_INIT;

		assert_null(apply("{'metadata':{}}", rows[i][0], "m", false, &st));
		if (!strstr(st.body, rows[i][1]))
			fail_msg("%s", st.body);
	}
}

static void test_lists_merge_by_their_keys(void **state)
{
	static const char *const rows[][3] = {
		/* live, applied, merged */
		{ "['a','b','c']", "['c','x']", "['a','b','c','x']" },
		{ "['a','b']", "['x','b']", "['a','x','b']" },
		{ "['a','b']", "['b','a']", "['b','a']" },
		{ "['b','d']", "['b','x']", "['b','d','x']" },
		{ "[]", "['a']", "['a']" },
	};
	const struct type *pod = kind_builtin("", "pods")->type;
	const struct type *spec = type_field(pod, "spec", 4)->type,
	                  *list = type_field(spec, "schedulingGates", 15)->type;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_mut_doc_ yyjson_mut_doc *doc = obj_doc(), *should = quoted(rows[i][2]);
		yyjson_mut_val *lists[3];

		for (size_t j = 0; j < 3; j++) {
			_cleanup_mut_doc_ yyjson_mut_doc *names = quoted(rows[i][j]);

			lists[j] = yyjson_mut_arr(doc);
			ARR_EACH (name, yyjson_mut_doc_get_root(names))
				obj_set_str(doc, yyjson_mut_arr_add_obj(doc, lists[j]), "name", obj_str(name));
		}
		assert_json(fields_merge(doc, list, lists[0], lists[1]), lists[2]);
	}
}

static void test_a_repeated_apply_changes_nothing(void **state)
{
	_cleanup_mut_doc_ yyjson_mut_doc *old = sample_body("12e-apply-create-201"), *is = NULL;
	_cleanup_status_ struct status st = STATUS_INIT;
	_cleanup_doc_ yyjson_doc *config = read_quoted(CM("'data':{'k':'v1'}"));
	struct writer by = { .manager = "bridge", .now = at("2027-01-01T00:00:00Z") };

	(void)state;
	is = sample_body("12e-apply-create-201");
	assert_int_equal(patch_apply(kind_builtin("", "configmaps"), is, yyjson_doc_get_root(config), &by, false, &st),
	                 0);
	managed_applied(kind_builtin("", "configmaps"), is, yyjson_mut_doc_get_root(old), &by);
	assert_json(yyjson_mut_doc_get_root(is), yyjson_mut_doc_get_root(old));
}

static void test_many_writers_are_folded(void **state)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL;
	struct writer by = { .manager = "first", .now = USEC_SEC };

	(void)state;
	doc = create("", "configmaps", "{'metadata':{'name':'x'},'data':{'k':'0'}}", &by);
	for (int i = 0; i < 30; i++) {
		_cleanup_mut_doc_ yyjson_mut_doc *old = obj_doc_of_mut(yyjson_mut_doc_get_root(doc));
		char name[32];

		snprintf(name, sizeof(name), "w%d", i);
		by = (struct writer) { .manager = name, .now = (i + 2) * USEC_SEC };
		obj_set_str(doc, obj_at(yyjson_mut_doc_get_root(doc), "data"), name, "1");
		managed_update(kind_builtin("", "configmaps"), doc, yyjson_mut_doc_get_root(old), &by);
	}
	assert_int_equal(obj_size(managed(doc)), 10);
	assert_string_equal(obj_str(obj_get(yyjson_mut_arr_get_first(managed(doc)), "manager")), "ancient-changes");
}

static void test_managers_have_names(void **state)
{
	_cleanup_mut_doc_ yyjson_mut_doc *sample = sample_body("12f-apply-no-manager");
	_cleanup_status_ struct status st = STATUS_INIT;
	char name[MANAGER_MAX + 1], longer[300];

	(void)state;
	manager_of_agent("kubectl/v1.32.3 (linux/amd64) kubernetes/32cc146", name);
	assert_string_equal(name, "kubectl");
	manager_of_agent(NULL, name);
	assert_string_equal(name, "unknown");
	memset(longer, 'x', sizeof(longer));
	longer[299] = '\0';
	manager_of_agent(longer, name);
	assert_int_equal(strlen(name), MANAGER_MAX);
	assert_int_equal(manager_check("me", true, &st), 0);
	assert_int_equal(manager_check(NULL, false, &st), 0);
	assert_true(manager_check(longer, false, &st) < 0);
	assert_true(manager_check("a\nb", false, &st) < 0);
	assert_true(manager_check("", true, &st) < 0);
	assert_json_text(st.body, yyjson_mut_doc_get_root(sample));
}

TEST_MAIN(TEST(a_created_object_is_its_creators), TEST(writes_are_recorded_like_by_the_real_server),
          TEST(apply_creates_conflicts_and_forces), TEST(apply_to_a_status), TEST(what_is_no_longer_applied_goes),
          TEST(bad_configurations_are_refused), TEST(lists_merge_by_their_keys), TEST(a_repeated_apply_changes_nothing),
          TEST(many_writers_are_folded), TEST(managers_have_names))
