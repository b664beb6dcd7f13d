/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/annotations.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/str.h"
#include "base/test.h"

#define KEY(name) ANNOTATION_PREFIX name

static void read_one(const char *key, const char *value, struct wishes *ret, struct problems *problems)
{
	struct pair annotation = { key, value };
	struct pod pod = { .meta = { .annotations = &annotation, .n_annotations = 1 } };

	annotations_read(&pod, ret, problems);
}

static bool same(const struct wishes *a, const struct wishes *b)
{
	return str_eq(a->account, b->account) && str_eq(a->comment, b->comment) && str_eq(a->partition, b->partition) &&
	       str_eq(a->qos, b->qos) && str_eq(a->reservation, b->reservation) &&
	       str_eq(a->constraints, b->constraints) && str_eq(a->prefer, b->prefer) &&
	       str_eq(a->excluded_nodes, b->excluded_nodes) && str_eq(a->required_nodes, b->required_nodes) &&
	       str_eq(a->work_dir, b->work_dir) && a->priority == b->priority && a->user_id == b->user_id &&
	       a->group_id == b->group_id && a->timeout_min == b->timeout_min && a->shared == b->shared;
}

static void test_every_row_reaches_its_own_field(void **state)
{
	const struct wishes none = WISHES_INIT;
	const struct {
		const char *name, *value;
		struct wishes want;
	} cases[] = {
#define TEXT(n, v, field)                                                                                              \
	{                                                                                                              \
		n, v,                                                                                                  \
		{                                                                                                      \
			.priority = -1, .user_id = -1, .group_id = -1, .timeout_min = -1, .field = v                   \
		}                                                                                                      \
	}
		TEXT("account", "research", account),
		TEXT("comment", "\"$(reboot)\" `id` %s %n 100% 'naïve' ü", comment),
		TEXT("partition", "a,b", partition),
		TEXT("qos", "high", qos),
		TEXT("reservation", "res", reservation),
		TEXT("constraints", "[rack1|rack2]&ib*2", constraints),
		TEXT("prefer", "nvme", prefer),
		TEXT("excluded-nodes", "a[1-3],b", excluded_nodes),
		TEXT("required-nodes", "gpu-012", required_nodes),
		TEXT("current-working-dir", "/a b/ü", work_dir),
#undef TEXT
		{ "priority", "100", { .priority = 100, .user_id = -1, .group_id = -1, .timeout_min = -1 } },
		{ "user-id", "1001", { .priority = -1, .user_id = 1001, .group_id = -1, .timeout_min = -1 } },
		{ "group-id", "1002", { .priority = -1, .user_id = -1, .group_id = 1002, .timeout_min = -1 } },
		{ "timeout", "123", { .priority = -1, .user_id = -1, .group_id = -1, .timeout_min = 123 } },
		{ "exclusive",
		  "user",
		  { .priority = -1, .user_id = -1, .group_id = -1, .timeout_min = -1, .shared = SHARED_USER } },
	};

	(void)state;
	assert_int_equal(ARRAY_LEN(cases), n_annotation_rows);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_problems_ struct problems p = PROBLEMS_INIT;
		_cleanup_free_ char *key = str_printf(ANNOTATION_PREFIX "%s", cases[i].name);
		struct wishes got;

		read_one(key, cases[i].value, &got, &p);
		if (p.n || !same(&got, &cases[i].want))
			fail_msg("%s: did not reach its field, or %u problems", cases[i].name, p.n);
		read_one(key, "", &got, &p); /* said with nothing is not said */
		if (p.n || !same(&got, &none))
			fail_msg("%s: an empty value is not the same as none", cases[i].name);
	}
}

static void test_the_example_of_every_row_is_a_good_one(void **state)
{
	const struct wishes none = WISHES_INIT;

	(void)state;
	for (size_t i = 0; i < n_annotation_rows; i++) {
		_cleanup_problems_ struct problems p = PROBLEMS_INIT;
		_cleanup_free_ char *key = str_printf(ANNOTATION_PREFIX "%s", annotation_rows[i].name);
		struct wishes got;

		read_one(key, annotation_rows[i].example, &got, &p);
		assert_int_equal(p.n, 0);
		assert_true(!same(&got, &none));
		if (i)
			assert_true(strcmp(annotation_rows[i - 1].name, annotation_rows[i].name) < 0);
	}
}

