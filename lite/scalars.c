/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/scalars.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/time.h"

/* ------------------------------------------------------------------------------------------------------ quantities */

#define DIGITS_MAX 16 /* of a number we write anew; longer ones are left as they were written */

enum form { FORM_SI, FORM_BINARY, FORM_EXPONENT };

struct amount {
	bool negative;
	__int128 number;
	int scale; /* × 10^scale */
	int binary; /* × 2^binary */
	enum form form;
};

static const struct {
	const char *text;
	enum form form;
	int exponent;
} suffixes[] = {
	{ "", FORM_SI, 0 },        { "n", FORM_SI, -9 },      { "u", FORM_SI, -6 },      { "m", FORM_SI, -3 },
	{ "k", FORM_SI, 3 },       { "M", FORM_SI, 6 },       { "G", FORM_SI, 9 },       { "T", FORM_SI, 12 },
	{ "P", FORM_SI, 15 },      { "E", FORM_SI, 18 },      { "Ki", FORM_BINARY, 10 }, { "Mi", FORM_BINARY, 20 },
	{ "Gi", FORM_BINARY, 30 }, { "Ti", FORM_BINARY, 40 }, { "Pi", FORM_BINARY, 50 }, { "Ei", FORM_BINARY, 60 },
};

static const char *suffix_of(enum form form, int exponent)
{
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
		if (suffixes[i].form == form && suffixes[i].exponent == exponent)
			return suffixes[i].text;
	return "";
}

static int read_suffix(const char *s, struct amount *a)
{
	int64_t exponent;

	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		if (!str_eq(suffixes[i].text, s))
			continue;
		a->form = suffixes[i].form;
		if (a->form == FORM_BINARY)
			a->binary = suffixes[i].exponent;
		else
			a->scale += suffixes[i].exponent;
		return 0;
	}
	if ((*s != 'e' && *s != 'E') || str_to_i64(s[1] == '+' ? s + 2 : s + 1, -100, 100, &exponent) < 0)
		return -EINVAL;
	a->form = FORM_EXPONENT;
	a->scale += (int)exponent;
	return 0;
}

/* Reads the digits; returns where the suffix begins, NULL when this is no quantity, *ret_long for too many digits. */
static const char *read_digits(const char *s, struct amount *a, bool *ret_long)
{
	size_t digits = 0, seen = 0;
	bool fraction = false;

	a->negative = *s == '-';
	if (*s == '-' || *s == '+')
		s++;
	for (; isdigit((unsigned char)*s) || (*s == '.' && !fraction); s++) {
		if (*s == '.') {
			fraction = true;
			continue;
		}
		seen++;
		digits += digits || *s != '0';
		if (digits > DIGITS_MAX)
			*ret_long = true;
		else
			a->number = a->number * 10 + (*s - '0');
		a->scale -= fraction;
	}
	return seen || fraction ? s : NULL;
}

static void write_decimal(struct amount *a, char ret[SCALAR_TEXT_MAX])
{
	/* Nothing below a billionth: rounded up. */
	for (; a->scale < -9; a->scale++)
		a->number = (a->number + 9) / 10;
	for (; a->number % 10 == 0; a->scale++)
		a->number /= 10;
	for (; a->scale % 3 || (a->form == FORM_SI && a->scale > 18); a->scale--)
		a->number *= 10;
	if (a->form == FORM_EXPONENT && a->scale)
		snprintf(ret, SCALAR_TEXT_MAX, "%s%llde%d", a->negative ? "-" : "", (long long)a->number, a->scale);
	else
		snprintf(ret, SCALAR_TEXT_MAX, "%s%lld%s", a->negative ? "-" : "", (long long)a->number,
		         suffix_of(FORM_SI, a->scale));
}

static void write_binary(struct amount *a, char ret[SCALAR_TEXT_MAX])
{
	__int128 value = a->number << a->binary;
	int exponent = 0;

	for (; a->scale < 0 && value % 10 == 0; a->scale++)
		value /= 10;
	if (a->scale < 0 || value < 1024) {
		a->number = value;
		a->form = FORM_SI;
		write_decimal(a, ret);
		return;
	}
	for (; value % 1024 == 0 && exponent < 60; exponent += 10)
		value /= 1024;
	snprintf(ret, SCALAR_TEXT_MAX, "%s%lld%s", a->negative ? "-" : "", (long long)value,
	         suffix_of(FORM_BINARY, exponent));
}

