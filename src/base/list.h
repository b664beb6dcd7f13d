/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An intrusive doubly linked ring. A `struct link` sits inside the thing it links; the head is a link too. A link that
 * is in no list points to itself (link_init), so link_remove() is always safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

struct link {
	struct link *next, *prev;
};

static inline void link_init(struct link *l)
{
	l->next = l->prev = l;
}

static inline bool list_empty(const struct link *head)
{
	return head->next == head;
}

static inline void list_add_tail(struct link *head, struct link *l)
{
	l->prev = head->prev;
	l->next = head;
	head->prev->next = l;
	head->prev = l;
}

static inline void list_add_head(struct link *head, struct link *l)
{
	list_add_tail(head->next, l);
}

static inline void link_remove(struct link *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	link_init(l);
}

/* Removes and returns the first, NULL when empty. */
static inline struct link *list_take_head(struct link *head)
{
	struct link *l = head->next;

	if (l == head)
		return NULL;
	link_remove(l); /* NOLINT(clang-analyzer-unix.Malloc): it takes the head after a freed one for the freed one */
	return l;
}

/* The body may remove `l` itself. */
#define LIST_EACH(l, head)                                                                                             \
	for (struct link *l = (head)->next, *l##_next = l->next; l != (head); l = l##_next, l##_next = l->next)

#define LIST_ITEM(l, type, member) CONTAINER_OF(l, type, member)
