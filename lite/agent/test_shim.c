/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A real shim in a child process, real commands, and the state it tells over its socket.
 */
#include "lite/agent/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "base/test.h"
#include "lite/agent/box.h"
#include "lite/agent/logfile.h"

#define PATIENCE_MS 20000

struct pod {
	char dir[32];
	pid_t shim;
	int fd;
	struct buf in;
	struct pod_state *state;
};

static void write_file(const char *path, const char *text)
{
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static int connect_to(const char *dir)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char state[64];

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/sock", dir);
	snprintf(state, sizeof(state), "%s/state.json", dir);
	for (int i = 0; i < PATIENCE_MS / 5; i++) {
		if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
			return fd;
		if (errno == ECONNREFUSED && access(state, F_OK) == 0) /* it has come and gone */
			break;
		usleep(5000);
	}
	close(fd);
	return -1;
}

static char *file_text(const char *dir, const char *name)
{
	struct buf text = BUF(65536);
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(buf_read_file(&text, path), 0);
	return buf_take(&text);
}

/* A log as a reader sees it. */
static char *log_text(const char *dir, const char *name)
{
	_cleanup_free_ char *kept_text = file_text(dir, name);
	_cleanup_buf_ struct buf kept = BUF(65536);
	struct buf shown = BUF(65536);
	struct log_view view;

	buf_add_str(&kept, kept_text);
	log_view_init(&view, false, 0);
	logfile_show(&view, &kept, &shown, SIZE_MAX);
	assert_int_equal(kept.len, 0);
	return buf_take(&shown);
}

/* Starts a Pod; "@" in the spec stands for its directory. */
static struct pod pod_start(const char *spec)
{
	struct pod p = { .dir = "/tmp/sunk-shim-XXXXXX", .in = BUF(POD_STATE_MAX) };
	_cleanup_buf_ struct buf text = BUF(65536);
	char path[64];

	assert_non_null(mkdtemp(p.dir));
	for (; *spec; spec++)
		*spec == '@' ? buf_add_str(&text, p.dir) : buf_add_char(&text, *spec);
	snprintf(path, sizeof(path), "%s/spec.json", p.dir);
	write_file(path, buf_text(&text));
	fflush(NULL);
	p.shim = fork();
	if (p.shim == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		_exit(shim_main(p.dir));
	}
	p.fd = connect_to(p.dir);
	return p;
}

/* What a shim that has ended left behind: its last state is in the file. */
static bool pod_last(struct pod *p)
{
	_cleanup_free_ char *text = NULL;

	if (p->state && p->state->ended)
		return false;
	text = file_text(p->dir, "state.json");
	free(p->state);
	assert_int_equal(pod_state_parse(text, strlen(text), &p->state, NULL), 0);
	assert_true(p->state->ended);
	return true;
}

/* The next state it tells; false when there is nothing more to come. */
static bool pod_next(struct pod *p)
{
	while (p->fd >= 0) {
		char *end = p->in.data ? memchr(p->in.data, '\n', p->in.len) : NULL;
		struct pollfd wait = { .fd = p->fd, .events = POLLIN };
		struct err err = { 0 };
		char bytes[4096];
		ssize_t n;

		if (end) {
			free(p->state);
			assert_int_equal(pod_state_parse(p->in.data, (size_t)(end - p->in.data), &p->state, &err), 0);
			buf_drop_front(&p->in, (size_t)(end + 1 - p->in.data));
			return true;
		}
		if (poll(&wait, 1, PATIENCE_MS) != 1)
			fail_msg("the shim says nothing");
		n = read(p->fd, bytes, sizeof(bytes));
		if (n <= 0) {
			fd_closep(&p->fd);
			break;
		}
		buf_add(&p->in, bytes, (size_t)n);
	}
	return pod_last(p);
}

