/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * NoExecute taints: a Pod on such a node goes at once, or when the time that its toleration names is over.
 */
#include <string.h>

#include "base/str.h"
#include "lite/control/control.h"
#include "lite/eviction.h"
#include "policy/taints.h"

#define REASON "DeletionByTaintManager"
#define MESSAGE "Taint manager: deleting due to NoExecute taint"

/* When a node was first seen with a taint that does not say since when. */
struct first_seen {
	char *key; /* "node key=value:effect" */
	usec_t at;
};

static char *taint_text(const struct taint *t)
{
	return str_printf("%s=%s:%d", str_or(t->key, ""), str_or(t->value, ""), t->effect);
}

static void start(struct controller *c)
{
	c->state = NEW(struct map);
}

static void stop(struct controller *c)
{
	struct map *seen = c->state;
	struct first_seen *f;
	size_t i = 0;

	while ((f = map_next(seen, &i))) {
		free(f->key);
		free(f);
	}
	map_done(seen);
	free(seen);
}

static void mark_pods(struct controller *c, const char *node)
{
	struct vnode *n = view_get_node(c->control->view, node);

	if (n)
		LIST_EACH (l, &n->pods)
			mark(c, LIST_ITEM(l, struct vpod, on_node)->key, 0);
}

static bool has_taint(const struct knode *n, const char *seen)
{
	const char *taint = strchr(seen, ' ') + 1;

	for (uint32_t i = 0; n && i < n->n_taints; i++) {
		_cleanup_free_ char *text = taint_text(&n->taints[i]);

		if (str_eq(text, taint))
			return true;
	}
	return false;
}

/* A taint that is gone, and comes again, begins anew. */
static void forget_gone(struct controller *c, const char *node)
{
	const struct vnode *n = view_get_node(c->control->view, node);
	struct map *all = c->state;
	struct first_seen *f;
	size_t i = 0, len = strlen(node);

	while ((f = map_next(all, &i))) {
		if (strncmp(f->key, node, len) != 0 || f->key[len] != ' ' || has_taint(n ? n->node : NULL, f->key))
			continue;
		map_remove(all, f->key);
		free(f->key);
		free(f);
	}
}

static void changed(struct controller *c, struct collection *in, const struct event *e)
{
	if (in == c->control->nodes)
		forget_gone(c, e->item->name);
	if (in == c->control->pods && e->change != CHANGE_DELETED)
		mark_item(c, e->item, 0);
	else if (in == c->control->nodes && e->change != CHANGE_DELETED)
		mark_pods(c, e->item->name);
}

static usec_t tainted_since(struct controller *c, const struct vnode *n, const struct taint *t)
{
	struct map *seen = c->state;
	_cleanup_free_ char *taint = taint_text(t), *key = str_printf("%s %s", n->name, taint);
	struct first_seen *f;

	if (t->added > 0)
		return t->added;
	f = map_get(seen, key);
	if (!f) {
		f = NEW(struct first_seen);
		f->key = mem_strdup(key);
		f->at = lite_now(c->lite);
		map_put(seen, f->key, f);
	}
	return f->at;
}

/* When the Pod has to go: USEC_NEVER when it may stay. */
static usec_t must_go_at(struct controller *c, const struct vnode *n, const struct pod *p)
{
	usec_t at = USEC_NEVER, since = 0;
	int64_t least = INT64_MAX;
	bool any = false;

	for (uint32_t i = 0; i < n->node->n_taints; i++) {
		const struct taint *t = &n->node->taints[i];
		const struct toleration *o;

		if (t->effect != EFFECT_NO_EXECUTE)
			continue;
		o = taint_tolerated(p, t);
		if (!o)
			return 0;
		if (!o->has_seconds)
			continue;
		any = true;
		least = MIN_OF(least, MAX_OF(o->seconds, 0));
		since = MAX_OF(since, tainted_since(c, n, t));
	}
	if (any)
		at = least > INT64_MAX / USEC_SEC ? USEC_NEVER : usec_add(since, least * USEC_SEC);
	return at;
}

static void evict(struct controller *c, const char *key)
{
	struct item *i = get_item(c->control->pods, key);
	char ns[DB_KEY_MAX + 1];
	const char *name = key_split(key, ns);

	tell(c, kind_of("", "pods"), i, "Normal", "TaintManagerEviction", "Marking for deletion Pod %s", key);
	mark_disrupted(c->lite, ns, name, MANAGER, NULL, REASON, MESSAGE);
	delete_object(c, kind_of("", "pods"), ns, name, &DELETE_USUAL);
}

static void look(struct controller *c, const char *key)
{
	struct vpod *p = view_get_pod(c->control->view, key);
	struct vnode *n = p ? view_get_node(c->control->view, p->pod->node_name) : NULL;
	usec_t at, now = lite_now(c->lite);

	if (!n || !n->node || n->node->n_taints == 0 || p->pod->meta.deletion > 0 || pod_is_over(p->pod))
		return;
	at = must_go_at(c, n, p->pod);
	if (at <= now)
		evict(c, key);
	else if (at != USEC_NEVER)
		mark(c, key, at - now);
}

const struct controller_ops taints_ops = { "taint-eviction-controller", start, stop, changed, look };
