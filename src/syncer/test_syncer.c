/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "syncer/syncer.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/test.h"
#include "policy/lock.h"
#include "policy/nodeset.h"
#include "policy/undrain.h"
#include "syncer/inside.h"
#include "syncer/test_world.h"

#define A_WHILE (20 * USEC_SEC)

static struct world w;
static struct world_pod *pod;
static struct snode *node;

static int setup(void **state)
{
	(void)state;
	world_open(&w);
	pod = world_pod(&w, "n1");
	node = &w.node[0].n;
	world_run(&w, A_WHILE);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	world_close(&w);
	return 0;
}

static void assert_drained(const char *reason)
{
	world_run(&w, A_WHILE);
	assert_true(node->flags & NODEF_DRAIN);
	assert_string_equal(node->reason, reason);
}

static void assert_free(void)
{
	world_run(&w, A_WHILE);
	assert_false(node->flags & NODEF_DRAIN);
}

static void make_ready(bool ready)
{
	pod->ready = ready;
	pod->version = ++w.versions;
	world_show(&w, pod);
}

static const struct condition *pod_says(const char *type)
{
	return condition_get(pod->conditions, pod->n_conditions, type);
}

/* ---- drains ---- */

static void test_a_cordon_drains_and_its_end_undrains(void **state)
{
	(void)state;
	assert_free();
	world_note(&w, pod, ANNOTATION_CORDON, "disk");
	assert_drained("k8s: cordon: disk");
	assert_int_equal(pod_says(CONDITION_DRAIN)->status, COND_TRUE);
	assert_string_equal(pod_says(CONDITION_DRAIN)->message, "k8s: cordon: disk");
	world_note(&w, pod, ANNOTATION_CORDON, "fan");
	assert_drained("k8s: cordon: fan");
	make_ready(false);
	world_note(&w, pod, ANNOTATION_CORDON, NULL);
	assert_drained("k8s: pod not ready");
	make_ready(true);
	assert_free();
	assert_int_equal(pod_says(CONDITION_DRAIN)->status, COND_FALSE);
}

static void test_a_cordon_arrives_at_once(void **state)
{
	usec_t before = w.mono;

	(void)state;
	world_note(&w, pod, ANNOTATION_CORDON, "disk");
	world_run(&w, 10 * USEC_MSEC);
	assert_true(node->flags & NODEF_DRAIN && w.mono - before <= 20 * USEC_MSEC);
}

static void test_a_pod_that_goes_leaves_its_node_drained(void **state)
{
	(void)state;
	world_note(&w, pod, ANNOTATION_CORDON, "disk");
	assert_drained("k8s: cordon: disk");
	pod->deleting = true;
	world_note(&w, pod, ANNOTATION_PENDING_DELETION, "true");
	assert_drained("k8s: pod pending deletion");
	world_remove(&w, pod);
	assert_drained("k8s: pod terminated: cordon: disk");
	pod = world_pod(&w, "n1");
	assert_free();
}

static void test_a_restart_remembers_through_the_node_itself(void **state)
{
	(void)state;
	world_note(&w, pod, ANNOTATION_CORDON, "disk");
	assert_drained("k8s: cordon: disk");
	world_drain(&w, node, NULL);
	world_remove(&w, pod);
	world_restart(&w);
	assert_drained("k8s: pod terminated: cordon: disk");
}

static void test_nodes_outside_of_kubernetes_are_left_alone(void **state)
{
	struct snode *other = world_node(&w, "login1");
	unsigned before = w.n_slurm;

	(void)state;
	world_run(&w, A_WHILE);
	assert_int_equal(other->flags, 0);
	assert_int_equal(w.n_slurm, before);
}

static void test_a_persons_drain_survives_whatever_kubernetes_does(void **state)
{
	(void)state;
	world_drain(&w, node, "bad gpu");
	assert_drained("bad gpu");
	make_ready(false);
	assert_drained("bad gpu");
	make_ready(true);
	assert_drained("bad gpu");
	/* one over ours is theirs from then on */
	world_drain(&w, node, NULL);
	world_note(&w, pod, ANNOTATION_CORDON, "disk");
	assert_drained("k8s: cordon: disk");
	world_drain(&w, node, "mine now");
	world_note(&w, pod, ANNOTATION_CORDON, NULL);
	assert_drained("mine now");
	/* and when they lift it, nothing is left */
	world_drain(&w, node, NULL);
	assert_free();
}

