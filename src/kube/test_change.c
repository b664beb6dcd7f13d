/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/change.h"

#include <errno.h>
#include <string.h>

#include "base/test.h"

#define NOW ((usec_t)1794766595 * USEC_SEC) /* 2026-11-15T18:16:35Z */

static const struct kube_ref pod = { KUBE_PODS, "ns", "p", NULL, NULL };
static const struct kube_ref exact_pod = { KUBE_PODS, "ns", "p", "u-1", "17" };
static const struct kube_ref node = { KUBE_NODES, NULL, "n", NULL, NULL };
static const struct kube_ref exact_node = { KUBE_NODES, NULL, "n", "u-2", "18" };

static void check_main(const struct kube_change *c, const char *expected)
{
	_cleanup_free_ char *body = NULL;
	struct err err = { 0 };
	size_t len = 99;

	assert_int_equal(kube_change_main(c, &body, &len, &err), 0);
	if (expected) {
		assert_non_null(body);
		assert_string_equal(body, expected);
		assert_int_equal(len, strlen(expected));
	} else {
		assert_null(body);
	}
}

static void test_what_is_not_named_stays(void **state)
{
	struct kube_change c = KUBE_CHANGE(exact_pod);

	(void)state;
	check_main(&c, NULL);
}

static void test_annotations_and_labels_are_merged_and_null_removes(void **state)
{
	static const struct pair annotations[] = { { "sunk.coreweave.com/job-id", "17" }, { "a.b/c", NULL } };
	static const struct pair labels[] = { { "x", "y\"z" } };
	struct kube_change c = KUBE_CHANGE(pod);

	(void)state;
	c.annotations = annotations;
	c.n_annotations = 2;
	c.labels = labels;
	c.n_labels = 1;
	check_main(&c, "{\"metadata\":{\"annotations\":{\"sunk.coreweave.com/job-id\":\"17\",\"a.b/c\":null},"
	               "\"labels\":{\"x\":\"y\\\"z\"}}}");
}

static void test_preconditions_travel_in_the_metadata(void **state)
{
	static const struct pair annotations[] = { { "a", "b" } };
	struct kube_change c = KUBE_CHANGE(exact_pod);

	(void)state;
	c.annotations = annotations;
	c.n_annotations = 1;
	check_main(&c, "{\"metadata\":{\"annotations\":{\"a\":\"b\"},\"uid\":\"u-1\",\"resourceVersion\":\"17\"}}");
}

static void test_tolerations_are_written_as_the_api_has_them(void **state)
{
	static const struct toleration tolerations[] = {
		{ .key = "sunk.coreweave.com/lock", .op = TOLERATE_EXISTS, .effect = EFFECT_NO_EXECUTE },
		{ .key = "k", .value = "v", .op = TOLERATE_EQUAL, .has_seconds = true, .seconds = 300 },
		{ .op = TOLERATE_EXISTS },
		{ .key = "sla", .value = "950", .op = TOLERATE_GT, .effect = EFFECT_NO_SCHEDULE },
		{ .key = "sla", .value = "990", .op = TOLERATE_LT },
	};
	struct kube_change c = KUBE_CHANGE(exact_pod);

	(void)state;
	c.tolerations = tolerations;
	c.n_tolerations = ARRAY_LEN(tolerations);
	check_main(&c, "{\"spec\":{\"tolerations\":["
	               "{\"key\":\"sunk.coreweave.com/lock\",\"operator\":\"Exists\",\"effect\":\"NoExecute\"},"
	               "{\"key\":\"k\",\"operator\":\"Equal\",\"value\":\"v\",\"tolerationSeconds\":300},"
	               "{\"operator\":\"Exists\"},"
	               "{\"key\":\"sla\",\"operator\":\"Gt\",\"value\":\"950\",\"effect\":\"NoSchedule\"},"
	               "{\"key\":\"sla\",\"operator\":\"Lt\",\"value\":\"990\"}]},"
	               "\"metadata\":{\"uid\":\"u-1\",\"resourceVersion\":\"17\"}}");
}

static void test_taints_and_unschedulable_of_a_node(void **state)
{
	static const struct taint taints[] = {
		{ .key = "sunk.coreweave.com/lock", .value = "true", .effect = EFFECT_NO_EXECUTE, .added = NOW },
		{ .key = "k", .effect = EFFECT_PREFER_NO_SCHEDULE },
	};
	struct kube_change c = KUBE_CHANGE(exact_node), none = KUBE_CHANGE(exact_node), cordon = KUBE_CHANGE(node);

	(void)state;
	c.taints = taints;
	c.n_taints = 2;
	c.unschedulable = 0;
	check_main(&c, "{\"spec\":{\"taints\":[{\"key\":\"sunk.coreweave.com/lock\",\"value\":\"true\","
	               "\"effect\":\"NoExecute\",\"timeAdded\":\"2026-11-15T18:16:35Z\"},"
	               "{\"key\":\"k\",\"effect\":\"PreferNoSchedule\"}],\"unschedulable\":false},"
	               "\"metadata\":{\"uid\":\"u-2\",\"resourceVersion\":\"18\"}}");
	none.n_taints = 0;
	check_main(&none, "{\"spec\":{\"taints\":[]},\"metadata\":{\"uid\":\"u-2\",\"resourceVersion\":\"18\"}}");
	cordon.unschedulable = 1;
	check_main(&cordon, "{\"spec\":{\"unschedulable\":true}}");
}

