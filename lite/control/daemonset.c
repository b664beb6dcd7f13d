/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * DaemonSets: one Pod on each node that takes it. Pods are made for a node (by affinity to its name) and placed by the
 * scheduler.
 */
#include <string.h>

#include "base/str.h"
#include "kube/objects.h"
#include "lite/control/fit.h"
#include "lite/control/workload.h"
#include "lite/obj.h"
#include "policy/selector.h"
#include "json/json.h"

#define HASH_LABEL "controller-revision-hash"

static const struct kind *kind(void)
{
	return kind_of("apps", "daemonsets");
}

static void changed(struct controller *c, struct collection *in, const struct event *e)
{
	if (in == c->control->daemonsets && e->change != CHANGE_DELETED)
		mark_item(c, e->item, 0);
	else if (in == c->control->pods)
		mark_controller(c, e, "DaemonSet");
	else if (in == c->control->nodes)
		for (size_t i = 0; i < c->control->daemonsets->n; i++)
			mark_item(c, c->control->daemonsets->items[i], 0);
}

/* What every daemon tolerates: it is part of the node. */
static const struct {
	const char *key, *effect;
} always[] = {
	{ "node.kubernetes.io/not-ready", "NoExecute" },      { "node.kubernetes.io/unreachable", "NoExecute" },
	{ "node.kubernetes.io/disk-pressure", "NoSchedule" }, { "node.kubernetes.io/memory-pressure", "NoSchedule" },
	{ "node.kubernetes.io/pid-pressure", "NoSchedule" },  { "node.kubernetes.io/unschedulable", "NoSchedule" },
};

static void tolerate(yyjson_mut_doc *doc)
{
	yyjson_mut_val *list = obj_make_arr(doc, obj_get(yyjson_mut_doc_get_root(doc), "spec"), "tolerations");

	for (size_t i = 0; i < ARRAY_LEN(always); i++) {
		yyjson_mut_val *t = yyjson_mut_arr_add_obj(doc, list);

		obj_set_str(doc, t, "key", always[i].key);
		obj_set_str(doc, t, "operator", "Exists");
		obj_set_str(doc, t, "effect", always[i].effect);
	}
}

/* Every term of the required node affinity also names the node. */
static void pin(yyjson_mut_doc *doc, const char *node)
{
	yyjson_mut_val *spec = obj_get(yyjson_mut_doc_get_root(doc), "spec"), *required, *terms;

	required = obj_make(doc, obj_make(doc, obj_make(doc, spec, "affinity"), "nodeAffinity"),
	                    "requiredDuringSchedulingIgnoredDuringExecution");
	terms = obj_make_arr(doc, required, "nodeSelectorTerms");
	if (obj_size(terms) == 0)
		yyjson_mut_arr_add_obj(doc, terms);
	ARR_EACH (t, terms) {
		yyjson_mut_val *list = yyjson_mut_arr(doc), *f = yyjson_mut_arr_add_obj(doc, list);

		obj_set_str(doc, f, "key", "metadata.name");
		obj_set_str(doc, f, "operator", "In");
		yyjson_mut_arr_add_strcpy(doc, obj_make_arr(doc, f, "values"), node);
		obj_set(doc, t, "matchFields", list);
	}
}

/* The node a daemon's Pod is for, placed or not. */
static const char *node_of(const struct pod *p)
{
	if (!str_empty(p->node_name))
		return p->node_name;
	for (uint32_t i = 0; i < p->n_required_nodes; i++)
		for (uint32_t k = 0; k < p->required_nodes[i].n_fields; k++)
			if (p->required_nodes[i].fields[k].n_values == 1)
				return p->required_nodes[i].fields[k].values[0];
	return NULL;
}

struct daemons {
	struct item *item;
	yyjson_val *root;
	char *ns;
	char hash[HASH_TEXT];
	struct pod *sample; /* what a Pod of the template would be, to ask nodes about */
	int64_t desired, current, misplaced, ready, available, updated;
	int64_t may_replace; /* how many more old ones may be taken down */
};

/* The template's Pod as a struct. */
static struct pod *sample_of(struct controller *c, const struct item *i, yyjson_val *root)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = from_template(kind(), i, root);
	_cleanup_doc_ yyjson_doc *read = NULL;
	void *ret = NULL;

	tolerate(doc);
	obj_set_str(doc, obj_get(yyjson_mut_doc_get_root(doc), "metadata"), "name", "sample");
	read = yyjson_mut_doc_imut_copy(doc, NULL);
	kube_decode(KUBE_PODS, yyjson_doc_get_root(read), c->control->view->scratch, &ret, NULL, NULL);
	return ret;
}

static void add_pod(struct controller *c, struct daemons *d, const char *node)
{
	yyjson_mut_doc *doc = from_template(kind(), d->item, d->root);
	_cleanup_(item_unrefp) struct item *pod = NULL;

	set_label(doc, HASH_LABEL, d->hash);
	tolerate(doc);
	pin(doc, node);
	if (create_object(c, kind_of("", "pods"), d->ns, doc, &pod) == 0)
		tell(c, kind(), d->item, "Normal", "SuccessfulCreate", "Created pod: %s", pod->name);
	else
		mark_item(c, d->item, USEC_SEC);
}

