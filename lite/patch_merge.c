/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which patch it is, and the simplest one: RFC 7386.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "lite/obj.h"
#include "lite/patches.h"

int patch_type_of(const struct kind *k, const char *content_type, enum patch_type *ret, struct status *st)
{
	static const struct {
		const char *media;
		enum patch_type type;
	} rows[] = {
		{ "application/json-patch+json", PATCH_JSON },
		{ "application/merge-patch+json", PATCH_MERGE },
		{ "application/strategic-merge-patch+json", PATCH_STRATEGIC },
		{ "application/apply-patch+yaml", PATCH_APPLY },
	};
	size_t len;

	content_type = str_or(content_type, "");
	len = strcspn(content_type, "; \t");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strlen(rows[i].media) != len || strncasecmp(rows[i].media, content_type, len) != 0)
			continue;
		if (rows[i].type == PATCH_STRATEGIC && kind_is_custom(k))
			break;
		*ret = rows[i].type;
		return 0;
	}
	return status_unsupported_media(st);
}

/* Returns what `target` becomes: itself, changed, or a copy of the patch. */
static yyjson_mut_val *merge(yyjson_mut_doc *doc, yyjson_mut_val *target, yyjson_val *patch)
{
	size_t i, max;
	yyjson_val *key, *val;

	if (!yyjson_is_obj(patch))
		return yyjson_val_mut_copy(doc, patch);
	if (!yyjson_mut_is_obj(target))
		target = yyjson_mut_obj(doc);
	yyjson_obj_foreach(patch, i, max, key, val)
	{
		const char *name = yyjson_get_str(key);
		yyjson_mut_val *old = obj_get(target, name), *new;

		if (yyjson_is_null(val)) {
			obj_drop(target, name);
			continue;
		}
		new = merge(doc, old, val);
		if (new != old)
			obj_set(doc, target, name, new);
	}
	return target;
}

int patch_merge(yyjson_mut_doc *doc, yyjson_val *patch, struct status *st)
{
	if (!yyjson_is_obj(patch))
		return status_bad_request(
		        st,
		        "error decoding patch: json: cannot unmarshal %s into Go value of type map[string]interface {}",
		        yyjson_is_arr(patch) ? "array" : yyjson_get_type_desc(patch));
	merge(doc, yyjson_mut_doc_get_root(doc), patch);
	return 0;
}
