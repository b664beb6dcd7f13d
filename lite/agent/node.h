/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One Node: registers it, keeps its lease fresh, tells its status. A node whose object someone deletes stays deleted until
 * the agent starts again, as with a kubelet.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "lite/agent/raw.h"
#include "net/loop.h"

struct node_spec {
	const char *name;
	const char *ip; /* InternalIP, what NodeSet Pods are named after */
	bool hollow;    /* its Pods only pretend */
	int64_t cpu_milli, memory_bytes, gpus, pods;
	const char *gpu_resource; /* "nvidia.com/gpu" */
	const char *gpu_model;    /* value of the label gpu.nvidia.com/model; NULL = none */
	const char *const *labels; /* "key=value", NULL-terminated */
	uint16_t port; /* where the agent serves logs */
};

struct agent_node;

struct agent_node *agent_node_new(struct loop *l, struct lane *lane, const struct node_spec *spec);
void agent_node_free(struct agent_node *n);

const struct node_spec *agent_node_spec(const struct agent_node *n);
bool agent_node_registered(const struct agent_node *n); /* its object exists and says Ready */

/* What it can give: thousandths, as in the Node's allocatable. */
int64_t agent_node_allocatable(const struct agent_node *n, const char *resource);
