/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/lock.h"

#include <string.h>

#include "base/str.h"
#include "base/test.h"

#define ASKS(level, n) .request = (level), .epoch = (n)
#define SAYS(what, n) .state = (what), .state_for = (n)

/* clang-format off */
static const struct {
	const char *what;
	struct lock_view view;
	enum lock_step want;
	enum lock_state pod, node; /* what is written; looked at where the step writes it */
} steps[] = {
	/* locking */
	{ "nobody asks", { .pod_there = true }, LOCK_REST, LOCK_FALSE, LOCK_FALSE },
	{ "asked: the taint first", { { ASKS(LEVEL_NORMAL, 1) }, { 0 }, true, true, 0 }, LOCK_TAINT, LOCK_FALSE, LOCK_PENDING },
	{ "then the Pod says pending",
	  { { ASKS(LEVEL_NORMAL, 1) }, { SAYS(LOCK_PENDING, 1), .taint = true }, true, true, 0 }, LOCK_SHOW, LOCK_PENDING, LOCK_PENDING },
	{ "not locked from old news",
	  { { ASKS(LEVEL_NORMAL, 1), SAYS(LOCK_PENDING, 1) }, { SAYS(LOCK_PENDING, 1), .taint = true }, true, false, 0 }, LOCK_REST,
	  LOCK_PENDING, LOCK_PENDING },
	{ "not while someone is in the way",
	  { { ASKS(LEVEL_NORMAL, 1), SAYS(LOCK_PENDING, 1) }, { SAYS(LOCK_PENDING, 1), .taint = true }, true, true, 2 }, LOCK_REST,
	  LOCK_PENDING, LOCK_PENDING },
	{ "nobody is: the Pod says locked",
	  { { ASKS(LEVEL_NORMAL, 1), SAYS(LOCK_PENDING, 1) }, { SAYS(LOCK_PENDING, 1), .taint = true }, true, true, 0 }, LOCK_SHOW,
	  LOCK_LOCKED, LOCK_PENDING },
	{ "strict when asked strictly",
	  { { ASKS(LEVEL_STRICT, 1), SAYS(LOCK_PENDING, 1) }, { SAYS(LOCK_PENDING, 1), .taint = true }, true, true, 0 }, LOCK_SHOW,
	  LOCK_LOCKED_STRICT, LOCK_PENDING },
	{ "the Node follows",
	  { { ASKS(LEVEL_NORMAL, 1), SAYS(LOCK_LOCKED, 1) }, { SAYS(LOCK_PENDING, 1), .taint = true }, true, true, 0 }, LOCK_CONFIRM,
	  LOCK_LOCKED, LOCK_LOCKED },
	{ "locked",
	  { { ASKS(LEVEL_NORMAL, 1), SAYS(LOCK_LOCKED, 1) }, { SAYS(LOCK_LOCKED, 1), .taint = true }, true, true, 0 }, LOCK_REST, LOCK_LOCKED,
	  LOCK_LOCKED },
	{ "a stray that comes later does not unlock it: the taint sends it away",
	  { { ASKS(LEVEL_NORMAL, 1), SAYS(LOCK_LOCKED, 1) }, { SAYS(LOCK_LOCKED, 1), .taint = true }, true, true, 1 }, LOCK_REST, LOCK_LOCKED,
	  LOCK_LOCKED },
	{ "strict is enough for normal",
	  { { ASKS(LEVEL_NORMAL, 1), SAYS(LOCK_LOCKED_STRICT, 1) }, { SAYS(LOCK_LOCKED_STRICT, 1), .taint = true }, true, true, 0 }, LOCK_REST,
	  LOCK_LOCKED_STRICT, LOCK_LOCKED_STRICT },
	/* from normal to strict */
	{ "an upgrade stays locked on the Node",
	  { { ASKS(LEVEL_STRICT, 2), SAYS(LOCK_LOCKED, 1) }, { SAYS(LOCK_LOCKED, 1), .taint = true }, true, true, 1 }, LOCK_TAINT, LOCK_LOCKED,
	  LOCK_LOCKED },
	{ "and on the Pod",
	  { { ASKS(LEVEL_STRICT, 2), SAYS(LOCK_LOCKED, 1) }, { SAYS(LOCK_LOCKED, 2), .taint = true }, true, true, 1 }, LOCK_SHOW, LOCK_LOCKED,
	  LOCK_LOCKED },
	{ "waits for the stray",
	  { { ASKS(LEVEL_STRICT, 2), SAYS(LOCK_LOCKED, 2) }, { SAYS(LOCK_LOCKED, 2), .taint = true }, true, true, 1 }, LOCK_REST, LOCK_LOCKED,
	  LOCK_LOCKED },
	{ "and is strict",
	  { { ASKS(LEVEL_STRICT, 2), SAYS(LOCK_LOCKED, 2) }, { SAYS(LOCK_LOCKED, 2), .taint = true }, true, true, 0 }, LOCK_SHOW,
	  LOCK_LOCKED_STRICT, LOCK_LOCKED },
	/* unlocking */
	{ "nobody asks any more: first the Pod",
	  { { .epoch = 1, SAYS(LOCK_LOCKED, 1) }, { SAYS(LOCK_LOCKED, 1), .taint = true }, true, true, 0 }, LOCK_HIDE, LOCK_FALSE, LOCK_LOCKED },
	{ "then the Node",
	  { { .epoch = 1 }, { SAYS(LOCK_LOCKED, 1), .taint = true }, true, true, 0 }, LOCK_UNTAINT, LOCK_FALSE, LOCK_FALSE },
	{ "unlocked", { { .epoch = 1 }, { 0 }, true, true, 0 }, LOCK_REST, LOCK_FALSE, LOCK_FALSE },
	{ "no NodeSet Pod any more: nobody may run there", { { 0 }, { SAYS(LOCK_LOCKED, 1), .taint = true }, false, true, 0 }, LOCK_UNTAINT,
	  LOCK_FALSE, LOCK_FALSE },
	/* a Pod that is being deleted gets no lock, and keeps the one that it has */
	{ "it asks for its first", { { ASKS(LEVEL_NORMAL, 1) }, { 0 }, true, true, 0, true }, LOCK_REST, LOCK_FALSE, LOCK_FALSE },
	{ "it had half of one: first the Pod",
	  { { ASKS(LEVEL_NORMAL, 1), SAYS(LOCK_PENDING, 1) }, { SAYS(LOCK_PENDING, 1), .taint = true }, true, true, 0, true }, LOCK_HIDE, LOCK_FALSE,
	  LOCK_PENDING },
	{ "then the Node", { { ASKS(LEVEL_NORMAL, 1) }, { SAYS(LOCK_PENDING, 1), .taint = true }, true, true, 0, true }, LOCK_UNTAINT, LOCK_FALSE,
	  LOCK_FALSE },
	{ "it is locked: a job may run to its end",
	  { { ASKS(LEVEL_NORMAL, 1), SAYS(LOCK_LOCKED, 1) }, { SAYS(LOCK_LOCKED, 1), .taint = true }, true, true, 0, true }, LOCK_REST, LOCK_LOCKED,
	  LOCK_LOCKED },
	{ "a taint removed by hand is put back all the same",
	  { { ASKS(LEVEL_NORMAL, 1), SAYS(LOCK_LOCKED, 1) }, { SAYS(LOCK_LOCKED, 1) }, true, true, 0, true }, LOCK_TAINT, LOCK_LOCKED, LOCK_PENDING },
	{ "nobody asks any more",
	  { { .epoch = 1, SAYS(LOCK_LOCKED, 1) }, { SAYS(LOCK_LOCKED, 1), .taint = true }, true, true, 0, true }, LOCK_HIDE, LOCK_FALSE, LOCK_LOCKED },
	/* unlock never races a new prolog */
	{ "asked anew before the taint was off: the Node is written all the same, and everything looked at again",
	  { { ASKS(LEVEL_NORMAL, 2) }, { SAYS(LOCK_LOCKED, 1), .taint = true }, true, true, 0 }, LOCK_TAINT, LOCK_FALSE, LOCK_PENDING },
	{ "the number is that of an earlier Pod: the Node is written again, and everything looked at",
	  { { ASKS(LEVEL_NORMAL, 1) }, { SAYS(LOCK_LOCKED, 1), .taint = true }, true, true, 0 }, LOCK_TAINT, LOCK_FALSE, LOCK_PENDING },
	{ "asked anew before the Pod's state was off",
	  { { ASKS(LEVEL_NORMAL, 2), SAYS(LOCK_LOCKED, 1) }, { SAYS(LOCK_LOCKED, 1), .taint = true }, true, true, 0 }, LOCK_TAINT, LOCK_LOCKED,
	  LOCK_LOCKED },
	/* people */
	{ "a taint removed by hand is put back",
	  { { ASKS(LEVEL_NORMAL, 1), SAYS(LOCK_LOCKED, 1) }, { SAYS(LOCK_LOCKED, 1) }, true, true, 0 }, LOCK_TAINT, LOCK_LOCKED, LOCK_PENDING },
	{ "an annotation removed from the Node is put back",
	  { { ASKS(LEVEL_NORMAL, 1), SAYS(LOCK_LOCKED, 1) }, { .state_for = 1, .taint = true }, true, true, 0 }, LOCK_CONFIRM, LOCK_LOCKED,
	  LOCK_LOCKED },
	{ "also while someone is in the way",
	  { { ASKS(LEVEL_NORMAL, 1), SAYS(LOCK_PENDING, 1) }, { .state_for = 1, .taint = true }, true, true, 1 }, LOCK_CONFIRM, LOCK_PENDING,
	  LOCK_PENDING },
	{ "one removed from the Pod is put back",
	  { { ASKS(LEVEL_NORMAL, 1), .state_for = 1 }, { SAYS(LOCK_LOCKED, 1), .taint = true }, true, true, 0 }, LOCK_SHOW, LOCK_LOCKED,
	  LOCK_LOCKED },
	{ "a taint put there by hand goes", { { 0 }, { .taint = true }, true, true, 0 }, LOCK_UNTAINT, LOCK_FALSE, LOCK_FALSE },
};
/* clang-format on */

