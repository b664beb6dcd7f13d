/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/nodeset_plan.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"

#define NODES 8
#define STEPS 32
#define NOW (100000 * USEC_SEC)

enum slurm { NOTHING_SAID, IDLE, RUNNING, DRAINED, DRAINING, DRAINED_BEFORE, DOWN, SILENT, ABSENT, FORGOTTEN };

/* A small world: Nodes k0 … with addresses 10.1.0.N, and one Pod each as far as `pods` goes. */
struct world {
	struct nodeset set;
	char names[NODES][16], ips[NODES][16], pod_names[NODES][64];
	struct address addresses[NODES];
	struct pair node_labels[NODES][1];
	struct knode nodes[NODES];
	struct nodeset_node view_nodes[NODES];
	struct condition conditions[NODES][4];
	struct pair labels[NODES][2], annotations[NODES][4];
	struct owner owners[NODES];
	struct pod pods[NODES];
	const struct pod *view_pods[NODES];
	struct nodeset_view v;
	struct nodeset_step steps[STEPS];
	struct nodeset_outlook o;
	char revision[REVISION_MAX];
};

static struct pair wants_gpu = { "gpu", "yes" };

static void say(struct world *w, size_t i, enum slurm slurm, bool ready)
{
	struct condition *c = w->conditions[i];
	int running = slurm == RUNNING || slurm == DRAINING ? COND_TRUE : slurm >= ABSENT ? COND_UNKNOWN : COND_FALSE;
	static const char *const reasons[] = { [DRAINED] = "DrainedForDeletion",
		                               [DRAINED_BEFORE] = "Drained",
		                               [DOWN] = "DownForDeletion",
		                               [ABSENT] = "NoSlurmNodeForDeletion",
		                               [FORGOTTEN] = "NoSlurmNode" };

	c[0] = (struct condition) { .type = "Ready", .status = ready ? COND_TRUE : COND_FALSE, .changed = NOW };
	c[1] = (struct condition) { .type = CONDITION_RUNNING,
		                    .status = running,
		                    .reason = slurm >= ABSENT ? "NoSlurmNode" : "x" };
	c[2] = (struct condition) { .type = CONDITION_DRAIN,
		                    .status = slurm >= ABSENT ? COND_UNKNOWN
		                              : slurm == DRAINED || slurm == DRAINING || slurm == DRAINED_BEFORE
		                                      ? COND_TRUE
		                                      : COND_FALSE,
		                    .reason = str_or(reasons[slurm], "x") };
	c[3] = (struct condition) { .type = CONDITION_NOT_RESPONDING,
		                    .status = slurm == SILENT ? COND_TRUE : COND_FALSE };
	w->pods[i].conditions = c;
	w->pods[i].n_conditions = slurm == NOTHING_SAID ? 1 : 4;
}

static void mark(struct world *w, size_t i)
{
	w->annotations[i][0] = (struct pair) { ANNOTATION_PENDING_DELETION, "x" };
	w->pods[i].meta.annotations = w->annotations[i];
	w->pods[i].meta.n_annotations = 1;
}

static struct world *world(size_t n_nodes, size_t n_pods)
{
	struct world *w = NEW(struct world);

