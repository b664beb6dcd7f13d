/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/candidates.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "policy/selector.h"

#define LABEL_HOST "kubernetes.io/hostname"

bool volume_names(const struct pv *v, const struct pvc *c)
{
	return str_eq(v->claim_name, c->meta.name) && str_eq(str_or(v->claim_ns, ""), str_or(c->meta.ns, "")) &&
	       (str_empty(v->claim_uid) || str_eq(v->claim_uid, c->meta.uid));
}

static bool has_modes(const struct pvc *c, const struct pv *v)
{
	for (uint32_t i = 0; i < c->n_access_modes; i++) {
		bool found = false;

		for (uint32_t k = 0; k < v->n_access_modes && !found; k++)
			found = str_eq(v->access_modes[k], c->access_modes[i]);
		if (!found)
			return false;
	}
	return true;
}

static bool is_selected(const struct pvc *c, const struct pv *v)
{
	const struct meta *m = &v->meta;

	for (uint32_t i = 0; i < c->n_match_labels; i++)
		if (!str_eq(pair_get(m->labels, m->n_labels, c->match_labels[i].key), c->match_labels[i].value))
			return false;
	for (uint32_t i = 0; i < c->n_match; i++)
		if (!requirement_holds(&c->match[i], pair_get(m->labels, m->n_labels, c->match[i].key)))
			return false;
	return true;
}

static bool would_do(const struct pvc *c, const struct pv *v, bool own)
{
	if (v->meta.deletion || v->capacity < c->request || v->mode != c->mode ||
	    !str_eq(str_or(v->attributes_class, ""), str_or(c->attributes_class, "")))
		return false;
	return own || (v->phase == PV_AVAILABLE && is_selected(c, v) && has_modes(c, v) &&
	               str_eq(str_or(v->storage_class, ""), str_or(c->storage_class, "")));
}

/* Most volumes that wait for a consumer are disks of one host: those are found by its name. */
static const char *host_of(const struct pv *v)
{
	if (v->n_required_nodes != 1)
		return NULL;
	for (uint32_t i = 0; i < v->required_nodes[0].n_labels; i++) {
		const struct requirement *r = &v->required_nodes[0].labels[i];

		if (r->op == SEL_IN && r->n_values == 1 && str_eq(r->key, LABEL_HOST))
			return r->values[0];
	}
	return NULL;
}

void candidates_add(struct candidates *c, const struct pvc *claim, const struct pv *v)
{
	bool own = !str_empty(v->claim_name) && volume_names(v, claim);

	if ((!own && (c->own || !str_empty(v->claim_name))) || !would_do(claim, v, own))
		return;
	if (own && !c->own) {
		c->own = true;
		c->n = 0;
	}
	if (c->n == c->size) {
		c->size = c->size ? 2 * c->size : 8;
		c->list = mem_realloc_n(c->list, c->size, sizeof(*c->list));
	}
	c->list[c->n++] = (struct candidate) { .volume = v, .host = host_of(v) };
}

static int by_size(const struct pv *a, const struct pv *b)
{
	if (a->capacity != b->capacity)
		return a->capacity < b->capacity ? -1 : 1;
	return strcmp(a->meta.name, b->meta.name);
}

static int by_host(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int r = strcmp(str_or(x->host, ""), str_or(y->host, ""));

	return r ? r : by_size(x->volume, y->volume);
}

void candidates_sort(struct candidates *c)
{
	if (c->n > 1)
		qsort(c->list, c->n, sizeof(*c->list), by_host);
}

void candidates_done(struct candidates *c)
{
	free(c->list);
	*c = (struct candidates) { 0 };
}

const struct pv *candidates_smallest(const struct candidates *c)
{
	const struct pv *best = NULL;

	for (uint32_t i = 0; i < c->n; i++)
		if (!best || by_size(c->list[i].volume, best) < 0)
			best = c->list[i].volume;
	return best;
}

static uint32_t first_of(const struct candidates *c, const char *host)
{
	uint32_t low = 0, high = c->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (strcmp(str_or(c->list[middle].host, ""), host) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_taken(const struct pv *v, const struct pv *const *taken, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (taken[i] == v)
			return true;
	return false;
}

static const struct pv *best_of(const struct candidates *c, const char *host, const struct knode *node,
                                const struct pv *const *taken, uint32_t n_taken)
{
	for (uint32_t i = first_of(c, host); i < c->n && str_eq(str_or(c->list[i].host, ""), host); i++) {
		const struct pv *v = c->list[i].volume;

		if (!is_taken(v, taken, n_taken) &&
		    (!v->has_required || node_matches_terms(v->required_nodes, v->n_required_nodes, node)))
			return v;
	}
	return NULL;
}

const struct pv *candidates_best(const struct candidates *c, const struct knode *node, const struct pv *const *taken,
                                 uint32_t n_taken)
{
	const char *host = pair_get(node->meta.labels, node->meta.n_labels, LABEL_HOST);
	const struct pv *any = best_of(c, "", node, taken, n_taken);
	const struct pv *local = str_empty(host) ? NULL : best_of(c, host, node, taken, n_taken);

	if (!any || !local)
		return any ? any : local;
	return by_size(any, local) < 0 ? any : local;
}