static void test_exclusive_knows_the_old_and_the_new_words(void **state)
{
	const struct {
		const char *value;
		int want;
		bool bad;
	} cases[] = {
		{ "none", SHARED_NONE },         { "user", SHARED_USER },       { "ok", SHARED_OK },
		{ "true", SHARED_NONE },         { "false", SHARED_UNSET },     { "True", SHARED_UNSET, true },
		{ "mcs", SHARED_UNSET, true },   { "yes", SHARED_UNSET, true }, { "1", SHARED_UNSET, true },
		{ "none ", SHARED_UNSET, true }, { "OK", SHARED_UNSET, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_problems_ struct problems p = PROBLEMS_INIT;
		struct wishes got;

		read_one(KEY("exclusive"), cases[i].value, &got, &p);
		if (got.shared != cases[i].want || p.n_errors != cases[i].bad)
			fail_msg("exclusive: %s gives %d and %u errors", cases[i].value, got.shared, p.n_errors);
	}
}

static void test_integers_are_whole_and_in_range(void **state)
{
	const struct {
		const char *name, *value;
		int64_t want; /* -1: refused */
	} cases[] = {
		{ "priority", "0", 0 },
		{ "priority", "4294967293", 4294967293 },
		{ "priority", "4294967294", -1 },
		{ "priority", "-1", -1 },
		{ "priority", "-0", 0 },
		{ "priority", "100 ", -1 },
		{ "priority", " 100", -1 },
		{ "priority", "+5", -1 },
		{ "priority", "1e3", -1 },
		{ "priority", "1.0", -1 },
		{ "priority", "0x10", -1 },
		{ "priority", "99999999999999999999999999999999", -1 },
		{ "priority", "-99999999999999999999999999999999", -1 },
		{ "priority", "$(id)", -1 },
		{ "priority", "1\n2", -1 },
		{ "priority", "\xff", -1 },
		{ "priority", "\xd9\xa1", -1 }, /* a digit, but of another script */
		{ "timeout", "0", -1 },
		{ "timeout", "1", 1 },
		{ "timeout", "527040", 527040 },
		{ "timeout", "527041", -1 },
		{ "user-id", "0", 0 },
		{ "user-id", "4294967293", 4294967293 },
		{ "user-id", "4294967294", -1 },
		{ "user-id", "4294967295", -1 },
		{ "user-id", "root", -1 },
		{ "group-id", "4294967293", 4294967293 },
		{ "group-id", "4294967295", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_problems_ struct problems p = PROBLEMS_INIT;
		_cleanup_free_ char *key = str_printf(ANNOTATION_PREFIX "%s", cases[i].name);
		struct wishes w;
		int64_t got;

		read_one(key, cases[i].value, &w, &p);
		got = str_eq(cases[i].name, "priority")  ? w.priority
		      : str_eq(cases[i].name, "timeout") ? w.timeout_min
		      : str_eq(cases[i].name, "user-id") ? w.user_id
		                                         : w.group_id;
		if (got != cases[i].want || p.n_errors != (cases[i].want < 0))
			fail_msg("%s '%s': got %ld with %u errors", cases[i].name, cases[i].value, (long)got,
			         p.n_errors);
		if (p.n)
			assert_null(strpbrk(p.list[0].text, "\n\xff"));
	}
}

static void test_text_that_cannot_be_passed_on_is_refused_with_its_reason(void **state)
{
	static char name_long[258], comment_long[1026], path_long[4097], nodes_long[65538], huge[1 << 20];
	const struct {
		const char *key, *value, *want; /* NULL: fine */
	} cases[] = {
		{ KEY("account"), name_long + 1, NULL },
		{ KEY("account"), name_long, "longer than 256 bytes" },
		{ KEY("comment"), comment_long + 1, NULL },
		{ KEY("comment"), comment_long, "longer than 1024 bytes" },
		{ KEY("constraints"), comment_long, "longer than 1024 bytes" },
		{ KEY("prefer"), comment_long, "longer than 1024 bytes" },
		{ KEY("comment"), huge, "longer than 1024 bytes" },
		{ KEY("exclusive"), huge, "longer than 256 bytes" },
		{ KEY("priority"), huge, "must be a whole number" },
		{ KEY("excluded-nodes"), huge, "longer than 65536 bytes" },
		{ KEY("excluded-nodes"), nodes_long + 1, "name has more than 253 bytes" },
		{ KEY("excluded-nodes"), nodes_long, "longer than 65536 bytes" },
		{ KEY("current-working-dir"), path_long + 1, NULL },
		{ KEY("current-working-dir"), path_long, "longer than 4095 bytes" },
		{ KEY("current-working-dir"), "tmp", "must be an absolute path, not 'tmp'" },
		{ KEY("current-working-dir"), "~/x", "must be an absolute path" },
		{ KEY("partition"), "a\nb", "control characters in it: 'a\\nb'" },
		{ KEY("partition"), "a\tb", "control characters" },
		{ KEY("partition"), "a\x7f", "control characters" },
		{ KEY("partition"),
		  "a\xc2\x9b"
		  "31m",
		  "control characters" },
		{ KEY("partition"), "a\xc2\xa0", NULL },
		{ KEY("comment"), "\x1b[2J", "control characters in it: '\\x1b[2J'" },
		{ KEY("comment"), "caf\xe9", "not valid UTF-8: 'caf\\xe9'" },
		{ KEY("comment"), "\xed\xa0\x80", "not valid UTF-8" },
		{ KEY("comment"), "\xc0\xaf", "not valid UTF-8" },
		{ KEY("qos"), "\xff", "not valid UTF-8" },
		{ KEY("required-nodes"), "a[1-", "expected the end of a range" },
		{ KEY("required-nodes"), "a b", "is not allowed" },
		{ KEY("required-nodes"), "a;reboot", "is not allowed" },
		{ KEY("required-nodes"), "$(id)", "is not allowed" },
		{ KEY("required-nodes"), "ALL,", "empty name" },
		{ KEY("required-nodes"), "n[1-999999999]", "more than 100000 names" },
		{ KEY("excluded-nodes"), "n[1-9][1-9][1-9][1-9][1-9][1-9]", "more than 100000 names" },
		{ KEY("excluded-nodes"), "../etc/passwd", "is not allowed" },
		{ KEY("required-nodes"), "a\nb", "control characters" },
	};

	(void)state;
	memset(name_long, 'x', sizeof(name_long) - 1);
	memset(comment_long, 'x', sizeof(comment_long) - 1);
	memset(path_long, '/', sizeof(path_long) - 1);
	memset(nodes_long, 'n', sizeof(nodes_long) - 1);
	memset(huge, '9', sizeof(huge) - 1);
	huge[sizeof(huge) - 2] = 'x';
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct wishes none = WISHES_INIT;
		_cleanup_problems_ struct problems p = PROBLEMS_INIT;
		struct wishes got;

		read_one(cases[i].key, cases[i].value, &got, &p);
		if (!cases[i].want && !p.n)
			continue;
		if (!cases[i].want || p.n_errors != 1 || !strstr(p.list[0].text, cases[i].want))
			fail_msg("%s '%.40s': %s", cases[i].key, cases[i].value, p.n ? p.list[0].text : "no problem");
		if (!strstr(p.list[0].field, cases[i].key) || strpbrk(p.list[0].text, "\n\t\x1b\x7f"))
			fail_msg("%s: field %s, text %s", cases[i].key, p.list[0].field, p.list[0].text);
		assert_true(same(&got, &none));
	}
}

static void test_unknown_keys_are_warnings_that_name_what_was_meant(void **state)
{
	const struct {
		const char *key, *want; /* NULL: nothing to say */
	} cases[] = {
		{ KEY("job-id"), NULL },
		{ KEY("lock"), NULL },
		{ KEY("lock-request"), NULL },
		{ KEY("drain"), NULL },
		{ "other.example.com/partion", NULL },
		{ "sunk.coreweave.com", NULL },
		{ KEY("partion"), "did you mean sunk.coreweave.com/partition?" },
		{ KEY("Partition"), "did you mean sunk.coreweave.com/partition?" },
		{ KEY("constraint"), "did you mean sunk.coreweave.com/constraints?" },
		{ KEY("excludedNodes"), "did you mean sunk.coreweave.com/excluded-nodes?" },
		{ KEY("required_nodes"), "did you mean sunk.coreweave.com/required-nodes?" },
		{ KEY("nodelist"), "did you mean sunk.coreweave.com/required-nodes?" },
		{ KEY("chdir"), "did you mean sunk.coreweave.com/current-working-dir?" },
		{ KEY("time"), "did you mean sunk.coreweave.com/timeout?" },
		{ KEY("uid"), "did you mean sunk.coreweave.com/user-id?" },
		{ KEY("PARTITION"), "did you mean sunk.coreweave.com/partition?" },
		{ KEY("qso"), "has no effect" },
		{ KEY("os"), "did you mean sunk.coreweave.com/qos?" },
		{ KEY("quota"), "has no effect" },
		{ KEY(""), "has no effect" },
		{ KEY("a\nb"), "a\\nb" },
		{ KEY("\xff"), "\\xff" },
		{ KEY("a-very-long-key-that-nobody-would-ever-write-but-that-someone-may-send-all-the-same-to-see"),
		  "…'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_problems_ struct problems p = PROBLEMS_INIT;
		struct wishes got;

		read_one(cases[i].key, "x", &got, &p);
		if (!cases[i].want && p.n)
			fail_msg("%s: %s", cases[i].key, p.list[0].text);
		if (cases[i].want && (p.n_errors || p.n_warnings != 1 || !strstr(p.list[0].text, cases[i].want)))
			fail_msg("%s: %s", cases[i].key, p.n ? p.list[0].text : "no warning");
		if (p.n && str_ends(cases[i].want, "effect"))
			assert_null(strstr(p.list[0].text, "mean"));
	}
}

static void test_all_that_is_wrong_is_told_at_once(void **state)
{
	_cleanup_problems_ struct problems p = PROBLEMS_INIT;
	struct pair annotations[] = {
		{ KEY("priority"), "high" }, { KEY("exclusive"), "maybe" }, { KEY("qos"), "normal" },
		{ KEY("timeout"), "-3" },    { KEY("partitoin"), "x" },
	};
	struct pod pod = { .meta = { .annotations = annotations, .n_annotations = ARRAY_LEN(annotations) } };
	struct wishes got;

	(void)state;
	annotations_read(&pod, &got, &p);
	assert_int_equal(p.n_errors, 3);
	assert_int_equal(p.n_warnings, 1);
	assert_string_equal(got.qos, "normal");
}

/* The reference in the docs is this table. SUNK_UPDATE_DOCS=1 writes it there. */

#define DOCS_FILE "pod-scheduler.md"
#define DOCS_MAX (1 << 20)
#define BEGIN_MARK "<!-- annotations: begin (made from src/policy/annotations.c) -->\n"
#define END_MARK "<!-- annotations: end -->"

static void add_value(const struct annotation_row *row, struct buf *out)
{
	static const char *const words[] = {
		[ANNOTATION_TEXT] = "text, at most %lld bytes",
		[ANNOTATION_NODES] = "node names with commas between, or a hostlist; at most %lld bytes",
		[ANNOTATION_PATH] = "absolute path, at most %lld bytes",
	};

	switch (row->type) {
	case ANNOTATION_INTEGER:
		buf_printf(out, "whole number, %lld to %lld", (long long)row->min, (long long)row->max);
		break;
	case ANNOTATION_EXCLUSIVE: buf_add_str(out, "`none`, `user` or `ok`"); break;
	default:
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		buf_printf(out, words[row->type], (long long)row->max);
#pragma GCC diagnostic pop
	}
}

static void render(struct buf *out)
{
	buf_add_str(out, "| annotation | value | as with `sbatch` | meaning | example |\n|---|---|---|---|---|\n");
	for (size_t i = 0; i < n_annotation_rows; i++) {
		const struct annotation_row *row = &annotation_rows[i];

		buf_printf(out, "| `" ANNOTATION_PREFIX "%s` | ", row->name);
		add_value(row, out);
		buf_printf(out, " | `%s` | %s | `\"%s\"` |\n", row->slurm, row->help, row->example);
	}
}

static void test_the_reference_in_the_docs_is_the_table(void **state)
{
	const char *docs = getenv("SUNK_DOCS");
	_cleanup_buf_ struct buf old = BUF(DOCS_MAX), new = BUF(DOCS_MAX);
	_cleanup_free_ char *path = NULL;
	const char *begin, *end;

	(void)state;
	assert_non_null(docs);
	path = str_printf("%s/" DOCS_FILE, docs);
	assert_int_equal(buf_read_file(&old, path), 0);
	begin = strstr(buf_text(&old), BEGIN_MARK);
	assert_non_null(begin);
	end = strstr(begin, END_MARK);
	assert_non_null(end);
	begin += strlen(BEGIN_MARK);
	buf_add(&new, buf_text(&old), (size_t)(begin - buf_text(&old)));
	render(&new);
	buf_add_str(&new, end);
	assert_int_equal(new.error, 0);
	if (getenv("SUNK_UPDATE_DOCS")) {
		FILE *f = fopen(path, "w");

		assert_non_null(f);
		assert_int_equal(fwrite(buf_text(&new), 1, new.len, f), new.len);
		assert_int_equal(fclose(f), 0);
	} else if (!str_eq(buf_text(&old), buf_text(&new)))
		fail_msg("%s is not what the table says: run this test with SUNK_UPDATE_DOCS=1", path);
}

TEST_MAIN(TEST(every_row_reaches_its_own_field), TEST(the_example_of_every_row_is_a_good_one),
          TEST(exclusive_knows_the_old_and_the_new_words), TEST(integers_are_whole_and_in_range),
          TEST(text_that_cannot_be_passed_on_is_refused_with_its_reason),
          TEST(unknown_keys_are_warnings_that_name_what_was_meant), TEST(all_that_is_wrong_is_told_at_once),
          TEST(the_reference_in_the_docs_is_the_table))
