/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Label selectors, and what both kinds share. Parsing follows the real server's parsers step by step, because
 * their messages tell where they stopped.
 */
#include "lite/selector_terms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/names.h"
#include "lite/obj.h"

void selector_free(struct selector *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++) {
		for (size_t j = 0; j < s->terms[i].n_values; j++)
			free(s->terms[i].values[j]);
		free(s->terms[i].values);
		free(s->terms[i].key);
	}
	free(s->terms);
	free(s);
}

struct term *selector_add_term(struct selector *s, const char *key, size_t len, enum selector_op op)
{
	s->terms = mem_realloc_n(s->terms, s->n + 1, sizeof(*s->terms));
	s->terms[s->n] = (struct term) { .key = mem_strndup(key, len), .op = op };
	return &s->terms[s->n++];
}

void term_add_value(struct term *t, const char *value, size_t len)
{
	_cleanup_free_ char *copy = mem_strndup(value, len);
	size_t at = 0;

	while (at < t->n_values && strcmp(t->values[at], copy) < 0)
		at++;
	if (at < t->n_values && str_eq(t->values[at], copy))
		return;
	t->values = mem_realloc_n(t->values, t->n_values + 1, sizeof(*t->values));
	memmove(&t->values[at + 1], &t->values[at], (t->n_values - at) * sizeof(*t->values));
	t->values[at] = TAKE_PTR(copy);
	t->n_values++;
}

/* --------------------------------------------------------------------------------------------- words of a selector */

enum token {
	T_END,
	T_ERROR,
	T_NAME,
	T_IN,
	T_NOT_IN,
	T_EQUAL,
	T_DOUBLE,
	T_NOT_EQUAL,
	T_NOT,
	T_GREATER,
	T_LESS,
	T_COMMA,
	T_OPEN,
	T_CLOSE
};

struct lexer {
	const char *at; /* behind the word in hand */
	enum token token; /* the word in hand */
	const char *text;
	size_t len;
};

static const struct {
	const char *text;
	enum token token;
} symbols[] = {
	/* longer ones first */
	{ "==", T_DOUBLE }, { "!=", T_NOT_EQUAL }, { "=", T_EQUAL }, { "!", T_NOT },   { ">", T_GREATER },
	{ "<", T_LESS },    { ",", T_COMMA },      { "(", T_OPEN },  { ")", T_CLOSE },
};

#define SPECIAL "=!(),><"
#define BLANK " \t\r\n"

static void next(struct lexer *l)
{
	l->at += strspn(l->at, BLANK);
	l->text = l->at;
	l->token = T_END;
	l->len = 0;
	if (!*l->at)
		return;
	for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
		if (!str_starts(l->at, symbols[i].text))
			continue;
		l->token = symbols[i].token;
		l->len = strlen(symbols[i].text);
		l->at += l->len;
		return;
	}
	l->len = strcspn(l->at, SPECIAL BLANK);
	l->at += l->len;
	l->token = l->len == 2 && !strncmp(l->text, "in", 2)      ? T_IN
	           : l->len == 5 && !strncmp(l->text, "notin", 5) ? T_NOT_IN
	                                                          : T_NAME;
}

/* "in" and "notin" are names where a name is expected. */
static bool is_name(const struct lexer *l)
{
	return l->token == T_NAME || l->token == T_IN || l->token == T_NOT_IN;
}

static int found(struct lexer *l, struct status *st, const char *before, const char *expected)
{
	return status_bad_request(st, "%sfound '%.*s'%s", before, (int)l->len, l->text, expected);
}

#define IN_REQUIREMENT "unable to parse requirement: "

/* ------------------------------------------------------------------------------------------------- label selectors */

static int check_key(const char *key, struct status *st)
{
	struct name_errors errors;
	char text[2000];

	if (!name_label_key(key, &errors))
		return 0;
	return status_bad_request(st, IN_REQUIREMENT "<nil>: Invalid value: \"%s\": %s", key,
	                          name_errors_text(&errors, text, sizeof(text)));
}

static int check_values(struct term *t, struct status *st)
{
	struct name_errors errors;
	char text[2000];

	if (t->op == OP_GREATER || t->op == OP_LESS)
		if (str_to_i64(t->values[0], INT64_MIN, INT64_MAX, &t->number) < 0)
			return status_bad_request(st,
			                          IN_REQUIREMENT
			                          "values[0]: Invalid value: \"%s\": for 'Gt', 'Lt' operators, "
			                          "the value must be an integer",
			                          t->values[0]);
	for (size_t i = 0; i < t->n_values; i++)
		if (name_label_value(t->values[i], &errors))
			return status_bad_request(st, IN_REQUIREMENT "values[%zu][%s]: Invalid value: \"%s\": %s", i,
			                          t->key, t->values[i], name_errors_text(&errors, text, sizeof(text)));
	return 0;
}

