/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/resources.h"

#include "base/mem.h"
#include "base/str.h"

static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static bool has(const struct amount *amounts, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (str_eq(amounts[i].name, name))
			return true;
	return false;
}

/* The API server fills in a missing request from the limit; a Pod that did not pass through it may lack that. */
int64_t resources_request(const struct container *c, const char *resource)
{
	int64_t v = has(c->requests, c->n_requests, resource) ? amount_get(c->requests, c->n_requests, resource)
	                                                      : amount_get(c->limits, c->n_limits, resource);

	return v < 0 ? 0 : v;
}

/* What may be given to a Pod as a whole. */
static bool is_for_the_whole(const char *resource)
{
	return str_eq(resource, "cpu") || str_eq(resource, "memory") || str_starts(resource, "hugepages-");
}

/* The request of the Pod as a whole stands above its containers' sum; its limit fills in when no container asks. */
static int64_t of_the_whole(const struct pod *pod, const char *resource, int64_t sum)
{
	const struct container *w = &pod->whole;

	if (!is_for_the_whole(resource))
		return sum;
	if (has(w->requests, w->n_requests, resource) || sum == 0)
		return resources_request(w, resource);
	return sum;
}

/* ---- resizing in place ---- */

static bool resize_is_infeasible(const struct pod *pod)
{
	const struct condition *c = condition_get(pod->conditions, pod->n_conditions, "PodResizePending");

	return c && c->status == COND_TRUE && str_eq(c->reason, "Infeasible");
}

static const struct container_status *status_of(const struct container_status *s, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (str_eq(s[i].name, name))
			return &s[i];
	return NULL;
}

/* 0: the kubelet does not say. */
static int64_t resized_to(const struct container_status *s, const char *resource)
{
	if (str_eq(resource, "cpu"))
		return MAX_OF(s->granted.cpu, s->in_effect.cpu);
	if (str_eq(resource, "memory"))
		return MAX_OF(s->granted.memory, s->in_effect.memory);
	return 0;
}

static int64_t held(const struct pod *pod, const struct container *c, const struct container_status *s,
                    const char *resource)
{
	int64_t asked = resources_request(c, resource), has = s ? resized_to(s, resource) : 0;

	if (has > 0 && has != asked && resize_is_infeasible(pod))
		return has;
	return MAX_OF(asked, has);
}

/* ---- all containers ---- */

/* `on_node`: as the kubelet has them by now. */
static int64_t effective(const struct pod *pod, const char *resource, bool on_node)
{
	uint32_t n_inits = on_node ? pod->n_init_statuses : 0, n_mains = on_node ? pod->n_statuses : 0;
	int64_t sidecars = 0, init_peak = 0, running = 0;

	for (uint32_t i = 0; i < pod->n_init_containers; i++) {
		const struct container *c = &pod->init_containers[i];

		if (c->restart == RESTART_ALWAYS) {
			const struct container_status *s = status_of(pod->init_statuses, n_inits, c->name);

			sidecars = add(sidecars, held(pod, c, s, resource));
			init_peak = MAX_OF(init_peak, sidecars);
		} else
			init_peak = MAX_OF(init_peak, add(sidecars, resources_request(c, resource)));
	}
	running = sidecars;
	for (uint32_t i = 0; i < pod->n_containers; i++) {
		const struct container *c = &pod->containers[i];

		running = add(running, held(pod, c, status_of(pod->statuses, n_mains, c->name), resource));
	}
	running = of_the_whole(pod, resource, MAX_OF(running, init_peak));
	return add(running, MAX_OF(amount_get(pod->overhead, pod->n_overhead, resource), 0));
}

int64_t resources_effective(const struct pod *pod, const char *resource)
{
	return effective(pod, resource, false);
}

int64_t resources_held(const struct pod *pod, const char *resource)
{
	return effective(pod, resource, true);
}
