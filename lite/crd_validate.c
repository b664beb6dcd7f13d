/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Objects of custom resources against their schema: types, ranges, lengths, patterns, formats, enumerations, required
 * members, duplicates in sets and maps, allOf, anyOf, oneOf and not. Of rules (x-kubernetes-validations) only
 * "self == oldSelf" is known: the value may not change. Others are not looked at.
 */
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/checks.h"
#include "lite/crd_schema.h"
#include "lite/jsonpath.h"
#include "lite/obj.h"
#include "lite/scalars.h"
#include "lite/types.h"
#include "json/json.h"

#define CHECK_VALUE_MAX ((size_t)64 << 10)

static void validate(struct check *c, yyjson_val *s, yyjson_mut_val *v, yyjson_mut_val *old);

static bool flag(yyjson_val *s, const char *name)
{
	return yyjson_get_bool(yyjson_obj_get(s, name));
}

static const char *where(const struct check *c)
{
	return c->path.len ? buf_text(&c->path) : "";
}

/* ----------------------------------------------------------------------------------------------------------- types */

static const char *type_of(yyjson_mut_val *v)
{
	switch (yyjson_mut_get_type(v)) {
	case YYJSON_TYPE_NULL: return "null";
	case YYJSON_TYPE_BOOL: return "boolean";
	case YYJSON_TYPE_NUM:
		return yyjson_mut_is_int(v) || trunc(yyjson_mut_get_num(v)) == yyjson_mut_get_num(v) ? "integer"
		                                                                                     : "number";
	case YYJSON_TYPE_STR: return "string";
	case YYJSON_TYPE_ARR: return "array";
	default: return "object";
	}
}

/* Tells and returns false when the value is of another type than the schema says. */
static bool check_type(struct check *c, yyjson_val *s, yyjson_mut_val *v)
{
	const char *wants = json_str(yyjson_obj_get(s, "type")), *is = type_of(v);

	if (yyjson_mut_is_null(v) && flag(s, "nullable"))
		return false; /* nothing more to look at */
	if (flag(s, "x-kubernetes-int-or-string")) {
		wants = str_eq(is, "integer") || str_eq(is, "string") ? is : "integer,string";
	} else if (!wants || (str_eq(wants, "number") && str_eq(is, "integer"))) {
		return true;
	}
	if (str_eq(wants, is))
		return true;
	check_add_text(c, CAUSE_TYPE_INVALID, NULL, is, "%s in body must be of type %s: \"%s\"", where(c), wants, is);
	return false;
}

/* --------------------------------------------------------------------------------------------------------- scalars */

static void check_range(struct check *c, yyjson_val *s, yyjson_mut_val *v)
{
	yyjson_val *min = yyjson_obj_get(s, "minimum"), *max = yyjson_obj_get(s, "maximum"),
	           *step = yyjson_obj_get(s, "multipleOf");
	double n = yyjson_mut_get_num(v);

	if (yyjson_is_num(min) && (flag(s, "exclusiveMinimum") ? n <= yyjson_get_num(min) : n < yyjson_get_num(min)))
		check_add(c, CAUSE_INVALID, NULL, v, "%s in body should be greater than %s%.15g", where(c),
		          flag(s, "exclusiveMinimum") ? "" : "or equal to ", yyjson_get_num(min));
	if (yyjson_is_num(max) && (flag(s, "exclusiveMaximum") ? n >= yyjson_get_num(max) : n > yyjson_get_num(max)))
		check_add(c, CAUSE_INVALID, NULL, v, "%s in body should be less than %s%.15g", where(c),
		          flag(s, "exclusiveMaximum") ? "" : "or equal to ", yyjson_get_num(max));
	if (yyjson_is_num(step) && yyjson_get_num(step) > 0 && fmod(n, yyjson_get_num(step)) != 0)
		check_add(c, CAUSE_INVALID, NULL, v, "%s in body should be a multiple of %.15g", where(c),
		          yyjson_get_num(step));
}

/* The little of Go's syntax that POSIX does not have. */
static char *posix_pattern(const char *pattern)
{
	static const char *const words[][2] = { { "\\d", "[0-9]" },
		                                { "\\D", "[^0-9]" },
		                                { "\\w", "[A-Za-z0-9_]" },
		                                { "\\s", "[[:space:]]" },
		                                { "(?:", "(" },
		                                { "\\/", "/" },
		                                { "\\-", "-" } };
	_cleanup_buf_ struct buf out = BUF(64u << 10);

	while (*pattern) {
		size_t i = 0;

		while (i < ARRAY_LEN(words) && !str_starts(pattern, words[i][0]))
			i++;
		if (i < ARRAY_LEN(words)) {
			buf_add_str(&out, words[i][1]);
			pattern += strlen(words[i][0]);
		} else if (*pattern == '\\' && pattern[1]) {
			buf_add(&out, pattern, 2);
			pattern += 2;
		} else {
			buf_add_char(&out, *pattern++);
		}
	}
	return mem_strdup(buf_text(&out));
}

