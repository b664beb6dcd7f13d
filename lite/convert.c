/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/convert.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "lite/decode.h"
#include "lite/obj.h"

#define HEAD_MAX 512

static bool is_new_event(const struct kind *k)
{
	return str_eq(k->group, "events.k8s.io");
}

static size_t head_of(const struct kind *k, char *text, size_t size)
{
	char api_version[HEAD_MAX / 2];
	int n;

	kind_api_version(k, api_version, sizeof(api_version));
	if (kind_is_custom(k))
		n = snprintf(text, size, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",", api_version, k->kind);
	else
		n = snprintf(text, size, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",", k->kind, api_version);
	return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

size_t convert_head(const struct kind *k, const char *text)
{
	char head[HEAD_MAX];
	size_t n = head_of(k, head, sizeof(head));

	return n > 0 && strncmp(text, head, n) == 0 ? n : 0;
}

bool convert_same(const struct kind *k, const char *text)
{
	return convert_head(k, text) > 0;
}

/* The names of an Event's fields: in the core group, and in events.k8s.io. */
static const char *const event_fields[][2] = {
	{ "involvedObject", "regarding" },
	{ "message", "note" },
	{ "reportingComponent", "reportingController" },
	{ "source", "deprecatedSource" },
	{ "firstTimestamp", "deprecatedFirstTimestamp" },
	{ "lastTimestamp", "deprecatedLastTimestamp" },
	{ "count", "deprecatedCount" },
};

static void rename_event_fields(yyjson_mut_doc *doc, int from, int to)
{
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);

	for (size_t i = 0; i < ARRAY_LEN(event_fields); i++) {
		yyjson_mut_val *v = obj_drop(root, event_fields[i][from]);

		if (v)
			obj_set(doc, root, event_fields[i][to], v);
	}
}

static void set_version(const struct kind *k, yyjson_mut_doc *doc)
{
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
	char text[HEAD_MAX / 2];

	obj_set_str(doc, root, "apiVersion", kind_api_version(k, text, sizeof(text)));
}

/* Brings the members into the order of the kind's type. What fails here was refused before. */
static void reorder(const struct kind *k, yyjson_mut_doc *doc)
{
	struct status st = STATUS_INIT;

	decode_patched(k, NULL, doc, NULL, FIELDS_IGNORE, NULL, &st);
	status_done(&st);
}

void convert_to(const struct kind *k, yyjson_mut_doc *doc)
{
	if (is_new_event(k)) {
		rename_event_fields(doc, 0, 1);
		set_version(k, doc);
		reorder(k, doc);
	} else if (kind_is_custom(k)) {
		set_version(k, doc);
	}
}

void convert_from(const struct kind *k, yyjson_mut_doc *doc)
{
	const struct kind *core;

	if (!is_new_event(k))
		return;
	core = kind_builtin("", "events");
	rename_event_fields(doc, 1, 0);
	set_version(core, doc);
	reorder(core, doc);
}
