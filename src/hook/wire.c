/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/wire.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "base/str.h"
#include "hook/address.h"
#include "hook/answer.h"

#define CONNECT_MAX (5 * USEC_SEC) /* lookup and all addresses together */
#define KEEP_IDLE_S 15
#define KEEP_INTERVAL_S 5
#define REQUEST_MAX (64u << 10)
#define HEADERS_ROOM 512 /* for what is the same in every request */
#define READ_SIZE 16384

enum phase { BEGIN, LOOK_UP, CONNECT, SEND, READ, OVER, PHASES };

struct wire {
	const struct hook_call *call;
	struct address address;
	struct lookup lookup;
	size_t next; /* of the addresses found */
	int fd;
	struct buf request;
	size_t sent;
	struct answer answer;
	enum phase phase;
	usec_t deadline, connect_until, try_until;
	struct err err; /* code 0: there is an answer */
};

static usec_t now_mono(void)
{
	return clock_mono(clock_real());
}

/* Reserved as a whole: growing would leave pieces of the token in memory. */
static int write_request(struct wire *w, struct err *err)
{
	const struct hook_call *call = w->call;
	const char *body = str_or(call->body, "");
	struct buf *b = &w->request;
	size_t room = strlen(call->method) + strlen(w->address.path) + strlen(w->address.authority) + strlen(body) +
	              strlen(str_or(call->token, "")) + HEADERS_ROOM;

	if (!buf_reserve(b, room))
		return err_set(err, -EMSGSIZE, "%s: request larger than %u KiB", call->url, REQUEST_MAX >> 10);
	buf_add_str(b, call->method);
	buf_add_str(b, " ");
	buf_add_str(b, w->address.path);
	buf_add_str(b, " HTTP/1.1\r\nHost: ");
	buf_add_str(b, w->address.authority);
	buf_add_str(b, "\r\nUser-Agent: sunk-hook/" SUNK_VERSION);
	buf_add_str(b, "\r\nAccept: */*\r\n");
	if (call->token) {
		buf_add_str(b, "Authorization: Bearer ");
		buf_add_str(b, call->token);
		buf_add_str(b, "\r\n");
	}
	if (call->body)
		buf_add_str(b, "Content-Type: application/json\r\n");
	if (call->body || str_eq(call->method, "POST"))
		buf_printf(b, "Content-Length: %zu\r\n", strlen(body));
	buf_add_str(b, "\r\n");
	return buf_add_str(b, body);
}

struct wire *wire_new(const struct hook_call *call, const char *url, usec_t deadline, struct err *err)
{
	_cleanup_(wire_freep) struct wire *w = NEW(struct wire);

	w->call = call;
	w->deadline = deadline;
	w->lookup = LOOKUP_NONE;
	w->fd = -1;
	w->request = BUF(REQUEST_MAX);
	answer_init(&w->answer, HOOK_ANSWER_MAX);
	if (address_split(url, &w->address, err) < 0 || write_request(w, err) < 0)
		return NULL;
	return TAKE_PTR(w);
}

static void forget_request(struct wire *w)
{
	if (w->request.data)
		explicit_bzero(w->request.data, w->request.size);
	buf_done(&w->request);
}

void wire_free(struct wire *w)
{
	if (!w)
		return;
	forget_request(w);
	lookup_stop(&w->lookup);
	fd_closep(&w->fd);
	answer_done(&w->answer);
	address_done(&w->address);
	free(w);
}

/* The steps: 0 when the phase has changed, -EAGAIN when it must be waited. */

static int begin(struct wire *w)
{
	usec_t now = now_mono();

	w->connect_until = w->deadline - now < CONNECT_MAX ? w->deadline : now + CONNECT_MAX;
	w->phase = LOOK_UP;
	return lookup_start(&w->lookup, &w->address, &w->err);
}

static void set_options(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S },
		{ IPPROTO_TCP, TCP_KEEPINTVL, KEEP_INTERVAL_S },
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		(void)setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(options[i].value));
}

