/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/validate.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/quantity.h"
#include "base/str.h"
#include "policy/resources.h"

#define GPU_SLICE_PREFIX "nvidia.com/mig-"
#define GRACE_DEFAULT_S 30               /* what Kubernetes fills in */
#define SLURM_COUNT_MAX 65533            /* CPUs, and what else Slurm counts in 16 bits; NO_VAL16 follows */
#define MILLI 1000

static void check_request(const struct pod *pod, const char *resource, const char *field, struct problems *problems)
{
	int64_t milli = resources_effective(pod, resource);

	if (milli == 0)
		problem_error(problems, field,
		              "the Pod asks for no %s: set resources.requests.%s of its containers, so that Slurm can "
		              "account for it",
		              resource, resource);
	else if (milli == QUANTITY_MAX)
		problem_error(problems, field, "the Pod asks for more %s than can be counted", resource);
	else if (str_eq(resource, "cpu") && quantity_units(milli) > SLURM_COUNT_MAX)
		problem_error(problems, field, "the Pod asks for %" PRId64 " CPUs, Slurm counts at most %d on one node",
		              quantity_units(milli), SLURM_COUNT_MAX);
}

static void check_grace(const struct pod *pod, const struct rules *rules, struct problems *problems)
{
	static const char field[] = "spec.terminationGracePeriodSeconds";
	int64_t grace = pod->has_grace ? pod->grace_s : GRACE_DEFAULT_S;
	usec_t offset = rules->termination_offset ? rules->termination_offset : TERMINATION_OFFSET;
	usec_t below = rules->kill_wait - offset;
	int64_t most = below > 0 ? (below - 1) / USEC_SEC : -1; /* whole seconds that are less */
	char kill_wait[TIME_TEXT_MAX], less[TIME_TEXT_MAX], what_to_do[64];

	if (grace < 0) {
		problem_error(problems, field, "must not be negative, it is %" PRId64, grace);
		return;
	}
	if (grace <= most)
		return;
	if (most >= 0)
		snprintf(what_to_do, sizeof(what_to_do), "set it to %" PRId64 " or less", most);
	else
		str_copy(what_to_do, sizeof(what_to_do), "KillWait must be raised");
	problem_error(problems, field,
	              "termination grace period must be less than Slurm KillWait - %s: it is %" PRId64
	              "s%s, KillWait is %s; %s",
	              duration_format(offset, less), grace, pod->has_grace ? "" : " (the default)",
	              duration_format(rules->kill_wait, kill_wait), what_to_do);
}

/* All containers, init containers first. */
static const struct container *container_at(const struct pod *pod, uint32_t i)
{
	return i < pod->n_init_containers ? &pod->init_containers[i] : &pod->containers[i - pod->n_init_containers];
}

static uint32_t n_containers(const struct pod *pod)
{
	return pod->n_init_containers + pod->n_containers;
}

static void check_whole(const struct pod *pod, const char *resource, struct problems *problems)
{
	char name[PROBLEM_QUOTE_MAX];

	for (uint32_t i = 0; i < n_containers(pod); i++) {
		const struct container *c = container_at(pod, i);

		if (amount_get(c->requests, c->n_requests, resource) % MILLI == 0 &&
		    amount_get(c->limits, c->n_limits, resource) % MILLI == 0)
			continue;
		problem_error(problems, "spec.containers", "container %s: %s must be a whole number",
		              problem_quote(str_or(c->name, ""), name), resource);
	}
}

static bool is_counted(const struct rules *rules, const char *resource)
{
	for (uint32_t i = 0; i < rules->n_gpu_resources; i++)
		if (str_eq(rules->gpu_resources[i], resource))
			return true;
	return false;
}

/* The first slice of a GPU among these that Slurm is not told of; NULL when there is none. */
static const char *uncounted_slice(const struct rules *rules, const struct amount *a, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (a[i].milli != 0 && str_starts(a[i].name, GPU_SLICE_PREFIX) && !is_counted(rules, a[i].name))
			return a[i].name;
	return NULL;
}

/* It would be a job's at the same time. */
static void check_slices(const struct pod *pod, const struct rules *rules, struct problems *problems)
{
	const char *slice = NULL;
	char name[PROBLEM_QUOTE_MAX];

	for (uint32_t i = 0; i < n_containers(pod) && !slice; i++) {
		const struct container *c = container_at(pod, i);

		slice = uncounted_slice(rules, c->requests, c->n_requests);
		if (!slice) /* a limit stands for the request */
			slice = uncounted_slice(rules, c->limits, c->n_limits);
	}
	if (slice)
		problem_warning(problems, "spec.containers",
		                "Slurm is not told of %s: the scheduler needs it as a --gpu-resource",
		                problem_quote(slice, name));
}

