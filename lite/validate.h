/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Is the object allowed? 422 with all causes, in the real server's words. Custom resources are checked against their
 * schema, then by the same rules for metadata.
 */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include "lite/kinds.h"
#include "lite/status.h"

int validate_create(const struct kind *k, yyjson_mut_val *obj, struct status *st);

/* sub: NULL, "" or "status". Checks the new object and what may not change (Pod spec, selectors, names, uid …). */
int validate_update(const struct kind *k, yyjson_mut_val *obj, yyjson_mut_val *old, const char *sub, struct status *st);
