/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The settings of one cluster and one user of a kubeconfig, each checked as it is taken.
 */
#include <errno.h>
#include <stdio.h>

#include "base/str.h"
#include "kube/kubeconfig.h"
#include "kube/secret.h"
#include "json/json.h"

#define API_GROUP "client.authentication.k8s.io"

int place_refuse(const struct place *p, int code, const char *fmt, ...)
{
	_cleanup_buf_ struct buf text = BUF(ERR_TEXT_MAX);
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&text, fmt, ap);
	va_end(ap);
	return err_set(p->err, code, "%s: %s \"%s\": %s", p->file->path, p->kind, p->name, buf_text(&text));
}

const char *json_words(yyjson_val *v)
{
	if (yyjson_is_num(v))
		return "a number (put it in quotes)";
	if (yyjson_is_bool(v))
		return "true or false (put it in quotes)";
	return yyjson_is_arr(v) ? "a list" : yyjson_is_obj(v) ? "a mapping" : yyjson_is_str(v) ? "a text" : "nothing";
}

/* A text of one line; absent, null and "" leave *ret alone. */
int place_str(const struct place *p, yyjson_val *obj, const char *key, size_t max, char **ret)
{
	yyjson_val *v = json_get(obj, key);
	const char *s = json_str(v);

	if (!v || yyjson_is_null(v) || (s && !*s))
		return 0;
	if (!s)
		return place_refuse(p, -EBADMSG, "%s must be a text, but is %s", key, json_words(v));
	if (strlen(s) > max)
		return place_refuse(p, -EMSGSIZE, "%s is longer than %zu bytes", key, max);
	if (str_has_control(s, strlen(s)))
		return place_refuse(p, -EBADMSG, "%s has a line break or other control character in it", key);
	*ret = mem_strdup(s);
	return 0;
}

static int take_bool(const struct place *p, yyjson_val *obj, const char *key, bool *ret)
{
	yyjson_val *v = json_get(obj, key);

	if (v && !yyjson_is_null(v) && !yyjson_is_bool(v))
		return place_refuse(p, -EBADMSG, "%s must be true or false (without quotes)", key);
	*ret = json_bool(v, false);
	return 0;
}

/* A path as written in a kubeconfig starts at that file's directory. */
static char *beside(const struct kubeconfig *k, const char *path)
{
	const char *slash = strrchr(k->path, '/');

	if (*path == '/' || !slash)
		return mem_strdup(path);
	return str_printf("%.*s/%s", (int)(slash - k->path), k->path, path);
}

static int take_path(const struct place *p, yyjson_val *obj, const char *key, char **ret)
{
	_cleanup_free_ char *path = NULL;
	int r = place_str(p, obj, key, KUBE_CONFIG_VALUE_MAX, &path);

	if (r == 0 && path)
		*ret = beside(p->file, path);
	return r;
}

static int take_pem_data(const struct place *p, yyjson_val *obj, const char *key, char **ret)
{
	_cleanup_(secret_buf_done) struct buf pem = BUF(KUBE_PEM_BYTES_MAX);
	yyjson_val *v = json_get(obj, key);
	const char *s = json_str(v);

	if (!v || yyjson_is_null(v) || (s && !*s))
		return 0;
	if (!s)
		return place_refuse(p, -EBADMSG, "%s must be a text, but is %s", key, json_words(v));
	buf_reserve(&pem, MIN_OF(strlen(s), (size_t)KUBE_PEM_BYTES_MAX));
	if (str_add_unbase64(&pem, s, strlen(s)) < 0)
		return pem.error ? place_refuse(p, -EMSGSIZE, "%s is longer than %u KiB", key, KUBE_PEM_BYTES_MAX >> 10)
		                 : place_refuse(p, -EBADMSG, "%s is not valid base64", key);
	if (strlen(buf_text(&pem)) != pem.len || !secret_is_pem(buf_text(&pem)))
		return place_refuse(p, -EBADMSG, "%s is base64 of something that is no PEM text (-----BEGIN …)", key);
	*ret = buf_take(&pem);
	return 0;
}

