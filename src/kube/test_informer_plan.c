/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/informer_plan.h"

#include "base/str.h"
#include "base/test.h"

#define S USEC_SEC

/* One thing that happens, `after` that long; and what must follow. */
struct row {
	struct plan_news news;
	usec_t after;  /* since the last step was due */
	bool heard;    /* a byte came just before */
	enum plan_step step;
	usec_t wait_min, wait_max;
	const char *version, *token; /* to go on from; NULL = not looked at */
};

#define NOW 0, 0
#define WAIT(n) ((usec_t)(PLAN_BACKOFF_BASE << (n)) / 2), (usec_t)(PLAN_BACKOFF_BASE << (n))
#define PAGE(v, t) { PLAN_PAGE, .version = v, .token = t }
#define LISTED(v) { PLAN_LISTED, .version = v }
#define NEWS(e) { .event = e }
#define LIVED(e) { .event = e, .accepted = true }

struct scenario {
	const char *name;
	struct row rows[12];
	bool custom;
};

static const struct scenario scenarios[] = {
	{ "pages, then a watch from their version",
	  {
	          { NEWS(PLAN_START), 0, false, PLAN_DO_LIST, NOW, NULL, NULL },
	          { PAGE("261", "t1"), S, false, PLAN_DO_PAGE, NOW, NULL, "t1" },
	          { PAGE("261", "t2"), S, false, PLAN_DO_PAGE, NOW, NULL, "t2" },
	          { LISTED("261"), S, false, PLAN_DO_WATCH, NOW, "261", NULL },
	          { LIVED(PLAN_WATCH_ENDED), 300 * S, true, PLAN_DO_WATCH, NOW, "261", NULL },
	  } },
	{ "a watch that ends at once again and again is slowed down, and forgiven after a good one",
	  {
	          { NEWS(PLAN_START), 0, false, PLAN_DO_LIST, NOW, NULL, NULL },
	          { LISTED("5"), 0, false, PLAN_DO_WATCH, NOW, "5", NULL },
	          { LIVED(PLAN_WATCH_ENDED), 0, true, PLAN_DO_WATCH, WAIT(0), "5", NULL },
	          { LIVED(PLAN_WATCH_ENDED), 0, true, PLAN_DO_WATCH, WAIT(1), "5", NULL },
	          { NEWS(PLAN_WATCH_ENDED), 0, true, PLAN_DO_WATCH, WAIT(2), "5", NULL },
	          { LIVED(PLAN_WATCH_ENDED), 0, true, PLAN_DO_WATCH, WAIT(3), "5", NULL },
	          { LIVED(PLAN_WATCH_ENDED), 11 * S, true, PLAN_DO_WATCH, NOW, "5", NULL },
	          { LIVED(PLAN_WATCH_ENDED), 0, true, PLAN_DO_WATCH, WAIT(0), "5", NULL },
	  } },
	{ "an unreachable server is asked less and less often, also when each try takes long",
	  {
	          { NEWS(PLAN_START), 0, false, PLAN_DO_LIST, NOW, NULL, NULL },
	          { NEWS(PLAN_LIST_FAILED), 5 * S, false, PLAN_DO_LIST, WAIT(0), NULL, NULL },
	          { NEWS(PLAN_LIST_FAILED), 5 * S, false, PLAN_DO_LIST, WAIT(1), NULL, NULL },
	          { LISTED("5"), 0, false, PLAN_DO_WATCH, NOW, "5", NULL },
	          { NEWS(PLAN_WATCH_ENDED), 30 * S, false, PLAN_DO_WATCH, WAIT(2), "5", NULL },
	  } },
	{ "a server that was away and has forgotten what was is asked for all at once",
	  {
	          { NEWS(PLAN_START), 0, false, PLAN_DO_LIST, NOW, NULL, NULL },
	          { LISTED("5"), 0, false, PLAN_DO_WATCH, NOW, "5", NULL },
	          { NEWS(PLAN_WATCH_ENDED), 0, false, PLAN_DO_WATCH, WAIT(0), "5", NULL },
	          { NEWS(PLAN_WATCH_ENDED), 0, false, PLAN_DO_WATCH, WAIT(1), "5", NULL },
	          { NEWS(PLAN_WATCH_ENDED), 0, false, PLAN_DO_WATCH, WAIT(2), "5", NULL },
	          { NEWS(PLAN_WATCH_ENDED), 0, false, PLAN_DO_WATCH, WAIT(3), "5", NULL },
	          { NEWS(PLAN_WATCH_EXPIRED), 0, false, PLAN_DO_LIST, WAIT(0), NULL, NULL },
	          { LISTED("9"), 0, false, PLAN_DO_WATCH, NOW, "9", NULL },
	  } },
	{ "what the server asks for with Retry-After is the least",
	  {
	          { NEWS(PLAN_START), 0, false, PLAN_DO_LIST, NOW, NULL, NULL },
	          { { PLAN_LIST_FAILED, .retry_after = 7 * S }, 0, false, PLAN_DO_LIST, 7 * S, 7 * S, NULL, NULL },
	          { LISTED("5"), 0, false, PLAN_DO_WATCH, NOW, "5", NULL },
	          { { PLAN_WATCH_ENDED, .retry_after = 9 * S }, 0, true, PLAN_DO_WATCH, 9 * S, 9 * S, "5", NULL },
	  } },
	{ "a page that fails is asked for again, a page that is refused begins the list again",
	  {
	          { NEWS(PLAN_START), 0, false, PLAN_DO_LIST, NOW, NULL, NULL },
	          { PAGE("5", "t1"), 0, false, PLAN_DO_PAGE, NOW, NULL, "t1" },
	          { NEWS(PLAN_LIST_FAILED), 0, false, PLAN_DO_PAGE, WAIT(0), NULL, "t1" },
	          { NEWS(PLAN_LIST_REFUSED), 0, false, PLAN_DO_LIST, WAIT(0), NULL, NULL },
	          { PAGE("7", "t2"), 0, false, PLAN_DO_PAGE, NOW, NULL, "t2" },
	          { LISTED("7"), 0, false, PLAN_DO_WATCH, NOW, "7", NULL },
	  } },
	{ "an expired version is listed anew, at once after a good watch",
	  {
	          { NEWS(PLAN_START), 0, false, PLAN_DO_LIST, NOW, NULL, NULL },
	          { LISTED("5"), 0, false, PLAN_DO_WATCH, NOW, "5", NULL },
	          { LIVED(PLAN_WATCH_EXPIRED), 60 * S, true, PLAN_DO_LIST, NOW, NULL, NULL },
	          { LISTED("9"), 0, false, PLAN_DO_WATCH, NOW, "9", NULL },
	          { NEWS(PLAN_WATCH_EXPIRED), 0, false, PLAN_DO_LIST, WAIT(0), NULL, NULL },
	          { LISTED("10"), 0, false, PLAN_DO_WATCH, NOW, "10", NULL },
	          { NEWS(PLAN_WATCH_EXPIRED), 0, false, PLAN_DO_LIST, WAIT(1), NULL, NULL },
	  } },
	{ "a list that expires half-way begins again; the second time it goes on and is watched from its first page",
	  {
	          { NEWS(PLAN_START), 0, false, PLAN_DO_LIST, NOW, NULL, NULL },
	          { PAGE("5", "t1"), 0, false, PLAN_DO_PAGE, NOW, NULL, "t1" },
	          { { PLAN_LIST_EXPIRED, .token = "x" }, 0, false, PLAN_DO_LIST, WAIT(0), NULL, NULL },
	          { PAGE("6", "t2"), 0, false, PLAN_DO_PAGE, NOW, NULL, "t2" },
	          { { PLAN_LIST_EXPIRED, .token = "y" }, 0, false, PLAN_DO_PAGE, WAIT(1), NULL, "y" },
	          { PAGE("9", "t3"), 0, false, PLAN_DO_PAGE, NOW, NULL, "t3" },
	          { LISTED("9"), 0, false, PLAN_DO_WATCH, NOW, "6", NULL },
	          { NEWS(PLAN_WATCH_EXPIRED), 0, false, PLAN_DO_LIST, WAIT(2), NULL, NULL },
	  } },
	{ "an expired list without a token always begins again",
	  {
	          { NEWS(PLAN_START), 0, false, PLAN_DO_LIST, NOW, NULL, NULL },
	          { NEWS(PLAN_LIST_EXPIRED), 0, false, PLAN_DO_LIST, WAIT(0), NULL, NULL },
	          { NEWS(PLAN_LIST_EXPIRED), 0, false, PLAN_DO_LIST, WAIT(1), NULL, NULL },
	          { PAGE("5", "t1"), 0, false, PLAN_DO_PAGE, NOW, NULL, "t1" },
	          { NEWS(PLAN_LIST_EXPIRED), 0, false, PLAN_DO_LIST, WAIT(2), NULL, NULL },
	  } },
	{ "silence longer than any healthy server's is answered with a list (a version from before a restored etcd)",
	  {
	          { NEWS(PLAN_START), 0, false, PLAN_DO_LIST, NOW, NULL, NULL },
	          { LISTED("999"), 0, false, PLAN_DO_WATCH, NOW, "999", NULL },
	          { LIVED(PLAN_WATCH_ENDED), 90 * S, false, PLAN_DO_LIST, NOW, NULL, NULL },
	          { LISTED("7"), 0, false, PLAN_DO_WATCH, NOW, "7", NULL },
	  } },
	{ "silence counts over several watches, when something between us and the server cuts them short",
	  {
	          { NEWS(PLAN_START), 0, false, PLAN_DO_LIST, NOW, NULL, NULL },
	          { LISTED("999"), 0, false, PLAN_DO_WATCH, NOW, "999", NULL },
	          { LIVED(PLAN_WATCH_ENDED), 50 * S, false, PLAN_DO_WATCH, NOW, "999", NULL },
	          { LIVED(PLAN_WATCH_ENDED), 50 * S, false, PLAN_DO_LIST, NOW, NULL, NULL },
	  } },
	{ "garbage: back-off and the same version again, a new list after the third time",
	  {
	          { NEWS(PLAN_START), 0, false, PLAN_DO_LIST, NOW, NULL, NULL },
	          { LISTED("5"), 0, false, PLAN_DO_WATCH, NOW, "5", NULL },
	          { LIVED(PLAN_WATCH_BAD), 20 * S, true, PLAN_DO_WATCH, WAIT(0), "5", NULL },
	          { LIVED(PLAN_WATCH_BAD), 0, true, PLAN_DO_WATCH, WAIT(1), "5", NULL },
	          { LIVED(PLAN_WATCH_BAD), 0, true, PLAN_DO_LIST, WAIT(2), NULL, NULL },
	          { LISTED("6"), 0, false, PLAN_DO_WATCH, NOW, "6", NULL },
	          { LIVED(PLAN_WATCH_BAD), 0, true, PLAN_DO_WATCH, WAIT(3), "6", NULL },
	  } },
	{ "a line over the maximum would come again: list, after a wait",
	  {
	          { NEWS(PLAN_START), 0, false, PLAN_DO_LIST, NOW, NULL, NULL },
	          { LISTED("5"), 0, false, PLAN_DO_WATCH, NOW, "5", NULL },
	          { LIVED(PLAN_WATCH_TOO_LARGE), 60 * S, true, PLAN_DO_LIST, WAIT(0), NULL, NULL },
	  } },
	{ "a custom kind is listed anew when its watch ends early: its definition may have changed",
	  {
	          { NEWS(PLAN_START), 0, false, PLAN_DO_LIST, NOW, NULL, NULL },
	          { LISTED("5"), 0, false, PLAN_DO_WATCH, NOW, "5", NULL },
	          { LIVED(PLAN_WATCH_ENDED), 20 * S, true, PLAN_DO_LIST, NOW, NULL, NULL },
	          { LISTED("6"), 0, false, PLAN_DO_WATCH, NOW, "6", NULL },
	          { LIVED(PLAN_WATCH_ENDED), 0, true, PLAN_DO_LIST, WAIT(0), NULL, NULL },
	          { LISTED("7"), 0, false, PLAN_DO_WATCH, NOW, "7", NULL },
	          { NEWS(PLAN_WATCH_ENDED), 0, true, PLAN_DO_WATCH, WAIT(1), "7", NULL },
	          { LIVED(PLAN_WATCH_ENDED), 400 * S, true, PLAN_DO_WATCH, NOW, "7", NULL },
	  },
	  .custom = true },
};

