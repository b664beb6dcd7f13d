/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Whole daemons, each in a process of its own, with one part that does next to nothing; a Kubernetes here in the test that knows
 * Leases only, and no Slurm at all.
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "base/test.h"
#include "kube/test_dir.h"
#include "net/http_server.h"
#include "net/test_call.h"
#include "slurm/worker.h"
#include "json/json.h"

#define LOG_MAX (1 << 20)
#define PARKED_MAX 16

/* The part: writes down what happens to it. */

struct tester {
	struct part part;
	struct daemon *daemon;
	char *name;
	bool watches, binds, refuses; /* keeps Pods; begins an effect; does not start */
	int fd, steps;
	struct arg rows[1];
};

static void note(struct tester *t, const char *what)
{
	_cleanup_free_ char *line = str_printf("[%s]\n", what);

	assert_int_equal(write(t->fd, line, strlen(line)), strlen(line));
}

static int tester_prepare(void *arg, struct daemon *d, struct err *err)
{
	struct tester *t = arg;

	if (str_eq(t->name, "bad"))
		return err_set(err, -EINVAL, "--name bad: is bad");
	if (!daemon_given(d, "name"))
		note(t, "name by default");
	daemon_lease_is(d, "tester");
	note(t, daemon_namespace(d));
	return 0;
}

static void bound(void *arg, const struct kube_result *result)
{
	(void)result;
	note(arg, "bound");
}

static int tester_start(void *arg, struct daemon *d, struct err *err)
{
	struct tester *t = arg;
	const struct kube_ref pod = { .kind = KUBE_PODS, .ns = "ns", .name = "p" };

	t->daemon = d;
	note(t, "start");
	if (t->refuses)
		return err_set(err, -EINVAL, "does not want to");
	if (t->watches)
		daemon_kube(d)->ops->watch(daemon_kube(d), KUBE_PODS, NULL, NULL, NULL);
	if (t->binds)
		daemon_kube(d)->ops->bind(daemon_kube(d), &pod, "n", bound, t);
	return 0;
}

static usec_t tester_step(void *arg)
{
	struct tester *t = arg;

	if (++t->steps == 1)
		return loop_now(daemon_loop(t->daemon)) + USEC_MSEC; /* the timer makes the second */
	if (t->steps == 2) { /* waking twice makes one */
		part_wake(&t->part);
		part_wake(&t->part);
	}
	if (t->steps == 3)
		note(t, "three steps");
	if (t->steps > 4)
		note(t, "too many steps");
	return USEC_NEVER;
}

static void tester_leading(void *arg, bool leading)
{
	note(arg, leading ? "leading" : "not leading");
}

static bool tester_ready(void *arg, struct err *ret_why)
{
	(void)arg;
	err_set(ret_why, -EAGAIN, "it never is");
	return false;
}

static void tester_stop(void *arg)
{
	note(arg, "stop");
}

static void tester_done(void *arg)
{
	note(arg, "done");
}

static void tester_init(struct tester *t, int fd)
{
	*t = (struct tester) {
		.name = (char *)"t",
		.fd = fd,
		.part = { .name = "tester",
		          .arg = t,
		          .bell = true,
		          .rows = t->rows,
		          .n_rows = 1,
		          .prepare = tester_prepare,
		          .start = tester_start,
		          .step = tester_step,
		          .leading = tester_leading,
		          .ready = tester_ready,
		          .stop = tester_stop,
		          .done = tester_done },
	};
	t->rows[0] = (struct arg) {
		.flag = "name", .config = "tester.name", .type = ARG_STRING, .value = &t->name, .help = "A name."
	};
}

/* The world around it. */

struct world {
	struct test_dir dir;
	struct loop *loop;
	struct http_client *client;
	struct http_server *api;
	char *lease; /* as last written */
	int version;
	bool silent; /* the API answers nothing */
	struct http_incoming *parked[PARKED_MAX];
	size_t n_parked;
	const char *kubeconfig, *listen_file, *log;
	pid_t pid;
};

