/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/spawn.h"
#include "base/str.h"
#include "kube/secret.h"
#include "json/json.h"
#include "json/patch.h"

#define READ_STEP 65536
#define READS_AT_END_MAX 64 /* what may still be in a pipe when the child has ended, and then some */

struct plugin {
	struct loop *loop;
	const struct kube_exec *exec;
	pid_t pid; /* 0 once it is reaped */
	int pid_fd, out, err;
	struct loop_fd *pid_watch, *out_watch, *err_watch;
	struct loop_timer *deadline;
	usec_t timeout;
	struct buf output, said;
	plugin_done done;
	void *arg;
};

void plugin_result_done(struct plugin_result *r)
{
	secret_free(r->token);
	secret_free(r->cert_pem);
	secret_free(r->key_pem);
	*r = (struct plugin_result) { 0 };
}

/* What it printed */

static int take_text(yyjson_val *status, const char *key, bool (*is_good)(const char *), size_t max, char **ret,
                     struct err *err)
{
	yyjson_val *v = json_get(status, key);
	const char *s = json_str(v);

	if (!v || yyjson_is_null(v) || (s && !*s))
		return 0;
	if (!s || strlen(s) > max || !is_good(s))
		return err_set(err, -EBADMSG, "its status.%s is not what it should be", key);
	*ret = mem_strdup(s);
	return 0;
}

static int take_expiry(yyjson_val *status, usec_t *ret, struct err *err)
{
	yyjson_val *v = json_get(status, "expirationTimestamp");
	const char *s = json_str(v);

	if (!v || yyjson_is_null(v))
		return 0;
	if (!s || time_parse_rfc3339(s, strlen(s), ret) < 0)
		return err_set(err, -EBADMSG, "its status.expirationTimestamp is no time");
	return 0;
}

static int take_status(yyjson_val *root, const char *api_version, struct plugin_result *res, struct err *err)
{
	yyjson_val *status = json_get(root, "status");
	int r;

	if (!str_eq(json_str(json_get(root, "kind")), "ExecCredential"))
		return err_set(err, -EBADMSG, "it printed no ExecCredential");
	if (!str_eq(json_str(json_get(root, "apiVersion")), api_version))
		return err_set(err, -EBADMSG,
		               "it answered with another apiVersion than %s, which the kubeconfig asks for",
		               api_version);
	if (!yyjson_is_obj(status))
		return err_set(err, -EBADMSG, "it printed an ExecCredential without status");
	r = take_text(status, "token", secret_is_token, KUBE_TOKEN_MAX, &res->token, err);
	if (r == 0)
		r = take_text(status, "clientCertificateData", secret_is_pem, KUBE_PEM_BYTES_MAX, &res->cert_pem, err);
	if (r == 0)
		r = take_text(status, "clientKeyData", secret_is_pem, KUBE_PEM_BYTES_MAX, &res->key_pem, err);
	if (r == 0)
		r = take_expiry(status, &res->expires, err);
	if (r < 0)
		return r;
	if (!res->cert_pem != !res->key_pem)
		return err_set(err, -EBADMSG, "it gave a client certificate or key without the other");
	if (!res->token && !res->cert_pem)
		return err_set(err, -EBADMSG, "it gave neither a token nor a client certificate");
	return 0;
}

int plugin_parse(const char *text, size_t len, const char *api_version, struct plugin_result *ret, struct err *err)
{
	_cleanup_(plugin_result_done) struct plugin_result res = { 0 };
	yyjson_doc *doc;
	int r = json_parse_copy(text, len, &doc, NULL); /* whose error would show what was printed */

	if (r < 0)
		return err_set(err, r, "what it printed (%zu bytes) is no JSON", len);
	r = take_status(yyjson_doc_get_root(doc), api_version, &res, err);
	secret_doc_free(doc);
	if (r < 0)
		return r;
	*ret = res;
	res = (struct plugin_result) { 0 };
	return 0;
}

/* What it is told */

