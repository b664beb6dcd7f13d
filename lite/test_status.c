/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/status.h"

#include <errno.h>

#include "lite/test_samples.h"

static void is_sample(const struct status *st, const char *name)
{
	_cleanup_mut_doc_ yyjson_mut_doc *should = sample_body(name);

	assert_json_text(st->body, yyjson_mut_doc_get_root(should));
	assert_int_equal(st->len, strlen(st->body));
	assert_int_equal(st->code, obj_int(obj_at(yyjson_mut_doc_get_root(should), "code"), 0));
}

static void test_refusals_read_like_the_real_ones(void **state)
{
	_cleanup_status_ struct status st = STATUS_INIT;

	(void)state;
	assert_int_equal(
	        status_forbidden(&st, "", "nodes", NULL,
	                         "User \"system:anonymous\" cannot list resource \"nodes\" in API group \"\" at "
	                         "the cluster scope"),
	        -EACCES);
	is_sample(&st, "03-anon-403");
	status_unauthorized(&st);
	is_sample(&st, "03b-bad-token-401");
	status_forbidden(&st, "", "pods", "x",
	                 "error looking up service account s1794766553/default: serviceaccount "
	                 "\"default\" not found");
	is_sample(&st, "04b-create-pod-no-sa");
	assert_int_equal(status_exists(&st, "", "pods", "p1"), -EEXIST);
	is_sample(&st, "05b-create-dup-409");
	status_bad_request(&st, "field label not supported: %s", "spec.foo");
	is_sample(&st, "06e-bad-fieldselector-400");
	status_rv_too_large(&st, 999999999, 261);
	is_sample(&st, "06h-list-future-rv-504");
	assert_int_equal(st.retry_after_s, 1);
	status_fail(&st, 500, NULL, NULL,
	            "resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax");
	is_sample(&st, "07e-watch-bad-rv");
	status_expired(&st, NULL, "The resourceVersion for the provided list is too old.");
	is_sample(&st, "08b-410-list-exact");
	assert_int_equal(status_modified(&st, "", "pods", "p1"), -ESTALE);
	is_sample(&st, "09-put-conflict-409");
	status_unsupported_media(&st);
	is_sample(&st, "10d-patch-415");
	status_not_acceptable(&st);
	is_sample(&st, "10e-accept-406");
	assert_int_equal(status_not_found(&st, "", "pods", "nosuch"), -ENOENT);
	is_sample(&st, "10f-404");
	status_method_not_allowed(&st);
	is_sample(&st, "10h-405");
	status_too_large(&st, 3145728);
	is_sample(&st, "10k-too-large-413");
	status_success(&st, 201, NULL);
	is_sample(&st, "11-binding-201");
	status_conflict(&st, "", "pods/binding", "p1", "pod %s is already assigned to node \"%s\"", "p1",
	                "n-s1794766553");
	is_sample(&st, "11b-binding-twice-409");
	status_patch_rejected(&st);
	is_sample(&st, "12c-json-patch-test-fails");
	status_not_found(&st, "apiextensions.k8s.io", "customresourcedefinitions", "nosuch");
	is_sample(&st, "12j-strategic-on-crd-415");
}

static void test_causes_are_listed_and_told(void **state)
{
	_cleanup_status_ struct status st = STATUS_INIT;
	_cleanup_causes_ struct causes causes = CAUSES_INIT;

	(void)state;
	causes_add(&causes, CAUSE_INVALID, "metadata.name", "\"Bad_Name\"", "%s",
	           "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
	           "must "
	           "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
	           "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
	causes_add(&causes, CAUSE_REQUIRED, "spec.containers", NULL, NULL);
	assert_int_equal(status_invalid(&st, "", "Pod", "Bad_Name", &causes), -EINVAL);
	is_sample(&st, "10-invalid-422");

	causes_done(&causes);
	causes_add(&causes, CAUSE_REQUIRED, "fieldManager", NULL, "is required for apply patch");
	status_invalid(&st, "meta.k8s.io", "PatchOptions", "", &causes);
	is_sample(&st, "12f-apply-no-manager");

	causes_done(&causes);
	causes_add_raw(&causes, "DisruptionBudget", NULL,
	               "The disruption budget pdb is still being processed by the server.");
	status_too_many(&st, &causes, 10, "Cannot evict pod as it would violate the pod's disruption budget.");
	is_sample(&st, "13b-eviction-429-pdb-unprocessed");
	assert_int_equal(st.retry_after_s, 10);
}

static void test_endless_causes_end(void **state)
{
	_cleanup_causes_ struct causes causes = CAUSES_INIT;

	(void)state;
	for (int i = 0; i < 3 * CAUSES_MAX; i++)
		causes_add(&causes, CAUSE_REQUIRED, "x", NULL, NULL);
	assert_int_equal(causes.n, CAUSES_MAX);
	assert_true(causes.cut);
}

TEST_MAIN(TEST(refusals_read_like_the_real_ones), TEST(causes_are_listed_and_told), TEST(endless_causes_end))