static void keep_lease(struct world *w, struct http_incoming *in)
{
	size_t len;
	const char *body = http_in_body(in, &len);
	yyjson_doc *doc = yyjson_read(body, len, 0);
	yyjson_mut_doc *mut = yyjson_doc_mut_copy(doc, NULL);
	yyjson_mut_val *meta = yyjson_mut_obj_get(yyjson_mut_doc_get_root(mut), "metadata");
	char version[16];

	snprintf(version, sizeof(version), "%d", ++w->version);
	yyjson_mut_obj_put(meta, yyjson_mut_str(mut, "resourceVersion"), yyjson_mut_str(mut, version));
	yyjson_mut_obj_put(meta, yyjson_mut_str(mut, "uid"), yyjson_mut_str(mut, "u"));
	free(w->lease);
	w->lease = yyjson_mut_write(mut, 0, NULL);
	yyjson_mut_doc_free(mut);
	yyjson_doc_free(doc);
	http_reply(in, 200, NULL, w->lease, strlen(w->lease));
}

/* Two Pods that cannot be read, and a watch that tells nothing. */
static void show_pods(struct world *w, struct http_incoming *in)
{
	static const char list[] = "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":["
	                           "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"p\"},\"spec\":{\"nodeName\":1}},"
	                           "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"q\"},\"spec\":{\"nodeName\":2}}]}";

	if (http_in_query(in, "watch")) {
		assert_true(w->n_parked < PARKED_MAX);
		w->parked[w->n_parked++] = in;
	} else
		http_reply(in, 200, NULL, list, strlen(list));
}

static void api(void *arg, struct http_incoming *in)
{
	struct world *w = arg;

	if (w->silent) {
		assert_true(w->n_parked < PARKED_MAX);
		w->parked[w->n_parked++] = in;
	} else if (str_eq(http_in_path(in), "/api/v1/pods"))
		show_pods(w, in);
	else if (!strstr(http_in_path(in), "/namespaces/home/leases"))
		http_reply_error(in, 404, "not here");
	else if (!str_eq(http_in_method(in), "GET"))
		keep_lease(w, in);
	else if (w->lease)
		http_reply(in, 200, NULL, w->lease, strlen(w->lease));
	else
		http_reply_error(in, 404, "no lease");
}

static void world_init(struct world *w)
{
	_cleanup_free_ char *config = NULL;
	struct err err = { 0 };

	*w = (struct world) { .loop = loop_new() };
	test_dir_init(&w->dir);
	w->client = http_client_new(w->loop, "test");
	w->api = http_server_new(w->loop, &(struct http_server_options) { .address = "127.0.0.1" }, api, w, &err);
	assert_non_null(w->api);
	config = str_printf("apiVersion: v1\nkind: Config\ncurrent-context: c\n"
	                    "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:%u'}}]\n"
	                    "users: [{name: u, user: {token: t}}]\n"
	                    "contexts: [{name: c, context: {cluster: c, user: u, namespace: home}}]\n",
	                    http_server_port(w->api));
	w->kubeconfig = test_dir_write(&w->dir, "kubeconfig", config, 0600);
	w->listen_file = test_dir_path(&w->dir, "listen");
	w->log = test_dir_path(&w->dir, "log");
}

static void world_done(struct world *w)
{
	if (w->pid > 0) {
		kill(w->pid, SIGKILL);
		waitpid(w->pid, NULL, 0);
	}
	http_server_free(w->api);
	http_client_free(w->client);
	loop_free(w->loop);
	free(w->lease);
	test_dir_done(&w->dir);
}
#define _cleanup_world_ _cleanup_(world_done)

enum how { PLAIN, BINDS, REFUSES, WATCHES };

/* The daemon's own process: `daemon-daemon tester HOW FLAG…`. */
static int tester_main(int argc, char **argv)
{
	struct tester t;
	struct part *parts[] = { &t.part };
	const struct daemon_program program = { "tester", "Tests.", parts, 1 };

	tester_init(&t, STDERR_FILENO);
	t.binds = str_eq(argv[2], "binds");
	t.refuses = str_eq(argv[2], "refuses");
	t.watches = str_eq(argv[2], "watches");
	return daemon_main(&program, argc - 2, argv + 2);
}

/* Starts a daemon with the usual flags and two more. The test has threads, so nothing but exec may follow the fork. */
static void start(struct world *w, enum how how, const char *flag, const char *flag2)
{
	static const char *const hows[] = {
		[PLAIN] = "plain", [BINDS] = "binds", [REFUSES] = "refuses", [WATCHES] = "watches"
	};
	const char *argv[] = { "daemon",
		               "tester",
		               hows[how],
		               "--kubeconfig",
		               w->kubeconfig,
		               "--slurm-conf",
		               "/nonexistent/slurm.conf",
		               "--listen",
		               "127.0.0.1:0",
		               "--listen-file",
		               w->listen_file,
		               "--doorbell-port=0",
		               "--doorbell-address=127.0.0.1",
		               "--retry-period=100ms",
		               flag ? flag : flag2,
		               flag ? flag2 : NULL,
		               NULL };

	w->pid = fork();
	assert_true(w->pid >= 0);
	if (w->pid == 0) {
		int fd = open(w->log, O_WRONLY | O_CREAT | O_APPEND, 0600);

		dup2(fd, STDERR_FILENO);
		dup2(fd, STDOUT_FILENO);
		execv("/proc/self/exe", (char **)(uintptr_t)argv);
		_exit(99);
	}
}

static const char *read_log(struct world *w, struct buf *out)
{
	buf_clear(out);
	if (buf_read_file(out, w->log) < 0)
		return "";
	return buf_text(out);
}

static void wait_for_log(struct world *w, const char *text)
{
	usec_t end = clock_mono(clock_real()) + TEST_DEADLINE;
	_cleanup_buf_ struct buf out = BUF(LOG_MAX);

	while (!strstr(read_log(w, &out), text)) {
		if (clock_mono(clock_real()) > end)
			fail_msg("no '%s' in:\n%s", text, buf_text(&out));
		loop_run_once(w->loop, 10 * USEC_MSEC);
	}
}

static void assert_not_logged(struct world *w, const char *text)
{
	_cleanup_buf_ struct buf out = BUF(LOG_MAX);

	if (strstr(read_log(w, &out), text))
		fail_msg("'%s' in:\n%s", text, buf_text(&out));
}

static void assert_order(struct world *w, const char *first, const char *second)
{
	_cleanup_buf_ struct buf out = BUF(LOG_MAX);
	const char *a = strstr(read_log(w, &out), first), *b = strstr(buf_text(&out), second);

	if (!a || !b || a > b)
		fail_msg("'%s' is not before '%s' in:\n%s", first, second, buf_text(&out));
}

static int wait_for_end(struct world *w)
{
	_cleanup_buf_ struct buf out = BUF(LOG_MAX);
	usec_t end = clock_mono(clock_real()) + TEST_DEADLINE;
	int status = 0, r = 0;

	while (r == 0 && clock_mono(clock_real()) < end) {
		r = waitpid(w->pid, &status, WNOHANG);
		loop_run_once(w->loop, 10 * USEC_MSEC);
	}
	if (r != w->pid)
		fail_msg("it does not end:\n%s", read_log(w, &out));
	w->pid = 0;
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* The page of a daemon that has started. */
static void get(struct world *w, const char *method, const char *page, struct result *ret)
{
	usec_t end = clock_mono(clock_real()) + TEST_DEADLINE;
	_cleanup_buf_ struct buf text = BUF(LOG_MAX);
	char url[200];

	while (buf_read_file(&text, w->listen_file) < 0 && clock_mono(clock_real()) < end)
		loop_run_once(w->loop, 10 * USEC_MSEC);
	assert_true(str_starts(buf_text(&text), "http http://127.0.0.1:"));
	snprintf(url, sizeof(url), "%.*s%s", (int)strcspn(buf_text(&text) + 5, "\n"), buf_text(&text) + 5, page);
	do_call(w->loop, w->client,
	        &(struct http_request) { .method = method, .url = url, .body_max = LOG_MAX, .timeout = TEST_DEADLINE },
	        ret);
}

static void test_it_lives_and_says_what_is_not_ready(void **state)
{
	_cleanup_world_ struct world w;
	_cleanup_result_ struct result r = { 0 };

	(void)state;
	world_init(&w);
	start(&w, PLAIN, "--leader-elect=false", NULL);
	wait_for_log(&w, "slurm is not ready: ");
	get(&w, "GET", "/healthz", &r);
	assert_int_equal(r.status, 200);
	assert_string_equal(r.body, "ok\n");
	get(&w, "GET", "/readyz", &r);
	assert_int_equal(r.status, 503);
	assert_non_null(strstr(r.body, "slurm: "));
	assert_non_null(strstr(r.body, "/nonexistent/slurm.conf"));
	assert_non_null(strstr(r.body, "tester: it never is\n"));
	assert_null(strstr(r.body, "kubernetes: "));
	get(&w, "GET", "/readyz?verbose", &r);
	assert_int_equal(r.status, 503);
	assert_string_equal(r.content_type, "application/json");
	assert_non_null(strstr(r.body, "\"ready\": false"));
	assert_non_null(strstr(r.body, "\"leader\": true"));
	assert_non_null(strstr(r.body, "\"name\": \"kubernetes\",\n            \"ready\": true"));
	assert_non_null(strstr(r.body, "\"why\": \"it never is\""));
	get(&w, "GET", "/metrics", &r);
	assert_int_equal(r.status, 200);
	assert_string_equal(r.content_type, METRICS_CONTENT_TYPE);
	assert_non_null(strstr(r.body, "sunk_build_info{version=\"" SUNK_VERSION "\"} 1\n"));
	assert_non_null(strstr(r.body, "sunk_ready{check=\"tester\"} 0\n"));
	assert_non_null(strstr(r.body, "sunk_leader 1\n"));
	assert_non_null(strstr(r.body, "\nsunk_process_resident_memory_bytes "));
	assert_non_null(strstr(r.body, "\nsunk_step_seconds_count{part=\"tester\"} "));
	get(&w, "GET", "/nothing", &r);
	assert_int_equal(r.status, 404);
	get(&w, "DELETE", "/metrics", &r);
	assert_int_equal(r.status, 405);
	assert_int_equal(kill(w.pid, SIGTERM), 0);
	assert_int_equal(wait_for_end(&w), DAEMON_OK);
}

static void test_a_part_is_stepped_when_woken_and_when_it_is_time(void **state)
{
	_cleanup_world_ struct world w;

	(void)state;
	world_init(&w);
	start(&w, PLAIN, NULL, NULL);
	wait_for_log(&w, "[three steps]");
	wait_for_log(&w, "[leading]"); /* wakes it for the fourth */
	assert_int_equal(kill(w.pid, SIGTERM), 0);
	assert_int_equal(wait_for_end(&w), DAEMON_OK);
	assert_not_logged(&w, "too many steps");
	assert_order(&w, "[name by default]", "[home]");
	assert_order(&w, "[home]", "[start]");
	assert_order(&w, "[start]", "[leading]");
}

static void test_at_the_end_the_lease_is_given_back(void **state)
{
	_cleanup_world_ struct world w;

	(void)state;
	world_init(&w);
	start(&w, PLAIN, "--instance=me", NULL);
	wait_for_log(&w, "[leading]");
	assert_non_null(strstr(w.lease, "\"holderIdentity\":\"me_"));
	assert_non_null(strstr(w.lease, "\"name\":\"tester\""));
	assert_int_equal(kill(w.pid, SIGTERM), 0);
	assert_int_equal(wait_for_end(&w), DAEMON_OK);
	assert_null(strstr(w.lease, "\"holderIdentity\":\"me_"));
	assert_order(&w, "[stop]", "the lease is given back");
	assert_order(&w, "the lease is given back", "[done]");
}

static void test_what_was_sent_is_awaited_before_the_end(void **state)
{
	_cleanup_world_ struct world w;

	(void)state;
	world_init(&w);
	w.silent = true;
	start(&w, BINDS, "--leader-elect=false", "--stop-timeout=50s");
	while (w.n_parked == 0)
		loop_run_once(w.loop, 10 * USEC_MSEC);
	assert_int_equal(kill(w.pid, SIGTERM), 0);
	wait_for_log(&w, "[stop]");
	for (int i = 0; i < 10; i++) /* a few rounds, in which it must not end */
		loop_run_once(w.loop, 10 * USEC_MSEC);
	assert_int_equal(waitpid(w.pid, NULL, WNOHANG), 0);
	for (size_t i = 0; i < w.n_parked; i++)
		http_reply_error(w.parked[i], 404, "gone");
	assert_int_equal(wait_for_end(&w), DAEMON_OK);
	assert_order(&w, "[bound]", "[done]");
}

static void test_the_wait_at_the_end_is_bounded(void **state)
{
	_cleanup_world_ struct world w;

	(void)state;
	world_init(&w);
	w.silent = true;
	start(&w, BINDS, "--leader-elect=false", "--stop-timeout=100ms");
	while (w.n_parked == 0)
		loop_run_once(w.loop, 10 * USEC_MSEC);
	assert_int_equal(kill(w.pid, SIGTERM), 0);
	assert_int_equal(wait_for_end(&w), DAEMON_OK);
	assert_order(&w, "requests still without an answer: 1", "[done]");
	assert_not_logged(&w, "[bound]");
}

static void test_told_twice_it_ends_at_once(void **state)
{
	_cleanup_world_ struct world w;

	(void)state;
	world_init(&w);
	w.silent = true;
	start(&w, BINDS, "--leader-elect=false", "--stop-timeout=1h");
	while (w.n_parked == 0)
		loop_run_once(w.loop, 10 * USEC_MSEC);
	assert_int_equal(kill(w.pid, SIGTERM), 0);
	wait_for_log(&w, "[stop]");
	assert_int_equal(kill(w.pid, SIGTERM), 0);
	assert_int_equal(wait_for_end(&w), DAEMON_FAILED);
	wait_for_log(&w, "ending at once");
}

/* Nobody answers there, and nobody else gets the port: the daemon's own server would pass for Kubernetes. */
static int keep_port(uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		                  .sin_port = htons(port),
		                  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static void test_kubernetes_away_does_not_end_it(void **state)
{
	_cleanup_world_ struct world w;
	_cleanup_fd_ int kept = -1;
	uint16_t port;
	_cleanup_result_ struct result r = { 0 };

	(void)state;
	world_init(&w);
	port = http_server_port(w.api);
	http_server_free(TAKE_PTR(w.api));
	kept = keep_port(port);
	start(&w, PLAIN, NULL, NULL);
	wait_for_log(&w, "kubernetes is not ready: ");
	get(&w, "GET", "/readyz", &r);
	assert_int_equal(r.status, 503);
	assert_non_null(strstr(r.body, "kubernetes: "));
	assert_not_logged(&w, "[leading]");
	assert_int_equal(kill(w.pid, SIGTERM), 0);
	assert_int_equal(wait_for_end(&w), DAEMON_OK);
}

static void test_objects_that_cannot_be_read_are_told_once(void **state)
{
	static const char told[] = "pods that cannot be read and are taken as they were before: 2, the last "
	                           "of them Pod ns/q: spec.nodeName: expected a string, got a number";
	_cleanup_buf_ struct buf out = BUF(LOG_MAX);
	_cleanup_world_ struct world w;
	const char *first;

	(void)state;
	world_init(&w);
	start(&w, WATCHES, "--leader-elect=false", NULL);
	wait_for_log(&w, told);
	assert_int_equal(kill(w.pid, SIGTERM), 0);
	assert_int_equal(wait_for_end(&w), 0);
	first = strstr(read_log(&w, &out), told);
	assert_null(strstr(first + strlen(told), "cannot be read"));
}

static void test_what_cannot_start_says_why(void **state)
{
	static const struct {
		const char *flag, *flag2, *error;
		enum how how;
		int status;
	} cases[] = {
		{ "--nope", NULL, "sunk tester: unknown flag --nope", PLAIN, DAEMON_USAGE },
		{ "word", NULL, "sunk tester: takes no argument 'word'", PLAIN, DAEMON_USAGE },
		{ "--config=/nonexistent/f.yaml", NULL, "/nonexistent/f.yaml: No such file", PLAIN, DAEMON_USAGE },
		{ "--name=bad", NULL, "--name bad: is bad", PLAIN, DAEMON_FAILED },
		{ "--listen=x", NULL, "--listen: 'x' is no ADDRESS:PORT", PLAIN, DAEMON_FAILED },
		{ "--listen-file=/nonexistent/x", NULL, "--listen-file /nonexistent/x: No such file", PLAIN,
		  DAEMON_FAILED },
		{ "--kubeconfig=/nonexistent/x", NULL, "/nonexistent/x", PLAIN, DAEMON_FAILED },
		{ "--lease-duration=5s", "--renew-deadline=6s", "renew", PLAIN, DAEMON_FAILED },
		{ NULL, NULL, "tester: does not want to", REFUSES, DAEMON_FAILED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_world_ struct world w;

		world_init(&w);
		start(&w, cases[i].how, cases[i].flag, cases[i].flag2);
		assert_int_equal(wait_for_end(&w), cases[i].status);
		wait_for_log(&w, cases[i].error);
		if (cases[i].how == REFUSES)
			assert_order(&w, "[start]", "[done]");
	}
}

static void test_settings_come_from_a_file_too(void **state)
{
	_cleanup_world_ struct world w;
	_cleanup_free_ char *flag = NULL;

	(void)state;
	world_init(&w);
	flag = str_printf("--config=%s",
	                  test_dir_write(&w.dir, "f.yaml", "tester: {name: bad}\nslurm: {poolSize: 2}\n", 0600));
	start(&w, PLAIN, flag, NULL);
	assert_int_equal(wait_for_end(&w), DAEMON_FAILED);
	wait_for_log(&w, "--name bad: is bad");
}

static void test_help_shows_all_settings(void **state)
{
	_cleanup_world_ struct world w;

	(void)state;
	world_init(&w);
	start(&w, PLAIN, "--help", NULL);
	assert_int_equal(wait_for_end(&w), DAEMON_OK);
	wait_for_log(&w, "usage: sunk tester [FLAG...]");
	wait_for_log(&w, "--name TEXT");
	wait_for_log(&w, "[config: tester.name]");
	wait_for_log(&w, "--slurm-pool-size N");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(it_lives_and_says_what_is_not_ready),
		TEST(a_part_is_stepped_when_woken_and_when_it_is_time),
		TEST(at_the_end_the_lease_is_given_back),
		TEST(what_was_sent_is_awaited_before_the_end),
		TEST(the_wait_at_the_end_is_bounded),
		TEST(told_twice_it_ends_at_once),
		TEST(kubernetes_away_does_not_end_it),
		TEST(objects_that_cannot_be_read_are_told_once),
		TEST(what_cannot_start_says_why),
		TEST(settings_come_from_a_file_too),
		TEST(help_shows_all_settings),
	};

	if (argc > 2 && str_eq(argv[1], "tester"))
		return tester_main(argc, argv);
	if (argc > 1 && str_eq(argv[1], "slurm-worker")) /* the daemon starts itself as such */
		return slurm_worker_main(3);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
