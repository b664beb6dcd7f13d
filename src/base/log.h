/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Log lines for people and for machines. One line is one write(2), so threads do not mix. Whatever a message contains,
 * it stays on its line: control characters and bytes that are no UTF-8 are escaped. Libraries log at debug only; the
 * shells decide what a person needs to read. Secrets are never passed to these functions.
 */
#pragma once

#include <stdbool.h>

#include "base/mem.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_format { LOG_TEXT, LOG_JSON };

#define LOG_LINE_MAX 4096

/* Set once at start, before threads. `program` goes into every line; it is borrowed. */
void log_setup(const char *program, enum log_level least, enum log_format format, int fd);
bool log_on(enum log_level level);

void log_line(enum log_level level, const char *fmt, ...) _printf_(2, 3);

#define log_debug(...)                                                                                                 \
	do {                                                                                                           \
		if (log_on(LOG_DEBUG))                                                                                 \
			log_line(LOG_DEBUG, __VA_ARGS__);                                                              \
	} while (0)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
