/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A real slurmctld, munged and slurm.conf that go away, hang or break, and come back: the port says so, the loop goes
 * on ticking, and it recovers by itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slurm/test_real.h"

#define ASK(...) (&(struct slurm_request) { __VA_ARGS__ })

static struct real real;

/* Impatient, so that the tests are not slow. */
static const struct slurm_options impatient = {
	.pool = { .timeout = 2 * USEC_SEC,
	          .probe_timeout = USEC_SEC,
	          .idle_probe = 300 * USEC_MSEC,
	          .probe_pause_max = 300 * USEC_MSEC },
};

static pid_t pid_of(const char *part)
{
	_cleanup_free_ char *text = real_sh("\"$SUNK_DEV_SLURM\" pid \"$SUNK_CLUSTER\" %s", part);
	pid_t pid = (pid_t)strtol(text, NULL, 10);

	assert_true(pid > 1);
	return pid;
}

static void do_part(const char *verb, const char *part)
{
	free(real_sh("\"$SUNK_DEV_SLURM\" %s \"$SUNK_CLUSTER\" %s", verb, part));
}

static bool is_ready(struct err *why)
{
	return real.port->ops->ready(real.port, why);
}

static void await_away(const char *words)
{
	struct err why = { 0 };
	usec_t end = clock_mono(clock_real()) + 30 * USEC_SEC;

	/* the first reason may be that of the moment when it broke; it settles */
	while (clock_mono(clock_real()) < end) {
		loop_run_once(real.loop, 20 * USEC_MSEC);
		if (!is_ready(&why) && strstr(why.text, words)) {
			print_message("             %s\n", why.text); /* for a person who wonders how it reads */
			return;
		}
	}
	fail_msg("ready: %d, reason: '%s', expected: '%s'", is_ready(NULL), why.text, words);
}

static void await_ready(void)
{
	struct err why = { 0 };

	for (int i = 0; i < 3000 && !is_ready(&why); i++)
		loop_run_once(real.loop, 20 * USEC_MSEC);
	if (!is_ready(&why))
		fail_msg("does not recover: %s", why.text);
	real_expect(&real, ASK(.verb = SLURM_PING), SLURM_OK, 0);
}

/* ---- the controller */

struct ticks {
	struct loop_timer *timer;
	int n;
};

static void tick(void *arg)
{
	struct ticks *t = arg;

	t->n++;
	loop_set_timer(t->timer, loop_now(real.loop) + 10 * USEC_MSEC);
}

struct late {
	bool done;
	enum slurm_outcome outcome;
	bool maybe_done;
	char message[512];
};

static void late_done(void *arg, struct slurm_result *r)
{
	struct late *l = arg;

	l->done = true;
	l->outcome = r->outcome;
	l->maybe_done = r->maybe_done;
	str_copy(l->message, sizeof(l->message), r->message);
}

static void test_a_stopped_controller_blocks_nobody(void **state)
{
	struct job_spec spec = { .name = "late", .script = "#!/bin/sh\n", .hold = true, .memory_mb = 10 };
	pid_t pid = pid_of("slurmctld");
	struct late submit = { 0 }, after = { 0 };
	struct ticks t = { 0 };
	usec_t began;

	(void)state;
	await_ready();
	t.timer = loop_add_timer(real.loop, tick, &t);
	kill(pid, SIGSTOP);
	began = clock_mono(clock_real());
	loop_set_timer(t.timer, loop_now(real.loop));
	real.port->ops->call(real.port, ASK(.verb = SLURM_SUBMIT, .spec = &spec), late_done, &submit);
	await_away("the controller did not answer within 1s");
	REAL_WAIT(&real, 30, submit.done);
	assert_int_equal(submit.outcome, SLURM_RETRY);
	assert_true(submit.maybe_done); /* it may sit in the stopped controller's socket */
	/* who asks now is told at once */
	real.port->ops->call(real.port, ASK(.verb = SLURM_SUBMIT, .spec = &spec), late_done, &after);
	assert_false(after.done);
	loop_run_once(real.loop, 0);
	loop_run_once(real.loop, 0);
	assert_true(after.done);
	assert_int_equal(after.outcome, SLURM_RETRY);
	assert_false(after.maybe_done); /* it never left */
	/* blocked, the loop would have ticked a handful of times */
	assert_true(t.n > 10 && (clock_mono(clock_real()) - began) / t.n < USEC_SEC / 4);
	loop_remove_timer(t.timer);
	kill(pid, SIGCONT);
	await_ready();
	/* what was told as "maybe" is found by looking, and ended */
	free(real_sh("scancel --name=late"));
}

