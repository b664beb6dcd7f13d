/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/map.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rand.h"
#include "base/test.h"

static void test_put_get_remove(void **state)
{
	struct map m = MAP_INIT;
	int a, b;

	(void)state;
	assert_null(map_get(&m, "a"));
	assert_null(map_remove(&m, "a"));
	assert_null(map_put(&m, "a", &a));
	assert_ptr_equal(map_put(&m, "a", &b), &a);
	assert_ptr_equal(map_get(&m, "a"), &b);
	assert_int_equal(map_count(&m), 1);
	assert_ptr_equal(map_remove(&m, "a"), &b);
	assert_null(map_get(&m, "a"));
	assert_int_equal(map_count(&m), 0);
	map_done(&m);
}

static void test_walk_goes_in_order_of_insertion_and_allows_removal(void **state)
{
	static const char *const names[] = { "z", "b", "q", "a", "m" };
	struct map m = MAP_INIT;
	size_t i = 0, seen = 0;
	const char *v;

	(void)state;
	for (size_t n = 0; n < ARRAY_LEN(names); n++)
		map_put(&m, names[n], (void *)(uintptr_t)names[n]);
	while ((v = map_next(&m, &i))) {
		assert_string_equal(v, names[seen++]);
		if (*v == 'q')
			map_remove(&m, v);
	}
	assert_int_equal(seen, 5);
	assert_int_equal(map_count(&m), 4);
	map_done(&m);
}

/* Random puts and removes against a plain array. */
static void test_agrees_with_an_array_over_many_changes(void **state)
{
	enum { N = 500 };
	static char names[N][8];
	bool present[N] = { 0 };
	struct map m = MAP_INIT;
	struct rng rng = rng_seeded(1);
	size_t count = 0;

	(void)state;
	for (int i = 0; i < N; i++)
		snprintf(names[i], sizeof(names[i]), "k%d", i);
	for (int step = 0; step < 100000; step++) {
		size_t i = rng_below(&rng, N);

		if (rng_below(&rng, 2)) {
			assert_ptr_equal(map_put(&m, names[i], names[i]), present[i] ? names[i] : NULL);
			count += !present[i];
			present[i] = true;
		} else {
			assert_ptr_equal(map_remove(&m, names[i]), present[i] ? names[i] : NULL);
			count -= present[i];
			present[i] = false;
		}
		assert_int_equal(map_count(&m), count);
	}
	for (size_t i = 0; i < N; i++)
		assert_ptr_equal(map_get(&m, names[i]), present[i] ? names[i] : NULL);
	map_done(&m);
}

TEST_MAIN(TEST(put_get_remove), TEST(walk_goes_in_order_of_insertion_and_allows_removal),
          TEST(agrees_with_an_array_over_many_changes))