static int take_pem(const struct place *p, yyjson_val *obj, const char *key, struct kube_pem *ret)
{
	_cleanup_free_ char *data_key = str_printf("%s-data", key);
	int r = take_path(p, obj, key, &ret->path);

	if (r == 0)
		r = take_pem_data(p, obj, data_key, &ret->text);
	if (r == 0 && ret->path && ret->text)
		r = place_refuse(p, -EBADMSG, "%s and %s are both set: remove one", key, data_key);
	return r;
}

static bool has_pem(const struct kube_pem *pem)
{
	return pem->path || pem->text;
}

/* Clusters */

static int check_url(const struct place *p, const char *key, const char *url, const char *const *schemes)
{
	size_t host = 0;

	for (; *schemes && !host; schemes++)
		if (str_starts(url, *schemes))
			host = strlen(*schemes);
	if (!host)
		return place_refuse(p, -EBADMSG, "%s must be a URL like https://host:6443", key);
	if (strcspn(url + host, "/?#") == 0)
		return place_refuse(p, -EBADMSG, "%s has no host in it", key);
	if (strpbrk(url, "?# \"<>\\^`{|}"))
		return place_refuse(p, -EBADMSG, "%s has a character in it that does not belong into a URL", key);
	return 0;
}

static int take_server(const struct place *p, yyjson_val *obj, char **ret)
{
	static const char *const schemes[] = { "https://", "http://", NULL };
	int r = place_str(p, obj, "server", KUBE_CONFIG_VALUE_MAX, ret);

	if (r < 0)
		return r;
	if (!*ret)
		return place_refuse(p, -EBADMSG,
		                    "it has no server: set it to the API server's URL, like https://host:6443");
	r = check_url(p, "server", *ret, schemes);
	if (r < 0)
		return r;
	if (strchr(*ret, '@'))
		return place_refuse(p, -EBADMSG, "server must not have a user name in it: put credentials under users");
	for (size_t len = strlen(*ret); len && (*ret)[len - 1] == '/'; len--)
		(*ret)[len - 1] = 0;
	return 0;
}

static int take_proxy(const struct place *p, yyjson_val *obj, char **ret)
{
	static const char *const schemes[] = { "https://", "http://", "socks5://", "socks5h://", NULL };
	int r = place_str(p, obj, "proxy-url", KUBE_CONFIG_VALUE_MAX, ret);

	return r == 0 && *ret ? check_url(p, "proxy-url", *ret, schemes) : r;
}

int place_plugin_config(const struct place *p, yyjson_val *cluster, char **ret)
{
	yyjson_val *item;
	size_t i, n, len;

	yyjson_arr_foreach(json_get(cluster, "extensions"), i, n, item)
	{
		yyjson_val *v = json_get(item, "extension");

		if (!v || !str_eq(json_str(json_get(item, "name")), API_GROUP "/exec"))
			continue;
		*ret = yyjson_val_write(v, 0, &len);
		if (!*ret || len > KUBE_EXEC_CONFIG_MAX)
			return place_refuse(p, -EMSGSIZE, "the extension " API_GROUP "/exec is longer than %u KiB",
			                    KUBE_EXEC_CONFIG_MAX >> 10);
		return 0;
	}
	return 0;
}

int place_cluster(const struct place *p, yyjson_val *obj, struct kube_config *c)
{
	int r = take_server(p, obj, &c->server);

	if (r == 0)
		r = take_proxy(p, obj, &c->proxy);
	if (r == 0)
		r = place_str(p, obj, "tls-server-name", KUBE_CONFIG_NAME_MAX, &c->tls_server_name);
	if (r == 0)
		r = take_bool(p, obj, "insecure-skip-tls-verify", &c->insecure);
	if (r == 0)
		r = take_pem(p, obj, "certificate-authority", &c->ca);
	if (r == 0 && c->insecure && has_pem(&c->ca))
		r = place_refuse(p, -EBADMSG,
		                 "insecure-skip-tls-verify and a certificate-authority are both set: remove one");
	return r;
}

