/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/lock_ask.h"

#include "base/mem.h"
#include "base/test.h"

struct case_row {
	const char *what;
	enum lock_level request; /* on the Pod, and so the next three */
	uint64_t epoch;
	enum lock_state state;
	uint64_t state_for;
	enum lock_level asked;
	uint64_t own;
	bool may_clear;
	enum lock_ask_act act;
	enum lock_level level;
	uint64_t then; /* epoch */
	enum lock_level holds;
	uint64_t first;
};

static void check(const struct case_row *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct case_row *c = &cases[i];
		struct lock_ask_view v = { .pod = { .request = c->request,
			                            .epoch = c->epoch,
			                            .state = c->state,
			                            .state_for = c->state_for },
			                   .asked = c->asked,
			                   .own_epoch = c->own,
			                   .first_epoch = c->first,
			                   .may_clear = c->may_clear };
		struct lock_ask_decision d = lock_ask_decide(&v);

		if (d.act != c->act || d.level != c->level || d.epoch != c->then || d.holds != c->holds)
			fail_msg("%s: act %d level %d epoch %d holds %d", c->what, d.act, d.level, (int)d.epoch,
			         d.holds);
	}
}

#define NORMAL LEVEL_NORMAL
#define STRICT LEVEL_STRICT
#define NONE LEVEL_NONE

static void test_a_prolog_makes_a_request_of_its_own(void **state)
{
	static const struct case_row cases[] = {
		{ "the first ever", .asked = NORMAL, .act = LOCK_ASK_REQUEST, .level = NORMAL, .then = 1 },
		{ "the first of a Pod that counts from elsewhere", .asked = NORMAL, .first = 70,
		  .act = LOCK_ASK_REQUEST, .level = NORMAL, .then = 71 },
		{ "after an earlier one", .epoch = 7, .first = 70, .asked = STRICT, .act = LOCK_ASK_REQUEST,
		  .level = STRICT, .then = 8 },
		{ "over one of an earlier syncer", NORMAL, 7, LOCK_LOCKED, 7, NORMAL, .act = LOCK_ASK_REQUEST,
		  .level = NORMAL, .then = 8 },
		{ "a stricter one", NORMAL, 7, LOCK_LOCKED, 7, STRICT, 7, .act = LOCK_ASK_REQUEST, .level = STRICT,
		  .then = 8, .holds = NORMAL },
		{ "strictness that others need stays", STRICT, 7, LOCK_FALSE, 0, NORMAL, .act = LOCK_ASK_REQUEST,
		  .level = STRICT, .then = 8 },
		{ "withdrawn meanwhile", NONE, 7, LOCK_LOCKED, 7, NORMAL, 7, .act = LOCK_ASK_REQUEST, .level = NORMAL,
		  .then = 8 },
		{ "the watch is behind: no second one", NORMAL, 7, LOCK_LOCKED, 7, NORMAL, 8 },
	};

	(void)state;
	check(cases, ARRAY_LEN(cases));
}

static void test_a_prolog_passes_only_with_a_lock_made_for_our_request(void **state)
{
	static const struct case_row cases[] = {
		{ "not yet", NORMAL, 7, LOCK_FALSE, 0, NORMAL, 7 },
		{ "pending", NORMAL, 7, LOCK_PENDING, 7, NORMAL, 7 },
		{ "locked", NORMAL, 7, LOCK_LOCKED, 7, NORMAL, 7, .holds = NORMAL },
		{ "locked for an older request", NORMAL, 7, LOCK_LOCKED, 6, NORMAL, 7 },
		{ "strictly", STRICT, 7, LOCK_LOCKED_STRICT, 7, NORMAL, 7, .holds = STRICT },
		{ "not strictly enough", STRICT, 7, LOCK_LOCKED, 7, STRICT, 7, .holds = NORMAL },
		{ "by someone who counts nothing", NORMAL, 7, LOCK_LOCKED, 0, NORMAL, 7, .holds = NORMAL },
		{ "a lock that no one asked for", NONE, 7, LOCK_LOCKED, 7, NONE, 7 },
	};

	(void)state;
	check(cases, ARRAY_LEN(cases));
}

static void test_a_request_is_withdrawn_when_nothing_runs(void **state)
{
	static const struct case_row cases[] = {
		{ "something runs", NORMAL, 7, LOCK_LOCKED, 7, NONE, 7, false, .holds = NORMAL },
		{ "nothing runs", NORMAL, 7, LOCK_LOCKED, 7, NONE, 7, true, LOCK_ASK_WITHDRAW, .holds = NORMAL },
		{ "one of an earlier syncer too", STRICT, 7, LOCK_LOCKED, 7, NONE, 0, true, LOCK_ASK_WITHDRAW },
		{ "a prolog waits", NORMAL, 7, LOCK_PENDING, 7, NORMAL, 7, true },
		{ "none is there", NONE, 7, LOCK_FALSE, 0, NONE, 7, true },
		{ "the watch is behind", NORMAL, 7, LOCK_LOCKED, 7, NONE, 8, true },
	};

	(void)state;
	check(cases, ARRAY_LEN(cases));
}

TEST_MAIN(TEST(a_prolog_makes_a_request_of_its_own), TEST(a_prolog_passes_only_with_a_lock_made_for_our_request),
          TEST(a_request_is_withdrawn_when_nothing_runs))
