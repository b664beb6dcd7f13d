/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/list.h"

#include "base/test.h"

struct item {
	int number;
	struct link link;
};

static void assert_order(struct link *head, const int *numbers, size_t n)
{
	size_t i = 0;

	LIST_EACH (l, head) {
		assert_true(i < n);
		assert_int_equal(LIST_ITEM(l, struct item, link)->number, numbers[i++]);
	}
	assert_int_equal(i, n);
	/* and backwards */
	for (struct link *l = head->prev; l != head; l = l->prev)
		assert_int_equal(LIST_ITEM(l, struct item, link)->number, numbers[--i]);
	assert_int_equal(i, 0);
}

static void test_head_and_tail_keep_their_order(void **state)
{
	struct item a = { .number = 1 }, b = { .number = 2 }, c = { .number = 3 };
	struct link head;

	(void)state;
	link_init(&head);
	assert_true(list_empty(&head));
	list_add_tail(&head, &b.link);
	list_add_tail(&head, &c.link);
	list_add_head(&head, &a.link);
	assert_false(list_empty(&head));
	assert_order(&head, (int[]) { 1, 2, 3 }, 3);
}

static void test_removing_is_safe_for_what_is_in_no_list(void **state)
{
	struct item a = { .number = 1 }, b = { .number = 2 };
	struct link head;

	(void)state;
	link_init(&head);
	link_init(&a.link);
	link_remove(&a.link);
	list_add_tail(&head, &a.link);
	list_add_tail(&head, &b.link);
	link_remove(&a.link);
	link_remove(&a.link);
	assert_order(&head, (int[]) { 2 }, 1);
	link_remove(&b.link);
	assert_true(list_empty(&head));
}

static void test_a_walk_may_remove_what_it_stands_on(void **state)
{
	struct item items[5] = { 0 };
	struct link head;

	(void)state;
	link_init(&head);
	for (int i = 0; i < 5; i++) {
		items[i].number = i;
		list_add_tail(&head, &items[i].link);
	}
	LIST_EACH (l, &head)
		if (LIST_ITEM(l, struct item, link)->number % 2 == 0)
			link_remove(l);
	assert_order(&head, (int[]) { 1, 3 }, 2);
}

static void test_taking_goes_from_the_front_until_empty(void **state)
{
	struct item a = { .number = 1 }, b = { .number = 2 };
	struct link head;

	(void)state;
	link_init(&head);
	assert_null(list_take_head(&head));
	list_add_tail(&head, &a.link);
	list_add_tail(&head, &b.link);
	assert_ptr_equal(list_take_head(&head), &a.link);
	assert_ptr_equal(a.link.next, &a.link);
	assert_ptr_equal(list_take_head(&head), &b.link);
	assert_null(list_take_head(&head));
}

TEST_MAIN(TEST(head_and_tail_keep_their_order), TEST(removing_is_safe_for_what_is_in_no_list),
          TEST(a_walk_may_remove_what_it_stands_on), TEST(taking_goes_from_the_front_until_empty))
