/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Claims, volumes and storage classes: what would keep them from being used.
 */
#include "base/str.h"
#include "lite/obj.h"
#include "lite/validate_kinds.h"

#define WORDS(...) ((const char *const[]) { __VA_ARGS__, NULL })

static void check_modes(struct check *c, yyjson_mut_val *spec)
{
	yyjson_mut_val *modes = obj_get(spec, "accessModes");
	static const char *const known[] = { "ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod" };

	if (obj_size(modes) == 0)
		check_add(c, CAUSE_REQUIRED, "accessModes", NULL, "at least 1 access mode is required");
	ARR_EACH (m, modes) {
		bool found = false;

		for (size_t i = 0; i < ARRAY_LEN(known); i++)
			found |= str_eq(obj_str(m), known[i]);
		if (!found)
			check_add(c, CAUSE_UNSUPPORTED, "accessModes", m,
			          "supported values: \"ReadOnlyMany\", \"ReadWriteMany\", \"ReadWriteOnce\", "
			          "\"ReadWriteOncePod\"");
	}
}

void check_claim(struct check *c, yyjson_mut_val *obj)
{
	yyjson_mut_val *spec = obj_get(obj, "spec");
	size_t up = check_enter(c, "spec"), in;

	check_modes(c, spec);
	in = check_enter(c, "resources");
	if (!obj_at(spec, "resources", "requests", "storage"))
		check_add(c, CAUSE_REQUIRED, "requests[storage]", NULL, NULL);
	check_amounts(c, obj_get(spec, "resources"), "requests");
	check_leave(c, in);
	check_word(c, spec, "volumeMode", WORDS("Block", "Filesystem"), false);
	check_leave(c, up);
}

/* Once bound, a claim asks for nothing else; before, its volume and its class may be filled in. */
void check_claim_update(struct check *c, yyjson_mut_val *obj, yyjson_mut_val *old)
{
	static const char *const set_once[] = { "volumeName", "storageClassName" };
	yyjson_mut_val *was = obj_get(old, "spec"), *is = obj_get(obj, "spec");
	size_t up = check_enter(c, "spec");

	check_same(c, is, was, "accessModes");
	check_same(c, is, was, "selector");
	for (size_t i = 0; i < ARRAY_LEN(set_once); i++)
		if (!str_empty(obj_str(obj_get(was, set_once[i]))))
			check_same(c, is, was, set_once[i]);
	check_leave(c, up);
}

void check_volume(struct check *c, yyjson_mut_val *obj)
{
	static const char *const others[] = {
		"capacity",     "accessModes", "claimRef",     "persistentVolumeReclaimPolicy", "storageClassName",
		"mountOptions", "volumeMode",  "nodeAffinity", "volumeAttributesClassName"
	};
	yyjson_mut_val *spec = obj_get(obj, "spec");
	size_t up = check_enter(c, "spec"), sources = 0;

	check_modes(c, spec);
	if (obj_size(obj_get(spec, "capacity")) == 0)
		check_add(c, CAUSE_REQUIRED, "capacity", NULL, NULL);
	check_amounts(c, spec, "capacity");
	check_word(c, spec, "persistentVolumeReclaimPolicy", WORDS("Delete", "Recycle", "Retain"), false);
	check_word(c, spec, "volumeMode", WORDS("Block", "Filesystem"), false);
	OBJ_EACH (key, val, spec) {
		bool other = false;

		(void)val;
		for (size_t i = 0; i < ARRAY_LEN(others); i++)
			other |= yyjson_mut_equals_str(key, others[i]);
		sources += !other;
	}
	check_leave(c, up);
	if (sources == 0)
		check_add(c, CAUSE_REQUIRED, "spec", NULL, "must specify a volume type");
	else if (sources > 1)
		check_add(c, CAUSE_FORBIDDEN, "spec", NULL, "may not specify more than 1 volume type");
}

void check_storage_class(struct check *c, yyjson_mut_val *obj)
{
	check_given(c, obj, "provisioner");
	check_word(c, obj, "reclaimPolicy", WORDS("Delete", "Retain"), false);
	check_word(c, obj, "volumeBindingMode", WORDS("Immediate", "WaitForFirstConsumer"), false);
}

void check_storage_class_update(struct check *c, yyjson_mut_val *obj, yyjson_mut_val *old)
{
	check_same(c, obj, old, "provisioner");
	check_same(c, obj, old, "parameters");
	check_same(c, obj, old, "reclaimPolicy");
	check_same(c, obj, old, "volumeBindingMode");
}
