/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Functions on_* are called by libmicrohttpd on the server's thread, the others by the core thread.
 */
#include "net/http_server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "net/http_incoming.h"
#include "net/http_target.h"
#include "net/mailbox.h"

#define BODY_MAX_DEFAULT ((size_t)64 * 1024)
#define CONNECTIONS_MAX_DEFAULT 12000
#define READ_TIMEOUT_DEFAULT (10 * USEC_SEC)
/* A connection's own memory: its request line and headers (431 beyond), and what their parsing needs. Thousands of
 * connections have it at the same time. */
#define CONNECTION_MEMORY ((size_t)3 * 1024)
/* Beyond body_max, so much of a body is read and dropped for the client to stay and hear of it. */
#define BODY_DROP_MAX ((size_t)1024 * 1024)
/* At its own limit libmicrohttpd stops to listen; ours is lower, so that newcomers are told and can drive slow ones
 * out. */
#define CONNECTIONS_SPARE 16
#define OTHER_DESCRIPTORS 500 /* of the process, with room */
#define LAST_ANSWERS_WAIT_MS 2000
#define BACKLOG 4096

/* On the server's thread. */
struct connection {
	struct link link; /* http_server.reading, while a request is awaited or read */
	int fd;
	usec_t reading_since;
};

struct http_server {
	struct MHD_Daemon *daemon;
	struct mailbox *mailbox;
	size_t body_max;
	unsigned connections_max;
	usec_t read_timeout;
	uint16_t port;
	pthread_t core;
	char said[200]; /* by libmicrohttpd on the core thread, while it starts */

	/* core thread */
	http_handler handler;
	void *arg;
	struct link parked;
	size_t n_parked;

	/* server's thread */
	struct link reading; /* the one that reads for longest first */
	unsigned n_connections;

	/* both */
	atomic_size_t n_answering; /* answered by the core, not sent yet */
	atomic_bool ending;
	int all_sent; /* eventfd: rings when, at the end, n_answering comes to 0 */
};

/* Connections: the server's thread */

static struct connection *connection_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static void begin_reading(struct http_server *s, struct connection *c)
{
	c->reading_since = clock_mono(clock_real());
	link_remove(&c->link);
	list_add_tail(&s->reading, &c->link);
}

/* libmicrohttpd ends who is silent; who sends a byte now and then is ended here, when somebody else comes. */
static void end_slow_readers(struct http_server *s)
{
	usec_t now = clock_mono(clock_real());

	LIST_EACH (l, &s->reading) {
		struct connection *c = LIST_ITEM(l, struct connection, link);

		if (now - c->reading_since < s->read_timeout)
			break;
		link_remove(&c->link);
		shutdown(c->fd, SHUT_RDWR);
	}
}

static enum MHD_Result on_newcomer(void *arg, const struct sockaddr *address, socklen_t len)
{
	struct http_server *s = arg;

	(void)address, (void)len;
	end_slow_readers(s);
	return s->n_connections < s->connections_max ? MHD_YES : MHD_NO;
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
	struct http_server *s = arg;
	struct connection *c = *context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		*context = c = NEW(struct connection);
		c->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
		link_init(&c->link);
		begin_reading(s, c);
		s->n_connections++;
	} else {
		link_remove(&c->link);
		free(c);
		s->n_connections--;
	}
}

/* Requests: the server's thread */

static void *on_target(void *arg, const char *target, struct MHD_Connection *connection)
{
	struct http_server *s = arg;
	struct http_incoming *in = incoming_new(s, connection, s->body_max);
	struct err err = { 0 };
	char *query;

	if (http_target_decode(target, &in->text, &err) < 0)
		in->refused = mem_strdup(err.code ? err.text : "the path is too long");
	/* The query is ours now, and libmicrohttpd must not parse it: a last name without a value in a request without
	 * headers makes it write through NULL (1.0.1, get_req_headers). The text is in its own writable buffer. */
	query = strchr((char *)target, '?');
	if (query)
		query[1] = 0;
	return in;
}

