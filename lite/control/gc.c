/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Garbage collection: what an owner leaves behind goes with it. Background: when the owner is gone. Foreground: the owner
 * waits (a finalizer) until those that block it are gone. Orphan: the owner waits until nobody names it any more.
 *
 * Keys are "collection namespace/name".
 */
#include <string.h>

#include "base/str.h"
#include "lite/control/control.h"
#include "lite/obj.h"
#include "json/json.h"

/* Who names whom as an owner. */
struct dependent {
	struct link link; /* owner.dependents */
	struct link of_item; /* item_refs.owners */
	char *key;
	struct owned *owner;
};

struct owned { /* an owner's uid, and those that name it */
	char *uid;
	struct link dependents;
};

struct item_refs { /* what one object names */
	char *key;
	struct link owners;
};

struct gc {
	struct map owners; /* by uid */
	struct map items;  /* by key */
};

static void start(struct controller *c)
{
	c->state = NEW(struct gc);
}

static void forget_item(struct gc *g, const char *key)
{
	struct item_refs *r = map_remove(&g->items, key);

	if (!r)
		return;
	LIST_EACH (l, &r->owners) {
		struct dependent *d = LIST_ITEM(l, struct dependent, of_item);

		link_remove(&d->link);
		if (list_empty(&d->owner->dependents)) {
			map_remove(&g->owners, d->owner->uid);
			free(d->owner->uid);
			free(d->owner);
		}
		free(d->key);
		free(d);
	}
	free(r->key);
	free(r);
}

static void stop(struct controller *c)
{
	struct gc *g = c->state;
	struct item_refs *r;
	size_t i = 0;

	while ((r = map_next(&g->items, &i)))
		forget_item(g, r->key);
	map_done(&g->items);
	map_done(&g->owners);
	free(g);
}

static void remember(struct gc *g, const char *key, yyjson_val *refs)
{
	struct item_refs *r = NEW(struct item_refs);
	yyjson_val *v;
	size_t i, n;

	r->key = mem_strdup(key);
	link_init(&r->owners);
	map_put(&g->items, r->key, r);
	yyjson_arr_foreach(refs, i, n, v)
	{
		const char *uid = str_or(json_str(json_get(v, "uid")), "");
		struct owned *o = map_get(&g->owners, uid);
		struct dependent *d = NEW(struct dependent);

		if (!o) {
			o = NEW(struct owned);
			o->uid = mem_strdup(uid);
			link_init(&o->dependents);
			map_put(&g->owners, o->uid, o);
		}
		d->key = mem_strdup(key);
		d->owner = o;
		list_add_tail(&o->dependents, &d->link);
		list_add_tail(&r->owners, &d->of_item);
	}
}

static bool has_finalizer(yyjson_val *root, const char *name)
{
	yyjson_val *f;
	size_t i, n;

	yyjson_arr_foreach(val_at(root, "metadata", "finalizers"), i, n, f) if (str_eq(json_str(f), name)) return true;
	return false;
}

static char *gc_key(const struct collection *in, const struct item *i)
{
	return str_printf("%s %s", in->name, i->key);
}

static void mark_dependents(struct controller *c, const char *uid)
{
	struct gc *g = c->state;
	struct owned *o = uid ? map_get(&g->owners, uid) : NULL;

	if (o)
		LIST_EACH (l, &o->dependents)
			mark(c, LIST_ITEM(l, struct dependent, link)->key, 0);
}

/* Owners that wait for this one to go. */
static void mark_waiting_owners(struct controller *c, const struct collection *in, yyjson_val *refs,
                                const struct item *i)
{
	_cleanup_free_ char *ns = mem_strndup(i->key, i->ns_len);
	yyjson_val *v;
	size_t k, n;

	(void)in;
	yyjson_arr_foreach(refs, k, n, v)
	{
		const char *version = str_or(json_str(json_get(v, "apiVersion")), ""), *slash = strchr(version, '/');
		_cleanup_free_ char *group = slash ? mem_strndup(version, (size_t)(slash - version)) : mem_strdup("");
		const struct kind *kind = kinds_find_kind(&c->lite->kinds, group, slash ? slash + 1 : version,
		                                          str_or(json_str(json_get(v, "kind")), ""));
		struct item *owner =
		        kind ? reg_get(c->lite, kind, ns, str_or(json_str(json_get(v, "name")), "")) : NULL;
		_cleanup_free_ char *key = owner && strstr(owner->text, "foregroundDeletion")
		                                   ? gc_key(lite_collection(c->lite, kind), owner)
		                                   : NULL;

		if (key)
			mark(c, key, 0);
	}
}