static void drains_first(struct world *world)
{
	world->meanwhile = NULL;
	world_drain(world, node, "by hand, this very moment");
}

static void test_a_person_at_the_same_moment_wins(void **state)
{
	(void)state;
	w.meanwhile = drains_first;
	world_note(&w, pod, ANNOTATION_CORDON, "disk");
	assert_drained("by hand, this very moment");
	world_drain(&w, node, "k8s: cordon: disk");
	w.meanwhile = drains_first;
	world_note(&w, pod, ANNOTATION_CORDON, NULL);
	assert_drained("by hand, this very moment");
}

static void test_a_drain_removed_too_early_comes_back(void **state)
{
	(void)state;
	world_note(&w, pod, ANNOTATION_CORDON, "disk");
	assert_drained("k8s: cordon: disk");
	world_drain(&w, node, NULL);
	assert_drained("k8s: cordon: disk");
}

static void test_a_node_that_is_down_is_left_alone_until_it_is_up(void **state)
{
	(void)state;
	node->state = NODE_DOWN;
	make_ready(false);
	assert_free();
	node->state = NODE_IDLE;
	assert_drained("k8s: pod not ready");
	node->state = NODE_DOWN;
	make_ready(true);
	assert_drained("k8s: pod not ready");
	node->state = NODE_IDLE;
	assert_free();
}

static void test_verified_nodes_are_undrained(void **state)
{
	(void)state;
	world_drain(&w, node, PROLOG_FAILED_REASON);
	assert_drained(PROLOG_FAILED_REASON);
	pod->conditions[pod->n_conditions++] = (struct condition) { .type = CONDITION_VERIFIED,
		                                                    .status = COND_TRUE,
		                                                    .changed = node->reason_set + 5 * USEC_SEC };
	make_ready(true);
	assert_free();
}

static void test_while_slurm_is_away_nothing_is_lost(void **state)
{
	(void)state;
	w.slurm_away = true;
	world_run(&w, USEC_MINUTE);
	world_note(&w, pod, ANNOTATION_CORDON, "disk");
	world_run(&w, USEC_MINUTE);
	assert_int_equal(pod_says(CONDITION_DRAIN)->status, COND_FALSE);
	w.slurm_away = false;
	world_run(&w, USEC_MINUTE);
	assert_drained("k8s: cordon: disk");
}

static void test_pods_not_heard_of_for_long_drain_nothing(void **state)
{
	(void)state;
	store_alive(w.pods, w.mono);
	world_run(&w, 3 * USEC_MINUTE);
	world_remove(&w, pod);
	assert_free();
	store_alive(w.pods, w.mono);
	assert_drained("k8s: pod terminated");
}

/* ---- the Pod ---- */

static void test_a_new_pod_gets_everything_in_one_write(void **state)
{
	unsigned before = w.n_kube;

	(void)state;
	pod = world_pod(&w, "n2");
	world_run(&w, A_WHILE);
	assert_int_equal(w.n_kube, before + 1);
	assert_int_equal(pod_says(CONDITION_RUNNING)->status, COND_FALSE);
	assert_string_equal(world_value(pod->labels, pod->n_labels, LABEL_DRAIN), "false");
}

static void test_many_new_pods_do_not_crowd_out_what_is_urgent(void **state)
{
	char name[16];

	(void)state;
	for (int i = 2; i <= 60; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		world_pod(&w, name);
	}
	world_run(&w, A_WHILE);
	assert_between(w.kube_most, 16, 32);
	assert_between(w.words_most, 2, 4);
	for (int i = 0; i < 60; i++) {
		assert_string_equal(world_value(w.pod[i].labels, w.pod[i].n_labels, LABEL_DRAIN), "false");
		assert_non_null(w.node[i].n.extra);
	}
}

