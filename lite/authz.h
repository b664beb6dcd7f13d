/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * May this user do this? system:masters may everything; others what Roles and ClusterRoles bound to them say.
 */
#pragma once

#include <stdbool.h>

#include "lite/auth.h"
#include "lite/route.h"
#include "lite/server.h"
#include "lite/status.h"

struct access {
	const char *verb;
	const char *group, *resource, *sub, *ns, *name; /* of resources; "" where there is none */
	const char *path;                        /* of other paths; NULL: a resource */
};

bool authz_allow(struct lite *l, const struct user *u, const struct access *a);

/* 403 with the real server's words. */
int authz_check(struct lite *l, const struct user *u, const struct route *r, struct status *st);
