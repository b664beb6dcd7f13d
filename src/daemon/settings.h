/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The settings that every daemon has, and the one table that they form with those of its parts.
 */
#pragma once

#include "base/args.h"
#include "base/log.h"

#define SETTINGS_MAX 30

struct settings {
	char *config_file, *kubeconfig, *context, *slurm_conf, *instance;
	int64_t slurm_pool_size;
	char *doorbell_address;
	int64_t doorbell_port;
	int log_level, log_format;
	char *listen, *listen_file;
	bool leader_elect, help;
	char *lease_name, *lease_namespace;
	usec_t lease_duration, renew_deadline, retry_period, stop_timeout;
};

/* Defaults, and the rows that fill them: without those about Slurm, or about its doorbell, when nobody wants them. Returns how
 * many. */
size_t settings_rows(struct settings *s, bool slurm, bool bell, struct arg rows[SETTINGS_MAX]);
