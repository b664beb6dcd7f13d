/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Volumes that live as long as their Pod: each gets a claim of its own, named <pod>-<volume>, that the Pod controls and that
 * goes with it.
 */
#include "base/str.h"
#include "lite/control/claims.h"
#include "lite/control/workload.h"
#include "lite/obj.h"
#include "json/json.h"

static bool has_any(const struct pod *p)
{
	for (uint32_t i = 0; i < p->n_volumes; i++)
		if (p->volumes[i].ephemeral)
			return true;
	return false;
}

static void changed(struct controller *c, struct collection *in, const struct event *e)
{
	struct vpod *p = in == c->control->pods && e->change != CHANGE_DELETED
	                         ? view_get_pod(c->control->view, e->item->key)
	                         : NULL;

	if (p && has_any(p->pod))
		mark_item(c, e->item, 0);
	else if (in == c->control->claims && e->change == CHANGE_DELETED)
		mark_controller(c, e, "Pod");
}

static void make_claim(struct controller *c, yyjson_val *pod, yyjson_val *volume, const char *ns, const char *name)
{
	static const char *const copied[] = { "labels", "annotations" };
	yyjson_val *template = val_at(volume, "ephemeral", "volumeClaimTemplate");
	yyjson_mut_doc *doc = obj_doc();
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *meta;

	obj_set_str(doc, root, "kind", "PersistentVolumeClaim");
	obj_set_str(doc, root, "apiVersion", "v1");
	meta = obj_make(doc, root, "metadata");
	obj_set_str(doc, meta, "name", name);
	obj_set_str(doc, meta, "namespace", ns);
	for (size_t i = 0; i < ARRAY_LEN(copied); i++) {
		yyjson_val *v = val_at(template, "metadata", copied[i]);

		if (v)
			obj_set(doc, meta, copied[i], yyjson_val_mut_copy(doc, v));
	}
	set_owner(doc, kind_of("", "pods"), pod);
	obj_set(doc, root, "spec", yyjson_val_mut_copy(doc, json_get(template, "spec")));
	create_object(c, kind_of("", "persistentvolumeclaims"), ns, doc, NULL);
}

static void look(struct controller *c, const char *key)
{
	struct vpod *p = view_get_pod(c->control->view, key);
	_cleanup_(item_unrefp) struct item *i = item_ref(get_item(c->control->pods, key));
	_cleanup_doc_ yyjson_doc *doc = NULL;
	_cleanup_free_ char *ns = NULL;
	yyjson_val *volume;
	size_t n, max;

	if (!p || !i || p->pod->meta.deletion > 0 || pod_is_over(p->pod))
		return;
	ns = mem_strndup(i->key, i->ns_len);
	doc = reg_read(i);
	yyjson_arr_foreach(val_at(yyjson_doc_get_root(doc), "spec", "volumes"), n, max, volume)
	{
		_cleanup_free_ char *name =
		        str_printf("%s-%s", i->name, str_or(json_str(json_get(volume, "name")), ""));

		if (json_get(volume, "ephemeral") && !db_get(c->control->claims, ns, name))
			make_claim(c, yyjson_doc_get_root(doc), volume, ns, name);
	}
}

const struct controller_ops ephemeral_ops = { "ephemeral-volume-controller", NULL, NULL, changed, look };
