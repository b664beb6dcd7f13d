/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What to do next for one Pod and its placeholder job. The heart of the Pod Scheduler: everything known of the Pod goes in
 * as values, one step comes out. The shell does the step and asks again when its answer is there or anything changed; it
 * never does two things for one Pod at a time. Pure.
 *
 * What holds:
 *  - A job is submitted only when a whole list of Slurm's jobs, asked for after anything of ours that may have been lost, has none
 *    for this Pod: at most one live job per Pod.
 *  - A Pod is bound only to the node of its running job whose script has started in this very run of the job.
 *  - A job whose Pod may still run is never cancelled before the Pod is told to go, unless Slurm ends it.
 *  - A Pod that holds a node without a live job is told to go, and says so (condition SlurmJobLive).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/pod.h"
#include "model/slurm.h"
#include "policy/feasible.h"
#include "policy/podjob.h"
#include "policy/problems.h"
#include "policy/rules.h"

#define PLACEHOLDER_UNSEEN (15 * USEC_SEC) /* a job without a Pod that we never saw: our view may be the older one */
#define PLACEHOLDER_LINGER                                                                                             \
	(10 * USEC_SEC) /* the script learns that its Pod is over and ends by itself; then we do it */
#define PLACEHOLDER_AGAIN (2 * USEC_SEC) /* first pause before a job that ended too early is made anew; doubles */
#define PLACEHOLDER_AGAIN_MAX (5 * USEC_MINUTE)
#define PLACEHOLDER_REFUSED_MAX USEC_MINUTE /* the same when its node was no good: others may be */
#define PLACEHOLDER_VOLUME_WAIT (2 * USEC_MINUTE) /* for a provisioner, holding a node */
#define DECISION_TEXT_MAX 1024 /* of an event: what Kubernetes takes, less one byte */
#define CONDITION_TEXT_MAX PROBLEMS_TEXT_MAX /* of a condition: Kubernetes takes 32 KiB */
#define CONDITION_JOB_LIVE "SlurmJobLive"

/* A job of this Pod (its uid is in the job's extra). */
struct placeholder_job {
	uint32_t id;
	int state; /* enum job_state */
	uint32_t flags; /* enum job_flag */
	uint32_t restarts;
	enum extra_mark mark;
	uint32_t mark_restarts;
	int64_t hook_restarts; /* the run in which the hook was told "started"; -1 = it was not */
	bool released; /* we gave it up ourselves */
	bool misnamed; /* someone changed its extra, by which prologs know it */
	bool launch_failed; /* it ended because it could not be started (prolog) */
	bool excluded_is_current; /* its exclude list is what we want it to be */
	const char *node; /* Slurm node; NULL = none */
	const char *kube_node; /* the Kubernetes Node of that; NULL = not known */
	const char *reason; /* Slurm's words for why it waits, or how it ended */
	const char *preemptor; /* the job that took its place, "4711 (train of alice)"; NULL = not known */
	bool preemptor_sought; /* and will not be */
	usec_t over_since; /* monotonic, when we first saw that it is over; 0 = it is not */
};

enum placing { /* just before binding; looked up only when STEP_PLACE asks for it */
	       PLACE_UNKNOWN,
	       PLACE_OK,
	       PLACE_BAD, /* place_why: end the job, try elsewhere */
	       PLACE_WAIT, /* place_why: a volume is being made */
	       PLACE_TAKE_VOLUME, /* a volume must be given to a claim */
	       PLACE_SELECT_NODE, /* a claim must get the node's name */
};

