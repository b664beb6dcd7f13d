/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/candidates.h"

#include <stdio.h>

#include "base/test.h"

#define GI ((int64_t)1000 << 30)

static const char *once[] = { "ReadWriteOnce" }, *many[] = { "ReadOnlyMany", "ReadWriteMany" },
                  *all_modes[] = { "ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany" };
static struct pair labels_1[] = { { "kubernetes.io/hostname", "n1" }, { "zone", "a" } };
static struct pair labels_2[] = { { "kubernetes.io/hostname", "n2" }, { "zone", "b" } };
static const struct knode n1 = { .meta = { .name = "n1", .labels = labels_1, .n_labels = 2 } };
static const struct knode n2 = { .meta = { .name = "n2", .labels = labels_2, .n_labels = 2 } };
static const struct knode bare = { .meta = { .name = "n3" } };

static struct requirement on_n1 = { "kubernetes.io/hostname", SEL_IN, (const char *[]) { "n1" }, 1 };
static struct requirement on_both = { "kubernetes.io/hostname", SEL_IN, (const char *[]) { "n1", "n2" }, 2 };
static struct requirement in_a = { "zone", SEL_IN, (const char *[]) { "a" }, 1 };
static struct selector_term term_n1 = { .labels = &on_n1, .n_labels = 1 };
static struct selector_term term_both = { .labels = &on_both, .n_labels = 1 };
static struct selector_term term_a = { .labels = &in_a, .n_labels = 1 };

static const struct pvc claim = { .meta = { .ns = "ml", .name = "data", .uid = "u-1" },
	                          .storage_class = "local",
	                          .access_modes = once,
	                          .n_access_modes = 1,
	                          .request = 2 * GI };

static struct pv volume(const char *name, int64_t capacity, struct selector_term *where)
{
	return (struct pv) { .meta = { .name = name },
		             .storage_class = "local",
		             .access_modes = once,
		             .n_access_modes = 1,
		             .capacity = capacity,
		             .phase = PV_AVAILABLE,
		             .required_nodes = where,
		             .n_required_nodes = where ? 1 : 0,
		             .has_required = where != NULL };
}

static const struct pv *best(const struct pvc *c, const struct pv *list, uint32_t n, const struct knode *node,
                             const struct pv *taken)
{
	struct candidates found = { 0 };
	const struct pv *ret;

	for (uint32_t i = 0; i < n; i++)
		candidates_add(&found, c, &list[i]);
	candidates_sort(&found);
	ret = candidates_best(&found, node, &taken, 1);
	candidates_done(&found);
	return ret;
}

static struct pair ssd = { "disk", "ssd" }, hdd = { "disk", "hdd" };
static struct requirement not_hdd = { "disk", SEL_NOT_IN, (const char *[]) { "hdd" }, 1 };