static bool pattern_matches(const char *pattern, const char *text)
{
	_cleanup_free_ char *posix = posix_pattern(pattern);
	regex_t re;
	bool match;

	/* A pattern we cannot read refuses nothing. */
	if (regcomp(&re, posix, REG_EXTENDED | REG_NOSUB) != 0)
		return true;
	match = regexec(&re, text, 0, NULL, 0) == 0;
	regfree(&re);
	return match;
}

static bool format_fits(const char *format, const char *text)
{
	char out[SCALAR_TEXT_MAX], why[SCALAR_WHY_MAX];

	if (str_eq(format, "date-time"))
		return time_canonical(text, false, out, why) == 0;
	if (str_eq(format, "byte"))
		return base64_check(text, strlen(text), why) == 0;
	return true;
}

static int64_t characters(const char *s)
{
	int64_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void check_string(struct check *c, yyjson_val *s, yyjson_mut_val *v)
{
	const char *text = obj_str(v), *pattern = json_str(yyjson_obj_get(s, "pattern")),
	           *format = json_str(yyjson_obj_get(s, "format"));
	int64_t len = characters(text), min = json_int(yyjson_obj_get(s, "minLength"), 0),
	        max = json_int(yyjson_obj_get(s, "maxLength"), INT64_MAX);

	if (len < min)
		check_add(c, CAUSE_INVALID, NULL, v, "%s in body should be at least %lld chars long", where(c),
		          (long long)min);
	if (len > max)
		check_add(c, CAUSE_TOO_LONG, NULL, NULL, "may not be more than %lld byte%s", (long long)max,
		          max == 1 ? "" : "s");
	if (pattern && !pattern_matches(pattern, text))
		check_add(c, CAUSE_INVALID, NULL, v, "%s in body should match '%s'", where(c), pattern);
	if (format && !format_fits(format, text))
		check_add(c, CAUSE_INVALID, NULL, v, "%s in body must be of type %s: \"%s\"", where(c), format, text);
}

static void check_enum(struct check *c, yyjson_val *s, yyjson_mut_val *v)
{
	yyjson_val *list = yyjson_obj_get(s, "enum"), *one;
	_cleanup_buf_ struct buf words = BUF(64u << 10);
	size_t i, max;

	if (!yyjson_is_arr(list))
		return;
	yyjson_arr_foreach(list, i, max, one)
	{
		_cleanup_mut_doc_ yyjson_mut_doc *copy = obj_doc_of(one);

		if (obj_equal(yyjson_mut_doc_get_root(copy), v))
			return;
		buf_add_str(&words, i ? ", " : "");
		/* Values that are no strings are shown as strings too. */
		if (yyjson_is_str(one)) {
			obj_add_text(&words, yyjson_mut_doc_get_root(copy));
		} else {
			_cleanup_free_ char *text = yyjson_val_write(one, 0, NULL);

			obj_add_quoted(&words, text);
		}
	}
	check_add(c, CAUSE_UNSUPPORTED, NULL, v, "supported values: %s", buf_text(&words));
}

/* ------------------------------------------------------------------------------------------------------ containers */

static bool same_keys(yyjson_mut_val *a, yyjson_mut_val *b, yyjson_val *keys)
{
	size_t i, max;
	yyjson_val *key;

	yyjson_arr_foreach(keys, i, max,
	                   key) if (!obj_equal(obj_get(a, json_str(key)), obj_get(b, json_str(key)))) return false;
	return true;
}

static yyjson_mut_val *find_same(yyjson_mut_val *list, yyjson_mut_val *item, yyjson_val *keys)
{
	ARR_EACH (v, list) {
		if (v == item)
			return NULL;
		if (keys ? same_keys(v, item, keys) : obj_equal(v, item))
			return v;
	}
	return NULL;
}

static void tell_duplicate(struct check *c, yyjson_mut_val *item, yyjson_val *keys)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = obj_doc();
	size_t i, max;
	yyjson_val *key;

	if (!keys) {
		check_add(c, CAUSE_DUPLICATE, NULL, item, NULL);
		return;
	}
	yyjson_arr_foreach(keys, i, max, key)
	        obj_set_copy(doc, yyjson_mut_doc_get_root(doc), json_str(key), obj_get(item, json_str(key)));
	check_add(c, CAUSE_DUPLICATE, NULL, yyjson_mut_doc_get_root(doc), NULL);
}

