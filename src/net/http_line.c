/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A line is CONNECTING (curl has it) → IDLE ⇄ BUSY (it has a call) → closed. Its easy handle stays in the multi handle for as long as
 * it lives, for the socket is curl's.
 *
 * What must hold: a call that was sent is sent again only when doing it twice is harmless, no byte of an answer came, and the line
 * was used before (so that the peer may just have closed it).
 */
#include "net/http_line.h"

#include <assert.h>
#include <errno.h>
#include <llhttp.h>
#include <openssl/ssl.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <time.h>

#include "base/str.h"
#include "net/http_multi.h"

#define READ_MAX 16384 /* bytes; a TLS record */
#define HEAD_MAX ((size_t)1024 * 1024)
#define FIELD_MAX 16 /* of the names that we look at */
#define VALUE_MAX 256
#define RETRY_AFTER_MAX_S 3600

enum line_state { LINE_CONNECTING, LINE_IDLE, LINE_BUSY };

struct http_lines {
	struct http_lines_options o;
	struct http_multi *multi; /* NULL until the first line */
	bool in_curl;
	struct link origins;
	size_t n_lines;
	bool stopped; /* nothing is begun any more */
};

/* Where lines go to, and as whom. Its texts are its own. */
struct http_origin {
	struct link link; /* http_lines.origins */
	struct http_lines *lines;
	char *base;      /* "https://10.0.0.1:6443" */
	char *authority; /* of it */
	char *host;      /* of that */
	char *proxy;
	char *ca_pem, *cert_pem, *key_pem;
	bool insecure;
	struct link queue;            /* http_call.turn */
	struct link idle, busy;       /* http_line.link; of the idle ones the last used first */
	struct http_line *connecting; /* NULL: none is */
};

struct http_line {
	struct link link; /* http_origin.idle or .busy; none while connecting */
	enum line_state state;
	struct http_origin *origin;
	CURL *easy;
	struct loop_fd *watch;  /* NULL while connecting */
	struct http_call *call; /* BUSY */
	bool used;              /* has had an answer before */
	bool last;              /* not to be kept */
	bool answered;          /* a byte of the answer came */
	bool over;              /* the answer is whole */
	bool reusable;
	llhttp_t parser;
	char field[FIELD_MAX + 1], value[VALUE_MAX + 1];
	size_t n_field, n_value;
	char says[CURL_ERROR_SIZE];
};

static void serve(struct http_origin *o);
static bool pull(struct http_line *l);

/* ---- the answer ---- */

static usec_t read_retry_after(const char *text)
{
	int64_t s = 0;
	time_t at;

	if (str_to_i64(text, 0, INT64_MAX, &s) < 0) {
		at = curl_getdate(text, NULL);
		s = at > 0 ? at - time(NULL) : 0;
	}
	return MAX_OF(0, MIN_OF(s, RETRY_AFTER_MAX_S)) * USEC_SEC;
}

/* All of what comes before the body is counted. */
static int got_head(llhttp_t *parser, const char *at, size_t len)
{
	struct http_line *l = parser->data;

	(void)at;
	l->call->n_header += len;
	if (l->call->n_header <= ANSWER_HEADERS_MAX)
		return 0;
	call_fail_headers(l->call);
	return -1; /* no other number: llhttp would take it for one of its own */
}

static int got_field(llhttp_t *parser, const char *at, size_t len)
{
	struct http_line *l = parser->data;
	size_t room = FIELD_MAX - l->n_field;

	memcpy(l->field + l->n_field, at, MIN_OF(len, room));
	l->n_field += MIN_OF(len, room); /* what is longer is none of ours, cut or not */
	l->n_value = 0;
	return got_head(parser, at, len);
}

static int got_value(llhttp_t *parser, const char *at, size_t len)
{
	struct http_line *l = parser->data;
	size_t room = VALUE_MAX - l->n_value;

	memcpy(l->value + l->n_value, at, MIN_OF(len, room));
	l->n_value += MIN_OF(len, room);
	return got_head(parser, at, len);
}

static int got_header(llhttp_t *parser)
{
	struct http_line *l = parser->data;

	l->field[l->n_field] = l->value[l->n_value] = '\0';
	if (strcasecmp(l->field, "Content-Type") == 0) {
		free(l->call->content_type);
		l->call->content_type = mem_strdup(l->value);
	} else if (strcasecmp(l->field, "Retry-After") == 0)
		l->call->retry_after = read_retry_after(l->value);
	l->n_field = l->n_value = 0;
	return 0;
}

