/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sunk scheduler: the Pod Scheduler as a daemon. Settings and files become what the shell (src/scheduler) wants; all else is
 * there or in src/daemon.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"
#include "cmd/parts.h"
#include "cmd/pod_rules.h"
#include "cmd/verb.h"
#include "daemon/listen.h"
#include "net/token.h"
#include "scheduler/routes.h"
#include "scheduler/scheduler.h"

/* Jobs start once a second or so; nobody notices when a Pod of a crowd is submitted a moment later. What is urgent (hook calls,
 * bindings, Slurm's answers) is not told by Kubernetes. */
#define PATIENCE (100 * USEC_MSEC)
#define NAME_MAX_LEN 253 /* of a scheduler: what a Pod may ask for */
#define PEM_MAX ((size_t)512 << 10)

enum scope { SCOPE_CLUSTER, SCOPE_NAMESPACE };
static const char *const scopes[] = { "cluster", "namespace", NULL };
static const char *const cancels[] = { [ON_CANCEL_DELETE] = "delete", [ON_CANCEL_RESUBMIT] = "resubmit", NULL };

#define ROWS 21

struct schedulerd {
	struct part part;
	struct arg rows[ROWS];
	/* settings */
	struct pod_rules pod_rules;
	char *release, *nodeset_ns;
	usec_t poll_min, poll_max;
	int scope, on_cancel;
	struct arg_list namespaces;
	char *hook_listen, *hook_url, *hook_program, *hook_ca_file, *hook_cert_file, *hook_key_file, *hook_secret_file;
	/* made from them */
	char *full_name, *url;
	const char *own_namespace[1];
	struct buf secret, cert, key;
	struct listen hook_at;
	struct scheduler *scheduler;
	struct routes *routes;
};

static void make_rows(struct schedulerd *s)
{
	const struct arg rows[] = {
		{ .flag = "release",
		  .config = "scheduler.release",
		  .type = ARG_STRING,
		  .value = &s->release,
		  .unit = "NAME",
		  .help = "Name of the Helm release. Without --scheduler-name the name is NAMESPACE-RELEASE, of the "
		          "namespace we run "
		          "in." },
		{ .flag = "scope",
		  .config = "scheduler.scope.type",
		  .type = ARG_CHOICE,
		  .value = &s->scope,
		  .choices = scopes,
		  .help = "Pods of which namespaces: all of the cluster, or those of --namespaces." },
		{ .flag = "namespaces",
		  .config = "scheduler.scope.namespaces",
		  .type = ARG_LIST,
		  .value = &s->namespaces,
		  .help = "With --scope namespace: which; else the one we run in." },
		{ .flag = "nodeset-namespace",
		  .config = "scheduler.nodesetNamespace",
		  .type = ARG_STRING,
		  .value = &s->nodeset_ns,
		  .unit = "NAME",
		  .help = "The namespace of the NodeSet Pods; else the one we run in." },
		{ .flag = "on-job-cancel",
		  .config = "scheduler.onJobCancel",
		  .type = ARG_CHOICE,
		  .value = &s->on_cancel,
		  .choices = cancels,
		  .help = "When someone cancels the job of a Pod that waits: delete the Pod, or submit another job." },
		{ .flag = "hook-listen",
		  .config = "scheduler.hook.listen",
		  .type = ARG_STRING,
		  .value = &s->hook_listen,
		  .unit = "ADDRESS:PORT",
		  .help = "Where placeholder jobs reach us. Port 0: any free one." },
		{ .flag = "hook-url",
		  .config = "scheduler.hook.url",
		  .type = ARG_STRING,
		  .value = &s->hook_url,
		  .unit = "URL",
		  .help = "And how they call that place; with several replicas the URL of a Service. Else made from "
		          "$POD_IP, or the "
		          "host's name, and the port." },
		{ .flag = "hook-program",
		  .config = "scheduler.hook.program",
		  .type = ARG_STRING,
		  .value = &s->hook_program,
		  .unit = "FILE",
		  .help = "Where sunk-hook is on the compute nodes." },
		{ .flag = "hook-secret-file",
		  .config = "scheduler.hook.secretFile",
		  .type = ARG_STRING,
		  .value = &s->hook_secret_file,
		  .unit = "FILE",
		  .help = "The secret from which the jobs' tokens are made; the same for all replicas. Needed." },
		{ .flag = "hook-cert",
		  .config = "scheduler.hook.certFile",
		  .type = ARG_STRING,
		  .value = &s->hook_cert_file,
		  .unit = "FILE",
		  .help = "Certificate (PEM): the hook API speaks https." },
		{ .flag = "hook-key",
		  .config = "scheduler.hook.keyFile",
		  .type = ARG_STRING,
		  .value = &s->hook_key_file,
		  .unit = "FILE",
		  .help = "And its key." },
		{ .flag = "hook-ca-file",
		  .config = "scheduler.hook.caFile",
		  .type = ARG_STRING,
		  .value = &s->hook_ca_file,
		  .unit = "FILE",
		  .help = "With which CA jobs check that certificate: a file on the compute nodes; else what they "
		          "trust anyway." },
		{ .flag = "poll-min",
		  .config = "scheduler.pollIntervalMin",
		  .type = ARG_DURATION,
		  .value = &s->poll_min,
		  .min = 10 * USEC_MSEC,
		  .max = USEC_HOUR,
		  .help = "Slurm is asked for changes about as often as its load allows, but no more often than "
		          "this." },
		{ .flag = "poll-max",
		  .config = "scheduler.pollInterval",
		  .type = ARG_DURATION,
		  .value = &s->poll_max,
		  .min = 10 * USEC_MSEC,
		  .max = USEC_HOUR,
		  .help = "And at least this often." },
	};

	static_assert(ARRAY_LEN(rows) + POD_RULES_ROWS <= ROWS, "room for all");
	s->part.rows = s->rows;
	s->part.n_rows = pod_rules_rows(&s->pod_rules, s->rows);
	for (size_t i = 0; i < s->part.n_rows; i++)
		if (str_eq(s->rows[i].flag, "slurm-kill-wait"))
			s->rows[i].help = "Slurm's KillWait: a Pod's grace period must be less than this, less "
			                  "--termination-offset. When not given, the controller is asked.";
	memcpy(s->rows + s->part.n_rows, rows, sizeof(rows));
	s->part.n_rows += ARRAY_LEN(rows);
}

