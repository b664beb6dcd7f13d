/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * who.c before an accounting that answers when it is told to.
 */
#include <stdio.h>

#include "base/str.h"
#include "base/test.h"
#include "scheduler/inside.h"

static struct call {
	struct slurm_request rq;
	slurm_done done;
	void *arg;
} last;
static size_t n_calls, n_events;
static char event_text[1100], event_about[128];
static usec_t now;

static void slurm_call(struct slurm_port *p, const struct slurm_request *rq, slurm_done done, void *arg)
{
	(void)p;
	n_calls++;
	last = (struct call) { *rq, done, arg };
}

static void kube_event_sent(struct kube_port *p, const struct kube_event *e)
{
	(void)p;
	n_events++;
	assert_string_equal(e->reason, "Cancelled");
	snprintf(event_text, sizeof(event_text), "%s", e->message);
	snprintf(event_about, sizeof(event_about), "%s/%s/%s", e->about.ns, e->about.name, e->about.uid);
}

static usec_t the_time(const struct clock *c)
{
	(void)c;
	return now;
}

static const struct slurm_port_ops slurm_ops = { .call = slurm_call };
static const struct kube_port_ops kube_ops = { .event = kube_event_sent };
static struct slurm_port slurm_port = { .ops = &slurm_ops };
static struct kube_port kube_port = { .ops = &kube_ops };
static const struct clock clock = { .mono = the_time, .wall = the_time };

static void begin(struct scheduler *s, bool accounting)
{
	n_calls = n_events = 0;
	now = USEC_MINUTE;
	*s = (struct scheduler) { .o = { .slurm = &slurm_port, .kube = &kube_port, .clock = &clock },
		                  .by_job = MAP_INIT,
		                  .accounting = accounting };
	link_init(&s->who);
}

static bool cancelled(struct scheduler *s, const char *key, uint32_t job)
{
	struct entry e = { .uid = "u-1", .key = (char *)key };
	const struct decision d = { .event = "Cancelled", .event_job = job, .and_so = "the Pod is deleted" };

	return who_tell(s, &e, &d);
}

static void answer(enum slurm_outcome outcome, const char *by)
{
	struct job job = { .id = last.rq.job_id, .user_cancelled_by = by };
	struct slurm_result r = { .outcome = outcome, .message = "", .jobs = &job, .n = outcome == SLURM_OK };

	last.done(last.arg, &r);
}

static void later(struct scheduler *s, usec_t span)
{
	now += span;
	who_step(s, now);
}

static void test_without_accounting_nobody_is_asked(void **state)
{
	struct scheduler s;

	(void)state;
	begin(&s, false);
	assert_false(cancelled(&s, "ml/a", 7));
	later(&s, USEC_SEC);
	assert_int_equal(n_calls, 0);
	assert_int_equal(who_next(&s), USEC_NEVER);
}

static void test_the_event_names_who_did_it_once_the_record_is_there(void **state)
{
	struct scheduler s;

	(void)state;
	begin(&s, true);
	assert_true(cancelled(&s, "ml/a", 7));
	assert_true(who_next(&s) < now + USEC_SEC);
	later(&s, 300 * USEC_MSEC);
	assert_int_equal(n_calls, 1);
	assert_int_equal(last.rq.verb, SLURM_LOAD_RECORD);
	assert_int_equal(last.rq.job_id, 7);
	assert_true(last.rq.timeout > 0 && last.rq.timeout <= 5 * USEC_SEC);
	later(&s, USEC_SEC); /* one question at a time */
	assert_int_equal(n_calls, 1);
	answer(SLURM_GONE, NULL); /* not there yet */
	later(&s, 300 * USEC_MSEC);
	assert_int_equal(n_calls, 2);
	assert_int_equal(n_events, 0);
	answer(SLURM_OK, NULL); /* there, but it does not know of the end yet */
	later(&s, 300 * USEC_MSEC);
	answer(SLURM_OK, "user alice (uid 1000)");
	assert_int_equal(n_events, 1);
	assert_string_equal(event_text, "Slurm job 7 was cancelled by user alice (uid 1000); the Pod is deleted");
	assert_string_equal(event_about, "ml/a/u-1");
	assert_int_equal(who_next(&s), USEC_NEVER);
}

static void test_when_accounting_does_not_know_in_time_the_event_is_told_without_a_name(void **state)
{
	struct scheduler s;

	(void)state;
	begin(&s, true);
	cancelled(&s, "ml/a", 7);
	for (int i = 0; i < 100 && !n_events; i++) {
		later(&s, 300 * USEC_MSEC);
		if (s.who_asking)
			answer(SLURM_RETRY, NULL);
	}
	assert_int_equal(n_events, 1);
	assert_string_equal(event_text, "Slurm job 7 was cancelled in Slurm; the Pod is deleted");
	assert_true(now < USEC_MINUTE + 15 * USEC_SEC);
	assert_int_equal(s.n_who, 0);
}

static void test_a_slow_one_does_not_keep_the_others_for_ever(void **state)
{
	struct scheduler s;
	char key[16];

	(void)state;
	begin(&s, true);
	for (uint32_t i = 1; i <= 300; i++) {
		snprintf(key, sizeof(key), "ml/p%u", i);
		if (!cancelled(&s, key, i)) {
			assert_int_equal(i, 257); /* the rest is told at once */
			break;
		}
	}
	for (int i = 0; i < 10; i++) {
		later(&s, 3 * USEC_SEC);
		if (s.who_asking)
			answer(SLURM_RETRY, NULL);
	}
	assert_int_equal(n_events, 256);
	assert_true(n_calls < 10);
}

static void test_an_answer_for_another_leader_is_not_told(void **state)
{
	struct scheduler s;

	(void)state;
	begin(&s, true);
	cancelled(&s, "ml/a", 7);
	later(&s, USEC_SEC);
	who_forget(&s);
	cancelled(&s, "ml/b", 8);
	answer(SLURM_OK, "user alice (uid 1000)");
	assert_int_equal(n_events, 0);
	later(&s, USEC_SEC);
	answer(SLURM_OK, "user bob (uid 1001)");
	assert_string_equal(event_about, "ml/b/u-1");
	who_forget(&s);
}

TEST_MAIN(TEST(without_accounting_nobody_is_asked), TEST(the_event_names_who_did_it_once_the_record_is_there),
          TEST(when_accounting_does_not_know_in_time_the_event_is_told_without_a_name),
          TEST(a_slow_one_does_not_keep_the_others_for_ever), TEST(an_answer_for_another_leader_is_not_told))
