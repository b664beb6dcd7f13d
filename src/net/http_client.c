/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A pool is one curl multi handle with its connections. New calls go to the current pool. To forget connections is to
 * begin a new pool; the old one lives until its last call has ended, because curl would go on sharing an HTTP/2
 * connection that other calls still use, dead or not.
 *
 * Curl may not be called from within its own callbacks, and our callers may start and cancel calls from anywhere. So
 * calls only change lists there, and settle() does the rest once curl has returned.
 */
#include "net/http_client.h"

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>

#include "base/str.h"
#include "net/http_call.h"

#define CALLS_MAX 10000
#define CONNECTIONS_MAX 128L     /* in a pool; further calls wait */
#define CONNECTIONS_KEPT_MAX 32L /* of them idle */
#define STREAMS_MAX 16           /* on a connection, where the peer speaks HTTP/2 */
#define SPARE_HANDLES_MAX 32
#define RETRY_AFTER_MAX_S 3600

struct http_pool {
	struct link link; /* http_client.pools */
	struct http_client *client;
	CURLM *multi;
	struct loop_timer *timer; /* curl's */
	struct link sockets;
	size_t n_calls;
};

struct pool_socket {
	struct link link; /* http_pool.sockets */
	struct http_pool *pool;
	int fd;
	struct loop_fd *watch;
};

struct http_client {
	struct loop *loop;
	struct loop_timer *settle_timer;
	char *user_agent;
	long connections_max, connections_kept; /* of a pool */
	size_t running_max; /* calls that curl has in the current pool; 0 = as many as there are */
	bool multiplexes;   /* the peer speaks HTTP/2 */
	struct link pools;
	struct http_pool *current; /* NULL: the next call makes one */
	struct link waiting, running, ended, cancelled;
	size_t n_calls;
	CURL *spare[SPARE_HANDLES_MAX];
	size_t n_spare;
	bool in_curl;
	bool *freed; /* set while a `done` runs: tells whether it freed the client */
};

static void settle(struct http_client *c);

/* Pools: curl's sockets and timer on the loop */

static void after_curl(struct http_pool *p)
{
	CURLMsg *m;
	int left;

	p->client->in_curl = false;
	while ((m = curl_multi_info_read(p->multi, &left))) {
		struct http_call *call = NULL;

		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &call);
		if (call->state != CALL_RUNNING)
			continue;
		if (m->data.result != CURLE_OK)
			call_fail_curl(call, m->data.result);
		call->state = CALL_ENDED;
		link_remove(&call->link);
		list_add_tail(&p->client->ended, &call->link);
	}
	settle(p->client);
}

static void run_curl(struct http_pool *p, curl_socket_t fd, int events)
{
	int running;

	p->client->in_curl = true;
	curl_multi_socket_action(p->multi, fd, events, &running);
	after_curl(p);
}

static void socket_ready(void *arg, uint32_t events)
{
	struct pool_socket *s = arg;
	int curl_events = 0;

	if (events & (EPOLLIN | EPOLLHUP))
		curl_events |= CURL_CSELECT_IN;
	if (events & EPOLLOUT)
		curl_events |= CURL_CSELECT_OUT;
	if (events & EPOLLERR)
		curl_events |= CURL_CSELECT_ERR;
	run_curl(s->pool, s->fd, curl_events);
}

static void timer_fired(void *arg)
{
	run_curl(arg, CURL_SOCKET_TIMEOUT, 0);
}

static void socket_free(struct pool_socket *s)
{
	loop_remove_fd(s->watch);
	link_remove(&s->link);
	free(s);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket)
{
	struct http_pool *p = arg;
	struct pool_socket *s = socket;
	uint32_t events = 0;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (s)
			socket_free(s);
		curl_multi_assign(p->multi, fd, NULL);
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
	s = NEW(struct pool_socket);
	s->pool = p;
	s->fd = fd;
	s->watch = loop_add_fd(p->client->loop, fd, events, socket_ready, s);
	list_add_tail(&p->sockets, &s->link);
	curl_multi_assign(p->multi, fd, s);
	return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *arg)
{
	struct http_pool *p = arg;

	(void)multi;
	/* The clock itself, not the round's time: curl takes a timer that fires early for a new wait. */
	loop_set_timer(p->timer, timeout_ms < 0 ? USEC_NEVER : clock_mono(clock_real()) + timeout_ms * USEC_MSEC);
	return 0;
}

static struct http_pool *pool_new(struct http_client *c)
{
	struct http_pool *p = NEW(struct http_pool);

