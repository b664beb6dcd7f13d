/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Which volume does a claim get that waits for its first consumer? It is the scheduler that chooses, as kube-scheduler does: one
 * that names the claim already, else the smallest free one of its class that is large enough, has its modes, matches its
 * selector and can be reached from the node. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "model/knode.h"
#include "model/volume.h"

struct candidate {
	const struct pv *volume; /* borrowed */
	const char *host; /* its node affinity names only this one; NULL = it may be reached from several */
};

/* The volumes of one claim's class that would do for it, wherever they are. */
struct candidates {
	struct candidate *list; /* sorted: those of no one host first, then host by host; smallest first */
	uint32_t n, size;
	bool own; /* these name the claim, and it gets no other */
};

bool volume_names(const struct pv *volume, const struct pvc *claim);

/* One after the other for all volumes, or those of the class, then sort. */
void candidates_add(struct candidates *c, const struct pvc *claim, const struct pv *volume);
void candidates_sort(struct candidates *c);
void candidates_done(struct candidates *c);

const struct pv *candidates_smallest(const struct candidates *c); /* wherever it is; NULL when there is none */

/* The one for this node, none of those that are taken (NULL entries are skipped); NULL when there is none. */
const struct pv *candidates_best(const struct candidates *c, const struct knode *node, const struct pv *const *taken,
                                 uint32_t n_taken);