static void check_array(struct check *c, yyjson_val *s, yyjson_mut_val *v, yyjson_mut_val *old)
{
	const char *list = json_str(yyjson_obj_get(s, "x-kubernetes-list-type"));
	yyjson_val *keys = str_eq(list, "map") ? yyjson_obj_get(s, "x-kubernetes-list-map-keys") : NULL,
	           *items = yyjson_obj_get(s, "items");
	int64_t n = (int64_t)obj_size(v), min = json_int(yyjson_obj_get(s, "minItems"), 0),
	        max = json_int(yyjson_obj_get(s, "maxItems"), INT64_MAX);
	size_t i = 0;

	if (n < min)
		check_add(c, CAUSE_INVALID, NULL, v, "%s in body should have at least %lld items", where(c),
		          (long long)min);
	if (n > max) {
		_cleanup_free_ char *count = str_printf("%lld", (long long)n);

		causes_add(c->causes, CAUSE_TOO_MANY, where(c), count, "must have at most %lld item%s", (long long)max,
		           max == 1 ? "" : "s");
	}
	ARR_EACH (item, v) {
		size_t up = check_enter_index(c, i++);
		yyjson_mut_val *before = NULL;

		ARR_EACH (o, old)
			before = !before && keys && same_keys(o, item, keys) ? o : before;
		if (yyjson_is_obj(items))
			validate(c, items, item, before);
		if ((keys || str_eq(list, "set")) && find_same(v, item, keys))
			tell_duplicate(c, item, keys);
		check_leave(c, up);
	}
}

static void check_object(struct check *c, yyjson_val *s, yyjson_mut_val *v, yyjson_mut_val *old)
{
	yyjson_val *properties = yyjson_obj_get(s, "properties"), *more = yyjson_obj_get(s, "additionalProperties"),
	           *name;
	int64_t n = (int64_t)obj_size(v), min = json_int(yyjson_obj_get(s, "minProperties"), 0);
	int64_t most = json_int(yyjson_obj_get(s, "maxProperties"), INT64_MAX);
	size_t i, max;

	yyjson_arr_foreach(yyjson_obj_get(s, "required"), i, max,
	                   name) if (json_str(name) && !obj_get(v, json_str(name)))
	        check_add(c, CAUSE_REQUIRED, json_str(name), NULL, NULL);
	if (n < min)
		check_add(c, CAUSE_INVALID, NULL, v, "%s in body should have at least %lld properties", where(c),
		          (long long)min);
	if (n > most) {
		_cleanup_free_ char *count = str_printf("%lld", (long long)n);

		causes_add(c->causes, CAUSE_TOO_MANY, where(c), count, "must have at most %lld items", (long long)most);
	}
	OBJ_EACH (key, val, v) {
		const char *member = yyjson_mut_get_str(key);
		yyjson_val *sub = yyjson_obj_get(properties, member);
		size_t up = check_enter(c, member);

		if (!sub && yyjson_is_obj(more))
			sub = more;
		if (sub)
			validate(c, sub, val, obj_get(old, member));
		check_leave(c, up);
	}
}

/* ---------------------------------------------------------------------------------------------------- combinations */

/* Does the value pass this schema? Nothing is told. */
static bool passes(struct check *c, yyjson_val *s, yyjson_mut_val *v)
{
	_cleanup_causes_ struct causes quiet = CAUSES_INIT;
	struct causes *told = c->causes;
	bool ok;

	c->causes = &quiet;
	validate(c, s, v, NULL);
	c->causes = told;
	ok = !quiet.n;
	return ok;
}

static size_t count_passing(struct check *c, yyjson_val *list, yyjson_mut_val *v)
{
	size_t i, max, n = 0;
	yyjson_val *s;

	yyjson_arr_foreach(list, i, max, s) n += passes(c, s, v);
	return n;
}

static void check_combined(struct check *c, yyjson_val *s, yyjson_mut_val *v)
{
	yyjson_val *all = yyjson_obj_get(s, "allOf"), *any = yyjson_obj_get(s, "anyOf"),
	           *one = yyjson_obj_get(s, "oneOf"), *sub;
	size_t i, max;

	yyjson_arr_foreach(all, i, max, sub) validate(c, sub, v, NULL);
	if (yyjson_arr_size(any) && !count_passing(c, any, v))
		check_add(c, CAUSE_INVALID, NULL, v, "%s in body must validate at least one schema (anyOf)", where(c));
	if (yyjson_arr_size(one) && count_passing(c, one, v) != 1)
		check_add(c, CAUSE_INVALID, NULL, v, "%s in body must validate one and only one schema (oneOf)",
		          where(c));
	sub = yyjson_obj_get(s, "not");
	if (yyjson_is_obj(sub) && passes(c, sub, v))
		check_add(c, CAUSE_INVALID, NULL, v, "%s in body must not validate the schema (not)", where(c));
}

