/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/pod_rules.h"

#include <assert.h>

static_assert(sizeof(struct pair) == sizeof(struct arg_pair) &&
                      offsetof(struct pair, key) == offsetof(struct arg_pair, key) &&
                      offsetof(struct pair, value) == offsetof(struct arg_pair, value),
              "a map of settings is read as pairs");

#define KILL_WAIT_DEFAULT (30 * USEC_SEC) /* Slurm's own */
#define KILL_WAIT_MAX (USEC_HOUR * 18)    /* Slurm holds it in 16 bits of seconds */

size_t pod_rules_rows(struct pod_rules *s, struct arg rows[POD_RULES_ROWS])
{
	static const char *gpu_resources[] = { "nvidia.com/gpu", "amd.com/gpu" };
	const struct arg table[] = {
		{ .flag = "scheduler-name",
		  .config = "scheduler.name",
		  .type = ARG_STRING,
		  .value = &s->scheduler_name,
		  .unit = "NAME",
		  .help = "spec.schedulerName of the Pods that Slurm schedules." },
		{ .flag = "slurm-kill-wait",
		  .config = "scheduler.slurmKillWait",
		  .type = ARG_DURATION,
		  .value = &s->kill_wait,
		  .min = USEC_SEC,
		  .max = KILL_WAIT_MAX,
		  .help = "Slurm's KillWait: a Pod's grace period must be less than this, less --termination-offset." },
		{ .flag = "termination-offset",
		  .config = "scheduler.terminationOffset",
		  .type = ARG_DURATION,
		  .value = &s->termination_offset,
		  .min = USEC_SEC,
		  .max = KILL_WAIT_MAX,
		  .help = "How long before KillWait a Pod must be gone." },
		{ .flag = "gpu-resource",
		  .config = "scheduler.gpuResources",
		  .type = ARG_LIST,
		  .value = &s->gpu_resources,
		  .unit = "NAME",
		  .help = "Resources that are GPUs." },
		{ .flag = "gpu-type-label",
		  .config = "scheduler.gpuTypeLabel",
		  .type = ARG_STRING,
		  .value = &s->gpu_type_label,
		  .unit = "KEY",
		  .help = "Label of Nodes whose value, where a Pod's node selector or required affinity names it, "
		          "tells the type "
		          "of its GPUs." },
		{ .flag = "gpu-types",
		  .config = "scheduler.gpuTypes",
		  .type = ARG_MAP,
		  .value = &s->gpu_types,
		  .unit = "VALUE=TYPE",
		  .help = "What Slurm calls the GPUs of Nodes with that value of the label; a value that is "
		          "not here asks for GPUs of any type." },
		{ .flag = "allow-static-cpu",
		  .config = "scheduler.allowStaticCPU",
		  .type = ARG_BOOL,
		  .value = &s->allow_static_cpu,
		  .help = "Only warn of Pods whose CPUs the kubelet would pin (Guaranteed QoS with whole CPUs)." },
	};

	static_assert(ARRAY_LEN(table) == POD_RULES_ROWS, "as many as the callers have room for");
	*s = (struct pod_rules) { .scheduler_name = (char *)"",
		                  .gpu_type_label = (char *)"gpu.nvidia.com/model",
		                  .kill_wait = KILL_WAIT_DEFAULT,
		                  .termination_offset = TERMINATION_OFFSET,
		                  .gpu_resources = { gpu_resources, ARRAY_LEN(gpu_resources) } };
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		rows[i] = table[i];
	return ARRAY_LEN(table);
}

void pod_rules_apply(const struct pod_rules *s, struct rules *rules)
{
	rules->scheduler_name = s->scheduler_name;
	rules->kill_wait = s->kill_wait;
	rules->termination_offset = s->termination_offset;
	rules->allow_static_cpu = s->allow_static_cpu;
	rules->gpu_resources = s->gpu_resources.items;
	rules->n_gpu_resources = (uint32_t)s->gpu_resources.n;
	rules->gpu_type_label = s->gpu_type_label;
	rules->gpu_types = (const struct pair *)s->gpu_types.items;
	rules->n_gpu_types = (uint32_t)s->gpu_types.n;
}
