/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Any bytes as a time and as a duration: refused, or what is written back reads the same.
 */
#include "base/time.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_time(const char *text, size_t len)
{
	char written[TIME_TEXT_MAX];
	usec_t t = 1234, again;
	int r = time_parse_rfc3339(text, len, &t);

	assert(r == 0 || (r == -EINVAL && t == 1234));
	if (r < 0)
		return;
	time_format_micro(t, written);
	assert(strlen(written) < TIME_TEXT_MAX);
	if (time_parse_rfc3339(written, strlen(written), &again) < 0) {
		/* an offset can lead out of the years that have four digits */
		assert(t < INT64_C(-62167219200) * USEC_SEC || t >= INT64_C(253402300800) * USEC_SEC);
		return;
	}
	assert(again == t);
	time_format(t, written);
	assert(time_parse_rfc3339(written, strlen(written), &again) == 0);
	assert(again <= t && t - again < USEC_SEC);
}

static void check_duration(const char *text)
{
	char written[TIME_TEXT_MAX];
	struct err err = { 0 };
	usec_t span = -1, again;
	int r = duration_parse(text, &span, &err);

	if (r < 0) {
		assert(span == -1 && err.code == r && err.text[0]);
		return;
	}
	assert(span >= 0);
	assert(duration_parse(duration_format(span, written), &again, &err) == 0);
	assert(again == span);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *exact = mem_dup(data, size), *text = mem_strndup((const char *)data, size);

	check_time(exact, size);
	check_duration(text);
	return 0;
}
