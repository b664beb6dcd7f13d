/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/checks.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/obj.h"

#define TEXT_MAX (1u << 20)

struct check check_begin(struct causes *causes)
{
	return (struct check) { .causes = causes, .path = BUF(8192) };
}

void check_end(struct check *c)
{
	buf_done(&c->path);
}

/* ---------------------------------------------------------------------------------------------------------- places */

size_t check_enter(struct check *c, const char *member)
{
	size_t up = c->path.len;

	if (up)
		buf_add_char(&c->path, '.');
	buf_add_str(&c->path, member);
	return up;
}

size_t check_enter_index(struct check *c, size_t i)
{
	size_t up = c->path.len;

	buf_printf(&c->path, "[%zu]", i);
	return up;
}

size_t check_enter_key(struct check *c, const char *key)
{
	size_t up = c->path.len;

	buf_printf(&c->path, "[%s]", key);
	return up;
}

void check_leave(struct check *c, size_t up)
{
	if (c->path.data && c->path.len > up) {
		c->path.len = up;
		c->path.data[up] = '\0';
	}
	c->path.error = 0;
}

/* ---------------------------------------------------------------------------------------------------------- wrongs */

static void vadd(struct check *c, enum cause_type type, const char *member, const char *shown, const char *fmt,
                 va_list ap) _printf_(5, 0);

static void vadd(struct check *c, enum cause_type type, const char *member, const char *shown, const char *fmt,
                 va_list ap)
{
	_cleanup_buf_ struct buf detail = BUF(TEXT_MAX);
	size_t up = str_empty(member) ? c->path.len : check_enter(c, member);

	if (fmt)
		buf_vprintf(&detail, fmt, ap);
	if (fmt)
		causes_add(c->causes, type, buf_text(&c->path), shown, "%s", buf_text(&detail));
	else
		causes_add(c->causes, type, buf_text(&c->path), shown, NULL);
	check_leave(c, up);
}

void check_add(struct check *c, enum cause_type type, const char *member, yyjson_mut_val *value, const char *detail_fmt,
               ...)
{
	_cleanup_free_ char *shown = value ? obj_text(value, NULL) : NULL;
	va_list ap;

	va_start(ap, detail_fmt);
	vadd(c, type, member, shown, detail_fmt, ap);
	va_end(ap);
}

void check_add_text(struct check *c, enum cause_type type, const char *member, const char *value,
                    const char *detail_fmt, ...)
{
	_cleanup_buf_ struct buf shown = BUF(TEXT_MAX);
	va_list ap;

	obj_add_quoted(&shown, value);
	va_start(ap, detail_fmt);
	vadd(c, type, member, buf_text(&shown), detail_fmt, ap);
	va_end(ap);
}

bool check_given(struct check *c, yyjson_mut_val *obj, const char *member)
{
	yyjson_mut_val *v = obj_get(obj, member);

	if (obj_is_set(v) && !(yyjson_mut_is_str(v) && !yyjson_mut_get_len(v)))
		return true;
	check_add(c, CAUSE_REQUIRED, member, NULL, NULL);
	return false;
}

void check_text(struct check *c, const char *member, const char *text, name_rule *rule)
{
	struct name_errors errors;

	for (size_t i = 0, n = rule(text, &errors); i < n; i++)
		check_add_text(c, CAUSE_INVALID, member, text, "%s", errors.text[i]);
}

void check_name(struct check *c, yyjson_mut_val *obj, const char *member, name_rule *rule)
{
	const char *text = obj_str(obj_get(obj, member));

	if (!str_empty(text))
		check_text(c, member, text, rule);
}

void check_min(struct check *c, yyjson_mut_val *obj, const char *member, int64_t min)
{
	yyjson_mut_val *v = obj_get(obj, member);

	if (yyjson_mut_is_int(v) && obj_int(v, 0) < min)
		check_add(c, CAUSE_INVALID, member, v, "must be greater than or equal to %lld", (long long)min);
}

void check_word(struct check *c, yyjson_mut_val *obj, const char *member, const char *const *words, bool required)
{
	const char *text = obj_str(obj_get(obj, member));
	_cleanup_buf_ struct buf list = BUF(TEXT_MAX);

	if (str_empty(text)) {
		if (required)
			check_add(c, CAUSE_REQUIRED, member, NULL, NULL);
		return;
	}
	for (size_t i = 0; words[i]; i++) {
		if (str_eq(words[i], text))
			return;
		buf_printf(&list, "%s\"%s\"", i ? ", " : "", words[i]);
	}
	check_add_text(c, CAUSE_UNSUPPORTED, member, text, "supported values: %s", buf_text(&list));
}

void check_same(struct check *c, yyjson_mut_val *obj, yyjson_mut_val *old, const char *member)
{
	yyjson_mut_val *now = obj_get(obj, member), *then = obj_get(old, member);
	_cleanup_mut_doc_ yyjson_mut_doc *none = NULL;

	if (obj_equal(now, then) || (!obj_is_set(now) && !obj_is_set(then)))
		return;
	if (!now) {
		none = yyjson_mut_doc_new(NULL);
		now = yyjson_mut_null(none);
	}
	check_add(c, CAUSE_INVALID, member, now, "field is immutable");
}

/* ---------------------------------------------------------------------------------------------------------- labels */

void check_labels(struct check *c, yyjson_mut_val *obj, const char *member)
{
	OBJ_EACH (key, val, obj_get(obj, member)) {
		check_text(c, member, yyjson_mut_get_str(key), name_label_key);
		check_text(c, member, str_or(obj_str(val), ""), name_label_value);
	}
}

static void check_expression(struct check *c, yyjson_mut_val *e)
{
	const char *op = str_or(obj_str(obj_get(e, "operator")), "");
	bool set = str_eq(op, "In") || str_eq(op, "NotIn");
	size_t i = 0;

	if (set && !obj_size(obj_get(e, "values")))
		check_add(c, CAUSE_REQUIRED, "values", NULL, "must be specified when `operator` is 'In' or 'NotIn'");
	else if (!set && !str_eq(op, "Exists") && !str_eq(op, "DoesNotExist"))
		check_add_text(c, CAUSE_INVALID, "operator", op, "not a valid selector operator");
	else if (!set && obj_size(obj_get(e, "values")))
		check_add(c, CAUSE_FORBIDDEN, "values", NULL,
		          "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
	check_text(c, "key", str_or(obj_str(obj_get(e, "key")), ""), name_label_key);
	ARR_EACH (v, obj_get(e, "values")) {
		size_t up = check_enter(c, "values"), in = check_enter_index(c, i++);

		(void)in;
		check_text(c, NULL, str_or(obj_str(v), ""), name_label_value);
		check_leave(c, up);
	}
}

void check_selector(struct check *c, yyjson_mut_val *obj, const char *member)
{
	yyjson_mut_val *s = obj_get(obj, member);
	size_t up = check_enter(c, member), i = 0;

	check_labels(c, s, "matchLabels");
	ARR_EACH (e, obj_get(s, "matchExpressions")) {
		size_t back = check_enter(c, "matchExpressions"), in = check_enter_index(c, i++);

		(void)in;
		check_expression(c, e);
		check_leave(c, back);
	}
	check_leave(c, up);
}