/* Settings that belong together, and what is made of them */

/* The characters of a DNS name: the name is also part of a Lease's. */
static bool is_plain_name(const char *s)
{
	return *s && strlen(s) <= NAME_MAX_LEN && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-.") == strlen(s);
}

static int make_name(struct schedulerd *s, struct daemon *d, struct err *err)
{
	_cleanup_free_ char *lease = NULL;

	s->full_name = str_empty(s->pod_rules.scheduler_name) ? str_printf("%s-%s", daemon_namespace(d), s->release)
	                                                      : mem_strdup(s->pod_rules.scheduler_name);
	if (!is_plain_name(s->full_name))
		return err_set(err, -EINVAL,
		               "--scheduler-name '%.60s': only small letters, digits, '-' and '.', at most %d",
		               s->full_name, NAME_MAX_LEN);
	lease = str_printf("sunk-scheduler-%.200s", s->full_name);
	daemon_lease_is(d, lease);
	return 0;
}

static int make_scope(struct schedulerd *s, struct daemon *d, struct err *err)
{
	if (s->namespaces.n && !daemon_given(d, "scope"))
		s->scope = SCOPE_NAMESPACE;
	if (s->namespaces.n && s->scope == SCOPE_CLUSTER)
		return err_set(err, -EINVAL, "--scope cluster and --namespaces do not go together");
	if (s->scope == SCOPE_NAMESPACE && !s->namespaces.n)
		s->own_namespace[0] = daemon_namespace(d);
	return 0;
}

/* It becomes a word of a shell script. */
static int check_program(const struct schedulerd *s, struct err *err)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-";

	if (s->hook_program[0] == '/' && strspn(s->hook_program, plain) == strlen(s->hook_program))
		return 0;
	return err_set(err, -EINVAL, "--hook-program '%.100s': an absolute path of letters, digits and /._+- is needed",
	               s->hook_program);
}

