/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Discovery documents from the set of served kinds. All append JSON to `out`.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "lite/kinds.h"

void discovery_version(struct buf *out);                                   /* /version */
void discovery_api(const char *server_address, struct buf *out);           /* /api: APIVersions */
void discovery_apis(const struct kinds *set, struct buf *out);             /* /apis: APIGroupList */
void discovery_group(const struct kinds *set, const char *group, struct buf *out);  /* /apis/GROUP: APIGroup */
void discovery_resources(const struct kinds *set, const char *group, const char *version,
                         struct buf *out);                                 /* /api/v1, /apis/G/V: APIResourceList */

/* /api and /apis asked with Accept …;as=APIGroupDiscoveryList. `version` is "v2" or "v2beta1". */
void discovery_aggregated(const struct kinds *set, bool core, const char *version, struct buf *out);
