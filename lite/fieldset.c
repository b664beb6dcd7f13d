/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/fieldset.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/obj.h"

struct fields *fields_new(void)
{
	return NEW(struct fields);
}

void fields_free(struct fields *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n; i++)
		fields_free(f->kids[i]);
	free(f->kids);
	free(f->name);
	free(f);
}

/* Where name is, or would be. */
static size_t place(const struct fields *f, const char *name, bool *ret_there)
{
	size_t low = 0, high = f->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int c = strcmp(f->kids[mid]->name, name);

		if (c == 0) {
			*ret_there = true;
			return mid;
		}
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	*ret_there = false;
	return low;
}

static void insert(struct fields *f, size_t at, struct fields *kid)
{
	if (f->n == f->size) {
		f->size = f->size ? 2 * f->size : 4;
		f->kids = mem_realloc_n(f->kids, f->size, sizeof(*f->kids));
	}
	memmove(&f->kids[at + 1], &f->kids[at], (f->n - at) * sizeof(*f->kids));
	f->kids[at] = kid;
	f->n++;
}

struct fields *fields_kid(struct fields *f, const char *name)
{
	bool there;
	size_t at = place(f, name, &there);
	struct fields *kid;

	if (there)
		return f->kids[at];
	kid = fields_new();
	kid->name = mem_strdup(name);
	insert(f, at, kid);
	return kid;
}

const struct fields *fields_find(const struct fields *f, const char *name)
{
	bool there;
	size_t at;

	if (!f)
		return NULL;
	at = place(f, name, &there);
	return there ? f->kids[at] : NULL;
}

void fields_drop(struct fields *f, const char *name)
{
	bool there;
	size_t at = place(f, name, &there);

	if (!there)
		return;
	fields_free(f->kids[at]);
	f->n--;
	memmove(&f->kids[at], &f->kids[at + 1], (f->n - at) * sizeof(*f->kids));
}

bool fields_empty(const struct fields *f)
{
	if (!f)
		return true;
	for (size_t i = 0; i < f->n; i++)
		if (!fields_empty(f->kids[i]))
			return false;
	return !f->member;
}

struct fields *fields_copy(const struct fields *f)
{
	struct fields *copy = fields_new();

	fields_add(copy, f);
	return copy;
}

/* --------------------------------------------------------------------------------------------------------- algebra */

void fields_add(struct fields *to, const struct fields *from)
{
	if (!from)
		return;
	to->member = to->member || from->member;
	for (size_t i = 0; i < from->n; i++)
		fields_add(fields_kid(to, from->kids[i]->name), from->kids[i]);
}

void fields_trim(struct fields *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++) {
		fields_trim(f->kids[i]);
		if (!f->kids[i]->n && !f->kids[i]->member)
			fields_free(f->kids[i]);
		else
			f->kids[n++] = f->kids[i];
	}
	f->n = n;
}

static void subtract(struct fields *from, const struct fields *what)
{
	if (!what)
		return;
	from->member = from->member && !what->member;
	for (size_t i = 0; i < from->n; i++)
		subtract(from->kids[i], fields_find(what, from->kids[i]->name));
}

void fields_subtract(struct fields *from, const struct fields *what)
{
	subtract(from, what);
	fields_trim(from);
}

static void add_common(struct fields *to, const struct fields *a, const struct fields *b)
{
	to->member = a->member && b->member;
	for (size_t i = 0; i < a->n; i++) {
		const struct fields *other = fields_find(b, a->kids[i]->name);

		if (other)
			add_common(fields_kid(to, a->kids[i]->name), a->kids[i], other);
	}
}

struct fields *fields_common(const struct fields *a, const struct fields *b)
{
	struct fields *f = fields_new();

	if (a && b)
		add_common(f, a, b);
	fields_trim(f);
	return f;
}

/* ------------------------------------------------------------------------------------------------------------ JSON */

static void read_into(struct fields *f, yyjson_mut_val *v)
{
	OBJ_EACH (key, val, v) {
		const char *name = yyjson_mut_get_str(key);

		if (str_eq(name, ".")) {
			f->member = true;
		} else {
			struct fields *kid = fields_kid(f, name);

			kid->member = obj_size(val) == 0;
			read_into(kid, val);
		}
	}
}

struct fields *fields_read(yyjson_mut_val *v)
{
	struct fields *f = fields_new();

	read_into(f, v);
	return f;
}

yyjson_mut_val *fields_write(yyjson_mut_doc *doc, const struct fields *f)
{
	yyjson_mut_val *v = yyjson_mut_obj(doc);

	if (f->member && f->n)
		obj_make(doc, v, ".");
	for (size_t i = 0; i < f->n; i++)
		yyjson_mut_obj_add(v, yyjson_mut_strcpy(doc, f->kids[i]->name), fields_write(doc, f->kids[i]));
	return v;
}

/* ---------------------------------------------------------------------------------------------------------- people */

static void add_readable(struct buf *path, const char *name)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL;
	bool first = true;

	if (str_starts(name, "f:")) {
		buf_printf(path, ".%s", name + 2);
	} else if (str_starts(name, "k:")) {
		doc = obj_parse(name + 2);
		buf_add_char(path, '[');
		OBJ_EACH (key, val, doc ? yyjson_mut_doc_get_root(doc) : NULL) {
			buf_printf(path, "%s%s=", first ? "" : ",", yyjson_mut_get_str(key));
			obj_add_text(path, val);
			first = false;
		}
		buf_add_char(path, ']');
	} else {
		buf_printf(path, "[=%s]", str_starts(name, "v:") ? name + 2 : name);
	}
}

static void each(const struct fields *f, struct buf *path, void (*found)(void *arg, const char *path), void *arg)
{
	if (f->member)
		found(arg, buf_text(path));
	for (size_t i = 0; i < f->n; i++) {
		_cleanup_buf_ struct buf deeper = BUF(64u << 10);

		buf_add_str(&deeper, buf_text(path));
		add_readable(&deeper, f->kids[i]->name);
		each(f->kids[i], &deeper, found, arg);
	}
}

void fields_each(const struct fields *f, void (*found)(void *arg, const char *path), void *arg)
{
	_cleanup_buf_ struct buf path = BUF(64u << 10);

	if (f)
		each(f, &path, found, arg);
}
