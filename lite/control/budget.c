/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * PodDisruptionBudgets: how many of their Pods are healthy, and how many may be lost.
 */
#include <string.h>

#include "base/str.h"
#include "lite/condition.h"
#include "lite/control/workload.h"
#include "lite/obj.h"
#include "lite/selector.h"
#include "json/json.h"

#define DISRUPTION_LIFE (2 * USEC_MINUTE) /* an eviction that was granted and did not happen counts for this long */

static const struct kind *kind(void)
{
	return kind_of("policy", "poddisruptionbudgets");
}

static void mark_namespace(struct controller *c, const struct item *pod)
{
	_cleanup_free_ char *ns = mem_strndup(pod->key, pod->ns_len);
	size_t n;
	struct item *const *span = db_span(c->control->budgets, ns, NULL, &n);

	for (size_t i = 0; i < n; i++)
		mark_item(c, span[i], 0);
}

static void changed(struct controller *c, struct collection *in, const struct event *e)
{
	if (in == c->control->budgets && e->change != CHANGE_DELETED)
		mark_item(c, e->item, 0);
	else if (in == c->control->pods && c->control->budgets->n > 0)
		mark_namespace(c, e->item);
}

struct tally {
	int64_t pods, healthy, expected;
	usec_t next;
};

/* How many replicas the controllers of these Pods are for. */
static int64_t replicas_of(struct controller *c, const char *ns, const struct pod *p)
{
	static const char *const kinds[][3] = { { "ReplicaSet", "apps", "replicasets" },
		                                { "StatefulSet", "apps", "statefulsets" } };
	const struct owner *o = meta_controller(&p->meta);

	for (size_t i = 0; o && i < ARRAY_LEN(kinds); i++) {
		struct item *item = str_eq(o->kind, kinds[i][0])
		                            ? reg_get(c->lite, kind_of(kinds[i][1], kinds[i][2]), ns, o->name)
		                            : NULL;
		_cleanup_doc_ yyjson_doc *doc = item ? reg_read(item) : NULL;

		if (doc)
			return json_int(val_at(yyjson_doc_get_root(doc), "spec", "replicas"), 1);
	}
	return 1;
}

static bool was_counted(char **seen, size_t n, const char *uid)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(seen[i], uid))
			return true;
	return false;
}

/* A Pod whose eviction was granted no longer counts as healthy, for a while. */
static bool is_disrupted(struct controller *c, yyjson_val *root, const char *pod, usec_t *next)
{
	const char *text = json_str(json_get(val_at(root, "status", "disruptedPods"), pod));
	usec_t at, now = lite_now(c->lite);

	if (!text || time_parse_rfc3339(text, strlen(text), &at) < 0 || now >= at + DISRUPTION_LIFE)
		return false;
	*next = MIN_OF(*next, at + DISRUPTION_LIFE);
	return true;
}

static void tally(struct controller *c, const char *ns, yyjson_val *root, struct tally *t)
{
	_cleanup_(selector_freep) struct selector *s = NULL;
	yyjson_val *selector = val_at(root, "spec", "selector");
	size_t n, n_seen = 0;
	struct item *const *span = db_span(c->control->pods, ns, NULL, &n);
	_cleanup_free_ char **seen = mem_alloc_n(n, sizeof(char *));

	*t = (struct tally) { .next = USEC_NEVER };
	if (!selector || selector_from_object(selector, &s) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		struct vpod *p = view_get_pod(c->control->view, span[i]->key);
		_cleanup_doc_ yyjson_doc *doc = NULL;
		const struct owner *o;

		if (!p || pod_is_over(p->pod))
			continue;
		doc = reg_read(span[i]);
		if (!selector_matches_labels(s, yyjson_doc_get_root(doc)))
			continue;
		t->pods++;
		o = meta_controller(&p->pod->meta);
		if (!o) {
			t->expected++;
		} else if (!was_counted(seen, n_seen, o->uid)) {
			seen[n_seen++] = (char *)o->uid;
			t->expected += replicas_of(c, ns, p->pod);
		}
		t->healthy += pod_is_ready(p->pod) && p->pod->meta.deletion == 0 &&
		              !is_disrupted(c, root, p->pod->meta.name, &t->next);
	}
}

/* Evictions that happened, or will not any more, are forgotten. */
static void tidy_disrupted(struct controller *c, yyjson_mut_doc *doc, const char *ns, yyjson_val *root)
{
	yyjson_mut_val *status = obj_get(yyjson_mut_doc_get_root(doc), "status"), *kept = yyjson_mut_obj(doc);
	usec_t ignored = USEC_NEVER;

	OBJ_EACH (k, v, obj_get(status, "disruptedPods")) {
		const char *name = yyjson_mut_get_str(k);
		_cleanup_free_ char *key = str_printf("%s/%s", ns, name);
		struct vpod *p = view_get_pod(c->control->view, key);

		if (p && p->pod->meta.deletion == 0 && is_disrupted(c, root, name, &ignored))
			obj_set_copy(doc, kept, name, v);
	}
	if (obj_size(kept) > 0)
		obj_set(doc, status, "disruptedPods", kept);
	else
		obj_drop(status, "disruptedPods");
}

static void look(struct controller *c, const char *key)
{
	_cleanup_(item_unrefp) struct item *i = item_ref(get_item(c->control->budgets, key));
	_cleanup_doc_ yyjson_doc *read = i ? reg_read(i) : NULL;
	_cleanup_free_ char *ns = i ? mem_strndup(i->key, i->ns_len) : NULL;
	yyjson_val *root = yyjson_doc_get_root(read), *least, *most;
	yyjson_mut_val *status;
	yyjson_mut_doc *doc;
	int64_t desired, expected, allowed;
	struct tally t;

	if (!read)
		return;
	least = val_at(root, "spec", "minAvailable");
	most = val_at(root, "spec", "maxUnavailable");
	tally(c, ns, root, &t);
	expected = most || json_str(least) ? t.expected : t.pods;
	if (most)
		desired = MAX_OF(expected - int_or_percent(most, 0, expected, true), 0);
	else
		desired = int_or_percent(least, 1, expected, true);
	allowed = expected > 0 ? MAX_OF(t.healthy - desired, 0) : 0;
	doc = reg_doc(kind(), i);
	status = obj_make(doc, yyjson_mut_doc_get_root(doc), "status");
	tidy_disrupted(c, doc, ns, root);
	obj_set_int(doc, status, "observedGeneration", json_int(val_at(root, "metadata", "generation"), 0));
	obj_set_int(doc, status, "disruptionsAllowed", allowed);
	obj_set_int(doc, status, "currentHealthy", t.healthy);
	obj_set_int(doc, status, "desiredHealthy", desired);
	obj_set_int(doc, status, "expectedPods", expected);
	set_condition(doc, "DisruptionAllowed", allowed > 0 ? "True" : "False",
	              allowed > 0 ? "SufficientPods" : "InsufficientPods", "", lite_now(c->lite));
	write_status(c, kind(), i, doc);
	if (t.next != USEC_NEVER)
		mark(c, key, t.next - lite_now(c->lite));
}

const struct controller_ops budget_ops = { "disruption-controller", NULL, NULL, changed, look };
