/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sunk: the table of verbs, and nothing else.
 */
#include <stdio.h>

#include "base/str.h"
#include "cmd/verb.h"

static const struct verb verbs[] = {
	{ "all", "run scheduler, syncer and operator in one process", verb_all },
	{ "check", "tell whether Kubernetes and Slurm can be reached, and what is wrong", verb_check },
	{ "explain", "tell what a Pod, node or job is, what it waits for and what can be done", verb_explain },
	{ "operator", "run the operator: Nodes locked and labelled as Slurm uses them", verb_operator },
	{ "scheduler", "run the Pod Scheduler: Pods as Slurm jobs", verb_scheduler },
	{ "slurm-worker", NULL, verb_slurm_worker },
	{ "status", "show nodes and Pods at a glance, as both sides see them", verb_status },
	{ "syncer", "run the syncer: Slurm nodes and Kubernetes Pods tell each other the truth; metrics", verb_syncer },
	{ "validate", "tell which Slurm jobs these Pods would become, or what is wrong with them", verb_validate },
	{ "version", "print the version", verb_version },
};

static void usage(FILE *to)
{
	fputs("usage: sunk VERB [FLAG...]\n\n"
	      "One pool of machines for Slurm jobs and Kubernetes Pods, with Slurm as the one scheduler.\n\nVerbs:\n",
	      to);
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (verbs[i].help)
			fprintf(to, "  %-12s %s\n", verbs[i].name, verbs[i].help);
	fputs("\n`sunk VERB --help` tells about one.\n", to);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		usage(stderr);
		return STATUS_USAGE;
	}
	if (str_eq(argv[1], "--help") || str_eq(argv[1], "-h") || str_eq(argv[1], "help")) {
		usage(stdout);
		return STATUS_OK;
	}
	if (str_eq(argv[1], "--version"))
		argv[1] += 2;
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (str_eq(verbs[i].name, argv[1]))
			return verbs[i].run(argc - 1, argv + 1);
	fprintf(stderr, "sunk: there is no verb '%.40s' (sunk --help lists them)\n", argv[1]);
	return STATUS_USAGE;
}
