/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The one time type: microseconds, signed, 64 bits. A point in time is microseconds since 1970 (wall clock) or since
 * some start (monotonic); a span is a difference. 0 as a point in wall time means "not set".
 *
 * Code that decides never reads a clock: time comes in as a value. Shells read it from a `struct clock`, so that the
 * simulation can stand in for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef int64_t usec_t;

#define USEC_MSEC ((usec_t)1000)
#define USEC_SEC ((usec_t)1000000)
#define USEC_MINUTE (60 * USEC_SEC)
#define USEC_HOUR (60 * USEC_MINUTE)
#define USEC_NEVER INT64_MAX /* a deadline that does not come */

#define TIME_TEXT_MAX 40

struct clock {
	usec_t (*mono)(const struct clock *clock); /* for spans and deadlines: never jumps */
	usec_t (*wall)(const struct clock *clock); /* for what others read */
};

const struct clock *clock_real(void);

static inline usec_t clock_mono(const struct clock *c)
{
	return c->mono(c);
}

static inline usec_t clock_wall(const struct clock *c)
{
	return c->wall(c);
}

/* a + b, held at USEC_NEVER instead of overflowing. */
usec_t usec_add(usec_t a, usec_t b);

/* RFC 3339 as Kubernetes writes it: "2026-11-15T18:15:55Z", with fraction or numeric offset. -EINVAL otherwise. */
int time_parse_rfc3339(const char *text, size_t len, usec_t *ret);

/* "2026-11-15T18:15:55Z" (a Kubernetes Time) and "2026-11-15T18:15:55.123456Z" (MicroTime). Return text. */
const char *time_format(usec_t wall, char text[TIME_TEXT_MAX]);
const char *time_format_micro(usec_t wall, char text[TIME_TEXT_MAX]);

/* A duration as in flags: "30s", "1m30s", "250ms", "2h"; a bare "0". Never negative, at most a year. */
int duration_parse(const char *text, usec_t *ret, struct err *err);

/* The shortest exact form of the above: "1m30s". */
const char *duration_format(usec_t span, char text[TIME_TEXT_MAX]);
