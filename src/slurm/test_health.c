/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm/health.h"

#include "base/test.h"

static struct health made(void)
{
	struct health h;

	health_init(&h, 10 * USEC_SEC, 5 * USEC_SEC);
	return h;
}

static void test_nothing_is_known_before_the_first_answer(void **state)
{
	struct health h = made();
	struct err why = { 0 };

	(void)state;
	assert_false(health_ready(&h, &why));
	assert_string_equal(why.text, "Slurm has not answered yet");
	assert_int_equal(h.next_probe, 0); /* ask at once */
	health_heard(&h, 100);
	assert_true(health_ready(&h, NULL));
	assert_int_equal(h.next_probe, 100 + 10 * USEC_SEC); /* then only when it is silent */
}

static void test_one_failure_is_a_doubt_and_a_failed_probe_is_certainty(void **state)
{
	struct health h = made();
	struct err why = { 0 };

	(void)state;
	health_heard(&h, 100);
	health_missed(&h, 200, false, "a", 300);
	assert_true(health_ready(&h, NULL));
	assert_int_equal(h.next_probe, 300);
	health_missed(&h, 300, true, "b", 400);
	assert_false(health_ready(&h, &why));
	assert_string_equal(why.text, "b");
	assert_true(h.next_probe > 400);
}

static void test_a_failure_that_an_answer_has_followed_means_nothing(void **state)
{
	struct health h = made();

	(void)state;
	health_heard(&h, 500);
	health_missed(&h, 200, false, "a", 600);
	assert_int_equal(h.state, HEALTH_UP);
	health_missed(&h, 200, true, "a", 600);
	assert_int_equal(h.state, HEALTH_UP);
}

static void test_a_doubt_is_lifted_by_any_answer(void **state)
{
	struct health h = made();

	(void)state;
	health_heard(&h, 100);
	health_missed(&h, 200, false, "a", 300);
	health_heard(&h, 350);
	health_missed(&h, 300, true, "late", 400); /* the probe that was on its way */
	assert_true(health_ready(&h, NULL));
	assert_int_equal(h.state, HEALTH_UP);
}

static void test_pauses_grow_up_to_their_limit_and_start_anew(void **state)
{
	struct health h = made();
	usec_t now = 1000, pause = 0;

	(void)state;
	for (int i = 0; i < 20; i++) {
		health_missed(&h, now, true, "a", now);
		pause = h.next_probe - now;
		assert_true(pause > 0 && pause <= 5 * USEC_SEC);
		now = h.next_probe;
	}
	assert_true(pause >= 5 * USEC_SEC / 2);
	health_heard(&h, now);
	health_missed(&h, now + 1, true, "a", now + 1);
	assert_true(h.next_probe - (now + 1) <= 250 * USEC_MSEC);
}

static void test_what_fails_while_away_changes_nothing(void **state)
{
	struct health h = made();
	struct err why = { 0 };
	usec_t next;

	(void)state;
	health_missed(&h, 100, true, "the reason", 200);
	next = h.next_probe;
	health_missed(&h, 50, false, "another", 300);
	assert_int_equal(h.next_probe, next);
	assert_false(health_ready(&h, &why));
	assert_string_equal(why.text, "the reason");
}

TEST_MAIN(TEST(nothing_is_known_before_the_first_answer), TEST(one_failure_is_a_doubt_and_a_failed_probe_is_certainty),
          TEST(a_failure_that_an_answer_has_followed_means_nothing), TEST(a_doubt_is_lifted_by_any_answer),
          TEST(pauses_grow_up_to_their_limit_and_start_anew), TEST(what_fails_while_away_changes_nothing))
