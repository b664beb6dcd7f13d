/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Pod → placeholder job, as a value; and the identity of the Pod in the job's `extra`. Pure.
 */
#pragma once

#include <stdbool.h>

#include "model/pod.h"
#include "model/slurm.h"
#include "policy/annotations.h"
#include "policy/rules.h"

#define POD_UID_MAX 64      /* and NUL; Kubernetes' are 36 */
#define POD_IDENTITY_MAX (63 + 1 + 253 + 1 + POD_UID_MAX)
#define EXTRA_MAX (POD_IDENTITY_MAX + 32)

/* "<namespace>/<name>/<uid>" */
const char *pod_identity(const struct pod *pod, char text[POD_IDENTITY_MAX]);

/* The job's admin comment: the same identity behind one of these. Anyone can give a job of his any name and extra; this only an operator
 * of Slurm can write, so it proves whose the job is. RELEASED once the scheduler gave it up: whoever cancelled it, it was us. (Not in the
 * extra, which the job's own script may be writing at the same moment.) */
#define OURS_MARK "sunk: "
#define RELEASED_MARK "sunk: released "

/* What `extra` says: the identity, then nothing or ": started" (with " N" when the job was restarted N times). */
enum extra_mark { EXTRA_PLAIN, EXTRA_STARTED };
struct extra_id {
	char ns[64], name[254], uid[POD_UID_MAX];
	enum extra_mark mark;
	uint32_t restarts; /* of a STARTED mark: which run of the job */
};
/* False when it is no identity of a Pod: a foreign job. */
bool extra_parse(const char *extra, struct extra_id *ret);
/* Identity with its mark, as it is written. */
const char *extra_format(const struct extra_id *id, char text[EXTRA_MAX]);

/* Which Pod a job stands for, as it says itself. */
struct job_claim {
	struct extra_id id;
	bool sure; /* the admin comment says so; else only name and extra, as anyone can write them */
	bool released; /* we gave it up */
	bool misnamed; /* its extra says something else, or nothing */
};
/* False when it stands for none. */
bool job_claim_of(const struct job *job, struct job_claim *ret);
/* Is the job ours, and whose? Anyone can give a job the name and the extra of ours, and would have the Pod run under it. Jobs of earlier
 * versions have no admin comment: those are ours when the scheduler's own user has them, or when their Pod names them. And one that is
 * known stays what it was, whatever was done to its name and its extra.
 * claim: what the job says, NULL = nothing. known: the Pod that this very job (number and time of submission) stood for when it was last
 * seen, NULL = it is new. pod: the one of the claim's name, NULL = there is none. */
bool job_is_ours(const struct job *job, const struct job_claim *claim, const struct extra_id *known,
                 const struct pod *pod, const struct rules *rules, struct job_claim *ret);

/* A job ready to be submitted; owns its text. Not filled: script, env, bell_host, bell_port (the shell's). */
struct podjob {
	struct job_spec spec;
	char *text[8]; /* what spec points to and nobody else owns */
	int n_text;
};
/* `excluded` is the hostlist of infeasible nodes, joined with the Pod's own; may be NULL. The Pod has passed validate_pod(), which
 * gave the wishes. */
void podjob_make(const struct pod *pod, const struct wishes *wishes, const struct rules *rules, const char *excluded,
                 struct podjob *ret);
/* As Slurm must be told: a list of required nodes means all of them to it. Of several the Pod needs only one: the others of the
 * cluster are in `excluded` instead (see feasible.h), and none is required. */
void podjob_narrow(struct podjob *j);
void podjob_done(struct podjob *j);

/* Exit code of a Pod that is over: 0 when it succeeded, else that of the first container that failed (128 + signal when it was
 * killed), 1 when nobody knows. */
int pod_exit_code(const struct pod *pod);
