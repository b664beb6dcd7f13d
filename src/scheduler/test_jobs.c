/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * jobs.c before a Slurm that answers when it is told to: when is "the same again" all that needs to be said?
 */
#include "base/str.h"
#include "base/test.h"
#include "scheduler/inside.h"

#define CALLS_MAX 64
#define UID "11111111-2222-3333-4444-555555555555"

static struct call {
	struct slurm_request rq;
	slurm_done done;
	void *arg;
} calls[CALLS_MAX];
static size_t n_calls;
static usec_t now = USEC_HOUR;

static usec_t hand_now(const struct clock *c)
{
	(void)c;
	return now;
}

static const struct clock hand = { .mono = hand_now, .wall = hand_now };

static void slurm_call(struct slurm_port *p, const struct slurm_request *rq, slurm_done done, void *arg)
{
	(void)p;
	assert_true(n_calls < CALLS_MAX);
	calls[n_calls++] = (struct call) { *rq, done, arg };
}

static const struct slurm_port_ops ops = { .call = slurm_call };
static struct slurm_port port = { .ops = &ops };

static void begin(struct scheduler *s)
{
	n_calls = 0;
	*s = (struct scheduler) { .o = { .slurm = &port,
		                         .clock = &hand,
		                         .bell_port = 1,
		                         .poll_min = 200 * USEC_MSEC,
		                         .poll_max = 10 * USEC_SEC },
		                  .conf_due = USEC_NEVER };
	s->pods = store_new(store_kind_of(KUBE_PODS));
	link_init(&s->wants);
	link_init(&s->list_wants);
	link_init(&s->submit_turns);
	link_init(&s->condition_turns);
}

static void end(struct scheduler *s)
{
	struct entry *e = entry_get(s, UID);

	while (e && e->n_jobs)
		jobs_forget(s, e->jobs[0]);
	if (e) {
		map_remove(&s->by_uid, e->uid);
		free(e->key);
		free(e->jobs);
		free(e);
	}
	loads_done(s);
	map_done(&s->by_uid);
	map_done(&s->by_job);
	dirty_done(&s->dirty);
	free(s->memo_nodes);
	store_free(s->pods);
}

/* Slurm is asked, and answers a moment later. */
static const struct slurm_request *step(struct scheduler *s, enum slurm_verb verb, struct slurm_result *r)
{
	struct call c = { 0 };

	now = MAX_OF(now + USEC_SEC, verb == SLURM_LOAD_JOBS ? s->list_due : s->states_due);
	n_calls = 0;
	jobs_step(s, now);
	for (size_t i = 0; i < n_calls; i++)
		if (calls[i].rq.verb == verb)
			c = calls[i];
		else /* not what this is about */
			calls[i].done(calls[i].arg,
			              &(struct slurm_result) { .outcome = SLURM_RETRY, .message = "", .asked = now });
	assert_non_null(c.done);
	calls[0] = c;
	r->asked = now;
	r->message = "";
	now += USEC_MSEC;
	c.done(c.arg, r);
	return &calls[0].rq;
}

static struct job one(int state)
{
	return (struct job) { .id = 7,
		              .state = state,
		              .name = "ns.pod",
		              .extra = "ns/pod/" UID,
		              .reason = "Priority",
		              .submitted = USEC_SEC };
}

static const struct slurm_request *list(struct scheduler *s, int state, uint64_t digest)
{
	struct job job = one(state);

	return step(s, SLURM_LOAD_JOBS,
	            &(struct slurm_result) { .outcome = SLURM_OK, .jobs = &job, .n = 1, .digest = digest });
}

static const struct slurm_request *states(struct scheduler *s, int state, uint64_t digest)
{
	struct job_brief brief = { .id = 7, .state = state };

	return step(s, SLURM_LOAD_JOB_STATES,
	            &(struct slurm_result) { .outcome = SLURM_OK, .states = &brief, .n = 1, .digest = digest });
}

static const struct slurm_request *unchanged(struct scheduler *s, enum slurm_verb verb)
{
	return step(s, verb, &(struct slurm_result) { .outcome = SLURM_UNCHANGED });
}

