/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A call goes over a line (http_line.h) where the client has lines and the request fits, else to curl. A pool is one curl multi
 * handle with its connections. New calls go to the current pool. To forget connections is to
 * begin a new pool; the old one lives until its last call has ended, because curl would go on sharing an HTTP/2
 * connection that other calls still use, dead or not.
 *
 * Curl may not be called from within its own callbacks, and our callers may start and cancel calls from anywhere. So
 * calls only change lists there, and settle() does the rest once curl has returned.
 */
#include "net/http_client.h"

#include <assert.h>
#include <errno.h>

#include "base/str.h"
#include "net/http_call.h"
#include "net/http_line.h"
#include "net/http_multi.h"

#define CALLS_MAX 10000
#define CONNECTIONS_MAX 128L     /* in a pool; further calls wait */
#define CONNECTIONS_KEPT_MAX 32L /* of them idle */
#define SPARE_HANDLES_MAX 32
#define RETRY_AFTER_MAX_S 3600

struct http_pool {
	struct link link; /* http_client.pools */
	struct http_client *client;
	struct http_multi *multi;
	size_t n_calls;
};

struct http_client {
	struct loop *loop;
	struct loop_timer *settle_timer;
	char *user_agent;
	struct http_lines *lines; /* NULL: curl has all calls */
	bool patient;
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

/* The result of a call is known. */
static void has_ended(void *arg, struct http_call *call)
{
	struct http_client *c = arg;

	call->state = CALL_ENDED;
	link_remove(&call->link);
	list_add_tail(&c->ended, &call->link);
}

/* Pools */

static void curl_ran(void *arg)
{
	struct http_pool *p = arg;
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(http_multi_curl(p->multi), &left))) {
		struct http_call *call = NULL;

		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &call);
		if (call->state != CALL_RUNNING)
			continue;
		if (m->data.result != CURLE_OK)
			call_fail_curl(call, &(struct curl_failure) { .result = m->data.result,
			                                              .easy = call->easy,
			                                              .says = call->curl_says,
			                                              .host = call->host,
			                                              .own_ca = call->own_ca });
		has_ended(p->client, call);
	}
	settle(p->client);
}

static struct http_pool *pool_new(struct http_client *c)
{
	struct http_pool *p = NEW(struct http_pool);
	CURLM *multi;

	p->client = c;
	p->multi = http_multi_new(c->loop, &c->in_curl, curl_ran, p);
	list_add_tail(&c->pools, &p->link);
	if (c->patient && !c->lines)
		http_multi_patient(p->multi);
	multi = http_multi_curl(p->multi);
	curl_multi_setopt(multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
	curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, CONNECTIONS_MAX);
	curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, CONNECTIONS_KEPT_MAX);
	return p;
}

static void pool_free(struct http_pool *p)
{
	http_multi_free(p->multi);
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
	if (!easy)
		return;
	if (c->n_spare == SPARE_HANDLES_MAX) {
		curl_easy_cleanup(easy);
		return;
	}
	curl_easy_reset(easy);
	c->spare[c->n_spare++] = easy;
}

/* Takes the call from whoever has it. */
static void leave(struct http_call *call)
{
	if (call->origin)
		lines_leave(call);
	if (!call->pool)
		return;
	curl_multi_remove_handle(http_multi_curl(call->pool->multi), call->easy);
	call->pool->n_calls--;
	call->pool = NULL;
}

/* Takes it out of everything and frees it, without a word to anyone. */
static void call_free(struct http_call *call)
{
	struct http_client *c = call->client;

	call->state = CALL_CANCELLED;
	leave(call);
	link_remove(&call->link);
	give_handle(c, call->easy);
	c->n_calls--;
	call_done(call);
	free(call);
}

