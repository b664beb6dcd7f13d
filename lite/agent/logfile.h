/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * How a container's log is kept in its file: each line with the time at which it was read, in front of it, as container
 * runtimes do. "2026-11-15T18:15:55.123456Z F text": F for a whole line; P for a piece that goes on in the next one (a very
 * long line, or one that nobody ended). Pure.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/time.h"

#define LOGFILE_LINE_MAX ((size_t)16 << 10) /* of text; longer ones are kept in pieces */
#define LOGFILE_TIME_LEN 27
#define LOGFILE_HEAD_LEN (LOGFILE_TIME_LEN + 3)

/* What a reader wants to see. Made with log_view_init. */
struct log_view {
	bool times;
	char since[TIME_TEXT_MAX]; /* lines before this are left out; "" = none */
	bool inside;               /* of a line: its last piece has been shown */
};

void log_view_init(struct log_view *v, bool times, usec_t since_wall); /* 0: from the beginning */

/* Takes the whole lines out of `text` and adds them to `out` as they are kept; with `all` also an unfinished one. */
void logfile_put(struct buf *out, usec_t wall, struct buf *text, bool all);

/* Takes the kept lines out of `in`, at most as many as fit into max bytes, and adds them to `out` as the view wants. */
void logfile_show(struct log_view *v, struct buf *in, struct buf *out, size_t max);