static int read_secret(struct schedulerd *s, struct err *err)
{
	int r;

	if (str_empty(s->hook_secret_file))
		return err_set(err, -EINVAL,
		               "--hook-secret-file is needed: a file with %d to %d bytes that nobody can guess, the "
		               "same for all replicas",
		               TOKEN_SECRET_MIN, TOKEN_SECRET_MAX);
	if (!buf_reserve(&s->secret, TOKEN_SECRET_MAX)) /* so that it does not move, and leaves no copies */
		return -ENOMEM;
	r = buf_read_file(&s->secret, s->hook_secret_file);
	if (r < 0)
		return err_errno(err, r, "--hook-secret-file %s", s->hook_secret_file);
	while (s->secret.len && strchr("\r\n", s->secret.data[s->secret.len - 1]))
		s->secret.data[--s->secret.len] = 0;
	if (s->secret.len < TOKEN_SECRET_MIN)
		return err_set(err, -EINVAL, "--hook-secret-file %s: has %zu bytes, at least %d are needed",
		               s->hook_secret_file, s->secret.len, TOKEN_SECRET_MIN);
	return 0;
}

static int read_pem(struct buf *out, const char *flag, const char *path, struct err *err)
{
	int r = buf_read_file(out, path);

	return r < 0 ? err_errno(err, r, "--%s %s", flag, path) : 0;
}

static int read_certificate(struct schedulerd *s, struct err *err)
{
	int r;

	if (str_empty(s->hook_cert_file) != str_empty(s->hook_key_file))
		return err_set(err, -EINVAL, "--hook-cert and --hook-key only go together");
	if (str_empty(s->hook_cert_file))
		return 0;
	r = read_pem(&s->cert, "hook-cert", s->hook_cert_file, err);
	return r < 0 ? r : read_pem(&s->key, "hook-key", s->hook_key_file, err);
}

/* A port that is free now: the URL is needed before anyone listens. Only for those who asked for any. */
static int find_port(struct listen *at, struct err *err)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} a = { 0 };
	bool v6 = strchr(at->address, ':');
	socklen_t len = v6 ? sizeof(a.v6) : sizeof(a.v4);
	_cleanup_fd_ int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a.any.sa_family = v6 ? AF_INET6 : AF_INET;
	inet_pton(a.any.sa_family, at->address, v6 ? (void *)&a.v6.sin6_addr : (void *)&a.v4.sin_addr);
	if (fd < 0 || bind(fd, &a.any, len) < 0 || getsockname(fd, &a.any, &len) < 0)
		return err_errno(err, -errno, "--hook-listen %s", at->address);
	at->port = ntohs(v6 ? a.v6.sin6_port : a.v4.sin_port);
	return 0;
}

static int make_url(struct schedulerd *s, struct daemon *d, struct err *err)
{
	char url[LISTEN_URL_MAX];
	int r = listen_parse(s->hook_listen, &s->hook_at, err);

	if (r < 0)
		return err_wrap(err, r, "--hook-listen");
	if (s->hook_at.port == 0)
		r = find_port(&s->hook_at, err);
	if (r < 0)
		return r;
	if (!str_empty(s->hook_url)) {
		if (!str_starts(s->hook_url, "http://") && !str_starts(s->hook_url, "https://"))
			return err_set(err, -EINVAL, "--hook-url '%.100s': starts with neither http:// nor https://",
			               s->hook_url);
		s->url = mem_strdup(s->hook_url);
		return 0;
	}
	s->url = mem_strdup(listen_url(s->cert.len ? "https" : "http",
	                               str_starts(s->hook_at.address, "127.") ? s->hook_at.address : daemon_host(d),
	                               s->hook_at.port, url));
	return 0;
}

static int prepare(void *arg, struct daemon *d, struct err *err)
{
	struct schedulerd *s = arg;
	int r = make_name(s, d, err);

	if (r == 0)
		r = make_scope(s, d, err);
	if (r == 0)
		r = check_program(s, err);
	if (r == 0)
		r = read_secret(s, err);
	if (r == 0)
		r = read_certificate(s, err);
	if (r == 0)
		r = make_url(s, d, err);
	if (r == 0 && s->poll_min > s->poll_max)
		r = err_set(err, -EINVAL, "--poll-min is more than --poll-max");
	return r;
}

static struct rules rules_of(const struct schedulerd *s)
{
	struct rules r = { .on_cancel = (enum on_job_cancel)s->on_cancel, .uid = getuid(), .gid = getgid() };

	pod_rules_apply(&s->pod_rules, &r);
	r.scheduler_name = s->full_name;
	if (s->scope == SCOPE_NAMESPACE) {
		r.namespaces = s->namespaces.n ? s->namespaces.items : s->own_namespace;
		r.n_namespaces = s->namespaces.n ? (uint32_t)s->namespaces.n : 1;
	}
	return r;
}