static void test_each_change_is_written_once(void **state)
{
	unsigned before = w.n_kube;

	(void)state;
	world_run(&w, 10 * USEC_MINUTE);
	assert_int_equal(w.n_kube, before);
	node->state = NODE_MIXED;
	world_run(&w, A_WHILE);
	assert_int_equal(w.n_kube, before + 1);
	assert_int_equal(pod_says(CONDITION_RUNNING)->status, COND_TRUE);
	assert_string_equal(world_value(pod->labels, pod->n_labels, LABEL_RUNNING), "true");
}

static void test_the_silence_after_an_undrain_is_not_told(void **state)
{
	unsigned before;

	(void)state;
	world_drain(&w, node, "x");
	world_run(&w, A_WHILE);
	before = w.n_kube;
	world_drain(&w, node, NULL);
	node->flags |= NODEF_NO_RESPOND;
	world_run(&w, 2 * USEC_SEC);
	node->flags = 0;
	world_run(&w, A_WHILE);
	assert_int_equal(w.n_kube, before + 1);
	assert_int_equal(pod_says(CONDITION_NOT_RESPONDING)->status, COND_FALSE);
	/* but one that lasts is */
	node->flags = NODEF_NO_RESPOND;
	world_run(&w, A_WHILE);
	assert_int_equal(pod_says(CONDITION_NOT_RESPONDING)->status, COND_TRUE);
}

static void test_a_pod_without_a_slurm_node_says_so(void **state)
{
	(void)state;
	w.node[0].there = false;
	world_run(&w, A_WHILE);
	assert_int_equal(pod_says(CONDITION_RUNNING)->status, COND_UNKNOWN);
	assert_null(world_value(pod->labels, pod->n_labels, LABEL_RUNNING));
}

static void test_conflicts_are_tried_again_until_they_end(void **state)
{
	(void)state;
	w.kube_conflicts = true;
	node->state = NODE_ALLOCATED;
	world_run(&w, A_WHILE);
	assert_int_equal(pod_says(CONDITION_RUNNING)->status, COND_FALSE);
	assert_true(w.n_kube < 200);
	w.kube_conflicts = false;
	world_run(&w, A_WHILE);
	assert_int_equal(pod_says(CONDITION_RUNNING)->status, COND_TRUE);
}

/* As all is by an API server that has just started: it has not read its roles yet. */
static void test_what_is_forbidden_for_a_moment_is_written_soon(void **state)
{
	unsigned before = w.n_kube;

	(void)state;
	w.kube_forbids = true;
	node->state = NODE_ALLOCATED;
	for (int i = 0; i < 1000 && w.n_kube == before; i++)
		world_run(&w, 100 * USEC_MSEC);
	assert_true(w.n_kube > before);
	world_run(&w, USEC_SEC);
	w.kube_forbids = false;
	world_run(&w, 2 * USEC_SEC);
	assert_int_equal(pod_says(CONDITION_RUNNING)->status, COND_TRUE);
	before = w.n_kube;
	w.kube_forbids = true;
	node->state = NODE_IDLE;
	world_run(&w, 10 * USEC_MINUTE);
	assert_true(w.n_kube > before && w.n_kube < before + 60);
}

/* ---- words on the node ---- */

static void test_the_node_tells_of_its_pod(void **state)
{
	unsigned before = w.n_slurm;

	(void)state;
	assert_string_equal(node->comment, "kube-n1");
	assert_string_equal(node->extra, "{\"k8s\":{\"node\":\"kube-n1\",\"namespace\":\"slurm\",\"pod\":\"n1\","
	                                 "\"conditions\":{\"Ready\":\"True\"}}}");
	world_run(&w, USEC_MINUTE);
	assert_int_equal(w.n_slurm, before);
	node->extra = "{\"rack\":\"a7\"}";
	world_run(&w, A_WHILE);
	assert_true(str_starts(node->extra, "{\"rack\":\"a7\",\"k8s\":{"));
	node->extra = "no json";
	world_run(&w, A_WHILE);
	assert_true(str_starts(node->extra, "{\"k8s\":{"));
}

static void writes_extra_first(struct world *world)
{
	world->meanwhile = NULL;
	node->extra = "{\"rack\":\"b2\"}";
}

static void test_a_person_who_writes_extra_at_the_same_moment_keeps_their_words(void **state)
{
	(void)state;
	w.meanwhile = writes_extra_first;
	node->extra = "{\"rack\":\"a7\"}";
	world_run(&w, A_WHILE);
	assert_true(str_starts(node->extra, "{\"rack\":\"b2\",\"k8s\":{"));
}

