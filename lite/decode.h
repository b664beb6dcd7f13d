/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Bodies of requests → objects as the server would hold them: members in their order, unknown ones dropped (and
 * reported), wrong types refused, zero values left out or filled in, times and quantities in their one form, as the
 * real server writes them. Custom resources are pruned by their schema instead. Works in place on a mutable document.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "lite/kinds.h"
#include "lite/status.h"

#define DECODE_DEPTH_MAX 500 /* nesting of any JSON we take: what walks it recurses */

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

/* JSON text → document, any value: for every body, so that the limit on nesting holds. -EINVAL with the real server's
 * words in *why (append-only). */
int decode_json(const char *text, size_t len, yyjson_doc **ret, struct buf *why);

/* Parses "Strict", "Warn", "Ignore" or "" (NULL); 422 for others, like the real one. `options` is "CreateOptions",
 * "UpdateOptions" or "PatchOptions". */
int decode_field_validation(const char *text, const char *options, enum field_validation *ret, struct status *st);

/* The body of a POST or PUT for `k` (or for its subresource when `sub` takes another kind; NULL = none): JSON text →
 * checked object. Checks syntax, kind and apiVersion (filled in when absent). On success *ret is the caller's. */
int decode_body(const struct kind *k, const struct subresource *sub, const char *text, size_t len,
                enum field_validation v, yyjson_mut_doc **ret, struct warnings *w, struct status *st);

/* The same for an object after a patch: what is wrong with it now is a 422 that shows `shown` (the patched object's or
 * the patch's text; NULL = the object's). */
int decode_patched(const struct kind *k, const struct subresource *sub, yyjson_mut_doc *doc, const char *shown,
                   enum field_validation v, struct warnings *w, struct status *st);

/* The body of a DELETE: DeleteOptions, or nothing. */
int decode_delete_options(const char *text, size_t len, yyjson_mut_doc **ret, struct status *st);
