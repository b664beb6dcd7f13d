/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/agent/logfile.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

void log_view_init(struct log_view *v, bool times, usec_t since_wall)
{
	*v = (struct log_view) { .times = times };
	if (since_wall > 0)
		time_format_micro(since_wall, v->since);
}

static void put_one(struct buf *out, const char *time, const char *text, size_t len, bool whole)
{
	buf_add_str(out, time);
	buf_add_str(out, whole ? " F " : " P ");
	buf_add(out, text, len);
	buf_add_char(out, '\n');
}

void logfile_put(struct buf *out, usec_t wall, struct buf *text, bool all)
{
	const char *p = text->data, *end = p ? p + text->len : p;
	char time[TIME_TEXT_MAX];

	time_format_micro(wall, time);
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((newline ? newline : end) - p);

		if (len > LOGFILE_LINE_MAX) {
			put_one(out, time, p, LOGFILE_LINE_MAX, false);
			p += LOGFILE_LINE_MAX;
			continue;
		}
		if (!newline && !all)
			break;
		put_one(out, time, p, len, newline != NULL);
		p += len + (newline ? 1 : 0);
	}
	if (text->data)
		buf_drop_front(text, (size_t)(p - text->data));
}

static bool is_kept_line(const char *line, size_t len)
{
	return len >= LOGFILE_HEAD_LEN && line[LOGFILE_TIME_LEN] == ' ' && line[LOGFILE_TIME_LEN + 2] == ' ';
}

void logfile_show(struct log_view *v, struct buf *in, struct buf *out, size_t max)
{
	const char *p = in->data, *end = p ? p + in->len : p, *newline;

	while (p < end && out->len < max && (newline = memchr(p, '\n', (size_t)(end - p)))) {
		size_t len = (size_t)(newline - p);
		const char *line = p;

		p = newline + 1;
		if (!is_kept_line(line, len) || (*v->since && strncmp(line, v->since, LOGFILE_TIME_LEN) < 0))
			continue;
		if (v->times && !v->inside)
			buf_add(out, line, LOGFILE_TIME_LEN + 1);
		buf_add(out, line + LOGFILE_HEAD_LEN, len - LOGFILE_HEAD_LEN);
		v->inside = line[LOGFILE_TIME_LEN + 1] == 'P';
		if (!v->inside)
			buf_add_char(out, '\n');
	}
	if (in->data)
		buf_drop_front(in, (size_t)(p - in->data));
}
