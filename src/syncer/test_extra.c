/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "syncer/extra.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"
#include "policy/nodeset.h"

static struct condition conditions[] = {
	{ .type = "Ready", .status = COND_TRUE },
	{ .type = "SlurmRunning", .status = COND_TRUE },
	{ .type = "HPCVerification", .status = COND_FALSE },
};
static struct pair notes[] = { { ANNOTATION_LOCK, "locked" }, { ANNOTATION_CORDON, "disk \"a\"" } };
static struct owner owner = { "NodeSet", "main", "u1", true };
static struct pod pod;

#define OURS                                                                                                           \
	"\"k8s\":{\"node\":\"g1\",\"namespace\":\"slurm\",\"pod\":\"n1\",\"nodeset\":\"main\",\"lock\":\"locked\","    \
	"\"cordonReason\":\"disk \\\"a\\\"\",\"conditions\":{\"Ready\":\"True\",\"HPCVerification\":\"False\"}}"

static int setup(void **state)
{
	(void)state;
	pod = (struct pod) { .meta = { .ns = "slurm",
		                       .name = "n1",
		                       .annotations = notes,
		                       .n_annotations = 2,
		                       .owners = &owner,
		                       .n_owners = 1 },
		             .node_name = "g1",
		             .conditions = conditions,
		             .n_conditions = 3 };
	return 0;
}