static void check_gpus(const struct pod *pod, const struct rules *rules, const struct wishes *wishes,
                       struct problems *problems)
{
	const char *found = NULL;

	for (uint32_t i = 0; i < rules->n_gpu_resources; i++) {
		const char *resource = rules->gpu_resources[i];
		int64_t milli = resources_effective(pod, resource);

		check_whole(pod, resource, problems);
		if (milli == 0)
			continue;
		if (quantity_units(milli) > SLURM_COUNT_MAX)
			problem_error(problems, "spec.containers", "the Pod asks for more than %d %s", SLURM_COUNT_MAX,
			              resource);
		if (found)
			problem_error(problems, "spec.containers",
			              "the Pod asks for both %s and %s: no node has two kinds of GPU", found, resource);
		found = resource;
	}
	check_slices(pod, rules, problems);
	if (found && wishes->shared == SHARED_OK)
		problem_warning(problems, "metadata.annotations[" ANNOTATION_PREFIX "exclusive]",
		                "'ok' lets jobs of anybody onto the node beside a Pod with GPUs; 'user' or 'none' is "
		                "meant for those");
}

/* Static CPU pinning */

/* What counts for the QoS class: the sum of one resource, as the API server would have filled it in. */
struct qos_sum {
	int64_t requests, limits;
	bool all_limited; /* every container has a limit */
};

static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* With resources of the Pod as a whole only these count. */
static struct qos_sum sum_of_the_whole(const struct container *w, const char *resource)
{
	int64_t limit = MAX_OF(amount_get(w->limits, w->n_limits, resource), 0);

	return (struct qos_sum) { resources_request(w, resource), limit, limit > 0 };
}

static struct qos_sum sum_up(const struct pod *pod, const char *resource)
{
	struct qos_sum sum = { .all_limited = true };

	if (pod->whole.n_requests || pod->whole.n_limits)
		return sum_of_the_whole(&pod->whole, resource);
	for (uint32_t i = 0; i < n_containers(pod); i++) {
		const struct container *c = container_at(pod, i);
		int64_t limit = amount_get(c->limits, c->n_limits, resource), request = resources_request(c, resource);

		sum.all_limited &= limit > 0;
		sum.limits = add(sum.limits, MAX_OF(limit, 0));
		sum.requests = add(sum.requests, request);
	}
	return sum;
}

static bool is_guaranteed(const struct pod *pod)
{
	static const char *const counted[] = { "cpu", "memory" };

	for (size_t i = 0; i < ARRAY_LEN(counted); i++) {
		struct qos_sum sum = sum_up(pod, counted[i]);

		if (!sum.all_limited || sum.requests == 0 || sum.requests != sum.limits)
			return false;
	}
	return true;
}

/* The kubelet's static CPU manager takes whole CPUs of a Guaranteed Pod away from everybody else: Slurm's accounting is wrong
 * from then on, jobs fail and the node is drained. */
static void check_static_cpu(const struct pod *pod, const struct rules *rules, struct problems *problems)
{
	if (!is_guaranteed(pod))
		return;
	for (uint32_t i = 0; i < n_containers(pod); i++) {
		const struct container *c = container_at(pod, i);
		int64_t milli = resources_request(c, "cpu");
		char name[PROBLEM_QUOTE_MAX];

		if (milli <= 0 || milli % MILLI)
			continue;
		(rules->allow_static_cpu ? problem_warning : problem_error)(
		        problems, "spec.containers",
		        "container %s: Guaranteed QoS with whole CPUs makes the kubelet pin them, which takes them "
		        "from Slurm and "
		        "drains the node; leave out its limits.cpu, or set it above requests.cpu",
		        problem_quote(str_or(c->name, ""), name));
		return; /* one container's change is enough to change the class */
	}
}

/* Kubernetes' scheduler allocates devices to claims before it binds, and we do not: bound, the Pod would never start. */
static void check_device_claims(const struct pod *pod, struct problems *problems)
{
	char name[PROBLEM_QUOTE_MAX];

	if (pod->n_device_claims)
		problem_error(problems, "spec.resourceClaims",
		              "Slurm cannot allocate the devices of claim %s: leave out resourceClaims, and ask for "
		              "devices as resources of containers, such as limits nvidia.com/gpu",
		              problem_quote(pod->device_claims[0], name));
}

void validate_pod(const struct pod *pod, const struct rules *rules, struct wishes *ret_wishes,
                  struct problems *problems)
{
	annotations_read(pod, ret_wishes, problems);
	check_request(pod, "cpu", "spec.containers", problems);
	check_request(pod, "memory", "spec.containers", problems);
	check_gpus(pod, rules, ret_wishes, problems);
	check_device_claims(pod, problems);
	check_static_cpu(pod, rules, problems);
	check_grace(pod, rules, problems);
}
