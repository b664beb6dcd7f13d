/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * volumes.c over stores that a test fills: what we gave counts until the watch has caught up.
 */
#include "base/str.h"
#include "base/test.h"
#include "scheduler/inside.h"

struct world {
	struct scheduler s;
	struct store *kinds[KUBE_KINDS];
	struct kube_port port;
	struct volume_claim names[2];
	struct pod pod;
	struct pod_volumes v;
};

static struct world *the_world;

static struct store *port_watch(struct kube_port *p, enum kube_kind kind, const char *ns, const char *labels,
                                const char *fields)
{
	(void)p;
	(void)ns;
	(void)labels;
	(void)fields;
	return the_world->kinds[kind];
}

static const struct kube_port_ops ops = { .watch = port_watch };

static struct requirement here = { "kubernetes.io/hostname", SEL_IN, (const char *[]) { "k1" }, 1 };
static struct selector_term on_k1 = { .labels = &here, .n_labels = 1 };
static struct pair label = { "kubernetes.io/hostname", "k1" };
static const struct knode k1 = { .meta = { .name = "k1", .labels = &label, .n_labels = 1 } };

static void put_volume(struct world *w, const char *name, const char *version, const char *claim)
{
	struct pv *v = NEW(struct pv);

	*v = (struct pv) { .meta = { .name = name, .uid = name, .resource_version = version },
		           .storage_class = "local",
		           .phase = PV_AVAILABLE,
		           .required_nodes = &on_k1,
		           .n_required_nodes = 1,
		           .has_required = true,
		           .claim_ns = claim ? "ml" : NULL,
		           .claim_name = claim,
		           .claim_uid = claim };
	store_put(w->kinds[KUBE_VOLUMES], v, sizeof(*v));
}

static void put_claim(struct world *w, const char *name)
{
	struct pvc *c = NEW(struct pvc);

	*c = (struct pvc) { .meta = { .ns = "ml", .name = name, .uid = name, .resource_version = "1" },
		            .storage_class = "local",
		            .phase = PVC_PENDING };
	store_put(w->kinds[KUBE_CLAIMS], c, sizeof(*c));
}

static int setup(void **state)
{
	static const enum kube_kind kinds[] = { KUBE_PODS, KUBE_CLAIMS, KUBE_VOLUMES, KUBE_CLASSES };
	struct storage_class *class = NEW(struct storage_class);
	struct world *w = NEW(struct world);

	the_world = w;
	w->port.ops = &ops;
	w->s = (struct scheduler) { .o = { .kube = &w->port, .clock = clock_real() }, .given = MAP_INIT };
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		w->kinds[kinds[i]] = store_new(store_kind_of(kinds[i]));
		store_replace_begin(w->kinds[kinds[i]]);
		store_replace_end(w->kinds[kinds[i]]);
	}
	w->s.pods = w->kinds[KUBE_PODS];
	*class = (struct storage_class) { .meta = { .name = "local", .resource_version = "1" },
		                          .provisioner = NO_PROVISIONER,
		                          .waits_for_consumer = true };
	store_put(w->kinds[KUBE_CLASSES], class, sizeof(*class));
	put_claim(w, "a");
	put_claim(w, "b");
	w->names[0] = (struct volume_claim) { "v", "a" };
	w->names[1] = (struct volume_claim) { "w", "b" };
	w->pod = (struct pod) { .meta = { .ns = "ml", .name = "p" }, .volumes = w->names, .n_volumes = 1 };
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	volumes_done(&w->v);
	volumes_forget_given(&w->s);
	for (size_t i = 0; i < KUBE_KINDS; i++)
		store_free(w->kinds[i]);
	free(w);
	return 0;
}

/* What the Pod's claim gets now; "" = nothing, it waits. */
static const char *takes(struct world *w, const char *claim)
{
	const struct place place = { "n1", &k1, "k1" };
	const struct pv *v;
	char why[FIT_WHY_MAX];
	uint32_t n = 0;

	w->names[0].claim = claim;
	volumes_done(&w->v);
	assert_true(volumes_find(&w->s, &w->pod, &w->v));
	switch (volumes_before_bind(&w->pod, &w->v, &place, &n, why)) {
	case VOLUMES_TAKE: v = volumes_choice(&w->pod, &w->v, &k1, 0); return v->meta.name;
	case VOLUMES_WAIT: return "";
	case VOLUMES_ELSEWHERE: return "none";
	default: return "?";
	}
}

static void give(struct world *w, const char *volume)
{
	volumes_give(&w->s, store_get(w->kinds[KUBE_VOLUMES], NULL, volume), w->v.claims[0]);
}

static void answered(struct world *w, const char *volume, enum kube_outcome outcome, bool maybe, bool again)
{
	volumes_given(&w->s, volume, &(struct kube_result) { .outcome = outcome, .maybe_done = maybe, .message = "" },
	              again);
}

