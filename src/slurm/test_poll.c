/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm/poll.h"

#include <string.h>

#include "base/mem.h"
#include "base/rand.h"
#include "base/test.h"

static void test_asking_takes_a_fiftieth_of_the_time_within_bounds(void **state)
{
	(void)state;
	assert_int_equal(poll_interval(0, 200, 30000), 200);
	assert_int_equal(poll_interval(3, 200, 30000), 200);
	assert_int_equal(poll_interval(10, 200, 30000), 500);
	assert_int_equal(poll_interval(599, 200, 30000), 29950);
	assert_int_equal(poll_interval(601, 200, 30000), 30000);
	assert_int_equal(poll_interval(USEC_NEVER, 200, 30000), 30000);
}

static void test_new_changed_and_gone_jobs_are_told(void **state)
{
	struct job_brief before[] = { { .id = 1, .state = JOB_PENDING },
		                      { .id = 2, .state = JOB_RUNNING },
		                      { .id = 5 } };
	struct job_brief now[] = { { .id = 1, .state = JOB_RUNNING },
		                   { .id = 2, .state = JOB_RUNNING },
		                   { .id = 3 },
		                   { .id = 9, .flags = JOBF_COMPLETING } };
	struct poll_event e[7];

	(void)state;
	assert_int_equal(poll_diff(before, 3, now, 4, NULL), 4);
	assert_int_equal(poll_diff(before, 3, now, 4, e), 4);
	assert_int_equal(e[0].what, POLL_CHANGED);
	assert_int_equal(e[0].before.state, JOB_PENDING);
	assert_int_equal(e[0].now.state, JOB_RUNNING);
	assert_int_equal(e[1].what, POLL_NEW);
	assert_int_equal(e[1].now.id, 3);
	assert_int_equal(e[2].what, POLL_GONE);
	assert_int_equal(e[2].before.id, 5);
	assert_int_equal(e[3].what, POLL_NEW);
	assert_int_equal(poll_diff(now, 4, now, 4, NULL), 0);
	assert_int_equal(poll_diff(NULL, 0, NULL, 0, NULL), 0);
}

static void test_flags_and_array_tasks_count_as_changes(void **state)
{
	struct job_brief a = { .id = 1, .array_job_id = 1, .array_task_id = UINT32_MAX, .state = JOB_RUNNING }, b = a;

	(void)state;
	b.flags = JOBF_COMPLETING;
	assert_int_equal(poll_diff(&a, 1, &b, 1, NULL), 1);
	b = a;
	b.array_task_id = 3; /* the rest of an array became its last task */
	assert_int_equal(poll_diff(&a, 1, &b, 1, NULL), 1);
}

/* Applying what is told to the old set gives the new set. */
static void test_the_differences_lead_from_the_old_to_the_new(void **state)
{
	enum { N = 60 };
	struct rng rng = rng_seeded(3);

	(void)state;
	for (int round = 0; round < 500; round++) {
		struct job_brief before[N], now[N], made[N] = { 0 };
		struct poll_event e[2 * N];
		uint32_t n_before = 0, n_now = 0;
		size_t n;

		for (uint32_t id = 1; id < N; id++) {
			if (rng_below(&rng, 2))
				before[n_before++] = (struct job_brief) { .id = id, .state = (int)rng_below(&rng, 3) };
			if (rng_below(&rng, 2))
				now[n_now++] = (struct job_brief) { .id = id, .state = (int)rng_below(&rng, 3) };
		}
		for (uint32_t i = 0; i < n_before; i++)
			made[before[i].id] = before[i];
		n = poll_diff(before, n_before, now, n_now, e);
		for (size_t i = 0; i < n; i++) {
			if (e[i].what == POLL_GONE)
				made[e[i].before.id] = (struct job_brief) { 0 };
			else
				made[e[i].now.id] = e[i].now;
		}
		for (uint32_t i = 0; i < n_now; i++) {
			assert_memory_equal(&made[now[i].id], &now[i], sizeof(now[i]));
			made[now[i].id].id = 0;
		}
		for (uint32_t id = 1; id < N; id++)
			assert_int_equal(made[id].id, 0);
	}
}

