/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sunk all: scheduler, syncer and operator in one process, over one connection to Kubernetes and one to Slurm; they see the same
 * stores and lead together.
 */
#include <assert.h>

#include "base/str.h"
#include "cmd/parts.h"
#include "cmd/verb.h"

/* Alone, both hook APIs have port 8090. The scheduler keeps it: running placeholders know its address. */
#define SYNCER_HOOK_LISTEN "0.0.0.0:8091"

static void set_default(struct part *p, const char *flag, const char *value)
{
	for (size_t i = 0; i < p->n_rows; i++)
		if (str_eq(p->rows[i].flag, flag)) {
			*(char **)p->rows[i].value = (char *)value;
			return;
		}
	assert(!"there is such a flag");
}

int verb_all(int argc, char **argv)
{
	_cleanup_(scheduler_part_freep) struct part *scheduler = scheduler_part_new();
	_cleanup_(syncer_part_freep) struct part *syncer = syncer_part_new();
	_cleanup_(operator_part_freep) struct part *operator_ = operator_part_new();
	struct part *const parts[] = { scheduler, syncer, operator_ };
	const struct daemon_program program = {
		.name = "all",
		.about = "Scheduler, syncer and operator in one process, for small clusters. Flags and the config "
		         "file's keys are\n"
		         "those of the three; a flag that two of them have is --scheduler-… or --syncer-… here. The "
		         "syncer's hook API\n"
		         "is at port 8091. Runs until it is told to end (SIGTERM).",
		.parts = parts,
		.n_parts = ARRAY_LEN(parts),
	};

	set_default(syncer, "hook-listen", SYNCER_HOOK_LISTEN);
	return daemon_main(&program, argc, argv);
}