#define UNTIL(p, condition)                                                                                            \
	while (!(p)->state || !(condition))                                                                            \
		if (!pod_next(p))                                                                                      \
	fail_msg("the shim ended before: %s", #condition)

static void pod_term(struct pod *p, int ms)
{
	dprintf(p->fd, "term %d\n", ms);
}

static void pod_done(struct pod *p)
{
	int status;

	while (pod_next(p))
		;
	assert_int_equal(waitpid(p->shim, &status, 0), p->shim);
	assert_int_equal(status, 0);
	assert_true(p->state->ended);
	free(p->state);
	buf_done(&p->in);
	for (const char *const *name = (const char *const[]) { "spec.json", "state.json", "sock", "log", "log.before",
	                                                       "log2", "mark", "pid", "shim.pid", NULL };
	     *name; name++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/%s", p->dir, *name);
		unlink(path);
	}
	assert_int_equal(rmdir(p->dir), 0);
}

static void test_a_command_runs_with_its_own_environment_and_its_exit_code_is_told(void **state)
{
	struct pod p = pod_start(
	        "{\"uid\":\"u\",\"restart\":\"Never\",\"mains\":[{\"name\":\"c\",\"log\":\"@/log\",\"cwd\":\"/\","
	        "\"argv\":[\"/bin/sh\",\"-c\",\"echo $A $HOME; pwd; exit 7\"],\"env\":[\"A=b\"]}]}");
	_cleanup_free_ char *log = NULL;

	(void)state;
	UNTIL(&p, p.state->ended);
	assert_int_equal(p.state->mains[0].exit.code, 7);
	assert_string_equal(p.state->mains[0].exit.reason, "Error");
	log = log_text(p.dir, "log");
	assert_string_equal(log, "b\n/\n");
	pod_done(&p);
}

static void test_init_boxes_run_in_order_before_the_main_ones(void **state)
{
	struct pod p = pod_start(
	        "{\"uid\":\"u\",\"restart\":\"Never\","
	        "\"inits\":[{\"name\":\"i1\",\"log\":\"@/log\",\"argv\":[\"/bin/sh\",\"-c\",\"sleep 0.1; echo 1\"]},"
	        "{\"name\":\"i2\",\"log\":\"@/log\",\"argv\":[\"/bin/sh\",\"-c\",\"echo 2\"]}],"
	        "\"mains\":[{\"name\":\"c\",\"log\":\"@/log\",\"argv\":[\"/bin/sh\",\"-c\",\"echo 3\"]}]}");
	_cleanup_free_ char *log = NULL;

	(void)state;
	UNTIL(&p, p.state->ended);
	assert_true(p.state->initialized);
	log = log_text(p.dir, "log");
	assert_string_equal(log, "1\n2\n3\n");
	pod_done(&p);
}

static void test_a_failed_init_box_ends_a_pod_that_never_restarts(void **state)
{
	struct pod p = pod_start("{\"uid\":\"u\",\"restart\":\"Never\","
	                         "\"inits\":[{\"name\":\"i\",\"log\":\"@/log\",\"argv\":[\"/bin/false\"]}],"
	                         "\"mains\":[{\"name\":\"c\",\"log\":\"@/log\",\"argv\":[\"/bin/true\"]}]}");

	(void)state;
	UNTIL(&p, p.state->ended);
	assert_false(p.state->initialized);
	assert_int_equal(p.state->mains[0].phase, BOX_WAITING);
	pod_done(&p);
}

static void test_a_sidecar_stays_until_the_main_boxes_are_done(void **state)
{
	struct pod p = pod_start(
	        "{\"uid\":\"u\",\"restart\":\"Never\","
	        "\"inits\":[{\"name\":\"s\",\"sidecar\":true,\"log\":\"@/log2\",\"argv\":[\"/bin/sh\",\"-c\","
	        "\"trap 'echo bye; exit 0' TERM; while :; do sleep 0.05; done\"]}],"
	        "\"mains\":[{\"name\":\"c\",\"log\":\"@/log\",\"argv\":[\"/bin/sh\",\"-c\",\"sleep 0.3\"]}]}");
	_cleanup_free_ char *log = NULL;

	(void)state;
	UNTIL(&p, p.state->mains[0].phase == BOX_RUNNING);
	assert_int_equal(p.state->inits[0].phase, BOX_RUNNING);
	UNTIL(&p, p.state->ended);
	assert_int_equal(p.state->mains[0].exit.code, 0);
	log = log_text(p.dir, "log2");
	assert_non_null(strstr(log, "bye\n"));
	pod_done(&p);
}

static void test_a_box_that_ends_is_restarted_when_the_policy_says_so(void **state)
{
	struct pod p =
	        pod_start("{\"uid\":\"u\",\"restart\":\"OnFailure\",\"mains\":[{\"name\":\"c\",\"log\":\"@/log\","
	                  "\"argv\":[\"/bin/sh\",\"-c\",\"[ -e @/mark ] && echo two && exit 0; echo one; touch @/mark; "
	                  "exit 3\"]}]}");
	_cleanup_free_ char *log = NULL, *before = NULL;

	(void)state;
	UNTIL(&p, p.state->ended);
	assert_int_equal(p.state->mains[0].restarts, 1);
	assert_int_equal(p.state->mains[0].exit.code, 0);
	assert_true(p.state->mains[0].has_last);
	assert_int_equal(p.state->mains[0].last.code, 3);
	log = log_text(p.dir, "log");
	before = log_text(p.dir, "log.before");
	assert_string_equal(log, "two\n");
	assert_string_equal(before, "one\n");
	pod_done(&p);
}

static void test_a_box_that_keeps_crashing_is_put_off(void **state)
{
	struct pod p = pod_start("{\"uid\":\"u\",\"restart\":\"Always\",\"mains\":[{\"name\":\"c\",\"log\":\"@/log\","
	                         "\"argv\":[\"/bin/false\"]}]}");

	(void)state;
	UNTIL(&p, str_eq(p.state->mains[0].reason, "CrashLoopBackOff"));
	assert_int_equal(p.state->mains[0].restarts, 1);
	pod_term(&p, 0);
	pod_done(&p);
}

static void test_term_gives_time_to_clean_up_and_then_kills(void **state)
{
	struct pod kind =
	        pod_start("{\"uid\":\"u\",\"mains\":[{\"name\":\"c\",\"log\":\"@/log\",\"argv\":[\"/bin/sh\",\"-c\","
	                  "\"trap 'exit 5' TERM; echo up; while :; do sleep 0.05; done\"]}]}");
	struct pod deaf =
	        pod_start("{\"uid\":\"u\",\"mains\":[{\"name\":\"c\",\"log\":\"@/log\",\"argv\":[\"/bin/sh\",\"-c\","
	                  "\"trap '' TERM; touch @/mark; while :; do sleep 0.05; done\"]}]}");
	char path[64];

	(void)state;
	UNTIL(&kind, kind.state->mains[0].phase == BOX_RUNNING);
	for (_cleanup_free_ char *log = NULL; !log || !strstr(log, "up");) { /* the trap is set */
		free(log);
		usleep(5000);
		log = log_text(kind.dir, "log");
	}
	pod_term(&kind, 20000);
	UNTIL(&kind, kind.state->ended);
	assert_int_equal(kind.state->mains[0].exit.code, 5);
	pod_done(&kind);

	UNTIL(&deaf, deaf.state->mains[0].phase == BOX_RUNNING);
	snprintf(path, sizeof(path), "%s/mark", deaf.dir);
	while (access(path, F_OK) < 0)
		usleep(5000);
	pod_term(&deaf, 200);
	UNTIL(&deaf, deaf.state->ended);
	assert_int_equal(deaf.state->mains[0].exit.signal, SIGKILL);
	assert_int_equal(deaf.state->mains[0].exit.code, 137);
	pod_done(&deaf);
}

static void test_no_process_outlives_its_pod_even_in_a_session_of_its_own(void **state)
{
	struct pod p = pod_start("{\"uid\":\"u\",\"restart\":\"Never\",\"mains\":[{\"name\":\"c\",\"log\":\"@/log\","
	                         "\"argv\":[\"/bin/sh\",\"-c\",\"setsid sh -c 'trap \\\"\\\" TERM; echo $$ >@/pid.new; "
	                         "mv @/pid.new @/pid; "
	                         "sleep 1000' & until [ -e @/pid ]; do sleep 0.02; done\"]}]}");
	_cleanup_free_ char *pid = NULL;

	(void)state;
	UNTIL(&p, p.state->ended);
	pid = file_text(p.dir, "pid");
	assert_int_equal(kill(atoi(pid), 0), -1);
	assert_int_equal(errno, ESRCH);
	pod_done(&p);
}

static void test_readiness_follows_the_probe(void **state)
{
	struct pod p = pod_start(
	        "{\"uid\":\"u\",\"mains\":[{\"name\":\"c\",\"log\":\"@/log\",\"argv\":[\"/bin/sleep\",\"1000\"],"
	        "\"readiness\":{\"kind\":\"exec\",\"argv\":[\"/bin/sh\",\"-c\",\"test -e @/mark\"],\"periodMs\":1000,"
	        "\"failures\":1,\"successes\":1}}]}");
	char path[64];

	(void)state;
	UNTIL(&p, p.state->mains[0].phase == BOX_RUNNING);
	assert_false(p.state->mains[0].ready);
	snprintf(path, sizeof(path), "%s/mark", p.dir);
	write_file(path, "");
	UNTIL(&p, p.state->mains[0].ready);
	unlink(path);
	UNTIL(&p, !p.state->mains[0].ready);
	pod_term(&p, 0);
	pod_done(&p);
}

static void test_what_cannot_start_says_why(void **state)
{
	struct pod p = pod_start("{\"uid\":\"u\",\"restart\":\"Never\",\"mains\":["
	                         "{\"name\":\"a\",\"log\":\"@/log\",\"argv\":[]},{\"name\":\"b\",\"log\":\"@/"
	                         "log\",\"argv\":[\"/no/such\"]}]}");

	(void)state;
	UNTIL(&p, p.state->ended);
	assert_string_equal(p.state->mains[0].exit.reason, "StartError");
	assert_non_null(strstr(p.state->mains[0].message, "images are not used"));
	assert_non_null(strstr(p.state->mains[1].message, "/no/such"));
	assert_int_equal(p.state->mains[1].exit.code, 128);
	pod_done(&p);
}

static void test_garbage_on_the_socket_changes_nothing(void **state)
{
	struct pod p = pod_start(
	        "{\"uid\":\"u\",\"mains\":[{\"name\":\"c\",\"log\":\"@/log\",\"argv\":[\"/bin/sleep\",\"1000\"]}]}");
	int other;
	char bytes[4096];

	(void)state;
	UNTIL(&p, p.state->mains[0].phase == BOX_RUNNING);
	other = connect_to(p.dir);
	dprintf(other, "term -1\nterm x\nhello\n");
	memset(bytes, 'x', sizeof(bytes));
	(void)!write(other, bytes, sizeof(bytes)); /* too long a line: it hangs up */
	while (read(other, bytes, sizeof(bytes)) > 0)
		;
	close(other);
	assert_int_equal(kill(p.state->mains[0].pid, 0), 0);
	pod_term(&p, 0);
	pod_done(&p);
}

TEST_MAIN(TEST(a_command_runs_with_its_own_environment_and_its_exit_code_is_told),
          TEST(init_boxes_run_in_order_before_the_main_ones), TEST(a_failed_init_box_ends_a_pod_that_never_restarts),
          TEST(a_sidecar_stays_until_the_main_boxes_are_done),
          TEST(a_box_that_ends_is_restarted_when_the_policy_says_so), TEST(a_box_that_keeps_crashing_is_put_off),
          TEST(term_gives_time_to_clean_up_and_then_kills),
          TEST(no_process_outlives_its_pod_even_in_a_session_of_its_own), TEST(readiness_follows_the_probe),
          TEST(what_cannot_start_says_why), TEST(garbage_on_the_socket_changes_nothing))
