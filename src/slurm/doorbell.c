/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm/doorbell.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"

#define BACKLOG 512
#define ACCEPTS_PER_ROUND 64

struct visitor {
	struct link link; /* bell.visitors */
	struct bell *bell;
	int fd;
	struct loop_fd *watch;
	size_t read;
	struct loop_timer *patience;
};

struct bell {
	struct loop *loop;
	int fd;
	uint16_t port;
	struct loop_fd *watch;
	struct loop_timer *ring_timer;
	struct link visitors; /* oldest first */
	size_t n_visitors;
	usec_t told; /* when `ring` was last called */
	void (*ring)(void *arg);
	void *arg;
};

static void tell(void *arg)
{
	struct bell *b = arg;

	b->told = loop_now(b->loop);
	b->ring(b->arg);
}

/* At once, or when the last one is long enough ago; setting the timer again changes nothing. */
static void rang(struct bell *b)
{
	usec_t now = loop_now(b->loop), at = b->told + BELL_SPACING;

	loop_set_timer(b->ring_timer, MAX_OF(at, now));
}

static void visitor_free(struct visitor *v)
{
	loop_remove_fd(v->watch);
	loop_remove_timer(v->patience);
	close(v->fd);
	link_remove(&v->link);
	v->bell->n_visitors--;
	free(v);
}

static void visitor_ready(void *arg, uint32_t events)
{
	struct visitor *v = arg;
	char scrap[4096];
	ssize_t n = recv(v->fd, scrap, sizeof(scrap), 0);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		v->read += (size_t)n;
	/* read to the end: closing with bytes unread would look like an error to slurmctld */
	if (n <= 0 || v->read >= BELL_BYTES_MAX)
		visitor_free(v);
}

static void out_of_patience(void *arg)
{
	visitor_free(arg);
}

static void admit(struct bell *b, int fd)
{
	struct visitor *v = NEW(struct visitor);

	*v = (struct visitor) { .bell = b, .fd = fd };
	list_add_tail(&b->visitors, &v->link);
	b->n_visitors++;
	v->watch = loop_add_fd(b->loop, fd, EPOLLIN, visitor_ready, v);
	v->patience = loop_add_timer(b->loop, out_of_patience, v);
	loop_set_timer(v->patience, usec_add(loop_now(b->loop), BELL_PATIENCE));
}

static void someone_there(void *arg, uint32_t events)
{
	struct bell *b = arg;

	(void)events;
	for (int i = 0; i < ACCEPTS_PER_ROUND; i++) {
		int fd = accept4(b->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0) {
			if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
				log_debug("doorbell: %s", strerrorname_np(errno));
			return;
		}
		rang(b);
		/* a crowd: the oldest leaves, it has had its ring */
		if (b->n_visitors >= BELL_CONNECTIONS_MAX)
			visitor_free(LIST_ITEM(b->visitors.next, struct visitor, link));
		admit(b, fd);
	}
}

static int to_address(const char *text, uint16_t port, struct sockaddr_storage *ret, socklen_t *ret_len)
{
	struct sockaddr_in *v4 = (void *)ret;
	struct sockaddr_in6 *v6 = (void *)ret;

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		*ret_len = sizeof(*v4);
		return 0;
	}
	if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		*ret_len = sizeof(*v6);
		return 0;
	}
	return -EINVAL;
}

static int listen_on(struct bell *b, const char *address, uint16_t port, struct err *err)
{
	struct sockaddr_storage a;
	socklen_t len;
	int one = 1;

	if (to_address(address, port, &a, &len) < 0)
		return err_set(err, -EINVAL, "doorbell: '%s' is no numeric address", address);
	b->fd = socket(a.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (b->fd < 0)
		return err_errno(err, -errno, "doorbell: socket");
	setsockopt(b->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(b->fd, (void *)&a, len) < 0 || listen(b->fd, BACKLOG) < 0 || getsockname(b->fd, (void *)&a, &len) < 0)
		return err_errno(err, -errno, "doorbell: %s port %u", address, port);
	b->port = ntohs(a.ss_family == AF_INET ? ((struct sockaddr_in *)(void *)&a)->sin_port
	                                       : ((struct sockaddr_in6 *)(void *)&a)->sin6_port);
	return 0;
}

struct bell *bell_new(struct loop *loop, const char *address, uint16_t port, void (*ring)(void *arg), void *arg,
                      struct err *err)
{
	struct bell *b = NEW(struct bell);

	*b = (struct bell) { .loop = loop, .fd = -1, .ring = ring, .arg = arg };
	link_init(&b->visitors);
	if (listen_on(b, address ? address : "0.0.0.0", port, err) < 0) {
		bell_free(b);
		return NULL;
	}
	b->ring_timer = loop_add_timer(loop, tell, b);
	b->watch = loop_add_fd(loop, b->fd, EPOLLIN, someone_there, b);
	return b;
}

void bell_free(struct bell *b)
{
	struct link *l;

	if (!b)
		return;
	while ((l = list_take_head(&b->visitors)))
		visitor_free(LIST_ITEM(l, struct visitor, link));
	loop_remove_fd(b->watch);
	loop_remove_timer(b->ring_timer);
	fd_closep(&b->fd);
	free(b);
}

uint16_t bell_port(const struct bell *b)
{
	return b->port;
}
