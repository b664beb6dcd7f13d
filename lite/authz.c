/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/authz.h"

#include <string.h>

#include "base/str.h"
#include "lite/obj.h"
#include "lite/registry.h"
#include "json/json.h"

#define RBAC "rbac.authorization.k8s.io"

/* What everybody may read, known or not. */
static bool is_public(const char *path)
{
	static const char *const paths[] = { "/healthz", "/livez", "/readyz", "/version", "/version/" };

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (str_eq(path, paths[i]))
			return true;
	return str_starts(path, "/livez/") || str_starts(path, "/readyz/") || str_starts(path, "/healthz/");
}

/* What everybody who is somebody may read. */
static bool is_discovery(const char *path)
{
	static const char *const roots[] = { "/api", "/apis", "/openapi" };

	for (size_t i = 0; i < ARRAY_LEN(roots); i++)
		if (str_starts(path, roots[i]) && (path[strlen(roots[i])] == '\0' || path[strlen(roots[i])] == '/'))
			return true;
	return false;
}

static bool has_word(yyjson_val *list, const char *word)
{
	size_t i, n;
	yyjson_val *v;

	yyjson_arr_foreach(list, i, n, v) if (str_eq(json_str(v), "*") || str_eq(json_str(v), word)) return true;
	return false;
}

/* "pods", "pods/status", "*\/status" */
static bool resource_fits(yyjson_val *list, const struct access *a)
{
	_cleanup_free_ char *whole =
	        str_empty(a->sub) ? mem_strdup(a->resource) : str_printf("%s/%s", a->resource, a->sub);
	_cleanup_free_ char *any = str_empty(a->sub) ? NULL : str_printf("*/%s", a->sub);

	return has_word(list, whole) || (any && has_word(list, any));
}

static bool path_fits(yyjson_val *list, const char *path)
{
	size_t i, n;
	yyjson_val *v;

	yyjson_arr_foreach(list, i, n, v)
	{
		const char *s = json_str(v);
		size_t len = s ? strlen(s) : 0;

		if (str_eq(s, path) || (len > 0 && s[len - 1] == '*' && strncmp(s, path, len - 1) == 0))
			return true;
	}
	return false;
}

static bool rule_allows(yyjson_val *rule, const struct access *a)
{
	yyjson_val *names = json_get(rule, "resourceNames");

	if (!has_word(json_get(rule, "verbs"), a->verb))
		return false;
	if (a->path)
		return path_fits(json_get(rule, "nonResourceURLs"), a->path);
	if (yyjson_arr_size(names) > 0 && (str_empty(a->name) || !has_word(names, a->name)))
		return false;
	return has_word(json_get(rule, "apiGroups"), a->group) && resource_fits(json_get(rule, "resources"), a);
}

static bool role_allows(struct lite *l, const char *kind, const char *ns, const char *name, const struct access *a)
{
	bool cluster = str_eq(kind, "ClusterRole");
	struct item *i = reg_get(l, kind_builtin(RBAC, cluster ? "clusterroles" : "roles"), cluster ? NULL : ns, name);
	_cleanup_doc_ yyjson_doc *doc = i ? reg_read(i) : NULL;
	yyjson_val *rule;
	size_t k, n;

	if (!doc)
		return false;
	yyjson_arr_foreach(json_get(yyjson_doc_get_root(doc), "rules"), k, n,
	                   rule) if (rule_allows(rule, a)) return true;
	return false;
}

static bool is_subject(yyjson_val *s, const struct user *u, const char *binding_ns)
{
	const char *kind = json_str(json_get(s, "kind")), *name = json_str(json_get(s, "name"));
	_cleanup_free_ char *account = NULL;

	if (str_eq(kind, "User"))
		return str_eq(name, u->name);
	if (str_eq(kind, "Group"))
		return name && user_in_group(u, name);
	if (!str_eq(kind, "ServiceAccount") || !name)
		return false;
	account =
	        str_printf("system:serviceaccount:%s:%s", str_or(json_str(json_get(s, "namespace")), binding_ns), name);
	return str_eq(account, u->name);
}

static bool binding_allows(struct lite *l, const struct item *i, const struct user *u, const struct access *a)
{
	_cleanup_doc_ yyjson_doc *doc = reg_read(i);
	yyjson_val *root = yyjson_doc_get_root(doc), *ref = json_get(root, "roleRef"), *s;
	const char *ns = str_or(json_str(val_at(root, "metadata", "namespace")), "");
	size_t k, n;

	yyjson_arr_foreach(json_get(root, "subjects"), k, n, s) if (is_subject(s, u, ns)) return role_allows(
	        l, str_or(json_str(json_get(ref, "kind")), ""), ns, str_or(json_str(json_get(ref, "name")), ""), a);
	return false;
}

static bool bindings_allow(struct lite *l, const char *plural, const char *ns, const struct user *u,
                           const struct access *a)
{
	size_t n;
	struct item *const *span = db_span(lite_collection(l, kind_builtin(RBAC, plural)), ns, NULL, &n);

	for (size_t i = 0; i < n; i++)
		if (binding_allows(l, span[i], u, a))
			return true;
	return false;
}

/* Asking about oneself is free. */
static bool is_self_review(const struct access *a)
{
	return str_eq(a->verb, "create") &&
	       (str_eq(a->group, "authorization.k8s.io") || str_eq(a->group, "authentication.k8s.io")) &&
	       str_starts(a->resource, "selfsubject");
}

bool authz_allow(struct lite *l, const struct user *u, const struct access *a)
{
	bool known = user_in_group(u, "system:authenticated");

	if (user_in_group(u, "system:masters"))
		return true;
	if (a->path && str_eq(a->verb, "get") && (is_public(a->path) || (known && is_discovery(a->path))))
		return true;
	if (!a->path && known && is_self_review(a))
		return true;
	if (bindings_allow(l, "clusterrolebindings", NULL, u, a))
		return true;
	return !a->path && !str_empty(a->ns) && bindings_allow(l, "rolebindings", a->ns, u, a);
}

int authz_check(struct lite *l, const struct user *u, const struct route *r, struct status *st)
{
	struct access a = {
		.verb = r->verb, .group = r->group, .resource = r->plural, .sub = r->sub, .ns = r->ns, .name = r->name
	};
	_cleanup_free_ char *what = NULL, *where = NULL;

	if (!r->resource)
		a.path = r->path;
	if (authz_allow(l, u, &a))
		return 0;
	if (a.path)
		return status_fail(st, 403, "Forbidden", &(struct status_details) { 0 },
		                   "forbidden: User \"%s\" cannot %s path \"%s\"", u->name, a.verb, a.path);
	what = *r->sub ? str_printf("%s/%s", r->plural, r->sub) : mem_strdup(r->plural);
	where = *r->ns ? str_printf("in the namespace \"%s\"", r->ns) : mem_strdup("at the cluster scope");
	return status_forbidden(st, r->group, r->plural, *r->name ? r->name : NULL,
	                        "User \"%s\" cannot %s resource \"%s\" in API group \"%s\" %s", u->name, a.verb, what,
	                        r->group, where);
}
