/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the server fills in and takes away around a write. Pure: uid, resourceVersion, creationTimestamp, deletion and
 * generated names are the store's business, everything else about the object's content is here.
 *
 * Order of a create:  decode_body → name, uid and creationTimestamp set → defaults_create → validate_create →
 *                     managed_update.
 * Order of an update: decode_body (or patch + decode_patched) → defaults_update → validate_update → managed_update.
 */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include "base/time.h"
#include "lite/kinds.h"
#include "lite/status.h"

/* Fills in the kind's defaults (of the spec, templates included). Idempotent. */
void defaults_fill(const struct kind *k, yyjson_mut_doc *doc);

/* Create: defaults, status as a new object has it (Pods: Pending, qosClass, gates' condition), generation, admission's
 * share for Pods (tolerations, priority 0 when none is set, service account name), labels of namespaces, selectors of
 * Jobs (from metadata.uid). */
void defaults_create(const struct kind *k, yyjson_mut_doc *doc, usec_t now);

/* Update: defaults; takes over from `old` what a writer of this part may not touch (sub NULL or "": status, when the
 * kind has that subresource; "status": everything but status and most of metadata), system metadata (uid,
 * creationTimestamp, deletionTimestamp …) and raises generation when the spec changed. */
void defaults_update(const struct kind *k, yyjson_mut_doc *doc, yyjson_mut_val *old, const char *sub, usec_t now);

/* Are they the same besides resourceVersion and the times in managedFields? Such a write changes nothing, and keeps the
 * resourceVersion. */
bool defaults_same(yyjson_mut_val *a, yyjson_mut_val *b);

/* "Guaranteed", "Burstable" or "BestEffort". */
const char *pod_qos(yyjson_mut_val *pod);
