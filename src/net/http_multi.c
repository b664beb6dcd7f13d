/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/http_multi.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/list.h"
#include "base/mem.h"

struct http_multi {
	CURLM *curl;
	struct loop *loop;
	struct loop_timer *timer; /* curl's */
	struct link sockets;
	bool patient;
	bool *in_curl;
	void (*ran)(void *arg);
	void *arg;
};

struct multi_socket {
	struct link link; /* http_multi.sockets */
	struct http_multi *multi;
	int fd;
	struct loop_fd *watch;
};

static void run_curl(struct http_multi *m, curl_socket_t fd, int events)
{
	int running;

	*m->in_curl = true;
	curl_multi_socket_action(m->curl, fd, events, &running);
	*m->in_curl = false;
	m->ran(m->arg);
}

static void socket_ready(void *arg, uint32_t events)
{
	struct multi_socket *s = arg;
	int curl_events = 0;

	if (events & (EPOLLIN | EPOLLHUP))
		curl_events |= CURL_CSELECT_IN;
	if (events & EPOLLOUT)
		curl_events |= CURL_CSELECT_OUT;
	if (events & EPOLLERR)
		curl_events |= CURL_CSELECT_ERR;
	run_curl(s->multi, s->fd, curl_events);
}

static void timer_fired(void *arg)
{
	run_curl(arg, CURL_SOCKET_TIMEOUT, 0);
}

static void socket_free(struct multi_socket *s)
{
	loop_remove_fd(s->watch);
	link_remove(&s->link);
	free(s);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket)
{
	struct http_multi *m = arg;
	struct multi_socket *s = socket;
	uint32_t events = 0;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (s)
			socket_free(s);
		curl_multi_assign(m->curl, fd, NULL);
		return 0;
	}
	if (what & CURL_POLL_IN)
		events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		events |= EPOLLOUT;
	if (s) {
		loop_change_fd(s->watch, events);
		return 0;
	}
	s = NEW(struct multi_socket);
	s->multi = m;
	s->fd = fd;
	s->watch = loop_add_fd(m->loop, fd, events, socket_ready, s);
	if (m->patient)
		loop_fd_patient(s->watch);
	list_add_tail(&m->sockets, &s->link);
	curl_multi_assign(m->curl, fd, s);
	return 0;
}

static int on_timer(CURLM *curl, long timeout_ms, void *arg)
{
	struct http_multi *m = arg;

	(void)curl;
	/* The clock itself, not the round's time: curl takes a timer that fires early for a new wait. */
	loop_set_timer(m->timer, timeout_ms < 0 ? USEC_NEVER : clock_mono(clock_real()) + timeout_ms * USEC_MSEC);
	return 0;
}

struct http_multi *http_multi_new(struct loop *l, bool *in_curl, void (*ran)(void *arg), void *arg)
{
	struct http_multi *m = NEW(struct http_multi);

	*m = (struct http_multi) { .loop = l, .in_curl = in_curl, .ran = ran, .arg = arg };
	m->curl = curl_multi_init();
	assert(m->curl);
	m->timer = loop_add_timer(l, timer_fired, m);
	link_init(&m->sockets);
	curl_multi_setopt(m->curl, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(m->curl, CURLMOPT_SOCKETDATA, m);
	curl_multi_setopt(m->curl, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(m->curl, CURLMOPT_TIMERDATA, m);
	return m;
}

void http_multi_free(struct http_multi *m)
{
	if (!m)
		return;
	curl_multi_cleanup(m->curl); /* still calls back */
	LIST_EACH (l, &m->sockets)
		socket_free(LIST_ITEM(l, struct multi_socket, link));
	loop_remove_timer(m->timer);
	free(m);
}

void http_multi_patient(struct http_multi *m)
{
	m->patient = true;
}

CURLM *http_multi_curl(const struct http_multi *m)
{
	return m->curl;
}