static char *exec_info(const struct kube_config *c, const char *ca_pem)
{
	_cleanup_(patch_freep) struct patch *p = patch_new();
	_cleanup_buf_ struct buf ca = BUF(2 * KUBE_PEM_BYTES_MAX);
	_cleanup_free_ char *text = NULL;
	size_t len;

	patch_str(p, c->exec->api_version, PATH("apiVersion"));
	patch_str(p, "ExecCredential", PATH("kind"));
	patch_bool(p, false, PATH("spec", "interactive"));
	if (c->exec->provide_cluster_info) {
		patch_str(p, c->server, PATH("spec", "cluster", "server"));
		if (c->tls_server_name)
			patch_str(p, c->tls_server_name, PATH("spec", "cluster", "tls-server-name"));
		if (c->insecure)
			patch_bool(p, true, PATH("spec", "cluster", "insecure-skip-tls-verify"));
		if (c->proxy)
			patch_str(p, c->proxy, PATH("spec", "cluster", "proxy-url"));
		if (ca_pem) {
			str_add_base64(&ca, ca_pem, strlen(ca_pem));
			patch_str(p, buf_text(&ca), PATH("spec", "cluster", "certificate-authority-data"));
		}
		if (c->exec->cluster_config)
			patch_raw(p, c->exec->cluster_config, strlen(c->exec->cluster_config),
			          PATH("spec", "cluster", "config"), NULL);
	}
	text = patch_text(p, &len);
	return str_printf("KUBERNETES_EXEC_INFO=%s", text);
}

/* The run */

/* Kills what is left of the group and reaps the child; its status. The group's number cannot be another's before that.
 */
static int kill_group(struct plugin *p)
{
	int status = 0;

	kill(-p->pid, SIGKILL);
	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	p->pid = 0;
	return status;
}

void plugin_free(struct plugin *p)
{
	if (!p)
		return;
	if (p->pid)
		kill_group(p);
	loop_remove_fd(p->pid_watch);
	loop_remove_fd(p->out_watch);
	loop_remove_fd(p->err_watch);
	loop_remove_timer(p->deadline);
	fd_closep(&p->pid_fd);
	fd_closep(&p->out);
	fd_closep(&p->err);
	secret_buf_done(&p->output);
	buf_done(&p->said);
	free(p);
}

/* "plugin aws: it did not … (it said: …)" */
static void explain(struct plugin *p, struct err *err)
{
	_cleanup_buf_ struct buf said = BUF(2 * PLUGIN_SAID_MAX);
	struct err cause = *err;

	secret_buf_trim(&p->said);
	str_add_safe(&said, buf_text(&p->said), p->said.len, PLUGIN_SAID_MAX);
	if (said.len)
		err_set(err, cause.code, "plugin %s: %.200s; it said: %s", p->exec->command, cause.text,
		        buf_text(&said));
	else
		err_wrap(err, cause.code, "plugin %s", p->exec->command);
}

static void finish(struct plugin *p, struct plugin_result *result, struct err *err)
{
	plugin_done done = p->done;
	void *arg = p->arg;

	if (!result)
		explain(p, err);
	plugin_free(p);
	done(arg, result, result ? NULL : err);
	if (result)
		plugin_result_done(result);
}

