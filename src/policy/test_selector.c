/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/selector.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"

static struct pair labels[] = {
	{ "zone", "a" },  { "gen", "7" },   { "empty", "" },
	{ "word", "x7" }, { "plus", "+7" }, { "huge", "9223372036854775808" },
};
static const struct knode node = { .meta = { .name = "n1", .labels = labels, .n_labels = ARRAY_LEN(labels) } };

static const char long_value[] = "a123456789012345678901234567890123456789012345678901234567890123"; /* 64 */

struct line {
	const char *what, *key;
	int op;
	const char *values[3];
	uint32_t n;
	bool want;
};

static const struct line as_labels[] = {
	{ "In, one of them", "zone", SEL_IN, { "b", "a" }, 2, true },
	{ "In, none of them", "zone", SEL_IN, { "b", "c" }, 2, false },
	{ "In, no such label", "none", SEL_IN, { "a" }, 1, false },
	{ "In, the empty value", "empty", SEL_IN, { "" }, 1, true },
	{ "In, the empty value, no such label", "none", SEL_IN, { "" }, 1, false },
	{ "In without values is an error", "zone", SEL_IN, { NULL }, 0, false },
	{ "In is case-sensitive", "zone", SEL_IN, { "A" }, 1, false },
	{ "In with a value that no label can have", "zone", SEL_IN, { "a", "not a label" }, 2, false },
	{ "NotIn, another value", "zone", SEL_NOT_IN, { "b" }, 1, true },
	{ "NotIn, this value", "zone", SEL_NOT_IN, { "b", "a" }, 2, false },
	{ "NotIn, no such label", "none", SEL_NOT_IN, { "a" }, 1, true },
	{ "NotIn without values is an error", "zone", SEL_NOT_IN, { NULL }, 0, false },
	{ "NotIn with a value that no label can have", "zone", SEL_NOT_IN, { "-b" }, 1, false },
	{ "NotIn with a value that is too long", "zone", SEL_NOT_IN, { long_value }, 1, false },
	{ "NotIn with a value of 63 bytes", "zone", SEL_NOT_IN, { long_value + 1 }, 1, true },
	{ "Exists", "zone", SEL_EXISTS, { NULL }, 0, true },
	{ "Exists, an empty value", "empty", SEL_EXISTS, { NULL }, 0, true },
	{ "Exists, no such label", "none", SEL_EXISTS, { NULL }, 0, false },
	{ "Exists with a value is an error", "zone", SEL_EXISTS, { "a" }, 1, false },
	{ "DoesNotExist", "none", SEL_DOES_NOT_EXIST, { NULL }, 0, true },
	{ "DoesNotExist, but it does", "zone", SEL_DOES_NOT_EXIST, { NULL }, 0, false },
	{ "DoesNotExist, an empty value", "empty", SEL_DOES_NOT_EXIST, { NULL }, 0, false },
	{ "DoesNotExist with a value is an error", "none", SEL_DOES_NOT_EXIST, { "a" }, 1, false },
	{ "Gt", "gen", SEL_GT, { "6" }, 1, true },
	{ "Gt, the same", "gen", SEL_GT, { "7" }, 1, false },
	{ "Gt is not by text", "gen", SEL_GT, { "10" }, 1, false },
	{ "Gt, no such label", "none", SEL_GT, { "0" }, 1, false },
	{ "Gt, a label that is no number", "word", SEL_GT, { "0" }, 1, false },
	{ "Gt, a label with a plus is a number", "plus", SEL_GT, { "6" }, 1, true },
	{ "Gt, a label beyond 64 bits is no number", "huge", SEL_GT, { "6" }, 1, false },
	{ "Gt, an empty label is no number", "empty", SEL_GT, { "0" }, 1, false },
	{ "Gt, no integer", "gen", SEL_GT, { "6.5" }, 1, false },
	{ "Gt, less than nothing is no label value", "gen", SEL_GT, { "-1" }, 1, false },
	{ "Gt with two values is an error", "gen", SEL_GT, { "1", "2" }, 2, false },
	{ "Gt without a value is an error", "gen", SEL_GT, { NULL }, 0, false },
	{ "Lt", "gen", SEL_LT, { "8" }, 1, true },
	{ "Lt is not by text", "gen", SEL_LT, { "10" }, 1, true },
	{ "Lt, the same", "gen", SEL_LT, { "7" }, 1, false },
	{ "Lt, no such label", "none", SEL_LT, { "8" }, 1, false },
	{ "Lt with two values is an error", "gen", SEL_LT, { "8", "9" }, 2, false },
	{ "an operator nobody knows", "zone", SEL_UNKNOWN, { "a" }, 1, false },
};