static void changed(struct controller *c, struct collection *in, const struct event *e)
{
	struct gc *g = c->state;
	bool refs = strstr(e->item->text, "\"ownerReferences\":[") ||
	            (e->prev && strstr(e->prev->text, "\"ownerReferences\":["));
	bool leaving = e->change == CHANGE_DELETED || strstr(e->item->text, "\"deletionTimestamp\":\"");
	_cleanup_doc_ yyjson_doc *doc = NULL;
	_cleanup_free_ char *key = NULL;
	yyjson_val *root, *owners;

	if (!refs && !leaving)
		return;
	doc = reg_read(e->item);
	root = yyjson_doc_get_root(doc);
	owners = val_at(root, "metadata", "ownerReferences");
	key = gc_key(in, e->item);
	forget_item(g, key);
	if (e->change == CHANGE_DELETED) {
		mark_dependents(c, json_str(val_at(root, "metadata", "uid")));
		mark_waiting_owners(c, in, owners, e->item);
		return;
	}
	if (yyjson_arr_size(owners) > 0) {
		remember(g, key, owners);
		mark(c, key, 0);
	}
	if (has_finalizer(root, "foregroundDeletion") || has_finalizer(root, "orphan"))
		mark(c, key, 0);
}

/* ---- one object ---- */

struct subject {
	const struct kind *kind;
	struct collection *in;
	struct item *item;
	char *ns;
	yyjson_doc *doc;
	yyjson_val *root;
};

static const struct kind *kind_stored(struct controller *c, const char *collection)
{
	for (size_t i = 0; i < c->lite->kinds.n; i++)
		if (str_eq(c->lite->kinds.list[i]->stored_as, collection))
			return c->lite->kinds.list[i];
	return NULL;
}

static void subject_done(struct subject *s)
{
	yyjson_doc_free(s->doc);
	free(s->ns);
	item_unref(s->item);
}

static bool find_subject(struct controller *c, const char *key, struct subject *s)
{
	const char *space = strchr(key, ' ');
	_cleanup_free_ char *name = mem_strndup(key, (size_t)(space - key));

	*s = (struct subject) { .kind = kind_stored(c, name) };
	if (!s->kind)
		return false;
	s->in = lite_collection(c->lite, s->kind);
	s->item = item_ref(get_item(s->in, space + 1));
	if (!s->item)
		return false;
	s->ns = mem_strndup(s->item->key, s->item->ns_len);
	s->doc = reg_read(s->item);
	s->root = yyjson_doc_get_root(s->doc);
	return true;
}

enum owner_state { OWNER_GONE, OWNER_THERE, OWNER_WAITS };

static enum owner_state owner_state(struct controller *c, const struct subject *s, yyjson_val *ref)
{
	const char *version = str_or(json_str(json_get(ref, "apiVersion")), ""), *slash = strchr(version, '/');
	_cleanup_free_ char *group = slash ? mem_strndup(version, (size_t)(slash - version)) : mem_strdup("");
	const struct kind *k = kinds_find_kind(&c->lite->kinds, group, slash ? slash + 1 : version,
	                                       str_or(json_str(json_get(ref, "kind")), ""));
	_cleanup_doc_ yyjson_doc *doc = NULL;
	struct item *i;

	if (!k)
		return OWNER_THERE; /* of a kind that is not served: nobody knows */
	i = reg_get(c->lite, k, k->namespaced ? s->ns : NULL, str_or(json_str(json_get(ref, "name")), ""));
	doc = i ? reg_read(i) : NULL;
	if (!doc ||
	    !str_eq(json_str(val_at(yyjson_doc_get_root(doc), "metadata", "uid")), json_str(json_get(ref, "uid"))))
		return OWNER_GONE;
	if (val_at(yyjson_doc_get_root(doc), "metadata", "deletionTimestamp") &&
	    has_finalizer(yyjson_doc_get_root(doc), "foregroundDeletion"))
		return OWNER_WAITS;
	return OWNER_THERE;
}

/* Owners that are gone, or wait to go, are no longer named: another one is there. */
static void drop_weak_refs(struct controller *c, struct subject *s)
{
	yyjson_mut_doc *doc = reg_doc(s->kind, s->item);
	yyjson_mut_val *kept = yyjson_mut_arr(doc);
	yyjson_val *v;
	size_t i, n;

	yyjson_arr_foreach(val_at(s->root, "metadata", "ownerReferences"), i, n,
	                   v) if (owner_state(c, s, v) == OWNER_THERE)
	        yyjson_mut_arr_append(kept, yyjson_val_mut_copy(doc, v));
	obj_set(doc, obj_get(yyjson_mut_doc_get_root(doc), "metadata"), "ownerReferences", kept);
	reg_replace(c->lite, s->kind, s->item, doc, NULL);
}

