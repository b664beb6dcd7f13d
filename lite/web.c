/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An exchange is made when the headers are there and freed when libmicrohttpd calls it complete. While it waits for its
 * answer or, as a stream, for more to send, its connection is suspended: libmicrohttpd does not look at it, not even to
 * notice that the client is gone. For streams, which wait for long, the loop watches the socket for that.
 */
#include "lite/web.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/str.h"

/* libmicrohttpd wants to run again at once as long as a client takes its time with a TLS handshake: that would be a core. So
 * it gets a few runs, then a pause, which what arrives in the meantime ends. */
#define EAGER_RUNS_MAX 8
#define EAGER_PAUSE USEC_MSEC
#define CONNECTION_MEMORY ((size_t)20 << 10) /* headers; libmicrohttpd clears it with every request */
#define STREAM_BLOCK ((size_t)8 << 10)
#define IDLE_TIMEOUT_S 300u
#define BODY_PADDING 8
#define SWALLOW_MAX ((size_t)64 << 20) /* of a body over the limit, so that the client reads our answer */
#define TLS_VERSIONS "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

enum state {
	READING, /* the body */
	HANDLED, /* the handler has it */
	ANSWERED, /* there is a response, not yet handed to libmicrohttpd */
	SENT, /* handed over */
};

struct exchange {
	struct link link; /* web.exchanges */
	struct link held; /* web.held: answered, waiting for web_release() */
	struct web *web;
	struct MHD_Connection *connection;
	char *method, *path;
	enum state state;
	bool suspended, drop, too_large;
	struct buf body;
	size_t swallowed;

	int status;
	struct MHD_Response *response;
	const char *headers[WEB_HEADERS_MAX][2];
	size_t n_headers;

	const struct stream_ops *ops;
	void *arg;
	bool in_read, broken;
	struct loop_fd *hangup;
};

struct web {
	struct loop *loop;
	struct MHD_Daemon *daemon;
	struct loop_fd *epoll;
	struct loop_timer *timer, *soon;
	struct web_options o;
	uint16_t port;
	struct link exchanges, held;
	size_t n_exchanges;
	unsigned eager_runs; /* in a row, since anything else was waited for */
	bool stopping;
};

static void run(struct web *w);

static void want_run(struct web *w)
{
	loop_set_timer(w->soon, loop_now(w->loop));
}

static void run(struct web *w)
{
	uint64_t wait_ms;

	if (w->stopping)
		return;
	MHD_run(w->daemon);
	if (MHD_get_timeout64(w->daemon, &wait_ms) != MHD_YES)
		loop_set_timer(w->timer, USEC_NEVER);
	else if (wait_ms == 0 && w->eager_runs++ < EAGER_RUNS_MAX)
		want_run(w);
	else if (wait_ms == 0) {
		w->eager_runs = 0;
		loop_set_timer(w->timer, usec_add(loop_now(w->loop), EAGER_PAUSE));
	} else
		loop_set_timer(w->timer, usec_add(loop_now(w->loop), (usec_t)wait_ms * USEC_MSEC));
}

static void epoll_ready(void *arg, uint32_t events)
{
	struct web *w = arg;

	(void)events;
	w->eager_runs = 0;
	run(w);
}

static void timer_fired(void *arg)
{
	run(arg);
}

/* ---- one exchange ---- */

static void suspend(struct exchange *x)
{
	if (x->suspended)
		return;
	x->suspended = true;
	MHD_suspend_connection(x->connection);
}

static void resume(struct exchange *x)
{
	if (!x->suspended)
		return;
	x->suspended = false;
	MHD_resume_connection(x->connection);
	want_run(x->web);
}

static struct exchange *exchange_new(struct web *w, struct MHD_Connection *c, const char *method, const char *path)
{
	struct exchange *x = NEW(struct exchange);

