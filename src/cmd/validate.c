/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * sunk validate: what would become of these Pods? The job that the scheduler would submit for each, or all that is wrong
 * with it, decided by the very code that the scheduler uses. Needs no cluster; with --cluster it looks at one, to tell
 * where the Pods may run.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "cmd/both_sides.h"
#include "cmd/manifest.h"
#include "cmd/pod_report.h"
#include "cmd/pod_rules.h"
#include "cmd/verb.h"
#include "policy/validate.h"

#define OWN_ROWS 9

static const char *const output_choices[] = { "text", "json", NULL };

struct settings {
	struct arg_list files;
	struct pod_rules rules;
	char *ns, *nodeset_ns, *kubeconfig, *context;
	usec_t timeout;
	int output;
	bool cluster, help;
};

struct validate {
	struct cluster_nodes *cluster; /* NULL = nobody asked */
	struct rules rules;
	struct pod_report report;
};

static void check_scheduler(const struct pod *pod, const struct rules *rules, struct problems *problems)
{
	char quoted[PROBLEM_QUOTE_MAX];

	if (str_empty(rules->scheduler_name)) {
		if (str_empty(pod->scheduler_name) || str_eq(pod->scheduler_name, "default-scheduler"))
			problem_warning(problems, "spec.schedulerName",
			                "is not set: Kubernetes itself would schedule the Pod, not Slurm");
	} else if (!str_eq(pod->scheduler_name, rules->scheduler_name))
		problem_warning(problems, "spec.schedulerName", "is %s, so the scheduler would not look at the Pod",
		                problem_quote(str_or(pod->scheduler_name, "default-scheduler"), quoted));
}

static void look_at(void *arg, const struct manifest_item *item)
{
	struct validate *v = arg;
	_cleanup_problems_ struct problems problems = PROBLEMS_INIT;
	struct wishes wishes;
	struct podjob job = { 0 };
	struct cluster_fit fit = { 0 };
	struct pod_verdict verdict = { .item = item, .problems = &problems, .wishes = &wishes };

	if (item->pod) {
		validate_pod(item->pod, &v->rules, &wishes, &problems);
		check_scheduler(item->pod, &v->rules, &problems);
		if (v->cluster) {
			cluster_nodes_look(v->cluster, item->pod, &v->rules, &fit);
			verdict.fit = &fit;
		}
		if (!problems.n_errors) {
			podjob_make(item->pod, &wishes, &v->rules, fit.feasible.excluded, &job);
			verdict.job = &job;
		}
	}
	pod_report_add(&v->report, &verdict);
	podjob_done(&job);
	cluster_fit_done(&fit);
}

static int read_file(const char *path, struct buf *text, struct err *err)
{
	int r = str_eq(path, "-") ? buf_read_fd(text, STDIN_FILENO) : buf_read_file(text, path);

	if (r == -EFBIG)
		return err_set(err, r, "%s: larger than %zu KiB", path, MANIFEST_BYTES_MAX >> 10);
	return r < 0 ? err_errno(err, r, "%s", path) : 0;
}

static int open_cluster(const struct settings *s, struct cluster_nodes **ret, struct err *err)
{
	const struct kube_config_options o = { .path = str_empty(s->kubeconfig) ? NULL : s->kubeconfig,
		                               .context = str_empty(s->context) ? NULL : s->context };

	return s->cluster ? cluster_nodes_open(&o, s->nodeset_ns, s->timeout, ret, err) : 0;
}

static int look_at_files(struct validate *v, const struct settings *s, struct err *err)
{
	for (size_t i = 0; i < s->files.n; i++) {
		_cleanup_buf_ struct buf text = BUF(MANIFEST_BYTES_MAX);
		const char *path = s->files.items[i];
		int r = read_file(path, &text, err);

		if (r == 0)
			r = manifest_each(buf_text(&text), text.len, str_eq(path, "-") ? "stdin" : path, s->ns, look_at,
			                  v, err);
		if (r < 0)
			return r;
	}
	return v->report.n_pods
	               ? 0
	               : err_set(err, -ENOENT, "there is no Pod, and nothing that makes Pods, in what was given");
}

