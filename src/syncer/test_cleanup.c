/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Slurm nodes that NodeSets give up, with the syncer's shell around the decision.
 */
#include "base/str.h"
#include "base/test.h"
#include "policy/cleanup.h"
#include "syncer/test_world.h"

#define A_WHILE (20 * USEC_SEC)

static struct world w;
static struct world_pod *pod;
static struct snode *node;

static void slices_listed(const char *one, const char *two)
{
	store_replace_begin(w.slices);
	world_slice(&w, "main-0", one, two);
	store_replace_end(w.slices);
}

static int setup(void **state)
{
	(void)state;
	world_open(&w);
	w.options.node_cleanup = true;
	world_restart(&w);
	pod = world_pod(&w, "n1");
	world_pod(&w, "n2");
	node = &w.node[0].n;
	node->flags = w.node[1].n.flags = NODEF_DYNAMIC;
	slices_listed("n1", "n2");
	world_run(&w, A_WHILE);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_true(w.node[1].there); /* what is listed never goes */
	world_close(&w);
	return 0;
}

static void test_a_name_that_leaves_the_slices_leaves_slurm_within_seconds(void **state)
{
	(void)state;
	world_remove(&w, pod);
	world_run(&w, A_WHILE);
	assert_int_equal(w.n_deleted, 0); /* a slice still has it */
	assert_string_equal(node->reason, "k8s: pod terminated");
	world_slice(&w, "main-0", "n2", NULL);
	world_run(&w, CLEANUP_SETTLES - 100 * USEC_MSEC);
	assert_int_equal(w.n_deleted, 0);
	world_run(&w, 3 * USEC_SEC);
	assert_int_equal(w.n_deleted, 1);
	assert_false(w.node[0].there);
}

static void test_a_pod_of_that_name_keeps_the_node(void **state)
{
	(void)state;
	world_slice(&w, "main-0", "n2", NULL);
	world_run(&w, A_WHILE);
	assert_int_equal(w.n_deleted, 0);
	world_remove(&w, pod);
	world_run(&w, USEC_SEC);
	pod = world_pod(&w, "n1"); /* it is back in time */
	world_run(&w, A_WHILE);
	assert_int_equal(w.n_deleted, 0);
}

static void test_a_pod_that_no_watch_shows_yet_keeps_the_node(void **state)
{
	(void)state;
	w.hidden_pod = "n1";
	world_remove(&w, pod);
	world_slice(&w, "main-0", "n2", NULL); /* by an operator that does not see it either */
	world_run(&w, A_WHILE);
	assert_int_equal(w.n_deleted, 0);
	w.hidden_pod = NULL;
	world_run(&w, A_WHILE);
	assert_int_equal(w.n_deleted, 1);
}

static void test_a_job_keeps_the_node_until_it_ends(void **state)
{
	(void)state;
	node->state = NODE_ALLOCATED;
	world_remove(&w, pod);
	world_slice(&w, "main-0", "n2", NULL);
	world_run(&w, A_WHILE);
	assert_int_equal(w.n_deleted, 0);
	node->state = NODE_IDLE;
	world_run(&w, A_WHILE);
	assert_int_equal(w.n_deleted, 1);
}

static void test_slices_that_are_not_listed_or_old_delete_nothing(void **state)
{
	(void)state;
	world_remove(&w, pod);
	store_replace_begin(w.slices); /* a list begins, and breaks off after its first page */
	world_slice(&w, "other-0", "n2", NULL);
	store_doubt(w.slices);
	world_run(&w, A_WHILE);
	assert_int_equal(w.n_deleted, 0);
	slices_listed("n2", NULL);
	store_alive(w.slices, w.mono - USEC_HOUR); /* and then nothing is heard */
	world_run(&w, A_WHILE);
	assert_int_equal(w.n_deleted, 0);
	store_alive(w.slices, w.mono);
	world_run(&w, A_WHILE);
	assert_int_equal(w.n_deleted, 1);
}

static void test_after_a_restart_only_what_remembers_its_nodeset_goes(void **state)
{
	struct snode *other = world_node(&w, "login1"), *foreign = world_node(&w, "n8"), *old = world_node(&w, "n9");

	(void)state;
	other->flags = foreign->flags = old->flags = NODEF_DYNAMIC;
	foreign->extra = "{\"k8s\":{\"namespace\":\"elsewhere\",\"pod\":\"n8\",\"nodeset\":\"main\"}}";
	old->extra = "{\"k8s\":{\"namespace\":\"slurm\",\"pod\":\"n9\"}}"; /* a Pod, but of no NodeSet */
	node->extra = "{\"rack\":7,\"k8s\":{\"namespace\":\"slurm\",\"pod\":\"n1\",\"nodeset\":\"main\"}}";
	world_remove(&w, pod);
	world_restart(&w);
	world_run(&w, A_WHILE);
	assert_int_equal(w.n_deleted, 0); /* no list yet */
	slices_listed("n2", NULL);
	world_run(&w, A_WHILE);
	assert_int_equal(w.n_deleted, 1);
	assert_false(w.node[0].there);
}

static void test_it_can_be_switched_off(void **state)
{
	(void)state;
	w.options.node_cleanup = false;
	world_restart(&w);
	slices_listed("n2", NULL);
	world_remove(&w, pod);
	world_run(&w, A_WHILE);
	assert_int_equal(w.n_deleted, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
TEST_MAIN(T(a_name_that_leaves_the_slices_leaves_slurm_within_seconds), T(a_pod_of_that_name_keeps_the_node),
          T(a_pod_that_no_watch_shows_yet_keeps_the_node), T(a_job_keeps_the_node_until_it_ends),
          T(slices_that_are_not_listed_or_old_delete_nothing), T(after_a_restart_only_what_remembers_its_nodeset_goes),
          T(it_can_be_switched_off))
