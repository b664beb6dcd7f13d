/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/kubeconfig.h"

#include <errno.h>
#include <stdio.h>

#include "base/str.h"
#include "kube/secret.h"
#include "json/json.h"

#define NAMES_SHOWN_MAX 8

/* yaml_parse() shows a piece of the text in some of its errors; here that may be a secret. */
static void hide_text(const char *path, struct err *err)
{
	static const struct {
		const char *starts, *instead;
	} shown[] = {
		{ "the number ", "a number is out of range: put it in quotes" },
		{ "the key ", "a key is there twice" },
		{ "anchors ", "anchors ('&') are not supported: write the value out" },
		{ "aliases ", "aliases ('*') are not supported: write the value out" },
		{ "the tag ", "tags ('!') are not supported: write the value without" },
	};
	char *at = err && str_starts(err->text, path) ? strstr(err->text + strlen(path), ": ") : NULL;

	for (size_t i = 0; at && i < ARRAY_LEN(shown); i++)
		if (str_starts(at + 2, shown[i].starts)) {
			str_copy(at + 2, sizeof(err->text) - (size_t)(at + 2 - err->text), shown[i].instead);
			return;
		}
}

static int check_top(const struct kubeconfig *k, struct err *err)
{
	yyjson_val *root = yyjson_doc_get_root(k->doc);
	const char *kind = json_str(json_get(root, "kind")), *version = json_str(json_get(root, "apiVersion"));

	if (yyjson_is_null(root)) /* an empty file names nothing */
		return 0;
	if (!yyjson_is_obj(root))
		return err_set(err, -EBADMSG, "%s: this is no kubeconfig: it must have clusters, users and contexts",
		               k->path);
	if (kind && !str_eq(kind, "Config"))
		return err_set(err, -EBADMSG, "%s: this is no kubeconfig: its kind is not \"Config\"", k->path);
	if (version && !str_eq(version, "v1"))
		return err_set(err, -EBADMSG, "%s: a kubeconfig must have apiVersion \"v1\", and this has another",
		               k->path);
	return 0;
}

int kubeconfig_parse(struct kubeconfig *k, const char *path, const char *text, size_t len, struct err *err)
{
	int r;

	if (len > KUBE_CONFIG_BYTES_MAX)
		return err_set(err, -EFBIG, "%s: larger than %u KiB, this is no kubeconfig", path,
		               KUBE_CONFIG_BYTES_MAX >> 10);
	r = yaml_parse(text, len, path, &k->doc, err);
	if (r < 0) {
		hide_text(path, err);
		return r;
	}
	k->path = mem_strdup(path);
	r = check_top(k, err);
	if (r < 0)
		kubeconfig_done(k);
	return r;
}

void kubeconfig_done(struct kubeconfig *k)
{
	secret_doc_free(k->doc);
	free(k->path);
	*k = (struct kubeconfig) { 0 };
}

/* Entries by name */

static void add_names(struct buf *out, const struct kubeconfig *files, size_t n, const char *list)
{
	yyjson_val *item;
	size_t i, n_items, shown = 0;

	for (size_t f = 0; f < n; f++) {
		yyjson_val *items = json_get(yyjson_doc_get_root(files[f].doc), list);

		yyjson_arr_foreach(items, i, n_items, item)
		{
			const char *name = json_str(json_get(item, "name"));

			if (!name || shown > NAMES_SHOWN_MAX)
				continue;
			buf_add_str(out, shown ? ", " : "");
			if (shown++ == NAMES_SHOWN_MAX)
				buf_add_str(out, "…");
			else
				str_add_safe(out, name, strlen(name), 40);
		}
	}
	if (!shown)
		buf_add_str(out, "none");
}

static const char *which_is_not_there(size_t n_files)
{
	return n_files == 1 ? "which is not in the file" : "which is in none of the files of KUBECONFIG";
}

/* Finds `name` in one file's list: its `kind` member in *ret, left alone when it is not there. */
static int find_in(const struct kubeconfig *k, const char *list, const char *kind, const char *name, yyjson_val **ret,
                   struct err *err)
{
	yyjson_val *items = json_get(yyjson_doc_get_root(k->doc), list), *item, *found = NULL;
	struct place place = { k, kind, name, err };
	size_t i, n;

	if (items && !yyjson_is_null(items) && !yyjson_is_arr(items))
		return err_set(err, -EBADMSG, "%s: %s must be a list, but is %s", k->path, list, json_words(items));
	yyjson_arr_foreach(items, i, n, item)
	{
		const char *s = json_str(json_get(item, "name"));

		if (!s)
			return err_set(err, -EBADMSG, "%s: entry %zu of %s has no name", k->path, i + 1, list);
		if (!str_eq(s, name))
			continue;
		if (found)
			return err_set(err, -EBADMSG, "%s: %s has two entries with the name \"%s\"", k->path, list,
			               name);
		found = json_get(item, kind);
		if (!yyjson_is_obj(found))
			return place_refuse(&place, -EBADMSG, "it must have a mapping \"%s\" with its settings", kind);
	}
	if (found)
		*ret = found;
	return 0;
}