static void test_our_key_is_merged_into_what_is_there(void **state)
{
	static const struct {
		const char *what, *now, *want; /* NULL = nothing to write */
	} cases[] = {
		{ "nothing there", NULL, "{" OURS "}" },
		{ "empty", "", "{" OURS "}" },
		{ "an empty object", "{}", "{" OURS "}" },
		{ "users' keys survive, in their order", "{\"rack\":\"a7\",\"n\":[1,{\"b\":null}]}",
		  "{\"rack\":\"a7\",\"n\":[1,{\"b\":null}]," OURS "}" },
		{ "numbers as they were written", "{\"big\":123456789012345678901234567890,\"e\":1.50e3,\"z\":-0}",
		  "{\"big\":123456789012345678901234567890,\"e\":1.50e3,\"z\":-0," OURS "}" },
		{ "our old words go", "{\"k8s\":{\"node\":\"old\",\"x\":1},\"rack\":1}", "{\"rack\":1," OURS "}" },
		{ "so does someone else's use of our key", "{\"k8s\":[1,2]}", "{" OURS "}" },
		{ "and a second one", "{" OURS "," OURS "}", "{" OURS "}" },
		{ "as it should be: nothing to write", "{" OURS "}", NULL },
		{ "also with users' keys and blanks", "{ \"rack\" : 1, " OURS " , \"z\": 2 }", NULL },
		{ "no JSON: replaced", "maintenance by bob", "{" OURS "}" },
		{ "half of it: replaced", "{\"rack\":\"a7\",", "{" OURS "}" },
		{ "more behind it: replaced", "{} {}", "{" OURS "}" },
		{ "no object: replaced", "[1,2]", "{" OURS "}" },
		{ "a text: replaced", "\"x\"", "{" OURS "}" },
		{ "no UTF-8: replaced", "{\"a\":\"\xff\"}", "{" OURS "}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_buf_ struct buf out = BUF(EXTRA_TEXT_MAX);
		struct err err = { 0 };
		bool write = extra_merge(cases[i].now, &pod, NULL, &out, &err);

		if (write != (cases[i].want != NULL) || err.code)
			fail_msg("%s: %s", cases[i].what, err_text(&err));
		if (write && !str_eq(buf_text(&out), cases[i].want))
			fail_msg("%s: got %s", cases[i].what, buf_text(&out));
		/* what was written is not written again */
		if (write) {
			_cleanup_free_ char *first = buf_take(&out);

			assert_false(extra_merge(first, &pod, NULL, &out, &err));
		}
	}
}

static void test_our_own_conditions_do_not_chase_themselves(void **state)
{
	_cleanup_buf_ struct buf out = BUF(EXTRA_TEXT_MAX);

	(void)state;
	assert_true(extra_merge(NULL, &pod, NULL, &out, NULL));
	assert_null(strstr(buf_text(&out), "SlurmRunning"));
}

static void test_what_is_too_long_is_left_as_it_is(void **state)
{
	_cleanup_buf_ struct buf out = BUF(EXTRA_TEXT_MAX), now = BUF(2 << 20);
	struct err err = { 0 };
	struct extra_memory m;

	(void)state;
	buf_add_str(&now, "{\"a\":\"");
	while (now.len < 1 << 20)
		buf_add_str(&now, "xxxxxxxxxxxxxxxx");
	buf_add_str(&now, "\"}");
	assert_false(extra_merge(buf_text(&now), &pod, NULL, &out, &err));
	assert_int_equal(err.code, -EFBIG);
	assert_false(extra_recall(buf_text(&now), &m));
	/* fits, but not with our part */
	buf_clear(&now);
	buf_add_str(&now, "{\"a\":\"");
	while (now.len < EXTRA_TEXT_MAX - 10)
		buf_add_char(&now, 'x');
	buf_add_str(&now, "\"}");
	err = (struct err) { 0 };
	assert_false(extra_merge(buf_text(&now), &pod, NULL, &out, &err));
	assert_int_equal(err.code, -EFBIG);
}

static void test_deep_json_is_kept(void **state)
{
	_cleanup_buf_ struct buf out = BUF(EXTRA_TEXT_MAX), now = BUF(1 << 20);

	(void)state;
	buf_add_str(&now, "{\"deep\":");
	for (int i = 0; i < 10000; i++)
		buf_add_char(&now, '[');
	for (int i = 0; i < 10000; i++)
		buf_add_char(&now, ']');
	buf_add_char(&now, '}');
	assert_true(extra_merge(buf_text(&now), &pod, NULL, &out, NULL));
	assert_true(str_starts(buf_text(&out), "{\"deep\":[[[[") && str_ends(buf_text(&out), "]]," OURS "}"));
}

static void test_strange_words_are_cut_and_made_text(void **state)
{
	static char longer[5000];
	_cleanup_buf_ struct buf out = BUF(EXTRA_TEXT_MAX);
	struct pair note = { ANNOTATION_CORDON, longer };

	(void)state;
	memset(longer, 'x', sizeof(longer) - 1);
	memcpy(longer, "a\n\xff", 3);
	pod.meta.annotations = &note;
	pod.meta.n_annotations = 1;
	assert_true(extra_merge(NULL, &pod, NULL, &out, NULL));
	assert_non_null(strstr(buf_text(&out), "\"cordonReason\":\"a??xxx"));
	assert_true(out.len < 1000);
}

static void test_what_was_written_is_remembered(void **state)
{
	_cleanup_buf_ struct buf out = BUF(EXTRA_TEXT_MAX);
	struct extra_memory m;

	(void)state;
	assert_true(extra_merge("{\"rack\":1}", &pod, "h100,ib", &out, NULL));
	assert_true(extra_recall(buf_text(&out), &m));
	assert_string_equal(m.pod, "n1");
	assert_string_equal(m.ns, "slurm");
	assert_true(m.cordoned);
	assert_string_equal(m.cordon, "disk \"a\"");
	assert_string_equal(m.features, "h100,ib");
	pod.meta.n_annotations = 0;
	assert_true(extra_merge(NULL, &pod, "", &out, NULL));
	assert_true(extra_recall(buf_text(&out), &m));
	assert_false(m.cordoned);
	assert_string_equal(m.features, "");
}

static void test_nodes_that_never_had_a_pod_remember_none(void **state)
{
	static const char *const texts[] = { NULL,
		                             "",
		                             "{}",
		                             "{\"k8s\":{}}",
		                             "{\"k8s\":{\"pod\":7}}",
		                             "{\"k8s\":\"n1\"}",
		                             "{\"pod\":\"n1\"}",
		                             "n1",
		                             "{\"k8s\":{\"pod\":\"\"}}" };
	struct extra_memory m;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_false(extra_recall(texts[i], &m));
}

#define T(name) cmocka_unit_test_setup(test_##name, setup)
TEST_MAIN(T(our_key_is_merged_into_what_is_there), T(our_own_conditions_do_not_chase_themselves),
          T(what_is_too_long_is_left_as_it_is), T(deep_json_is_kept), T(strange_words_are_cut_and_made_text),
          T(what_was_written_is_remembered), T(nodes_that_never_had_a_pod_remember_none))