static void ended(struct plugin *p, int status)
{
	struct plugin_result result = { 0 };
	struct err err = { 0 };

	if (WIFSIGNALED(status))
		err_set(&err, -EIO, "it was killed by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0)
		err_set(&err, -EIO, "it failed with exit status %d", WEXITSTATUS(status));
	else if (plugin_parse(buf_text(&p->output), p->output.len, p->exec->api_version, &result, &err) == 0) {
		finish(p, &result, NULL);
		return;
	}
	finish(p, NULL, &err);
}

/* Reads once. > 0: there may be more, 0: the end, -EAGAIN: nothing now, -EMSGSIZE: too much. */
static int read_output(struct plugin *p)
{
	char *at = p->output.data + p->output.len;
	size_t room = PLUGIN_OUTPUT_MAX - p->output.len;
	ssize_t n = room ? read(p->out, at, MIN_OF(room, (size_t)READ_STEP)) : 1;

	if (!room) /* full is full, even if this were the end */
		return -EMSGSIZE;
	if (n > 0) {
		p->output.len += (size_t)n;
		p->output.data[p->output.len] = 0;
	}
	return n > 0 ? 1 : n == 0 ? 0 : -errno;
}

static int read_said(struct plugin *p)
{
	char text[4096];
	ssize_t n = read(p->err, text, sizeof(text));

	if (n > 0)
		buf_add(&p->said, text, MIN_OF((size_t)n, PLUGIN_STDERR_MAX - p->said.len));
	return n > 0 ? 1 : n == 0 ? 0 : -errno;
}

static void too_much(struct plugin *p)
{
	struct err err;

	err_set(&err, -EMSGSIZE, "it printed more than %u KiB and was killed", PLUGIN_OUTPUT_MAX >> 10);
	finish(p, NULL, &err);
}

static void output_ready(void *arg, uint32_t events)
{
	struct plugin *p = arg;
	int r = read_output(p);

	(void)events;
	if (r == -EMSGSIZE)
		too_much(p);
	else if (r == 0 || (r < 0 && r != -EAGAIN && r != -EINTR))
		loop_remove_fd(TAKE_PTR(p->out_watch));
}

static void said_ready(void *arg, uint32_t events)
{
	struct plugin *p = arg;
	int r = read_said(p);

	(void)events;
	if (r == 0 || (r < 0 && r != -EAGAIN && r != -EINTR))
		loop_remove_fd(TAKE_PTR(p->err_watch));
}

/* The child itself has ended. What it left in the pipes counts; those it started and left behind do not. */
static void child_ended(void *arg, uint32_t events)
{
	struct plugin *p = arg;
	int r = 1;

	(void)events;
	for (int i = 0; r > 0 && i < READS_AT_END_MAX; i++)
		r = read_output(p);
	if (r == -EMSGSIZE) {
		too_much(p);
		return;
	}
	r = 1;
	for (int i = 0; r > 0 && i < READS_AT_END_MAX; i++)
		r = read_said(p);
	ended(p, kill_group(p));
}

static void deadline_passed(void *arg)
{
	struct plugin *p = arg;
	char span[TIME_TEXT_MAX];
	struct err err;

	err_set(&err, -ETIMEDOUT, "it did not finish within %s and was killed", duration_format(p->timeout, span));
	finish(p, NULL, &err);
}

static int spawn_plugin(struct plugin *p, const char *info, struct err *err)
{
	const char *argv[KUBE_EXEC_ARGS_MAX + 2] = { p->exec->command }, *env[KUBE_EXEC_ENV_MAX + 2] = { info };
	int out[2], errs[2], r;
	struct spawn s = { .argv = argv, .env = env, .in = -1, .extra = -1 };

	for (size_t i = 0; p->exec->args[i]; i++)
		argv[i + 1] = p->exec->args[i];
	for (size_t i = 0; p->exec->env[i]; i++)
		env[i + 1] = p->exec->env[i];
	if (pipe2(out, O_CLOEXEC) < 0)
		return err_errno(err, -errno, "plugin %s", p->exec->command);
	p->out = out[0];
	r = pipe2(errs, O_CLOEXEC);
	if (r < 0) {
		r = err_errno(err, -errno, "plugin %s", p->exec->command);
		close(out[1]);
		return r;
	}
	p->err = errs[0];
	fcntl(p->out, F_SETFL, O_NONBLOCK);
	fcntl(p->err, F_SETFL, O_NONBLOCK);
	s.out = out[1];
	s.err = errs[1];
	r = spawn(&s, &p->pid, err);
	close(out[1]);
	close(errs[1]);
	if (r == 0)
		return 0;
	p->pid = 0;
	return p->exec->install_hint ? err_set(err, r, "plugin %s cannot be run: %s; hint from the kubeconfig: %s",
	                                       p->exec->command, strerrordesc_np(-r), p->exec->install_hint)
	                             : err_wrap(err, r, "plugin");
}

struct plugin *plugin_start(struct loop *l, const struct kube_config *config, const char *ca_pem, usec_t timeout,
                            plugin_done done, void *arg, struct err *err)
{
	_cleanup_free_ char *info = exec_info(config, ca_pem);
	struct plugin *p = NEW(struct plugin);

	*p = (struct plugin) { .loop = l,
		               .exec = config->exec,
		               .pid_fd = -1,
		               .out = -1,
		               .err = -1,
		               .timeout = timeout,
		               .output = BUF(PLUGIN_OUTPUT_MAX),
		               .said = BUF(PLUGIN_STDERR_MAX),
		               .done = done,
		               .arg = arg };
	buf_reserve(&p->output, PLUGIN_OUTPUT_MAX);
	p->output.data[0] = 0;
	if (spawn_plugin(p, info, err) < 0) {
		plugin_free(p);
		return NULL;
	}
	p->pid_fd = pidfd_open(p->pid, 0);
	if (p->pid_fd < 0) {
		err_errno(err, -errno, "plugin %s", p->exec->command);
		plugin_free(p);
		return NULL;
	}
	p->out_watch = loop_add_fd(l, p->out, EPOLLIN, output_ready, p);
	p->err_watch = loop_add_fd(l, p->err, EPOLLIN, said_ready, p);
	p->pid_watch = loop_add_fd(l, p->pid_fd, EPOLLIN, child_ended, p);
	p->deadline = loop_add_timer(l, deadline_passed, p);
	loop_set_timer(p->deadline, usec_add(loop_now(l), timeout));
	return p;
}
