/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/cred.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/test.h"
#include "kube/plugin.h"
#include "kube/test_dir.h"

#define V1 "client.authentication.k8s.io/v1"
#define PEM(name) "-----BEGIN CERTIFICATE-----\n" name "\n-----END CERTIFICATE-----\n"
#define WAIT_MAX (30 * USEC_SEC)
#define WALL_START (1800000000 * USEC_SEC) /* 2027-01-15T08:00:00Z */

struct world {
	struct test_dir dir;
	struct clock clock; /* one that stands still until it is moved */
	usec_t mono, wall;
	struct loop *loop;
	struct kube_config *config;
	struct cred *cred;
	/* the last answer */
	int n_answers;
	char bearer[256], cert[256];
	struct err error;
};

static usec_t world_mono(const struct clock *c)
{
	return CONTAINER_OF(c, struct world, clock)->mono;
}

static usec_t world_wall(const struct clock *c)
{
	return CONTAINER_OF(c, struct world, clock)->wall;
}

static int setup(void **state)
{
	struct world *w = NEW(struct world);

	test_dir_init(&w->dir);
	w->clock = (struct clock) { world_mono, world_wall };
	w->mono = 5000 * USEC_SEC;
	w->wall = WALL_START;
	w->loop = loop_new();
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	cred_free(w->cred);
	loop_free(w->loop);
	kube_config_free(w->config);
	test_dir_done(&w->dir);
	free(w);
	return 0;
}

static void pass(struct world *w, usec_t span)
{
	w->mono += span;
	w->wall += span;
}

static void begin(struct world *w, usec_t plugin_timeout)
{
	w->config->server = mem_strdup("https://h");
	w->config->origin = mem_strdup("the config");
	w->cred = cred_new(w->loop, &w->clock, w->config, plugin_timeout);
}

static void ready(void *arg, const struct cred_view *view, const struct err *error)
{
	struct world *w = arg;

	assert_true(!view != !error);
	w->n_answers++;
	w->error = error ? *error : (struct err) { 0 };
	str_copy(w->bearer, sizeof(w->bearer), view ? view->bearer : NULL);
	str_copy(w->cert, sizeof(w->cert), view ? view->tls.cert_pem : NULL);
}

static void run_until(struct world *w, int n_answers)
{
	usec_t end = clock_mono(clock_real()) + WAIT_MAX;

	while (w->n_answers < n_answers) {
		loop_run_once(w->loop, USEC_SEC);
		assert_true(clock_mono(clock_real()) < end);
	}
}

/* Asks and waits. */
static void ask(struct world *w)
{
	int n = w->n_answers;

	assert_non_null(cred_get(w->cred, ready, w));
	assert_int_equal(w->n_answers, n); /* never from within */
	run_until(w, n + 1);
}

static void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in \"%s\"", part, text);
}

/* Files */

static void test_what_is_in_the_config_is_at_hand(void **state)
{
	struct world *w = *state;
	const struct cred_view *v;

	w->config = NEW(struct kube_config);
	w->config->token = mem_strdup("t1");
	w->config->ca.text = mem_strdup(PEM("ca"));
	w->config->tls_server_name = mem_strdup("name");
	w->config->proxy = mem_strdup("http://p");
	begin(w, 0);
	v = cred_now(w->cred);
	assert_non_null(v);
	assert_string_equal(v->server, "https://h");
	assert_string_equal(v->bearer, "t1");
	assert_string_equal(v->proxy, "http://p");
	assert_string_equal(v->tls.ca_pem, PEM("ca"));
	assert_string_equal(v->tls.server_name, "name");
	assert_null(v->tls.cert_pem);
	assert_false(v->tls.insecure);
	assert_false(cred_refresh(w->cred, v->serial));
	ask(w);
	assert_string_equal(w->bearer, "t1");
}