	x->web = w;
	x->connection = c;
	x->method = mem_strdup(method);
	x->path = mem_strdup(path);
	x->body = BUF(w->o.body_max + BODY_PADDING);
	link_init(&x->held);
	list_add_tail(&w->exchanges, &x->link);
	w->n_exchanges++;
	return x;
}

static void exchange_free(struct exchange *x)
{
	const struct stream_ops *ops = x->ops;

	loop_remove_fd(x->hangup);
	link_remove(&x->link);
	link_remove(&x->held);
	x->web->n_exchanges--;
	if (x->response)
		MHD_destroy_response(x->response);
	if (ops) {
		x->ops = NULL;
		ops->closed(x->arg);
	}
	for (size_t i = 0; i < x->n_headers; i++) {
		free((void *)x->headers[i][0]);
		free((void *)x->headers[i][1]);
	}
	buf_done(&x->body);
	free(x->method);
	free(x->path);
	free(x);
}

/* Hands the answer to libmicrohttpd; from inside the access handler only. */
static enum MHD_Result hand_over(struct exchange *x)
{
	struct web *w = x->web;
	enum MHD_Result r;

	if (x->drop || w->stopping)
		return MHD_NO;
	if (w->o.settle && !w->o.settle(w->o.arg)) {
		suspend(x);
		link_remove(&x->held);
		list_add_tail(&w->held, &x->held);
		return MHD_YES;
	}
	for (size_t i = 0; i < x->n_headers; i++)
		MHD_add_response_header(x->response, x->headers[i][0], x->headers[i][1]);
	x->state = SENT;
	r = MHD_queue_response(x->connection, (unsigned)x->status, x->response);
	MHD_destroy_response(x->response); /* our reference */
	x->response = NULL;
	return r;
}

void web_release(struct web *w)
{
	LIST_EACH (l, &w->held) {
		struct exchange *x = LIST_ITEM(l, struct exchange, held);

		link_remove(&x->held);
		resume(x);
	}
}

