/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/rand.h"

#include <string.h>

#include "base/mem.h"
#include "base/test.h"

static void test_the_same_seed_gives_the_same_run(void **state)
{
	struct rng a = rng_seeded(42), b = rng_seeded(42), c = rng_seeded(43);
	bool differs = false;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint64_t v = rng_u64(&a);

		assert_true(v == rng_u64(&b));
		differs |= v != rng_u64(&c);
	}
	assert_true(differs);
}

/* A failing simulation is replayed from its seed, also by a later version: the sequence is part of the contract. */
static void test_the_sequence_of_a_seed_never_changes(void **state)
{
	static const uint64_t want[] = { 0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f };
	struct rng rng = rng_seeded(0);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_true(rng_u64(&rng) == want[i]);
}

static void test_below_stays_below_and_reaches_all(void **state)
{
	struct rng rng = rng_seeded(1);
	int seen[7] = { 0 };

	(void)state;
	for (int i = 0; i < 7000; i++) {
		uint64_t v = rng_below(&rng, 7);

		assert_true(v < 7);
		seen[v]++;
	}
	for (size_t i = 0; i < ARRAY_LEN(seen); i++)
		assert_between(seen[i], 800, 1200);
	/* where 2^64 is no multiple: the low third is not taken twice as often */
	seen[0] = 0;
	for (int i = 0; i < 3000; i++)
		seen[0] += rng_below(&rng, (uint64_t)3 << 62) < (uint64_t)1 << 62;
	assert_between(seen[0], 900, 1100);
	for (int i = 0; i < 100; i++) {
		assert_true(rng_below(&rng, 1) == 0);
		assert_true(rng_below(&rng, UINT64_MAX) < UINT64_MAX);
		assert_true(rng_below(&rng, (uint64_t)1 << 63) < (uint64_t)1 << 63);
	}
}

static void test_the_kernel_gives_something_else_each_time(void **state)
{
	unsigned char a[64] = { 0 }, b[64] = { 0 }, zero[64] = { 0 };
	struct rng x = rng_from_kernel(), y = rng_from_kernel();

	(void)state;
	rand_secure(a, sizeof(a));
	rand_secure(b, sizeof(b));
	assert_memory_not_equal(a, b, sizeof(a));
	assert_memory_not_equal(a, zero, sizeof(a));
	rand_secure(b, 0);
	assert_true(rng_u64(&x) != rng_u64(&y));
}

static void test_backoff_doubles_up_to_its_maximum(void **state)
{
	struct rng rng = rng_seeded(3);
	const usec_t base = 100 * USEC_MSEC, max = 10 * USEC_SEC;

	(void)state;
	for (unsigned attempt = 0; attempt < 70; attempt++) {
		usec_t whole = attempt < 7 ? base << attempt : max, least = max, most = 0;

		for (int i = 0; i < 1000; i++) {
			usec_t span = backoff_span(&rng, attempt, base, max);

			assert_true(span >= whole / 2 && span <= whole);
			least = MIN_OF(least, span);
			most = MAX_OF(most, span);
		}
		/* spread over the whole half: nobody comes back together */
		assert_true(least < whole * 6 / 10 && most > whole * 9 / 10);
	}
	assert_true(backoff_span(&rng, UINT32_MAX, base, max) <= max);
	assert_true(backoff_span(&rng, 0, 1, 1) <= 1);
	assert_true(backoff_span(&rng, 200, 1, INT64_MAX) >= INT64_MAX / 2);
}

TEST_MAIN(TEST(the_same_seed_gives_the_same_run), TEST(the_sequence_of_a_seed_never_changes),
          TEST(below_stays_below_and_reaches_all), TEST(the_kernel_gives_something_else_each_time),
          TEST(backoff_doubles_up_to_its_maximum))
