/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Any bytes as a config file: refused with a place and a reason, or settings within their limits. The first part of the input, up
 * to a NUL, is also given as the value of each flag.
 */
#include <assert.h>
#include <string.h>

#include "base/str.h"
#include "daemon/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const colours[] = { "red", "green", NULL };

struct settings {
	char *name;
	int64_t size;
	bool on;
	usec_t wait;
	int colour;
	struct arg_list names;
	struct arg_map types;
};

#define ROWS 7

static void make_rows(struct settings *s, struct arg rows[ROWS])
{
	const struct arg table[ROWS] = {
		{ .flag = "a", .config = "part.name", .type = ARG_STRING, .value = &s->name, .help = "" },
		{ .flag = "b",
		  .config = "part.size",
		  .type = ARG_INT,
		  .value = &s->size,
		  .min = 1,
		  .max = 9,
		  .help = "" },
		{ .flag = "c", .config = "on", .type = ARG_BOOL, .value = &s->on, .help = "" },
		{ .flag = "d", .config = "part.deep.wait", .type = ARG_DURATION, .value = &s->wait, .help = "" },
		{ .flag = "e",
		  .config = "colour",
		  .type = ARG_CHOICE,
		  .value = &s->colour,
		  .choices = colours,
		  .help = "" },
		{ .flag = "f", .config = "names", .type = ARG_LIST, .value = &s->names, .help = "" },
		{ .flag = "g", .config = "part.types", .type = ARG_MAP, .value = &s->types, .help = "" },
	};

	*s = (struct settings) { .name = (char *)"", .size = 1 };
	memcpy(rows, table, sizeof(table));
}

static void check(const struct settings *s)
{
	assert(s->size >= 1 && s->size <= 9 && s->wait >= 0 && s->colour >= 0 && s->colour <= 1);
	assert(strlen(s->name) <= ARG_TEXT_MAX && !str_has_control(s->name, strlen(s->name)));
	assert(s->names.n <= ARG_ITEMS_MAX && s->types.n <= ARG_ITEMS_MAX);
	for (size_t i = 0; i < s->names.n; i++)
		assert(s->names.items[i]);
	for (size_t i = 0; i < s->types.n; i++)
		assert(s->types.items[i].key && s->types.items[i].value);
}

static void try_flag(const char *value, char flag)
{
	struct settings s;
	struct arg rows[ROWS];
	char *text = str_printf("--%c=%s", flag, value), *argv[] = { (char *)"x", text, NULL }, **rest;
	struct err err = { 0 };
	int n_rest;

	make_rows(&s, rows);
	if (args_parse(rows, ROWS, 2, argv, &rest, &n_rest, &err) < 0)
		assert(err.code < 0 && str_starts(err.text, "--"));
	check(&s);
	args_done(rows, ROWS);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = mem_strndup((const char *)data, size);
	struct settings s;
	struct arg rows[ROWS];
	struct err err = { 0 };

	make_rows(&s, rows);
	if (config_parse(rows, ROWS, (const char *)data, size, "f.yaml", &err) < 0)
		assert(err.code < 0 && str_starts(err.text, "f.yaml:"));
	check(&s);
	args_done(rows, ROWS);
	for (char flag = 'a'; flag < 'a' + ROWS; flag++)
		try_flag(text, flag);
	return 0;
}
