/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/condition.h"

#include "base/str.h"
#include "lite/obj.h"

static yyjson_mut_val *find_condition(yyjson_mut_val *list, const char *type)
{
	ARR_EACH (c, list)
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

	if (!flipped && str_eq(obj_str(obj_get(c, "reason")), reason) &&
	    str_eq(obj_str(obj_get(c, "message")), message))
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
