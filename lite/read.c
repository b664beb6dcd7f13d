/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * get and list.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "lite/call.h"
#include "lite/convert.h"
#include "lite/obj.h"
#include "lite/registry.h"
#include "lite/selector.h"
#include "lite/table.h"
#include "lite/token.h"

#define INCONSISTENT                                                                                                   \
	"The provided continue parameter is too old to display a consistent list result. You can start a new list "    \
	"without "                                                                                                     \
	"the continue parameter, or use the continue token in this response to retrieve the remainder of the "         \
	"results. "                                                                                                    \
	"Continuing with the provided token results in an inconsistent list - objects that were created, modified, "   \
	"or "                                                                                                          \
	"deleted between the time the first chunk was returned and now may show up in the list."

int call_bad_rv(struct status *st, const char *text)
{
	return status_fail(st, 500, NULL, NULL,
	                   "resourceVersion: Invalid value: \"%s\": strconv.ParseUint: parsing \"%s\": invalid syntax",
	                   text, text);
}

int call_selectors(const struct call *c, struct selector **ret_labels, struct selector **ret_fields, struct status *st)
{
	struct selector *labels = NULL, *fields = NULL;
	const char *by_labels = call_query(c, "labelSelector"), *by_fields = call_query(c, "fieldSelector");
	int r;

	r = by_labels ? selector_parse_labels(by_labels, &labels, st) : 0;
	if (r == 0 && by_fields)
		r = selector_parse_fields(c->kind, by_fields, &fields, st);
	if (r < 0) {
		selector_free(labels);
		return r;
	}
	*ret_labels = labels;
	*ret_fields = fields;
	return 0;
}

static enum table_include include_of(const struct call *c)
{
	const char *text = call_query(c, "includeObject");

	return str_eq(text, "Object") ? TABLE_OBJECT : str_eq(text, "None") ? TABLE_NONE : TABLE_METADATA;
}

void call_add_meta(struct buf *out, uint64_t rv, const char *token, int64_t remaining)
{
	buf_printf(out, "{\"resourceVersion\":\"%llu\"", (unsigned long long)rv);
	if (token)
		buf_printf(out, ",\"continue\":\"%s\"", token);
	if (remaining > 0)
		buf_printf(out, ",\"remainingItemCount\":%lld", (long long)remaining);
	buf_add_char(out, '}');
}

/* The object in the call's view, as an answer by itself or inside a list. */
static void add_item(const struct call *c, const struct item *i, bool in_list, struct buf *out)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL;
	_cleanup_doc_ yyjson_doc *read = NULL;
	size_t head = convert_head(c->kind, i->text);
	yyjson_mut_val *root;

	if (c->form == FORM_OBJECT && head > 0) {
		if (in_list && !kind_is_custom(c->kind)) {
			buf_add_char(out, '{');
			buf_add(out, i->text + head, i->len - head);
		} else {
			buf_add(out, i->text, i->len);
		}
		return;
	}
	if (head > 0) {
		read = reg_read(i);
	} else {
		doc = reg_doc(c->kind, i);
		root = yyjson_mut_doc_get_root(doc);
		if (c->form == FORM_OBJECT) {
			if (in_list && !kind_is_custom(c->kind)) {
				obj_drop(root, "kind");
				obj_drop(root, "apiVersion");
			}
			obj_add_text(out, root);
			return;
		}
		read = yyjson_mut_doc_imut_copy(doc, NULL);
	}
	if (c->form == FORM_TABLE)
		table_add_row(c->kind, yyjson_doc_get_root(read), include_of(c), lite_now(c->lite), out);
	else
		table_add_partial(yyjson_doc_get_root(read), c->form_version, out);
}

