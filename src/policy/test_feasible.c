/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/feasible.h"

#include <stdio.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/rand.h"
#include "base/str.h"
#include "base/test.h"

#define GI (1024LL * 1024 * 1024 * 1000)

static struct amount whole[] = { { "cpu", 32000 }, { "memory", 64 * GI }, { "pods", 2000 } };
static struct amount small[] = { { "cpu", 4000 }, { "memory", 64 * GI }, { "pods", 2000 } };
static struct pair ssd = { "disktype", "ssd" };

#define NODE(n) { .meta = { .name = (n), .labels = &ssd, .n_labels = 1 }, .allocatable = whole, .n_allocatable = 3 }

static struct taint ml = { "dedicated", "ml", EFFECT_NO_SCHEDULE }, web = { "dedicated", "web", EFFECT_NO_SCHEDULE };
static struct taint lock = { TAINT_LOCK, "true", EFFECT_NO_EXECUTE };
static struct taint cordon = { "node.kubernetes.io/unschedulable", NULL, EFFECT_NO_SCHEDULE };

static struct amount asks_8[] = { { "cpu", 8000 }, { "memory", 2 * GI } };
static struct host_port port_80 = { 80 };
static struct container c8 = { .requests = asks_8, .n_requests = 2, .ports = &port_80, .n_ports = 1 };

static struct pod pod_of(const char *name)
{
	return (struct pod) { .meta = { .ns = "ns", .name = name, .uid = name },
		              .containers = &c8,
		              .n_containers = 1,
		              .node_selector = &ssd,
		              .n_node_selector = 1 };
}

