/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/make.h"

#include <assert.h>
#include <errno.h>
#include <yyjson.h>

#include "base/mem.h"
#include "base/str.h"
#include "kube/resource.h"
#include "json/json.h"

static const char *const effect_names[] = {
	[EFFECT_ANY] = NULL,
	[EFFECT_NO_SCHEDULE] = "NoSchedule",
	[EFFECT_PREFER_NO_SCHEDULE] = "PreferNoSchedule",
	[EFFECT_NO_EXECUTE] = "NoExecute",
};

struct draft {
	yyjson_mut_doc *doc;
	yyjson_mut_val *root;
};

static yyjson_mut_val *child(struct draft *d, yyjson_mut_val *of, const char *key)
{
	yyjson_mut_val *v = yyjson_mut_obj_get(of, key);

	if (yyjson_mut_is_obj(v))
		return v;
	yyjson_mut_obj_remove_key(of, key);
	return yyjson_mut_obj_add_obj(d->doc, of, key);
}

static yyjson_mut_val *children(struct draft *d, yyjson_mut_val *of, const char *key)
{
	yyjson_mut_val *v = yyjson_mut_obj_get(of, key);

	if (yyjson_mut_is_arr(v))
		return v;
	yyjson_mut_obj_remove_key(of, key);
	return yyjson_mut_obj_add_arr(d->doc, of, key);
}

static void set(struct draft *d, yyjson_mut_val *of, const char *key, const char *value)
{
	yyjson_mut_val *k = yyjson_mut_strcpy(d->doc, key);

	if (value)
		yyjson_mut_obj_put(of, k, yyjson_mut_strcpy(d->doc, value));
}

static void add_meta(struct draft *d, const struct kube_make *m)
{
	yyjson_mut_val *meta = child(d, d->root, "metadata"), *owner;
	char version[64];

	set(d, d->root, "apiVersion", kube_api_version(m->ref.kind, version));
	set(d, d->root, "kind", kube_resource(m->ref.kind)->kind);
	set(d, meta, "name", m->ref.name);
	set(d, meta, "namespace", m->ref.ns);
	for (int i = 0; i < m->n_labels; i++)
		set(d, child(d, meta, "labels"), m->labels[i].key, m->labels[i].value);
	for (int i = 0; i < m->n_annotations; i++)
		set(d, child(d, meta, "annotations"), m->annotations[i].key, m->annotations[i].value);
	if (!m->owner)
		return;
	owner = yyjson_mut_arr_add_obj(d->doc, children(d, meta, "ownerReferences"));
	set(d, owner, "apiVersion", kube_api_version(KUBE_NODESETS, version));
	set(d, owner, "kind", m->owner->kind);
	set(d, owner, "name", m->owner->name);
	set(d, owner, "uid", m->owner->uid);
	yyjson_mut_obj_add_bool(d->doc, owner, "controller", true);
	yyjson_mut_obj_add_bool(d->doc, owner, "blockOwnerDeletion", true);
}

/* As the controller of DaemonSets does: the scheduler still checks that there is room. */
static void add_pin(struct draft *d, yyjson_mut_val *spec, const char *node)
{
	yyjson_mut_val *affinity = child(d, child(d, spec, "affinity"), "nodeAffinity"), *required, *field;

	yyjson_mut_obj_remove_key(affinity, "requiredDuringSchedulingIgnoredDuringExecution");
	required = yyjson_mut_obj_add_obj(d->doc, affinity, "requiredDuringSchedulingIgnoredDuringExecution");
	field = yyjson_mut_arr_add_obj(
	        d->doc,
	        children(d, yyjson_mut_arr_add_obj(d->doc, children(d, required, "nodeSelectorTerms")), "matchFields"));
	set(d, field, "key", "metadata.name");
	set(d, field, "operator", "In");
	yyjson_mut_arr_add_strcpy(d->doc, children(d, field, "values"), node);
}

static void add_tolerations(struct draft *d, yyjson_mut_val *spec, const struct kube_make *m)
{
	for (int i = 0; i < m->n_tolerations; i++) {
		const struct toleration *t = &m->tolerations[i];
		yyjson_mut_val *v = yyjson_mut_arr_add_obj(d->doc, children(d, spec, "tolerations"));

		assert((size_t)t->effect < ARRAY_LEN(effect_names));
		set(d, v, "key", t->key);
		set(d, v, "operator", t->op == TOLERATE_EXISTS ? "Exists" : "Equal");
		set(d, v, "value", t->value);
		set(d, v, "effect", effect_names[t->effect]);
		if (t->has_seconds)
			yyjson_mut_obj_add_sint(d->doc, v, "tolerationSeconds", t->seconds);
	}
}

static int begin(struct draft *d, const struct kube_make *m, struct err *err)
{
	yyjson_doc *doc;
	int r;

	if (!m->template_json) {
		d->doc = yyjson_mut_doc_new(NULL);
		d->root = yyjson_mut_obj(d->doc);
		yyjson_mut_doc_set_root(d->doc, d->root);
		return 0;
	}
	r = json_parse_copy(m->template_json, strlen(m->template_json), &doc, err);
	if (r < 0)
		return r;
	d->doc = yyjson_doc_mut_copy(doc, NULL);
	yyjson_doc_free(doc);
	d->root = yyjson_mut_doc_get_root(d->doc);
	if (yyjson_mut_is_obj(d->root))
		return 0;
	yyjson_mut_doc_free(d->doc);
	return err_set(err, -EBADMSG, "the template is no object");
}

int kube_make_body(const struct kube_make *m, char **ret, size_t *ret_len, struct err *err)
{
	struct draft d;
	char *text;
	int r = begin(&d, m, err);

	if (r < 0)
		return err_wrap(err, r, "%s %s/%s", kube_resource(m->ref.kind)->kind, str_or(m->ref.ns, ""),
		                str_or(m->ref.name, ""));
	add_meta(&d, m);
	if (m->pin)
		add_pin(&d, child(&d, d.root, "spec"), m->pin);
	if (m->n_tolerations)
		add_tolerations(&d, child(&d, d.root, "spec"), m);
	set(&d, d.root, "nodeSet", m->nodeset);
	for (int i = 0; i < m->n_nodes; i++)
		yyjson_mut_arr_add_strcpy(d.doc, children(&d, d.root, "nodes"), m->nodes[i]);
	text = yyjson_mut_write(d.doc, 0, ret_len);
	assert(text);
	yyjson_mut_doc_free(d.doc);
	*ret = text;
	return 0;
}
