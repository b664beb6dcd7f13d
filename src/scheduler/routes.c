/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scheduler/routes.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/list.h"
#include "base/str.h"

#define JOB_ID_MAX 0x7fffffff
#define OTHER "other" /* the metrics' word for a call that is none of the table */

static const struct route {
	const char *name, *method;
	enum scheduler_hook hook;
} table[] = {
	{ "started", "POST", HOOK_STARTED },
	{ "wait", "GET", HOOK_WAIT },
	{ "terminate", "POST", HOOK_TERMINATE },
	{ "drain", "POST", HOOK_DRAIN },
};
static_assert(ARRAY_LEN(table) == SCHEDULER_HOOKS, "each hook has its route");

struct routes {
	struct http_server *server;
	struct scheduler *scheduler;
	struct metrics *metrics;
	struct link asks;
};

/* A call that the scheduler has. It outlives the routes when these end first: the scheduler answers it all the same. */
struct ask {
	struct link link; /* routes.asks */
	struct routes *routes; /* NULL: they are gone, and its client has its answer */
	struct http_incoming *in;
	const struct route *route;
};

static void count(const struct routes *r, const char *hook, int status)
{
	char code[12];

	if (!r->metrics)
		return;
	snprintf(code, sizeof(code), "%d", status);
	*metrics_counter(r->metrics, "sunk_scheduler_hook_requests_total",
	                 "Calls of the hook API by placeholder jobs, by their answer.",
	                 (const struct metric_label[]) { { "hook", hook }, { "code", code }, { NULL, NULL } }) += 1;
}

static void refuse(const struct routes *r, const char *hook, struct http_incoming *in, int status, const char *why)
{
	count(r, hook, status);
	http_reply_error(in, status, "%s", why);
}

static void answered(void *arg, int status, const char *json)
{
	struct ask *ask = arg;

	if (ask->routes) {
		link_remove(&ask->link);
		count(ask->routes, ask->route->name, status);
		if (status == 204)
			json = "";
		http_reply(ask->in, status, NULL, str_or(json, "{}"), strlen(str_or(json, "{}")));
	}
	free(ask);
}

/* The form of a request */

/* "/v1/jobs/7/wait": the job's id and the route. NULL: there is no such path. *ret_id is 0 when it is no job id. */
static const struct route *find_route(const char *path, uint32_t *ret_id)
{
	static const char prefix[] = "/v1/jobs/";
	const char *id = path + strlen(prefix), *slash;
	char text[12];
	int64_t n;

	if (!str_starts(path, prefix))
		return NULL;
	slash = strchr(id, '/');
	if (!slash)
		return NULL;
	*ret_id = 0;
	if ((size_t)(slash - id) < sizeof(text)) {
		memcpy(text, id, (size_t)(slash - id));
		text[slash - id] = 0;
		if (str_to_i64(text, 1, JOB_ID_MAX, &n) == 0)
			*ret_id = (uint32_t)n;
	}
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (str_eq(slash + 1, table[i].name))
			return &table[i];
	return NULL;
}

static const char *bearer(const struct http_incoming *in)
{
	static const char scheme[] = "Bearer ";
	const char *given = http_in_header(in, "Authorization");

	if (!given || strncasecmp(given, scheme, strlen(scheme)) != 0)
		return NULL;
	given += strlen(scheme);
	given += strspn(given, " ");
	return *given ? given : NULL;
}

/* Which run of the job the caller is; those that do not say are the first. */
static bool read_run(const char *text, uint32_t *ret)
{
	int64_t n = 0;

	if (text && str_to_i64(text, 0, UINT32_MAX, &n) < 0)
		return false;
	*ret = (uint32_t)n;
	return true;
}

static bool read_patience(const char *text, usec_t *ret)
{
	int64_t n = 0;

	if (text && str_to_i64(text, 1, 3600, &n) < 0)
		return false;
	*ret = n * USEC_SEC;
	return true;
}

static bool is_uid(const char *text)
{
	size_t len = text ? strnlen(text, ROUTES_UID_MAX + 1) : 0;

	return len > 0 && len <= ROUTES_UID_MAX && !str_has_control(text, len) && str_is_utf8(text, len);
}

/* None of the calls has anything to say in a body; an empty object is what some clients send for that. */
static bool body_is_empty(const struct http_incoming *in)
{
	size_t len;
	const char *body = http_in_body(in, &len), *end = body + len;
	static const char blank[] = " \t\r\n";

	if (memchr(body, 0, len))
		return false;
	body += strspn(body, blank);
	if (*body == '{') {
		body++;
		body += strspn(body, blank);
		if (*body++ != '}')
			return false;
		body += strspn(body, blank);
	}
	return body == end;
}

static void handle(void *arg, struct http_incoming *in)
{
	struct routes *r = arg;
	const struct route *route;
	struct hook_ask hook = { 0 };
	struct ask *ask;

	if (str_eq(http_in_path(in), "/healthz")) {
		http_reply(in, 200, "text/plain", "ok\n", 3);
		return;
	}
	route = find_route(http_in_path(in), &hook.job_id);
	hook.uid = http_in_query(in, "uid");
	hook.token = bearer(in);
	hook.node = http_in_query(in, "node");
	if (!route)
		return refuse(r, OTHER, in, 404, "there is no such path");
	if (!str_eq(http_in_method(in), route->method))
		return refuse(r, route->name, in, 405,
		              str_eq(route->method, "GET") ? "this path takes GET only" : "this path takes POST only");
	if (!hook.token)
		return refuse(r, route->name, in, 401, "a bearer token is needed");
	if (!hook.job_id)
		return refuse(r, route->name, in, 400, "the path has no job id in it");
	if (!is_uid(hook.uid))
		return refuse(r, route->name, in, 400, "the query has no Pod uid in it (uid=…)");
	if (!read_run(http_in_query(in, "run"), &hook.run))
		return refuse(r, route->name, in, 400, "run=… is no number");
	if (!read_patience(http_in_query(in, "seconds"), &hook.park))
		return refuse(r, route->name, in, 400, "seconds=… is no number of seconds, 1 to 3600");
	if (!body_is_empty(in))
		return refuse(r, route->name, in, 400, "this call takes no body");
	ask = NEW(struct ask);
	ask->routes = r;
	ask->in = in;
	ask->route = route;
	list_add_tail(&r->asks, &ask->link);
	hook.hook = route->hook;
	hook.reply = answered;
	hook.arg = ask;
	scheduler_hook(r->scheduler, &hook);
}

struct routes *routes_new(struct loop *l, const struct http_server_options *o, struct scheduler *s, struct metrics *m,
                          struct err *err)
{
	_cleanup_(routes_freep) struct routes *r = NEW(struct routes);
	struct http_server_options options = *o;

	link_init(&r->asks);
	r->scheduler = s;
	r->metrics = m;
	if (!options.body_max)
		options.body_max = ROUTES_BODY_MAX;
	r->server = http_server_new(l, &options, handle, r, err);
	return r->server ? TAKE_PTR(r) : NULL;
}

void routes_free(struct routes *r)
{
	if (!r)
		return;
	LIST_EACH (l, &r->asks) {
		struct ask *ask = LIST_ITEM(l, struct ask, link);

		link_remove(&ask->link);
		ask->routes = NULL;
	}
	http_server_free(r->server); /* answers what is parked */
	free(r);
}

uint16_t routes_port(const struct routes *r)
{
	return http_server_port(r->server);
}

size_t routes_parked(const struct routes *r)
{
	return http_server_parked(r->server);
}