static void test_every_step_of_locking_and_unlocking(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		struct lock_decision d = lock_decide(&steps[i].view);
		bool pod = d.step == LOCK_SHOW, node = d.step == LOCK_TAINT || d.step == LOCK_CONFIRM;

		if (d.step != steps[i].want)
			fail_msg("%s: step %d instead of %d", steps[i].what, d.step, steps[i].want);
		if (pod && d.pod_state != steps[i].pod)
			fail_msg("%s: the Pod gets %s", steps[i].what, lock_state_text(d.pod_state));
		if (node && d.node_state != steps[i].node)
			fail_msg("%s: the Node gets %s", steps[i].what, lock_state_text(d.node_state));
		if ((pod || node) && d.epoch != steps[i].view.pod.epoch)
			fail_msg("%s: for another epoch", steps[i].what);
	}
}

/* Plays the operator until it rests, on every state the words can be in: it must come to rest, and locked only with the taint. */
static void test_from_any_state_it_comes_to_rest_locked_or_unlocked(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 3u * 3u * 4u * 3u * 4u * 3u * 2u; bits++) {
		unsigned b = bits;
		struct lock_view v = { .pod_there = true, .pods_are_fresh = true };
		int n = 0;

		v.pod.request = b % 3, b /= 3;
		v.pod.epoch = b % 3, b /= 3;
		v.pod.state = b % 4, b /= 4;
		v.pod.state_for = b % 3, b /= 3;
		v.node.state = b % 4, b /= 4;
		v.node.state_for = b % 3, b /= 3;
		v.node.taint = b % 2;
		if (v.pod.request && !v.pod.epoch)
			continue; /* written together, never so */
		for (;; n++) {
			struct lock_decision d = lock_decide(&v);

			if (n > 8)
				fail_msg("state %u does not come to rest", bits);
			if (d.step == LOCK_REST)
				break;
			if (d.step == LOCK_SHOW && d.pod_state >= LOCK_LOCKED &&
			    !(v.node.taint && v.node.state_for == v.pod.epoch))
				fail_msg("state %u: the Pod says locked, the Node is not", bits);
			if (d.step == LOCK_UNTAINT && (v.pod.request || v.pod.state >= LOCK_LOCKED))
				fail_msg("state %u: unlocked under a job", bits);
			if (d.step == LOCK_TAINT || d.step == LOCK_CONFIRM) {
				v.node.taint = true;
				v.node.state = d.node_state;
				v.node.state_for = d.epoch;
			} else if (d.step == LOCK_UNTAINT) {
				v.node = (struct lock_words) { 0 };
			} else {
				v.pod.state = d.pod_state;
				v.pod.state_for = d.step == LOCK_HIDE ? 0 : d.epoch;
			}
		}
		if (v.pod.request) {
			assert_true(v.node.taint && v.node.state == v.pod.state);
			assert_true(lock_satisfies(&v.pod, v.pod.request));
		} else {
			assert_false(v.node.taint);
			assert_int_equal(v.pod.state, LOCK_FALSE);
		}
	}
}

