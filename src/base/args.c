/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/args.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define HELP_COLUMN 34
#define HELP_WIDTH 100

static int set_choice(const struct arg *a, const char *text, const char *where, struct err *err)
{
	_cleanup_buf_ struct buf list = BUF(ARG_TEXT_MAX);

	for (int i = 0; a->choices[i]; i++) {
		if (str_eq(a->choices[i], text)) {
			*(int *)a->value = i;
			return 0;
		}
		buf_printf(&list, "%s%s", i ? ", " : "", a->choices[i]);
	}
	return err_set(err, -EINVAL, "%s: '%.40s' is none of: %s", where, text, buf_text(&list));
}

static int set_int(const struct arg *a, const char *text, const char *where, struct err *err)
{
	int64_t min = a->min, max = a->min || a->max ? a->max : INT64_MAX;
	int r = str_to_i64(text, min, max, a->value);

	if (r == -ERANGE)
		return err_set(err, r, "%s: %.40s is out of range, it must be %" PRId64 " to %" PRId64, where, text,
		               min, max);
	if (r < 0)
		return err_set(err, r, "%s: '%.40s' is no whole number", where, text);
	return 0;
}

static int set_duration(const struct arg *a, const char *text, const char *where, struct err *err)
{
	char low[TIME_TEXT_MAX], high[TIME_TEXT_MAX];
	usec_t v = 0;
	int r = duration_parse(text, &v, err);

	if (r < 0)
		return err_wrap(err, r, "%s", where);
	if ((a->min || a->max) && (v < a->min || v > a->max))
		return err_set(err, -ERANGE, "%s: %.40s is out of range, it must be %s to %s", where, text,
		               duration_format(a->min, low), duration_format(a->max, high));
	*(usec_t *)a->value = v;
	return 0;
}

static int set_bool(const struct arg *a, const char *text, const char *where, struct err *err)
{
	if (str_eq(text, "true"))
		*(bool *)a->value = true;
	else if (str_eq(text, "false"))
		*(bool *)a->value = false;
	else
		return err_set(err, -EINVAL, "%s: '%.40s' is neither true nor false", where, text);
	return 0;
}

static bool is_set(const struct arg *a)
{
	return a->set_by_flag || a->set_by_config;
}

static int check_text(const char *text, const char *where, struct err *err)
{
	size_t len = strlen(text);

	if (len > ARG_TEXT_MAX)
		return err_set(err, -E2BIG, "%s: the value has %zu bytes, at most %d are allowed", where, len,
		               ARG_TEXT_MAX);
	if (str_has_control(text, len) || !str_is_utf8(text, len))
		return err_set(err, -EINVAL, "%s: the value has control characters or is no UTF-8", where);
	return 0;
}

/* What is set takes the place of the default; what is set again is added. */

static void drop_items(struct arg *a)
{
	struct arg_list *list = a->value;
	struct arg_map *map = a->value;

	if (a->type == ARG_LIST) {
		for (size_t i = 0; i < list->n; i++)
			free((char *)(uintptr_t)list->items[i]);
		free(list->items);
		*list = (struct arg_list) { 0 };
	} else {
		for (size_t i = 0; i < map->n; i++) {
			free((char *)(uintptr_t)map->items[i].key);
			free((char *)(uintptr_t)map->items[i].value);
		}
		free(map->items);
		*map = (struct arg_map) { 0 };
	}
}

static int add_to_list(struct arg_list *list, const char *text, const char *where, struct err *err)
{
	if (list->n == ARG_ITEMS_MAX)
		return err_set(err, -E2BIG, "%s: more than %d elements", where, ARG_ITEMS_MAX);
	list->items = mem_realloc_n(list->items, list->n + 1, sizeof(*list->items));
	list->items[list->n++] = mem_strdup(text);
	return 0;
}

static int add_to_map(struct arg_map *map, const char *key, const char *text, const char *where, struct err *err)
{
	if (map->n == ARG_ITEMS_MAX)
		return err_set(err, -E2BIG, "%s: more than %d elements", where, ARG_ITEMS_MAX);
	for (size_t i = 0; i < map->n; i++)
		if (str_eq(map->items[i].key, key))
			return err_set(err, -EINVAL, "%s: '%.40s' is there twice", where, key);
	map->items = mem_realloc_n(map->items, map->n + 1, sizeof(*map->items));
	map->items[map->n++] = (struct arg_pair) { mem_strdup(key), mem_strdup(text) };
	return 0;
}

struct items { /* while a text is taken apart */
	struct arg *a;
	const char *where;
	struct err *err;
	int r;
};

