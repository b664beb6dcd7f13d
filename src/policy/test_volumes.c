/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/volumes.h"

#include <string.h>

#include "base/test.h"

static struct requirement on_n1 = { "kubernetes.io/hostname", SEL_IN, (const char *[]) { "n1" }, 1 };
static struct requirement in_a = { "zone", SEL_UNKNOWN, (const char *[]) { "a", "b" }, 2 };
static struct selector_term term_n1 = { .labels = &on_n1, .n_labels = 1 }, term_a = { .labels = &in_a, .n_labels = 1 };

static struct pair labels_1[] = { { "kubernetes.io/hostname", "n1" }, { "zone", "a" } };
static struct pair labels_2[] = { { "kubernetes.io/hostname", "n2" }, { "zone", "c" } };
static const struct knode n1 = { .meta = { .name = "n1", .labels = labels_1, .n_labels = 2 } };
static const struct knode n2 = { .meta = { .name = "n2", .labels = labels_2, .n_labels = 2 } };
static const struct place on_1 = { "s1", &n1, "n1" }, on_2 = { "s2", &n2, "n2" };

static struct pair chose_n1 = { ANNOTATION_SELECTED_NODE, "n1" };

static const struct pvc unbound = { .meta = { .name = "data" }, .storage_class = "fast", .phase = PVC_PENDING };
static const struct pvc chosen = { .meta = { .name = "data", .annotations = &chose_n1, .n_annotations = 1 },
	                           .storage_class = "fast",
	                           .phase = PVC_PENDING };
static const struct pvc bound = {
	.meta = { .name = "data" }, .volume = "pv-1", .storage_class = "fast", .phase = PVC_BOUND
};
static const struct pvc half = {
	.meta = { .name = "data" }, .volume = "pv-1", .storage_class = "fast", .phase = PVC_PENDING
};
static const struct pvc lost = { .meta = { .name = "data" }, .volume = "pv-1", .phase = PVC_LOST };
static const struct pvc going = { .meta = { .name = "data", .deletion = 1 }, .volume = "pv-1", .phase = PVC_BOUND };
static const struct pvc classless = { .meta = { .name = "data" }, .phase = PVC_PENDING };

static const struct pv anywhere = { .meta = { .name = "pv-1" } };
static const struct pv local = {
	.meta = { .name = "pv-1" }, .required_nodes = &term_n1, .n_required_nodes = 1, .has_required = true
};
static const struct pv nowhere = { .meta = { .name = "pv-1" }, .has_required = true };

static const struct storage_class at_once = { .meta = { .name = "fast" } };
static const struct storage_class waits = { .meta = { .name = "fast" },
	                                    .provisioner = "example.com/disk",
	                                    .waits_for_consumer = true };
static const struct storage_class waits_in_a = { .meta = { .name = "fast" },
	                                         .provisioner = "example.com/disk",
	                                         .waits_for_consumer = true,
	                                         .topologies = &term_a,
	                                         .n_topologies = 1 };
static const struct storage_class unmade = { .meta = { .name = "fast" },
	                                     .provisioner = NO_PROVISIONER,
	                                     .waits_for_consumer = true };

