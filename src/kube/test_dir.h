/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A directory for one test, with its files, gone at the end.
 */
#pragma once

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"

#define TEST_PATH_MAX 512
#define TEST_PATHS_MAX 256

struct test_dir {
	char path[64];
	char *paths[TEST_PATHS_MAX]; /* handed out */
	unsigned n_paths;
};

static inline void test_dir_init(struct test_dir *d)
{
	*d = (struct test_dir) { .path = "/tmp/sunk-test-XXXXXX" };
	assert_non_null(mkdtemp(d->path));
}

static inline int test_dir_remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static inline void test_dir_done(struct test_dir *d)
{
	if (str_starts(d->path, "/tmp/sunk-test-"))
		nftw(d->path, test_dir_remove_one, 8, FTW_DEPTH | FTW_PHYS);
	while (d->n_paths)
		free(d->paths[--d->n_paths]);
}

/* The path of a file in it; good until the end. */
static inline const char *test_dir_path(struct test_dir *d, const char *name)
{
	char *path = str_printf("%s/%s", d->path, name);

	assert_true(d->n_paths < TEST_PATHS_MAX && strlen(path) < TEST_PATH_MAX);
	return d->paths[d->n_paths++] = path;
}

static inline const char *test_dir_write(struct test_dir *d, const char *name, const char *text, mode_t mode)
{
	const char *path = test_dir_path(d, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	return path;
}
