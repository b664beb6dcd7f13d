/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A call goes  READY (its timer is due) → [CRED] → SENT → ended, or back to READY for another try. Whatever ends or
 * goes on "later" does so through the call's timer.
 */
#include "kube/client.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "base/list.h"
#include "base/rand.h"
#include "base/str.h"

#define CONNECT_TIMEOUT (5 * USEC_SEC)

static const size_t lines[KUBE_LANES] = { [KUBE_COMMON] = 8, [KUBE_URGENT] = 4, [KUBE_LAZY] = 2 };

enum call_state { CALL_READY, CALL_CRED, CALL_SENT, CALL_ENDING };

struct kube_call {
	struct link link; /* kube_client.calls */
	struct kube_client *client;
	enum call_state state;
	struct kube_call_options o;
	const char *method, *content_type;
	char *path, *body, *what;
	size_t body_len;
	bool effect;
	usec_t deadline;
	uint64_t term;
	unsigned tries;
	bool refreshed; /* a 401 has had its second try */
	bool was_sent; /* an earlier try may have reached the server */
	bool stopped;
	uint64_t cred_serial;
	struct cred_wait *cred;
	struct http_call *http;
	struct loop_timer *timer;
	struct err error; /* ENDING: why */
	kube_call_done done;
	rest_done as_rest; /* instead of `done` */
	void *arg;
};

struct kube_client {
	struct rest rest; /* first: kube_client_rest() */
	struct loop *loop;
	const struct clock *clock;
	struct cred *cred;
	struct http_client *lanes[KUBE_LANES], *watches;
	struct rng rng;
	char *server; /* as last used, for messages */
	uint64_t tls_serial;
	struct link calls;
	size_t n_calls;
	struct loop_timer *gate_timer;
	usec_t gate_at; /* when it fires */
};

static void call_timer(void *arg);

static usec_t now(const struct kube_client *c)
{
	return clock_mono(c->clock);
}

/* The end of a call */

static void call_free(struct kube_call *call)
{
	http_cancel(call->http);
	cred_cancel(call->cred);
	loop_remove_timer(call->timer);
	link_remove(&call->link);
	call->client->n_calls--;
	free(call->path);
	free(call->body);
	free(call->what);
	free(call);
}

void kube_call_cancel(struct kube_call *call)
{
	if (call)
		call_free(call);
}

static void tell_rest(rest_done done, void *arg, const struct http_answer *http)
{
	struct rest_answer answer = {
		.status = http->error ? 0 : http->status, /* half an answer is none */
		.body = http->body,
		.body_len = http->body_len,
		.error = http->error,
		.retry_after = http->retry_after,
	};

	done(arg, &answer);
}

/* Frees and tells: what is told about is out of reach, its owner may not cancel it any more. */
static void call_tell(struct kube_call *call, struct http_answer *http)
{
	_cleanup_free_ char *what = TAKE_PTR(call->what);
	_cleanup_free_ char *server = mem_strdup(str_or(call->client->server, "the API server"));
	struct kube_reply reply = {
		.http = http,
		.stopped = call->stopped,
		.effect = call->effect,
		.what = what,
		.server = server,
	};
	kube_call_done done = call->done;
	rest_done as_rest = call->as_rest;
	void *arg = call->arg;

	call_free(call);
	if (as_rest)
		tell_rest(as_rest, arg, http);
	else
		done(arg, &reply);
}

static void call_tell_error(struct kube_call *call)
{
	struct err error = call->error;
	char empty[8] = "";
	struct http_answer http = {
		.error = &error,
		.sent = call->was_sent,
		.body = empty,
		.content_type = "",
	};

	call_tell(call, &http);
}

/* Ends the call with call->error, later. */
static void call_end(struct kube_call *call)
{
	call->state = CALL_ENDING;
	loop_set_timer(call->timer, 0);
}

/* Gates */

static bool gate_lets(const struct kube_call *call)
{
	const struct gate *g = call->o.gate;

	return !g || (gate_open(g, now(call->client)) && g->term == call->term);
}

static void call_stop(struct kube_call *call)
{
	call->was_sent = call->was_sent || call->state == CALL_SENT;
	http_cancel(call->http);
	call->http = NULL;
	cred_cancel(call->cred);
	call->cred = NULL;
	call->stopped = true;
	err_set(&call->error, -EPERM, "not the leader%s",
	        call->was_sent ? " any more, while the answer was awaited" : "");
	call_end(call);
}

/* Looks at every gate, and again when the first of those that are open may close. */
static void check_gates(void *arg)
{
	struct kube_client *c = arg;

	c->gate_at = USEC_NEVER;
	LIST_EACH (l, &c->calls) {
		struct kube_call *call = LIST_ITEM(l, struct kube_call, link);

		if (!call->o.gate || call->state == CALL_ENDING)
			continue;
		if (gate_lets(call))
			c->gate_at = MIN_OF(c->gate_at, call->o.gate->until);
		else
			call_stop(call);
	}
	loop_set_timer(c->gate_timer, c->gate_at);
}