static void test_a_token_file_is_read_again_every_minute_and_at_once_after_a_401(void **state)
{
	struct world *w = *state;
	const struct cred_view *v;
	uint64_t serial;

	w->config = NEW(struct kube_config);
	w->config->token_file = mem_strdup(test_dir_write(&w->dir, "token", "t1\n", 0600));
	begin(w, 0);
	v = cred_now(w->cred);
	assert_string_equal(v->bearer, "t1");
	serial = v->serial;
	test_dir_write(&w->dir, "token", "t2", 0600);
	pass(w, CRED_TOKEN_SPAN - 1);
	v = cred_now(w->cred);
	assert_string_equal(v->bearer, "t1");
	assert_int_equal(v->serial, serial);
	pass(w, 1);
	v = cred_now(w->cred);
	assert_string_equal(v->bearer, "t2");
	assert_int_not_equal(v->serial, serial);
	assert_int_equal(v->tls_serial, 1);
	test_dir_write(&w->dir, "token", "t3", 0600);
	assert_true(cred_refresh(w->cred, serial)); /* that was an old one: use what there is */
	assert_string_equal(cred_now(w->cred)->bearer, "t2");
	assert_true(cred_refresh(w->cred, cred_now(w->cred)->serial));
	assert_string_equal(cred_now(w->cred)->bearer, "t3");
	assert_false(cred_refresh(w->cred, cred_now(w->cred)->serial)); /* the file has nothing better */
}

/* A volume as the kubelet makes it: names → ..data → a directory, which is swapped. */
static void rotate(struct world *w, const char *generation)
{
	char text[3][64], name[3][64];
	static const char *const names[] = { "ca.crt", "tls.crt", "tls.key", "token" };

	assert_int_equal(mkdir(test_dir_path(&w->dir, generation), 0700), 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(name[0], sizeof(name[0]), "%s/%s", generation, names[i]);
		snprintf(text[0], sizeof(text[0]), i < 3 ? PEM("%s") : "token-%s", generation);
		test_dir_write(&w->dir, name[0], text[0], 0600);
		snprintf(name[1], sizeof(name[1]), "..data/%s", names[i]);
		if (symlink(name[1], test_dir_path(&w->dir, names[i])) < 0)
			assert_int_equal(errno, EEXIST);
	}
	assert_int_equal(symlink(generation, test_dir_path(&w->dir, "..new")), 0);
	assert_int_equal(rename(test_dir_path(&w->dir, "..new"), test_dir_path(&w->dir, "..data")), 0);
}

static void test_files_that_rotate_by_a_symlink_are_taken_together(void **state)
{
	struct world *w = *state;
	const struct cred_view *v;

	rotate(w, "one");
	w->config = NEW(struct kube_config);
	w->config->ca.path = mem_strdup(test_dir_path(&w->dir, "ca.crt"));
	w->config->cert.path = mem_strdup(test_dir_path(&w->dir, "tls.crt"));
	w->config->key.path = mem_strdup(test_dir_path(&w->dir, "tls.key"));
	w->config->token_file = mem_strdup(test_dir_path(&w->dir, "token"));
	begin(w, 0);
	v = cred_now(w->cred);
	assert_string_equal(v->tls.ca_pem, PEM("one"));
	assert_string_equal(v->tls.cert_pem, PEM("one"));
	assert_string_equal(v->tls.key_pem, PEM("one"));
	assert_string_equal(v->bearer, "token-one");
	rotate(w, "two");
	assert_string_equal(cred_now(w->cred)->tls.ca_pem, PEM("one")); /* not looked at yet */
	pass(w, CRED_FILE_SPAN);
	v = cred_now(w->cred);
	assert_string_equal(v->tls.ca_pem, PEM("two"));
	assert_string_equal(v->tls.cert_pem, PEM("two"));
	assert_string_equal(v->tls.key_pem, PEM("two"));
	assert_string_equal(v->bearer, "token-two");
	assert_int_equal(v->tls_serial, 2);
	assert_int_equal(v->serial, 2);
	pass(w, CRED_FILE_SPAN);
	assert_int_equal(cred_now(w->cred)->serial, 2);
	rotate(w, "three");
	assert_true(cred_refresh(w->cred, 2));
	assert_string_equal(cred_now(w->cred)->tls.ca_pem, PEM("three"));
}

static void test_what_was_read_stays_when_a_file_goes_bad(void **state)
{
	struct world *w = *state;
	const char *path = test_dir_write(&w->dir, "ca", PEM("one"), 0600);

	w->config = NEW(struct kube_config);
	w->config->ca.path = mem_strdup(path);
	begin(w, 0);
	assert_string_equal(cred_now(w->cred)->tls.ca_pem, PEM("one"));
	assert_null(cred_problem(w->cred));
	unlink(path);
	pass(w, CRED_FILE_SPAN);
	assert_string_equal(cred_now(w->cred)->tls.ca_pem, PEM("one"));
	assert_contains(cred_problem(w->cred), path);
	assert_contains(cred_problem(w->cred), "No such file");
	test_dir_write(&w->dir, "ca", "half-writ", 0600);
	pass(w, CRED_FILE_SPAN);
	assert_string_equal(cred_now(w->cred)->tls.ca_pem, PEM("one"));
	assert_contains(cred_problem(w->cred), "this is no PEM text");
	test_dir_write(&w->dir, "ca", PEM("two"), 0600);
	pass(w, CRED_FILE_SPAN);
	assert_string_equal(cred_now(w->cred)->tls.ca_pem, PEM("two"));
	assert_null(cred_problem(w->cred));
}

