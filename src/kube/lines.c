/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/lines.h"

#include <errno.h>
#include <string.h>

#define LINES_KEEP_MAX (64u << 10) /* memory kept from line to line */

void lines_init(struct lines *l, size_t line_max)
{
	l->held = BUF(line_max);
}

void lines_done(struct lines *l)
{
	buf_done(&l->held);
}

void lines_reset(struct lines *l)
{
	buf_done(&l->held);
}

size_t lines_held(const struct lines *l)
{
	return l->held.len;
}

static int give(const char *line, size_t len, lines_got got, void *arg, struct err *err)
{
	if (len && line[len - 1] == '\r')
		len--;
	return len ? got(arg, line, len, err) : 0;
}

static int too_long(const struct lines *l, struct err *err)
{
	return err_set(err, -EMSGSIZE, "a line of more than %zu bytes", l->held.max);
}

/* Ends the line that was held with these bytes. */
static int end_held(struct lines *l, const char *data, size_t len, lines_got got, void *arg, struct err *err)
{
	int r;

	if (buf_add(&l->held, data, len) < 0)
		return too_long(l, err);
	r = give(l->held.data, l->held.len, got, arg, err);
	if (l->held.size > LINES_KEEP_MAX)
		buf_done(&l->held);
	buf_clear(&l->held);
	return r;
}

int lines_feed(struct lines *l, const char *data, size_t len, lines_got got, void *arg, struct err *err)
{
	while (len) {
		const char *end = memchr(data, '\n', len);
		size_t n = end ? (size_t)(end - data) : len;
		int r;

		if (!end)
			return buf_add(&l->held, data, len) < 0 ? too_long(l, err) : 0;
		if (l->held.len)
			r = end_held(l, data, n, got, arg, err);
		else if (n > l->held.max)
			r = too_long(l, err);
		else
			r = give(data, n, got, arg, err);
		if (r < 0)
			return r;
		data += n + 1;
		len -= n + 1;
	}
	return 0;
}
