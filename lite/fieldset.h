/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Sets of fields, as managedFields hold them (FieldsV1): a tree whose names are "f:NAME" (a member), "k:{KEYS}" (an
 * element of a list by its keys), "v:VALUE" (an element of a set). A node that is in the set itself is "." among its
 * children. Sets are values: operations that make one give it to the caller; NULL counts as empty.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "base/mem.h"
#include "lite/types.h"

struct fields {
	char *name; /* NULL at the root */
	bool member;
	struct fields **kids; /* sorted by name */
	size_t n, size;
};

struct fields *fields_new(void);
void fields_free(struct fields *f);
DEFINE_FREEP(struct fields, fields_free)
#define _cleanup_fields_ _cleanup_(fields_freep)

struct fields *fields_copy(const struct fields *f);
struct fields *fields_kid(struct fields *f, const char *name);              /* made if need be */
const struct fields *fields_find(const struct fields *f, const char *name); /* NULL = none */
void fields_drop(struct fields *f, const char *name); /* a kid with all below it */
bool fields_empty(const struct fields *f);
void fields_trim(struct fields *f); /* cuts off branches that lead to nothing in the set */

void fields_add(struct fields *to, const struct fields *from);        /* union */
void fields_subtract(struct fields *from, const struct fields *what); /* by exact path */
struct fields *fields_common(const struct fields *a, const struct fields *b);

struct fields *fields_read(yyjson_mut_val *v);
yyjson_mut_val *fields_write(yyjson_mut_doc *doc, const struct fields *f);

/* Each path in the set as people read it: ".spec.containers[name=\"c\"].image". */
void fields_each(const struct fields *f, void (*found)(void *arg, const char *path), void *arg);

/* By type (fieldset_types.c). Values may be NULL: not there. */

/* Every leaf of a value, and every element of a list that merges: what applying it claims. */
struct fields *fields_of(const struct type *t, yyjson_mut_val *v);

struct fields_diff {
	struct fields *added, *modified, *removed;
};
void fields_diff_done(struct fields_diff *d);
#define _cleanup_fields_diff_ _cleanup_(fields_diff_done)
struct fields_diff fields_compare(const struct type *t, yyjson_mut_val *old, yyjson_mut_val *new);

/* What a new object adds to one of its kind with nothing in it. */
struct fields *fields_created(const struct type *t, yyjson_mut_val *new);

/* A copy with every struct member on the way to something in the set being in it too. */
struct fields *fields_ensure_named(const struct type *t, const struct fields *f);

/* The value without these fields; NULL when nothing is left. */
yyjson_mut_val *fields_remove(yyjson_mut_doc *doc, const struct type *t, yyjson_mut_val *v, const struct fields *gone);

/* `config` over `live`: what is in both merges by type. The result is new, in doc. */
yyjson_mut_val *fields_merge(yyjson_mut_doc *doc, const struct type *t, yyjson_mut_val *live, yyjson_mut_val *config);

/* The first member of `v` that the type does not have, as ".spec.bogus"; false when there is none. */
bool fields_unknown(const struct type *t, yyjson_mut_val *v, char *path, size_t size);
