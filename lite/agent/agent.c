/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/agent/agent.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/args.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/map.h"
#include "base/quantity.h"
#include "base/str.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/reporter.h"
#include "lite/agent/logs.h"
#include "lite/agent/node.h"
#include "lite/agent/run.h"
#include "lite/agent/sweep.h"

#define NODES_MAX 20000
#define LABELS_MAX 64
#define PODS_PER_NODE 110
#define PODS_PER_HOLLOW_NODE 250

struct settings {
	char *kubeconfig, *dir, *nodes, *hollow, *cpu, *memory, *gpu_resource, *gpu_model, *labels, *ip_base,
	        *log_token_file;
	int64_t gpus;
	bool help, debug;
};

struct agent {
	struct loop *loop;
	struct kube_config *config;
	struct cred *cred;
	struct kube_client *client;
	struct lane lane;
	struct gate open; /* nobody else speaks for these nodes */
	struct reporter *reporter;
	struct informer *pods;
	struct sweep *sweep;
	struct logs *logs; /* NULL: not served */
	struct map nodes; /* name → struct agent_node */
	struct map runs;  /* uid → struct run */
	char *pods_dir, self[PATH_MAX];
	char *host_env, *port_env;
	const char *pod_env[3];
	const char *labels[LABELS_MAX + 1];
	size_t n_labels;
};

/* Room on a node */

static int64_t used_on(const struct agent *a, const struct agent_node *node, const struct run *besides,
                       const char *resource)
{
	size_t i = 0;
	int64_t sum = 0;
	struct run *r;

	while ((r = map_next(&a->runs, &i)))
		if (r != besides && run_node(r) == node && run_holds_resources(r))
			sum += str_eq(resource, "pods") ? 1000 : run_request(r, resource);
	return sum;
}

static bool fits(void *arg, const struct run *r, const struct pod *pod, char *reason, size_t reason_size, char *message,
                 size_t message_size)
{
	struct agent *a = arg;
	struct agent_node *node = map_get(&a->nodes, pod->node_name);
	const char *const resources[] = { "cpu", "memory", agent_node_spec(node)->gpu_resource, "pods" };

	if (agent_node_spec(node)->hollow) /* a thousand pretend nodes need no arithmetic */
		return true;
	for (size_t i = 0; i < ARRAY_LEN(resources); i++) {
		int64_t asked = str_eq(resources[i], "pods") ? 1000 : run_request(r, resources[i]);
		int64_t used = used_on(a, node, r, resources[i]), room = agent_node_allocatable(node, resources[i]);

		if (str_empty(resources[i]) || !asked || (used <= room && asked <= room - used))
			continue;
		snprintf(reason, reason_size, "OutOf%s", resources[i]);
		snprintf(message, message_size,
		         "Pod was rejected: Node didn't have enough resource: %s, requested: %" PRId64
		         ", used: %" PRId64 ", capacity: %" PRId64,
		         resources[i], asked / 1000, used / 1000, room / 1000);
		return false;
	}
	return true;
}

static void told(void *arg, const struct run *r, const struct story_event *e)
{
	struct agent *a = arg;

	reporter_tell(a->reporter,
	              &(struct kube_event) {
	                      .about = { .kind = KUBE_PODS, .ns = run_ns(r), .name = run_name(r), .uid = run_uid(r) },
	                      .type = e->type,
	                      .reason = e->reason,
	                      .action = e->action,
	                      .message = e->message });
}

static void gone(void *arg, struct run *r)
{
	struct agent *a = arg;

	map_remove(&a->runs, run_uid(r));
	run_free(r);
}

static void pod_changed(void *arg, enum store_event event, const void *was, const void *is)
{
	struct agent *a = arg;
	const struct pod *pod = is, *before = was;
	struct run *r = map_get(&a->runs, (pod ? pod : before)->meta.uid);
	struct agent_node *node = pod && pod->node_name ? map_get(&a->nodes, pod->node_name) : NULL;

	if (before &&
	    (event == STORE_REMOVED || !str_eq(before->meta.uid, pod->meta.uid))) { /* gone, or another with its name */
		struct run *old = map_get(&a->runs, before->meta.uid);

		if (old)
			run_removed(old);
	}
	if (!node)
		return;
	if (r)
		run_update(r, pod);
	else {
		const struct run_context context = { .loop = a->loop,
			                             .lane = &a->lane,
			                             .dir = a->pods_dir,
			                             .self = a->self,
			                             .pod_env = a->pod_env,
			                             .fits = fits,
			                             .tell = told,
			                             .gone = gone,
			                             .arg = a };

		r = run_new(&context, node, pod);
		map_put(&a->runs, run_uid(r), r);
	}
}