static void test_a_claim_gets_no_second_volume_while_the_watch_is_slow(void **state)
{
	struct world *w = *state;

	put_volume(w, "pv-2", "5", NULL);
	assert_string_equal(takes(w, "a"), "pv-2");
	give(w, "pv-2");
	answered(w, "pv-2", KUBE_OK, false, false);
	put_volume(w, "pv-1", "6", NULL); /* would be the first by name */
	assert_string_equal(takes(w, "a"), "");
	assert_string_equal(takes(w, "b"), "pv-1"); /* nor does the volume get a second claim */
	put_volume(w, "pv-2", "7", "a"); /* the watch shows it */
	assert_string_equal(takes(w, "a"), "");
	assert_false(volumes_is_given(&w->s, "pv-2"));
}

static void test_a_lost_answer_is_asked_for_again_with_the_same_volume(void **state)
{
	struct world *w = *state;

	put_volume(w, "pv-2", "5", NULL);
	takes(w, "a");
	give(w, "pv-2");
	answered(w, "pv-2", KUBE_RETRY, true, false);
	put_volume(w, "pv-1", "6", NULL);
	assert_string_equal(takes(w, "a"), "pv-2");
	give(w, "pv-2");
	answered(w, "pv-2", KUBE_CONFLICT, false, true); /* the first one came through, or somebody else's did */
	assert_string_equal(takes(w, "a"), "");
	put_volume(w, "pv-2", "8", "b");
	assert_string_equal(takes(w, "a"), "pv-1");
	assert_string_equal(takes(w, "b"), "");
}

static void test_a_volume_that_somebody_changed_is_left_until_the_watch_shows_how(void **state)
{
	struct world *w = *state;

	put_volume(w, "pv-1", "5", NULL);
	put_volume(w, "pv-2", "6", NULL);
	takes(w, "a");
	give(w, "pv-1");
	answered(w, "pv-1", KUBE_CONFLICT, false, false);
	assert_string_equal(takes(w, "a"), "pv-2");
	put_volume(w, "pv-1", "7", NULL);
	assert_string_equal(takes(w, "a"), "pv-1");
}

static void test_a_clear_no_leaves_the_volume_free(void **state)
{
	struct world *w = *state;
	uint64_t version;

	put_volume(w, "pv-1", "5", NULL);
	takes(w, "a");
	version = w->v.version;
	give(w, "pv-1");
	answered(w, "pv-1", KUBE_FORBIDDEN, false, false);
	assert_string_equal(takes(w, "b"), "pv-1");
	assert_true(w->v.version > version); /* what was worked out before does not count any more */
	give(w, "pv-1");
	assert_string_equal(takes(w, "a"), "none");
	volumes_forget_given(&w->s); /* another leader's lists are the truth */
	assert_string_equal(takes(w, "a"), "pv-1");
}

static void test_who_looked_before_everything_was_listed_is_looked_at_again(void **state)
{
	struct world *w = *state;
	struct pod *pod = NEW(struct pod);
	struct entry e = { .uid = "u" };

	*pod = w->pod;
	pod->meta.uid = "u";
	store_put(w->kinds[KUBE_PODS], pod, sizeof(*pod));
	w->s.by_uid = MAP_INIT;
	w->s.dirty = DIRTY_INIT;
	map_put(&w->s.by_uid, e.uid, &e);
	assert_true(volumes_find(&w->s, &w->pod, &w->v));
	assert_true(volumes_step(&w->s, 5) == USEC_NEVER); /* nobody waits */
	volumes_done(&w->v);
	store_doubt(w->kinds[KUBE_VOLUMES]);
	assert_false(volumes_find(&w->s, &w->pod, &w->v));
	assert_true(volumes_step(&w->s, 5) > 5);
	assert_true(dirty_next(&w->s.dirty) == USEC_NEVER);
	store_replace_begin(w->kinds[KUBE_VOLUMES]); /* there is none: no news */
	store_replace_end(w->kinds[KUBE_VOLUMES]);
	assert_true(volumes_step(&w->s, 6) == USEC_NEVER);
	assert_true(dirty_next(&w->s.dirty) == 0);
	dirty_done(&w->s.dirty);
	map_done(&w->s.by_uid);
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

TEST_MAIN(WORLD_TEST(a_claim_gets_no_second_volume_while_the_watch_is_slow),
          WORLD_TEST(a_lost_answer_is_asked_for_again_with_the_same_volume),
          WORLD_TEST(a_volume_that_somebody_changed_is_left_until_the_watch_shows_how),
          WORLD_TEST(a_clear_no_leaves_the_volume_free),
          WORLD_TEST(who_looked_before_everything_was_listed_is_looked_at_again))
