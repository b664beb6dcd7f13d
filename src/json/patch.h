/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Building JSON to send: objects and patches, set by path, over yyjson's mutable documents.
 *
 *	struct patch *p = patch_new();
 *	patch_str(p, "17", PATH("metadata", "annotations", "sunk.coreweave.com/job-id"));
 *	patch_null(p, PATH("metadata", "annotations", "old"));
 *	text = patch_text(p, &len);
 *
 * A path's parts are member names (never split at dots or slashes); objects on the way are made. Strings are copied.
 * Text that is no UTF-8 is made so (invalid bytes become U+FFFD): a request is never unsendable because of a value.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/time.h"

struct patch;

#define PATH(...) ((const char *const[]) { __VA_ARGS__, NULL })

struct patch *patch_new(void);
void patch_free(struct patch *p);
DEFINE_FREEP(struct patch, patch_free)

void patch_str(struct patch *p, const char *value, const char *const *path); /* NULL value sets null */
void patch_int(struct patch *p, int64_t value, const char *const *path);
void patch_bool(struct patch *p, bool value, const char *const *path);
void patch_null(struct patch *p, const char *const *path);
void patch_time(struct patch *p, usec_t wall, const char *const *path);       /* a Kubernetes Time; 0 sets null */
void patch_micro_time(struct patch *p, usec_t wall, const char *const *path); /* a MicroTime; 0 sets null */
int patch_raw(struct patch *p, const char *json, size_t len, const char *const *path, struct err *err);

/* Appends to the array at path (made when missing): an empty object, which the returned patch fills. The returned one
 * belongs to p: do not free it, do not take its text. */
struct patch *patch_add(struct patch *p, const char *const *path);
void patch_add_str(struct patch *p, const char *value, const char *const *path);
void patch_empty_array(struct patch *p, const char *const *path);

bool patch_is_empty(const struct patch *p);

/* The JSON text; the caller frees. */
char *patch_text(const struct patch *p, size_t *ret_len);
