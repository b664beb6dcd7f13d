/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * hooks.c before a Slurm that answers when it is told to: what becomes of the call of a script that has started.
 */
#include "base/str.h"
#include "base/test.h"
#include "net/token.h"
#include "scheduler/inside.h"

#define UID "11111111-2222-3333-4444-555555555555"
#define SECRET "0123456789abcdef"
#define PATIENCE (5 * USEC_MINUTE)

static struct call {
	struct slurm_request rq;
	slurm_done done;
	void *arg;
} last;
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
	n_calls++;
	last = (struct call) { *rq, done, arg };
}

static const struct slurm_port_ops ops = { .call = slurm_call };
static struct slurm_port port = { .ops = &ops };

static struct job one(int state)
{
	return (struct job) {
		.id = 7, .state = state, .name = "ns.pod", .extra = "ns/pod/" UID, .nodes = "n1", .submitted = 1
	};
}

/* A leader that knows the job as running on n1, unless it is to know nothing yet. */
static struct entry *begin(struct scheduler *s, bool known)
{
	struct job job = one(JOB_RUNNING);

	n_calls = 0;
	now += USEC_HOUR;
	*s = (struct scheduler) {
		.o = { .slurm = &port, .clock = &hand, .secret = SECRET, .secret_len = strlen(SECRET) },
		.leading = true,
		.listed_at = now,
	};
	s->pods = store_new(store_kind_of(KUBE_PODS));
	store_replace_begin(s->pods);
	store_replace_end(s->pods);
	link_init(&s->wants);
	link_init(&s->list_wants);
	link_init(&s->submit_turns);
	link_init(&s->condition_turns);
	return known ? jobs_learn(s, &job, now)->entry : NULL;
}

static void end(struct scheduler *s)
{
	struct entry *e = entry_get(s, UID);

	loads_done(s);
	if (e) {
		while (e->n_jobs)
			jobs_forget(s, e->jobs[0]);
		hooks_close(s, e, 503, "");
		map_remove(&s->by_uid, e->uid);
		free(e->key);
		free(e->jobs);
		free(e);
	}
	map_done(&s->by_uid);
	map_done(&s->by_job);
	dirty_done(&s->dirty);
	free(s->memo_nodes);
	store_free(s->pods);
}

struct got {
	int n, status;
	char json[128];
};

static void told(void *arg, int status, const char *json)
{
	struct got *g = arg;

	g->n++;
	g->status = status;
	str_copy(g->json, sizeof(g->json), json);
}

static void call(struct scheduler *s, enum scheduler_hook hook, usec_t patience, uint32_t run, const char *node,
                 struct got *g)
{
	char token[TOKEN_TEXT_MAX];

	*g = (struct got) { 0 };
	token_make(SECRET, strlen(SECRET), UID, token);
	scheduler_hook(s, &(struct hook_ask) { .hook = hook,
	                                       .job_id = 7,
	                                       .run = run,
	                                       .uid = UID,
	                                       .token = token,
	                                       .node = node,
	                                       .park = patience,
	                                       .reply = told,
	                                       .arg = g });
}

static void started(struct scheduler *s, usec_t patience, uint32_t run, const char *node, struct got *g)
{
	call(s, HOOK_STARTED, patience, run, node, g);
}

static void slurm_says(struct scheduler *s, enum slurm_outcome outcome, int state)
{
	struct job job = one(state);

	loads_step(s);
	assert_int_equal(n_calls, 1);
	assert_int_equal(last.rq.verb, SLURM_LOAD_JOB);
	last.done(last.arg,
	          &(struct slurm_result) {
	                  .outcome = outcome, .message = "", .jobs = &job, .n = outcome == SLURM_OK, .asked = now });
}

static struct pod pod_in(int phase, const char *node)
{
	return (struct pod) { .meta = { .uid = UID, .name = "pod", .ns = "ns" }, .phase = phase, .node_name = node };
}

static void look(struct scheduler *s, struct entry *e, int phase, const char *node)
{
	struct pod pod = pod_in(phase, node);

	hooks_answer(s, e, &pod, now);
}

static void test_who_says_no_patience_hears_at_once(void **state)
{
	struct scheduler s;
	struct entry *e = begin(&s, true);
	struct got g;

	(void)state;
	started(&s, 0, 0, "n1", &g);
	assert_int_equal(g.n, 1);
	assert_int_equal(g.status, 200);
	assert_string_equal(g.json, "{}");
	assert_true(list_empty(&e->asks));
	assert_int_equal(e->jobs[0]->p.hook_restarts, 0);
	assert_int_equal(n_calls, 0);
	end(&s);
}

