/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Eviction: a delete that a PodDisruptionBudget may refuse.
 */
#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "lite/condition.h"
#include "lite/eviction.h"
#include "lite/obj.h"
#include "lite/registry.h"
#include "lite/selector.h"
#include "lite/subs.h"
#include "lite/write.h"
#include "json/json.h"

#define RETRY_S 10
#define DISRUPTED_MAX 2000

static bool pod_is_ready(yyjson_val *pod)
{
	yyjson_val *c;
	size_t i, n;

	yyjson_arr_foreach(val_at(pod, "status", "conditions"), i, n,
	                   c) if (str_eq(json_str(json_get(c, "type")),
	                                 "Ready")) return str_eq(json_str(json_get(c, "status")), "True");
	return false;
}

/* No budget counts these. */
static bool is_beyond_budgets(yyjson_val *pod)
{
	const char *phase = str_or(json_str(val_at(pod, "status", "phase")), "");

	return str_eq(phase, "Succeeded") || str_eq(phase, "Failed") || str_eq(phase, "Pending") ||
	       val_at(pod, "metadata", "deletionTimestamp");
}

static bool covers(const struct item *budget, yyjson_val *pod)
{
	_cleanup_doc_ yyjson_doc *doc = reg_read(budget);
	_cleanup_(selector_freep) struct selector *s = NULL;
	yyjson_val *object = val_at(yyjson_doc_get_root(doc), "spec", "selector");

	return object && selector_from_object(object, &s) == 0 &&
	       (!s || selector_matches(s, val_at(pod, "metadata", "labels")));
}

static int find_budget(struct lite *l, const char *ns, yyjson_val *pod, struct item **ret, struct status *st)
{
	size_t n;
	struct item *const *span =
	        db_span(lite_collection(l, kind_builtin("policy", "poddisruptionbudgets")), ns, NULL, &n);

	*ret = NULL;
	for (size_t i = 0; i < n; i++) {
		if (!covers(span[i], pod))
			continue;
		if (*ret)
			return status_internal(st, "This pod has more than one PodDisruptionBudget, which the eviction "
			                           "subresource does not support.");
		*ret = span[i];
	}
	return 0;
}

static int refuse(struct status *st, int retry_s, const char *message)
{
	_cleanup_causes_ struct causes causes = CAUSES_INIT;

	causes_add_raw(&causes, "DisruptionBudget", NULL, message);
	return status_too_many(st, &causes, retry_s,
	                       "Cannot evict pod as it would violate the pod's disruption budget.");
}

/* An unhealthy Pod may go without counting, when the budget says so. */
static bool unhealthy_may_go(yyjson_mut_val *budget, yyjson_val *pod)
{
	int64_t current = obj_int(obj_at(budget, "status", "currentHealthy"), 0);
	int64_t desired = obj_int(obj_at(budget, "status", "desiredHealthy"), 0);

	if (pod_is_ready(pod))
		return false;
	return str_eq(obj_str(obj_at(budget, "spec", "unhealthyPodEvictionPolicy")), "AlwaysAllow") ||
	       (desired > 0 && current >= desired);
}

/* Takes one disruption from the budget, or says why not. */
static int spend(struct lite *l, struct item *item, const char *pod_name, yyjson_val *pod, bool dry_run,
                 struct status *st)
{
	const struct kind *k = kind_builtin("policy", "poddisruptionbudgets");
	_cleanup_mut_doc_ yyjson_mut_doc *doc = reg_doc(k, item);
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *status = obj_make(doc, root, "status");
	int64_t allowed = obj_int(obj_get(status, "disruptionsAllowed"), 0);
	_cleanup_free_ char *text = NULL;
	char now[TIME_TEXT_MAX];

	if (unhealthy_may_go(root, pod))
		return 0;
	if (obj_int(obj_get(status, "observedGeneration"), 0) < obj_int(obj_at(root, "metadata", "generation"), 0)) {
		text = str_printf("The disruption budget %s is still being processed by the server.", item->name);
		return refuse(st, RETRY_S, text);
	}
	if (obj_size(obj_get(status, "disruptedPods")) > DISRUPTED_MAX)
		return status_forbidden(
		        st, "policy", "poddisruptionbudgets", item->name,
		        "DisruptedPods map too big - too many evictions not confirmed by PDB controller");
	if (allowed <= 0) {
		text = str_printf("The disruption budget %s needs %lld healthy pods and has %lld currently", item->name,
		                  (long long)obj_int(obj_get(status, "desiredHealthy"), 0),
		                  (long long)obj_int(obj_get(status, "currentHealthy"), 0));
		return refuse(st, 0, text);
	}
	if (dry_run)
		return 0;
	obj_set_int(doc, status, "disruptionsAllowed", allowed - 1);
	obj_set_str(doc, obj_make(doc, status, "disruptedPods"), pod_name, time_format(lite_now(l), now));
	reg_replace(l, k, item, TAKE_PTR(doc), NULL);
	return 0;
}

