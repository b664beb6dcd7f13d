/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/decode.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/decode_types.h"
#include "lite/obj.h"

#define TEXT_MAX (8u << 20)
#define UTF8_MAX 4 /* bytes of a character */

void warnings_done(struct warnings *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->list[i]);
	w->n = 0;
}

void warnings_add(struct warnings *w, const char *fmt, ...)
{
	_cleanup_buf_ struct buf text = BUF(4096);
	va_list ap;

	if (!w || w->n == WARNINGS_MAX)
		return;
	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	w->list[w->n++] = mem_strdup(buf_text(&text));
}

/* ---------------------------------------------------------------------------------------------------------- syntax */

static bool too_deep(const char *text, size_t len)
{
	bool in_string = false;
	size_t depth = 0;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
		} else if (c == '{' || c == '[') {
			if (++depth > DECODE_DEPTH_MAX)
				return true;
		} else if ((c == '}' || c == ']') && depth) {
			depth--;
		}
	}
	return false;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Go's words for where its scanner was, from the character before. */
static const char *looking_for(const char *text, size_t at)
{
	while (at > 0 && blank(text[at - 1]))
		at--;
	switch (at ? text[at - 1] : '\0') {
	case '{': return "looking for beginning of object key string";
	case '\0':
	case ':':
	case '[':
	case ',': return "looking for beginning of value";
	default: return "after object key:value pair";
	}
}

static void explain(const char *text, size_t len, const yyjson_read_err *e, struct buf *why)
{
	if (e->pos >= len || e->code == YYJSON_READ_ERROR_EMPTY_CONTENT) {
		buf_add_str(why, "unexpected end of JSON input");
		return;
	}
	buf_add_str(why, "invalid character '");
	str_add_safe(why, text + e->pos, 1, 8);
	buf_printf(why, "' %s",
	           e->code == YYJSON_READ_ERROR_UNEXPECTED_CONTENT ? "after top-level value"
	                                                           : looking_for(text, e->pos));
}

/* As the real server reads bytes that are no UTF-8: each becomes U+FFFD, and nothing is refused. */
static void mend(const char *text, size_t len, struct buf *out)
{
	for (size_t i = 0, n; i < len; i += n) {
		size_t most = MIN_OF(len - i, (size_t)UTF8_MAX);

		for (n = 1; n < most && !str_is_utf8(text + i, n); n++)
			;
		if (str_is_utf8(text + i, n)) {
			buf_add(out, text + i, n);
			continue;
		}
		buf_add_str(out, "\xef\xbf\xbd");
		n = 1;
	}
}

static yyjson_doc *read_mended(const char *text, size_t len, yyjson_read_err *e)
{
	_cleanup_buf_ struct buf b = BUF(3 * len + 1);

	mend(text, len, &b);
	return yyjson_read_opts((char *)(uintptr_t)buf_text(&b), b.len, 0, NULL, e);
}

int decode_json(const char *text, size_t len, yyjson_doc **ret, struct buf *why)
{
	yyjson_read_err e = { 0 };
	yyjson_doc *doc;

	if (too_deep(text, len)) {
		buf_printf(why, "exceeded max depth of %d", DECODE_DEPTH_MAX);
		return -EINVAL;
	}
	doc = yyjson_read_opts((char *)(uintptr_t)text, len, 0, NULL, &e);
	if (!doc && e.code == YYJSON_READ_ERROR_INVALID_STRING && !str_is_utf8(text, len))
		doc = read_mended(text, len, &e);
	if (!doc) {
		explain(text, len, &e, why);
		return -EINVAL;
	}
	*ret = doc;
	return 0;
}

int decode_field_validation(const char *text, const char *options, enum field_validation *ret, struct status *st)
{
	static const char *const words[] = {
		[FIELDS_WARN] = "Warn", [FIELDS_STRICT] = "Strict", [FIELDS_IGNORE] = "Ignore"
	};
	_cleanup_causes_ struct causes causes = CAUSES_INIT;
	_cleanup_buf_ struct buf value = BUF(TEXT_MAX);

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (str_empty(text) || str_eq(text, words[i])) {
			*ret = (enum field_validation)i;
			return 0;
		}
	}
	obj_add_quoted(&value, text);
	causes_add(&causes, CAUSE_UNSUPPORTED, "fieldValidation", buf_text(&value),
	           "supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"");
	return status_invalid(st, "meta.k8s.io", options, "", &causes);
}

/* ------------------------------------------------------------------------------------------------ kind and version */

