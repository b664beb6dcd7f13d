/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * loads.c before a Slurm that answers when it is told to.
 */
#include "base/str.h"
#include "base/test.h"
#include "scheduler/inside.h"

#define CALLS_MAX 64

static struct call {
	enum slurm_verb verb;
	uint32_t id;
	slurm_done done;
	void *arg;
} calls[CALLS_MAX];
static size_t n_calls;

static void slurm_call(struct slurm_port *p, const struct slurm_request *rq, slurm_done done, void *arg)
{
	(void)p;
	assert_true(n_calls < CALLS_MAX);
	calls[n_calls++] = (struct call) { rq->verb, rq->job_id, done, arg };
}

static const struct slurm_port_ops ops = { .call = slurm_call };
static struct slurm_port port = { .ops = &ops };

static void begin(struct scheduler *s)
{
	n_calls = 0;
	*s = (struct scheduler) { .o = { .slurm = &port } };
	link_init(&s->wants);
	link_init(&s->list_wants);
}

struct got {
	int n;
	enum slurm_outcome outcome;
	uint32_t n_jobs, id;
	struct scheduler *again; /* asks once more from within the answer */
};

static void told(void *arg, struct slurm_result *r)
{
	struct got *g = arg;

	g->n++;
	g->outcome = r->outcome;
	g->n_jobs = r->n;
	g->id = r->n ? r->jobs[0].id : 0;
	assert_non_null(r->message);
	if (g->again)
		loads_ask(TAKE_PTR(g->again), g->id, told, g);
}

static void answer(const struct call *c, uint32_t id)
{
	struct job job = { .id = id };
	struct slurm_result r = { .outcome = id ? SLURM_OK : SLURM_GONE, .message = "", .jobs = &job, .n = id != 0 };

	c->done(c->arg, &r);
}

static void test_few_jobs_are_asked_for_one_by_one_and_not_all_at_once(void **state)
{
	struct got g[3] = { 0 };
	struct scheduler s;

	(void)state;
	begin(&s);
	for (uint32_t i = 0; i < 3; i++)
		loads_ask(&s, 10 + i, told, &g[i]);
	assert_false(loads_want_list(&s));
	loads_step(&s);
	assert_int_equal(n_calls, 2);
	assert_int_equal(calls[0].verb, SLURM_LOAD_JOB);
	assert_int_equal(calls[1].id, 11);
	loads_step(&s);
	assert_int_equal(n_calls, 2);
	answer(&calls[1], 11);
	loads_step(&s);
	assert_int_equal(n_calls, 3);
	answer(&calls[0], 10);
	answer(&calls[2], 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(g[i].n, 1);
	assert_int_equal(g[0].id, 10);
	assert_int_equal(g[2].outcome, SLURM_GONE);
	loads_done(&s);
}

static void test_many_are_asked_for_by_one_list_and_each_gets_its_own(void **state)
{
	struct job jobs[] = { { .id = 99 }, { .id = 12 }, { .id = 10 }, { .id = 11 } };
	struct slurm_result r = { .outcome = SLURM_OK, .message = "", .jobs = jobs, .n = ARRAY_LEN(jobs) };
	struct got g[8] = { 0 };
	struct scheduler s;

	(void)state;
	begin(&s);
	for (uint32_t i = 0; i < 8; i++)
		loads_ask(&s, 10 + i, told, &g[i]);
	assert_true(loads_want_list(&s));
	s.n_slurm_jobs = 10000; /* such a list costs more than eight jobs */
	assert_false(loads_want_list(&s));
	s.n_slurm_jobs = 4;
	loads_list_began(&s);
	loads_step(&s);
	assert_int_equal(n_calls, 0);
	loads_listed(&s, &r);
	for (uint32_t i = 0; i < 8; i++) {
		assert_int_equal(g[i].n, 1);
		assert_int_equal(g[i].outcome, i < 3 ? SLURM_OK : SLURM_GONE);
		assert_int_equal(g[i].id, i < 3 ? 10 + i : 0);
	}
	loads_done(&s);
}

static void test_what_is_asked_after_a_list_has_left_is_not_answered_by_it(void **state)
{
	struct job jobs[] = { { .id = 10 }, { .id = 20 } };
	struct slurm_result r = { .outcome = SLURM_OK, .message = "", .jobs = jobs, .n = 2 };
	struct got early = { 0 }, late = { 0 };
	struct scheduler s;

	(void)state;
	begin(&s);
	early.again = &s;
	loads_ask(&s, 10, told, &early);
	loads_list_began(&s);
	loads_ask(&s, 20, told, &late);
	loads_listed(&s, &r);
	assert_int_equal(early.n, 1);
	assert_int_equal(late.n, 0);
	loads_step(&s);
	assert_int_equal(n_calls, 2);
	answer(&calls[0], 20);
	answer(&calls[1], 10);
	assert_int_equal(early.n, 2);
	assert_int_equal(late.n, 1);
	loads_done(&s);
}

static void test_a_list_that_fails_tells_everyone(void **state)
{
	struct slurm_result r = { .outcome = SLURM_RETRY, .message = "controller does not answer" };
	struct got g[2] = { 0 };
	struct scheduler s;

	(void)state;
	begin(&s);
	loads_ask(&s, 10, told, &g[0]);
	loads_ask(&s, 11, told, &g[1]);
	loads_list_began(&s);
	loads_listed(&s, &r);
	assert_int_equal(g[0].n + g[1].n, 2);
	assert_int_equal(g[0].outcome, SLURM_RETRY);
	loads_done(&s);
}

static void test_at_the_end_nobody_is_left_without_an_answer(void **state)
{
	struct got listed = { 0 }, waiting = { 0 };
	struct scheduler s;

	(void)state;
	begin(&s);
	loads_ask(&s, 10, told, &listed);
	loads_list_began(&s);
	loads_ask(&s, 11, told, &waiting);
	loads_give_up(&s); /* not the leader any more: the list is still under way */
	assert_int_equal(listed.n, 0);
	assert_int_equal(waiting.n, 1);
	assert_int_equal(waiting.outcome, SLURM_RETRY);
	loads_done(&s);
	assert_int_equal(listed.n, 1);
	assert_int_equal(s.n_wants, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(few_jobs_are_asked_for_one_by_one_and_not_all_at_once),
		TEST(many_are_asked_for_by_one_list_and_each_gets_its_own),
		TEST(what_is_asked_after_a_list_has_left_is_not_answered_by_it),
		TEST(a_list_that_fails_tells_everyone),
		TEST(at_the_end_nobody_is_left_without_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