static void fill_answer(struct http_call *call, struct http_answer *a)
{
	char *content_type = call->content_type, *padding;
	curl_off_t retry_after_s = call->retry_after / USEC_SEC;

	if (call->easy) {
		curl_easy_getinfo(call->easy, CURLINFO_CONTENT_TYPE, &content_type);
		curl_easy_getinfo(call->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
	}
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
	leave(call);
	c->freed = &freed;
	call->done(call->arg, &answer);
	free(answer.body);
	if (freed) {
		curl_easy_cleanup(call->easy); /* takes NULL */
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
	r = curl_multi_add_handle(http_multi_curl(call->pool->multi), call->easy);
	assert(r == CURLM_OK);
}

static void begin_waiting(struct http_client *c)
{
	struct link *l;

	while ((l = list_take_head(&c->waiting)))
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
	if (c->lines)
		lines_tidy(c->lines);
	if (!list_empty(&c->ended))
		ring(c);
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
	if (call->origin)
		lines_leave(call); /* nobody else may give it an end */
	has_ended(call->client, call);
	settle(call->client);
}

struct http_call *http_start(struct http_client *c, const struct http_request *request, http_chunk chunk,
                             http_done done, void *arg)
{
	struct http_call *call = NEW(struct http_call);
	bool line = c->lines && lines_take(request, chunk);
	int r;

	assert(done);
	*call = (struct http_call) { .client = c, .loop = c->loop, .chunk = chunk, .done = done, .arg = arg };
	link_init(&call->turn);
	call->alarm = loop_add_timer(c->loop, alarm_rang, call);
	call->started = call->last_byte = clock_mono(clock_real());
	call_begin(call, request);
	if (line)
		r = lines_prepare(c->lines, call, request);
	else {
		call->easy = take_handle(c);
		r = call_prepare(call, request, c->user_agent);
	}
	if (r == 0 && c->n_calls >= CALLS_MAX)
		r = call_fail(call, -ENOBUFS, "%d requests are already on their way", CALLS_MAX);
	c->n_calls++;
	loop_set_timer(call->alarm, r < 0 ? USEC_NEVER : call_late_at(call));
	link_init(&call->link);
	if (r < 0)
		has_ended(c, call);
	else if (line) {
		call->state = CALL_RUNNING;
		list_add_tail(&c->running, &call->link);
		lines_start(c->lines, call);
	} else
		list_add_tail(&c->waiting, &call->link);
	if (!list_empty(&c->ended) || !list_empty(&c->waiting))
		ring(c);
	return call;
}

void http_pause(struct http_call *call, bool paused)
{
	struct http_client *c = call->client;

	if (call->state != CALL_RUNNING || !call->easy)
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
	if (!c->in_curl || !call->easy) {
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
	if (c->lines)
		lines_forget(c->lines);
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
	link_init(&c->pools);
	link_init(&c->waiting);
	link_init(&c->running);
	link_init(&c->ended);
	link_init(&c->cancelled);
	return c;
}

void http_client_lines(struct http_client *c, size_t max)
{
	assert(!c->lines && max);
	c->lines = lines_new(&(struct http_lines_options) {
	        .loop = c->loop,
	        .user_agent = c->user_agent,
	        .max = max,
	        .patient = c->patient,
	        .ended = has_ended,
	        .settle = settle_rang,
	        .arg = c,
	});
}

void http_client_patient(struct http_client *c)
{
	assert(!c->lines && !c->current);
	c->patient = true;
}

void http_client_free(struct http_client *c)
{
	struct link *lists[4];

	if (!c)
		return;
	assert(!c->in_curl); /* not from within a chunk */
	if (c->freed)
		*c->freed = true;
	if (c->lines)
		lines_stop(c->lines);
	lists[0] = &c->waiting, lists[1] = &c->running, lists[2] = &c->ended, lists[3] = &c->cancelled;
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		LIST_EACH (call, lists[i])
			call_free(LIST_ITEM(call, struct http_call, link));
	lines_free(c->lines);
	LIST_EACH (p, &c->pools)
		pool_free(LIST_ITEM(p, struct http_pool, link));
	for (size_t i = 0; i < c->n_spare; i++)
		curl_easy_cleanup(c->spare[i]);
	loop_remove_timer(c->settle_timer);
	free(c->user_agent);
	free(c);
	curl_global_cleanup();
}
