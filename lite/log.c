/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * pods/log: checked here as API server and kubelet would between them, then asked of the node agent that runs the Pod.
 *
 * An agent that has nothing to say yet sends no byte, so the answer begins with the first one or after a moment of
 * patience; until then an agent's error can still become a Status.
 */
#include "lite/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/time.h"
#include "lite/registry.h"
#include "lite/subs.h"
#include "net/http_client.h"
#include "json/json.h"

#define OUT_MAX ((size_t)4 << 20)
#define OUT_PAUSE ((size_t)1 << 20) /* the agent waits while this much was not sent */
#define PATIENCE (300 * USEC_MSEC)
#define ERROR_TEXT_MAX 1024
#define AGENT_ADDRESS "127.0.0.1" /* the only one that gets our token */
#define TEXT "text/plain"

struct logs {
	struct loop *loop;
	struct http_client *client;
	char *token;
	struct link passes;
};

struct pass {
	struct link link;
	struct exchange *x;
	struct http_call *call; /* NULL: over */
	struct loop_timer *patience;
	struct loop *loop;
	struct buf out;
	size_t sent; /* bytes of out that are gone */
	bool streaming, paused;
};

struct logs *logs_new(struct loop *l, const char *agent_token)
{
	struct logs *logs = NEW(struct logs);

	*logs = (struct logs) { .loop = l,
		                .client = http_client_new(l, "sunk-lite"),
		                .token = mem_strdup(agent_token) };
	link_init(&logs->passes);
	return logs;
}

static void pass_free(struct pass *p)
{
	if (p->call)
		http_cancel(p->call);
	loop_remove_timer(p->patience);
	link_remove(&p->link);
	buf_done(&p->out);
	free(p);
}

void logs_free(struct logs *l)
{
	if (!l)
		return;
	LIST_EACH (p, &l->passes)
		pass_free(LIST_ITEM(p, struct pass, link));
	http_client_free(l->client);
	free(l->token);
	free(l);
}

/* ---- passing on ---- */

static ssize_t pass_read(void *arg, char *to, size_t max)
{
	struct pass *p = arg;
	size_t n = p->out.len - p->sent;

	if (n == 0)
		return p->call ? 0 : -1;
	n = MIN_OF(n, max);
	memcpy(to, p->out.data + p->sent, n);
	p->sent += n;
	if (p->sent == p->out.len) {
		buf_clear(&p->out);
		p->sent = 0;
	}
	if (p->paused && p->out.len - p->sent < OUT_PAUSE / 2) {
		p->paused = false;
		http_pause(p->call, false);
	}
	return (ssize_t)n;
}

static void pass_closed(void *arg)
{
	pass_free(arg);
}

static const struct stream_ops pass_ops = { .read = pass_read, .closed = pass_closed };

static void begin_stream(void *arg)
{
	struct pass *p = arg;

	loop_set_timer(p->patience, USEC_NEVER);
	if (p->streaming)
		return;
	p->streaming = true;
	xch_stream(p->x, 200, TEXT, &pass_ops, p);
}

static int got_chunk(void *arg, const char *data, size_t len, struct err *err)
{
	struct pass *p = arg;

	if (p->sent > 0) {
		buf_drop_front(&p->out, p->sent);
		p->sent = 0;
	}
	if (buf_add(&p->out, data, len) < 0)
		return err_set(err, -ENOBUFS, "the log comes faster than it is read");
	if (p->out.len >= OUT_PAUSE && !p->paused) {
		p->paused = true;
		http_pause(p->call, true);
	}
	if (p->streaming)
		xch_wake(p->x);
	else
		loop_set_timer(p->patience, loop_now(p->loop)); /* not from within the client */
	return 0;
}

static void fail(struct pass *p, const struct http_answer *a)
{
	_cleanup_status_ struct status st = STATUS_INIT;
	_cleanup_free_ char *text = mem_strndup(a->body, strnlen(a->body, ERROR_TEXT_MAX));

	text[strcspn(text, "\n")] = 0;
	if (a->status == 400)
		status_bad_request(&st, "%s", text);
	else if (a->status)
		status_internal(&st, "%s", text);
	else
		status_fail(&st, 500, NULL, NULL, "%s", err_text(a->error));
	xch_answer(p->x, st.code, "application/json", TAKE_PTR(st.body), st.len);
	pass_free(p);
}

