/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/test.h"

/* Runs, returns what it wrote to the descriptor given as out (0 … 3), and how it ended. */
static char *run_with(struct spawn s, int out, int *ret_status)
{
	_cleanup_buf_ struct buf b = BUF(1 << 20);
	int fds[2];
	struct err err = { 0 };
	pid_t pid = -1;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	if (out == 1)
		s.out = fds[1];
	else if (out == 2)
		s.err = fds[1];
	else
		s.extra = fds[1];
	if (spawn(&s, &pid, &err) < 0)
		fail_msg("%s", err_text(&err));
	close(fds[1]);
	assert_int_equal(buf_read_fd(&b, fds[0]), 0);
	close(fds[0]);
	assert_int_equal(waitpid(pid, ret_status, 0), pid);
	return buf_take(&b);
}

static char *run(const char *const *argv)
{
	int status = -1;
	char *text = run_with((struct spawn) { .argv = argv, .in = -1, .out = -1, .err = -1, .extra = -1 }, 1, &status);

	assert_int_equal(status, 0);
	return text;
}

static void test_arguments_reach_the_program_as_they_are(void **state)
{
	static const char *const argv[] = {
		"printf", "<%s>", "a b", "$(id)", "`id`", ";", "*", "", "\"'\\", "\n", NULL
	};
	_cleanup_free_ char *text = run(argv);

	(void)state;
	assert_string_equal(text, "<a b><$(id)><`id`><;><*><><\"'\\><\n>");
}

/* The C library's old posix_spawnp() gave such a file to /bin/sh. */
static void test_a_file_that_is_no_program_is_not_given_to_a_shell(void **state)
{
	char path[] = "/tmp/sunk-spawn-XXXXXX";
	int fd = mkstemp(path);
	const char *const argv[] = { path, NULL };
	struct spawn s = { .argv = argv, .in = -1, .out = -1, .err = -1, .extra = -1 };
	struct err err = { 0 };
	pid_t pid = 77;

	(void)state;
	assert_int_equal(write(fd, "exit 0\n", 7), 7);
	fchmod(fd, 0755);
	close(fd);
	assert_int_equal(spawn(&s, &pid, &err), -ENOEXEC);
	assert_int_equal(pid, 77);
	assert_non_null(strstr(err.text, path));
	unlink(path);
}

static void test_a_program_that_is_not_there_is_an_error_with_its_name(void **state)
{
	static const char *const argv[] = { "there-is-no-such-program", NULL };
	struct spawn s = { .argv = argv, .in = -1, .out = -1, .err = -1, .extra = -1 };
	struct err err = { 0 };
	pid_t pid = 77;

	(void)state;
	assert_int_equal(spawn(&s, &pid, &err), -ENOENT);
	assert_string_equal(err.text, "cannot run there-is-no-such-program: No such file or directory");
	assert_int_equal(pid, 77);
}

static void test_the_child_sees_only_the_descriptors_it_is_given(void **state)
{
	/* the descriptor that reads the directory is in the list too, but closed by the time it is looked at */
	static const char *const argv[] = { "sh", "-c", "for i in /proc/$$/fd/*; do [ ! -e $i ] || echo ${i##*/}; done",
		                            NULL };
	int leaks[20];
	_cleanup_free_ char *text = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(leaks); i++)
		leaks[i] = open("/dev/null", O_RDONLY); /* without O_CLOEXEC, on purpose */
	assert_true(leaks[19] > 10);
	text = run(argv);
	assert_string_equal(text, "0\n1\n2\n");
	for (size_t i = 0; i < ARRAY_LEN(leaks); i++)
		close(leaks[i]);
}

static void test_the_extra_descriptor_is_number_3(void **state)
{
	static const char *const argv[] = { "sh", "-c", "echo three >&3; [ ! -e /proc/$$/fd/4 ]", NULL };
	int status = -1;
	_cleanup_free_ char *text =
	        run_with((struct spawn) { .argv = argv, .in = -1, .out = -1, .err = -1, .extra = -1 }, 3, &status);

	(void)state;
	assert_string_equal(text, "three\n");
	assert_int_equal(status, 0);
}