static int got_whole_head(llhttp_t *parser)
{
	struct http_line *l = parser->data;
	bool told = parser->flags & F_CONTENT_LENGTH;

	if (parser->status_code < 200)
		return parser->status_code < 100 || parser->status_code == 101 ? -1 : 0;
	l->call->status = parser->status_code;
	if (l->call->no_body)
		return 1; /* whatever the headers announce */
	return told && call_collect(l->call, "", 0, (int64_t)MIN_OF(parser->content_length, INT64_MAX)) < 0 ? -1 : 0;
}

static int got_body(llhttp_t *parser, const char *at, size_t len)
{
	struct http_line *l = parser->data;

	return call_collect(l->call, at, len, -1) < 0 ? -1 : 0;
}

static int got_all(llhttp_t *parser)
{
	struct http_line *l = parser->data;

	if (parser->status_code < 200) /* the real answer comes */
		return 0;
	l->over = true;
	l->reusable = llhttp_should_keep_alive(parser);
	return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
	.on_status = got_head,
	.on_header_field = got_field,
	.on_header_value = got_value,
	.on_header_value_complete = got_header,
	.on_chunk_extension_name = got_head,
	.on_chunk_extension_value = got_head,
	.on_headers_complete = got_whole_head,
	.on_body = got_body,
	.on_message_complete = got_all,
};

/* ---- lines ---- */

static void line_close(struct http_line *l)
{
	struct http_origin *o = l->origin;

	assert(!l->call);
	loop_remove_fd(l->watch);
	curl_multi_remove_handle(http_multi_curl(o->lines->multi), l->easy);
	curl_easy_cleanup(l->easy);
	link_remove(&l->link);
	if (o->connecting == l)
		o->connecting = NULL;
	o->lines->n_lines--;
	free(l);
}

/* Takes the call off its line. */
static struct http_call *line_part(struct http_line *l)
{
	struct http_call *call = l->call;

	l->call = NULL;
	call->line = NULL;
	return call;
}

static void end_call(struct http_lines *ls, struct http_call *call)
{
	call->origin = NULL;
	ls->o.ended(ls->o.arg, call);
}

static void become_idle(struct http_line *l)
{
	l->state = LINE_IDLE;
	link_remove(&l->link);
	list_add_head(&l->origin->idle, &l->link);
}

/* The answer is whole, or there will be none; the call says which. */
static void line_finish(struct http_line *l, bool keep)
{
	struct http_call *call = line_part(l);
	struct http_origin *o = l->origin;

	l->used = true;
	if (keep && call->n_out == call->out.len && !l->last)
		become_idle(l);
	else
		line_close(l);
	end_call(o->lines, call);
	serve(o);
}

/* The connection is no more. `result` is curl's word for it, CURLE_OK where the peer closed it. */
static void line_broken(struct http_line *l, CURLcode result)
{
	struct http_call *call = l->call;
	struct http_origin *o = l->origin;

	if (!call) {
		line_close(l);
		return;
	}
	if (l->used && !l->answered && call->resendable) {
		line_part(l);
		line_close(l);
		call->n_out = 0;
		list_add_head(&o->queue, &call->turn);
		serve(o);
		return;
	}
	if (!l->answered && (l->used || result == CURLE_OK))
		result = CURLE_GOT_NOTHING;
	else if (result == CURLE_OK)
		result = CURLE_PARTIAL_FILE;
	call_fail_curl(call,
	               &(struct curl_failure) { .result = result, .easy = l->easy, .says = l->says, .host = o->host });
	line_finish(l, false);
}

/* False when the line has been closed or given another call. */
static bool push(struct http_line *l)
{
	struct http_call *call = l->call;

	call->sent = true;
	while (call->n_out < call->out.len) {
		size_t n = 0;
		CURLcode r = curl_easy_send(l->easy, call->out.data + call->n_out, call->out.len - call->n_out, &n);

		if (r == CURLE_AGAIN)
			break;
		if (r != CURLE_OK) {
			if (pull(l)) /* perhaps it has said why */
				line_broken(l, r);
			return false;
		}
		call->n_out += n;
	}
	loop_change_fd(l->watch, call->n_out < call->out.len ? EPOLLIN | EPOLLOUT : EPOLLIN);
	return true;
}

static void fail_parse(struct http_line *l, llhttp_errno_t e)
{
	const char *why = llhttp_get_error_reason(&l->parser);

	call_fail(l->call, -EPROTO, "the server does not speak HTTP: %s",
	          str_empty(why) ? llhttp_errno_name(e) : why); /* unless it has an error already */
	line_finish(l, false);
}

