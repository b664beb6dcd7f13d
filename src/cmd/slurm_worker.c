/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sunk slurm-worker: what the pool of src/slurm starts. Not for people.
 */
#include <stdio.h>
#include <sys/stat.h>

#include "cmd/verb.h"
#include "slurm/worker.h"

#define WORKER_FD 3

int verb_slurm_worker(int argc, char **argv)
{
	struct stat st;

	(void)argv;
	if (argc != 1 || fstat(WORKER_FD, &st) < 0 || !S_ISSOCK(st.st_mode)) {
		fputs("sunk slurm-worker: started by sunk itself, not by hand\n", stderr);
		return STATUS_USAGE;
	}
	return slurm_worker_main(WORKER_FD);
}
