/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Does a Pod fit on a node? As the default scheduler's filters decide, and in its words. Pure.
 */
#pragma once

#include "base/buf.h"
#include "lite/control/view.h"

#define FIT_REASON_MAX 200

/* True, or false with the reason: "Insufficient cpu", "node(s) had untolerated taint {k: v}", … */
bool fits(const struct vpod *p, const struct vnode *n, char reason[FIT_REASON_MAX]);

/* Only taints. */
bool fits_taints(const struct pod *p, const struct knode *n, char reason[FIT_REASON_MAX]);

/* How much of the node is free afterwards, 0 … 1,000: higher is better. */
int64_t fit_score(const struct vpod *p, const struct vnode *n);