int mark_disrupted(struct lite *l, const char *ns, const char *name, const char *manager, const char *phase,
                   const char *reason, const char *message)
{
	const struct kind *k = kind_builtin("", "pods");
	_cleanup_mut_doc_ yyjson_mut_doc *doc = NULL, *was = NULL;
	struct writer by = { .manager = manager, .subresource = "status", .now = lite_now(l) };
	struct item *old = reg_get(l, k, ns, name);

	if (!old)
		return -ENOENT;
	doc = reg_doc(k, old);
	was = obj_doc_of_mut(yyjson_mut_doc_get_root(doc));
	if (!set_condition(doc, "DisruptionTarget", "True", reason, message, by.now))
		return 0;
	if (phase)
		obj_set_str(doc, obj_get(yyjson_mut_doc_get_root(doc), "status"), "phase", phase);
	if (manager)
		managed_update(k, doc, yyjson_mut_doc_get_root(was), &by);
	reg_replace(l, k, old, TAKE_PTR(doc), NULL);
	return 0;
}

static int check_uid(const char *name, yyjson_val *pod, const struct delete_options *o, struct status *st)
{
	const char *uid = json_str(val_at(pod, "metadata", "uid"));

	if (o->uid && !str_eq(o->uid, uid))
		return status_conflict(
		        st, "", "Pod", name,
		        "the UID in the precondition (%s) does not match the UID in record (%s). The object might have "
		        "been deleted and then recreated",
		        o->uid, uid);
	return 0;
}

static int evict(struct call *c, const struct delete_options *o, struct status *st)
{
	const struct kind *k = kind_builtin("", "pods");
	const char *ns = c->route.ns, *name = c->route.name;
	_cleanup_(item_unrefp) struct item *gone_item = NULL;
	_cleanup_doc_ yyjson_doc *pod = NULL;
	struct item *old = NULL, *budget = NULL;
	yyjson_val *root;
	bool gone, alive;
	int r;

	r = reg_find(c->lite, k, ns, name, &old, st);
	if (r < 0)
		return r;
	pod = reg_read(old);
	root = yyjson_doc_get_root(pod);
	alive = !is_beyond_budgets(root);
	r = check_uid(name, root, o, st);
	if (r == 0 && alive)
		r = find_budget(c->lite, ns, root, &budget, st);
	if (r == 0 && budget)
		r = spend(c->lite, budget, name, root, o->dry_run, st);
	if (r < 0)
		return r;
	if (!o->dry_run && !val_at(root, "metadata", "deletionTimestamp"))
		mark_disrupted(c->lite, ns, name, NULL, NULL, "EvictionByEvictionAPI", "Eviction API: evicting");
	return reg_delete(c->lite, k, ns, name, o, &gone_item, &gone, st);
}

int sub_eviction(struct call *c, struct status *st)
{
	_cleanup_mut_doc_ yyjson_mut_doc *body = NULL;
	_cleanup_doc_ yyjson_doc *read = NULL;
	struct delete_options o = DELETE_USUAL;
	const char *name;
	int r;

	r = write_body(c, c->kind, c->sub, FIELDS_IGNORE, &body, st);
	if (r < 0)
		return r;
	read = yyjson_mut_doc_imut_copy(body, NULL);
	name = json_str(val_at(yyjson_doc_get_root(read), "metadata", "name"));
	if (!str_empty(name) && !str_eq(name, c->route.name))
		return status_bad_request(st, "name in URL does not match name in Eviction object");
	r = write_delete_options(json_get(yyjson_doc_get_root(read), "deleteOptions"), &o, st);
	if (str_eq(call_query(c, "dryRun"), "All"))
		o.dry_run = true;
	if (r == 0)
		r = evict(c, &o, st);
	if (r < 0)
		return r;
	status_success(st, 201, NULL);
	call_send_status(c, st);
	return 0;
}