static void test_a_whole_list_needs_a_resource_version(void **state)
{
	struct kube_change t = KUBE_CHANGE(pod), n = KUBE_CHANGE(node);
	struct err err = { 0 };
	char *body = NULL;
	size_t len;

	(void)state;
	t.n_tolerations = 0;
	assert_int_equal(kube_change_main(&t, &body, &len, &err), -EINVAL);
	assert_string_equal(err.text, "replacing the tolerations of Pod ns/p needs its resourceVersion");
	n.n_taints = 0;
	assert_int_equal(kube_change_main(&n, &body, &len, &err), -EINVAL);
	assert_string_equal(err.text, "replacing the taints of Node n needs its resourceVersion");
	assert_null(body);
}

static void test_a_volume_is_given_to_a_claim_in_the_version_that_was_looked_at(void **state)
{
	static const struct meta claim = { .ns = "ml", .name = "data", .uid = "u-9", .resource_version = "41" };
	struct kube_change c = KUBE_CHANGE(((struct kube_ref) { KUBE_VOLUMES, NULL, "pv-1", "u-3", "19" }));
	_cleanup_free_ char *body = NULL;
	struct err err = { 0 };
	size_t len;

	(void)state;
	c.claim = &claim;
	check_main(&c, "{\"spec\":{\"claimRef\":{\"apiVersion\":\"v1\",\"kind\":\"PersistentVolumeClaim\","
	               "\"namespace\":\"ml\",\"name\":\"data\",\"uid\":\"u-9\",\"resourceVersion\":\"41\"}},"
	               "\"metadata\":{\"uid\":\"u-3\",\"resourceVersion\":\"19\"}}");
	c.ref.resource_version = NULL;
	assert_int_equal(kube_change_main(&c, &body, &len, &err), -EINVAL);
}

static void test_the_deadline_of_a_pod(void **state)
{
	struct kube_change c = KUBE_CHANGE(pod);

	(void)state;
	c.active_deadline_s = 3600;
	check_main(&c, "{\"spec\":{\"activeDeadlineSeconds\":3600}}");
}

static void test_conditions_are_a_patch_of_their_own_merged_by_type(void **state)
{
	static const struct condition conditions[] = {
		{ .type = "PodScheduled",
		  .status = COND_FALSE,
		  .reason = "Unschedulable",
		  .message = "Resources",
		  .changed = NOW - USEC_SEC },
		{ .type = "SlurmDrain", .status = COND_UNKNOWN },
	};
	struct kube_change c = KUBE_CHANGE(exact_pod);
	_cleanup_free_ char *body = NULL;
	size_t len;

	(void)state;
	c.conditions = conditions;
	c.n_conditions = 2;
	check_main(&c, NULL);
	assert_int_equal(kube_change_status(&c, "19", NOW, &body, &len, NULL), 0);
	assert_string_equal(body,
	                    "{\"metadata\":{\"uid\":\"u-1\",\"resourceVersion\":\"19\"},\"status\":{\"conditions\":["
	                    "{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":\"Unschedulable\","
	                    "\"message\":\"Resources\",\"lastTransitionTime\":\"2026-11-15T18:16:34Z\"},"
	                    "{\"type\":\"SlurmDrain\",\"status\":\"Unknown\",\"reason\":null,\"message\":null,"
	                    "\"lastTransitionTime\":\"2026-11-15T18:16:35Z\"}]}}");
}

static void test_a_nodes_condition_has_a_heartbeat(void **state)
{
	static const struct condition conditions[] = { { .type = "SlurmDrain", .status = COND_TRUE, .changed = NOW } };
	struct kube_change c = KUBE_CHANGE(node);
	_cleanup_free_ char *body = NULL;
	size_t len;

	(void)state;
	c.conditions = conditions;
	c.n_conditions = 1;
	assert_int_equal(kube_change_status(&c, NULL, NOW, &body, &len, NULL), 0);
	assert_non_null(strstr(body, "\"lastHeartbeatTime\":\"2026-11-15T18:16:35Z\""));
	assert_null(strstr(body, "metadata"));
}

static void test_a_version_is_put_into_a_body(void **state)
{
	static const char with[] = "{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"1\"},\"status\":{}}",
	                  without[] = "{}";
	_cleanup_free_ char *a = NULL, *b = NULL;
	size_t len;

	(void)state;
	a = kube_body_with_version(with, strlen(with), "9", &len);
	assert_string_equal(a, "{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"9\"},\"status\":{}}");
	assert_int_equal(len, strlen(a));
	b = kube_body_with_version(without, strlen(without), "9", &len);
	assert_string_equal(b, "{\"metadata\":{\"resourceVersion\":\"9\"}}");
}

TEST_MAIN(TEST(what_is_not_named_stays), TEST(annotations_and_labels_are_merged_and_null_removes),
          TEST(preconditions_travel_in_the_metadata), TEST(tolerations_are_written_as_the_api_has_them),
          TEST(taints_and_unschedulable_of_a_node), TEST(a_whole_list_needs_a_resource_version),
          TEST(a_volume_is_given_to_a_claim_in_the_version_that_was_looked_at), TEST(the_deadline_of_a_pod),
          TEST(conditions_are_a_patch_of_their_own_merged_by_type), TEST(a_nodes_condition_has_a_heartbeat),
          TEST(a_version_is_put_into_a_body))
