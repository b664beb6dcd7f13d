/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/loop.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rand.h"
#include "base/spawn.h"
#include "base/test.h"

#define DEADLINE (20 * USEC_SEC)

/* Runs rounds until *flag reaches want; fails when that takes too long. */
static void run_until(struct loop *l, const int *flag, int want)
{
	usec_t end = clock_mono(clock_real()) + DEADLINE;

	while (*flag < want && clock_mono(clock_real()) < end)
		loop_run_once(l, 100 * USEC_MSEC);
	assert_int_equal(*flag, want);
}

static void count(void *arg)
{
	(*(int *)arg)++;
}

/* A pipe whose reading end is watched. */
struct watched {
	int fds[2];
	struct loop_fd *watch;
	struct watched *remove; /* on the first event, remove this one's watch */
	int events;
};

static void pipe_ready(void *arg, uint32_t events)
{
	struct watched *w = arg;

	assert_true(events & EPOLLIN);
	w->events++;
	if (w->remove) {
		loop_remove_fd(w->remove->watch);
		w->remove->watch = NULL;
		w->remove = NULL;
	}
}

static void watched_open(struct watched *w, struct loop *l)
{
	*w = (struct watched) { 0 };
	assert_int_equal(pipe(w->fds), 0);
	w->watch = loop_add_fd(l, w->fds[0], EPOLLIN, pipe_ready, w);
}

static void watched_close(struct watched *w)
{
	loop_remove_fd(w->watch);
	close(w->fds[0]);
	close(w->fds[1]);
}

static void test_a_ready_descriptor_is_told_until_it_is_changed(void **state)
{
	_cleanup_(loop_freep) struct loop *l = loop_new();
	struct watched w;

	(void)state;
	watched_open(&w, l);
	loop_run_once(l, 0);
	assert_int_equal(w.events, 0);
	assert_int_equal(write(w.fds[1], "x", 1), 1);
	run_until(l, &w.events, 2);
	loop_change_fd(w.watch, 0);
	loop_run_once(l, 0);
	assert_int_equal(w.events, 2);
	loop_change_fd(w.watch, EPOLLIN);
	run_until(l, &w.events, 3);
	watched_close(&w);
}

static void test_a_callback_may_remove_itself(void **state)
{
	_cleanup_(loop_freep) struct loop *l = loop_new();
	struct watched w;

	(void)state;
	watched_open(&w, l);
	w.remove = &w;
	assert_int_equal(write(w.fds[1], "x", 1), 1);
	run_until(l, &w.events, 1);
	loop_run_once(l, 0);
	assert_int_equal(w.events, 1);
	watched_close(&w);
}

static void test_a_callback_may_remove_another_of_the_same_batch(void **state)
{
	_cleanup_(loop_freep) struct loop *l = loop_new();
	struct watched a, b;

	(void)state;
	watched_open(&a, l);
	watched_open(&b, l);
	a.remove = &b;
	b.remove = &a;
	assert_int_equal(write(a.fds[1], "x", 1), 1);
	assert_int_equal(write(b.fds[1], "x", 1), 1);
	loop_run_once(l, DEADLINE);
	assert_int_equal(a.events + b.events, 1); /* whichever came first took the other away */
	watched_close(&a);
	watched_close(&b);
}

struct replacing {
	struct loop *loop;
	struct watched *old;
	struct loop_fd *again;
	int events;
};

static void never(void *arg, uint32_t events)
{
	(void)arg;
	(void)events;
	fail_msg("an event of a removed watch reached its successor");
}

static void replace_other(void *arg, uint32_t events)
{
	struct replacing *r = arg;

	(void)events;
	if (r->events++)
		return;
	loop_remove_fd(r->old->watch);
	r->old->watch = NULL;
	/* The same descriptor number with another owner: what the batch still holds is not for it. */
	r->again = loop_add_fd(r->loop, r->old->fds[0], 0, never, NULL);
}

