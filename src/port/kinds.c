/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "port/kinds.h"

#include <assert.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"
#include "model/volume.h"

const char *label_key(const char *key, const char *value, char text[LABEL_KEY_MAX])
{
	snprintf(text, LABEL_KEY_MAX, "%s=%s", key, str_or(value, ""));
	return text;
}

static void pod_by_node(const void *object, store_index_add add, void *arg)
{
	const struct pod *p = object;

	if (!str_empty(p->node_name))
		add(arg, p->node_name);
}

static void by_label(const void *object, store_index_add add, void *arg)
{
	const struct meta *m = object;
	char text[LABEL_KEY_MAX];

	for (uint32_t i = 0; i < m->n_labels; i++)
		add(arg, label_key(m->labels[i].key, m->labels[i].value, text));
}

static void by_owner(const void *object, store_index_add add, void *arg)
{
	const struct meta *m = object;

	for (uint32_t i = 0; i < m->n_owners; i++)
		if (!str_empty(m->owners[i].uid))
			add(arg, m->owners[i].uid);
}

static void pod_by_claim(const void *object, store_index_add add, void *arg)
{
	const struct pod *p = object;
	char key[STORE_KEY_MAX];

	for (uint32_t i = 0; i < p->n_volumes; i++) {
		const struct volume_claim *v = &p->volumes[i];

		if (v->ephemeral)
			snprintf(key, sizeof(key), "%s/%s-%s", str_or(p->meta.ns, ""), p->meta.name,
			         str_or(v->volume, ""));
		else
			snprintf(key, sizeof(key), "%s/%s", str_or(p->meta.ns, ""), str_or(v->claim, ""));
		add(arg, key);
	}
}

static void claim_by_volume(const void *object, store_index_add add, void *arg)
{
	const struct pvc *c = object;

	if (!str_empty(c->volume))
		add(arg, c->volume);
}

static void claim_by_class(const void *object, store_index_add add, void *arg)
{
	const struct pvc *c = object;

	if (!str_empty(c->storage_class))
		add(arg, c->storage_class);
}

static void volume_by_class(const void *object, store_index_add add, void *arg)
{
	const struct pv *v = object;

	if (!str_empty(v->storage_class))
		add(arg, v->storage_class);
}

static void nodeslice_by_node(const void *object, store_index_add add, void *arg)
{
	const struct nodeslice *s = object;

	for (uint32_t i = 0; i < s->n_nodes; i++)
		if (!str_empty(s->nodes[i]))
			add(arg, s->nodes[i]);
}

static const struct store_kind kinds[KUBE_KINDS] = {
	[KUBE_PODS] = { "pods",
	                { [POD_BY_NODE] = pod_by_node,
	                  [POD_BY_LABEL] = by_label,
	                  [POD_BY_OWNER] = by_owner,
	                  [POD_BY_CLAIM] = pod_by_claim } },
	[KUBE_NODES] = { "nodes", { [NODE_BY_LABEL] = by_label } },
	[KUBE_LEASES] = { "leases", { NULL } },
	[KUBE_CLAIMS] = { "claims", { [CLAIM_BY_VOLUME] = claim_by_volume, [CLAIM_BY_CLASS] = claim_by_class } },
	[KUBE_VOLUMES] = { "volumes", { [VOLUME_BY_CLASS] = volume_by_class } },
	[KUBE_CLASSES] = { "classes", { NULL } },
	[KUBE_NODESETS] = { "nodesets", { NULL }, .custom = true },
	[KUBE_NODESLICES] = { "nodeslices", { [NODESLICE_BY_NODE] = nodeslice_by_node }, .custom = true },
};

const struct store_kind *store_kind_of(enum kube_kind kind)
{
	assert(kind < KUBE_KINDS);
	return kinds[kind].name ? &kinds[kind] : NULL;
}