static bool is_wanted(void *arg, const char *uid)
{
	return map_get(&((struct agent *)arg)->runs, uid);
}

static bool is_synced(void *arg)
{
	return store_synced(informer_store(((struct agent *)arg)->pods));
}

static struct run *named_run(void *arg, const char *ns, const char *name)
{
	size_t i = 0;
	struct run *r;

	while ((r = map_next(&((struct agent *)arg)->runs, &i)))
		if (run_is(r, ns, name))
			return r;
	return NULL;
}

static struct run *run_of(void *arg, const char *uid)
{
	return map_get(&((struct agent *)arg)->runs, uid);
}

/* Settings */

static void add_label(void *arg, const char *s, size_t len)
{
	struct agent *a = arg;

	if (a->n_labels < LABELS_MAX)
		a->labels[a->n_labels++] = mem_strndup(s, len);
}

static int add_nodes(struct agent *a, const struct settings *s, const char *list, bool hollow, size_t *index,
                     struct err *err)
{
	_cleanup_hostlist_ struct hostlist names = HOSTLIST_INIT;
	int64_t cpu, memory;
	unsigned b1, b2;
	int r = hostlist_parse(&names, list, err);

	if (r < 0)
		return err_wrap(err, r, "--%s", hollow ? "hollow-nodes" : "nodes");
	if (map_count(&a->nodes) + names.n > NODES_MAX)
		return err_set(err, -E2BIG, "at most %d nodes", NODES_MAX);
	if (quantity_parse(s->cpu, strlen(s->cpu), &cpu) < 0 || cpu <= 0 ||
	    quantity_parse(s->memory, strlen(s->memory), &memory) < 0 || memory <= 0)
		return err_set(err, -EINVAL, "--cpu %s, --memory %s: quantities like 64 and 256Gi", s->cpu, s->memory);
	if (sscanf(s->ip_base, "%u.%u", &b1, &b2) != 2 || b1 > 255 || b2 > 255)
		return err_set(err, -EINVAL, "--ip-base %s: two numbers like 10.244", s->ip_base);
	for (size_t i = 0; i < names.n; i++) {
		struct node_spec spec = { .name = mem_strdup(names.names[i]),
			                  .ip = str_printf("%u.%u.%zu.%zu", b1, b2, *index / 250 % 256,
			                                   *index % 250 + 2),
			                  .hollow = hollow,
			                  .cpu_milli = cpu,
			                  .memory_bytes = memory / 1000,
			                  .gpus = s->gpus,
			                  .pods = hollow ? PODS_PER_HOLLOW_NODE : PODS_PER_NODE,
			                  .gpu_resource = s->gpu_resource,
			                  .gpu_model = s->gpu_model,
			                  .labels = a->labels,
			                  .port = a->logs ? logs_port(a->logs) : 0 };

		(*index)++;
		if (map_get(&a->nodes, spec.name))
			return err_set(err, -EEXIST, "node %s is named twice", spec.name);
		map_put(&a->nodes, spec.name, agent_node_new(a->loop, &a->lane, &spec));
	}
	return 0;
}

/* So that programs in Pods find the API server as they would in a cluster. */
static void make_pod_env(struct agent *a)
{
	const char *host = strstr(a->config->server, "://"), *colon, *end;

	host = host ? host + 3 : a->config->server;
	end = host + strcspn(host, "/");
	colon = memrchr(host, ':', (size_t)(end - host));
	a->host_env = str_printf("KUBERNETES_SERVICE_HOST=%.*s", (int)((colon ? colon : end) - host), host);
	a->port_env = str_printf("KUBERNETES_SERVICE_PORT=%.*s", colon ? (int)(end - colon - 1) : 3,
	                         colon ? colon + 1 : "443");
	a->pod_env[0] = a->host_env;
	a->pod_env[1] = a->port_env;
}

