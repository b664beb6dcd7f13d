/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each test is a table of what happens and what is wanted then: letters of the tasks that are to run (S started, M mark,
 * W wait, T terminate, D drain), or the exit status when it is over.
 */
#include "hook/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/test.h"

#define KILL_WAIT (30 * USEC_SEC)

static const char letters[TASKS + 1] = "SMWTD";

/* Time passes by hand. What is wanted runs. */
struct world {
	struct plan plan;
	usec_t now;
	enum plan_news news; /* of the last answer */
};

static struct world world_at_start(usec_t kill_wait)
{
	struct world w = { .now = 5 };

	plan_init(&w.plan, kill_wait, rng_seeded(7));
	return w;
}

static void follow(struct world *w)
{
	for (enum plan_task t = 0; t < TASKS; t++) {
		bool wanted = plan_wants(&w->plan, t, w->now);

		if (wanted && !w->plan.tries[t].running)
			plan_began(&w->plan, t, w->now);
		else if (!wanted && w->plan.tries[t].running)
			plan_stopped(&w->plan, t);
	}
}

/* The letters of what runs. */
static const char *running(struct world *w)
{
	static char text[TASKS + 1];
	size_t n = 0;

	follow(w);
	for (size_t t = 0; t < TASKS; t++)
		if (w->plan.tries[t].running)
			text[n++] = letters[t];
	text[n] = 0;
	return text;
}

static void answer(struct world *w, char letter, int status, int exit_code)
{
	enum plan_task t = (enum plan_task)(strchr(letters, letter) - letters);
	struct plan_answer a = {
		.status = status, .readable = status == 200, .over = exit_code >= 0, .exit_code = exit_code
	};

	assert_true(w->plan.tries[t].running);
	w->news = plan_answered(&w->plan, t, &a, w->now);
}

/* On to the moment when the plan wants something again. */
static usec_t go_on(struct world *w)
{
	usec_t next = plan_next(&w->plan, w->now), span = next - w->now;

	assert_true(next != USEC_NEVER && span >= 0);
	w->now = next;
	follow(w);
	return span;
}

/* Its `started` ended before the Pod did. */
static struct world waiting(void)
{
	struct world w = world_at_start(KILL_WAIT);

	assert_string_equal(running(&w), "S");
	answer(&w, 'S', 204, -1);
	assert_string_equal(running(&w), "MW");
	answer(&w, 'M', 200, -1);
	assert_string_equal(running(&w), "W");
	return w;
}

struct step {
	char who; /* a task's letter: it is answered; '!': a signal; '+': status seconds pass */
	int status, exit_code; /* -1: the answer tells no end */
	const char *runs; /* then; NULL: it is over with exit_code */
};

static void play(const char *name, const struct step *steps, size_t n)
{
	struct world w = world_at_start(KILL_WAIT);

	assert_string_equal(running(&w), "S");
	for (size_t i = 0; i < n; i++) {
		const struct step *s = &steps[i];

		if (s->who == '!')
			plan_end(&w.plan, w.now);
		else if (s->who == '+')
			w.now += s->status * USEC_SEC;
		else
			answer(&w, s->who, s->status, s->exit_code);
		if (s->runs && (plan_is_over(&w.plan, w.now) || strcmp(running(&w), s->runs) != 0))
			fail_msg("%s, step %zu: runs '%s' instead of '%s'", name, i, running(&w), s->runs);
		if (!s->runs && (!plan_is_over(&w.plan, w.now) || w.plan.exit_status != s->exit_code || *running(&w)))
			fail_msg("%s, step %zu: not over with %d", name, i, s->exit_code);
	}
}
#define PLAY(name, ...)                                                                                                \
	play(name, (const struct step[]) { __VA_ARGS__ }, ARRAY_LEN(((const struct step[]) { __VA_ARGS__ })))

