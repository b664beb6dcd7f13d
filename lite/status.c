/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/obj.h"

#define STATUS_TEXT_MAX (4u << 20)

void status_done(struct status *st)
{
	free(st->body);
	*st = STATUS_INIT;
}

/* ---------------------------------------------------------------------------------------------------------- causes */

void causes_done(struct causes *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->list[i].message);
		free(c->list[i].field);
	}
	free(c->list);
	*c = CAUSES_INIT;
}

static const struct {
	const char *reason, *words;
} cause_words[] = {
	[CAUSE_REQUIRED] = { "FieldValueRequired", "Required value" },
	[CAUSE_INVALID] = { "FieldValueInvalid", "Invalid value" },
	[CAUSE_UNSUPPORTED] = { "FieldValueNotSupported", "Unsupported value" },
	[CAUSE_FORBIDDEN] = { "FieldValueForbidden", "Forbidden" },
	[CAUSE_DUPLICATE] = { "FieldValueDuplicate", "Duplicate value" },
	[CAUSE_NOT_FOUND] = { "FieldValueNotFound", "Not found" },
	[CAUSE_TOO_LONG] = { "FieldValueTooLong", "Too long" },
	[CAUSE_TOO_MANY] = { "FieldValueTooMany", "Too many" },
	[CAUSE_TYPE_INVALID] = { "FieldValueTypeInvalid", "Invalid value" },
};

static struct cause *add(struct causes *c)
{
	if (c->n == CAUSES_MAX) {
		c->cut = true;
		return NULL;
	}
	c->list = mem_realloc_n(c->list, c->n + 1, sizeof(*c->list));
	return &c->list[c->n++];
}

void causes_add_raw(struct causes *c, const char *reason, const char *field, const char *message)
{
	struct cause *one = add(c);

	if (one)
		*one = (struct cause) { reason, mem_strdup(message), mem_strdup(field) };
}

void causes_add(struct causes *c, enum cause_type type, const char *field, const char *value, const char *detail_fmt,
                ...)
{
	_cleanup_buf_ struct buf text = BUF(STATUS_TEXT_MAX);
	va_list ap;

	buf_add_str(&text, cause_words[type].words);
	if (value)
		buf_printf(&text, ": %s", value);
	if (detail_fmt) {
		buf_add_str(&text, ": ");
		va_start(ap, detail_fmt);
		buf_vprintf(&text, detail_fmt, ap);
		va_end(ap);
	}
	causes_add_raw(c, cause_words[type].reason, field, buf_text(&text));
}

/* "field: message", several in brackets, the same text once. */
static void add_causes_text(struct buf *out, const struct causes *c)
{
	size_t shown = 0;
	_cleanup_buf_ struct buf all = BUF(STATUS_TEXT_MAX);

	for (size_t i = 0; i < c->n; i++) {
		bool seen = false;

		for (size_t j = 0; j < i && !seen; j++)
			seen = str_eq(c->list[j].field, c->list[i].field) &&
			       str_eq(c->list[j].message, c->list[i].message);
		if (seen)
			continue;
		buf_printf(&all, "%s%s: %s", shown++ ? ", " : "", str_or(c->list[i].field, ""), c->list[i].message);
	}
	buf_printf(out, shown > 1 ? "[%s]" : "%s", buf_text(&all));
}

/* ---------------------------------------------------------------------------------------------------------- bodies */

static yyjson_mut_val *details_object(yyjson_mut_doc *doc, const struct status_details *d)
{
	yyjson_mut_val *o = yyjson_mut_obj(doc), *causes;

	if (!str_empty(d->name))
		obj_set_str(doc, o, "name", d->name);
	if (!str_empty(d->group))
		obj_set_str(doc, o, "group", d->group);
	if (!str_empty(d->kind))
		obj_set_str(doc, o, "kind", d->kind);
	if (!str_empty(d->uid))
		obj_set_str(doc, o, "uid", d->uid);
	if (d->causes && d->causes->n) {
		causes = obj_make_arr(doc, o, "causes");
		for (size_t i = 0; i < d->causes->n; i++) {
			const struct cause *c = &d->causes->list[i];
			yyjson_mut_val *one = yyjson_mut_arr_add_obj(doc, causes);

			if (c->reason)
				obj_set_str(doc, one, "reason", c->reason);
			obj_set_str(doc, one, "message", c->message);
			if (!str_empty(c->field))
				obj_set_str(doc, one, "field", c->field);
		}
	}
	if (d->retry_after_s)
		obj_set_int(doc, o, "retryAfterSeconds", d->retry_after_s);
	return o;
}

