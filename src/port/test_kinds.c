/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "port/kinds.h"

#include <string.h>

#include "base/mem.h"
#include "base/test.h"
#include "model/volume.h"

/* A Pod in one block: only what an index reads. */
struct block {
	struct pod pod;
	struct pair labels[2];
	struct owner owners[2];
};

static struct block *pod_new(const char *name, const char *node)
{
	struct block *b = NEW(struct block);

	b->pod.meta.ns = "ns";
	b->pod.meta.name = name;
	b->pod.meta.resource_version = "1";
	b->pod.node_name = node;
	b->pod.meta.labels = b->labels;
	b->pod.meta.owners = b->owners;
	return b;
}

static void test_pods_are_found_by_node_label_and_owner(void **state)
{
	_cleanup_(store_freep) struct store *s = store_new(store_kind_of(KUBE_PODS));
	struct block *a = pod_new("a", "n1"), *b = pod_new("b", NULL);
	struct store_cursor c = { 0 };
	char key[LABEL_KEY_MAX];

	(void)state;
	a->labels[0] = (struct pair) { "app", "x" };
	a->labels[1] = (struct pair) { "empty", "" };
	a->pod.meta.n_labels = 2;
	a->owners[0] = (struct owner) { .uid = "u-1" };
	a->owners[1] = (struct owner) { .uid = "u-2" };
	a->pod.meta.n_owners = 2;
	b->labels[0] = (struct pair) { "app", "x" };
	b->pod.meta.n_labels = 1;
	store_put(s, a, sizeof(*a));
	store_put(s, b, sizeof(*b));
	assert_ptr_equal(store_find(s, POD_BY_NODE, "n1", &c), a);
	assert_null(store_find(s, POD_BY_NODE, "n1", &c));
	assert_int_equal(store_find_count(s, POD_BY_NODE, ""), 0);
	assert_int_equal(store_find_count(s, POD_BY_LABEL, label_key("app", "x", key)), 2);
	assert_int_equal(store_find_count(s, POD_BY_LABEL, label_key("empty", "", key)), 1);
	assert_int_equal(store_find_count(s, POD_BY_OWNER, "u-2"), 1);
}

static void test_a_claim_finds_its_pods_and_its_volume_and_class_find_it(void **state)
{
	_cleanup_(store_freep) struct store *pods = store_new(store_kind_of(KUBE_PODS));
	_cleanup_(store_freep) struct store *claims = store_new(store_kind_of(KUBE_CLAIMS));
	struct block *a = pod_new("a", "n1"), *b = pod_new("b", NULL);
	struct volume_claim of_a[] = { { "v", "data", false }, { "w", NULL, true } }, of_b = { "x", "data", false };
	_cleanup_(store_freep) struct store *volumes = store_new(store_kind_of(KUBE_VOLUMES));
	struct pvc *c = NEW(struct pvc), *unbound = NEW(struct pvc);
	struct pv *v = NEW(struct pv), *classless = NEW(struct pv);

	(void)state;
	a->pod.volumes = of_a;
	a->pod.n_volumes = 2;
	b->pod.volumes = &of_b;
	b->pod.n_volumes = 1;
	store_put(pods, a, sizeof(*a));
	store_put(pods, b, sizeof(*b));
	assert_int_equal(store_find_count(pods, POD_BY_CLAIM, "ns/data"), 2);
	assert_int_equal(store_find_count(pods, POD_BY_CLAIM, "ns/a-w"), 1);
	assert_int_equal(store_find_count(pods, POD_BY_CLAIM, "data"), 0);
	*c = (struct pvc) { .meta = { .ns = "ns", .name = "data", .resource_version = "1" },
		            .volume = "pv-1",
		            .storage_class = "fast" };
	*unbound = (struct pvc) { .meta = { .ns = "ns", .name = "other", .resource_version = "1" } };
	store_put(claims, c, sizeof(*c));
	store_put(claims, unbound, sizeof(*unbound));
	assert_int_equal(store_find_count(claims, CLAIM_BY_VOLUME, "pv-1"), 1);
	assert_int_equal(store_find_count(claims, CLAIM_BY_VOLUME, ""), 0);
	assert_int_equal(store_find_count(claims, CLAIM_BY_CLASS, "fast"), 1);
	*v = (struct pv) { .meta = { .name = "pv-1", .resource_version = "1" }, .storage_class = "fast" };
	*classless = (struct pv) { .meta = { .name = "pv-2", .resource_version = "1" } };
	store_put(volumes, v, sizeof(*v));
	store_put(volumes, classless, sizeof(*classless));
	assert_int_equal(store_find_count(volumes, VOLUME_BY_CLASS, "fast"), 1);
	assert_int_equal(store_find_count(volumes, VOLUME_BY_CLASS, ""), 0);
}

static void test_kinds_that_are_never_kept_have_no_store(void **state)
{
	(void)state;
	assert_non_null(store_kind_of(KUBE_NODES));
	assert_non_null(store_kind_of(KUBE_LEASES));
	assert_non_null(store_kind_of(KUBE_VOLUMES));
	assert_non_null(store_kind_of(KUBE_CLASSES));
	assert_null(store_kind_of(KUBE_EVENTS));
}

static void test_a_label_key_is_bounded(void **state)
{
	char text[LABEL_KEY_MAX], long_value[1000];

	(void)state;
	memset(long_value, 'v', sizeof(long_value));
	long_value[sizeof(long_value) - 1] = '\0';
	assert_int_equal(strlen(label_key("k", long_value, text)), LABEL_KEY_MAX - 1);
}

TEST_MAIN(TEST(pods_are_found_by_node_label_and_owner), TEST(a_claim_finds_its_pods_and_its_volume_and_class_find_it),
          TEST(kinds_that_are_never_kept_have_no_store), TEST(a_label_key_is_bounded))