static void answered(struct exchange *x, int status, const char *content_type)
{
	assert(x->state == HANDLED);
	x->state = ANSWERED;
	x->status = status;
	if (content_type)
		MHD_add_response_header(x->response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
	MHD_add_response_header(x->response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache, private");
	resume(x);
}

void xch_answer(struct exchange *x, int status, const char *content_type, char *body, size_t len)
{
	x->response = MHD_create_response_from_buffer(len, body, MHD_RESPMEM_MUST_FREE);
	assert(x->response);
	answered(x, status, content_type);
}

void xch_drop(struct exchange *x)
{
	assert(x->state == HANDLED || x->state == ANSWERED);
	x->state = ANSWERED;
	x->drop = true;
	resume(x);
}

static void hung_up(void *arg, uint32_t events)
{
	(void)events;
	xch_break(arg);
}

static ssize_t stream_read(void *arg, uint64_t pos, char *to, size_t max)
{
	struct exchange *x = arg;
	union MHD_ConnectionInfo const *info;
	ssize_t n;

	(void)pos;
	if (x->broken || x->web->stopping)
		return x->broken ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
	x->in_read = true;
	n = x->ops->read(x->arg, to, max);
	x->in_read = false;
	if (x->broken)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (n < 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (n > 0)
		return n;
	suspend(x);
	if (!x->hangup) {
		info = MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
		x->hangup = loop_add_fd(x->web->loop, info->connect_fd, EPOLLRDHUP, hung_up, x);
	}
	return 0;
}

void xch_stream(struct exchange *x, int status, const char *content_type, const struct stream_ops *ops, void *arg)
{
	x->ops = ops;
	x->arg = arg;
	x->response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, stream_read, x, NULL);
	assert(x->response);
	answered(x, status, content_type);
}

void xch_wake(struct exchange *x)
{
	if (x->state == SENT && !x->in_read)
		resume(x);
}

void xch_break(struct exchange *x)
{
	x->broken = true;
	if (x->hangup) {
		loop_remove_fd(x->hangup);
		x->hangup = NULL;
	}
	if (x->state == SENT && !x->in_read)
		resume(x);
}

/* ---- what libmicrohttpd calls ---- */

/* So large that it is not even read. A client that is still sending then may not see the answer. */
static bool announced_far_too_large(const struct exchange *x)
{
	const char *text = xch_header(x, MHD_HTTP_HEADER_CONTENT_LENGTH);
	int64_t len;

	return text && (str_to_i64(text, 0, INT64_MAX, &len) < 0 || (uint64_t)len > x->web->o.body_max + SWALLOW_MAX);
}

static enum MHD_Result take_body(struct exchange *x, const char *data, size_t *len)
{
	if (!x->too_large && x->body.len + *len > x->web->o.body_max) {
		x->too_large = true;
		buf_done(&x->body);
	}
	if (x->too_large)
		x->swallowed += *len;
	else
		buf_add(&x->body, data, *len);
	*len = 0;
	return x->swallowed > SWALLOW_MAX ? MHD_NO : MHD_YES;
}

static enum MHD_Result handle(struct exchange *x)
{
	char *pad = buf_reserve(&x->body, BODY_PADDING);

	if (pad)
		memset(pad, 0, BODY_PADDING);
	x->state = HANDLED;
	x->web->o.handle(x->web->o.arg, x);
	if (x->state == ANSWERED)
		return hand_over(x);
	suspend(x);
	return MHD_YES;
}

static enum MHD_Result on_access(void *arg, struct MHD_Connection *c, const char *url, const char *method,
                                 const char *version, const char *data, size_t *len, void **con_cls)
{
	struct exchange *x = *con_cls;

	(void)version;
	if (!x) {
		*con_cls = x = exchange_new(arg, c, method, url);
		if (!announced_far_too_large(x))
			return MHD_YES;
		x->too_large = true; /* answered without reading it; the connection ends */
		return handle(x);
	}
	if (x->web->stopping)
		return MHD_NO;
	switch (x->state) {
	case READING: return *len > 0 ? take_body(x, data, len) : handle(x);
	case HANDLED: suspend(x); return MHD_YES;
	case ANSWERED: return hand_over(x);
	case SENT: break;
	}
	return MHD_YES;
}

static void on_completed(void *arg, struct MHD_Connection *c, void **con_cls, enum MHD_RequestTerminationCode how)
{
	(void)arg;
	(void)c;
	(void)how;
	if (*con_cls)
		exchange_free(*con_cls);
	*con_cls = NULL;
}

static void on_log(void *arg, const char *fmt, va_list ap) _printf_(2, 0);
static void on_log(void *arg, const char *fmt, va_list ap)
{
	_cleanup_buf_ struct buf text = BUF(1024);

	(void)arg;
	buf_vprintf(&text, fmt, ap);
	log_debug("http: %s", buf_text(&text));
}

/* ---- the server ---- */

/* The port a socket was given. */
static uint16_t port_of(int fd)
{
	struct sockaddr_storage at = { 0 };
	socklen_t len = sizeof(at);

	if (getsockname(fd, (struct sockaddr *)&at, &len) < 0)
		return 0;
	return ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
	                                      : ((struct sockaddr_in *)&at)->sin_port);
}

static int bind_to(const struct addrinfo *ai, int *ret_fd)
{
	int one = 1, r, fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

static int open_socket(const struct web_options *o, int *ret_fd, struct err *err)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
		                  .ai_socktype = SOCK_STREAM };
	struct addrinfo *ai;
	char port[8];
	int r;

	snprintf(port, sizeof(port), "%u", o->port);
	r = getaddrinfo(o->address, port, &hints, &ai);
	if (r != 0)
		return err_set(err, -EINVAL, "'%s' is no address to listen on: %s", o->address, gai_strerror(r));
	r = bind_to(ai, ret_fd);
	freeaddrinfo(ai);
	return r < 0 ? err_errno(err, r, "listening on %s port %u", o->address, o->port) : 0;
}