static void fill(struct status *st, int code, const char *reason, const struct status_details *details,
                 const char *message, const char *continue_token)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = obj_doc();
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *meta;

	status_done(st);
	obj_set_str(doc, root, "kind", "Status");
	obj_set_str(doc, root, "apiVersion", "v1");
	meta = obj_make(doc, root, "metadata");
	if (continue_token)
		obj_set_str(doc, meta, "continue", continue_token);
	obj_set_str(doc, root, "status", code < 400 ? "Success" : "Failure");
	if (message)
		obj_set_str(doc, root, "message", message);
	if (reason)
		obj_set_str(doc, root, "reason", reason);
	if (details)
		obj_set(doc, root, "details", details_object(doc, details));
	/* A deletion's Success carries no code; answers to creates do. */
	if (code != 200)
		obj_set_int(doc, root, "code", code);
	st->code = code;
	st->body = obj_text(root, &st->len);
	st->retry_after_s = details ? details->retry_after_s : 0;
}

static int errno_of(int code, const char *reason)
{
	switch (code) {
	case 401:
	case 403: return -EACCES;
	case 404: return -ENOENT;
	case 409: return str_eq(reason, "AlreadyExists") ? -EEXIST : -ESTALE;
	case 410: return -ESTALE;
	case 413: return -EFBIG;
	case 429: return -EAGAIN;
	case 504: return -ETIMEDOUT;
	default: return code >= 500 ? -EIO : -EINVAL;
	}
}

_printf_(6, 0) static int vfail(struct status *st, int code, const char *reason, const struct status_details *details,
                                const char *before, const char *fmt, va_list ap)
{
	_cleanup_buf_ struct buf text = BUF(STATUS_TEXT_MAX);

	buf_add_str(&text, str_or(before, ""));
	buf_vprintf(&text, fmt, ap);
	fill(st, code, reason, details, buf_text(&text), NULL);
	return errno_of(code, reason);
}

int status_fail(struct status *st, int code, const char *reason, const struct status_details *details, const char *fmt,
                ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = vfail(st, code, reason, details, NULL, fmt, ap);
	va_end(ap);
	return r;
}

int status_success(struct status *st, int code, const struct status_details *details)
{
	fill(st, code, NULL, details, NULL, NULL);
	return 0;
}

/* -------------------------------------------------------------------------------------------------- the usual ones */

/* `pods "p1"`, `widgets.example.com "w"`. The caller frees. */
static char *named(const char *group, const char *resource, const char *name)
{
	bool core = str_empty(group);

	if (!name)
		return str_printf("%s%s%s", resource, core ? "" : ".", core ? "" : group);
	return str_printf("%s%s%s \"%s\"", resource, core ? "" : ".", core ? "" : group, name);
}

int status_bad_request(struct status *st, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = vfail(st, 400, "BadRequest", NULL, NULL, fmt, ap);
	va_end(ap);
	return r;
}

int status_unauthorized(struct status *st)
{
	return status_fail(st, 401, "Unauthorized", NULL, "Unauthorized");
}

int status_forbidden(struct status *st, const char *group, const char *resource, const char *name, const char *fmt, ...)
{
	struct status_details d = { .name = name, .group = group, .kind = resource };
	_cleanup_free_ char *what = named(group, resource, name), *before = str_printf("%s is forbidden: ", what);
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = vfail(st, 403, "Forbidden", &d, before, fmt, ap);
	va_end(ap);
	return r;
}

int status_not_found(struct status *st, const char *group, const char *resource, const char *name)
{
	struct status_details d = { .name = name, .group = group, .kind = resource };
	_cleanup_free_ char *what = named(group, resource, name);

	return status_fail(st, 404, "NotFound", &d, "%s not found", what);
}