static void test_a_script_of_an_earlier_job_of_that_number_ends_nothing(void **state)
{
	struct scheduler s;
	struct entry *e;
	struct job job = one(JOB_PENDING);

	(void)state;
	begin(&s);
	e = jobs_learn(&s, &job, now)->entry;
	e->terminate_job = 7;
	e->terminate_at = now + 2;
	jobs_get(&s, 7)->known_at = 0;
	assert_non_null(jobs_learn(&s, &job, now + 1)); /* it may have begun since */
	assert_int_equal(e->terminate_job, 7);
	jobs_get(&s, 7)->known_at = 0;
	assert_non_null(jobs_learn(&s, &job, now + 3));
	assert_int_equal(e->terminate_job, 0);
	e->terminate_job = 7;
	job.state = JOB_RUNNING;
	jobs_get(&s, 7)->known_at = 0;
	assert_non_null(jobs_learn(&s, &job, now + 4)); /* it is this one's */
	assert_int_equal(e->terminate_job, 7);
	end(&s);
}

static void test_what_is_known_already_need_not_be_told_again(void **state)
{
	struct scheduler s;
	usec_t span;

	(void)state;
	begin(&s);
	assert_int_equal(list(&s, JOB_PENDING, 11)->digest, 0);
	assert_true(calls[0].rq.lean);
	assert_int_equal(states(&s, JOB_PENDING, 22)->digest, 0);
	assert_int_equal(unchanged(&s, SLURM_LOAD_JOB_STATES)->digest, 22);
	assert_int_equal(unchanged(&s, SLURM_LOAD_JOBS)->digest, 11);
	assert_int_equal(jobs_get(&s, 7)->known_at, now); /* as good as a list */
	assert_int_equal(s.listed_at, now - USEC_MSEC);
	span = s.list_due - now;
	unchanged(&s, SLURM_LOAD_JOBS);
	assert_int_equal(s.list_due - now, 2 * span);
	for (int i = 0; i < 9; i++)
		unchanged(&s, SLURM_LOAD_JOBS);
	assert_int_equal(s.list_due - now, 5 * USEC_MINUTE);
	end(&s);
}

/* A job of anyone's began or ended: why ours wait may be another reason now. Lists that have become rare come soon. */
static void test_when_slurm_is_stirred_reasons_are_asked_for_soon(void **state)
{
	struct scheduler s;
	usec_t listed;

	(void)state;
	begin(&s);
	list(&s, JOB_PENDING, 11);
	states(&s, JOB_PENDING, 22);
	for (int i = 0; i < 9; i++)
		unchanged(&s, SLURM_LOAD_JOBS);
	listed = s.listed_at;
	unchanged(&s, SLURM_LOAD_JOB_STATES);
	assert_true(s.list_due > now + USEC_MINUTE);
	while (now < listed + USEC_MINUTE)
		unchanged(&s, SLURM_LOAD_JOB_STATES);
	states(&s, JOB_PENDING, 33);
	assert_true(s.list_due <= now);
	unchanged(&s, SLURM_LOAD_JOBS);
	states(&s, JOB_PENDING, 44); /* but not one list after the other */
	assert_int_equal(s.list_due, s.listed_at + 10 * USEC_SEC);
	end(&s);
}

static void test_as_soon_as_more_is_known_all_is_asked_for(void **state)
{
	struct job other = one(JOB_PENDING);
	struct scheduler s;

	(void)state;
	begin(&s);
	list(&s, JOB_PENDING, 11);
	states(&s, JOB_PENDING, 22);
	other.reason = "Resources";
	jobs_learn(&s, &other, now); /* somebody asked for this one */
	assert_int_equal(s.list_digest, 0);
	assert_int_equal(s.states_digest, 0);
	list(&s, JOB_PENDING, 11);
	jobs_submitted(&s, entry_get(&s, UID), 8, NULL);
	assert_int_equal(s.list_digest, 0);
	end(&s);
}

static void test_an_answer_that_was_not_believed_is_no_measure(void **state)
{
	struct scheduler s;

	(void)state;
	begin(&s);
	list(&s, JOB_PENDING, 11);
	jobs_get(&s, 7)->known_at = now + USEC_MINUTE; /* newer than all that follows */
	list(&s, JOB_PENDING, 12);
	assert_int_equal(s.list_digest, 0);
	states(&s, JOB_PENDING, 22);
	assert_int_equal(s.states_digest, 0);
	end(&s);
}

static void test_states_that_changed_are_told_until_they_are_known(void **state)
{
	struct scheduler s;

	(void)state;
	begin(&s);
	list(&s, JOB_PENDING, 11);
	assert_int_equal(states(&s, JOB_RUNNING, 23)->digest, 0); /* now the job is asked for: who knows what comes */
	assert_int_equal(states(&s, JOB_RUNNING, 23)->digest, 0);
	end(&s);
}

