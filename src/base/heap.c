/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/heap.h"

#include <malloc.h>

#define LARGE (128 << 10)
#define MUCH ((size_t)512 << 10)

void heap_set_up(void)
{
	(void)mallopt(M_MMAP_THRESHOLD, LARGE);
}

void heap_give_back(size_t used)
{
	if (used >= MUCH)
		(void)malloc_trim(0);
}