static void test_an_unsorted_answer_is_sorted(void **state)
{
	struct job_brief jobs[] = { { .id = 5 }, { .id = 1 }, { .id = 9 }, { .id = 2 } };

	(void)state;
	poll_sort(jobs, 4);
	assert_int_equal(jobs[0].id, 1);
	assert_int_equal(jobs[3].id, 9);
	poll_sort(NULL, 0);
}

/* ---- against a port that answers from a script */

struct fake {
	struct slurm_port port;
	struct loop *loop;
	int turn;
	slurm_done done;
	void *arg;
	struct loop_timer *timer;
	int told, gone, new_ones;
};

static void fake_answer(void *arg)
{
	struct fake *f = arg;
	struct slurm_result r = { .outcome = SLURM_OK, .message = "done", .asked = loop_now(f->loop) };
	int turn = f->turn++;

	/* two jobs; a failure; an empty answer that says nothing; one job ended */
	if (turn == 1) {
		r.outcome = SLURM_RETRY;
		r.message = "away";
	} else if (turn == 2) {
		r.outcome = SLURM_UNCHANGED;
	} else {
		r.n = turn == 0 ? 2 : 1;
		r.block = mem_alloc_n(2, sizeof(struct job_brief));
		r.states = r.block;
		r.states[0] = (struct job_brief) { .id = turn == 0 ? 8 : 7, .state = JOB_RUNNING };
		r.states[1] = (struct job_brief) { .id = 7, .state = JOB_RUNNING };
	}
	f->done(f->arg, &r);
	free(r.block);
}

static void fake_call(struct slurm_port *port, const struct slurm_request *rq, slurm_done done, void *arg)
{
	struct fake *f = CONTAINER_OF(port, struct fake, port);

	assert_int_equal(rq->verb, SLURM_LOAD_JOB_STATES);
	f->done = done;
	f->arg = arg;
	loop_set_timer(f->timer, loop_now(f->loop));
}

static void told(void *arg, const struct poll_event *events, size_t n, usec_t asked)
{
	struct fake *f = arg;

	assert_true(asked > 0);
	for (size_t i = 0; i < n; i++) {
		f->gone += events[i].what == POLL_GONE;
		f->new_ones += events[i].what == POLL_NEW;
	}
	f->told++;
}

static void test_a_failed_poll_never_makes_jobs_vanish(void **state)
{
	static const struct slurm_port_ops ops = { .call = fake_call };
	struct fake f = { .port = { .ops = &ops }, .loop = loop_new() };
	struct poll_options o = { .min = 1, .max = USEC_SEC };
	struct poll *p;

	(void)state;
	f.timer = loop_add_timer(f.loop, fake_answer, &f);
	p = poll_new(f.loop, &f.port, &o, told, &f);
	while (f.turn < 3)
		loop_run_once(f.loop, 100 * USEC_MSEC);
	assert_int_equal(f.told, 1); /* the first answer only */
	assert_int_equal(f.new_ones, 2);
	assert_int_equal(f.gone, 0);
	while (f.turn < 4)
		loop_run_once(f.loop, 100 * USEC_MSEC);
	assert_int_equal(f.gone, 1);
	assert_int_equal(f.new_ones, 2);
	/* freed while a question is open: its answer finds nobody */
	while (!(f.done && f.arg))
		loop_run_once(f.loop, 100 * USEC_MSEC);
	f.done = NULL;
	while (!f.done)
		loop_run_once(f.loop, 100 * USEC_MSEC);
	poll_free(p);
	f.turn = 1;
	fake_answer(&f);
	loop_free(f.loop);
}

TEST_MAIN(TEST(asking_takes_a_fiftieth_of_the_time_within_bounds), TEST(new_changed_and_gone_jobs_are_told),
          TEST(flags_and_array_tasks_count_as_changes), TEST(the_differences_lead_from_the_old_to_the_new),
          TEST(an_unsorted_answer_is_sorted), TEST(a_failed_poll_never_makes_jobs_vanish))
