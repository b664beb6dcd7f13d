/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What writing verbs and subresources share: options from the query, bodies.
 */
#pragma once

#include "lite/call.h"
#include "lite/patches.h"
#include "lite/registry.h"

/* dryRun, fieldManager, fieldValidation, force. `manager` is where o->manager points to. */
int write_options(struct call *c, bool apply, struct write_options *o, char manager[MANAGER_MAX + 1],
                  struct status *st);

/* The body as an object of kind k, or of the subresource's own kind. */
int write_body(struct call *c, const struct kind *k, const struct subresource *sub, enum field_validation v,
               yyjson_mut_doc **ret, struct status *st);

/* Fields of a DeleteOptions object; what it does not name stays. */
int write_delete_options(yyjson_val *body, struct delete_options *o, struct status *st);