static void remove_pod(struct controller *c, struct daemons *d, const struct vpod *p)
{
	if (p->pod->meta.deletion == 0 &&
	    delete_object(c, kind_of("", "pods"), d->ns, p->pod->meta.name, &DELETE_USUAL) == 0)
		tell(c, kind(), d->item, "Normal", "SuccessfulDelete", "Deleted pod: %s", p->pod->meta.name);
}

static bool is_updated(const struct daemons *d, const struct pod *p)
{
	return str_eq(pair_get(p->meta.labels, p->meta.n_labels, HASH_LABEL), d->hash);
}

/* One node: none, one or too many Pods on it. */
static void look_at_node(struct controller *c, struct daemons *d, const struct vnode *n)
{
	struct link *pods = view_pods_of(c->control->view, item_uid(d->root));
	char reason[FIT_REASON_MAX];
	bool wanted = n->node && pod_selects(d->sample, n->node, NULL), stays;
	usec_t at;
	size_t alive = 0;

	stays = wanted;
	wanted = wanted && fits_taints(d->sample, n->node, reason);
	d->desired += wanted;
	VPODS_EACH(p, pods)
	{
		if (!str_eq(node_of(p->pod), n->name))
			continue;
		if (p->pod->phase == POD_FAILED) {
			remove_pod(c, d, p); /* and comes anew */
			continue;
		}
		if (p->pod->meta.deletion > 0) {
			alive++; /* its place is not free yet */
			continue;
		}
		if (!stays || alive > 0) {
			remove_pod(c, d, p);
			d->misplaced += !stays;
			continue;
		}
		alive++;
		d->current += wanted;
		d->ready += pod_is_ready(p->pod);
		d->available += pod_is_available(p->pod, json_int(val_at(d->root, "spec", "minReadySeconds"), 0),
		                                 lite_now(c->lite), &at);
		d->updated += is_updated(d, p->pod);
		if (!is_updated(d, p->pod) && d->may_replace > 0) {
			d->may_replace--;
			remove_pod(c, d, p);
		}
	}
	if (wanted && alive == 0)
		add_pod(c, d, n->name);
}

static int64_t replaceable(struct controller *c, const struct daemons *d)
{
	yyjson_val *rolling = val_at(d->root, "spec", "updateStrategy", "rollingUpdate");
	int64_t total = 0, bad = 0;

	if (str_eq(json_str(val_at(d->root, "spec", "updateStrategy", "type")), "OnDelete"))
		return 0;
	VPODS_EACH(p, view_pods_of(c->control->view, item_uid(d->root)))
	{
		total++;
		bad += p->pod->meta.deletion > 0 || (!pod_is_ready(p->pod) && is_updated(d, p->pod));
	}
	return MAX_OF(int_or_percent(json_get(rolling, "maxUnavailable"), 1, total, true), 1) - bad;
}

static void write_counts(struct controller *c, const struct daemons *d)
{
	struct item *i = reg_get(c->lite, kind(), d->ns, d->item->name);
	yyjson_mut_doc *doc = i ? reg_doc(kind(), i) : NULL;
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *status;

	if (!doc)
		return;
	status = obj_make(doc, root, "status");
	obj_set_int(doc, status, "currentNumberScheduled", d->current);
	obj_set_int(doc, status, "numberMisscheduled", d->misplaced);
	obj_set_int(doc, status, "desiredNumberScheduled", d->desired);
	obj_set_int(doc, status, "numberReady", d->ready);
	obj_set_int(doc, status, "observedGeneration", obj_int(obj_at(root, "metadata", "generation"), 0));
	obj_set_int(doc, status, "updatedNumberScheduled", d->updated);
	obj_set_int(doc, status, "numberAvailable", d->available);
	obj_set_int(doc, status, "numberUnavailable", MAX_OF(d->desired - d->available, 0));
	write_status(c, kind(), i, doc);
}

static void look(struct controller *c, const char *key)
{
	_cleanup_(item_unrefp) struct item *i = item_ref(get_item(c->control->daemonsets, key));
	_cleanup_doc_ yyjson_doc *doc = i ? reg_read(i) : NULL;
	struct daemons d = { .item = i };
	struct vnode *n;
	size_t k = 0;

	if (!doc || is_deleting(yyjson_doc_get_root(doc)))
		return;
	d.root = yyjson_doc_get_root(doc);
	d.ns = mem_strndup(i->key, i->ns_len);
	hash_text(val_at(d.root, "spec", "template"), d.hash);
	d.sample = sample_of(c, i, d.root);
	d.may_replace = replaceable(c, &d);
	while (d.sample && (n = map_next(&c->control->view->nodes, &k)))
		look_at_node(c, &d, n);
	write_counts(c, &d);
	free(d.sample);
	free(d.ns);
}

const struct controller_ops daemonset_ops = { "daemonset-controller", NULL, NULL, changed, look };
