/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/request.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "base/test.h"

static const struct kube_ref pod = { KUBE_PODS, "ns", "p", NULL, NULL };
static const struct kube_ref exact = { KUBE_PODS, "ns", "p", "u-1", "17" };

static void check(const struct kube_request *r, const char *method, const char *path, const char *content_type,
                  const char *body, const char *what)
{
	assert_string_equal(r->method, method);
	assert_string_equal(r->path, path);
	assert_true(str_eq(r->content_type, content_type));
	if (body) {
		assert_string_equal(r->body, body);
		assert_int_equal(r->body_len, strlen(body));
	} else {
		assert_null(r->body);
	}
	assert_string_equal(r->what, what);
	assert_int_equal(r->effect, strcmp(method, "GET") != 0);
}

static void test_reads(void **state)
{
	_cleanup_request_ struct kube_request get = { 0 }, list = { 0 }, watch = { 0 }, version = { 0 };

	(void)state;
	assert_int_equal(kube_request_get(&get, &pod, NULL, NULL), 0);
	check(&get, "GET", "/api/v1/namespaces/ns/pods/p", NULL, NULL, "get Pod ns/p");
	assert_int_equal(kube_request_list(&list, &pod, &(struct kube_query) { .limit = 500 }, NULL), 0);
	check(&list, "GET", "/api/v1/namespaces/ns/pods?limit=500", NULL, NULL, "list Pods in ns");
	assert_int_equal(kube_request_list(&watch, &(struct kube_ref) { KUBE_NODES },
	                                   &(struct kube_query) { .watch = true }, NULL),
	                 0);
	check(&watch, "GET", "/api/v1/nodes?watch=true&allowWatchBookmarks=true", NULL, NULL, "watch Nodes");
	kube_request_plain(&version, "/version");
	check(&version, "GET", "/version", NULL, NULL, "get /version");
}

static void test_create_sends_the_template_as_it_is(void **state)
{
	static const char json[] = "{ \"metadata\": {\"name\": \"x\"} }", unnamed[] = "{}";
	_cleanup_request_ struct kube_request r = { 0 }, g = { 0 };

	(void)state;
	assert_int_equal(kube_request_create(&r, KUBE_PODS, "ns", json, strlen(json), NULL), 0);
	check(&r, "POST", "/api/v1/namespaces/ns/pods", "application/json", json, "create Pod ns/x");
	assert_int_equal(kube_request_create(&g, KUBE_PODS, "ns", unnamed, strlen(unnamed), NULL), 0);
	assert_string_equal(g.what, "create one of Pods in ns");
}

static void test_a_template_that_is_no_object_is_not_sent(void **state)
{
	static const char *const bad[] = { "", "{", "[]", "17", "<html>" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_request_ struct kube_request r = { 0 };
		struct err err = { 0 };

		assert_true(kube_request_create(&r, KUBE_PODS, "ns", bad[i], strlen(bad[i]), &err) < 0);
		assert_true(str_starts(err.text, "create one of Pods in ns: "));
		assert_null(r.body);
	}
}

static void test_a_template_has_a_maximum(void **state)
{
	_cleanup_free_ char *big = mem_alloc(KUBE_BODY_MAX + 2);
	_cleanup_request_ struct kube_request r = { 0 };
	struct err err = { 0 };

	(void)state;
	memset(big, ' ', KUBE_BODY_MAX + 1);
	assert_int_equal(kube_request_create(&r, KUBE_PODS, "ns", big, KUBE_BODY_MAX + 1, &err), -EFBIG);
	assert_string_equal(err.text, "create one of Pods in ns: 4194305 bytes, more than the 4194304 we send");
}