static void test_an_event_of_a_removed_watch_does_not_reach_its_successor(void **state)
{
	_cleanup_(loop_freep) struct loop *l = loop_new();
	struct watched old;
	struct replacing r = { .loop = l, .old = &old };
	struct loop_fd *first;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	first = loop_add_fd(l, fds[0], EPOLLIN, replace_other, &r);
	assert_int_equal(write(fds[1], "x", 1), 1); /* ready first, so told first */
	watched_open(&old, l);
	assert_int_equal(write(old.fds[1], "x", 1), 1);
	loop_run_once(l, DEADLINE);
	assert_int_equal(r.events, 1);
	loop_run_once(l, 0);
	assert_int_equal(old.events, 0);
	loop_remove_fd(first);
	loop_remove_fd(r.again);
	watched_close(&old);
	close(fds[0]);
	close(fds[1]);
}

struct ordered {
	usec_t at;
	int *n_fired;
	usec_t *last;
};

static void fire_ordered(void *arg)
{
	struct ordered *o = arg;

	assert_true(*o->last <= o->at);
	*o->last = o->at;
	(*o->n_fired)++;
}

static void test_timers_fire_in_order_whatever_was_removed_or_moved(void **state)
{
	enum { N = 500 };
	_cleanup_(loop_freep) struct loop *l = loop_new();
	struct loop_timer *timers[N];
	struct ordered ordered[N];
	struct rng rng = rng_seeded(7);
	usec_t last = 0, start = loop_now(l);
	int fired = 0, expected = N;

	(void)state;
	for (int i = 0; i < N; i++) {
		ordered[i] = (struct ordered) { start + (usec_t)rng_below(&rng, 20000), &fired, &last };
		timers[i] = loop_add_timer(l, fire_ordered, &ordered[i]);
		loop_set_timer(timers[i], ordered[i].at);
	}
	for (int i = 0; i < N; i++) {
		if (i % 3 == 0) {
			ordered[i].at = start + (usec_t)rng_below(&rng, 20000);
			loop_set_timer(timers[i], ordered[i].at);
		} else if (i % 7 == 0) {
			loop_remove_timer(timers[i]);
			expected--;
		} else if (i % 11 == 0) {
			loop_set_timer(timers[i], USEC_NEVER);
			expected--;
		}
	}
	run_until(l, &fired, expected);
	loop_run_once(l, 0);
	assert_int_equal(fired, expected);
}

static void test_a_timer_does_not_fire_early(void **state)
{
	_cleanup_(loop_freep) struct loop *l = loop_new();
	usec_t at = clock_mono(clock_real()) + 3 * USEC_MSEC + 700;
	int fired = 0;

	(void)state;
	loop_set_timer(loop_add_timer(l, count, &fired), at);
	run_until(l, &fired, 1);
	assert_true(clock_mono(clock_real()) >= at);
	assert_true(loop_now(l) >= at);
}

struct again {
	struct loop *loop;
	struct loop_timer *timer;
	int fired;
};

static void fire_again(void *arg)
{
	struct again *a = arg;

	a->fired++;
	loop_set_timer(a->timer, loop_now(a->loop));
}

static void test_a_timer_set_again_in_its_call_waits_for_the_next_round(void **state)
{
	_cleanup_(loop_freep) struct loop *l = loop_new();
	struct again a = { .loop = l };

	(void)state;
	a.timer = loop_add_timer(l, fire_again, &a);
	loop_set_timer(a.timer, loop_now(l));
	for (int i = 1; i <= 3; i++) {
		loop_run_once(l, DEADLINE);
		assert_int_equal(a.fired, i);
	}
}

struct pair {
	struct loop_timer *own, *other;
	int *fired;
};

static void remove_both(void *arg)
{
	struct pair *p = arg;

	(*p->fired)++;
	loop_remove_timer(p->other);
	loop_remove_timer(p->own);
}

static void test_a_timer_may_remove_itself_and_another_that_is_due(void **state)
{
	_cleanup_(loop_freep) struct loop *l = loop_new();
	int fired = 0;
	struct pair a = { .fired = &fired }, b = { .fired = &fired };

	(void)state;
	a.own = b.other = loop_add_timer(l, remove_both, &a);
	b.own = a.other = loop_add_timer(l, remove_both, &b);
	loop_set_timer(a.own, loop_now(l));
	loop_set_timer(b.own, loop_now(l));
	loop_run_once(l, DEADLINE);
	loop_run_once(l, 0);
	assert_int_equal(fired, 1);
}

