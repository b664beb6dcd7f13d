/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/agent/translate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/quantity.h"
#include "base/str.h"
#include "json/json.h"

#define EXPANDED_MAX (1u << 20)
#define FILE_MAX (2u << 20)
#define CONFIG_MAPS "configmaps"
#define SECRETS "secrets"
#define CLAIMS "persistentvolumeclaims"
#define VOLUMES "persistentvolumes"

/* A container's variables, in order; later ones win. */
struct vars {
	char **list; /* "K=V" */
	size_t n, size;
};

static void vars_done(struct vars *v)
{
	for (size_t i = 0; i < v->n; i++)
		free(v->list[i]);
	free(v->list);
	*v = (struct vars) { 0 };
}

static void vars_set(struct vars *v, const char *name, const char *value)
{
	size_t len = strlen(name);
	char *pair = str_printf("%s=%s", name, value);

	for (size_t i = 0; i < v->n; i++)
		if (strncmp(v->list[i], pair, len + 1) == 0) {
			free(v->list[i]);
			v->list[i] = pair;
			return;
		}
	if (v->n == v->size) {
		v->size = v->size ? 2 * v->size : 16;
		v->list = mem_realloc_n(v->list, v->size, sizeof(*v->list));
	}
	v->list[v->n++] = pair;
}

static const char *vars_get(const struct vars *v, const char *name, size_t len)
{
	for (size_t i = 0; i < v->n; i++)
		if (strncmp(v->list[i], name, len) == 0 && v->list[i][len] == '=')
			return v->list[i] + len + 1;
	return NULL;
}

/* $(NAME) as Kubernetes expands it: unknown names stay as they are, $$ is one $. */
static char *expand(const struct vars *v, const char *text)
{
	struct buf out = BUF(EXPANDED_MAX);

	while (*text) {
		const char *end, *value;

		if (text[0] == '$' && text[1] == '$') {
			buf_add_char(&out, '$');
			text += 2;
		} else if (text[0] == '$' && text[1] == '(' && (end = strchr(text, ')'))) {
			value = vars_get(v, text + 2, (size_t)(end - text - 2));
			if (value)
				buf_add_str(&out, value);
			else
				buf_add(&out, text, (size_t)(end + 1 - text));
			text = end + 1;
		} else
			buf_add_char(&out, *text++);
	}
	return buf_take(&out);
}

struct translation {
	yyjson_val *pod, *meta, *spec;
	const struct translate_env *env;
	yyjson_mut_doc *out;
	struct link *files;
	struct err *err;
};

/* metadata.labels['k'] and the like. */
static const char *keyed_field(struct translation *t, const char *path, const char *map)
{
	_cleanup_free_ char *prefix = str_printf("metadata.%s['", map), *key = NULL;

	if (!str_starts(path, prefix) || !str_ends(path, "']"))
		return NULL;
	key = mem_strndup(path + strlen(prefix), strlen(path) - strlen(prefix) - 2);
	return str_or(json_str(json_get(json_get(t->meta, map), key)), "");
}

static const char *field_value(struct translation *t, const char *path)
{
	const char *keyed;

	if (str_eq(path, "metadata.name") || str_eq(path, "metadata.namespace") || str_eq(path, "metadata.uid"))
		return str_or(json_str(json_get(t->meta, path + strlen("metadata."))), "");
	if (str_eq(path, "spec.nodeName") || str_eq(path, "spec.serviceAccountName"))
		return str_or(json_str(json_get(t->spec, path + strlen("spec."))), "");
	if (str_eq(path, "status.hostIP") || str_eq(path, "status.hostIPs"))
		return t->env->host_ip;
	if (str_eq(path, "status.podIP") || str_eq(path, "status.podIPs"))
		return t->env->pod_ip;
	keyed = keyed_field(t, path, "labels");
	return keyed ? keyed : keyed_field(t, path, "annotations");
}

