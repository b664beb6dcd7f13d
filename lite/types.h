/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Types: which fields an object has, and how lists and maps of them merge. One description serves decoding (unknown
 * fields, wrong types, order and zero values as a real server writes them), strategic and apply patches (merge keys,
 * list types), OpenAPI, and pruning of custom resources. Built-in types are compiled once, at first use, from a text
 * (types_text.h); those of custom resources come from their schema.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum type_kind {
	TYPE_STRING,
	TYPE_INT32,
	TYPE_INT64,
	TYPE_NUMBER, /* any number */
	TYPE_BOOL,
	TYPE_TIME,      /* RFC 3339, seconds */
	TYPE_MICROTIME, /* with six digits of fraction */
	TYPE_QUANTITY,
	TYPE_INT_OR_STRING,
	TYPE_BYTES, /* base64 text */
	TYPE_ANY,   /* left as it is: fieldsV1, raw extensions, preserve-unknown-fields */
	TYPE_STRUCT,
	TYPE_MAP,  /* text → elem */
	TYPE_LIST, /* of elem */
};

enum list_merge { MERGE_ATOMIC, MERGE_SET, MERGE_MAP };

#define TYPE_KEYS_MAX 4

struct field {
	const char *name;
	const struct type *type;
	const char *description;  /* NULL = none */
	const char *fallback;     /* JSON text of the default, NULL = none */
	const char *merge_key;    /* strategic merge patch: patchMergeKey of a list of structs; NULL otherwise */
	bool patch_merge;         /* strategic merge patch: lists (and maps) merge instead of being replaced */
	bool retain_keys;         /* strategic merge patch: retainKeys is honoured */
	bool patch_replace; /* strategic merge patch: the value is replaced, not merged */
	bool required;            /* as OpenAPI lists it */
	bool pointer;             /* zero values are kept when given (a pointer in Go) */
	bool always;              /* written even when zero (no omitempty): {} [] null "" 0 */
};

struct type {
	enum type_kind kind;
	const char *name;    /* "PodSpec"; NULL for unnamed ones */
	const char *package; /* "io.k8s.api.core.v1"; NULL for unnamed and custom ones */
	const char *description;
	const struct field *fields; /* TYPE_STRUCT, in the order they are written */
	size_t n_fields;
	const struct type *elem; /* TYPE_LIST, TYPE_MAP */
	enum list_merge merge; /* TYPE_LIST for apply; TYPE_STRUCT and TYPE_MAP: MERGE_ATOMIC or granular (MERGE_MAP) */
	const char *keys[TYPE_KEYS_MAX + 1]; /* of a MERGE_MAP list, NULL-terminated */
	bool keep_unknown; /* custom: x-kubernetes-preserve-unknown-fields */
	bool embedded; /* custom: x-kubernetes-embedded-resource */
	const void *schema; /* custom: struct crd_node with the checks (crd_schema.c) */
};

const struct field *type_field(const struct type *t, const char *name, size_t len); /* NULL when it has none */
const struct type *type_named(const char *package, const char *name); /* a built-in; NULL when unknown */

/* All named built-in types, for OpenAPI and tests. */
const struct type *const *types_all(size_t *ret_n);