static void test_an_answer_to_an_old_question_is_not_taken_for_the_new(void **state)
{
	struct lock_words p = { .request = LEVEL_NORMAL, .epoch = 2, .state = LOCK_LOCKED, .state_for = 1 };

	(void)state;
	assert_false(lock_satisfies(&p, LEVEL_NORMAL));
	p.state_for = 2;
	assert_true(lock_satisfies(&p, LEVEL_NORMAL));
	assert_false(lock_satisfies(&p, LEVEL_STRICT));
	p.state = LOCK_LOCKED_STRICT;
	assert_false(lock_satisfies(&p, LEVEL_STRICT)); /* nobody asked for strict */
	p.request = LEVEL_STRICT;
	assert_true(lock_satisfies(&p, LEVEL_STRICT));
	assert_true(lock_satisfies(&p, LEVEL_NORMAL));
	p.request = LEVEL_NONE; /* taken back: it may be unlocked any moment */
	assert_false(lock_satisfies(&p, LEVEL_NORMAL));
}

static void test_the_request_is_taken_back_only_from_a_look_after_the_last_call(void **state)
{
	(void)state;
	assert_true(lock_may_clear(false, 11, 10, 5));
	assert_false(lock_may_clear(true, 11, 10, 5)); /* a job is there */
	assert_false(lock_may_clear(false, 10, 10, 5)); /* a look from before the call */
	assert_false(lock_may_clear(false, 4, 0, 5)); /* another process may have answered one since */
	assert_false(lock_may_clear(false, 0, 0, -1)); /* no look at all */
}