void kube_client_gate_closed(struct kube_client *c)
{
	check_gates(c);
}

/* Sending */

static bool may_try_again(struct kube_call *call, const struct http_answer *http, usec_t *ret_wait)
{
	bool passing = http->status == 0 || http->status == 429 || http->status >= 500;
	usec_t wait = backoff_span(&call->client->rng, call->tries, KUBE_TRY_BACKOFF_BASE, KUBE_TRY_BACKOFF_MAX);

	*ret_wait = MAX_OF(wait, http->retry_after);
	return call->o.retry && passing && ++call->tries < KUBE_TRIES_MAX &&
	       usec_add(now(call->client), *ret_wait) < call->deadline;
}

static void call_answered(void *arg, struct http_answer *http)
{
	struct kube_call *call = arg;
	usec_t wait;

	call->http = NULL;
	if (http->status == 401 && !call->refreshed && cred_refresh(call->client->cred, call->cred_serial)) {
		call->refreshed = true;
		call->state = CALL_READY;
		loop_set_timer(call->timer, 0);
		return;
	}
	if (may_try_again(call, http, &wait)) {
		call->was_sent = call->was_sent || http->sent;
		call->state = CALL_READY;
		loop_set_timer(call->timer, usec_add(now(call->client), wait));
		return;
	}
	call_tell(call, http);
}

static int call_chunk(void *arg, const char *data, size_t len, struct err *err)
{
	struct kube_call *call = arg;

	return call->o.chunk(call->arg, data, len, err);
}

static void use_view(struct kube_client *c, const struct cred_view *view)
{
	if (!str_eq(c->server, view->server)) {
		free(c->server);
		c->server = mem_strdup(view->server);
	}
	if (c->tls_serial != view->tls_serial) {
		for (size_t i = 0; i < KUBE_LANES; i++)
			http_client_forget_connections(c->lanes[i]);
		http_client_forget_connections(c->watches);
		c->tls_serial = view->tls_serial;
	}
}

/* In whole milliseconds, because messages tell it. */
static usec_t time_left(const struct kube_call *call)
{
	usec_t left = call->deadline - now(call->client);

	return call->deadline == USEC_NEVER ? USEC_NEVER : (left + USEC_MSEC - 1) / USEC_MSEC * USEC_MSEC;
}

static void call_send(struct kube_call *call, const struct cred_view *view)
{
	struct kube_client *c = call->client;
	_cleanup_buf_ struct buf url = BUF(HTTP_URL_MAX - 1), type = BUF(128);
	struct http_request request = {
		.method = call->method,
		.headers = { "Accept: application/json" },
		.bearer = view->bearer,
		.body = call->body,
		.body_len = call->body_len,
		.tls = &view->tls,
		.connect_timeout = CONNECT_TIMEOUT,
		.timeout = time_left(call),
		.idle_timeout = call->o.idle_timeout,
		.body_max = call->o.body_max || call->o.chunk ? call->o.body_max : KUBE_BODY_MAX,
		.compressed = call->o.compressed,
		.proxy = view->proxy,
	};

	use_view(c, view);
	buf_printf(&url, "%s%s", view->server, call->path);
	if (url.error) {
		err_set(&call->error, -EMSGSIZE, "%s: the URL is longer than %zu bytes", view->server, url.max);
		call_end(call);
		return;
	}
	request.url = buf_text(&url);
	if (call->content_type) {
		buf_printf(&type, "Content-Type: %s", call->content_type);
		request.headers[1] = buf_text(&type);
	}
	call->cred_serial = view->serial;
	call->state = CALL_SENT;
	loop_set_timer(call->timer, USEC_NEVER); /* from here on the deadline is the HTTP client's */
	call->http = http_start(call->o.watch ? c->watches : c->lanes[call->o.lane], &request,
	                        call->o.chunk ? call_chunk : NULL, call_answered, call);
}

static void call_cred(void *arg, const struct cred_view *view, const struct err *error)
{
	struct kube_call *call = arg;
	struct http_answer none = { .status = 0 };
	usec_t wait;

	call->cred = NULL;
	if (view && gate_lets(call)) {
		call_send(call, view);
	} else if (view) {
		call->state = CALL_READY;
		call_stop(call);
	} else if (may_try_again(call, &none, &wait)) {
		call->state = CALL_READY;
		loop_set_timer(call->timer, usec_add(now(call->client), wait));
	} else {
		call->error = *error;
		call_tell_error(call);
	}
}

/* The call is due: look at the gate and the clock, get credentials, send. */
static void call_go(struct kube_call *call)
{
	struct kube_client *c = call->client;
	const struct cred_view *view;

	if (!gate_lets(call)) {
		call_stop(call);
		return;
	}
	if (now(c) >= call->deadline) {
		err_set(&call->error, -ETIMEDOUT, "%s: timed out", str_or(c->server, "the API server"));
		call_end(call);
		return;
	}
	view = cred_now(c->cred);
	if (view) {
		call_send(call, view);
		return;
	}
	call->state = CALL_CRED;
	call->cred = cred_get(c->cred, call_cred, call);
	if (call->cred) {
		loop_set_timer(call->timer, call->deadline);
		return;
	}
	err_set(&call->error, -EBUSY, "too many requests wait for credentials");
	call_end(call);
}

