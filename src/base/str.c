/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/str.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

bool str_starts(const char *s, const char *prefix)
{
	return s && strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
	size_t n = s ? strlen(s) : 0, m = strlen(suffix);

	return s && n >= m && memcmp(s + n - m, suffix, m) == 0;
}

bool str_copy(char *to, size_t size, const char *from)
{
	size_t len = from ? strlen(from) : 0, n;

	assert(size > 0);
	n = MIN_OF(len, size - 1);
	if (n < len)
		while (n > 0 && ((unsigned char)from[n] & 0xC0) == 0x80)
			n--;
	if (n)
		memcpy(to, from, n);
	to[n] = 0;
	return n == len;
}

char *str_printf(const char *fmt, ...)
{
	va_list ap, again;
	char *s;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	s = mem_alloc((size_t)(n < 0 ? 0 : n) + 1);
	if (n > 0)
		vsnprintf(s, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return s;
}

int str_to_i64(const char *s, int64_t min, int64_t max, int64_t *ret)
{
	bool negative = *s == '-';
	int64_t v = 0;

	if (negative)
		s++;
	if (!*s)
		return -EINVAL;
	for (; *s; s++) {
		int digit = *s - '0';

		if (digit < 0 || digit > 9)
			return -EINVAL;
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, negative ? -digit : digit, &v)) {
			/* still say "no number" of something like 99999999999999999999x */
			for (s++; *s; s++)
				if (*s < '0' || *s > '9')
					return -EINVAL;
			return -ERANGE;
		}
	}
	if (v < min || v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

/* Length of the valid UTF-8 sequence at s, 0 when there is none: no overlong forms, no surrogates, no rest. */
static size_t utf8_len(const unsigned char *s, size_t len)
{
	size_t need;
	uint32_t code;
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };

	if (s[0] < 0x80)
		return 1;
	if ((s[0] & 0xE0) == 0xC0) {
		need = 2;
		code = s[0] & 0x1F;
	} else if ((s[0] & 0xF0) == 0xE0) {
		need = 3;
		code = s[0] & 0x0F;
	} else if ((s[0] & 0xF8) == 0xF0) {
		need = 4;
		code = s[0] & 0x07;
	} else
		return 0;
	if (need > len)
		return 0;
	for (size_t i = 1; i < need; i++) {
		if ((s[i] & 0xC0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3F);
	}
	if (code < smallest[need] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
		return 0;
	return need;
}

bool str_is_utf8(const char *s, size_t len)
{
	size_t n;

	for (size_t i = 0; i < len; i += n) {
		n = utf8_len((const unsigned char *)s + i, len - i);
		if (n == 0)
			return false;
	}
	return true;
}

static bool is_control(unsigned char c)
{
	return c < 0x20 || c == 0x7F;
}

bool str_has_control(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (is_control((unsigned char)s[i]))
			return true;
	return false;
}

/* A character of n bytes that is no line's business: C1 controls, which terminals obey too, line and paragraph
 * separators, and the marks that make text run the other way. */
static bool is_tricky(const unsigned char *p, size_t n)
{
	if (n == 2)
		return p[0] == 0xC2 && p[1] < 0xA0;
	if (n != 3 || p[0] != 0xE2)
		return false;
	return (p[1] == 0x80 && ((p[2] >= 0x8E && p[2] <= 0x8F) || (p[2] >= 0xA8 && p[2] <= 0xAE))) ||
	       (p[1] == 0x81 && p[2] >= 0xA6 && p[2] <= 0xA9);
}

/* Writes the harmless form of the character at p; returns how many bytes it took. */
static size_t safe_form(const unsigned char *p, size_t len, char text[8])
{
	size_t n = utf8_len(p, len);

	if (n == 0 || is_control(*p)) {
		switch (*p) {
		case '\n': str_copy(text, 8, "\\n"); break;
		case '\r': str_copy(text, 8, "\\r"); break;
		case '\t': str_copy(text, 8, "\\t"); break;
		default: snprintf(text, 8, "\\x%02x", *p);
		}
		return 1;
	}
	if (*p == '\\')
		str_copy(text, 8, "\\\\");
	else if (!is_tricky(p, n)) {
		memcpy(text, p, n);
		text[n] = 0;
	} else if (n == 2)
		snprintf(text, 8, "\\x%02x", p[1]);
	else
		snprintf(text, 8, "\\u%04x",
		         (unsigned)(p[0] & 0x0F) << 12 | (unsigned)(p[1] & 0x3F) << 6 | (p[2] & 0x3F));
	return n;
}

/* Most are: nothing in it needs another form. */
static bool is_plain(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (s[i] < ' ' || s[i] > '~' || s[i] == '\\')
			return false;
	return true;
}

void str_add_safe(struct buf *out, const char *s, size_t len, size_t max_bytes)
{
	static const char mark[] = "…";
	size_t start = out->len, fits = start, n;

	if (len <= max_bytes && is_plain(s, len)) {
		buf_add(out, s, len);
		return;
	}
	for (size_t i = 0; i < len; i += n) {
		char text[8];

		n = safe_form((const unsigned char *)s + i, len - i, text);
		if (out->len - start + strlen(text) > max_bytes) {
			if (out->len > fits)
				out->data[out->len = fits] = 0;
			if (max_bytes >= sizeof(mark) - 1)
				buf_add_str(out, mark);
			return;
		}
		if (buf_add_str(out, text) < 0)
			return;
		if (out->len - start + sizeof(mark) - 1 <= max_bytes)
			fits = out->len;
	}
}

void str_mask_unsafe(char *s)
{
	size_t len = strlen(s), n;

	for (size_t i = 0; i < len; i += n) {
		unsigned char *p = (unsigned char *)s + i;

		n = utf8_len(p, len - i);
		if (n == 0 || is_control(*p))
			s[i] = '?';
		else if (is_tricky(p, n))
			memset(p, '?', n);
		n = MAX_OF(n, (size_t)1);
	}
}

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void str_add_base64(struct buf *out, const void *data, size_t len)
{
	const unsigned char *p = data;
	size_t step;

	for (; len > 0; p += step, len -= step) {
		unsigned v = (unsigned)p[0] << 16 | (len > 1 ? (unsigned)p[1] << 8 : 0) | (len > 2 ? p[2] : 0);
		char four[4] = { base64_digits[v >> 18], base64_digits[v >> 12 & 63], base64_digits[v >> 6 & 63],
			         base64_digits[v & 63] };

		step = MIN_OF(len, (size_t)3);
		if (len < 3)
			four[3] = '=';
		if (len < 2)
			four[2] = '=';
		buf_add(out, four, 4);
	}
}

static int base64_value(char c)
{
	const char *at = c ? strchr(base64_digits, c) : NULL;

	return at ? (int)(at - base64_digits) : -1;
}

static int add_unbase64(struct buf *out, const char *text, size_t len)
{
	unsigned v = 0;
	int have = 0, padding = 0;

	for (size_t i = 0; i < len; i++) {
		int digit;

		if (isspace((unsigned char)text[i]))
			continue;
		if (text[i] == '=' && have >= 2 && have + padding < 4) {
			padding++;
			continue;
		}
		digit = base64_value(text[i]);
		if (digit < 0 || padding)
			return -EINVAL;
		v = v << 6 | (unsigned)digit;
		if (++have == 4) {
			char three[3] = { (char)(v >> 16), (char)(v >> 8), (char)v };

			if (buf_add(out, three, 3) < 0)
				return out->error;
			v = 0;
			have = 0;
		}
	}
	if (have + padding != 0 && have + padding != 4)
		return -EINVAL;
	if (have == 2)
		return v & 15 ? -EINVAL : buf_add_char(out, (char)(v >> 4));
	if (have == 3) {
		char two[2] = { (char)(v >> 10), (char)(v >> 2) };

		return v & 3 ? -EINVAL : buf_add(out, two, 2);
	}
	return 0;
}

int str_add_unbase64(struct buf *out, const char *text, size_t len)
{
	size_t before = out->len;
	int r = add_unbase64(out, text, len);

	if (r < 0 && out->len > before)
		out->data[out->len = before] = 0;
	return r;
}

void str_add_hex(struct buf *out, const void *data, size_t len)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *p = data;

	for (size_t i = 0; i < len; i++) {
		buf_add_char(out, hex[p[i] >> 4]);
		buf_add_char(out, hex[p[i] & 15]);
	}
}

void str_each(const char *list, char sep, void (*part)(void *arg, const char *s, size_t len), void *arg)
{
	while (list && *list) {
		const char *end = strchrnul(list, sep), *from = list, *to = end;

		while (from < to && isspace((unsigned char)*from))
			from++;
		while (to > from && isspace((unsigned char)to[-1]))
			to--;
		if (to > from)
			part(arg, from, (size_t)(to - from));
		list = *end ? end + 1 : end;
	}
}
