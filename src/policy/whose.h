/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Whose drain is it, and what lifts it? Slurm keeps one line of text per drain; these are the texts that we, Slurm itself and
 * people write there. Pure.
 */
#pragma once

#include "model/slurm.h"

enum whose {
	WHOSE_NOBODY, /* not drained */
	WHOSE_KUBERNETES, /* the syncer's: goes when its condition does */
	WHOSE_SCHEDULER, /* a Pod outlived its job: goes when the Pod does */
	WHOSE_VERIFIER, /* goes with a newer HPCVerification, or by hand */
	WHOSE_SLURM, /* slurmctld or slurmd found something wrong: goes by hand */
	WHOSE_PERSON, /* goes by hand */
	WHOSE_KINDS,
};

enum whose whose_drain(const struct snode *n);
const char *whose_word(enum whose w); /* "kubernetes"; "" for nobody */

/* What Slurm's own words mean. NULL: they are none of Slurm's. */
struct slurm_finding {
	const char *begins; /* how the reason begins, in any case of letters */
	const char *means;
	const char *todo; /* '#' stands for the node's name */
};
const struct slurm_finding *slurm_finding_of(const char *reason);
