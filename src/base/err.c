/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/err.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define CONTEXT_MIN (ERR_TEXT_MAX / 2) /* a context gets this much even before a long cause */

/* Formats into text; what does not fit is cut with a mark, without leaving half a UTF-8 character behind. */
_printf_(3, 0) static void format(char *text, size_t size, const char *fmt, va_list ap)
{
	static const char mark[] = "…";
	int wanted = vsnprintf(text, size, fmt, ap);
	size_t at = size - sizeof(mark);

	if (wanted < 0)
		str_copy(text, size, fmt);
	else if ((size_t)wanted >= size) {
		while (at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80)
			at--;
		memcpy(text + at, mark, sizeof(mark));
	}
	str_mask_unsafe(text);
}

static const char *describe(int code)
{
	const char *name = strerrordesc_np(-code);

	return name ? name : "unknown error";
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
	char text[ERR_TEXT_MAX];
	va_list ap;

	assert(code < 0);
	if (!err)
		return code;
	va_start(ap, fmt);
	format(text, sizeof(text), fmt, ap);
	va_end(ap);
	err->code = code;
	memcpy(err->text, text, sizeof(text));
	return code;
}

int err_errno(struct err *err, int code, const char *fmt, ...)
{
	char text[ERR_TEXT_MAX - 64];
	va_list ap;

	assert(code < 0);
	if (!err)
		return code;
	va_start(ap, fmt);
	format(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(err, code, "%s: %s", text, describe(code));
}

int err_wrap(struct err *err, int code, const char *fmt, ...)
{
	char context[ERR_TEXT_MAX];
	const char *cause;
	size_t room;
	va_list ap;

	assert(code < 0);
	if (!err)
		return code;
	cause = err->code && *err->text ? err->text : describe(code);
	room = ERR_TEXT_MAX - MIN_OF(strlen(cause) + strlen(": "), (size_t)ERR_TEXT_MAX);
	va_start(ap, fmt);
	format(context, MAX_OF(room, (size_t)CONTEXT_MIN), fmt, ap);
	va_end(ap);
	return err_set(err, code, "%s: %s", context, cause);
}

const char *err_text(const struct err *err)
{
	return err && err->code ? err->text : "no error";
}
