/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the controllers of Pods share: Pods from templates, numbers and percentages, which Pods to remove first.
 */
#pragma once

#include <yyjson.h>

#include "lite/control/control.h"

#define CREATE_AT_ONCE_MAX 500

/* A Pod (or, for `child`, another kind) from spec.template of the owner, controlled by it. */
yyjson_mut_doc *from_template(const struct kind *owner_kind, const struct item *owner, yyjson_val *owner_root);

/* Adds the controlling owner reference. */
void set_owner(yyjson_mut_doc *doc, const struct kind *owner_kind, yyjson_val *owner_root);

void set_label(yyjson_mut_doc *doc, const char *key, const char *value);
void set_annotation(yyjson_mut_doc *doc, const char *key, const char *value);

/* The claim that a volume is given to. */
void set_claim_ref(yyjson_mut_doc *doc, const struct meta *claim);

/* 3, "25%": of total, rounded up or down. */
int64_t int_or_percent(yyjson_val *v, int64_t otherwise, int64_t total, bool up);

/* A short text that stands for a value, the same for the same value: pod-template-hash. */
#define HASH_TEXT 11
void hash_text(yyjson_val *v, char text[HASH_TEXT]);

/* Orders Pods so that those to lose first come first: without a node, pending, not ready, young. */
void sort_for_removal(struct vpod **list, size_t n);

const char *item_uid(yyjson_val *root);
const char *controller_uid(yyjson_val *root); /* of the owner that controls it; NULL */
bool is_deleting(yyjson_val *root);

/* Marks the object that controls a Pod (or had controlled it), when it is of this kind. */
void mark_controller(struct controller *c, const struct event *e, const char *kind);