static void test_patches_have_the_content_type_the_server_wants(void **state)
{
	_cleanup_request_ struct kube_request merge = { 0 }, strategic = { 0 }, apply = { 0 }, scale = { 0 };

	(void)state;
	assert_int_equal(kube_request_patch(&merge, &pod, NULL, KUBE_PATCH_MERGE, "{}", 2, NULL), 0);
	check(&merge, "PATCH", "/api/v1/namespaces/ns/pods/p", "application/merge-patch+json", "{}", "change Pod ns/p");
	assert_int_equal(kube_request_patch(&strategic, &pod, "status", KUBE_PATCH_STRATEGIC, "{}", 2, NULL), 0);
	check(&strategic, "PATCH", "/api/v1/namespaces/ns/pods/p/status", "application/strategic-merge-patch+json",
	      "{}", "change the status of Pod ns/p");
	assert_int_equal(kube_request_patch(&apply, &pod, NULL, KUBE_PATCH_APPLY, "{}", 2, NULL), 0);
	check(&apply, "PATCH", "/api/v1/namespaces/ns/pods/p?fieldManager=sunk&force=true",
	      "application/apply-patch+yaml", "{}", "change Pod ns/p");
	assert_int_equal(kube_request_scale(&scale, &exact, 3, NULL), 0);
	check(&scale, "PATCH", "/api/v1/namespaces/ns/pods/p/scale", "application/merge-patch+json",
	      "{\"spec\":{\"replicas\":3},\"metadata\":{\"resourceVersion\":\"17\"}}", "scale Pod ns/p");
}

static void test_delete_carries_its_preconditions(void **state)
{
	_cleanup_request_ struct kube_request r = { 0 }, plain = { 0 }, all = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(kube_request_delete(&r, &exact, 0, NULL), 0);
	check(&r, "DELETE", "/api/v1/namespaces/ns/pods/p", "application/json",
	      "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"propagationPolicy\":\"Background\","
	      "\"gracePeriodSeconds\":0,\"preconditions\":{\"uid\":\"u-1\",\"resourceVersion\":\"17\"}}",
	      "delete Pod ns/p");
	assert_int_equal(kube_request_delete(&plain, &pod, -1, NULL), 0);
	assert_string_equal(plain.body,
	                    "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"propagationPolicy\":\"Background\"}");
	assert_int_equal(kube_request_delete(&all, &(struct kube_ref) { KUBE_PODS, "ns" }, 0, &err), -EINVAL);
	assert_string_equal(err.text, "delete Pods in ns: which one?");
}

static void test_eviction_is_policy_v1(void **state)
{
	_cleanup_request_ struct kube_request r = { 0 }, plain = { 0 };

	(void)state;
	assert_int_equal(kube_request_evict(&r, &exact, 30, NULL), 0);
	check(&r, "POST", "/api/v1/namespaces/ns/pods/p/eviction", "application/json",
	      "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"},"
	      "\"deleteOptions\":{\"gracePeriodSeconds\":30,\"preconditions\":{\"uid\":\"u-1\",\"resourceVersion\":"
	      "\"17\"}}}",
	      "evict Pod ns/p");
	assert_int_equal(kube_request_evict(&plain, &pod, -1, NULL), 0);
	assert_string_equal(plain.body,
	                    "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"p\","
	                    "\"namespace\":\"ns\"}}");
}

static void test_a_binding_is_for_one_pod_by_uid(void **state)
{
	_cleanup_request_ struct kube_request r = { 0 }, nowhere = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(kube_request_bind(&r, &exact, "n1", NULL), 0);
	check(&r, "POST", "/api/v1/namespaces/ns/pods/p/binding", "application/json",
	      "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\","
	      "\"uid\":\"u-1\"},\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"n1\"}}",
	      "bind Pod ns/p to n1");
	assert_int_equal(kube_request_bind(&nowhere, &exact, "", &err), -EINVAL);
	assert_string_equal(err.text, "bind Pod ns/p: to which node?");
}

static void test_a_name_that_is_none_makes_no_request(void **state)
{
	_cleanup_request_ struct kube_request r = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(kube_request_get(&r, &(struct kube_ref) { KUBE_PODS, "ns", "a/b" }, NULL, &err), -EINVAL);
	assert_string_equal(err.text, "get Pod ns/a/b: \"a/b\" cannot be the name of a Kubernetes object");
	assert_null(r.path);
}

TEST_MAIN(TEST(reads), TEST(create_sends_the_template_as_it_is), TEST(a_template_that_is_no_object_is_not_sent),
          TEST(a_template_has_a_maximum), TEST(patches_have_the_content_type_the_server_wants),
          TEST(delete_carries_its_preconditions), TEST(eviction_is_policy_v1), TEST(a_binding_is_for_one_pod_by_uid),
          TEST(a_name_that_is_none_makes_no_request))
