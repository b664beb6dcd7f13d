/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/quantity.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

static const struct {
	const char *suffix;
	int base;
	int power;
} suffixes[] = {
	{ "", 10, 0 },   { "n", 10, -9 }, { "u", 10, -6 }, { "m", 10, -3 }, { "k", 10, 3 },  { "M", 10, 6 },
	{ "G", 10, 9 },  { "T", 10, 12 }, { "P", 10, 15 }, { "E", 10, 18 }, { "Ki", 2, 10 }, { "Mi", 2, 20 },
	{ "Gi", 2, 30 }, { "Ti", 2, 40 }, { "Pi", 2, 50 }, { "Ei", 2, 60 },
};

/* v * 2^twos * 10^tens, rounded up. It multiplies as long as there is room and divides only then, so that nothing is
 * lost that matters; with no division left, what is above the room is above every maximum. */
static unsigned __int128 scale(unsigned __int128 v, int twos, int tens, bool lost)
{
	const unsigned __int128 room = (unsigned __int128)1 << 120;

	while (twos > 0 || tens != 0) {
		if (v < room && twos > 0) {
			v *= 2;
			twos--;
		} else if (v < room && tens > 0) {
			v *= 10;
			tens--;
		} else if (tens < 0) {
			lost |= v % 10 != 0;
			v /= 10;
			tens++;
		} else
			break;
	}
	return v + lost;
}

/* "e3", "E-2": what follows the digits, when it is an exponent. */
static bool read_exponent(const char *p, const char *end, int *ret)
{
	bool negative = false;
	int v = 0;

	if (p == end || (*p != 'e' && *p != 'E'))
		return false;
	p++;
	if (p < end && (*p == '+' || *p == '-'))
		negative = *p++ == '-';
	if (p == end)
		return false;
	for (; p < end; p++) {
		if (*p < '0' || *p > '9')
			return false;
		if (v < 1000)
			v = v * 10 + (*p - '0');
	}
	*ret = negative ? -v : v;
	return true;
}

int quantity_parse(const char *text, size_t len, int64_t *ret_milli)
{
	const char *p = text, *end = text + len;
	const unsigned __int128 enough = (unsigned __int128)1 << 90;
	unsigned __int128 v = 0;
	int base = 10, power = 0, fraction = 0, n_digits = 0;
	bool negative = false, dot = false, lost = false;

	if (p < end && (*p == '+' || *p == '-'))
		negative = *p++ == '-';
	for (; p < end && ((*p >= '0' && *p <= '9') || (*p == '.' && !dot)); p++) {
		if (*p == '.') {
			dot = true;
			continue;
		}
		n_digits++;
		if (v > enough) { /* more digits than can matter: keep the size, note the rest */
			if (!dot)
				fraction--;
			lost |= *p != '0';
			continue;
		}
		v = v * 10 + (unsigned)(*p - '0');
		if (dot)
			fraction++;
	}
	if (n_digits == 0)
		return -EINVAL;
	if (p < end && !read_exponent(p, end, &power)) {
		size_t i, rest = (size_t)(end - p);

		for (i = 1; i < ARRAY_LEN(suffixes); i++)
			if (strlen(suffixes[i].suffix) == rest && memcmp(p, suffixes[i].suffix, rest) == 0)
				break;
		if (i == ARRAY_LEN(suffixes))
			return -EINVAL;
		base = suffixes[i].base;
		power = suffixes[i].power;
	}
	v = scale(v, base == 2 ? power : 0, (base == 10 ? power : 0) + 3 - fraction, lost);
	if (v > (unsigned __int128)QUANTITY_MAX)
		v = (unsigned __int128)QUANTITY_MAX;
	*ret_milli = negative ? -(int64_t)v : (int64_t)v;
	return 0;
}

int64_t quantity_units(int64_t milli)
{
	return milli / 1000 + (milli % 1000 > 0);
}