static void got_signal(void *arg, int sig)
{
	(void)sig;
	loop_stop(((struct agent *)arg)->loop);
}

static int set_up(struct agent *a, const struct settings *s, struct err *err)
{
	size_t index = 0;
	ssize_t n = readlink("/proc/self/exe", a->self, sizeof(a->self) - 1);
	int r;

	if (n <= 0)
		return err_errno(err, -errno, "/proc/self/exe");
	if (str_empty(s->dir))
		return err_set(err, -EINVAL, "where are Pods to live? Give --dir");
	if (mkdir(s->dir, 0755) < 0 && errno != EEXIST)
		return err_errno(err, -errno, "%s", s->dir);
	a->pods_dir = realpath(s->dir, NULL);
	r = loop_add_signal(a->loop, SIGTERM, got_signal, a, err);
	if (r == 0)
		r = loop_add_signal(a->loop, SIGINT, got_signal, a, err);
	if (r == 0)
		r = kube_config_load(
		        &(struct kube_config_options) { .path = str_empty(s->kubeconfig) ? NULL : s->kubeconfig },
		        &a->config, err);
	if (r < 0)
		return r;
	make_pod_env(a);
	str_each(s->labels, ',', add_label, a);
	a->cred = cred_new(a->loop, clock_real(), a->config, 0);
	a->client = kube_client_new(a->loop, clock_real(), a->cred);
	lane_init(&a->lane, a->client);
	a->open = GATE_ALWAYS_OPEN;
	a->reporter = reporter_new(a->loop, clock_real(), a->client, &a->open, "kubelet", "sunk-lite-agent");
	if (!str_empty(s->log_token_file))
		r = logs_new(a->loop, s->log_token_file,
		             &(struct log_source) { .named = named_run, .of_uid = run_of, .arg = a }, &a->logs, err);
	if (r == 0)
		r = add_nodes(a, s, s->nodes, false, &index, err);
	if (r == 0)
		r = add_nodes(a, s, s->hollow, true, &index, err);
	if (r == 0 && !map_count(&a->nodes))
		r = err_set(err, -EINVAL, "no nodes: give --nodes or --hollow-nodes");
	if (r < 0)
		return r;
	a->pods = informer_new(a->loop, clock_real(), a->client,
	                       &(struct informer_options) { .kind = KUBE_PODS, .field_selector = "spec.nodeName!=" });
	store_listen(informer_store(a->pods), pod_changed, a);
	a->sweep = sweep_new(a->loop, a->pods_dir, is_synced, is_wanted, a);
	return 0;
}

static void take_down(struct agent *a)
{
	struct agent_node *node;
	struct run *run;
	size_t i = 0;

	logs_free(a->logs);
	sweep_free(a->sweep);
	informer_free(a->pods);
	while ((run = map_next(&a->runs, &i)))
		run_free(run);
	map_done(&a->runs);
	i = 0;
	while ((node = map_next(&a->nodes, &i))) {
		free((char *)agent_node_spec(node)->ip);
		char *name = (char *)agent_node_spec(node)->name;

		agent_node_free(node);
		free(name);
	}
	map_done(&a->nodes);
	for (size_t n = 0; n < a->n_labels; n++)
		free((char *)a->labels[n]);
	lane_done(&a->lane);
	reporter_free(a->reporter);
	kube_client_free(a->client);
	cred_free(a->cred);
	kube_config_free(a->config);
	loop_free(a->loop);
	free(a->host_env);
	free(a->port_env);
	free(a->pods_dir);
}

