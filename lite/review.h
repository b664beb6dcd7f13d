/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Reviews: objects that are only answered, never kept. May I (`kubectl auth can-i`), who am I (`kubectl auth whoami`).
 */
#pragma once

#include "lite/call.h"

bool review_is(const struct kind *k);
int review_answer(struct call *c, struct status *st);