static void run(const struct scenario *scenario, uint64_t seed)
{
	struct rng rng = rng_seeded(seed);
	usec_t now = 1000 * S;
	struct plan p;

	plan_init(&p);
	p.custom = scenario->custom;
	for (const struct row *r = scenario->rows; r < scenario->rows + 12; r++) {
		if (r > scenario->rows && r->news.event == PLAN_START)
			break;
		now = MAX_OF(now, p.at) + r->after;
		if (r->heard)
			plan_heard(&p, now);
		plan_next(&p, &r->news, now, &rng);
		if (p.step != r->step || p.at - now < r->wait_min || p.at - now > r->wait_max)
			fail_msg("%s: row %td: step %d after %lld µs", scenario->name, r - scenario->rows, p.step,
			         (long long)(p.at - now));
		if (r->version)
			assert_string_equal(p.version, r->version);
		if (r->step != PLAN_DO_WATCH && !str_eq(p.token, r->token))
			fail_msg("%s: row %td: token %s", scenario->name, r - scenario->rows, str_or(p.token, "none"));
	}
	plan_done(&p);
}

static void test_the_table_of_what_happens_and_what_follows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(scenarios); i++)
		for (uint64_t seed = 0; seed < 50; seed++)
			run(&scenarios[i], seed);
}

