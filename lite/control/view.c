/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/control/view.h"

#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "kube/objects.h"
#include "lite/obj.h"
#include "lite/registry.h"
#include "policy/resources.h"

int64_t amounts_get(const struct amounts *a, const char *name)
{
	for (size_t i = 0; i < a->n; i++)
		if (str_eq(a->list[i].name, name))
			return a->list[i].milli;
	return 0;
}

void amounts_add(struct amounts *a, const char *name, int64_t milli)
{
	for (size_t i = 0; i < a->n; i++)
		if (str_eq(a->list[i].name, name)) {
			a->list[i].milli += milli;
			return;
		}
	if (a->n == VIEW_RESOURCES_MAX)
		return;
	a->list[a->n].name = mem_strdup(name);
	a->list[a->n++].milli = milli;
}

static void amounts_done(struct amounts *a)
{
	for (size_t i = 0; i < a->n; i++)
		free(a->list[i].name);
	a->n = 0;
}

struct view *view_new(void)
{
	struct view *v = NEW(struct view);

	v->scratch = NEW(struct json_scratch);
	return v;
}

/* ---- Nodes ---- */

static struct vnode *node_of(struct view *v, const char *name)
{
	struct vnode *n = map_get(&v->nodes, name);

	if (n)
		return n;
	n = NEW(struct vnode);
	n->name = mem_strdup(name);
	link_init(&n->pods);
	map_put(&v->nodes, n->name, n);
	return n;
}

static void vnode_free(struct vnode *n)
{
	amounts_done(&n->taken);
	free(n->node);
	free(n->name);
	free(n);
}

static void drop_node_if_unused(struct view *v, struct vnode *n)
{
	if (n->node || !list_empty(&n->pods))
		return;
	map_remove(&v->nodes, n->name);
	vnode_free(n);
}

void *view_decode(struct view *v, enum kube_kind kind, const struct item *i)
{
	_cleanup_doc_ yyjson_doc *doc = reg_read(i);
	struct err err = { 0 };
	void *ret = NULL;

	if (kube_decode(kind, yyjson_doc_get_root(doc), v->scratch, &ret, NULL, &err) < 0)
		log_debug("%s is not looked at: %s", i->key, err_text(&err));
	return ret;
}

void view_node(struct view *v, const struct item *i, bool gone)
{
	struct vnode *n = node_of(v, i->name);

	free(n->node);
	n->node = gone ? NULL : view_decode(v, KUBE_NODES, i);
	drop_node_if_unused(v, n);
}

/* ---- Pods ---- */

static void count_on_node(struct vnode *n, const struct vpod *p, int sign)
{
	if (pod_is_over(p->pod))
		return;
	n->n_pods = sign > 0 ? n->n_pods + 1 : n->n_pods - 1;
	for (size_t i = 0; i < p->asks.n; i++)
		amounts_add(&n->taken, p->asks.list[i].name, sign * p->asks.list[i].milli);
}

static void ask_of(struct vpod *p, const struct container *c, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < c[i].n_requests; k++)
			amounts_add(&p->asks, c[i].requests[k].name, 0);
		for (uint32_t k = 0; k < c[i].n_limits; k++)
			amounts_add(&p->asks, c[i].limits[k].name, 0);
	}
}

static void count_asks(struct vpod *p)
{
	ask_of(p, p->pod->containers, p->pod->n_containers);
	ask_of(p, p->pod->init_containers, p->pod->n_init_containers);
	for (uint32_t k = 0; k < p->pod->n_overhead; k++)
		amounts_add(&p->asks, p->pod->overhead[k].name, 0);
	for (size_t i = 0; i < p->asks.n; i++)
		p->asks.list[i].milli = resources_effective(p->pod, p->asks.list[i].name);
}

static void unlink_pod(struct view *v, struct vpod *p)
{
	struct vnode *n = str_empty(p->pod->node_name) ? NULL : map_get(&v->nodes, p->pod->node_name);
	const struct owner *o = meta_controller(&p->pod->meta);
	struct vowner *owner = o ? map_get(&v->owners, o->uid) : NULL;

	link_remove(&p->on_node);
	link_remove(&p->of_owner);
	if (n) {
		count_on_node(n, p, -1);
		drop_node_if_unused(v, n);
	}
	if (owner && list_empty(&owner->pods)) {
		map_remove(&v->owners, owner->uid);
		free(owner->uid);
		free(owner);
	}
}

static void link_pod(struct view *v, struct vpod *p)
{
	const struct owner *o = meta_controller(&p->pod->meta);
	struct vowner *owner;
	struct vnode *n;

	if (!str_empty(p->pod->node_name)) {
		n = node_of(v, p->pod->node_name);
		list_add_tail(&n->pods, &p->on_node);
		count_on_node(n, p, 1);
	}
	if (!o || str_empty(o->uid))
		return;
	owner = map_get(&v->owners, o->uid);
	if (!owner) {
		owner = NEW(struct vowner);
		owner->uid = mem_strdup(o->uid);
		link_init(&owner->pods);
		map_put(&v->owners, owner->uid, owner);
	}
	list_add_tail(&owner->pods, &p->of_owner);
}

static void vpod_free(struct vpod *p)
{
	amounts_done(&p->asks);
	free(p->pod);
	free(p->key);
	free(p);
}

void view_pod(struct view *v, const struct item *i, bool gone)
{
	struct vpod *p = map_remove(&v->pods, i->key);

	if (p) {
		unlink_pod(v, p);
		vpod_free(p);
	}
	if (gone)
		return;
	p = NEW(struct vpod);
	link_init(&p->on_node);
	link_init(&p->of_owner);
	p->key = mem_strdup(i->key);
	p->pod = view_decode(v, KUBE_PODS, i);
	if (!p->pod) {
		vpod_free(p);
		return;
	}
	count_asks(p);
	link_pod(v, p);
	map_put(&v->pods, p->key, p);
}

void view_free(struct view *v)
{
	struct vpod *p;
	struct vnode *n;
	size_t i = 0;

	if (!v)
		return;
	while ((p = map_next(&v->pods, &i))) {
		unlink_pod(v, p);
		vpod_free(p);
	}
	i = 0;
	while ((n = map_next(&v->nodes, &i)))
		vnode_free(n);
	map_done(&v->pods);
	map_done(&v->nodes);
	map_done(&v->owners);
	json_scratch_done(v->scratch);
	free(v->scratch);
	free(v);
}

struct vpod *view_get_pod(const struct view *v, const char *key)
{
	return map_get(&v->pods, key);
}

struct vnode *view_get_node(const struct view *v, const char *name)
{
	return name ? map_get(&v->nodes, name) : NULL;
}

struct link *view_pods_of(const struct view *v, const char *uid)
{
	struct vowner *o = uid ? map_get(&v->owners, uid) : NULL;

	return o ? &o->pods : NULL;
}

/* ---- what a Pod is ---- */

bool pod_is_over(const struct pod *p)
{
	return p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
}

static const struct condition *ready_of(const struct pod *p)
{
	return condition_get(p->conditions, p->n_conditions, "Ready");
}

bool pod_is_ready(const struct pod *p)
{
	const struct condition *c = ready_of(p);

	return c && c->status == COND_TRUE;
}

bool pod_is_available(const struct pod *p, int64_t min_ready_s, usec_t now, usec_t *ret_at)
{
	*ret_at = USEC_NEVER;
	if (!pod_is_ready(p))
		return false;
	if (min_ready_s <= 0)
		return true;
	*ret_at = ready_of(p)->changed + min_ready_s * USEC_SEC;
	return *ret_at <= now;
}
