/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Once, when the agent starts and knows all Pods: ends the shims of Pods that went away while no agent ran, and removes their
 * directories.
 */
#pragma once

#include <stdbool.h>

#include "net/loop.h"

struct sweep;

/* Waits until known() and then takes every directory whose name is not wanted(). */
struct sweep *sweep_new(struct loop *l, const char *dir, bool (*known)(void *arg),
                        bool (*wanted)(void *arg, const char *uid), void *arg);
void sweep_free(struct sweep *s);