static void test_descriptors_given_crosswise_do_not_overwrite_each_other(void **state)
{
	static const char *const argv[] = { "sh", "-c", "echo out; echo err >&2; echo extra >&3; cat", NULL };
	_cleanup_buf_ struct buf b = BUF(1000);
	int pipes[4][2], status = -1, saved[4];
	struct err err = { 0 };
	pid_t pid = -1;

	(void)state;
	/* put the pipes exactly on 0 … 3, in the wrong places */
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pipe2(pipes[i], O_CLOEXEC), 0);
		for (int side = 0; side < 2; side++) {
			int up = fcntl(pipes[i][side], F_DUPFD_CLOEXEC, 50);

			close(pipes[i][side]);
			pipes[i][side] = up;
		}
	}
	for (int i = 0; i < 4; i++)
		saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 40);
	dup2(pipes[1][1], 0); /* out */
	dup2(pipes[0][0], 1); /* in */
	dup2(pipes[3][1], 2); /* extra */
	dup2(pipes[2][1], 3); /* err */
	{
		struct spawn s = { .argv = argv, .in = 1, .out = 0, .err = 3, .extra = 2 };

		spawn(&s, &pid, &err);
	}
	for (int i = 0; i < 4; i++) {
		if (saved[i] >= 0)
			dup2(saved[i], i);
		else
			close(i);
		if (saved[i] >= 0)
			close(saved[i]);
	}
	assert_true(pid > 0);
	assert_int_equal(write(pipes[0][1], "in\n", 3), 3);
	for (int i = 0; i < 4; i++)
		close(pipes[i][i == 0 ? 0 : 1]);
	close(pipes[0][1]);
	assert_int_equal(buf_read_fd(&b, pipes[1][0]), 0);
	buf_add_char(&b, '|');
	assert_int_equal(buf_read_fd(&b, pipes[2][0]), 0);
	buf_add_char(&b, '|');
	assert_int_equal(buf_read_fd(&b, pipes[3][0]), 0);
	assert_string_equal(buf_text(&b), "out\nin\n|err\n|extra\n");
	assert_int_equal(waitpid(pid, &status, 0), pid);
	for (int i = 1; i < 4; i++)
		close(pipes[i][0]);
}

static void test_a_parent_without_standard_descriptors_can_still_give_them(void **state)
{
	static const char *const argv[] = { "sh", "-c", "cat; echo out", NULL };
	_cleanup_buf_ struct buf b = BUF(1000);
	int saved = fcntl(0, F_DUPFD_CLOEXEC, 40), fds[2], status = -1;
	struct err err = { 0 };
	pid_t pid = -1;

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	close(0); /* the first number that is free is one that the child needs */
	spawn(&(struct spawn) { .argv = argv, .in = -1, .out = fds[1], .err = -1, .extra = -1 }, &pid, &err);
	if (saved >= 0) {
		dup2(saved, 0);
		close(saved);
	}
	close(fds[1]);
	assert_true(pid > 0);
	assert_int_equal(buf_read_fd(&b, fds[0]), 0);
	close(fds[0]);
	assert_string_equal(buf_text(&b), "out\n");
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void test_a_descriptor_that_is_not_open_is_an_error(void **state)
{
	static const char *const argv[] = { "true", NULL };
	struct err err = { 0 };
	pid_t pid = 77;

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct spawn s = { .argv = argv, .in = -1, .out = -1, .err = -1, .extra = -1 };
		int *fd[] = { &s.in, &s.out, &s.err, &s.extra };

		*fd[i] = 999;
		assert_int_equal(spawn(&s, &pid, &err), -EBADF);
		assert_int_equal(pid, 77);
	}
}

