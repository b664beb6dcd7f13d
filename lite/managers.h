/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * metadata.managedFields as a list of who manages what. Only managed.c and apply.c include this.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "lite/fieldset.h"
#include "lite/kinds.h"
#include "lite/patches.h"

#define UPDATERS_MAX 10 /* more "Update" entries are folded into one */

struct manager {
	char *name, *api_version, *subresource, *time; /* subresource, time: NULL = none */
	bool applies;                    /* operation Apply, else Update */
	struct fields *set;
};

struct managers {
	struct manager *list;
	size_t n;
};

void managers_done(struct managers *m);
#define _cleanup_managers_ _cleanup_(managers_done)

void managers_read(struct managers *m, yyjson_mut_val *object);
/* Writes metadata.managedFields, sorted, without empty entries. */
void managers_write(struct managers *m, yyjson_mut_doc *doc);

/* The entry of this writer, or a new one (its set is empty). */
struct manager *managers_entry(struct managers *m, const struct kind *k, const struct writer *by, bool applies);
struct manager *managers_find(struct managers *m, const struct kind *k, const struct writer *by, bool applies);
void manager_set_time(struct manager *m, usec_t now);

/* What is never managed, and what a writer of this part cannot touch. */
void managers_filter(const struct kind *k, const char *subresource, struct fields *set);
void managers_strip(struct fields *set);
