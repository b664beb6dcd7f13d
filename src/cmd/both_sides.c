/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/both_sides.h"

#include <assert.h>

#include "base/str.h"

#define TIMEOUT_DEFAULT (10 * USEC_SEC)
#define WORKERS 2

size_t both_sides_rows(struct both_sides *s, struct arg rows[BOTH_SIDES_ROWS])
{
	const struct arg table[] = {
		{ .flag = "kubeconfig",
		  .type = ARG_STRING,
		  .value = &s->kubeconfig,
		  .unit = "FILE",
		  .help = "Where Kubernetes is; else $KUBECONFIG, ~/.kube/config, or the Pod's service account." },
		{ .flag = "context",
		  .type = ARG_STRING,
		  .value = &s->context,
		  .unit = "NAME",
		  .help = "Context of the kubeconfig; else its current one." },
		{ .flag = "slurm-conf",
		  .type = ARG_STRING,
		  .value = &s->slurm_conf,
		  .unit = "FILE",
		  .help = "slurm.conf; else $SLURM_CONF or /etc/slurm/slurm.conf." },
		{ .flag = "timeout",
		  .type = ARG_DURATION,
		  .value = &s->timeout,
		  .min = 100 * USEC_MSEC,
		  .max = USEC_HOUR,
		  .help = "How long an answer may take." },
		{ .flag = "debug", .type = ARG_BOOL, .value = &s->debug, .help = "Log what is being asked." },
		{ .flag = "help", .type = ARG_BOOL, .value = &s->help, .help = "Show this." },
	};

	static_assert(ARRAY_LEN(table) == BOTH_SIDES_ROWS, "as many as the callers have room for");
	*s = (struct both_sides) {
		.kubeconfig = (char *)"", .context = (char *)"", .slurm_conf = (char *)"", .timeout = TIMEOUT_DEFAULT
	};
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		rows[i] = table[i];
	return ARRAY_LEN(table);
}

struct kube_config_options both_sides_kube(const struct both_sides *s)
{
	return (struct kube_config_options) { .path = str_empty(s->kubeconfig) ? NULL : s->kubeconfig,
		                              .context = str_empty(s->context) ? NULL : s->context };
}

struct slurm_options both_sides_slurm(const struct both_sides *s)
{
	return (struct slurm_options) { .pool = { .conf = str_empty(s->slurm_conf) ? NULL : s->slurm_conf,
		                                  .workers = WORKERS } };
}

void both_sides_letters(int argc, char **argv)
{
	static const struct {
		const char *letter, *word;
	} table[] = { { "-o", "--output" }, { "-n", "--namespace" }, { "-w", "--watch" }, { "-f", "--filename" } };

	for (int i = 1; i < argc; i++)
		for (size_t k = 0; k < ARRAY_LEN(table); k++)
			if (str_eq(argv[i], table[k].letter))
				argv[i] = (char *)table[k].word;
}
