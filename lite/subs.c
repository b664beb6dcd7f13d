/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/subs.h"

#include "base/str.h"
#include "lite/obj.h"
#include "lite/registry.h"
#include "lite/write.h"

static const struct {
	const char *name;
	int (*run)(struct call *c, struct status *st);
} subs[] = {
	{ "binding", sub_binding },   { "eviction", sub_eviction }, { "scale", sub_scale },
	{ "finalize", sub_finalize }, { "log", sub_log },           { "token", sub_token },
};

int verb_sub(struct call *c, struct status *st)
{
	for (size_t i = 0; i < ARRAY_LEN(subs); i++)
		if (str_eq(subs[i].name, c->sub->name))
			return subs[i].run(c, st);
	return status_no_resource(st);
}

int sub_finalize(struct call *c, struct status *st)
{
	_cleanup_mut_doc_ yyjson_mut_doc *body = NULL, *doc = NULL;
	_cleanup_(item_unrefp) struct item *i = NULL;
	struct item *old = NULL;
	int r;

	r = reg_find(c->lite, c->kind, NULL, c->route.name, &old, st);
	if (r == 0)
		r = write_body(c, c->kind, NULL, FIELDS_IGNORE, &body, st);
	if (r < 0)
		return r;
	doc = reg_doc(c->kind, old);
	obj_set_copy(doc, obj_make(doc, yyjson_mut_doc_get_root(doc), "spec"), "finalizers",
	             obj_at(yyjson_mut_doc_get_root(body), "spec", "finalizers"));
	reg_replace(c->lite, c->kind, old, TAKE_PTR(doc), &i);
	return call_item(c, 200, i);
}
