/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/args.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "base/test.h"

#define HELP_MAX 20000

static const char *const formats[] = { "text", "json", NULL };

/* One table of each type, made new for each test. */
struct settings {
	bool verbose, wait;
	int64_t threads, port;
	char *name;
	usec_t timeout, poll;
	int format;
	struct arg args[8];
};

static void settings_init(struct settings *s)
{
	*s = (struct settings) {
		.wait = true, .threads = 2, .port = 8443, .name = (char *)"sunk", .timeout = 30 * USEC_SEC, .poll = 0
	};
	memcpy(s->args,
	       (struct arg[8]) {
	               { .flag = "verbose", .type = ARG_BOOL, .value = &s->verbose, .help = "Says more." },
	               { .flag = "wait", .config = "run.wait", .type = ARG_BOOL, .value = &s->wait, .help = "Waits." },
	               { .flag = "threads",
	                 .config = "run.threads",
	                 .type = ARG_INT,
	                 .value = &s->threads,
	                 .min = 1,
	                 .max = 16,
	                 .help = "How many." },
	               { .flag = "port", .type = ARG_INT, .value = &s->port, .help = "Where." },
	               { .flag = "scheduler-name",
	                 .config = "scheduler.name",
	                 .type = ARG_STRING,
	                 .value = &s->name,
	                 .unit = "NAME",
	                 .help = "The name that Pods ask for." },
	               { .flag = "timeout",
	                 .config = "run.timeout",
	                 .type = ARG_DURATION,
	                 .value = &s->timeout,
	                 .min = USEC_SEC,
	                 .max = USEC_HOUR,
	                 .help = "How long." },
	               { .config = "run.poll", .type = ARG_DURATION, .value = &s->poll, .help = "How often." },
	               { .flag = "log-format",
	                 .config = "log.format",
	                 .type = ARG_CHOICE,
	                 .value = &s->format,
	                 .choices = formats,
	                 .help = "For people or for machines." },
	       },
	       sizeof(s->args));
}

static void settings_done(struct settings *s)
{
	args_done(s->args, ARRAY_LEN(s->args));
}

static int parse(struct settings *s, char **argv, char ***ret_rest, int *ret_n_rest, struct err *err)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	return args_parse(s->args, ARRAY_LEN(s->args), argc, argv, ret_rest, ret_n_rest, err);
}

#define ARGV(...) ((char *[]) { (char *)"prog", __VA_ARGS__, NULL })
#define W(text) ((char *)(text))

static int config(struct settings *s, const char *key, const char *text, struct err *err)
{
	_cleanup_free_ char *where = str_printf("sunk.yaml: %s", key);

	return args_set_config(s->args, ARRAY_LEN(s->args), key, text, where, err);
}

static void test_each_type_is_read_in_both_forms(void **state)
{
	_cleanup_(settings_done) struct settings s;
	struct err err = { 0 };
	char **rest;
	int n_rest;

	(void)state;
	settings_init(&s);
	assert_int_equal(
	        parse(&s,
	              ARGV(W("--verbose"), W("--wait=false"), W("--threads"), W("4"), W("--port=99"),
	                   W("--scheduler-name=x=y"), W("--timeout"), W("1m30s"), W("--log-format"), W("json")),
	              &rest, &n_rest, &err),
	        0);
	assert_true(s.verbose);
	assert_false(s.wait);
	assert_true(s.threads == 4);
	assert_true(s.port == 99);
	assert_string_equal(s.name, "x=y");
	assert_true(s.timeout == 90 * USEC_SEC);
	assert_int_equal(s.format, 1);
	assert_int_equal(n_rest, 0);
}

static void test_without_flags_the_defaults_stay(void **state)
{
	_cleanup_(settings_done) struct settings s;
	struct err err = { 0 };
	char **rest, *argv[] = { W("prog"), NULL };
	int n_rest = -1;

	(void)state;
	settings_init(&s);
	assert_int_equal(parse(&s, argv, &rest, &n_rest, &err), 0);
	assert_true(s.wait && !s.verbose && s.threads == 2 && s.timeout == 30 * USEC_SEC && s.format == 0);
	assert_string_equal(s.name, "sunk");
	assert_int_equal(n_rest, 0);
}

