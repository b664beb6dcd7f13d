/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/str.h"
#include "json/json.h"

#define DEPTH_MAX 8
#define KEY_MAX 256
#define NUMBER_MAX 32

struct reader {
	struct arg *args;
	size_t n;
	const char *text, *where;
	size_t len;
	const char *path[DEPTH_MAX + 1]; /* keys down to where we are */
	size_t depth;
	struct err *err;
};

/* "sunk.yaml:3: scheduler.name" for the place where we are. */
static const char *place(const struct reader *r, char text[KEY_MAX])
{
	size_t line = yaml_line(r->text, r->len, r->path, r->depth);
	int n = snprintf(text, KEY_MAX, "%.120s:%zu: ", r->where, line);

	for (size_t i = 0; i < r->depth && n < KEY_MAX; i++)
		n += snprintf(text + n, (size_t)(KEY_MAX - n), "%s%.60s", i ? "." : "", r->path[i]);
	return text;
}

static const char *kind_name(yyjson_val *v)
{
	return yyjson_is_obj(v) ? "a map" : yyjson_is_arr(v) ? "a list" : "a value";
}

static int refuse_kind(const struct reader *r, const char *wanted, yyjson_val *v)
{
	char at[KEY_MAX];

	return err_set(r->err, -EINVAL, "%s: expected %s, got %s", place(r, at), wanted, kind_name(v));
}

/* A scalar as the text that the settings read. */
static int scalar_text(const struct reader *r, yyjson_val *v, char number[NUMBER_MAX], const char **ret)
{
	char at[KEY_MAX];

	if (yyjson_is_str(v))
		*ret = json_str(v);
	else if (yyjson_is_bool(v))
		*ret = yyjson_get_bool(v) ? "true" : "false";
	else if (yyjson_is_uint(v)) {
		snprintf(number, NUMBER_MAX, "%" PRIu64, yyjson_get_uint(v));
		*ret = number;
	} else if (yyjson_is_sint(v)) {
		snprintf(number, NUMBER_MAX, "%" PRId64, yyjson_get_sint(v));
		*ret = number;
	} else if (yyjson_is_real(v))
		return err_set(r->err, -EINVAL, "%s: a number with a fraction; put it in quotes if it is meant as text",
		               place(r, at));
	else
		return refuse_kind(r, "a value", v);
	return 0;
}

static int read_scalar(struct reader *r, const char *key, yyjson_val *v)
{
	char number[NUMBER_MAX], at[KEY_MAX];
	const char *text = NULL;
	int e = scalar_text(r, v, number, &text);

	return e < 0 ? e : args_set_config(r->args, r->n, key, text, place(r, at), r->err);
}

/* One element; the place where we are is its own. */
static int read_element(struct reader *r, const char *key, const char *entry, yyjson_val *v)
{
	char number[NUMBER_MAX], at[KEY_MAX];
	const char *text = NULL;
	int e = scalar_text(r, v, number, &text);

	return e < 0 ? e : args_add_config(r->args, r->n, key, entry, text, place(r, at), r->err);
}

static int read_list(struct reader *r, const char *key, yyjson_val *list)
{
	yyjson_arr_iter i;
	yyjson_val *v;
	char at[KEY_MAX], number[NUMBER_MAX];
	int e = 0;

	if (yyjson_arr_size(list) == 0)
		return args_set_config(r->args, r->n, key, "", place(r, at), r->err);
	yyjson_arr_iter_init(list, &i);
	while (e == 0 && (v = yyjson_arr_iter_next(&i))) {
		snprintf(number, sizeof(number), "%zu", i.idx - 1);
		r->path[r->depth++] = number;
		e = read_element(r, key, NULL, v);
		r->depth--;
	}
	return e;
}

static int read_map(struct reader *r, const char *key, yyjson_val *map)
{
	yyjson_obj_iter i;
	yyjson_val *k;
	char at[KEY_MAX];
	int e = 0;

	if (yyjson_obj_size(map) == 0)
		return args_set_config(r->args, r->n, key, "", place(r, at), r->err);
	yyjson_obj_iter_init(map, &i);
	while (e == 0 && (k = yyjson_obj_iter_next(&i))) {
		r->path[r->depth++] = yyjson_get_str(k);
		e = read_element(r, key, yyjson_get_str(k), yyjson_obj_iter_get_val(k));
		r->depth--;
	}
	return e;
}

static int read_setting(struct reader *r, const struct arg *a, yyjson_val *v)
{
	if (yyjson_is_null(v)) /* "name:" and nothing: not said */
		return 0;
	if (a->type == ARG_LIST && yyjson_is_arr(v))
		return read_list(r, a->config, v);
	if (a->type == ARG_MAP && yyjson_is_obj(v))
		return read_map(r, a->config, v);
	if (yyjson_is_ctn(v))
		return refuse_kind(r, a->type == ARG_LIST ? "a list" : a->type == ARG_MAP ? "a map" : "a value", v);
	return read_scalar(r, a->config, v);
}

static int read_section(struct reader *r, const char *prefix, yyjson_val *section);

static int read_key(struct reader *r, const char *key, yyjson_val *v)
{
	const struct arg *a = args_find_config(r->args, r->n, key);
	char at[KEY_MAX];

	if (a)
		return read_setting(r, a, v);
	if (!args_has_section(r->args, r->n, key))
		return err_set(r->err, -ENOENT, "%s: there is no such setting", place(r, at));
	if (yyjson_is_null(v))
		return 0;
	if (!yyjson_is_obj(v))
		return refuse_kind(r, "a map", v);
	return read_section(r, key, v); /* as deep as the keys of settings are, no deeper */
}

static int read_section(struct reader *r, const char *prefix, yyjson_val *section)
{
	yyjson_obj_iter i;
	yyjson_val *k;
	int e = 0;

	yyjson_obj_iter_init(section, &i);
	while (e == 0 && (k = yyjson_obj_iter_next(&i))) {
		const char *name = yyjson_get_str(k);
		_cleanup_free_ char *key = str_printf("%s%s%s", prefix, *prefix ? "." : "", name);

		if (r->depth == DEPTH_MAX)
			return err_set(r->err, -E2BIG, "%s: nested deeper than %d levels", r->where, DEPTH_MAX);
		r->path[r->depth++] = name;
		e = read_key(r, key, yyjson_obj_iter_get_val(k));
		r->depth--;
	}
	return e;
}

int config_parse(struct arg *args, size_t n, const char *text, size_t len, const char *where, struct err *err)
{
	struct reader r = { .args = args, .n = n, .text = text, .len = len, .where = where, .err = err };
	yyjson_doc *doc;
	yyjson_val *root;
	int e = yaml_parse(text, len, where, &doc, err);

	if (e < 0)
		return e;
	root = yyjson_doc_get_root(doc);
	if (yyjson_is_obj(root))
		e = read_section(&r, "", root);
	else if (!yyjson_is_null(root))
		e = err_set(err, -EINVAL, "%s: expected a map of settings, got %s", where, kind_name(root));
	yyjson_doc_free(doc);
	return e;
}

int config_read(struct arg *args, size_t n, const char *path, struct err *err)
{
	_cleanup_buf_ struct buf text = BUF(CONFIG_BYTES_MAX);
	int r = buf_read_file(&text, path);

	if (r == -EFBIG)
		return err_set(err, r, "%s: larger than %u KiB", path, CONFIG_BYTES_MAX >> 10);
	if (r < 0)
		return err_errno(err, r, "%s", path);
	return config_parse(args, n, buf_text(&text), text.len, path, err);
}
