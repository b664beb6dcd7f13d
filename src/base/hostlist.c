/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/hostlist.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define NUMBER_DIGITS_MAX 9

void hostlist_done(struct hostlist *h)
{
	for (size_t i = 0; i < h->n; i++)
		free(h->names[i]);
	free(h->names);
	*h = HOSTLIST_INIT;
}

static void take_name(struct hostlist *h, char *name)
{
	if (h->n == h->size) {
		h->size = h->size ? 2 * h->size : 8;
		h->names = mem_realloc_n(h->names, h->size, sizeof(*h->names));
	}
	h->names[h->n++] = name;
}

void hostlist_add(struct hostlist *h, const char *name)
{
	take_name(h, mem_strdup(name));
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

/* One range inside brackets: "7", "1-4", "001-120". */
struct range {
	uint32_t from, to;
	int width;
};

static bool read_number(const char **p, uint32_t *ret, int *ret_width)
{
	const char *start = *p;
	uint32_t v = 0;

	while (isdigit((unsigned char)**p) && *p - start < NUMBER_DIGITS_MAX)
		v = v * 10 + (uint32_t)(*(*p)++ - '0');
	*ret = v;
	*ret_width = (int)(*p - start);
	return *p > start && !isdigit((unsigned char)**p);
}

static int read_range(const char **p, struct range *ret, const char *text, struct err *err)
{
	int width_to;

	if (!read_number(p, &ret->from, &ret->width))
		return err_set(err, -EINVAL, "hostlist '%.60s': expected a number of at most %d digits at '%.20s'",
		               text, NUMBER_DIGITS_MAX, *p);
	ret->to = ret->from;
	if (**p == '-') {
		(*p)++;
		if (!read_number(p, &ret->to, &width_to))
			return err_set(err, -EINVAL, "hostlist '%.60s': expected the end of a range at '%.20s'", text,
			               *p);
		if (ret->to < ret->from)
			return err_set(err, -EINVAL,
			               "hostlist '%.60s': the range %" PRIu32 "-%" PRIu32 " runs backwards", text,
			               ret->from, ret->to);
	}
	return 0;
}

/* Appends to each of the names [first, h->n) every value of the bracket at *p: a cross product, in order. */
static int expand_bracket(struct hostlist *h, size_t first, const char **p, const char *text, struct err *err)
{
	struct hostlist stems = HOSTLIST_INIT;
	const char *start = *p;
	int r = 0;

	for (size_t i = first; i < h->n; i++)
		take_name(&stems, h->names[i]);
	h->n = first;
	for (size_t i = 0; i < stems.n && r == 0; i++) {
		*p = start + 1;
		for (;;) {
			struct range range = { 0 };

			r = read_range(p, &range, text, err);
			if (r < 0)
				break;
			for (uint32_t v = range.from; v <= range.to && r == 0; v++) {
				char *name = str_printf("%s%0*" PRIu32, stems.names[i], range.width, v);

				take_name(h, name);
				if (h->n > HOSTLIST_NAMES_MAX)
					r = err_set(err, -E2BIG, "hostlist '%.60s': more than %d names", text,
					            HOSTLIST_NAMES_MAX);
				else if (strlen(name) > HOSTLIST_NAME_MAX)
					r = err_set(err, -E2BIG, "hostlist '%.60s': a name has more than %d bytes",
					            text, HOSTLIST_NAME_MAX);
			}
			if (r < 0 || **p == ']')
				break;
			if (**p != ',') {
				r = err_set(err, -EINVAL, "hostlist '%.60s': expected ',' or ']' at '%.20s'", text, *p);
				break;
			}
			(*p)++;
		}
		if (r == 0)
			(*p)++;
	}
	hostlist_done(&stems);
	return r;
}

/* One item between commas: literal parts and brackets in any order. */
static int parse_item(struct hostlist *h, const char **p, const char *text, struct err *err)
{
	size_t first = h->n;
	int n_brackets = 0;

	take_name(h, mem_strdup(""));
	while (**p && **p != ',') {
		const char *from = *p;

		if (**p == '[') {
			int r;

			if (++n_brackets > HOSTLIST_BRACKETS_MAX)
				return err_set(err, -E2BIG, "hostlist '%.60s': more than %d brackets in a name", text,
				               HOSTLIST_BRACKETS_MAX);
			r = expand_bracket(h, first, p, text, err);
			if (r < 0)
				return r;
			continue;
		}
		while (is_name_char(**p))
			(*p)++;
		if (*p == from)
			return err_set(err, -EINVAL, "hostlist '%.60s': the character at '%.20s' is not allowed", text,
			               *p);
		for (size_t i = first; i < h->n; i++) {
			char *longer = str_printf("%s%.*s", h->names[i], (int)(*p - from), from);

			free(h->names[i]);
			h->names[i] = longer;
			if (strlen(longer) > HOSTLIST_NAME_MAX)
				return err_set(err, -E2BIG, "hostlist '%.60s': a name has more than %d bytes", text,
				               HOSTLIST_NAME_MAX);
		}
	}
	if (h->n == first + 1 && !*h->names[first])
		return err_set(err, -EINVAL, "hostlist '%.60s': an empty name", text);
	return 0;
}

int hostlist_parse(struct hostlist *h, const char *text, struct err *err)
{
	_cleanup_hostlist_ struct hostlist new = HOSTLIST_INIT;
	const char *p = text;

	if (str_empty(text))
		return 0;
	for (;; p++) {
		int r = parse_item(&new, &p, text, err);

		if (r < 0)
			return r;
		if (new.n > HOSTLIST_NAMES_MAX)
			return err_set(err, -E2BIG, "hostlist '%.60s': more than %d names", text, HOSTLIST_NAMES_MAX);
		if (!*p)
			break;
	}
	for (size_t i = 0; i < new.n; i++)
		take_name(h, new.names[i]);
	new.n = 0; /* moved */
	return 0;
}

/* The digits at the end of a name: where they start, and their value when it is usable. */
static size_t stem_len(const char *name, uint32_t *ret_number, int *ret_width)
{
	size_t len = strlen(name), stem = len;

	while (stem > 0 && isdigit((unsigned char)name[stem - 1]) && len - stem < NUMBER_DIGITS_MAX)
		stem--;
	*ret_width = (int)(len - stem);
	*ret_number = 0;
	for (size_t i = stem; i < len; i++)
		*ret_number = *ret_number * 10 + (uint32_t)(name[i] - '0');
	return stem;
}

int hostlist_compare(const char *a, const char *b)
{
	uint32_t na, nb;
	int wa, wb, c;
	size_t sa = stem_len(a, &na, &wa), sb = stem_len(b, &nb, &wb);

	c = strncmp(a, b, MIN_OF(sa, sb));
	if (c == 0 && sa != sb)
		c = sa < sb ? -1 : 1;
	if (c == 0 && na != nb)
		c = na < nb ? -1 : 1;
	return c ? c : strcmp(a, b);
}

static int natural_order(const void *a, const void *b)
{
	return hostlist_compare(*(char *const *)a, *(char *const *)b);
}

void hostlist_sort_unique(struct hostlist *h)
{
	size_t n = 0;

	if (h->n)
		qsort(h->names, h->n, sizeof(*h->names), natural_order);
	for (size_t i = 0; i < h->n; i++) {
		if (n && str_eq(h->names[n - 1], h->names[i]))
			free(h->names[i]);
		else
			h->names[n++] = h->names[i];
	}
	h->n = n;
}

bool hostlist_has(const struct hostlist *h, const char *name)
{
	for (size_t i = 0; i < h->n; i++)
		if (str_eq(h->names[i], name))
			return true;
	return false;
}

/* Can a range run on from the number before to this one, so that expanding it gives both as they are written? */
static bool runs_on(uint32_t last, int last_width, uint32_t next, int next_width)
{
	static const uint32_t tens[] = { 0, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000 };

	if (next != last + 1)
		return false;
	return next_width == last_width || (next_width == last_width + 1 && next == tens[last_width]);
}

void hostlist_format(const struct hostlist *h, struct buf *out)
{
	for (size_t i = 0; i < h->n;) {
		uint32_t number, next;
		int width, next_width;
		size_t stem = stem_len(h->names[i], &number, &width), group = i + 1, run;

		/* the group: neighbours with the same stem that end in a number */
		while (width && group < h->n && stem_len(h->names[group], &next, &next_width) == stem && next_width &&
		       strncmp(h->names[group], h->names[i], stem) == 0)
			group++;
		if (i)
			buf_add_char(out, ',');
		if (group == i + 1) {
			buf_add_str(out, h->names[i++]);
			continue;
		}
		buf_printf(out, "%.*s[", (int)stem, h->names[i]);
		for (size_t from = i; from < group; from = run) {
			uint32_t last;
			int last_width;

			stem_len(h->names[from], &number, &width);
			last = number;
			last_width = width;
			for (run = from + 1; run < group; run++) {
				stem_len(h->names[run], &next, &next_width);
				if (!runs_on(last, last_width, next, next_width))
					break;
				last = next;
				last_width = next_width;
			}
			buf_printf(out, "%s%0*" PRIu32, from > i ? "," : "", width, number);
			if (last > number)
				buf_printf(out, "-%0*" PRIu32, width, last);
		}
		buf_add_char(out, ']');
		i = group;
	}
}
