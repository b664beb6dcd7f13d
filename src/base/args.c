/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/args.h"

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

static int set_value(struct arg *a, const char *text, const char *where, struct err *err)
{
	size_t len = strlen(text);

	if (len > ARG_TEXT_MAX)
		return err_set(err, -E2BIG, "%s: the value has %zu bytes, at most %d are allowed", where, len,
		               ARG_TEXT_MAX);
	if (str_has_control(text, len) || !str_is_utf8(text, len))
		return err_set(err, -EINVAL, "%s: the value has control characters or is no UTF-8", where);
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

int args_set_config(struct arg *args, size_t n, const char *key, const char *text, const char *where, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		int r;

		if (!str_eq(args[i].config, key))
			continue;
		if (args[i].set_by_flag)
			return 0;
		r = set_value(&args[i], text, where, err);
		if (r == 0)
			args[i].set_by_config = true;
		return r;
	}
	return err_set(err, -ENOENT, "%s: there is no such setting", where);
}

static const char *unit_of(const struct arg *a)
{
	static const char *const units[] = {
		[ARG_BOOL] = "", [ARG_INT] = "N", [ARG_STRING] = "TEXT", [ARG_DURATION] = "DURATION", [ARG_CHOICE] = ""
	};

	return a->unit ? a->unit : units[a->type];
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
	for (size_t i = 0; i < n; i++)
		if (args[i].type == ARG_STRING && is_set(&args[i])) {
			free(*(char **)args[i].value);
			*(char **)args[i].value = NULL;
			args[i].set_by_flag = args[i].set_by_config = false;
		}
}
