/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A node on which a Pod still runs that has no job any more must not be given to another job: it is drained until the Pod is
 * gone. Only our own drain, known by its whole reason, is ever lifted. Pure.
 */
#pragma once

#include <stdbool.h>

#include "model/slurm.h"

enum hold { HOLD_LEAVE, HOLD_DRAIN, HOLD_LIFT };

/* held: a Pod is there that Slurm does not know of. A node that is drained already, by whomever, is left as it is; so is one that
 * somebody took down with a reason of his own: nothing starts there, and he decides when it comes back. One that is down because it
 * does not answer may come back by itself, and is drained before. */
enum hold hold_decide(bool held, const struct snode *node, const char *our_reason);