static void call_timer(void *arg)
{
	struct kube_call *call = arg;

	switch (call->state) {
	case CALL_READY: call_go(call); return;
	case CALL_ENDING: call_tell_error(call); return;
	case CALL_CRED:
		err_set(&call->error, -ETIMEDOUT, "timed out waiting for credentials");
		call_tell_error(call);
		return;
	case CALL_SENT: assert(!"a call that was sent has no timer");
	}
}

struct kube_call *kube_call_start(struct kube_client *c, const struct kube_request *request,
                                  const struct kube_call_options *options, kube_call_done done, void *arg)
{
	struct kube_call *call = NEW(struct kube_call);
	usec_t timeout;

	if (options)
		call->o = *options;
	timeout = call->o.timeout ? call->o.timeout : KUBE_TIMEOUT;
	call->client = c;
	call->method = request->method;
	call->content_type = request->content_type;
	call->path = mem_strdup(request->path);
	call->what = mem_strdup(request->what);
	if (request->body)
		call->body = mem_dup(request->body, request->body_len);
	call->body_len = request->body_len;
	call->effect = request->effect;
	call->deadline = usec_add(now(c), timeout);
	call->term = call->o.gate ? call->o.gate->term : 0;
	call->done = done;
	call->arg = arg;
	call->timer = loop_add_timer(c->loop, call_timer, call);
	list_add_tail(&c->calls, &call->link);
	if (++c->n_calls > KUBE_CALLS_MAX) {
		err_set(&call->error, -EBUSY, "more than %d requests under way", KUBE_CALLS_MAX);
		call_end(call);
		return call;
	}
	call_go(call);
	if (call->o.gate && call->o.gate->until < c->gate_at) {
		c->gate_at = call->o.gate->until;
		loop_set_timer(c->gate_timer, c->gate_at);
	}
	return call;
}

void kube_reply_read(const struct kube_reply *reply, struct kube_answer *ret)
{
	if (reply->stopped)
		kube_answer_set(ret, KUBE_NOT_LEADER, reply->http->sent, reply->what, err_text(reply->http->error));
	else
		kube_answer_read(ret, reply->http, reply->what, reply->server, reply->effect);
}

/* struct rest */

static void *rest_send(const struct rest *rest, const struct rest_request *r, rest_done done, void *arg)
{
	struct kube_client *c = CONTAINER_OF(rest, struct kube_client, rest);
	struct kube_call_options options = { .timeout = r->timeout, .lane = KUBE_URGENT };
	struct kube_request request = {
		.method = r->method,
		.content_type = r->content_type,
		.path = (char *)(uintptr_t)r->path, /* copied */
		.body = (char *)(uintptr_t)r->body,
		.body_len = r->body_len,
		.effect = !str_eq(r->method, "GET"),
	};
	struct kube_call *call;

	snprintf(request.what, sizeof(request.what), "%s %s", r->method, r->path);
	call = kube_call_start(c, &request, &options, NULL, arg);
	call->as_rest = done;
	return call;
}

static void rest_cancel(const struct rest *rest, void *call)
{
	(void)rest;
	kube_call_cancel(call);
}

const struct rest *kube_client_rest(struct kube_client *c)
{
	return &c->rest;
}

/* The client */

struct kube_client *kube_client_new(struct loop *l, const struct clock *clock, struct cred *cred)
{
	struct kube_client *c = NEW(struct kube_client);

	c->rest.send = rest_send;
	c->rest.cancel = rest_cancel;
	c->loop = l;
	c->clock = clock;
	c->cred = cred;
	c->rng = rng_from_kernel();
	for (size_t i = 0; i < KUBE_LANES; i++) {
		c->lanes[i] = http_client_new(l, "sunk/" SUNK_VERSION);
		if (i == KUBE_LAZY)
			http_client_patient(c->lanes[i]);
		http_client_lines(c->lanes[i], lines[i]);
	}
	c->watches = http_client_new(l, "sunk/" SUNK_VERSION);
	http_client_patient(c->watches);
	link_init(&c->calls);
	c->gate_timer = loop_add_timer(l, check_gates, c);
	c->gate_at = USEC_NEVER;
	return c;
}

void kube_client_free(struct kube_client *c)
{
	if (!c)
		return;
	LIST_EACH (l, &c->calls) {
		call_free(LIST_ITEM(l, struct kube_call, link));
	}
	loop_remove_timer(c->gate_timer);
	for (size_t i = 0; i < KUBE_LANES; i++)
		http_client_free(c->lanes[i]);
	http_client_free(c->watches);
	free(c->server);
	free(c);
}

size_t kube_client_under_way(const struct kube_client *c)
{
	return c->n_calls;
}
