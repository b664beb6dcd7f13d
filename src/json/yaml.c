/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * YAML → yyjson document, over libyaml's event parser. No recursion: the open collections are a stack of fixed depth.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/map.h"
#include "base/str.h"
#include "json/json.h"

#define EXCERPT_MAX 60

struct level { /* an open mapping or sequence */
	yyjson_mut_val *collection;
	yyjson_mut_val *key; /* mapping: waits for its value */
	struct map seen;     /* mapping: its keys */
};

struct builder {
	yaml_parser_t parser;
	yyjson_mut_doc *doc;
	struct level levels[YAML_DEPTH_MAX];
	unsigned depth, n_documents;
	bool many; /* documents are allowed: they go into an array */
	size_t n_nodes;
	const char *where;
	struct err *err;
};

static void builder_done(struct builder *b)
{
	for (unsigned i = 0; i < b->depth; i++)
		map_done(&b->levels[i].seen);
	yyjson_mut_doc_free(b->doc);
	yaml_parser_delete(&b->parser);
}

/* "where:line:col: " as editors count them, then the text. */
_printf_(4, 5) static int refuse(struct builder *b, int code, const yaml_mark_t *at, const char *fmt, ...)
{
	_cleanup_buf_ struct buf text = BUF(ERR_TEXT_MAX);
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	return err_set(b->err, code, "%s:%zu:%zu: %s", b->where, at->line + 1, at->column + 1, buf_text(&text));
}

static const char *excerpt(struct buf *out, const char *text, size_t len)
{
	str_add_safe(out, text, len, EXCERPT_MAX);
	return buf_text(out);
}

static int refuse_syntax(struct builder *b)
{
	const yaml_parser_t *p = &b->parser;
	const char *problem = str_or(p->problem, "not YAML");

	if (p->error == YAML_MEMORY_ERROR)
		abort();
	if (p->error == YAML_READER_ERROR)
		return refuse(b, -EBADMSG, &p->mark, "%s (byte %zu)", problem, p->problem_offset);
	if (p->context)
		return refuse(b, -EBADMSG, &p->problem_mark, "%s %s", problem, p->context);
	return refuse(b, -EBADMSG, &p->problem_mark, "%s", problem);
}

static bool is_one_of(const char *s, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(s, *words) == 0)
			return true;
	return false;
}

/* [-+]?[0-9]+, 0o17, 0x1F → its digits and base; false when it is none of these. */
static bool is_int(const char *s, int *ret_base, const char **ret_digits)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	size_t n_allowed = 10;

	*ret_base = 10;
	if (s[0] == '0' && (s[1] == 'o' || s[1] == 'x')) {
		*ret_base = s[1] == 'o' ? 8 : 16;
		n_allowed = s[1] == 'o' ? 8 : strlen(digits);
		s += 2;
	} else if (*s == '-' || *s == '+')
		s++;
	*ret_digits = s;
	if (!*s)
		return false;
	for (; *s; s++)
		if (!memchr(digits, *s, n_allowed))
			return false;
	return true;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool is_float(const char *s)
{
	size_t whole, fraction = 0, exponent;

	s += *s == '-' || *s == '+';
	whole = strspn(s, "0123456789");
	s += whole;
	if (*s == '.') {
		fraction = strspn(++s, "0123456789");
		s += fraction;
	}
	if (whole + fraction == 0)
		return false;
	if (*s == 'e' || *s == 'E') {
		s++;
		s += *s == '-' || *s == '+';
		exponent = strspn(s, "0123456789");
		if (!exponent)
			return false;
		s += exponent;
	}
	return !*s;
}

/* Integers of 64 bits; what is larger becomes a floating-point number, as JSON's do. */
static yyjson_mut_val *int_value(struct builder *b, const char *text, const char *digits, int base)
{
	uint64_t v;

	errno = 0;
	v = strtoull(digits, NULL, base);
	if (errno || (*text == '-' && v > (uint64_t)INT64_MAX + 1))
		return base == 10 ? yyjson_mut_real(b->doc, strtod(text, NULL)) : NULL;
	if (*text == '-')
		return yyjson_mut_sint(b->doc, (int64_t)(0 - v));
	return yyjson_mut_uint(b->doc, v);
}