static void test_a_page_too_large_is_asked_for_in_smaller_ones(void **state)
{
	struct rng rng = rng_seeded(1);
	unsigned last = PLAN_PAGE_LIMIT;
	struct plan p;

	(void)state;
	plan_init(&p);
	plan_next(&p, &(struct plan_news) { PLAN_START }, 0, &rng);
	plan_next(&p, &(struct plan_news) { PLAN_PAGE, .version = "5", .token = "t" }, 0, &rng);
	while (p.limit > 1) {
		plan_next(&p, &(struct plan_news) { PLAN_LIST_TOO_LARGE }, 0, &rng);
		assert_int_equal(p.step, PLAN_DO_PAGE);
		assert_string_equal(p.token, "t");
		assert_true(p.limit < last && p.limit >= 1);
		last = p.limit;
	}
	plan_next(&p, &(struct plan_news) { PLAN_LIST_TOO_LARGE }, 0, &rng);
	assert_int_equal(p.step, PLAN_DO_LIST);
	assert_true(p.at > 0);
	plan_done(&p);
}

/* Who is away is asked every few seconds, however long it has been away: it may be back. */
static void test_waits_stay_under_their_maximum_however_often_it_fails(void **state)
{
	static const struct {
		struct plan_news news;
		usec_t max;
	} rows[] = {
		{ NEWS(PLAN_LIST_FAILED), PLAN_AWAY_MAX },     { NEWS(PLAN_WATCH_ENDED), PLAN_AWAY_MAX },
		{ LIVED(PLAN_WATCH_ENDED), PLAN_AWAY_MAX },    { NEWS(PLAN_LIST_REFUSED), PLAN_BACKOFF_MAX },
		{ NEWS(PLAN_LIST_EXPIRED), PLAN_BACKOFF_MAX }, { NEWS(PLAN_WATCH_EXPIRED), PLAN_BACKOFF_MAX },
		{ LIVED(PLAN_WATCH_BAD), PLAN_BACKOFF_MAX },   { LIVED(PLAN_WATCH_TOO_LARGE), PLAN_BACKOFF_MAX },
	};

	(void)state;
	for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
		struct rng rng = rng_seeded(7);
		struct plan p;

		plan_init(&p);
		for (int i = 0; i < 1000; i++) {
			plan_next(&p, &rows[r].news, 0, &rng);
			assert_true(p.at > 0 && p.at <= rows[r].max);
		}
		assert_true(p.at >= rows[r].max / 2);
		plan_done(&p);
	}
}

