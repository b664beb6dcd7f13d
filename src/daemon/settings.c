/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/settings.h"

#include <assert.h>

#include "base/str.h"

static const char *const levels[] = {
	[LOG_DEBUG] = "debug", [LOG_INFO] = "info", [LOG_WARN] = "warn", [LOG_ERROR] = "error", NULL
};
static const char *const formats[] = { [LOG_TEXT] = "text", [LOG_JSON] = "json", NULL };

#define NONE ((char *)"")

size_t settings_rows(struct settings *s, bool slurm, bool bell, struct arg rows[SETTINGS_MAX])
{
	size_t n = 0;
	const struct arg table[] = {
		{ .flag = "config",
		  .type = ARG_STRING,
		  .value = &s->config_file,
		  .unit = "FILE",
		  .help = "Settings as YAML; flags win over it." },
		{ .flag = "kubeconfig",
		  .config = "kube.kubeconfig",
		  .type = ARG_STRING,
		  .value = &s->kubeconfig,
		  .unit = "FILE",
		  .help = "Where Kubernetes is; else $KUBECONFIG, ~/.kube/config, or the Pod's service account." },
		{ .flag = "context",
		  .config = "kube.context",
		  .type = ARG_STRING,
		  .value = &s->context,
		  .unit = "NAME",
		  .help = "Context of the kubeconfig; else its current one." },
		{ .flag = "slurm-conf",
		  .config = "slurm.conf",
		  .type = ARG_STRING,
		  .value = &s->slurm_conf,
		  .unit = "FILE",
		  .help = "slurm.conf; else $SLURM_CONF or /etc/slurm/slurm.conf." },
		{ .flag = "slurm-pool-size",
		  .config = "slurm.poolSize",
		  .type = ARG_INT,
		  .value = &s->slurm_pool_size,
		  .min = 2,
		  .max = 16,
		  .help = "How many requests to Slurm may be under way at a time; each has a small process." },
		{ .flag = "doorbell-address",
		  .config = "slurm.doorbellAddress",
		  .type = ARG_STRING,
		  .value = &s->doorbell_address,
		  .unit = "HOST",
		  .help = "Where slurmctld can tell us that a job has ended; else $POD_IP, or the host's name. 'none': "
		          "it does not, "
		          "and we only ask. Must never be an address that swallows connections: slurmctld would wait "
		          "for it." },
		{ .flag = "doorbell-port",
		  .config = "slurm.doorbellPort",
		  .type = ARG_INT,
		  .value = &s->doorbell_port,
		  .min = 0,
		  .max = UINT16_MAX,
		  .unit = "PORT",
		  .help = "And on which port; jobs keep it for life, so it should stay the same. 0: any free one." },
		{ .flag = "listen",
		  .config = "listen",
		  .type = ARG_STRING,
		  .value = &s->listen,
		  .unit = "ADDRESS:PORT",
		  .help = "Where /healthz, /readyz and /metrics are. Port 0: any free one. 'none': nowhere." },
		{ .flag = "listen-file",
		  .type = ARG_STRING,
		  .value = &s->listen_file,
		  .unit = "FILE",
		  .help = "Write there where we listen, once all parts have started: one line each, a name and a "
		          "URL." },
		{ .flag = "leader-elect",
		  .config = "leaderElection.enabled",
		  .type = ARG_BOOL,
		  .value = &s->leader_elect,
		  .help = "Act only while holding a Lease, so that one of several replicas does. --leader-elect=false: "
		          "there is only "
		          "one." },
		{ .flag = "lease-name",
		  .config = "leaderElection.leaseName",
		  .type = ARG_STRING,
		  .value = &s->lease_name,
		  .unit = "NAME",
		  .help = "Name of that Lease; else made from what the daemon is for." },
		{ .flag = "lease-namespace",
		  .config = "leaderElection.leaseNamespace",
		  .type = ARG_STRING,
		  .value = &s->lease_namespace,
		  .unit = "NAMESPACE",
		  .help = "And its namespace; else the one we run in." },
		{ .flag = "lease-duration",
		  .config = "leaderElection.leaseDuration",
		  .type = ARG_DURATION,
		  .value = &s->lease_duration,
		  .min = USEC_SEC,
		  .max = USEC_HOUR,
		  .help = "How long others wait for a leader that is silent; whole seconds." },
		{ .flag = "renew-deadline",
		  .config = "leaderElection.renewDeadline",
		  .type = ARG_DURATION,
		  .value = &s->renew_deadline,
		  .min = 100 * USEC_MSEC,
		  .max = USEC_HOUR,
		  .help = "How long a leader that cannot renew goes on; shorter than the above." },
		{ .flag = "retry-period",
		  .config = "leaderElection.retryPeriod",
		  .type = ARG_DURATION,
		  .value = &s->retry_period,
		  .min = 50 * USEC_MSEC,
		  .max = USEC_HOUR,
		  .help = "How often leaders renew and others look; shorter than the above." },
		{ .flag = "instance",
		  .type = ARG_STRING,
		  .value = &s->instance,
		  .unit = "NAME",
		  .help = "Who we are, in Leases and Events; else $POD_NAME, or the host's name." },
		{ .flag = "stop-timeout",
		  .config = "stopTimeout",
		  .type = ARG_DURATION,
		  .value = &s->stop_timeout,
		  .min = 0,
		  .max = USEC_HOUR,
		  .help = "At the end: how long to wait for what was sent, before the Lease is given back." },
		{ .flag = "log-level",
		  .config = "log.level",
		  .type = ARG_CHOICE,
		  .value = &s->log_level,
		  .choices = levels,
		  .help = "What to log, at least." },
		{ .flag = "log-format",
		  .config = "log.format",
		  .type = ARG_CHOICE,
		  .value = &s->log_format,
		  .choices = formats,
		  .help = "For people or for machines." },
		{ .flag = "help", .type = ARG_BOOL, .value = &s->help, .help = "Show this." },
	};

	static_assert(ARRAY_LEN(table) <= SETTINGS_MAX, "room for all");
	*s = (struct settings) {
		.config_file = NONE,
		.kubeconfig = NONE,
		.context = NONE,
		.slurm_conf = NONE,
		.instance = NONE,
		.slurm_pool_size = 3,
		.doorbell_address = NONE,
		.doorbell_port = 8091,
		.log_level = LOG_INFO,
		.log_format = LOG_TEXT,
		.listen = (char *)"0.0.0.0:8080",
		.listen_file = NONE,
		.leader_elect = true,
		.lease_name = NONE,
		.lease_namespace = NONE,
		.lease_duration = 15 * USEC_SEC,
		.renew_deadline = 10 * USEC_SEC,
		.retry_period = 2 * USEC_SEC,
		.stop_timeout = 10 * USEC_SEC,
	};
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if ((slurm || !table[i].config || !str_starts(table[i].config, "slurm.")) &&
		    (bell || !str_starts(table[i].flag, "doorbell-")))
			rows[n++] = table[i];
	return n;
}