static void test_what_would_do_for_a_claim(void **state)
{
	struct pvc wants_many = claim, wants_ssd = claim, wants_no_hdd = claim, wants_block = claim, wants_gold = claim;
	struct pv v = volume("pv", 2 * GI, NULL);
	struct pv small = v, other_class = v, no_class = v, of_many = v, of_all = v, is_ssd = v, is_hdd = v, block = v,
	          gold = v;
	struct pv going = v, released = v, fresh = v, ours = v, ours_by_name = v, was_ours = v, theirs = v,
	          their_ns = v;
	struct pv ours_small = v, ours_odd = v, ours_block = v;

	(void)state;
	wants_many.access_modes = many;
	wants_many.n_access_modes = 2;
	wants_ssd.match_labels = &ssd;
	wants_ssd.n_match_labels = 1;
	wants_no_hdd.match = &not_hdd;
	wants_no_hdd.n_match = 1;
	wants_block.mode = block.mode = ours_block.mode = VOLUME_BLOCK;
	wants_gold.attributes_class = gold.attributes_class = "gold";
	small.capacity = 2 * GI - 1;
	other_class.storage_class = "fast";
	no_class.storage_class = NULL;
	of_many.access_modes = many;
	of_many.n_access_modes = 2;
	of_all.access_modes = all_modes;
	of_all.n_access_modes = 3;
	is_ssd.meta.labels = &ssd;
	is_hdd.meta.labels = &hdd;
	is_ssd.meta.n_labels = is_hdd.meta.n_labels = 1;
	going.meta.deletion = 1;
	released.phase = PV_RELEASED;
	fresh.phase = PV_PHASE_UNKNOWN;
	ours.claim_ns = ours_by_name.claim_ns = was_ours.claim_ns = theirs.claim_ns = "ml";
	ours.claim_name = ours_by_name.claim_name = was_ours.claim_name = their_ns.claim_name = "data";
	ours.claim_uid = "u-1";
	was_ours.claim_uid = "u-0";
	theirs.claim_name = "other";
	their_ns.claim_ns = "prod";
	ours.phase = PV_BOUND;
	ours_small = ours_odd = ours_block = ours;
	ours_small.capacity = GI;
	ours_odd.access_modes = many;
	ours_odd.storage_class = "fast";
	ours_block.mode = VOLUME_BLOCK;
	const struct {
		const char *what;
		const struct pvc *claim;
		const struct pv *volume;
		bool does;
	} cases[] = {
		{ "just large enough", &claim, &v, true },
		{ "a byte too small", &claim, &small, false },
		{ "of another class", &claim, &other_class, false },
		{ "of no class", &claim, &no_class, false },
		{ "without the modes", &claim, &of_many, false },
		{ "with one mode of two", &wants_many, &v, false },
		{ "with these modes and more", &wants_many, &of_all, true },
		{ "selected", &wants_ssd, &is_ssd, true },
		{ "without the label", &wants_ssd, &v, false },
		{ "with another value", &wants_ssd, &is_hdd, false },
		{ "not excluded", &wants_no_hdd, &v, true },
		{ "excluded", &wants_no_hdd, &is_hdd, false },
		{ "a block device for files", &claim, &block, false },
		{ "files for a block device", &wants_block, &v, false },
		{ "a block device", &wants_block, &block, true },
		{ "of a class of attributes", &wants_gold, &gold, true },
		{ "of none", &wants_gold, &v, false },
		{ "being deleted", &claim, &going, false },
		{ "released, its data still there", &claim, &released, false },
		{ "not looked at by any controller", &claim, &fresh, false },
		{ "of another claim", &claim, &theirs, false },
		{ "of a claim of that name elsewhere", &claim, &their_ns, false },
		{ "of a claim of that name that is gone", &claim, &was_ours, false },
		{ "promised by name", &claim, &ours_by_name, true },
		{ "given to this very claim", &claim, &ours, true },
		{ "given to it, whatever its class and modes", &claim, &ours_odd, true },
		{ "given to it, but too small", &claim, &ours_small, false },
		{ "given to it, but a block device", &claim, &ours_block, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if ((best(cases[i].claim, cases[i].volume, 1, &n1, NULL) != NULL) != cases[i].does)
			fail_msg("%s: %s", cases[i].what, cases[i].does ? "is not taken" : "is taken");
}

static void test_the_smallest_that_can_be_reached_is_taken(void **state)
{
	struct pv list[] = {
		volume("e", 9 * GI, NULL),    volume("d", 4 * GI, &term_n1),   volume("c", 4 * GI, &term_n1),
		volume("b", 3 * GI, &term_a), volume("a", 5 * GI, &term_both), volume("f", GI, NULL),
	};
	const uint32_t n = ARRAY_LEN(list);

	(void)state;
	assert_ptr_equal(best(&claim, list, n, &n1, NULL), &list[3]);
	assert_ptr_equal(best(&claim, list, n, &n1, &list[3]), &list[2]); /* of two that are equal the first by name */
	assert_ptr_equal(best(&claim, list, n, &n2, NULL), &list[4]);
	assert_ptr_equal(best(&claim, list, n, &n2, &list[4]), &list[0]);
	assert_ptr_equal(best(&claim, list, n, &bare, NULL), &list[0]);
	assert_null(best(&claim, &list[1], 2, &n2, NULL));
	assert_null(best(&claim, list, 0, &n1, NULL));
}

static void test_one_that_names_the_claim_is_the_only_one(void **state)
{
	struct pv list[] = { volume("a", 2 * GI, NULL), volume("own", 8 * GI, &term_n1), volume("c", 2 * GI, NULL) };

	(void)state;
	list[1].claim_ns = "ml";
	list[1].claim_name = "data";
	assert_ptr_equal(best(&claim, list, 3, &n1, NULL), &list[1]);
	assert_null(best(&claim, list, 3, &n2, NULL));
}

static void test_a_host_among_many_is_found(void **state)
{
	struct requirement where[100];
	struct selector_term terms[100];
	struct pv list[100];
	const char *hosts[100];
	char names[100][8];

	(void)state;
	for (int i = 0; i < 100; i++) {
		snprintf(names[i], sizeof(names[i]), "h%02d", (i * 37) % 100);
		hosts[i] = names[i];
		where[i] = (struct requirement) { "kubernetes.io/hostname", SEL_IN, &hosts[i], 1 };
		terms[i] = (struct selector_term) { .labels = &where[i], .n_labels = 1 };
		list[i] = volume(names[i], 3 * GI, &terms[i]);
	}
	for (int i = 0; i < 100; i++) {
		struct pair label = { "kubernetes.io/hostname", names[i] };
		const struct knode node = { .meta = { .name = "x", .labels = &label, .n_labels = 1 } };

		assert_ptr_equal(best(&claim, list, 100, &node, NULL), &list[i]);
		assert_null(best(&claim, list, 100, &node, &list[i]));
	}
}

TEST_MAIN(TEST(what_would_do_for_a_claim), TEST(the_smallest_that_can_be_reached_is_taken),
          TEST(one_that_names_the_claim_is_the_only_one), TEST(a_host_among_many_is_found))