	p->client = c;
	p->multi = curl_multi_init();
	assert(p->multi);
	p->timer = loop_add_timer(c->loop, timer_fired, p);
	link_init(&p->sockets);
	list_add_tail(&c->pools, &p->link);
	curl_multi_setopt(p->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(p->multi, CURLMOPT_SOCKETDATA, p);
	curl_multi_setopt(p->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(p->multi, CURLMOPT_TIMERDATA, p);
	curl_multi_setopt(p->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
	curl_multi_setopt(p->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, c->connections_max);
	curl_multi_setopt(p->multi, CURLMOPT_MAXCONNECTS, c->connections_kept);
	return p;
}

static void pool_free(struct http_pool *p)
{
	curl_multi_cleanup(p->multi); /* still calls back */
	LIST_EACH (l, &p->sockets)
		socket_free(LIST_ITEM(l, struct pool_socket, link));
	loop_remove_timer(p->timer);
	link_remove(&p->link);
	free(p);
}

/* Calls */

static void ring(struct http_client *c)
{
	loop_set_timer(c->settle_timer, loop_now(c->loop));
}

static CURL *take_handle(struct http_client *c)
{
	CURL *easy = c->n_spare ? c->spare[--c->n_spare] : curl_easy_init();

	assert(easy);
	return easy;
}

static void give_handle(struct http_client *c, CURL *easy)
{
	if (c->n_spare == SPARE_HANDLES_MAX) {
		curl_easy_cleanup(easy);
		return;
	}
	curl_easy_reset(easy);
	c->spare[c->n_spare++] = easy;
}

static void leave_pool(struct http_call *call)
{
	if (!call->pool)
		return;
	curl_multi_remove_handle(call->pool->multi, call->easy);
	call->pool->n_calls--;
	call->pool = NULL;
}

/* Takes it out of everything and frees it, without a word to anyone. */
static void call_free(struct http_call *call)
{
	struct http_client *c = call->client;

	call->state = CALL_CANCELLED;
	leave_pool(call);
	link_remove(&call->link);
	give_handle(c, call->easy);
	c->n_calls--;
	call_done(call);
	free(call);
}

static void fill_answer(struct http_call *call, struct http_answer *a)
{
	char *content_type = NULL, *padding;
	curl_off_t retry_after_s = 0;
	long version = 0;

	curl_easy_getinfo(call->easy, CURLINFO_CONTENT_TYPE, &content_type);
	curl_easy_getinfo(call->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
	curl_easy_getinfo(call->easy, CURLINFO_HTTP_VERSION, &version);
	call->client->multiplexes = version >= CURL_HTTP_VERSION_2_0;
	a->status = call_status(call);
	if (a->status == 0)
		call_fail(call, -EPROTO, "the server sent no status");
	a->error = call->error.code ? &call->error : NULL;
	a->sent = call->sent;
	a->content_type = str_or(content_type, "");
	a->retry_after = MAX_OF(0, MIN_OF(retry_after_s, RETRY_AFTER_MAX_S)) * USEC_SEC;
	a->took = clock_mono(clock_real()) - call->started;
	a->body_len = call->answer.len;
	padding = buf_reserve(&call->answer, 4);
	assert(padding);
	memset(padding, 0, 5);
	a->body = buf_take(&call->answer);
}

/* Calls `done` and frees the call. False when `done` freed the client. */
static bool tell(struct http_call *call)
{
	struct http_client *c = call->client;
	struct http_answer answer = { 0 };
	bool freed = false;

	loop_set_timer(call->alarm, USEC_NEVER);
	link_remove(&call->link);
	call->state = CALL_TELLING;
	fill_answer(call, &answer);
	leave_pool(call);
	c->freed = &freed;
	call->done(call->arg, &answer);
	free(answer.body);
	if (freed) {
		curl_easy_cleanup(call->easy);
		call_done(call);
		free(call);
		return false;
	}
	c->freed = NULL;
	call_free(call);
	return true;
}

static void begin(struct http_call *call)
{
	struct http_client *c = call->client;
	CURLMcode r;

	if (!c->current)
		c->current = pool_new(c);
	call->pool = c->current;
	call->pool->n_calls++;
	call->state = CALL_RUNNING;
	list_add_tail(&c->running, &call->link);
	r = curl_multi_add_handle(call->pool->multi, call->easy);
	assert(r == CURLM_OK);
}

/* Curl's own queue is not used: it lets connections idle that calls wait for. */
static bool has_room(const struct http_client *c)
{
	size_t max = c->multiplexes ? c->running_max * STREAMS_MAX : c->running_max;

	return !max || !c->current || c->current->n_calls < max;
}

static void begin_waiting(struct http_client *c)
{
	struct link *l;

	while (has_room(c) && (l = list_take_head(&c->waiting)))
		begin(LIST_ITEM(l, struct http_call, link));
}

/* Brings everything in order that callbacks could not. */
static void settle(struct http_client *c)
{
	struct link *l;

	assert(!c->in_curl);
	LIST_EACH (cancelled, &c->cancelled)
		call_free(LIST_ITEM(cancelled, struct http_call, link));
	begin_waiting(c);
	while ((l = list_take_head(&c->ended))) {
		assert(c->ended.next != l); /* what static analysis cannot see */
		if (!tell(LIST_ITEM(l, struct http_call, link)))
			return;
	}
	begin_waiting(c);
	LIST_EACH (p, &c->pools) {
		struct http_pool *pool = LIST_ITEM(p, struct http_pool, link);

		if (pool != c->current && pool->n_calls == 0)
			pool_free(pool);
	}
}

static void settle_rang(void *arg)
{
	settle(arg);
}

static void alarm_rang(void *arg)
{
	struct http_call *call = arg;
	usec_t now = loop_now(call->loop), at = call_late_at(call);

	if (now < at) {
		loop_set_timer(call->alarm, at);
		return;
	}
	call_fail_late(call, now);
	if (call->sent)
		http_client_forget_connections(call->client); /* perhaps the peer is dead, and all it shares with us */
	call->state = CALL_ENDED;
	link_remove(&call->link);
	list_add_tail(&call->client->ended, &call->link);
	settle(call->client);
}

struct http_call *http_start(struct http_client *c, const struct http_request *request, http_chunk chunk,
                             http_done done, void *arg)
{
	struct http_call *call = NEW(struct http_call);
	int r;

	assert(done);
	*call = (struct http_call) { .client = c, .loop = c->loop, .chunk = chunk, .done = done, .arg = arg };
	call->easy = take_handle(c);
	call->alarm = loop_add_timer(c->loop, alarm_rang, call);
	call->started = call->last_byte = clock_mono(clock_real());
	r = call_prepare(call, request, c->user_agent);
	if (r == 0 && c->n_calls >= CALLS_MAX)
		r = call_fail(call, -ENOBUFS, "%d requests are already on their way", CALLS_MAX);
	c->n_calls++;
	call->state = r < 0 ? CALL_ENDED : CALL_WAITING;
	list_add_tail(r < 0 ? &c->ended : &c->waiting, &call->link);
	loop_set_timer(call->alarm, r < 0 ? USEC_NEVER : call_late_at(call));
	ring(c);
	return call;
}

void http_pause(struct http_call *call, bool paused)
{
	struct http_client *c = call->client;

	if (call->state != CALL_RUNNING)
		return;
	if (c->in_curl) {
		curl_easy_pause(call->easy, paused ? CURLPAUSE_RECV : CURLPAUSE_CONT);
		return;
	}
	c->in_curl = true;
	curl_easy_pause(call->easy, paused ? CURLPAUSE_RECV : CURLPAUSE_CONT);
	c->in_curl = false;
	ring(c); /* a chunk may have cancelled it */
}

void http_cancel(struct http_call *call)
{
	struct http_client *c;

	if (!call || call->state == CALL_TELLING || call->state == CALL_CANCELLED)
		return;
	c = call->client;
	if (!c->in_curl) {
		call_free(call);
		ring(c); /* its pool may be empty now */
		return;
	}
	call->state = CALL_CANCELLED;
	loop_set_timer(call->alarm, USEC_NEVER);
	link_remove(&call->link);
	list_add_tail(&c->cancelled, &call->link);
}

void http_client_forget_connections(struct http_client *c)
{
	c->current = NULL;
	ring(c);
}

/* The client */

struct http_client *http_client_new(struct loop *l, const char *user_agent)
{
	struct http_client *c = NEW(struct http_client);
	CURLcode r = curl_global_init(CURL_GLOBAL_DEFAULT);

	assert(r == CURLE_OK);
	c->loop = l;
	c->settle_timer = loop_add_timer(l, settle_rang, c);
	c->user_agent = mem_strdup(user_agent);
	c->connections_max = CONNECTIONS_MAX;
	c->connections_kept = CONNECTIONS_KEPT_MAX;
	link_init(&c->pools);
	link_init(&c->waiting);
	link_init(&c->running);
	link_init(&c->ended);
	link_init(&c->cancelled);
	return c;
}

void http_client_connections(struct http_client *c, long max)
{
	assert(!c->current);
	c->connections_max = c->connections_kept = max;
	c->running_max = (size_t)max;
}

void http_client_free(struct http_client *c)
{
	struct link *lists[4];

	if (!c)
		return;
	assert(!c->in_curl); /* not from within a chunk */
	if (c->freed)
		*c->freed = true;
	lists[0] = &c->waiting, lists[1] = &c->running, lists[2] = &c->ended, lists[3] = &c->cancelled;
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		LIST_EACH (call, lists[i])
			call_free(LIST_ITEM(call, struct http_call, link));
	LIST_EACH (p, &c->pools)
		pool_free(LIST_ITEM(p, struct http_pool, link));
	for (size_t i = 0; i < c->n_spare; i++)
		curl_easy_cleanup(c->spare[i]);
	loop_remove_timer(c->settle_timer);
	free(c->user_agent);
	free(c);
	curl_global_cleanup();
}
