/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Text: comparison, bounded copies, numbers, base64 and hex, and making foreign text safe to show.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

static inline bool str_eq(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static inline bool str_empty(const char *s)
{
	return !s || !*s;
}

static inline const char *str_or(const char *s, const char *otherwise)
{
	return s ? s : otherwise;
}

bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);

/* Copies as much as fits, always NUL-terminated, never half a UTF-8 character; false when it was cut. NULL counts as
 * "". */
bool str_copy(char *to, size_t size, const char *from);

char *str_printf(const char *fmt, ...) _printf_(1, 2);

/* Whole-string numbers: no blanks, no sign but '-', no rest. -EINVAL, or -ERANGE outside [min, max]. */
int str_to_i64(const char *s, int64_t min, int64_t max, int64_t *ret);

bool str_is_utf8(const char *s, size_t len);
bool str_has_control(const char *s, size_t len); /* a byte below 0x20, or 0x7f */

/* Appends text so that it fits on one line of a log or terminal: control characters and bytes that are no UTF-8 as
 * \n, \t, \xNN, characters that break or turn lines as \uNNNN, backslash doubled; at most max_bytes of output, cut
 * with "…". */
void str_add_safe(struct buf *out, const char *s, size_t len, size_t max_bytes);

/* In place and without a change of length: each byte of what str_add_safe() would escape becomes '?', backslashes stay.
 * For text that will be escaped once more on its way out. */
void str_mask_unsafe(char *s);

/* Standard base64 with padding; white space between is accepted when decoding. Decoding gives bytes (the buffer adds a
 * NUL) or -EINVAL with the buffer as before. */
void str_add_base64(struct buf *out, const void *data, size_t len);
int str_add_unbase64(struct buf *out, const char *text, size_t len);

void str_add_hex(struct buf *out, const void *data, size_t len);

/* Calls back for each part of a list separated by `sep`, without blanks around it; empty parts are skipped. NULL has
 * none. */
void str_each(const char *list, char sep, void (*part)(void *arg, const char *s, size_t len), void *arg);
