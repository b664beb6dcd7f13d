/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Kinds: what the API serves. Built-in ones are one table; those of custom resources are made at run time from their
 * definition (crd_schema.h) in the same struct, so that nothing below needs to know the difference. A served set of
 * kinds is a `struct kinds`; discovery, OpenAPI and the router read it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"

struct type;       /* types.h: the fields of its objects */
struct crd_schema; /* crd_schema.h */

enum kind_verb {
	VERB_CREATE = 1 << 0,
	VERB_DELETE = 1 << 1,
	VERB_DELETECOLLECTION = 1 << 2,
	VERB_GET = 1 << 3,
	VERB_LIST = 1 << 4,
	VERB_PATCH = 1 << 5,
	VERB_UPDATE = 1 << 6,
	VERB_WATCH = 1 << 7,
	VERB_ALL = 0xff,
};

/* A subresource as discovery lists it: "status", "scale", "binding" … */
struct subresource {
	const char *name;
	const char *group, *version, *kind; /* of the object it takes; group and version NULL: as its parent */
	unsigned verbs;
	const struct type *type; /* of the object it takes; NULL: the parent's (status) */
};

#define SUBRESOURCES_MAX 8

struct kind {
	const char *group; /* "" = core */
	const char *version;
	const char *kind;     /* "Pod" */
	const char *list;     /* "PodList" */
	const char *plural;   /* "pods" */
	const char *singular; /* "pod" */
	const char *const *short_names; /* NULL-terminated, or NULL */
	const char *const *categories;  /* the same */
	bool namespaced;
	unsigned verbs;
	struct subresource subs[SUBRESOURCES_MAX];
	size_t n_subs;
	const struct type *type;
	const char *stored_as; /* two groups may serve one store: events.k8s.io → "events" of core; the store's name */
	struct crd_schema *schema; /* custom resources only, else NULL */
	bool has_status; /* status is a subresource: writes to the object leave it alone, and the other way round */
	bool has_generation; /* metadata.generation counts changes of the spec */
	bool allow_create_on_update; /* PUT of what is not there creates it (leases, events, …) */
};

/* "pods" or "widgets.example.com": the name in messages of 404 and 409, when group is not core. */
const char *kind_resource_name(const struct kind *k, char *text, size_t size);
const char *kind_api_version(const struct kind *k, char *text, size_t size); /* "v1", "apps/v1" */
const struct subresource *kind_sub(const struct kind *k, const char *name); /* NULL when it has none */
bool kind_is_custom(const struct kind *k);

/* A set of served kinds. It borrows them. Order: built-ins first, then as added. */
struct kinds {
	const struct kind **list;
	size_t n, size;
	struct map by_path; /* "group/version/plural" */
	char **keys;
};

void kinds_init(struct kinds *set); /* with the built-ins */
void kinds_done(struct kinds *set);
void kinds_add(struct kinds *set, const struct kind *k);
void kinds_remove(struct kinds *set, const struct kind *k);

const struct kind *kinds_find(const struct kinds *set, const char *group, const char *version, const char *plural);
const struct kind *kinds_find_kind(const struct kinds *set, const char *group, const char *version, const char *kind);
bool kinds_has_group(const struct kinds *set, const char *group, const char *version); /* version NULL: any */

/* The built-in by plural and group, for controllers: kind_builtin("apps", "deployments"). Never NULL: asserts. */
const struct kind *kind_builtin(const char *group, const char *plural);