/* The values of a set, from behind its '(' to behind its ')'. "(,a)" and "(a,)" have the empty value too. */
static int parse_set(struct lexer *l, struct term *t, struct status *st)
{
	bool want_value = true;

	if (l->token != T_OPEN)
		return found(l, st, IN_REQUIREMENT, " expected: '('");
	next(l);
	if (!is_name(l) && l->token != T_COMMA && l->token != T_CLOSE)
		return found(l, st, IN_REQUIREMENT, ", expected: ',', ')' or identifier");
	for (;; next(l)) {
		if (is_name(l) && want_value) {
			term_add_value(t, l->text, l->len);
			want_value = false;
		} else if (l->token == T_COMMA || l->token == T_CLOSE) {
			if (want_value)
				term_add_value(t, "", 0);
			want_value = true;
			if (l->token == T_CLOSE)
				break;
		} else {
			return found(l, st, IN_REQUIREMENT,
			             want_value ? ", expected: ',', or identifier" : ", expected: ',' or ')'");
		}
	}
	next(l);
	return 0;
}

static int parse_exact(struct lexer *l, struct term *t, struct status *st)
{
	if (l->token == T_END || l->token == T_COMMA) {
		term_add_value(t, "", 0);
		return 0;
	}
	if (!is_name(l))
		return found(l, st, IN_REQUIREMENT, ", expected: identifier");
	term_add_value(t, l->text, l->len);
	next(l);
	return 0;
}

static int parse_requirement(struct lexer *l, struct selector *s, struct status *st)
{
	bool absent = l->token == T_NOT;
	struct term *t;
	enum token op;
	int r;

	if (absent)
		next(l);
	if (!is_name(l))
		return found(l, st, IN_REQUIREMENT, ", expected: identifier");
	t = selector_add_term(s, l->text, l->len, absent ? OP_ABSENT : OP_EXISTS);
	r = check_key(t->key, st);
	if (r < 0)
		return r;
	next(l);
	if (absent || l->token == T_END || l->token == T_COMMA)
		return 0;
	op = l->token;
	switch (op) {
	case T_IN:
	case T_EQUAL:
	case T_DOUBLE: t->op = OP_IN; break;
	case T_NOT_IN:
	case T_NOT_EQUAL: t->op = OP_NOT_IN; break;
	case T_GREATER: t->op = OP_GREATER; break;
	case T_LESS: t->op = OP_LESS; break;
	default: return found(l, st, IN_REQUIREMENT, ", expected: in, notin, =, ==, !=, gt, lt");
	}
	next(l);
	t->set_syntax = op == T_IN || op == T_NOT_IN;
	r = t->set_syntax ? parse_set(l, t, st) : parse_exact(l, t, st);
	return r < 0 ? r : check_values(t, st);
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct term *)a)->key, ((const struct term *)b)->key);
}

int selector_parse_labels(const char *text, struct selector **ret, struct status *st)
{
	_cleanup_(selector_freep) struct selector *s = NEW(struct selector);
	struct lexer l = { .at = str_or(text, "") };
	int r;

	if (strlen(l.at) > SELECTOR_TEXT_MAX)
		return status_bad_request(st, "the label selector is longer than %d bytes", SELECTOR_TEXT_MAX);
	for (next(&l); l.token != T_END;) {
		if (!is_name(&l) && l.token != T_NOT)
			return found(&l, st, "", ", expected: !, identifier, or 'end of string'");
		if (s->n == SELECTOR_TERMS_MAX)
			return status_bad_request(st, "the label selector has more than %d requirements",
			                          SELECTOR_TERMS_MAX);
		r = parse_requirement(&l, s, st);
		if (r < 0)
			return r;
		if (l.token == T_END)
			break;
		if (l.token != T_COMMA)
			return found(&l, st, "", ", expected: ',' or 'end of string'");
		next(&l);
		if (!is_name(&l) && l.token != T_NOT)
			return found(&l, st, "", ", expected: identifier after ','");
	}
	if (s->n)
		qsort(s->terms, s->n, sizeof(*s->terms), by_key);
	*ret = TAKE_PTR(s);
	return 0;
}