/* Takes in what came. True when there may be more. */
static bool take(struct http_line *l, const char *data, size_t len)
{
	llhttp_errno_t e;

	l->answered = true;
	l->call->last_byte = loop_now(l->call->loop);
	e = llhttp_execute(&l->parser, data, len);
	if (e == HPE_OK)
		return true;
	if (l->over && !l->call->error.code) /* more than the answer is nonsense */
		line_finish(l, l->reusable && llhttp_get_error_pos(&l->parser) == data + len);
	else
		fail_parse(l, e);
	return false;
}

static void peer_closed(struct http_line *l)
{
	if (l->answered)
		llhttp_finish(&l->parser); /* an answer may end with its connection */
	if (l->over)
		line_finish(l, false);
	else
		line_broken(l, CURLE_OK);
}

/* Until nothing is left: what TLS holds back already wakes nobody. False when the line has been closed or given another call. */
static bool pull(struct http_line *l)
{
	char data[READ_MAX];
	CURLcode r;
	size_t n;

	do {
		n = 0;
		r = curl_easy_recv(l->easy, data, sizeof(data), &n);
		if (r == CURLE_AGAIN)
			return true;
		if (r != CURLE_OK) {
			line_broken(l, r);
			return false;
		}
		if (n == 0) {
			peer_closed(l);
			return false;
		}
	} while (take(l, data, n));
	return false;
}

/* Nothing may come while no request is under way; an end does. */
static bool is_alive(struct http_line *l)
{
	char byte;
	size_t n;

	return curl_easy_recv(l->easy, &byte, 1, &n) == CURLE_AGAIN;
}

static void line_ready(void *arg, uint32_t events)
{
	struct http_line *l = arg;
	struct http_lines *ls = l->origin->lines;

	if (l->state == LINE_IDLE) {
		if (!is_alive(l))
			line_close(l);
	} else if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)) ||
	           pull(l)) { /* first: a server may refuse before it has read all */
		if (events & EPOLLOUT)
			push(l);
	}
	ls->o.settle(ls->o.arg);
}

/* False when the line is no more. */
static bool line_begin(struct http_line *l, struct http_call *call)
{
	if (l->used && !is_alive(l)) {
		line_close(l);
		return false;
	}
	link_remove(&call->turn);
	call->line = l;
	l->call = call;
	l->state = LINE_BUSY;
	link_remove(&l->link);
	list_add_tail(&l->origin->busy, &l->link);
	l->answered = l->over = l->reusable = false;
	l->n_field = l->n_value = 0;
	llhttp_init(&l->parser, HTTP_RESPONSE, &settings);
	l->parser.data = l;
	push(l);
	return true;
}

/* ---- connecting ---- */

/* A record is two reads otherwise. pull() takes all there is, so nothing is forgotten in the buffer. */
static CURLcode read_ahead(CURL *easy, void *ssl_ctx, void *arg)
{
	(void)easy, (void)arg;
	SSL_CTX_set_read_ahead(ssl_ctx, 1);
	return CURLE_OK;
}

/* Whoever waits is told, unless other lines still serve them: then only the first, which waits longest. */
static void connect_failed(struct http_line *l, CURLcode result)
{
	struct http_origin *o = l->origin;
	struct curl_failure f = {
		.result = result, .easy = l->easy, .says = l->says, .host = o->host, .own_ca = o->ca_pem
	};
	bool alone = list_empty(&o->busy) && list_empty(&o->idle);
	struct link *turn;

	while ((turn = list_take_head(&o->queue))) {
		struct http_call *call = LIST_ITEM(turn, struct http_call, turn);

		call_fail_curl(call, &f);
		end_call(o->lines, call);
		if (!alone)
			break;
	}
	line_close(l);
	serve(o);
}

static void connected(struct http_line *l)
{
	struct http_origin *o = l->origin;
	curl_socket_t fd = CURL_SOCKET_BAD;

	curl_easy_getinfo(l->easy, CURLINFO_ACTIVESOCKET, &fd);
	assert(fd != CURL_SOCKET_BAD);
	o->connecting = NULL;
	l->watch = loop_add_fd(o->lines->o.loop, fd, EPOLLIN, line_ready, l);
	if (o->lines->o.patient)
		loop_fd_patient(l->watch);
	become_idle(l);
	/* When nobody waits any more the peer may close it as any other; and curl would, if it never saw it used. */
	l->used = list_empty(&o->queue);
	if (l->used && (l->last || !is_alive(l)))
		line_close(l);
	serve(o);
}