static void test_each_claim_says_where_it_can_be_reached_and_what_it_needs(void **state)
{
	const struct {
		const char *what;
		const struct pvc *claim;
		const struct pv *volume;
		const struct storage_class *class;
		bool reach_1, reach_2;
		enum volumes_state before, on_1, on_2;
		const char *why; /* on n1 */
	} cases[] = {
		{ "there is no claim", NULL, NULL, NULL, true, true, VOLUMES_WAIT, VOLUMES_WAIT, VOLUMES_WAIT,
		  "claim data does not exist" },
		{ "bound, anywhere", &bound, &anywhere, &at_once, true, true, VOLUMES_READY, VOLUMES_READY,
		  VOLUMES_READY },
		{ "bound, on one node", &bound, &local, &waits, true, false, VOLUMES_READY, VOLUMES_READY,
		  VOLUMES_ELSEWHERE },
		{ "bound, an affinity without terms", &bound, &nowhere, NULL, false, false, VOLUMES_READY,
		  VOLUMES_ELSEWHERE, VOLUMES_ELSEWHERE, "volume pv-1 of claim data cannot be reached from there" },
		{ "bound, the volume is not known", &bound, NULL, &waits, true, true, VOLUMES_WAIT, VOLUMES_WAIT,
		  VOLUMES_WAIT, "claim data is bound, but nothing is known of its volume pv-1" },
		{ "a volume is named, but not bound", &half, &anywhere, &at_once, true, true, VOLUMES_WAIT,
		  VOLUMES_WAIT, VOLUMES_WAIT, "claim data is not bound yet to the volume that it names, pv-1" },
		{ "a volume is named, whoever is the first consumer", &half, &anywhere, &waits, true, true,
		  VOLUMES_WAIT, VOLUMES_WAIT, VOLUMES_WAIT },
		{ "the volume that is named is on one node", &half, &local, &waits, true, false, VOLUMES_WAIT,
		  VOLUMES_WAIT, VOLUMES_ELSEWHERE },
		{ "nobody makes volumes, and none was looked for", &unbound, NULL, &unmade, true, true, VOLUMES_READY,
		  VOLUMES_WAIT, VOLUMES_WAIT, "claim data is not bound; nobody makes volumes of storage class fast" },
		{ "unbound, made at once", &unbound, NULL, &at_once, true, true, VOLUMES_WAIT, VOLUMES_WAIT,
		  VOLUMES_WAIT, "claim data is not bound yet; its volume comes from storage class fast" },
		{ "unbound, waits for us", &unbound, NULL, &waits, true, true, VOLUMES_READY, VOLUMES_SELECT,
		  VOLUMES_SELECT, "claim data waits for its first consumer, on node n1" },
		{ "unbound, waits for us, not made everywhere", &unbound, NULL, &waits_in_a, true, false, VOLUMES_READY,
		  VOLUMES_SELECT, VOLUMES_ELSEWHERE },
		{ "being made for one node", &chosen, NULL, &waits, true, false, VOLUMES_READY, VOLUMES_WAIT,
		  VOLUMES_ELSEWHERE, "claim data is not bound yet; its volume is being made by storage class fast" },
		{ "the class is not there", &unbound, NULL, NULL, true, true, VOLUMES_WAIT, VOLUMES_WAIT, VOLUMES_WAIT,
		  "claim data is not bound: there is no storage class fast" },
		{ "no class", &classless, NULL, NULL, true, true, VOLUMES_WAIT, VOLUMES_WAIT, VOLUMES_WAIT,
		  "claim data is not bound to a volume, and has no storage class to make one" },
		{ "lost", &lost, NULL, NULL, true, true, VOLUMES_WAIT, VOLUMES_WAIT, VOLUMES_WAIT,
		  "claim data has lost its volume pv-1" },
		{ "being deleted", &going, &anywhere, NULL, true, true, VOLUMES_WAIT, VOLUMES_WAIT, VOLUMES_WAIT,
		  "claim data is being deleted" },
	};
	struct volume_claim claim = { "vol", "data" };
	struct pod pod = { .volumes = &claim, .n_volumes = 1 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct pvc *claims[] = { cases[i].claim };
		const struct pv *volumes[] = { cases[i].volume };
		const struct storage_class *classes[] = { cases[i].class };
		struct pod_volumes v = { .claims = claims, .volumes = volumes, .classes = classes, .n = 1 };
		char why[FIT_WHY_MAX] = "";
		uint32_t n = 7;

		if ((volumes_reach(&pod, &v, &n1, &n) == REACH_OK) != cases[i].reach_1 ||
		    (volumes_reach(&pod, &v, &n2, &n) == REACH_OK) != cases[i].reach_2)
			fail_msg("%s: reached from the wrong node", cases[i].what);
		if (volumes_before_bind(&pod, &v, NULL, &n, why) != cases[i].before)
			fail_msg("%s: before submitting: %s", cases[i].what, why);
		if (volumes_before_bind(&pod, &v, &on_2, &n, why) != cases[i].on_2)
			fail_msg("%s: on the second node: %s", cases[i].what, why);
		*why = '\0';
		if (volumes_before_bind(&pod, &v, &on_1, &n, why) != cases[i].on_1)
			fail_msg("%s: on the first node: %s", cases[i].what, why);
		if (cases[i].why)
			assert_string_equal(why, cases[i].why);
	}
}

/* ---- volumes that are there ---- */

#define GI ((int64_t)1000 << 30)
#define SITES_MAX 2

