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

int64_t resources_effective(const struct pod *pod, const char *resource)
{
	int64_t sidecars = 0, init_peak = 0, running = 0;

	for (uint32_t i = 0; i < pod->n_init_containers; i++) {
		const struct container *c = &pod->init_containers[i];
		int64_t v = resources_request(c, resource);

		if (c->restart == RESTART_ALWAYS) {
			sidecars = add(sidecars, v);
			init_peak = MAX_OF(init_peak, sidecars);
		} else
			init_peak = MAX_OF(init_peak, add(sidecars, v));
	}
	running = sidecars;
	for (uint32_t i = 0; i < pod->n_containers; i++)
		running = add(running, resources_request(&pod->containers[i], resource));
	running = of_the_whole(pod, resource, MAX_OF(running, init_peak));
	return add(running, MAX_OF(amount_get(pod->overhead, pod->n_overhead, resource), 0));
}