static void test_who_is_in_the_way(void **state)
{
	static struct pair nodeset[] = { { LABEL_NODESET, "main" } };
	static struct pair mirror[] = { { "kubernetes.io/config.mirror", "x" } };
	static struct pair job[] = { { ANNOTATION_JOB_ID, "7" } };
	static struct owner daemon[] = { { "DaemonSet", "d", "u", true } };
	static struct owner replica[] = { { "ReplicaSet", "r", "u", true } };
	static struct condition lost[] = { { .type = "SlurmJobLive", .status = COND_FALSE } };
	static struct toleration all[] = { { .op = TOLERATE_EXISTS } };
	static struct toleration equal[] = { { .key = LOCK_TAINT_KEY, .value = "true", .op = TOLERATE_EQUAL } };
	static struct toleration other[] = { { .key = LOCK_TAINT_KEY, .value = "false", .op = TOLERATE_EQUAL } };
	static struct toleration later[] = { { .op = TOLERATE_EXISTS, .has_seconds = true, .seconds = 60 } };
	static struct toleration schedule[] = { { .op = TOLERATE_EXISTS, .effect = EFFECT_NO_SCHEDULE } };
#define TOLERATES(t) .tolerations = (t), .n_tolerations = 1
	static const struct {
		const char *what;
		struct pod pod;
		enum blocker normal, strict;
	} cases[] = {
		{ "an ordinary Pod", { .phase = POD_RUNNING }, BLOCK_EVICTED, BLOCK_EVICTED },
		{ "a finished one", { .phase = POD_SUCCEEDED }, BLOCK_NOT, BLOCK_NOT },
		{ "a NodeSet Pod", { .meta = { .labels = nodeset, .n_labels = 1 } }, BLOCK_NOT, BLOCK_NOT },
		{ "a static Pod", { .meta = { .annotations = mirror, .n_annotations = 1 } }, BLOCK_NOT, BLOCK_NOT },
		{ "a tolerating DaemonSet",
		  { .meta = { .owners = daemon, .n_owners = 1 }, TOLERATES(all) },
		  BLOCK_NOT,
		  BLOCK_NOT },
		{ "one that does not tolerate",
		  { .meta = { .owners = daemon, .n_owners = 1 } },
		  BLOCK_EVICTED,
		  BLOCK_EVICTED },
		{ "a tolerating stray",
		  { .meta = { .owners = replica, .n_owners = 1 }, TOLERATES(all) },
		  BLOCK_NOT,
		  BLOCK_STRAY },
		{ "tolerating by value", { TOLERATES(equal) }, BLOCK_NOT, BLOCK_STRAY },
		{ "by another value", { TOLERATES(other) }, BLOCK_EVICTED, BLOCK_EVICTED },
		{ "only for a while", { TOLERATES(later) }, BLOCK_EVICTED, BLOCK_EVICTED },
		{ "only scheduling", { TOLERATES(schedule) }, BLOCK_EVICTED, BLOCK_EVICTED },
		{ "a Pod with a job", { .meta = { .annotations = job, .n_annotations = 1 } }, BLOCK_NOT, BLOCK_NOT },
		{ "one whose job is over",
		  { .meta = { .annotations = job, .n_annotations = 1 }, .conditions = lost, .n_conditions = 1 },
		  BLOCK_NO_JOB,
		  BLOCK_NO_JOB },
	};
	struct pod going;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (lock_blocker(&cases[i].pod, LEVEL_NORMAL) != cases[i].normal)
			fail_msg("%s: normal", cases[i].what);
		if (lock_blocker(&cases[i].pod, LEVEL_STRICT) != cases[i].strict)
			fail_msg("%s: strict", cases[i].what);
		going = cases[i].pod;
		going.meta.deletion = 1;
		assert_false(lock_is_overlooked(&going));
		if (lock_is_overlooked(&cases[i].pod) !=
		    (cases[i].normal == BLOCK_EVICTED && cases[i].pod.tolerations != later))
			fail_msg("%s: overlooked", cases[i].what);
	}
}

static void test_what_people_write_into_annotations_does_no_harm(void **state)
{
	struct pair a[] = { { LOCK_ANNOTATION, "LOCKED!" },
		            { LOCK_FOR_ANNOTATION, "-1" },
		            { LOCK_REQUEST_ANNOTATION, "please" },
		            { LOCK_EPOCH_ANNOTATION, "99999999999999999999" } };
	struct meta m = { .annotations = a, .n_annotations = ARRAY_LEN(a) };
	struct lock_words w;

	(void)state;
	lock_read(&m, &w);
	assert_int_equal(w.state, LOCK_FALSE);
	assert_int_equal(w.state_for, 0);
	assert_int_equal(w.request, LEVEL_STRICT);
	assert_int_equal(w.epoch, 0);
	assert_false(lock_satisfies(&w, LEVEL_NORMAL));
}

TEST_MAIN(TEST(every_step_of_locking_and_unlocking), TEST(from_any_state_it_comes_to_rest_locked_or_unlocked),
          TEST(an_answer_to_an_old_question_is_not_taken_for_the_new),
          TEST(the_request_is_taken_back_only_from_a_look_after_the_last_call), TEST(who_is_in_the_way),
          TEST(what_people_write_into_annotations_does_no_harm))
