/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/agent/enter.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

enum { CANNOT = 127 };

static int fail(const char *what, const char *on)
{
	fprintf(stderr, "sunk-lite: %s %s: %s\n", what, on, strerror(errno));
	return CANNOT;
}

/* mkdir -p of the directory that holds path, and of path itself when `directory`. */
static int make_place(const char *path, bool directory)
{
	_cleanup_free_ char *p = mem_strdup(path);

	for (char *at = strchr(p + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = 0;
		if (mkdir(p, 0755) < 0 && errno != EEXIST)
			return -errno;
		*at = '/';
	}
	if (directory)
		return mkdir(p, 0755) < 0 && errno != EEXIST ? -errno : 0;
	_cleanup_fd_ int fd = open(p, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	return fd < 0 ? -errno : 0;
}

static int bind_to(const char *from, const char *to, bool read_only)
{
	struct stat st;

	if (*to != '/' || stat(from, &st) < 0)
		return fail("cannot mount", from);
	if (access(to, F_OK) < 0 && make_place(to, S_ISDIR(st.st_mode)) < 0)
		return fail("cannot make the mount path", to);
	if (mount(from, to, NULL, MS_BIND | MS_REC, NULL) < 0)
		return fail("cannot mount on", to);
	if (read_only && mount(NULL, to, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) < 0)
		return fail("cannot make read-only", to);
	return 0;
}

int enter_main(int argc, char **argv)
{
	int i = 1;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return fail("volumes need root:", "mount namespace");
	for (; i + 2 < argc && (str_eq(argv[i], "--bind") || str_eq(argv[i], "--bind-ro")); i += 3) {
		int r = bind_to(argv[i + 1], argv[i + 2], str_eq(argv[i], "--bind-ro"));

		if (r)
			return r;
	}
	if (i + 1 < argc && str_eq(argv[i], "--cwd")) {
		if (chdir(argv[i + 1]) < 0)
			return fail("cannot enter the working directory", argv[i + 1]);
		i += 2;
	}
	if (i + 1 >= argc || !str_eq(argv[i], "--")) {
		fputs("sunk-lite: usage: enter [--bind FROM TO]... [--cwd DIR] -- COMMAND...\n", stderr);
		return CANNOT;
	}
	execvp(argv[i + 1], argv + i + 1);
	return fail("cannot run", argv[i + 1]);
}
