/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * `sunk-lite fault`: tells a running server to fail, through its admin endpoint (fault.h).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/args.h"
#include "base/buf.h"
#include "base/str.h"
#include "lite/serve.h"
#include "net/http_client.h"
#include "json/patch.h"

#define FILE_MAX 65536
#define ANSWER_BYTES_MAX ((size_t)1 << 20)

struct asking {
	struct loop *loop;
	int status;
	char *text;
};

static void answered(void *arg, struct http_answer *a)
{
	struct asking *w = arg;

	w->status = a->status;
	w->text = mem_strdup(a->status ? a->body : err_text(a->error));
	loop_stop(w->loop);
}

static int read_in_dir(const char *dir, const char *name, struct buf *to, struct err *err)
{
	_cleanup_free_ char *path = str_printf("%s/%s", dir, name);
	int r = buf_read_file(to, path);

	if (r < 0)
		return err_errno(err, r, "%s (is the server running?)", path);
	while (to->len > 0 && to->data[to->len - 1] == '\n')
		to->data[--to->len] = '\0';
	return 0;
}

static int ask(const char *dir, const char *method, const char *body, size_t len, struct err *err)
{
	_cleanup_buf_ struct buf url = BUF(FILE_MAX), ca = BUF(FILE_MAX), token = BUF(FILE_MAX);
	_cleanup_(loop_freep) struct loop *loop = loop_new();
	struct asking w = { .loop = loop };
	struct http_client *client;
	int r;

	if ((r = read_in_dir(dir, "ready", &url, err)) < 0 || (r = read_in_dir(dir, "ca.crt", &ca, err)) < 0 ||
	    (r = read_in_dir(dir, "token", &token, err)) < 0)
		return r;
	buf_add_str(&url, "/lite/faults");
	client = http_client_new(loop, "sunk-lite");
	http_start(client,
	           &(struct http_request) { .method = method,
	                                    .url = buf_text(&url),
	                                    .headers = { "Content-Type: application/json" },
	                                    .bearer = buf_text(&token),
	                                    .body = body,
	                                    .body_len = len,
	                                    .tls = &(struct http_tls) { .ca_pem = buf_text(&ca) },
	                                    .body_max = ANSWER_BYTES_MAX },
	           NULL, answered, &w);
	loop_run(loop);
	http_client_free(client);
	if (w.status == 200)
		printf("%s\n", w.text);
	else
		r = err_set(err, -EIO, "%s", w.text);
	free(w.text);
	return r;
}

/* A decimal like "0.25" as JSON wants it, unchanged. */
static int raw_number(struct patch *p, const char *text, const char *key, struct err *err)
{
	int r = text ? patch_raw(p, text, strlen(text), PATH(key), err) : 0;

	return r < 0 ? err_wrap(err, r, "--%s", key) : 0;
}

struct fault_flags {
	char *dir, *verb, *resource, *ns, *user, *share, *seconds, *life;
	int64_t code, count, seed;
	bool list, clear, help;
};

static int rule_text(const struct fault_flags *f, const char *kind, struct buf *out, struct err *err)
{
	_cleanup_(patch_freep) struct patch *p = patch_new();
	_cleanup_free_ char *text = NULL;
	size_t len;
	int r;

	patch_str(p, kind, PATH("kind"));
	if (f->verb)
		patch_str(p, f->verb, PATH("verb"));
	if (f->resource)
		patch_str(p, f->resource, PATH("resource"));
	if (f->ns)
		patch_str(p, f->ns, PATH("namespace"));
	if (f->user)
		patch_str(p, f->user, PATH("user"));
	if (f->code)
		patch_int(p, f->code, PATH("code"));
	if (f->count)
		patch_int(p, f->count, PATH("count"));
	if ((r = raw_number(p, f->share, "share", err)) < 0 || (r = raw_number(p, f->seconds, "seconds", err)) < 0 ||
	    (r = raw_number(p, f->life, "for", err)) < 0)
		return r;
	text = patch_text(p, &len);
	buf_add_str(out, "{");
	if (f->seed)
		buf_printf(out, "\"seed\":%lld,", (long long)f->seed);
	buf_printf(out, "\"rules\":[%s]}", text);
	return 0;
}

