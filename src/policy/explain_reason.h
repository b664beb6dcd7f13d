/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Slurm's one-word reasons for a job that waits, in plain words: one table. Pure.
 */
#pragma once

struct slurm_reason {
	const char *word; /* with a '*' at its end: all that begin like this */
	const char *waits_for;
	const char *todo; /* every '#' stands for the job's id; NULL = nothing to do */
};

/* Never NULL: what is not in the table says that Slurm did not tell. */
const struct slurm_reason *slurm_reason_of(const char *word);