static void test_watches_do_not_all_end_together(void **state)
{
	unsigned low = UINT32_MAX, high = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct rng rng = rng_seeded(seed);
		struct plan p;

		plan_init(&p);
		plan_next(&p, &(struct plan_news) { PLAN_LISTED, .version = "1" }, 0, &rng);
		low = MIN_OF(low, p.watch_s);
		high = MAX_OF(high, p.watch_s);
		plan_done(&p);
	}
	assert_between(low, 270, 280);
	assert_between(high, 320, 330);
}

static void test_a_resource_version_is_opaque_and_bounded(void **state)
{
	char too_long[PLAN_VERSION_MAX + 2];
	struct plan p;

	(void)state;
	plan_init(&p);
	plan_seen(&p, "10");
	plan_seen(&p, "9");
	assert_string_equal(p.version, "9");
	plan_seen(&p, "");
	plan_seen(&p, NULL);
	memset(too_long, '1', sizeof(too_long));
	too_long[PLAN_VERSION_MAX + 1] = '\0';
	plan_seen(&p, too_long);
	assert_string_equal(p.version, "9");
}

TEST_MAIN(TEST(the_table_of_what_happens_and_what_follows), TEST(a_page_too_large_is_asked_for_in_smaller_ones),
          TEST(waits_stay_under_their_maximum_however_often_it_fails), TEST(watches_do_not_all_end_together),
          TEST(a_resource_version_is_opaque_and_bounded))
