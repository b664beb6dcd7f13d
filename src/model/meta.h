/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What all Kubernetes objects have, and the small pieces that several of them share. Plain values: a decoded object is
 * one block of memory, read-only, freed with free().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"

struct pair { /* a label or annotation; same layout as json_pair */
	const char *key, *value;
};

struct amount { /* an entry of a resource list, in thousandths; same layout as json_amount */
	const char *name;
	int64_t milli;
};

struct owner {
	const char *kind, *name, *uid;
	bool controller;
};

/* First in every object struct. */
struct meta {
	const char *ns; /* NULL for cluster-wide objects */
	const char *name, *uid, *resource_version;
	usec_t created;
	usec_t deletion; /* when it is to be gone; 0 = not being deleted */
	int64_t deletion_grace_s;
	int64_t generation;
	struct pair *labels;
	struct pair *annotations; /* only the keys that annotation_matters() keeps */
	struct owner *owners;
	const char **finalizers;
	uint32_t n_labels, n_annotations, n_owners, n_finalizers;
};

enum cond_status { COND_UNKNOWN, COND_TRUE, COND_FALSE };

struct condition {
	const char *type, *reason, *message;
	int status; /* enum cond_status */
	usec_t changed; /* lastTransitionTime */
};

/* The value under a key, NULL when absent. */
const char *pair_get(const struct pair *pairs, uint32_t n, const char *key);
const struct condition *condition_get(const struct condition *conditions, uint32_t n, const char *type);
int64_t amount_get(const struct amount *amounts, uint32_t n, const char *name); /* 0 when absent */
const struct owner *meta_controller(const struct meta *m); /* the owner that controls it, or NULL */

/* Which annotations are kept in memory: ours, and the few of others that decisions need. */
bool annotation_matters(const char *key);
