/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/api.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "lite/accept.h"
#include "lite/audit.h"
#include "lite/authz.h"
#include "lite/discovery.h"
#include "lite/fault.h"
#include "lite/impersonate.h"
#include "lite/obj.h"
#include "lite/openapi.h"

#define DISCOVERY_MAX ((size_t)16 << 20)
#define JSON "application/json"
#define TEXT "text/plain; charset=utf-8"
#define OPENAPI_V2_PROTOBUF "application/com.github.proto-openapi.spec.v2"
#define NOT_FOUND_TEXT "404 page not found\n"

/* ---- answering ---- */

const char *call_query(const struct call *c, const char *key)
{
	const char *v = xch_query(c->x, key);

	return str_empty(v) ? NULL : v;
}

bool call_flag(const struct call *c, const char *key)
{
	const char *v = call_query(c, key);

	return v && (str_eq(v, "true") || str_eq(v, "1") || str_eq(v, "True") || str_eq(v, "TRUE") || str_eq(v, "t") ||
	             str_eq(v, "T"));
}

/* A person reads it: curl, a browser, or whoever asks. */
static bool wants_pretty(const struct call *c)
{
	const char *agent = xch_header(c->x, "User-Agent");

	if (call_query(c, "pretty"))
		return call_flag(c, "pretty");
	return agent && (str_starts(agent, "curl/") || str_starts(agent, "Wget") || str_starts(agent, "Mozilla/"));
}

static char *pretty(char *body, size_t *len)
{
	_cleanup_doc_ yyjson_doc *doc = yyjson_read(body, *len, 0);
	char *text = doc ? yyjson_write(doc, YYJSON_WRITE_PRETTY_TWO_SPACES | YYJSON_WRITE_NEWLINE_AT_END, len) : NULL;

	if (!text)
		return body;
	free(body);
	return text;
}

/* `299 - "…"`, as the header wants its text quoted. */
static void add_warning(struct call *c, const char *text)
{
	_cleanup_buf_ struct buf b = BUF(8192);

	buf_add_str(&b, "299 - ");
	obj_add_quoted(&b, text);
	xch_add_header(c->x, "Warning", buf_text(&b));
}

int call_answer(struct call *c, int code, const char *content_type, char *body, size_t len)
{
	if (c->lose_answer) {
		free(body);
		xch_drop(c->x);
		return 0;
	}
	for (size_t i = 0; i < c->warnings.n; i++)
		add_warning(c, c->warnings.list[i]);
	if (media_is(content_type, JSON) && wants_pretty(c))
		body = pretty(body, &len);
	xch_answer(c->x, code, content_type, body, len);
	return 0;
}

int call_json(struct call *c, int code, struct buf *body)
{
	size_t len = body->len;

	return call_answer(c, code, JSON, buf_take(body), len);
}

int call_text(struct call *c, int code, const char *text)
{
	xch_add_header(c->x, "X-Content-Type-Options", "nosniff");
	return call_answer(c, code, TEXT, mem_strdup(text), strlen(text));
}

void call_send_status(struct call *c, struct status *st)
{
	char seconds[16];

	if (st->retry_after_s > 0) {
		snprintf(seconds, sizeof(seconds), "%d", st->retry_after_s);
		xch_add_header(c->x, "Retry-After", seconds);
	}
	call_answer(c, st->code, JSON, TAKE_PTR(st->body), st->len);
}

/* ---- paths that are no resources ---- */

static int get_health(struct call *c, const struct accept *a, struct status *st)
{
	static const char *const checks[] = {
		"ping", "log", "etcd", "informer-sync", "poststarthook/start-apiextensions-controllers", "shutdown"
	};
	_cleanup_buf_ struct buf text = BUF(4096);
	const char *name = c->route.path + 1;
	int code = c->lite->ready ? 200 : 500;

	(void)a;
	(void)st;
	if (!call_query(c, "verbose") && xch_query(c->x, "verbose") == NULL)
		return call_text(c, code, code == 200 ? "ok" : "not ready");
	for (size_t i = 0; i < ARRAY_LEN(checks); i++)
		buf_printf(&text, "[+]%s ok\n", checks[i]);
	buf_printf(&text, "%s check %s\n", name, code == 200 ? "passed" : "failed");
	return call_text(c, code, buf_text(&text));
}

static int get_version(struct call *c, const struct accept *a, struct status *st)
{
	_cleanup_buf_ struct buf out = BUF(DISCOVERY_MAX);

	(void)a;
	(void)st;
	discovery_version(&out);
	return call_json(c, 200, &out);
}

static int answer_discovery(struct call *c, struct buf *out, const struct accept *a)
{
	_cleanup_free_ char *type = NULL;
	size_t len = out->len;

	if (!*a->as)
		return call_json(c, 200, out);
	type = str_printf(JSON ";g=%s;v=%s;as=%s", a->group, a->version, a->as);
	xch_add_header(c->x, "Vary", "Accept");
	return call_answer(c, 200, type, buf_take(out), len);
}

