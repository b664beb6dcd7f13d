/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/agent/scribe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "lite/agent/logfile.h"

#define BLOCK ((size_t)64 << 10)
#define LAST_BLOCKS_MAX 32 /* read at the end, when something the run left behind goes on writing */
#define TEXT_MAX (2 * BLOCK + LOGFILE_LINE_MAX)
#define KEPT_MAX (64 * TEXT_MAX) /* a block of nothing but newlines, each with its time */

struct scribe {
	struct loop *loop;
	struct loop_fd *watch;
	char *path;
	int pipe, file;
	size_t written, file_max;
	bool failed; /* told once; what follows is dropped, so that the container can go on */
	struct buf text, kept;
};

static int open_file(struct scribe *s)
{
	struct stat st;

	s->file = open(s->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
	if (s->file < 0)
		return -errno;
	s->written = fstat(s->file, &st) == 0 ? (size_t)st.st_size : 0;
	return 0;
}

static void turn_over(struct scribe *s)
{
	_cleanup_free_ char *old = str_printf("%s" SCRIBE_OLD, s->path);

	fd_closep(&s->file);
	if (rename(s->path, old) < 0 || open_file(s) < 0)
		log_warn("%s: %s", s->path, strerror(errno));
}

static void write_down(struct scribe *s, bool all)
{
	const char *p;
	size_t left;

	buf_clear(&s->kept);
	logfile_put(&s->kept, clock_wall(clock_real()), &s->text, all);
	if (s->written > 0 && s->written + s->kept.len > s->file_max)
		turn_over(s);
	for (p = s->kept.data, left = s->kept.len; left > 0 && !s->failed;) {
		ssize_t n = write(s->file, p, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			s->failed = true;
			log_warn("%s: %s", s->path, strerror(errno));
			break;
		}
		p += n;
		left -= (size_t)n;
		s->written += (size_t)n;
	}
}

/* One block. False when there is nothing more to read, now or ever. */
static bool take(struct scribe *s)
{
	char *room = buf_reserve(&s->text, BLOCK);
	ssize_t n = room ? read(s->pipe, room, BLOCK) : -1;

	if (n > 0) {
		s->text.len += (size_t)n;
		s->text.data[s->text.len] = 0;
		write_down(s, false);
		return true;
	}
	if (n == 0) { /* nobody holds the other end any more */
		loop_remove_fd(s->watch);
		s->watch = NULL;
	}
	return false;
}

static void readable(void *arg, uint32_t events)
{
	(void)events;
	take(arg);
}

int scribe_new(struct loop *l, const char *path, size_t file_max, struct scribe **ret, int *ret_fd, struct err *err)
{
	struct scribe *s = NEW(struct scribe);
	int ends[2], r;

	*s = (struct scribe) { .loop = l,
		               .path = mem_strdup(path),
		               .pipe = -1,
		               .file_max = file_max,
		               .text = BUF(TEXT_MAX),
		               .kept = BUF(KEPT_MAX) };
	r = open_file(s);
	if (r < 0 || pipe2(ends, O_CLOEXEC) < 0) {
		r = err_errno(err, r < 0 ? r : -errno, "cannot write its log %s", path);
		scribe_free(s);
		return r;
	}
	s->pipe = ends[0];
	fcntl(s->pipe, F_SETFL, O_NONBLOCK);
	s->watch = loop_add_fd(l, s->pipe, EPOLLIN, readable, s);
	*ret = s;
	*ret_fd = ends[1];
	return 0;
}

void scribe_free(struct scribe *s)
{
	if (!s)
		return;
	if (s->pipe >= 0) {
		for (int i = 0; i < LAST_BLOCKS_MAX && take(s); i++)
			;
		write_down(s, true);
		loop_remove_fd(s->watch);
	}
	fd_closep(&s->pipe);
	fd_closep(&s->file);
	buf_done(&s->text);
	buf_done(&s->kept);
	free(s->path);
	free(s);
}