/* A Pod with claims that wait, as the shell gathers them. */
struct site {
	struct pvc claims[SITES_MAX];
	struct pv volumes[3];
	struct storage_class class;
	const struct pvc *claim_list[SITES_MAX];
	const struct storage_class *class_list[SITES_MAX];
	struct candidates candidates[SITES_MAX];
	struct volume_claim names[SITES_MAX];
	struct pod pod;
	struct pod_volumes v;
};

static void site_make(struct site *s, uint32_t n_volumes)
{
	static const char *const names[] = { "large", "small" };

	*s = (struct site) { .class = unmade };
	for (uint32_t i = 0; i < SITES_MAX; i++) {
		s->claims[i] = (struct pvc) { .meta = { .ns = "ml", .name = names[i], .uid = names[i] },
			                      .storage_class = "fast",
			                      .request = (i ? 1 : 5) * GI,
			                      .phase = PVC_PENDING };
		s->claim_list[i] = &s->claims[i];
		s->class_list[i] = &s->class;
		s->names[i] = (struct volume_claim) { "v", names[i] };
	}
	for (uint32_t i = 0; i < n_volumes; i++)
		s->volumes[i] = (struct pv) { .meta = { .name = (const char *[]) { "pv-a", "pv-b", "pv-c" }[i] },
			                      .storage_class = "fast",
			                      .capacity = (5 + i) * GI,
			                      .phase = PV_AVAILABLE,
			                      .required_nodes = &term_n1,
			                      .n_required_nodes = 1,
			                      .has_required = true };
	s->pod = (struct pod) { .volumes = s->names, .n_volumes = SITES_MAX };
	s->v = (struct pod_volumes) {
		.claims = s->claim_list, .classes = s->class_list, .candidates = s->candidates, .n = SITES_MAX
	};
}

static enum volumes_state site_look(struct site *s, const struct place *place, uint32_t *ret_claim,
                                    char why[FIT_WHY_MAX])
{
	for (uint32_t i = 0; i < s->v.n; i++) {
		candidates_done(&s->candidates[i]);
		for (size_t k = 0; k < ARRAY_LEN(s->volumes); k++)
			if (s->volumes[k].meta.name)
				candidates_add(&s->candidates[i], s->claim_list[i], &s->volumes[k]);
		candidates_sort(&s->candidates[i]);
	}
	return volumes_before_bind(&s->pod, &s->v, place, ret_claim, why);
}

static void site_done(struct site *s)
{
	for (uint32_t i = 0; i < SITES_MAX; i++)
		candidates_done(&s->candidates[i]);
}

static void test_a_claim_gets_a_volume_that_is_there_and_then_waits_for_it(void **state)
{
	struct site s;
	char why[FIT_WHY_MAX] = "";
	uint32_t n = 7;

	(void)state;
	site_make(&s, 1);
	s.pod.n_volumes = s.v.n = 1;
	assert_int_equal(site_look(&s, NULL, &n, why), VOLUMES_READY);
	assert_int_equal(site_look(&s, &on_2, &n, why), VOLUMES_ELSEWHERE);
	assert_string_equal(why,
	                    "no free volume of class fast that would do for claim large can be reached from there");
	assert_int_equal(volumes_reach(&s.pod, &s.v, &n2, &n), REACH_NONE);
	assert_int_equal(site_look(&s, &on_1, &n, why), VOLUMES_TAKE);
	assert_int_equal(n, 0);
	assert_string_equal(why, "claim large waits for its first consumer, and gets volume pv-a");
	assert_ptr_equal(volumes_choice(&s.pod, &s.v, &n1, 0), &s.volumes[0]);
	assert_null(volumes_choice(&s.pod, &s.v, &n2, 0));
	/* promised by a person: only that one, and it must still be given */
	s.volumes[0].claim_ns = "ml";
	s.volumes[0].claim_name = "large";
	assert_int_equal(site_look(&s, &on_1, &n, why), VOLUMES_TAKE);
	assert_int_equal(site_look(&s, &on_2, &n, why), VOLUMES_ELSEWHERE);
	assert_string_equal(why, "volume pv-a of claim large cannot be reached from there");
	/* given: the rest is a controller's */
	s.volumes[0].claim_uid = "large";
	assert_int_equal(site_look(&s, &on_1, &n, why), VOLUMES_WAIT);
	assert_string_equal(why, "claim large is not bound yet; it gets volume pv-a");
	assert_int_equal(site_look(&s, &on_2, &n, why), VOLUMES_ELSEWHERE);
	/* given to another: there is none left anywhere */
	s.volumes[0].claim_uid = "other";
	assert_int_equal(site_look(&s, &on_1, &n, why), VOLUMES_ELSEWHERE);
	site_done(&s);
}

