/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What every namespace gets: the service account "default", and the config map with the server's certificate authority.
 */
#include <string.h>

#include "base/str.h"
#include "lite/control/control.h"
#include "lite/obj.h"

#define ACCOUNT "default"
#define ROOT_CA "kube-root-ca.crt"

static void changed(struct controller *c, struct collection *in, const struct event *e)
{
	_cleanup_free_ char *ns = NULL;

	if (in == c->control->namespaces && e->change != CHANGE_DELETED) {
		mark_item(c, e->item, 0);
		return;
	}
	if (e->change != CHANGE_DELETED || !((in == c->control->accounts && str_eq(e->item->name, ACCOUNT)) ||
	                                     (in == c->control->configmaps && str_eq(e->item->name, ROOT_CA))))
		return;
	ns = mem_strndup(e->item->key, e->item->ns_len);
	mark(c, ns, 0);
}

static yyjson_mut_doc *named(const char *kind, const char *name)
{
	yyjson_mut_doc *doc = obj_doc();
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);

	obj_set_str(doc, root, "kind", kind);
	obj_set_str(doc, root, "apiVersion", "v1");
	obj_set_str(doc, obj_make(doc, root, "metadata"), "name", name);
	return doc;
}

static void look(struct controller *c, const char *key)
{
	struct item *i = get_item(c->control->namespaces, key);
	_cleanup_doc_ yyjson_doc *ns = i ? reg_read(i) : NULL;
	const char *ca = c->control->options.ca_pem;
	yyjson_mut_doc *doc;

	if (!ns || val_at(yyjson_doc_get_root(ns), "metadata", "deletionTimestamp"))
		return;
	if (!db_get(c->control->accounts, key, ACCOUNT))
		create_object(c, kind_of("", "serviceaccounts"), key, named("ServiceAccount", ACCOUNT), NULL);
	if (ca && !db_get(c->control->configmaps, key, ROOT_CA)) {
		doc = named("ConfigMap", ROOT_CA);
		obj_set_str(doc, obj_make(doc, yyjson_mut_doc_get_root(doc), "data"), "ca.crt", ca);
		create_object(c, kind_of("", "configmaps"), key, doc, NULL);
	}
}

const struct controller_ops accounts_ops = { "serviceaccount-controller", NULL, NULL, changed, look };