	w->set.meta = (struct meta) { .ns = "slurm", .name = "main", .uid = "u-set", .generation = 3 };
	w->set.template_json = "{\"spec\":{}}";
	w->set.select.node_selector = &wants_gpu;
	w->set.select.n_node_selector = 1;
	nodeset_revision(&w->set, w->revision);
	for (size_t i = 0; i < n_nodes; i++) {
		snprintf(w->names[i], sizeof(w->names[i]), "k%zu", i);
		snprintf(w->ips[i], sizeof(w->ips[i]), "10.1.0.%zu", i);
		w->addresses[i] = (struct address) { "InternalIP", w->ips[i] };
		w->node_labels[i][0] = wants_gpu;
		w->nodes[i] =
		        (struct knode) { .meta = { .name = w->names[i], .labels = w->node_labels[i], .n_labels = 1 },
			                 .addresses = &w->addresses[i],
			                 .n_addresses = 1 };
		w->view_nodes[i].node = &w->nodes[i];
	}
	for (size_t i = 0; i < n_pods; i++) {
		nodeset_pod_name(&w->set, &w->nodes[i], false, w->pod_names[i]);
		w->labels[i][0] = (struct pair) { LABEL_NODESET, "main" };
		w->labels[i][1] = (struct pair) { LABEL_REVISION, w->revision };
		w->owners[i] = (struct owner) { "NodeSet", "main", "u-set", true };
		w->pods[i] = (struct pod) { .meta = { .ns = "slurm",
			                              .name = w->pod_names[i],
			                              .created = (usec_t)(1000 + i) * USEC_SEC,
			                              .labels = w->labels[i],
			                              .n_labels = 2,
			                              .owners = &w->owners[i],
			                              .n_owners = 1 },
			                    .node_name = w->names[i],
			                    .phase = POD_RUNNING };
		say(w, i, IDLE, true);
		w->view_pods[i] = &w->pods[i];
	}
	w->v = (struct nodeset_view) { .set = &w->set,
		                       .nodes = w->view_nodes,
		                       .n_nodes = n_nodes,
		                       .pods = w->view_pods,
		                       .n_pods = n_pods,
		                       .now = NOW };
	return w;
}

static void replicas(struct world *w, int32_t n)
{
	w->set.replicas = n;
	w->set.has_replicas = true;
}

/* All steps in words: "create k1 main-000-001; mark main-000-000". */
static const char *plan(struct world *w)
{
	static const char *const acts[] = { "create", "adopt", "mark", "unmark", "delete" };
	static char text[2048];
	size_t n = nodeset_plan(&w->v, w->steps, STEPS, &w->o), at = 0;

	text[0] = 0;
	for (size_t i = 0; i < n; i++) {
		const struct nodeset_step *s = &w->steps[i];

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s %s", i ? "; " : "", acts[s->act],
		                       s->act == NODESET_CREATE ? s->name : s->pod->meta.name);
	}
	return text;
}

static void test_every_node_that_fits_gets_one_pod_named_after_its_address(void **state)
{
	_cleanup_free_ struct world *w = world(4, 1);
	struct taint taint = { .key = "dedicated", .effect = EFFECT_NO_SCHEDULE };
	struct toleration any = { .op = TOLERATE_EXISTS };

	(void)state;
	w->nodes[2].meta.n_labels = 0; /* does not match */
	assert_string_equal(plan(w), "create main-000-001; create main-000-003");
	assert_int_equal(w->o.status.feasible, 3);
	assert_int_equal(w->o.status.desired, 3);
	w->nodes[1].taints = &taint;
	w->nodes[1].n_taints = 1;
	assert_string_equal(plan(w), "create main-000-003");
	w->set.select.tolerations = &any;
	w->set.select.n_tolerations = 1;
	assert_string_equal(plan(w), "create main-000-001; create main-000-003");
	w->set.name_prefix = "gpu";
	assert_string_equal(plan(w), "create gpu-000-001; create gpu-000-003");
}

static void test_a_lock_keeps_no_pod_away_and_a_cordon_only_new_ones(void **state)
{
	_cleanup_free_ struct world *w = world(2, 1);
	struct taint lock = { .key = TAINT_LOCK, .value = "true", .effect = EFFECT_NO_EXECUTE };

	(void)state;
	w->nodes[1].taints = &lock;
	w->nodes[1].n_taints = 1;
	assert_string_equal(plan(w), "create main-000-001");
	w->nodes[0].unschedulable = w->nodes[1].unschedulable = true;
	assert_string_equal(plan(w), "");
	assert_int_equal(w->o.n_cordoned, 1);
	assert_int_equal(w->o.status.feasible, 1);
}

static void test_a_node_that_another_nodeset_has_is_left_to_it(void **state)
{
	_cleanup_free_ struct world *w = world(2, 0);

	(void)state;
	w->view_nodes[0].taken = true;
	assert_string_equal(plan(w), "create main-000-001");
	assert_int_equal(w->o.status.feasible, 1);
}