static void test_a_list_that_someone_waits_for_is_told_whole(void **state)
{
	struct scheduler s;

	(void)state;
	begin(&s);
	list(&s, JOB_PENDING, 11);
	for (uint32_t i = 0; i < 8; i++)
		jobs_load_one(&s, 100 + i);
	assert_true(loads_want_list(&s));
	assert_int_equal(list(&s, JOB_PENDING, 11)->digest, 0);
	end(&s);
}

static void test_states_are_asked_for_less_often_while_all_jobs_wait(void **state)
{
	struct scheduler s;

	(void)state;
	begin(&s);
	list(&s, JOB_PENDING, 11);
	for (int i = 0; i < 9; i++)
		states(&s, JOB_PENDING, 22);
	assert_int_equal(s.states_due - now, 10 * USEC_SEC);
	s.o.bell_port = 0; /* nobody rings */
	unchanged(&s, SLURM_LOAD_JOB_STATES);
	assert_int_equal(s.states_due - now, 2 * USEC_SEC);
	s.o.bell_port = 1;
	list(&s, JOB_RUNNING, 12);
	for (int i = 0; i < 9; i++)
		states(&s, JOB_RUNNING, 23);
	assert_int_equal(s.states_due - now, 2 * USEC_SEC);
	end(&s);
}

static void test_a_ring_for_a_job_that_was_let_go_is_no_hurry(void **state)
{
	struct scheduler s;

	(void)state;
	begin(&s);
	list(&s, JOB_RUNNING, 11);
	s.states_due = now + USEC_MINUTE;
	jobs_ring(&s);
	assert_true(s.states_due - now <= 250 * USEC_MSEC);
	s.states_due = now + USEC_MINUTE;
	s.let_go_at = now;
	jobs_ring(&s);
	assert_int_equal(s.states_due - now, USEC_SEC);
	now += 5 * USEC_SEC;
	s.states_due = now + USEC_MINUTE;
	jobs_ring(&s);
	assert_true(s.states_due - now <= 250 * USEC_MSEC);
	end(&s);
}

static void test_a_job_of_another_user_is_no_pods_job(void **state)
{
	struct scheduler s;
	struct job job = one(JOB_RUNNING);

	(void)state;
	begin(&s);
	job.uid = 1000;
	assert_null(jobs_learn(&s, &job, now));
	assert_null(entry_get(&s, UID));
	job.admin_comment = "sunk: ns/pod/" UID;
	assert_non_null(jobs_learn(&s, &job, now)); /* submitted by us, for that user */
	end(&s);
}

static void test_a_job_that_is_known_stays_its_pods_whatever_it_is_called(void **state)
{
	struct scheduler s;
	struct job job = one(JOB_RUNNING);
	struct known_job *j;

	(void)state;
	begin(&s);
	j = jobs_learn(&s, &job, now);
	assert_false(j->p.misnamed);
	now += USEC_SEC;
	job.name = "renamed";
	job.extra = "mine";
	job.uid = 1000;
	assert_ptr_equal(jobs_learn(&s, &job, now), j);
	assert_true(j->p.misnamed);
	assert_string_equal(j->entry->uid, UID);
	now += USEC_SEC;
	job.extra = "ns/other/99999999-2222-3333-4444-555555555555";
	assert_ptr_equal(jobs_learn(&s, &job, now), j);
	assert_null(entry_get(&s, "99999999-2222-3333-4444-555555555555"));
	now += USEC_SEC;
	job.submitted += USEC_SEC; /* another one of that number */
	assert_null(jobs_learn(&s, &job, now));
	assert_null(jobs_get(&s, 7));
	end(&s);
}

TEST_MAIN(TEST(a_job_of_another_user_is_no_pods_job), TEST(a_job_that_is_known_stays_its_pods_whatever_it_is_called),
          TEST(a_ring_for_a_job_that_was_let_go_is_no_hurry),
          TEST(a_script_of_an_earlier_job_of_that_number_ends_nothing),
          TEST(what_is_known_already_need_not_be_told_again), TEST(when_slurm_is_stirred_reasons_are_asked_for_soon),
          TEST(as_soon_as_more_is_known_all_is_asked_for), TEST(an_answer_that_was_not_believed_is_no_measure),
          TEST(states_that_changed_are_told_until_they_are_known), TEST(a_list_that_someone_waits_for_is_told_whole),
          TEST(states_are_asked_for_less_often_while_all_jobs_wait))
