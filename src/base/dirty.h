/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The dirty set: names of things to look at again, each at most once, each with a time before which it need not be
 * looked at. Events only mark; the shell takes what is due and looks at the whole truth. Marking again keeps the
 * earlier time. Taking goes by time, then by order of marking.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"
#include "base/time.h"

struct dirty_entry;

struct dirty {
	struct map by_key;
	struct dirty_entry **heap;
	size_t n, size;
	uint64_t next_order;
};

#define DIRTY_INIT ((struct dirty) { 0 })

void dirty_done(struct dirty *d);

/* Marks key as due at `at` (0 = now). An entry that is already due earlier stays so. */
void dirty_mark(struct dirty *d, const char *key, usec_t at);

/* Takes one that is due; the caller frees the key. NULL when none is. */
char *dirty_take(struct dirty *d, usec_t now);

usec_t dirty_next(const struct dirty *d); /* when the next is due, USEC_NEVER when empty */

static inline size_t dirty_count(const struct dirty *d)
{
	return d->n;
}
