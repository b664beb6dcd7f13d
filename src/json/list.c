/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json/list.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"

#define KEY_MAX 128 /* of the outer object; a longer one is cut, and so is none that anyone looks for */

struct walk {
	struct json_parser *parser;
	char *text;
	size_t len, at;
	const char *items;
	const struct json_list_calls *calls;
	void *arg;
	struct err *err;
};

/* The next character that is no blank, 0 at the end; it stays. */
static char peek(struct walk *w)
{
	while (w->at < w->len && memchr(" \t\r\n", w->text[w->at], 4))
		w->at++;
	return w->at < w->len ? w->text[w->at] : 0;
}

static bool at_end(struct walk *w)
{
	peek(w);
	return w->at == w->len;
}

static int expect(struct walk *w, char c, const char *what)
{
	if (peek(w) != c)
		return json_refuse(w->text, w->len, w->at, what, w->err);
	w->at++;
	return 0;
}

static int next_value(struct walk *w, yyjson_val **ret)
{
	yyjson_doc *doc;
	int r = json_parse_next(w->parser, w->text, w->len, &w->at, &doc, w->err);

	if (r == 0)
		*ret = yyjson_doc_get_root(doc);
	return r;
}

/* After a member or an item: a comma and more, or the end. */
static int more(struct walk *w, char end, const char *what, bool *ret)
{
	char c = peek(w);

	if (c != ',' && c != end)
		return json_refuse(w->text, w->len, w->at, what, w->err);
	w->at++;
	*ret = c == ',';
	return 0;
}

static int walk_items(struct walk *w)
{
	bool again = true;
	int r = expect(w, '[', "expected an array");

	if (r == 0 && peek(w) == ']') {
		w->at++;
		return 0;
	}
	for (size_t i = 0; r == 0 && again; i++) {
		yyjson_val *value = NULL;

		r = next_value(w, &value);
		if (r == 0)
			r = w->calls->item(w->arg, i, value, w->err);
		if (r == 0)
			r = more(w, ']', "expected ',' or ']'", &again);
	}
	return r;
}

static int walk_member(struct walk *w)
{
	char key[KEY_MAX];
	yyjson_val *value = NULL;
	int r;

	if (peek(w) != '"')
		return json_refuse(w->text, w->len, w->at, "expected a key", w->err);
	r = next_value(w, &value);
	if (r < 0)
		return r;
	str_copy(key, sizeof(key), yyjson_get_str(value));
	r = expect(w, ':', "expected ':'");
	if (r < 0)
		return r;
	if (str_eq(key, w->items) && peek(w) == '[')
		return walk_items(w);
	r = next_value(w, &value);
	if (r < 0)
		return r;
	if (!str_eq(key, w->items))
		return w->calls->member(w->arg, key, value, w->err);
	return yyjson_is_null(value) ? 0 : err_set(w->err, -EBADMSG, "%s: expected an array", key);
}

int json_list_walk(struct json_parser *p, char *text, size_t len, const char *items,
                   const struct json_list_calls *calls, void *arg, struct err *err)
{
	struct walk w = { p, text, len, 0, items, calls, arg, err };
	bool again = true;
	int r;

	if (at_end(&w))
		return err_set(err, -EBADMSG, "not JSON: it is empty");
	r = expect(&w, '{', "expected an object");
	if (r == 0 && peek(&w) == '}') {
		w.at++;
		again = false;
	}
	while (r == 0 && again) {
		r = walk_member(&w);
		if (r == 0)
			r = more(&w, '}', "expected ',' or '}'", &again);
	}
	if (r == 0 && !at_end(&w))
		r = json_refuse(text, len, w.at, "unexpected content after the list", err);
	return r;
}
