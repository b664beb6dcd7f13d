/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/kinds.h"

#include <assert.h>
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "lite/types.h"

#define RW (VERB_ALL)
#define GET_PATCH_UPDATE (VERB_GET | VERB_PATCH | VERB_UPDATE)
#define STATUS { .name = "status", .verbs = GET_PATCH_UPDATE }
#define SCALE { .name = "scale", .group = "autoscaling", .version = "v1", .kind = "Scale", .verbs = GET_PATCH_UPDATE }
#define WORDS(...) ((const char *const[]) { __VA_ARGS__, NULL })

/* What is not said: list is kind + "List", singular is the kind in lower case. Ordered as discovery lists them. */
static struct kind builtin[] = {
	{ .group = "",
	  .version = "v1",
	  .kind = "Binding",
	  .plural = "bindings",
	  .namespaced = true,
	  .verbs = VERB_CREATE },
	{ .group = "",
	  .version = "v1",
	  .kind = "ConfigMap",
	  .plural = "configmaps",
	  .namespaced = true,
	  .verbs = RW,
	  .short_names = WORDS("cm") },
	{ .group = "",
	  .version = "v1",
	  .kind = "Event",
	  .plural = "events",
	  .namespaced = true,
	  .verbs = RW,
	  .short_names = WORDS("ev"),
	  .allow_create_on_update = true },
	{ .group = "",
	  .version = "v1",
	  .kind = "Namespace",
	  .plural = "namespaces",
	  .verbs = RW & ~(unsigned)VERB_DELETECOLLECTION,
	  .short_names = WORDS("ns"),
	  .has_status = true,
	  .subs = { { .name = "finalize", .verbs = VERB_UPDATE }, STATUS } },
	{ .group = "",
	  .version = "v1",
	  .kind = "Node",
	  .plural = "nodes",
	  .verbs = RW,
	  .short_names = WORDS("no"),
	  .has_status = true,
	  .subs = { STATUS } },
	{ .group = "",
	  .version = "v1",
	  .kind = "PersistentVolumeClaim",
	  .plural = "persistentvolumeclaims",
	  .namespaced = true,
	  .verbs = RW,
	  .short_names = WORDS("pvc"),
	  .has_status = true,
	  .subs = { STATUS } },
	{ .group = "",
	  .version = "v1",
	  .kind = "PersistentVolume",
	  .plural = "persistentvolumes",
	  .verbs = RW,
	  .short_names = WORDS("pv"),
	  .has_status = true,
	  .subs = { STATUS } },
	{ .group = "",
	  .version = "v1",
	  .kind = "Pod",
	  .plural = "pods",
	  .namespaced = true,
	  .verbs = RW,
	  .short_names = WORDS("po"),
	  .categories = WORDS("all"),
	  .has_status = true,
	  .has_generation = true,
	  .subs = { { .name = "binding", .kind = "Binding", .verbs = VERB_CREATE },
	            { .name = "ephemeralcontainers", .verbs = GET_PATCH_UPDATE },
	            { .name = "eviction",
	              .group = "policy",
	              .version = "v1",
	              .kind = "Eviction",
	              .verbs = VERB_CREATE },
	            { .name = "log", .verbs = VERB_GET },
	            STATUS } },
	{ .group = "", .version = "v1", .kind = "Secret", .plural = "secrets", .namespaced = true, .verbs = RW },
	{ .group = "",
	  .version = "v1",
	  .kind = "ServiceAccount",
	  .plural = "serviceaccounts",
	  .namespaced = true,
	  .verbs = RW,
	  .short_names = WORDS("sa"),
	  .subs = { { .name = "token",
	              .group = "authentication.k8s.io",
	              .version = "v1",
	              .kind = "TokenRequest",
	              .verbs = VERB_CREATE } } },
	{ .group = "",
	  .version = "v1",
	  .kind = "Service",
	  .plural = "services",
	  .namespaced = true,
	  .verbs = RW,
	  .short_names = WORDS("svc"),
	  .categories = WORDS("all"),
	  .has_status = true,
	  .allow_create_on_update = true,
	  .subs = { STATUS } },

	{ .group = "apps",
	  .version = "v1",
	  .kind = "ControllerRevision",
	  .plural = "controllerrevisions",
	  .namespaced = true,
	  .verbs = RW },
	{ .group = "apps",
	  .version = "v1",
	  .kind = "DaemonSet",
	  .plural = "daemonsets",
	  .namespaced = true,
	  .verbs = RW,
	  .short_names = WORDS("ds"),
	  .categories = WORDS("all"),
	  .has_status = true,
	  .has_generation = true,
	  .subs = { STATUS } },
	{ .group = "apps",
	  .version = "v1",
	  .kind = "Deployment",
	  .plural = "deployments",
	  .namespaced = true,
	  .verbs = RW,
	  .short_names = WORDS("deploy"),
	  .categories = WORDS("all"),
	  .has_status = true,
	  .has_generation = true,
	  .subs = { SCALE, STATUS } },
	{ .group = "apps",
	  .version = "v1",
	  .kind = "ReplicaSet",
	  .plural = "replicasets",
	  .namespaced = true,
	  .verbs = RW,
	  .short_names = WORDS("rs"),
	  .categories = WORDS("all"),
	  .has_status = true,
	  .has_generation = true,
	  .subs = { SCALE, STATUS } },
	{ .group = "apps",
	  .version = "v1",
	  .kind = "StatefulSet",
	  .plural = "statefulsets",
	  .namespaced = true,
	  .verbs = RW,
	  .short_names = WORDS("sts"),
	  .categories = WORDS("all"),
	  .has_status = true,
	  .has_generation = true,
	  .subs = { SCALE, STATUS } },

