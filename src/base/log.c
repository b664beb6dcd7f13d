/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/time.h"

static struct {
	const char *program;
	enum log_level least;
	enum log_format format;
	int fd;
} setup = { "sunk", LOG_INFO, LOG_TEXT, STDERR_FILENO };

static const char *const level_names[] = { "debug", "info", "warn", "error" };

void log_setup(const char *program, enum log_level least, enum log_format format, int fd)
{
	setup.program = program;
	setup.least = least;
	setup.format = format;
	setup.fd = fd;
}

bool log_on(enum log_level level)
{
	return level >= setup.least;
}

/* The inside of a JSON string, on top of what str_add_safe() already made harmless. */
static void add_json_text(struct buf *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			buf_add_char(out, '\\');
		buf_add_char(out, *s);
	}
}

void log_line(enum log_level level, const char *fmt, ...)
{
	_cleanup_buf_ struct buf safe = BUF(2 * LOG_LINE_MAX), line = BUF(8 * LOG_LINE_MAX);
	char when[TIME_TEXT_MAX], raw[LOG_LINE_MAX + 8]; /* longer than what is shown, so that a cut is marked there */
	int saved_errno = errno;
	va_list ap;

	if (!log_on(level))
		return;
	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	str_add_safe(&safe, raw, strlen(raw), LOG_LINE_MAX);
	time_format_micro(clock_wall(clock_real()), when);
	if (setup.format == LOG_JSON) {
		buf_printf(&line, "{\"time\":\"%s\",\"level\":\"%s\",\"program\":\"%s\",\"msg\":\"", when,
		           level_names[level], setup.program);
		add_json_text(&line, buf_text(&safe));
		buf_add_str(&line, "\"}\n");
	} else
		buf_printf(&line, "%s %-5s %s: %s\n", when, level_names[level], setup.program, buf_text(&safe));
	while (write(setup.fd, line.data, line.len) < 0 && errno == EINTR)
		;
	errno = saved_errno;
}
