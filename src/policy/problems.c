/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/problems.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/str.h"

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

/* At most `most` of them, and how many are left. */
static uint32_t join(const struct problems *p, bool warnings, uint32_t most, const char *rest, struct buf *out)
{
	uint32_t shown = 0, total = warnings ? p->n_warnings : p->n_errors;

	for (uint32_t i = 0; i < p->n && shown < most; i++)
		if (p->list[i].warning == warnings)
			buf_printf(out, "%s%s: %s", shown++ ? "; " : "", p->list[i].field, p->list[i].text);
	if (shown < total)
		buf_printf(out, "%sand %u more%s%s", shown ? "; " : "", total - shown, rest ? "; " : "",
		           str_or(rest, ""));
	return shown;
}

void problems_join(const struct problems *p, bool warnings, const char *rest, struct buf *out)
{
	_cleanup_buf_ struct buf all = BUF(PROBLEMS_TEXT_MAX);
	size_t room = out->max - out->len;
	uint32_t n = join(p, warnings, PROBLEMS_MAX, NULL, &all);

	while (all.len > room && n > 1) {
		buf_done(&all);
		n = join(p, warnings, n - 1, rest, &all);
	}
	if (all.len <= room)
		buf_add(out, buf_text(&all), all.len);
	else if (room >= sizeof("…") - 1) {
		_cleanup_free_ char *cut = mem_alloc(room + 1);

		set_text(cut, room + 1, buf_text(&all));
		buf_add_str(out, cut);
	}
}
