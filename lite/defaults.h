/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the server fills in and takes away around a write. Pure: uid, resourceVersion, creationTimestamp, deletion and
 * generated names are the store's business, everything else about the object's content is here.
 *
 * Order of a create:  decode_body → defaults_create → validate_create → managed_update.
 * Order of an update: decode_body (or patch + decode_patched) → defaults_update → validate_update → managed_update.
 */
#pragma once

#include <yyjson.h>

#include "base/time.h"
#include "lite/kinds.h"
#include "lite/status.h"

/* Fills in the kind's defaults (of the spec, templates included). Idempotent. */
void defaults_fill(const struct kind *k, yyjson_mut_doc *doc);

/* Create: defaults, status as a new object has it (Pods: Pending, qosClass, gates' condition), generation, admission's
 * share for Pods (tolerations, priority, service account name, limits → requests), labels of namespaces. */
void defaults_create(const struct kind *k, yyjson_mut_doc *doc, usec_t now);

/* Update: defaults; takes over from `old` what a writer of this part may not touch (sub NULL or "": status, when the
 * kind has that subresource; "status": everything but status and, as the real one, managed metadata), system metadata
 * (uid, creationTimestamp, deletionTimestamp …) and raises generation when the spec changed. */
void defaults_update(const struct kind *k, yyjson_mut_doc *doc, yyjson_mut_val *old, const char *sub, usec_t now);

/* Did an update change anything besides managedFields' times? A write that did not keeps its resourceVersion. */
bool defaults_same(yyjson_mut_val *a, yyjson_mut_val *b);
