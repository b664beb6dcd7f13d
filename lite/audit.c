/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/audit.h"

#include "base/buf.h"
#include "base/str.h"
#include "lite/obj.h"

#define LINE_MAX_BYTES ((size_t)16 << 10)

static void add(struct buf *out, const char *key, const char *value)
{
	if (str_empty(value))
		return;
	if (out->data[out->len - 1] != '{')
		buf_add_char(out, ',');
	obj_add_quoted(out, key);
	buf_add_char(out, ':');
	obj_add_quoted(out, value);
}

void audit_write(FILE *log, const struct user *u, const struct route *r, bool allowed, usec_t now)
{
	_cleanup_buf_ struct buf line = BUF(LINE_MAX_BYTES);
	char when[TIME_TEXT_MAX];

	buf_add_str(&line, "{");
	add(&line, "kind", "Event");
	add(&line, "apiVersion", "audit.k8s.io/v1");
	add(&line, "level", "Metadata");
	add(&line, "stage", "ResponseStarted");
	add(&line, "requestURI", r->path);
	add(&line, "verb", r->verb);
	buf_add_str(&line, ",\"user\":{");
	add(&line, "username", u->name);
	buf_add_str(&line, "}");
	if (r->resource) {
		buf_add_str(&line, ",\"objectRef\":{");
		add(&line, "resource", r->plural);
		add(&line, "namespace", r->ns);
		add(&line, "name", r->name);
		add(&line, "apiGroup", r->group);
		add(&line, "apiVersion", r->version);
		add(&line, "subresource", r->sub);
		buf_add_str(&line, "}");
	}
	add(&line, "requestReceivedTimestamp", time_format_micro(now, when));
	buf_add_str(&line, ",\"annotations\":{");
	add(&line, "authorization.k8s.io/decision", allowed ? "allow" : "forbid");
	buf_add_str(&line, "}}\n");
	if (line.error)
		return; /* a path that is longer than any that is served */
	fputs(buf_text(&line), log);
	fflush(log);
}
