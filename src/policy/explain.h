/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An explanation in plain words: what something is, what it waits for, what to do, and the facts this was concluded from. Values
 * only; whoever shows it escapes foreign text. Bounded: what does not fit is cut or left out.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/time.h"

#define EXPLAIN_TEXT_MAX 1024
#define EXPLAIN_FACTS_MAX 24
#define EXPLAIN_TODO_MAX 6

struct explain_fact {
	char about[16]; /* "Pod", "Job", "Node" */
	char text[EXPLAIN_TEXT_MAX];
};

struct explanation {
	const char *state; /* one word for programs: "queued"; never NULL */
	char summary[EXPLAIN_TEXT_MAX];   /* one sentence */
	char waits_for[EXPLAIN_TEXT_MAX]; /* "" = nothing */
	char todo[EXPLAIN_TODO_MAX][EXPLAIN_TEXT_MAX];
	size_t n_todo;
	struct explain_fact facts[EXPLAIN_FACTS_MAX];
	size_t n_facts;
};

void explain_is(struct explanation *e, const char *state, const char *fmt, ...) _printf_(3, 4); /* state and summary */
void explain_waits(struct explanation *e, const char *fmt, ...) _printf_(2, 3);
void explain_todo(struct explanation *e, const char *fmt, ...) _printf_(2, 3);
void explain_fact(struct explanation *e, const char *about, const char *fmt, ...) _printf_(3, 4);

/* "3m20s" since a point in the past, in whole seconds; "?" when it is not set. */
const char *explain_age(usec_t since, usec_t now, char text[TIME_TEXT_MAX]);
