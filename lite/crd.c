/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/crd.h"

#include <string.h>

#include "base/list.h"
#include "base/str.h"
#include "lite/crd_schema.h"
#include "lite/db.h"
#include "lite/obj.h"
#include "lite/registry.h"
#include "lite/watch.h"
#include "json/json.h"

#define VERSIONS_MAX 16

/* The kinds of one definition. */
struct definition {
	char *name;
	struct kind *kinds[VERSIONS_MAX];
	size_t n;
};

struct crds {
	struct lite *lite;
	struct listener listener;
	struct map by_name;
};

static void unserve(struct crds *c, struct definition *d)
{
	for (size_t i = 0; i < d->n; i++) {
		if (c->lite->watches)
			watches_end_kind(c->lite->watches, d->kinds[i]);
		kinds_remove(&c->lite->kinds, d->kinds[i]);
		crd_kind_free(d->kinds[i]);
	}
	d->n = 0;
}

static void serve(struct crds *c, struct definition *d, yyjson_val *crd)
{
	yyjson_val *version;
	size_t i, n;

	yyjson_arr_foreach(val_at(crd, "spec", "versions"), i, n, version)
	{
		const char *name = json_str(json_get(version, "name"));
		struct kind *k = name && d->n < VERSIONS_MAX ? crd_kind_new(crd, name) : NULL;

		if (!k)
			continue;
		d->kinds[d->n++] = k;
		kinds_add(&c->lite->kinds, k);
	}
}

static void take_up(struct crds *c, const struct item *i, bool gone)
{
	struct definition *d = map_get(&c->by_name, i->name);
	_cleanup_doc_ yyjson_doc *doc = gone ? NULL : reg_read(i);

	if (!d) {
		d = NEW(struct definition);
		d->name = mem_strdup(i->name);
		map_put(&c->by_name, d->name, d);
	}
	unserve(c, d);
	if (doc)
		serve(c, d, yyjson_doc_get_root(doc));
}

/* A change of its status alone changes nothing that is served. */
static bool same_spec(const struct item *a, const struct item *b)
{
	_cleanup_doc_ yyjson_doc *da = reg_read(a), *db = reg_read(b);

	return yyjson_equals(json_get(yyjson_doc_get_root(da), "spec"), json_get(yyjson_doc_get_root(db), "spec"));
}

static void changed(struct listener *l, struct collection *collection, const struct event *e)
{
	struct crds *c = CONTAINER_OF(l, struct crds, listener);

	(void)collection;
	if (e->change == CHANGE_MODIFIED && same_spec(e->item, e->prev))
		return;
	take_up(c, e->item, e->change == CHANGE_DELETED);
}

struct crds *crds_new(struct lite *l)
{
	struct crds *c = NEW(struct crds);
	struct collection *collection =
	        lite_collection(l, kind_builtin("apiextensions.k8s.io", "customresourcedefinitions"));

	c->lite = l;
	c->listener.changed = changed;
	for (size_t i = 0; i < collection->n; i++)
		take_up(c, collection->items[i], false);
	db_listen(&collection->listeners, &c->listener);
	return c;
}

void crds_free(struct crds *c)
{
	struct definition *d;
	size_t i = 0;

	if (!c)
		return;
	link_remove(&c->listener.link);
	while ((d = map_next(&c->by_name, &i))) {
		unserve(c, d);
		free(d->name);
		free(d);
	}
	map_done(&c->by_name);
	free(c);
}

void crd_admit(struct lite *l, yyjson_mut_doc *doc)
{
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *meta = obj_make(doc, root, "metadata");
	char now[TIME_TEXT_MAX];
	bool found = false;

	crd_set_established(doc, time_format(lite_now(l), now));
	if (!l->control || obj_is_set(obj_get(meta, "deletionTimestamp")))
		return;
	ARR_EACH (f, obj_get(meta, "finalizers"))
		found |= str_eq(obj_str(f), CRD_FINALIZER);
	if (!found)
		yyjson_mut_arr_add_strcpy(doc, obj_make_arr(doc, meta, "finalizers"), CRD_FINALIZER);
}
