/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Cuts a stream of bytes, in whatever pieces it comes, into lines. A line that lies whole in one piece is given as it
 * is, without a copy. Bounded: a line over the maximum is an error.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

struct lines {
	struct buf held; /* the beginning of a line whose end has not come */
};

/* Called for each line, without its '\n' and a '\r' before it. Empty lines are skipped. An error ends the feeding. */
typedef int (*lines_got)(void *arg, const char *line, size_t len, struct err *err);

void lines_init(struct lines *l, size_t line_max);
void lines_done(struct lines *l);
void lines_reset(struct lines *l); /* for a new stream: forgets what was held and frees it */

/* 0, -EMSGSIZE for a line that is too long, or what `got` returned. After an error only lines_reset() is allowed. */
int lines_feed(struct lines *l, const char *data, size_t len, lines_got got, void *arg, struct err *err);

/* Bytes of a line that was begun and not ended. */
size_t lines_held(const struct lines *l);
