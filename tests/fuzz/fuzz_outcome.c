/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Any bytes as what a hook says of a Pod: an exit status, none, or -EINVAL; what is read is an object.
 */
#include "hook/outcome.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_dup(data, size); /* of its own size: a byte read too far is seen */
	struct outcome o = { .exit_code = 1234 };
	int r = outcome_read(text, size, &o);

	assert(r == 0 || r == -EINVAL);
	assert(r == 0 ? o.exit_code >= -1 && o.exit_code <= 255 : o.exit_code == 1234 && !o.over);
	if (r == 0)
		assert(memchr(text, '{', size) && memchr(text, '}', size));
	free(text);
	return 0;
}