int quantity_canonical(const char *text, char ret[SCALAR_TEXT_MAX], char why[SCALAR_WHY_MAX])
{
	struct amount a = { 0 };
	bool too_long = strlen(text) >= SCALAR_TEXT_MAX;
	const char *suffix = too_long ? NULL : read_digits(text, &a, &too_long);

	if (!suffix || suffix[strspn(suffix, "eEinumkKMGTP+-0123456789")]) {
		str_copy(why, SCALAR_WHY_MAX,
		         "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
		return -EINVAL;
	}
	if (read_suffix(suffix, &a) < 0) {
		str_copy(why, SCALAR_WHY_MAX, "unable to parse quantity's suffix");
		return -EINVAL;
	}
	if (too_long || a.scale < -60 || a.scale > 18)
		str_copy(ret, SCALAR_TEXT_MAX, text);
	else if (!a.number)
		str_copy(ret, SCALAR_TEXT_MAX, "0");
	else if (a.form == FORM_BINARY)
		write_binary(&a, ret);
	else
		write_decimal(&a, ret);
	return 0;
}

/* ----------------------------------------------------------------------------------------------------------- times */

static int cannot_parse(const char *text, const char *layout, const char *rest, const char *element,
                        char why[SCALAR_WHY_MAX])
{
	snprintf(why, SCALAR_WHY_MAX, "parsing time \"%.60s\" as \"%s\": cannot parse \"%.60s\" as \"%s\"", text,
	         layout, rest, element);
	return -EINVAL;
}

int time_canonical(const char *text, bool micro, char ret[SCALAR_TEXT_MAX], char why[SCALAR_WHY_MAX])
{
	static const struct {
		const char *name;
		size_t digits; /* 0: the character itself */
	} elements[] = { { "2006", 4 }, { "-", 0 }, { "01", 2 }, { "-", 0 }, { "02", 2 }, { "T", 0 },
		         { "15", 2 },   { ":", 0 }, { "04", 2 }, { ":", 0 }, { "05", 2 } };
	const char *layout = micro ? "2006-01-02T15:04:05.000000Z07:00" : "2006-01-02T15:04:05Z07:00", *p = text;
	char out[TIME_TEXT_MAX];
	usec_t t;

	for (size_t i = 0; i < ARRAY_LEN(elements); i++) {
		size_t n = elements[i].digits;

		if (n ? strspn(p, "0123456789") < n : *p != *elements[i].name)
			return cannot_parse(text, layout, p, elements[i].name, why);
		p += n ? n : 1;
	}
	if (micro && (*p != '.' || strspn(p + 1, "0123456789") != 6))
		return cannot_parse(text, layout, p, ".000000", why);
	if (*p == '.')
		p += 1 + strspn(p + 1, "0123456789");
	if (*p != 'Z' && *p != '+' && *p != '-')
		return cannot_parse(text, layout, p, "Z07:00", why);
	if (time_parse_rfc3339(text, strlen(text), &t) < 0) {
		snprintf(why, SCALAR_WHY_MAX, "parsing time \"%.60s\": out of range", text);
		return -EINVAL;
	}
	str_copy(ret, SCALAR_TEXT_MAX, micro ? time_format_micro(t, out) : time_format(t, out));
	return 0;
}

/* ---------------------------------------------------------------------------------------------------------- base64 */

int base64_check(const char *text, size_t len, char why[SCALAR_WHY_MAX])
{
	size_t n = 0, padding = 0, i;

	for (i = 0; i < len; i++) {
		char c = text[i];

		if (c == '\r' || c == '\n')
			continue;
		if (c == '=' && n % 4 >= 2 && padding < 2) {
			padding++;
			n++;
			continue;
		}
		if (padding || !(isalnum((unsigned char)c) || c == '+' || c == '/'))
			break;
		n++;
	}
	if (i == len && n % 4 == 0)
		return 0;
	snprintf(why, SCALAR_WHY_MAX, "illegal base64 data at input byte %zu", i == len ? n / 4 * 4 : i);
	return -EINVAL;
}
