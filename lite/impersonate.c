/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/impersonate.h"

#include <string.h>

#include "base/str.h"
#include "lite/authz.h"

#define ACCOUNT "system:serviceaccount:"

static int check(struct lite *l, const struct user *u, const char *resource, const char *name, struct status *st)
{
	const struct access a = {
		.verb = "impersonate", .group = "", .resource = resource, .sub = "", .ns = "", .name = name
	};

	if (authz_allow(l, u, &a))
		return 0;
	return status_forbidden(st, "", resource, name,
	                        "User \"%s\" cannot impersonate resource \"%s\" in API group \"\" at the cluster scope",
	                        u->name, resource);
}

static void add_group(void *arg, const char *group)
{
	user_add_group(arg, group);
}

/* Service accounts bring their groups with them. */
static void add_account_groups(struct user *as)
{
	const char *ns = as->name + strlen(ACCOUNT), *colon = strchr(ns, ':');
	_cleanup_free_ char *of_ns = NULL;

	if (!colon)
		return;
	of_ns = str_printf("system:serviceaccounts:%.*s", (int)(colon - ns), ns);
	user_add_group(as, "system:serviceaccounts");
	user_add_group(as, of_ns);
}

int impersonate(struct lite *l, const struct user *u, const struct exchange *x, struct user **ret, struct status *st)
{
	const char *name = xch_header(x, "Impersonate-User");
	_cleanup_(user_freep) struct user *as = NULL;
	int r;

	*ret = NULL;
	if (!name)
		return xch_header(x, "Impersonate-Group")
		               ? status_bad_request(st, "requested [Groups] impersonation without impersonating a user")
		               : 0;
	r = check(l, u, "users", name, st);
	if (r < 0)
		return r;
	as = user_new(name);
	xch_each_header(x, "Impersonate-Group", add_group, as);
	for (size_t i = 0; as->groups[i]; i++) {
		r = check(l, u, "groups", as->groups[i], st);
		if (r < 0)
			return r;
	}
	if (!as->groups[0] && str_starts(name, ACCOUNT))
		add_account_groups(as);
	if (!user_in_group(as, "system:authenticated"))
		user_add_group(as, "system:authenticated");
	*ret = TAKE_PTR(as);
	return 0;
}