static void test_features_come_and_go_with_the_pod(void **state)
{
	(void)state;
	world_note(&w, pod, ANNOTATION_FEATURES, "h100,ib");
	world_run(&w, A_WHILE);
	assert_string_equal(node->features, "dyn,h100,ib");
	world_restart(&w);
	world_note(&w, pod, ANNOTATION_FEATURES, "ib");
	world_run(&w, A_WHILE);
	assert_string_equal(node->features, "dyn,ib");
}

/* ---- hooks ---- */

static int status;
static char reply_text[256];

static void reply(void *arg, int code, const char *json)
{
	(void)arg;
	status = code;
	str_copy(reply_text, sizeof(reply_text), json);
}

static void ask(enum syncer_hook hook, const char *name, bool strict)
{
	status = 0;
	syncer_hook(w.syncer, &(struct syncer_ask) { .hook = hook, .node = name, .strict = strict, .reply = reply });
	world_run(&w, USEC_SEC);
}

static const char *note(const char *key)
{
	return str_or(world_value(pod->notes, pod->n_notes, key), "");
}

/* How often this Pod was asked for. */
static int64_t rounds(void)
{
	int64_t n = 0;

	assert_int_equal(str_to_i64(note(LOCK_EPOCH_ANNOTATION), 1, INT64_MAX, &n), 0);
	return n - (int64_t)(sync_hash(pod->uid) >> 24);
}

static void lock(const char *word)
{
	world_note(&w, pod, LOCK_FOR_ANNOTATION, note(LOCK_EPOCH_ANNOTATION));
	world_note(&w, pod, LOCK_ANNOTATION, word);
	world_run(&w, USEC_SEC);
}

static void test_a_prolog_waits_until_its_node_is_locked(void **state)
{
	(void)state;
	node->state = NODE_ALLOCATED;
	ask(SYNCER_PRE_HOOK, "n1", false);
	assert_int_equal(status, 0);
	assert_string_equal(note(LOCK_REQUEST_ANNOTATION), "normal");
	assert_int_equal(rounds(), 1);
	lock("pending");
	assert_int_equal(status, 0);
	lock("locked");
	assert_int_equal(status, 200);
	assert_string_equal(reply_text, "{\"lock\":\"locked\"}");
	assert_int_equal(pod_says(CONDITION_RUNNING)->status, COND_TRUE);
	/* the next one finds it so, a stricter one does not */
	ask(SYNCER_PRE_HOOK, "n1", false);
	assert_int_equal(status, 200);
	assert_int_equal(rounds(), 1);
	ask(SYNCER_PRE_HOOK, "n1", true);
	assert_int_equal(status, 0);
	assert_string_equal(note(LOCK_REQUEST_ANNOTATION), "strict");
	assert_int_equal(rounds(), 2);
	lock("locked_strict");
	assert_int_equal(status, 200);
}

static void test_another_pod_of_the_name_counts_from_another_number(void **state)
{
	char first[32];

	(void)state;
	ask(SYNCER_PRE_HOOK, "n1", false);
	str_copy(first, sizeof(first), note(LOCK_EPOCH_ANNOTATION));
	world_remove(&w, pod);
	world_run(&w, USEC_SEC);
	pod = world_pod(&w, "n1");
	world_run(&w, USEC_SEC);
	ask(SYNCER_PRE_HOOK, "n1", false);
	assert_int_equal(rounds(), 1);
	assert_string_not_equal(note(LOCK_EPOCH_ANNOTATION), first); /* which the Node may still say */
}

static void ask_from(const char *uid)
{
	status = 0;
	syncer_hook(w.syncer,
	            &(struct syncer_ask) { .hook = SYNCER_PRE_HOOK, .node = "n1", .slurmd_uid = uid, .reply = reply });
	world_run(&w, USEC_SEC);
}

