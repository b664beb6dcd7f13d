/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/problems.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/str.h"

#define JOIN_MAX ((size_t)PROBLEMS_MAX * 2 * (sizeof(struct problem)))

void problems_done(struct problems *p)
{
	free(p->list);
	*p = PROBLEMS_INIT;
}

/* Copies what fits, marks the cut, and leaves nothing that would not stay on one line. */
static void set_text(char *to, size_t size, const char *from)
{
	static const char mark[] = "…";

	if (!str_copy(to, size, from)) {
		str_copy(to, size - (sizeof(mark) - 1), from);
		memcpy(to + strlen(to), mark, sizeof(mark));
	}
	str_mask_unsafe(to);
}

/* The place for one more, or NULL. */
static struct problem *place_for(struct problems *p, bool warning)
{
	if (!p->list)
		p->list = mem_alloc_n(PROBLEMS_MAX, sizeof(*p->list));
	if (p->n < PROBLEMS_MAX)
		return &p->list[p->n++];
	p->dropped++;
	for (uint32_t i = p->n; !warning && i-- > 0;)
		if (p->list[i].warning)
			return &p->list[i];
	return NULL;
}

static void add(struct problems *p, bool warning, const char *field, const char *fmt, va_list ap) _printf_(4, 0);

static void add(struct problems *p, bool warning, const char *field, const char *fmt, va_list ap)
{
	struct problem *at = place_for(p, warning);
	char text[2 * PROBLEM_TEXT_MAX];

	if (warning)
		p->n_warnings++;
	else
		p->n_errors++;
	if (!at)
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	at->warning = warning;
	set_text(at->field, sizeof(at->field), field);
	set_text(at->text, sizeof(at->text), text);
}

void problem_error(struct problems *p, const char *field, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(p, false, field, fmt, ap);
	va_end(ap);
}

void problem_warning(struct problems *p, const char *field, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(p, true, field, fmt, ap);
	va_end(ap);
}

const char *problem_quote(const char *foreign, char text[PROBLEM_QUOTE_MAX])
{
	_cleanup_buf_ struct buf safe = BUF(PROBLEM_QUOTE_MAX);

	str_add_safe(&safe, foreign, strlen(foreign), PROBLEM_QUOTE_MAX - sizeof("''"));
	snprintf(text, PROBLEM_QUOTE_MAX, "'%s'", buf_text(&safe));
	return text;
}

void problems_join(const struct problems *p, bool warnings, struct buf *out)
{
	_cleanup_buf_ struct buf all = BUF(JOIN_MAX);
	uint32_t shown = 0, total = warnings ? p->n_warnings : p->n_errors;
	size_t room = out->max - out->len;

	for (uint32_t i = 0; i < p->n; i++)
		if (p->list[i].warning == warnings)
			buf_printf(&all, "%s%s: %s", shown++ ? "; " : "", p->list[i].field, p->list[i].text);
	if (shown < total)
		buf_printf(&all, "%sand %u more", shown ? "; " : "", total - shown);
	if (all.len <= room)
		buf_add(out, buf_text(&all), all.len);
	else if (room >= sizeof("…") - 1) {
		_cleanup_free_ char *cut = mem_alloc(room + 1);

		set_text(cut, room + 1, buf_text(&all));
		buf_add_str(out, cut);
	}
}
