/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Errors as values. A function that can fail returns 0 or a negative errno and takes an optional `struct err *err`
 * last, which gets one sentence a person can act on. Context is added on the way up with err_wrap():
 *
 *	if (r < 0)
 *		return err_wrap(err, r, "reading %s", path);
 *
 * gives "reading /etc/x: permission denied". A function either reports or returns an error, never both.
 */
#pragma once

#include "base/mem.h"

#define ERR_TEXT_MAX 512

struct err {
	int code; /* negative errno, 0 = none */
	char text[ERR_TEXT_MAX];
};

/* Sets the text; returns code. err may be NULL. Text over the limit is cut with "…"; what would not stay on one line,
 * and what is no UTF-8, becomes '?'. An argument may be the text itself. */
int err_set(struct err *err, int code, const char *fmt, ...) _printf_(3, 4);

/* Like err_set() with ": " and the text of errno code behind. */
int err_errno(struct err *err, int code, const char *fmt, ...) _printf_(3, 4);

/* Puts "context: " before the text (before the text of errno code when there is none); returns code. A long context is
 * cut before the cause is. */
int err_wrap(struct err *err, int code, const char *fmt, ...) _printf_(3, 4);

/* The text, or "no error". Never NULL. */
const char *err_text(const struct err *err);
