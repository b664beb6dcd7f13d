/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/explain.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/str.h"

void explain_is(struct explanation *e, const char *state, const char *fmt, ...)
{
	va_list ap;

	e->state = state;
	va_start(ap, fmt);
	vsnprintf(e->summary, sizeof(e->summary), fmt, ap);
	va_end(ap);
}

void explain_waits(struct explanation *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e->waits_for, sizeof(e->waits_for), fmt, ap);
	va_end(ap);
}

void explain_todo(struct explanation *e, const char *fmt, ...)
{
	va_list ap;

	if (e->n_todo == EXPLAIN_TODO_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(e->todo[e->n_todo++], sizeof(e->todo[0]), fmt, ap);
	va_end(ap);
}

void explain_fact(struct explanation *e, const char *about, const char *fmt, ...)
{
	struct explain_fact *f = &e->facts[e->n_facts];
	va_list ap;

	if (e->n_facts == EXPLAIN_FACTS_MAX)
		return;
	e->n_facts++;
	str_copy(f->about, sizeof(f->about), about);
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
}

const char *explain_age(usec_t since, usec_t now, char text[TIME_TEXT_MAX])
{
	usec_t age = now > since ? now - since : 0;

	if (!since)
		return "?";
	return duration_format(age - age % USEC_SEC, text);
}
