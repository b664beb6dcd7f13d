/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/agent/story.h"

#include <stdio.h>

#include "base/str.h"
#include "base/test.h"

static struct buf told;
static bool ending;

static void note(void *arg, const struct story_event *e)
{
	(void)arg;
	assert_true(*e->action);
	buf_printf(&told, "%s%s", told.len ? " " : "", e->reason);
	if (str_eq(e->type, "Warning"))
		buf_printf(&told, "(%s)", e->message);
}

/* What is told of a change of one container. */
static const char *story(const struct box_state *before, const struct box_state *now)
{
	struct box_state b = before ? *before : (struct box_state) { 0 }, n = *now;
	struct pod_state was = { .mains = &b, .n_mains = 1 }, is = { .mains = &n, .n_mains = 1 };

	buf_done(&told);
	told = BUF(4096);
	story_of_change(before ? &was : NULL, &is, "p_ns(u)", ending, note, NULL);
	return buf_text(&told);
}

static const struct box_state waiting = {
	.name = "c", .phase = BOX_WAITING, .reason = "ContainerCreating", .message = ""
};
static const struct box_state running = {
	.name = "c", .phase = BOX_RUNNING, .reason = "", .message = "", .started_at = 5, .ready = true
};
static const struct box_state failed = { .name = "c",
	                                 .phase = BOX_TERMINATED,
	                                 .reason = "",
	                                 .message = "",
	                                 .started_at = 5,
	                                 .exit = { .code = 1, .reason = "Error" } };

static void test_a_start_is_told_once(void **state)
{
	struct box_state ready = running, slow = running;

	(void)state;
	slow.ready = false;
	assert_string_equal(story(NULL, &waiting), "");
	assert_string_equal(story(&waiting, &slow), "Pulled Created Started");
	assert_string_equal(story(&slow, &ready), "");
	assert_string_equal(story(NULL, &running), "Pulled Created Started");
	assert_string_equal(story(&running, &failed), "");
}

static void test_a_run_of_which_only_the_end_is_seen_is_told(void **state)
{
	(void)state;
	assert_string_equal(story(&waiting, &failed), "Pulled Created Started");
}

static void test_what_cannot_start_is_told_with_the_reason(void **state)
{
	struct box_state b = failed;

	(void)state;
	b.exit.reason = "StartError";
	b.message = "no such file";
	assert_string_equal(story(&waiting, &b), "Failed(Error: no such file)");
}

static void test_a_back_off_is_told_for_every_restart(void **state)
{
	struct box_state off = failed, again = running, off_again;

	(void)state;
	off.reason = "CrashLoopBackOff";
	assert_string_equal(story(&failed, &off), "BackOff(Back-off restarting failed container c in pod p_ns(u))");
	assert_string_equal(story(&off, &off), "");
	again.started_at = 9;
	again.restarts = 1;
	assert_string_equal(story(&off, &again), "Pulled Created Started");
	off_again = off;
	off_again.started_at = 9;
	off_again.restarts = 1;
	assert_string_equal(story(&off, &off_again),
	                    "Pulled Created Started BackOff(Back-off restarting failed container c in pod p_ns(u))");
}

static void test_lost_readiness_is_told(void **state)
{
	struct box_state sick = running;

	(void)state;
	sick.ready = false;
	assert_string_equal(story(&running, &sick), "Unhealthy(Container c is no longer ready)");
	ending = true;
	assert_string_equal(story(&running, &sick), "");
	ending = false;
}

static void test_an_end_names_those_that_run(void **state)
{
	struct box_state boxes[] = { running, failed, waiting };
	struct pod_state is = { .mains = boxes, .n_mains = 3 };

	(void)state;
	buf_done(&told);
	told = BUF(4096);
	story_of_end(&is, note, NULL);
	assert_string_equal(buf_text(&told), "Killing");
	story_of_end(NULL, note, NULL);
	buf_done(&told);
}

TEST_MAIN(TEST(a_start_is_told_once), TEST(a_run_of_which_only_the_end_is_seen_is_told),
          TEST(what_cannot_start_is_told_with_the_reason), TEST(a_back_off_is_told_for_every_restart),
          TEST(lost_readiness_is_told), TEST(an_end_names_those_that_run))