/* With the next address that can be tried at all. When there is none, what the last one said is the error. */
static int try_next(struct wire *w)
{
	const struct found *found = &w->lookup.found;

	for (fd_closep(&w->fd); w->next < found->n; fd_closep(&w->fd)) {
		usec_t now = now_mono();
		const struct sockaddr *to = (const struct sockaddr *)&found->at[w->next].to;
		socklen_t len = found->at[w->next].len;

		w->try_until = now + (w->connect_until - now) / (usec_t)(found->n - w->next);
		w->next++;
		w->fd = socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (w->fd >= 0)
			set_options(w->fd);
		if (w->fd >= 0 && (connect(w->fd, to, len) == 0 || errno == EINPROGRESS)) {
			w->phase = CONNECT;
			return 0;
		}
		err_set(&w->err, -errno, "%s", strerrordesc_np(errno));
	}
	return w->err.code;
}

static int look_up(struct wire *w)
{
	int r = lookup_look(&w->lookup, &w->address, &w->err);

	w->next = 0;
	return r < 0 ? r : try_next(w);
}

static int connect_on(struct wire *w)
{
	struct pollfd p = { .fd = w->fd, .events = POLLOUT };
	int error = 0;
	socklen_t len = sizeof(error);

	if (poll(&p, 1, 0) <= 0)
		return -EAGAIN;
	if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error) {
		err_set(&w->err, -error, "%s", str_or(strerrordesc_np(error), "no connection"));
		return try_next(w);
	}
	w->err = (struct err) { 0 };
	w->phase = SEND;
	return 0;
}

static int send_on(struct wire *w)
{
	while (w->sent < w->request.len) {
		ssize_t n = send(w->fd, w->request.data + w->sent, w->request.len - w->sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EPIPE) /* it may have said why before it closed */
			break;
		if (n < 0)
			return errno == EAGAIN ? -EAGAIN : err_set(&w->err, -errno, "%s", strerrordesc_np(errno));
		w->sent += (size_t)n;
	}
	w->phase = READ;
	return 0;
}

static int read_on(struct wire *w)
{
	char bytes[READ_SIZE];
	int r = 0;

	while (r == 0 && !w->answer.over) {
		ssize_t n = recv(w->fd, bytes, sizeof(bytes), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? -EAGAIN : err_set(&w->err, -errno, "%s", strerrordesc_np(errno));
		r = n ? answer_feed(&w->answer, bytes, (size_t)n, &w->err) : answer_end(&w->answer, &w->err);
	}
	if (r == 0)
		w->phase = OVER;
	return r;
}

static const struct {
	int (*step)(struct wire *w);
	const char *too_late;
} phases[PHASES] = {
	[BEGIN] = { begin, "no time is left" },
	[LOOK_UP] = { look_up, "the name was not looked up in time" },
	[CONNECT] = { connect_on, "no connection in time" },
	[SEND] = { send_on, "the request was not taken in time" },
	[READ] = { read_on, "no answer in time" },
};

static usec_t until(const struct wire *w)
{
	return w->phase == LOOK_UP ? w->connect_until : w->phase == CONNECT ? w->try_until : w->deadline;
}

static int wait_or_end(struct wire *w)
{
	if (now_mono() < until(w))
		return -EAGAIN;
	err_set(&w->err, -ETIMEDOUT, "%s", phases[w->phase].too_late);
	return w->phase == CONNECT ? try_next(w) : -ETIMEDOUT;
}

bool wire_step(struct wire *w)
{
	while (w->phase != OVER) {
		int r = phases[w->phase].step(w);

		if (r == -EAGAIN)
			r = wait_or_end(w);
		if (r == -EAGAIN)
			return false;
		if (r < 0) {
			err_wrap(&w->err, r, "%s", w->call->url);
			fd_closep(&w->fd);
			lookup_stop(&w->lookup);
			w->phase = OVER;
		}
	}
	forget_request(w);
	return true;
}

usec_t wire_waits_for(const struct wire *w, struct pollfd *ret)
{
	*ret = (struct pollfd) { .fd = w->phase == LOOK_UP ? w->lookup.fd : w->fd,
		                 .events = w->phase == CONNECT || w->phase == SEND ? POLLOUT : POLLIN };
	/* nothing to wait for: before the first step, and when it is over */
	return w->phase == BEGIN || w->phase == OVER ? 0 : until(w);
}

int wire_result(const struct wire *w, int *ret_status, struct err *err)
{
	assert(w->phase == OVER);
	if (w->err.code) {
		if (err)
			*err = w->err;
		return w->err.code;
	}
	*ret_status = w->answer.status;
	return 0;
}

struct buf *wire_body(struct wire *w)
{
	return &w->answer.body;
}
