/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * usage: bench-lite SUNK-LITE
 *
 * Starts a `sunk-lite serve` of its own, fills it with 1,000 Nodes and 5,000 Pods, changes them, and watches. Prints writes
 * per second by the clock and per second of the server's processor time (it has one thread, so that is one core), how
 * long a change takes to reach 10 watchers, memory, and the time of a restart.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/spawn.h"
#include "base/str.h"
#include "base/time.h"
#include "net/http_client.h"
#include "net/loop.h"

#define NODES 1000
#define PODS 5000
#define PATCHES 20000
#define IN_FLIGHT 16
#define WATCHERS 10
#define TOLD 300
#define FILE_MAX 65536
#define ANSWER_MAX_BYTES ((size_t)256 << 20)
#define DEADLINE (120 * USEC_SEC)

struct server {
	char dir[64];
	pid_t pid;
	struct buf url, ca, token;
};

struct bench {
	struct loop *loop;
	struct http_client *client;
	struct server *server;
	/* a run of writes */
	int next, n, in_flight, done, failed;
	char *(*request)(int i, const char **method, char *path, size_t size, const char **type);
	/* a change on its way to the watchers */
	char mark[32];
	int heard;
	usec_t sent, *took;
};

static usec_t now(void)
{
	return clock_mono(clock_real());
}

static void die(const char *what)
{
	fprintf(stderr, "bench-lite: %s\n", what);
	exit(1);
}

/* ---- the server ---- */

static void read_file(const char *dir, const char *name, struct buf *to)
{
	_cleanup_free_ char *path = str_printf("%s/%s", dir, name);

	buf_clear(to);
	if (buf_read_file(to, path) < 0)
		die(path);
	while (to->len > 0 && to->data[to->len - 1] == '\n')
		to->data[--to->len] = '\0';
}

static usec_t start(struct server *s, const char *program)
{
	_cleanup_free_ char *ready = str_printf("%s/ready", s->dir);
	const char *argv[] = { program, "serve", "--dir", s->dir, "--node-grace", "0", NULL };
	struct err err = { 0 };
	usec_t from = now();
	struct stat st;

	unlink(ready);
	if (spawn(&(struct spawn) { .argv = argv, .in = -1, .out = -1, .err = -1, .extra = -1 }, &s->pid, &err) < 0)
		die(err_text(&err));
	while (stat(ready, &st) < 0) {
		if (now() > from + DEADLINE)
			die("the server does not start");
		usleep(500);
	}
	read_file(s->dir, "ready", &s->url);
	read_file(s->dir, "ca.crt", &s->ca);
	read_file(s->dir, "token", &s->token);
	return now() - from;
}

static void stop(struct server *s)
{
	kill(s->pid, SIGTERM);
	waitpid(s->pid, NULL, 0);
}

