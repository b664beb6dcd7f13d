/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Patches: the four kinds the API takes, each changing a document in place. On failure the document may be half
 * changed: work on a copy of what is stored. After any of them the object goes through decode_patched(), defaults and
 * validation like the body of a PUT.
 */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include "base/time.h"
#include "lite/kinds.h"
#include "lite/status.h"

enum patch_type { PATCH_JSON, PATCH_MERGE, PATCH_STRATEGIC, PATCH_APPLY };

#define PATCH_OPERATIONS_MAX 10000 /* of a JSON patch, as the real one */

/* By Content-Type (parameters are ignored): 415 for others, and for strategic on custom resources. */
int patch_type_of(const struct kind *k, const char *content_type, enum patch_type *ret, struct status *st);

/* RFC 7386. */
int patch_merge(yyjson_mut_doc *doc, yyjson_val *patch, struct status *st);

/* RFC 6902, with the dialect of the real server (a missing path on remove is refused, copies are bounded). */
int patch_json(yyjson_mut_doc *doc, yyjson_val *patch, struct status *st);

/* Strategic merge: merge keys and $patch, $deleteFromPrimitiveList, $setElementOrder, $retainKeys directives. */
int patch_strategic(const struct kind *k, yyjson_mut_doc *doc, yyjson_val *patch, struct status *st);

/* Who writes, for managedFields. */
struct writer {
	const char *manager;     /* ?fieldManager=, or the first part of User-Agent (manager_of_agent) */
	const char *subresource; /* "status", "scale"; NULL or "" = none */
	usec_t now;
};

#define MANAGER_MAX 128

/* "kubectl/v1.32 (linux)" → "kubectl": the manager of a write that names none. */
void manager_of_agent(const char *user_agent, char manager[MANAGER_MAX + 1]);
/* 422 for a ?fieldManager= that is too long or not printable; and for apply when it is missing. */
int manager_check(const char *manager, bool apply, struct status *st);

/* Server-side apply. `doc` holds the live object (for a create: only apiVersion, kind and metadata.name/namespace);
 * `config` is what was sent, JSON or YAML already parsed. Merges it, drops what this manager applied before and no
 * longer does, keeps managedFields; 409 with causes when others own a changed field, unless `force`. */
int patch_apply(const struct kind *k, yyjson_mut_doc *doc, yyjson_val *config, const struct writer *by, bool force,
                struct status *st);

/* After create, update and the other patches: records in `now`'s managedFields what changed since `old` (NULL:
 * created). To be called last, when everything but resourceVersion is final. */
void managed_update(const struct kind *k, yyjson_mut_doc *now, yyjson_mut_val *old, const struct writer *by);
/* The same after patch_apply() and defaulting: stamps the time, drops empty sets. */
void managed_applied(const struct kind *k, yyjson_mut_doc *now, yyjson_mut_val *old, const struct writer *by);