static void got_end(void *arg, struct http_answer *a)
{
	struct pass *p = arg;

	p->call = NULL;
	p->paused = false;
	if (!p->streaming && a->status != 200) {
		fail(p, a);
		return;
	}
	if (p->streaming && (a->status != 200 || a->error)) {
		xch_break(p->x);
		return;
	}
	begin_stream(p);
	xch_wake(p->x);
}

static void pass_on(struct call *c, const char *url)
{
	struct logs *l = c->lite->logs;
	struct pass *p = NEW(struct pass);

	*p = (struct pass) { .x = c->x, .loop = l->loop, .out = BUF(OUT_MAX) };
	list_add_tail(&l->passes, &p->link);
	p->patience = loop_add_timer(l->loop, begin_stream, p);
	loop_set_timer(p->patience, usec_add(loop_now(l->loop), PATIENCE));
	p->call = http_start(l->client,
	                     &(struct http_request) { .method = "GET",
	                                              .url = url,
	                                              .bearer = l->token,
	                                              .tls = &(struct http_tls) { .insecure = true },
	                                              .timeout = USEC_NEVER },
	                     got_chunk, got_end, p);
}

/* ---- what is asked for ---- */

struct wish {
	const char *container;
	bool follow, previous, timestamps;
	int64_t tail_lines, limit_bytes, since_s; /* -1: not given */
};

static void read_number(const struct call *c, const char *key, int64_t min, const char *must, int64_t *ret,
                        struct causes *causes)
{
	const char *text = call_query(c, key);

	*ret = -1;
	if (!text)
		return;
	if (str_to_i64(text, INT64_MIN, INT64_MAX, ret) < 0)
		causes_add(causes, CAUSE_INVALID, key, "\"\"", "must be a number");
	else if (*ret < min)
		causes_add(causes, CAUSE_INVALID, key, text, "%s", must);
}

static int read_wish(const struct call *c, struct wish *w, struct status *st)
{
	_cleanup_causes_ struct causes causes = CAUSES_INIT;
	const char *since = call_query(c, "sinceTime");
	usec_t at;

	*w = (struct wish) { .container = call_query(c, "container"),
		             .follow = call_flag(c, "follow"),
		             .previous = call_flag(c, "previous"),
		             .timestamps = call_flag(c, "timestamps") };
	read_number(c, "tailLines", 0, "must be greater than or equal to 0", &w->tail_lines, &causes);
	read_number(c, "limitBytes", 1, "must be greater than 0", &w->limit_bytes, &causes);
	read_number(c, "sinceSeconds", 1, "must be greater than 0", &w->since_s, &causes);
	if (since && call_query(c, "sinceSeconds"))
		causes_add(&causes, CAUSE_FORBIDDEN, "", NULL,
		           "at most one of `sinceTime` or `sinceSeconds` may be specified");
	else if (since && time_parse_rfc3339(since, strlen(since), &at) < 0)
		causes_add(&causes, CAUSE_INVALID, "sinceTime", "\"\"", "must be a time");
	else if (since)
		w->since_s = lite_now(c->lite) > at ? (lite_now(c->lite) - at) / USEC_SEC + 1 : 1;
	return causes.n ? status_invalid(st, "", "PodLogOptions", c->route.name, &causes) : 0;
}

static void add_names(yyjson_val *list, struct buf *out)
{
	yyjson_arr_iter it;
	yyjson_val *v;

	if (yyjson_arr_iter_init(list, &it))
		while ((v = yyjson_arr_iter_next(&it)))
			buf_printf(out, "%s%s", it.idx > 1 ? " " : "", str_or(json_str(json_get(v, "name")), ""));
}

static yyjson_val *named(yyjson_val *list, const char *name)
{
	yyjson_arr_iter it;
	yyjson_val *v;

	if (yyjson_arr_iter_init(list, &it))
		while ((v = yyjson_arr_iter_next(&it)))
			if (str_eq(json_str(json_get(v, "name")), name))
				return v;
	return NULL;
}

static int choose_container(yyjson_val *pod, const char *name, struct wish *w, struct status *st)
{
	yyjson_val *spec = json_get(pod, "spec"), *mains = json_get(spec, "containers"),
	           *inits = json_get(spec, "initContainers");
	_cleanup_buf_ struct buf text = BUF(65536);

	if (w->container)
		return named(mains, w->container) || named(inits, w->container)
		               ? 0
		               : status_bad_request(st, "container %s is not valid for pod %s", w->container, name);
	if (yyjson_arr_size(mains) == 1) {
		w->container = json_str(json_get(yyjson_arr_get_first(mains), "name"));
		return 0;
	}
	add_names(mains, &text);
	buf_add_str(&text, "]");
	if (yyjson_arr_size(inits)) {
		buf_add_str(&text, " or one of the init containers: [");
		add_names(inits, &text);
		buf_add_str(&text, "]");
	}
	return status_bad_request(st, "a container name must be specified for pod %s, choose one of: [%s", name,
	                          buf_text(&text));
}