static void test_a_prolog_goes_on_by_the_lock_of_its_own_pod_only(void **state)
{
	(void)state;
	node->state = NODE_ALLOCATED;
	ask_from("u1");
	lock("locked");
	assert_int_equal(status, 200);
	/* slurmd's Pod was made again; the watch still shows the one before, and its lock */
	ask_from("u2");
	assert_int_equal(status, 0);
	assert_int_equal(rounds(), 1); /* and nobody asks for a lock of that one */
	pod->deleting = true;
	make_ready(true);
	world_run(&w, USEC_SEC);
	assert_int_equal(status, 0);
	world_remove(&w, pod);
	world_run(&w, USEC_SEC);
	assert_int_equal(status, 0);
	pod = world_pod(&w, "n1");
	assert_string_equal(pod->uid, "u2");
	world_run(&w, USEC_SEC);
	assert_int_equal(status, 0);
	assert_int_equal(rounds(), 1);
	lock("locked");
	assert_int_equal(status, 200);
}

static void test_a_prolog_whose_pod_is_not_seen_in_time_is_told_so(void **state)
{
	(void)state;
	ask_from("u7");
	assert_int_equal(status, 0);
	world_run(&w, 2 * USEC_MINUTE);
	assert_int_equal(status, 504);
	assert_non_null(strstr(reply_text, "was not seen in time"));
	assert_string_equal(note(LOCK_REQUEST_ANNOTATION), "");
	world_remove(&w, pod);
	world_run(&w, USEC_SEC);
	ask_from("u1"); /* one that was seen, and is gone */
	assert_int_equal(status, 409);
	ask_from("u7");
	assert_int_equal(status, 0);
	world_run(&w, 2 * USEC_MINUTE);
	assert_int_equal(status, 504);
}

static void test_nobody_writes_the_pod_while_it_is_being_locked(void **state)
{
	unsigned before;

	(void)state;
	world_run(&w, A_WHILE);
	before = w.n_kube;
	node->state = NODE_ALLOCATED;
	ask(SYNCER_PRE_HOOK, "n1", false);
	assert_int_equal(w.n_kube, before + 1); /* the request, and nothing that the operator would stumble over */
	assert_int_equal(pod_says(CONDITION_RUNNING)->status, COND_FALSE);
	/* but not for ever: something may be in the way */
	world_run(&w, 5 * USEC_SEC);
	assert_int_equal(status, 0);
	assert_int_equal(pod_says(CONDITION_RUNNING)->status, COND_TRUE);
	assert_int_equal(rounds(), 1);
	lock("locked");
	assert_int_equal(status, 200);
}

static void test_a_prolog_that_says_how_long_it_waits_is_answered_before(void **state)
{
	(void)state;
	world_note(&w, pod, ANNOTATION_LOCK_BLOCKED_BY, "Pod a/b is in the way");
	status = 0;
	syncer_hook(w.syncer, &(struct syncer_ask) {
	                              .hook = SYNCER_PRE_HOOK, .node = "n1", .timeout = 5 * USEC_SEC, .reply = reply });
	world_run(&w, 4 * USEC_SEC);
	assert_int_equal(status, 0);
	world_run(&w, USEC_SEC + 10 * USEC_MSEC);
	assert_int_equal(status, 504);
	assert_non_null(strstr(reply_text, "Pod a/b is in the way"));
}

static void hold(usec_t timeout)
{
	status = 0;
	syncer_hook(w.syncer, &(struct syncer_ask) { .hook = SYNCER_POST_HOOK,
	                                             .node = "n1",
	                                             .pod = "ns/p/uid-12345: started",
	                                             .timeout = timeout,
	                                             .reply = reply });
	world_run(&w, 3 * USEC_SEC);
}

static void test_an_epilog_of_a_placeholder_is_held_until_its_pod_has_left(void **state)
{
	(void)state;
	w.single.there = true;
	w.single.node = "kube-n1";
	hold(0);
	assert_int_equal(status, 0);
	w.single.away = true; /* who does not answer has not said that it is gone */
	world_run(&w, 3 * USEC_SEC);
	assert_int_equal(status, 0);
	w.single.away = false;
	w.single.there = false;
	world_run(&w, 2 * USEC_SEC);
	assert_int_equal(status, 200);
	/* nothing to wait for: over, or elsewhere */
	w.single.there = w.single.over = true;
	hold(0);
	assert_int_equal(status, 200);
	w.single.over = false;
	w.single.node = NULL;
	hold(0);
	assert_int_equal(status, 200);
	w.single.node = "kube-n1";
	hold(5 * USEC_SEC);
	assert_int_equal(status, 0);
	world_run(&w, 3 * USEC_SEC);
	assert_int_equal(status, 504);
	assert_non_null(strstr(reply_text, "ns/p/uid-12345"));
	hold(0);
	syncer_leading(w.syncer, false);
	assert_int_equal(status, 503);
	world_run(&w, USEC_SEC);
}