/* "limits.cpu" of a container, divided and rounded up. */
static int resource_value(struct translation *t, yyjson_val *container, yyjson_val *ref, char *text, size_t size)
{
	const char *path = str_or(json_str(json_get(ref, "resource")), ""), *dot = strchr(path, '.');
	const char *divisor = str_or(json_str(json_get(ref, "divisor")), "1"), *amount;
	int64_t value = 0, by = 1000;
	_cleanup_free_ char *list = NULL;

	if (!dot)
		return err_set(t->err, -EINVAL, "resourceFieldRef '%.60s' is no resource", path);
	list = mem_strndup(path, (size_t)(dot - path));
	amount = json_str(json_get(json_get(json_get(container, "resources"), list), dot + 1));
	if ((amount && quantity_parse(amount, strlen(amount), &value) < 0) ||
	    quantity_parse(divisor, strlen(divisor), &by) < 0 || by <= 0)
		by = 1000;
	snprintf(text, size, "%" PRId64, value / by + (value % by > 0));
	return 0;
}

/* A key of a config map or secret, decoded; the caller frees. NULL with *ret 0: it is optional and missing. */
static int referred_value(struct translation *t, const char *kind, yyjson_val *ref, char **ret)
{
	const char *name = str_or(json_str(json_get(ref, "name")), ""),
	           *key = str_or(json_str(json_get(ref, "key")), "");
	yyjson_val *object = t->env->get(t->env->arg, kind, name);
	const char *text = json_str(json_get(json_get(object, "data"), key));
	struct buf plain = BUF(FILE_MAX);

	*ret = NULL;
	if (!text && json_bool(json_get(ref, "optional"), false))
		return 0;
	if (!object)
		return err_set(t->err, -ENOENT, "%s \"%s\" not found", str_eq(kind, SECRETS) ? "secret" : "configmap",
		               name);
	if (!text)
		return err_set(t->err, -ENOENT, "couldn't find key %s in %s %s", key,
		               str_eq(kind, SECRETS) ? "Secret" : "ConfigMap", name);
	if (str_eq(kind, CONFIG_MAPS))
		*ret = mem_strdup(text);
	else if (str_add_unbase64(&plain, text, strlen(text)) == 0)
		*ret = buf_take(&plain);
	else
		return err_set(t->err, -EINVAL, "secret \"%s\": key %s is no base64", name, key);
	return 0;
}

static int value_from(struct translation *t, yyjson_val *container, yyjson_val *from, char **ret)
{
	yyjson_val *ref;
	char number[32];
	int r;

	if ((ref = json_get(from, "fieldRef"))) {
		const char *path = str_or(json_str(json_get(ref, "fieldPath")), ""), *value = field_value(t, path);

		if (!value)
			return err_set(t->err, -EINVAL, "fieldRef '%.100s' is not known here", path);
		*ret = mem_strdup(value);
		return 0;
	}
	if ((ref = json_get(from, "resourceFieldRef"))) {
		r = resource_value(t, container, ref, number, sizeof(number));
		if (r == 0)
			*ret = mem_strdup(number);
		return r;
	}
	if ((ref = json_get(from, "configMapKeyRef")))
		return referred_value(t, CONFIG_MAPS, ref, ret);
	if ((ref = json_get(from, "secretKeyRef")))
		return referred_value(t, SECRETS, ref, ret);
	return err_set(t->err, -EINVAL, "an environment variable's valueFrom is of an unknown kind");
}