static int start(void *arg, struct daemon *d, struct err *err)
{
	struct schedulerd *s = arg;
	const struct scheduler_options o = {
		.kube = daemon_kube(d),
		.slurm = daemon_slurm(d),
		.clock = daemon_clock(d),
		.metrics = daemon_metrics(d),
		.wake = part_wake,
		.wake_arg = &s->part,
		.rules = rules_of(s),
		.nodeset_ns = str_empty(s->nodeset_ns) ? daemon_namespace(d) : s->nodeset_ns,
		.kill_wait_given = daemon_given(d, "slurm-kill-wait"),
		.hook_program = s->hook_program,
		.hook_url = s->url,
		.hook_ca_file = str_empty(s->hook_ca_file) ? NULL : s->hook_ca_file,
		.secret = s->secret.data,
		.secret_len = s->secret.len,
		.bell_host = daemon_bell_host(d),
		.bell_port = daemon_bell_port(d),
		.poll_min = s->poll_min,
		.poll_max = s->poll_max,
	};
	const struct http_server_options ho = {
		.address = s->hook_at.address,
		.port = s->hook_at.port,
		.cert_pem = s->cert.len ? buf_text(&s->cert) : NULL,
		.key_pem = s->key.len ? buf_text(&s->key) : NULL,
	};

	s->scheduler = scheduler_new(&o);
	s->routes = routes_new(daemon_loop(d), &ho, s->scheduler, daemon_metrics(d), err);
	if (!s->routes)
		return err_wrap(err, err->code, "--hook-listen");
	daemon_listens(d, "hook", s->url);
	return 0;
}

static usec_t step(void *arg)
{
	return scheduler_step(((struct schedulerd *)arg)->scheduler);
}

static void leading(void *arg, bool lead)
{
	scheduler_leading(((struct schedulerd *)arg)->scheduler, lead);
}

static bool ready(void *arg, struct err *ret_why)
{
	return scheduler_ready(((struct schedulerd *)arg)->scheduler, ret_why);
}

/* Parked calls are sent away now: whoever leads next will hear them again. */
static void stop(void *arg)
{
	struct schedulerd *s = arg;

	routes_free(TAKE_PTR(s->routes));
}

static void done(void *arg)
{
	struct schedulerd *s = arg;

	routes_free(TAKE_PTR(s->routes));
	scheduler_free(TAKE_PTR(s->scheduler));
}

struct part *scheduler_part_new(void)
{
	struct schedulerd *s = NEW(struct schedulerd);

	*s = (struct schedulerd) {
		.part = { .name = "scheduler",
		          .arg = s,
		          .bell = true,
		          .patience = PATIENCE,
		          .prepare = prepare,
		          .start = start,
		          .step = step,
		          .leading = leading,
		          .ready = ready,
		          .stop = stop,
		          .done = done },
		.release = (char *)"slurm",
		.nodeset_ns = (char *)"",
		.poll_min = 200 * USEC_MSEC,
		.poll_max = 10 * USEC_SEC,
		.hook_listen = (char *)"0.0.0.0:8090",
		.hook_url = (char *)"",
		.hook_program = (char *)"/usr/bin/sunk-hook",
		.hook_ca_file = (char *)"",
		.hook_cert_file = (char *)"",
		.hook_key_file = (char *)"",
		.hook_secret_file = (char *)"",
		.secret = BUF(TOKEN_SECRET_MAX),
		.cert = BUF(PEM_MAX),
		.key = BUF(PEM_MAX),
	};
	make_rows(s);
	return &s->part;
}

void scheduler_part_free(struct part *p)
{
	struct schedulerd *s = p ? p->arg : NULL;

	if (!s)
		return;
	if (s->secret.data)
		explicit_bzero(s->secret.data, s->secret.len);
	if (s->key.data)
		explicit_bzero(s->key.data, s->key.len);
	buf_done(&s->secret);
	buf_done(&s->cert);
	buf_done(&s->key);
	free(s->full_name);
	free(s->url);
	free(s);
}

int verb_scheduler(int argc, char **argv)
{
	_cleanup_(scheduler_part_freep) struct part *part = scheduler_part_new();
	const struct daemon_program program = {
		.name = "scheduler",
		.about = "The Pod Scheduler: Pods that ask for it get a placeholder job each, run where and when Slurm "
		         "runs that job, and\n"
		         "end with it; the job ends with them. Runs until it is told to end (SIGTERM).",
		.parts = &part,
		.n_parts = 1,
	};

	return daemon_main(&program, argc, argv);
}
