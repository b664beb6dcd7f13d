/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The syncer's shell: Slurm nodes and NodeSet Pods in, effects out. It reads Slurm's nodes again and again, joins them with the NodeSet
 * Pods by name, asks policy/ what each side should know of the other, does it through the two ports, and comes back when something
 * changed. All I/O goes through the ports and all time comes from the clock, so the simulation runs this very code. Core thread.
 *
 * What holds: for one node at most one change is under way on each side; nothing is decided from news that is older than the last change
 * or than our leadership; a list that failed, or Pods not heard of for long, change nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/metrics.h"
#include "port/kube.h"
#include "port/slurm.h"

struct syncer;

struct syncer_options {
	struct kube_port *kube;
	struct slurm_port *slurm;
	const struct clock *clock;
	struct metrics *metrics; /* may be NULL */
	/* Something is to be done before the moment that syncer_step() returned: call it soon. Never calls from within. */
	void (*wake)(void *arg);
	void *wake_arg;

	const char *ns; /* of the NodeSet Pods */
	usec_t poll_min, poll_max; /* bounds of the interval between two looks at Slurm's nodes; 0 = 500 ms, 30 s */
	usec_t metrics_interval; /* least interval for jobs, partitions and statistics; 0 = 5 s */
	usec_t stale_after; /* Pods not heard of for this long are not known; 0 = 2 min */
	usec_t hook_timeout; /* the longest that a hook is parked; 0 = 85 s */
	bool node_cleanup; /* Slurm nodes that NodeSlices no longer list are deleted */
	bool node_permissions; /* may write Nodes: the reboot hook */
	const char *reboot_condition, *reboot_reason; /* NULL = "PhaseState", "production-powerreset" */
	uint64_t seed; /* of chance; 0 = the kernel's */
};

struct syncer *syncer_new(const struct syncer_options *o);
void syncer_free(struct syncer *s); /* parked hook calls get 503; no answer of the ports may come any more */
DEFINE_FREEP(struct syncer, syncer_free)

/* Looks at everything that is due; returns when (monotonic) it wants to be called again at the latest. */
usec_t syncer_step(struct syncer *s);

/* Leadership began or ended. What was read under another term is not trusted any more. */
void syncer_leading(struct syncer *s, bool leading);

bool syncer_ready(const struct syncer *s, struct err *ret_why); /* both sides have been read once */

/* The metrics of the Slurm cluster, from what was read last. Asks nobody. Nothing but the age of the news without leadership. */
void syncer_export(const struct syncer *s, struct buf *out);

/* The hook API's calls (PRODUCT 3.6). Each is answered exactly once, at once or much later. */
enum syncer_hook {
	SYNCER_PRE_HOOK,
	SYNCER_POST_HOOK, /* an epilog: a job has ended there, look; answered when its Pod, if it has one, has left */
	SYNCER_REBOOT,
	SYNCER_HOOKS,
};
struct syncer_ask {
	enum syncer_hook hook;
	const char *node; /* the Slurm node */
	bool strict; /* PRE_HOOK */
	const char *slurmd_uid; /* PRE_HOOK: of the NodeSet Pod that the prolog runs in; NULL or "" = it does not say */
	const char *pod; /* POST_HOOK of a placeholder: "ns/name/uid"; NULL or "" = none */
	usec_t timeout; /* a span, how long the caller waits; 0 = it does not say */
	void (*reply)(void *arg, int status, const char *json);
	void *arg;
};
void syncer_hook(struct syncer *s, const struct syncer_ask *ask);