static const struct line as_fields[] = {
	{ "In, its name", "metadata.name", SEL_IN, { "n1" }, 1, true },
	{ "In, another name", "metadata.name", SEL_IN, { "n2" }, 1, false },
	{ "In with two names is an error", "metadata.name", SEL_IN, { "n1", "n2" }, 2, false },
	{ "NotIn, another name", "metadata.name", SEL_NOT_IN, { "n2" }, 1, true },
	{ "NotIn, its name", "metadata.name", SEL_NOT_IN, { "n1" }, 1, false },
	{ "other operators are errors", "metadata.name", SEL_EXISTS, { NULL }, 0, false },
	{ "other fields are errors", "metadata.uid", SEL_NOT_IN, { "x" }, 1, false },
};

static bool holds(const struct line *l, bool field)
{
	struct requirement r = { l->key, l->op, (const char **)l->values, l->n };
	struct selector_term t = field ? (struct selector_term) { .fields = &r, .n_fields = 1 }
	                               : (struct selector_term) { .labels = &r, .n_labels = 1 };

	return node_matches_term(&t, &node);
}

static void test_every_operator_decides_as_in_kubernetes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(as_labels); i++)
		if (holds(&as_labels[i], false) != as_labels[i].want)
			fail_msg("label: %s: want %d", as_labels[i].what, as_labels[i].want);
	for (size_t i = 0; i < ARRAY_LEN(as_fields); i++)
		if (holds(&as_fields[i], true) != as_fields[i].want)
			fail_msg("field: %s: want %d", as_fields[i].what, as_fields[i].want);
}

static struct requirement in_a = { "zone", SEL_IN, (const char *[]) { "a" }, 1 };
static struct requirement in_b = { "zone", SEL_IN, (const char *[]) { "b" }, 1 };
static struct requirement is_n1 = { "metadata.name", SEL_IN, (const char *[]) { "n1" }, 1 };
static struct requirement is_n2 = { "metadata.name", SEL_IN, (const char *[]) { "n2" }, 1 };

static void test_a_term_needs_all_and_a_list_one(void **state)
{
	struct requirement a_and_b[] = { in_a, in_b };
	struct selector_term both = { .labels = a_and_b, .n_labels = 2 };
	struct selector_term a_n1 = { .labels = &in_a, .n_labels = 1, .fields = &is_n1, .n_fields = 1 };
	struct selector_term a_n2 = { .labels = &in_a, .n_labels = 1, .fields = &is_n2, .n_fields = 1 };
	struct selector_term empty = { 0 };
	struct selector_term list[] = { empty, both, a_n2, a_n1 };

	(void)state;
	assert_false(node_matches_term(&both, &node));
	assert_true(node_matches_term(&a_n1, &node));
	assert_false(node_matches_term(&a_n2, &node));
	assert_false(node_matches_term(&empty, &node));
	assert_true(node_matches_terms(list, 4, &node));
	assert_false(node_matches_terms(list, 3, &node));
	assert_false(node_matches_terms(list, 0, &node));
}

static void test_selector_and_affinity_must_both_match(void **state)
{
	struct selector_term a = { .labels = &in_a, .n_labels = 1 }, b = { .labels = &in_b, .n_labels = 1 };
	struct selector_term two[] = { b, b };
	struct pair zone_a[] = { { "zone", "a" }, { "empty", "" } }, zone_b = { "zone", "b" }, none = { "none", "" };
	const struct {
		const char *what;
		struct pod pod;
		bool want;
		const struct pair *label;
		const struct requirement *needs;
	} cases[] = {
		{ "nothing asked for", { .has_required = false }, true },
		{ "all labels", { .node_selector = zone_a, .n_node_selector = 2 }, true },
		{ "another value", { .node_selector = &zone_b, .n_node_selector = 1 }, false, .label = &zone_b },
		{ "an empty value is not a missing one",
		  { .node_selector = &none, .n_node_selector = 1 },
		  false,
		  .label = &none },
		{ "affinity", { .has_required = true, .required_nodes = &a, .n_required_nodes = 1 }, true },
		{ "both, one fails",
		  { .node_selector = zone_a,
		    .n_node_selector = 2,
		    .has_required = true,
		    .required_nodes = &b,
		    .n_required_nodes = 1 },
		  false,
		  .needs = &in_b },
		{ "both, the other fails",
		  { .node_selector = &zone_b,
		    .n_node_selector = 1,
		    .has_required = true,
		    .required_nodes = &a,
		    .n_required_nodes = 1 },
		  false,
		  .label = &zone_b },
		{ "of several terms none is blamed",
		  { .has_required = true, .required_nodes = two, .n_required_nodes = 2 },
		  false },
		{ "an affinity without terms matches nothing", { .has_required = true }, false },
		{ "terms that are not required do not count", { .required_nodes = &b, .n_required_nodes = 1 }, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct unselected why = { 0 };

		if (pod_selects(&cases[i].pod, &node, &why) != cases[i].want || why.label != cases[i].label ||
		    why.needs != cases[i].needs)
			fail_msg("%s", cases[i].what);
		assert_int_equal(pod_selects(&cases[i].pod, &node, NULL), cases[i].want);
	}
}

TEST_MAIN(TEST(every_operator_decides_as_in_kubernetes), TEST(a_term_needs_all_and_a_list_one),
          TEST(selector_and_affinity_must_both_match))
