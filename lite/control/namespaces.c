/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A namespace that is being deleted: everything in it is deleted, and when nothing is left, it goes.
 */
#include "base/str.h"
#include "lite/control/control.h"
#include "lite/obj.h"
#include "json/json.h"

#define AGAIN_SPAN USEC_SEC

/* Names of those that are on their way. */
struct terminating {
	struct map names;
};

static void start(struct controller *c)
{
	c->state = NEW(struct terminating);
}

static void stop(struct controller *c)
{
	struct terminating *t = c->state;
	size_t i = 0;
	char *name;

	while ((name = map_next(&t->names, &i)))
		free(name);
	map_done(&t->names);
	free(t);
}

static bool is_deleting(const struct item *i)
{
	_cleanup_doc_ yyjson_doc *doc = reg_read(i);

	return val_at(yyjson_doc_get_root(doc), "metadata", "deletionTimestamp");
}

static void note(struct controller *c, const struct item *ns)
{
	struct terminating *t = c->state;
	char *name;

	if (!is_deleting(ns))
		return;
	if (!map_get(&t->names, ns->name)) {
		name = mem_strdup(ns->name);
		map_put(&t->names, name, name);
	}
	mark_item(c, ns, 0);
}

static void changed(struct controller *c, struct collection *in, const struct event *e)
{
	struct terminating *t = c->state;

	if (in == c->control->namespaces && e->change != CHANGE_DELETED) {
		note(c, e->item);
	} else if (e->change == CHANGE_DELETED && e->item->ns_len > 0 && map_count(&t->names) > 0) {
		_cleanup_free_ char *ns = mem_strndup(e->item->key, e->item->ns_len);

		if (map_get(&t->names, ns))
			mark(c, ns, 0);
	}
}

/* Deletes what is there of one kind; how many there were. */
static size_t empty_kind(struct controller *c, const struct kind *k, const char *ns)
{
	struct delete_options o = DELETE_USUAL;
	struct collection *in = lite_collection(c->lite, k);
	_cleanup_free_ char **names = NULL;
	size_t n, left = 0;
	struct item *const *span = db_span(in, ns, NULL, &n);

	if (n == 0)
		return 0;
	o.propagation = PROPAGATE_BACKGROUND;
	names = mem_alloc_n(n, sizeof(char *));
	for (size_t i = 0; i < n; i++)
		if (!is_deleting(span[i]))
			names[left++] = mem_strdup(span[i]->name);
	for (size_t i = 0; i < left; i++) {
		delete_object(c, k, ns, names[i], &o);
		free(names[i]);
	}
	return n;
}

static void finish(struct controller *c, const struct item *i)
{
	const struct kind *k = kind_of("", "namespaces");
	struct terminating *t = c->state;
	yyjson_mut_doc *doc = reg_doc(k, i);

	free(map_remove(&t->names, i->name));
	obj_drop(obj_get(yyjson_mut_doc_get_root(doc), "spec"), "finalizers");
	reg_replace(c->lite, k, i, doc, NULL);
}

static void look(struct controller *c, const char *key)
{
	struct item *i = get_item(c->control->namespaces, key);
	struct terminating *t = c->state;
	size_t left = 0;

	if (!i) {
		free(map_remove(&t->names, key));
		return;
	}
	if (!is_deleting(i))
		return;
	for (size_t n = 0; n < c->lite->kinds.n; n++)
		if (c->lite->kinds.list[n]->namespaced && !str_eq(c->lite->kinds.list[n]->group, "events.k8s.io"))
			left += empty_kind(c, c->lite->kinds.list[n], key);
	/* What has just been deleted is seen to be gone on the next look. */
	if (left > 0)
		mark(c, key, AGAIN_SPAN);
	else
		finish(c, i);
}

const struct controller_ops namespaces_ops = { "namespace-controller", start, stop, changed, look };
