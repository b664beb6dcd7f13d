/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * RFC 6902 as the real server does it: indexes may be negative (from the end), "-" is the place behind the last, and
 * whatever goes wrong while applying is one and the same answer.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lite/obj.h"
#include "lite/patches.h"

#define TOKEN_MAX 4096           /* bytes of one part of a path */
#define COPIED_MAX (3u << 20)    /* bytes that "copy" may add */

/* The last part of a path and the container it is in. */
struct place {
	yyjson_mut_val *in; /* NULL: the whole document */
	char name[TOKEN_MAX];
	size_t index; /* in an array */
	bool append;
	yyjson_mut_val *value; /* what is there, NULL = nothing */
};

/* Takes one part, unescaped, from behind its '/'. */
static int take_part(const char **path, char name[TOKEN_MAX])
{
	size_t n = 0;

	for (; **path && **path != '/'; (*path)++) {
		char c = **path;

		if (c == '~' && ((*path)[1] == '0' || (*path)[1] == '1'))
			c = *++(*path) == '0' ? '~' : '/';
		if (n + 1 >= TOKEN_MAX)
			return -EINVAL;
		name[n++] = c;
	}
	name[n] = '\0';
	return 0;
}

static int find_in_array(struct place *p)
{
	int64_t size = (int64_t)yyjson_mut_arr_size(p->in), i;

	p->append = str_eq(p->name, "-");
	if (p->append) {
		p->index = (size_t)size;
		return 0;
	}
	if (str_to_i64(p->name, -size, size, &i) < 0)
		return -EINVAL;
	p->index = (size_t)(i < 0 ? i + size : i);
	p->value = yyjson_mut_arr_get(p->in, p->index);
	return 0;
}

static int find(yyjson_mut_doc *doc, const char *path, struct place *ret)
{
	struct place p = { .value = yyjson_mut_doc_get_root(doc) };

	if (*path && *path != '/')
		return -EINVAL;
	while (*path) {
		path++;
		p.in = p.value;
		p.value = NULL;
		p.append = false;
		if (take_part(&path, p.name) < 0)
			return -EINVAL;
		if (yyjson_mut_is_obj(p.in))
			p.value = obj_get(p.in, p.name);
		else if (!yyjson_mut_is_arr(p.in) || find_in_array(&p) < 0)
			return -EINVAL;
	}
	*ret = p;
	return 0;
}

static void put(yyjson_mut_doc *doc, const struct place *p, yyjson_mut_val *value, bool replace)
{
	if (!p->in)
		yyjson_mut_doc_set_root(doc, value);
	else if (yyjson_mut_is_obj(p->in))
		obj_set(doc, p->in, p->name, value);
	else if (replace)
		yyjson_mut_arr_replace(p->in, p->index, value);
	else
		yyjson_mut_arr_insert(p->in, value, p->index);
}

static void take_away(const struct place *p)
{
	if (yyjson_mut_is_obj(p->in))
		obj_drop(p->in, p->name);
	else
		yyjson_mut_arr_remove(p->in, p->index);
}

static bool is_prefix(const char *from, const char *path)
{
	size_t len = strlen(from);

	return strncmp(from, path, len) == 0 && path[len] == '/';
}

/* One operation; -EINVAL when it does not apply. */
static int apply(yyjson_mut_doc *doc, yyjson_val *op, size_t *copied)
{
	const char *name = yyjson_get_str(yyjson_obj_get(op, "op")), *path = yyjson_get_str(yyjson_obj_get(op, "path"));
	const char *from = yyjson_get_str(yyjson_obj_get(op, "from"));
	yyjson_val *given = yyjson_obj_get(op, "value");
	yyjson_mut_val *value = given ? yyjson_val_mut_copy(doc, given) : NULL;
	struct place to = { 0 }, src = { 0 };
	bool known = str_eq(name, "add") || str_eq(name, "replace") || str_eq(name, "test") || str_eq(name, "remove");

	if (!name || !path)
		return -EINVAL;
	if (str_eq(name, "move") || str_eq(name, "copy")) {
		if (!from || find(doc, from, &src) < 0 || !src.value || (str_eq(name, "move") && is_prefix(from, path)))
			return -EINVAL;
		value = obj_copy(doc, src.value);
		if (str_eq(name, "move") && src.in) {
			take_away(&src);
		} else {
			_cleanup_free_ char *text = obj_text(value, NULL);

			*copied += strlen(text);
			if (*copied > COPIED_MAX)
				return -EINVAL;
		}
		name = "add";
		known = true;
	}
	if (!known || find(doc, path, &to) < 0)
		return -EINVAL;
	if (str_eq(name, "test")) {
		if (!value || yyjson_mut_is_null(value))
			return obj_is_set(to.value) ? -EINVAL : 0;
		return obj_equal(to.value, value) ? 0 : -EINVAL;
	}
	if (str_eq(name, "remove")) {
		if (!to.value || !to.in)
			return -EINVAL;
		take_away(&to);
		return 0;
	}
	if (!value || (str_eq(name, "replace") && !to.value))
		return -EINVAL;
	put(doc, &to, value, str_eq(name, "replace"));
	return 0;
}

int patch_json(yyjson_mut_doc *doc, yyjson_val *patch, struct status *st)
{
	size_t i, max, copied = 0;
	yyjson_val *op;

	if (!yyjson_is_arr(patch))
		return status_bad_request(
		        st,
		        "error decoding patch: json: cannot unmarshal %s into Go value of type []handlers.jsonPatchOp",
		        yyjson_get_type_desc(patch));
	if (yyjson_arr_size(patch) > PATCH_OPERATIONS_MAX)
		return status_fail(
		        st, 413, "RequestEntityTooLarge", NULL,
		        "Request entity too large: The allowed maximum operations in a JSON patch is %d, got %zu",
		        PATCH_OPERATIONS_MAX, yyjson_arr_size(patch));
	yyjson_arr_foreach(patch, i, max, op)
	{
		if (apply(doc, op, &copied) < 0)
			return status_patch_rejected(st);
	}
	/* A document that is no object any more cannot become one of ours. */
	return yyjson_mut_is_obj(yyjson_mut_doc_get_root(doc)) ? 0 : status_patch_rejected(st);
}
