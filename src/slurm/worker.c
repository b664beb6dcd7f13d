/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/str.h"
#include "slurm/rpc.h"
#include "slurm/wire.h"

#define TOLD_MUCH ((size_t)2 << 20) /* libslurm took several times as much for it, and much of that never goes back */

struct conf_id {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime;
};

struct worker {
	int fd;
	const char *conf;
	bool started; /* libslurm has read the configuration */
	struct conf_id read;
	size_t told; /* bytes of what Slurm told last */
	bool was_lean; /* … and it was asked to be lean */
};

static int read_all(int fd, void *to, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t r = read(fd, (char *)to + done, n - done);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return -EPIPE;
		done += (size_t)r;
	}
	return 0;
}

static int write_all(int fd, const void *from, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t r = send(fd, (const char *)from + done, n - done, MSG_NOSIGNAL);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		done += (size_t)r;
	}
	return 0;
}

/* Which file it is, found readable: libslurm ends the process when it is not. */
static int look_at_conf(const char *path, struct conf_id *ret, struct err *err)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(err, -errno, "slurm.conf: %s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "slurm.conf: %s is no file", path);
	if (st.st_size == 0)
		return err_set(err, -ENODATA, "slurm.conf: %s is empty", path);
	*ret = (struct conf_id) { st.st_dev, st.st_ino, st.st_size, st.st_mtim };
	return 0;
}

static bool same_conf(const struct conf_id *a, const struct conf_id *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size && a->mtime.tv_sec == b->mtime.tv_sec &&
	       a->mtime.tv_nsec == b->mtime.tv_nsec;
}

static void answer_unusable(const struct err *err, struct buf *out)
{
	struct slurm_result r = { .outcome = SLURM_RETRY, .message = err_text(err) };

	wire_add_result(out, &r, NULL);
}

static void serve(struct worker *w, const struct slurm_request *rq, struct buf *out)
{
	struct err err = { 0 };
	struct conf_id now = { 0 };

	if (look_at_conf(w->conf, &now, &err) < 0) {
		answer_unusable(&err, out);
		return;
	}
	if (w->started && !same_conf(&w->read, &now))
		_exit(WORKER_RECYCLE);
	if (!w->started) {
		/* looked at before it is read: a change in between is seen the next time */
		w->read = now;
		rpc_init(w->conf);
		w->started = true;
	}
	w->was_lean = rq->lean;
	w->told = rpc_run(rq, out);
}

/* One request and its answer. */
static int turn(struct worker *w)
{
	_cleanup_buf_ struct buf answer = BUF(WIRE_ANSWER_MAX);
	_cleanup_free_ struct slurm_request *rq = NULL;
	_cleanup_free_ char *body = NULL;
	char header[WIRE_HEADER];
	struct err err = { 0 };
	uint32_t number;
	size_t len;
	int r;

	r = read_all(w->fd, header, sizeof(header));
	if (r < 0)
		return r;
	r = wire_get_header(header, WIRE_REQUEST_MAX, &len, &number, &err);
	if (r < 0)
		goto nonsense;
	body = mem_alloc(len);
	r = read_all(w->fd, body, len);
	if (r < 0)
		return r;
	r = wire_get_request(body, len, &rq, &err);
	if (r < 0)
		goto nonsense;
	serve(w, rq, &answer);
	wire_set_number(answer.data, number);
	return write_all(w->fd, answer.data, answer.len);

nonsense:
	fprintf(stderr, "slurm worker: %s\n", err_text(&err));
	return r;
}

int slurm_worker_main(int fd)
{
	const char *conf = getenv("SLURM_CONF");
	struct worker w = { .fd = fd, .conf = str_empty(conf) ? WORKER_CONF_DEFAULT : conf };
	int r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "sunk-slurm");
	signal(SIGPIPE, SIG_IGN);
	heap_set_up();
	do {
		r = turn(&w);
		if (w.was_lean &&
		    w.told >= TOLD_MUCH) /* who wants it lean asks rarely; another is there within milliseconds */
			_exit(WORKER_RECYCLE);
		heap_give_back(w.told); /* and as much again was libslurm's */
	} while (r == 0);
	/* not exit(): nothing of libslurm's is worth cleaning up, and its threads may be in the way */
	_exit(r == -EPIPE ? 0 : 1);
}
