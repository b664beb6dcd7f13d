/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Logs of Pods' containers, passed on from the node agents that have them: the connections to the agents and the logs
 * on their way. A log ends when either side goes away.
 */
#pragma once

#include "net/loop.h"

struct logs;

struct logs *logs_new(struct loop *l, const char *agent_token); /* what agents want to see */
void logs_free(struct logs *l);                                  /* after the web: its streams end first */