static void test_bad_files_are_named_and_a_later_good_one_is_used(void **state)
{
	struct world *w = *state;
	const char *path = test_dir_path(&w->dir, "token");
	char *big = mem_alloc(KUBE_TOKEN_MAX + 2);

	w->config = NEW(struct kube_config);
	w->config->token_file = mem_strdup(path);
	begin(w, 0);
	assert_null(cred_now(w->cred));
	ask(w);
	assert_int_equal(w->error.code, -ENOENT);
	assert_contains(w->error.text, "the config: ");
	assert_contains(w->error.text, path);
	test_dir_write(&w->dir, "token", "\n", 0600);
	ask(w);
	assert_contains(w->error.text, "(token): it is empty");
	test_dir_write(&w->dir, "token", "s3cr3t\nX-Header: 1", 0600);
	ask(w);
	assert_contains(w->error.text, "a token has no blanks");
	assert_null(strstr(w->error.text, "s3cr3t"));
	memset(big, 'x', KUBE_TOKEN_MAX + 1);
	test_dir_write(&w->dir, "token", big, 0600);
	free(big);
	ask(w);
	assert_contains(w->error.text, "larger than 64 KiB");
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	ask(w);
	assert_contains(w->error.text, "this is no regular file");
	rmdir(path);
	test_dir_write(&w->dir, "token", "good", 0600);
	ask(w);
	assert_int_equal(w->error.code, 0);
	assert_string_equal(w->bearer, "good");
}

/* Plugins */

#define CREDENTIAL(version, status)                                                                                    \
	"printf '%s' '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" version "\",\"status\":{" status "}}'\n"
#define COUNT_RUN "echo run >>\"$DIR/runs\"\n"

static void with_plugin(struct world *w, const char *script, usec_t timeout)
{
	struct kube_exec *e = NEW(struct kube_exec);
	char *text = str_printf("#!/bin/sh\n%s", script);

	e->command = mem_strdup(test_dir_write(&w->dir, "plugin", text, 0700));
	free(text);
	e->api_version = mem_strdup(V1);
	e->args = mem_alloc_n(3, sizeof(char *));
	e->args[0] = mem_strdup("--cluster");
	e->args[1] = mem_strdup("a b; exit 7");
	e->env = mem_alloc_n(2, sizeof(char *));
	e->env[0] = str_printf("DIR=%s", w->dir.path);
	w->config = NEW(struct kube_config);
	w->config->exec = e;
	begin(w, timeout);
}

static void change_plugin(struct world *w, const char *script)
{
	char *text = str_printf("#!/bin/sh\n%s", script);

	test_dir_write(&w->dir, "plugin.new", text, 0700);
	assert_int_equal(rename(test_dir_path(&w->dir, "plugin.new"), test_dir_path(&w->dir, "plugin")), 0);
	free(text);
}

static char *read_text(struct world *w, const char *name)
{
	struct buf b = BUF(65536);

	if (buf_read_file(&b, test_dir_path(&w->dir, name)) < 0)
		buf_clear(&b);
	return buf_take(&b);
}

static size_t count_runs(struct world *w)
{
	char *text = read_text(w, "runs");
	size_t n = 0;

	for (const char *p = text; (p = strchr(p, '\n')); p++)
		n++;
	free(text);
	return n;
}

