/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a shell may ask of Slurm. Two implementations: the real one (slurm/) and the simulation's. Requests are values;
 * each is answered exactly once, later, from the loop, never from within the call. Those that change something pass the
 * gate.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/time.h"
#include "model/slurm.h"

enum slurm_verb {
	SLURM_PING,
	SLURM_LOAD_CONF,
	SLURM_LOAD_STATS,
	SLURM_LOAD_PARTITIONS,
	SLURM_LOAD_JOB_STATES, /* ids and states of all jobs: cheap */
	SLURM_LOAD_JOBS,       /* all; `since` makes it "unchanged" when nothing changed */
	SLURM_LOAD_JOB,        /* one, by job_id */
	SLURM_LOAD_RECORD,     /* what slurmdbd has of one job, see below */
	SLURM_LOAD_NODES,      /* all; `since` as above */
	SLURM_LOAD_NODE,       /* one, by node */
	/* from here on they change something */
	SLURM_SUBMIT,
	SLURM_CANCEL,          /* as scancel: TERM, KillWait, KILL */
	SLURM_SIGNAL,          /* `signal` to the batch script (and its children with `whole_job`) */
	SLURM_CHANGE_JOB,
	SLURM_CHANGE_NODE,     /* one node or a hostlist */
	SLURM_CREATE_NODE,     /* `text` is a line as in slurm.conf: "NodeName=… CPUs=…" */
	SLURM_DELETE_NODE,
	SLURM_VERBS,
};

/* LOAD_RECORD is answered by accounting, by job_id and (`since`) when the job was submitted: one job with its user and, when it was
 * cancelled, user_cancelled_by. GONE: not there, or not yet. Its silence says nothing of whether Slurm is there. */

static inline bool slurm_verb_changes(enum slurm_verb verb)
{
	return verb >= SLURM_SUBMIT;
}

struct slurm_request {
	enum slurm_verb verb;
	uint32_t job_id;
	const char *node, *text;
	usec_t since; /* the as_of of an earlier answer, 0 = everything */
	uint64_t
	        digest; /* LOAD_JOBS, LOAD_JOB_STATES: that of an earlier answer. The same answer again is "unchanged". 0 = none */
	bool detail; /* jobs: resources per node too */
	bool lean; /* LOAD_JOBS: only whose they are and how they stand; nothing that changes while they only wait */
	bool whole_job;
	int signal;
	const struct job_spec *spec;
	const struct job_change *job_change;
	const struct node_change *node_change;
	usec_t timeout; /* a span; 0 = the port's default */
};

enum slurm_outcome {
	SLURM_OK,
	SLURM_UNCHANGED, /* nothing new since `since`, or since the answer with that `digest` */
	SLURM_RETRY, /* controller, munge or network away, or busy: the same again may work */
	SLURM_REFUSED, /* Slurm says no: the same again will fail */
	SLURM_GONE, /* no such job or node, or it is already over */
	SLURM_NOT_LEADER,
	SLURM_CONFLICT, /* not as expected (node_change.expect): nothing was changed, look again */
};

struct slurm_result {
	enum slurm_outcome outcome;
	int code; /* Slurm's error number, 0 = none */
	const char *message; /* one sentence with Slurm's own words; never NULL */
	bool maybe_done; /* RETRY of a change: it may have happened all the same */
	usec_t asked; /* monotonic, when the request left: what it tells is at least as new as this */
	usec_t as_of; /* Slurm's own stamp of the data, for `since` */
	uint64_t digest; /* of what it tells, for the next request; 0 = none */
	uint32_t job_id; /* SUBMIT */
	uint32_t n; /* elements of whichever array is set */
	struct job *jobs;
	struct job_brief *states;
	struct snode *nodes;
	struct spartition *partitions;
	struct slurm_stats *stats;
	struct slurm_conf *conf;
	/* The block that all of the above points into. The callback may take it (set it to NULL) and free() it later. */
	void *block;
};

typedef void (*slurm_done)(void *arg, struct slurm_result *result);

struct slurm_port;

struct slurm_port_ops {
	void (*call)(struct slurm_port *p, const struct slurm_request *request, slurm_done done, void *arg);
	/* False with the reason as long as Slurm cannot be used: "slurm.conf: no such file", "controller does not answer". */
	bool (*ready)(struct slurm_port *p, struct err *ret_why);
	/* Called whenever a doorbell rings: something about our jobs changed, look. */
	void (*on_ring)(struct slurm_port *p, void (*ring)(void *arg), void *arg);
};

struct slurm_port {
	const struct slurm_port_ops *ops;
};
