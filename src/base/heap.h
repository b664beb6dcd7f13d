/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Memory goes back to the system, for programs that run long and now and then take much for a moment.
 */
#pragma once

#include <stddef.h>

/* Once, at the start: large pieces always go back when they are freed. (Else the C library takes the first ones for a sign that
 * it should keep such.) */
void heap_set_up(void);

/* Something took about so many bytes in small pieces, and has freed them: when it was much, it goes back, too. */
void heap_give_back(size_t used);
