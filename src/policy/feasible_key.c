/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each value with its length before it, each list with its number of entries: no two different Pods read the same.
 */
#include "base/str.h"
#include "policy/feasible.h"
#include "policy/room.h"

/* By hand: each look at a waiting Pod makes a key. */
static void add_number(struct buf *out, char mark, uint64_t n)
{
	char text[24], *at = text + sizeof(text);

	*--at = ' ';
	do
		*--at = (char)('0' + n % 10);
	while (n /= 10);
	*--at = mark;
	buf_add(out, at, (size_t)(text + sizeof(text) - at));
}

static void add(struct buf *out, const char *s)
{
	size_t len = s ? strlen(s) : 0;

	add_number(out, s ? ':' : '-', len);
	buf_add(out, s ? s : "", len);
}

static void add_requirements(struct buf *out, const struct requirement *list, uint32_t n)
{
	add_number(out, 'R', n);
	for (uint32_t i = 0; i < n; i++) {
		add(out, list[i].key);
		add_number(out, 'o', (uint64_t)list[i].op);
		add_number(out, 'v', list[i].n_values);
		for (uint32_t k = 0; k < list[i].n_values; k++)
			add(out, list[i].values[k]);
	}
}

static void add_selector(struct buf *out, const struct pod *pod)
{
	add_number(out, 'S', pod->n_node_selector);
	for (uint32_t i = 0; i < pod->n_node_selector; i++) {
		add(out, pod->node_selector[i].key);
		add(out, pod->node_selector[i].value);
	}
	if (!pod->has_required)
		return;
	add_number(out, 'A', pod->n_required_nodes);
	for (uint32_t i = 0; i < pod->n_required_nodes; i++) {
		add_requirements(out, pod->required_nodes[i].labels, pod->required_nodes[i].n_labels);
		add_requirements(out, pod->required_nodes[i].fields, pod->required_nodes[i].n_fields);
	}
}

static void add_tolerations(struct buf *out, const struct pod *pod)
{
	add_number(out, 'T', pod->n_tolerations);
	for (uint32_t i = 0; i < pod->n_tolerations; i++) {
		add(out, pod->tolerations[i].key);
		add(out, pod->tolerations[i].value);
		add_number(out, 'o', (uint64_t)pod->tolerations[i].op);
		add_number(out, 'e', (uint64_t)pod->tolerations[i].effect);
	}
}

static void add_asks(struct buf *out, const struct pod *pod)
{
	_cleanup_asks_ struct asks a = { 0 };

	asks_init(&a, pod);
	add_number(out, 'Q', a.n);
	for (size_t i = 0; i < a.n; i++) {
		add(out, a.list[i].name);
		add_number(out, '=', (uint64_t)a.list[i].milli);
	}
}

static void add_object(struct buf *out, const struct meta *m)
{
	add(out, m ? m->uid : NULL);
	add(out, m ? m->resource_version : NULL);
}

/* A claim, a volume and a class are known by uid and version. */
static void add_volumes(struct buf *out, const struct pod *pod, const struct pod_volumes *v)
{
	char name[CLAIM_NAME_MAX];

	add_number(out, 'V', v ? pod->n_volumes : 0);
	for (uint32_t i = 0; v && i < pod->n_volumes; i++) {
		bool known = i < v->n;
		const struct pvc *claim = known ? v->claims[i] : NULL;
		const struct pv *volume = known && v->volumes ? v->volumes[i] : NULL;
		const struct storage_class *class = known && v->classes ? v->classes[i] : NULL;

		add(out, pod->meta.ns);
		add(out, claim_name(pod, i, name));
		add_object(out, claim ? &claim->meta : NULL);
		add_object(out, volume ? &volume->meta : NULL);
		add_object(out, class ? &class->meta : NULL);
	}
	if (v && v->candidates)
		add_number(out, 'C', v->version);
}

void feasible_key(const struct pod *pod, const struct pod_volumes *volumes, struct buf *out)
{
	add(out, pair_get(pod->meta.annotations, pod->meta.n_annotations, ANNOTATION_REQUIRED_NODES));
	add_selector(out, pod);
	add_tolerations(out, pod);
	add_asks(out, pod);
	add_volumes(out, pod, volumes);
}