static void test_what_is_no_flag_is_the_rest_in_order(void **state)
{
	_cleanup_(settings_done) struct settings s;
	struct err err = { 0 };
	char **rest;
	int n_rest = 0;

	(void)state;
	settings_init(&s);
	assert_int_equal(parse(&s,
	                       ARGV(W("one"), W("--threads"), W("3"), W("-"), W("--verbose"), W("two"), W("--"),
	                            W("--port"), W("--"), W("")),
	                       &rest, &n_rest, &err),
	                 0);
	assert_int_equal(n_rest, 6);
	assert_string_equal(rest[0], "one");
	assert_string_equal(rest[1], "-");
	assert_string_equal(rest[2], "two");
	assert_string_equal(rest[3], "--port");
	assert_string_equal(rest[4], "--");
	assert_string_equal(rest[5], "");
	assert_true(s.threads == 3 && s.verbose && s.port == 8443);
}

static void test_flags_win_over_the_file_and_the_file_over_defaults(void **state)
{
	_cleanup_(settings_done) struct settings s;
	struct err err = { 0 };
	char **rest;
	int n_rest;

	(void)state;
	settings_init(&s);
	assert_int_equal(parse(&s, ARGV(W("--threads=5"), W("--scheduler-name"), W("flag")), &rest, &n_rest, &err), 0);
	assert_int_equal(config(&s, "run.threads", "7", &err), 0);
	assert_int_equal(config(&s, "scheduler.name", "file", &err), 0);
	assert_int_equal(config(&s, "run.timeout", "5m", &err), 0);
	assert_int_equal(config(&s, "run.poll", "2s", &err), 0);
	assert_true(s.threads == 5);
	assert_string_equal(s.name, "flag");
	assert_true(s.timeout == 5 * USEC_MINUTE);
	assert_true(s.poll == 2 * USEC_SEC);
	assert_true(s.port == 8443);
}

static void test_flags_win_also_when_the_file_was_read_first(void **state)
{
	_cleanup_(settings_done) struct settings s;
	struct err err = { 0 };
	char **rest;
	int n_rest;

	(void)state;
	settings_init(&s);
	assert_int_equal(config(&s, "scheduler.name", "file", &err), 0);
	assert_int_equal(config(&s, "scheduler.name", "file again", &err), 0);
	assert_string_equal(s.name, "file again");
	assert_int_equal(parse(&s, ARGV(W("--scheduler-name=first"), W("--scheduler-name=last")), &rest, &n_rest, &err),
	                 0);
	assert_string_equal(s.name, "last");
	assert_int_equal(config(&s, "scheduler.name", "late", &err), 0);
	assert_string_equal(s.name, "last");
}

