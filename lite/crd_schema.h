/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Custom resources: a CustomResourceDefinition → a kind to serve, with the schema that prunes, defaults and checks its
 * objects. A kind made here owns everything it points to and is freed with crd_kind_free(); the definition it was made
 * from is not kept.
 */
#pragma once

#include <stddef.h>
#include <yyjson.h>

#include "base/mem.h"
#include "lite/jsonpath.h"
#include "lite/kinds.h"
#include "lite/status.h"

/* The kind of one served version; NULL when the definition has no such version or it is not served. The definition has
 * passed validate_create(). */
struct kind *crd_kind_new(yyjson_val *crd, const char *version);
void crd_kind_free(struct kind *k);
DEFINE_FREEP(struct kind, crd_kind_free)

/* Is the definition's own content sound (names, versions, structural schemas, columns)? Part of validate_create() and
 * validate_update(). */
void crd_check(yyjson_mut_val *crd, struct causes *causes);

/* Fills status.acceptedNames, storedVersions and the conditions NamesAccepted and Established. Part of
 * defaults_create(); after an update of the spec call it again. */
void crd_set_established(yyjson_mut_doc *crd, const char *now_text);

/* Per object: pruning is decode.h's, these are its other two halves (parts of defaults_fill() and validate_*()). */
void crd_default(const struct kind *k, yyjson_mut_doc *doc);
void crd_validate(const struct kind *k, yyjson_mut_val *obj, yyjson_mut_val *old, struct causes *causes);

/* Printer columns of the kind, for table.h. */
struct crd_column {
	const char *name, *type, *format, *description;
	const char *json_path;
	int64_t priority;
};
const struct crd_column *crd_columns(const struct kind *k, size_t *ret_n);

/* Scale: JSON paths (".spec.replicas") of the definition's scale subresource; NULL when it has none. */
struct crd_scale {
	const char *spec_replicas, *status_replicas, *label_selector;
};
const struct crd_scale *crd_scale_of(const struct kind *k);

/* The schema as OpenAPI v3 writes it, for openapi.h; NULL when the version has none. */
yyjson_val *crd_openapi(const struct kind *k);
