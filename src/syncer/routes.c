/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "syncer/routes.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/list.h"
#include "base/str.h"
#include "json/json.h"

static const struct route {
	const char *name;
	enum syncer_hook hook;
} table[] = {
	{ "pre-hook", SYNCER_PRE_HOOK },
	{ "post-hook", SYNCER_POST_HOOK },
	{ "reboot", SYNCER_REBOOT },
};
static_assert(ARRAY_LEN(table) == SYNCER_HOOKS, "each hook has its route");

struct syncer_routes {
	struct http_server *server;
	struct syncer *syncer;
	const struct clock *clock;
	char *token_file;
	char token[SYNCER_TOKEN_MAX + 1];
	usec_t token_read;
	struct link asks;
};

/* A call that the syncer has. It outlives the routes when these end first: the syncer answers it all the same. */
struct ask {
	struct link link; /* syncer_routes.asks */
	struct syncer_routes *routes; /* NULL: they are gone, and its client has its answer */
	struct http_incoming *in;
};

static void answered(void *arg, int status, const char *json)
{
	struct ask *ask = arg;

	if (ask->routes) {
		link_remove(&ask->link);
		http_reply(ask->in, status, NULL, json, strlen(json));
	}
	free(ask);
}

/* A new token counts from the next reading; one that cannot be read leaves the old one. */
static int read_token(struct syncer_routes *r, struct err *err)
{
	_cleanup_buf_ struct buf b = BUF(SYNCER_TOKEN_MAX);
	int e = buf_read_file(&b, r->token_file);

	r->token_read = clock_mono(r->clock);
	if (e < 0)
		return err_errno(err, e, "%s", r->token_file);
	while (b.len && strchr(" \t\r\n", b.data[b.len - 1]))
		b.data[--b.len] = 0;
	if (b.len < SYNCER_TOKEN_MIN || strlen(buf_text(&b)) != b.len || str_has_control(b.data, b.len))
		return err_set(err, -EINVAL, "%s: a token of at least %d printable characters is needed", r->token_file,
		               SYNCER_TOKEN_MIN);
	str_copy(r->token, sizeof(r->token), b.data);
	explicit_bzero(b.data, b.len);
	return 0;
}

/* ---- the form of a request ---- */

/* "/v1/nodes/n1/pre-hook": the node's name and the route. NULL: there is no such path. */
static const struct route *find_route(const char *path, char node[SYNCER_NODE_MAX + 1])
{
	static const char prefix[] = "/v1/nodes/";
	const char *name = path + strlen(prefix), *slash;

	if (!str_starts(path, prefix))
		return NULL;
	slash = strchr(name, '/');
	if (!slash || slash == name || (size_t)(slash - name) > SYNCER_NODE_MAX)
		return NULL;
	memcpy(node, name, (size_t)(slash - name));
	node[slash - name] = 0;
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (str_eq(slash + 1, table[i].name))
			return &table[i];
	return NULL;
}

struct texts { /* of a body */
	char pod[SYNCER_BODY_MAX], slurmd_uid[SYNCER_BODY_MAX];
};

