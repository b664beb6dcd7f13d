/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/jsonpath.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum step_kind { STEP_END, STEP_NAME, STEP_INDEX, STEP_ALL, STEP_FILTER, STEP_BAD };

struct step {
	enum step_kind kind;
	char name[JSONPATH_MAX];  /* STEP_NAME; of STEP_FILTER, the path behind @ */
	char value[JSONPATH_MAX]; /* STEP_FILTER: what it must be equal to */
	bool unequal;
	int64_t index;
};

/* A name up to an unescaped '.' or '['. */
static const char *take_name(const char *p, struct step *s)
{
	size_t n = 0;

	for (; *p && *p != '.' && *p != '['; p++) {
		if (*p == '\\' && p[1])
			p++;
		if (n + 1 < JSONPATH_MAX)
			s->name[n++] = *p;
	}
	s->name[n] = '\0';
	s->kind = str_eq(s->name, "*") ? STEP_ALL : n ? STEP_NAME : STEP_BAD;
	return p;
}

/* 'text' or "text" → to; behind the closing quote, or NULL. */
static const char *take_quoted(const char *p, char to[JSONPATH_MAX])
{
	char quote = *p++;
	size_t n = 0;

	for (; *p && *p != quote; p++) {
		if (*p == '\\' && p[1])
			p++;
		if (n + 1 < JSONPATH_MAX)
			to[n++] = *p;
	}
	to[n] = '\0';
	return *p ? p + 1 : NULL;
}

/* ?(@.type=="Ready")] */
static const char *take_filter(const char *p, struct step *s)
{
	size_t n;

	if (!str_starts(p, "?(@"))
		return NULL;
	p += 3;
	n = strcspn(p, "=! )");
	if (n >= JSONPATH_MAX)
		return NULL;
	memcpy(s->name, p, n);
	s->name[n] = '\0';
	p += n;
	p += strspn(p, " ");
	if (!str_starts(p, "==") && !str_starts(p, "!="))
		return NULL;
	s->unequal = *p == '!';
	p += 2;
	p += strspn(p, " ");
	if (*p == '"' || *p == '\'') {
		p = take_quoted(p, s->value);
	} else {
		n = strcspn(p, ") ");
		if (n >= JSONPATH_MAX)
			return NULL;
		memcpy(s->value, p, n);
		s->value[n] = '\0';
		p += n;
	}
	if (!p)
		return NULL;
	p += strspn(p, " ");
	s->kind = STEP_FILTER;
	return str_starts(p, ")]") ? p + 2 : NULL;
}

static const char *take_bracket(const char *p, struct step *s)
{
	char number[24];
	size_t n;

	if (*p == '?')
		return take_filter(p, s);
	if (*p == '\'' || *p == '"') {
		p = take_quoted(p, s->name);
		s->kind = STEP_NAME;
		return p && *p == ']' ? p + 1 : NULL;
	}
	if (str_starts(p, "*]")) {
		s->kind = STEP_ALL;
		return p + 2;
	}
	n = strcspn(p, "]");
	if (!p[n] || n >= sizeof(number))
		return NULL;
	memcpy(number, p, n);
	number[n] = '\0';
	s->kind = STEP_INDEX;
	return str_to_i64(number, INT32_MIN, INT32_MAX, &s->index) < 0 ? NULL : p + n + 1;
}

/* The next step; behind it. */
static const char *take_step(const char *p, struct step *s)
{
	s->kind = STEP_END;
	if (!*p)
		return p;
	if (*p == '[')
		p = take_bracket(p + 1, s);
	else
		p = take_name(*p == '.' ? p + 1 : p, s);
	if (!p)
		s->kind = STEP_BAD;
	return p;
}

static bool filter_holds(const struct step *s, yyjson_val *v)
{
	yyjson_val *found = jsonpath_first(v, s->name);
	_cleanup_free_ char *text = NULL;

	if (!found)
		return false;
	if (!yyjson_is_str(found))
		text = yyjson_val_write(found, 0, NULL);
	return str_eq(text ? text : yyjson_get_str(found), s->value) != s->unequal;
}

static void walk(yyjson_val *v, const char *path, void (*found)(void *arg, yyjson_val *v), void *arg)
{
	struct step s;
	size_t i, max;
	yyjson_val *key, *val;

	if (!v)
		return;
	path = take_step(path, &s);
	switch (s.kind) {
	case STEP_END: found(arg, v); break;
	case STEP_NAME: walk(yyjson_obj_get(v, s.name), path, found, arg); break;
	case STEP_INDEX:
		if (s.index < 0)
			s.index += (int64_t)yyjson_arr_size(v);
		if (s.index >= 0)
			walk(yyjson_arr_get(v, (size_t)s.index), path, found, arg);
		break;
	case STEP_ALL:
	case STEP_FILTER:
		yyjson_arr_foreach(v, i, max, val)
		{
			if (s.kind == STEP_ALL || filter_holds(&s, val))
				walk(val, path, found, arg);
		}
		yyjson_obj_foreach(v, i, max, key, val)
		{
			if (s.kind == STEP_ALL || filter_holds(&s, val))
				walk(val, path, found, arg);
		}
		break;
	case STEP_BAD: break;
	}
}

void jsonpath_each(yyjson_val *root, const char *path, void (*found)(void *arg, yyjson_val *v), void *arg)
{
	if (strlen(path) < JSONPATH_MAX)
		walk(root, str_eq(path, ".") ? "" : path, found, arg);
}

static void keep_first(void *arg, yyjson_val *v)
{
	yyjson_val **first = arg;

	if (!*first)
		*first = v;
}

yyjson_val *jsonpath_first(yyjson_val *root, const char *path)
{
	yyjson_val *first = NULL;

	jsonpath_each(root, path, keep_first, &first);
	return first;
}

const char *jsonpath_check(const char *path)
{
	struct step s;

	if (strlen(path) >= JSONPATH_MAX)
		return "it is too long";
	if (*path != '.' && *path != '[')
		return "must be a simple json path starting with .";
	do {
		path = take_step(path, &s);
		if (s.kind == STEP_BAD)
			return "it is not understood";
	} while (s.kind != STEP_END);
	return NULL;
}