static void test_a_node_is_unlocked_soon_after_its_epilog_told(void **state)
{
	usec_t begin;

	(void)state;
	w.options.poll_min = 10 * USEC_SEC; /* as on a large cluster, where reading takes long */
	world_restart(&w);
	world_run(&w, USEC_SEC);
	node->state = NODE_ALLOCATED;
	ask(SYNCER_PRE_HOOK, "n1", false);
	lock("locked");
	world_run(&w, USEC_MINUTE);
	ask(SYNCER_POST_HOOK, "n1", false);
	assert_string_equal(note(LOCK_REQUEST_ANNOTATION), "normal"); /* the epilog runs: still completing */
	node->state = NODE_IDLE;
	for (begin = w.mono; *note(LOCK_REQUEST_ANNOTATION) && w.mono < begin + USEC_MINUTE;)
		world_run(&w, 100 * USEC_MSEC);
	assert_true(w.mono - begin < 4 * USEC_SEC);
}

static void test_a_lock_of_before_is_not_taken_for_the_new_one(void **state)
{
	(void)state;
	node->state = NODE_ALLOCATED;
	ask(SYNCER_PRE_HOOK, "n1", false);
	lock("locked");
	node->state = NODE_IDLE;
	world_run(&w, A_WHILE);
	assert_string_equal(note(LOCK_REQUEST_ANNOTATION), ""); /* withdrawn; the operator has not unlocked yet */
	ask(SYNCER_PRE_HOOK, "n1", false);
	assert_int_equal(status, 0);
	assert_int_equal(rounds(), 2);
	lock("locked");
	assert_int_equal(status, 200);
	/* nor one that an earlier syncer asked for */
	world_restart(&w);
	world_run(&w, USEC_SEC);
	ask(SYNCER_PRE_HOOK, "n1", false);
	assert_int_equal(status, 0);
	lock("locked");
	assert_int_equal(status, 200);
}

static void prolog_asks_once_withdrawn(struct world *world)
{
	if (*note(LOCK_REQUEST_ANNOTATION) || status)
		return;
	world->changed = NULL;
	syncer_hook(world->syncer, &(struct syncer_ask) { .hook = SYNCER_PRE_HOOK, .node = "n1", .reply = reply });
}

static void test_a_prolog_that_asks_while_the_request_is_withdrawn_gets_a_lock_of_its_own(void **state)
{
	(void)state;
	node->state = NODE_ALLOCATED;
	ask(SYNCER_PRE_HOOK, "n1", false);
	lock("locked");
	node->state = NODE_IDLE;
	status = 0;
	w.changed = prolog_asks_once_withdrawn; /* all that the syncer sees is still the lock of before */
	world_run(&w, A_WHILE);
	assert_null(w.changed);
	assert_int_equal(status, 0);
	assert_string_equal(note(LOCK_REQUEST_ANNOTATION), "normal");
	assert_int_equal(rounds(), 2);
	lock("locked");
	assert_int_equal(status, 200);
}

static void test_a_request_is_kept_until_slurm_was_asked_after_the_prolog(void **state)
{
	(void)state;
	/* the job is not in Slurm's answer yet, and Slurm is away from then on */
	syncer_hook(w.syncer, &(struct syncer_ask) { .hook = SYNCER_PRE_HOOK, .node = "n1", .reply = reply });
	w.slurm_away = true;
	world_run(&w, USEC_SEC);
	lock("locked");
	assert_int_equal(status, 200);
	world_run(&w, USEC_MINUTE);
	assert_string_equal(note(LOCK_REQUEST_ANNOTATION), "normal");
	assert_int_equal(pod_says(CONDITION_RUNNING)->status, COND_TRUE);
	w.slurm_away = false;
	world_run(&w, USEC_MINUTE);
	assert_string_equal(note(LOCK_REQUEST_ANNOTATION), "");
	assert_int_equal(pod_says(CONDITION_RUNNING)->status, COND_FALSE);
}

