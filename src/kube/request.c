/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/request.h"

#include <errno.h>
#include <stdio.h>

#include "base/str.h"
#include "json/json.h"
#include "json/patch.h"

static const char *const patch_types[] = {
	[KUBE_PATCH_MERGE] = "application/merge-patch+json",
	[KUBE_PATCH_STRATEGIC] = "application/strategic-merge-patch+json",
	[KUBE_PATCH_APPLY] = "application/apply-patch+yaml",
};

void kube_request_done(struct kube_request *r)
{
	free(r->path);
	free(r->body);
	*r = (struct kube_request) { 0 };
}

static void describe(struct kube_request *r, const char *verb, const struct kube_ref *ref)
{
	char what[KUBE_WHAT_MAX];

	snprintf(r->what, sizeof(r->what), "%s %s", verb, kube_what(ref, what));
}

static int begin(struct kube_request *r, const char *method, const char *verb, const struct kube_ref *ref,
                 const char *sub, const struct kube_query *query, struct err *err)
{
	_cleanup_buf_ KUBE_PATH(path);
	int e;

	*r = (struct kube_request) { .method = method, .effect = !str_eq(method, "GET") };
	describe(r, verb, ref);
	e = kube_path(&path, ref, sub, query, err);
	if (e < 0)
		return err_wrap(err, e, "%s", r->what);
	r->path = buf_take(&path);
	return 0;
}

static void set_body(struct kube_request *r, const char *content_type, const struct patch *p)
{
	r->content_type = content_type;
	r->body = patch_text(p, &r->body_len);
}

int kube_request_get(struct kube_request *r, const struct kube_ref *ref, const char *sub, struct err *err)
{
	return begin(r, "GET", "get", ref, sub, NULL, err);
}

int kube_request_list(struct kube_request *r, const struct kube_ref *collection, const struct kube_query *query,
                      struct err *err)
{
	struct kube_ref ref = { .kind = collection->kind, .ns = collection->ns };

	return begin(r, "GET", query->watch ? "watch" : "list", &ref, NULL, query, err);
}

int kube_request_create(struct kube_request *r, enum kube_kind kind, const char *ns, const char *json, size_t len,
                        struct err *err)
{
	struct kube_ref collection = { .kind = kind, .ns = ns }, object = collection;
	yyjson_doc *doc = NULL;
	yyjson_val *root;
	int e = begin(r, "POST", "create one of", &collection, NULL, NULL, err);

	if (e < 0)
		return e;
	if (len > KUBE_BODY_MAX)
		return err_set(err, -EFBIG, "%s: %zu bytes, more than the %u we send", r->what, len, KUBE_BODY_MAX);
	e = json_parse_copy(json, len, &doc, err);
	if (e < 0)
		return err_wrap(err, e, "%s", r->what);
	root = yyjson_doc_get_root(doc);
	object.name = json_str(json_get(json_get(root, "metadata"), "name"));
	if (object.name)
		describe(r, "create", &object);
	if (!yyjson_is_obj(root))
		e = err_set(err, -EINVAL, "%s: the text is no JSON object", r->what);
	yyjson_doc_free(doc);
	if (e < 0)
		return e;
	r->content_type = "application/json";
	r->body = mem_strndup(json, len);
	r->body_len = len;
	return 0;
}

int kube_request_patch(struct kube_request *r, const struct kube_ref *ref, const char *sub, enum kube_patch how,
                       const char *json, size_t len, struct err *err)
{
	struct kube_query apply = { .field_manager = KUBE_FIELD_MANAGER, .force = true };
	char verb[64] = "change";
	int e;

	if (sub)
		snprintf(verb, sizeof(verb), "change the %s of", sub);
	e = begin(r, "PATCH", verb, ref, sub, how == KUBE_PATCH_APPLY ? &apply : NULL, err);
	if (e < 0)
		return e;
	r->content_type = patch_types[how];
	r->body = mem_strndup(json, len);
	r->body_len = len;
	return 0;
}