static void test_who_has_patience_counts_at_once_and_hears_how_the_pod_ends(void **state)
{
	struct scheduler s;
	struct entry *e = begin(&s, true);
	struct got g;

	(void)state;
	started(&s, PATIENCE, 0, "n1", &g);
	assert_int_equal(e->jobs[0]->p.hook_restarts, 0);
	assert_int_equal(e->started_at, now);
	assert_true(dirty_count(&s.dirty) > 0);
	look(&s, e, POD_PENDING, NULL); /* it was not bound yet: that is no end */
	look(&s, e, POD_RUNNING, "k1");
	assert_int_equal(g.n, 0);
	e->exit_code = 3;
	e->has_exit_code = true;
	look(&s, e, POD_FAILED, "k1");
	assert_int_equal(g.n, 1);
	assert_int_equal(g.status, 200);
	assert_string_equal(g.json, "{\"phase\":\"Failed\",\"exitCode\":3}");
	assert_true(list_empty(&e->asks));
	started(&s, PATIENCE, 0, "n1", &g);
	hooks_answer(&s, e, NULL, now);
	assert_int_equal(g.status, 200);
	assert_non_null(strstr(g.json, "\"phase\":\"Gone\""));
	end(&s);
}

static void test_patience_ends_and_has_a_limit(void **state)
{
	struct scheduler s;
	struct entry *e = begin(&s, true);
	struct got g, greedy;

	(void)state;
	started(&s, 10 * USEC_SEC, 0, "n1", &g);
	started(&s, USEC_HOUR, 0, "n1", &greedy);
	now += 10 * USEC_SEC - 1;
	look(&s, e, POD_RUNNING, "k1");
	assert_int_equal(g.n, 0);
	now++;
	look(&s, e, POD_RUNNING, "k1");
	assert_int_equal(g.status, 204);
	now += ASK_PARK_MAX - 10 * USEC_SEC;
	look(&s, e, POD_RUNNING, "k1");
	assert_int_equal(greedy.status, 204);
	assert_true(list_empty(&e->asks));
	end(&s);
}

/* Its first call was lost on the way, or parked with a leader that died. */
static void test_a_script_that_says_it_again_is_parked_again(void **state)
{
	struct scheduler s;
	struct entry *e = begin(&s, true);
	struct got first, second;

	(void)state;
	started(&s, PATIENCE, 0, "n1", &first);
	look(&s, e, POD_RUNNING, "k1");
	started(&s, PATIENCE, 0, "n1", &second);
	look(&s, e, POD_RUNNING, "k1");
	assert_int_equal(first.n + second.n, 0);
	assert_int_equal(e->jobs[0]->p.hook_restarts, 0);
	look(&s, e, POD_SUCCEEDED, "k1");
	assert_int_equal(first.n, 1);
	assert_int_equal(second.n, 1);
	assert_string_equal(second.json, "{\"phase\":\"Succeeded\"}");
	end(&s);
}

static void test_what_is_not_as_known_is_asked_of_slurm_first(void **state)
{
	struct scheduler s;
	struct entry *e;
	struct got g;

	(void)state;
	e = begin(&s, true);
	started(&s, PATIENCE, 0, "n2", &g); /* not where we know it */
	assert_int_equal(e->jobs[0]->p.hook_restarts, -1);
	slurm_says(&s, SLURM_OK, JOB_RUNNING);
	assert_int_equal(g.n, 0);
	assert_int_equal(e->jobs[0]->p.hook_restarts, 0);
	assert_false(list_empty(&e->asks));
	end(&s);
	assert_int_equal(g.status, 503);

	begin(&s, false);
	started(&s, PATIENCE, 0, "n1", &g);
	assert_int_equal(g.n, 0);
	slurm_says(&s, SLURM_RETRY, 0);
	assert_int_equal(g.status, 503);
	end(&s);

	begin(&s, false);
	started(&s, PATIENCE, 0, "n1", &g);
	slurm_says(&s, SLURM_GONE, 0);
	assert_int_equal(g.status, 404);
	end(&s);
}

