/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/review.h"

#include "base/str.h"
#include "lite/authz.h"
#include "lite/obj.h"
#include "lite/write.h"

bool review_is(const struct kind *k)
{
	return str_eq(k->group, "authorization.k8s.io") || str_eq(k->group, "authentication.k8s.io");
}

static const char *text_at(yyjson_mut_val *obj, const char *key)
{
	return str_or(obj_str(obj_get(obj, key)), "");
}

static void answer_access(struct call *c, yyjson_mut_doc *doc, yyjson_mut_val *status)
{
	yyjson_mut_val *spec = obj_get(yyjson_mut_doc_get_root(doc), "spec");
	yyjson_mut_val *resource = obj_get(spec, "resourceAttributes"), *path = obj_get(spec, "nonResourceAttributes");
	struct access a = { .verb = text_at(resource ? resource : path, "verb"),
		            .group = text_at(resource, "group"),
		            .resource = text_at(resource, "resource"),
		            .sub = text_at(resource, "subresource"),
		            .ns = text_at(resource, "namespace"),
		            .name = text_at(resource, "name"),
		            .path = resource ? NULL : text_at(path, "path") };

	obj_set_bool(doc, status, "allowed", authz_allow(c->lite, c->user, &a));
}

static void add_words(yyjson_mut_doc *doc, yyjson_mut_val *rule, const char *key, const char *word)
{
	yyjson_mut_arr_add_strcpy(doc, obj_make_arr(doc, rule, key), word);
}

/* Everything, for who may everything; else only what everybody may: the bound roles are not spelled out. */
static void answer_rules(struct call *c, yyjson_mut_doc *doc, yyjson_mut_val *status)
{
	yyjson_mut_val *resources = obj_make_arr(doc, status, "resourceRules"), *paths, *rule;
	bool all = user_in_group(c->user, "system:masters");

	rule = yyjson_mut_arr_add_obj(doc, resources);
	add_words(doc, rule, "verbs", all ? "*" : "create");
	add_words(doc, rule, "apiGroups", all ? "*" : "authorization.k8s.io");
	add_words(doc, rule, "resources", all ? "*" : "selfsubjectaccessreviews");
	paths = obj_make_arr(doc, status, "nonResourceRules");
	rule = yyjson_mut_arr_add_obj(doc, paths);
	add_words(doc, rule, "verbs", all ? "*" : "get");
	add_words(doc, rule, "nonResourceURLs", all ? "*" : "/healthz");
	obj_set_bool(doc, status, "incomplete", !all);
}

static void answer_self(struct call *c, yyjson_mut_doc *doc, yyjson_mut_val *status)
{
	yyjson_mut_val *info = obj_make(doc, status, "userInfo"), *groups;

	obj_set_str(doc, info, "username", c->user->name);
	if (*c->user->uid)
		obj_set_str(doc, info, "uid", c->user->uid);
	groups = obj_make_arr(doc, info, "groups");
	for (size_t i = 0; c->user->groups[i]; i++)
		yyjson_mut_arr_add_strcpy(doc, groups, c->user->groups[i]);
}

static const struct {
	const char *plural;
	void (*answer)(struct call *c, yyjson_mut_doc *doc, yyjson_mut_val *status);
} reviews[] = {
	{ "selfsubjectaccessreviews", answer_access },
	{ "selfsubjectrulesreviews", answer_rules },
	{ "selfsubjectreviews", answer_self },
};

int review_answer(struct call *c, struct status *st)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL;
	_cleanup_buf_ struct buf out = BUF(BODY_MAX);
	char manager[MANAGER_MAX + 1];
	struct write_options o;
	yyjson_mut_val *root;
	int r;

	r = write_options(c, false, &o, manager, st);
	if (r == 0)
		r = write_body(c, c->kind, NULL, o.validation, &doc, st);
	if (r < 0)
		return r;
	root = yyjson_mut_doc_get_root(doc);
	obj_make(doc, root, "metadata");
	obj_drop(root, "status");
	for (size_t i = 0; i < ARRAY_LEN(reviews); i++)
		if (str_eq(c->kind->plural, reviews[i].plural))
			reviews[i].answer(c, doc, obj_make(doc, root, "status"));
	managed_update(c->kind, doc, NULL, &(struct writer) { .manager = manager, .now = lite_now(c->lite) });
	obj_add_text(&out, root);
	return call_json(c, 201, &out);
}