static int run(const struct fault_flags *f, char **rest, int n_rest, struct err *err)
{
	_cleanup_buf_ struct buf body = BUF(FILE_MAX);
	int r;

	if (!f->dir)
		return err_set(err, -EINVAL, "--dir is needed");
	if (f->list)
		return ask(f->dir, "GET", NULL, 0, err);
	if (f->clear)
		return ask(f->dir, "DELETE", NULL, 0, err);
	if (n_rest != 1)
		return err_set(err, -EINVAL, "one fault is needed, or --list, or --clear (--help tells)");
	r = rule_text(f, rest[0], &body, err);
	return r < 0 ? r : ask(f->dir, "POST", body.data, body.len, err);
}

int fault_main(int argc, char **argv)
{
	struct fault_flags f = { 0 };
	struct arg args[] = {
		{ .flag = "dir",
		  .type = ARG_STRING,
		  .value = &f.dir,
		  .unit = "DIR",
		  .help = "The server's directory." },
		{ .flag = "verb",
		  .type = ARG_STRING,
		  .value = &f.verb,
		  .unit = "VERB",
		  .help = "Only calls with this verb: get, list, watch, create, update, patch, delete." },
		{ .flag = "resource",
		  .type = ARG_STRING,
		  .value = &f.resource,
		  .unit = "RESOURCE",
		  .help = "Only this resource: pods, pods/status, leases.coordination.k8s.io." },
		{ .flag = "namespace",
		  .type = ARG_STRING,
		  .value = &f.ns,
		  .unit = "NAME",
		  .help = "Only in this namespace." },
		{ .flag = "user",
		  .type = ARG_STRING,
		  .value = &f.user,
		  .unit = "NAME",
		  .help = "Only calls of this user." },
		{ .flag = "share",
		  .type = ARG_STRING,
		  .value = &f.share,
		  .unit = "SHARE",
		  .help = "Of such calls this part: 0.25. Without it all." },
		{ .flag = "code",
		  .type = ARG_INT,
		  .value = &f.code,
		  .max = 599,
		  .unit = "CODE",
		  .help = "For error: 409, 410, 429, 500, 503, 504." },
		{ .flag = "seconds",
		  .type = ARG_STRING,
		  .value = &f.seconds,
		  .unit = "SECONDS",
		  .help = "How late (latency), how long (stall-watch, restart): 0.2." },
		{ .flag = "for",
		  .type = ARG_STRING,
		  .value = &f.life,
		  .unit = "SECONDS",
		  .help = "The fault ends by itself after this long." },
		{ .flag = "count",
		  .type = ARG_INT,
		  .value = &f.count,
		  .max = INT64_MAX,
		  .unit = "N",
		  .help = "The fault ends after this many hits." },
		{ .flag = "seed",
		  .type = ARG_INT,
		  .value = &f.seed,
		  .max = INT64_MAX,
		  .unit = "N",
		  .help = "Which calls are hit follows from this." },
		{ .flag = "list",
		  .type = ARG_BOOL,
		  .value = &f.list,
		  .help = "Show the faults that are on, and how often they hit." },
		{ .flag = "clear", .type = ARG_BOOL, .value = &f.clear, .help = "Turn all off." },
		{ .flag = "help", .type = ARG_BOOL, .value = &f.help, .help = "Show this." },
	};
	struct err err = { 0 };
	char **rest;
	int n_rest, r;

	r = args_parse(args, ARRAY_LEN(args), argc, argv, &rest, &n_rest, &err);
	if (r == 0 && f.help) {
		_cleanup_buf_ struct buf text = BUF(FILE_MAX);

		args_help(args, ARRAY_LEN(args), &text);
		printf("usage: sunk-lite fault --dir DIR FAULT [FLAG...]\n\nFAULT is one of latency, error, "
		       "lose-answer, drop-watch, "
		       "stall-watch, expire-watch, compact, restart.\n\n%s",
		       buf_text(&text));
	} else if (r == 0) {
		r = run(&f, rest, n_rest, &err);
	}
	if (r < 0)
		fprintf(stderr, "sunk-lite fault: %s\n", err_text(&err));
	args_done(args, ARRAY_LEN(args));
	return r == -EINVAL ? 2 : r < 0 ? 1 : 0;
}