static void test_a_dead_controller_is_noticed_and_its_return_too(void **state)
{
	(void)state;
	await_ready();
	do_part("end", "slurmctld");
	await_away("controller");
	real_expect(&real, ASK(.verb = SLURM_LOAD_NODES), SLURM_RETRY, 0);
	do_part("run", "slurmctld");
	await_ready();
}

static void test_a_restart_under_load_loses_nothing_unseen(void **state)
{
	enum { N = 100 };
	struct job_spec spec = { .script = "#!/bin/sh\n", .hold = true, .memory_mb = 10 };
	static struct late late[N];
	int sure = 0, maybe = 0, not = 0, found = 0;
	_cleanup_free_ char *names = NULL;

	(void)state;
	await_ready();
	for (int i = 0; i < N; i++) {
		_cleanup_free_ char *name = str_printf("load-%03d", i);

		spec.name = name;
		real.port->ops->call(real.port, ASK(.verb = SLURM_SUBMIT, .spec = &spec), late_done, &late[i]);
		if (i == N / 2)
			kill(pid_of("slurmctld"), SIGKILL);
		loop_run_once(real.loop, 5 * USEC_MSEC);
	}
	do_part("end", "slurmctld");
	do_part("run", "slurmctld");
	for (int i = 0; i < N; i++) {
		REAL_WAIT(&real, 60, late[i].done);
		sure += late[i].outcome == SLURM_OK;
		maybe += late[i].outcome == SLURM_RETRY && late[i].maybe_done;
		not += late[i].outcome == SLURM_RETRY && !late[i].maybe_done;
	}
	assert_int_equal(sure + maybe + not, N);
	await_ready();
	names = real_sh("squeue -h -o %%j | grep -c '^load-' || true");
	found = atoi(names);
	/* no job that was answered "not sent" exists. (slurmctld itself forgets what it had not yet saved when killed,
	 * so fewer may be there than were answered "done".) */
	assert_true(found <= sure + maybe);
	free(real_sh("scancel -t PD"));
}

/* libslurm itself tries for two seconds before it says so: the usual patience. */
static void test_a_munged_that_is_away_is_named(void **state)
{
	struct slurm_options patient = impatient;

	(void)state;
	patient.pool.probe_timeout = 0;
	real_close(&real);
	real_open(&real, &patient, false);
	do_part("end", "munged");
	await_away("unge");
	real_expect(&real, ASK(.verb = SLURM_LOAD_NODES), SLURM_RETRY, 0);
	do_part("run", "munged");
	await_ready();
	real_close(&real);
	real_open(&real, &impatient, false);
}

/* ---- slurm.conf */

static char *conf_path(void)
{
	return str_printf("%s/etc/slurm.conf", real_cluster());
}

static void write_conf(const char *content, size_t len)
{
	_cleanup_free_ char *path = conf_path(), *temporary = str_printf("%s.new", path);
	FILE *f = fopen(temporary, "we");
	size_t written;
	int closed;

	assert_non_null(f);
	written = fwrite(content, 1, len, f);
	closed = fclose(f);
	assert_int_equal(written, len);
	assert_int_equal(closed, 0);
	assert_int_equal(rename(temporary, path), 0);
}

