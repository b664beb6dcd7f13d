/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/spawn.h"
#include "base/str.h"
#include "slurm/wire.h"
#include "slurm/worker.h"

#define WORDS_MAX 200  /* bytes of a line from stderr that are kept */
#define WORDS_LINES 3  /* and how many lines */
#define PREFIX_MAX 60  /* "program: error: " */
#define READ_STEP ((size_t)256 << 10) /* bytes per read */
#define READ_FIRST ((size_t)16 << 10) /* while nothing is known of the frame */
#define WHY_MAX 4096
#define READS_PER_ROUND 16     /* so that a large answer does not keep the loop to itself */

struct words {
	char line[WORDS_LINES][WORDS_MAX];
	size_t n;
};

struct child {
	struct loop *loop;
	const struct child_events *events;
	void *arg;
	pid_t pid;
	int socket, words_fd, pid_fd;
	struct loop_fd *socket_watch, *words_watch, *pid_watch;
	struct buf out; /* being sent */
	size_t sent;
	struct buf in;    /* header and body being received */
	size_t body;      /* length of the body, once the header is there */
	uint32_t number;
	bool have_header;
	char line[WORDS_MAX]; /* of its stderr, being read */
	size_t line_len;
	struct words words;
};

static void nobody(void *arg, int pid, int status)
{
	(void)arg, (void)pid, (void)status;
}

void child_free(struct child *c)
{
	if (!c)
		return;
	loop_remove_fd(c->socket_watch);
	loop_remove_fd(c->words_watch);
	loop_remove_fd(c->pid_watch);
	fd_closep(&c->socket);
	fd_closep(&c->words_fd);
	fd_closep(&c->pid_fd);
	if (c->pid > 0) {
		kill(c->pid, SIGKILL);
		if (waitpid(c->pid, NULL, WNOHANG) == 0)
			loop_add_child(c->loop, c->pid, nobody, NULL, NULL);
	}
	buf_done(&c->out);
	buf_done(&c->in);
	free(c);
}

/* ---- its last words */

/* "sunk: error: Munge encode failed" says no more than "Munge encode failed". */
static const char *without_prefix(const char *line)
{
	static const char *const marks[] = { "error: ", "fatal: " };

	for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
		const char *at = strstr(line, marks[i]);

		if (at && at - line < PREFIX_MAX)
			return at + strlen(marks[i]);
	}
	return line;
}

/* The last few lines: libslurm tells the cause first and then what became of it. */
static void take_line(struct child *c)
{
	struct words *w = &c->words;
	const char *said;

	c->line[c->line_len] = '\0';
	said = without_prefix(c->line);
	c->line_len = 0;
	if (!*said || (w->n && str_eq(w->line[w->n - 1], said)))
		return;
	log_debug("slurm worker %d: %s", (int)c->pid, said);
	if (w->n == WORDS_LINES) {
		memmove(w->line[0], w->line[1], sizeof(w->line[0]) * (WORDS_LINES - 1));
		w->n--;
	}
	str_copy(w->line[w->n++], WORDS_MAX, said);
}

static void take_words(struct child *c, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n')
			take_line(c);
		else if (c->line_len < WORDS_MAX - 1)
			c->line[c->line_len++] = text[i];
	}
}

static void words_ready(void *arg, uint32_t events)
{
	struct child *c = arg;
	char text[4096];
	ssize_t n;

	(void)events;
	for (int i = 0; i < READS_PER_ROUND; i++) {
		n = read(c->words_fd, text, sizeof(text));
		if (n <= 0)
			break;
		take_words(c, text, (size_t)n);
	}
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		loop_remove_fd(TAKE_PTR(c->words_watch));
		take_line(c);
	}
}

void child_add_words(const struct child *c, struct buf *out)
{
	for (size_t i = 0; i < c->words.n; i++) {
		buf_add_str(out, i ? "; " : "");
		str_add_safe(out, c->words.line[i], strlen(c->words.line[i]), WORDS_MAX);
	}
}

int child_pid(const struct child *c)
{
	return c->pid;
}

/* ---- frames */

static void end(struct child *c, const char *why)
{
	c->events->ended(c->arg, why, false);
}

static void socket_closed(struct child *c)
{
	/* it is about to end; how, its process tells */
	loop_remove_fd(TAKE_PTR(c->socket_watch));
}