static void test_a_node_that_goes_down_under_its_job_does_not_stay_locked(void **state)
{
	(void)state;
	node->state = NODE_ALLOCATED;
	ask(SYNCER_PRE_HOOK, "n1", false);
	lock("locked");
	world_run(&w, USEC_MINUTE);
	assert_string_equal(note(LOCK_REQUEST_ANNOTATION), "normal");
	node->state = NODE_DOWN;
	node->flags = NODEF_NO_RESPOND;
	world_run(&w, USEC_MINUTE);
	assert_string_equal(note(LOCK_REQUEST_ANNOTATION), "");
}

static void test_prologs_that_cannot_be_served_are_told_why(void **state)
{
	(void)state;
	ask(SYNCER_PRE_HOOK, "nowhere", false);
	assert_int_equal(status, 404);
	world_node(&w, "login1");
	world_run(&w, A_WHILE);
	ask(SYNCER_PRE_HOOK, "login1", false);
	assert_int_equal(status, 404);
	ask(SYNCER_PRE_HOOK, "n1", false);
	assert_int_equal(status, 0);
	world_run(&w, 2 * USEC_MINUTE);
	assert_int_equal(status, 504);
	ask(SYNCER_PRE_HOOK, "n1", false);
	pod->deleting = true;
	make_ready(true);
	world_run(&w, USEC_SEC);
	assert_int_equal(status, 409);
	world_remove(&w, pod);
	world_run(&w, USEC_SEC);
	ask(SYNCER_PRE_HOOK, "n1", false);
	assert_int_equal(status, 409);
}

static void test_a_prolog_in_a_pod_that_is_being_deleted_is_refused_at_once_and_asks_for_no_lock(void **state)
{
	(void)state;
	pod->deleting = true;
	make_ready(true);
	world_run(&w, A_WHILE);
	status = 0;
	syncer_hook(w.syncer,
	            &(struct syncer_ask) { .hook = SYNCER_PRE_HOOK, .node = "n1", .slurmd_uid = "u1", .reply = reply });
	assert_int_equal(status, 409);
	assert_non_null(strstr(reply_text, "its Pod is deleted"));
	world_run(&w, A_WHILE);
	assert_string_equal(note(LOCK_REQUEST_ANNOTATION), "");
	/* nor when there is another of that name by now: it does not wait for one that will never be seen again */
	world_remove(&w, pod);
	world_run(&w, USEC_SEC);
	pod = world_pod(&w, "n1");
	world_run(&w, USEC_SEC);
	ask_from("u1");
	assert_int_equal(status, 409);
	assert_string_equal(note(LOCK_REQUEST_ANNOTATION), "");
	ask_from("u2");
	assert_int_equal(status, 0);
	assert_string_equal(note(LOCK_REQUEST_ANNOTATION), "normal");
}

static void test_without_leadership_nothing_is_done_and_prologs_ask_again(void **state)
{
	unsigned kube = w.n_kube, slurm = w.n_slurm;

	(void)state;
	ask(SYNCER_PRE_HOOK, "n1", false);
	kube = w.n_kube;
	syncer_leading(w.syncer, false);
	assert_int_equal(status, 503);
	ask(SYNCER_PRE_HOOK, "n1", false);
	assert_int_equal(status, 503);
	world_note(&w, pod, ANNOTATION_CORDON, "x");
	world_run(&w, A_WHILE);
	assert_int_equal(w.n_kube, kube);
	assert_int_equal(w.n_slurm, slurm);
	syncer_leading(w.syncer, true);
	assert_drained("k8s: cordon: x");
}

static void test_a_reboot_needs_permission(void **state)
{
	(void)state;
	ask(SYNCER_REBOOT, "n1", false);
	assert_int_equal(status, 403);
	assert_string_equal(w.node_condition_of, "");
	w.options.node_permissions = true;
	world_restart(&w);
	world_run(&w, USEC_SEC);
	ask(SYNCER_REBOOT, "n1", false);
	assert_int_equal(status, 200);
	assert_string_equal(w.node_condition_of, "kube-n1");
	assert_string_equal(w.node_condition.type, "PhaseState");
	assert_string_equal(w.node_condition.reason, "production-powerreset");
	assert_int_equal(w.node_condition.status, COND_TRUE);
}

