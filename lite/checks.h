/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Words that validation is written in: a place in an object, and what can be wrong there. Only the validate files
 * include this.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/buf.h"
#include "lite/names.h"
#include "lite/status.h"

struct check {
	struct causes *causes;
	struct buf path; /* "spec.containers[0]" */
};

struct check check_begin(struct causes *causes);
void check_end(struct check *c);
#define _cleanup_check_ _cleanup_(check_end)

/* Going down and up again: size_t up = check_enter(…); … check_leave(c, up); */
size_t check_enter(struct check *c, const char *member); /* "a" or "a.b" */
size_t check_enter_index(struct check *c, size_t i);
size_t check_enter_key(struct check *c, const char *key); /* [key] of a map */
void check_leave(struct check *c, size_t up);

/* Something is wrong with `member` of this place ("" or NULL: the place itself); value NULL shows none. */
void check_add(struct check *c, enum cause_type type, const char *member, yyjson_mut_val *value, const char *detail_fmt,
               ...) _printf_(5, 6);
void check_add_text(struct check *c, enum cause_type type, const char *member, const char *value,
                    const char *detail_fmt, ...) _printf_(5, 6); /* the value as a string */

bool check_given(struct check *c, yyjson_mut_val *obj, const char *member); /* else: required */
void check_name(struct check *c, yyjson_mut_val *obj, const char *member, name_rule *rule); /* when given */
void check_text(struct check *c, const char *member, const char *text, name_rule *rule);
void check_min(struct check *c, yyjson_mut_val *obj, const char *member, int64_t min); /* when given */
/* One of the words (NULL-terminated); required or not when absent. */
void check_word(struct check *c, yyjson_mut_val *obj, const char *member, const char *const *words, bool required);
void check_same(struct check *c, yyjson_mut_val *obj, yyjson_mut_val *old,
                const char *member); /* "field is immutable" */
void check_labels(struct check *c, yyjson_mut_val *obj, const char *member); /* keys and values */
void check_selector(struct check *c, yyjson_mut_val *obj, const char *member); /* a LabelSelector */