int call_item(struct call *c, int code, const struct item *i)
{
	_cleanup_buf_ struct buf out = BUF(ANSWER_MAX);

	if (c->form == FORM_TABLE) {
		buf_printf(&out,
		           "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/%s\",\"metadata\":", c->form_version);
		call_add_meta(&out, i->rv, NULL, 0);
		buf_add_str(&out, ",\"columnDefinitions\":");
		table_add_columns(c->kind, &out);
		buf_add_str(&out, ",\"rows\":[");
	}
	add_item(c, i, false, &out);
	if (c->form == FORM_TABLE)
		buf_add_str(&out, "]}");
	return call_json(c, code, &out);
}

int verb_get(struct call *c, struct status *st)
{
	struct item *i = NULL;
	int r;

	r = reg_find(c->lite, c->kind, c->route.ns, c->route.name, &i, st);
	return r < 0 ? r : call_item(c, 200, i);
}

/* ---- list ---- */

struct list_query {
	struct selector *labels, *fields;
	int64_t limit;     /* 0: all */
	bool at_rv;        /* as of rv; else as of now */
	uint64_t rv;       /* of the list */
	bool continued;
	char *from; /* the first key wanted; NULL from the start */
	struct page_token token;
};

static void list_query_done(struct list_query *q)
{
	selector_free(q->labels);
	selector_free(q->fields);
	free(q->from);
}

static int invalid_match(struct status *st, enum cause_type type, const char *value, const char *detail)
{
	_cleanup_causes_ struct causes causes = CAUSES_INIT;

	causes_add(&causes, type, "resourceVersionMatch", value, "%s", detail);
	return status_invalid(st, "meta.k8s.io", "ListOptions", "", &causes);
}

static int parse_rv(const struct call *c, struct list_query *q, struct status *st)
{
	const char *text = call_query(c, "resourceVersion"), *match = call_query(c, "resourceVersionMatch");
	uint64_t now = c->lite->db->rv;
	int64_t rv = 0;

	if (match && !text)
		return invalid_match(st, CAUSE_FORBIDDEN, NULL,
		                     "resourceVersionMatch is forbidden unless resourceVersion is provided");
	if (match && !str_eq(match, "Exact") && !str_eq(match, "NotOlderThan")) {
		_cleanup_free_ char *quoted = str_printf("\"%s\"", match);

		return invalid_match(st, CAUSE_UNSUPPORTED, quoted,
		                     "supported values: \"Exact\", \"NotOlderThan\", \"\"");
	}
	q->rv = now;
	if (!text)
		return 0;
	if (str_to_i64(text, 0, INT64_MAX, &rv) < 0)
		return call_bad_rv(st, text);
	if (rv == 0 && str_eq(match, "Exact"))
		return invalid_match(st, CAUSE_FORBIDDEN, NULL,
		                     "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
	if (rv == 0 && !match)
		q->limit = 0; /* as from the watch cache */
	if ((uint64_t)rv > now)
		return status_rv_too_large(st, (unsigned long long)rv, now);
	if (rv > 0 && (str_eq(match, "Exact") || (!match && q->limit > 0))) {
		q->at_rv = true;
		q->rv = (uint64_t)rv;
	}
	return 0;
}

static int parse_continue(const struct call *c, struct list_query *q, struct status *st)
{
	const char *text = call_query(c, "continue"), *rv = call_query(c, "resourceVersion");
	int r;

	if (!text)
		return parse_rv(c, q, st);
	if (rv && !str_eq(rv, "0"))
		return status_bad_request(st, "specifying resource version is not allowed when using continue");
	r = token_parse(text, &q->token, st);
	if (r < 0)
		return r;
	q->continued = true;
	q->rv = c->lite->db->rv;
	if (q->token.rv > 0) {
		q->at_rv = true;
		q->rv = (uint64_t)q->token.rv;
	}
	/* The key behind the one named: no name has a byte as low as 1. */
	q->from = str_printf("%s%s%s\001", c->route.ns, *c->route.ns ? "/" : "", q->token.after);
	return 0;
}

static int parse_list(const struct call *c, struct list_query *q, struct status *st)
{
	const char *limit = call_query(c, "limit");
	int r;

	*q = (struct list_query) { 0 };
	if (limit && str_to_i64(limit, 0, INT64_MAX, &q->limit) < 0)
		q->limit = 0;
	r = call_selectors(c, &q->labels, &q->fields, st);
	return r < 0 ? r : parse_continue(c, q, st);
}

static int list_expired(const struct list_query *q, struct status *st)
{
	_cleanup_free_ char *token = NULL;

	if (!q->continued)
		return status_expired(st, NULL, "The resourceVersion for the provided list is too old.");
	token = token_make(-1, q->token.after);
	return status_expired(st, token, INCONSISTENT);
}

static bool selected(const struct list_query *q, const struct item *i)
{
	_cleanup_doc_ yyjson_doc *doc = NULL;

	if (!q->labels && !q->fields)
		return true;
	doc = reg_read(i);
	return selector_matches_labels(q->labels, yyjson_doc_get_root(doc)) &&
	       selector_matches_fields(q->fields, yyjson_doc_get_root(doc));
}

static void add_list_head(const struct call *c, struct buf *out)
{
	char version[256];

	switch (c->form) {
	case FORM_TABLE:
		buf_printf(out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/%s\",\"metadata\":", c->form_version);
		break;
	case FORM_PARTIAL:
		buf_printf(out,
		           "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/%s\",\"metadata\":",
		           c->form_version);
		break;
	case FORM_OBJECT:
		kind_api_version(c->kind, version, sizeof(version));
		if (kind_is_custom(c->kind))
			buf_printf(out, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":", version, c->kind->list);
		else
			buf_printf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":", c->kind->list, version);
		break;
	}
}

