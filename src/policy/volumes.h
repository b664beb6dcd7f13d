/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Can a Node reach the volumes of a Pod? What is to be done about claims before a Pod is bound is in policy/feasible.h.
 * Pure.
 */
#pragma once

#include "policy/feasible.h"

enum out_of_reach {
	REACH_OK,
	REACH_VOLUME, /* the claim's volume is elsewhere */
	REACH_CHOSEN, /* the claim's volume is being made for another node */
	REACH_CLASS,  /* the claim's class makes no volumes there */
	REACH_NONE,   /* nobody makes volumes of the claim's class, and none that is free would do */
};

/* The first claim that keeps the Pod away. */
enum out_of_reach volumes_reach(const struct pod *pod, const struct pod_volumes *volumes, const struct knode *node,
                                uint32_t *ret_claim);

/* A claim has no node's name, but was given one for this job: is it only that the watch has not shown it yet, or did its
 * provisioner take it off, because it cannot make the volume there? */
enum selection { SELECT_NOW, SELECT_UNSEEN, SELECT_UNDONE };
struct selected { /* what was written last */
	uint32_t job;
	const char *claim_uid, *version; /* of the claim, before */
};
enum selection selection_of(const struct selected *last, uint32_t job, const struct pvc *claim);

/* One clause: "volume pv-1 of claim data cannot be reached from there". */
void reach_text(enum out_of_reach how, const struct pod *pod, const struct pod_volumes *volumes, uint32_t claim,
                char text[FIT_WHY_MAX]);