static int add_expression(struct selector *s, yyjson_val *e)
{
	static const struct {
		const char *name;
		enum selector_op op;
	} operators[] = {
		{ "In", OP_IN }, { "NotIn", OP_NOT_IN }, { "Exists", OP_EXISTS }, { "DoesNotExist", OP_ABSENT }
	};
	const char *name = yyjson_get_str(yyjson_obj_get(e, "operator")),
	           *key = yyjson_get_str(yyjson_obj_get(e, "key"));
	size_t i = 0, index, max;
	yyjson_val *value;
	struct term *t;

	while (i < ARRAY_LEN(operators) && !str_eq(operators[i].name, name))
		i++;
	if (i == ARRAY_LEN(operators) || !key)
		return -EINVAL;
	t = selector_add_term(s, key, strlen(key), operators[i].op);
	t->set_syntax = true;
	yyjson_arr_foreach(yyjson_obj_get(e, "values"), index, max, value) if (yyjson_is_str(value))
	        term_add_value(t, yyjson_get_str(value), yyjson_get_len(value));
	return (t->op == OP_IN || t->op == OP_NOT_IN) && !t->n_values ? -EINVAL : 0;
}

int selector_from_object(yyjson_val *selector, struct selector **ret)
{
	_cleanup_(selector_freep) struct selector *s = NEW(struct selector);
	size_t i, max;
	yyjson_val *key, *val;
	int r;

	s->nothing = !yyjson_is_obj(selector);
	yyjson_obj_foreach(yyjson_obj_get(selector, "matchLabels"), i, max, key, val)
	{
		struct term *t = selector_add_term(s, yyjson_get_str(key), yyjson_get_len(key), OP_IN);

		if (!yyjson_is_str(val))
			return -EINVAL;
		term_add_value(t, yyjson_get_str(val), yyjson_get_len(val));
	}
	yyjson_arr_foreach(yyjson_obj_get(selector, "matchExpressions"), i, max, val)
	{
		r = add_expression(s, val);
		if (r < 0)
			return r;
	}
	if (s->n)
		qsort(s->terms, s->n, sizeof(*s->terms), by_key);
	*ret = TAKE_PTR(s);
	return 0;
}

bool term_matches(const struct term *t, const char *value)
{
	int64_t number;
	bool in = false;

	for (size_t i = 0; value && i < t->n_values && !in; i++)
		in = str_eq(t->values[i], value);
	switch (t->op) {
	case OP_IN: return in;
	case OP_NOT_IN: return !in;
	case OP_EXISTS: return value;
	case OP_ABSENT: return !value;
	case OP_GREATER:
	case OP_LESS:
		if (!value || str_to_i64(value, INT64_MIN, INT64_MAX, &number) < 0)
			return false;
		return t->op == OP_GREATER ? number > t->number : number < t->number;
	}
	return false;
}

bool selector_matches(const struct selector *s, yyjson_val *labels)
{
	if (!s)
		return true;
	for (size_t i = 0; i < s->n; i++)
		if (!term_matches(&s->terms[i], yyjson_get_str(yyjson_obj_get(labels, s->terms[i].key))))
			return false;
	return !s->nothing;
}

bool selector_matches_labels(const struct selector *s, yyjson_val *object)
{
	return !s || selector_matches(s, val_at(object, "metadata", "labels"));
}

char *selector_text(const struct selector *s)
{
	static const char *const words[] = {
		[OP_IN] = " in (", [OP_NOT_IN] = " notin (", [OP_GREATER] = ">", [OP_LESS] = "<"
	};
	_cleanup_buf_ struct buf out = BUF(2 * SELECTOR_TEXT_MAX);

	for (size_t i = 0; s && i < s->n; i++) {
		const struct term *t = &s->terms[i];
		bool set = t->set_syntax && (t->op == OP_IN || t->op == OP_NOT_IN);

		buf_printf(&out, "%s%s%s", i ? "," : "", t->op == OP_ABSENT ? "!" : "", t->key);
		if (t->op == OP_EXISTS || t->op == OP_ABSENT)
			continue;
		buf_add_str(&out, set ? words[t->op] : t->op == OP_IN ? "=" : t->op == OP_NOT_IN ? "!=" : words[t->op]);
		for (size_t j = 0; j < t->n_values; j++)
			buf_printf(&out, "%s%s", j ? "," : "", t->values[j]);
		if (set)
			buf_add_char(&out, ')');
	}
	return mem_strdup(buf_text(&out));
}
