/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The placeholder in a child process; this process is the hook: it takes one call after the other and answers when the test
 * says. scontrol is a script that tells through a FIFO how it was called.
 */
#include "hook/placeholder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "hook/test_listen.h"

#define TOKEN "s3cret-0123456789abcdef"
#define POD "team/web-0/0f4b-uid"
#define DEADLINE_MS 30000
#define STARTED "POST /v1/jobs/77/started?uid=0f4b-uid&run=0&seconds=300 HTTP/1.1"
#define WAIT "GET /v1/jobs/77/wait?uid=0f4b-uid&run=0&seconds=300 HTTP/1.1"
#define TERMINATE "POST /v1/jobs/77/terminate?uid=0f4b-uid&run=0 HTTP/1.1"
#define DRAIN "POST /v1/jobs/77/drain?uid=0f4b-uid&run=0 HTTP/1.1"

static const char scontrol[] =
        "#!/bin/sh\n"
        "env >>\"$FAKE_DIR/env\"\n"
        "fail= hang=\n"
        "[ ! -e \"$FAKE_DIR/fail\" ] || fail=1\n"
        "[ ! -e \"$FAKE_DIR/hang\" ] || hang=1\n"
        "printf '%s %s|' $$ \"$*\" >\"$FAKE_DIR/called\"\n" /* from here on the test may change everything */
        "[ -z \"$hang\" ] || exec sleep 1000\n"
        "[ -z \"$fail\" ] || { echo 'Unable to contact slurm controller' >&2; exit 1; }\n"
        "[ -n \"$fail\" ] || : >\"$FAKE_DIR/done\"\n";

struct world {
	char dir[32];
	int hook, called, out; /* the hook's socket, the FIFO, what the placeholder says */
	int port;
	pid_t pid;
	int pidfd;
};

static char *path_of(const struct world *w, const char *name)
{
	return str_printf("%s/%s", w->dir, name);
}

