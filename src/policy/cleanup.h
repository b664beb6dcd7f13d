/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Slurm nodes that no NodeSlice lists any more are deleted from Slurm, so that a NodeSet that shrinks leaves nothing behind. Pure.
 *
 * What holds:
 * - only nodes that a NodeSet once had are deleted, and only dynamic ones: a NodeSlice listed the name, or the node itself remembers;
 * - not knowing keeps the node: NodeSlices or Pods not listed yet, or not heard of for long, and the time over which a name has been
 *   missing begins anew;
 * - as long as a Pod has that name, or a job or its remains are there, it stays;
 * - it is gone from the slices for CLEANUP_SETTLES, and Slurm was asked after it went;
 * - Kubernetes itself was asked just now, and has no Pod of that name: watches may be behind, the operator's (of which the slices are) and ours,
 *   and a slurmd whose node is deleted under it does not register again.
 */
#pragma once

#include <stdbool.h>

#include "model/slurm.h"

#define CLEANUP_SETTLES (2 * USEC_SEC)
#define CLEANUP_JUST_NOW USEC_SEC

struct cleanup_view {
	const struct snode *node;
	bool known;  /* NodeSlices and Pods have been listed, under this leadership, and heard of lately */
	bool listed; /* a NodeSlice has the name now */
	bool pod;    /* a Pod has it */
	bool ours;   /* a NodeSlice had it, or the node remembers its NodeSet */
	usec_t now;      /* monotonic */
	usec_t asked;    /* monotonic: the node is as it was then, or newer */
	usec_t missing;  /* monotonic: since when nobody has the name; 0 = somebody had, at the last look */
	usec_t no_pod;   /* monotonic: Kubernetes, asked then, had no such Pod; 0 = it was not asked, or had one */
};

struct cleanup_decision {
	bool remove;
	usec_t missing; /* for the next view */
	usec_t again;   /* monotonic: look again then, at the latest; USEC_NEVER */
	bool wants_news; /* of the node */
	bool ask_pod;    /* … and whether Kubernetes has a Pod of its name */
};

struct cleanup_decision cleanup_decide(const struct cleanup_view *v);