static void test_a_plugin_gives_a_token_and_is_told_what_it_needs(void **state)
{
	struct world *w = *state;
	char *text;

	with_plugin(w,
	            "printf '%s' \"$KUBERNETES_EXEC_INFO\" >$DIR/info\nprintf '%s|' \"$#\" \"$@\" >$DIR/args\n"
	            "[ -t 0 ] || read x || echo no-input >$DIR/input\n" CREDENTIAL(V1, "\"token\":\"abc\""),
	            0);
	w->config->exec->provide_cluster_info = true;
	w->config->exec->cluster_config = mem_strdup("{\"a\":1}");
	w->config->ca.text = mem_strdup("-----BEGIN X");
	w->config->tls_server_name = mem_strdup("n");
	assert_null(cred_now(w->cred));
	ask(w);
	assert_int_equal(w->error.code, 0);
	assert_string_equal(w->bearer, "abc");
	assert_string_equal(cred_now(w->cred)->bearer, "abc");
	text = read_text(w, "info");
	assert_string_equal(text,
	                    "{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"spec\":{\"interactive\":false,"
	                    "\"cluster\":{\"server\":\"https://h\",\"tls-server-name\":\"n\","
	                    "\"certificate-authority-data\":\"LS0tLS1CRUdJTiBY\",\"config\":{\"a\":1}}}}");
	free(text);
	text = read_text(w, "args");
	assert_string_equal(text, "2|--cluster|a b; exit 7|"); /* no shell looked at it */
	free(text);
	text = read_text(w, "input");
	assert_string_equal(text, "no-input\n");
	free(text);
}

static void test_the_older_version_and_client_certificates_work_too(void **state)
{
	struct world *w = *state;
	char *info;

	with_plugin(
	        w,
	        "printf '%s' \"$KUBERNETES_EXEC_INFO\" >$DIR/info\n" CREDENTIAL(
	                V1 "beta1", "\"clientCertificateData\":\"-----BEGIN C\",\"clientKeyData\":\"-----BEGIN K\""),
	        0);
	free(w->config->exec->api_version);
	w->config->exec->api_version = mem_strdup(V1 "beta1");
	ask(w);
	assert_int_equal(w->error.code, 0);
	assert_string_equal(w->bearer, "");
	assert_string_equal(w->cert, "-----BEGIN C");
	assert_string_equal(cred_now(w->cred)->tls.key_pem, "-----BEGIN K");
	assert_int_equal(cred_now(w->cred)->tls_serial, 2);
	info = read_text(w, "info");
	assert_null(strstr(info, "cluster")); /* not asked for */
	free(info);
}

static void test_those_who_ask_meanwhile_share_one_run(void **state)
{
	struct world *w = *state;
	struct cred_wait *cancelled;

	with_plugin(w, COUNT_RUN CREDENTIAL(V1, "\"token\":\"abc\""), 0);
	for (int i = 0; i < 50; i++)
		assert_non_null(cred_get(w->cred, ready, w));
	cancelled = cred_get(w->cred, ready, w);
	loop_run_once(w->loop, 0);
	cred_get(w->cred, ready, w);
	cred_cancel(cancelled);
	run_until(w, 51);
	loop_run_once(w->loop, 0);
	assert_int_equal(w->n_answers, 51);
	assert_int_equal(count_runs(w), 1);
	ask(w);
	assert_int_equal(count_runs(w), 1);
}

static void test_more_waiters_than_the_limit_are_refused(void **state)
{
	struct world *w = *state;

	with_plugin(w, CREDENTIAL(V1, "\"token\":\"abc\""), 0);
	for (int i = 0; i < CRED_WAITERS_MAX; i++)
		assert_non_null(cred_get(w->cred, ready, w));
	assert_null(cred_get(w->cred, ready, w));
	run_until(w, CRED_WAITERS_MAX);
	ask(w);
}

/* A process that is there, and no zombie. */
static bool is_running(const char *pid)
{
	_cleanup_free_ char *path = str_printf("/proc/%d/stat", atoi(pid));
	_cleanup_buf_ struct buf b = BUF(4096);
	const char *state_at;

	if (buf_read_file(&b, path) < 0)
		return false;
	state_at = strrchr(buf_text(&b), ')');
	return state_at && state_at[1] && state_at[2] != 'Z' && state_at[2] != 'X';
}

static void wait_until_gone(const char *pid)
{
	usec_t end = clock_mono(clock_real()) + WAIT_MAX;

	assert_true(atoi(pid) > 0);
	while (is_running(pid)) {
		assert_true(clock_mono(clock_real()) < end);
		usleep(1000);
	}
}

