/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * kubectl --as: someone who may "impersonate" asks as somebody else. Without it an answer to `auth can-i --as` would be about
 * the wrong person.
 */
#pragma once

#include "lite/auth.h"
#include "lite/server.h"
#include "lite/status.h"
#include "lite/web.h"

/* *ret: who is asked for, user_free() it; NULL when nobody is. 403 when `u` may not. */
int impersonate(struct lite *l, const struct user *u, const struct exchange *x, struct user **ret, struct status *st);
