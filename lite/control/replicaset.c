/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * ReplicaSets: as many Pods as they say.
 */
#include <string.h>

#include "base/str.h"
#include "lite/control/workload.h"
#include "lite/obj.h"
#include "lite/selector.h"
#include "json/json.h"

#define RETRY_SPAN USEC_SEC

static const struct kind *kind(void)
{
	return kind_of("apps", "replicasets");
}

static void changed(struct controller *c, struct collection *in, const struct event *e)
{
	if (in == c->control->replicasets && e->change != CHANGE_DELETED)
		mark_item(c, e->item, 0);
	else if (in == c->control->pods)
		mark_controller(c, e, "ReplicaSet");
}

struct counted {
	struct vpod **active; /* not over, not being deleted */
	size_t n, ready, available, labelled;
	usec_t next; /* when the next one becomes available */
};

static void count(struct controller *c, yyjson_val *root, struct counted *k)
{
	struct link *pods = view_pods_of(c->control->view, item_uid(root));
	int64_t min_ready = json_int(val_at(root, "spec", "minReadySeconds"), 0);
	yyjson_val *labels = val_at(root, "spec", "template", "metadata", "labels");
	usec_t at, now = lite_now(c->lite);
	size_t n = 0;

	*k = (struct counted) { .next = USEC_NEVER };
	VPODS_EACH(p, pods)
	n += p != NULL;
	k->active = mem_alloc_n(n, sizeof(struct vpod *));
	VPODS_EACH(p, pods)
	{
		bool labelled = true;
		yyjson_val *key, *v;
		size_t i, max;

		if (pod_is_over(p->pod) || p->pod->meta.deletion > 0)
			continue;
		k->active[k->n++] = p;
		k->ready += pod_is_ready(p->pod);
		if (pod_is_available(p->pod, min_ready, now, &at))
			k->available++;
		else if (at != USEC_NEVER)
			k->next = MIN_OF(k->next, at);
		yyjson_obj_foreach(labels, i, max, key, v) labelled &= str_eq(
		        pair_get(p->pod->meta.labels, p->pod->meta.n_labels, yyjson_get_str(key)), yyjson_get_str(v));
		k->labelled += labelled;
	}
}

static void add_pods(struct controller *c, const struct item *rs, yyjson_val *root, int64_t n)
{
	_cleanup_free_ char *ns = mem_strndup(rs->key, rs->ns_len);

	for (int64_t i = 0; i < MIN_OF(n, (int64_t)CREATE_AT_ONCE_MAX); i++) {
		_cleanup_(item_unrefp) struct item *pod = NULL;

		if (create_object(c, kind_of("", "pods"), ns, from_template(kind(), rs, root), &pod) < 0) {
			tell(c, kind(), rs, "Warning", "FailedCreate", "Error creating: the Pod was refused");
			mark_item(c, rs, RETRY_SPAN);
			return;
		}
		tell(c, kind(), rs, "Normal", "SuccessfulCreate", "Created pod: %s", pod->name);
	}
}

static void remove_pods(struct controller *c, const struct item *rs, struct counted *k, int64_t n)
{
	char ns[DB_KEY_MAX + 1];

	sort_for_removal(k->active, k->n);
	for (size_t i = 0; i < MIN_OF((size_t)n, k->n); i++) {
		const char *name = key_split(k->active[i]->key, ns);

		if (delete_object(c, kind_of("", "pods"), ns, name, &DELETE_USUAL) == 0)
			tell(c, kind(), rs, "Normal", "SuccessfulDelete", "Deleted pod: %s", name);
	}
}

static void write_counts(struct controller *c, const struct item *rs, const struct counted *k)
{
	yyjson_mut_doc *doc = reg_doc(kind(), rs);
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *status = obj_make(doc, root, "status");

	obj_set_int(doc, status, "replicas", (int64_t)k->n);
	obj_set_int(doc, status, "fullyLabeledReplicas", (int64_t)k->labelled);
	obj_set_int(doc, status, "readyReplicas", (int64_t)k->ready);
	obj_set_int(doc, status, "availableReplicas", (int64_t)k->available);
	obj_set_int(doc, status, "observedGeneration", obj_int(obj_at(root, "metadata", "generation"), 0));
	write_status(c, kind(), rs, doc);
}

/* Pods that fit the selector and belong to nobody are taken over. */
static void adopt(struct controller *c, const struct item *rs, yyjson_val *root)
{
	_cleanup_(selector_freep) struct selector *s = NULL;
	_cleanup_free_ char *ns = mem_strndup(rs->key, rs->ns_len);
	size_t n;
	struct item *const *span = db_span(c->control->pods, ns, NULL, &n);

	if (selector_from_object(val_at(root, "spec", "selector"), &s) < 0 || !s)
		return;
	for (size_t i = 0; i < n; i++) {
		struct vpod *p = view_get_pod(c->control->view, span[i]->key);
		_cleanup_doc_ yyjson_doc *read = NULL;
		yyjson_mut_doc *doc;

		if (!p || p->pod->meta.n_owners > 0 || p->pod->meta.deletion > 0 || pod_is_over(p->pod) ||
		    p->pod->meta.n_labels == 0)
			continue;
		read = reg_read(span[i]);
		if (!selector_matches_labels(s, yyjson_doc_get_root(read)))
			continue;
		doc = reg_doc(kind_of("", "pods"), span[i]);
		set_owner(doc, kind(), root);
		write_object(c, kind_of("", "pods"), span[i], doc);
	}
}

static void look(struct controller *c, const char *key)
{
	_cleanup_(item_unrefp) struct item *rs = item_ref(get_item(c->control->replicasets, key));
	_cleanup_doc_ yyjson_doc *doc = rs ? reg_read(rs) : NULL;
	yyjson_val *root = yyjson_doc_get_root(doc);
	struct counted k;
	int64_t diff;

	if (!doc)
		return;
	if (!is_deleting(root))
		adopt(c, rs, root);
	if (db_pending(c->lite->db))
		lite_commit(c->lite); /* so that those taken over count */
	count(c, root, &k);
	diff = json_int(val_at(root, "spec", "replicas"), 1) - (int64_t)k.n;
	if (is_deleting(root))
		diff = 0;
	if (diff > 0)
		add_pods(c, rs, root, diff);
	else if (diff < 0)
		remove_pods(c, rs, &k, -diff);
	if (k.next != USEC_NEVER)
		mark(c, key, k.next - lite_now(c->lite));
	write_counts(c, rs, &k);
	free(k.active);
}

const struct controller_ops replicaset_ops = { "replicaset-controller", NULL, NULL, changed, look };
