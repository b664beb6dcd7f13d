/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sunk syncer: Slurm nodes ⇄ NodeSet Pods as a daemon. Settings and files become what the shell (src/syncer) wants; all else is there or
 * in src/daemon.
 */
#include "syncer/syncer.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "cmd/parts.h"
#include "cmd/verb.h"
#include "daemon/listen.h"
#include "syncer/routes.h"

#define PEM_MAX ((size_t)512 << 10)
#define ROWS 16

struct syncerd {
	struct part part;
	struct arg rows[ROWS];
	/* settings */
	char *ns, *release, *hook_listen, *token_file, *cert_file, *key_file, *reboot_condition, *reboot_reason;
	usec_t poll_min, poll_max, metrics_interval, hook_timeout;
	bool node_permissions, node_cleanup;
	/* made from them */
	struct buf cert, key;
	struct listen hook_at;
	struct syncer *syncer;
	struct syncer_routes *routes;
};

static void make_rows(struct syncerd *s)
{
	const struct arg rows[] = {
		{ .flag = "nodeset-namespace",
		  .config = "syncer.namespace",
		  .type = ARG_STRING,
		  .value = &s->ns,
		  .unit = "NAME",
		  .help = "The namespace of the NodeSet Pods; else the one we run in." },
		{ .flag = "release",
		  .config = "syncer.release",
		  .type = ARG_STRING,
		  .value = &s->release,
		  .unit = "NAME",
		  .help = "Name of the Helm release, part of the lease's name." },
		{ .flag = "poll-min",
		  .config = "syncer.pollIntervalMin",
		  .type = ARG_DURATION,
		  .value = &s->poll_min,
		  .min = 10 * USEC_MSEC,
		  .max = USEC_HOUR,
		  .help = "Slurm's nodes are read about as often as its load allows, but no more often than this." },
		{ .flag = "poll-max",
		  .config = "syncer.pollInterval",
		  .type = ARG_DURATION,
		  .value = &s->poll_max,
		  .min = 10 * USEC_MSEC,
		  .max = USEC_HOUR,
		  .help = "And at least this often." },
		{ .flag = "metrics-interval",
		  .config = "syncer.metricsInterval",
		  .type = ARG_DURATION,
		  .value = &s->metrics_interval,
		  .min = 100 * USEC_MSEC,
		  .max = USEC_HOUR,
		  .help = "What only metrics need (jobs, partitions, statistics) is read no more often than this." },
		{ .flag = "hook-listen",
		  .config = "syncer.hooksAPI.listen",
		  .type = ARG_STRING,
		  .value = &s->hook_listen,
		  .unit = "ADDRESS:PORT",
		  .help = "Where prologs reach us; none: nowhere." },
		{ .flag = "hook-token-file",
		  .config = "syncer.hooksAPI.tokenFile",
		  .type = ARG_STRING,
		  .value = &s->token_file,
		  .unit = "FILE",
		  .help = "The token with which they call. Read again when it was replaced. Needed." },
		{ .flag = "hook-cert",
		  .config = "syncer.hooksAPI.certFile",
		  .type = ARG_STRING,
		  .value = &s->cert_file,
		  .unit = "FILE",
		  .help = "Certificate (PEM): the hook API speaks https." },
		{ .flag = "hook-key",
		  .config = "syncer.hooksAPI.keyFile",
		  .type = ARG_STRING,
		  .value = &s->key_file,
		  .unit = "FILE",
		  .help = "And its key." },
		{ .flag = "hook-timeout",
		  .config = "syncer.hooksAPI.timeout",
		  .type = ARG_DURATION,
		  .value = &s->hook_timeout,
		  .min = USEC_SEC,
		  .max = USEC_HOUR,
		  .help = "How long a prolog or epilog waits at most; less than Slurm's PrologEpilogTimeout. A prolog "
		          "that says that it waits for less is answered before." },
		{ .flag = "slurm-node-cleanup",
		  .config = "syncer.slurmNodeCleanUp",
		  .type = ARG_BOOL,
		  .value = &s->node_cleanup,
		  .help = "Delete Slurm nodes that no NodeSlice lists any more, once nothing runs there." },
		{ .flag = "node-permissions",
		  .config = "syncer.nodePermissions.enabled",
		  .type = ARG_BOOL,
		  .value = &s->node_permissions,
		  .help = "We may write Nodes: the hook API can ask for a reboot." },
		{ .flag = "node-reboot-condition",
		  .config = "syncer.hooksAPI.nodeRebootCondition",
		  .type = ARG_STRING,
		  .value = &s->reboot_condition,
		  .unit = "TYPE",
		  .help = "The condition that asks for a Node's reboot." },
		{ .flag = "node-reboot-reason",
		  .config = "syncer.hooksAPI.nodeRebootReason",
		  .type = ARG_STRING,
		  .value = &s->reboot_reason,
		  .unit = "REASON",
		  .help = "And its reason." },
	};

	_Static_assert(ARRAY_LEN(rows) <= ROWS, "room for all");
	memcpy(s->rows, rows, sizeof(rows));
	s->part.rows = s->rows;
	s->part.n_rows = ARRAY_LEN(rows);
}

static bool has_hooks(const struct syncerd *s)
{
	return !str_eq(s->hook_listen, "none");
}

static int read_pem(struct buf *out, const char *flag, const char *path, struct err *err)
{
	int r = buf_read_file(out, path);

	return r < 0 ? err_errno(err, r, "--%s %s", flag, path) : 0;
}