static void send_more(struct child *c)
{
	while (c->sent < c->out.len) {
		ssize_t n = send(c->socket, c->out.data + c->sent, c->out.len - c->sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			socket_closed(c);
			return;
		}
		c->sent += (size_t)n;
	}
	if (c->sent == c->out.len)
		buf_done(&c->out);
	loop_change_fd(c->socket_watch, c->out.len ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

/* Takes a header or a body off the front when it is whole. 1: a whole frame is there, 0: not yet. */
static int whole_frame(struct child *c, struct err *err)
{
	int r;

	if (!c->have_header) {
		if (c->in.len < WIRE_HEADER)
			return 0;
		r = wire_get_header(c->in.data, WIRE_ANSWER_MAX, &c->body, &c->number, err);
		if (r < 0)
			return r;
		c->have_header = true;
	}
	if (c->in.len > WIRE_HEADER + c->body)
		return err_set(err, -EBADMSG, "more bytes than the frame has");
	return c->in.len == WIRE_HEADER + c->body;
}

/* How much to read next: no more than the frame still needs, so that a lying worker cannot fill memory. */
static size_t wanted(const struct child *c)
{
	size_t want = c->have_header ? WIRE_HEADER + c->body - c->in.len : READ_FIRST;

	return MIN_OF(want, READ_STEP);
}

/* Reads what is there. 1: a whole frame is in c->in, 0: not yet, negative: nonsense. */
static int read_some(struct child *c, struct err *err)
{
	for (int i = 0; i < READS_PER_ROUND; i++) {
		size_t want = wanted(c);
		char *to = buf_reserve(&c->in, want);
		ssize_t n;
		int r;

		assert(to); /* the header was checked against the same maximum */
		n = recv(c->socket, to, want, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0 || (n < 0 && errno != EAGAIN)) {
			socket_closed(c);
			return 0;
		}
		if (n < 0)
			return 0;
		c->in.len += (size_t)n;
		c->in.data[c->in.len] = '\0';
		r = whole_frame(c, err);
		if (r != 0)
			return r;
	}
	return 0;
}

/* False when the child has been handed away or freed: nothing of it may be touched any more. */
static bool receive(struct child *c)
{
	struct buf frame;
	struct err err = { 0 };
	char why[ERR_TEXT_MAX + 64];
	size_t len;
	int r;

	if (!c->socket_watch)
		return true;
	r = read_some(c, &err);
	if (r == 0)
		return true;
	if (r < 0) {
		snprintf(why, sizeof(why), "the Slurm worker sent nonsense: %s", err_text(&err));
		end(c, why);
		return false;
	}
	if (c->words_watch)
		words_ready(c, EPOLLIN); /* what it said on the way to this answer */
	frame = c->in;
	c->in = BUF(WIRE_ANSWER_MAX);
	c->have_header = false;
	c->events->answer(c->arg, c->number, frame.data + WIRE_HEADER, frame.len - WIRE_HEADER);
	len = frame.len;
	buf_done(&frame);
	heap_give_back(len);
	return false;
}

static void socket_ready(void *arg, uint32_t events)
{
	struct child *c = arg;

	if (events & EPOLLOUT)
		send_more(c);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		receive(c);
}

bool child_listens(const struct child *c)
{
	return c->socket_watch != NULL;
}

int child_send(struct child *c, struct buf *frame)
{
	assert(!c->out.len);
	buf_done(&c->out);
	c->out = *frame;
	*frame = BUF(frame->max);
	c->sent = 0;
	c->words.n = 0; /* what it said about an earlier request */
	if (c->socket_watch)
		send_more(c);
	return c->sent == 0 && c->out.len && !c->socket_watch ? -EPIPE : 0;
}

/* ---- its end */

static void describe_end(const struct child *c, int status, struct buf *why)
{
	if (c->words.n) {
		buf_add_str(why, "libslurm ended with: ");
		child_add_words(c, why);
	} else if (WIFSIGNALED(status))
		buf_printf(why, "the Slurm worker was ended by signal %d (%s)", WTERMSIG(status),
		           str_or(sigdescr_np(WTERMSIG(status)), "unknown"));
	else
		buf_printf(why, "the Slurm worker ended with status %d", WEXITSTATUS(status));
}

static void process_ended(void *arg, uint32_t events)
{
	struct child *c = arg;
	_cleanup_buf_ struct buf why = BUF(WHY_MAX);
	int status;

	(void)events;
	/* an answer that it wrote before is still good: first that, and its end in the next round */
	if (!receive(c))
		return;
	if (waitpid(c->pid, &status, WNOHANG) != c->pid)
		return;
	c->pid = 0;
	if (c->words_watch)
		words_ready(c, EPOLLIN);
	take_line(c);
	describe_end(c, status, &why);
	c->events->ended(c->arg, buf_text(&why), WIFEXITED(status) && WEXITSTATUS(status) == WORKER_RECYCLE);
}

struct child *child_new(struct loop *loop, const char *const *argv, const char *const *env,
                        const struct child_events *events, void *arg, struct err *err)
{
	_cleanup_fd_ int theirs = -1, words = -1;
	struct spawn s = { .argv = argv, .env = env, .in = -1, .out = -1 };
	struct child *c = NEW(struct child);
	int pair[2], pipe_fds[2];

	*c = (struct child) { .loop = loop,
		              .events = events,
		              .arg = arg,
		              .socket = -1,
		              .words_fd = -1,
		              .pid_fd = -1,
		              .in = BUF(WIRE_ANSWER_MAX),
		              .out = BUF(WIRE_REQUEST_MAX) };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		err_errno(err, -errno, "socket for a Slurm worker");
		goto fail;
	}
	c->socket = pair[0];
	theirs = pair[1];
	if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
		err_errno(err, -errno, "pipe for a Slurm worker");
		goto fail;
	}
	c->words_fd = pipe_fds[0];
	words = pipe_fds[1];
	/* ours only: whether a description blocks is its own, and each end has one */
	if (fcntl(c->socket, F_SETFL, O_NONBLOCK) < 0 || fcntl(c->words_fd, F_SETFL, O_NONBLOCK) < 0) {
		err_errno(err, -errno, "descriptors for a Slurm worker");
		goto fail;
	}
	s.extra = theirs;
	s.err = words;
	if (spawn(&s, &c->pid, err) < 0) {
		c->pid = 0;
		goto fail;
	}
	c->pid_fd = pidfd_open(c->pid, 0);
	if (c->pid_fd < 0) {
		err_errno(err, -errno, "watching a Slurm worker");
		goto fail;
	}
	c->socket_watch = loop_add_fd(loop, c->socket, EPOLLIN, socket_ready, c);
	c->words_watch = loop_add_fd(loop, c->words_fd, EPOLLIN, words_ready, c);
	c->pid_watch = loop_add_fd(loop, c->pid_fd, EPOLLIN, process_ended, c);
	log_debug("slurm worker %d started", (int)c->pid);
	return c;

fail:
	child_free(c);
	return NULL;
}
