/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/room.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/str.h"
#include "policy/resources.h"

#define ANY_IP "0.0.0.0"

/* ---- resources ---- */

static bool has(const struct asks *a, const char *name)
{
	for (size_t i = 0; i < a->n; i++)
		if (str_eq(a->list[i].name, name))
			return true;
	return false;
}

static void ask(struct asks *a, const struct pod *pod, const struct amount *amounts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		int64_t milli = has(a, amounts[i].name) ? 0 : resources_effective(pod, amounts[i].name);

		if (milli > 0)
			a->list[a->n++] = (struct amount) { amounts[i].name, milli };
	}
}

static size_t count_amounts(const struct container *c, uint32_t n)
{
	size_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += (size_t)c[i].n_requests + c[i].n_limits;
	return sum;
}

static void ask_containers(struct asks *a, const struct pod *pod, const struct container *c, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		ask(a, pod, c[i].requests, c[i].n_requests);
		ask(a, pod, c[i].limits, c[i].n_limits);
	}
}

void asks_init(struct asks *a, const struct pod *pod)
{
	size_t most = count_amounts(pod->containers, pod->n_containers) +
	              count_amounts(pod->init_containers, pod->n_init_containers) + count_amounts(&pod->whole, 1) +
	              pod->n_overhead;

	a->n = 0;
	a->list = mem_alloc_n(most, sizeof(*a->list));
	ask_containers(a, pod, pod->containers, pod->n_containers);
	ask_containers(a, pod, pod->init_containers, pod->n_init_containers);
	ask_containers(a, pod, &pod->whole, 1);
	ask(a, pod, pod->overhead, pod->n_overhead);
}

void asks_done(struct asks *a)
{
	free(a->list);
	*a = (struct asks) { 0 };
}

static int64_t allocatable(const struct knode *node, const char *resource)
{
	return amount_get(node->allocatable, node->n_allocatable, resource);
}

/* -1: the Node does not say */
static int64_t pods_allowed(const struct knode *node)
{
	for (uint32_t i = 0; i < node->n_allocatable; i++)
		if (str_eq(node->allocatable[i].name, "pods"))
			return node->allocatable[i].milli / 1000;
	return -1;
}

static bool is_short(struct shortage *ret, const char *resource, int64_t asked, int64_t has, int64_t whole)
{
	*ret = (struct shortage) { resource, asked, has, whole };
	return false;
}

bool room_ever(const struct asks *asks, const struct knode *node, struct shortage *ret)
{
	for (size_t i = 0; i < asks->n; i++) {
		int64_t whole = allocatable(node, asks->list[i].name);

		if (asks->list[i].milli > whole)
			return is_short(ret, asks->list[i].name, asks->list[i].milli, whole, whole);
	}
	if (pods_allowed(node) == 0)
		return is_short(ret, "pods", 1000, 0, 0);
	return true;
}

bool pod_counts(const struct pod *other, const struct pod *self)
{
	if (other->phase == POD_SUCCEEDED || other->phase == POD_FAILED || other == self)
		return false;
	if (!self)
		return true;
	if (other->meta.uid && self->meta.uid)
		return !str_eq(other->meta.uid, self->meta.uid);
	return !str_eq(other->meta.name, self->meta.name) || !str_eq(other->meta.ns, self->meta.ns);
}

bool room_for_pod(const struct pod *pod, const struct knode *node, const struct pod *const *on_node, size_t n_on_node,
                  struct shortage *ret)
{
	int64_t allowed = pods_allowed(node), count = 0;

	for (size_t i = 0; i < n_on_node; i++)
		count += pod_counts(on_node[i], pod);
	if (allowed >= 0 && count + 1 > allowed)
		return is_short(ret, "pods", 1000, (allowed - count) * 1000, allowed * 1000);
	return true;
}

static int64_t taken(const struct pod *pod, const struct pod *const *on_node, size_t n_on_node, const char *resource)
{
	int64_t sum = 0;

	for (size_t i = 0; i < n_on_node; i++)
		if (pod_counts(on_node[i], pod) &&
		    __builtin_add_overflow(sum, resources_held(on_node[i], resource), &sum))
			return INT64_MAX;
	return sum;
}

bool room_now(const struct pod *pod, const struct asks *asks, const struct knode *node,
              const struct pod *const *on_node, size_t n_on_node, struct shortage *ret)
{
	for (size_t i = 0; i < asks->n; i++) {
		const struct amount *a = &asks->list[i];
		int64_t whole = MAX_OF(allocatable(node, a->name), 0);
		int64_t left = whole - taken(pod, on_node, n_on_node, a->name);

		if (a->milli > left)
			return is_short(ret, a->name, a->milli, MAX_OF(left, 0), whole);
	}
	return true;
}

/* ---- host ports ---- */

struct port_walk {
	const struct pod *pod;
	uint32_t container, port; /* containers first, then the sidecars among the init containers */
};

static const struct host_port *port_next(struct port_walk *w)
{
	const struct pod *p = w->pod;

	for (; w->container < p->n_containers + p->n_init_containers; w->container++, w->port = 0) {
		bool is_init = w->container >= p->n_containers;
		const struct container *c =
		        is_init ? &p->init_containers[w->container - p->n_containers] : &p->containers[w->container];

		if (is_init && c->restart != RESTART_ALWAYS)
			continue;
		while (w->port < c->n_ports)
			if (c->ports[w->port++].port > 0)
				return &c->ports[w->port - 1];
	}
	return NULL;
}

static const char *or_default(const char *s, const char *otherwise)
{
	return str_empty(s) ? otherwise : s;
}

static bool port_clashes(const struct host_port *x, const struct host_port *y)
{
	const char *a = or_default(x->host_ip, ANY_IP), *b = or_default(y->host_ip, ANY_IP);

	return x->port == y->port && str_eq(or_default(x->protocol, "TCP"), or_default(y->protocol, "TCP")) &&
	       (str_eq(a, b) || str_eq(a, ANY_IP) || str_eq(b, ANY_IP));
}

const struct host_port *ports_clash(const struct pod *a, const struct pod *b)
{
	struct port_walk x = { .pod = a };
	const struct host_port *p, *q;

	while ((p = port_next(&x))) {
		struct port_walk y = { .pod = b };

		while ((q = port_next(&y)))
			if (port_clashes(p, q))
				return p;
	}
	return NULL;
}

/* ---- words ---- */

static bool is_in_bytes(const char *resource)
{
	return str_eq(resource, "memory") || str_eq(resource, "ephemeral-storage") ||
	       str_starts(resource, "hugepages-");
}

static const char *bytes_text(int64_t bytes, char text[AMOUNT_TEXT_MAX])
{
	static const char *const units[] = { "", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei" };
	size_t unit = 0;
	double v = (double)bytes;

	while (v >= 1024 && unit + 1 < ARRAY_LEN(units)) {
		v /= 1024;
		unit++;
	}
	if (v == (double)(int64_t)v)
		snprintf(text, AMOUNT_TEXT_MAX, "%.0f%s", v, units[unit]);
	else
		snprintf(text, AMOUNT_TEXT_MAX, "%.1f%s", v, units[unit]);
	return text;
}

const char *amount_text(const char *resource, int64_t milli, char text[AMOUNT_TEXT_MAX])
{
	if (is_in_bytes(resource))
		return bytes_text(milli / 1000, text);
	if (milli % 1000 == 0)
		snprintf(text, AMOUNT_TEXT_MAX, "%" PRId64, milli / 1000);
	else
		snprintf(text, AMOUNT_TEXT_MAX, "%" PRId64 "m", milli);
	return text;
}
