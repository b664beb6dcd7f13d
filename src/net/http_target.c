/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/http_target.h"

#include <errno.h>
#include <strings.h>

#include "base/str.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Decodes one character at *p and moves behind it. -1: an escape that is none, or a NUL. */
static int take_char(const char **p, const char *end, bool *ret_escaped)
{
	const char *at = *p;
	int high, low;

	*ret_escaped = *at == '%';
	if (!*ret_escaped) {
		(*p)++;
		return (unsigned char)*at;
	}
	if (end - at < 3)
		return -1;
	high = hex_digit(at[1]);
	low = hex_digit(at[2]);
	*p = at + 3;
	return high < 0 || low < 0 || high + low == 0 ? -1 : high * 16 + low;
}

static int decode_path(const char *text, const char *end, struct buf *out, struct err *err)
{
	size_t start = out->len;
	bool escaped;

	if (text == end || *text != '/')
		return err_set(err, -EINVAL, "the path does not begin with a slash");
	while (text < end) {
		int c = take_char(&text, end, &escaped);

		if (c < 0)
			return err_set(err, -EINVAL, "the path has a broken escape in it");
		if (c < 0x20 || c == 0x7f)
			return err_set(err, -EINVAL, "the path has a control character in it");
		if (escaped && c == '/')
			return err_set(err, -EINVAL, "the path has an encoded slash in it");
		buf_add_char(out, (char)c);
	}
	if (!out->error && !str_is_utf8(out->data + start, out->len - start))
		return err_set(err, -EINVAL, "the path is no UTF-8");
	return buf_add_char(out, 0);
}

static int decode_query_part(const char *text, const char *end, struct buf *out, struct err *err)
{
	bool escaped;

	while (text < end) {
		int c = take_char(&text, end, &escaped);

		if (c < 0)
			return err_set(err, -EINVAL, "the query has a broken escape in it");
		buf_add_char(out, c == '+' && !escaped ? ' ' : (char)c);
	}
	return buf_add_char(out, 0);
}

static int decode_pair(const char *text, const char *end, struct buf *out, struct err *err)
{
	const char *equals = memchr(text, '=', (size_t)(end - text));
	int r;

	r = decode_query_part(text, equals ? equals : end, out, err);
	if (r < 0)
		return r;
	return decode_query_part(equals ? equals + 1 : end, end, out, err);
}

int http_target_decode(const char *target, struct buf *out, struct err *err)
{
	const char *end = target + strlen(target), *mark = strchrnul(target, '?'), *at, *next;
	size_t n = 0;
	int r;

	r = decode_path(target, mark, out, err);
	for (at = mark; r == 0 && at < end; at = next) {
		at++; /* the '?' or '&' */
		next = memchr(at, '&', (size_t)(end - at));
		next = next ? next : end;
		if (next == at)
			continue;
		if (++n > HTTP_QUERY_MAX)
			return err_set(err, -EINVAL, "the query has more than %d parts", HTTP_QUERY_MAX);
		r = decode_pair(at, next, out, err);
	}
	return r;
}

const char *http_pairs_find(const char *pairs, size_t len, const char *key, bool any_case)
{
	const char *end = pairs + len;

	while (pairs < end) {
		const char *value = pairs + strlen(pairs) + 1;

		if (any_case ? strcasecmp(pairs, key) == 0 : strcmp(pairs, key) == 0)
			return value;
		pairs = value + strlen(value) + 1;
	}
	return NULL;
}