static void put(const struct world *w, const char *name, const char *text, mode_t mode)
{
	_cleanup_free_ char *path = path_of(w, name);
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void drop(const struct world *w, const char *name)
{
	_cleanup_free_ char *path = path_of(w, name);

	unlink(path);
}

static void listen_there(struct world *w)
{
	uint16_t port = (uint16_t)w->port;

	w->hook = test_listen(&port);
	w->port = port;
}

static struct world *world_new(void)
{
	struct world *w = NEW(struct world);
	_cleanup_free_ char *fifo = NULL;

	signal(SIGPIPE, SIG_IGN);
	strcpy(w->dir, "/tmp/sunk-hold-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	put(w, "scontrol", scontrol, 0755);
	fifo = path_of(w, "called");
	assert_int_equal(mkfifo(fifo, 0600), 0);
	w->called = open(fifo, O_RDWR | O_CLOEXEC);
	w->out = memfd_create("out", MFD_CLOEXEC);
	w->pidfd = -1;
	listen_there(w);
	return w;
}

static void world_free(struct world *w)
{
	static const char *const files[] = { "scontrol", "called", "env", "fail", "hang", "done" };

	if (w->pidfd >= 0) {
		kill(w->pid, SIGKILL);
		waitpid(w->pid, NULL, 0);
		close(w->pidfd);
	}
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		drop(w, files[i]);
	rmdir(w->dir);
	close(w->hook);
	close(w->called);
	close(w->out);
	free(w);
}
DEFINE_FREEP(struct world, world_free)
#define _cleanup_world_ _cleanup_(world_freep)

static void set_env(const struct world *w)
{
	_cleanup_free_ char *url = str_printf("http://127.0.0.1:%d/", w->port),
	                    *path = str_printf("%s:/usr/bin:/bin", w->dir);

	setenv("PATH", path, 1);
	setenv("FAKE_DIR", w->dir, 1);
	setenv("SUNK_POD", POD, 1);
	setenv("SUNK_HOOK_URL", url, 1);
	setenv("SUNK_HOOK_TOKEN", TOKEN, 1);
	setenv("SUNK_KILL_WAIT", "30", 1);
	setenv("SLURM_JOB_ID", "77", 1);
	unsetenv("SUNK_HOOK_CA");
	unsetenv("SLURM_RESTART_COUNT");
	unsetenv("SLURMD_NODENAME");
}

/* With one variable as given; NULL value: without it. A pending signal waits for the placeholder when it starts. */
static void begin_with(struct world *w, const char *name, const char *value, int pending)
{
	w->pid = fork();
	if (w->pid == 0) {
		sigset_t set;

		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves none behind */
		dup2(w->out, STDERR_FILENO);
		set_env(w);
		if (name && value)
			setenv(name, value, 1);
		else if (name)
			unsetenv(name);
		close(w->hook);
		signal(SIGHUP, SIG_IGN); /* as under nohup */
		if (pending) {
			sigemptyset(&set);
			sigaddset(&set, pending);
			sigprocmask(SIG_BLOCK, &set, NULL);
			raise(pending);
		}
		exit(placeholder_run());
	}
	w->pidfd = (int)syscall(SYS_pidfd_open, w->pid, 0);
	assert_true(w->pidfd >= 0);
}

static void begin(struct world *w)
{
	begin_with(w, NULL, NULL, 0);
}

/* The next call, which must be this one, on a connection of its own; that. */
static int take(struct world *w, const char *line)
{
	char request[4096] = "";
	size_t len = 0;
	ssize_t n;
	int fd;

	assert_true(test_readable(w->hook, DEADLINE_MS));
	fd = accept4(w->hook, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	while (!strstr(request, "\r\n\r\n")) {
		assert_true(test_readable(fd, DEADLINE_MS));
		n = read(fd, request + len, sizeof(request) - 1 - len);
		assert_true(n > 0);
		request[len += (size_t)n] = 0;
	}
	assert_int_equal(strncmp(request, line, strlen(line)), 0);
	assert_non_null(strstr(request, "\r\nAuthorization: Bearer " TOKEN "\r\n"));
	return fd;
}

static void answer_open(int fd, int status, const char *body)
{
	_cleanup_free_ char *text =
	        str_printf("HTTP/1.1 %d X\r\nContent-Length: %zu\r\n\r\n%s", status, strlen(body), body);

	(void)!write(fd, text, strlen(text));
}

static void answer(int fd, int status, const char *body)
{
	answer_open(fd, status, body);
	close(fd);
}

/* The placeholder gave the call up. */
static void assert_dropped(int fd)
{
	char c;

	assert_true(test_readable(fd, DEADLINE_MS));
	assert_true(read(fd, &c, 1) <= 0);
	close(fd);
}

/* How scontrol was called, without its pid. */
static pid_t scontrol_called(struct world *w, const char *args)
{
	char text[1024], *end;
	size_t len = 0;
	long pid;

	do {
		assert_true(test_readable(w->called, DEADLINE_MS));
		assert_int_equal(read(w->called, text + len, 1), 1);
	} while (text[len++] != '|' && len < sizeof(text));
	text[len - 1] = 0;
	pid = strtol(text, &end, 10);
	assert_string_equal(end + 1, args);
	return (pid_t)pid;
}

static int exit_status(struct world *w)
{
	int status;

	assert_true(test_readable(w->pidfd, DEADLINE_MS));
	assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
	close(w->pidfd);
	w->pidfd = -1;
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int count_said(const struct world *w, const char *what)
{
	char text[8192] = "";
	int n = 0;

	assert_true(pread(w->out, text, sizeof(text) - 1, 0) >= 0);
	assert_null(strstr(text, TOKEN));
	for (const char *at = text; (at = strstr(at, what)); at++)
		n++;
	return n;
}

static void send_signal(const struct world *w, int number)
{
	assert_int_equal(kill(w->pid, number), 0);
}

/* Up to the point where it has marked the job and waits for the Pod. */
static int until_marked(struct world *w)
{
	int fd = take(w, STARTED);

	scontrol_called(w, "update JobId=77 Extra=" POD ": started");
	return fd;
}

/* Up to the point where it waits for the Pod with its second call. */
static int until_waiting(struct world *w)
{
	answer(take(w, STARTED), 204, "");
	return take(w, WAIT);
}

static void test_one_call_lasts_until_its_pod_ends_and_it_ends_so(void **state)
{
	_cleanup_world_ struct world *w = world_new();

	(void)state;
	begin(w);
	answer(until_marked(w), 200, "{\"phase\":\"Failed\",\"exitCode\":42}");
	assert_int_equal(exit_status(w), 42);
	assert_int_equal(count_said(w, "\n"), 0);
	assert_false(test_readable(w->hook, 0));
}

static void test_the_job_of_a_pod_that_is_over_at_once_is_marked(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	_cleanup_free_ char *done = path_of(w, "done");

	(void)state;
	begin(w);
	answer(take(w, STARTED), 200, "{\"phase\":\"Failed\",\"exitCode\":42}");
	scontrol_called(w, "update JobId=77 Extra=" POD ": started");
	assert_int_equal(exit_status(w), 42);
	assert_int_equal(access(done, F_OK), 0);
	assert_int_equal(count_said(w, "\n"), 0);
}

/* It would hang for longer than any test has patience. */
static void test_a_mark_that_hangs_does_not_hold_the_end(void **state)
{
	static const int signals[] = { 0, SIGTERM };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		_cleanup_world_ struct world *w = world_new();

		put(w, "hang", "", 0600);
		begin(w);
		answer(take(w, STARTED), 200, "{\"phase\":\"Failed\",\"exitCode\":42}");
		scontrol_called(w, "update JobId=77 Extra=" POD ": started");
		if (signals[i])
			send_signal(w, signals[i]);
		assert_int_equal(exit_status(w), 42);
		assert_false(test_readable(w->hook, 0));
	}
}

static void test_a_mark_that_fails_does_not_hold_the_end(void **state)
{
	_cleanup_world_ struct world *w = world_new();

	(void)state;
	put(w, "fail", "", 0600);
	begin(w);
	answer(take(w, STARTED), 200, "{\"phase\":\"Failed\",\"exitCode\":42}");
	assert_int_equal(exit_status(w), 42);
	assert_int_equal(count_said(w, "Unable to contact slurm controller"), 1);
}

static void test_a_pod_that_runs_for_longer_is_waited_for(void **state)
{
	_cleanup_world_ struct world *w = world_new();

	(void)state;
	begin(w);
	answer(until_waiting(w), 204, "");
	answer(take(w, WAIT), 200, "{\"phase\":\"Failed\",\"exitCode\":42}");
	assert_int_equal(exit_status(w), 42);
	assert_int_equal(count_said(w, "\n"), 0);
}

/* It answers `started` at once, and the mark need not wait. */
static void test_an_older_scheduler_is_asked_for_the_end(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	int parked;

	(void)state;
	begin(w);
	answer(take(w, STARTED), 200, "{}");
	parked = take(w, WAIT);
	scontrol_called(w, "update JobId=77 Extra=" POD ": started");
	answer(parked, 200, "{\"phase\":\"Succeeded\"}");
	assert_int_equal(exit_status(w), 0);
}

/* Who asks again should ask whoever leads then. */
static void test_each_call_has_a_connection_of_its_own(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	int first, second;

	(void)state;
	begin(w);
	first = take(w, STARTED);
	answer_open(first, 204, "");
	second = take(w, WAIT);
	assert_dropped(first);
	answer_open(second, 204, "");
	answer(take(w, WAIT), 200, "{\"phase\":\"Succeeded\",\"exitCode\":0}");
	assert_dropped(second);
	assert_int_equal(exit_status(w), 0);
}

/* What /proc shows of a real one is looked at in tests/e2e. */
static void test_the_token_is_nowhere_but_in_its_calls(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	_cleanup_free_ char *path = path_of(w, "env");
	_cleanup_buf_ struct buf env = BUF(1 << 20);

	(void)state;
	begin(w);
	answer(until_marked(w), 401, "{\"error\":\"wrong token\"}");
	while (count_said(w, "refuses this job's token") == 0)
		assert_false(test_readable(w->pidfd, 5));
	send_signal(w, SIGTERM);
	answer(take(w, TERMINATE), 200, "{}");
	assert_int_equal(exit_status(w), 143);
	assert_int_equal(buf_read_file(&env, path), 0);
	assert_non_null(strstr(buf_text(&env), "SUNK_POD=" POD));
	assert_null(strstr(buf_text(&env), TOKEN));
	assert_null(strstr(buf_text(&env), "SUNK_HOOK_TOKEN"));
	assert_int_equal(count_said(w, TOKEN), 0);
}

static void test_a_requeued_job_marks_its_run(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	int parked;

	(void)state;
	begin_with(w, "SLURM_RESTART_COUNT", "3", 0);
	parked = take(w, "POST /v1/jobs/77/started?uid=0f4b-uid&run=3&seconds=300 HTTP/1.1");
	scontrol_called(w, "update JobId=77 Extra=" POD ": started 3");
	answer(parked, 204, "");
	answer(take(w, "GET /v1/jobs/77/wait?uid=0f4b-uid&run=3&seconds=300 HTTP/1.1"), 200,
	       "{\"phase\":\"Succeeded\"}");
	assert_int_equal(exit_status(w), 0);
}

static void test_started_says_on_which_node_if_slurmd_does(void **state)
{
	_cleanup_world_ struct world *w = world_new();

	(void)state;
	begin_with(w, "SLURMD_NODENAME", "gpu-012-002", 0);
	answer(take(w, "POST /v1/jobs/77/started?uid=0f4b-uid&run=0&node=gpu-012-002&seconds=300 HTTP/1.1"), 200,
	       "{\"phase\":\"Succeeded\"}");
	assert_int_equal(exit_status(w), 0);
}

static void test_a_name_that_is_no_nodes_does_not_get_into_the_call(void **state)
{
	_cleanup_world_ struct world *w = world_new();

	(void)state;
	begin_with(w, "SLURMD_NODENAME", "a&uid=other HTTP/1.1", 0);
	answer(take(w, STARTED), 200, "{\"phase\":\"Succeeded\"}");
	assert_int_equal(exit_status(w), 0);
}

static void test_no_count_of_restarts_is_the_first_run(void **state)
{
	_cleanup_world_ struct world *w = world_new();

	(void)state;
	begin_with(w, "SLURM_RESTART_COUNT", "0", 0);
	answer(take(w, STARTED), 200, "{\"phase\":\"Succeeded\",\"exitCode\":0}");
	assert_int_equal(exit_status(w), 0);
}

static void test_each_ending_signal_has_the_pod_deleted_first(void **state)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		_cleanup_world_ struct world *w = world_new();
		int parked, ending;

		begin(w);
		parked = i ? take(w, STARTED) : until_waiting(w);
		send_signal(w, signals[i]);
		assert_dropped(parked);
		ending = take(w, TERMINATE);
		send_signal(w, SIGCONT);
		send_signal(w, SIGTERM);
		send_signal(w, SIGHUP);
		assert_false(test_readable(ending, 0));
		answer(ending, 204, "");
		answer(take(w, TERMINATE), 200, "{\"phase\":\"Gone\"}");
		assert_int_equal(exit_status(w), 143);
	}
}

/* `scancel --signal=USR1 --batch`, and whatever else can be sent. */
static void test_no_other_signal_ends_or_stops_it(void **state)
{
	static const int others[] = { SIGUSR1, SIGUSR2, SIGALRM, SIGQUIT, SIGVTALRM, SIGPROF, SIGXCPU,
		                      SIGXFSZ, SIGPIPE, SIGIO,   SIGPWR,  SIGTSTP,   SIGTTIN, SIGTTOU };
	_cleanup_world_ struct world *w = world_new();
	int parked;

	(void)state;
	begin(w);
	parked = take(w, STARTED);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		send_signal(w, others[i]);
	for (int i = SIGRTMIN; i <= SIGRTMAX; i++)
		send_signal(w, i);
	answer(parked, 204, "");
	answer(take(w, WAIT), 200, "{\"phase\":\"Failed\",\"exitCode\":42}");
	assert_int_equal(exit_status(w), 42);
}

/* Neither its alarm nor anybody could end it then. Not a shell, which would unblock them. */
static void test_scontrol_does_not_inherit_deafness(void **state)
{
	static const char looks[] = "#!/usr/bin/awk -f\n"
	                            "BEGIN { while (getline < \"/proc/self/status\") if (/^Sig/) print > "
	                            "ENVIRON[\"FAKE_DIR\"] \"/env\" }\n";
	_cleanup_world_ struct world *w = world_new();
	_cleanup_free_ char *path = path_of(w, "env");
	_cleanup_buf_ struct buf env = BUF(4096);
	const char *ignored;

	(void)state;
	put(w, "scontrol", looks, 0755);
	begin(w);
	answer(take(w, STARTED), 200, "{\"phase\":\"Succeeded\"}");
	assert_int_equal(exit_status(w), 0);
	assert_int_equal(buf_read_file(&env, path), 0);
	assert_non_null(strstr(buf_text(&env), "SigBlk:\t0000000000000000"));
	ignored = strstr(buf_text(&env), "SigIgn:\t");
	assert_non_null(ignored);
	assert_int_equal(strtoull(strchr(ignored, '\t'), NULL, 16) & (1U << (SIGPIPE - 1) | 1U << (SIGALRM - 1)), 0);
}

static void test_a_signal_before_anything_else_starts_nothing(void **state)
{
	_cleanup_world_ struct world *w = world_new();

	(void)state;
	begin_with(w, NULL, NULL, SIGTERM);
	answer(take(w, TERMINATE), 200, "{\"phase\":\"Gone\",\"exitCode\":9}");
	assert_int_equal(exit_status(w), 9);
	assert_false(test_readable(w->called, 0));
}

static void test_a_signal_before_the_mark(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	int fd;

	(void)state;
	begin(w);
	fd = take(w, STARTED);
	send_signal(w, SIGTERM);
	assert_dropped(fd);
	answer(take(w, TERMINATE), 200, "{}");
	assert_int_equal(exit_status(w), 143);
}

static void test_a_signal_while_the_hook_is_away(void **state)
{
	_cleanup_world_ struct world *w = world_new();

	(void)state;
	close(w->hook);
	begin(w);
	scontrol_called(w, "update JobId=77 Extra=" POD ": started");
	send_signal(w, SIGTERM);
	listen_there(w);
	/* started may have been under way for the last time */
	while (test_readable(w->hook, DEADLINE_MS)) {
		int fd = accept4(w->hook, NULL, NULL, SOCK_CLOEXEC);
		char line[64] = "";

		assert_true(test_readable(fd, DEADLINE_MS));
		if (read(fd, line, sizeof(line) - 1) > 0 && strstr(line, "terminate")) {
			answer(fd, 200, "{}");
			break;
		}
		close(fd);
	}
	assert_int_equal(exit_status(w), 143);
}

static void test_a_hook_that_is_away_is_tried_until_it_answers(void **state)
{
	_cleanup_world_ struct world *w = world_new();

	(void)state;
	begin(w);
	close(take(w, STARTED));
	answer(take(w, STARTED), 503, "{\"error\":\"not the leader\"}");
	answer(take(w, STARTED), 500, "");
	answer(take(w, STARTED), 204, "");
	close(take(w, WAIT));
	answer(take(w, WAIT), 404, "{\"error\":\"no such job\"}");
	answer(take(w, WAIT), 503, "");
	answer(take(w, WAIT), 200, "{\"phase\":\"Succeeded\",\"exitCode\":0}");
	assert_int_equal(exit_status(w), 0);
	assert_int_equal(count_said(w, "does not answer"), 1);
}

static void test_a_scheduler_that_restarts_is_found_again(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	int parked;

	(void)state;
	begin(w);
	parked = take(w, STARTED);
	close(w->hook);
	close(parked);
	listen_there(w);
	parked = take(w, STARTED); /* this one may not know */
	answer(parked, 204, "");
	parked = take(w, WAIT);
	close(w->hook);
	close(parked);
	listen_there(w);
	answer(take(w, WAIT), 200, "{\"phase\":\"Failed\",\"exitCode\":1}");
	assert_int_equal(exit_status(w), 1);
}

static void test_what_is_no_answer_of_the_hook_ends_nothing(void **state)
{
	_cleanup_world_ struct world *w = world_new();

	(void)state;
	begin(w);
	answer(take(w, STARTED), 200, "<html>welcome</html>");
	while (count_said(w, "makes no sense") == 0)
		assert_false(test_readable(w->pidfd, 5));
	send_signal(w, SIGTERM);
	answer(take(w, TERMINATE), 200, "{\"phase\":\"Gone\"}");
	assert_int_equal(exit_status(w), 143);
}

static void test_shortly_before_the_kill_it_asks_for_a_drain_and_goes_on_waiting(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	int ending;

	(void)state;
	begin_with(w, "SUNK_KILL_WAIT", "1", 0);
	close(take(w, STARTED)); /* whether it is given up or broken makes no difference */
	send_signal(w, SIGTERM);
	ending = take(w, TERMINATE);
	answer(take(w, DRAIN), 503, "");
	answer(take(w, DRAIN), 200, "{}");
	assert_int_equal(count_said(w, "told to drain the node"), 1);
	assert_false(test_readable(w->pidfd, 0));
	answer(ending, 200, "{\"phase\":\"Gone\"}");
	assert_int_equal(exit_status(w), 143);
}

static void test_a_controller_that_is_away_is_asked_until_the_mark_is_there(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	int parked;

	(void)state;
	put(w, "fail", "", 0600);
	begin(w);
	parked = take(w, STARTED);
	scontrol_called(w, "update JobId=77 Extra=" POD ": started");
	scontrol_called(w, "update JobId=77 Extra=" POD ": started");
	drop(w, "fail");
	scontrol_called(w, "update JobId=77 Extra=" POD ": started");
	answer(parked, 200, "{\"phase\":\"Succeeded\"}");
	assert_int_equal(exit_status(w), 0);
	assert_int_equal(count_said(w, "scontrol failed (1): Unable to contact slurm controller"), 1);
}

static void test_without_scontrol_it_holds_all_the_same(void **state)
{
	_cleanup_world_ struct world *w = world_new();
	int parked;

	(void)state;
	begin_with(w, "PATH", "/nonexistent", 0);
	parked = take(w, STARTED);
	while (count_said(w, "is it in PATH?") == 0)
		assert_false(test_readable(w->pidfd, 5));
	answer(parked, 200, "{\"phase\":\"Failed\"}");
	assert_int_equal(exit_status(w), 1);
}

static bool runs(pid_t pid)
{
	_cleanup_free_ char *path = str_printf("/proc/%d/stat", pid);
	_cleanup_buf_ struct buf b = BUF(4096);

	if (buf_read_file(&b, path) < 0)
		return false;
	return !strstr(buf_text(&b), ") Z ") && !strstr(buf_text(&b), ") X ");
}

static void test_no_child_is_left_behind_by_any_end(void **state)
{
	static const int ends[] = { 0, SIGTERM, SIGKILL };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		_cleanup_world_ struct world *w = world_new();
		int parked, status;
		pid_t child;

		put(w, "hang", "", 0600);
		begin(w);
		parked = take(w, STARTED);
		child = scontrol_called(w, "update JobId=77 Extra=" POD ": started");
		if (ends[i])
			send_signal(w, ends[i]);
		if (ends[i] == SIGTERM)
			answer(take(w, TERMINATE), 200, "{}");
		if (ends[i])
			close(parked);
		else
			answer(parked, 200, "{\"phase\":\"Succeeded\"}");
		if (ends[i] != SIGKILL)
			assert_int_equal(exit_status(w), ends[i] ? 143 : 0);
		else
			assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
		for (int ms = 0; runs(child); ms += 5) {
			assert_true(ms < DEADLINE_MS);
			poll(NULL, 0, 5);
		}
	}
}