	{ .group = "events.k8s.io",
	  .version = "v1",
	  .kind = "Event",
	  .plural = "events",
	  .namespaced = true,
	  .verbs = RW,
	  .short_names = WORDS("ev"),
	  .allow_create_on_update = true },

	{ .group = "authentication.k8s.io",
	  .version = "v1",
	  .kind = "SelfSubjectReview",
	  .plural = "selfsubjectreviews",
	  .verbs = VERB_CREATE },

	{ .group = "authorization.k8s.io",
	  .version = "v1",
	  .kind = "SelfSubjectAccessReview",
	  .plural = "selfsubjectaccessreviews",
	  .verbs = VERB_CREATE },
	{ .group = "authorization.k8s.io",
	  .version = "v1",
	  .kind = "SelfSubjectRulesReview",
	  .plural = "selfsubjectrulesreviews",
	  .verbs = VERB_CREATE },

	{ .group = "batch",
	  .version = "v1",
	  .kind = "Job",
	  .plural = "jobs",
	  .namespaced = true,
	  .verbs = RW,
	  .categories = WORDS("all"),
	  .has_status = true,
	  .has_generation = true,
	  .subs = { STATUS } },

	{ .group = "policy",
	  .version = "v1",
	  .kind = "PodDisruptionBudget",
	  .plural = "poddisruptionbudgets",
	  .namespaced = true,
	  .verbs = RW,
	  .short_names = WORDS("pdb"),
	  .has_status = true,
	  .has_generation = true,
	  .subs = { STATUS } },

	{ .group = "rbac.authorization.k8s.io",
	  .version = "v1",
	  .kind = "ClusterRoleBinding",
	  .plural = "clusterrolebindings",
	  .verbs = RW,
	  .allow_create_on_update = true },
	{ .group = "rbac.authorization.k8s.io",
	  .version = "v1",
	  .kind = "ClusterRole",
	  .plural = "clusterroles",
	  .verbs = RW,
	  .allow_create_on_update = true },
	{ .group = "rbac.authorization.k8s.io",
	  .version = "v1",
	  .kind = "RoleBinding",
	  .plural = "rolebindings",
	  .namespaced = true,
	  .verbs = RW,
	  .allow_create_on_update = true },
	{ .group = "rbac.authorization.k8s.io",
	  .version = "v1",
	  .kind = "Role",
	  .plural = "roles",
	  .namespaced = true,
	  .verbs = RW,
	  .allow_create_on_update = true },

	{ .group = "apiextensions.k8s.io",
	  .version = "v1",
	  .kind = "CustomResourceDefinition",
	  .plural = "customresourcedefinitions",
	  .verbs = RW,
	  .short_names = WORDS("crd", "crds"),
	  .categories = WORDS("api-extensions"),
	  .has_status = true,
	  .has_generation = true,
	  .subs = { STATUS } },

	{ .group = "storage.k8s.io",
	  .version = "v1",
	  .kind = "StorageClass",
	  .plural = "storageclasses",
	  .verbs = RW,
	  .short_names = WORDS("sc") },

	{ .group = "scheduling.k8s.io",
	  .version = "v1",
	  .kind = "PriorityClass",
	  .plural = "priorityclasses",
	  .verbs = RW,
	  .short_names = WORDS("pc"),
	  .has_generation = true },

	{ .group = "coordination.k8s.io",
	  .version = "v1",
	  .kind = "Lease",
	  .plural = "leases",
	  .namespaced = true,
	  .verbs = RW,
	  .allow_create_on_update = true },
};

/* API group → the package its types are written in. */
static const struct {
	const char *group, *package;
} packages[] = {
	{ "", "io.k8s.api.core.v1" },
	{ "apps", "io.k8s.api.apps.v1" },
	{ "batch", "io.k8s.api.batch.v1" },
	{ "policy", "io.k8s.api.policy.v1" },
	{ "autoscaling", "io.k8s.api.autoscaling.v1" },
	{ "events.k8s.io", "io.k8s.api.events.v1" },
	{ "coordination.k8s.io", "io.k8s.api.coordination.v1" },
	{ "authentication.k8s.io", "io.k8s.api.authentication.v1" },
	{ "authorization.k8s.io", "io.k8s.api.authorization.v1" },
	{ "scheduling.k8s.io", "io.k8s.api.scheduling.v1" },
	{ "storage.k8s.io", "io.k8s.api.storage.v1" },
	{ "rbac.authorization.k8s.io", "io.k8s.api.rbac.v1" },
	{ "apiextensions.k8s.io", "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1" },
};