static int get_root(struct call *c, const struct accept *a, struct status *st)
{
	_cleanup_buf_ struct buf out = BUF(DISCOVERY_MAX);
	bool core = str_eq(c->route.path, "/api");
	_cleanup_free_ char *address = NULL;

	(void)st;
	if (str_eq(a->as, "APIGroupDiscoveryList")) {
		discovery_aggregated(&c->lite->kinds, core, a->version, &out);
	} else if (core) {
		address = mem_strdup(str_or(xch_header(c->x, "Host"), "localhost"));
		discovery_api(address, &out);
	} else {
		discovery_apis(&c->lite->kinds, &out);
	}
	return answer_discovery(c, &out, str_eq(a->as, "APIGroupDiscoveryList") ? a : &(struct accept) { 0 });
}

static int get_openapi(struct call *c, const struct accept *a, struct status *st)
{
	_cleanup_buf_ struct buf out = BUF(OPENAPI_MAX);
	char group[256] = "", version[64] = "";

	(void)a;
	(void)st;
	/* kubectl asks for this form of it alone, when the kind at hand is none that version 3 knows. An empty document, which
	 * is what no bytes are, tells it that this one does not know it either. */
	if (str_eq(c->route.path, "/openapi/v2") &&
	    str_starts(str_or(xch_header(c->x, "Accept"), ""), OPENAPI_V2_PROTOBUF))
		return call_answer(c, 200, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", mem_strdup(""),
		                   0);
	if (str_eq(c->route.path, "/openapi/v2"))
		openapi_v2(&c->lite->kinds, &out);
	else if (str_eq(c->route.path, "/openapi/v3"))
		openapi_v3_index(&c->lite->kinds, &out);
	else if (sscanf(c->route.path, "/openapi/v3/apis/%255[^/]/%63[^/]", group, version) != 2 &&
	         sscanf(c->route.path, "/openapi/v3/api/%63[^/]", version) != 1)
		return call_text(c, 404, NOT_FOUND_TEXT);
	if (*version && !openapi_v3(&c->lite->kinds, group, version, &out))
		return call_text(c, 404, NOT_FOUND_TEXT);
	return call_json(c, 200, &out);
}

/* "/api/v1", "/apis/GROUP", "/apis/GROUP/VERSION" */
static int get_group(struct call *c, const struct accept *a, struct status *st)
{
	_cleanup_buf_ struct buf out = BUF(DISCOVERY_MAX);
	char group[256] = "", version[64] = "";
	const struct kinds *set = &c->lite->kinds;

	(void)a;
	(void)st;
	if (sscanf(c->route.path, "/apis/%255[^/]/%63[^/]", group, version) < 1 &&
	    sscanf(c->route.path, "/api/%63[^/]", version) != 1)
		return call_text(c, 404, NOT_FOUND_TEXT);
	if (!kinds_has_group(set, group, *version ? version : NULL))
		return call_text(c, 404, NOT_FOUND_TEXT);
	if (*version)
		discovery_resources(set, group, version, &out);
	else
		discovery_group(set, group, &out);
	return call_json(c, 200, &out);
}

static int run_faults(struct call *c, const struct accept *a, struct status *st)
{
	(void)a;
	return fault_endpoint(c, st);
}

static const struct {
	const char *path;
	bool below; /* also what is below it */
	bool any_method;
	int (*run)(struct call *c, const struct accept *a, struct status *st);
} plain_paths[] = {
	{ "/healthz", true, false, get_health },      { "/livez", true, false, get_health },
	{ "/readyz", true, false, get_health },       { "/version", false, false, get_version },
	{ "/api", false, false, get_root },           { "/apis", false, false, get_root },
	{ "/openapi/v2", false, false, get_openapi }, { "/openapi/v3", true, false, get_openapi },
	{ "/api/", true, false, get_group },          { "/apis/", true, false, get_group },
	{ "/lite/faults", false, true, run_faults },
};

static bool path_fits(const char *path, const char *pattern, bool below)
{
	size_t len = strlen(pattern);

	if (strncmp(path, pattern, len) != 0)
		return false;
	return path[len] == '\0' || (below && (pattern[len - 1] == '/' || path[len] == '/')) || str_eq(path + len, "/");
}

static int run_plain(struct call *c, const struct accept *a, struct status *st)
{
	for (size_t i = 0; i < ARRAY_LEN(plain_paths); i++) {
		if (!path_fits(c->route.path, plain_paths[i].path, plain_paths[i].below))
			continue;
		if (!plain_paths[i].any_method && !str_eq(c->route.verb, "get") && !str_eq(c->route.verb, "head"))
			return status_method_not_allowed(st);
		return plain_paths[i].run(c, a, st);
	}
	return call_text(c, 404, NOT_FOUND_TEXT);
}