static void test_a_plugin_that_hangs_is_killed_with_all_it_started(void **state)
{
	struct world *w = *state;
	char *pid;

	with_plugin(w,
	            "trap '' TERM INT HUP\nsleep 1000 &\necho $! >$DIR/pid\necho working on it >&2\nwait\nsleep 1000\n",
	            2 * USEC_SEC);
	ask(w);
	assert_int_equal(w->error.code, -ETIMEDOUT);
	assert_contains(w->error.text, "the config: plugin ");
	assert_contains(w->error.text, "it did not finish within 2s and was killed; it said: working on it");
	pid = read_text(w, "pid");
	wait_until_gone(pid);
	free(pid);
}

static void test_a_child_that_a_plugin_leaves_behind_does_not_hold_it_up(void **state)
{
	struct world *w = *state;
	char *pid;

	with_plugin(w, "sleep 1000 &\necho $! >$DIR/pid\n" CREDENTIAL(V1, "\"token\":\"abc\""), 0);
	ask(w);
	assert_int_equal(w->error.code, 0);
	assert_string_equal(w->bearer, "abc");
	pid = read_text(w, "pid");
	wait_until_gone(pid);
	free(pid);
}

static void test_a_plugin_is_killed_with_the_cred(void **state)
{
	struct world *w = *state;
	usec_t end = clock_mono(clock_real()) + WAIT_MAX;
	char *pid = NULL;

	with_plugin(w, "echo $$ >$DIR/pid.new\nmv $DIR/pid.new $DIR/pid\nexec sleep 1000\n", 0);
	cred_get(w->cred, ready, w);
	do {
		free(pid);
		loop_run_once(w->loop, USEC_MSEC);
		pid = read_text(w, "pid");
		assert_true(clock_mono(clock_real()) < end);
	} while (!*pid);
	assert_true(is_running(pid));
	cred_free(w->cred);
	w->cred = NULL;
	assert_false(is_running(pid));
	loop_run_once(w->loop, 0);
	assert_int_equal(w->n_answers, 0);
	free(pid);
}

static const struct {
	const char *name, *script, *says;
} bad_plugins[] = {
	{ "nothing", "exit 0\n", "what it printed (0 bytes) is no JSON" },
	{ "garbage", "echo s3cr3t\n", "what it printed (7 bytes) is no JSON" },
	{ "html", "echo '<html>s3cr3t</html>'\n", "is no JSON" },
	{ "another kind", "echo '{\"kind\":\"Pod\",\"token\":\"s3cr3t\"}'\n", "it printed no ExecCredential" },
	{ "a list", "echo '[]'\n", "it printed no ExecCredential" },
	{ "another version", CREDENTIAL(V1 "beta1", "\"token\":\"s3cr3t\""),
	  "it answered with another apiVersion than " V1 ", which the kubeconfig asks for" },
	{ "no status", "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\"}'\n",
	  "it printed an ExecCredential without status" },
	{ "empty status", CREDENTIAL(V1, ""), "it gave neither a token nor a client certificate" },
	{ "a number", CREDENTIAL(V1, "\"token\":7"), "its status.token is not what it should be" },
	{ "a header in the token", CREDENTIAL(V1, "\"token\":\"s3cr3t\\r\\nX: y\""),
	  "its status.token is not what it" },
	{ "no key", CREDENTIAL(V1, "\"clientCertificateData\":\"-----BEGIN C\""),
	  "it gave a client certificate or key without the other" },
	{ "no PEM", CREDENTIAL(V1, "\"clientCertificateData\":\"s3cr3t\",\"clientKeyData\":\"s3cr3t\""),
	  "its status.clientCertificateData is not what it should be" },
	{ "bad expiry", CREDENTIAL(V1, "\"token\":\"s3cr3t\",\"expirationTimestamp\":\"tomorrow\""),
	  "its status.expirationTimestamp is no time" },
	{ "expired", CREDENTIAL(V1, "\"token\":\"s3cr3t\",\"expirationTimestamp\":\"2027-01-15T08:00:00Z\""),
	  "what it gave expired at 2027-01-15T08:00:00Z already: is the clock of this machine right?" },
	{ "exit 1", "printf 'log in first:\\n\\033[31mrun x\\n' >&2\nexit 1\n",
	  "it failed with exit status 1; it said: log in first:\\n\\x1b[31mrun x" },
	{ "exit 3 and silent", "exit 3\n", "it failed with exit status 3" },
	{ "output and exit 1", CREDENTIAL(V1, "\"token\":\"s3cr3t\"") "exit 1\n", "it failed with exit status 1" },
	{ "killed", "kill -9 $$\n", "it was killed by signal 9" },
	{ "endless", "exec cat /dev/zero\n", "it printed more than 1024 KiB and was killed" },
	{ "endless errors", "echo first >&2\nhead -c 3000000 /dev/zero >&2\nexit 1\n",
	  "it failed with exit status 1; it said: first\\n\\x00\\x00" },
	{ "much at the end", "head -c 1200000 /dev/zero\n", "it printed more than 1024 KiB" },
};

