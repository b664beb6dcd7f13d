/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/resource.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#include "base/str.h"

static const struct kube_resource resources[] = {
	[KUBE_PODS] = { "", "v1", "pods", "Pod", .namespaced = true, .strategic = true },
	[KUBE_NODES] = { "", "v1", "nodes", "Node", .namespaced = false, .strategic = true },
	[KUBE_LEASES] = { "coordination.k8s.io", "v1", "leases", "Lease", .namespaced = true, .strategic = true },
	[KUBE_CLAIMS] = { "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", .namespaced = true,
	                  .strategic = true },
	[KUBE_VOLUMES] = { "", "v1", "persistentvolumes", "PersistentVolume", .namespaced = false, .strategic = true },
	[KUBE_CLASSES] = { "storage.k8s.io", "v1", "storageclasses", "StorageClass", .namespaced = false,
	                   .strategic = true },
	[KUBE_NODESETS] = { "sunk.coreweave.com", "v1alpha1", "nodesets", "NodeSet", .namespaced = true },
	[KUBE_NODESLICES] = { "sunk.coreweave.com", "v1alpha1", "nodeslices", "NodeSlice", .namespaced = true },
	[KUBE_EVENTS] = { "events.k8s.io", "v1", "events", "Event", .namespaced = true, .strategic = true },
};
static_assert(ARRAY_LEN(resources) == KUBE_KINDS, "every kind has its row");

const struct kube_resource *kube_resource(enum kube_kind kind)
{
	assert(kind < KUBE_KINDS);
	return &resources[kind];
}

const char *kube_api_version(enum kube_kind kind, char text[64])
{
	const struct kube_resource *r = kube_resource(kind);

	snprintf(text, 64, "%s%s%s", r->group, *r->group ? "/" : "", r->version);
	return text;
}

const char *kube_what(const struct kube_ref *ref, char text[KUBE_WHAT_MAX])
{
	const char *kind = kube_resource(ref->kind)->kind;
	bool in_ns = !str_empty(ref->ns);

	if (ref->name)
		snprintf(text, KUBE_WHAT_MAX, "%s %s%s%s", kind, in_ns ? ref->ns : "", in_ns ? "/" : "", ref->name);
	else
		snprintf(text, KUBE_WHAT_MAX, "%s%s%s%s", kind, str_ends(kind, "s") ? "es" : "s", in_ns ? " in " : "",
		         in_ns ? ref->ns : "");
	return text;
}

static void add_escaped(struct buf *out, const char *s)
{
	static const char hex[] = "0123456789ABCDEF";

	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c < 0x80 && (isalnum(c) || strchr("-._~", c))) {
			buf_add_char(out, (char)c);
		} else {
			char e[3] = { '%', hex[c >> 4], hex[c & 15] };

			buf_add(out, e, sizeof(e));
		}
	}
}

/* What the API server accepts as a part of a path. "." and ".." would be resolved away by any URL parser. */
static bool is_path_part(const char *s)
{
	return !str_empty(s) && !str_eq(s, ".") && !str_eq(s, "..") && !strpbrk(s, "/%") &&
	       !str_has_control(s, strlen(s)) && strlen(s) <= 253;
}

static int add_part(struct buf *out, const char *what, const char *part, struct err *err)
{
	if (!is_path_part(part)) {
		_cleanup_buf_ struct buf shown = BUF(128);

		str_add_safe(&shown, str_or(part, ""), strlen(str_or(part, "")), 100);
		return err_set(err, -EINVAL, "\"%s\" cannot be the %s of a Kubernetes object", buf_text(&shown), what);
	}
	buf_add_char(out, '/');
	add_escaped(out, part);
	return 0;
}

static int add_path(struct buf *out, const struct kube_ref *ref, const char *sub, struct err *err)
{
	const struct kube_resource *r = kube_resource(ref->kind);
	int e = 0;

	if (*r->group)
		buf_printf(out, "/apis/%s/%s", r->group, r->version);
	else
		buf_printf(out, "/api/%s", r->version);
	if (r->namespaced && !ref->ns && ref->name)
		return err_set(err, -EINVAL, "%s %s: its namespace is missing", r->kind, ref->name);
	if (r->namespaced && ref->ns) {
		buf_add_str(out, "/namespaces");
		e = add_part(out, "namespace", ref->ns, err);
	}
	if (e < 0)
		return e;
	buf_printf(out, "/%s", r->plural);
	if (ref->name)
		e = add_part(out, "name", ref->name, err);
	if (e >= 0 && sub)
		e = add_part(out, "subresource", sub, err);
	return e;
}

static void add_query(struct buf *out, char *separator, const char *key, const char *value)
{
	if (str_empty(value))
		return;
	buf_add_char(out, *separator);
	*separator = '&';
	buf_add_str(out, key);
	buf_add_char(out, '=');
	add_escaped(out, value);
}

static void add_query_number(struct buf *out, char *separator, const char *key, unsigned value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	if (value)
		add_query(out, separator, key, text);
}

int kube_path(struct buf *out, const struct kube_ref *ref, const char *sub, const struct kube_query *query,
              struct err *err)
{
	char separator = '?';
	int e = add_path(out, ref, sub, err);

	if (e < 0)
		return e;
	if (query) {
		if (query->watch) {
			add_query(out, &separator, "watch", "true");
			add_query(out, &separator, "allowWatchBookmarks", "true");
		}
		add_query(out, &separator, "labelSelector", query->label_selector);
		add_query(out, &separator, "fieldSelector", query->field_selector);
		add_query(out, &separator, "resourceVersion", query->resource_version);
		add_query_number(out, &separator, "limit", query->limit);
		add_query(out, &separator, "continue", query->continue_token);
		add_query_number(out, &separator, "timeoutSeconds", query->timeout_s);
		add_query(out, &separator, "fieldManager", query->field_manager);
		if (query->force)
			add_query(out, &separator, "force", "true");
	}
	if (out->error)
		return err_set(err, out->error, "%.80s…: the path is longer than %zu bytes", buf_text(out), out->max);
	return 0;
}
