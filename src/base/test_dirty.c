/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/dirty.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rand.h"
#include "base/test.h"

static void assert_take(struct dirty *d, usec_t now, const char *want)
{
	_cleanup_free_ char *key = dirty_take(d, now);

	if (!want) {
		assert_null(key);
		return;
	}
	assert_non_null(key);
	assert_string_equal(key, want);
}

static void test_each_name_is_in_it_once(void **state)
{
	struct dirty d = DIRTY_INIT;

	(void)state;
	dirty_mark(&d, "a", 0);
	dirty_mark(&d, "a", 0);
	dirty_mark(&d, "a", 10);
	assert_int_equal(dirty_count(&d), 1);
	assert_take(&d, 0, "a");
	assert_take(&d, USEC_NEVER, NULL);
	assert_int_equal(dirty_count(&d), 0);
	dirty_done(&d);
}

static void test_nothing_is_taken_before_its_time(void **state)
{
	struct dirty d = DIRTY_INIT;

	(void)state;
	assert_true(dirty_next(&d) == USEC_NEVER);
	dirty_mark(&d, "late", 100);
	assert_true(dirty_next(&d) == 100);
	assert_take(&d, 99, NULL);
	assert_take(&d, 100, "late");
	assert_true(dirty_next(&d) == USEC_NEVER);
	dirty_done(&d);
}

static void test_the_earliest_time_wins(void **state)
{
	struct dirty d = DIRTY_INIT;

	(void)state;
	dirty_mark(&d, "a", 100);
	dirty_mark(&d, "b", 60);
	dirty_mark(&d, "a", 200); /* later: no change */
	assert_true(dirty_next(&d) == 60);
	dirty_mark(&d, "a", 50);
	assert_true(dirty_next(&d) == 50);
	assert_take(&d, 1000, "a");
	assert_take(&d, 1000, "b");
	assert_take(&d, 1000, NULL);
	dirty_done(&d);
}

static void test_taking_goes_by_time_then_by_order_of_marking(void **state)
{
	static const char *const want[] = { "now-1", "now-2", "now-3", "five", "six-1", "six-2" };
	struct dirty d = DIRTY_INIT;

	(void)state;
	dirty_mark(&d, "six-1", 6);
	dirty_mark(&d, "now-1", 0);
	dirty_mark(&d, "six-2", 6);
	dirty_mark(&d, "now-2", 0);
	dirty_mark(&d, "five", 5);
	dirty_mark(&d, "now-3", 0);
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_take(&d, 10, want[i]);
	dirty_done(&d);
}

static void test_what_was_taken_can_be_marked_again_at_once(void **state)
{
	struct dirty d = DIRTY_INIT;

	(void)state;
	dirty_mark(&d, "a", 0);
	dirty_mark(&d, "b", 0);
	assert_take(&d, 0, "a");
	dirty_mark(&d, "a", 0);
	assert_take(&d, 0, "b"); /* no name starves another */
	assert_take(&d, 0, "a");
	dirty_done(&d);
}

static void test_the_key_is_copied(void **state)
{
	struct dirty d = DIRTY_INIT;
	char key[] = "pod/a";

	(void)state;
	dirty_mark(&d, key, 0);
	memset(key, 'x', sizeof(key) - 1);
	assert_take(&d, 0, "pod/a");
	dirty_done(&d);
}

static void test_letting_go_of_a_full_set_frees_all(void **state)
{
	struct dirty d = DIRTY_INIT;

	(void)state;
	dirty_mark(&d, "a", 1);
	dirty_mark(&d, "b", 2);
	dirty_done(&d);
	assert_int_equal(dirty_count(&d), 0);
	dirty_done(&d);
}

/* Random marks and takes against a plain array that is searched. */
static void test_agrees_with_an_array_over_many_changes(void **state)
{
	enum { N = 200 };
	static char names[N][8];
	struct {
		bool in;
		usec_t at;
		int order;
	} model[N] = { 0 };
	struct dirty d = DIRTY_INIT;
	struct rng rng = rng_seeded(7);

	(void)state;
	for (int i = 0; i < N; i++)
		snprintf(names[i], sizeof(names[i]), "k%d", i);
	for (int step = 0; step < 50000; step++) {
		usec_t now = step / 10;
		int best = -1;

		if (rng_below(&rng, 5) < 3) {
			size_t i = rng_below(&rng, N);
			usec_t at = now + (usec_t)rng_below(&rng, 50);

			dirty_mark(&d, names[i], at);
			if (!model[i].in)
				model[i].order = step;
			if (!model[i].in || at < model[i].at)
				model[i].at = at;
			model[i].in = true;
			continue;
		}
		for (int i = 0; i < N; i++)
			if (model[i].in && (best < 0 || model[i].at < model[best].at ||
			                    (model[i].at == model[best].at && model[i].order < model[best].order)))
				best = i;
		assert_true(dirty_next(&d) == (best < 0 ? USEC_NEVER : model[best].at));
		if (best >= 0 && model[best].at > now)
			best = -1;
		assert_take(&d, now, best < 0 ? NULL : names[best]);
		if (best >= 0)
			model[best].in = false;
	}
	dirty_done(&d);
}

TEST_MAIN(TEST(each_name_is_in_it_once), TEST(nothing_is_taken_before_its_time), TEST(the_earliest_time_wins),
          TEST(taking_goes_by_time_then_by_order_of_marking), TEST(what_was_taken_can_be_marked_again_at_once),
          TEST(the_key_is_copied), TEST(letting_go_of_a_full_set_frees_all),
          TEST(agrees_with_an_array_over_many_changes))