static void add_list_open(const struct call *c, struct buf *out)
{
	if (c->form == FORM_TABLE) {
		buf_add_str(out, ",\"columnDefinitions\":");
		table_add_columns(c->kind, out);
		buf_add_str(out, ",\"rows\":[");
	} else {
		buf_add_str(out, ",\"items\":[");
	}
}

/* When the field selector pins the name, there is at most one. */
static void narrow_to_name(const struct call *c, const struct list_query *q, struct item *const **span, size_t *n,
                           struct item **one)
{
	const char *name = q->fields && !q->at_rv ? selector_field_equals(q->fields, "metadata.name") : NULL;

	if (!name || (c->kind->namespaced && !*c->route.ns))
		return;
	*one = reg_get(c->lite, c->kind, c->route.ns, name);
	*span = one;
	*n = *one ? 1 : 0;
}

int verb_list(struct call *c, struct status *st)
{
	_cleanup_(list_query_done) struct list_query q;
	_cleanup_buf_ struct buf rows = BUF(ANSWER_MAX), out = BUF(ANSWER_MAX);
	_cleanup_free_ struct item **owned = NULL;
	_cleanup_free_ char *token = NULL;
	struct collection *collection = lite_collection(c->lite, c->kind);
	struct item *const *span, *one;
	size_t n = 0, sent = 0, k;
	int r;

	r = parse_list(c, &q, st);
	if (r < 0)
		return r;
	if (q.at_rv) {
		r = db_span_at(collection, q.rv, c->route.ns, q.from, &owned, &n);
		span = owned;
	} else {
		span = db_span(collection, c->route.ns, q.from, &n);
		narrow_to_name(c, &q, &span, &n, &one);
	}
	if (r < 0)
		return list_expired(&q, st);
	for (k = 0; k < n && (q.limit == 0 || sent < (size_t)q.limit); k++) {
		if (!selected(&q, span[k]))
			continue;
		if (sent++ > 0)
			buf_add_char(&rows, ',');
		add_item(c, span[k], true, &rows);
	}
	if (k < n)
		token = token_make((int64_t)q.rv, *c->route.ns ? span[k - 1]->name : span[k - 1]->key);
	add_list_head(c, &out);
	call_add_meta(&out, q.rv, token, q.labels || q.fields ? 0 : (int64_t)(n - k));
	add_list_open(c, &out);
	buf_add(&out, buf_text(&rows), rows.len);
	buf_add_str(&out, "]}");
	return call_json(c, 200, &out);
}