int agent_main(int argc, char **argv)
{
	struct settings s = { .kubeconfig = (char *)"",
		              .dir = (char *)"",
		              .nodes = (char *)"",
		              .hollow = (char *)"",
		              .cpu = (char *)"64",
		              .memory = (char *)"256Gi",
		              .gpu_resource = (char *)"nvidia.com/gpu",
		              .gpu_model = (char *)"",
		              .labels = (char *)"",
		              .ip_base = (char *)"10.244",
		              .log_token_file = (char *)"" };
	struct arg args[] = {
		{ .flag = "kubeconfig",
		  .type = ARG_STRING,
		  .value = &s.kubeconfig,
		  .unit = "FILE",
		  .help = "Where the API server is." },
		{ .flag = "dir",
		  .type = ARG_STRING,
		  .value = &s.dir,
		  .unit = "DIR",
		  .help = "Where Pods live: a directory each, with logs." },
		{ .flag = "nodes",
		  .type = ARG_STRING,
		  .value = &s.nodes,
		  .unit = "HOSTLIST",
		  .help = "Nodes whose Pods run as local processes: k[1-4]." },
		{ .flag = "hollow-nodes",
		  .type = ARG_STRING,
		  .value = &s.hollow,
		  .unit = "HOSTLIST",
		  .help = "Nodes whose Pods only pretend to run." },
		{ .flag = "cpu",
		  .type = ARG_STRING,
		  .value = &s.cpu,
		  .unit = "QUANTITY",
		  .help = "CPUs of each node." },
		{ .flag = "memory",
		  .type = ARG_STRING,
		  .value = &s.memory,
		  .unit = "QUANTITY",
		  .help = "Memory of each node." },
		{ .flag = "gpus",
		  .type = ARG_INT,
		  .value = &s.gpus,
		  .min = 0,
		  .max = 1024,
		  .help = "GPUs of each node." },
		{ .flag = "gpu-resource",
		  .type = ARG_STRING,
		  .value = &s.gpu_resource,
		  .unit = "NAME",
		  .help = "What GPUs are called." },
		{ .flag = "gpu-model",
		  .type = ARG_STRING,
		  .value = &s.gpu_model,
		  .unit = "NAME",
		  .help = "Value of the label gpu.nvidia.com/model." },
		{ .flag = "labels",
		  .type = ARG_STRING,
		  .value = &s.labels,
		  .unit = "K=V,...",
		  .help = "More labels of each node; % in a value is the number at the end of its name." },
		{ .flag = "ip-base",
		  .type = ARG_STRING,
		  .value = &s.ip_base,
		  .unit = "N.N",
		  .help = "First half of the nodes' addresses." },
		{ .flag = "log-token-file",
		  .type = ARG_STRING,
		  .value = &s.log_token_file,
		  .unit = "FILE",
		  .help = "Serve logs to whoever shows the token in this file: the API server's agent-token." },
		{ .flag = "debug", .type = ARG_BOOL, .value = &s.debug, .help = "Log more." },
		{ .flag = "help", .type = ARG_BOOL, .value = &s.help, .help = "Show this." },
	};
	struct agent a = { .nodes = MAP_INIT, .runs = MAP_INIT };
	struct err err = { 0 };
	char **rest;
	int n_rest, r;

	r = args_parse(args, ARRAY_LEN(args), argc, argv, &rest, &n_rest, &err);
	if (r == 0 && n_rest)
		r = err_set(&err, -EINVAL, "takes no argument '%.40s' (--help tells)", rest[0]);
	if (r == 0 && s.help) {
		_cleanup_buf_ struct buf help = BUF(16384);

		args_help(args, ARRAY_LEN(args), &help);
		printf("usage: sunk-lite-agent --dir DIR --nodes LIST [FLAG...]\n\nStands for the kubelets of any "
		       "number of Nodes: runs their "
		       "Pods as local processes.\nImages are not used: a container needs a command.\n\n%s",
		       buf_text(&help));
	} else if (r == 0) {
		log_setup("sunk-lite-agent", s.debug ? LOG_DEBUG : LOG_INFO, LOG_TEXT, STDERR_FILENO);
		signal(SIGPIPE, SIG_IGN); /* shims may go while we speak to them */
		a.loop = loop_new();
		r = set_up(&a, &s, &err);
		if (r == 0)
			loop_run(a.loop);
		take_down(&a);
	}
	if (r < 0)
		fprintf(stderr, "sunk-lite-agent: %s\n", err_text(&err));
	args_done(args, ARRAY_LEN(args));
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