/* What the body must be. */
struct expected {
	const char *group, *version, *kind;
	const struct type *type;
	bool custom;
};

static struct expected expect(const struct kind *k, const struct subresource *sub)
{
	struct expected e = { k->group, k->version, k->kind, k->type, kind_is_custom(k) };

	if (sub && sub->type) {
		e = (struct expected) { sub->group ? sub->group : k->group, sub->version ? sub->version : k->version,
			                sub->kind, sub->type, false };
	}
	return e;
}

static int unrecognized(const struct expected *e, const char *why, const char *text, size_t len, struct status *st)
{
	_cleanup_buf_ struct buf shown = BUF(200);

	if (!len)
		buf_add_str(&shown, "<empty>");
	else if (text[0] == '{')
		buf_add(&shown, text, MIN_OF(len, 30));
	else
		str_add_hex(&shown, text, MIN_OF(len, 30));
	if (len > 30)
		buf_add_str(&shown, " ...");
	return status_bad_request(st, "the object provided is unrecognized (must be of type %s): %s (%s)", e->kind, why,
	                          buf_text(&shown));
}

static int wrong_kind(const struct expected *e, const char *api_version, const char *kind, struct status *st)
{
	const char *slash = strchr(api_version, '/');
	_cleanup_free_ char *own = str_printf("%s%s%s", e->group, *e->group ? "/" : "", e->version);

	if (str_eq(kind, e->kind) && (e->custom || str_eq(kind, "Event")))
		return status_bad_request(
		        st, "the API version in the data (%s) does not match the expected API version (%s)",
		        api_version, own);
	if (e->custom) {
		_cleanup_causes_ struct causes causes = CAUSES_INIT;
		_cleanup_free_ char *value = str_printf("\"%s\"", kind);

		causes_add(&causes, CAUSE_INVALID, "kind", value, "must be %s", e->kind);
		return status_invalid(st, e->group, e->kind, "", &causes);
	}
	return status_bad_request(
	        st,
	        "%s in version \"%s\" cannot be handled as a %s: no kind \"%s\" is registered for version \"%s\" in "
	        "scheme \"pkg/api/legacyscheme/scheme.go:30\"",
	        kind, slash ? slash + 1 : api_version, e->kind, kind, api_version);
}

/* Fills in kind and apiVersion when absent, refuses others. */
static int check_kind(const struct expected *e, yyjson_mut_doc *doc, const char *text, size_t len, struct status *st)
{
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *kind = obj_get(root, "kind"),
	               *version = obj_get(root, "apiVersion");
	_cleanup_free_ char *own = str_printf("%s%s%s", e->group, *e->group ? "/" : "", e->version), *why = NULL;

	if (e->custom && str_empty(obj_str(kind))) {
		why = str_printf("Object 'Kind' is missing in '%.*s'", (int)MIN_OF(len, 4000u), text);
		return unrecognized(e, why, text, len, st);
	}
	if ((obj_is_set(kind) && !yyjson_mut_is_str(kind)) || (obj_is_set(version) && !yyjson_mut_is_str(version)))
		return unrecognized(
		        e,
		        "couldn't get version/kind; json parse error: json: cannot unmarshal a value that is no "
		        "string into apiVersion or kind",
		        text, len, st);
	if (str_empty(obj_str(kind)))
		obj_set_str(doc, root, "kind", e->kind);
	if (str_empty(obj_str(version)))
		obj_set_str(doc, root, "apiVersion", own);
	kind = obj_get(root, "kind");
	version = obj_get(root, "apiVersion");
	if (!str_eq(obj_str(kind), e->kind) || !str_eq(obj_str(version), own))
		return wrong_kind(e, obj_str(version), obj_str(kind), st);
	return 0;
}

/* ---------------------------------------------------------------------------------------------------------- bodies */

static void join_strict(const struct type_walk *walk, struct buf *out)
{
	buf_add_str(out, "strict decoding error: ");
	for (size_t i = 0; i < walk->n_strict; i++)
		buf_printf(out, "%s%s", i ? ", " : "", walk->strict[i]);
}

/* Walks doc; `why` is filled when it must be refused. Warnings are added otherwise. */
static void conform(const struct type *t, yyjson_mut_doc *doc, enum field_validation v, struct warnings *w,
                    struct buf *why)
{
	struct type_walk walk;