/* ---- resources ---- */

static const struct {
	const char *verb;
	unsigned bit;
	int (*run)(struct call *c, struct status *st);
} verbs[] = {
	{ "get", VERB_GET, verb_get },          { "list", VERB_LIST, verb_list },
	{ "watch", VERB_WATCH, verb_watch },    { "create", VERB_CREATE, verb_create },
	{ "update", VERB_UPDATE, verb_update }, { "patch", VERB_PATCH, verb_patch },
	{ "delete", VERB_DELETE, verb_delete }, { "deletecollection", VERB_DELETECOLLECTION, verb_deletecollection },
};

static int find_kind(struct call *c, struct status *st)
{
	const struct route *r = &c->route;

	c->kind = kinds_find(&c->lite->kinds, r->group, r->version, r->plural);
	if (!c->kind)
		return status_no_resource(st);
	if (!c->kind->namespaced && *r->ns)
		return status_no_resource(st);
	if (c->kind->namespaced && !*r->ns && *r->name)
		return status_no_resource(st);
	if (!*r->sub)
		return 0;
	c->sub = kind_sub(c->kind, r->sub);
	return c->sub ? 0 : status_no_resource(st);
}

/* Subresources that are no other view of the whole object. */
static bool has_own_rules(const struct subresource *sub)
{
	return sub && !str_eq(sub->name, "status") && !str_eq(sub->name, "ephemeralcontainers");
}

static int run_resource(struct call *c, const struct accept *a, struct status *st)
{
	unsigned allowed;
	int r = find_kind(c, st);

	if (r < 0)
		return r;
	if (str_eq(a->as, "Table"))
		c->form = FORM_TABLE;
	else if (str_starts(a->as, "PartialObjectMetadata"))
		c->form = FORM_PARTIAL;
	c->form_version = a->version;
	allowed = c->sub ? c->sub->verbs : c->kind->verbs;
	if (c->kind->namespaced && !*c->route.ns)
		allowed &= VERB_LIST | VERB_WATCH;
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (str_eq(verbs[i].verb, c->route.verb) && allowed & verbs[i].bit)
			return has_own_rules(c->sub) ? verb_sub(c, st) : verbs[i].run(c, st);
	return status_method_not_allowed(st);
}

/* ---- the way of a call ---- */

static void call_free(struct call *c)
{
	warnings_done(&c->warnings);
	user_free(c->as);
	free(c);
}

static void run(struct call *c)
{
	_cleanup_status_ struct status st = STATUS_INIT;
	struct accept a;
	int r;

	if (!accept_parse(xch_header(c->x, "Accept"), &a) && !str_starts(c->route.path, "/openapi"))
		r = status_not_acceptable(&st);
	else if (c->route.resource && kinds_has_group(&c->lite->kinds, c->route.group, c->route.version))
		r = run_resource(c, &a, &st);
	else if (c->route.resource)
		r = call_text(c, 404, NOT_FOUND_TEXT);
	else
		r = run_plain(c, &a, &st);
	if (r < 0)
		call_send_status(c, &st);
	call_free(c);
}

static int begin(struct call *c, struct status *st)
{
	struct exchange *x = c->x;
	int r;

	c->user = auth_user(c->lite->auth, xch_header(x, "Authorization"), lite_now(c->lite));
	if (!c->user)
		return status_unauthorized(st);
	if (impersonate(c->lite, c->user, x, &c->as, st) < 0)
		return -EACCES;
	if (c->as)
		c->user = c->as;
	if (!route_parse(&c->route, xch_method(x), xch_path(x), call_flag(c, "watch")))
		return status_bad_request(st, "the path is longer than %d bytes", ROUTE_PATH_MAX);
	if (xch_too_large(x))
		return status_too_large(st, BODY_MAX);
	if (str_empty(c->route.verb))
		return status_method_not_allowed(st);
	r = authz_check(c->lite, c->user, &c->route, st);
	if (c->lite->audit)
		audit_write(c->lite->audit, c->user, &c->route, r == 0, lite_now(c->lite));
	if (r == 0)
		return 0;
	xch_add_header(x, "X-Content-Type-Options", "nosniff");
	return -EACCES;
}

void api_handle(void *lite, struct exchange *x)
{
	_cleanup_status_ struct status st = STATUS_INIT;
	struct call *c = NEW(struct call);
	int r;

	c->lite = lite;
	c->x = x;
	r = begin(c, &st);
	if (r < 0) {
		call_send_status(c, &st);
		call_free(c);
		return;
	}
	switch (fault_call(c->lite->faults, c, run)) {
	case FAULT_NONE: run(c); break;
	case FAULT_ANSWERED: call_free(c); break;
	case FAULT_DELAYED: break;
	}
}

bool api_settle(void *lite)
{
	struct lite *l = lite;

	if (l->sync && db_pending(l->db))
		return false; /* the commit of this round lets it go */
	return lite_commit(l);
}
