/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One stored object, several forms: Events are kept in the core group's form and served in two; a custom resource is
 * kept as it was written and served in every version of its definition.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "lite/kinds.h"

/* Is the stored text already in the form of kind `k`? */
bool convert_same(const struct kind *k, const char *text);

void convert_to(const struct kind *k, yyjson_mut_doc *doc);   /* stored form → the form of k */
void convert_from(const struct kind *k, yyjson_mut_doc *doc); /* the form of k → stored form */

/* How many bytes of a stored text are its kind and apiVersion: `{"kind":"Pod","apiVersion":"v1",`; 0 when it does not
 * begin so. Items of built-in lists are written without them. */
size_t convert_head(const struct kind *k, const char *text);
