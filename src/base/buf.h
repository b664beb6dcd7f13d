/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A growing byte buffer that cannot be made without a maximum. Going over it is sticky: the buffer keeps what it had,
 * every later append fails too, and the one check at the end (buf_error) tells. The bytes are always followed by a NUL
 * that does not count.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "base/mem.h"

struct buf {
	char *data; /* NULL until the first append */
	size_t len;
	size_t size;
	size_t max;
	int error; /* 0 or -EMSGSIZE */
};

#define BUF(max_bytes) ((struct buf) { .max = (max_bytes) })

void buf_done(struct buf *b); /* frees; the buffer may be used again with the same maximum */
#define _cleanup_buf_ _cleanup_(buf_done)

int buf_add(struct buf *b, const void *data, size_t len);
int buf_add_str(struct buf *b, const char *s);
int buf_add_char(struct buf *b, char c);
int buf_printf(struct buf *b, const char *fmt, ...) _printf_(2, 3);
int buf_vprintf(struct buf *b, const char *fmt, va_list ap) _printf_(2, 0);

void buf_clear(struct buf *b);                /* empties, keeps the memory, forgets the error */
void buf_drop_front(struct buf *b, size_t n); /* removes the first n bytes */
char *buf_reserve(struct buf *b, size_t n);   /* room for n more bytes at data + len, or NULL at the maximum */

/* The text so far, never NULL. */
const char *buf_text(const struct buf *b);
char *buf_take(struct buf *b); /* the caller frees; the buffer is empty afterwards */

/* Reads a whole file; -EFBIG when it is larger than the buffer's maximum. */
int buf_read_file(struct buf *b, const char *path);
/* Reads an open descriptor to its end, same limits. */
int buf_read_fd(struct buf *b, int fd);
