/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/control/control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "lite/obj.h"

#define LOOKS_PER_ROUND 200 /* then others have their turn */

static const struct controller_ops *const all_ops[] = {
	&namespaces_ops, &accounts_ops,   &gc_ops,         &definitions_ops, &lifecycle_ops, &taints_ops,
	&podgc_ops,      &deployment_ops, &replicaset_ops, &daemonset_ops,   &job_ops,       &scheduler_ops,
	&budget_ops,     &expiry_ops,     &volumes_ops,    &ephemeral_ops,
};

const struct kind *kind_of(const char *group, const char *plural)
{
	return kind_builtin(group, plural);
}

/* ---- marks ---- */

static void set_timer(struct control *c)
{
	usec_t at = USEC_NEVER;

	for (size_t i = 0; i < c->n; i++)
		at = MIN_OF(at, dirty_next(&c->list[i].dirty));
	loop_set_timer(c->timer, at);
}

void mark(struct controller *c, const char *key, usec_t after)
{
	usec_t at = usec_add(loop_now(c->lite->loop), after);

	dirty_mark(&c->dirty, key, at);
	set_timer(c->control);
}

void mark_item(struct controller *c, const struct item *i, usec_t after)
{
	mark(c, i->key, after);
}

const char *key_split(const char *key, char *ns)
{
	const char *slash = strchr(key, '/');
	size_t len = slash ? (size_t)(slash - key) : 0;

	memcpy(ns, key, len);
	ns[len] = '\0';
	return slash ? slash + 1 : key;
}

struct item *get_item(struct collection *c, const char *key)
{
	char ns[DB_KEY_MAX + 1];
	const char *name = key_split(key, ns);

	return db_get(c, ns, name);
}

/* ---- the round ---- */

static void run(void *arg)
{
	struct control *c = arg;
	usec_t now = loop_now(c->lite->loop);
	unsigned left = LOOKS_PER_ROUND;
	bool any = true;

	while (any && left > 0 && !c->lite->failed) {
		any = false;
		for (size_t i = 0; i < c->n && left > 0; i++) {
			_cleanup_free_ char *key = dirty_take(&c->list[i].dirty, now);

			if (!key)
				continue;
			any = true;
			left--;
			c->list[i].ops->look(&c->list[i], key);
			if (db_pending(c->lite->db))
				lite_commit(c->lite);
		}
	}
	set_timer(c);
}

static void changed(struct listener *l, struct collection *in, const struct event *e)
{
	struct control *c = CONTAINER_OF(l, struct control, listener);

	if (in == c->pods)
		view_pod(c->view, e->item, e->change == CHANGE_DELETED);
	else if (in == c->nodes)
		view_node(c->view, e->item, e->change == CHANGE_DELETED);
	for (size_t i = 0; i < c->n; i++)
		if (c->list[i].ops->changed)
			c->list[i].ops->changed(&c->list[i], in, e);
}

/* What is there counts as just added; Pods and Nodes first, so that the view is whole. */
static void show_all(struct control *c)
{
	struct collection *in;
	size_t n = 0;

	for (size_t i = 0; i < c->nodes->n; i++)
		view_node(c->view, c->nodes->items[i], false);
	for (size_t i = 0; i < c->pods->n; i++)
		view_pod(c->view, c->pods->items[i], false);
	while ((in = map_next(&c->lite->db->collections, &n)))
		for (size_t i = 0; i < in->n; i++) {
			struct event e = { .rv = in->items[i]->rv, .change = CHANGE_ADDED, .item = in->items[i] };

			for (size_t k = 0; k < c->n; k++)
				if (c->list[k].ops->changed)
					c->list[k].ops->changed(&c->list[k], in, &e);
		}
}

struct control *control_new(struct lite *l, const struct control_options *o)
{
	struct control *c = NEW(struct control);