static void test_a_late_word_of_an_earlier_run_starts_nothing(void **state)
{
	struct job job = one(JOB_RUNNING);
	struct scheduler s;
	struct entry *e = begin(&s, true);
	struct got g;

	(void)state;
	job.restarts = 1;
	now += USEC_SEC;
	jobs_learn(&s, &job, now);
	started(&s, PATIENCE, 0, "n1", &g);
	loads_step(&s);
	last.done(last.arg,
	          &(struct slurm_result) { .outcome = SLURM_OK, .message = "", .jobs = &job, .n = 1, .asked = now });
	assert_int_equal(e->jobs[0]->p.hook_restarts, -1);
	assert_int_equal(g.n, 0); /* but it hears of the end as any other */
	look(&s, e, POD_SUCCEEDED, "k1");
	assert_int_equal(g.status, 200);
	end(&s);
}

static void test_who_may_not_ask_is_not_parked(void **state)
{
	struct scheduler s;
	struct entry *e = begin(&s, true);
	struct got g;

	(void)state;
	s.o.secret = "another-secret-of-theirs";
	started(&s, PATIENCE, 0, "n1", &g);
	assert_int_equal(g.status, 401);
	s.o.secret = SECRET;
	s.leading = false;
	started(&s, PATIENCE, 0, "n1", &g);
	assert_int_equal(g.status, 503);
	assert_true(list_empty(&e->asks));
	assert_int_equal(e->jobs[0]->p.hook_restarts, -1);
	end(&s);
}

static void test_a_pod_that_nobody_saw_end_has_no_exit_code(void **state)
{
	struct scheduler s;
	struct entry *e = begin(&s, true);
	struct got g;

	(void)state;
	started(&s, PATIENCE, 0, "n1", &g);
	hooks_answer(&s, e, NULL, now);
	assert_int_equal(g.status, 200);
	assert_string_equal(g.json, "{\"phase\":\"Gone\"}");
	end(&s);
}

/* 404 ends a placeholder after a while, and its Pod may run. */
static void test_a_job_that_left_the_scope_is_not_unknown(void **state)
{
	static const char *const elsewhere[] = { "other" };
	struct scheduler s;
	struct got g;

	(void)state;
	begin(&s, false);
	s.rules.namespaces = elsewhere;
	s.rules.n_namespaces = 1;
	started(&s, PATIENCE, 0, "n1", &g);
	slurm_says(&s, SLURM_OK, JOB_RUNNING);
	assert_int_equal(g.status, 403);
	assert_null(entry_get(&s, UID));
	end(&s);
}

/* A person wrote something else into its extra, and the scheduler that had heard it is gone. */
static void test_who_waits_has_started_although_its_mark_is_gone(void **state)
{
	struct job job = one(JOB_RUNNING);
	struct scheduler s;
	struct entry *e = begin(&s, true);
	struct got g;

	(void)state;
	call(&s, HOOK_WAIT, PATIENCE, 0, NULL, &g);
	assert_int_equal(e->jobs[0]->p.hook_restarts, -1);
	job.extra = "a note";
	now += USEC_SEC;
	jobs_learn(&s, &job, now);
	call(&s, HOOK_WAIT, PATIENCE, 1, NULL, &g);
	assert_int_equal(e->jobs[0]->p.hook_restarts, -1);
	call(&s, HOOK_WAIT, PATIENCE, 0, NULL, &g);
	assert_int_equal(e->jobs[0]->p.hook_restarts, 0);
	end(&s);
}

static void test_nothing_is_decided_by_a_killwait_that_is_only_guessed(void **state)
{
	struct scheduler s;
	struct err err = { 0 };

	(void)state;
	begin(&s, false);
	s.nodes = s.pods;
	assert_false(scheduler_ready(&s, &err));
	assert_non_null(strstr(err_text(&err), "Slurm's settings"));
	end(&s);
}

TEST_MAIN(TEST(a_pod_that_nobody_saw_end_has_no_exit_code), TEST(a_job_that_left_the_scope_is_not_unknown),
          TEST(who_waits_has_started_although_its_mark_is_gone),
          TEST(nothing_is_decided_by_a_killwait_that_is_only_guessed), TEST(who_says_no_patience_hears_at_once),
          TEST(who_has_patience_counts_at_once_and_hears_how_the_pod_ends), TEST(patience_ends_and_has_a_limit),
          TEST(a_script_that_says_it_again_is_parked_again), TEST(what_is_not_as_known_is_asked_of_slurm_first),
          TEST(a_late_word_of_an_earlier_run_starts_nothing), TEST(who_may_not_ask_is_not_parked))
