/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sunk-hook prolog: no job starts before its node is locked. Asks the syncer's pre-hook and waits; the syncer may be away for a
 * while (restarting, failing over). When the node cannot be locked in time the node is drained with a reason that says what lifts
 * it, the job does not start, and one line in slurmd's log names what was in the way. Where slurmd's own Pod is being deleted that
 * is known at once, and the drain is the one that goes with the Pod.
 *
 * sunk-hook epilog: tells the syncer that a job has ended, so that the node is unlocked at once; the syncer looks for itself, too.
 * After a placeholder job it holds the node COMPLETING until the job's Pod has left, or drains it.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/time.h"

#define PROLOG_TIMEOUT (90 * USEC_SEC) /* below Slurm's PrologEpilogTimeout, which should be more than 100 s */
#define EPILOG_TIMEOUT (3 * USEC_SEC)
#define EPILOG_HOLD_TIMEOUT (90 * USEC_SEC) /* after a placeholder; below PrologEpilogTimeout, too */
#define EPILOG_REASON "k8s: pod deletion timeout"
#define PROLOG_UNKNOWN_MAX (10 * USEC_SEC) /* a node that the syncer does not know yet has just registered */
#define PROLOG_REASON "prolog pre-hook failed (sunk:verify-undrain)"
/* The Pod of slurmd is being deleted: the syncer's own words, so that it lifts them when the next Pod of that name is ready. */
#define PROLOG_GOING_REASON "k8s: pod pending deletion"
#define PROLOG_GOING 409 /* how the pre-hook says so */

struct prolog {
	const char *url, *token, *ca_file; /* token and ca_file may be NULL */
	const char *node, *job, *extra; /* SLURMD_NODENAME, SLURM_JOB_ID, SLURM_JOB_EXTRA */
	const char *slurmd_uid; /* of the Pod that slurmd runs in; NULL = not known */
	usec_t timeout;
};

int prolog_run(const struct prolog *p); /* the exit status */
int epilog_run(const struct prolog *p);

/* The uid of the Pod that this runs in, from a file that its volume has (downward API). slurmd hands none of its environment to a prolog.
 * NULL when there is no such file: a Pod that was made before it was told to have one. */
int prolog_read_uid(const char *path, char **ret, struct err *err);

/* The pure parts. */
bool extra_is_placeholder(const char *extra); /* "<namespace>/<name>/<uid>", marked or not */
void prolog_body(const struct prolog *p, struct buf *out); /* of a call: JSON */
bool node_name_is_sane(const char *node); /* it becomes part of an address and of scontrol's arguments */
/* From what `scontrol show node` prints: drained, and the reason is neither the syncer's ("k8s:…") nor one of ours ("…(sunk:…)"). */
bool node_is_drained_by_others(const char *shown);
/* What an answer's body says is wrong, on one line; what is no such body is shown shortened. */
void prolog_cause(const char *body, size_t len, struct buf *out);
