/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json/patch.h"

#include <assert.h>
#include <yyjson.h>

#include "base/str.h"
#include "json/json.h"

struct patch {
	yyjson_mut_doc *doc; /* of the outermost patch, which owns it */
	yyjson_mut_val *object;
	struct patch *inner; /* the last that patch_add() made here */
	struct patch *next;
};

/* yyjson answers NULL when memory is out: then we stop, as everywhere. */
static yyjson_mut_val *made(yyjson_mut_val *v)
{
	if (!v)
		abort();
	return v;
}

struct patch *patch_new(void)
{
	struct patch *p = NEW(struct patch);

	p->doc = yyjson_mut_doc_new(NULL);
	if (!p->doc)
		abort();
	p->object = made(yyjson_mut_obj(p->doc));
	yyjson_mut_doc_set_root(p->doc, p->object);
	return p;
}

static void free_inner(struct patch *p)
{
	while (p->inner) {
		struct patch *q = p->inner;

		p->inner = q->next;
		free_inner(q);
		free(q);
	}
}

void patch_free(struct patch *p)
{
	if (!p)
		return;
	free_inner(p);
	yyjson_mut_doc_free(p->doc);
	free(p);
}

/* A copy of the text inside the document, as UTF-8. */
static yyjson_mut_val *text_value(struct patch *p, const char *text)
{
	size_t len = strlen(text);
	_cleanup_buf_ struct buf fixed = BUF(3 * len + 1);

	if (str_is_utf8(text, len))
		return made(yyjson_mut_strncpy(p->doc, text, len));
	for (size_t i = 0; i < len;) {
		size_t n = 1;

		while (n <= 4 && i + n <= len && !str_is_utf8(text + i, n))
			n++;
		if (n <= 4 && i + n <= len) {
			buf_add(&fixed, text + i, n);
			i += n;
		} else {
			buf_add_str(&fixed, "\xEF\xBF\xBD");
			i++;
		}
	}
	return made(yyjson_mut_strncpy(p->doc, fixed.data, fixed.len));
}

static yyjson_mut_val *member(yyjson_mut_val *object, yyjson_mut_val *name)
{
	return yyjson_mut_obj_getn(object, yyjson_mut_get_str(name), yyjson_mut_get_len(name));
}

/* Sets the value at the path; objects on the way are made. */
static void set(struct patch *p, yyjson_mut_val *value, const char *const *path)
{
	yyjson_mut_val *at = p->object, *name;

	assert(path[0]);
	for (; path[1]; path++) {
		yyjson_mut_val *next;

		name = text_value(p, path[0]);
		next = member(at, name);
		if (!next) {
			next = made(yyjson_mut_obj(p->doc));
			yyjson_mut_obj_add(at, name, next);
		}
		assert(yyjson_mut_is_obj(next));
		at = next;
	}
	name = text_value(p, path[0]);
	if (member(at, name))
		yyjson_mut_obj_replace(at, name, made(value));
	else
		yyjson_mut_obj_add(at, name, made(value));
}

static yyjson_mut_val *get(struct patch *p, const char *const *path)
{
	yyjson_mut_val *at = p->object;

	for (; *path && at; path++)
		at = member(at, text_value(p, *path));
	return at;
}

/* The array at the path, made when it is not there. */
static yyjson_mut_val *array_at(struct patch *p, const char *const *path)
{
	yyjson_mut_val *array = get(p, path);

	if (!array) {
		array = made(yyjson_mut_arr(p->doc));
		set(p, array, path);
	}
	assert(yyjson_mut_is_arr(array));
	return array;
}

void patch_str(struct patch *p, const char *value, const char *const *path)
{
	set(p, value ? text_value(p, value) : yyjson_mut_null(p->doc), path);
}

void patch_int(struct patch *p, int64_t value, const char *const *path)
{
	set(p, yyjson_mut_sint(p->doc, value), path);
}

void patch_bool(struct patch *p, bool value, const char *const *path)
{
	set(p, yyjson_mut_bool(p->doc, value), path);
}

void patch_null(struct patch *p, const char *const *path)
{
	set(p, yyjson_mut_null(p->doc), path);
}

void patch_time(struct patch *p, usec_t wall, const char *const *path)
{
	char text[TIME_TEXT_MAX];

	patch_str(p, wall ? time_format(wall, text) : NULL, path);
}

void patch_micro_time(struct patch *p, usec_t wall, const char *const *path)
{
	char text[TIME_TEXT_MAX];

	patch_str(p, wall ? time_format_micro(wall, text) : NULL, path);
}

int patch_raw(struct patch *p, const char *json, size_t len, const char *const *path, struct err *err)
{
	yyjson_doc *doc;
	int r = json_parse_copy(json, len, &doc, err);

	if (r < 0)
		return r;
	set(p, yyjson_val_mut_copy(p->doc, yyjson_doc_get_root(doc)), path);
	yyjson_doc_free(doc);
	return 0;
}

struct patch *patch_add(struct patch *p, const char *const *path)
{
	struct patch *q = NEW(struct patch);

	q->doc = p->doc;
	q->object = made(yyjson_mut_obj(p->doc));
	yyjson_mut_arr_append(array_at(p, path), q->object);
	q->next = p->inner;
	p->inner = q;
	return q;
}

void patch_add_str(struct patch *p, const char *value, const char *const *path)
{
	yyjson_mut_arr_append(array_at(p, path), text_value(p, value));
}

void patch_empty_array(struct patch *p, const char *const *path)
{
	set(p, yyjson_mut_arr(p->doc), path);
}

bool patch_is_empty(const struct patch *p)
{
	return yyjson_mut_obj_size(p->object) == 0;
}

char *patch_text(const struct patch *p, size_t *ret_len)
{
	char *text = yyjson_mut_write(p->doc, YYJSON_WRITE_NOFLAG, ret_len);

	if (!text)
		abort();
	return text;
}
