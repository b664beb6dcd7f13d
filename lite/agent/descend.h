/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * All processes that descend from one, from /proc. The root must be a subreaper for this to be complete.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Signals every live descendant of root (not root itself). Returns how many there were, zombies not counted. */
size_t descend_kill(pid_t root, int signal);