static enum MHD_Result on_header(void *arg, enum MHD_ValueKind kind, const char *key, size_t key_len, const char *value,
                                 size_t value_len)
{
	struct buf *out = &((struct http_incoming *)arg)->text;

	(void)kind;
	buf_add(out, key, key_len);
	buf_add_char(out, 0);
	buf_add(out, value ? value : "", value ? value_len : 0);
	buf_add_char(out, 0);
	return MHD_YES;
}

static void set_peer(struct http_incoming *in)
{
	const union MHD_ConnectionInfo *info =
	        MHD_get_connection_info(in->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr_in6 *six = (const void *)info->client_addr;
	const struct sockaddr_in *four = (const void *)info->client_addr;

	if (six->sin6_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
		inet_ntop(AF_INET, six->sin6_addr.s6_addr + 12, in->peer, sizeof(in->peer));
	else if (six->sin6_family == AF_INET6)
		inet_ntop(AF_INET6, &six->sin6_addr, in->peer, sizeof(in->peer));
	else
		inet_ntop(AF_INET, &four->sin_addr, in->peer, sizeof(in->peer));
}

static enum MHD_Result send_answer(struct http_incoming *in)
{
	return MHD_queue_response(in->connection, in->status, in->response);
}

static enum MHD_Result refuse(struct http_incoming *in, int status, const char *message)
{
	incoming_answer_error(in, status, message);
	return send_answer(in);
}

/* The headers are complete. An answer now means that the body is not read, and the connection closes. */
static enum MHD_Result begin(struct http_incoming *in, const char *method)
{
	struct http_server *s = in->server;
	const char *length;
	int64_t n;
	int r;

	in->begun = true;
	if (in->refused)
		return refuse(in, MHD_HTTP_BAD_REQUEST, in->refused);
	if (!str_copy(in->method, sizeof(in->method), method))
		return refuse(in, MHD_HTTP_NOT_IMPLEMENTED, "no such method");
	in->query_at = strlen(in->text.data) + 1;
	in->headers_at = in->text.len;
	MHD_get_connection_values_n(in->connection, MHD_HEADER_KIND, on_header, in);
	if (in->text.error)
		return refuse(in, MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE, "the headers are too large");
	set_peer(in);
	length = http_in_header(in, MHD_HTTP_HEADER_CONTENT_LENGTH);
	if (!length)
		return MHD_YES;
	r = str_to_i64(length, 0, (int64_t)(s->body_max + BODY_DROP_MAX), &n);
	return r < 0 ? refuse(in, MHD_HTTP_CONTENT_TOO_LARGE, "the body is too large") : MHD_YES;
}

static enum MHD_Result take_body(struct http_incoming *in, const char *data, size_t len)
{
	if (buf_add(&in->body, data, len) < 0)
		in->n_dropped += len;
	return in->n_dropped <= BODY_DROP_MAX ? MHD_YES : MHD_NO;
}

/* The request is complete: over to the core. */
static enum MHD_Result park(struct http_incoming *in)
{
	struct http_server *s = in->server;
	struct connection *c = connection_of(in->connection);

	if (in->n_dropped)
		return refuse(in, MHD_HTTP_CONTENT_TOO_LARGE, "the body is too large");
	if (c)
		link_remove(&c->link);
	MHD_suspend_connection(in->connection); /* before the core can know of it and resume */
	if (mailbox_post(s->mailbox, in) < 0) {
		incoming_answer_error(in, MHD_HTTP_SERVICE_UNAVAILABLE, "too busy, or ending");
		MHD_resume_connection(in->connection);
	}
	return MHD_YES;
}

/* Called when the headers are complete, for each piece of the body, at its end, and again after the parking. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *data, size_t *len, void **context)
{
	struct http_incoming *in = *context;
	size_t n = *len;

	(void)arg, (void)connection, (void)url, (void)version;
	if (in->response)
		return send_answer(in);
	if (!in->begun)
		return begin(in, method);
	*len = 0;
	return n ? take_body(in, data, n) : park(in);
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code)
{
	struct http_server *s = arg;
	struct http_incoming *in = *context;
	struct connection *c = connection_of(connection);
	static const uint64_t once = 1;

	(void)code;
	*context = NULL;
	if (!in)
		return;
	if (c)
		begin_reading(s, c); /* the connection may be kept, for another request */
	if (in->by_core && atomic_fetch_sub(&s->n_answering, 1) == 1 && atomic_load(&s->ending))
		(void)!write(s->all_sent, &once, sizeof(once));
	incoming_free(in);
}

/* Also on the core thread, while starting and stopping. */
static void on_log(void *arg, const char *fmt, va_list ap) _printf_(2, 0);
static void on_log(void *arg, const char *fmt, va_list ap)
{
	struct http_server *s = arg;
	char text[sizeof(s->said)];

	vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = 0;
	log_debug("http server: %s", text);
	if (pthread_equal(pthread_self(), s->core))
		str_copy(s->said, sizeof(s->said), text);
}

/* The core thread */

static void got_request(void *arg, void *message)
{
	struct http_server *s = arg;
	struct http_incoming *in = message;

	list_add_tail(&s->parked, &in->link);
	s->n_parked++;
	s->handler(s->arg, in);
}

void server_take_answered(struct http_server *s, struct http_incoming *in)
{
	struct MHD_Connection *connection = in->connection;

	if (!list_empty(&in->link)) {
		link_remove(&in->link);
		s->n_parked--;
	}
	in->by_core = true;
	atomic_fetch_add(&s->n_answering, 1);
	MHD_resume_connection(connection); /* from here on `in` is the other thread's */
}

uint16_t http_server_port(const struct http_server *s)
{
	return s->port;
}

size_t http_server_parked(const struct http_server *s)
{
	return s->n_parked;
}

/* A socket that listens there, or -errno. */
static int listening_socket(const struct addrinfo *a, uint16_t *ret_port)
{
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} bound = { 0 };
	const int on = 1, off = 0;
	socklen_t len = sizeof(bound);
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, a->ai_addr, a->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, &bound.any, &len) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	*ret_port = ntohs(bound.any.sa_family == AF_INET6 ? bound.six.sin6_port : bound.four.sin_port);
	return fd;
}

