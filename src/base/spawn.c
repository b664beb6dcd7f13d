/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

#define FIRST_FREE_FD 10

extern char **environ;

/* The parent's environment with the given variables on top. The array is ours, the strings are borrowed. */
static char **merge_env(const char *const *more, bool only)
{
	size_t n = 0, n_more = 0, used = 0;
	char **env;

	while (!only && environ[n])
		n++;
	while (more && more[n_more])
		n_more++;
	env = mem_alloc_n(n + n_more + 1, sizeof(*env));
	for (size_t i = 0; i < n; i++) {
		bool overridden = false;

		for (size_t m = 0; m < n_more && !overridden; m++) {
			size_t len = strcspn(more[m], "=") + 1;

			overridden = strncmp(environ[i], more[m], len) == 0;
		}
		if (!overridden)
			env[used++] = environ[i];
	}
	for (size_t m = 0; m < n_more; m++)
		env[used++] = (char *)more[m];
	return env;
}

int spawn(const struct spawn *s, pid_t *ret_pid, struct err *err)
{
	_cleanup_free_ char **env = merge_env(s->env, s->env_only);
	/* Copies above the range of the child's own descriptors, so that no dup2 overwrites another's source. */
	_cleanup_fd_ int in = -1, out = -1, err_fd = -1, extra = -1;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int r;

	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attr);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	if (s->in >= 0) {
		in = fcntl(s->in, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
		posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
	} else
		posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (s->out >= 0) {
		out = fcntl(s->out, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
		posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	} else
		posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (s->err >= 0) {
		err_fd = fcntl(s->err, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
		posix_spawn_file_actions_adddup2(&files, err_fd, STDERR_FILENO);
	}
	if (s->extra >= 0) {
		extra = fcntl(s->extra, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
		posix_spawn_file_actions_adddup2(&files, extra, 3);
	}
	if (s->cwd)
		posix_spawn_file_actions_addchdir_np(&files, s->cwd);
	posix_spawn_file_actions_addclosefrom_np(&files, s->extra >= 0 ? 4 : 3);
	r = posix_spawnp(ret_pid, s->argv[0], &files, &attr, (char *const *)s->argv, env);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	if (r && s->cwd && access(s->cwd, X_OK) < 0)
		return err_errno(err, -errno, "cannot run %s in %s", s->argv[0], s->cwd);
	return r ? err_errno(err, -r, "cannot run %s", s->argv[0]) : 0;
}
