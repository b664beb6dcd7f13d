/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The JSONPath that printer columns and scale subresources use: ".a.b", ".a['x.y']", ".a[0]", ".a[-1]", ".a[*]",
 * ".a.*",
 * ".a[?(@.type==\"Ready\")].status"; a backslash keeps a dot in a name. Only what it finds is told; a path that is not
 * understood finds nothing.
 */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#define JSONPATH_MAX 1024 /* bytes */

void jsonpath_each(yyjson_val *root, const char *path, void (*found)(void *arg, yyjson_val *v), void *arg);
yyjson_val *jsonpath_first(yyjson_val *root, const char *path); /* NULL = nothing */

/* NULL, or why the text cannot be such a path. */
const char *jsonpath_check(const char *path);
