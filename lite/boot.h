/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a cluster has before anyone asks for it: system namespaces, their default service accounts, priority classes.
 */
#pragma once

#include "lite/server.h"

void boot_objects(struct lite *l);

/* Makes an object from JSON text unless it is there; text must be sound. */
void boot_object(struct lite *l, const char *group, const char *plural, const char *ns, const char *json);
