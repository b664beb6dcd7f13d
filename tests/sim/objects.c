/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An object of the model as one block, as a decoder would make it. Only the fields that the model uses are copied.
 */
#include "tests/sim/world.h"

#include <assert.h>
#include <string.h>

void *pack_bytes(struct pack *p, const void *data, size_t n)
{
	void *to = NULL;

	p->used = (p->used + 7) & ~(size_t)7;
	if (p->base && n) {
		to = p->base + p->used;
		memcpy(to, data, n);
	}
	p->used += n;
	return to;
}

const char *pack_text(struct pack *p, const char *s)
{
	size_t n = s ? strlen(s) + 1 : 0;
	char *to = NULL;

	if (!s)
		return NULL;
	if (p->base) {
		to = p->base + p->used;
		memcpy(to, s, n);
	}
	p->used += n;
	return to;
}

#define PACK_ARRAY(p, array, n) pack_bytes(p, array, (n) * sizeof(*(array)))
#define PACK_TEXT(p, to, from, field)                                                                                  \
	do {                                                                                                           \
		const char *text_ = pack_text(p, (from).field);                                                        \
		if (to)                                                                                                \
			(to)->field = text_;                                                                           \
	} while (0)

static struct pair *pack_pairs(struct pack *p, const struct pair *from, uint32_t n)
{
	struct pair *to = PACK_ARRAY(p, from, n);

	for (uint32_t i = 0; i < n; i++) {
		struct pair *t = to ? &to[i] : NULL;

		PACK_TEXT(p, t, from[i], key);
		PACK_TEXT(p, t, from[i], value);
	}
	return to;
}

static struct amount *pack_amounts(struct pack *p, const struct amount *from, uint32_t n)
{
	struct amount *to = PACK_ARRAY(p, from, n);

	for (uint32_t i = 0; i < n; i++)
		PACK_TEXT(p, to ? &to[i] : NULL, from[i], name);
	return to;
}

static struct condition *pack_conditions(struct pack *p, const struct condition *from, uint32_t n)
{
	struct condition *to = PACK_ARRAY(p, from, n);

	for (uint32_t i = 0; i < n; i++) {
		struct condition *t = to ? &to[i] : NULL;

		PACK_TEXT(p, t, from[i], type);
		PACK_TEXT(p, t, from[i], reason);
		PACK_TEXT(p, t, from[i], message);
	}
	return to;
}

static struct toleration *pack_tolerations(struct pack *p, const struct toleration *from, uint32_t n)
{
	struct toleration *to = PACK_ARRAY(p, from, n);

	for (uint32_t i = 0; i < n; i++) {
		struct toleration *t = to ? &to[i] : NULL;

		PACK_TEXT(p, t, from[i], key);
		PACK_TEXT(p, t, from[i], value);
	}
	return to;
}

static struct taint *pack_taints(struct pack *p, const struct taint *from, uint32_t n)
{
	struct taint *to = PACK_ARRAY(p, from, n);

	for (uint32_t i = 0; i < n; i++) {
		struct taint *t = to ? &to[i] : NULL;

		PACK_TEXT(p, t, from[i], key);
		PACK_TEXT(p, t, from[i], value);
	}
	return to;
}

static struct container *pack_containers(struct pack *p, const struct container *from, uint32_t n)
{
	struct container *to = PACK_ARRAY(p, from, n);

	for (uint32_t i = 0; i < n; i++) {
		const char *name = pack_text(p, from[i].name);
		struct amount *requests = pack_amounts(p, from[i].requests, from[i].n_requests);
		struct amount *limits = pack_amounts(p, from[i].limits, from[i].n_limits);

		if (to) {
			to[i].name = name;
			to[i].requests = requests;
			to[i].limits = limits;
		}
	}
	return to;
}

static struct container_status *pack_statuses(struct pack *p, const struct container_status *from, uint32_t n)
{
	struct container_status *to = PACK_ARRAY(p, from, n);

	for (uint32_t i = 0; i < n; i++) {
		struct container_status *t = to ? &to[i] : NULL;

		PACK_TEXT(p, t, from[i], name);
		PACK_TEXT(p, t, from[i], reason);
		PACK_TEXT(p, t, from[i], message);
	}
	return to;
}