static void test_every_bad_plugin_is_explained(void **state)
{
	struct world *w = *state;

	with_plugin(w, "", 0);
	for (size_t i = 0; i < ARRAY_LEN(bad_plugins); i++) {
		change_plugin(w, bad_plugins[i].script);
		ask(w);
		if (!strstr(w->error.text, bad_plugins[i].says))
			fail_msg("%s: \"%s\" is not in \"%s\"", bad_plugins[i].name, bad_plugins[i].says,
			         w->error.text);
		assert_contains(w->error.text, w->config->exec->command);
		assert_null(strstr(w->error.text, "s3cr3t"));
		assert_false(str_has_control(w->error.text, strlen(w->error.text)));
		assert_string_equal(cred_problem(w->cred), w->error.text);
		pass(w, 2 * USEC_MINUTE);
	}
	change_plugin(w, CREDENTIAL(V1, "\"token\":\"good\""));
	ask(w);
	assert_string_equal(w->bearer, "good");
	assert_null(cred_problem(w->cred));
}

static void test_a_plugin_that_is_not_installed_shows_the_hint(void **state)
{
	struct world *w = *state;

	with_plugin(w, "", 0);
	unlink(w->config->exec->command);
	ask(w);
	assert_int_equal(w->error.code, -ENOENT);
	assert_contains(w->error.text, "plugin: cannot run ");
	assert_contains(w->error.text, "No such file");
	w->config->exec->install_hint = mem_strdup("get it from the shelf");
	pass(w, 2 * USEC_MINUTE);
	ask(w);
	assert_contains(w->error.text, "hint from the kubeconfig: get it from the shelf");
}

static void test_a_plugin_that_fails_is_not_run_again_in_a_rush(void **state)
{
	struct world *w = *state;

	with_plugin(w, COUNT_RUN "exit 1\n", 0);
	for (int i = 0; i < 20; i++)
		ask(w);
	assert_int_equal(count_runs(w), 1);
	assert_contains(w->error.text, "it failed with exit status 1");
	pass(w, USEC_SEC);
	ask(w);
	assert_int_equal(count_runs(w), 2);
	assert_false(cred_refresh(w->cred, 1));
	for (int i = 0; i < 600; i++) { /* ten minutes of asking */
		pass(w, USEC_SEC);
		ask(w);
	}
	assert_between(count_runs(w), 10, 30);
}

#define TOKEN_UNTIL(token, time) CREDENTIAL(V1, "\"token\":\"" token "\",\"expirationTimestamp\":\"" time "\"")

static void test_credentials_are_renewed_before_they_expire(void **state)
{
	struct world *w = *state;
	usec_t end = clock_mono(clock_real()) + WAIT_MAX;

	with_plugin(w, COUNT_RUN TOKEN_UNTIL("first", "2027-01-15T08:10:00Z"), 0);
	ask(w);
	assert_string_equal(w->bearer, "first");
	change_plugin(w, COUNT_RUN TOKEN_UNTIL("second", "2027-01-15T08:20:00Z"));
	pass(w, 10 * USEC_MINUTE - CRED_EXPIRY_SPAN - 1);
	assert_string_equal(cred_now(w->cred)->bearer, "first");
	loop_run_once(w->loop, 0);
	assert_int_equal(count_runs(w), 1);
	pass(w, 1);
	assert_string_equal(cred_now(w->cred)->bearer, "first"); /* still good, nobody waits */
	while (!str_eq(cred_now(w->cred)->bearer, "second")) {
		assert_non_null(cred_now(w->cred));
		loop_run_once(w->loop, USEC_SEC);
		assert_true(clock_mono(clock_real()) < end);
	}
	assert_int_equal(count_runs(w), 2);
	assert_int_equal(cred_now(w->cred)->serial, 3);
}