static void raise_fd_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int web_new(struct loop *l, const struct web_options *o, struct web **ret, struct err *err)
{
	struct web *w;
	int fd = -1, r;

	r = open_socket(o, &fd, err);
	if (r < 0)
		return r;
	assert(fd >= 0);
	raise_fd_limit();
	w = NEW(struct web);
	w->loop = l;
	w->o = *o;
	w->port = port_of(fd);
	link_init(&w->exchanges);
	link_init(&w->held);
	w->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TLS | MHD_USE_ERROR_LOG, 0,
	                             NULL, NULL, on_access, w, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
	                             MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_HTTPS_MEM_CERT, o->cert_pem,
	                             MHD_OPTION_HTTPS_MEM_KEY, o->key_pem, MHD_OPTION_HTTPS_PRIORITIES, TLS_VERSIONS,
	                             MHD_OPTION_NOTIFY_COMPLETED, on_completed, w, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
	                             CONNECTION_MEMORY, MHD_OPTION_CONNECTION_LIMIT, (unsigned)WEB_CONNECTIONS_MAX,
	                             MHD_OPTION_CONNECTION_TIMEOUT, IDLE_TIMEOUT_S, MHD_OPTION_END);
	if (!w->daemon) {
		close(fd);
		free(w);
		return err_set(err, -EIO, "the HTTPS server does not start on %s port %u", o->address, o->port);
	}
	w->epoll = loop_add_fd(l, MHD_get_daemon_info(w->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, EPOLLIN,
	                       epoll_ready, w);
	w->timer = loop_add_timer(l, timer_fired, w);
	w->soon = loop_add_timer(l, timer_fired, w);
	*ret = w;
	return 0;
}

void web_free(struct web *w)
{
	if (!w)
		return;
	w->stopping = true; /* suspended connections must run once more before the daemon may stop */
	LIST_EACH (e, &w->exchanges)
		resume(LIST_ITEM(e, struct exchange, link));
	for (int i = 0; i < 3; i++)
		MHD_run(w->daemon);
	loop_remove_fd(w->epoll);
	loop_remove_timer(w->timer);
	loop_remove_timer(w->soon);
	MHD_stop_daemon(w->daemon);
	assert(list_empty(&w->exchanges));
	free(w);
}

uint16_t web_port(const struct web *w)
{
	return w->port;
}

size_t web_exchanges(const struct web *w)
{
	return w->n_exchanges;
}

const char *xch_method(const struct exchange *x)
{
	return x->method;
}

const char *xch_path(const struct exchange *x)
{
	return x->path;
}

const char *xch_query(const struct exchange *x, const char *key)
{
	return MHD_lookup_connection_value(x->connection, MHD_GET_ARGUMENT_KIND, key);
}

const char *xch_header(const struct exchange *x, const char *name)
{
	return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

struct each_header {
	const char *name;
	void (*each)(void *arg, const char *value);
	void *arg;
};

static enum MHD_Result one_header(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct each_header *e = cls;

	(void)kind;
	if (strcasecmp(name, e->name) == 0)
		e->each(e->arg, str_or(value, ""));
	return MHD_YES;
}

void xch_each_header(const struct exchange *x, const char *name, void (*each)(void *arg, const char *value), void *arg)
{
	MHD_get_connection_values(x->connection, MHD_HEADER_KIND, one_header,
	                          &(struct each_header) { .name = name, .each = each, .arg = arg });
}

const char *xch_body(const struct exchange *x, size_t *ret_len)
{
	*ret_len = x->body.len;
	return x->body.data ? x->body.data : "\0\0\0\0\0\0\0";
}

bool xch_too_large(const struct exchange *x)
{
	return x->too_large;
}

void xch_add_header(struct exchange *x, const char *name, const char *value)
{
	if (x->n_headers == WEB_HEADERS_MAX)
		return;
	x->headers[x->n_headers][0] = mem_strdup(name);
	x->headers[x->n_headers++][1] = mem_strdup(value);
}
