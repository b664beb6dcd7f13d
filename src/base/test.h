/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * cmocka with what it wants included before it. Tests read as the promise they check:
 * test_unlock_never_races_a_new_prolog.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef stop /* cmocka 2 takes a word that tests want for themselves */

/* cmocka's own has another name in every version. */
#define assert_between(value, least, most) assert_true((value) >= (least) && (value) <= (most))

#define TEST_MAIN(...)                                                                                                 \
	int main(void)                                                                                                 \
	{                                                                                                              \
		const struct CMUnitTest tests[] = { __VA_ARGS__ };                                                     \
		return cmocka_run_group_tests(tests, NULL, NULL);                                                      \
	}
#define TEST(name) cmocka_unit_test(test_##name)