static int listen_on(const struct http_server_options *o, uint16_t *ret_port, struct err *err)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
		                  .ai_socktype = SOCK_STREAM };
	struct addrinfo *a;
	char port[8];
	int fd;

	snprintf(port, sizeof(port), "%u", o->port);
	if (getaddrinfo(o->address, port, &hints, &a) != 0)
		return err_set(err, -EINVAL, "cannot listen on '%.100s': this is no IP address",
		               str_or(o->address, ""));
	fd = listening_socket(a, ret_port);
	freeaddrinfo(a);
	return fd < 0 ? err_errno(err, fd, "cannot listen on %s port %u", o->address, o->port) : fd;
}

/* A soft limit is often 1024. Without a descriptor for a newcomer, nobody new is heard. */
static void want_descriptors(rlim_t n)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= n)
		return;
	limit.rlim_cur = MIN_OF(n, limit.rlim_max);
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* The descriptor is libmicrohttpd's from here on, also when it fails. */
static int start_daemon(struct http_server *s, const struct http_server_options *o, int fd, struct err *err)
{
	bool tls = o->cert_pem && o->key_pem;
	struct MHD_OptionItem tls_options[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)o->cert_pem },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)o->key_pem },
		{ MHD_OPTION_HTTPS_PRIORITIES_APPEND, 0, "-VERS-TLS1.0:-VERS-TLS1.1" },
		{ MHD_OPTION_END, 0, NULL },
	};
	/* TURBO: who connects has mostly sent something already, and is not waited for first. */
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_TURBO | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
	unsigned timeout_s = (unsigned)((s->read_timeout + USEC_SEC - 1) / USEC_SEC);

	if (!tls)
		tls_options[0] = (struct MHD_OptionItem) { MHD_OPTION_END, 0, NULL };
	/* The logger comes first, for what the others have to say. */
	s->daemon = MHD_start_daemon(
	        flags | (tls ? MHD_USE_TLS : 0), s->port, on_newcomer, s, on_request, s, MHD_OPTION_EXTERNAL_LOGGER,
	        on_log, s, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY,
	        MHD_OPTION_CONNECTION_LIMIT, s->connections_max + CONNECTIONS_SPARE, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
	        o->connections_per_ip_max, MHD_OPTION_CONNECTION_TIMEOUT, timeout_s, MHD_OPTION_CLIENT_DISCIPLINE_LVL,
	        1, MHD_OPTION_URI_LOG_CALLBACK, on_target, s, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
	        MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_ARRAY, tls_options, MHD_OPTION_END);
	if (s->daemon)
		return 0;
	return err_set(err, -EINVAL, "cannot serve HTTP%s on %s port %u: %s", tls ? "S" : "", o->address, s->port,
	               s->said[0] ? s->said : "unknown cause");
}