static void test_a_wrong_environment_is_said_in_one_line(void **state)
{
	static const struct {
		const char *name, *value;
	} rows[] = {
		{ "SUNK_POD", NULL },
		{ "SUNK_POD", "" },
		{ "SUNK_POD", "ns/name" },
		{ "SUNK_POD", "ns/name/" },
		{ "SUNK_POD", "/name/uid" },
		{ "SUNK_POD", "ns//uid" },
		{ "SUNK_POD", "ns/name/uid/more" },
		{ "SUNK_POD", "ns/na me/uid" },
		{ "SUNK_POD", "ns/name/u&id" },
		{ "SUNK_POD", "ns/$(reboot)/uid" },
		{ "SUNK_POD", "ns/name/uid\nExtra=x" },
		{ "SUNK_POD", "ns/n\xc3\xa4me/uid" },
		{ "SUNK_HOOK_URL", NULL },
		{ "SUNK_HOOK_URL", "file:///etc/passwd" },
		{ "SUNK_HOOK_URL", "http://a b" },
		{ "SUNK_HOOK_TOKEN", NULL },
		{ "SUNK_HOOK_TOKEN", "a\r\nX-Other: b" },
		{ "SUNK_KILL_WAIT", NULL },
		{ "SUNK_KILL_WAIT", "0" },
		{ "SUNK_KILL_WAIT", "-5" },
		{ "SUNK_KILL_WAIT", "30s" },
		{ "SUNK_KILL_WAIT", "99999999999999999999" },
		{ "SLURM_JOB_ID", NULL },
		{ "SLURM_JOB_ID", "0" },
		{ "SLURM_JOB_ID", "7_1" },
		{ "SLURM_JOB_ID", "4294967295" },
		{ "SLURM_RESTART_COUNT", "x" },
		{ "SLURM_RESTART_COUNT", "-1" },
		{ "SUNK_HOOK_CA", "/a\tb" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_world_ struct world *w = world_new();

		begin_with(w, rows[i].name, rows[i].value, 0);
		assert_int_equal(exit_status(w), 2);
		assert_int_equal(count_said(w, "\n"), 1);
		assert_int_equal(count_said(w, rows[i].name), 1);
	}
}

static void test_a_long_variable_is_refused(void **state)
{
	char text[8192];
	static const char *const names[] = { "SUNK_POD", "SUNK_HOOK_URL", "SUNK_HOOK_TOKEN", "SUNK_HOOK_CA" };

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text, "http://a/b/", 11);
	text[sizeof(text) - 1] = 0;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		_cleanup_world_ struct world *w = world_new();

		begin_with(w, names[i], text, 0);
		assert_int_equal(exit_status(w), 2);
		assert_int_equal(count_said(w, "is longer than"), 1);
	}
}