	type_walk_init(&walk, doc);
	walk.report = v != FIELDS_IGNORE;
	type_walk_object(&walk, t, yyjson_mut_doc_get_root(doc));
	if (walk.error.len)
		buf_add_str(why, buf_text(&walk.error));
	else if (walk.n_strict && v == FIELDS_STRICT)
		join_strict(&walk, why);
	else
		for (size_t i = 0; i < walk.n_strict; i++)
			warnings_add(w, "%s", walk.strict[i]);
	type_walk_done(&walk);
}

static int decode(const struct expected *e, const char *text, size_t len, enum field_validation v, yyjson_mut_doc **ret,
                  struct warnings *w, struct status *st)
{
	_cleanup_doc_ yyjson_doc *parsed = NULL;
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL;
	_cleanup_buf_ struct buf why = BUF(TEXT_MAX);
	int r;

	buf_add_str(&why, "couldn't get version/kind; json parse error: ");
	r = decode_json(text, len, &parsed, &why);
	if (r == 0 && !yyjson_is_obj(yyjson_doc_get_root(parsed))) {
		buf_printf(&why,
		           "json: cannot unmarshal %s into Go value of type struct { APIVersion string "
		           "\"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }",
		           yyjson_is_arr(yyjson_doc_get_root(parsed)) ? "array"
		           : yyjson_is_str(yyjson_doc_get_root(parsed))
		                   ? "string"
		                   : yyjson_get_type_desc(yyjson_doc_get_root(parsed)));
		r = -EINVAL;
	}
	if (r < 0)
		return unrecognized(e, buf_text(&why), text, len, st);
	doc = yyjson_doc_mut_copy(parsed, NULL);
	r = check_kind(e, doc, text, len, st);
	if (r < 0)
		return r;
	buf_clear(&why);
	conform(e->type, doc, v, w, &why);
	if (why.len)
		return status_bad_request(st, "%s in version \"%s\" cannot be handled as a %s: %s", e->kind, e->version,
		                          e->kind, buf_text(&why));
	*ret = TAKE_PTR(doc);
	return 0;
}

int decode_body(const struct kind *k, const struct subresource *sub, const char *text, size_t len,
                enum field_validation v, yyjson_mut_doc **ret, struct warnings *w, struct status *st)
{
	struct expected e = expect(k, sub);

	return decode(&e, text, len, v, ret, w, st);
}

int decode_patched(const struct kind *k, const struct subresource *sub, yyjson_mut_doc *doc, const char *shown,
                   enum field_validation v, struct warnings *w, struct status *st)
{
	_cleanup_buf_ struct buf why = BUF(TEXT_MAX), value = BUF(TEXT_MAX);
	_cleanup_causes_ struct causes causes = CAUSES_INIT;
	_cleanup_free_ char *own = NULL;
	struct expected e = expect(k, sub);
	int r = check_kind(&e, doc, "", 0, st);

	if (r < 0)
		return r;
	conform(e.type, doc, v, w, &why);
	if (!why.len)
		return 0;
	if (!shown)
		shown = own = obj_text(yyjson_mut_doc_get_root(doc), NULL);
	obj_add_quoted(&value, shown);
	causes_add(&causes, CAUSE_INVALID, "patch", buf_text(&value), "%s", buf_text(&why));
	return status_invalid(st, "", "", "", &causes);
}

int decode_delete_options(const char *text, size_t len, yyjson_mut_doc **ret, struct status *st)
{
	struct expected e = { "", "v1", "DeleteOptions",
		              type_named("io.k8s.apimachinery.pkg.apis.meta.v1", "DeleteOptions"), false };
	_cleanup_doc_ yyjson_doc *parsed = NULL;
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL;
	_cleanup_buf_ struct buf why = BUF(TEXT_MAX);

	if (!len) {
		*ret = obj_doc();
		return 0;
	}
	if (decode_json(text, len, &parsed, &why) < 0 || !yyjson_is_obj(yyjson_doc_get_root(parsed)))
		return status_bad_request(st, "couldn't get version/kind; json parse error: %s",
		                          why.len ? buf_text(&why) : "the body is no object");
	doc = yyjson_doc_mut_copy(parsed, NULL);
	/* Every group has DeleteOptions of its own, all the same. */
	obj_set_str(doc, yyjson_mut_doc_get_root(doc), "apiVersion", "v1");
	conform(e.type, doc, FIELDS_IGNORE, NULL, &why);
	if (why.len)
		return status_bad_request(st, "%s in version \"%s\" cannot be handled as a %s: %s", e.kind, e.version,
		                          e.kind, buf_text(&why));
	*ret = TAKE_PTR(doc);
	return 0;
}
