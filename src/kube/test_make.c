/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/make.h"

#include <errno.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"
#include "kube/change.h"
#include "kube/objects.h"
#include "json/json.h"

#define TEMPLATE                                                                                                       \
	"{\"metadata\":{\"labels\":{\"app\":\"x\",\"sunk.coreweave.com/nodeset\":\"lies\"}},\"spec\":{\"affinity\":{"  \
	"\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[{}]}}},"         \
	"\"tolerations\":[{\"operator\":\"Exists\"}],\"containers\":[{\"name\":\"c\",\"tty\":true}]}}"

static const struct owner owner = { "NodeSet", "main", "u1", true };

static void *decode(enum kube_kind kind, const char *text, size_t len)
{
	struct json_scratch s = { 0 };
	struct err err = { 0 };
	yyjson_doc *doc;
	void *object = NULL;

	assert_int_equal(json_parse_copy(text, len, &doc, &err), 0);
	assert_int_equal(kube_decode(kind, yyjson_doc_get_root(doc), &s, &object, NULL, &err), 0);
	yyjson_doc_free(doc);
	json_scratch_done(&s);
	return object;
}

static void test_a_pod_is_its_template_pinned_to_one_node(void **state)
{
	const struct pair label = { "sunk.coreweave.com/nodeset", "main" };
	const struct toleration t = { .key = "k", .op = TOLERATE_EXISTS, .effect = EFFECT_NO_EXECUTE };
	const struct kube_make m = { .ref = { .kind = KUBE_PODS, .ns = "slurm", .name = "n1" },
		                     .owner = &owner,
		                     .labels = &label,
		                     .n_labels = 1,
		                     .template_json = TEMPLATE,
		                     .pin = "k1",
		                     .tolerations = &t,
		                     .n_tolerations = 1 };
	_cleanup_free_ char *text = NULL;
	_cleanup_free_ struct pod *pod = NULL;
	size_t len;

	(void)state;
	assert_int_equal(kube_make_body(&m, &text, &len, NULL), 0);
	assert_non_null(strstr(text, "\"tty\":true")); /* what we do not know stays */
	pod = decode(KUBE_PODS, text, len);
	assert_string_equal(pod->meta.name, "n1");
	assert_string_equal(pair_get(pod->meta.labels, pod->meta.n_labels, "app"), "x");
	assert_string_equal(pair_get(pod->meta.labels, pod->meta.n_labels, label.key), "main"); /* ours wins */
	assert_string_equal(meta_controller(&pod->meta)->uid, "u1");
	assert_int_equal(pod->n_required_nodes, 1);
	assert_string_equal(pod->required_nodes[0].fields[0].values[0], "k1");
	assert_int_equal(pod->n_tolerations, 2);
}

static void test_a_template_that_is_no_object_is_refused(void **state)
{
	struct kube_make m = { .ref = { .kind = KUBE_PODS, .ns = "slurm", .name = "n1" }, .template_json = "[]" };
	struct err err = { 0 };
	char *text = NULL;
	size_t len;

	(void)state;
	assert_int_equal(kube_make_body(&m, &text, &len, &err), -EBADMSG);
	assert_string_equal(err_text(&err), "Pod slurm/n1: the template is no object");
	m.template_json = "{";
	assert_true(kube_make_body(&m, &text, &len, &err) < 0);
	assert_null(text);
}

static void test_a_slice_is_made_with_its_names(void **state)
{
	const char *const names[] = { "a", "b" };
	const struct kube_make m = { .ref = { .kind = KUBE_NODESLICES, .ns = "slurm", .name = "main-0" },
		                     .owner = &owner,
		                     .nodeset = "main",
		                     .nodes = names,
		                     .n_nodes = 2 };
	_cleanup_free_ char *text = NULL;
	_cleanup_free_ struct nodeslice *slice = NULL;
	size_t len;

	(void)state;
	assert_int_equal(kube_make_body(&m, &text, &len, NULL), 0);
	slice = decode(KUBE_NODESLICES, text, len);
	assert_string_equal(slice->nodeset, "main");
	assert_int_equal(slice->n_nodes, 2);
	assert_string_equal(slice->nodes[1], "b");
}

static void test_a_nodeset_is_read_and_its_status_written(void **state)
{
	static const char json[] =
	        "{\"kind\":\"NodeSet\",\"metadata\":{\"name\":\"main\",\"namespace\":\"slurm\"},\"spec\":{"
	        "\"nodeSelector\":{\"gpu\":\"yes\"},"
	        "\"replicas\":0,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\"}]}},"
	        "\"updateStrategy\":{\"maxUnavailable\":\"10%\",\"type\":\"OnDelete\"}},\"status\":{\"ready\":3}}";
	_cleanup_free_ struct nodeset *set = decode(KUBE_NODESETS, json, sizeof(json) - 1);
	struct kube_change c =
	        KUBE_CHANGE(((struct kube_ref) { .kind = KUBE_NODESETS, .ns = "slurm", .name = "main" }));
	const struct condition ready = { .type = "Ready", .status = COND_TRUE, .reason = "AsWanted" };
	_cleanup_free_ char *text = NULL;
	size_t len;

	(void)state;
	assert_true(set->has_replicas);
	assert_string_equal(set->select.node_selector[0].key, "gpu");
	assert_int_equal(set->shape.n_containers, 1);
	assert_string_equal(set->template_json, "{\"spec\":{\"containers\":[{\"name\":\"c\"}]}}");
	assert_string_equal(set->max_unavailable, "\"10%\"");
	assert_int_equal(set->update, UPDATE_ON_DELETE);
	assert_int_equal(set->status.ready, 3);
	c.nodeset_status = &set->status;
	c.conditions = &ready;
	c.n_conditions = 1;
	assert_int_equal(kube_change_status(&c, NULL, USEC_SEC, &text, &len, NULL), 0);
	assert_non_null(strstr(text, "\"ready\":3"));
	assert_non_null(strstr(text, "\"reason\":\"AsWanted\""));
}

TEST_MAIN(TEST(a_pod_is_its_template_pinned_to_one_node), TEST(a_template_that_is_no_object_is_refused),
          TEST(a_slice_is_made_with_its_names), TEST(a_nodeset_is_read_and_its_status_written))
