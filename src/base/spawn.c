/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

#define EXTRA_FD 3
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

/* The child's descriptor `to` is a copy of fd, or path when fd is -1. *ret_copy keeps the copy until the child runs. */
static int give(posix_spawn_file_actions_t *files, int fd, int to, const char *path, int flags, int *ret_copy)
{
	if (fd < 0)
		return path ? posix_spawn_file_actions_addopen(files, to, path, flags, 0) : 0;
	/* above the range of the child's own descriptors, so that no dup2 overwrites another's source */
	*ret_copy = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
	return *ret_copy < 0 ? errno : posix_spawn_file_actions_adddup2(files, *ret_copy, to);
}

int spawn(const struct spawn *s, pid_t *ret_pid, struct err *err)
{
	_cleanup_free_ char **env = merge_env(s->env, s->env_only);
	_cleanup_fd_ int in = -1, out = -1, err_fd = -1, extra = -1;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	pid_t pid;
	int r;

	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attr);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	r = give(&files, s->in, STDIN_FILENO, "/dev/null", O_RDONLY, &in);
	if (r == 0)
		r = give(&files, s->out, STDOUT_FILENO, "/dev/null", O_WRONLY, &out);
	if (r == 0)
		r = give(&files, s->err, STDERR_FILENO, NULL, 0, &err_fd);
	if (r == 0)
		r = give(&files, s->extra, EXTRA_FD, NULL, 0, &extra);
	if (r == 0 && s->cwd)
		r = posix_spawn_file_actions_addchdir_np(&files, s->cwd);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(&files, s->extra >= 0 ? EXTRA_FD + 1 : EXTRA_FD);
	if (r == 0)
		r = posix_spawnp(&pid, s->argv[0], &files, &attr, (char *const *)s->argv, env);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	if (r != 0 && s->cwd && access(s->cwd, X_OK) < 0)
		return err_errno(err, -errno, "cannot run %s in %s", s->argv[0], s->cwd);
	if (r != 0)
		return err_errno(err, -r, "cannot run %s", s->argv[0]);
	*ret_pid = pid;
	return 0;
}
