/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/config.h"

#include <errno.h>
#include <string.h>

#include "base/test.h"

struct settings {
	char *name;
	int64_t pool;
	bool elect;
	usec_t wait;
	struct arg_list namespaces;
	struct arg_map types;
	struct arg args[6];
};

static void settings_init(struct settings *s)
{
	*s = (struct settings) { .name = (char *)"default", .pool = 3, .wait = USEC_SEC };
	memcpy(s->args,
	       (struct arg[6]) {
	               { .flag = "name",
	                 .config = "scheduler.name",
	                 .type = ARG_STRING,
	                 .value = &s->name,
	                 .help = "" },
	               { .flag = "pool", .config = "slurm.poolSize", .type = ARG_INT, .value = &s->pool, .help = "" },
	               { .flag = "elect", .config = "elect", .type = ARG_BOOL, .value = &s->elect, .help = "" },
	               { .flag = "wait",
	                 .config = "scheduler.a.wait",
	                 .type = ARG_DURATION,
	                 .value = &s->wait,
	                 .help = "" },
	               { .flag = "namespaces",
	                 .config = "scheduler.namespaces",
	                 .type = ARG_LIST,
	                 .value = &s->namespaces,
	                 .help = "" },
	               { .config = "scheduler.gpuTypes", .type = ARG_MAP, .value = &s->types, .help = "" },
	       },
	       sizeof(s->args));
}

static int parse(struct settings *s, const char *yaml, struct err *err)
{
	return config_parse(s->args, ARRAY_LEN(s->args), yaml, strlen(yaml), "sunk.yaml", err);
}

static void settings_done(struct settings *s)
{
	args_done(s->args, ARRAY_LEN(s->args));
}

static void test_nested_maps_are_the_dots_in_the_keys(void **state)
{
	struct settings s;
	struct err err = { 0 };

	(void)state;
	settings_init(&s);
	assert_int_equal(parse(&s,
	                       "scheduler:\n"
	                       "  name: 'x: y'\n"
	                       "  a: {wait: 2m}\n"
	                       "  namespaces: [a, 'b,c', 7]\n"
	                       "  gpuTypes:\n"
	                       "    H100_SXM: h100\n"
	                       "    a.b: c\n"
	                       "slurm:\n"
	                       "  poolSize: 5\n"
	                       "elect: true\n",
	                       &err),
	                 0);
	assert_string_equal(s.name, "x: y");
	assert_int_equal(s.pool, 5);
	assert_true(s.elect);
	assert_int_equal(s.wait, 2 * USEC_MINUTE);
	assert_int_equal(s.namespaces.n, 3);
	assert_string_equal(s.namespaces.items[1], "b,c");
	assert_string_equal(s.namespaces.items[2], "7");
	assert_int_equal(s.types.n, 2);
	assert_string_equal(s.types.items[0].key, "H100_SXM");
	assert_string_equal(s.types.items[1].key, "a.b");
	assert_string_equal(s.types.items[1].value, "c");
	settings_done(&s);
}

static void test_lists_and_maps_may_be_one_text(void **state)
{
	struct settings s;
	struct err err = { 0 };

	(void)state;
	settings_init(&s);
	assert_int_equal(parse(&s, "scheduler:\n  namespaces: a, b\n  gpuTypes: A=x\n", &err), 0);
	assert_int_equal(s.namespaces.n, 2);
	assert_string_equal(s.namespaces.items[1], "b");
	assert_string_equal(s.types.items[0].value, "x");
	settings_done(&s);
}

static void test_what_is_empty_is_not_said(void **state)
{
	struct settings s;
	struct err err = { 0 };

	(void)state;
	settings_init(&s);
	assert_int_equal(parse(&s, "", &err), 0);
	assert_int_equal(parse(&s, "scheduler:\nelect:\nslurm: {poolSize: }\n", &err), 0);
	assert_int_equal(parse(&s, "scheduler: {namespaces: [], gpuTypes: {}}\n", &err), 0);
	assert_string_equal(s.name, "default");
	assert_int_equal(s.pool, 3);
	assert_int_equal(s.namespaces.n, 0);
	settings_done(&s);
}

static void test_what_is_wrong_is_named_with_its_line(void **state)
{
	static const struct {
		const char *yaml, *error;
	} cases[] = {
		{ "elect: true\nscheduler:\n  name: x\n  nam: y\n",
		  "sunk.yaml:4: scheduler.nam: there is no such setting" },
		{ "# c\nnope: 1\n", "sunk.yaml:2: nope: there is no such setting" },
		{ "scheduler:\n  name: {x: 1}\n", "sunk.yaml:2: scheduler.name: expected a value, got a map" },
		{ "scheduler: x\n", "sunk.yaml:1: scheduler: expected a map, got a value" },
		{ "scheduler:\n  namespaces:\n  - a\n  - {b: c}\n",
		  "sunk.yaml:4: scheduler.namespaces.1: expected a value, got a map" },
		{ "scheduler:\n  namespaces: {b: c}\n",
		  "sunk.yaml:2: scheduler.namespaces: expected a list, got a map" },
		{ "scheduler:\n  gpuTypes: [b]\n", "sunk.yaml:2: scheduler.gpuTypes: expected a map, got a list" },
		{ "scheduler:\n  gpuTypes:\n    A: x\n    B: [y]\n",
		  "sunk.yaml:4: scheduler.gpuTypes.B: expected a value, got a list" },
		{ "slurm:\n\n  poolSize: many\n", "sunk.yaml:3: slurm.poolSize: 'many' is no whole number" },
		{ "slurm: {poolSize: 1.5}\n",
		  "sunk.yaml:1: slurm.poolSize: a number with a fraction; put it in quotes if it is meant as text" },
		{ "[a]\n", "sunk.yaml: expected a map of settings, got a list" },
		{ "a: b: c\n", "sunk.yaml:1:5: mapping values are not allowed in this context" },
		{ "scheduler:\n  name: x\n  name: y\n", "sunk.yaml:3:3: the key 'name' is there twice" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct settings s;
		struct err err = { 0 };

		settings_init(&s);
		assert_true(parse(&s, cases[i].yaml, &err) < 0);
		assert_string_equal(err.text, cases[i].error);
		settings_done(&s);
	}
}

static void test_flags_win(void **state)
{
	struct settings s;
	struct err err = { 0 };
	char *argv[] = { (char *)"x", (char *)"--name=flag", (char *)"--namespaces=n", NULL }, **rest;
	int n_rest;

	(void)state;
	settings_init(&s);
	assert_int_equal(args_parse(s.args, ARRAY_LEN(s.args), 3, argv, &rest, &n_rest, &err), 0);
	assert_int_equal(parse(&s, "scheduler: {name: file, namespaces: [a, b]}\n", &err), 0);
	assert_string_equal(s.name, "flag");
	assert_int_equal(s.namespaces.n, 1);
	settings_done(&s);
}

static void test_a_file_that_is_not_there_is_named(void **state)
{
	struct err err = { 0 };

	(void)state;
	assert_int_equal(config_read(NULL, 0, "/nonexistent/sunk.yaml", &err), -ENOENT);
	assert_string_equal(err.text, "/nonexistent/sunk.yaml: No such file or directory");
}

TEST_MAIN(TEST(nested_maps_are_the_dots_in_the_keys), TEST(lists_and_maps_may_be_one_text),
          TEST(what_is_empty_is_not_said), TEST(what_is_wrong_is_named_with_its_line), TEST(flags_win),
          TEST(a_file_that_is_not_there_is_named))
