/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which outcomes of which decisions were seen since the process began.
 */
#pragma once

#include <stdbool.h>

void coverage_print(bool whole, bool all); /* whole: those of syncer and operator too; all: how often each */
