/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Cells that many kinds have.
 */
#include "lite/table_cells.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/obj.h"
#include "lite/selector.h"
#include "json/json.h"

void cell_put(const struct cell *c, const char *text)
{
	obj_add_quoted(c->out, str_or(text, ""));
}

void cell_putf(const struct cell *c, const char *fmt, ...)
{
	_cleanup_buf_ struct buf text = BUF(CELL_MAX);
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	cell_put(c, buf_text(&text));
}

const char *table_duration(usec_t span, char text[32])
{
	long long s = span / USEC_SEC, m = s / 60, h = m / 60, d = h / 24, y = d / 365;

	if (s < -1)
		snprintf(text, 32, "<invalid>");
	else if (s < 120)
		snprintf(text, 32, "%llds", MAX_OF(s, 0));
	else if (m < 10 && s % 60)
		snprintf(text, 32, "%lldm%llds", m, s % 60);
	else if (m < 180)
		snprintf(text, 32, "%lldm", m);
	else if (h < 8 && m % 60)
		snprintf(text, 32, "%lldh%lldm", h, m % 60);
	else if (h < 48)
		snprintf(text, 32, "%lldh", h);
	else if (d < 8 && h % 24)
		snprintf(text, 32, "%lldd%lldh", d, h % 24);
	else if (d < 730)
		snprintf(text, 32, "%lldd", d);
	else if (y < 8 && d % 365)
		snprintf(text, 32, "%lldy%lldd", y, d % 365);
	else
		snprintf(text, 32, "%lldy", y);
	return text;
}

const char *table_age(yyjson_val *time, usec_t now, char text[32])
{
	usec_t then;

	if (!yyjson_is_str(time) || time_parse_rfc3339(yyjson_get_str(time), yyjson_get_len(time), &then) < 0)
		return "<unknown>";
	return table_duration(now - then, text);
}

yyjson_val *cell_at(const struct cell *c)
{
	return val_at_(c->object, c->path);
}

yyjson_val *table_find_by_type(yyjson_val *list, const char *type)
{
	size_t i, max;
	yyjson_val *v;

	yyjson_arr_foreach(list, i, max, v) if (yyjson_equals_str(yyjson_obj_get(v, "type"), type)) return v;
	return NULL;
}

void cell_text(const struct cell *c)
{
	cell_put(c, json_str(cell_at(c)));
}

void cell_or_none(const struct cell *c)
{
	cell_put(c, str_empty(json_str(cell_at(c))) ? "<none>" : json_str(cell_at(c)));
}

void cell_or_unknown(const struct cell *c)
{
	cell_put(c, str_empty(json_str(cell_at(c))) ? "<unknown>" : json_str(cell_at(c)));
}

void cell_int(const struct cell *c)
{
	buf_printf(c->out, "%lld", (long long)json_int(cell_at(c), 0));
}

void cell_bool(const struct cell *c)
{
	buf_add_str(c->out, json_bool(cell_at(c), false) ? "true" : "false");
}

void cell_age(const struct cell *c)
{
	char text[32];

	cell_put(c, table_age(val_at(c->object, "metadata", "creationTimestamp"), c->now, text));
}

void cell_count(const struct cell *c)
{
	buf_printf(c->out, "%zu", yyjson_obj_size(cell_at(c)));
}

/* "25%", "2", "N/A" */
void cell_int_or_string(const struct cell *c)
{
	if (yyjson_is_int(cell_at(c)))
		cell_putf(c, "%lld", (long long)json_int(cell_at(c), 0));
	else
		cell_put(c, str_or(json_str(cell_at(c)), "N/A"));
}

void cell_join(const struct cell *c, yyjson_val *list, const char *key, const char *between)
{
	_cleanup_buf_ struct buf text = BUF(CELL_MAX);
	size_t i, max;
	yyjson_val *v;

	yyjson_arr_foreach(list, i, max, v)
	        buf_printf(&text, "%s%s", i ? between : "", str_or(json_str(key ? yyjson_obj_get(v, key) : v), ""));
	cell_put(c, buf_text(&text));
}

void cell_container_names(const struct cell *c)
{
	cell_join(c, val_at(c->object, "spec", "template", "spec", "containers"), "name", ",");
}

void cell_images(const struct cell *c)
{
	cell_join(c, val_at(c->object, "spec", "template", "spec", "containers"), "image", ",");
}

void cell_selector(const struct cell *c)
{
	_cleanup_(selector_freep) struct selector *s = NULL;
	_cleanup_free_ char *text = NULL;

	if (selector_from_object(cell_at(c), &s) < 0) {
		cell_put(c, "<error>");
		return;
	}
	text = selector_text(s);
	cell_put(c, str_empty(text) ? "<none>" : text);
}

/* Labels as "a=b,c=d", sorted. */
void cell_labels(const struct cell *c)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = cell_at(c) ? obj_doc_of(cell_at(c)) : obj_doc();
	_cleanup_buf_ struct buf text = BUF(CELL_MAX);
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);

	obj_sort(doc, root);
	OBJ_EACH (key, val, root)
		buf_printf(&text, "%s%s=%s", text.len ? "," : "", yyjson_mut_get_str(key), str_or(obj_str(val), ""));
	cell_put(c, text.len ? buf_text(&text) : "<none>");
}
