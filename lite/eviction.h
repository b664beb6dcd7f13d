/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "lite/server.h"

/* Sets a Pod's condition DisruptionTarget, before it is deleted; and, unless NULL, its phase. manager NULL: nobody's field. -ENOENT
 * when it is gone. */
int mark_disrupted(struct lite *l, const char *ns, const char *name, const char *manager, const char *phase,
                   const char *reason, const char *message);