static void test_two_claims_get_two_volumes_the_smaller_one_first(void **state)
{
	struct site s;
	char why[FIT_WHY_MAX];
	uint32_t n = 7;

	(void)state;
	site_make(&s, 2);
	s.volumes[0].capacity = 2 * GI; /* large enough for the small one only */
	assert_int_equal(site_look(&s, &on_1, &n, why), VOLUMES_TAKE);
	assert_ptr_equal(volumes_choice(&s.pod, &s.v, &n1, 0), &s.volumes[1]);
	assert_ptr_equal(volumes_choice(&s.pod, &s.v, &n1, 1), &s.volumes[0]);
	site_done(&s);
	site_make(&s, 1); /* one for both: neither is taken */
	assert_int_equal(site_look(&s, &on_1, &n, why), VOLUMES_ELSEWHERE);
	assert_int_equal(volumes_reach(&s.pod, &s.v, &n1, &n), REACH_NONE);
	s.claim_list[1] = &s.claims[0]; /* twice the same claim needs one */
	assert_int_equal(site_look(&s, &on_1, &n, why), VOLUMES_TAKE);
	assert_ptr_equal(volumes_choice(&s.pod, &s.v, &n1, 1), &s.volumes[0]);
	site_done(&s);
}

static void test_a_class_that_makes_volumes_still_gives_those_that_are_there(void **state)
{
	struct site s;
	char why[FIT_WHY_MAX];
	uint32_t n = 7;

	(void)state;
	site_make(&s, 1);
	s.class = waits;
	s.pod.n_volumes = s.v.n = 1;
	assert_int_equal(site_look(&s, &on_1, &n, why), VOLUMES_TAKE);
	assert_int_equal(site_look(&s, &on_2, &n, why), VOLUMES_SELECT);
	s.claims[0].meta.annotations = &chose_n1; /* one is being made: no other */
	s.claims[0].meta.n_annotations = 1;
	assert_int_equal(site_look(&s, &on_1, &n, why), VOLUMES_WAIT);
	assert_int_equal(site_look(&s, &on_2, &n, why), VOLUMES_ELSEWHERE);
	s.class = unmade; /* a name that nobody heeds */
	assert_int_equal(site_look(&s, &on_1, &n, why), VOLUMES_TAKE);
	site_done(&s);
}

static void test_the_most_pressing_of_several_claims_is_told(void **state)
{
	struct volume_claim names[] = { { "a", "a" }, { "b", "b" }, { "c", "c" }, { "d", "d" } };
	struct pod pod = { .volumes = names, .n_volumes = 4 };
	const struct pvc *claims[] = { &bound, &chosen, &unbound, NULL };
	const struct pv *volumes[] = { &anywhere, NULL, NULL, NULL };
	const struct storage_class *classes[] = { &waits, &waits, &waits, NULL };
	struct pod_volumes v = { .claims = claims, .volumes = volumes, .classes = classes, .n = 4 };
	char why[FIT_WHY_MAX] = "";
	uint32_t n = 7;

	(void)state;
	assert_int_equal(volumes_before_bind(&pod, &v, &on_2, &n, why), VOLUMES_ELSEWHERE);
	assert_int_equal(n, 1);
	assert_string_equal(why, "the volume of claim b is being made for node n1");
	/* no node is chosen for c as long as d is missing */
	assert_int_equal(volumes_before_bind(&pod, &v, &on_1, &n, why), VOLUMES_WAIT);
	assert_int_equal(n, 3);
	assert_string_equal(why, "claim d does not exist");
	pod.n_volumes = v.n = 3;
	assert_int_equal(volumes_before_bind(&pod, &v, &on_1, &n, why), VOLUMES_SELECT);
	assert_int_equal(n, 2);
	pod.n_volumes = v.n = 2;
	assert_int_equal(volumes_before_bind(&pod, &v, &on_1, &n, why), VOLUMES_WAIT);
	assert_int_equal(n, 1);
	pod.n_volumes = v.n = 1;
	assert_int_equal(volumes_before_bind(&pod, &v, &on_1, &n, why), VOLUMES_READY);
	pod.n_volumes = v.n = 0;
	assert_int_equal(volumes_before_bind(&pod, NULL, &on_1, &n, why), VOLUMES_READY);
}