struct http_server *http_server_new(struct loop *l, const struct http_server_options *o, http_handler handler,
                                    void *arg, struct err *err)
{
	_cleanup_(http_server_freep) struct http_server *s = NEW(struct http_server);
	unsigned queue_max;
	int fd;

	s->core = pthread_self();
	s->handler = handler;
	s->arg = arg;
	s->body_max = o->body_max ? o->body_max : BODY_MAX_DEFAULT;
	s->connections_max = o->connections_max ? o->connections_max : CONNECTIONS_MAX_DEFAULT;
	s->read_timeout = o->read_timeout ? o->read_timeout : READ_TIMEOUT_DEFAULT;
	queue_max = o->queue_max ? o->queue_max : s->connections_max;
	link_init(&s->parked);
	link_init(&s->reading);
	s->all_sent = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert(s->all_sent >= 0);
	s->mailbox = mailbox_new(l, queue_max, got_request, s);
	want_descriptors(s->connections_max + OTHER_DESCRIPTORS);
	if (!o->cert_pem != !o->key_pem) {
		err_set(err, -EINVAL, "TLS needs a certificate and its key; only one is given");
		return NULL;
	}
	fd = listen_on(o, &s->port, err);
	if (fd < 0)
		return NULL;
	return start_daemon(s, o, fd, err) < 0 ? NULL : TAKE_PTR(s);
}

static void answer_ending(void *message)
{
	http_reply_error(message, MHD_HTTP_SERVICE_UNAVAILABLE, "this server is ending");
}

/* Parked connections must be resumed before the thread can end, and their answers get a moment to go out. */
static void end_daemon(struct http_server *s)
{
	struct pollfd sent = { .fd = s->all_sent, .events = POLLIN };
	_cleanup_fd_ int fd = MHD_quiesce_daemon(s->daemon);

	shutdown(fd, SHUT_RDWR); /* closed when the thread has ended, so that the number is not used for another */
	mailbox_close(s->mailbox, answer_ending);
	LIST_EACH (l, &s->parked)
		answer_ending(LIST_ITEM(l, struct http_incoming, link));
	atomic_store(&s->ending, true);
	if (atomic_load(&s->n_answering) > 0)
		poll(&sent, 1, LAST_ANSWERS_WAIT_MS);
	MHD_stop_daemon(s->daemon);
}

void http_server_free(struct http_server *s)
{
	if (!s)
		return;
	if (s->daemon)
		end_daemon(s);
	mailbox_free(s->mailbox, NULL);
	fd_closep(&s->all_sent);
	free(s);
}