/* {"jobId": 12, "strict": true, "pod": "ns/name/uid", "slurmdUid": "uid"}, all of it optional, and so is the body. */
static int read_body(const struct http_incoming *in, struct syncer_ask *ask, struct texts *texts, struct err *err)
{
	size_t len;
	const char *body = http_in_body(in, &len);
	yyjson_doc *doc = NULL;
	yyjson_val *root, *strict, *name, *uid;
	int r;

	if (len == 0)
		return 0;
	r = json_parse_copy(body, len, &doc, err);
	if (r < 0)
		return r;
	root = yyjson_doc_get_root(doc);
	strict = json_get(root, "strict");
	name = json_get(root, "pod");
	uid = json_get(root, "slurmdUid");
	if (!yyjson_is_obj(root))
		r = err_set(err, -EINVAL, "the body is no JSON object");
	else if (strict && !yyjson_is_bool(strict) && !yyjson_is_null(strict))
		r = err_set(err, -EINVAL, "strict: expected true or false");
	else if (name && !yyjson_is_str(name) && !yyjson_is_null(name))
		r = err_set(err, -EINVAL, "pod: expected a text");
	else if (uid && !yyjson_is_str(uid) && !yyjson_is_null(uid))
		r = err_set(err, -EINVAL, "slurmdUid: expected a text");
	else {
		ask->strict = json_bool(strict, false);
		str_copy(texts->pod, sizeof(texts->pod), str_or(yyjson_get_str(name), ""));
		str_copy(texts->slurmd_uid, sizeof(texts->slurmd_uid), str_or(yyjson_get_str(uid), ""));
		ask->pod = texts->pod;
		ask->slurmd_uid = texts->slurmd_uid;
	}
	yyjson_doc_free(doc);
	return r;
}

/* ?timeoutMs=N: how long the caller waits. Without it, or with what is no number, as long as we are set up to. */
static usec_t read_timeout(const struct http_incoming *in)
{
	const char *text = http_in_query(in, "timeoutMs");
	int64_t ms;

	return text && str_to_i64(text, 1, SYNCER_WAIT_MAX / USEC_MSEC, &ms) == 0 ? ms * USEC_MSEC : 0;
}

static void handle(void *arg, struct http_incoming *in)
{
	struct syncer_routes *r = arg;
	char node[SYNCER_NODE_MAX + 1];
	struct texts texts;
	struct syncer_ask call = { .node = node, .reply = answered };
	const struct route *route;
	struct err err = { 0 };
	struct ask *ask;

	if (str_eq(http_in_path(in), "/healthz")) {
		http_reply(in, 200, "text/plain", "ok\n", 3);
		return;
	}
	if (clock_mono(r->clock) - r->token_read >= SYNCER_TOKEN_REREAD)
		read_token(r, NULL);
	if (!http_in_bearer_is(in, r->token))
		return http_reply_error(in, 401, "the bearer token of the hook API is needed");
	route = find_route(http_in_path(in), node);
	if (!route)
		return http_reply_error(in, 404, "there is no such path");
	if (!str_eq(http_in_method(in), "POST"))
		return http_reply_error(in, 405, "this path takes POST only");
	if (read_body(in, &call, &texts, &err) < 0)
		return http_reply_error(in, 400, "%s", err_text(&err));
	ask = NEW(struct ask);
	ask->routes = r;
	ask->in = in;
	list_add_tail(&r->asks, &ask->link);
	call.hook = route->hook;
	call.timeout = read_timeout(in);
	call.arg = ask;
	syncer_hook(r->syncer, &call);
}

struct syncer_routes *syncer_routes_new(struct loop *l, const struct syncer_routes_options *o, struct err *err)
{
	_cleanup_(syncer_routes_freep) struct syncer_routes *r = NEW(struct syncer_routes);
	struct http_server_options http = o->http;

	link_init(&r->asks);
	r->syncer = o->syncer;
	r->clock = o->clock;
	r->token_file = mem_strdup(o->token_file);
	if (read_token(r, err) < 0)
		return NULL;
	if (!http.body_max)
		http.body_max = SYNCER_BODY_MAX;
	r->server = http_server_new(l, &http, handle, r, err);
	return r->server ? TAKE_PTR(r) : NULL;
}

void syncer_routes_free(struct syncer_routes *r)
{
	if (!r)
		return;
	LIST_EACH (l, &r->asks) {
		struct ask *ask = LIST_ITEM(l, struct ask, link);

		link_remove(&ask->link);
		ask->routes = NULL;
	}
	if (r->server)
		http_server_free(r->server); /* answers what is parked */
	explicit_bzero(r->token, sizeof(r->token));
	free(r->token_file);
	free(r);
}

uint16_t syncer_routes_port(const struct syncer_routes *r)
{
	return http_server_port(r->server);
}
