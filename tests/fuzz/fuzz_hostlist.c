/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Any text: names or an error, never more than the limits; and what was parsed survives being written and read again.
 */
#include "base/hostlist.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"

#define FORMAT_MAX ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_hostlist_ struct hostlist once = HOSTLIST_INIT, again = HOSTLIST_INIT;
	_cleanup_free_ char *text = mem_strndup((const char *)data, size);
	_cleanup_buf_ struct buf out = BUF(FORMAT_MAX);
	struct err err = { 0 };

	if (hostlist_parse(&once, text, &err) < 0) {
		assert(once.n == 0 && err.code < 0 && err.text[0]);
		return 0;
	}
	assert(once.n <= HOSTLIST_NAMES_MAX);
	for (size_t i = 0; i < once.n; i++)
		assert(once.names[i][0] && strlen(once.names[i]) <= HOSTLIST_NAME_MAX);
	hostlist_format(&once, &out);
	assert(!out.error);
	assert(hostlist_parse(&again, buf_text(&out), &err) == 0);
	assert(again.n == once.n);
	for (size_t i = 0; i < once.n; i++)
		assert(str_eq(once.names[i], again.names[i]));
	hostlist_sort_unique(&again);
	for (size_t i = 1; i < again.n; i++)
		assert(!str_eq(again.names[i - 1], again.names[i]));
	return 0;
}