static void add_item(void *arg, const char *s, size_t len)
{
	struct items *i = arg;
	_cleanup_free_ char *item = mem_strndup(s, len);
	char *value;

	if (i->r < 0)
		return;
	if (i->a->type == ARG_LIST) {
		i->r = add_to_list(i->a->value, item, i->where, i->err);
		return;
	}
	value = strchr(item, '=');
	if (!value || value == item) {
		i->r = err_set(i->err, -EINVAL, "%s: '%.40s' is no KEY=VALUE", i->where, item);
		return;
	}
	*value++ = 0;
	i->r = add_to_map(i->a->value, item, value, i->where, i->err);
}

static void begin_items(struct arg *a)
{
	if (is_set(a))
		return;
	if (a->type == ARG_LIST)
		*(struct arg_list *)a->value = (struct arg_list) { 0 };
	else
		*(struct arg_map *)a->value = (struct arg_map) { 0 };
}

static int set_items(struct arg *a, const char *text, const char *where, struct err *err)
{
	struct items items = { a, where, err, 0 };

	begin_items(a);
	str_each(text, ',', add_item, &items);
	if (items.r < 0 && !is_set(a))
		drop_items(a);
	return items.r;
}

static int set_value(struct arg *a, const char *text, const char *where, struct err *err)
{
	int r = check_text(text, where, err);

	if (r < 0)
		return r;
	switch (a->type) {
	case ARG_BOOL: return set_bool(a, text, where, err);
	case ARG_INT: return set_int(a, text, where, err);
	case ARG_DURATION: return set_duration(a, text, where, err);
	case ARG_CHOICE: return set_choice(a, text, where, err);
	case ARG_STRING:
		if (is_set(a)) /* the default is borrowed, what we set is owned */
			free(*(char **)a->value);
		*(char **)a->value = mem_strdup(text);
		return 0;
	case ARG_LIST:
	case ARG_MAP: return set_items(a, text, where, err);
	}
	return -EINVAL;
}

static struct arg *find_flag(struct arg *args, size_t n, const char *name, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (args[i].flag && strlen(args[i].flag) == len && memcmp(args[i].flag, name, len) == 0)
			return &args[i];
	return NULL;
}

int args_parse(struct arg *args, size_t n, int argc, char **argv, char ***ret_rest, int *ret_n_rest, struct err *err)
{
	int n_rest = 0, i;

	for (i = 1; i < argc; i++) {
		const char *text = argv[i], *name, *value;
		char where[128];
		struct arg *a;
		size_t len;
		int r;

		if (str_eq(text, "--")) {
			i++;
			break;
		}
		if (text[0] != '-' || !text[1]) {
			argv[1 + n_rest++] = argv[i];
			continue;
		}
		name = text + (text[1] == '-' ? 2 : 1);
		value = strchr(name, '=');
		len = value ? (size_t)(value - name) : strlen(name);
		a = find_flag(args, n, name, len);
		if (!a || text[1] != '-')
			return err_set(err, -EINVAL, "unknown flag %.60s (--help lists them all)", text);
		snprintf(where, sizeof(where), "--%s", a->flag);
		if (value)
			value++;
		else if (a->type == ARG_BOOL)
			value = "true";
		else if (++i < argc)
			value = argv[i];
		else
			return err_set(err, -EINVAL, "%s needs a value", where);
		if ((a->type == ARG_LIST || a->type == ARG_MAP) && a->set_by_config && !a->set_by_flag)
			drop_items(a);
		r = set_value(a, value, where, err);
		if (r < 0)
			return r;
		a->set_by_flag = true;
	}
	for (; i < argc; i++)
		argv[1 + n_rest++] = argv[i];
	*ret_rest = argv + 1;
	*ret_n_rest = n_rest;
	return 0;
}

const struct arg *args_find_config(const struct arg *args, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (args[i].config && str_eq(args[i].config, key))
			return &args[i];
	return NULL;
}

bool args_has_section(const struct arg *args, size_t n, const char *key)
{
	size_t len = strlen(key);

	for (size_t i = 0; i < n; i++)
		if (args[i].config && str_starts(args[i].config, key) && args[i].config[len] == '.')
			return true;
	return false;
}

int args_set_config(struct arg *args, size_t n, const char *key, const char *text, const char *where, struct err *err)
{
	struct arg *a = (struct arg *)(uintptr_t)args_find_config(args, n, key);
	int r;

	if (!a)
		return err_set(err, -ENOENT, "%s: there is no such setting", where);
	if (a->set_by_flag)
		return 0;
	r = set_value(a, text, where, err);
	if (r == 0)
		a->set_by_config = true;
	return r;
}

int args_add_config(struct arg *args, size_t n, const char *key, const char *entry, const char *text, const char *where,
                    struct err *err)
{
	struct arg *a = (struct arg *)(uintptr_t)args_find_config(args, n, key);
	int r;

