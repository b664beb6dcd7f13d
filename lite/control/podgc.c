/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Pods whose node does not exist: nobody will ever end them, so they are removed after a while.
 */
#include "base/str.h"
#include "lite/control/control.h"
#include "lite/eviction.h"

#define QUARANTINE (40 * USEC_SEC)

static void changed(struct controller *c, struct collection *in, const struct event *e)
{
	struct vpod *p;
	struct vnode *n;

	if (in == c->control->pods && e->change != CHANGE_DELETED) {
		p = view_get_pod(c->control->view, e->item->key);
		n = p ? view_get_node(c->control->view, p->pod->node_name) : NULL;
		if (n && !n->node)
			mark_item(c, e->item, QUARANTINE);
	} else if (in == c->control->nodes && e->change == CHANGE_DELETED) {
		n = view_get_node(c->control->view, e->item->name);
		if (n)
			LIST_EACH (l, &n->pods)
				mark(c, LIST_ITEM(l, struct vpod, on_node)->key, QUARANTINE);
	}
}

static void look(struct controller *c, const char *key)
{
	struct vpod *p = view_get_pod(c->control->view, key);
	struct vnode *n = p ? view_get_node(c->control->view, p->pod->node_name) : NULL;
	char ns[DB_KEY_MAX + 1];
	const char *name = key_split(key, ns);

	if (!n || n->node)
		return;
	if (!pod_is_over(p->pod))
		mark_disrupted(c->lite, ns, name, MANAGER, "Failed", "DeletionByPodGC", "PodGC: node no longer exists");
	delete_object(c, kind_of("", "pods"), ns, name, &DELETE_NOW);
}

const struct controller_ops podgc_ops = { "pod-garbage-collector", NULL, NULL, changed, look };
