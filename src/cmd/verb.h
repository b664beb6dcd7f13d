/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The verbs of `sunk`: one file each, one table in main.c. A verb gets argv with its own name as argv[0] and returns the
 * exit status.
 */
#pragma once

enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

struct verb {
	const char *name;
	const char *help; /* NULL: not for people, not listed */
	int (*run)(int argc, char **argv);
};

int verb_all(int argc, char **argv);
int verb_check(int argc, char **argv);
int verb_explain(int argc, char **argv);
int verb_operator(int argc, char **argv);
int verb_scheduler(int argc, char **argv);
int verb_slurm_worker(int argc, char **argv);
int verb_status(int argc, char **argv);
int verb_syncer(int argc, char **argv);
int verb_validate(int argc, char **argv);
int verb_version(int argc, char **argv);
