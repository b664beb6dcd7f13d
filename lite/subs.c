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
	{ "binding", sub_binding }, { "eviction", sub_eviction }, { "scale", sub_scale },
	{ "finalize", sub_finalize }, { "log", sub_log },
};

int verb_sub(struct call *c, struct status *st)
{
	for (size_t i = 0; i < ARRAY_LEN(subs); i++)
		if (str_eq(subs[i].name, c->sub->name))
			return subs[i].run(c, st);
	return status_no_resource(st);
}

static yyjson_mut_val *find_condition(yyjson_mut_val *list, const char *type)
{
	ARR_EACH(c, list)
		if (str_eq(obj_str(obj_get(c, "type")), type))
			return c;
	return NULL;
}

static void set_or_drop(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, const char *value)
{
	if (value)
		obj_set_str(doc, obj, key, value);
	else
		obj_drop(obj, key);
}

static bool is_pod(yyjson_mut_doc *doc)
{
	return str_eq(obj_str(obj_get(yyjson_mut_doc_get_root(doc), "kind")), "Pod");
}

bool set_condition(yyjson_mut_doc *doc, const char *type, const char *status, const char *reason, const char *message,
		   usec_t now)
{
	yyjson_mut_val *list = obj_make_arr(doc, obj_make(doc, yyjson_mut_doc_get_root(doc), "status"), "conditions");
	yyjson_mut_val *c = find_condition(list, type);
	bool flipped = !c || !str_eq(obj_str(obj_get(c, "status")), status);
	char text[TIME_TEXT_MAX];

	if (!flipped && str_eq(obj_str(obj_get(c, "reason")), reason) && str_eq(obj_str(obj_get(c, "message")), message))
		return false;
	if (!c) {
		c = yyjson_mut_arr_add_obj(doc, list);
		obj_set_str(doc, c, "type", type);
		obj_set_str(doc, c, "status", status);
		if (is_pod(doc))
			obj_set_null(doc, c, "lastProbeTime");
	}
	obj_set_str(doc, c, "status", status);
	if (flipped)
		obj_set_str(doc, c, "lastTransitionTime", time_format(now, text));
	set_or_drop(doc, c, "reason", reason);
	set_or_drop(doc, c, "message", message);
	return true;
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