static void test_without_descriptors_it_reads_nothing_and_writes_nowhere(void **state)
{
	static const char *const argv[] = { "sh", "-c",
		                            "[ -z \"$(cat)\" ] && echo lost && [ /proc/$$/fd/0 -ef /dev/null ] && "
		                            "[ /proc/$$/fd/1 -ef /dev/null ]",
		                            NULL };
	struct spawn s = { .argv = argv, .in = -1, .out = -1, .err = -1, .extra = -1 };
	struct err err = { 0 };
	int status = -1;
	pid_t pid = -1;

	(void)state;
	assert_int_equal(spawn(&s, &pid, &err), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_given_variables_override_the_parents(void **state)
{
	static const char *const argv[] = { "env", NULL };
	static const char *const env[] = { "SUNK_A=new", "SUNK_C=", NULL };
	struct spawn s = { .argv = argv, .env = env, .in = -1, .out = -1, .err = -1, .extra = -1 };
	int status = -1;
	_cleanup_free_ char *text = NULL;

	(void)state;
	setenv("SUNK_A", "old", 1);
	setenv("SUNK_AB", "kept", 1);
	setenv("SUNK_C", "old", 1);
	text = run_with(s, 1, &status);
	assert_non_null(strstr(text, "SUNK_A=new\n"));
	assert_non_null(strstr(text, "SUNK_AB=kept\n"));
	assert_non_null(strstr(text, "SUNK_C=\n"));
	assert_null(strstr(text, "=old"));
}

static void test_a_clean_environment_has_only_what_is_given(void **state)
{
	static const char *const argv[] = { "/usr/bin/env", NULL };
	static const char *const env[] = { "ONE=1", NULL };
	struct spawn s = { .argv = argv, .env = env, .env_only = true, .in = -1, .out = -1, .err = -1, .extra = -1 };
	int status = -1;
	_cleanup_free_ char *text = run_with(s, 1, &status);

	(void)state;
	assert_string_equal(text, "ONE=1\n");
}

static void test_it_starts_in_the_directory_given_or_says_which_is_missing(void **state)
{
	static const char *const argv[] = { "pwd", NULL };
	struct spawn s = { .argv = argv, .cwd = "/usr", .in = -1, .out = -1, .err = -1, .extra = -1 };
	struct err err = { 0 };
	int status = -1;
	_cleanup_free_ char *text = run_with(s, 1, &status);
	pid_t pid = 77;

	(void)state;
	assert_string_equal(text, "/usr\n");
	s.cwd = "/there/is/no/such/place";
	assert_int_equal(spawn(&s, &pid, &err), -ENOENT);
	assert_string_equal(err.text, "cannot run pwd in /there/is/no/such/place: No such file or directory");
}

static void test_the_child_starts_with_default_signals_in_its_own_group(void **state)
{
	static const char *const argv[] = { "sh", "-c",
		                            "set -- $(cat /proc/$$/stat); [ $1 = $5 ] && echo own group; "
		                            "exec grep -E '^Sig(Blk|Ign)' /proc/self/status",
		                            NULL };
	_cleanup_free_ char *text = NULL;
	sigset_t block, before;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	sigemptyset(&block);
	sigaddset(&block, SIGTERM);
	sigprocmask(SIG_BLOCK, &block, &before);
	text = run(argv);
	sigprocmask(SIG_SETMASK, &before, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
	assert_string_equal(text, "own group\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

static void test_the_parent_keeps_no_descriptor(void **state)
{
	static const char *const argv[] = { "true", NULL };
	int before = open("/dev/null", O_RDONLY | O_CLOEXEC), after;

	(void)state;
	close(before);
	for (int i = 0; i < 5; i++) {
		_cleanup_free_ char *text = run(argv);

		assert_string_equal(text, "");
	}
	after = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(after);
	assert_int_equal(before, after);
}

TEST_MAIN(TEST(arguments_reach_the_program_as_they_are), TEST(a_file_that_is_no_program_is_not_given_to_a_shell),
          TEST(a_program_that_is_not_there_is_an_error_with_its_name),
          TEST(the_child_sees_only_the_descriptors_it_is_given), TEST(the_extra_descriptor_is_number_3),
          TEST(descriptors_given_crosswise_do_not_overwrite_each_other),
          TEST(a_parent_without_standard_descriptors_can_still_give_them),
          TEST(a_descriptor_that_is_not_open_is_an_error),
          TEST(without_descriptors_it_reads_nothing_and_writes_nowhere), TEST(given_variables_override_the_parents),
          TEST(a_clean_environment_has_only_what_is_given),
          TEST(it_starts_in_the_directory_given_or_says_which_is_missing),
          TEST(the_child_starts_with_default_signals_in_its_own_group), TEST(the_parent_keeps_no_descriptor))