/* ---- the whole ---- */

static void test_ready_when_both_sides_have_been_read(void **state)
{
	struct err why = { 0 };

	(void)state;
	assert_true(syncer_ready(w.syncer, &why));
	world_restart(&w);
	assert_false(syncer_ready(w.syncer, &why));
	assert_string_equal(why.text, "Slurm's nodes have not been read yet");
	world_run(&w, USEC_SEC);
	assert_true(syncer_ready(w.syncer, &why));
}

static void test_a_scrape_asks_nobody(void **state)
{
	_cleanup_buf_ struct buf text = BUF(1 << 20);
	unsigned before = w.n_reads;

	(void)state;
	syncer_export(w.syncer, &text);
	assert_int_equal(w.n_reads, before);
	assert_non_null(strstr(buf_text(&text), "\nslurm_nodes_total 1\n"));
	assert_non_null(strstr(buf_text(&text), "\nslurm_scheduler_threads 0\n"));
	buf_clear(&text);
	syncer_leading(w.syncer, false);
	syncer_export(w.syncer, &text);
	assert_null(strstr(buf_text(&text), "slurm_nodes"));
}

static void test_slurm_is_asked_no_more_than_it_can_bear(void **state)
{
	unsigned before = w.n_reads;

	(void)state;
	world_run(&w, USEC_MINUTE);
	assert_between(w.n_reads - before, 60, 121); /* half a second at least */
}

#define T(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
TEST_MAIN(T(a_cordon_drains_and_its_end_undrains), T(a_cordon_arrives_at_once),
          T(a_pod_that_goes_leaves_its_node_drained), T(a_restart_remembers_through_the_node_itself),
          T(nodes_outside_of_kubernetes_are_left_alone), T(a_persons_drain_survives_whatever_kubernetes_does),
          T(a_person_at_the_same_moment_wins), T(a_drain_removed_too_early_comes_back),
          T(a_node_that_is_down_is_left_alone_until_it_is_up), T(verified_nodes_are_undrained),
          T(while_slurm_is_away_nothing_is_lost), T(pods_not_heard_of_for_long_drain_nothing),
          T(a_new_pod_gets_everything_in_one_write), T(many_new_pods_do_not_crowd_out_what_is_urgent),
          T(each_change_is_written_once), T(the_silence_after_an_undrain_is_not_told),
          T(a_pod_without_a_slurm_node_says_so), T(conflicts_are_tried_again_until_they_end),
          T(what_is_forbidden_for_a_moment_is_written_soon), T(the_node_tells_of_its_pod),
          T(a_person_who_writes_extra_at_the_same_moment_keeps_their_words), T(features_come_and_go_with_the_pod),
          T(a_prolog_waits_until_its_node_is_locked), T(another_pod_of_the_name_counts_from_another_number),
          T(a_prolog_goes_on_by_the_lock_of_its_own_pod_only), T(a_prolog_whose_pod_is_not_seen_in_time_is_told_so),
          T(nobody_writes_the_pod_while_it_is_being_locked), T(a_prolog_that_says_how_long_it_waits_is_answered_before),
          T(an_epilog_of_a_placeholder_is_held_until_its_pod_has_left),
          T(a_node_is_unlocked_soon_after_its_epilog_told), T(a_lock_of_before_is_not_taken_for_the_new_one),
          T(a_prolog_that_asks_while_the_request_is_withdrawn_gets_a_lock_of_its_own),
          T(a_request_is_kept_until_slurm_was_asked_after_the_prolog), T(prologs_that_cannot_be_served_are_told_why),
          T(a_node_that_goes_down_under_its_job_does_not_stay_locked),
          T(a_prolog_in_a_pod_that_is_being_deleted_is_refused_at_once_and_asks_for_no_lock),
          T(without_leadership_nothing_is_done_and_prologs_ask_again), T(a_reboot_needs_permission),
          T(ready_when_both_sides_have_been_read), T(a_scrape_asks_nobody), T(slurm_is_asked_no_more_than_it_can_bear))