static void test_a_broken_slurm_conf_ends_no_daemon(void **state)
{
	static const struct {
		const char *what, *says;
	} cases[] = {
		{ "missing", "No such file" }, { "empty", "is empty" }, { "half", "" },
		{ "garbage", "libslurm" },     { "binary", "" },        { "directory", "is no file" },
	};
	_cleanup_free_ char *path = conf_path(), *aside = str_printf("%s.aside", path);
	_cleanup_buf_ struct buf whole = BUF(1 << 20);
	char binary[4096];

	(void)state;
	assert_int_equal(buf_read_file(&whole, path), 0);
	for (size_t i = 0; i < sizeof(binary); i++)
		binary[i] = (char)(i * 37);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *what = cases[i].what;
		uint64_t before;

		await_ready();
		before = slurm_counts(real.port).started;
		if (str_eq(what, "missing"))
			assert_int_equal(rename(path, aside), 0);
		else if (str_eq(what, "empty"))
			write_conf("", 0);
		else if (str_eq(what, "half")) /* up to the middle of the first line that it cannot do without */
			write_conf(whole.data, (size_t)(strstr(whole.data, "SlurmctldHost") - whole.data) + 6);
		else if (str_eq(what, "garbage"))
			write_conf("<html>502 Bad Gateway</html>\n", 29);
		else if (str_eq(what, "binary"))
			write_conf(binary, sizeof(binary));
		else {
			assert_int_equal(rename(path, aside), 0);
			assert_int_equal(mkdir(path, 0755), 0);
		}
		await_away(cases[i].says);
		/* and not only a moment: it stays so, it says so, workers are not started like mad */
		for (int k = 0; k < 25; k++)
			loop_run_once(real.loop, 20 * USEC_MSEC);
		assert_false(is_ready(NULL));
		real_expect(&real, ASK(.verb = SLURM_LOAD_NODES), SLURM_RETRY, 0);
		assert_true(slurm_counts(real.port).started - before < 60);
		rmdir(path);
		write_conf(whole.data, whole.len);
		unlink(aside);
		await_ready();
	}
}

static void test_a_changed_slurm_conf_takes_effect_without_a_failure(void **state)
{
	_cleanup_free_ char *path = conf_path();
	_cleanup_buf_ struct buf conf = BUF(1 << 20);
	uint64_t before;

	(void)state;
	await_ready();
	assert_int_equal(buf_read_file(&conf, path), 0);
	for (int i = 0; i < 5; i++) {
		before = slurm_counts(real.port).started;
		buf_printf(&conf, "# changed %d\n", i);
		write_conf(conf.data, conf.len);
		for (int k = 0; k < 5; k++)
			real_expect(&real, ASK(.verb = SLURM_LOAD_NODES), SLURM_OK, 0);
		assert_true(slurm_counts(real.port).started > before);
	}
}

/* ---- the daemon's own end */

/* What the workers of a process are, by pid. */
static size_t workers_of(pid_t parent, pid_t pids[16])
{
	_cleanup_free_ char *text = real_sh("pgrep -P %d || true", (int)parent);
	size_t n = 0;

	for (char *p = text, *end; n < 16; p = end) {
		long pid = strtol(p, &end, 10);

		if (end == p)
			return n;
		pids[n++] = (pid_t)pid;
	}
	return n;
}

/* Gone, or a zombie that init has not collected yet. */
static bool has_ended(const char *stat)
{
	_cleanup_buf_ struct buf b = BUF(4096);

	return buf_read_file(&b, stat) < 0 || strstr(buf_text(&b), ") Z ");
}

static void test_workers_do_not_outlive_a_daemon_that_is_killed(void **state)
{
	pid_t workers[16], child = fork();
	size_t n = 0;
	int status;

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		struct real mine;

		real_open(&mine, NULL, false);
		for (;;)
			loop_run_once(mine.loop, USEC_SEC);
	}
	REAL_WAIT(&real, 30, n > 0 || (n = workers_of(child, workers)) > 0);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *stat = str_printf("/proc/%d/stat", (int)workers[i]);

		REAL_WAIT(&real, 30, has_ended(stat));
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(a_stopped_controller_blocks_nobody),
		TEST(a_dead_controller_is_noticed_and_its_return_too),
		TEST(a_restart_under_load_loses_nothing_unseen),
		TEST(a_munged_that_is_away_is_named),
		TEST(a_broken_slurm_conf_ends_no_daemon),
		TEST(a_changed_slurm_conf_takes_effect_without_a_failure),
		TEST(workers_do_not_outlive_a_daemon_that_is_killed),
	};
	int failed;

	if (argc < 2 || !str_eq(argv[1], "slurm-worker"))
		real_open(&real, &impatient, false);
	failed = real_main(argc, argv, tests, ARRAY_LEN(tests));
	real_close(&real);
	return failed;
}