/* Processor time of the server so far. */
static usec_t cpu_of(pid_t pid)
{
	char path[64], text[1024];
	unsigned long user, system;
	FILE *f;
	char *p = NULL;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (!f || !fgets(text, sizeof(text), f) || !(p = strrchr(text, ')')))
		die(path);
	fclose(f);
	if (sscanf(p + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
		die(path);
	return (usec_t)(user + system) * USEC_SEC / sysconf(_SC_CLK_TCK);
}

static double memory_mb(pid_t pid)
{
	char path[64], line[256];
	double kb = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (str_starts(line, "VmRSS:"))
			kb = strtod(line + 6, NULL);
	if (f)
		fclose(f);
	return kb / 1024;
}

/* ---- writes ---- */

static char *make_node(int i, const char **method, char *path, size_t size, const char **type)
{
	*method = "POST";
	*type = "Content-Type: application/json";
	snprintf(path, size, "/api/v1/nodes");
	return str_printf("{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"node-%04d\",\"labels\":{"
	                  "\"kubernetes.io/hostname\":\"node-%04d\","
	                  "\"kubernetes.io/os\":\"linux\",\"topology.kubernetes.io/"
	                  "zone\":\"z%d\"}},\"status\":{\"capacity\":{\"cpu\":\"128\",\"memory\":"
	                  "\"1Ti\",\"nvidia.com/"
	                  "gpu\":\"8\",\"pods\":\"110\"},\"allocatable\":{\"cpu\":\"128\",\"memory\":\"1Ti\",\"nvidia."
	                  "com/gpu\":\"8\","
	                  "\"pods\":\"110\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":"
	                  "\"KubeletReady\",\"lastHeartbeatTime\":"
	                  "\"2026-11-15T18:00:00Z\",\"lastTransitionTime\":\"2026-11-15T18:00:00Z\"}],\"addresses\":[{"
	                  "\"type\":\"InternalIP\","
	                  "\"address\":\"10.0.%d.%d\"}]}}",
	                  i, i, i % 3, i / 250, i % 250);
}

static char *make_pod(int i, const char **method, char *path, size_t size, const char **type)
{
	*method = "POST";
	*type = "Content-Type: application/json";
	snprintf(path, size, "/api/v1/namespaces/default/pods");
	return str_printf(
	        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"pod-%05d\",\"labels\":{\"app\":"
	        "\"bench\",\"part\":\"p%d\"},"
	        "\"annotations\":{\"example.com/"
	        "job\":\"%d\"}},\"spec\":{\"schedulerName\":\"bench\",\"containers\":[{\"name\":\"main\",\"image\":"
	        "\"example.com/"
	        "image:1\",\"command\":[\"sleep\",\"1000\"],\"env\":[{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"B\","
	        "\"valueFrom\":"
	        "{\"fieldRef\":{\"fieldPath\":\"metadata.name\"}}}],\"resources\":{\"requests\":{\"cpu\":\"1\","
	        "\"memory\":\"2Gi\"},\"limits\":"
	        "{\"nvidia.com/gpu\":\"1\"}},\"volumeMounts\":[{\"name\":\"tmp\",\"mountPath\":\"/"
	        "tmp\"}]}],\"volumes\":[{\"name\":\"tmp\","
	        "\"emptyDir\":{}}]}}",
	        i, i % 16, i);
}

static char *patch_pod(int i, const char **method, char *path, size_t size, const char **type)
{
	*method = "PATCH";
	*type = "Content-Type: application/strategic-merge-patch+json";
	snprintf(path, size, "/api/v1/namespaces/default/pods/pod-%05d/status", i % PODS);
	return str_printf("{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\",\"lastTransitionTime\":"
	                  "\"2026-11-15T18:%02d:%02dZ\","
	                  "\"message\":\"change %d\"}]}}",
	                  i % 2 ? "True" : "False", i / 60 % 60, i % 60, i);
}

static struct http_tls tls_of(const struct server *s)
{
	return (struct http_tls) { .ca_pem = buf_text(&s->ca) };
}

static void send_next(struct bench *b);

static void written(void *arg, struct http_answer *a)
{
	struct bench *b = arg;

	b->in_flight--;
	b->done++;
	if (a->status != 200 && a->status != 201) {
		if (b->failed++ == 0)
			fprintf(stderr, "bench-lite: %d %s\n", a->status, a->status ? a->body : err_text(a->error));
	}
	send_next(b);
	if (b->done == b->n)
		loop_stop(b->loop);
}

static void send_next(struct bench *b)
{
	while (b->next < b->n && b->in_flight < IN_FLIGHT) {
		char path[200], url[400];
		const char *method, *type;
		_cleanup_free_ char *body = b->request(b->next++, &method, path, sizeof(path), &type);
		struct http_tls tls = tls_of(b->server);

		snprintf(url, sizeof(url), "%s%s", buf_text(&b->server->url), path);
		b->in_flight++;
		http_start(b->client,
		           &(struct http_request) { .method = method,
		                                    .url = url,
		                                    .headers = { type },
		                                    .bearer = buf_text(&b->server->token),
		                                    .body = body,
		                                    .body_len = strlen(body),
		                                    .tls = &tls,
		                                    .body_max = ANSWER_MAX_BYTES },
		           NULL, written, b);
	}
}

static void run_writes(struct bench *b, const char *what, int n,
                       char *(*request)(int i, const char **method, char *path, size_t size, const char **type))
{
	usec_t from = now(), cpu = cpu_of(b->server->pid), took, used;

	b->request = request;
	b->n = n;
	b->next = b->done = b->failed = 0;
	send_next(b);
	loop_run(b->loop);
	took = now() - from;
	used = cpu_of(b->server->pid) - cpu;
	printf("%-22s %6d   %7.0f/s by the clock   %7.0f/s per core   %5.1f us each   %d failed\n", what, n,
	       (double)n / ((double)took / 1e6), (double)n / ((double)used / 1e6), (double)used / n, b->failed);
}

/* ---- watches ---- */

static int watch_piece(void *arg, const char *data, size_t len, struct err *err)
{
	struct bench *b = arg;

	(void)err;
	if (*b->mark && memmem(data, len, b->mark, strlen(b->mark)) && ++b->heard == WATCHERS)
		loop_stop(b->loop);
	return 0;
}

static void watch_ended(void *arg, struct http_answer *a)
{
	(void)arg;
	fprintf(stderr, "bench-lite: a watch ended: %d %s\n", a->status, a->error ? err_text(a->error) : "");
}

static void ignored(void *arg, struct http_answer *a)
{
	(void)arg;
	(void)a;
}

static int by_time(const void *a, const void *b)
{
	usec_t x = *(const usec_t *)a, y = *(const usec_t *)b;

	return x < y ? -1 : x > y;
}

static void stop_loop(void *arg)
{
	loop_stop(arg);
}

static void run_watches(struct bench *b)
{
	struct http_call *calls[WATCHERS];
	struct loop_timer *timer = loop_add_timer(b->loop, stop_loop, b->loop);
	struct http_tls tls = tls_of(b->server);
	usec_t took[TOLD];
	char url[400], body[200];

	for (int i = 0; i < WATCHERS; i++) {
		/* Each its own client: watchers do not share a connection. */
		struct http_client *client = http_client_new(b->loop, "bench-watch");

		snprintf(url, sizeof(url), "%s/api/v1/pods?watch=true&resourceVersion=0", buf_text(&b->server->url));
		calls[i] = http_start(client,
		                      &(struct http_request) { .method = "GET",
		                                               .url = url,
		                                               .bearer = buf_text(&b->server->token),
		                                               .tls = &tls,
		                                               .timeout = USEC_NEVER },
		                      watch_piece, watch_ended, b);
	}
	loop_set_timer(timer, now() + 5 * USEC_SEC); /* the present objects come first */
	loop_run(b->loop);
	for (int i = 0; i < TOLD; i++) {
		snprintf(b->mark, sizeof(b->mark), "mark-%d-end", i);
		snprintf(body, sizeof(body), "{\"metadata\":{\"annotations\":{\"mark\":\"%s\"}}}", b->mark);
		snprintf(url, sizeof(url), "%s/api/v1/namespaces/default/pods/pod-00000", buf_text(&b->server->url));
		b->heard = 0;
		b->sent = now();
		http_start(b->client,
		           &(struct http_request) { .method = "PATCH",
		                                    .url = url,
		                                    .headers = { "Content-Type: application/merge-patch+json" },
		                                    .bearer = buf_text(&b->server->token),
		                                    .body = body,
		                                    .body_len = strlen(body),
		                                    .tls = &tls,
		                                    .body_max = ANSWER_MAX_BYTES },
		           NULL, ignored, b);
		loop_set_timer(timer, now() + 5 * USEC_SEC);
		loop_run(b->loop);
		took[i] = now() - b->sent;
		if (b->heard != WATCHERS)
			fprintf(stderr, "bench-lite: change %d reached %d of %d watchers\n", i, b->heard, WATCHERS);
	}
	*b->mark = '\0';
	qsort(took, TOLD, sizeof(took[0]), by_time);
	printf("%-22s %6d   median %.2f ms   99%% %.2f ms   worst %.2f ms   (from asking for the change to the last of "
	       "%d)\n",
	       "change to watchers", TOLD, (double)took[TOLD / 2] / 1e3, (double)took[TOLD * 99 / 100] / 1e3,
	       (double)took[TOLD - 1] / 1e3, WATCHERS);
	for (int i = 0; i < WATCHERS; i++)
		http_cancel(calls[i]);
	loop_remove_timer(timer);
}

static void listed(void *arg, struct http_answer *a)
{
	struct bench *b = arg;

	printf("%-22s %6d   %.1f ms, %.1f MB\n", "list of all Pods", PODS, (double)(now() - b->sent) / 1e3,
	       (double)a->body_len / 1e6);
	loop_stop(b->loop);
}

static void run_list(struct bench *b)
{
	struct http_tls tls = tls_of(b->server);
	char url[400];

	snprintf(url, sizeof(url), "%s/api/v1/pods", buf_text(&b->server->url));
	b->sent = now();
	http_start(b->client,
	           &(struct http_request) { .method = "GET",
	                                    .url = url,
	                                    .bearer = buf_text(&b->server->token),
	                                    .tls = &tls,
	                                    .body_max = ANSWER_MAX_BYTES },
	           NULL, listed, b);
	loop_run(b->loop);
}

static void remove_dir(const char *dir)
{
	static const char *const names[] = { "ca.crt", "ca.key",     "token",   "port",
		                             "ready",  "kubeconfig", "journal", "lock" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		_cleanup_free_ char *path = str_printf("%s/%s", dir, names[i]);

		unlink(path);
	}
	rmdir(dir);
}

int main(int argc, char **argv)
{
	struct server s = {
		.dir = "/tmp/bench-lite-XXXXXX", .url = BUF(FILE_MAX), .ca = BUF(FILE_MAX), .token = BUF(FILE_MAX)
	};
	struct bench b = { .server = &s };
	usec_t span;

	if (argc != 2 || !mkdtemp(s.dir))
		die("usage: bench-lite SUNK-LITE");
	span = start(&s, argv[1]);
	printf("%-22s          %.1f ms, %.1f MB\n", "start, empty", (double)span / 1e3, memory_mb(s.pid));
	b.loop = loop_new();
	b.client = http_client_new(b.loop, "bench");
	run_writes(&b, "creates of Nodes", NODES, make_node);
	run_writes(&b, "creates of Pods", PODS, make_pod);
	printf("%-22s          %.1f MB with %d Pods and %d Nodes\n", "memory", memory_mb(s.pid), PODS, NODES);
	run_writes(&b, "patches of status", PATCHES, patch_pod);
	printf("%-22s          %.1f MB after %d changes\n", "memory", memory_mb(s.pid), PATCHES);
	run_list(&b);
	run_watches(&b);
	printf("%-22s          %.1f MB after watches\n", "memory", memory_mb(s.pid));
	stop(&s);
	span = start(&s, argv[1]);
	printf("%-22s          %.1f ms, %.1f MB\n", "restart with all that", (double)span / 1e3, memory_mb(s.pid));
	stop(&s);
	remove_dir(s.dir);
	return 0;
}
