/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/err.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Marks text that did not fit, without leaving half a UTF-8 character behind. */
static void mark_cut(char *text, int wanted)
{
	static const char mark[] = "…";
	size_t at = ERR_TEXT_MAX - sizeof(mark);

	if (wanted >= 0 && wanted < ERR_TEXT_MAX)
		return;
	while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80)
		at--;
	memcpy(text + at, mark, sizeof(mark));
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	assert(code < 0);
	if (!err)
		return code;
	err->code = code;
	va_start(ap, fmt);
	mark_cut(err->text, vsnprintf(err->text, sizeof(err->text), fmt, ap));
	va_end(ap);
	return code;
}

int err_errno(struct err *err, int code, const char *fmt, ...)
{
	char text[ERR_TEXT_MAX];
	const char *name = strerrordesc_np(-code);
	va_list ap;

	assert(code < 0);
	if (!err)
		return code;
	va_start(ap, fmt);
	mark_cut(text, vsnprintf(text, sizeof(text), fmt, ap));
	va_end(ap);
	return err_set(err, code, "%s: %s", text, name ? name : "unknown error");
}

int err_wrap(struct err *err, int code, const char *fmt, ...)
{
	char context[ERR_TEXT_MAX], inner[ERR_TEXT_MAX];
	va_list ap;

	assert(code < 0);
	if (!err)
		return code;
	va_start(ap, fmt);
	mark_cut(context, vsnprintf(context, sizeof(context), fmt, ap));
	va_end(ap);
	memcpy(inner, err->text, sizeof(inner));
	err->code = code;
	mark_cut(err->text, snprintf(err->text, sizeof(err->text), "%s: %s", context, inner));
	return code;
}

const char *err_text(const struct err *err)
{
	return err && err->code ? err->text : "no error";
}
