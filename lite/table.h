/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Tables: what kubectl prints. Columns and cells per kind, the same as a real server's; kinds without their own columns
 * get Name and Created At, custom resources those of their definition.
 */
#pragma once

#include <yyjson.h>

#include "base/buf.h"
#include "base/time.h"
#include "lite/kinds.h"

enum table_include { TABLE_METADATA, TABLE_OBJECT, TABLE_NONE }; /* ?includeObject=, Metadata when not given */

/* Appends `[{"name":"Name",…},…]`. */
void table_add_columns(const struct kind *k, struct buf *out);

/* Appends one row: `{"cells":[…],"object":{…}}`; ages are spans until `now` (wall clock). */
void table_add_row(const struct kind *k, yyjson_val *object, enum table_include include, usec_t now, struct buf *out);

/* Appends the PartialObjectMetadata form of an object; `version` is "v1" or "v1beta1" of meta.k8s.io. */
void table_add_partial(yyjson_val *object, const char *version, struct buf *out);
