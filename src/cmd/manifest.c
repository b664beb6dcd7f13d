/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/manifest.h"

#include <ctype.h>
#include <errno.h>

#include "base/str.h"
#include "kube/objects.h"
#include "json/json.h"

#define PATH_STEPS_MAX 4

/* Where the Pod, or its template, is in an object. */
static const struct {
	const char *kind;
	const char *path[PATH_STEPS_MAX + 1];
} places[] = {
	{ "Pod", { NULL } },
	{ "PodTemplate", { "template", NULL } },
	{ "Deployment", { "spec", "template", NULL } },
	{ "ReplicaSet", { "spec", "template", NULL } },
	{ "ReplicationController", { "spec", "template", NULL } },
	{ "StatefulSet", { "spec", "template", NULL } },
	{ "DaemonSet", { "spec", "template", NULL } },
	{ "Job", { "spec", "template", NULL } },
	{ "CronJob", { "spec", "jobTemplate", "spec", "template", NULL } },
};

struct reader {
	struct manifest_item now;
	const char *ns;
	struct json_scratch scratch;
	void (*item)(void *arg, const struct manifest_item *item);
	void *arg;
};

/* The value with `metadata` and `spec` of a Pod; NULL when this kind has none, or this object lacks it. */
static yyjson_val *template_of(yyjson_val *object, const char *kind, bool *ret_known)
{
	*ret_known = true;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		yyjson_val *v = object;

		if (!str_eq(places[i].kind, kind))
			continue;
		for (size_t k = 0; places[i].path[k]; k++)
			v = json_get(v, places[i].path[k]);
		return v;
	}
	*ret_known = false;
	return NULL;
}

static void put_default(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, const char *value)
{
	if (!yyjson_mut_obj_get(object, key))
		yyjson_mut_obj_put(object, yyjson_mut_str(doc, key), yyjson_mut_strcpy(doc, value));
}

/* What the Pods will be called: names that are made up later end with a star. */
static char *name_for(yyjson_val *object, bool is_template)
{
	yyjson_val *meta = json_get(object, "metadata");
	const char *name = json_str(json_get(meta, "name")), *start = json_str(json_get(meta, "generateName"));

	if (name)
		return str_printf("%s%s", name, is_template ? "-*" : "");
	return start ? str_printf("%s*", start) : mem_strdup("*");
}

/* A Pod as the API server would see it, from a Pod or a template. */
static yyjson_doc *as_pod(const struct reader *r, yyjson_val *object, yyjson_val *template)
{
	_cleanup_free_ char *name = name_for(object, template != object);
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *root = yyjson_mut_obj(doc), *meta;
	yyjson_doc *made;

	meta = yyjson_is_obj(json_get(template, "metadata")) ? yyjson_val_mut_copy(doc, json_get(template, "metadata"))
	                                                     : yyjson_mut_obj(doc);
	put_default(doc, meta, "name", name);
	put_default(doc, meta, "namespace",
	            str_or(json_str(json_get(json_get(object, "metadata"), "namespace")), r->ns));
	yyjson_mut_obj_add_val(doc, root, "metadata", meta);
	if (json_get(template, "spec"))
		yyjson_mut_obj_add_val(doc, root, "spec", yyjson_val_mut_copy(doc, json_get(template, "spec")));
	yyjson_mut_doc_set_root(doc, root);
	made = yyjson_mut_doc_imut_copy(doc, NULL);
	yyjson_mut_doc_free(doc);
	return made;
}

static void read_pod(struct reader *r, yyjson_val *object, yyjson_val *template)
{
	_cleanup_free_ void *pod = NULL;
	struct err err = { 0 };
	yyjson_doc *doc;

	if (!yyjson_is_obj(template) || !yyjson_is_obj(json_get(template, "spec"))) {
		err_set(&err, -EBADMSG, "%s without %s", r->now.kind, template == object ? "a spec" : "a Pod template");
		r->now.err = &err;
		r->item(r->arg, &r->now);
		return;
	}
	doc = as_pod(r, object, template);
	if (kube_decode(KUBE_PODS, yyjson_doc_get_root(doc), &r->scratch, &pod, NULL, &err) < 0)
		r->now.err = &err;
	else
		r->now.pod = pod;
	r->item(r->arg, &r->now);
	yyjson_doc_free(doc);
}

static void read_object(struct reader *r, yyjson_val *object, bool inside_list)
{
	const char *kind = str_or(json_str(json_get(object, "kind")), "");
	yyjson_val *items = json_get(object, "items"), *v, *template;
	yyjson_arr_iter walk;
	bool known;

	if (!inside_list && str_ends(kind, "List") && yyjson_is_arr(items)) {
		yyjson_arr_iter_init(items, &walk);
		while ((v = yyjson_arr_iter_next(&walk)))
			read_object(r, v, true);
		return;
	}
	r->now.kind = kind;
	r->now.pod = NULL;
	r->now.err = NULL;
	template = template_of(object, kind, &known);
	if (known)
		read_pod(r, object, template);
	else
		r->item(r->arg, &r->now);
}

static bool looks_like_json(const char *text, size_t len)
{
	size_t i = 0;

	while (i < len && isspace((unsigned char)text[i]))
		i++;
	return i < len && text[i] == '{';
}

int manifest_each(const char *text, size_t len, const char *file, const char *ns,
                  void (*item)(void *arg, const struct manifest_item *item), void *arg, struct err *err)
{
	struct reader r = { .now = { .file = file }, .ns = ns, .item = item, .arg = arg };
	yyjson_doc *doc = NULL;
	yyjson_val *v;
	yyjson_arr_iter walk;

	if (len > MANIFEST_BYTES_MAX)
		return err_set(err, -EFBIG, "%s: larger than %zu KiB", file, MANIFEST_BYTES_MAX >> 10);
	/* YAML takes most JSON, but not all; and much of what begins like JSON is YAML */
	if (looks_like_json(text, len) && json_parse_copy(text, len, &doc, NULL) == 0) {
		r.now.document = 1;
		read_object(&r, yyjson_doc_get_root(doc), false);
	} else {
		int e = yaml_parse_all(text, len, file, &doc, err);

		if (e < 0)
			return e;
		yyjson_arr_iter_init(yyjson_doc_get_root(doc), &walk);
		while ((v = yyjson_arr_iter_next(&walk))) {
			r.now.document++;
			if (!yyjson_is_null(v))
				read_object(&r, v, false);
		}
	}
	yyjson_doc_free(doc);
	json_scratch_done(&r.scratch);
	return 0;
}