static void test_what_lives_shortly_is_used_and_renewed_half_way(void **state)
{
	struct world *w = *state;

	with_plugin(w, COUNT_RUN TOKEN_UNTIL("first", "2027-01-15T08:00:20Z"), 0);
	ask(w);
	assert_string_equal(w->bearer, "first");
	pass(w, 10 * USEC_SEC - 1);
	assert_string_equal(cred_now(w->cred)->bearer, "first");
	assert_int_equal(count_runs(w), 1);
	change_plugin(w, COUNT_RUN "exit 1\n");
	pass(w, 10 * USEC_SEC);
	assert_non_null(cred_now(w->cred)); /* starts it */
	pass(w, USEC_SEC);
	assert_null(cred_now(w->cred)); /* expired meanwhile: no longer used */
	ask(w);
	assert_contains(w->error.text, "it failed with exit status 1");
	assert_int_equal(count_runs(w), 2);
}

static void test_a_401_runs_the_plugin_again_but_not_all_the_time(void **state)
{
	struct world *w = *state;
	uint64_t serial;

	with_plugin(w, COUNT_RUN CREDENTIAL(V1, "\"token\":\"first\""), 0);
	ask(w);
	serial = cred_now(w->cred)->serial;
	change_plugin(w, COUNT_RUN CREDENTIAL(V1, "\"token\":\"second\""));
	assert_false(cred_refresh(w->cred, serial)); /* it ran a moment ago */
	pass(w, CRED_REFRESH_SPAN);
	assert_true(cred_refresh(w->cred, serial));
	assert_null(cred_now(w->cred));
	assert_true(cred_refresh(w->cred, serial)); /* another request's 401 of the same credentials */
	ask(w);
	assert_string_equal(w->bearer, "second");
	assert_int_equal(count_runs(w), 2);
	assert_true(cred_refresh(w->cred, serial)); /* a late one */
	assert_string_equal(cred_now(w->cred)->bearer, "second");
	assert_int_equal(count_runs(w), 2);
}

/* One who asks again from within, and cancels another. */
struct again {
	struct world *w;
	struct cred_wait *other;
};

static void ready_again(void *arg, const struct cred_view *view, const struct err *error)
{
	struct again *a = arg;

	cred_cancel(TAKE_PTR(a->other));
	assert_non_null(cred_get(a->w->cred, ready, a->w));
	assert_non_null(view);
	assert_null(error);
}

static void test_callbacks_may_ask_again_and_cancel(void **state)
{
	struct world *w = *state;
	struct again a = { .w = w };

	w->config = NEW(struct kube_config);
	w->config->token = mem_strdup("t");
	begin(w, 0);
	assert_non_null(cred_get(w->cred, ready_again, &a));
	a.other = cred_get(w->cred, ready, w);
	run_until(w, 1);
	loop_run_once(w->loop, 0);
	loop_run_once(w->loop, 0);
	assert_int_equal(w->n_answers, 1);
	cred_cancel(NULL);
}

#define IN_WORLD(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

TEST_MAIN(IN_WORLD(what_is_in_the_config_is_at_hand),
          IN_WORLD(a_token_file_is_read_again_every_minute_and_at_once_after_a_401),
          IN_WORLD(files_that_rotate_by_a_symlink_are_taken_together),
          IN_WORLD(what_was_read_stays_when_a_file_goes_bad),
          IN_WORLD(bad_files_are_named_and_a_later_good_one_is_used),
          IN_WORLD(a_plugin_gives_a_token_and_is_told_what_it_needs),
          IN_WORLD(the_older_version_and_client_certificates_work_too), IN_WORLD(those_who_ask_meanwhile_share_one_run),
          IN_WORLD(more_waiters_than_the_limit_are_refused),
          IN_WORLD(a_plugin_that_hangs_is_killed_with_all_it_started),
          IN_WORLD(a_child_that_a_plugin_leaves_behind_does_not_hold_it_up), IN_WORLD(a_plugin_is_killed_with_the_cred),
          IN_WORLD(every_bad_plugin_is_explained), IN_WORLD(a_plugin_that_is_not_installed_shows_the_hint),
          IN_WORLD(a_plugin_that_fails_is_not_run_again_in_a_rush),
          IN_WORLD(credentials_are_renewed_before_they_expire),
          IN_WORLD(what_lives_shortly_is_used_and_renewed_half_way),
          IN_WORLD(a_401_runs_the_plugin_again_but_not_all_the_time), IN_WORLD(callbacks_may_ask_again_and_cancel))
