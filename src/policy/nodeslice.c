/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/nodeslice.h"

#include <stdio.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

struct fill {
	const char *nodeset;
	const char *const *names;
	size_t n_names, next; /* the next name that may be in no slice yet */
	struct map wanted;    /* name → itself; taken out once a slice has it */
};

static const char *next_new(struct fill *f)
{
	while (f->next < f->n_names && !map_get(&f->wanted, f->names[f->next]))
		f->next++;
	return f->next < f->n_names ? f->names[f->next++] : NULL;
}

static void add_new(struct fill *f, struct nodeslice_step *s)
{
	const char *name;

	while (s->n_nodes < NODESLICE_MAX && (name = next_new(f)))
		s->nodes[s->n_nodes++] = name;
}

/* What of a slice stays. */
static void keep(struct fill *f, const struct nodeslice *slice, struct nodeslice_step *s)
{
	*s = (struct nodeslice_step) { .act = NODESLICE_CHANGE, .slice = slice };
	for (uint32_t i = 0; i < slice->n_nodes; i++)
		if (s->n_nodes < NODESLICE_MAX && map_remove(&f->wanted, slice->nodes[i]))
			s->nodes[s->n_nodes++] = slice->nodes[i];
}

static void free_name(const char *nodeset, const struct nodeslice *const *slices, size_t n, size_t *number,
                      char name[NODESLICE_NAME_MAX])
{
	size_t i;

	do {
		snprintf(name, NODESLICE_NAME_MAX, "%.240s-%zu", nodeset, (*number)++);
		for (i = 0; i < n && !str_eq(slices[i]->meta.name, name); i++)
			;
	} while (i < n);
}

size_t nodeslice_plan(const char *nodeset, const struct nodeslice *const *slices, size_t n_slices,
                      const char *const *names, size_t n_names, struct nodeslice_step *steps, size_t max)
{
	struct fill f = { .nodeset = nodeset, .names = names, .n_names = n_names };
	struct nodeslice_step *kept = mem_alloc_n(n_slices + 1, sizeof(*kept));
	size_t n = 0, number = 0;

	for (size_t i = 0; i < n_names; i++)
		map_put(&f.wanted, names[i], (void *)names[i]);
	for (size_t i = 0; i < n_slices; i++)
		keep(&f, slices[i], &kept[i]);
	for (size_t i = 0; i < n_slices && n < max; i++) {
		add_new(&f, &kept[i]);
		if (kept[i].n_nodes == 0)
			kept[i].act = NODESLICE_DELETE;
		/* the same number, and nothing new at the end: it is as it was */
		else if (kept[i].n_nodes == slices[i]->n_nodes &&
		         str_eq(kept[i].nodes[kept[i].n_nodes - 1], slices[i]->nodes[slices[i]->n_nodes - 1]))
			continue;
		steps[n++] = kept[i];
	}
	while (n < max) {
		struct nodeslice_step s = { .act = NODESLICE_CREATE };

		add_new(&f, &s);
		if (!s.n_nodes)
			break;
		free_name(nodeset, slices, n_slices, &number, s.name);
		steps[n++] = s;
	}
	map_done(&f.wanted);
	free(kept);
	return n;
}