static void test_the_pod_s_end_is_the_job_s_end(void **state)
{
	(void)state;
	PLAY("success", { '+', 1, 0, "SM" }, { 'M', 200, -1, "S" }, { '+', 200, 0, "S" }, { 'S', 200, 0, NULL });
	PLAY("exit code", { '+', 1, 0, "SM" }, { 'M', 200, -1, "S" }, { 'S', 204, -1, "W" }, { 'W', 200, 42, NULL });
	PLAY("an older scheduler", { 'S', 200, -1, "MW" }, { 'M', 200, -1, "W" }, { 'W', 200, 0, NULL });
	PLAY("asked again and again", { 'S', 200, -1, "MW" }, { 'M', 200, -1, "W" }, { '+', 60, 0, "W" },
	     { 'W', 204, -1, "W" }, { '+', 60, 0, "W" }, { 'W', 204, -1, "W" }, { 'W', 200, 255, NULL });
	PLAY("gone", { 'S', 200, -1, "MW" }, { 'M', 200, -1, "W" }, { 'W', 200, 143, NULL });
}

static void test_the_end_of_a_short_pod_waits_for_the_mark_but_not_for_long(void **state)
{
	struct world w;

	(void)state;
	PLAY("before it is tried", { 'S', 200, 3, "M" }, { 'M', 200, 3, NULL });
	PLAY("a moment ago", { '+', 1, 0, "SM" }, { 'S', 200, 1, "M" }, { 'M', 200, 1, NULL });
	PLAY("an older scheduler", { 'S', 200, -1, "MW" }, { 'W', 200, 1, "M" }, { 'M', 200, 1, NULL });
	PLAY("in back-off", { 'S', 200, -1, "MW" }, { 'W', 0, -1, "M" }, { '+', 1, 0, "MW" }, { 'W', 200, 8, "M" },
	     { '+', 1, 0, "M" }, { 'M', 200, 8, NULL });
	PLAY("not to be had", { 'S', 200, 3, "M" }, { 'M', PLAN_NO_ANSWER, 3, NULL });
	PLAY("it hangs", { 'S', 200, 3, "M" }, { '+', 1, 0, "M" }, { '+', 1, 3, NULL });
	PLAY("it hangs for long", { 'S', 204, -1, "MW" }, { '+', 90, 0, "MW" }, { 'W', 200, 3, "M" },
	     { '+', 1, 0, "M" }, { '+', 1, 3, NULL });
	PLAY("failed before", { '+', 1, 0, "SM" }, { 'M', PLAN_NO_ANSWER, -1, "S" }, { 'S', 200, 4, NULL });
	PLAY("failed before, tried again", { '+', 1, 0, "SM" }, { 'M', PLAN_NO_ANSWER, -1, "S" }, { '+', 1, 0, "SM" },
	     { 'S', 200, 4, "M" }, { 'M', PLAN_NO_ANSWER, 4, NULL });
	PLAY("a signal", { 'S', 200, 5, "M" }, { '!', 0, 5, NULL });
	w = world_at_start(KILL_WAIT);
	follow(&w);
	answer(&w, 'S', 200, 3);
	follow(&w);
	assert_int_equal(plan_next(&w.plan, w.now), w.now + 2 * USEC_SEC);
	answer(&w, 'M', PLAN_NO_ANSWER, -1);
	assert_int_equal(plan_next(&w.plan, w.now), w.now); /* over: nobody waits for an answer or a signal */
}

static void test_a_signal_at_any_moment_leads_to_terminate_and_nothing_else(void **state)
{
	(void)state;
	PLAY("at the start", { '!', 0, 0, "T" }, { 'T', 200, 143, NULL });
	PLAY("parked", { '+', 1, 0, "SM" }, { 'M', 200, -1, "S" }, { '+', 90, 0, "S" }, { '!', 0, 0, "T" },
	     { 'T', 200, 143, NULL });
	PLAY("parked longer", { 'S', 204, -1, "MW" }, { '!', 0, 0, "T" }, { 'T', 200, 143, NULL });
	PLAY("marked", { '+', 1, 0, "SM" }, { 'M', 200, -1, "S" }, { '!', 0, 0, "T" }, { 'T', 200, 143, NULL });
	PLAY("in back-off", { 'S', 0, -1, "M" }, { '!', 0, 0, "T" }, { '+', 9, 0, "T" }, { 'T', 200, 143, NULL });
	PLAY("told the code", { '!', 0, 0, "T" }, { 'T', 200, 7, NULL });
	PLAY("more signals", { '!', 0, 0, "T" }, { '!', 0, 0, "T" }, { '+', 1, 0, "T" }, { '!', 0, 0, "T" },
	     { 'T', 200, 0, NULL });
	PLAY("not gone yet", { '!', 0, 0, "T" }, { '+', 2, 0, "T" }, { 'T', 204, -1, "T" }, { 'T', 200, 143, NULL });
}