TEST_MAIN(TEST(one_call_lasts_until_its_pod_ends_and_it_ends_so), TEST(the_job_of_a_pod_that_is_over_at_once_is_marked),
          TEST(a_mark_that_hangs_does_not_hold_the_end), TEST(a_mark_that_fails_does_not_hold_the_end),
          TEST(a_pod_that_runs_for_longer_is_waited_for), TEST(an_older_scheduler_is_asked_for_the_end),
          TEST(each_call_has_a_connection_of_its_own), TEST(the_token_is_nowhere_but_in_its_calls),
          TEST(a_requeued_job_marks_its_run), TEST(no_count_of_restarts_is_the_first_run),
          TEST(started_says_on_which_node_if_slurmd_does), TEST(a_name_that_is_no_nodes_does_not_get_into_the_call),
          TEST(each_ending_signal_has_the_pod_deleted_first), TEST(no_other_signal_ends_or_stops_it),
          TEST(scontrol_does_not_inherit_deafness), TEST(a_signal_before_anything_else_starts_nothing),
          TEST(a_signal_before_the_mark), TEST(a_signal_while_the_hook_is_away),
          TEST(a_hook_that_is_away_is_tried_until_it_answers), TEST(a_scheduler_that_restarts_is_found_again),
          TEST(what_is_no_answer_of_the_hook_ends_nothing),
          TEST(shortly_before_the_kill_it_asks_for_a_drain_and_goes_on_waiting),
          TEST(a_controller_that_is_away_is_asked_until_the_mark_is_there),
          TEST(without_scontrol_it_holds_all_the_same), TEST(no_child_is_left_behind_by_any_end),
          TEST(a_wrong_environment_is_said_in_one_line), TEST(a_long_variable_is_refused))