static int add_all_keys(struct translation *t, struct vars *vars, const char *kind, yyjson_val *ref, const char *prefix)
{
	const char *name = str_or(json_str(json_get(ref, "name")), "");
	yyjson_val *object = t->env->get(t->env->arg, kind, name), *key, *value;
	yyjson_obj_iter iter = yyjson_obj_iter_with(json_get(object, "data"));

	if (!object && !json_bool(json_get(ref, "optional"), false))
		return err_set(t->err, -ENOENT, "%s \"%s\" not found", str_eq(kind, SECRETS) ? "secret" : "configmap",
		               name);
	while (json_get(object, "data") && (key = yyjson_obj_iter_next(&iter))) {
		_cleanup_buf_ struct buf plain = BUF(FILE_MAX);
		_cleanup_free_ char *var = str_printf("%s%s", prefix, yyjson_get_str(key));

		value = yyjson_obj_iter_get_val(key);
		if (!yyjson_is_str(value))
			continue;
		if (str_eq(kind, CONFIG_MAPS))
			vars_set(vars, var, yyjson_get_str(value));
		else if (str_add_unbase64(&plain, yyjson_get_str(value), yyjson_get_len(value)) == 0)
			vars_set(vars, var, buf_text(&plain));
	}
	return 0;
}

static int make_vars(struct translation *t, yyjson_val *container, struct vars *vars)
{
	yyjson_val *item;
	yyjson_arr_iter iter;
	int r;

	vars_set(vars, "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	vars_set(vars, "HOSTNAME", field_value(t, "metadata.name"));
	for (const char *const *pair = t->env->more_env; pair && *pair; pair++) {
		_cleanup_free_ char *name = mem_strndup(*pair, strcspn(*pair, "="));

		vars_set(vars, name, *pair + strlen(name) + 1);
	}
	if (yyjson_arr_iter_init(json_get(container, "envFrom"), &iter))
		while ((item = yyjson_arr_iter_next(&iter))) {
			const char *prefix = str_or(json_str(json_get(item, "prefix")), "");
			yyjson_val *map = json_get(item, "configMapRef");

			r = map ? add_all_keys(t, vars, CONFIG_MAPS, map, prefix)
			        : add_all_keys(t, vars, SECRETS, json_get(item, "secretRef"), prefix);
			if (r < 0)
				return r;
		}
	if (yyjson_arr_iter_init(json_get(container, "env"), &iter))
		while ((item = yyjson_arr_iter_next(&iter))) {
			_cleanup_free_ char *value = NULL;
			yyjson_val *from = json_get(item, "valueFrom");
			const char *name = str_or(json_str(json_get(item, "name")), "");

			if (from) {
				r = value_from(t, container, from, &value);
				if (r < 0)
					return r;
				if (!value)
					continue; /* optional and not there */
			} else
				value = expand(vars, str_or(json_str(json_get(item, "value")), ""));
			vars_set(vars, name, value);
		}
	return 0;
}

/* Volumes */

static void add_file(struct translation *t, char *path, const char *data, size_t len, int mode)
{
	struct volume_file *f = NEW(struct volume_file);

	f->path = path;
	f->data = data ? memcpy(mem_alloc(len + 1), data, len) : NULL;
	f->len = len;
	f->mode = mode;
	list_add_tail(t->files, &f->link);
}

void volume_files_free(struct link *files)
{
	struct link *l;

	while ((l = list_take_head(files))) {
		struct volume_file *f = LIST_ITEM(l, struct volume_file, link);

		free(f->path);
		free(f->data);
		free(f);
	}
}

/* A file name inside a volume comes from a key or an item's path: it may not leave the volume. */
static bool is_inside(const char *path)
{
	return *path && *path != '/' && !strstr(path, "..");
}

static int add_keyed_file(struct translation *t, const char *dir, const char *kind, yyjson_val *value, const char *path,
                          int mode)
{
	_cleanup_buf_ struct buf plain = BUF(FILE_MAX);

	if (!is_inside(path))
		return err_set(t->err, -EINVAL, "a volume's file cannot be called '%.60s'", path);
	if (str_eq(kind, CONFIG_MAPS))
		buf_add(&plain, yyjson_get_str(value), yyjson_get_len(value));
	else if (str_add_unbase64(&plain, yyjson_get_str(value), yyjson_get_len(value)) < 0)
		return err_set(t->err, -EINVAL, "a secret's value is no base64");
	add_file(t, str_printf("%s/%s", dir, path), buf_text(&plain), plain.len, mode);
	return 0;
}

static int add_object_volume(struct translation *t, const char *dir, const char *kind, const char *name,
                             yyjson_val *source)
{
	yyjson_val *object = t->env->get(t->env->arg, kind, name), *data = json_get(object, "data"), *item, *key;
	int mode = (int)json_int(json_get(source, "defaultMode"), 0644), r = 0;
	yyjson_arr_iter items;
	yyjson_obj_iter all;

	add_file(t, mem_strdup(dir), NULL, 0, 0755);
	if (!object)
		return json_bool(json_get(source, "optional"), false)
		               ? 0
		               : err_set(t->err, -ENOENT, "%s \"%s\" not found",
		                         str_eq(kind, SECRETS) ? "secret" : "configmap", name);
	if (yyjson_arr_iter_init(json_get(source, "items"), &items)) {
		while (r == 0 && (item = yyjson_arr_iter_next(&items))) {
			yyjson_val *value = json_get(data, str_or(json_str(json_get(item, "key")), ""));

			r = yyjson_is_str(value)
			            ? add_keyed_file(t, dir, kind, value, str_or(json_str(json_get(item, "path")), ""),
			                             (int)json_int(json_get(item, "mode"), mode))
			            : err_set(t->err, -ENOENT, "%s references a key that is not there", name);
		}
		return r;
	}
	if (yyjson_obj_iter_init(data, &all))
		while (r == 0 && (key = yyjson_obj_iter_next(&all)))
			if (yyjson_is_str(yyjson_obj_iter_get_val(key)))
				r = add_keyed_file(t, dir, kind, yyjson_obj_iter_get_val(key), yyjson_get_str(key),
				                   mode);
	return r;
}

static int add_downward_volume(struct translation *t, const char *dir, yyjson_val *source)
{
	yyjson_arr_iter items;
	yyjson_val *item;

	add_file(t, mem_strdup(dir), NULL, 0, 0755);
	if (!yyjson_arr_iter_init(json_get(source, "items"), &items))
		return 0;
	while ((item = yyjson_arr_iter_next(&items))) {
		const char *path = str_or(json_str(json_get(item, "path")), "");
		const char *value =
		        field_value(t, str_or(json_str(json_get(json_get(item, "fieldRef"), "fieldPath")), ""));

		if (!is_inside(path) || !value)
			return err_set(t->err, -EINVAL, "downwardAPI item '%.60s' is not known here", path);
		add_file(t, str_printf("%s/%s", dir, path), value, strlen(value), 0644);
	}
	return 0;
}

/* The claim of a volume, by name; NULL when it is none. The caller frees. */
static char *claim_of(yyjson_val *meta, yyjson_val *volume)
{
	const char *name = json_str(json_get(json_get(volume, "persistentVolumeClaim"), "claimName"));

	if (json_get(volume, "ephemeral"))
		return str_printf("%s-%s", str_or(json_str(json_get(meta, "name")), ""),
		                  str_or(json_str(json_get(volume, "name")), ""));
	return mem_strdup(name);
}

/* Where the volume of a claim is on this machine. */
static int claim_path(struct translation *t, const char *claim, char **ret)
{
	yyjson_val *object = t->env->get(t->env->arg, CLAIMS, claim), *spec;
	const char *name = json_str(json_get(json_get(object, "spec"), "volumeName")), *path;

	if (!object)
		return err_set(t->err, -ENOENT, "persistentvolumeclaim \"%.100s\" not found", claim);
	if (str_empty(name) || !str_eq(json_str(json_get(json_get(object, "status"), "phase")), "Bound"))
		return err_set(t->err, -ENOENT, "persistentvolumeclaim \"%.100s\" is not bound", claim);
	spec = json_get(t->env->get(t->env->arg, VOLUMES, name), "spec");
	if (!spec)
		return err_set(t->err, -ENOENT, "persistentvolume \"%.100s\" not found", name);
	path = json_str(json_get(json_get(spec, "hostPath"), "path"));
	if (!path)
		path = json_str(json_get(json_get(spec, "local"), "path"));
	if (!path && !is_inside(name))
		return err_set(t->err, -EINVAL, "a volume's name is '%.60s'", name);
	*ret = path ? mem_strdup(path) : str_printf("%s/%s", t->env->volumes_dir, name);
	return 0;
}

static int add_claim_volume(struct translation *t, const char *claim)
{
	_cleanup_free_ char *path = NULL;
	int r = claim_path(t, claim, &path);

	if (r == 0 && str_starts(path, t->env->volumes_dir))
		add_file(t, TAKE_PTR(path), NULL, 0, 0777);
	return r;
}

static const char *name_of(yyjson_val *source)
{
	return str_or(json_str(json_get(source, "name")), "");
}

/* Tokens of service accounts are left out: nothing here asks the API for one. */
static int add_projected_volume(struct translation *t, const char *dir, yyjson_val *projected)
{
	yyjson_arr_iter iter;
	yyjson_val *part, *source;
	int r = 0;

	add_file(t, mem_strdup(dir), NULL, 0, 0755);
	if (!yyjson_arr_iter_init(json_get(projected, "sources"), &iter))
		return 0;
	while (r == 0 && (part = yyjson_arr_iter_next(&iter))) {
		if ((source = json_get(part, "configMap")))
			r = add_object_volume(t, dir, CONFIG_MAPS, name_of(source), source);
		else if ((source = json_get(part, "secret")))
			r = add_object_volume(t, dir, SECRETS, name_of(source), source);
		else if ((source = json_get(part, "downwardAPI")))
			r = add_downward_volume(t, dir, source);
	}
	return r;
}

static int add_volume(struct translation *t, yyjson_val *volume, const char *dir)
{
	_cleanup_free_ char *claim = claim_of(t->meta, volume);
	yyjson_val *source;

	if (claim)
		return add_claim_volume(t, claim);

	if ((source = json_get(volume, "configMap")))
		return add_object_volume(t, dir, CONFIG_MAPS, name_of(source), source);
	if ((source = json_get(volume, "secret")))
		return add_object_volume(t, dir, SECRETS, str_or(json_str(json_get(source, "secretName")), ""), source);
	if ((source = json_get(volume, "downwardAPI")))
		return add_downward_volume(t, dir, source);
	if ((source = json_get(volume, "projected")))
		return add_projected_volume(t, dir, source);
	if (json_get(volume, "emptyDir"))
		add_file(t, mem_strdup(dir), NULL, 0, 0777);
	return 0;
}

static int add_volumes(struct translation *t)
{
	yyjson_arr_iter iter;
	yyjson_val *volume;

	if (!yyjson_arr_iter_init(json_get(t->spec, "volumes"), &iter))
		return 0;
	while ((volume = yyjson_arr_iter_next(&iter))) {
		const char *name = str_or(json_str(json_get(volume, "name")), "");
		_cleanup_free_ char *dir = str_printf("%s/volumes/%s", t->env->dir, name);
		int r = is_inside(name) ? add_volume(t, volume, dir)
		                        : err_set(t->err, -EINVAL, "a volume's name is '%.60s'", name);

		if (r < 0)
			return r;
	}
	return 0;
}

static yyjson_val *find_named(yyjson_val *list, const char *name)
{
	yyjson_arr_iter iter;
	yyjson_val *item;

	if (yyjson_arr_iter_init(list, &iter))
		while ((item = yyjson_arr_iter_next(&iter)))
			if (str_eq(json_str(json_get(item, "name")), name))
				return item;
	return NULL;
}

static const char *working_dir(yyjson_val *container)
{
	return str_or(json_str(json_get(container, "workingDir")), "/");
}

/* What is mounted of a volume. */
static int mount_source(struct translation *t, yyjson_val *volume, const char *name, char **ret)
{
	const char *host = json_str(json_get(json_get(volume, "hostPath"), "path"));
	_cleanup_free_ char *claim = claim_of(t->meta, volume);

	if (claim)
		return claim_path(t, claim, ret);
	*ret = host ? mem_strdup(host) : str_printf("%s/volumes/%s", t->env->dir, name);
	return 0;
}

static bool is_read_only(yyjson_val *mount, yyjson_val *volume)
{
	return json_bool(json_get(mount, "readOnly"), false) ||
	       json_bool(json_get(json_get(volume, "persistentVolumeClaim"), "readOnly"), false);
}

/* Puts "enter --bind FROM TO … --cwd DIR --" before the command when the container has mounts: its directory may be
 * in one of them. */
static int add_mounts(struct translation *t, yyjson_val *container, yyjson_mut_val *argv)
{
	yyjson_val *mounts = json_get(container, "volumeMounts"), *mount;
	yyjson_arr_iter iter;

	if (!yyjson_arr_size(mounts) || !yyjson_arr_iter_init(mounts, &iter))
		return 0;
	yyjson_mut_arr_add_strcpy(t->out, argv, t->env->self);
	yyjson_mut_arr_add_str(t->out, argv, "enter");
	while ((mount = yyjson_arr_iter_next(&iter))) {
		const char *name = str_or(json_str(json_get(mount, "name")), ""),
		           *sub = json_str(json_get(mount, "subPath"));
		yyjson_val *volume = find_named(json_get(t->spec, "volumes"), name);
		_cleanup_free_ char *from = NULL, *part = NULL;
		int r;

		if (!volume)
			return err_set(t->err, -EINVAL,
			               "volumeMount names the volume '%.60s', which the Pod does not have", name);
		if (sub && !is_inside(sub))
			return err_set(t->err, -EINVAL, "subPath '%.60s' leaves its volume", sub);
		r = mount_source(t, volume, name, &from);
		if (r < 0)
			return r;
		part = sub ? str_printf("%s/%s", from, sub) : mem_strdup(from);
		yyjson_mut_arr_add_str(t->out, argv, is_read_only(mount, volume) ? "--bind-ro" : "--bind");
		yyjson_mut_arr_add_strcpy(t->out, argv, part);
		yyjson_mut_arr_add_strcpy(t->out, argv, str_or(json_str(json_get(mount, "mountPath")), ""));
	}
	yyjson_mut_arr_add_str(t->out, argv, "--cwd");
	yyjson_mut_arr_add_strcpy(t->out, argv, working_dir(container));
	yyjson_mut_arr_add_str(t->out, argv, "--");
	return 0;
}

static void add_words(struct translation *t, const struct vars *vars, yyjson_val *list, yyjson_mut_val *argv)
{
	yyjson_arr_iter iter;
	yyjson_val *word;

	if (yyjson_arr_iter_init(list, &iter))
		while ((word = yyjson_arr_iter_next(&iter))) {
			_cleanup_free_ char *text = expand(vars, str_or(json_str(word), ""));

			yyjson_mut_arr_add_strcpy(t->out, argv, text);
		}
}

/* A probe's port by number, or by the name of a container port. */
static int64_t port_number(yyjson_val *container, yyjson_val *port)
{
	if (yyjson_is_str(port))
		return json_int(
		        json_get(find_named(json_get(container, "ports"), yyjson_get_str(port)), "containerPort"), 0);
	return json_int(port, 0);
}

static void add_probe(struct translation *t, yyjson_val *container, const struct vars *vars, const char *key,
                      const char *as, yyjson_mut_val *box)
{
	yyjson_val *probe = json_get(container, key), *exec = json_get(probe, "exec"),
	           *http = json_get(probe, "httpGet"), *tcp = json_get(probe, "tcpSocket"), *at = http ? http : tcp;
	yyjson_mut_val *out, *argv;

	if (!exec && !at)
		return;
	out = yyjson_mut_obj(t->out);
	yyjson_mut_obj_add_val(t->out, box, as, out);
	yyjson_mut_obj_add_str(t->out, out, "kind", exec ? "exec" : http ? "http" : "tcp");
	if (exec) {
		argv = yyjson_mut_arr(t->out);
		yyjson_mut_obj_add_val(t->out, out, "argv", argv);
		add_mounts(t, container, argv); /* went well for the container's own command, or there is no such box */
		add_words(t, vars, json_get(exec, "command"), argv);
	} else {
		yyjson_mut_obj_add_strcpy(t->out, out, "host", str_or(json_str(json_get(at, "host")), t->env->pod_ip));
		yyjson_mut_obj_add_int(t->out, out, "port", port_number(container, json_get(at, "port")));
		yyjson_mut_obj_add_strcpy(t->out, out, "path", str_or(json_str(json_get(at, "path")), "/"));
	}
	yyjson_mut_obj_add_int(t->out, out, "initialMs", 1000 * json_int(json_get(probe, "initialDelaySeconds"), 0));
	yyjson_mut_obj_add_int(t->out, out, "periodMs", 1000 * json_int(json_get(probe, "periodSeconds"), 10));
	yyjson_mut_obj_add_int(t->out, out, "timeoutMs", 1000 * json_int(json_get(probe, "timeoutSeconds"), 1));
	yyjson_mut_obj_add_int(t->out, out, "failures", json_int(json_get(probe, "failureThreshold"), 3));
	yyjson_mut_obj_add_int(t->out, out, "successes", json_int(json_get(probe, "successThreshold"), 1));
}

static int add_box(struct translation *t, yyjson_val *container, yyjson_mut_val *list)
{
	yyjson_mut_val *box = yyjson_mut_arr_add_obj(t->out, list), *argv = yyjson_mut_arr(t->out),
	               *env = yyjson_mut_arr(t->out);
	_cleanup_(vars_done) struct vars vars = { 0 };
	const char *name = str_or(json_str(json_get(container, "name")), "");
	_cleanup_free_ char *log = str_printf("%s/%s.log", t->env->dir, name);
	int r = is_inside(name) ? make_vars(t, container, &vars)
	                        : err_set(t->err, -EINVAL, "a container's name is '%.60s'", name);

	if (r == 0 && json_get(container, "command"))
		r = add_mounts(t, container, argv);
	if (r < 0)
		return r;
	if (json_get(container, "command")) {
		add_words(t, &vars, json_get(container, "command"), argv);
		add_words(t, &vars, json_get(container, "args"), argv);
	}
	for (size_t i = 0; i < vars.n; i++)
		yyjson_mut_arr_add_strcpy(t->out, env, vars.list[i]);
	yyjson_mut_obj_add_strcpy(t->out, box, "name", name);
	yyjson_mut_obj_add_strcpy(t->out, box, "log", log);
	yyjson_mut_obj_add_strcpy(t->out, box, "cwd",
	                          yyjson_arr_size(json_get(container, "volumeMounts")) ? "/" : working_dir(container));
	yyjson_mut_obj_add_val(t->out, box, "argv", argv);
	yyjson_mut_obj_add_val(t->out, box, "env", env);
	yyjson_mut_obj_add_bool(t->out, box, "sidecar",
	                        str_eq(json_str(json_get(container, "restartPolicy")), "Always"));
	add_probe(t, container, &vars, "startupProbe", "startup", box);
	add_probe(t, container, &vars, "readinessProbe", "readiness", box);
	add_probe(t, container, &vars, "livenessProbe", "liveness", box);
	return 0;
}

static int add_boxes(struct translation *t, const char *key, const char *as, yyjson_mut_val *root)
{
	yyjson_mut_val *list = yyjson_mut_arr(t->out);
	yyjson_arr_iter iter;
	yyjson_val *container;

	yyjson_mut_obj_add_val(t->out, root, as, list);
	if (!yyjson_arr_iter_init(json_get(t->spec, key), &iter))
		return 0;
	while ((container = yyjson_arr_iter_next(&iter))) {
		int r = add_box(t, container, list);

		if (r < 0)
			return r;
	}
	return 0;
}

int translate_pod(yyjson_val *pod, const struct translate_env *env, yyjson_mut_doc *spec, struct link *files,
                  struct err *err)
{
	struct translation t = { .pod = pod,
		                 .meta = json_get(pod, "metadata"),
		                 .spec = json_get(pod, "spec"),
		                 .env = env,
		                 .out = spec,
		                 .files = files,
		                 .err = err };
	yyjson_mut_val *root = yyjson_mut_obj(spec);
	int r;

	yyjson_mut_doc_set_root(spec, root);
	yyjson_mut_obj_add_strcpy(spec, root, "uid", str_or(json_str(json_get(t.meta, "uid")), ""));
	yyjson_mut_obj_add_strcpy(spec, root, "restart", str_or(json_str(json_get(t.spec, "restartPolicy")), "Always"));
	r = add_volumes(&t);
	if (r == 0)
		r = add_boxes(&t, "initContainers", "inits", root);
	return r == 0 ? add_boxes(&t, "containers", "mains", root) : r;
}

/* What a Pod mentions */

static void need_of(yyjson_val *ref, const char *kind, void (*need)(void *arg, const char *kind, const char *name),
                    void *arg)
{
	const char *name = json_str(json_get(ref, "name"));

	if (!str_empty(name))
		need(arg, kind, name);
}

static void needs_of_containers(yyjson_val *list, void (*need)(void *arg, const char *kind, const char *name),
                                void *arg)
{
	yyjson_arr_iter iter, inner;
	yyjson_val *container, *item;

	if (!yyjson_arr_iter_init(list, &iter))
		return;
	while ((container = yyjson_arr_iter_next(&iter))) {
		if (yyjson_arr_iter_init(json_get(container, "envFrom"), &inner))
			while ((item = yyjson_arr_iter_next(&inner))) {
				need_of(json_get(item, "configMapRef"), CONFIG_MAPS, need, arg);
				need_of(json_get(item, "secretRef"), SECRETS, need, arg);
			}
		if (yyjson_arr_iter_init(json_get(container, "env"), &inner))
			while ((item = yyjson_arr_iter_next(&inner))) {
				need_of(json_get(json_get(item, "valueFrom"), "configMapKeyRef"), CONFIG_MAPS, need,
				        arg);
				need_of(json_get(json_get(item, "valueFrom"), "secretKeyRef"), SECRETS, need, arg);
			}
	}
}

static void needs_of_projected(yyjson_val *sources, void (*need)(void *arg, const char *kind, const char *name),
                               void *arg)
{
	yyjson_arr_iter iter;
	yyjson_val *part;

	if (!yyjson_arr_iter_init(sources, &iter))
		return;
	while ((part = yyjson_arr_iter_next(&iter))) {
		need_of(json_get(part, "configMap"), CONFIG_MAPS, need, arg);
		need_of(json_get(part, "secret"), SECRETS, need, arg);
	}
}

void translate_needs(yyjson_val *pod, void (*need)(void *arg, const char *kind, const char *name), void *arg)
{
	yyjson_val *spec = json_get(pod, "spec"), *volume;
	yyjson_arr_iter iter;

	needs_of_containers(json_get(spec, "initContainers"), need, arg);
	needs_of_containers(json_get(spec, "containers"), need, arg);
	if (yyjson_arr_iter_init(json_get(spec, "volumes"), &iter))
		while ((volume = yyjson_arr_iter_next(&iter))) {
			const char *secret = json_str(json_get(json_get(volume, "secret"), "secretName"));
			_cleanup_free_ char *claim = claim_of(json_get(pod, "metadata"), volume);

			if (claim)
				need(arg, CLAIMS, claim);
			need_of(json_get(volume, "configMap"), CONFIG_MAPS, need, arg);
			if (!str_empty(secret))
				need(arg, SECRETS, secret);
			needs_of_projected(json_get(json_get(volume, "projected"), "sources"), need, arg);
		}
}
