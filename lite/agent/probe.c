/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/agent/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/spawn.h"
#include "base/str.h"

#define STATUS_LINE_MAX 256

struct probe {
	struct loop *loop;
	const struct probe_spec *spec;
	const struct box_spec *box;
	void (*told)(void *arg, bool passing);
	void *arg;
	struct loop_timer *timer; /* next try, or the end of the one under way */
	bool under_way, passing;
	int in_a_row; /* of the last result */
	bool last;
	pid_t pid;
	int fd;
	struct loop_fd *watch;
	bool connected;
	char answer[STATUS_LINE_MAX];
	size_t answer_len;
};

static void close_connection(struct probe *p)
{
	loop_remove_fd(p->watch);
	p->watch = NULL;
	fd_closep(&p->fd);
}

static usec_t ms(int32_t value, usec_t least)
{
	usec_t span = (usec_t)value * USEC_MSEC;

	return span < least ? least : span;
}

static void finish(struct probe *p, bool good)
{
	int needed = good ? p->spec->successes : p->spec->failures;

	close_connection(p);
	p->under_way = false;
	p->in_a_row = good == p->last ? p->in_a_row + 1 : 1;
	p->last = good;
	loop_set_timer(p->timer, loop_now(p->loop) + ms(p->spec->period_ms, PROBE_PERIOD_MIN));
	if (good != p->passing && p->in_a_row >= (needed < 1 ? 1 : needed)) {
		p->passing = good;
		p->told(p->arg, good); /* may free p */
	}
}

static void http_bytes(struct probe *p)
{
	int major, minor, status;
	ssize_t n = read(p->fd, p->answer + p->answer_len, sizeof(p->answer) - 1 - p->answer_len);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		finish(p, false);
		return;
	}
	p->answer_len += (size_t)n;
	p->answer[p->answer_len] = 0;
	if (!memchr(p->answer, '\n', p->answer_len) && p->answer_len < sizeof(p->answer) - 1)
		return;
	finish(p, sscanf(p->answer, "HTTP/%d.%d %d", &major, &minor, &status) == 3 && status >= 200 && status < 400);
}

static void socket_ready(void *arg, uint32_t events)
{
	struct probe *p = arg;
	int error = 0;
	socklen_t len = sizeof(error);

	(void)events;
	if (p->connected) {
		http_bytes(p);
		return;
	}
	getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (error || p->spec->kind == PROBE_TCP) {
		finish(p, !error);
		return;
	}
	p->connected = true;
	p->answer_len = 0;
	if (dprintf(p->fd, "GET %s HTTP/1.0\r\nHost: %s\r\nUser-Agent: sunk-lite-probe\r\n\r\n",
	            str_or(p->spec->path, "/"), str_or(p->spec->host, "127.0.0.1")) < 0)
		finish(p, false);
	else
		loop_change_fd(p->watch, EPOLLIN);
}

static bool start_connection(struct probe *p)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)p->spec->port) };

	if (inet_pton(AF_INET, str_or(p->spec->host, "127.0.0.1"), &to.sin_addr) != 1)
		return false;
	p->connected = false;
	p->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (p->fd < 0 || (connect(p->fd, (struct sockaddr *)&to, sizeof(to)) < 0 && errno != EINPROGRESS)) {
		fd_closep(&p->fd);
		return false;
	}
	p->watch = loop_add_fd(p->loop, p->fd, EPOLLOUT, socket_ready, p);
	return true;
}

static bool start_command(struct probe *p)
{
	const char **argv = mem_alloc_n(p->spec->n_argv + 1, sizeof(*argv)),
	           **env = mem_alloc_n(p->box->n_env + 1, sizeof(*env));
	bool ok;

	memcpy(argv, p->spec->argv, p->spec->n_argv * sizeof(*argv));
	if (p->box->n_env)
		memcpy(env, p->box->env, p->box->n_env * sizeof(*env));
	ok = p->spec->n_argv > 0 && spawn(&(struct spawn) { .argv = argv,
	                                                    .env = env,
	                                                    .env_only = true,
	                                                    .cwd = p->box->cwd,
	                                                    .in = -1,
	                                                    .out = -1,
	                                                    .err = -1,
	                                                    .extra = -1 },
	                                  &p->pid, NULL) == 0;
	free(argv);
	free(env);
	return ok;
}

static void tick(void *arg)
{
	struct probe *p = arg;

	if (p->under_way) { /* it took too long */
		if (p->pid > 0)
			kill(-p->pid, SIGKILL);
		p->pid = 0;
		finish(p, false);
		return;
	}
	p->under_way = true;
	if (!(p->spec->kind == PROBE_EXEC ? start_command(p) : start_connection(p))) {
		finish(p, false);
		return;
	}
	loop_set_timer(p->timer, loop_now(p->loop) + ms(p->spec->timeout_ms, USEC_SEC));
}

struct probe *probe_new(struct loop *l, const struct probe_spec *spec, const struct box_spec *box,
                        void (*told)(void *arg, bool passing), void *arg)
{
	struct probe *p = NEW(struct probe);

	*p = (struct probe) { .loop = l, .spec = spec, .box = box, .told = told, .arg = arg, .fd = -1 };
	p->timer = loop_add_timer(l, tick, p);
	loop_set_timer(p->timer, loop_now(l) + ms(spec->initial_ms, 0));
	return p;
}

void probe_free(struct probe *p)
{
	if (!p)
		return;
	if (p->pid > 0)
		kill(-p->pid, SIGKILL);
	close_connection(p);
	loop_remove_timer(p->timer);
	free(p);
}

bool probe_child_ended(struct probe *p, pid_t pid, int status)
{
	if (!p || pid <= 0 || p->pid != pid)
		return false;
	p->pid = 0;
	finish(p, WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return true;
}