static void test_shortly_before_the_kill_the_node_is_drained(void **state)
{
	(void)state;
	PLAY("drained", { '!', 0, 0, "T" }, { '+', 26, 0, "T" }, { '+', 1, 0, "TD" }, { 'D', 200, -1, "T" },
	     { '+', 100, 0, "T" }, { 'T', 200, 143, NULL });
	PLAY("later signals change nothing", { '!', 0, 0, "T" }, { '+', 20, 0, "T" }, { '!', 0, 0, "T" },
	     { '+', 7, 0, "TD" });
	PLAY("gone while draining", { '!', 0, 0, "T" }, { '+', 27, 0, "TD" }, { 'T', 200, 143, NULL });
	PLAY("drain tried again", { '!', 0, 0, "T" }, { '+', 27, 0, "TD" }, { 'D', 503, -1, "T" }, { '+', 1, 0, "TD" },
	     { 'D', 204, -1, "T" }, { '+', 1, 0, "TD" }, { 'D', 401, -1, "T" }, { '+', 1, 0, "TD" },
	     { 'D', 200, -1, "T" });
	PLAY("hook away all the time", { '!', 0, 0, "T" }, { 'T', 0, -1, "" }, { '+', 27, 0, "TD" },
	     { 'T', 0, -1, "D" }, { 'D', 0, -1, "" }, { '+', 5, 0, "TD" });
}

static void test_the_moment_of_the_drain(void **state)
{
	(void)state;
	assert_int_equal(plan_drain_after(30 * USEC_SEC), 27 * USEC_SEC);
	assert_int_equal(plan_drain_after(300 * USEC_SEC), 297 * USEC_SEC);
	assert_int_equal(plan_drain_after(8 * USEC_SEC), 5 * USEC_SEC);
	assert_int_equal(plan_drain_after(7 * USEC_SEC), 7 * USEC_SEC * 6 / 10);
	assert_int_equal(plan_drain_after(3 * USEC_SEC), 3 * USEC_SEC * 6 / 10);
	assert_int_equal(plan_drain_after(1 * USEC_SEC), 600 * USEC_MSEC);
}

static void test_a_hook_that_is_away_is_tried_for_ever_with_growing_pauses(void **state)
{
	static const int away[] = { PLAN_NO_ANSWER, 503, 500, 429, 504 };
	struct world w = waiting();
	usec_t span = 0;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		answer(&w, 'W', away[(size_t)i % ARRAY_LEN(away)], -1);
		assert_int_equal(w.news, i == 0 ? NEWS_UNREACHABLE : NEWS_NONE);
		assert_string_equal(running(&w), "");
		span = go_on(&w);
		assert_between(span, 100 * USEC_MSEC, 5 * USEC_SEC);
		if (i == 0)
			assert_between(span, 100 * USEC_MSEC, 200 * USEC_MSEC);
		assert_string_equal(running(&w), "W");
	}
	assert_true(span >= 2500 * USEC_MSEC);
	w.now += USEC_MINUTE;
	answer(&w, 'W', 204, -1);
	assert_string_equal(running(&w), "W");
	answer(&w, 'W', 0, -1);
	assert_true(go_on(&w) <= 200 * USEC_MSEC);
}

