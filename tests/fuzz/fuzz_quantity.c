/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Any bytes: a quantity or -EINVAL, the sign and the limits kept, and a whole number of units that covers it.
 */
#include "base/quantity.h"

#include <assert.h>
#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int64_t milli = 1234;
	int r = quantity_parse((const char *)data, size, &milli);

	assert(r == 0 || r == -EINVAL);
	if (r < 0) {
		assert(milli == 1234);
		return 0;
	}
	assert(data[0] != '-' || milli <= 0);
	assert(data[0] == '-' || milli >= 0);
	assert(milli >= -QUANTITY_MAX);
	if (milli >= 0) {
		int64_t units = quantity_units(milli);

		assert(units >= milli / 1000 && units <= milli / 1000 + 1);
		assert((units == 0) == (milli == 0));
	}
	return 0;
}
