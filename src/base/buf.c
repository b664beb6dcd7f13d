/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/buf.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FIRST_SIZE 128
#define PRINT_MAX 256
#define READ_STEP 65536

void buf_done(struct buf *b)
{
	free(b->data);
	*b = BUF(b->max);
}

char *buf_reserve(struct buf *b, size_t n)
{
	size_t need, size;

	assert(b->max > 0 && b->max < SIZE_MAX / 2);
	if (b->error)
		return NULL;
	if (__builtin_add_overflow(b->len, n, &need) || need > b->max) {
		b->error = -EMSGSIZE;
		return NULL;
	}
	if (need + 1 > b->size) {
		size = b->size ? b->size : FIRST_SIZE;
		while (size < need + 1)
			size *= 2;
		size = MIN_OF(size, b->max + 1);
		b->data = mem_realloc_n(b->data, size, 1);
		b->size = size;
		b->data[b->len] = 0;
	}
	return b->data + b->len;
}

int buf_add(struct buf *b, const void *data, size_t len)
{
	char *at = buf_reserve(b, len);

	if (!at)
		return b->error;
	if (len)
		memcpy(at, data, len);
	b->len += len;
	b->data[b->len] = 0;
	return 0;
}

int buf_add_str(struct buf *b, const char *s)
{
	return buf_add(b, s, strlen(s));
}

int buf_add_char(struct buf *b, char c)
{
	return buf_add(b, &c, 1);
}

int buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	char here[PRINT_MAX]; /* most texts are short: formatted once only */
	va_list again;
	char *at;
	int n;

	va_copy(again, ap);
	n = vsnprintf(here, sizeof(here), fmt, again);
	va_end(again);
	if (n < 0)
		return -EINVAL;
	if ((size_t)n < sizeof(here))
		return buf_add(b, here, (size_t)n);
	at = buf_reserve(b, (size_t)n);
	if (!at)
		return b->error;
	vsnprintf(at, (size_t)n + 1, fmt, ap);
	b->len += (size_t)n;
	return 0;
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = buf_vprintf(b, fmt, ap);
	va_end(ap);
	return r;
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->error = 0;
	if (b->data)
		b->data[0] = 0;
}

void buf_drop_front(struct buf *b, size_t n)
{
	assert(n <= b->len);
	if (n == 0)
		return;
	memmove(b->data, b->data + n, b->len - n + 1);
	b->len -= n;
}

const char *buf_text(const struct buf *b)
{
	return b->data ? b->data : "";
}

char *buf_take(struct buf *b)
{
	char *data = b->data ? b->data : mem_strdup("");

	*b = BUF(b->max);
	return data;
}

int buf_read_fd(struct buf *b, int fd)
{
	for (;;) {
		size_t step = MIN_OF((size_t)READ_STEP, b->max - b->len);
		char *at = buf_reserve(b, step);
		ssize_t n;

		if (!at)
			return b->error;
		if (step == 0) { /* full: only the end of the file is acceptable now */
			char one;

			n = read(fd, &one, 1);
			if (n > 0) {
				b->error = -EMSGSIZE;
				return -EFBIG;
			}
		} else
			n = read(fd, at, step);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		b->len += (size_t)n;
		b->data[b->len] = 0;
	}
}

int buf_read_file(struct buf *b, const char *path)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	buf_clear(b);
	return buf_read_fd(b, fd);
}
