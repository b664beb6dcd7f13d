/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An object of the model as one block, as a decoder would make it. What is copied of each struct, its texts and its lists, is a table;
 * a text or list that is in none is not copied, and must not be used in the model.
 */
#include "tests/sim/world.h"

#include <assert.h>
#include <string.h>

#include "model/nodeset.h"
#include "model/volume.h"

/* ---- packing ---- */

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

/* ---- what structs hold ---- */

struct shape;
struct list_field {
	size_t list, count; /* offsets of the pointer and of its uint32_t */
	const struct shape *of;
};

struct shape {
	size_t size;
	const size_t *texts; /* offsets */
	const struct list_field *lists;
	size_t n_texts, n_lists;
};

#define SHAPE(type, t, l)                                                                                              \
	{ .size = sizeof(type), .texts = (t), .n_texts = ARRAY_LEN(t), .lists = (l), .n_lists = ARRAY_LEN(l) }
#define SHAPE_OF_TEXTS(type, t) { .size = sizeof(type), .texts = (t), .n_texts = ARRAY_LEN(t) }
#define T(type, field) offsetof(type, field)
#define L(type, field, n, shape) { offsetof(type, field), offsetof(type, n), &(shape) }

static const size_t text_texts[] = { 0 };
static const struct shape text_shape = SHAPE_OF_TEXTS(const char *, text_texts);
static const size_t pair_texts[] = { T(struct pair, key), T(struct pair, value) };
static const struct shape pair_shape = SHAPE_OF_TEXTS(struct pair, pair_texts);
static const size_t amount_texts[] = { T(struct amount, name) };
static const struct shape amount_shape = SHAPE_OF_TEXTS(struct amount, amount_texts);
static const size_t owner_texts[] = { T(struct owner, kind), T(struct owner, name), T(struct owner, uid) };
static const struct shape owner_shape = SHAPE_OF_TEXTS(struct owner, owner_texts);
static const size_t condition_texts[] = { T(struct condition, type), T(struct condition, reason),
	                                  T(struct condition, message) };
static const struct shape condition_shape = SHAPE_OF_TEXTS(struct condition, condition_texts);
static const size_t toleration_texts[] = { T(struct toleration, key), T(struct toleration, value) };
static const struct shape toleration_shape = SHAPE_OF_TEXTS(struct toleration, toleration_texts);
static const size_t taint_texts[] = { T(struct taint, key), T(struct taint, value) };
static const struct shape taint_shape = SHAPE_OF_TEXTS(struct taint, taint_texts);
static const size_t status_texts[] = { T(struct container_status, name), T(struct container_status, reason),
	                               T(struct container_status, message) };
static const struct shape status_shape = SHAPE_OF_TEXTS(struct container_status, status_texts);

static const size_t container_texts[] = { T(struct container, name) };
static const struct list_field container_lists[] = {
	L(struct container, requests, n_requests, amount_shape),
	L(struct container, limits, n_limits, amount_shape),
};
static const struct shape container_shape = SHAPE(struct container, container_texts, container_lists);

static const size_t requirement_texts[] = { T(struct requirement, key) };
static const struct list_field requirement_lists[] = { L(struct requirement, values, n_values, text_shape) };
static const struct shape requirement_shape = SHAPE(struct requirement, requirement_texts, requirement_lists);
static const struct list_field term_lists[] = {
	L(struct selector_term, labels, n_labels, requirement_shape),
	L(struct selector_term, fields, n_fields, requirement_shape),
};
static const struct shape term_shape = { .size = sizeof(struct selector_term),
	                                 .lists = term_lists,
	                                 .n_lists = ARRAY_LEN(term_lists) };

static const size_t claim_texts[] = { T(struct volume_claim, volume), T(struct volume_claim, claim) };
static const struct shape claim_shape = SHAPE_OF_TEXTS(struct volume_claim, claim_texts);

/* Every object begins with its metadata. */
#define META_TEXTS T(struct meta, ns), T(struct meta, name), T(struct meta, uid), T(struct meta, resource_version)
#define META_LISTS                                                                                                     \
	L(struct meta, labels, n_labels, pair_shape), L(struct meta, annotations, n_annotations, pair_shape),          \
	        L(struct meta, owners, n_owners, owner_shape), L(struct meta, finalizers, n_finalizers, text_shape)

static const size_t pod_texts[] = { META_TEXTS, T(struct pod, scheduler_name), T(struct pod, node_name),
	                            T(struct pod, reason) };