static void test_a_node_too_small_for_the_template_does_not_fit(void **state)
{
	_cleanup_free_ struct world *w = world(2, 0);
	struct amount asks = { "cpu", 8000 }, small = { "cpu", 4000 }, large = { "cpu", 64000 };
	struct container c = { .requests = &asks, .n_requests = 1 };

	(void)state;
	w->set.shape.containers = &c;
	w->set.shape.n_containers = 1;
	w->nodes[0].allocatable = &small;
	w->nodes[1].allocatable = &large;
	w->nodes[0].n_allocatable = w->nodes[1].n_allocatable = 1;
	assert_string_equal(plan(w), "create main-000-001");
}

static void test_names(void **state)
{
	struct address v4 = { "InternalIP", "10.174.12.2" }, v6 = { "InternalIP", "fd00::2" };
	struct knode node = { .meta = { .name = "Rack-7.example" }, .addresses = &v4, .n_addresses = 1 };
	struct nodeset set = { .name_prefix = "gpu" };
	struct pair label = { "site/name", "Node_07" };
	char name[NODESET_POD_NAME_MAX], longer[200];

	(void)state;
	nodeset_pod_name(&set, &node, false, name);
	assert_string_equal(name, "gpu-012-002");
	nodeset_pod_name(&set, &node, true, name);
	assert_int_equal(strlen(name), strlen("gpu-012-002-abcd"));
	node.addresses = &v6;
	nodeset_pod_name(&set, &node, false, name);
	assert_string_equal(name, "gpu-rack-7-example");
	memset(longer, 'n', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	node.meta.name = longer;
	nodeset_pod_name(&set, &node, false, name);
	assert_int_equal(strlen(name), strlen("gpu-") + 16);
	set.name_label = "site/name"; /* the Node has no such label */
	nodeset_pod_name(&set, &node, false, name);
	assert_int_equal(strlen(name), strlen("gpu-") + 16);
	node.meta.labels = &label;
	node.meta.n_labels = 1;
	nodeset_pod_name(&set, &node, false, name);
	assert_string_equal(name, "node-07");
	nodeset_pod_name(&set, &node, true, name);
	assert_int_equal(strlen(name), strlen("node-07-abcd"));
	longer[63] = 0; /* as long as a label may be */
	label.value = longer;
	nodeset_pod_name(&set, &node, true, name);
	assert_int_equal(strlen(name), NODESET_POD_NAME_MAX - 1);
}

static bool all_names(void *arg, const char *name)
{
	(void)arg;
	(void)name;
	return true;
}

static void test_a_name_clash_gives_another_name_or_is_said(void **state)
{
	_cleanup_free_ struct world *w = world(2, 0);
	char other[NODESET_POD_NAME_MAX], message[NODESET_MESSAGE_MAX];
	const char *reason;

	(void)state;
	w->addresses[1].address = "10.2.0.0"; /* ends as k0's does */
	assert_string_equal(plan(w), str_starts(plan(w), "create main-000-000; create main-000-000-") ? plan(w) : "");
	nodeset_pod_name(&w->set, &w->nodes[1], true, other);
	assert_string_equal(w->steps[1].name, other);
	w->v.name_taken = all_names;
	assert_string_equal(plan(w), "");
	assert_int_equal(w->o.n_nameless, 2);
	assert_false(nodeset_ready(&w->set, &w->o, &reason, message));
	assert_string_equal(reason, "NameClash");
}

static void test_scaling_down_gives_up_the_unready_then_the_idle_then_the_draining_then_the_running(void **state)
{
	_cleanup_free_ struct world *w = world(6, 6);
	static const char *const order[] = { "main-000-001", "main-000-004", "main-000-003",
		                             "main-000-002", "main-000-000", "main-000-005" };

	(void)state;
	say(w, 0, RUNNING, true);
	say(w, 1, IDLE, false);
	say(w, 2, DRAINING, true);
	say(w, 3, IDLE, true);
	say(w, 4, IDLE, true); /* newer than 3 */
	say(w, 5, RUNNING, true);
	w->pods[5].meta.created = 1; /* the oldest */
	for (int n = 1; n <= 6; n++) {
		replicas(w, 6 - n);
		plan(w);
		for (int i = 0; i < n; i++) {
			assert_int_equal(w->steps[i].act, NODESET_MARK);
			assert_string_equal(w->steps[i].pod->meta.name, order[i]);
		}
	}
}

static void test_a_pod_is_deleted_only_when_nothing_runs_or_can_start_there(void **state)
{
	static const struct {
		enum slurm slurm;
		bool marked, force;
		const char *step;
		size_t n_busy, n_unsure;
		bool asked;
	} rows[] = {
		{ IDLE, false, false, "mark main-000-000", 0, 0 },
		{ DRAINED, false, false, "mark main-000-000", 0, 0 },
		{ IDLE, true, false, "", 1, 0 }, /* not drained yet: a job may come */
		{ RUNNING, true, false, "", 1, 0 },
		{ DRAINING, true, false, "", 1, 0 },
		{ DRAINED, true, false, "delete main-000-000", 0, 0 },
		{ DRAINED_BEFORE, true, false, "", 1, 0 }, /* as Slurm was before the mark: lifted since, perhaps */
		{ DOWN, true, false, "delete main-000-000", 0, 0 },
		{ SILENT, true, false, "", 1, 0 }, /* not drained */
		{ ABSENT, true, false, "delete main-000-000", 0, 0 },
		{ FORGOTTEN, true, false, "", 1, 0 }, /* before the mark: it may have come since */
		{ NOTHING_SAID, true, false, "", 0, 1 },
		{ RUNNING, true, true, "delete main-000-000", 0, 0 },
		{ NOTHING_SAID, true, true, "delete main-000-000", 0, 0 },
		/* a prolog has asked for the lock: a node that was down is back, or one that was drained is not, and a job is there */
		{ DRAINED, true, false, "", 1, 0, .asked = true },
		{ DOWN, true, false, "", 1, 0, .asked = true },
		{ ABSENT, true, false, "", 1, 0, .asked = true },
		{ NOTHING_SAID, true, false, "", 1, 0, .asked = true },
		{ DOWN, true, true, "delete main-000-000", 0, 0, .asked = true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_free_ struct world *w = world(1, 1);

		replicas(w, 0);
		say(w, 0, rows[i].slurm, true);
		if (rows[i].marked)
			mark(w, 0);
		if (rows[i].asked)
			w->annotations[0][w->pods[0].meta.n_annotations++] =
			        (struct pair) { ANNOTATION_LOCK_REQUEST, "normal" };
		if (rows[i].force)
			w->annotations[0][w->pods[0].meta.n_annotations++] =
			        (struct pair) { ANNOTATION_FORCE_DELETE, "" };
		assert_string_equal(plan(w), rows[i].step);
		assert_int_equal(*rows[i].step == 'd' && w->steps[0].forced, rows[i].force);
		assert_int_equal(w->o.n_busy, rows[i].n_busy);
		assert_int_equal(w->o.n_unsure, rows[i].n_unsure);
	}
}

static void test_a_pod_whose_node_slurm_lost_is_replaced_and_no_more_at_a_time_than_by_an_update(void **state)
{
	_cleanup_free_ struct world *w = world(3, 3);

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		say(w, i, FORGOTTEN, true);
		w->conditions[i][1].changed = NOW - NODESET_UNKNOWN_MAX; /* it may still register */
	}
	assert_string_equal(plan(w), "");
	for (size_t i = 0; i < 3; i++)
		w->conditions[i][1].changed--;
	assert_string_equal(plan(w), "mark main-000-002");
	assert_string_equal(w->steps[0].why, "Slurm does not have its node");
	mark(w, 2);
	assert_string_equal(plan(w), "");
	say(w, 2, ABSENT, true); /* asked again, Slurm says the same */
	w->conditions[2][1].changed = w->conditions[1][1].changed;
	assert_string_equal(plan(w), "delete main-000-002");
	assert_true(w->steps[0].replaced);
	say(w, 2, IDLE, true); /* it is there after all */
	say(w, 1, IDLE, true);
	say(w, 0, IDLE, true);
	assert_string_equal(plan(w), "unmark main-000-002");
	say(w, 0, NOTHING_SAID, true); /* no syncer is there: nobody knows */
	assert_string_equal(plan(w), "unmark main-000-002");
}

static void test_a_drain_that_goes_with_its_node_is_known(void **state)
{
	_cleanup_free_ struct world *w = world(1, 1);

	(void)state;
	assert_null(nodeset_foreign_drain(&w->pods[0]));
	say(w, 0, DRAINED, true);
	w->conditions[0][2].message = "k8s: pod pending deletion";
	assert_null(nodeset_foreign_drain(&w->pods[0]));
	w->conditions[0][2].message = "bad gpu";
	assert_string_equal(nodeset_foreign_drain(&w->pods[0]), "bad gpu");
	w->conditions[0][2].message = NULL;
	assert_string_equal(nodeset_foreign_drain(&w->pods[0]), "");
	replicas(w, 0);
	mark(w, 0);
	assert_string_equal(plan(w), "delete main-000-000");
	assert_false(w->steps[0].replaced);
	replicas(w, 1);
	w->set.template_json = "{\"spec\":{\"new\":1}}";
	assert_string_equal(plan(w), "delete main-000-000");
	assert_true(w->steps[0].replaced);
}

static void test_forcing_alone_deletes_nothing(void **state)
{
	_cleanup_free_ struct world *w = world(1, 1);

	(void)state;
	w->annotations[0][0] = (struct pair) { ANNOTATION_FORCE_DELETE, "" };
	w->pods[0].meta.annotations = w->annotations[0];
	w->pods[0].meta.n_annotations = 1;
	assert_string_equal(plan(w), "");
}

static void test_a_pod_that_never_ran_goes_at_once(void **state)
{
	_cleanup_free_ struct world *w = world(1, 1);
	const char *value = "k0";
	struct requirement pin = { .key = "metadata.name", .op = SEL_IN, .values = &value, .n_values = 1 };
	struct selector_term term = { .fields = &pin, .n_fields = 1 };

	(void)state;
	w->pods[0].node_name = NULL;
	w->pods[0].phase = POD_PENDING;
	w->pods[0].required_nodes = &term;
	w->pods[0].n_required_nodes = 1;
	say(w, 0, NOTHING_SAID, false);
	assert_string_equal(plan(w), ""); /* it is k0's, though not bound yet: no second one */
	replicas(w, 0);
	assert_string_equal(plan(w), "delete main-000-000");
}

static void test_growing_again_keeps_those_that_were_about_to_go(void **state)
{
	_cleanup_free_ struct world *w = world(3, 3);

	(void)state;
	mark(w, 1);
	say(w, 1, DRAINED, true);
	replicas(w, 2);
	assert_string_equal(plan(w), "delete main-000-001");
	replicas(w, 3);
	assert_string_equal(plan(w), "unmark main-000-001");
}

static void test_an_idle_pod_goes_in_the_place_of_one_that_still_runs_a_job(void **state)
{
	_cleanup_free_ struct world *w = world(2, 2);

	(void)state;
	replicas(w, 1);
	mark(w, 0);
	say(w, 0, DRAINING, true);
	assert_string_equal(plan(w), "mark main-000-001; unmark main-000-000");
	say(w, 1, RUNNING, true);
	assert_string_equal(plan(w), "");
	assert_int_equal(w->o.n_busy, 1);
}

static void test_a_pod_whose_node_no_longer_matches_is_drained_first(void **state)
{
	_cleanup_free_ struct world *w = world(2, 2);

	(void)state;
	w->nodes[0].meta.n_labels = 0;
	say(w, 0, RUNNING, true);
	assert_string_equal(plan(w), "mark main-000-000");
	assert_int_equal(w->o.status.misscheduled, 1);
	mark(w, 0);
	assert_string_equal(plan(w), "");
	w->v.n_nodes = 0; /* Nodes are gone: the jobs' word counts all the same */
	assert_string_equal(plan(w), "mark main-000-001");
}

static void test_an_update_goes_on_in_steps_of_max_unavailable(void **state)
{
	_cleanup_free_ struct world *w = world(4, 4);

	(void)state;
	w->set.template_json = "{\"spec\":{\"new\":1}}";
	say(w, 3, RUNNING, true);
	assert_string_equal(plan(w), "mark main-000-002"); /* the newest idle one */
	mark(w, 2);
	assert_string_equal(plan(w), ""); /* one is away */
	say(w, 2, DRAINED, true);
	assert_string_equal(plan(w), "delete main-000-002");
	w->v.n_pods = 2; /* it and the running one are gone: two are missing and come first */
	assert_string_equal(plan(w), "create main-000-002; create main-000-003");
	w->v.n_pods = 4;
	w->pods[2].meta.n_annotations = 0;
	w->set.max_unavailable = "\"75%\"";
	assert_string_equal(plan(w), "mark main-000-002; mark main-000-001; mark main-000-000");
	w->set.has_update = true;
	w->set.update = UPDATE_ON_DELETE;
	assert_string_equal(plan(w), "");
}

static void test_those_that_are_not_ready_are_updated_beyond_the_limit(void **state)
{
	_cleanup_free_ struct world *w = world(4, 4);

	(void)state;
	w->set.template_json = "{\"spec\":{\"new\":1}}";
	say(w, 0, IDLE, false);
	say(w, 1, IDLE, false);
	assert_string_equal(plan(w), "mark main-000-001; mark main-000-000");
}

static void test_how_many_may_be_away(void **state)
{
	static const struct {
		const char *text;
		int32_t desired, may;
	} rows[] = { { NULL, 10, 1 },     { "0", 10, 1 },          { "3", 10, 3 },     { "\"25%\"", 10, 3 },
		     { "\"0%\"", 10, 1 }, { "\"100%\"", 7, 7 },    { "\"x\"", 10, 1 }, { "99999999999", 10, 1 },
		     { "-1", 10, 1 },     { "\"10%\"", 1000, 100 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(nodeset_max_unavailable(rows[i].text, rows[i].desired), rows[i].may);
}

static void test_orphans_are_adopted_and_those_of_others_left_alone(void **state)
{
	_cleanup_free_ struct world *w = world(2, 2);

	(void)state;
	w->pods[0].meta.n_owners = 0;
	w->owners[1].uid = "u-other";
	assert_string_equal(plan(w), "adopt main-000-000; create main-000-001-24c1");
	w->set.meta.deletion = NOW; /* perhaps with --cascade=orphan: whom nobody owns is left */
	assert_string_equal(plan(w), "");
}

static void test_an_update_of_an_unknown_kind_waits_for_a_newer_operator(void **state)
{
	_cleanup_free_ struct world *w = world(2, 2);
	char message[NODESET_MESSAGE_MAX];
	const char *reason;

	(void)state;
	w->set.has_update = true;
	assert_string_equal(plan(w), "");
	assert_true(nodeset_ready(&w->set, &w->o, &reason, message)); /* nothing is to be updated */
	w->set.template_json = "{\"spec\":{\"new\":1}}";
	assert_string_equal(plan(w), "");
	assert_false(nodeset_ready(&w->set, &w->o, &reason, message));
	assert_string_equal(reason, "UnknownUpdateStrategy");
}

static void test_what_only_a_later_version_knows_takes_no_pod_away(void **state)
{
	_cleanup_free_ struct world *w = world(4, 3);
	char message[NODESET_MESSAGE_MAX];
	const char *reason;

	(void)state;
	replicas(w, 1);
	w->nodes[0].meta.n_labels = 0; /* no longer matches */
	w->set.template_json = "{\"spec\":{\"new\":1}}";
	str_copy(w->set.strange, sizeof(w->set.strange), "spec.paused");
	mark(w, 2); /* by an operator that knew, or did not look */
	assert_string_equal(plan(w), "unmark main-000-002");
	assert_false(nodeset_ready(&w->set, &w->o, &reason, message));
	assert_string_equal(reason, "LaterVersion");
	assert_true(strstr(message, "spec.paused: this operator does not know that") &&
	            strstr(message, "upgrade the operator"));
	replicas(w, 4); /* none is missing because of it */
	w->pods[2].meta.n_annotations = 0;
	assert_string_equal(plan(w), "create main-000-003");
	w->set.meta.deletion = NOW; /* a person's word counts */
	say(w, 0, RUNNING, true);
	assert_string_equal(plan(w), "mark main-000-002; mark main-000-001; mark main-000-000");
}

static void test_a_set_that_cannot_be_read_keeps_what_it_has_and_makes_nothing(void **state)
{
	_cleanup_free_ struct world *w = world(4, 2);
	char message[NODESET_MESSAGE_MAX];
	const char *reason;

	(void)state;
	w->set.template_json = NULL;
	w->set.select = (struct pod) { 0 };
	w->set.unreadable = true;
	str_copy(w->set.strange, sizeof(w->set.strange), "spec.replicas: expected an integer, got an object");
	assert_string_equal(plan(w), "");
	assert_int_equal(w->o.status.desired, 2);
	assert_int_equal(w->o.status.current, 2);
	assert_false(nodeset_ready(&w->set, &w->o, &reason, message));
	assert_string_equal(reason, "LaterVersion");
	assert_true(strstr(message, "No Pod is made, taken away or updated"));
}

static void test_pods_of_an_operator_that_names_revisions_otherwise_are_not_updated(void **state)
{
	_cleanup_free_ struct world *w = world(3, 3);
	char message[NODESET_MESSAGE_MAX];
	const char *reason;

	(void)state;
	w->labels[0][1].value = "v2-0123456789abcdef";
	w->labels[1][1].value = "0123456789ABCDEF";
	assert_string_equal(plan(w), "");
	assert_int_equal(w->o.status.updated, 1);
	assert_false(nodeset_ready(&w->set, &w->o, &reason, message));
	assert_string_equal(reason, "LaterVersion");
	assert_true(str_starts(message, "2 Pods were made by another version of the operator"));
	w->labels[1][1].value = "0123456789abcdef"; /* ours, and old */
	assert_string_equal(plan(w), "mark main-000-001");
}

static void test_a_node_that_is_gone_is_told_as_long_as_a_job_may_run_there(void **state)
{
	_cleanup_free_ struct world *w = world(3, 3);
	char message[NODESET_MESSAGE_MAX];
	const char *reason;

	(void)state;
	w->v.n_nodes = 2; /* that of the last is gone */
	say(w, 2, RUNNING, true);
	assert_string_equal(plan(w), "mark main-000-002");
	assert_false(nodeset_ready(&w->set, &w->o, &reason, message));
	assert_string_equal(reason, "NodeGone");
	assert_true(str_starts(message, "Node k2 is gone while Slurm node main-000-002 may run a job: "));
	mark(w, 2);
	say(w, 2, DRAINING, true);
	assert_string_equal(plan(w), "");
	assert_int_equal(w->o.n_lost, 1);
	say(w, 2, NOTHING_SAID, true); /* not knowing is not idle */
	plan(w);
	assert_int_equal(w->o.n_lost, 1);
	w->v.n_nodes = 3; /* it is back */
	say(w, 2, DRAINING, true);
	assert_string_equal(plan(w), "unmark main-000-002");
	assert_int_equal(w->o.n_lost, 0);
	w->v.n_nodes = 2;
	say(w, 2, DRAINED, true);
	assert_string_equal(plan(w), "delete main-000-002");
	assert_int_equal(w->o.n_lost, 0);
}

static void test_nodes_of_another_nodeset_are_told_from_nodes_that_do_not_fit(void **state)
{
	_cleanup_free_ struct world *w = world(2, 0);
	char message[NODESET_MESSAGE_MAX];
	const char *reason;

	(void)state;
	w->view_nodes[0].taken = w->view_nodes[1].taken = true;
	plan(w);
	assert_false(nodeset_ready(&w->set, &w->o, &reason, message));
	assert_string_equal(reason, "NodesTaken");
	w->nodes[0].meta.n_labels = w->nodes[1].meta.n_labels = 0;
	plan(w);
	assert_false(nodeset_ready(&w->set, &w->o, &reason, message));
	assert_string_equal(reason, "NoFeasibleNode");
}

static void test_a_set_that_is_deleted_drains_all_its_pods(void **state)
{
	_cleanup_free_ struct world *w = world(2, 2);

	(void)state;
	w->set.meta.deletion = NOW;
	say(w, 1, RUNNING, true);
	mark(w, 1);
	assert_string_equal(plan(w), "mark main-000-000");
	assert_int_equal(w->o.n_busy, 1);
	assert_int_equal(w->o.status.replicas, 2);
}

static void test_a_failed_pod_is_deleted_and_made_again_when_it_is_gone(void **state)
{
	_cleanup_free_ struct world *w = world(1, 1);

	(void)state;
	w->pods[0].phase = POD_FAILED;
	assert_string_equal(plan(w), "delete main-000-000");
	w->pods[0].meta.deletion = NOW;
	assert_string_equal(plan(w), "");
	w->v.n_pods = 0;
	assert_string_equal(plan(w), "create main-000-000");
}

static void test_others_stand_in_for_those_that_are_long_not_ready(void **state)
{
	_cleanup_free_ struct world *w = world(4, 2);

	(void)state;
	replicas(w, 2);
	w->set.over_provision = 1;
	say(w, 0, IDLE, false);
	say(w, 1, IDLE, false);
	assert_string_equal(plan(w), ""); /* just now */
	w->conditions[0][0].changed = w->conditions[1][0].changed = NOW - NODESET_STAND_IN - 1;
	assert_string_equal(plan(w), "create main-000-002");
	assert_int_equal(w->o.status.desired, 2);
}

static void test_what_is_missing_is_said(void **state)
{
	_cleanup_free_ struct world *w = world(2, 2);
	char message[NODESET_MESSAGE_MAX];
	const char *reason;

	(void)state;
	plan(w);
	assert_true(nodeset_ready(&w->set, &w->o, &reason, message));
	assert_int_equal(w->o.status.observed_generation, 3);
	assert_int_equal(w->o.status.updated, 2);
	replicas(w, 1000000);
	assert_string_equal(plan(w), "");
	assert_false(nodeset_ready(&w->set, &w->o, &reason, message));
	assert_string_equal(message, "1000000 Pods are wanted, but only 2 Nodes fit");
	replicas(w, 1);
	mark(w, 1);
	say(w, 1, NOTHING_SAID, true);
	plan(w);
	assert_false(nodeset_ready(&w->set, &w->o, &reason, message));
	assert_string_equal(reason, "SlurmUnknown");
	w->v.n_pods = 0;
	w->set.has_replicas = false;
	w->nodes[0].meta.n_labels = w->nodes[1].meta.n_labels = 0;
	plan(w);
	assert_false(nodeset_ready(&w->set, &w->o, &reason, message));
	assert_string_equal(reason, "NoFeasibleNode");
}

TEST_MAIN(TEST(every_node_that_fits_gets_one_pod_named_after_its_address),
          TEST(a_lock_keeps_no_pod_away_and_a_cordon_only_new_ones),
          TEST(a_node_that_another_nodeset_has_is_left_to_it), TEST(a_node_too_small_for_the_template_does_not_fit),
          TEST(names), TEST(a_name_clash_gives_another_name_or_is_said),
          TEST(scaling_down_gives_up_the_unready_then_the_idle_then_the_draining_then_the_running),
          TEST(a_pod_is_deleted_only_when_nothing_runs_or_can_start_there),
          TEST(a_pod_whose_node_slurm_lost_is_replaced_and_no_more_at_a_time_than_by_an_update),
          TEST(a_drain_that_goes_with_its_node_is_known), TEST(forcing_alone_deletes_nothing),
          TEST(a_pod_that_never_ran_goes_at_once), TEST(growing_again_keeps_those_that_were_about_to_go),
          TEST(an_idle_pod_goes_in_the_place_of_one_that_still_runs_a_job),
          TEST(a_pod_whose_node_no_longer_matches_is_drained_first),
          TEST(an_update_goes_on_in_steps_of_max_unavailable),
          TEST(those_that_are_not_ready_are_updated_beyond_the_limit), TEST(how_many_may_be_away),
          TEST(orphans_are_adopted_and_those_of_others_left_alone),
          TEST(an_update_of_an_unknown_kind_waits_for_a_newer_operator),
          TEST(what_only_a_later_version_knows_takes_no_pod_away),
          TEST(a_set_that_cannot_be_read_keeps_what_it_has_and_makes_nothing),
          TEST(pods_of_an_operator_that_names_revisions_otherwise_are_not_updated),
          TEST(a_node_that_is_gone_is_told_as_long_as_a_job_may_run_there),
          TEST(nodes_of_another_nodeset_are_told_from_nodes_that_do_not_fit),
          TEST(a_set_that_is_deleted_drains_all_its_pods), TEST(a_failed_pod_is_deleted_and_made_again_when_it_is_gone),
          TEST(others_stand_in_for_those_that_are_long_not_ready), TEST(what_is_missing_is_said))