static void test_bad_flags_are_named_and_change_nothing(void **state)
{
	static const struct {
		const char *argv[3];
		const char *want;
	} bad[] = {
		{ { "--nope" }, "unknown flag --nope (--help lists them all)" },
		{ { "--nope=1" }, "unknown flag --nope=1 (--help lists them all)" },
		{ { "-verbose" }, "unknown flag -verbose (--help lists them all)" },
		{ { "--verb" }, "unknown flag --verb (--help lists them all)" },
		{ { "--=x" }, "unknown flag --=x (--help lists them all)" },
		{ { "---threads" }, "unknown flag ---threads (--help lists them all)" },
		{ { "--threads" }, "--threads needs a value" },
		{ { "--threads", "0" }, "--threads: 0 is out of range, it must be 1 to 16" },
		{ { "--threads=17" }, "--threads: 17 is out of range, it must be 1 to 16" },
		{ { "--threads=99999999999999999999" },
		  "--threads: 99999999999999999999 is out of range, it must be 1 to 16" },
		{ { "--threads=many" }, "--threads: 'many' is no whole number" },
		{ { "--threads=" }, "--threads: '' is no whole number" },
		{ { "--port=-1" }, "--port: -1 is out of range, it must be 0 to 9223372036854775807" },
		{ { "--verbose=yes" }, "--verbose: 'yes' is neither true nor false" },
		{ { "--timeout=5" }, "--timeout: '5' has no unit: a duration is written like 30s, 1m30s, 250ms or 2h" },
		{ { "--timeout=10ms" }, "--timeout: 10ms is out of range, it must be 1s to 1h" },
		{ { "--timeout=61m" }, "--timeout: 61m is out of range, it must be 1s to 1h" },
		{ { "--log-format=xml" }, "--log-format: 'xml' is none of: text, json" },
		{ { "--scheduler-name=a\nb" }, "--scheduler-name: the value has control characters or is no UTF-8" },
		{ { "--scheduler-name=\xff" }, "--scheduler-name: the value has control characters or is no UTF-8" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_(settings_done) struct settings s;
		char *argv[4] = { W("prog"), W(bad[i].argv[0]), W(bad[i].argv[1]), NULL };
		struct err err = { 0 };
		char **rest = NULL;
		int n_rest = -1, r;

		settings_init(&s);
		r = parse(&s, argv, &rest, &n_rest, &err);
		assert_true(r == -EINVAL || r == -ERANGE);
		assert_string_equal(err_text(&err), bad[i].want);
		assert_true(s.threads == 2 && s.port == 8443 && s.timeout == 30 * USEC_SEC && s.format == 0 &&
		            !s.verbose);
		assert_string_equal(s.name, "sunk");
		assert_null(rest);
	}
}

static void test_bad_keys_are_named_with_their_place(void **state)
{
	_cleanup_(settings_done) struct settings s;
	struct err err = { 0 };

	(void)state;
	settings_init(&s);
	assert_int_equal(config(&s, "run.nope", "1", &err), -ENOENT);
	assert_string_equal(err_text(&err), "sunk.yaml: run.nope: there is no such setting");
	assert_int_equal(config(&s, "run.threads", "x", &err), -EINVAL);
	assert_string_equal(err_text(&err), "sunk.yaml: run.threads: 'x' is no whole number");
	assert_int_equal(config(&s, "run.wait", "TRUE", &err), -EINVAL);
	assert_string_equal(err_text(&err), "sunk.yaml: run.wait: 'TRUE' is neither true nor false");
	/* a setting without a config key is not reachable by its flag's name */
	assert_int_equal(config(&s, "verbose", "true", &err), -ENOENT);
	assert_false(s.verbose);
}

static void test_a_value_has_a_longest_length(void **state)
{
	_cleanup_(settings_done) struct settings s;
	_cleanup_free_ char *longest = mem_alloc(ARG_TEXT_MAX + 2);
	struct err err = { 0 };

	(void)state;
	settings_init(&s);
	memset(longest, 'x', ARG_TEXT_MAX);
	assert_int_equal(config(&s, "scheduler.name", longest, &err), 0);
	assert_int_equal(strlen(s.name), ARG_TEXT_MAX);
	longest[ARG_TEXT_MAX] = 'x';
	assert_int_equal(config(&s, "scheduler.name", longest, &err), -E2BIG);
	assert_string_equal(err_text(&err),
	                    "sunk.yaml: scheduler.name: the value has 4097 bytes, at most 4096 are allowed");
	assert_int_equal(strlen(s.name), ARG_TEXT_MAX);
}

static void test_help_shows_every_setting_aligned_with_its_default(void **state)
{
	_cleanup_(settings_done) struct settings s;
	_cleanup_buf_ struct buf out = BUF(HELP_MAX);

	(void)state;
	settings_init(&s);
	args_help(s.args, ARRAY_LEN(s.args), &out);
	assert_string_equal(
	        buf_text(&out),
	        "  --verbose                       Says more.\n"
	        "  --wait                          Waits. (default: true) [config: run.wait]\n"
	        "  --threads N                     How many. (default: 2) [config: run.threads]\n"
	        "  --port N                        Where. (default: 8443)\n"
	        "  --scheduler-name NAME           The name that Pods ask for. (default: sunk) [config:\n"
	        "                                  scheduler.name]\n"
	        "  --timeout DURATION              How long. (default: 30s) [config: run.timeout]\n"
	        "  (config) run.poll DURATION      How often. (default: 0s)\n"
	        "  --log-format text|json          For people or for machines. (default: text) [config: log.format]\n");
}

static void test_help_wraps_and_never_runs_over_its_width(void **state)
{
	static const char *const many[] = { "alpha", "beta", "gamma", "delta", "epsilon", NULL };
	int choice = 4;
	struct arg args[] = {
		{ .flag = "a-very-long-name-of-a-setting",
		  .type = ARG_CHOICE,
		  .value = &choice,
		  .choices = many,
		  .help = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
		          "sixteen seventeen eighteen nineteen twenty." }
	};
	_cleanup_buf_ struct buf out = BUF(HELP_MAX);

	(void)state;
	args_help(args, ARRAY_LEN(args), &out);
	for (const char *p = buf_text(&out); *p;) {
		const char *end = strchr(p, '\n');

		assert_non_null(end);
		assert_true(end - p <= 100);
		assert_true(end == p || end[-1] != ' ');
		p = end + 1;
	}
	assert_non_null(strstr(buf_text(&out), "(default: epsilon)"));
}

/* Lists and maps */

struct lists {
	const char *by_default[1];
	struct arg_list names;
	struct arg_map types;
	struct arg args[2];
};

static void lists_init(struct lists *l)
{
	*l = (struct lists) { .by_default = { "nvidia.com/gpu" } };
	l->names = (struct arg_list) { l->by_default, 1 };
	memcpy(l->args,
	       (struct arg[2]) {
	               { .flag = "names", .config = "s.names", .type = ARG_LIST, .value = &l->names, .help = "Names." },
	               { .flag = "types",
	                 .config = "s.types",
	                 .type = ARG_MAP,
	                 .value = &l->types,
	                 .help = "Types." } },
	       sizeof(l->args));
}

static int parse_lists(struct lists *l, char **argv, struct err *err)
{
	char **rest;
	int argc = 0, n_rest;

	while (argv[argc])
		argc++;
	return args_parse(l->args, ARRAY_LEN(l->args), argc, argv, &rest, &n_rest, err);
}

static void test_lists_and_maps_take_the_place_of_their_default_and_grow_when_given_again(void **state)
{
	struct lists l;
	struct err err = { 0 };

	(void)state;
	lists_init(&l);
	assert_int_equal(
	        parse_lists(&l, ARGV(W("--names"), W("a, b,,c"), W("--names=d"), W("--types=A=x,B=y=z")), &err), 0);
	assert_int_equal(l.names.n, 4);
	assert_string_equal(l.names.items[1], "b");
	assert_string_equal(l.names.items[3], "d");
	assert_int_equal(l.types.n, 2);
	assert_string_equal(l.types.items[0].key, "A");
	assert_string_equal(l.types.items[1].value, "y=z");
	args_done(l.args, ARRAY_LEN(l.args));
	lists_init(&l);
	assert_int_equal(parse_lists(&l, ARGV(W("--names=")), &err), 0);
	assert_int_equal(l.names.n, 0);
	args_done(l.args, ARRAY_LEN(l.args));
}

static void test_bad_lists_and_maps_are_errors_that_name_the_flag(void **state)
{
	static const struct {
		const char *flag, *error;
	} cases[] = {
		{ "--types=A", "--types: 'A' is no KEY=VALUE" },
		{ "--types==x", "--types: '=x' is no KEY=VALUE" },
		{ "--types=A=1,A=2", "--types: 'A' is there twice" },
		{ "--names=a\nb", "--names: the value has control characters or is no UTF-8" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct lists l;
		struct err err = { 0 };

		lists_init(&l);
		assert_true(parse_lists(&l, ARGV(W(cases[i].flag)), &err) < 0);
		assert_string_equal(err.text, cases[i].error);
		args_done(l.args, ARRAY_LEN(l.args));
	}
}

static void test_a_config_file_gives_lists_element_by_element(void **state)
{
	struct lists l;
	struct err err = { 0 };
	const size_t n = ARRAY_LEN(l.args);

	(void)state;
	lists_init(&l);
	assert_int_equal(args_add_config(l.args, n, "s.names", NULL, "a,b", "f", &err), 0);
	assert_int_equal(args_add_config(l.args, n, "s.names", NULL, "c", "f", &err), 0);
	assert_int_equal(args_add_config(l.args, n, "s.types", "H100=,", "h100", "f", &err), 0);
	assert_int_equal(l.names.n, 2);
	assert_string_equal(l.names.items[0], "a,b");
	assert_string_equal(l.types.items[0].key, "H100=,");
	assert_true(args_add_config(l.args, n, "s.types", "H100=,", "x", "f: s.types", &err) < 0);
	assert_string_equal(err.text, "f: s.types: 'H100=,' is there twice");
	assert_int_equal(args_add_config(l.args, n, "s.no", NULL, "x", "f: s.no", &err), -ENOENT);
	args_done(l.args, n);

	/* A flag wins, and takes nothing from the file. */
	lists_init(&l);
	assert_int_equal(parse_lists(&l, ARGV(W("--names=x")), &err), 0);
	assert_int_equal(args_add_config(l.args, n, "s.names", NULL, "c", "f", &err), 0);
	assert_int_equal(args_set_config(l.args, n, "s.names", "d,e", "f", &err), 0);
	assert_int_equal(l.names.n, 1);
	args_done(l.args, n);

	/* Also when the file was read first. */
	lists_init(&l);
	assert_int_equal(args_set_config(l.args, n, "s.names", "d,e", "f", &err), 0);
	assert_int_equal(l.names.n, 2);
	assert_int_equal(parse_lists(&l, ARGV(W("--names=x"), W("--names=y")), &err), 0);
	assert_int_equal(l.names.n, 2);
	assert_string_equal(l.names.items[0], "x");
	args_done(l.args, n);
}

static void test_a_list_cannot_be_endless(void **state)
{
	struct lists l;
	struct err err = { 0 };
	int r = 0, n = 0;

	(void)state;
	lists_init(&l);
	while (r == 0 && n++ <= ARG_ITEMS_MAX)
		r = args_add_config(l.args, ARRAY_LEN(l.args), "s.names", NULL, "x", "f", &err);
	assert_int_equal(n, ARG_ITEMS_MAX + 1);
	assert_int_equal(r, -E2BIG);
	args_done(l.args, ARRAY_LEN(l.args));
}

static void test_sections_and_settings_are_told_apart(void **state)
{
	struct lists l;
	const size_t n = ARRAY_LEN(l.args);

	(void)state;
	lists_init(&l);
	assert_true(args_has_section(l.args, n, "s"));
	assert_false(args_has_section(l.args, n, "s.names"));
	assert_false(args_has_section(l.args, n, "s.n"));
	assert_ptr_equal(args_find_config(l.args, n, "s.names"), &l.args[0]);
	assert_null(args_find_config(l.args, n, "s"));
}

static void test_help_shows_what_a_list_holds_by_default(void **state)
{
	_cleanup_buf_ struct buf out = BUF(HELP_MAX);
	struct lists l;

	(void)state;
	lists_init(&l);
	args_help(l.args, ARRAY_LEN(l.args), &out);
	assert_non_null(strstr(buf_text(&out), "--names LIST"));
	assert_non_null(strstr(buf_text(&out), "(default: nvidia.com/gpu)"));
	assert_non_null(strstr(buf_text(&out), "--types KEY=VALUE,..."));
}

TEST_MAIN(TEST(each_type_is_read_in_both_forms), TEST(without_flags_the_defaults_stay),
          TEST(what_is_no_flag_is_the_rest_in_order), TEST(flags_win_over_the_file_and_the_file_over_defaults),
          TEST(flags_win_also_when_the_file_was_read_first), TEST(bad_flags_are_named_and_change_nothing),
          TEST(bad_keys_are_named_with_their_place), TEST(a_value_has_a_longest_length),
          TEST(help_shows_every_setting_aligned_with_its_default), TEST(help_wraps_and_never_runs_over_its_width),
          TEST(lists_and_maps_take_the_place_of_their_default_and_grow_when_given_again),
          TEST(bad_lists_and_maps_are_errors_that_name_the_flag), TEST(a_config_file_gives_lists_element_by_element),
          TEST(a_list_cannot_be_endless), TEST(sections_and_settings_are_told_apart),
          TEST(help_shows_what_a_list_holds_by_default))