static void add_delete_options(struct patch *p, const struct kube_ref *ref, int64_t grace_s)
{
	if (grace_s >= 0)
		patch_int(p, grace_s, PATH("gracePeriodSeconds"));
	if (!str_empty(ref->uid))
		patch_str(p, ref->uid, PATH("preconditions", "uid"));
	if (!str_empty(ref->resource_version))
		patch_str(p, ref->resource_version, PATH("preconditions", "resourceVersion"));
}

int kube_request_delete(struct kube_request *r, const struct kube_ref *ref, int64_t grace_s, struct err *err)
{
	_cleanup_(patch_freep) struct patch *p = patch_new();
	int e = begin(r, "DELETE", "delete", ref, NULL, NULL, err);

	if (e < 0)
		return e;
	if (!ref->name) /* without it, the URL is that of the collection */
		return err_set(err, -EINVAL, "%s: which one?", r->what);
	patch_str(p, "v1", PATH("apiVersion"));
	patch_str(p, "DeleteOptions", PATH("kind"));
	patch_str(p, "Background", PATH("propagationPolicy"));
	add_delete_options(p, ref, grace_s);
	set_body(r, "application/json", p);
	return 0;
}

int kube_request_evict(struct kube_request *r, const struct kube_ref *pod, int64_t grace_s, struct err *err)
{
	_cleanup_(patch_freep) struct patch *p = patch_new(), *options = patch_new();
	_cleanup_free_ char *text = NULL;
	size_t len;
	int e = begin(r, "POST", "evict", pod, "eviction", NULL, err);

	if (e < 0)
		return e;
	patch_str(p, "policy/v1", PATH("apiVersion"));
	patch_str(p, "Eviction", PATH("kind"));
	patch_str(p, pod->name, PATH("metadata", "name"));
	patch_str(p, pod->ns, PATH("metadata", "namespace"));
	add_delete_options(options, pod, grace_s);
	if (!patch_is_empty(options)) {
		text = patch_text(options, &len);
		e = patch_raw(p, text, len, PATH("deleteOptions"), err);
	}
	if (e >= 0)
		set_body(r, "application/json", p);
	return e;
}

int kube_request_bind(struct kube_request *r, const struct kube_ref *pod, const char *node, struct err *err)
{
	_cleanup_(patch_freep) struct patch *p = patch_new();
	size_t len;
	int e = begin(r, "POST", "bind", pod, "binding", NULL, err);

	if (e < 0)
		return e;
	/* The server takes any name here, also of a node that does not exist. */
	if (str_empty(node))
		return err_set(err, -EINVAL, "%s: to which node?", r->what);
	len = strlen(r->what);
	snprintf(r->what + len, sizeof(r->what) - len, " to %s", node);
	patch_str(p, "v1", PATH("apiVersion"));
	patch_str(p, "Binding", PATH("kind"));
	patch_str(p, pod->name, PATH("metadata", "name"));
	patch_str(p, pod->ns, PATH("metadata", "namespace"));
	if (!str_empty(pod->uid))
		patch_str(p, pod->uid, PATH("metadata", "uid"));
	patch_str(p, "v1", PATH("target", "apiVersion"));
	patch_str(p, "Node", PATH("target", "kind"));
	patch_str(p, node, PATH("target", "name"));
	set_body(r, "application/json", p);
	return 0;
}

int kube_request_scale(struct kube_request *r, const struct kube_ref *ref, int32_t replicas, struct err *err)
{
	_cleanup_(patch_freep) struct patch *p = patch_new();
	int e = begin(r, "PATCH", "scale", ref, "scale", NULL, err);

	if (e < 0)
		return e;
	patch_int(p, replicas, PATH("spec", "replicas"));
	if (!str_empty(ref->resource_version))
		patch_str(p, ref->resource_version, PATH("metadata", "resourceVersion"));
	set_body(r, patch_types[KUBE_PATCH_MERGE], p);
	return 0;
}

void kube_request_plain(struct kube_request *r, const char *path)
{
	*r = (struct kube_request) { .method = "GET", .path = mem_strdup(path) };
	snprintf(r->what, sizeof(r->what), "get %s", path);
}