/* Is there a log to be had? In the words of the kubelet. */
static int check_state(yyjson_val *pod, const char *name, const struct wish *w, struct status *st)
{
	yyjson_val *status = json_get(pod, "status"), *is = named(json_get(status, "containerStatuses"), w->container),
	           *state;
	bool has_last;

	if (!is)
		is = named(json_get(status, "initContainerStatuses"), w->container);
	if (!is)
		return status_bad_request(st, "container \"%s\" in pod \"%s\" is not available", w->container, name);
	state = json_get(is, "state");
	has_last = json_get(json_get(is, "lastState"), "terminated");
	if (w->previous)
		return has_last ? 0
		                : status_bad_request(st, "previous terminated container \"%s\" in pod \"%s\" not found",
		                                     w->container, name);
	if (json_get(state, "running") || json_get(state, "terminated") || has_last)
		return 0;
	return status_bad_request(
	        st, "container \"%s\" in pod \"%s\" is waiting to start: %s", w->container, name,
	        str_or(json_str(json_get(json_get(state, "waiting"), "reason")), "ContainerCreating"));
}

/* Where the Node's agent serves logs: its port, or 0. */
static int64_t agent_port(struct lite *l, const char *node)
{
	struct item *i = reg_get(l, kind_builtin("", "nodes"), NULL, node);
	_cleanup_doc_ yyjson_doc *doc = i ? reg_read(i) : NULL;
	yyjson_val *status = json_get(doc ? yyjson_doc_get_root(doc) : NULL, "status"),
	           *addresses = json_get(status, "addresses"), *v;
	int64_t port = yyjson_get_sint(val_at(status, "daemonEndpoints", "kubeletEndpoint", "Port"));
	yyjson_arr_iter it;

	if (yyjson_arr_iter_init(addresses, &it))
		while ((v = yyjson_arr_iter_next(&it)))
			if (str_eq(json_str(json_get(v, "type")), "Hostname") &&
			    str_eq(json_str(json_get(v, "address")), AGENT_ADDRESS))
				return port > 0 && port <= 65535 ? port : 0;
	return 0;
}

static char *make_url(const struct call *c, int64_t port, const struct wish *w)
{
	const struct {
		const char *key;
		int64_t value;
	} numbers[] = { { "tailLines", w->tail_lines },
		        { "limitBytes", w->limit_bytes },
		        { "sinceSeconds", w->since_s } };
	_cleanup_buf_ struct buf url = BUF(HTTP_URL_MAX);

	buf_printf(&url, "https://" AGENT_ADDRESS ":%lld/containerLogs/%s/%s/%s?follow=%d&previous=%d&timestamps=%d",
	           (long long)port, c->route.ns, c->route.name, w->container, w->follow, w->previous, w->timestamps);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (numbers[i].value >= 0)
			buf_printf(&url, "&%s=%lld", numbers[i].key, (long long)numbers[i].value);
	return buf_take(&url);
}

int sub_log(struct call *c, struct status *st)
{
	_cleanup_doc_ yyjson_doc *doc = NULL;
	_cleanup_free_ char *url = NULL;
	struct item *i = NULL;
	struct wish w;
	yyjson_val *pod;
	const char *node;
	int64_t port;
	int r;

	r = reg_find(c->lite, c->kind, c->route.ns, c->route.name, &i, st);
	if (r == 0)
		r = read_wish(c, &w, st);
	if (r < 0)
		return r;
	doc = reg_read(i);
	pod = yyjson_doc_get_root(doc);
	r = choose_container(pod, c->route.name, &w, st);
	if (r < 0)
		return r;
	node = json_str(json_get(json_get(pod, "spec"), "nodeName"));
	if (str_empty(node))
		return call_answer(c, 200, TEXT, mem_strdup(""), 0);
	r = check_state(pod, c->route.name, &w, st);
	if (r < 0)
		return r;
	port = agent_port(c->lite, node);
	if (!port)
		return status_internal(st, "no agent serves the logs of node %s", node);
	url = make_url(c, port, &w);
	pass_on(c, url);
	return 0;
}