struct chain {
	struct loop *loop;
	int calls;
};

static void defer_again(void *arg)
{
	struct chain *c = arg;

	c->calls++;
	loop_defer(c->loop, defer_again, c);
}

static void test_what_is_put_off_comes_once_in_the_next_round(void **state)
{
	_cleanup_(loop_freep) struct loop *l = loop_new();
	struct chain c = { .loop = l };
	int n = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		loop_defer(l, count, &n);
	assert_int_equal(n, 0);
	loop_run_once(l, DEADLINE);
	assert_int_equal(n, 100);
	loop_defer(l, defer_again, &c);
	for (int i = 1; i <= 3; i++) {
		loop_run_once(l, DEADLINE);
		assert_int_equal(c.calls, i);
	}
	assert_int_equal(n, 100);
}

static int last_signal;

static void got_signal(void *arg, int signal)
{
	last_signal = signal;
	(*(int *)arg)++;
}

static void test_signals_come_through_the_loop(void **state)
{
	_cleanup_(loop_freep) struct loop *l = loop_new();
	struct err err = { 0 };
	int usr1 = 0, usr2 = 0;

	(void)state;
	assert_int_equal(loop_add_signal(l, SIGUSR1, got_signal, &usr1, &err), 0);
	assert_int_equal(loop_add_signal(l, SIGUSR2, got_signal, &usr2, &err), 0);
	kill(getpid(), SIGUSR1);
	run_until(l, &usr1, 1);
	assert_int_equal(last_signal, SIGUSR1);
	kill(getpid(), SIGUSR2);
	run_until(l, &usr2, 1);
	assert_int_equal(last_signal, SIGUSR2);
	assert_int_equal(usr1, 1);
	assert_int_equal(loop_add_signal(l, SIGUSR1, got_signal, &usr1, &err), -EEXIST);
	assert_int_equal(loop_add_signal(l, SIGKILL, got_signal, &usr1, &err), -EINVAL);
	assert_string_equal(err.text, "signal 9 cannot be caught");
}

struct ended {
	int n, pid, status;
};

static void child_done(void *arg, int pid, int status)
{
	struct ended *e = arg;

	*e = (struct ended) { e->n + 1, pid, status };
}

static pid_t run_shell(const char *script)
{
	const char *argv[] = { "/bin/sh", "-c", script, NULL };
	struct spawn s = { .argv = argv, .in = -1, .out = -1, .err = -1, .extra = -1 };
	pid_t pid;

	assert_int_equal(spawn(&s, &pid, NULL), 0);
	return pid;
}

