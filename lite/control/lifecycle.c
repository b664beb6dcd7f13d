/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Nodes: one whose lease is no longer renewed is not known to be alive; what its conditions say becomes taints.
 */
#include <string.h>

#include "base/str.h"
#include "lite/condition.h"
#include "lite/control/control.h"
#include "lite/obj.h"
#include "json/json.h"

#define LEASES "kube-node-lease"

/* What was heard of a node, and when by our own clock: its clock does not count. */
struct heard {
	char *name;
	char *renewed;   /* the lease's renewTime */
	char *heartbeat; /* the Ready condition's lastHeartbeatTime */
	usec_t at;       /* monotonic */
};

static void start(struct controller *c)
{
	c->state = NEW(struct map);
}

static void heard_free(struct heard *h)
{
	if (!h)
		return;
	free(h->name);
	free(h->renewed);
	free(h->heartbeat);
	free(h);
}

static void stop(struct controller *c)
{
	struct map *all = c->state;
	struct heard *h;
	size_t i = 0;

	while ((h = map_next(all, &i)))
		heard_free(h);
	map_done(all);
	free(all);
}

static struct heard *heard_of(struct controller *c, const char *node)
{
	struct map *all = c->state;
	struct heard *h = map_get(all, node);

	if (h)
		return h;
	h = NEW(struct heard);
	h->name = mem_strdup(node);
	h->at = loop_now(c->lite->loop);
	map_put(all, h->name, h);
	return h;
}

/* Something new was said. */
static void hear(struct controller *c, struct heard *h, char **slot, const char *text)
{
	if (!text || str_eq(*slot, text))
		return;
	free(*slot);
	*slot = mem_strdup(text);
	h->at = loop_now(c->lite->loop);
}

static yyjson_val *condition_of(yyjson_val *node, const char *type)
{
	yyjson_val *v;
	size_t i, n;

	yyjson_arr_foreach(val_at(node, "status", "conditions"), i, n,
	                   v) if (str_eq(json_str(json_get(v, "type")), type)) return v;
	return NULL;
}

static void changed(struct controller *c, struct collection *in, const struct event *e)
{
	_cleanup_doc_ yyjson_doc *doc = NULL;
	struct heard *h;

	if (in == c->control->nodes && e->change == CHANGE_DELETED) {
		heard_free(map_remove(c->state, e->item->name));
	} else if (in == c->control->nodes) {
		doc = reg_read(e->item);
		h = heard_of(c, e->item->name);
		hear(c, h, &h->heartbeat,
		     json_str(json_get(condition_of(yyjson_doc_get_root(doc), "Ready"), "lastHeartbeatTime")));
		mark_item(c, e->item, 0);
	} else if (in == c->control->leases && item_in_ns(e->item, LEASES) && e->change != CHANGE_DELETED) {
		doc = reg_read(e->item);
		h = map_get(c->state, e->item->name);
		if (h)
			hear(c, h, &h->renewed, json_str(val_at(yyjson_doc_get_root(doc), "spec", "renewTime")));
	}
}

/* ---- silence ---- */

static void set_unknown(struct controller *c, const struct item *i)
{
	static const char *const types[] = { "Ready", "MemoryPressure", "DiskPressure", "PIDPressure" };
	const struct kind *k = kind_of("", "nodes");
	yyjson_mut_doc *doc = reg_doc(k, i);
	_cleanup_doc_ yyjson_doc *read = reg_read(i);

	for (size_t n = 0; n < ARRAY_LEN(types); n++) {
		yyjson_val *had = condition_of(yyjson_doc_get_root(read), types[n]);

		if (had || n == 0)
			set_condition(doc, types[n], "Unknown", had ? "NodeStatusUnknown" : "NodeStatusNeverUpdated",
			              had ? "Kubelet stopped posting node status."
			                  : "Kubelet never posted node status.",
			              lite_now(c->lite));
	}
	if (write_status(c, k, i, doc) == 0)
		tell(c, k, i, "Normal", "NodeNotReady", "Node %s status is now: NodeNotReady", i->name);
}

/* Its Pods are not ready either, as far as anyone knows. */
static void mark_pods_unready(struct controller *c, const char *node)
{
	const struct kind *k = kind_of("", "pods");
	struct vnode *n = view_get_node(c->control->view, node);

	if (n)
		LIST_EACH (l, &n->pods) {
			struct vpod *p = LIST_ITEM(l, struct vpod, on_node);
			struct item *i = pod_is_ready(p->pod) ? get_item(c->control->pods, p->key) : NULL;
			yyjson_mut_doc *doc = i ? reg_doc(k, i) : NULL;

			if (doc && set_condition(doc, "Ready", "False", NULL, NULL, lite_now(c->lite)))
				write_status(c, k, i, doc);
			else
				yyjson_mut_doc_free(doc);
		}
}

