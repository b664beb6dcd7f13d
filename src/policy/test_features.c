/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/features.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"

static void test_ours_come_and_go_and_others_stay(void **state)
{
	static const struct {
		const char *what, *now, *ours, *wanted, *all, *ours_then;
		bool change;
	} cases[] = {
		{ "nothing anywhere", NULL, NULL, NULL, "", "", false },
		{ "added to the node's own", "dyn", NULL, "h100,ib", "dyn,h100,ib", "h100,ib", true },
		{ "there already", "dyn,h100,ib", "h100,ib", "h100,ib", "dyn,h100,ib", "h100,ib", false },
		{ "in another order", "ib,dyn,h100", "h100,ib", "h100,ib", "dyn,h100,ib", "h100,ib", false },
		{ "one goes", "dyn,h100,ib", "h100,ib", "ib", "dyn,ib", "ib", true },
		{ "all of ours go", "dyn,h100", "h100", NULL, "dyn", "", true },
		{ "what the node has by itself never becomes ours", "dyn,h100", NULL, "h100", "dyn,h100", "", false },
		{ "and so is never taken away", "dyn,h100", "", NULL, "dyn,h100", "", false },
		{ "what somebody took away comes back", "dyn", "h100", "h100", "dyn,h100", "h100", true },
		{ "blanks and doubles", "dyn", NULL, " a , ,a,b", "dyn,a,b", "a,b", true },
		{ "expressions are no names", "dyn", NULL, "a&b,[c],d e,ok", "dyn,ok", "ok", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct features f;

		features_decide(cases[i].now, cases[i].ours, cases[i].wanted, &f);
		if (!str_eq(f.all, cases[i].all) || !str_eq(f.ours, cases[i].ours_then) || f.change != cases[i].change)
			fail_msg("%s: all '%s', ours '%s', change %d", cases[i].what, f.all, f.ours, f.change);
	}
}

static void test_too_many_are_left_out_and_too_long_a_list_is_left_alone(void **state)
{
	static char longer[5000];
	struct features f;

	(void)state;
	for (size_t i = 0; i + 5 < sizeof(longer); i += 5) {
		memcpy(longer + i, "aaaa,", 6);
		longer[i] = (char)('a' + i % 26);
		longer[i + 1] = (char)('a' + i / 26 % 26);
	}
	features_decide("dyn", NULL, longer, &f);
	assert_true(str_starts(f.all, "dyn,") && strlen(f.all) < FEATURES_MAX && strlen(f.ours) < FEATURES_OURS_MAX);
	features_decide(longer, NULL, "h100", &f);
	assert_false(f.change);
}

TEST_MAIN(TEST(ours_come_and_go_and_others_stay), TEST(too_many_are_left_out_and_too_long_a_list_is_left_alone))