/* A plain scalar by the YAML 1.2 core schema. NULL when JSON has no such number. */
static yyjson_mut_val *plain_value(struct builder *b, const char *s, size_t len)
{
	static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
	static const char *const trues[] = { "true", "True", "TRUE", NULL };
	static const char *const falses[] = { "false", "False", "FALSE", NULL };
	static const char *const no_numbers[] = { ".inf",  ".Inf",  ".INF", "+.inf", "+.Inf", "+.INF", "-.inf",
		                                  "-.Inf", "-.INF", ".nan", ".NaN",  ".NAN",  NULL };
	const char *digits;
	int base;

	if (is_one_of(s, nulls))
		return yyjson_mut_null(b->doc);
	if (is_one_of(s, trues) || is_one_of(s, falses))
		return yyjson_mut_bool(b->doc, *s == 't' || *s == 'T');
	if (is_int(s, &base, &digits))
		return int_value(b, s, digits, base);
	if (is_float(s)) {
		double v = strtod(s, NULL);

		return isfinite(v) ? yyjson_mut_real(b->doc, v) : NULL;
	}
	if (is_one_of(s, no_numbers))
		return NULL;
	return yyjson_mut_strncpy(b->doc, s, len);
}

static int scalar_value(struct builder *b, const yaml_event_t *e, yyjson_mut_val **ret)
{
	_cleanup_buf_ struct buf shown = BUF(2 * EXCERPT_MAX);
	const char *s = (const char *)e->data.scalar.value, *tag = (const char *)e->data.scalar.tag;
	size_t len = e->data.scalar.length;

	if (memchr(s, 0, len))
		return refuse(b, -EBADMSG, &e->start_mark, "a NUL character");
	if (tag || e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		*ret = yyjson_mut_strncpy(b->doc, s, len);
	else
		*ret = plain_value(b, s, len);
	if (!*ret)
		return refuse(b, -ERANGE, &e->start_mark, "the number %s is out of range", excerpt(&shown, s, len));
	return 0;
}

static bool is_in_mapping(const struct builder *b)
{
	return b->depth && yyjson_mut_is_obj(b->levels[b->depth - 1].collection);
}

/* A key: a scalar, whatever it looks like taken as text. */
static int take_key(struct builder *b, const yaml_event_t *e)
{
	_cleanup_buf_ struct buf shown = BUF(2 * EXCERPT_MAX);
	struct level *top = &b->levels[b->depth - 1];
	const char *s = (const char *)e->data.scalar.value, *copy;
	size_t len = e->data.scalar.length;

	if (e->type != YAML_SCALAR_EVENT)
		return refuse(b, -EBADMSG, &e->start_mark, "a key must be a plain or quoted text");
	if (memchr(s, 0, len))
		return refuse(b, -EBADMSG, &e->start_mark, "a NUL character in a key");
	if (e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && str_eq(s, "<<"))
		return refuse(b, -EBADMSG, &e->start_mark, "merge keys ('<<') are not supported: write the fields out");
	top->key = yyjson_mut_strncpy(b->doc, s, len);
	copy = yyjson_mut_get_str(top->key);
	if (map_put(&top->seen, copy, (void *)(uintptr_t)copy))
		return refuse(b, -EBADMSG, &e->start_mark, "the key '%s' is there twice", excerpt(&shown, s, len));
	return 0;
}

/* Anchors and tags: the same refusals for scalars and collections. */
static int check_decoration(struct builder *b, const yaml_event_t *e, const yaml_char_t *anchor, const yaml_char_t *tag)
{
	_cleanup_buf_ struct buf shown = BUF(2 * EXCERPT_MAX);
	const char *t = (const char *)tag;
	bool is_str = e->type == YAML_SCALAR_EVENT && (str_eq(t, YAML_STR_TAG) || str_eq(t, "!"));

	if (anchor)
		return refuse(b, -EBADMSG, &e->start_mark, "anchors ('&%s') are not supported: write the value out",
		              excerpt(&shown, (const char *)anchor, strlen((const char *)anchor)));
	if (t && !is_str)
		return refuse(b, -EBADMSG, &e->start_mark, "the tag '%s' is not supported",
		              excerpt(&shown, t, strlen(t)));
	return 0;
}

static void place(struct builder *b, yyjson_mut_val *value)
{
	struct level *top = b->depth ? &b->levels[b->depth - 1] : NULL;

	if (!top)
		yyjson_mut_doc_set_root(b->doc, value);
	else if (is_in_mapping(b))
		yyjson_mut_obj_add(top->collection, TAKE_PTR(top->key), value);
	else
		yyjson_mut_arr_append(top->collection, value);
}

static int take_node(struct builder *b, const yaml_event_t *e)
{
	const yaml_char_t *anchor, *tag;
	yyjson_mut_val *value;
	int r;

	if (e->type == YAML_SCALAR_EVENT)
		anchor = e->data.scalar.anchor, tag = e->data.scalar.tag;
	else if (e->type == YAML_MAPPING_START_EVENT)
		anchor = e->data.mapping_start.anchor, tag = e->data.mapping_start.tag;
	else
		anchor = e->data.sequence_start.anchor, tag = e->data.sequence_start.tag;
	r = check_decoration(b, e, anchor, tag);
	if (r < 0)
		return r;
	if (++b->n_nodes > YAML_NODES_MAX)
		return refuse(b, -E2BIG, &e->start_mark, "more than %d values", YAML_NODES_MAX);
	if (is_in_mapping(b) && !b->levels[b->depth - 1].key)
		return take_key(b, e);
	if (e->type == YAML_SCALAR_EVENT) {
		r = scalar_value(b, e, &value);
		if (r < 0)
			return r;
		place(b, value);
		return 0;
	}
	if (b->depth == YAML_DEPTH_MAX)
		return refuse(b, -E2BIG, &e->start_mark, "nested deeper than %d levels", YAML_DEPTH_MAX);
	value = e->type == YAML_MAPPING_START_EVENT ? yyjson_mut_obj(b->doc) : yyjson_mut_arr(b->doc);
	place(b, value);
	b->levels[b->depth++] = (struct level) { .collection = value, .seen = MAP_INIT };
	return 0;
}

static int take_event(struct builder *b, const yaml_event_t *e)
{
	_cleanup_buf_ struct buf shown = BUF(2 * EXCERPT_MAX);
	const char *name;

	switch (e->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (++b->n_documents > 1 && !b->many)
			return refuse(b, -EBADMSG, &e->start_mark,
			              "a second document starts here: only one is expected");
		return 0;
	case YAML_ALIAS_EVENT:
		name = (const char *)e->data.alias.anchor;
		return refuse(b, -EBADMSG, &e->start_mark, "aliases ('*%s') are not supported: write the value out",
		              excerpt(&shown, name, strlen(name)));
	case YAML_SCALAR_EVENT:
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT: return take_node(b, e);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT: map_done(&b->levels[--b->depth].seen); return 0;
	default: return 0;
	}
}

static int build(struct builder *b)
{
	for (bool more = true; more;) {
		yaml_event_t e;
		int r;

		if (!yaml_parser_parse(&b->parser, &e))
			return refuse_syntax(b);
		more = e.type != YAML_STREAM_END_EVENT;
		r = take_event(b, &e);
		yaml_event_delete(&e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int parse(const char *text, size_t len, const char *where, bool many, yyjson_doc **ret, struct err *err)
{
	struct builder b = { .where = str_or(where, "YAML"), .many = many, .err = err };
	yyjson_doc *doc;
	int r;

	if (len > YAML_TEXT_MAX)
		return err_set(err, -EFBIG, "%s: larger than %zu KiB", b.where, YAML_TEXT_MAX >> 10);
	if (!yaml_parser_initialize(&b.parser))
		abort();
	yaml_parser_set_input_string(&b.parser, (const unsigned char *)text, len);
	b.doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_doc_set_root(b.doc, many ? yyjson_mut_arr(b.doc) : yyjson_mut_null(b.doc));
	if (many)
		b.levels[b.depth++] = (struct level) { .collection = yyjson_mut_doc_get_root(b.doc), .seen = MAP_INIT };
	r = build(&b);
	doc = r == 0 ? yyjson_mut_doc_imut_copy(b.doc, NULL) : NULL;
	builder_done(&b);
	if (r < 0)
		return r;
	if (!doc)
		abort();
	*ret = doc;
	return 0;
}

int yaml_parse(const char *text, size_t len, const char *where, yyjson_doc **ret, struct err *err)
{
	return parse(text, len, where, false, ret, err);
}

int yaml_parse_all(const char *text, size_t len, const char *where, yyjson_doc **ret, struct err *err)
{
	return parse(text, len, where, true, ret, err);
}
