/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The walk inside decode.h: one document against one type.
 */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include "base/buf.h"
#include "lite/types.h"

#define STRICT_ERRORS_MAX 100

struct type_walk {
	yyjson_mut_doc *doc;
	bool report;     /* collect strict errors */
	struct buf path; /* where we are: "spec.containers[0]" */
	char *strict[STRICT_ERRORS_MAX]; /* `unknown field "spec.bogus"`, `duplicate field "spec.x"` */
	size_t n_strict;
	struct buf error; /* not empty: a value of the wrong type, in Go's words */
};

void type_walk_init(struct type_walk *w, yyjson_mut_doc *doc);
void type_walk_done(struct type_walk *w);

/* Brings `v` into the form of `t`, in place. Stops at the first error. */
void type_walk_object(struct type_walk *w, const struct type *t, yyjson_mut_val *v);

/* Puts the members of every struct in `v` into their order again, after defaults were added. */
void type_order(yyjson_mut_doc *doc, const struct type *t, yyjson_mut_val *v);
