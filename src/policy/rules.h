/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What an administrator has settled about Pods that Slurm schedules: the settings that decisions depend on. Values, set
 * once at start; the daemon's flags and `sunk validate` both fill it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "model/meta.h"

#define ANNOTATION_PREFIX "sunk.coreweave.com/"
#define ANNOTATION_JOB_ID ANNOTATION_PREFIX "job-id"
#define ANNOTATION_REQUIRED_NODES ANNOTATION_PREFIX "required-nodes"
#define LABEL_NODESET ANNOTATION_PREFIX "nodeset"
#define TAINT_LOCK ANNOTATION_PREFIX "lock"

#define TERMINATION_OFFSET (5 * USEC_SEC) /* for the hook, the API and the kubelet to do their part */

enum on_job_cancel { ON_CANCEL_DELETE, ON_CANCEL_RESUBMIT };

struct rules {
	const char *scheduler_name;    /* spec.schedulerName of our Pods */
	const char *const *namespaces; /* n = 0: all */
	uint32_t n_namespaces;
	usec_t kill_wait; /* Slurm's KillWait */
	usec_t termination_offset; /* a Pod is to be gone this long before it; 0 = TERMINATION_OFFSET */
	bool allow_static_cpu;
	enum on_job_cancel on_cancel;
	const char *const *gpu_resources; /* "nvidia.com/gpu", "amd.com/gpu" */
	uint32_t n_gpu_resources;
	const char *gpu_type_label;   /* "gpu.nvidia.com/model" */
	const struct pair
	        *gpu_types; /* the label's value, or the resource → Slurm's type; not here: no type is asked for */
	uint32_t n_gpu_types;
	uint32_t uid, gid; /* who a job runs as when the Pod does not say */
};

bool rules_have_namespace(const struct rules *rules, const char *ns);