/* Users */

/* What kubectl knows and we do not. */
static const struct {
	const char *key, *why;
} refused[] = {
	{ "username", "logging in with a password is not supported: use a token or a client certificate" },
	{ "password", "logging in with a password is not supported: use a token or a client certificate" },
	{ "auth-provider", "auth-provider is not supported (Kubernetes removed it): use an exec plugin" },
	{ "as", "impersonation is not supported: use credentials of its own" },
	{ "as-uid", "impersonation is not supported: use credentials of its own" },
	{ "as-groups", "impersonation is not supported: use credentials of its own" },
	{ "as-user-extra", "impersonation is not supported: use credentials of its own" },
};

static bool is_set(yyjson_val *v)
{
	const char *s = json_str(v);

	return v && !yyjson_is_null(v) && !(s && !*s) && !(yyjson_is_ctn(v) && unsafe_yyjson_get_len(v) == 0);
}

static int take_token(const struct place *p, yyjson_val *obj, char **ret)
{
	int r = place_str(p, obj, "token", KUBE_TOKEN_MAX, ret);

	if (r == 0 && *ret && !secret_is_token(*ret))
		return place_refuse(p, -EBADMSG, "token has a blank or another character in it that no token has");
	return r;
}

/* A list of `n` words made by `make` from each entry. */
static int take_words(const struct place *p, yyjson_val *exec, const char *key, size_t max, char ***ret,
                      int (*make)(const struct place *p, yyjson_val *item, char **ret))
{
	yyjson_val *list = json_get(exec, key), *item;
	size_t i, n;

	if (list && !yyjson_is_null(list) && !yyjson_is_arr(list))
		return place_refuse(p, -EBADMSG, "exec: %s must be a list, but is %s", key, json_words(list));
	n = yyjson_arr_size(list);
	if (n > max)
		return place_refuse(p, -E2BIG, "exec: %s has more than %zu entries", key, max);
	*ret = mem_alloc_n(n + 1, sizeof(**ret));
	yyjson_arr_foreach(list, i, n, item)
	{
		int r = make(p, item, &(*ret)[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

static int make_arg(const struct place *p, yyjson_val *item, char **ret)
{
	const char *s = json_str(item);

	if (!s)
		return place_refuse(p, -EBADMSG, "exec: each of args must be a text, but one is %s", json_words(item));
	if (strlen(s) > KUBE_CONFIG_VALUE_MAX)
		return place_refuse(p, -EMSGSIZE, "exec: one of args is longer than %d bytes", KUBE_CONFIG_VALUE_MAX);
	*ret = mem_strdup(s);
	return 0;
}

static int make_env(const struct place *p, yyjson_val *item, char **ret)
{
	const char *name = json_str(json_get(item, "name")), *value = json_str(json_get(item, "value"));

	if (str_empty(name) || strchr(name, '='))
		return place_refuse(p, -EBADMSG, "exec: each of env must have a name (without '=') and a value");
	if (!value && is_set(json_get(item, "value")))
		return place_refuse(p, -EBADMSG, "exec: the value in env must be a text, but one is %s",
		                    json_words(json_get(item, "value")));
	if (strlen(name) + strlen(str_or(value, "")) > KUBE_CONFIG_VALUE_MAX)
		return place_refuse(p, -EMSGSIZE, "exec: one of env is longer than %d bytes", KUBE_CONFIG_VALUE_MAX);
	*ret = str_printf("%s=%s", name, str_or(value, ""));
	return 0;
}

static int check_exec_version(const struct place *p, const struct kube_exec *e)
{
	if (!e->api_version)
		return place_refuse(p, -EBADMSG, "exec: it has no apiVersion: set it to " API_GROUP "/v1");
	if (str_eq(e->api_version, API_GROUP "/v1") || str_eq(e->api_version, API_GROUP "/v1beta1"))
		return 0;
	return place_refuse(p, -EBADMSG, "exec: apiVersion must be " API_GROUP "/v1 or " API_GROUP "/v1beta1");
}

static int check_interactive(const struct place *p, yyjson_val *exec, const struct kube_exec *e)
{
	_cleanup_free_ char *mode = NULL;
	int r = place_str(p, exec, "interactiveMode", KUBE_CONFIG_NAME_MAX, &mode);

	if (r < 0)
		return r;
	if (!mode && str_ends(e->api_version, "/v1"))
		return place_refuse(p, -EBADMSG, "exec: it has no interactiveMode: set it to Never or IfAvailable");
	if (!mode || str_eq(mode, "Never") || str_eq(mode, "IfAvailable"))
		return 0;
	if (str_eq(mode, "Always"))
		return place_refuse(p, -ENOTSUP,
		                    "exec: interactiveMode is Always, but there is nobody to ask here: use a plugin "
		                    "that works without a person");
	return place_refuse(p, -EBADMSG, "exec: interactiveMode must be Never or IfAvailable");
}

static int take_exec(const struct place *p, yyjson_val *user, struct kube_exec **ret)
{
	yyjson_val *v = json_get(user, "exec");
	struct kube_exec *e;
	int r;

	if (!v || yyjson_is_null(v))
		return 0;
	if (!yyjson_is_obj(v))
		return place_refuse(p, -EBADMSG, "exec must be a mapping, but is %s", json_words(v));
	e = *ret = NEW(struct kube_exec);
	r = place_str(p, v, "command", KUBE_CONFIG_VALUE_MAX, &e->command);
	if (r == 0 && !e->command)
		r = place_refuse(p, -EBADMSG, "exec: it has no command: name the program to run");
	if (r == 0 && strchr(e->command, '/')) {
		_cleanup_free_ char *as_written = e->command;

		e->command = beside(p->file, as_written);
	}
	if (r == 0)
		r = place_str(p, v, "apiVersion", KUBE_CONFIG_NAME_MAX, &e->api_version);
	if (r == 0)
		r = check_exec_version(p, e);
	if (r == 0)
		r = check_interactive(p, v, e);
	if (r == 0)
		r = take_bool(p, v, "provideClusterInfo", &e->provide_cluster_info);
	if (r == 0)
		r = take_words(p, v, "args", KUBE_EXEC_ARGS_MAX, &e->args, make_arg);
	if (r == 0)
		r = take_words(p, v, "env", KUBE_EXEC_ENV_MAX, &e->env, make_env);
	if (r == 0 && json_str(json_get(v, "installHint"))) {
		_cleanup_buf_ struct buf hint = BUF(2 * KUBE_CONFIG_NAME_MAX);
		const char *s = json_str(json_get(v, "installHint"));

		str_add_safe(&hint, s, strlen(s), KUBE_CONFIG_NAME_MAX);
		e->install_hint = mem_strdup(buf_text(&hint));
	}
	return r;
}

int place_user(const struct place *p, yyjson_val *obj, struct kube_config *c)
{
	int r;

	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		if (is_set(json_get(obj, refused[i].key)))
			return place_refuse(p, -ENOTSUP, "%s", refused[i].why);
	r = take_pem(p, obj, "client-certificate", &c->cert);
	if (r == 0)
		r = take_pem(p, obj, "client-key", &c->key);
	if (r == 0 && has_pem(&c->cert) != has_pem(&c->key))
		r = place_refuse(p, -EBADMSG, "it has %s: both are needed",
		                 has_pem(&c->cert) ? "a client-certificate and no client-key"
		                                   : "a client-key and no client-certificate");
	if (r == 0)
		r = take_token(p, obj, &c->token);
	if (r == 0)
		r = take_path(p, obj, "tokenFile", &c->token_file);
	if (r == 0)
		r = take_exec(p, obj, &c->exec);
	return r;
}
