/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What is wrong with something a person wrote, all of it at once. Bounded: beyond the maximum problems are counted only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define PROBLEMS_MAX 32
#define PROBLEM_TEXT_MAX 256

struct problem {
	bool warning; /* does not stop anything */
	char field[96]; /* "metadata.annotations[sunk.coreweave.com/priority]", "spec.terminationGracePeriodSeconds" */
	char text[PROBLEM_TEXT_MAX]; /* what is wrong and what to do; safe to show: foreign text in it is escaped */
};

struct problems {
	struct problem *list;
	uint32_t n, n_errors, n_warnings, dropped;
};

#define PROBLEMS_INIT ((struct problems) { 0 })
void problems_done(struct problems *p);
#define _cleanup_problems_ _cleanup_(problems_done)

void problem_error(struct problems *p, const char *field, const char *fmt, ...) _printf_(3, 4);
void problem_warning(struct problems *p, const char *field, const char *fmt, ...) _printf_(3, 4);
/* "field: text; field: text", errors or warnings, for an event or a condition; bounded by the buffer, cut with "…". */
void problems_join(const struct problems *p, bool warnings, struct buf *out);