/* Whoever comes after the scheduler with which it was parked may not know that it has started. */
static void test_a_parked_call_that_breaks_is_made_again(void **state)
{
	(void)state;
	PLAY("broken", { '+', 1, 0, "SM" }, { 'M', 200, -1, "S" }, { '+', 100, 0, "S" }, { 'S', 0, -1, "" },
	     { '+', 1, 0, "S" }, { 'S', 503, -1, "" }, { '+', 1, 0, "S" }, { 'S', 200, 7, NULL });
	PLAY("before the mark", { 'S', 503, -1, "M" }, { '+', 1, 0, "SM" }, { 'S', 200, 7, "M" },
	     { 'M', 200, 7, NULL });
	PLAY("once it is over, `wait` is", { 'S', 204, -1, "MW" }, { 'M', 200, -1, "W" }, { 'W', 0, -1, "" },
	     { '+', 1, 0, "W" }, { 'W', 200, 7, NULL });
}

static void test_a_server_that_never_parks_is_not_asked_without_pause(void **state)
{
	struct world w = waiting();

	(void)state;
	for (int i = 0; i < 3; i++) {
		answer(&w, 'W', 204, -1);
		assert_string_equal(running(&w), "");
		assert_int_equal(go_on(&w), USEC_SEC);
	}
}

static void test_a_refused_token_never_ends_the_job_and_is_said_once(void **state)
{
	struct world w = waiting();

	(void)state;
	for (int i = 0; i < 5000; i++) {
		answer(&w, 'W', 401, -1);
		assert_int_equal(w.news, i == 0 ? NEWS_REFUSED : NEWS_NONE);
		assert_true(go_on(&w) >= 10 * USEC_SEC);
		assert_string_equal(running(&w), "W");
	}
	answer(&w, 'W', 403, -1);
	assert_false(plan_is_over(&w.plan, w.now));
	go_on(&w);
	plan_end(&w.plan, w.now);
	assert_string_equal(running(&w), "T");
	answer(&w, 'T', 403, -1);
	assert_false(plan_is_over(&w.plan, w.now));
	assert_true(plan_next(&w.plan, w.now) < USEC_NEVER);
}

static void test_an_answer_that_makes_no_sense_never_ends_the_job(void **state)
{
	static const int odd[] = { 400, 405, 413, 301, 418, 200, 100, 206 };
	struct plan_answer a = { .exit_code = 0 };
	struct world w = waiting();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
		a.status = odd[i];
		w.news = plan_answered(&w.plan, TASK_WAIT, &a, w.now);
		assert_int_equal(w.news, i == 0 ? NEWS_ODD : NEWS_NONE);
		assert_false(plan_is_over(&w.plan, w.now));
		assert_true(go_on(&w) >= 10 * USEC_SEC);
	}
	plan_end(&w.plan, w.now);
	follow(&w);
	a.status = 200;
	plan_answered(&w.plan, TASK_TERMINATE, &a, w.now);
	assert_false(plan_is_over(&w.plan, w.now));
	assert_true(go_on(&w) >= 10 * USEC_SEC);
	w = world_at_start(KILL_WAIT);
	follow(&w);
	assert_int_equal(plan_answered(&w.plan, TASK_STARTED, &a, w.now), NEWS_ODD); /* who said it has not heard */
	assert_string_equal(running(&w), "M");
	w.now += 11 * USEC_SEC;
	assert_string_equal(running(&w), "SM");
}

/* Answers W with 404 for a span; how long it took to be over, or -1. */
static usec_t unknown_for(struct world *w, char who, usec_t span)
{
	usec_t from = w->now;

	while (w->now - from <= span) {
		answer(w, who, 404, -1);
		if (plan_is_over(&w->plan, w->now))
			return w->now - from;
		go_on(w);
	}
	return -1;
}

static void test_a_job_unknown_for_long_has_nothing_to_guard(void **state)
{
	struct world w = waiting();
	usec_t span;

	(void)state;
	span = unknown_for(&w, 'W', USEC_HOUR);
	assert_between(span, 30 * USEC_SEC, 36 * USEC_SEC);
	assert_int_equal(w.news, NEWS_UNKNOWN);
	assert_int_equal(w.plan.exit_status, 1);
	w = waiting();
	plan_end(&w.plan, w.now);
	follow(&w);
	w.plan.kill_wait = USEC_HOUR; /* no drain between */
	span = unknown_for(&w, 'T', USEC_HOUR);
	assert_between(span, 30 * USEC_SEC, 36 * USEC_SEC);
	assert_int_equal(w.plan.exit_status, PLAN_STATUS_TERM);
}