static void curl_ran(void *arg)
{
	struct http_lines *ls = arg;
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(http_multi_curl(ls->multi), &left))) {
		struct http_line *l = NULL;
		CURLcode result = m->data.result;

		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &l);
		if (l->state != LINE_CONNECTING)
			continue;
		if (result == CURLE_OK)
			connected(l);
		else
			connect_failed(l, result);
	}
	ls->o.settle(ls->o.arg);
}

static void line_connect(struct http_origin *o, usec_t timeout)
{
	struct http_lines *ls = o->lines;
	struct http_line *l = NEW(struct http_line);
	struct http_tls tls = { o->ca_pem, o->cert_pem, o->key_pem, NULL, o->insecure };
	CURLMcode r;

	if (!ls->multi)
		ls->multi = http_multi_new(ls->o.loop, &ls->in_curl, curl_ran, ls);
	*l = (struct http_line) { .origin = o, .easy = curl_easy_init() };
	assert(l->easy);
	link_init(&l->link);
	o->connecting = l;
	ls->n_lines++;
	easy_set_connection(l->easy, &tls, o->proxy, timeout);
	curl_easy_setopt(l->easy, CURLOPT_URL, o->base);
	curl_easy_setopt(l->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(l->easy, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(l->easy, CURLOPT_PRIVATE, l);
	curl_easy_setopt(l->easy, CURLOPT_ERRORBUFFER, l->says);
	curl_easy_setopt(l->easy, CURLOPT_SSL_CTX_FUNCTION, read_ahead);
	r = curl_multi_add_handle(http_multi_curl(ls->multi), l->easy);
	assert(r == CURLM_OK);
}

/* ---- origins ---- */

/* Room for one more line, if need be one that is idle elsewhere. */
static bool make_room(struct http_lines *ls)
{
	if (ls->n_lines < ls->o.max)
		return true;
	LIST_EACH (l, &ls->origins) {
		struct http_origin *o = LIST_ITEM(l, struct http_origin, link);

		if (!list_empty(&o->idle)) {
			line_close(LIST_ITEM(o->idle.prev, struct http_line, link));
			return true;
		}
	}
	return false;
}

/* Who waits gets what is idle, and a new line is made for who then still waits. */
static void serve(struct http_origin *o)
{
	struct link *idle;

	if (o->lines->stopped)
		return;
	while (!list_empty(&o->queue) && (idle = list_take_head(&o->idle))) {
		assert(o->idle.next != idle); /* what static analysis cannot see */
		line_begin(LIST_ITEM(idle, struct http_line, link), LIST_ITEM(o->queue.next, struct http_call, turn));
	}
	if (!list_empty(&o->queue) && !o->connecting && make_room(o->lines))
		line_connect(o, LIST_ITEM(o->queue.next, struct http_call, turn)->connect_timeout);
}

static void origin_free(struct http_origin *o)
{
	link_remove(&o->link);
	if (o->key_pem)
		explicit_bzero(o->key_pem, strlen(o->key_pem));
	free(o->base);
	free(o->authority);
	free(o->host);
	free(o->proxy);
	free(o->ca_pem);
	free(o->cert_pem);
	free(o->key_pem);
	free(o);
}

static char *dup_or_null(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

static size_t base_len(const char *url)
{
	const char *authority = strstr(url, "://") + 3;

	return (size_t)(authority - url) + strcspn(authority, "/");
}

static bool goes_to(const struct http_origin *o, const struct http_request *r, const struct http_tls *tls)
{
	size_t len = base_len(r->url);

	return strncmp(o->base, r->url, len) == 0 && !o->base[len] && o->insecure == tls->insecure &&
	       str_eq(o->proxy, r->proxy) && str_eq(o->ca_pem, tls->ca_pem) && str_eq(o->cert_pem, tls->cert_pem) &&
	       str_eq(o->key_pem, tls->key_pem);
}

static struct http_origin *origin_of(struct http_lines *ls, const struct http_request *r)
{
	static const struct http_tls none = { 0 };
	const struct http_tls *tls = r->tls ? r->tls : &none;
	struct http_origin *o;

	LIST_EACH (l, &ls->origins) {
		o = LIST_ITEM(l, struct http_origin, link);
		if (goes_to(o, r, tls))
			return o;
	}
	o = NEW(struct http_origin);
	*o = (struct http_origin) {
		.lines = ls,
		.base = mem_strndup(r->url, base_len(r->url)),
		.host = plain_host(r->url),
		.proxy = dup_or_null(r->proxy),
		.ca_pem = dup_or_null(tls->ca_pem),
		.cert_pem = dup_or_null(tls->cert_pem),
		.key_pem = dup_or_null(tls->key_pem),
		.insecure = tls->insecure,
	};
	o->authority = mem_strdup(strstr(o->base, "://") + 3);
	link_init(&o->queue);
	link_init(&o->idle);
	link_init(&o->busy);
	list_add_tail(&ls->origins, &o->link);
	return o;
}

/* ---- calls ---- */

bool lines_take(const struct http_request *r, http_chunk chunk)
{
	_cleanup_free_ char *host = plain_host(r->url);
	bool renamed = r->tls && !str_empty(r->tls->server_name);

	/* A proxy is only tunnelled through for https; a fragment is none of the server's business. */
	return host && !chunk && !r->compressed && !renamed && !strchr(r->url, '#') &&
	       (str_empty(r->proxy) || str_starts(r->url, "https:"));
}

int lines_prepare(struct http_lines *ls, struct http_call *call, const struct http_request *r)
{
	struct buf *b = &call->out;
	bool body = r->body_len || str_eq(r->method, "POST") || str_eq(r->method, "PUT") || str_eq(r->method, "PATCH");
	const char *path = r->url + base_len(r->url);
	int e;

	call->origin = origin_of(ls, r);
	call->no_body = str_eq(r->method, "HEAD");
	*b = BUF(HEAD_MAX + r->body_len);
	buf_reserve(b, 512 + r->body_len + strlen(str_or(r->bearer, "")));
	buf_add_str(b, r->method);
	buf_add_char(b, ' ');
	buf_add_str(b, path);
	buf_add_str(b, " HTTP/1.1\r\nHost: ");
	buf_add_str(b, call->origin->authority);
	buf_add_str(b, "\r\nUser-Agent: ");
	buf_add_str(b, ls->o.user_agent);
	for (size_t i = 0; i < HTTP_HEADERS_MAX && r->headers[i]; i++) {
		e = call_check_header(call, r->headers[i], "a header");
		if (e < 0)
			return e;
		buf_add_str(b, "\r\n");
		buf_add_str(b, r->headers[i]);
	}
	if (r->bearer) {
		e = call_check_header(call, r->bearer, "the bearer token");
		if (e < 0)
			return e;
		buf_add_str(b, "\r\nAuthorization: Bearer ");
		buf_add_str(b, r->bearer);
	}
	if (body)
		buf_printf(b, "\r\nContent-Length: %zu", r->body_len);
	buf_add_str(b, "\r\n\r\n");
	buf_add(b, r->body, r->body_len);
	return b->error ? call_fail(call, b->error, "the headers are larger than %zu KiB", HEAD_MAX / 1024) : 0;
}

void lines_start(struct http_lines *ls, struct http_call *call)
{
	(void)ls;
	list_add_tail(&call->origin->queue, &call->turn);
	serve(call->origin);
}

void lines_leave(struct http_call *call)
{
	struct http_origin *o = call->origin;
	struct http_line *l = call->line;

	link_remove(&call->turn);
	call->origin = NULL;
	if (!l)
		return;
	line_part(l);
	line_close(l);
	serve(o);
}

void lines_forget(struct http_lines *ls)
{
	LIST_EACH (at, &ls->origins) {
		struct http_origin *o = LIST_ITEM(at, struct http_origin, link);

		LIST_EACH (l, &o->idle)
			line_close(LIST_ITEM(l, struct http_line, link));
		LIST_EACH (l, &o->busy)
			LIST_ITEM(l, struct http_line, link)->last = true;
		if (o->connecting)
			o->connecting->last = true;
	}
}

void lines_stop(struct http_lines *ls)
{
	ls->stopped = true;
}

void lines_tidy(struct http_lines *ls)
{
	LIST_EACH (at, &ls->origins) {
		struct http_origin *o = LIST_ITEM(at, struct http_origin, link);

		serve(o); /* there may be room now */
		if (list_empty(&o->queue) && list_empty(&o->idle) && list_empty(&o->busy) && !o->connecting)
			origin_free(o);
	}
}

struct http_lines *lines_new(const struct http_lines_options *o)
{
	struct http_lines *ls = NEW(struct http_lines);

	ls->o = *o;
	link_init(&ls->origins);
	return ls;
}

void lines_free(struct http_lines *ls)
{
	if (!ls)
		return;
	LIST_EACH (at, &ls->origins) {
		struct http_origin *o = LIST_ITEM(at, struct http_origin, link);

		LIST_EACH (l, &o->idle)
			line_close(LIST_ITEM(l, struct http_line, link));
		assert(list_empty(&o->busy) && list_empty(&o->queue));
		if (o->connecting)
			line_close(o->connecting);
		origin_free(o);
	}
	http_multi_free(ls->multi);
	free(ls);
}
