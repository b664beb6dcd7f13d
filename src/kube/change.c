/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/change.h"

#include <assert.h>
#include <errno.h>
#include <yyjson.h>

#include "base/str.h"
#include "kube/resource.h"
#include "json/patch.h"

static const char *const effect_names[] = {
	[EFFECT_ANY] = NULL,
	[EFFECT_NO_SCHEDULE] = "NoSchedule",
	[EFFECT_PREFER_NO_SCHEDULE] = "PreferNoSchedule",
	[EFFECT_NO_EXECUTE] = "NoExecute",
};

static const char *const operator_names[] = {
	[TOLERATE_EQUAL] = "Equal",
	[TOLERATE_EXISTS] = "Exists",
	[TOLERATE_GT] = "Gt",
	[TOLERATE_LT] = "Lt",
};

static const char *const status_names[] = {
	[COND_UNKNOWN] = "Unknown",
	[COND_TRUE] = "True",
	[COND_FALSE] = "False",
};

static void add_pairs(struct patch *p, const char *map, const struct pair *pairs, int n)
{
	for (int i = 0; i < n; i++)
		patch_str(p, pairs[i].value, PATH("metadata", map, pairs[i].key));
}

static void add_unless_null(struct patch *p, const char *value, const char *key)
{
	if (value)
		patch_str(p, value, PATH(key));
}

static void add_tolerations(struct patch *p, const struct kube_change *c)
{
	patch_empty_array(p, PATH("spec", "tolerations"));
	for (int i = 0; i < c->n_tolerations; i++) {
		const struct toleration *t = &c->tolerations[i];
		struct patch *q = patch_add(p, PATH("spec", "tolerations"));

		assert((size_t)t->effect < ARRAY_LEN(effect_names) && (size_t)t->op < ARRAY_LEN(operator_names));
		add_unless_null(q, t->key, "key");
		patch_str(q, operator_names[t->op], PATH("operator"));
		add_unless_null(q, t->value, "value");
		add_unless_null(q, effect_names[t->effect], "effect");
		if (t->has_seconds)
			patch_int(q, t->seconds, PATH("tolerationSeconds"));
	}
}

static void add_taints(struct patch *p, const struct kube_change *c)
{
	patch_empty_array(p, PATH("spec", "taints"));
	for (int i = 0; i < c->n_taints; i++) {
		const struct taint *t = &c->taints[i];
		struct patch *q = patch_add(p, PATH("spec", "taints"));

		assert((size_t)t->effect < ARRAY_LEN(effect_names));
		patch_str(q, str_or(t->key, ""), PATH("key"));
		add_unless_null(q, t->value, "value");
		add_unless_null(q, effect_names[t->effect], "effect");
		if (t->added)
			patch_time(q, t->added, PATH("timeAdded"));
	}
}

static void add_strings(struct patch *p, const char *const *list, int n, const char *const *path)
{
	patch_empty_array(p, path);
	for (int i = 0; i < n; i++)
		patch_add_str(p, list[i], path);
}

static void add_owner(struct patch *p, const struct owner *o)
{
	struct patch *q = patch_add(p, PATH("metadata", "ownerReferences"));
	char version[64];

	patch_str(q, kube_api_version(KUBE_NODESETS, version), PATH("apiVersion"));
	patch_str(q, o->kind, PATH("kind"));
	patch_str(q, o->name, PATH("name"));
	patch_str(q, o->uid, PATH("uid"));
	patch_bool(q, true, PATH("controller"));
	patch_bool(q, true, PATH("blockOwnerDeletion"));
}

static void add_claim_ref(struct patch *p, const struct meta *claim)
{
	char version[64];

	patch_str(p, kube_api_version(KUBE_CLAIMS, version), PATH("spec", "claimRef", "apiVersion"));
	patch_str(p, "PersistentVolumeClaim", PATH("spec", "claimRef", "kind"));
	patch_str(p, claim->ns, PATH("spec", "claimRef", "namespace"));
	patch_str(p, claim->name, PATH("spec", "claimRef", "name"));
	patch_str(p, claim->uid, PATH("spec", "claimRef", "uid"));
	patch_str(p, claim->resource_version, PATH("spec", "claimRef", "resourceVersion"));
}

static void add_nodeset_status(struct patch *p, const struct nodeset_status *s)
{
	const struct {
		const char *key;
		int64_t value;
	} counts[] = { { "observedGeneration", s->observed_generation },
		       { "desired", s->desired },
		       { "feasible", s->feasible },
		       { "current", s->current },
		       { "ready", s->ready },
		       { "updated", s->updated },
		       { "drained", s->drained },
		       { "misscheduled", s->misscheduled },
		       { "unavailable", s->unavailable },
		       { "leaving", s->leaving },
		       { "replicas", s->replicas } };

	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		patch_int(p, counts[i].value, PATH("status", counts[i].key));
	patch_str(p, s->selector, PATH("status", "selector"));
	patch_str(p, s->revision, PATH("status", "revision"));
}