static void test_without_knowledge_of_volumes_a_pod_with_claims_waits(void **state)
{
	struct volume_claim claim = { "vol", "data" };
	struct pod pod = { .volumes = &claim, .n_volumes = 1 };
	char why[FIT_WHY_MAX];
	uint32_t n = 7;

	(void)state;
	assert_int_equal(volumes_before_bind(&pod, NULL, &on_1, &n, why), VOLUMES_WAIT);
	assert_int_equal(n, 0);
	assert_int_equal(volumes_reach(&pod, NULL, &n1, &n), REACH_OK);
}

static void test_a_node_that_the_provisioner_refused_is_not_chosen_again(void **state)
{
	const struct pvc seen = { .meta = { .uid = "u-1", .resource_version = "5" } },
	                 later = { .meta = { .uid = "u-1", .resource_version = "7" } },
	                 other = { .meta = { .uid = "u-2", .resource_version = "7" } };
	const struct selected last = { 4, "u-1", "5" };

	(void)state;
	assert_int_equal(selection_of(NULL, 4, &seen), SELECT_NOW);
	assert_int_equal(selection_of(&last, 4, &seen), SELECT_UNSEEN);
	assert_int_equal(selection_of(&last, 4, &later), SELECT_UNDONE);
	assert_int_equal(selection_of(&last, 5, &later), SELECT_NOW); /* of an earlier job, on another node */
	assert_int_equal(selection_of(&last, 4, &other), SELECT_NOW);
}

static void test_an_ephemeral_claim_must_be_of_this_pod(void **state)
{
	struct volume_claim vol = { .volume = "scratch", .ephemeral = true };
	struct pod pod = { .meta = { .name = "p", .uid = "u-1" }, .volumes = &vol, .n_volumes = 1 };
	struct owner owner = { "Pod", "p", "u-0", true };
	struct pvc claim = bound;
	const struct pvc *claims[] = { &claim };
	const struct pv *volumes[] = { &anywhere };
	struct pod_volumes v = { .claims = claims, .volumes = volumes, .n = 1 };
	char why[FIT_WHY_MAX], name[CLAIM_NAME_MAX];
	uint32_t n;

	(void)state;
	assert_string_equal(claim_name(&pod, 0, name), "p-scratch");
	assert_int_equal(volumes_before_bind(&pod, &v, &on_1, &n, why), VOLUMES_WAIT);
	assert_string_equal(why, "claim p-scratch exists, but was not made for this Pod");
	claim.meta.owners = &owner;
	claim.meta.n_owners = 1;
	assert_int_equal(volumes_before_bind(&pod, &v, &on_1, &n, why), VOLUMES_WAIT);
	owner.uid = "u-1";
	assert_int_equal(volumes_before_bind(&pod, &v, &on_1, &n, why), VOLUMES_READY);
}

static void test_long_and_foreign_names_are_cut_and_masked(void **state)
{
	char name[2000];
	struct volume_claim claim = { "vol", name };
	struct pod pod = { .volumes = &claim, .n_volumes = 1 };
	char why[FIT_WHY_MAX];
	uint32_t n;

	(void)state;
	memset(name, '\n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(volumes_before_bind(&pod, NULL, &on_1, &n, why), VOLUMES_WAIT);
	assert_null(strchr(why, '\n'));
	assert_true(strlen(why) < FIT_WHY_MAX);
	assert_non_null(strstr(why, "does not exist"));
}

TEST_MAIN(TEST(each_claim_says_where_it_can_be_reached_and_what_it_needs),
          TEST(a_claim_gets_a_volume_that_is_there_and_then_waits_for_it),
          TEST(two_claims_get_two_volumes_the_smaller_one_first),
          TEST(a_class_that_makes_volumes_still_gives_those_that_are_there),
          TEST(a_node_that_the_provisioner_refused_is_not_chosen_again),
          TEST(the_most_pressing_of_several_claims_is_told), TEST(without_knowledge_of_volumes_a_pod_with_claims_waits),
          TEST(an_ephemeral_claim_must_be_of_this_pod), TEST(long_and_foreign_names_are_cut_and_masked))
