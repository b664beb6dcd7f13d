/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Selectors: by labels (equality and set syntax, or the LabelSelector object that controllers and budgets hold) and by
 * fields. Parsed once, matched often; matching allocates nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "base/mem.h"
#include "lite/kinds.h"
#include "lite/status.h"

#define SELECTOR_TERMS_MAX 256
#define SELECTOR_TEXT_MAX (64 * 1024)

struct selector;

void selector_free(struct selector *s);
DEFINE_FREEP(struct selector, selector_free)

/* ?labelSelector=: "a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1,m<2". "" and NULL match everything (*ret may be NULL
 * then). 400 with the real parser's message. */
int selector_parse_labels(const char *text, struct selector **ret, struct status *st);

/* ?fieldSelector=: "metadata.name=x,spec.nodeName!=y,status.phase==Running", values with \, \= \\ escapes. Fields are
 * those the real server has for the kind; 400 "field label not supported: …" for others. */
int selector_parse_fields(const struct kind *k, const char *text, struct selector **ret, struct status *st);

/* A LabelSelector object {matchLabels, matchExpressions}. NULL or absent matches nothing, {} matches everything.
 * -EINVAL for an operator that does not exist. */
int selector_from_object(yyjson_val *selector, struct selector **ret);

/* `object` is a whole object as it is stored (Events in the core group's form). NULL selectors match. */
bool selector_matches_labels(const struct selector *s, yyjson_val *object);
bool selector_matches_fields(const struct selector *s, yyjson_val *object);
/* Bare labels (a Pod template's, a Node's): an object of strings, or NULL. */
bool selector_matches(const struct selector *s, yyjson_val *labels);

/* When the selector pins metadata.name or metadata.namespace: the value, else NULL. Lists need not scan then. */
const char *selector_field_equals(const struct selector *s, const char *field);

/* The canonical text ("a=b,c in (d,e)"), for the scale subresource's status.selector. Caller frees. */
char *selector_text(const struct selector *s);