static int prepare_hooks(struct syncerd *s, struct err *err)
{
	int r = listen_parse(s->hook_listen, &s->hook_at, err);

	if (r < 0)
		return err_wrap(err, r, "--hook-listen");
	if (str_empty(s->token_file))
		return err_set(err, -EINVAL, "--hook-token-file is needed (or --hook-listen none)");
	if (str_empty(s->cert_file) != str_empty(s->key_file))
		return err_set(err, -EINVAL, "--hook-cert and --hook-key only go together");
	if (str_empty(s->cert_file))
		return 0;
	r = read_pem(&s->cert, "hook-cert", s->cert_file, err);
	return r < 0 ? r : read_pem(&s->key, "hook-key", s->key_file, err);
}

static int prepare(void *arg, struct daemon *d, struct err *err)
{
	struct syncerd *s = arg;
	_cleanup_free_ char *lease = str_printf("sunk-syncer-%.200s", s->release);

	daemon_lease_is(d, lease);
	if (s->poll_min > s->poll_max)
		return err_set(err, -EINVAL, "--poll-min is more than --poll-max");
	return has_hooks(s) ? prepare_hooks(s, err) : 0;
}

static int start_hooks(struct syncerd *s, struct daemon *d, struct err *err)
{
	const struct syncer_routes_options o = {
		.http = { .address = s->hook_at.address,
		          .port = s->hook_at.port,
		          .cert_pem = s->cert.len ? buf_text(&s->cert) : NULL,
		          .key_pem = s->key.len ? buf_text(&s->key) : NULL },
		.token_file = s->token_file,
		.syncer = s->syncer,
		.clock = daemon_clock(d),
	};
	char url[LISTEN_URL_MAX];

	s->routes = syncer_routes_new(daemon_loop(d), &o, err);
	if (!s->routes)
		return err_wrap(err, err->code, "the hook API");
	daemon_listens(d, "syncer-hook",
	               listen_url(s->cert.len ? "https" : "http",
	                          str_starts(s->hook_at.address, "127.") ? s->hook_at.address : daemon_host(d),
	                          syncer_routes_port(s->routes), url));
	return 0;
}

static int start(void *arg, struct daemon *d, struct err *err)
{
	struct syncerd *s = arg;

	s->syncer = syncer_new(&(struct syncer_options) {
	        .kube = daemon_kube(d),
	        .slurm = daemon_slurm(d),
	        .clock = daemon_clock(d),
	        .metrics = daemon_metrics(d),
	        .wake = part_wake,
	        .wake_arg = &s->part,
	        .ns = str_empty(s->ns) ? daemon_namespace(d) : s->ns,
	        .poll_min = s->poll_min,
	        .poll_max = s->poll_max,
	        .metrics_interval = s->metrics_interval,
	        .hook_timeout = s->hook_timeout,
	        .node_cleanup = s->node_cleanup,
	        .node_permissions = s->node_permissions,
	        .reboot_condition = s->reboot_condition,
	        .reboot_reason = s->reboot_reason,
	});
	return has_hooks(s) ? start_hooks(s, d, err) : 0;
}

static usec_t step(void *arg)
{
	return syncer_step(((struct syncerd *)arg)->syncer);
}

static void leading(void *arg, bool lead)
{
	syncer_leading(((struct syncerd *)arg)->syncer, lead);
}

static bool ready(void *arg, struct err *ret_why)
{
	return syncer_ready(((struct syncerd *)arg)->syncer, ret_why);
}

static void export(void *arg, struct buf *out)
{
	syncer_export(((struct syncerd *)arg)->syncer, out);
}

/* Parked calls are sent away now: whoever leads next will hear them again. */
static void stop(void *arg)
{
	struct syncerd *s = arg;

	syncer_routes_free(TAKE_PTR(s->routes));
}

static void done(void *arg)
{
	struct syncerd *s = arg;

	syncer_routes_free(TAKE_PTR(s->routes));
	syncer_free(TAKE_PTR(s->syncer));
}

struct part *syncer_part_new(void)
{
	struct syncerd *s = NEW(struct syncerd);

	*s = (struct syncerd) {
		.part = { .name = "syncer",
		          .arg = s,
		          .prepare = prepare,
		          .start = start,
		          .step = step,
		          .leading = leading,
		          .ready = ready,
		          .metrics = export,
		          .stop = stop,
		          .done = done },
		.ns = (char *)"",
		.release = (char *)"slurm",
		.poll_min = 500 * USEC_MSEC,
		.poll_max = 10 * USEC_SEC,
		.metrics_interval = 5 * USEC_SEC,
		.hook_timeout = 85 * USEC_SEC,
		.node_cleanup = true,
		.hook_listen = (char *)"0.0.0.0:8090",
		.token_file = (char *)"",
		.cert_file = (char *)"",
		.key_file = (char *)"",
		.reboot_condition = (char *)"PhaseState",
		.reboot_reason = (char *)"production-powerreset",
		.cert = BUF(PEM_MAX),
		.key = BUF(PEM_MAX),
	};
	make_rows(s);
	return &s->part;
}

void syncer_part_free(struct part *p)
{
	struct syncerd *s = p ? p->arg : NULL;

	if (!s)
		return;
	if (s->key.data)
		explicit_bzero(s->key.data, s->key.len);
	buf_done(&s->cert);
	buf_done(&s->key);
	free(s);
}

int verb_syncer(int argc, char **argv)
{
	_cleanup_(syncer_part_freep) struct part *part = syncer_part_new();
	const struct daemon_program program = {
		.name = "syncer",
		.about = "The syncer: Slurm nodes and the Pods that run their slurmd tell each other the truth. Drains "
		         "go both ways, "
		         "prologs\n"
		         "wait until their node is locked, and /metrics tells of the whole Slurm cluster. Runs until "
		         "it is told to end "
		         "(SIGTERM).",
		.parts = &part,
		.n_parts = 1,
	};

	return daemon_main(&program, argc, argv);
}
