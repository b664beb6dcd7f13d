/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/mirror.h"

#include "base/str.h"
#include "base/test.h"
#include "policy/nodeset.h"

#define NOW (1000 * USEC_SEC)

static struct pair pod_labels[] = { { LABEL_NODESET, "gpu" }, { "app.kubernetes.io/part-of", "lab" } };
static struct pair node_labels[] = { { LABEL_NODESET, "gpu" },
	                             { ANNOTATION_PREFIX "namespace", "slurm" },
	                             { ANNOTATION_PREFIX "pod", "n1" },
	                             { ANNOTATION_PREFIX "cluster", "lab" },
	                             { "other", "stays" } };

static struct pod nodeset_pod(struct condition *conditions, uint32_t n)
{
	return (struct pod) {
		.meta = { .ns = "slurm", .name = "n1", .labels = pod_labels, .n_labels = ARRAY_LEN(pod_labels) },
		.conditions = conditions,
		.n_conditions = n
	};
}

static const struct condition *find(const struct node_mirror *m, const char *type)
{
	return condition_get(m->conditions, (uint32_t)m->n_conditions, type);
}

static void test_a_node_tells_whose_it_is(void **state)
{
	struct pod pod = nodeset_pod(NULL, 0);
	struct knode node = { .meta = { .name = "k1" } };
	struct node_mirror m;

	(void)state;
	mirror_to_node(&node, &pod, "unused", NOW, &m);
	assert_int_equal(m.n_labels, 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(pair_get(m.labels, 4, node_labels[i].key), node_labels[i].value);
	node.meta.labels = node_labels;
	node.meta.n_labels = ARRAY_LEN(node_labels);
	mirror_to_node(&node, &pod, NULL, NOW, &m);
	assert_int_equal(m.n_labels, 0);
	mirror_to_node(&node, NULL, NULL, NOW, &m); /* the Pod is gone */
	assert_int_equal(m.n_labels, 4);
	for (int i = 0; i < m.n_labels; i++)
		assert_null(m.labels[i].value);
}

static void test_slurms_word_is_mirrored_with_its_time_and_only_once(void **state)
{
	struct condition on_pod[] = {
		{ .type = "SlurmDrain", .status = COND_TRUE, .reason = "Drained", .message = "disk", .changed = 7 },
		{ .type = "SlurmRunning", .status = COND_FALSE, .reason = "Idle", .changed = 8 },
		{ .type = "SlurmNotResponding", .status = COND_FALSE, .reason = "Responding", .changed = 9 }
	};
	struct pod pod = nodeset_pod(on_pod, 3);
	struct knode node = { .meta = { .name = "k1", .labels = node_labels, .n_labels = ARRAY_LEN(node_labels) } };
	struct node_mirror m;
	struct condition on_node[MIRROR_CONDITIONS];
	struct pair annotation;

	(void)state;
	mirror_to_node(&node, &pod, NULL, NOW, &m);
	assert_int_equal(m.n_conditions, 4);
	assert_int_equal(find(&m, "SlurmDrain")->changed, 7);
	assert_string_equal(find(&m, "SlurmDrain")->message, "disk");
	assert_int_equal(find(&m, "SlurmCordon")->status, COND_TRUE);
	assert_int_equal(m.n_annotations, 1);
	assert_string_equal(m.annotations[0].value, "disk");
	for (int i = 0; i < m.n_conditions; i++)
		on_node[i] = m.conditions[i];
	annotation = m.annotations[0];
	node.conditions = on_node;
	node.n_conditions = 4;
	node.meta.annotations = &annotation;
	node.meta.n_annotations = 1;
	mirror_to_node(&node, &pod, NULL, NOW, &m);
	assert_int_equal(m.n_conditions + m.n_annotations + m.n_labels, 0);
	on_pod[0].message = "disk again"; /* other words, same state: the time stays */
	mirror_to_node(&node, &pod, NULL, NOW, &m);
	assert_int_equal(find(&m, "SlurmDrain")->changed, 7);
	on_pod[0].status = COND_FALSE;
	on_pod[0].changed = 20;
	mirror_to_node(&node, &pod, NULL, NOW, &m);
	assert_int_equal(find(&m, "SlurmDrain")->changed, 20);
	assert_int_equal(find(&m, "SlurmCordon")->status, COND_FALSE);
	assert_null(m.annotations[0].value);
}

static void test_a_drain_that_began_in_kubernetes_never_comes_back_as_a_cordon(void **state)
{
	static const char *const reasons[] = { "k8s: cordon: broken", "k8s: pod not ready",
		                               "k8s: pod deletion timeout" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		struct condition on_pod[] = { { .type = "SlurmDrain", .status = COND_TRUE, .message = reasons[i] } };
		struct pod pod = nodeset_pod(on_pod, 1);
		struct knode node = { .meta = { .name = "k1" } };
		struct node_mirror m;

		mirror_to_node(&node, &pod, NULL, NOW, &m);
		assert_int_equal(find(&m, "SlurmDrain")->status, COND_TRUE);
		assert_int_equal(find(&m, "SlurmCordon")->status, COND_FALSE);
	}
}

static void test_what_is_not_known_is_unknown_not_false(void **state)
{
	struct pod pod = nodeset_pod(NULL, 0);
	struct condition old = { .type = "SlurmRunning", .status = COND_TRUE, .changed = 3 };
	struct knode node = { .meta = { .name = "k1" } };
	struct node_mirror m;

	(void)state;
	mirror_to_node(&node, &pod, NULL, NOW, &m);
	assert_int_equal(m.n_conditions, 4);
	for (int i = 0; i < m.n_conditions; i++)
		assert_int_equal(m.conditions[i].status, COND_UNKNOWN);
	mirror_to_node(&node, NULL, NULL, NOW, &m); /* a Node that never had one is left alone */
	assert_int_equal(m.n_conditions, 0);
	node.conditions = &old;
	node.n_conditions = 1;
	mirror_to_node(&node, NULL, NULL, NOW, &m);
	assert_int_equal(m.n_conditions, 1);
	assert_int_equal(m.conditions[0].status, COND_UNKNOWN);
	assert_int_equal(m.conditions[0].changed, NOW);
}

static void test_a_cordon_reaches_the_pod_with_its_reason_and_goes_again(void **state)
{
	struct pair why = { ANNOTATION_CORDON_REASON, "fan is loud" }, mark = { ANNOTATION_CORDON, "fan is loud" };
	struct knode node = { .unschedulable = true };
	struct pod pod = nodeset_pod(NULL, 0);
	struct pod_mirror m;

	(void)state;
	mirror_to_pod(&pod, &node, &m);
	assert_int_equal(m.n_annotations, 1);
	assert_string_equal(m.annotations[0].value, "");
	node.meta.annotations = &why;
	node.meta.n_annotations = 1;
	mirror_to_pod(&pod, &node, &m);
	assert_string_equal(m.annotations[0].value, "fan is loud");
	pod.meta.annotations = &mark;
	pod.meta.n_annotations = 1;
	mirror_to_pod(&pod, &node, &m);
	assert_int_equal(m.n_annotations, 0);
	node.unschedulable = false; /* the reason's annotation may stay behind */
	mirror_to_pod(&pod, &node, &m);
	assert_int_equal(m.n_annotations, 1);
	assert_null(m.annotations[0].value);
}

TEST_MAIN(TEST(a_node_tells_whose_it_is), TEST(slurms_word_is_mirrored_with_its_time_and_only_once),
          TEST(a_drain_that_began_in_kubernetes_never_comes_back_as_a_cordon),
          TEST(what_is_not_known_is_unknown_not_false), TEST(a_cordon_reaches_the_pod_with_its_reason_and_goes_again))
