/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/resource.h"

#include <errno.h>

#include "base/str.h"
#include "base/test.h"

struct path_case {
	struct kube_ref ref;
	const char *sub;
	struct kube_query query;
	const char *path;
};

static const struct path_case path_cases[] = {
	{ { KUBE_PODS }, NULL, { .limit = 0 }, "/api/v1/pods" },
	{ { KUBE_PODS, "ns" }, NULL, { .limit = 500 }, "/api/v1/namespaces/ns/pods?limit=500" },
	{ { KUBE_PODS, "ns", "p1" }, NULL, { .limit = 0 }, "/api/v1/namespaces/ns/pods/p1" },
	{ { KUBE_PODS, "ns", "p1" }, "binding", { .limit = 0 }, "/api/v1/namespaces/ns/pods/p1/binding" },
	{ { KUBE_NODES, NULL, "n1" }, "status", { .limit = 0 }, "/api/v1/nodes/n1/status" },
	{ { KUBE_NODES, "ignored", "n1" }, NULL, { .limit = 0 }, "/api/v1/nodes/n1" },
	{ { KUBE_LEASES, "ns", "l" }, NULL, { .limit = 0 }, "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l" },
	{ { KUBE_CLAIMS, "ns", "c" }, NULL, { .limit = 0 }, "/api/v1/namespaces/ns/persistentvolumeclaims/c" },
	{ { KUBE_VOLUMES, NULL, "v" }, NULL, { .limit = 0 }, "/api/v1/persistentvolumes/v" },
	{ { KUBE_CLASSES }, NULL, { .limit = 0 }, "/apis/storage.k8s.io/v1/storageclasses" },
	{ { KUBE_EVENTS, "ns" }, NULL, { .limit = 0 }, "/apis/events.k8s.io/v1/namespaces/ns/events" },
	{ { KUBE_PODS },
	  NULL,
	  { .field_selector = "spec.schedulerName=foo,spec.nodeName=", .limit = 1 },
	  "/api/v1/pods?fieldSelector=spec.schedulerName%3Dfoo%2Cspec.nodeName%3D&limit=1" },
	{ { KUBE_PODS },
	  NULL,
	  { .label_selector = "app in (y,z),!foo" },
	  "/api/v1/pods?labelSelector=app%20in%20%28y%2Cz%29%2C%21foo" },
	{ { KUBE_PODS },
	  NULL,
	  { .watch = true, .resource_version = "261", .timeout_s = 300 },
	  "/api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=261&timeoutSeconds=300" },
	{ { KUBE_PODS, "ns" },
	  NULL,
	  { .limit = 2, .continue_token = "ab+/=&c" },
	  "/api/v1/namespaces/ns/pods?limit=2&continue=ab%2B%2F%3D%26c" },
	{ { KUBE_PODS, "ns", "p4" },
	  "status",
	  { .field_manager = "sunk", .force = true },
	  "/api/v1/namespaces/ns/pods/p4/status?fieldManager=sunk&force=true" },
	{ { KUBE_PODS, "ns", "ä?#x" }, NULL, { .limit = 0 }, "/api/v1/namespaces/ns/pods/%C3%A4%3F%23x" },
};

static void test_paths_are_those_the_api_server_knows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(path_cases); i++) {
		const struct path_case *c = &path_cases[i];
		_cleanup_buf_ KUBE_PATH(path);
		struct err err = { 0 };

		assert_int_equal(kube_path(&path, &c->ref, c->sub, &c->query, &err), 0);
		assert_string_equal(buf_text(&path), c->path);
	}
}

static void test_names_that_could_leave_their_place_are_refused(void **state)
{
	static const char *const bad[] = { "", ".", "..", "a/b", "../x", "%2e%2e", "a\nb" };
	char long_name[300];

	(void)state;
	memset(long_name, 'a', sizeof(long_name));
	long_name[254] = '\0';
	for (size_t i = 0; i <= ARRAY_LEN(bad); i++) {
		const char *name = i < ARRAY_LEN(bad) ? bad[i] : long_name;
		_cleanup_buf_ KUBE_PATH(as_name);
		_cleanup_buf_ KUBE_PATH(as_ns);
		struct err err = { 0 };

		assert_int_equal(kube_path(&as_name, &(struct kube_ref) { KUBE_PODS, "ns", name }, NULL, NULL, &err),
		                 -EINVAL);
		assert_non_null(strstr(err.text, "cannot be the name of a Kubernetes object"));
		assert_null(strchr(err.text, '\n'));
		assert_int_equal(kube_path(&as_ns, &(struct kube_ref) { KUBE_PODS, name, "p" }, NULL, NULL, &err),
		                 -EINVAL);
		assert_non_null(strstr(err.text, "cannot be the namespace"));
	}
}

static void test_an_object_without_its_namespace_is_refused(void **state)
{
	_cleanup_buf_ KUBE_PATH(path);
	struct err err = { 0 };

	(void)state;
	assert_int_equal(kube_path(&path, &(struct kube_ref) { KUBE_PODS, NULL, "p" }, NULL, NULL, &err), -EINVAL);
	assert_string_equal(err.text, "Pod p: its namespace is missing");
}

static void test_a_path_has_a_maximum(void **state)
{
	_cleanup_free_ char *selector = mem_alloc(9000);
	_cleanup_buf_ KUBE_PATH(path);
	struct kube_query query = { .label_selector = selector };
	struct err err = { 0 };

	(void)state;
	memset(selector, 'x', 8999);
	assert_int_equal(kube_path(&path, &(struct kube_ref) { KUBE_PODS }, NULL, &query, &err), -EMSGSIZE);
	assert_non_null(strstr(err.text, "longer than 7168 bytes"));
	assert_non_null(strstr(err.text, "/api/v1/pods"));
}

static void test_messages_name_objects_and_collections(void **state)
{
	char text[KUBE_WHAT_MAX];

	(void)state;
	assert_string_equal(kube_what(&(struct kube_ref) { KUBE_PODS, "ns", "p" }, text), "Pod ns/p");
	assert_string_equal(kube_what(&(struct kube_ref) { KUBE_NODES, NULL, "n" }, text), "Node n");
	assert_string_equal(kube_what(&(struct kube_ref) { KUBE_PODS, "ns" }, text), "Pods in ns");
	assert_string_equal(kube_what(&(struct kube_ref) { KUBE_NODES }, text), "Nodes");
	assert_string_equal(kube_what(&(struct kube_ref) { KUBE_CLASSES }, text), "StorageClasses");
}

TEST_MAIN(TEST(paths_are_those_the_api_server_knows), TEST(names_that_could_leave_their_place_are_refused),
          TEST(an_object_without_its_namespace_is_refused), TEST(a_path_has_a_maximum),
          TEST(messages_name_objects_and_collections))