static struct owner *pack_owners(struct pack *p, const struct owner *from, uint32_t n)
{
	struct owner *to = PACK_ARRAY(p, from, n);

	for (uint32_t i = 0; i < n; i++) {
		struct owner *t = to ? &to[i] : NULL;

		PACK_TEXT(p, t, from[i], kind);
		PACK_TEXT(p, t, from[i], name);
		PACK_TEXT(p, t, from[i], uid);
	}
	return to;
}

static void pack_meta(struct pack *p, struct meta *to, const struct meta *from)
{
	struct pair *labels, *annotations;
	struct owner *owners;

	PACK_TEXT(p, to, *from, ns);
	PACK_TEXT(p, to, *from, name);
	PACK_TEXT(p, to, *from, uid);
	PACK_TEXT(p, to, *from, resource_version);
	labels = pack_pairs(p, from->labels, from->n_labels);
	annotations = pack_pairs(p, from->annotations, from->n_annotations);
	owners = pack_owners(p, from->owners, from->n_owners);
	if (to) {
		to->owners = owners;
		to->labels = labels;
		to->annotations = annotations;
	}
}

static void pack_pod(struct pack *p, const struct pod *from)
{
	struct pod *to = pack_bytes(p, from, sizeof(*from));
	struct pair *selector;
	struct toleration *tolerations;
	struct container *containers;
	struct condition *conditions;
	struct container_status *statuses;
	const char **gates;

	pack_meta(p, to ? &to->meta : NULL, &from->meta);
	PACK_TEXT(p, to, *from, scheduler_name);
	PACK_TEXT(p, to, *from, node_name);
	PACK_TEXT(p, to, *from, reason);
	selector = pack_pairs(p, from->node_selector, from->n_node_selector);
	tolerations = pack_tolerations(p, from->tolerations, from->n_tolerations);
	containers = pack_containers(p, from->containers, from->n_containers);
	conditions = pack_conditions(p, from->conditions, from->n_conditions);
	statuses = pack_statuses(p, from->statuses, from->n_statuses);
	gates = PACK_ARRAY(p, from->gates, from->n_gates);
	for (uint32_t i = 0; i < from->n_gates; i++) {
		const char *gate = pack_text(p, from->gates[i]);

		if (gates)
			gates[i] = gate;
	}
	if (!to)
		return;
	to->node_selector = selector;
	to->tolerations = tolerations;
	to->containers = containers;
	to->conditions = conditions;
	to->statuses = statuses;
	to->gates = gates;
}

static void pack_knode(struct pack *p, const struct knode *from)
{
	struct knode *to = pack_bytes(p, from, sizeof(*from));
	struct taint *taints;
	struct amount *allocatable;
	struct condition *conditions;

	pack_meta(p, to ? &to->meta : NULL, &from->meta);
	taints = pack_taints(p, from->taints, from->n_taints);
	conditions = pack_conditions(p, from->conditions, from->n_conditions);
	allocatable = pack_amounts(p, from->allocatable, from->n_allocatable);
	if (!to)
		return;
	to->taints = taints;
	to->conditions = conditions;
	to->allocatable = to->capacity = allocatable;
}

static void pack_object(struct pack *p, enum kube_kind kind, const void *object)
{
	assert(kind == KUBE_PODS || kind == KUBE_NODES);
	if (kind == KUBE_PODS)
		pack_pod(p, object);
	else
		pack_knode(p, object);
}

void *object_copy(enum kube_kind kind, const void *object, size_t *ret_size)
{
	struct pack p = { 0 };

	pack_object(&p, kind, object);
	*ret_size = p.used;
	p = (struct pack) { .base = mem_alloc(p.used) };
	pack_object(&p, kind, object);
	return p.base;
}

struct version *version_new(enum kube_kind kind, const void *object, bool removed)
{
	struct version *v = NEW(struct version);

	v->refs = 1;
	v->kind = kind;
	v->removed = removed;
	v->object = object_copy(kind, object, &v->size);
	return v;
}

struct version *version_ref(struct version *v)
{
	v->refs++;
	return v;
}

void version_unref(struct version *v)
{
	if (!v || --v->refs)
		return;
	free(v->object);
	free(v);
}
