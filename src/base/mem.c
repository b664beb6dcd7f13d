/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *or_abort(void *p)
{
	if (!p) {
		static const char text[] = "out of memory\n";
		(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
		abort();
	}
	return p;
}

void *mem_alloc(size_t size)
{
	return or_abort(calloc(1, size ? size : 1));
}

void *mem_alloc_n(size_t n, size_t size)
{
	return or_abort(calloc(n ? n : 1, size ? size : 1));
}

void *mem_realloc_n(void *p, size_t n, size_t size)
{
	size_t bytes = 0;

	if (__builtin_mul_overflow(n, size, &bytes))
		or_abort(NULL);
	return or_abort(realloc(p, bytes ? bytes : 1));
}

void *mem_dup(const void *p, size_t size)
{
	void *copy = or_abort(malloc(size ? size : 1));

	if (size)
		memcpy(copy, p, size);
	return copy;
}

char *mem_strdup(const char *s)
{
	return s ? mem_dup(s, strlen(s) + 1) : NULL;
}

char *mem_strndup(const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *copy = or_abort(malloc(len + 1));

	memcpy(copy, s, len);
	copy[len] = 0;
	return copy;
}

void fd_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}
