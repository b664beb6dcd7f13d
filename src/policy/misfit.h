/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Why a Pod does not fit on a Node, as values that cost nothing to make; the words are made only for what is shown. Pure.
 */
#pragma once

#include "base/hostlist.h"
#include "policy/feasible.h"
#include "policy/room.h"
#include "policy/selector.h"
#include "policy/volumes.h"

struct misfit_detail { /* all borrowed from the Pod and the Node */
	union {
		struct unselected selector;  /* MISFIT_SELECTOR */
		const struct taint *taint;   /* MISFIT_TAINT */
		struct shortage shortage;    /* MISFIT_CAPACITY, _RESOURCES, _PODS */
		struct {
			enum out_of_reach how;
			uint32_t claim;
		} volume; /* MISFIT_VOLUME */
		struct {
			const struct host_port *port;
			const struct pod *by;
		} port; /* MISFIT_PORTS */
	};
};

/* What is asked about, and what is the same for all places. */
struct misfit_query {
	const struct pod *pod;
	const struct pod_volumes *volumes; /* may be NULL */
	struct asks asks;
	struct hostlist required; /* sorted; none = any node will do */
};

void misfit_query_init(struct misfit_query *q, const struct pod *pod, const struct pod_volumes *volumes);
void misfit_query_done(struct misfit_query *q);
#define _cleanup_misfit_query_ _cleanup_(misfit_query_done)

enum misfit misfit_ever(const struct misfit_query *q, const struct place *place, struct misfit_detail *ret);

/* One clause. */
void misfit_why(const struct misfit_query *q, enum misfit m, const struct misfit_detail *d, const struct place *place,
                char why[FIT_WHY_MAX]);

/* What stands in brackets in a summary: "dedicated=ml:NoSchedule". "" when there is nothing more to say. */
#define MISFIT_BRIEF_MAX 96
void misfit_brief(const struct misfit_query *q, enum misfit m, const struct misfit_detail *d,
                  char text[MISFIT_BRIEF_MAX]);

/* Would they read the same? Amounts of Nodes may differ. */
bool misfit_same(enum misfit m, const struct misfit_detail *a, const struct misfit_detail *b);
