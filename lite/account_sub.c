/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * serviceaccounts/x/token: a token for a service account, for a while.
 */
#include <stdio.h>

#include "base/str.h"
#include "lite/account.h"
#include "lite/obj.h"
#include "lite/registry.h"
#include "lite/subs.h"
#include "lite/write.h"
#include "json/json.h"

#define LIFE_S 3600 /* when none is asked for */
#define LIFE_MIN_S 600
#define LIFE_MAX_S ((int64_t)1 << 32)

static int check_life(int64_t seconds, struct status *st)
{
	_cleanup_causes_ struct causes causes = CAUSES_INIT;
	char text[32];

	if (seconds >= LIFE_MIN_S && seconds <= LIFE_MAX_S)
		return 0;
	snprintf(text, sizeof(text), "%lld", (long long)seconds);
	causes_add(&causes, CAUSE_INVALID, "spec.expirationSeconds", text, "%s",
	           seconds < LIFE_MIN_S ? "may not specify a duration less than 10 minutes"
	                                : "may not specify a duration larger than 2^32 seconds");
	return status_invalid(st, "authentication.k8s.io", "TokenRequest", "", &causes);
}

int sub_token(struct call *c, struct status *st)
{
	_cleanup_mut_doc_ yyjson_mut_doc *body = NULL;
	_cleanup_buf_ struct buf out = BUF(BODY_MAX);
	_cleanup_doc_ yyjson_doc *there = NULL;
	_cleanup_free_ char *token = NULL;
	yyjson_mut_val *root, *spec, *status;
	char manager[MANAGER_MAX + 1], expires[TIME_TEXT_MAX];
	struct write_options o;
	struct account a = { 0 };
	struct item *i = NULL;
	int64_t life;
	int r;

	r = write_options(c, false, &o, manager, st);
	if (r == 0)
		r = write_body(c, c->kind, c->sub, o.validation, &body, st);
	if (r == 0)
		r = reg_find(c->lite, c->kind, c->route.ns, c->route.name, &i, st);
	if (r < 0)
		return r;
	root = yyjson_mut_doc_get_root(body);
	spec = obj_make(body, root, "spec");
	life = obj_int(obj_get(spec, "expirationSeconds"), LIFE_S);
	r = check_life(life, st);
	if (r < 0)
		return r;
	there = reg_read(i);
	str_copy(a.uid, sizeof(a.uid), str_or(json_str(val_at(yyjson_doc_get_root(there), "metadata", "uid")), ""));
	str_copy(a.ns, sizeof(a.ns), c->route.ns);
	str_copy(a.name, sizeof(a.name), c->route.name);
	a.expires = usec_add(lite_now(c->lite), (usec_t)life * USEC_SEC);
	token = account_token(auth_key(c->lite->auth), &a);
	obj_set_int(body, spec, "expirationSeconds", life);
	obj_set_str(body, obj_make(body, root, "metadata"), "name", a.name);
	obj_set_str(body, obj_make(body, root, "metadata"), "namespace", a.ns);
	status = obj_make(body, root, "status");
	obj_set_str(body, status, "token", token);
	obj_set_str(body, status, "expirationTimestamp", time_format(a.expires, expires));
	obj_add_text(&out, root);
	return call_json(c, 201, &out);
}