/* A whole list replaces whatever another has put there since, unless the server checks that nothing has. */
static int check_whole_list(const struct kube_change *c, const char *list, int n, struct err *err)
{
	char what[KUBE_WHAT_MAX];

	if (n >= 0 && str_empty(c->ref.resource_version))
		return err_set(err, -EINVAL, "replacing the %s of %s needs its resourceVersion", list,
		               kube_what(&c->ref, what));
	return 0;
}

static void add_preconditions(struct patch *p, const char *uid, const char *version)
{
	if (!str_empty(uid))
		patch_str(p, uid, PATH("metadata", "uid"));
	if (!str_empty(version))
		patch_str(p, version, PATH("metadata", "resourceVersion"));
}

int kube_change_main(const struct kube_change *c, char **ret, size_t *ret_len, struct err *err)
{
	_cleanup_(patch_freep) struct patch *p = patch_new();
	int r = check_whole_list(c, "tolerations", c->n_tolerations, err);

	if (r >= 0)
		r = check_whole_list(c, "taints", c->n_taints, err);
	if (r >= 0)
		r = check_whole_list(c, "finalizers", c->n_finalizers, err);
	if (r >= 0)
		r = check_whole_list(c, "nodes", c->n_nodes, err);
	if (r >= 0)
		r = check_whole_list(c, "owners", c->owner ? 1 : -1, err);
	if (r >= 0)
		r = check_whole_list(c, "claim", c->claim ? 1 : -1, err);
	if (r < 0)
		return r;
	add_pairs(p, "annotations", c->annotations, c->n_annotations);
	add_pairs(p, "labels", c->labels, c->n_labels);
	if (c->n_tolerations >= 0)
		add_tolerations(p, c);
	if (c->n_taints >= 0)
		add_taints(p, c);
	if (c->n_finalizers >= 0)
		add_strings(p, c->finalizers, c->n_finalizers, PATH("metadata", "finalizers"));
	if (c->n_nodes >= 0)
		add_strings(p, c->nodes, c->n_nodes, PATH("nodes"));
	if (c->owner)
		add_owner(p, c->owner);
	if (c->claim)
		add_claim_ref(p, c->claim);
	if (c->active_deadline_s)
		patch_int(p, c->active_deadline_s, PATH("spec", "activeDeadlineSeconds"));
	if (c->unschedulable >= 0)
		patch_bool(p, c->unschedulable != 0, PATH("spec", "unschedulable"));
	if (patch_is_empty(p)) {
		*ret = NULL;
		*ret_len = 0;
		return 0;
	}
	add_preconditions(p, c->ref.uid, c->ref.resource_version);
	*ret = patch_text(p, ret_len);
	return 0;
}

int kube_change_status(const struct kube_change *c, const char *version, usec_t now, char **ret, size_t *ret_len,
                       struct err *err)
{
	_cleanup_(patch_freep) struct patch *p = NULL;
	char what[KUBE_WHAT_MAX];

	if (c->n_conditions <= 0 && !c->nodeset_status) {
		*ret = NULL;
		*ret_len = 0;
		return 0;
	}
	if (!kube_resource(c->ref.kind)->strategic && c->ref.kind != KUBE_NODESETS)
		return err_set(err, -EOPNOTSUPP, "%s: its conditions cannot be merged by type",
		               kube_what(&c->ref, what));
	p = patch_new();
	add_preconditions(p, c->ref.uid, version);
	if (c->nodeset_status)
		add_nodeset_status(p, c->nodeset_status);
	for (int i = 0; i < c->n_conditions; i++) {
		const struct condition *cond = &c->conditions[i];
		struct patch *q = patch_add(p, PATH("status", "conditions"));

		assert((size_t)cond->status < ARRAY_LEN(status_names));
		patch_str(q, cond->type, PATH("type"));
		patch_str(q, status_names[cond->status], PATH("status"));
		/* null, not absent: what an earlier writer of this condition said goes away */
		patch_str(q, cond->reason, PATH("reason"));
		patch_str(q, cond->message, PATH("message"));
		patch_time(q, cond->changed ? cond->changed : now, PATH("lastTransitionTime"));
		if (c->ref.kind == KUBE_NODES)
			patch_time(q, now, PATH("lastHeartbeatTime"));
	}
	*ret = patch_text(p, ret_len);
	return 0;
}

char *kube_body_with_version(const char *json, size_t len, const char *version, size_t *ret_len)
{
	yyjson_doc *doc = yyjson_read(json, len, 0);
	yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
	yyjson_mut_val *root = yyjson_mut_doc_get_root(copy), *meta = yyjson_mut_obj_get(root, "metadata");
	char *text;

	assert(root);
	if (!meta)
		meta = yyjson_mut_obj_add_obj(copy, root, "metadata");
	yyjson_mut_obj_remove_key(meta, "resourceVersion");
	yyjson_mut_obj_add_str(copy, meta, "resourceVersion", version);
	text = yyjson_mut_write(copy, 0, ret_len);
	assert(text);
	yyjson_mut_doc_free(copy);
	yyjson_doc_free(doc);
	return text;
}
