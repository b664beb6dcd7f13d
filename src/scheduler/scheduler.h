/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The Pod Scheduler's shell: Pods and jobs in, effects out. It gathers what is known of one Pod (the Pod, its job, the Nodes),
 * asks policy/placeholder.h what to do, does it through the two ports, and comes back when something changed. All I/O goes
 * through the ports and all time comes from the clock, so the simulation runs this very code. Core thread.
 */
#pragma once

#include <stdint.h>

#include "base/metrics.h"
#include "policy/rules.h"
#include "port/kube.h"
#include "port/slurm.h"

struct scheduler;

struct scheduler_options {
	struct kube_port *kube;
	struct slurm_port *slurm;
	const struct clock *clock;
	struct metrics *metrics; /* may be NULL */
	/* Something is to be done before the moment that scheduler_step() returned: call it soon. Never calls from within. */
	void (*wake)(void *arg);
	void *wake_arg;

	struct rules rules; /* borrowed pointers: must outlive it */
	const char *nodeset_ns; /* the namespace of the NodeSet Pods */
	bool kill_wait_given; /* rules.kill_wait is an administrator's word; else it is read from the controller */
	const char *hook_program; /* path of sunk-hook on the compute nodes */
	const char *hook_url; /* where placeholders reach us: "http://10.0.0.7:8090" */
	const char *hook_ca_file; /* on the compute nodes, for https; NULL = none */
	const char *secret; /* for the jobs' tokens */
	size_t secret_len;
	const char *bell_host; /* the doorbell as slurmctld reaches it; NULL = none */
	uint16_t bell_port;
	usec_t poll_min, poll_max; /* bounds of the interval of the cheap poll */
	uint64_t seed; /* of its jitter; 0 = a new one every time */
};

struct scheduler *scheduler_new(const struct scheduler_options *o);
void scheduler_free(struct scheduler *s); /* parked hook calls get 503 */
DEFINE_FREEP(struct scheduler, scheduler_free)

/* Looks at everything that is due; returns when (monotonic) it wants to be called again at the latest. */
usec_t scheduler_step(struct scheduler *s);

/* Leadership began or ended. What was known of Slurm's jobs under another term is not trusted any more. */
void scheduler_leading(struct scheduler *s, bool leading);

bool scheduler_ready(const struct scheduler *s, struct err *ret_why); /* both sides have been read once */

/* The placeholder's calls (PRODUCT 2.7). Each is answered exactly once, at once or much later. */
enum scheduler_hook { HOOK_STARTED, HOOK_WAIT, HOOK_TERMINATE, HOOK_DRAIN, SCHEDULER_HOOKS };
struct hook_ask {
	enum scheduler_hook hook;
	uint32_t job_id;
	uint32_t run; /* of the job: how often it was started before */
	const char *uid; /* the Pod's, as the caller says; NULL = not said */
	const char *token;
	const char *node; /* STARTED: Slurm's name of the node that the caller is on; NULL = not said */
	usec_t park; /* STARTED, WAIT, TERMINATE: how long the caller has patience; 0 = it did not say. STARTED: then it has none */
	void (*reply)(void *arg, int status, const char *json);
	void *arg;
};
void scheduler_hook(struct scheduler *s, const struct hook_ask *ask);