static void test_a_child_is_reaped_once_with_its_status(void **state)
{
	_cleanup_(loop_freep) struct loop *l = loop_new();
	struct ended exited = { 0 }, killed = { 0 };
	struct err err = { 0 };
	pid_t a = run_shell("exit 3"), b = run_shell("kill -TERM $$");

	(void)state;
	assert_int_equal(loop_add_child(l, a, child_done, &exited, &err), 0);
	assert_int_equal(loop_add_child(l, b, child_done, &killed, &err), 0);
	run_until(l, &exited.n, 1);
	run_until(l, &killed.n, 1);
	assert_int_equal(exited.pid, a);
	assert_true(WIFEXITED(exited.status) && WEXITSTATUS(exited.status) == 3);
	assert_int_equal(killed.pid, b);
	assert_true(WIFSIGNALED(killed.status) && WTERMSIG(killed.status) == SIGTERM);
	assert_int_equal(waitpid(a, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(loop_add_child(l, a, child_done, &exited, &err), -ESRCH);
	assert_non_null(strstr(err.text, "waiting for process"));
}

static void test_a_child_still_running_does_not_hold_the_loop(void **state)
{
	struct loop *l = loop_new();
	struct ended e = { 0 };
	pid_t pid = run_shell("exec sleep 60");

	(void)state;
	assert_int_equal(loop_add_child(l, pid, child_done, &e, NULL), 0);
	loop_run_once(l, 0);
	loop_free(l);
	assert_int_equal(e.n, 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

struct stopping {
	struct loop *loop;
	int calls;
};

static void end_loop(void *arg)
{
	struct stopping *s = arg;

	s->calls++;
	loop_stop(s->loop);
}

static void test_run_ends_at_stop_and_may_run_again(void **state)
{
	_cleanup_(loop_freep) struct loop *l = loop_new();
	struct stopping s = { .loop = l };

	(void)state;
	loop_defer(l, end_loop, &s);
	loop_run(l);
	assert_int_equal(s.calls, 1);
	loop_set_timer(loop_add_timer(l, end_loop, &s), loop_now(l) + USEC_MSEC);
	loop_stop(l); /* before it runs: it does not even begin */
	loop_run(l);
	assert_int_equal(s.calls, 1);
	loop_run(l);
	assert_int_equal(s.calls, 2);
}

static void test_freeing_calls_nobody_and_takes_null(void **state)
{
	struct loop *l = loop_new();
	int n = 0;

	(void)state;
	loop_set_timer(loop_add_timer(l, count, &n), loop_now(l));
	loop_defer(l, count, &n);
	loop_free(l);
	loop_free(NULL);
	loop_remove_fd(NULL);
	loop_remove_timer(NULL);
	assert_int_equal(n, 0);
}

/* ---- patience ---- */

/* Reads what is there. */
static void drain_ready(void *arg, uint32_t events)
{
	struct watched *w = arg;
	char data[16];

	(void)events;
	assert_true(read(w->fds[0], data, sizeof(data)) > 0);
	w->events++;
}

static void patient_open(struct watched *w, struct loop *l)
{
	*w = (struct watched) { 0 };
	assert_int_equal(pipe(w->fds), 0);
	w->watch = loop_add_fd(l, w->fds[0], EPOLLIN, drain_ready, w);
}

static void poke(struct watched *w)
{
	assert_int_equal(write(w->fds[1], "x", 1), 1);
}

/* Uses up what comes without waiting. */
static void use_credit(struct loop *l, struct watched *w)
{
	for (int i = 0; i < 20; i++) {
		poke(w);
		loop_run_once(l, DEADLINE);
		assert_int_equal(w->events, 1);
		w->events = 0;
	}
	poke(w);
	loop_run_once(l, DEADLINE);
}

static void test_after_a_silence_nobody_waits_and_then_all_wait_together(void **state)
{
	_cleanup_(loop_freep) struct loop *l = loop_new();
	struct watched a, b;
	usec_t began;

	(void)state;
	loop_set_patience(l, 300 * USEC_MSEC);
	patient_open(&a, l);
	patient_open(&b, l);
	loop_fd_patient(a.watch);
	loop_fd_patient(b.watch);
	loop_fd_patient(b.watch); /* is already */
	use_credit(l, &a);
	assert_int_equal(a.events, 1);
	began = clock_mono(clock_real());
	poke(&a);
	poke(&b);
	loop_run_once(l, 0);
	loop_run_once(l, 0);
	if (clock_mono(clock_real()) - began < 290 * USEC_MSEC)
		assert_int_equal(a.events + b.events, 1);
	run_until(l, &a.events, 2);
	assert_int_equal(b.events, 1);
	assert_true(clock_mono(clock_real()) - began >= 290 * USEC_MSEC);
	watched_close(&a);
	watched_close(&b);
}

static void test_who_is_awake_looks_at_all(void **state)
{
	_cleanup_(loop_freep) struct loop *l = loop_new();
	struct watched patient, urgent;

	(void)state;
	loop_set_patience(l, USEC_HOUR);
	patient_open(&patient, l);
	patient_open(&urgent, l);
	loop_fd_patient(patient.watch);
	use_credit(l, &patient);
	poke(&patient);
	loop_run_once(l, 0);
	assert_int_equal(patient.events, 1);
	poke(&urgent);
	loop_run_once(l, DEADLINE);
	assert_int_equal(urgent.events, 1);
	assert_int_equal(patient.events, 2);
	/* and again: its patience is as new */
	poke(&patient);
	loop_run_once(l, 0);
	assert_int_equal(patient.events, 2);
	poke(&urgent);
	loop_run_once(l, DEADLINE);
	assert_int_equal(patient.events, 3);
	watched_close(&patient);
	watched_close(&urgent);
}

/* However often the loop was awake for others. */
static void test_nobody_waits_for_longer_than_the_patience(void **state)
{
	_cleanup_(loop_freep) struct loop *l = loop_new();
	struct watched patient, urgent;
	usec_t began;

	(void)state;
	loop_set_patience(l, USEC_SEC);
	patient_open(&patient, l);
	patient_open(&urgent, l);
	loop_fd_patient(patient.watch);
	for (int i = 0; i < 1000; i++) {
		poke(&patient);
		poke(&urgent);
		while (patient.events <= i)
			loop_run_once(l, DEADLINE);
	}
	began = clock_mono(clock_real());
	poke(&patient);
	run_until(l, &patient.events, 1001);
	assert_true(clock_mono(clock_real()) - began < 10 * USEC_SEC); /* not a quarter of an hour */
	watched_close(&patient);
	watched_close(&urgent);
}

static void test_a_stream_that_has_more_is_read_to_its_end(void **state)
{
	_cleanup_(loop_freep) struct loop *l = loop_new();
	struct watched w;
	char data[160] = { 0 };

	(void)state;
	loop_set_patience(l, USEC_HOUR);
	patient_open(&w, l);
	loop_fd_patient(w.watch);
	assert_int_equal(write(w.fds[1], data, sizeof(data)), sizeof(data));
	loop_run_once(l, DEADLINE);
	assert_int_equal(w.events, 10);
	watched_close(&w);
}

static void test_without_patience_all_is_urgent(void **state)
{
	_cleanup_(loop_freep) struct loop *l = loop_new();
	struct watched w;

	(void)state;
	patient_open(&w, l);
	loop_fd_patient(w.watch);
	for (int i = 1; i <= 3; i++) {
		poke(&w);
		loop_run_once(l, DEADLINE);
		assert_int_equal(w.events, i);
	}
	watched_close(&w);
}

static void test_a_patient_watch_may_be_changed_and_removed_while_it_waits(void **state)
{
	_cleanup_(loop_freep) struct loop *l = loop_new();
	struct watched a, b, urgent;

	(void)state;
	loop_set_patience(l, USEC_HOUR);
	patient_open(&a, l);
	patient_open(&b, l);
	patient_open(&urgent, l);
	loop_fd_patient(a.watch);
	loop_fd_patient(b.watch);
	use_credit(l, &a);
	poke(&a);
	poke(&b);
	loop_run_once(l, 0);
	loop_remove_fd(a.watch);
	a.watch = NULL;
	loop_change_fd(b.watch, 0);
	poke(&urgent);
	loop_run_once(l, DEADLINE);
	assert_int_equal(a.events, 1);
	assert_int_equal(b.events, 0);
	loop_change_fd(b.watch, EPOLLIN);
	loop_run_once(l, 0);
	poke(&urgent);
	loop_run_once(l, DEADLINE);
	assert_int_equal(b.events, 1);
	watched_close(&a);
	watched_close(&b);
	watched_close(&urgent);
}

TEST_MAIN(TEST(a_ready_descriptor_is_told_until_it_is_changed), TEST(a_callback_may_remove_itself),
          TEST(a_callback_may_remove_another_of_the_same_batch),
          TEST(an_event_of_a_removed_watch_does_not_reach_its_successor),
          TEST(timers_fire_in_order_whatever_was_removed_or_moved), TEST(a_timer_does_not_fire_early),
          TEST(a_timer_set_again_in_its_call_waits_for_the_next_round),
          TEST(a_timer_may_remove_itself_and_another_that_is_due), TEST(what_is_put_off_comes_once_in_the_next_round),
          TEST(signals_come_through_the_loop), TEST(a_child_is_reaped_once_with_its_status),
          TEST(a_child_still_running_does_not_hold_the_loop), TEST(run_ends_at_stop_and_may_run_again),
          TEST(freeing_calls_nobody_and_takes_null), TEST(after_a_silence_nobody_waits_and_then_all_wait_together),
          TEST(who_is_awake_looks_at_all), TEST(a_stream_that_has_more_is_read_to_its_end),
          TEST(nobody_waits_for_longer_than_the_patience), TEST(without_patience_all_is_urgent),
          TEST(a_patient_watch_may_be_changed_and_removed_while_it_waits))