static const struct type *type_of(const char *group, const char *kind)
{
	for (size_t i = 0; i < ARRAY_LEN(packages); i++)
		if (str_eq(packages[i].group, group))
			return type_named(packages[i].package, kind);
	return NULL;
}

static char *lower(const char *s)
{
	char *copy = mem_strdup(s);

	for (char *p = copy; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return copy;
}

static void complete(void)
{
	for (size_t i = 0; i < ARRAY_LEN(builtin); i++) {
		struct kind *k = &builtin[i];

		k->list = str_printf("%sList", k->kind);
		k->singular = lower(k->kind);
		k->type = type_of(k->group, k->kind);
		assert(k->type);
		/* Both groups' Events are the same objects, kept in the core group's form. */
		k->stored_as = str_eq(k->group, "events.k8s.io")
		                       ? mem_strdup("events")
		                       : str_printf("%s%s%s", k->plural, *k->group ? "." : "", k->group);
		for (; k->n_subs < SUBRESOURCES_MAX && k->subs[k->n_subs].name; k->n_subs++) {
			struct subresource *s = &k->subs[k->n_subs];

			if (s->kind)
				s->type = type_of(str_or(s->group, k->group), s->kind);
			else
				s->kind = k->kind;
		}
	}
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ----------------------------------------------------------------------------------------------------------- asked */

const char *kind_resource_name(const struct kind *k, char *text, size_t size)
{
	snprintf(text, size, "%s%s%s", k->plural, *k->group ? "." : "", k->group);
	return text;
}

const char *kind_api_version(const struct kind *k, char *text, size_t size)
{
	snprintf(text, size, "%s%s%s", k->group, *k->group ? "/" : "", k->version);
	return text;
}

const struct subresource *kind_sub(const struct kind *k, const char *name)
{
	for (size_t i = 0; i < k->n_subs; i++)
		if (str_eq(k->subs[i].name, name))
			return &k->subs[i];
	return NULL;
}

bool kind_is_custom(const struct kind *k)
{
	return k->schema;
}

const struct kind *kind_builtin(const char *group, const char *plural)
{
	pthread_once(&once, complete);
	for (size_t i = 0; i < ARRAY_LEN(builtin); i++)
		if (str_eq(builtin[i].group, group) && str_eq(builtin[i].plural, plural))
			return &builtin[i];
	assert(!"no such built-in kind");
	abort();
}

/* ------------------------------------------------------------------------------------------------------------ sets */

static char *path_key(const char *group, const char *version, const char *plural)
{
	return str_printf("%s/%s/%s", group, version, plural);
}

void kinds_init(struct kinds *set)
{
	pthread_once(&once, complete);
	*set = (struct kinds) { .by_path = MAP_INIT };
	for (size_t i = 0; i < ARRAY_LEN(builtin); i++)
		kinds_add(set, &builtin[i]);
}

void kinds_done(struct kinds *set)
{
	for (size_t i = 0; i < set->n; i++)
		free(set->keys[i]);
	free(set->keys);
	free(set->list);
	map_done(&set->by_path);
	*set = (struct kinds) { .by_path = MAP_INIT };
}

void kinds_add(struct kinds *set, const struct kind *k)
{
	if (set->n == set->size) {
		set->size = set->size ? 2 * set->size : 64;
		set->list = mem_realloc_n(set->list, set->size, sizeof(*set->list));
		set->keys = mem_realloc_n(set->keys, set->size, sizeof(*set->keys));
	}
	set->list[set->n] = k;
	set->keys[set->n] = path_key(k->group, k->version, k->plural);
	map_put(&set->by_path, set->keys[set->n], (void *)(uintptr_t)k);
	set->n++;
}

void kinds_remove(struct kinds *set, const struct kind *k)
{
	size_t i = 0;

	while (i < set->n && set->list[i] != k)
		i++;
	if (i == set->n)
		return;
	map_remove(&set->by_path, set->keys[i]);
	free(set->keys[i]);
	set->n--;
	memmove(&set->list[i], &set->list[i + 1], (set->n - i) * sizeof(*set->list));
	memmove(&set->keys[i], &set->keys[i + 1], (set->n - i) * sizeof(*set->keys));
}

const struct kind *kinds_find(const struct kinds *set, const char *group, const char *version, const char *plural)
{
	_cleanup_free_ char *key = path_key(group, version, plural);

	return map_get(&set->by_path, key);
}

const struct kind *kinds_find_kind(const struct kinds *set, const char *group, const char *version, const char *kind)
{
	for (size_t i = 0; i < set->n; i++)
		if (str_eq(set->list[i]->kind, kind) && str_eq(set->list[i]->group, group) &&
		    str_eq(set->list[i]->version, version))
			return set->list[i];
	return NULL;
}

bool kinds_has_group(const struct kinds *set, const char *group, const char *version)
{
	for (size_t i = 0; i < set->n; i++)
		if (str_eq(set->list[i]->group, group) && (!version || str_eq(set->list[i]->version, version)))
			return true;
	return false;
}