int status_no_resource(struct status *st)
{
	struct status_details none = { 0 };

	return status_fail(st, 404, "NotFound", &none, "the server could not find the requested resource");
}

int status_method_not_allowed(struct status *st)
{
	struct status_details none = { 0 };

	return status_fail(st, 405, "MethodNotAllowed", &none,
	                   "the server does not allow this method on the requested resource");
}

int status_not_acceptable(struct status *st)
{
	struct status_details none = { 0 };

	return status_fail(st, 406, "NotAcceptable", &none,
	                   "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
	                   "application/vnd.kubernetes.protobuf, application/json;stream=watch, "
	                   "application/vnd.kubernetes.protobuf;stream=watch");
}

int status_exists(struct status *st, const char *group, const char *resource, const char *name)
{
	struct status_details d = { .name = name, .group = group, .kind = resource };
	_cleanup_free_ char *what = named(group, resource, name);

	return status_fail(st, 409, "AlreadyExists", &d, "%s already exists", what);
}

int status_conflict(struct status *st, const char *group, const char *resource, const char *name, const char *fmt, ...)
{
	struct status_details d = { .name = name, .group = group, .kind = resource };
	_cleanup_free_ char *what = named(group, resource, name);
	_cleanup_free_ char *before = str_printf("Operation cannot be fulfilled on %s: ", what);
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = vfail(st, 409, "Conflict", &d, before, fmt, ap);
	va_end(ap);
	return r;
}

int status_modified(struct status *st, const char *group, const char *resource, const char *name)
{
	return status_conflict(
	        st, group, resource, name,
	        "the object has been modified; please apply your changes to the latest version and try again");
}

int status_expired(struct status *st, const char *continue_token, const char *fmt, ...)
{
	_cleanup_buf_ struct buf text = BUF(STATUS_TEXT_MAX);
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	fill(st, 410, "Expired", NULL, buf_text(&text), continue_token);
	return errno_of(410, "Expired");
}

int status_too_large(struct status *st, size_t limit)
{
	return status_fail(st, 413, "RequestEntityTooLarge", NULL, "Request entity too large: limit is %zu", limit);
}

int status_unsupported_media(struct status *st)
{
	struct status_details none = { 0 };

	return status_fail(st, 415, "UnsupportedMediaType", &none, "415: Unsupported Media Type");
}

int status_invalid(struct status *st, const char *group, const char *kind, const char *name,
                   const struct causes *causes)
{
	struct status_details d = { .name = name, .group = group, .kind = kind, .causes = causes };
	_cleanup_free_ char *what = named(group, kind, str_or(name, ""));
	_cleanup_buf_ struct buf text = BUF(STATUS_TEXT_MAX);

	add_causes_text(&text, causes);
	return status_fail(st, 422, "Invalid", &d, "%s is invalid: %s", what, buf_text(&text));
}

int status_patch_rejected(struct status *st)
{
	struct status_details none = { 0 };

	return status_fail(st, 422, "Invalid", &none, "the server rejected our request due to an error in our request");
}

int status_too_many(struct status *st, const struct causes *causes, int retry_after_s, const char *fmt, ...)
{
	struct status_details d = { .causes = causes, .retry_after_s = retry_after_s };
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = vfail(st, 429, "TooManyRequests", &d, NULL, fmt, ap);
	va_end(ap);
	return r;
}

int status_internal(struct status *st, const char *fmt, ...)
{
	_cleanup_causes_ struct causes causes = CAUSES_INIT;
	struct status_details d = { .causes = &causes };
	_cleanup_buf_ struct buf text = BUF(STATUS_TEXT_MAX);
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	causes_add_raw(&causes, NULL, NULL, buf_text(&text));
	return status_fail(st, 500, "InternalError", &d, "Internal error occurred: %s", buf_text(&text));
}

int status_rv_too_large(struct status *st, unsigned long long asked, unsigned long long current)
{
	_cleanup_causes_ struct causes causes = CAUSES_INIT;
	struct status_details d = { .causes = &causes, .retry_after_s = 1 };

	causes_add_raw(&causes, "ResourceVersionTooLarge", NULL, "Too large resource version");
	return status_fail(st, 504, "Timeout", &d, "Timeout: Too large resource version: %llu, current: %llu", asked,
	                   current);
}
