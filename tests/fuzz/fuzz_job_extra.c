/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Any `extra` of a job: a Pod's identity only when writing it gives the same text again, else nothing is touched.
 */
#include <assert.h>

#include "base/str.h"
#include "policy/podjob.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = mem_strndup((const char *)data, size);
	struct extra_id id = { .ns = "untouched" };
	char again[EXTRA_MAX];

	if (extra_parse(text, &id)) {
		assert(id.ns[0] && id.name[0] && id.uid[0]);
		assert(id.mark == EXTRA_STARTED || id.restarts == 0);
		assert(str_eq(extra_format(&id, again), text));
	} else
		assert(str_eq(id.ns, "untouched"));
	return 0;
}