struct placeholder_view {
	const struct pod *pod; /* NULL = there is none with this uid */
	bool pod_was_seen; /* it was there since we began to look */
	bool in_scope; /* it is ours by scheduler name and namespace */
	usec_t pod_since; /* monotonic: since when it is gone (no pod) or over (phase); 0 = neither */
	const struct placeholder_job *jobs; /* in order of the id */
	uint32_t n_jobs;
	bool jobs_known; /* the jobs above are all there are, as of after the last lost answer */
	bool terminate; /* the script said that it is being ended */
	bool bind_unsure; /* the Pod's node is the one we asked for, but the answer was lost */
	const struct problems *problems; /* of validation; NULL = none */
	const struct feasible *feasible; /* NULL = the nodes are not known yet */
	const char *waits_for; /* a volume that must be there before a node is chosen; NULL = none */
	enum placing placing;
	const char *place_why; /* also of the last node that was no good */
	usec_t placing_since; /* monotonic, of PLACE_WAIT */
	const char *refused; /* what Slurm said to the last submission; NULL = nothing */
	usec_t refused_until; /* monotonic: not again before */
	const struct rules *rules;
	usec_t now; /* monotonic */
};

enum step {
	STEP_REST, /* nothing; `again` may say when to look again */
	STEP_LIST_JOBS, /* load all jobs, then ask again */
	STEP_PLACE, /* look whether the Pod fits on the node of job `job`, then ask again */
	STEP_SUBMIT,
	STEP_ADOPT, /* write job-id, toleration and deadline on the Pod */
	STEP_IDENTIFY, /* write the Pod's identity into the extra of job `job` */
	STEP_EXCLUDE, /* give job `job` the exclude list of the view */
	STEP_TAKE_VOLUME, /* give the waiting claim the volume that was chosen */
	STEP_SELECT_NODE, /* give the waiting claim the node's name */
	STEP_BIND, /* to job `job`'s node */
	STEP_RELEASE, /* mark job `job` as given up by us, then cancel it */
	STEP_CANCEL, /* cancel job `job` */
	STEP_DELETE, /* delete the Pod, with its own grace */
	STEPS,
};

struct decision {
	enum step step;
	uint32_t job; /* id */
	usec_t again; /* monotonic, USEC_NEVER = only when something changes */
	bool lost; /* the Pod holds resources that Slurm does not know of */
	bool live; /* its job runs where it is: it is not lost, whatever was said before */
	bool avoid; /* RELEASE: the node was no good; not there again for a while */
	bool patient; /* the condition may wait a moment: often the next step comes at once */
	bool warning; /* of the event */
	const char *event; /* its reason, "Submitted"; NULL = none */
	uint32_t event_job; /* told once for each reason and this job, whatever its text; 0 = once for each text */
	bool event_waits; /* more will be known in a moment; without it, it is told when the Pod goes */
	char event_text[DECISION_TEXT_MAX];
	const char *and_so; /* of "Cancelled": what comes of it, for cancelled_text() once it is known who did it */
	const char
	        *unscheduled; /* reason for PodScheduled=False: "Unschedulable", "ValidationFailed"; NULL = leave it */
	char unscheduled_text[CONDITION_TEXT_MAX]; /* last: not cleared but for its first byte */
};

/* by: "user alice (uid 1000)"; NULL = nobody knows. */
void cancelled_text(uint32_t job, const char *by, const char *and_so, char text[DECISION_TEXT_MAX]);

void placeholder_decide(const struct placeholder_view *view, struct decision *ret);

/* The job that counts for this Pod: the one alive that is furthest, else the latest; NULL when there is none. */
const struct placeholder_job *placeholder_job_of(const struct placeholder_view *view);

bool job_holds_node(const struct placeholder_job *j); /* running, suspended or still ending */
bool job_is_over(const struct placeholder_job *j);
/* The run of the job that has a script on a node: of one that is requeued, while it still ends, the one before the next. */
uint32_t job_run(const struct placeholder_job *j);
bool job_has_started(const struct placeholder_job *j); /* its script, in this run */
bool pod_is_over(const struct pod *pod);

const char *step_name(enum step step);
/* Whether the Pod already carries what STEP_ADOPT writes. */
bool pod_is_adopted(const struct pod *pod, uint32_t job, int64_t timeout_min);
bool pod_tolerates_lock(const struct pod *pod);
/* A Pod that is bound, and is ours: it has, or had, a job. Else someone put it there without asking us. */
bool pod_had_job(const struct pod *pod);
