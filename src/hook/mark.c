/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/mark.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"

#define SAID_MAX 200
#define EXIT_NOT_RUN 127

/* Between fork and exec: system calls only, there may be threads that resolve names. */
static void become_scontrol(pid_t parent, char *const argv[], int said)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_NOT_RUN);
	sigemptyset(&none);
	signal(SIGPIPE, SIG_DFL); /* what is ignored would stay so */
	sigprocmask(SIG_SETMASK, &none, NULL);
	alarm(MARK_SECONDS_MAX);
	dup2(null, STDIN_FILENO);
	dup2(said, STDOUT_FILENO);
	dup2(said, STDERR_FILENO);
	close_range(STDERR_FILENO + 1, ~0U, 0);
	execvp(argv[0], argv);
	_exit(EXIT_NOT_RUN);
}

int mark_start(struct mark *m, uint32_t job_id, const char *extra, struct err *err)
{
	_cleanup_free_ char *job = str_printf("JobId=%u", job_id), *text = str_printf("Extra=%s", extra);
	char *argv[] = { (char *)"scontrol", (char *)"update", job, text, NULL };
	pid_t parent = getpid(), pid;
	int said = memfd_create("scontrol", MFD_CLOEXEC);

	if (said < 0)
		return err_errno(err, -errno, "cannot keep what scontrol says");
	pid = fork();
	if (pid < 0) {
		int r = -errno;

		close(said);
		return err_errno(err, r, "cannot start scontrol");
	}
	if (pid == 0)
		become_scontrol(parent, argv, said);
	*m = (struct mark) { .pid = pid, .said = said };
	return 0;
}

static void forget(struct mark *m)
{
	if (m->said >= 0)
		close(m->said);
	*m = MARK_NONE;
}

static int result_of(const struct mark *m, int status, struct err *err)
{
	char said[SAID_MAX + 1] = "";
	ssize_t n = pread(m->said, said, SAID_MAX, 0);

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NOT_RUN && n <= 0)
		return err_set(err, -ENOENT, "scontrol cannot be run: is it in PATH?");
	said[n > 0 ? n : 0] = 0;
	said[strcspn(said, "\n")] = 0;
	if (WIFSIGNALED(status))
		return err_set(err, -EINTR, "scontrol was ended by signal %d", WTERMSIG(status));
	return err_set(err, -EIO, "scontrol failed (%d): %s", WEXITSTATUS(status), *said ? said : "it said nothing");
}

bool mark_ended(struct mark *m, int *ret, struct err *err)
{
	int status;

	if (!m->pid || waitpid(m->pid, &status, WNOHANG) != m->pid)
		return false;
	*ret = result_of(m, status, err);
	forget(m);
	return true;
}

void mark_stop(struct mark *m)
{
	if (m->pid) {
		kill(m->pid, SIGKILL);
		while (waitpid(m->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	forget(m);
}