static void test_a_job_unknown_now_and_then_is_still_guarded(void **state)
{
	static const int between[] = { PLAN_NO_ANSWER, 503, 401, 204 };
	struct world w = waiting();

	(void)state;
	for (size_t i = 0; i < 100; i++) {
		assert_int_equal(unknown_for(&w, 'W', 20 * USEC_SEC), -1);
		follow(&w);
		answer(&w, 'W', between[i % ARRAY_LEN(between)], -1);
		go_on(&w);
	}
	/* two of them with a long silence between say little */
	w = waiting();
	answer(&w, 'W', 404, -1);
	go_on(&w);
	w.now += USEC_HOUR;
	answer(&w, 'W', 404, -1);
	assert_false(plan_is_over(&w.plan, w.now));
}

static void test_the_mark_is_tried_until_it_is_there(void **state)
{
	struct world w = world_at_start(KILL_WAIT);
	usec_t span;

	(void)state;
	follow(&w);
	assert_int_equal(go_on(&w), USEC_SEC);
	assert_string_equal(running(&w), "SM");
	for (int i = 0; i < 1000; i++) {
		answer(&w, 'M', PLAN_NO_ANSWER, -1);
		assert_int_equal(w.news, i == 0 ? NEWS_NOT_MARKED : NEWS_NONE);
		span = go_on(&w);
		assert_between(span, 100 * USEC_MSEC, 5 * USEC_SEC);
		assert_string_equal(running(&w), "SM");
	}
	answer(&w, 'M', 200, -1);
	assert_string_equal(running(&w), "S");
	assert_int_equal(plan_next(&w.plan, w.now), USEC_NEVER);
}

static void test_the_mark_comes_a_second_after_the_call_unless_that_is_answered(void **state)
{
	struct world w = world_at_start(KILL_WAIT);

	(void)state;
	assert_string_equal(running(&w), "S");
	assert_int_equal(go_on(&w), USEC_SEC);
	assert_string_equal(running(&w), "SM");
	PLAY("away", { 'S', PLAN_NO_ANSWER, -1, "M" });
	PLAY("not the leader", { 'S', 503, -1, "M" });
	PLAY("heard", { 'S', 200, -1, "MW" });
}

static void test_trouble_that_comes_anew_is_said_again_but_not_often(void **state)
{
	struct world w = waiting();
	int said = 0;

	(void)state;
	for (int i = 0; i < 3600; i++) { /* an hour of ups and downs */
		answer(&w, 'W', i % 2 ? 204 : 0, -1);
		said += w.news != NEWS_NONE;
		w.now += USEC_SEC;
		follow(&w);
	}
	assert_between(said, 2, 7);
}

TEST_MAIN(TEST(the_pod_s_end_is_the_job_s_end), TEST(the_end_of_a_short_pod_waits_for_the_mark_but_not_for_long),
          TEST(a_signal_at_any_moment_leads_to_terminate_and_nothing_else),
          TEST(shortly_before_the_kill_the_node_is_drained), TEST(the_moment_of_the_drain),
          TEST(a_hook_that_is_away_is_tried_for_ever_with_growing_pauses),
          TEST(a_parked_call_that_breaks_is_made_again), TEST(a_server_that_never_parks_is_not_asked_without_pause),
          TEST(a_refused_token_never_ends_the_job_and_is_said_once),
          TEST(an_answer_that_makes_no_sense_never_ends_the_job), TEST(a_job_unknown_for_long_has_nothing_to_guard),
          TEST(a_job_unknown_now_and_then_is_still_guarded), TEST(the_mark_is_tried_until_it_is_there),
          TEST(the_mark_comes_a_second_after_the_call_unless_that_is_answered),
          TEST(trouble_that_comes_anew_is_said_again_but_not_often))