/* Returns whether the node is silent; else when to look again. */
static bool is_silent(struct controller *c, const char *node, usec_t *ret_after)
{
	usec_t grace = c->control->options.node_grace, age = loop_now(c->lite->loop) - heard_of(c, node)->at;

	*ret_after = USEC_NEVER;
	if (grace == 0 || age >= grace)
		return grace > 0;
	*ret_after = grace - age;
	return false;
}

/* ---- taints ---- */

static const struct {
	const char *key, *effect;
	const char *condition, *status; /* NULL: spec.unschedulable */
	bool timed;
} rules[] = {
	{ "node.kubernetes.io/not-ready", "NoSchedule", "Ready", "False", false },
	{ "node.kubernetes.io/not-ready", "NoExecute", "Ready", "False", true },
	{ "node.kubernetes.io/unreachable", "NoSchedule", "Ready", "Unknown", false },
	{ "node.kubernetes.io/unreachable", "NoExecute", "Ready", "Unknown", true },
	{ "node.kubernetes.io/memory-pressure", "NoSchedule", "MemoryPressure", "True", false },
	{ "node.kubernetes.io/disk-pressure", "NoSchedule", "DiskPressure", "True", false },
	{ "node.kubernetes.io/pid-pressure", "NoSchedule", "PIDPressure", "True", false },
	{ "node.kubernetes.io/network-unavailable", "NoSchedule", "NetworkUnavailable", "True", false },
	{ "node.kubernetes.io/unschedulable", "NoSchedule", NULL, NULL, true },
};

static bool rule_holds(size_t rule, yyjson_val *node)
{
	yyjson_val *c;

	if (!rules[rule].condition)
		return json_bool(val_at(node, "spec", "unschedulable"), false);
	c = condition_of(node, rules[rule].condition);
	/* Not one word of it yet: as new nodes are tainted when they come. */
	if (!c && str_eq(rules[rule].key, "node.kubernetes.io/not-ready"))
		return str_eq(rules[rule].effect, "NoSchedule");
	return str_eq(json_str(json_get(c, "status")), rules[rule].status);
}

static yyjson_mut_val *find_taint(yyjson_mut_val *list, const char *key, const char *effect)
{
	ARR_EACH (t, list)
		if (str_eq(obj_str(obj_get(t, "key")), key) && str_eq(obj_str(obj_get(t, "effect")), effect))
			return t;
	return NULL;
}

static void add_taint(struct controller *c, yyjson_mut_doc *doc, yyjson_mut_val *list, size_t rule)
{
	yyjson_mut_val *t = yyjson_mut_arr_add_obj(doc, list);
	char now[TIME_TEXT_MAX];

	obj_set_str(doc, t, "key", rules[rule].key);
	obj_set_str(doc, t, "effect", rules[rule].effect);
	if (rules[rule].timed)
		obj_set_str(doc, t, "timeAdded", time_format(lite_now(c->lite), now));
}

static void remove_taint(yyjson_mut_val *list, yyjson_mut_val *taint)
{
	size_t n = 0;

	ARR_EACH (t, list) {
		if (t == taint)
			break;
		n++;
	}
	yyjson_mut_arr_remove(list, n);
}

static void write_taints(struct controller *c, const struct item *i)
{
	const struct kind *k = kind_of("", "nodes");
	_cleanup_doc_ yyjson_doc *read = reg_read(i);
	yyjson_mut_doc *doc = reg_doc(k, i);
	yyjson_mut_val *spec = obj_make(doc, yyjson_mut_doc_get_root(doc), "spec"),
	               *list = obj_make_arr(doc, spec, "taints");
	bool differs = false;

	for (size_t n = 0; n < ARRAY_LEN(rules); n++) {
		yyjson_mut_val *had = find_taint(list, rules[n].key, rules[n].effect);
		bool want = rule_holds(n, yyjson_doc_get_root(read));

		if (want && !had)
			add_taint(c, doc, list, n);
		else if (!want && had)
			remove_taint(list, had);
		differs |= want != !!had;
	}
	if (obj_size(list) == 0)
		obj_drop(spec, "taints");
	if (differs)
		write_object(c, k, i, doc);
	else
		yyjson_mut_doc_free(doc);
}

static void look(struct controller *c, const char *key)
{
	struct item *i = get_item(c->control->nodes, key);
	_cleanup_doc_ yyjson_doc *doc = i ? reg_read(i) : NULL;
	usec_t after;

	if (!doc)
		return;
	if (is_silent(c, key, &after) &&
	    !str_eq(json_str(json_get(condition_of(yyjson_doc_get_root(doc), "Ready"), "status")), "Unknown")) {
		set_unknown(c, i);
		mark_pods_unready(c, key);
		return; /* the change of its status comes back here */
	}
	if (after != USEC_NEVER)
		mark(c, key, after);
	write_taints(c, i);
}

const struct controller_ops lifecycle_ops = { "node-controller", start, stop, changed, look };
