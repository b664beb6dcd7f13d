/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Bodies of requests → objects as the server would hold them: members in their order, unknown ones dropped (and
 * reported), wrong types refused, zero values left out or filled in as the real one writes them. Custom resources are
 * pruned by their schema instead. Works in place on a mutable document.
 */
#pragma once

#include <stddef.h>
#include <yyjson.h>

#include "lite/kinds.h"
#include "lite/status.h"

enum field_validation { FIELDS_WARN, FIELDS_STRICT, FIELDS_IGNORE }; /* ?fieldValidation=, Warn when not given */

/* Texts for `Warning: 299 - "…"` headers. */
#define WARNINGS_MAX 20
struct warnings {
	char *list[WARNINGS_MAX];
	size_t n;
};
#define WARNINGS_INIT ((struct warnings) { 0 })
void warnings_done(struct warnings *w);
#define _cleanup_warnings_ _cleanup_(warnings_done)
void warnings_add(struct warnings *w, const char *fmt, ...) _printf_(2, 3);

/* Parses "Strict", "Warn", "Ignore" or "" (NULL); 400 or 422 for others, like the real one. */
int decode_field_validation(const char *text, enum field_validation *ret, struct status *st);

/* The body of a POST or PUT for `k` (or for its subresource when `sub` takes another kind): JSON text → checked object.
 * Checks syntax, kind and apiVersion (filled in when absent). On success *ret is the caller's. */
int decode_body(const struct kind *k, const struct subresource *sub, const char *text, size_t len,
                enum field_validation v, yyjson_mut_doc **ret, struct warnings *w, struct status *st);

/* The same for an object that is already a document: after a patch. `v` applies to unknown fields; types are checked.
 */
int decode_object(const struct kind *k, const struct subresource *sub, yyjson_mut_doc *doc, enum field_validation v,
                  struct warnings *w, struct status *st);

/* After a patch of `patch_text` made a document of the wrong types, the answer is a 422 naming the patch instead. */
int decode_patched(const struct kind *k, yyjson_mut_doc *doc, const char *patch_text, enum field_validation v,
                   struct warnings *w, struct status *st);
