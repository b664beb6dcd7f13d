/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where the configuration comes from: files, the environment, the service account's directory.
 */
#include "kube/config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "kube/kubeconfig.h"
#include "kube/secret.h"

struct files {
	struct kubeconfig list[KUBE_CONFIG_FILES_MAX];
	size_t n;
};

static void files_done(struct files *f)
{
	for (size_t i = 0; i < f->n; i++)
		kubeconfig_done(&f->list[i]);
}

static int absolute(const char *path, char **ret, struct err *err)
{
	_cleanup_free_ char *cwd = NULL;

	if (*path == '/') {
		*ret = mem_strdup(path);
		return 0;
	}
	cwd = getcwd(NULL, 0);
	if (!cwd)
		return err_errno(err, -errno, "%s: cannot tell the current directory", path);
	*ret = str_printf("%s/%s", cwd, path);
	return 0;
}

/* Takes one file into the list. -ENOENT when it is not there. */
static int add_file(struct files *f, const char *path, struct err *err)
{
	_cleanup_(secret_buf_done) struct buf text = BUF(KUBE_CONFIG_BYTES_MAX);
	_cleanup_free_ char *full = NULL;
	_cleanup_fd_ int fd = -1;
	struct stat st;
	int r = absolute(path, &full, err);

	if (r < 0)
		return r;
	if (f->n == KUBE_CONFIG_FILES_MAX)
		return err_set(err, -E2BIG, "KUBECONFIG names more than %d files", KUBE_CONFIG_FILES_MAX);
	fd = open(full, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(err, -errno, "%s", full);
	buf_reserve(&text, KUBE_CONFIG_BYTES_MAX);
	r = buf_read_fd(&text, fd);
	if (r == -EFBIG)
		return err_set(err, r, "%s: larger than %u KiB, this is no kubeconfig", full,
		               KUBE_CONFIG_BYTES_MAX >> 10);
	if (r < 0)
		return err_errno(err, r, "%s", full);
	r = kubeconfig_parse(&f->list[f->n], full, buf_text(&text), text.len, err);
	if (r < 0)
		return r;
	f->list[f->n++].world_readable = S_ISREG(st.st_mode) && (st.st_mode & S_IROTH);
	return 0;
}

/* $KUBECONFIG: files that are not there are skipped, but one must be. */
static int add_list(struct files *f, const char *list, struct err *err)
{
	for (const char *from = list; *from;) {
		const char *end = strchrnul(from, ':');
		_cleanup_free_ char *path = mem_strndup(from, (size_t)(end - from));
		int r = *path ? add_file(f, path, err) : 0;

		if (r < 0 && r != -ENOENT)
			return r;
		from = *end ? end + 1 : end;
	}
	if (f->n == 0)
		return err_set(err, -ENOENT, "KUBECONFIG is \"%s\", and no such file exists: correct it or unset it",
		               list);
	return 0;
}

/* Fills f from the first place that is given; leaves it empty when none is. */
static int find_files(struct files *f, const char *path, struct err *err)
{
	const char *list = getenv("KUBECONFIG"), *home = getenv("HOME");
	_cleanup_free_ char *usual = NULL;
	int r;

	if (!str_empty(path)) {
		r = add_file(f, path, err);
		return r < 0 ? err_wrap(err, r, "kubeconfig") : 0;
	}
	if (!str_empty(list))
		return add_list(f, list, err);
	if (str_empty(home))
		return 0;
	usual = str_printf("%s/.kube/config", home);
	r = add_file(f, usual, err);
	return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

/* The service account of the Pod we run in */

static int in_cluster_server(const char *host, char **ret, struct err *err)
{
	const char *port = getenv("KUBERNETES_SERVICE_PORT");
	int64_t number;

	if (strcspn(host, "/?#@[] \t\r\n") != strlen(host) || strlen(host) > KUBE_CONFIG_NAME_MAX)
		return err_set(err, -EINVAL, "KUBERNETES_SERVICE_HOST is no address");
	if (str_empty(port))
		port = "443";
	if (str_to_i64(port, 1, 65535, &number) < 0)
		return err_set(err, -EINVAL, "KUBERNETES_SERVICE_PORT is no port number");
	*ret = str_printf(strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host, port);
	return 0;
}

static int in_cluster_namespace(const char *dir, char **ret, struct err *err)
{
	_cleanup_free_ char *path = str_printf("%s/namespace", dir);
	_cleanup_buf_ struct buf text = BUF(KUBE_CONFIG_NAME_MAX + 1);
	int r = buf_read_file(&text, path);

	if (r < 0 && r != -ENOENT)
		return err_errno(err, r, "%s", path);
	secret_buf_trim(&text);
	if (str_has_control(buf_text(&text), text.len))
		return err_set(err, -EBADMSG, "%s: this is no name of a namespace", path);
	*ret = mem_strdup(text.len ? buf_text(&text) : "default");
	return 0;
}

static int in_cluster(const char *host, const char *dir, struct kube_config **ret, struct err *err)
{
	_cleanup_(kube_config_freep) struct kube_config *c = NEW(struct kube_config);
	int r = in_cluster_server(host, &c->server, err);

	if (r == 0)
		r = in_cluster_namespace(dir, &c->ns, err);
	if (r < 0)
		return err_wrap(err, r, "service account");
	c->in_cluster = true;
	c->origin = str_printf("service account in %s", dir);
	c->token_file = str_printf("%s/token", dir);
	c->ca.path = str_printf("%s/ca.crt", dir);
	if (access(c->token_file, R_OK) < 0)
		return err_errno(err, -errno,
		                 "%s: the Pod's service account token cannot be read (is "
		                 "automountServiceAccountToken off?)",
		                 c->token_file);
	*ret = TAKE_PTR(c);
	return 0;
}

int kube_config_load(const struct kube_config_options *o, struct kube_config **ret, struct err *err)
{
	static const struct kube_config_options none;
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	_cleanup_(files_done) struct files files = { 0 };
	int r;

	if (!o)
		o = &none;
	r = find_files(&files, o->path, err);
	if (r < 0)
		return r;
	if (files.n)
		return kubeconfig_resolve(files.list, files.n, o->context, ret, err);
	if (!str_empty(o->context))
		return err_set(err, -ENOENT,
		               "there is no kubeconfig to find context \"%.*s\" in: give one with "
		               "--kubeconfig",
		               KUBE_CONFIG_NAME_MAX, o->context);
	if (!str_empty(host))
		return in_cluster(host, str_or(o->in_cluster_dir, KUBE_IN_CLUSTER_DIR), ret, err);
	return err_set(err, -ENOENT,
	               "no kubeconfig found: give one with --kubeconfig, KUBECONFIG or ~/.kube/config, or "
	               "run inside a Pod with a service account");
}

int kube_config_parse(const char *text, size_t len, const char *where, const char *context, struct kube_config **ret,
                      struct err *err)
{
	_cleanup_(files_done) struct files files = { 0 };
	int r = kubeconfig_parse(&files.list[0], where, text, len, err);

	if (r < 0)
		return r;
	files.n = 1;
	return kubeconfig_resolve(files.list, 1, context, ret, err);
}

static void words_free(char **words)
{
	for (char **w = words; w && *w; w++)
		secret_free(*w);
	free(words);
}

void kube_exec_free(struct kube_exec *e)
{
	if (!e)
		return;
	free(e->command);
	words_free(e->args);
	words_free(e->env);
	free(e->api_version);
	free(e->install_hint);
	free(e->cluster_config);
	free(e);
}

static void pem_done(struct kube_pem *p)
{
	free(p->path);
	secret_free(p->text);
}

void kube_config_free(struct kube_config *c)
{
	if (!c)
		return;
	free(c->origin);
	free(c->context);
	free(c->cluster);
	free(c->user);
	free(c->ns);
	free(c->server);
	secret_free(c->proxy); /* may have a password in it */
	free(c->tls_server_name);
	pem_done(&c->ca);
	pem_done(&c->cert);
	pem_done(&c->key);
	secret_free(c->token);
	free(c->token_file);
	kube_exec_free(c->exec);
	free(c->warning);
	free(c);
}