static void collect(struct controller *c, struct subject *s)
{
	yyjson_val *refs = val_at(s->root, "metadata", "ownerReferences"), *v;
	size_t i, n, there = 0, waiting = 0, gone = 0;
	struct delete_options o = DELETE_USUAL;

	yyjson_arr_foreach(refs, i, n, v) switch (owner_state(c, s, v))
	{
	case OWNER_GONE: gone++; break;
	case OWNER_THERE: there++; break;
	case OWNER_WAITS: waiting++; break;
	}
	if (gone + waiting == 0)
		return;
	if (there > 0) {
		drop_weak_refs(c, s);
		return;
	}
	if (val_at(s->root, "metadata", "deletionTimestamp"))
		return;
	o.uid = json_str(val_at(s->root, "metadata", "uid"));
	o.propagation = waiting > 0                        ? PROPAGATE_FOREGROUND
	                : has_finalizer(s->root, "orphan") ? PROPAGATE_ORPHAN
	                                                   : PROPAGATE_BACKGROUND;
	delete_object(c, s->kind, s->ns, s->item->name, &o);
}

/* ---- an owner that waits ---- */

static void drop_finalizer(struct controller *c, struct subject *s, const char *name)
{
	yyjson_mut_doc *doc = reg_doc(s->kind, s->item);
	yyjson_mut_val *meta = obj_get(yyjson_mut_doc_get_root(doc), "metadata"), *kept = yyjson_mut_arr(doc);

	ARR_EACH (f, obj_get(meta, "finalizers"))
		if (!str_eq(obj_str(f), name))
			yyjson_mut_arr_append(kept, obj_copy(doc, f));
	if (obj_size(kept) > 0)
		obj_set(doc, meta, "finalizers", kept);
	else
		obj_drop(meta, "finalizers");
	reg_replace(c->lite, s->kind, s->item, doc, NULL);
}

static bool blocks(yyjson_val *dependent, const char *uid)
{
	yyjson_val *v;
	size_t i, n;

	yyjson_arr_foreach(val_at(dependent, "metadata", "ownerReferences"), i, n,
	                   v) if (str_eq(json_str(json_get(v, "uid")),
	                                 uid)) return json_bool(json_get(v, "blockOwnerDeletion"), false);
	return false;
}

static void wait_for_dependents(struct controller *c, struct subject *s)
{
	struct gc *g = c->state;
	const char *uid = json_str(val_at(s->root, "metadata", "uid"));
	struct owned *o = uid ? map_get(&g->owners, uid) : NULL;
	size_t blocking = 0;

	if (o)
		LIST_EACH (l, &o->dependents) {
			const char *key = LIST_ITEM(l, struct dependent, link)->key;
			struct subject d;

			if (find_subject(c, key, &d)) {
				blocking += blocks(d.root, uid);
				mark(c, key, 0);
			}
			subject_done(&d);
		}
	if (blocking == 0)
		drop_finalizer(c, s, "foregroundDeletion");
}

static void orphan_one(struct controller *c, struct subject *d, const char *uid)
{
	yyjson_mut_doc *doc = reg_doc(d->kind, d->item);
	yyjson_mut_val *meta = obj_get(yyjson_mut_doc_get_root(doc), "metadata"), *kept = yyjson_mut_arr(doc);

	ARR_EACH (r, obj_get(meta, "ownerReferences"))
		if (!str_eq(obj_str(obj_get(r, "uid")), uid))
			yyjson_mut_arr_append(kept, obj_copy(doc, r));
	if (obj_size(kept) > 0)
		obj_set(doc, meta, "ownerReferences", kept);
	else
		obj_drop(meta, "ownerReferences");
	reg_replace(c->lite, d->kind, d->item, doc, NULL);
}

static void orphan_dependents(struct controller *c, struct subject *s)
{
	struct gc *g = c->state;
	const char *uid = json_str(val_at(s->root, "metadata", "uid"));
	struct owned *o = uid ? map_get(&g->owners, uid) : NULL;

	if (o)
		LIST_EACH (l, &o->dependents) {
			struct subject d;

			if (find_subject(c, LIST_ITEM(l, struct dependent, link)->key, &d))
				orphan_one(c, &d, uid);
			subject_done(&d);
		}
	drop_finalizer(c, s, "orphan");
}

static void look(struct controller *c, const char *key)
{
	struct subject s;

	if (find_subject(c, key, &s)) {
		bool deleting = val_at(s.root, "metadata", "deletionTimestamp");

		if (deleting && has_finalizer(s.root, "orphan"))
			orphan_dependents(c, &s);
		else if (deleting && has_finalizer(s.root, "foregroundDeletion"))
			wait_for_dependents(c, &s);
		else
			collect(c, &s);
	}
	subject_done(&s);
}

const struct controller_ops gc_ops = { "garbage-collector", start, stop, changed, look };
