/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * OpenAPI documents from the set of served kinds: what kubectl needs to explain a kind, to validate and to compute
 * patches. All append JSON to `out`.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "lite/kinds.h"

#define OPENAPI_MAX (16u << 20) /* bytes of one document */

void openapi_v2(const struct kinds *set, struct buf *out);       /* /openapi/v2: definitions and patch paths */
void openapi_v3_index(const struct kinds *set, struct buf *out); /* /openapi/v3: paths with hashes */
/* /openapi/v3/api/v1, /openapi/v3/apis/GROUP/VERSION; false when nothing is served there. */
bool openapi_v3(const struct kinds *set, const char *group, const char *version, struct buf *out);