	c->lite = l;
	c->options = *o;
	c->view = view_new();
	c->pods = lite_collection(l, kind_of("", "pods"));
	c->nodes = lite_collection(l, kind_of("", "nodes"));
	c->namespaces = lite_collection(l, kind_of("", "namespaces"));
	c->accounts = lite_collection(l, kind_of("", "serviceaccounts"));
	c->configmaps = lite_collection(l, kind_of("", "configmaps"));
	c->events = lite_collection(l, kind_of("", "events"));
	c->leases = lite_collection(l, kind_of("coordination.k8s.io", "leases"));
	c->replicasets = lite_collection(l, kind_of("apps", "replicasets"));
	c->deployments = lite_collection(l, kind_of("apps", "deployments"));
	c->daemonsets = lite_collection(l, kind_of("apps", "daemonsets"));
	c->jobs = lite_collection(l, kind_of("batch", "jobs"));
	c->budgets = lite_collection(l, kind_of("policy", "poddisruptionbudgets"));
	c->claims = lite_collection(l, kind_of("", "persistentvolumeclaims"));
	c->volumes = lite_collection(l, kind_of("", "persistentvolumes"));
	c->classes = lite_collection(l, kind_of("storage.k8s.io", "storageclasses"));
	c->crds = lite_collection(l, kind_of("apiextensions.k8s.io", "customresourcedefinitions"));
	c->timer = loop_add_timer(l->loop, run, c);
	c->n = ARRAY_LEN(all_ops);
	c->list = mem_alloc_n(c->n, sizeof(*c->list));
	for (size_t i = 0; i < c->n; i++) {
		c->list[i] = (struct controller) { .ops = all_ops[i], .control = c, .lite = l };
		if (all_ops[i]->start)
			all_ops[i]->start(&c->list[i]);
	}
	show_all(c);
	c->listener.changed = changed;
	db_listen(&l->db->listeners, &c->listener);
	return c;
}

void control_free(struct control *c)
{
	if (!c)
		return;
	link_remove(&c->listener.link);
	for (size_t i = 0; i < c->n; i++) {
		if (c->list[i].ops->stop)
			c->list[i].ops->stop(&c->list[i]);
		dirty_done(&c->list[i].dirty);
	}
	loop_remove_timer(c->timer);
	view_free(c->view);
	free(c->list);
	free(c);
}

/* ---- writing ---- */

static const struct write_options by_us = { .manager = MANAGER, .validation = FIELDS_IGNORE };

/* Somebody was faster, or it is gone: the change that says so marks it again. */
static bool is_usual(const struct status *st)
{
	return st->code == 404 || st->code == 409;
}

static int done(struct controller *c, int r, const struct status *st, const char *what, const char *name)
{
	if (r < 0 && !is_usual(st))
		log_warn("%s: %s %s: %s", c->ops->name, what, name, str_or(st->body, "?"));
	return r;
}

static int update(struct controller *c, const struct kind *k, const char *sub, const struct item *old,
                  yyjson_mut_doc *doc)
{
	_cleanup_status_ struct status st = STATUS_INIT;
	_cleanup_(item_unrefp) struct item *i = NULL;
	_cleanup_free_ char *ns = mem_strndup(old->key, old->ns_len), *name = mem_strdup(old->name);
	bool created;
	int r;

	r = decode_patched(k, NULL, doc, NULL, FIELDS_IGNORE, NULL, &st);
	if (r < 0)
		yyjson_mut_doc_free(doc);
	else
		r = reg_update(c->lite, k, sub, ns, name, doc, &by_us, &i, &created, &st);
	return done(c, r, &st, *sub ? "status of" : "updating", name);
}

int write_status(struct controller *c, const struct kind *k, const struct item *old, yyjson_mut_doc *doc)
{
	return update(c, k, "status", old, doc);
}

int write_object(struct controller *c, const struct kind *k, const struct item *old, yyjson_mut_doc *doc)
{
	return update(c, k, "", old, doc);
}

int delete_object(struct controller *c, const struct kind *k, const char *ns, const char *name,
                  const struct delete_options *o)
{
	_cleanup_status_ struct status st = STATUS_INIT;
	_cleanup_(item_unrefp) struct item *i = NULL;
	bool gone;
	int r = reg_delete(c->lite, k, ns, name, o, &i, &gone, &st);

	return done(c, r, &st, "deleting", name);
}

int create_object(struct controller *c, const struct kind *k, const char *ns, yyjson_mut_doc *doc, struct item **ret)
{
	_cleanup_status_ struct status st = STATUS_INIT;
	_cleanup_(item_unrefp) struct item *i = NULL;
	int r = decode_patched(k, NULL, doc, NULL, FIELDS_IGNORE, NULL, &st);

	if (r < 0)
		yyjson_mut_doc_free(doc);
	else
		r = reg_create(c->lite, k, ns, doc, &by_us, &i, &st);
	if (r == 0 && ret)
		*ret = TAKE_PTR(i);
	return done(c, r, &st, "creating a", k->kind);
}