static void test_the_most_lasting_reason_is_told_in_a_clause(void **state)
{
	struct taint both[] = { cordon, ml };
	struct requirement needs = { "zone", SEL_IN, (const char *[]) { "a", "b" }, 2 };
	struct selector_term terms[] = { { .labels = &needs, .n_labels = 1 }, { .labels = &needs, .n_labels = 1 } };
	const struct {
		const char *what;
		bool gone, unlabelled, small, cordoned;
		const char *required;
		struct taint *taints;
		uint32_t n_taints, n_terms;
		bool affinity;
		enum misfit want;
		const char *why;
	} cases[] = {
		{ "fits" },
		{ "required", .required = "s[1-2]" },
		{ "not required", .required = "s2,s10", .want = MISFIT_NOT_REQUIRED,
		  .why = "it is not among the nodes that the Pod requires" },
		{ "not required, and gone", .required = "s2", .gone = true, .want = MISFIT_NOT_REQUIRED,
		  .why = "it is not among the nodes that the Pod requires" },
		{ "gone", .gone = true, .want = MISFIT_NO_NODE, .why = "Kubernetes Node n1 is gone" },
		{ "selector, though all else is wrong too", .unlabelled = true, .small = true, .cordoned = true,
		  .taints = both, .n_taints = 2, .want = MISFIT_SELECTOR,
		  .why = "the node selector asks for disktype=ssd" },
		{ "affinity", .affinity = true, .n_terms = 1, .want = MISFIT_SELECTOR,
		  .why = "the node affinity asks for zone In (a, b)" },
		{ "affinity of several terms", .affinity = true, .n_terms = 2, .want = MISFIT_SELECTOR,
		  .why = "none of the 2 terms of the node affinity matches" },
		{ "affinity of no terms", .affinity = true, .n_terms = 0, .want = MISFIT_SELECTOR,
		  .why = "the node affinity is empty, which matches no node" },
		{ "too small, and tainted", .small = true, .taints = both, .n_taints = 2, .want = MISFIT_CAPACITY,
		  .why = "asks for 8 cpu, the whole Node has 4" },
		{ "tainted, and cordoned", .cordoned = true, .taints = both, .n_taints = 2, .want = MISFIT_TAINT,
		  .why = "taint dedicated=ml:NoSchedule is not tolerated" },
		{ "cordoned", .cordoned = true, .want = MISFIT_UNSCHEDULABLE, .why = "the Node is cordoned" },
		{ "cordoned, as a taint", .taints = both, .n_taints = 1, .want = MISFIT_UNSCHEDULABLE,
		  .why = "the Node is cordoned" },
		{ "our own lock does not count", .taints = &lock, .n_taints = 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct knode node = NODE("n1");
		struct place place = { "s1", cases[i].gone ? NULL : &node, "n1" };
		struct pod pod = pod_of("p");
		struct pair annotation = { ANNOTATION_REQUIRED_NODES, cases[i].required };
		char why[FIT_WHY_MAX] = "";

		pod.meta.annotations = &annotation;
		pod.meta.n_annotations = cases[i].required != NULL;
		node.meta.n_labels = cases[i].unlabelled ? 0 : 1;
		node.allocatable = cases[i].small ? small : whole;
		node.unschedulable = cases[i].cordoned;
		node.taints = cases[i].taints;
		node.n_taints = cases[i].n_taints;
		pod.has_required = cases[i].affinity;
		pod.required_nodes = terms;
		pod.n_required_nodes = cases[i].n_terms;
		if (fits_ever(&pod, &place, NULL, NULL, why) != cases[i].want)
			fail_msg("%s: %s", cases[i].what, why);
		assert_string_equal(why, str_or(cases[i].why, ""));
		assert_int_equal(fits_now(&pod, &place, NULL, NULL, 0, NULL, why), cases[i].want);
	}
}

static void test_a_slurm_node_without_its_pod_says_so(void **state)
{
	struct place place = { "s1", NULL, NULL };
	struct pod pod = pod_of("p");
	char why[FIT_WHY_MAX];

	(void)state;
	assert_int_equal(fits_ever(&pod, &place, NULL, NULL, why), MISFIT_NO_NODE);
	assert_string_equal(why, "no NodeSet Pod runs there on a Kubernetes Node");
}

static void test_a_toleration_of_the_cordon_makes_a_cordoned_node_fine(void **state)
{
	struct toleration t = { "node.kubernetes.io/unschedulable", NULL, TOLERATE_EXISTS, EFFECT_NO_SCHEDULE };
	struct knode node = NODE("n1");
	struct place place = { "s1", &node, "n1" };
	struct pod pod = pod_of("p");
	char why[FIT_WHY_MAX];

	(void)state;
	node.unschedulable = true;
	node.taints = &cordon;
	node.n_taints = 1;
	assert_int_equal(fits_ever(&pod, &place, NULL, NULL, why), MISFIT_UNSCHEDULABLE);
	pod.tolerations = &t;
	pod.n_tolerations = 1;
	assert_int_equal(fits_ever(&pod, &place, NULL, NULL, why), FIT_OK);
}

static void test_a_lock_taint_of_another_effect_counts(void **state)
{
	struct taint not_ours = { TAINT_LOCK, "true", EFFECT_NO_SCHEDULE };
	struct knode node = NODE("n1");
	struct place place = { "s1", &node, "n1" };
	struct pod pod = pod_of("p");
	char why[FIT_WHY_MAX];

	(void)state;
	node.taints = &not_ours;
	node.n_taints = 1;
	assert_int_equal(fits_ever(&pod, &place, NULL, NULL, why), MISFIT_TAINT);
}

static void test_just_before_binding_what_is_there_counts(void **state)
{
	struct amount asks_25 = { "cpu", 25000 };
	struct container c25 = { .requests = &asks_25, .n_requests = 1 };
	struct host_port port_81 = { 81 };
	struct pod pod = pod_of("p"),
	           big = { .meta = { "ns", "slurm-n1", "u" }, .containers = &c25, .n_containers = 1 };
	struct pod a = { .meta = { "ns", "a", "a" } }, b = { .meta = { "ns", "b", "b" } }, web_pod = pod_of("web");
	struct container none = { .ports = &port_80, .n_ports = 1 };
	const struct pod *with_big[] = { &big }, *with_web[] = { &a, &web_pod }, *two[] = { &a, &b },
	                 *self[] = { &pod };
	struct knode node = NODE("n1");
	struct place place = { "s1", &node, "n1" };
	char why[FIT_WHY_MAX];

	(void)state;
	assert_int_equal(fits_now(&pod, &place, NULL, self, 1, NULL, why), FIT_OK);
	assert_int_equal(fits_now(&pod, &place, NULL, with_big, 1, NULL, why), MISFIT_RESOURCES);
	assert_string_equal(why, "asks for 8 cpu, the Node has 7 left of 32");
	assert_int_equal(fits_ever(&pod, &place, NULL, NULL, why), FIT_OK);
	web_pod.containers = &none;
	assert_int_equal(fits_now(&pod, &place, NULL, with_web, 2, NULL, why), MISFIT_PORTS);
	assert_string_equal(why, "host port 80/TCP is taken by Pod ns/web");
	none.ports = &port_81;
	assert_int_equal(fits_now(&pod, &place, NULL, with_web, 2, NULL, why), MISFIT_PODS);
	assert_int_equal(fits_now(&pod, &place, NULL, two, 2, NULL, why), MISFIT_PODS);
	assert_string_equal(why, "the Node has all the 2 Pods it may have");
	b.phase = POD_FAILED;
	assert_int_equal(fits_now(&pod, &place, NULL, two, 2, NULL, why), FIT_OK);
	node.unschedulable = true;
	assert_int_equal(fits_now(&pod, &place, NULL, two, 2, NULL, why), MISFIT_UNSCHEDULABLE);
}

/* ---- all places ---- */

static void test_all_places_are_counted_excluded_and_explained(void **state)
{
	struct knode nodes[12];
	struct place places[12];
	char names[12][8];
	struct pod pod = pod_of("p");
	_cleanup_feasible_ struct feasible f = { 0 };

	(void)state;
	for (size_t i = 0; i < 12; i++) {
		nodes[i] = (struct knode)NODE("n");
		snprintf(names[i], sizeof(names[i]), "s%zu", i + 1);
		places[i] = (struct place) { names[i], &nodes[i], "n" };
	}
	feasible_make(&pod, places, 12, NULL, NULL, &f);
	assert_string_equal(f.summary, "all 12 nodes are feasible");
	assert_null(f.excluded);
	assert_int_equal(f.n_fit, 12);
	for (size_t i = 0; i < 6; i++) {
		nodes[i].taints = i == 5 ? &web : &ml;
		nodes[i].n_taints = 1;
	}
	nodes[6].meta.n_labels = nodes[7].meta.n_labels = 0;
	nodes[8].allocatable = small;
	nodes[9].unschedulable = true;
	places[11].node = NULL;
	feasible_done(&f);
	feasible_make(&pod, places, 12, NULL, NULL, &f);
	assert_string_equal(f.excluded, "s[1-10,12]");
	assert_string_equal(f.summary,
	                    "1 of 12 nodes is feasible: 1 has no Kubernetes Node, 2 do not match the node selector "
	                    "(disktype=ssd), 1 is too small (cpu: asks for 8, the largest has 4), 6 have an "
	                    "untolerated taint (dedicated=ml:NoSchedule on 5, dedicated=web:NoSchedule on 1), 1 is "
	                    "cordoned");
	assert_int_equal(f.n_places, 12);
	assert_int_equal(f.n_fit, 1);
	assert_int_equal(f.by[FIT_OK], 1);
	assert_int_equal(f.by[MISFIT_TAINT], 6);
	feasible_done(&f);
	feasible_make(&pod, places, 6, NULL, NULL, &f);
	assert_string_equal(f.summary, "none of 6 nodes is feasible: 6 have an untolerated taint "
	                               "(dedicated=ml:NoSchedule on 5, dedicated=web:NoSchedule on 1)");
	feasible_done(&f);
	feasible_make(&pod, places, 0, NULL, NULL, &f);
	assert_string_equal(f.summary, "there are no nodes");
	assert_null(f.excluded);
}

static void test_places_in_any_order_give_the_same_list(void **state)
{
	static const char *const names[] = { "n10", "n2", "login", "n1", "n2", "n9" };
	struct place places[ARRAY_LEN(names)];
	struct pod pod = pod_of("p");
	_cleanup_feasible_ struct feasible f = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		places[i] = (struct place) { names[i], NULL, "n" };
	feasible_make(&pod, places, ARRAY_LEN(names), NULL, NULL, &f);
	assert_string_equal(f.excluded, "login,n[1-2,9-10]");
}

static void test_a_summary_is_bounded_whatever_the_nodes_say(void **state)
{
	enum { N = 500 };
	struct taint taints[N];
	struct knode nodes[N];
	struct place places[N];
	char keys[N][300];
	struct pod pod = pod_of("p");
	_cleanup_feasible_ struct feasible f = { 0 };

	(void)state;
	for (size_t i = 0; i < N; i++) {
		memset(keys[i], i % 2 ? '\n' : 'k', sizeof(keys[i]));
		snprintf(keys[i] + 4, 296, "%zu%0200d", i, 0);
		taints[i] = (struct taint) { keys[i], keys[i], EFFECT_NO_SCHEDULE };
		nodes[i] = (struct knode)NODE("n");
		nodes[i].taints = &taints[i];
		nodes[i].n_taints = 1;
		places[i] = (struct place) { keys[i] + 4, &nodes[i], "n" };
	}
	feasible_make(&pod, places, N, NULL, NULL, &f);
	assert_true(strlen(f.summary) < 500);
	assert_null(strchr(f.summary, '\n'));
	assert_non_null(strstr(f.summary, ", …)"));
}

/* ---- sharing ---- */

static char *key_of(const struct pod *p, const struct pod_volumes *v)
{
	struct buf b = BUF(FEASIBLE_KEY_MAX);

	feasible_key(p, v, &b);
	assert_int_equal(b.error, 0);
	return buf_take(&b);
}

static void test_a_key_does_not_depend_on_who_the_pod_is(void **state)
{
	struct pod a = pod_of("a"), b = pod_of("b");
	struct container split[] = { { .requests = asks_8, .n_requests = 1 },
		                     { .requests = asks_8 + 1, .n_requests = 1 } };
	_cleanup_free_ char *ka = NULL, *kb = NULL, *kc = NULL;

	(void)state;
	b.meta.ns = "other";
	b.priority = 9;
	b.phase = POD_RUNNING;
	ka = key_of(&a, NULL);
	kb = key_of(&b, NULL);
	assert_string_equal(ka, kb);
	b.containers = split;
	b.n_containers = 2;
	kc = key_of(&b, NULL);
	assert_string_equal(ka, kc);
}

static void test_a_key_depends_on_the_nodes_that_a_pod_requires(void **state)
{
	struct pod a = pod_of("a"), b = pod_of("a");
	_cleanup_free_ char *ka = key_of(&a, NULL), *kb = NULL;

	(void)state;
	b.meta.annotations = &(struct pair) { ANNOTATION_REQUIRED_NODES, "s1" };
	b.meta.n_annotations = 1;
	kb = key_of(&b, NULL);
	assert_string_not_equal(ka, kb);
}

static void test_values_cannot_pretend_to_be_others(void **state)
{
	struct pair one[] = { { "a", "b1:c" } }, two[] = { { "a", "b" }, { "c", "" } };
	struct pod a = { .node_selector = one, .n_node_selector = 1 },
	           b = { .node_selector = two, .n_node_selector = 2 };
	struct pod none = { 0 }, empty = { .has_required = true };
	_cleanup_free_ char *ka = key_of(&a, NULL), *kb = key_of(&b, NULL), *kn = key_of(&none, NULL),
	                    *ke = key_of(&empty, NULL);

	(void)state;
	assert_string_not_equal(ka, kb);
	assert_string_not_equal(kn, ke);
}

/* Pods, claims and nodes drawn from a few values each, so that equal ones come up. */
struct world {
	struct knode nodes[24];
	struct place places[24];
	struct taint taints[24];
	struct pair labels[24];
	char names[24][8];
};

static void draw_world(struct world *w, struct rng *r)
{
	static const char *const values[] = { "a", "b", "7" };

	for (size_t i = 0; i < ARRAY_LEN(w->nodes); i++) {
		snprintf(w->names[i], sizeof(w->names[i]), "n%zu", i);
		w->labels[i] = (struct pair) { "zone", values[rng_below(r, 3)] };
		w->taints[i] = (struct taint) { "k", values[rng_below(r, 3)], (int)rng_below(r, 4) };
		w->nodes[i] = (struct knode) { .meta = { .name = w->names[i], .labels = &w->labels[i], .n_labels = 1 },
			                       .allocatable = rng_below(r, 2) ? whole : small,
			                       .n_allocatable = 3,
			                       .taints = &w->taints[i],
			                       .n_taints = (uint32_t)rng_below(r, 2) };
		w->places[i] = (struct place) { w->names[i], &w->nodes[i], w->names[i] };
	}
}

struct drawn {
	struct pod pod;
	struct pair selector;
	struct requirement needs;
	struct selector_term term;
	const char *values[1];
	struct toleration toleration;
	struct container container;
	struct amount asks;
	struct volume_claim claim;
	const struct pvc *claims[1];
	const struct pv *volumes[1];
	const struct storage_class *classes[1];
	struct pod_volumes v;
};

static struct requirement at_n3 = { "metadata.name", SEL_IN, (const char *[]) { "n3" }, 1 };
static struct selector_term only_n3 = { .fields = &at_n3, .n_fields = 1 };
static struct pair chose_n5 = { ANNOTATION_SELECTED_NODE, "n5" };
static const struct pvc pvcs[] = {
	{ .meta = { .uid = "c0", .resource_version = "1" }, .volume = "pv", .phase = PVC_BOUND },
	{ .meta = { .uid = "c0", .resource_version = "2" }, .phase = PVC_PENDING },
	{ .meta = { .uid = "c1", .resource_version = "2", .annotations = &chose_n5, .n_annotations = 1 },
	  .phase = PVC_PENDING },
};
static const struct pv pvs[] = {
	{ .meta = { .uid = "v0", .resource_version = "1" },
	  .has_required = true,
	  .required_nodes = &only_n3,
	  .n_required_nodes = 1 },
	{ .meta = { .uid = "v0", .resource_version = "2" } },
};
static const struct storage_class waiting = { .meta = { .uid = "s0", .resource_version = "1" },
	                                      .waits_for_consumer = true };

static void draw_pod(struct drawn *d, struct rng *r)
{
	static const char *const values[] = { "a", "b", "6" };
	static const int64_t cpus[] = { 1000, 8000 };
	uint32_t claim = (uint32_t)rng_below(r, ARRAY_LEN(pvcs) + 1);

	*d = (struct drawn) { .selector = { "zone", values[rng_below(r, 2)] }, .values = { values[rng_below(r, 3)] } };
	d->needs = (struct requirement) { "zone", (int)rng_below(r, 7), d->values, 1 };
	d->term = rng_below(r, 2) ? (struct selector_term) { .labels = &d->needs, .n_labels = 1 }
	                          : (struct selector_term) { .fields = &d->needs, .n_fields = 1 };
	d->toleration = (struct toleration) { rng_below(r, 2) ? "k" : NULL,
		                              values[rng_below(r, 2)],
		                              (int)rng_below(r, 2),
		                              (int)rng_below(r, 4),
		                              false,
		                              0 };
	d->asks = (struct amount) { "cpu", cpus[rng_below(r, 2)] };
	d->container = (struct container) { .requests = &d->asks, .n_requests = 1 };
	d->claim = (struct volume_claim) { "vol", "data" };
	d->claims[0] = claim < ARRAY_LEN(pvcs) ? &pvcs[claim] : NULL;
	d->volumes[0] = rng_below(r, 3) ? &pvs[rng_below(r, 2)] : NULL;
	d->classes[0] = rng_below(r, 2) ? &waiting : NULL;
	d->v = (struct pod_volumes) { .claims = d->claims, .volumes = d->volumes, .classes = d->classes, .n = 1 };
	d->pod = (struct pod) { .node_selector = &d->selector,
		                .n_node_selector = (uint32_t)rng_below(r, 2),
		                .has_required = rng_below(r, 2),
		                .required_nodes = &d->term,
		                .n_required_nodes = (uint32_t)rng_below(r, 2),
		                .tolerations = &d->toleration,
		                .n_tolerations = (uint32_t)rng_below(r, 2),
		                .containers = &d->container,
		                .n_containers = (uint32_t)rng_below(r, 2),
		                .volumes = &d->claim,
		                .n_volumes = (uint32_t)rng_below(r, 2) };
}

static void test_equal_keys_give_equal_results(void **state)
{
	enum { PODS = 1500 };
	struct drawn *pods = mem_alloc_n(PODS, sizeof(*pods));
	struct feasible *results = mem_alloc_n(PODS, sizeof(*results));
	char **keys = mem_alloc_n(PODS, sizeof(*keys));
	size_t shared = 0, differ = 0;
	struct world w;
	struct rng r;

	(void)state;
	r = rng_seeded(4711);
	draw_world(&w, &r);
	for (size_t i = 0; i < PODS; i++) {
		draw_pod(&pods[i], &r);
		keys[i] = key_of(&pods[i].pod, &pods[i].v);
		feasible_make(&pods[i].pod, w.places, ARRAY_LEN(w.places), &pods[i].v, NULL, &results[i]);
	}
	for (size_t i = 0; i < PODS; i++)
		for (size_t k = i + 1; k < PODS; k++) {
			differ += !str_eq(results[i].excluded, results[k].excluded);
			if (!str_eq(keys[i], keys[k]))
				continue;
			shared++;
			assert_string_equal(str_or(results[i].excluded, ""), str_or(results[k].excluded, ""));
			assert_string_equal(results[i].summary, results[k].summary);
			assert_memory_equal(results[i].by, results[k].by, sizeof(results[i].by));
		}
	assert_true(shared > 1000 && differ > 1000);
	for (size_t i = 0; i < PODS; i++) {
		feasible_done(&results[i]);
		free(keys[i]);
	}
	free(keys);
	free(results);
	free(pods);
}

static void test_a_key_that_is_too_long_says_so(void **state)
{
	struct pod pod = pod_of("p");
	_cleanup_buf_ struct buf b = BUF(16);

	(void)state;
	feasible_key(&pod, NULL, &b);
	assert_int_not_equal(b.error, 0);
}

TEST_MAIN(TEST(the_most_lasting_reason_is_told_in_a_clause), TEST(a_slurm_node_without_its_pod_says_so),
          TEST(a_toleration_of_the_cordon_makes_a_cordoned_node_fine), TEST(a_lock_taint_of_another_effect_counts),
          TEST(just_before_binding_what_is_there_counts), TEST(all_places_are_counted_excluded_and_explained),
          TEST(places_in_any_order_give_the_same_list), TEST(a_summary_is_bounded_whatever_the_nodes_say),
          TEST(a_key_does_not_depend_on_who_the_pod_is), TEST(a_key_depends_on_the_nodes_that_a_pod_requires),
          TEST(values_cannot_pretend_to_be_others), TEST(equal_keys_give_equal_results),
          TEST(a_key_that_is_too_long_says_so))
