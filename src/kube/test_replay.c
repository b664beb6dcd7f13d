/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/test_replay.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/test.h"
#include "kube/test_replay_h2.h"

#define RULES_MAX 64
#define REQUESTS_MAX 4096
#define REQUEST_BYTES_MAX ((size_t)5 << 20)

struct replay {
	struct peer *peer;
	pthread_mutex_t lock; /* of all below: the peer's threads read and note */
	struct replay_rule rules[RULES_MAX];
	int n_rules;
	char *requests[REQUESTS_MAX];
	int n_requests;
};

static bool line_has(const char *request, const char *match)
{
	size_t line = strcspn(request, "\r");

	return !match || memmem(request, line, match, strlen(match));
}

struct replay_rule replay_find(struct replay *r, const char *request)
{
	struct replay_rule none = { .status = 500, .content_type = "text/plain", .body = "no rule for this" };

	pthread_mutex_lock(&r->lock);
	if (r->n_requests < REQUESTS_MAX)
		r->requests[r->n_requests++] = mem_strdup(request);
	for (int i = 0; i < r->n_rules; i++) {
		struct replay_rule *rule = &r->rules[i];

		if (rule->times < 0 || !line_has(request, rule->match))
			continue;
		none = *rule;
		if (rule->times > 0)
			rule->times = rule->times == 1 ? -1 : rule->times - 1;
		break;
	}
	pthread_mutex_unlock(&r->lock);
	return none;
}

static bool send_body(struct peer_conn *c, const struct replay_rule *rule, size_t len)
{
	const char *body = rule->body;
	char head[32];

	if (!rule->piece || rule->raw)
		return peer_send(c, body, len);
	for (size_t at = 0; at < len; at += rule->piece) {
		size_t n = MIN_OF(rule->piece, len - at);

		snprintf(head, sizeof(head), "%zx\r\n", n);
		if (!peer_say(c, head) || !peer_send(c, body + at, n) || !peer_say(c, "\r\n"))
			return false;
	}
	return rule->end != REPLAY_KEEP || peer_say(c, "0\r\n\r\n");
}

static bool answer(struct peer_conn *c, const struct replay_rule *rule)
{
	size_t len = rule->len ? rule->len : strlen(str_or(rule->body, ""));
	_cleanup_buf_ struct buf head = BUF(4096);

	if (rule->status) {
		buf_printf(&head, "HTTP/1.1 %d X\r\nContent-Type: %s\r\n%s", rule->status,
		           str_or(rule->content_type, "application/json"), str_or(rule->headers, ""));
		if (rule->piece || rule->raw)
			buf_add_str(&head, "Transfer-Encoding: chunked\r\n\r\n");
		else
			buf_printf(&head, "Content-Length: %zu\r\n\r\n", len);
		if (!peer_say(c, buf_text(&head)) || !send_body(c, rule, len))
			return false;
	}
	if (rule->end == REPLAY_HOLD)
		peer_wait_gone(c);
	if (rule->end == REPLAY_RESET)
		peer_reset(c);
	return rule->end == REPLAY_KEEP;
}

/* A new version of the object that came. */
static char *echo(const char *request)
{
	static _Atomic int version = 1000;
	const char *body = strstr(request, "\r\n\r\n") + 4, *meta = strstr(body, "\"metadata\":{");
	size_t before = meta ? (size_t)(meta - body) + strlen("\"metadata\":{") : 0;

	return str_printf("%.*s\"resourceVersion\":\"%d\",%s", (int)before, body, version++, body + before);
}

static void serve(struct peer_conn *c, void *arg)
{
	_cleanup_free_ char *request = mem_alloc(REQUEST_BYTES_MAX);
	struct replay *r = arg;
	struct replay_rule rule;

	for (bool go_on = true; go_on;) {
		_cleanup_free_ char *echoed = NULL;

		if (!peer_read_request(c, request, REQUEST_BYTES_MAX))
			return;
		rule = replay_find(r, request);
		if (rule.echo) {
			echoed = echo(request);
			rule.body = echoed;
		}
		go_on = answer(c, &rule);
	}
}

static struct replay *start(struct peer_options *o)
{
	struct replay *r = NEW(struct replay);

