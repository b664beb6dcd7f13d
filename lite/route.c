/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/route.h"

#include <ctype.h>
#include <string.h>

#include "base/str.h"

static const struct {
	const char *method, *one, *many;
} verbs[] = {
	{ "GET", "get", "list" },      { "HEAD", "get", "list" },     { "POST", "create", "create" },
	{ "PUT", "update", "update" }, { "PATCH", "patch", "patch" }, { "DELETE", "delete", "deletecollection" },
};

static const char *verb_of(const char *method, bool many, bool watch)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (str_eq(verbs[i].method, method)) {
			const char *verb = many ? verbs[i].many : verbs[i].one;

			return watch && (str_eq(verb, "list") || str_eq(verb, "get")) ? "watch" : verb;
		}
	return "";
}

static const char *plain_verb(const char *method)
{
	static const char *const names[][2] = { { "GET", "get" },        { "HEAD", "head" },   { "POST", "post" },
		                                { "PUT", "put" },        { "PATCH", "patch" }, { "DELETE", "delete" },
		                                { "OPTIONS", "options" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str_eq(names[i][0], method))
			return names[i][1];
	return "";
}

/* Splits at slashes, empty parts left out; the text is cut up. */
static size_t split(char *text, const char *parts[ROUTE_PARTS_MAX])
{
	size_t n = 0;
	char *save = NULL;

	for (char *p = strtok_r(text, "/", &save); p && n < ROUTE_PARTS_MAX; p = strtok_r(NULL, "/", &save))
		parts[n++] = p;
	return n;
}

/* Of a namespace itself, not of something inside it. */
static bool namespace_sub(const char *s)
{
	return str_eq(s, "status") || str_eq(s, "finalize");
}

bool route_parse(struct route *r, const char *method, const char *path, bool watch)
{
	const char *parts[ROUTE_PARTS_MAX], **p = parts;
	size_t n;

	memset(r, 0, offsetof(struct route, text) + 1);
	*r = (struct route) { .path = path, .group = "", .version = "", .plural = "", .ns = "", .name = "", .sub = "" };
	r->verb = plain_verb(method);
	if (!str_copy(r->text, sizeof(r->text), path))
		return false;
	n = split(r->text, parts);
	if (n >= 3 && str_eq(p[0], "api")) {
		r->version = p[1];
		p += 2;
		n -= 2;
	} else if (n >= 4 && str_eq(p[0], "apis")) {
		r->group = p[1];
		r->version = p[2];
		p += 3;
		n -= 3;
	} else {
		return true;
	}
	r->resource = true;
	if (n >= 3 && str_eq(p[0], "namespaces") && !namespace_sub(p[2])) {
		r->ns = p[1];
		p += 2;
		n -= 2;
	}
	r->plural = p[0];
	if (n > 1)
		r->name = p[1];
	if (n > 2)
		r->sub = p[2];
	r->resource = n <= 3;
	r->verb = verb_of(method, n == 1, watch);
	return true;
}
