/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/dirty.h"

#include <string.h>

#include "base/mem.h"

struct dirty_entry {
	usec_t at;
	uint64_t order;
	size_t pos; /* in the heap */
	char key[];
};

void dirty_done(struct dirty *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->heap[i]);
	free(d->heap);
	map_done(&d->by_key);
	*d = DIRTY_INIT;
}

static bool before(const struct dirty_entry *a, const struct dirty_entry *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void place(struct dirty *d, size_t pos, struct dirty_entry *e)
{
	d->heap[pos] = e;
	e->pos = pos;
}

static void sift_up(struct dirty *d, struct dirty_entry *e)
{
	size_t pos = e->pos;

	while (pos > 0 && before(e, d->heap[(pos - 1) / 2])) {
		place(d, pos, d->heap[(pos - 1) / 2]);
		pos = (pos - 1) / 2;
	}
	place(d, pos, e);
}

static void sift_down(struct dirty *d, struct dirty_entry *e)
{
	size_t pos = e->pos;

	for (;;) {
		size_t child = 2 * pos + 1;

		if (child + 1 < d->n && before(d->heap[child + 1], d->heap[child]))
			child++;
		if (child >= d->n || !before(d->heap[child], e))
			break;
		place(d, pos, d->heap[child]);
		pos = child;
	}
	place(d, pos, e);
}

void dirty_mark(struct dirty *d, const char *key, usec_t at)
{
	struct dirty_entry *e = map_get(&d->by_key, key);
	size_t len;

	if (e) {
		if (at < e->at) {
			e->at = at;
			sift_up(d, e);
		}
		return;
	}
	len = strlen(key);
	e = mem_alloc(sizeof(*e) + len + 1);
	memcpy(e->key, key, len + 1);
	e->at = at;
	e->order = d->next_order++;
	if (d->n == d->size) {
		d->size = d->size ? 2 * d->size : 16;
		d->heap = mem_realloc_n(d->heap, d->size, sizeof(*d->heap));
	}
	e->pos = d->n++;
	sift_up(d, e);
	map_put(&d->by_key, e->key, e);
}

char *dirty_take(struct dirty *d, usec_t now)
{
	struct dirty_entry *e, *last;
	char *key;

	if (d->n == 0 || d->heap[0]->at > now)
		return NULL;
	e = d->heap[0];
	last = d->heap[--d->n];
	if (last != e) {
		last->pos = 0;
		sift_down(d, last);
	}
	map_remove(&d->by_key, e->key);
	key = mem_strdup(e->key);
	free(e);
	return key;
}

usec_t dirty_next(const struct dirty *d)
{
	return d->n ? d->heap[0]->at : USEC_NEVER;
}