	if (!a)
		return err_set(err, -ENOENT, "%s: there is no such setting", where);
	assert(a->type == (entry ? ARG_MAP : ARG_LIST));
	if (a->set_by_flag)
		return 0;
	r = check_text(text, where, err);
	if (r == 0 && entry)
		r = check_text(entry, where, err);
	if (r < 0)
		return r;
	begin_items(a);
	a->set_by_config = true;
	if (entry)
		return add_to_map(a->value, entry, text, where, err);
	return add_to_list(a->value, text, where, err);
}

static const char *unit_of(const struct arg *a)
{
	static const char *const units[] = {
		[ARG_BOOL] = "",   [ARG_INT] = "N",     [ARG_STRING] = "TEXT",      [ARG_DURATION] = "DURATION",
		[ARG_CHOICE] = "", [ARG_LIST] = "LIST", [ARG_MAP] = "KEY=VALUE,..."
	};

	return a->unit ? a->unit : units[a->type];
}

static void add_default_items(const struct arg *a, struct buf *out)
{
	const struct arg_list *list = a->value;
	const struct arg_map *map = a->value;
	size_t n = a->type == ARG_LIST ? list->n : map->n;

	for (size_t i = 0; i < n; i++) {
		buf_add_str(out, i ? "," : " (default: ");
		if (a->type == ARG_LIST)
			buf_add_str(out, list->items[i]);
		else
			buf_printf(out, "%s=%s", map->items[i].key, map->items[i].value);
	}
	if (n)
		buf_add_char(out, ')');
}

static void add_default(const struct arg *a, struct buf *out)
{
	char text[TIME_TEXT_MAX];

	if (is_set(a)) /* no longer the default */
		return;
	switch (a->type) {
	case ARG_BOOL: buf_add_str(out, *(bool *)a->value ? " (default: true)" : ""); break;
	case ARG_INT: buf_printf(out, " (default: %" PRId64 ")", *(int64_t *)a->value); break;
	case ARG_DURATION: buf_printf(out, " (default: %s)", duration_format(*(usec_t *)a->value, text)); break;
	case ARG_CHOICE: buf_printf(out, " (default: %s)", a->choices[*(int *)a->value]); break;
	case ARG_STRING:
		if (!str_empty(*(char **)a->value))
			buf_printf(out, " (default: %s)", *(char **)a->value);
		break;
	case ARG_LIST:
	case ARG_MAP: add_default_items(a, out); break;
	}
}

/* Adds text in a column: words wrap, every line starts at HELP_COLUMN. */
static void add_wrapped(struct buf *out, const char *text)
{
	size_t column = HELP_COLUMN;

	while (*text) {
		size_t blanks = strspn(text, " "), len = strcspn(text + blanks, " ");

		if (column + blanks + len > HELP_WIDTH && column > HELP_COLUMN) {
			buf_printf(out, "\n%*s", HELP_COLUMN, "");
			column = HELP_COLUMN;
			text += blanks;
			blanks = 0;
		}
		buf_add(out, text, blanks + len);
		text += blanks + len;
		column += blanks + len;
	}
	buf_add_char(out, '\n');
}

void args_help(const struct arg *args, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		const struct arg *a = &args[i];
		_cleanup_buf_ struct buf left = BUF(ARG_TEXT_MAX), right = BUF(4 * ARG_TEXT_MAX);

		if (a->flag)
			buf_printf(&left, "  --%s", a->flag);
		else
			buf_printf(&left, "  (config) %s", a->config);
		if (a->type == ARG_CHOICE)
			for (int c = 0; a->choices[c]; c++)
				buf_printf(&left, "%c%s", c ? '|' : ' ', a->choices[c]);
		else if (*unit_of(a))
			buf_printf(&left, " %s", unit_of(a));
		buf_add_str(&right, a->help);
		add_default(a, &right);
		if (a->flag && a->config)
			buf_printf(&right, " [config: %s]", a->config);
		buf_add_str(out, buf_text(&left));
		if (left.len + 2 > HELP_COLUMN)
			buf_printf(out, "\n%*s", HELP_COLUMN, "");
		else
			buf_printf(out, "%*s", (int)(HELP_COLUMN - left.len), "");
		add_wrapped(out, buf_text(&right));
	}
}

void args_done(struct arg *args, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!is_set(&args[i]))
			continue;
		if (args[i].type == ARG_STRING) {
			free(*(char **)args[i].value);
			*(char **)args[i].value = NULL;
		} else if (args[i].type == ARG_LIST || args[i].type == ARG_MAP)
			drop_items(&args[i]);
		args[i].set_by_flag = args[i].set_by_config = false;
	}
}
