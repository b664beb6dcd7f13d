/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Cells of claims, volumes and storage classes.
 */
#include "base/str.h"
#include "lite/obj.h"
#include "lite/table_cells.h"
#include "json/json.h"

static void put_modes(const struct cell *c, yyjson_val *list)
{
	static const char *const words[][2] = { { "ReadWriteOnce", "RWO" },
		                                { "ReadOnlyMany", "ROX" },
		                                { "ReadWriteMany", "RWX" },
		                                { "ReadWriteOncePod", "RWOP" } };
	_cleanup_buf_ struct buf text = BUF(CELL_MAX);
	yyjson_val *v;
	size_t i, n;

	for (size_t w = 0; w < ARRAY_LEN(words); w++)
		yyjson_arr_foreach(list, i, n, v) if (yyjson_equals_str(v, words[w][0]))
		{
			buf_printf(&text, "%s%s", text.len ? "," : "", words[w][1]);
			break;
		}
	cell_put(c, buf_text(&text));
}

static bool is_leaving(const struct cell *c)
{
	return yyjson_is_str(val_at(c->object, "metadata", "deletionTimestamp"));
}

void cell_volume_status(const struct cell *c)
{
	cell_put(c, is_leaving(c) ? "Terminating" : str_or(json_str(val_at(c->object, "status", "phase")), ""));
}

/* A claim has what it got, once it got it. */
static bool got_volume(const struct cell *c)
{
	return !str_empty(json_str(val_at(c->object, "spec", "volumeName")));
}

void cell_claim_capacity(const struct cell *c)
{
	const char *size = json_str(val_at(c->object, "status", "capacity", "storage"));

	cell_put(c, !got_volume(c) ? "" : str_or(size, "0"));
}

void cell_claim_modes(const struct cell *c)
{
	put_modes(c, got_volume(c) ? val_at(c->object, "status", "accessModes") : NULL);
}

void cell_volume_modes(const struct cell *c)
{
	put_modes(c, val_at(c->object, "spec", "accessModes"));
}

void cell_volume_claim(const struct cell *c)
{
	yyjson_val *ref = val_at(c->object, "spec", "claimRef");

	if (ref)
		cell_putf(c, "%s/%s", str_or(json_str(json_get(ref, "namespace")), ""),
		          str_or(json_str(json_get(ref, "name")), ""));
	else
		cell_put(c, "");
}

void cell_or_unset(const struct cell *c)
{
	const char *text = json_str(cell_at(c));

	cell_put(c, str_empty(text) ? "<unset>" : text);
}

void cell_class_name(const struct cell *c)
{
	yyjson_val *annotations = val_at(c->object, "metadata", "annotations");
	bool is_default =
	        yyjson_equals_str(json_get(annotations, "storageclass.kubernetes.io/is-default-class"), "true");

	cell_putf(c, "%s%s", str_or(json_str(val_at(c->object, "metadata", "name")), ""),
	          is_default ? " (default)" : "");
}
