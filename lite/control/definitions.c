/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A CustomResourceDefinition that is being deleted takes its objects with it.
 */
#include "base/str.h"
#include "lite/control/control.h"
#include "lite/crd.h"
#include "lite/obj.h"
#include "json/json.h"

#define AGAIN_SPAN (500 * USEC_MSEC)

static void changed(struct controller *c, struct collection *in, const struct event *e)
{
	if (in == c->control->crds && e->change != CHANGE_DELETED)
		mark_item(c, e->item, 0);
}

static size_t delete_all(struct controller *c, const struct kind *k)
{
	struct collection *in = lite_collection(c->lite, k);
	struct delete_options o = DELETE_USUAL;
	size_t n = in->n;

	for (size_t i = n; i-- > 0;) {
		_cleanup_(item_unrefp) struct item *each = i < in->n ? item_ref(in->items[i]) : NULL;
		_cleanup_doc_ yyjson_doc *doc = each ? reg_read(each) : NULL;
		_cleanup_free_ char *ns = each ? mem_strndup(each->key, each->ns_len) : NULL;

		if (doc && !val_at(yyjson_doc_get_root(doc), "metadata", "deletionTimestamp"))
			delete_object(c, k, ns, each->name, &o);
	}
	return n;
}

static void release(struct controller *c, const struct item *i)
{
	const struct kind *k = kind_of("apiextensions.k8s.io", "customresourcedefinitions");
	yyjson_mut_doc *doc = reg_doc(k, i);
	yyjson_mut_val *meta = obj_get(yyjson_mut_doc_get_root(doc), "metadata"), *kept = yyjson_mut_arr(doc);

	ARR_EACH (f, obj_get(meta, "finalizers"))
		if (!str_eq(obj_str(f), CRD_FINALIZER))
			yyjson_mut_arr_append(kept, obj_copy(doc, f));
	obj_set(doc, meta, "finalizers", kept);
	reg_replace(c->lite, k, i, doc, NULL);
}

static bool has_our_finalizer(yyjson_val *crd)
{
	yyjson_val *f;
	size_t i, n;

	yyjson_arr_foreach(val_at(crd, "metadata", "finalizers"), i, n,
	                   f) if (str_eq(json_str(f), CRD_FINALIZER)) return true;
	return false;
}

static void look(struct controller *c, const char *key)
{
	struct item *i = get_item(c->control->crds, key);
	_cleanup_doc_ yyjson_doc *doc = i ? reg_read(i) : NULL;
	yyjson_val *root = yyjson_doc_get_root(doc);
	const char *group, *plural;
	size_t left = 0;

	if (!doc || !val_at(root, "metadata", "deletionTimestamp") || !has_our_finalizer(root))
		return;
	group = json_str(val_at(root, "spec", "group"));
	plural = json_str(val_at(root, "spec", "names", "plural"));
	for (size_t n = 0; n < c->lite->kinds.n; n++) {
		const struct kind *k = c->lite->kinds.list[n];

		if (str_eq(k->group, group) && str_eq(k->plural, plural))
			left = MAX_OF(left, delete_all(c, k));
	}
	if (left > 0)
		mark(c, key, AGAIN_SPAN);
	else
		release(c, i);
}

const struct controller_ops definitions_ops = { "crd-finalizer", NULL, NULL, changed, look };
