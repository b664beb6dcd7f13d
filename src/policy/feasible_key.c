/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each value with its length before it, each list with its number of entries: no two different Pods read the same.
 */
#include <inttypes.h>

#include "base/str.h"
#include "policy/feasible.h"
#include "policy/room.h"

static void add(struct buf *out, const char *s)
{
	if (s)
		buf_printf(out, "%zu:%s", strlen(s), s);
	else
		buf_add_char(out, '-');
}

static void add_requirements(struct buf *out, const struct requirement *list, uint32_t n)
{
	buf_printf(out, "R%" PRIu32 " ", n);
	for (uint32_t i = 0; i < n; i++) {
		add(out, list[i].key);
		buf_printf(out, "o%d v%" PRIu32 " ", list[i].op, list[i].n_values);
		for (uint32_t k = 0; k < list[i].n_values; k++)
			add(out, list[i].values[k]);
	}
}

static void add_selector(struct buf *out, const struct pod *pod)
{
	buf_printf(out, "S%" PRIu32 " ", pod->n_node_selector);
	for (uint32_t i = 0; i < pod->n_node_selector; i++) {
		add(out, pod->node_selector[i].key);
		add(out, pod->node_selector[i].value);
	}
	if (!pod->has_required)
		return;
	buf_printf(out, "A%" PRIu32 " ", pod->n_required_nodes);
	for (uint32_t i = 0; i < pod->n_required_nodes; i++) {
		add_requirements(out, pod->required_nodes[i].labels, pod->required_nodes[i].n_labels);
		add_requirements(out, pod->required_nodes[i].fields, pod->required_nodes[i].n_fields);
	}
}

static void add_tolerations(struct buf *out, const struct pod *pod)
{
	buf_printf(out, "T%" PRIu32 " ", pod->n_tolerations);
	for (uint32_t i = 0; i < pod->n_tolerations; i++) {
		add(out, pod->tolerations[i].key);
		add(out, pod->tolerations[i].value);
		buf_printf(out, "o%d e%d ", pod->tolerations[i].op, pod->tolerations[i].effect);
	}
}

static void add_asks(struct buf *out, const struct pod *pod)
{
	_cleanup_asks_ struct asks a = { 0 };

	asks_init(&a, pod);
	buf_printf(out, "Q%zu ", a.n);
	for (size_t i = 0; i < a.n; i++) {
		add(out, a.list[i].name);
		buf_printf(out, "=%" PRId64 " ", a.list[i].milli);
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

	buf_printf(out, "V%" PRIu32 " ", v ? pod->n_volumes : 0);
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
		buf_printf(out, "C%" PRIu64 " ", v->version);
}

void feasible_key(const struct pod *pod, const struct pod_volumes *volumes, struct buf *out)
{
	add(out, pair_get(pod->meta.annotations, pod->meta.n_annotations, ANNOTATION_REQUIRED_NODES));
	add_selector(out, pod);
	add_tolerations(out, pod);
	add_asks(out, pod);
	add_volumes(out, pod, volumes);
}
