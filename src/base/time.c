/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/time.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define DURATION_MAX (366 * 24 * USEC_HOUR)

static usec_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (usec_t)ts.tv_sec * USEC_SEC + ts.tv_nsec / 1000;
}

static usec_t real_mono(const struct clock *clock)
{
	(void)clock;
	return read_clock(CLOCK_BOOTTIME); /* goes on while the machine sleeps: a lease does not wait for us */
}

static usec_t real_wall(const struct clock *clock)
{
	(void)clock;
	return read_clock(CLOCK_REALTIME);
}

const struct clock *clock_real(void)
{
	static const struct clock real = { real_mono, real_wall };

	return &real;
}

usec_t usec_add(usec_t a, usec_t b)
{
	usec_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b > 0 ? USEC_NEVER : INT64_MIN;
	return sum;
}

/* Reads exactly n digits. */
static bool digits(const char **p, const char *end, int n, int *ret)
{
	int v = 0;

	for (int i = 0; i < n; i++, (*p)++) {
		if (*p == end || **p < '0' || **p > '9')
			return false;
		v = v * 10 + (**p - '0');
	}
	*ret = v;
	return true;
}

static bool literal(const char **p, const char *end, char c)
{
	if (*p == end || **p != c)
		return false;
	(*p)++;
	return true;
}

/* Days since 1970-01-01 of a date in the Gregorian calendar (Howard Hinnant's public-domain arithmetic). */
static int64_t days_from_civil(int year, int month, int day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t yoe = y - era * 400;
	int64_t doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static int days_in_month(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return month == 2 && leap ? 29 : days[month - 1];
}

int time_parse_rfc3339(const char *text, size_t len, usec_t *ret)
{
	const char *p = text, *end = text + len;
	int year, month, day, hour, minute, second, fraction = 0, sign, off_hour = 0, off_minute = 0;

	if (!digits(&p, end, 4, &year) || !literal(&p, end, '-') || !digits(&p, end, 2, &month) ||
	    !literal(&p, end, '-') || !digits(&p, end, 2, &day) || !(literal(&p, end, 'T') || literal(&p, end, 't')) ||
	    !digits(&p, end, 2, &hour) || !literal(&p, end, ':') || !digits(&p, end, 2, &minute) ||
	    !literal(&p, end, ':') || !digits(&p, end, 2, &second))
		return -EINVAL;
	if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month) || hour > 23 || minute > 59 ||
	    second > 60)
		return -EINVAL;
	if (literal(&p, end, '.')) {
		int scale = 100000, n = 0;

		for (; p < end && *p >= '0' && *p <= '9'; p++, n++, scale /= 10)
			fraction += (*p - '0') * scale;
		if (n == 0 || n > 9)
			return -EINVAL;
	}
	if (literal(&p, end, 'Z') || literal(&p, end, 'z'))
		sign = 0;
	else if (literal(&p, end, '+'))
		sign = 1;
	else if (literal(&p, end, '-'))
		sign = -1;
	else
		return -EINVAL;
	if (sign && (!digits(&p, end, 2, &off_hour) || !literal(&p, end, ':') || !digits(&p, end, 2, &off_minute) ||
	             off_hour > 23 || off_minute > 59))
		return -EINVAL;
	if (p != end)
		return -EINVAL;
	*ret = (((days_from_civil(year, month, day) * 24 + hour) * 60 + minute) * 60 + second -
	        sign * (off_hour * 3600 + off_minute * 60)) *
	               USEC_SEC +
	       fraction;
	return 0;
}

static int format_seconds(usec_t wall, char *text, size_t size, usec_t *ret_fraction)
{
	time_t seconds = (time_t)(wall / USEC_SEC);
	struct tm tm;

	*ret_fraction = wall % USEC_SEC;
	if (*ret_fraction < 0) {
		*ret_fraction += USEC_SEC;
		seconds--;
	}
	gmtime_r(&seconds, &tm);
	return snprintf(text, size, "%04d-%02d-%02dT%02d:%02d:%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
	                tm.tm_hour, tm.tm_min, tm.tm_sec);
}

const char *time_format(usec_t wall, char text[TIME_TEXT_MAX])
{
	usec_t fraction;
	int n = format_seconds(wall, text, TIME_TEXT_MAX - 1, &fraction);

	memcpy(text + n, "Z", 2);
	return text;
}

const char *time_format_micro(usec_t wall, char text[TIME_TEXT_MAX])
{
	usec_t fraction;
	int n = format_seconds(wall, text, TIME_TEXT_MAX, &fraction);

	snprintf(text + n, (size_t)(TIME_TEXT_MAX - n), ".%06dZ", (int)fraction);
	return text;
}

static const struct {
	const char *suffix;
	usec_t span;
} duration_units[] = {
	/* longest match first where one is the start of another */
	{ "ms", USEC_MSEC }, { "us", 1 }, { "h", USEC_HOUR }, { "m", USEC_MINUTE }, { "s", USEC_SEC },
};

int duration_parse(const char *text, usec_t *ret, struct err *err)
{
	static const char help[] = "a duration is written like 30s, 1m30s, 250ms or 2h";
	usec_t total = 0;
	const char *p = text;

	if (strcmp(text, "0") == 0) {
		*ret = 0;
		return 0;
	}
	do {
		usec_t n = 0, part;
		const char *start = p;
		usec_t unit = 0;

		for (; *p >= '0' && *p <= '9'; p++)
			if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *p - '0', &n))
				return err_set(err, -ERANGE, "'%.40s' is too long: %s", text, help);
		if (p == start)
			return err_set(err, -EINVAL, "'%.40s' is no duration: %s", text, help);
		for (size_t i = 0; i < ARRAY_LEN(duration_units) && !unit; i++)
			if (strncmp(p, duration_units[i].suffix, strlen(duration_units[i].suffix)) == 0) {
				unit = duration_units[i].span;
				p += strlen(duration_units[i].suffix);
			}
		if (!unit)
			return err_set(err, -EINVAL, "'%.40s' has no unit: %s", text, help);
		if (__builtin_mul_overflow(n, unit, &part) || __builtin_add_overflow(total, part, &total) ||
		    total > DURATION_MAX)
			return err_set(err, -ERANGE, "'%.40s' is longer than a year", text);
	} while (*p);
	*ret = total;
	return 0;
}

const char *duration_format(usec_t span, char text[TIME_TEXT_MAX])
{
	static const struct {
		const char *suffix;
		usec_t span;
	} units[] = { { "h", USEC_HOUR }, { "m", USEC_MINUTE }, { "s", USEC_SEC }, { "ms", USEC_MSEC }, { "us", 1 } };
	int n = 0;

	if (span <= 0)
		return memcpy(text, "0s", 3);
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (span >= units[i].span) {
			n += snprintf(text + n, (size_t)(TIME_TEXT_MAX - n), "%" PRId64 "%s", span / units[i].span,
			              units[i].suffix);
			span %= units[i].span;
		}
	return text;
}