static const struct list_field pod_lists[] = {
	META_LISTS,
	L(struct pod, node_selector, n_node_selector, pair_shape),
	L(struct pod, required_nodes, n_required_nodes, term_shape),
	L(struct pod, tolerations, n_tolerations, toleration_shape),
	L(struct pod, containers, n_containers, container_shape),
	L(struct pod, conditions, n_conditions, condition_shape),
	L(struct pod, statuses, n_statuses, status_shape),
	L(struct pod, gates, n_gates, text_shape),
	L(struct pod, volumes, n_volumes, claim_shape),
};

static const size_t node_texts[] = { META_TEXTS };
static const struct list_field node_lists[] = {
	META_LISTS,
	L(struct knode, taints, n_taints, taint_shape),
	L(struct knode, conditions, n_conditions, condition_shape),
	L(struct knode, allocatable, n_allocatable, amount_shape),
	L(struct knode, capacity, n_capacity, amount_shape),
};

static const size_t set_texts[] = { META_TEXTS,
	                            T(struct nodeset, name_label),
	                            T(struct nodeset, template_json),
	                            T(struct nodeset, max_unavailable),
	                            T(struct nodeset, status.selector),
	                            T(struct nodeset, status.revision) };
static const struct list_field set_lists[] = {
	META_LISTS,
	L(struct nodeset, select.node_selector, select.n_node_selector, pair_shape),
	L(struct nodeset, select.tolerations, select.n_tolerations, toleration_shape),
	L(struct nodeset, conditions, n_conditions, condition_shape),
};

static const size_t slice_texts[] = { META_TEXTS, T(struct nodeslice, nodeset) };
static const struct list_field slice_lists[] = { META_LISTS, L(struct nodeslice, nodes, n_nodes, text_shape) };

static const size_t pvc_texts[] = { META_TEXTS, T(struct pvc, volume), T(struct pvc, storage_class) };
static const struct list_field pvc_lists[] = { META_LISTS, L(struct pvc, access_modes, n_access_modes, text_shape) };
static const size_t pv_texts[] = { META_TEXTS, T(struct pv, claim_ns), T(struct pv, claim_name),
	                           T(struct pv, claim_uid), T(struct pv, storage_class) };
static const struct list_field pv_lists[] = { META_LISTS, L(struct pv, required_nodes, n_required_nodes, term_shape),
	                                      L(struct pv, access_modes, n_access_modes, text_shape) };
static const size_t class_texts[] = { META_TEXTS, T(struct storage_class, provisioner) };
static const struct list_field class_lists[] = { META_LISTS };

static const struct shape shapes[KUBE_KINDS] = {
	[KUBE_PODS] = SHAPE(struct pod, pod_texts, pod_lists),
	[KUBE_NODES] = SHAPE(struct knode, node_texts, node_lists),
	[KUBE_NODESETS] = SHAPE(struct nodeset, set_texts, set_lists),
	[KUBE_CLAIMS] = SHAPE(struct pvc, pvc_texts, pvc_lists),
	[KUBE_VOLUMES] = SHAPE(struct pv, pv_texts, pv_lists),
	[KUBE_CLASSES] = SHAPE(struct storage_class, class_texts, class_lists),
	[KUBE_NODESLICES] = SHAPE(struct nodeslice, slice_texts, slice_lists),
};

static void *pack_list(struct pack *p, const struct shape *s, const void *list, uint32_t n)
{
	char *to = pack_bytes(p, list, n * s->size);

	for (uint32_t i = 0; i < n; i++) {
		const char *from = (const char *)list + i * s->size;
		char *at_ = to ? to + i * s->size : NULL;

		for (size_t k = 0; k < s->n_texts; k++) {
			const char *text = pack_text(p, *(const char *const *)(const void *)(from + s->texts[k]));

			if (at_)
				memcpy(at_ + s->texts[k], &text, sizeof(text));
		}
		for (size_t k = 0; k < s->n_lists; k++) {
			const struct list_field *f = &s->lists[k];
			void *sub = pack_list(p, f->of, *(void *const *)(const void *)(from + f->list),
			                      *(const uint32_t *)(const void *)(from + f->count));

			if (at_)
				memcpy(at_ + f->list, &sub, sizeof(sub));
		}
	}
	return to;
}

size_t object_size(enum kube_kind kind)
{
	return shapes[kind].size;
}

void *object_copy(enum kube_kind kind, const void *object, size_t *ret_size)
{
	struct pack p = { 0 };

	assert(shapes[kind].size);
	(void)pack_list(&p, &shapes[kind], object, 1);
	*ret_size = p.used;
	p = (struct pack) { .base = mem_alloc(p.used) };
	(void)pack_list(&p, &shapes[kind], object, 1);
	return p.base;
}

/* ---- versions ---- */

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
