/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The operator's shell, as far as it is about Nodes: the Node Controller (the only writer of Nodes) and the Pod Controller
 * (Node → NodeSet Pod). One thing at a time for one Node: first the lock, then what one side mirrors of the other. All I/O goes
 * through the port, all time comes from the clock. Core thread.
 */
#pragma once

#include "base/metrics.h"
#include "port/kube.h"

struct operator;

struct operator_options {
	struct kube_port *kube;
	const struct clock *clock;
	struct metrics *metrics; /* may be NULL */
	void (*wake)(void *arg); /* as in scheduler/scheduler.h */
	void *wake_arg;
	const char *cluster; /* label cluster of Nodes whose Pod does not say; may be NULL */
	uint64_t seed; /* of chance; 0 = the kernel's */
};

struct operator* operator_new(const struct operator_options *o);
void operator_free(struct operator* op);
DEFINE_FREEP(struct operator, operator_free)

usec_t operator_step(struct operator* op); /* returns when it wants to be called again at the latest */
void operator_leading(struct operator* op, bool leading);
bool operator_ready(const struct operator* op, struct err *ret_why);
