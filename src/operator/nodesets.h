/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The NodeSet Controller's shell: gathers what policy/nodeset_plan.h and policy/nodeslice.h look at, takes their steps, waits until
 * these show, and writes the status. All I/O goes through the port, all time comes from the clock. Core thread.
 *
 * What holds: no Pod is made for a Node that another NodeSet has, or is making one for. A NodeSet being deleted stays (finalizer)
 * until its Pods are drained and gone, unless its Pods are to be left behind (--cascade=orphan).
 */
#pragma once

#include "base/metrics.h"
#include "port/kube.h"

#define NODESET_FINALIZER "sunk.coreweave.com/drain"

struct nodesets;

struct nodesets_options {
	struct kube_port *kube;
	const struct clock *clock;
	struct metrics *metrics; /* may be NULL */
	void (*wake)(void *arg);
	void *wake_arg;
	uint64_t seed; /* of chance; 0 = the kernel's */
};

struct nodesets *nodesets_new(const struct nodesets_options *o);
void nodesets_free(struct nodesets *c);
DEFINE_FREEP(struct nodesets, nodesets_free)

usec_t nodesets_step(struct nodesets *c); /* when it wants to be called again at the latest */
void nodesets_leading(struct nodesets *c, bool leading);