	pthread_mutex_init(&r->lock, NULL);
	o->arg = r;
	r->peer = peer_start(o);
	return r;
}

struct replay *replay_start(const struct test_cert *cert)
{
	return start(&(struct peer_options) { .serve = serve, .cert = cert });
}

struct replay *replay_start_h2(const struct test_cert *cert)
{
	return start(&(struct peer_options) { .serve = replay_serve_h2, .cert = cert, .alpn = "h2" });
}

void replay_stop(struct replay *r)
{
	if (!r)
		return;
	peer_stop(r->peer);
	for (int i = 0; i < r->n_requests; i++)
		free(r->requests[i]);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

void replay_add(struct replay *r, const struct replay_rule *rule)
{
	pthread_mutex_lock(&r->lock);
	assert_true(r->n_rules < RULES_MAX);
	r->rules[r->n_rules++] = *rule;
	pthread_mutex_unlock(&r->lock);
}

void replay_add_sample(struct replay *r, const char *match, int times, const struct sample *s)
{
	const char *after = sample_header(s, "Retry-After");
	bool raw = str_starts(s->body, "61e\r\n"); /* 07f */

	replay_add(r, &(struct replay_rule) {
	                      .match = match,
	                      .times = times,
	                      .status = s->status,
	                      .content_type = sample_header(s, "Content-Type"),
	                      .headers = *after ? str_eq(after, "10") ? "Retry-After: 10\r\n" : "Retry-After: 1\r\n"
	                                        : NULL,
	                      .body = s->body,
	                      .len = s->body_len,
	                      .raw = raw,
	                      .piece = *sample_header(s, "Content-Length") || raw ? 0 : 1000,
	              });
}

const char *replay_request(struct replay *r, const char *match, int n)
{
	const char *found = NULL;

	pthread_mutex_lock(&r->lock);
	for (int i = 0; i < r->n_requests && !found; i++)
		if (line_has(r->requests[i], match) && n-- == 0)
			found = r->requests[i];
	pthread_mutex_unlock(&r->lock);
	return found;
}

int replay_count(struct replay *r, const char *match)
{
	int n = 0;

	pthread_mutex_lock(&r->lock);
	for (int i = 0; i < r->n_requests; i++)
		n += line_has(r->requests[i], match);
	pthread_mutex_unlock(&r->lock);
	return n;
}

int replay_connections(struct replay *r)
{
	return peer_accepted(r->peer);
}

int replay_port(const struct replay *r)
{
	return peer_port(r->peer);
}

/* The client's side */

static void world_start(struct world *w, struct replay *replay, const char *scheme)
{
	*w = (struct world) { .loop = loop_new(), .replay = replay };
	snprintf(w->server, sizeof(w->server), "%s://127.0.0.1:%d", scheme, replay_port(w->replay));
	w->config.origin = mem_strdup("a test");
	w->config.ns = mem_strdup("default");
	w->config.server = mem_strdup(w->server);
}

void world_connect(struct world *w)
{
	w->cred = cred_new(w->loop, clock_real(), &w->config, 0);
	w->client = kube_client_new(w->loop, clock_real(), w->cred);
}

void world_init(struct world *w)
{
	world_start(w, replay_start(NULL), "http");
	w->config.token = mem_strdup("secret");
	world_connect(w);
}

void world_init_tls(struct world *w, const struct test_cert *cert, const char *ca_pem)
{
	world_start(w, replay_start(cert), "https");
	w->config.ca.text = mem_strdup(ca_pem);
	w->config.token = mem_strdup("secret");
	world_connect(w);
}

void world_init_h2(struct world *w, const struct test_cert *cert, const char *ca_pem)
{
	world_start(w, replay_start_h2(cert), "https");
	w->config.ca.text = mem_strdup(ca_pem);
	w->config.token = mem_strdup("secret");
	world_connect(w);
}

void world_done(struct world *w)
{
	kube_client_free(w->client);
	cred_free(w->cred);
	loop_free(w->loop);
	replay_stop(w->replay);
	free(w->config.origin);
	free(w->config.ns);
	free(w->config.server);
	free(w->config.token);
	free(w->config.token_file);
	free(w->config.ca.text);
}
