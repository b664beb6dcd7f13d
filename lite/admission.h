/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Checks and additions that need to look at other objects: the namespace, a Pod's service account and priority class, a
 * new Node's taint, names that are protected.
 */
#pragma once

#include <yyjson.h>

#include "lite/decode.h"
#include "lite/kinds.h"
#include "lite/server.h"
#include "lite/status.h"

/* Is there such a namespace, and does it take new objects? */
int admit_namespace(struct lite *l, const struct kind *k, const char *ns, yyjson_mut_doc *doc, struct status *st);

/* After defaulting, before validation. */
int admit_create(struct lite *l, const struct kind *k, const char *ns, yyjson_mut_doc *doc, struct warnings *w,
                 struct status *st);
int admit_update(struct lite *l, const struct kind *k, const char *sub, yyjson_mut_doc *doc, yyjson_mut_val *old,
                 struct status *st);
int admit_delete(struct lite *l, const struct kind *k, yyjson_mut_val *root, const char *name, struct status *st);
