/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What is wrong with something a person wrote, all of it at once. Bounded: beyond the maximum problems are counted only
 * (an error rather takes the place of a warning).
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
	uint32_t n; /* in the list */
	uint32_t n_errors, n_warnings; /* all of them */
	uint32_t dropped; /* of these, not in the list */
};

#define PROBLEMS_INIT ((struct problems) { 0 })
void problems_done(struct problems *p);
#define _cleanup_problems_ _cleanup_(problems_done)

void problem_error(struct problems *p, const char *field, const char *fmt, ...) _printf_(3, 4);
void problem_warning(struct problems *p, const char *field, const char *fmt, ...) _printf_(3, 4);

/* Foreign text as it may stand in a problem: in quotes, escaped, shortened. */
#define PROBLEM_QUOTE_MAX 64
const char *problem_quote(const char *foreign, char text[PROBLEM_QUOTE_MAX]);

/* "field: text; field: text; and 3 more", errors or warnings, for an event or a condition: as many whole ones as the buffer takes,
 * and how many there are besides. When the buffer is what leaves some out, `rest` says where they are: "see …"; NULL =
 * nowhere. One that does not fit alone is cut with "…". */
#define PROBLEMS_TEXT_MAX ((size_t)PROBLEMS_MAX * (sizeof(struct problem) + 4) + 32) /* holds all, joined */
void problems_join(const struct problems *p, bool warnings, const char *rest, struct buf *out);
