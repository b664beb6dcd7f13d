/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/nodeslice.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"

#define NAMES 1000
#define SLICES 16

static char texts[NAMES][8];
static const char *names[NAMES];

struct slices { /* what a server would keep */
	struct nodeslice list[SLICES];
	char slice_names[SLICES][NODESLICE_NAME_MAX];
	const char *nodes[SLICES][NODESLICE_MAX];
	const struct nodeslice *view[SLICES];
	size_t n;
	struct nodeslice_step steps[SLICES];
};

static void make_names(void)
{
	for (size_t i = 0; i < NAMES; i++) {
		snprintf(texts[i], sizeof(texts[i]), "n%zu", i);
		names[i] = texts[i];
	}
}

static void take(struct slices *s, size_t at, const struct nodeslice_step *step)
{
	memcpy(s->nodes[at], step->nodes, sizeof(step->nodes));
	s->list[at].nodes = s->nodes[at];
	s->list[at].n_nodes = (uint32_t)step->n_nodes;
}

/* One round; returns how many slices were touched. */
static size_t apply(struct slices *s, const char *const *list, size_t n_list)
{
	size_t n = nodeslice_plan("main", s->view, s->n, list, n_list, s->steps, SLICES);

	for (size_t i = 0; i < n; i++) {
		const struct nodeslice_step *step = &s->steps[i];

		if (step->act == NODESLICE_CREATE) {
			str_copy(s->slice_names[s->n], NODESLICE_NAME_MAX, step->name);
			s->list[s->n].meta.name = s->slice_names[s->n];
			s->view[s->n] = &s->list[s->n];
			take(s, s->n++, step);
		} else {
			take(s, (size_t)(step->slice - s->list), step);
		}
	}
	return n;
}

static void test_a_hundred_names_a_slice_each_name_once(void **state)
{
	_cleanup_free_ struct slices *s = NEW(struct slices);
	size_t sum = 0;

	(void)state;
	make_names();
	assert_int_equal(apply(s, names, 250), 3);
	assert_string_equal(s->list[0].meta.name, "main-0");
	for (size_t i = 0; i < s->n; i++) {
		assert_true(s->list[i].n_nodes <= NODESLICE_MAX);
		sum += s->list[i].n_nodes;
	}
	assert_int_equal(sum, 250);
	assert_int_equal(apply(s, names, 250), 0);
}

static void test_a_change_touches_one_slice(void **state)
{
	_cleanup_free_ struct slices *s = NEW(struct slices);

	(void)state;
	make_names();
	apply(s, names, 300);
	assert_int_equal(apply(s, names + 1, 299), 1); /* the first is gone */
	assert_int_equal(s->list[0].n_nodes, 99);
	assert_int_equal(apply(s, names + 1, 300), 1); /* another comes: into the gap */
	assert_int_equal(s->list[0].n_nodes, 100);
	assert_string_equal(s->list[0].nodes[99], "n300");
	assert_int_equal(apply(s, names + 1, 301), 1); /* no gap: a new slice */
	assert_int_equal(s->n, 4);
	assert_string_equal(s->list[3].meta.name, "main-3");
}

static void test_one_goes_and_one_comes_in_the_same_slice_is_a_change(void **state)
{
	_cleanup_free_ struct slices *s = NEW(struct slices);
	const char *other[] = { "a", "c" };
	const char *first[] = { "a", "b" };

	(void)state;
	assert_int_equal(apply(s, first, 2), 1);
	assert_int_equal(apply(s, other, 2), 1);
	assert_string_equal(s->list[0].nodes[1], "c");
}

static void test_an_empty_slice_is_deleted(void **state)
{
	_cleanup_free_ struct slices *s = NEW(struct slices);

	(void)state;
	make_names();
	apply(s, names, 150);
	assert_int_equal(nodeslice_plan("main", s->view, s->n, names, 100, s->steps, SLICES), 1);
	assert_int_equal(s->steps[0].act, NODESLICE_DELETE);
	assert_string_equal(s->steps[0].slice->meta.name, "main-1");
}

static void test_a_name_in_two_slices_stays_in_one(void **state)
{
	_cleanup_free_ struct slices *s = NEW(struct slices);
	const char *both[] = { "a", "b" };

	(void)state;
	apply(s, both, 2);
	s->list[1] = (struct nodeslice) { .meta = { .name = "main-9" }, .nodes = both, .n_nodes = 2 };
	s->view[1] = &s->list[1];
	assert_int_equal(nodeslice_plan("main", s->view, 2, both, 2, s->steps, SLICES), 1);
	assert_int_equal(s->steps[0].act, NODESLICE_DELETE);
	assert_ptr_equal(s->steps[0].slice, &s->list[1]);
}

TEST_MAIN(TEST(a_hundred_names_a_slice_each_name_once), TEST(a_change_touches_one_slice),
          TEST(one_goes_and_one_comes_in_the_same_slice_is_a_change), TEST(an_empty_slice_is_deleted),
          TEST(a_name_in_two_slices_stays_in_one))