static void check_rules(struct check *c, yyjson_val *s, yyjson_mut_val *v, yyjson_mut_val *old)
{
	size_t i, max;
	yyjson_val *rule;

	yyjson_arr_foreach(yyjson_obj_get(s, "x-kubernetes-validations"), i, max, rule)
	{
		const char *text = json_str(yyjson_obj_get(rule, "rule")),
		           *message = json_str(yyjson_obj_get(rule, "message"));

		if (!old || (!str_eq(text, "self == oldSelf") && !str_eq(text, "self==oldSelf")) || obj_equal(v, old))
			continue;
		check_add_text(c, CAUSE_INVALID, NULL, str_or(json_str(yyjson_obj_get(s, "type")), "object"), "%s",
		               str_or(message, "failed rule: self == oldSelf"));
	}
}

static void validate(struct check *c, yyjson_val *s, yyjson_mut_val *v, yyjson_mut_val *old)
{
	if (!check_type(c, s, v))
		return;
	if (yyjson_mut_is_num(v))
		check_range(c, s, v);
	else if (yyjson_mut_is_str(v))
		check_string(c, s, v);
	else if (yyjson_mut_is_arr(v))
		check_array(c, s, v, old);
	else if (yyjson_mut_is_obj(v))
		check_object(c, s, v, old);
	check_enum(c, s, v);
	check_combined(c, s, v);
	check_rules(c, s, v, old);
}

/* As the server's own language writes it. */
static void add_value(struct buf *out, yyjson_val *v)
{
	yyjson_val *key, *member;
	yyjson_obj_iter members = yyjson_obj_iter_with(v);
	_cleanup_free_ char *text = NULL;

	if (!yyjson_is_obj(v)) {
		text = yyjson_is_str(v) ? mem_strdup(yyjson_get_str(v)) : yyjson_val_write(v, 0, NULL);
		buf_add_str(out, str_or(text, ""));
		return;
	}
	buf_add_str(out, "map[");
	for (size_t i = 0; (key = yyjson_obj_iter_next(&members)); i++) {
		member = yyjson_obj_iter_get_val(key);
		buf_printf(out, "%s%s:", i ? " " : "", str_or(yyjson_get_str(key), ""));
		add_value(out, member);
	}
	buf_add_char(out, ']');
}

/* A number of replicas that the scale subresource is to show. */
static void check_replicas(struct check *c, yyjson_val *root, const char *path)
{
	static const char *const types[] = { [YYJSON_TYPE_BOOL] = "bool",
		                             [YYJSON_TYPE_NUM] = "float64",
		                             [YYJSON_TYPE_STR] = "string",
		                             [YYJSON_TYPE_ARR] = "[]interface {}",
		                             [YYJSON_TYPE_OBJ] = "map[string]interface {}" };
	yyjson_val *v = path ? jsonpath_first(root, path) : NULL;
	_cleanup_buf_ struct buf shown = BUF(CHECK_VALUE_MAX);
	_cleanup_mut_doc_ yyjson_mut_doc *doc = obj_doc();
	int64_t n = json_int(v, 0);

	if (!v || yyjson_is_null(v))
		return;
	if (!yyjson_is_int(v)) {
		add_value(&shown, v);
		check_add(c, CAUSE_INVALID, path, yyjson_mut_int(doc, 0),
		          "%s accessor error: %s is of the type %s, expected int64", path, buf_text(&shown),
		          types[yyjson_get_type(v)]);
	} else if (n < 0)
		check_add(c, CAUSE_INVALID, path, yyjson_mut_int(doc, n), "should be a non-negative integer");
	else if (n > INT32_MAX)
		check_add(c, CAUSE_INVALID, path, yyjson_mut_int(doc, n), "should be less than or equal to %d",
		          INT32_MAX);
}

static void check_scale(struct check *c, const struct kind *k, yyjson_mut_val *obj)
{
	const struct crd_scale *scale = crd_scale_of(k);
	_cleanup_doc_ yyjson_doc *read = scale ? yyjson_mut_val_imut_copy(obj, NULL) : NULL;

	if (!scale)
		return;
	check_replicas(c, yyjson_doc_get_root(read), scale->spec_replicas);
	check_replicas(c, yyjson_doc_get_root(read), scale->status_replicas);
}

void crd_validate(const struct kind *k, yyjson_mut_val *obj, yyjson_mut_val *old, struct causes *causes)
{
	_cleanup_check_ struct check c = check_begin(causes);
	yyjson_val *schema = crd_openapi(k);

	if (schema)
		validate(&c, schema, obj, old);
	if (!causes->n)
		check_scale(&c, k, obj);
}
