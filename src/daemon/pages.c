/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/pages.h"

#include <string.h>

#include "base/str.h"
#include "net/http_server.h"
#include "json/json.h"

#define READY_TEXT_MAX (CHECKS_MAX * (ERR_TEXT_MAX + 64))
#define PAGE_CONNECTIONS_MAX 100
#define METRICS_PAGE_MAX ((size_t)256 << 20) /* the parts keep below it by themselves */
#define TEXT_PLAIN "text/plain; charset=utf-8"

struct pages {
	struct pages_options o;
	struct http_server *server;
};

static void reply_text(struct http_incoming *in, int status, const char *text)
{
	http_reply(in, status, TEXT_PLAIN, text, strlen(text));
}

static void show_index(struct pages *p, struct http_incoming *in)
{
	_cleanup_free_ char *text = str_printf("sunk %s\n/healthz\n/readyz\n/readyz?verbose\n/metrics\n", SUNK_VERSION);

	(void)p;
	reply_text(in, 200, text);
}

static void show_health(struct pages *p, struct http_incoming *in)
{
	(void)p;
	reply_text(in, 200, "ok\n");
}

static void show_metrics(struct pages *p, struct http_incoming *in)
{
	_cleanup_buf_ struct buf out = BUF(METRICS_PAGE_MAX);

	metrics_write(p->o.metrics, &out);
	if (p->o.more_metrics)
		p->o.more_metrics(p->o.arg, &out);
	if (out.error)
		http_reply_error(in, 500, "more than %zu MiB of metrics", METRICS_PAGE_MAX >> 20);
	else
		http_reply(in, 200, METRICS_CONTENT_TYPE, buf_text(&out), out.len);
}

static void show_verbose(struct pages *p, struct http_incoming *in, int status, const struct check *checks, size_t n)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *root = yyjson_mut_obj(doc), *list;
	const char *holder = "";
	_cleanup_free_ char *text = NULL;

	yyjson_mut_doc_set_root(doc, root);
	yyjson_mut_obj_add_bool(doc, root, "ready", status == 200);
	yyjson_mut_obj_add_bool(doc, root, "leader", p->o.leading(p->o.arg, &holder));
	yyjson_mut_obj_add_str(doc, root, "holder", holder);
	list = yyjson_mut_obj_add_arr(doc, root, "checks");
	for (size_t i = 0; i < n; i++) {
		yyjson_mut_val *c = yyjson_mut_arr_add_obj(doc, list);

		yyjson_mut_obj_add_str(doc, c, "name", checks[i].name);
		yyjson_mut_obj_add_bool(doc, c, "ready", checks[i].ready);
		if (!checks[i].ready)
			yyjson_mut_obj_add_str(doc, c, "why", err_text(&checks[i].why));
	}
	text = yyjson_mut_write(doc, YYJSON_WRITE_PRETTY | YYJSON_WRITE_ALLOW_INVALID_UNICODE, NULL);
	yyjson_mut_doc_free(doc);
	if (text)
		http_reply(in, status, NULL, text, strlen(text));
	else
		http_reply_error(in, 500, "cannot be written as JSON");
}

static void show_readiness(struct pages *p, struct http_incoming *in)
{
	_cleanup_buf_ struct buf out = BUF(READY_TEXT_MAX);
	struct check checks[CHECKS_MAX] = { 0 };
	size_t n = p->o.checks(p->o.arg, checks);

	for (size_t i = 0; i < n; i++)
		if (!checks[i].ready)
			buf_printf(&out, "%s: %s\n", checks[i].name, err_text(&checks[i].why));
	if (http_in_query(in, "verbose"))
		show_verbose(p, in, out.len ? 503 : 200, checks, n);
	else
		reply_text(in, out.len ? 503 : 200, out.len ? buf_text(&out) : "ok\n");
}

static const struct {
	const char *path;
	void (*show)(struct pages *p, struct http_incoming *in);
} pages[] = {
	{ "/", show_index },
	{ "/healthz", show_health },
	{ "/readyz", show_readiness },
	{ "/metrics", show_metrics },
};

static void got_request(void *arg, struct http_incoming *in)
{
	const char *method = http_in_method(in);

	for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
		if (!str_eq(http_in_path(in), pages[i].path))
			continue;
		if (str_eq(method, "GET") || str_eq(method, "HEAD"))
			pages[i].show(arg, in);
		else
			http_reply_error(in, 405, "%s can only be read", pages[i].path);
		return;
	}
	http_reply_error(in, 404, "there is no such page; / lists them");
}

struct pages *pages_new(struct loop *l, const struct listen *at, const struct pages_options *o, struct err *err)
{
	_cleanup_(pages_freep) struct pages *p = NEW(struct pages);
	const struct http_server_options so = { .address = at->address,
		                                .port = at->port,
		                                .connections_max = PAGE_CONNECTIONS_MAX };

	p->o = *o;
	p->server = http_server_new(l, &so, got_request, p, err);
	return p->server ? TAKE_PTR(p) : NULL;
}

void pages_free(struct pages *p)
{
	if (!p)
		return;
	http_server_free(p->server);
	free(p);
}

uint16_t pages_port(const struct pages *p)
{
	return http_server_port(p->server);
}