static int run(const struct settings *s)
{
	struct validate v = { 0 };
	struct err err = { 0 };
	int r;

	pod_rules_apply(&s->rules, &v.rules);
	pod_report_init(&v.report, stdout, s->output == 1);
	r = open_cluster(s, &v.cluster, &err);
	if (r == 0)
		r = look_at_files(&v, s, &err);
	pod_report_done(&v.report);
	cluster_nodes_free(v.cluster);
	if (r < 0) {
		fprintf(stderr, "sunk validate: %s\n", err_text(&err));
		return STATUS_USAGE;
	}
	return v.report.n_bad ? STATUS_FAILED : STATUS_OK;
}

int verb_validate(int argc, char **argv)
{
	struct settings s = { .ns = (char *)"default",
		              .nodeset_ns = (char *)"",
		              .kubeconfig = (char *)"",
		              .context = (char *)"",
		              .timeout = 10 * USEC_SEC };
	struct arg args[OWN_ROWS + POD_RULES_ROWS] = {
		{ .flag = "filename",
		  .type = ARG_LIST,
		  .value = &s.files,
		  .unit = "FILE",
		  .help = "What to look at: YAML or JSON, any number of documents; - is standard input. Also -f. May "
		          "be repeated." },
		{ .flag = "output",
		  .type = ARG_CHOICE,
		  .value = &s.output,
		  .choices = output_choices,
		  .help = "How to tell. Also -o." },
		{ .flag = "namespace",
		  .type = ARG_STRING,
		  .value = &s.ns,
		  .unit = "NAME",
		  .help = "Where objects live that do not say. Also -n." },
		{ .flag = "cluster",
		  .type = ARG_BOOL,
		  .value = &s.cluster,
		  .help = "Look at the live cluster too: which of its nodes could run each Pod, and why the others "
		          "could not." },
		{ .flag = "kubeconfig",
		  .type = ARG_STRING,
		  .value = &s.kubeconfig,
		  .unit = "FILE",
		  .help = "With --cluster: where Kubernetes is; else $KUBECONFIG, ~/.kube/config, or the Pod's service "
		          "account." },
		{ .flag = "context",
		  .type = ARG_STRING,
		  .value = &s.context,
		  .unit = "NAME",
		  .help = "With --cluster: context of the kubeconfig; else its current one." },
		{ .flag = "nodeset-namespace",
		  .type = ARG_STRING,
		  .value = &s.nodeset_ns,
		  .unit = "NAME",
		  .help = "With --cluster: NodeSet Pods of this namespace only, as the daemons' flag of that name; "
		          "else of all." },
		{ .flag = "timeout",
		  .type = ARG_DURATION,
		  .value = &s.timeout,
		  .min = 100 * USEC_MSEC,
		  .max = USEC_HOUR,
		  .help = "With --cluster: how long it may take to answer." },
		{ .flag = "help", .type = ARG_BOOL, .value = &s.help, .help = "Show this." },
	};
	size_t n = OWN_ROWS + pod_rules_rows(&s.rules, args + OWN_ROWS);
	struct err err = { 0 };
	char **rest;
	int n_rest, status = STATUS_USAGE;

	for (size_t i = 0; i < n; i++)
		args[i].config = NULL; /* there is no config file here */
	both_sides_letters(argc, argv);
	if (args_parse(args, n, argc, argv, &rest, &n_rest, &err) < 0)
		fprintf(stderr, "sunk validate: %s\n", err_text(&err));
	else if (s.help) {
		_cleanup_buf_ struct buf help = BUF(16384);

		args_help(args, n, &help);
		printf("usage: sunk validate -f FILE [FLAG...]\n\n"
		       "Tells which Slurm job each Pod would become (also those of a Deployment, ReplicaSet, "
		       "StatefulSet, Job,\n"
		       "CronJob or DaemonSet), or everything that is wrong with it. Sends nothing.\n"
		       "Exits with 0 when all Pods could be submitted, 1 when one could not, 2 when there is nothing "
		       "to look at.\n\n%s",
		       buf_text(&help));
		status = STATUS_OK;
	} else if (n_rest)
		fprintf(stderr, "sunk validate: takes no argument '%.40s': files go behind -f (--help tells)\n",
		        rest[0]);
	else if (!s.files.n)
		fprintf(stderr, "sunk validate: which file? (-f FILE, or -f - for standard input)\n");
	else {
		log_setup("sunk validate", LOG_ERROR, LOG_TEXT, STDERR_FILENO);
		status = run(&s);
	}
	args_done(args, n);
	return status;
}
