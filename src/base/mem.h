/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Memory that is always there, and clean-up by scope.
 *
 * Out of memory aborts: the daemons are crash-only, their state lives in Kubernetes and in Slurm, and a restart
 * recovers it. So none of these returns NULL and no caller checks.
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>

void *mem_alloc(size_t size);                      /* zeroed; size 0 gives a valid pointer */
void *mem_alloc_n(size_t n, size_t size);          /* zeroed, aborts when n * size overflows */
void *mem_realloc_n(void *p, size_t n, size_t size); /* the new part is not zeroed */
void *mem_dup(const void *p, size_t size);
char *mem_strdup(const char *s);                   /* NULL gives NULL */
char *mem_strndup(const char *s, size_t n);

#define NEW(type) ((type *)mem_alloc(sizeof(type)))

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _printf_(a, b) __attribute__((format(printf, a, b)))
#define _pure_ __attribute__((pure))
#define _must_check_ __attribute__((warn_unused_result))

/* Moves a pointer out of a variable that a clean-up guards. */
#define TAKE_PTR(p)                                                                                                    \
	({                                                                                                             \
		__typeof__(p) *p_ = &(p);                                                                              \
		__typeof__(p) v_ = *p_;                                                                                \
		*p_ = NULL;                                                                                            \
		v_;                                                                                                    \
	})

static inline void freep(void *p)
{
	free(*(void **)p);
}
#define _cleanup_free_ _cleanup_(freep)

/* Defines x_freep() for _cleanup_ from x_free(). */
#define DEFINE_FREEP(type, x_free)                                                                                     \
	static inline void x_free##p(type **p)                                                                         \
	{                                                                                                              \
		if (*p)                                                                                                \
			x_free(*p);                                                                                    \
	}

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(p, type, member) ((type *)(void *)((char *)(p) - offsetof(type, member)))
#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))

/* A file descriptor that closes itself. */
void fd_closep(int *fd);
#define _cleanup_fd_ _cleanup_(fd_closep)