static int find(const struct kubeconfig *files, size_t n, const char *list, const char *kind, const char *name,
                struct place *ret_place, yyjson_val **ret, struct err *err)
{
	*ret = NULL;
	for (size_t f = 0; f < n && !*ret; f++) {
		int r = find_in(&files[f], list, kind, name, ret, err);

		if (r < 0)
			return r;
		*ret_place = (struct place) { &files[f], kind, name, err };
	}
	return 0;
}

/* From the context on */

static int choose_context(const struct kubeconfig *files, size_t n, char **ret, struct err *err)
{
	_cleanup_buf_ struct buf names = BUF(ERR_TEXT_MAX);

	for (size_t f = 0; f < n && !*ret; f++) {
		struct place p = { &files[f], "setting", "current-context", err };
		int r = place_str(&p, yyjson_doc_get_root(files[f].doc), "current-context", KUBE_CONFIG_NAME_MAX, ret);

		if (r < 0)
			return r;
	}
	if (*ret)
		return 0;
	add_names(&names, files, n, "contexts");
	return err_set(err, -ENOENT,
	               "%s: no current-context is set: choose one of its contexts (%s) with --context or "
	               "\"kubectl config use-context\"",
	               files[0].path, buf_text(&names));
}

static int follow_cluster(const struct kubeconfig *files, size_t n, const struct place *context, struct kube_config *c)
{
	struct place p;
	yyjson_val *cluster;
	int r;

	if (!c->cluster)
		return place_refuse(context, -EBADMSG, "it names no cluster");
	r = find(files, n, "clusters", "cluster", c->cluster, &p, &cluster, context->err);
	if (r < 0)
		return r;
	if (!cluster)
		return err_set(context->err, -ENOENT, "%s: context \"%s\" names cluster \"%s\", %s",
		               context->file->path, context->name, c->cluster, which_is_not_there(n));
	r = place_cluster(&p, cluster, c);
	return r == 0 && c->exec ? place_plugin_config(&p, cluster, &c->exec->cluster_config) : r;
}

static int follow_user(const struct kubeconfig *files, size_t n, const struct place *context, struct kube_config *c)
{
	struct place p;
	yyjson_val *user;
	int r;

	if (!c->user) /* nobody in particular: some servers allow that */
		return 0;
	r = find(files, n, "users", "user", c->user, &p, &user, context->err);
	if (r < 0)
		return r;
	if (!user)
		return err_set(context->err, -ENOENT, "%s: context \"%s\" names user \"%s\", %s", context->file->path,
		               context->name, c->user, which_is_not_there(n));
	r = place_user(&p, user, c);
	if (r < 0)
		return r;
	if (p.file->world_readable && (c->token || c->key.text))
		c->warning = str_printf("%s holds a secret and everybody on this machine can read it: chmod 600 %s",
		                        p.file->path, p.file->path);
	return 0;
}

static int follow_context(const struct kubeconfig *files, size_t n, struct kube_config *c, struct err *err)
{
	_cleanup_buf_ struct buf names = BUF(ERR_TEXT_MAX);
	struct place p;
	yyjson_val *context;
	int r = find(files, n, "contexts", "context", c->context, &p, &context, err);

	if (r < 0)
		return r;
	if (!context) {
		add_names(&names, files, n, "contexts");
		return err_set(err, -ENOENT, "%s: there is no context \"%s\": its contexts are %s", files[0].path,
		               c->context, buf_text(&names));
	}
	c->origin = str_printf("%s, context \"%s\"", p.file->path, c->context);
	r = place_str(&p, context, "cluster", KUBE_CONFIG_NAME_MAX, &c->cluster);
	if (r == 0)
		r = place_str(&p, context, "user", KUBE_CONFIG_NAME_MAX, &c->user);
	if (r == 0)
		r = place_str(&p, context, "namespace", KUBE_CONFIG_NAME_MAX, &c->ns);
	if (r == 0)
		r = follow_user(files, n, &p, c);
	if (r == 0)
		r = follow_cluster(files, n, &p, c);
	return r;
}

int kubeconfig_resolve(const struct kubeconfig *files, size_t n, const char *context, struct kube_config **ret,
                       struct err *err)
{
	_cleanup_(kube_config_freep) struct kube_config *c = NEW(struct kube_config);
	int r = 0;

	if (context && strlen(context) > KUBE_CONFIG_NAME_MAX)
		return err_set(err, -EMSGSIZE, "the name of a context has at most %d bytes", KUBE_CONFIG_NAME_MAX);
	c->context = str_empty(context) ? NULL : mem_strdup(context);
	if (!c->context)
		r = choose_context(files, n, &c->context, err);
	if (r == 0)
		r = follow_context(files, n, c, err);
	if (r < 0)
		return r;
	if (!c->ns)
		c->ns = mem_strdup("default");
	/* As client-go has it: the file before the text, either before the plugin. */
	if (c->token_file) {
		secret_free(c->token);
		c->token = NULL;
	}
	if (c->token || c->token_file) {
		kube_exec_free(c->exec);
		c->exec = NULL;
	}
	*ret = TAKE_PTR(c);
	return 0;
}
