/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Deployments: one ReplicaSet for each template they ever had; the newest grows as the others shrink, within what the
 * strategy allows.
 */
#include <string.h>

#include "base/str.h"
#include "lite/condition.h"
#include "lite/control/workload.h"
#include "lite/obj.h"
#include "json/json.h"

#define HASH_LABEL "pod-template-hash"
#define REVISION "deployment.kubernetes.io/revision"
#define SETS_MAX 100
#define PROGRESS_S 600

struct set {
	struct item *item;
	yyjson_doc *doc;
	yyjson_val *root;
	int64_t replicas;              /* asked for, as after this look */
	int64_t has, ready, available; /* of its status */
	int64_t revision;
	bool newest;
};

struct rollout {
	struct item *item;
	yyjson_val *root;
	char *ns;
	char hash[HASH_TEXT];
	struct set sets[SETS_MAX];
	size_t n;
	struct set *new; /* NULL: not made yet */
	int64_t replicas, surge, unavailable;
	bool recreate, paused;
};

static const struct kind *kind(void)
{
	return kind_of("apps", "deployments");
}

static const struct kind *set_kind(void)
{
	return kind_of("apps", "replicasets");
}

static void changed(struct controller *c, struct collection *in, const struct event *e)
{
	if (in == c->control->deployments && e->change != CHANGE_DELETED)
		mark_item(c, e->item, 0);
	else if (in == c->control->replicasets)
		mark_controller(c, e, "Deployment");
}

static int64_t revision_of(yyjson_val *root)
{
	const char *text = json_str(val_at(root, "metadata", "annotations", REVISION));

	return text ? strtoll(text, NULL, 10) : 0;
}

static void find_sets(struct controller *c, struct rollout *r)
{
	size_t n;
	struct item *const *span = db_span(c->control->replicasets, r->ns, NULL, &n);

	for (size_t i = 0; i < n && r->n < SETS_MAX; i++) {
		struct set *s = &r->sets[r->n];
		yyjson_doc *doc = reg_read(span[i]);
		yyjson_val *root = yyjson_doc_get_root(doc);

		if (!str_eq(controller_uid(root), item_uid(r->root)) || is_deleting(root)) {
			yyjson_doc_free(doc);
			continue;
		}
		*s = (struct set) { .item = item_ref(span[i]), .doc = doc, .root = root };
		s->replicas = json_int(val_at(root, "spec", "replicas"), 0);
		s->has = json_int(val_at(root, "status", "replicas"), 0);
		s->ready = json_int(val_at(root, "status", "readyReplicas"), 0);
		s->available = json_int(val_at(root, "status", "availableReplicas"), 0);
		s->revision = revision_of(root);
		s->newest = str_eq(json_str(val_at(root, "metadata", "labels", HASH_LABEL)), r->hash);
		if (s->newest)
			r->new = s;
		r->n++;
	}
}

static void rollout_done(struct rollout *r)
{
	for (size_t i = 0; i < r->n; i++) {
		yyjson_doc_free(r->sets[i].doc);
		item_unref(r->sets[i].item);
	}
	free(r->ns);
}

static void read_strategy(struct rollout *r)
{
	yyjson_val *rolling = val_at(r->root, "spec", "strategy", "rollingUpdate");

	r->replicas = json_int(val_at(r->root, "spec", "replicas"), 1);
	r->paused = json_bool(val_at(r->root, "spec", "paused"), false);
	r->recreate = str_eq(json_str(val_at(r->root, "spec", "strategy", "type")), "Recreate");
	if (r->recreate)
		return;
	r->surge = int_or_percent(json_get(rolling, "maxSurge"), 1, r->replicas, true);
	r->unavailable = int_or_percent(json_get(rolling, "maxUnavailable"), 0, r->replicas, false);
	if (r->surge == 0 && r->unavailable == 0)
		r->unavailable = 1;
}

static int64_t sum_asked(const struct rollout *r)
{
	int64_t sum = 0;

	for (size_t i = 0; i < r->n; i++)
		sum += r->sets[i].replicas;
	return sum;
}

static int64_t sum_old(const struct rollout *r)
{
	return sum_asked(r) - (r->new ? r->new->replicas : 0);
}

/* ---- changes ---- */

static void scale(struct controller *c, struct rollout *r, struct set *s, int64_t replicas)
{
	yyjson_mut_doc *doc;
	bool up = replicas > s->replicas;
	int64_t was = s->replicas;

	if (replicas == was)
		return;
	doc = reg_doc(set_kind(), reg_get(c->lite, set_kind(), r->ns, s->item->name));
	obj_set_int(doc, obj_make(doc, yyjson_mut_doc_get_root(doc), "spec"), "replicas", replicas);
	if (write_object(c, set_kind(), s->item, doc) < 0)
		return;
	s->replicas = replicas;
	tell(c, kind(), r->item, "Normal", "ScalingReplicaSet", "Scaled %s replica set %s from %lld to %lld",
	     up ? "up" : "down", s->item->name, (long long)was, (long long)replicas);
}

static int64_t wanted_of_new(const struct rollout *r, int64_t has)
{
	int64_t room;

	if (r->recreate || sum_old(r) == 0 || has > r->replicas)
		return r->replicas;
	room = r->replicas + r->surge - sum_asked(r);
	return has + MAX_OF(MIN_OF(room, r->replicas - has), 0);
}

static int64_t top_revision(const struct rollout *r)
{
	int64_t top = 0;

	for (size_t i = 0; i < r->n; i++)
		top = MAX_OF(top, r->sets[i].revision);
	return top;
}

static void set_revision(struct controller *c, struct rollout *r, int64_t revision)
{
	yyjson_mut_doc *doc;
	struct item *i = reg_get(c->lite, kind(), r->ns, r->item->name);
	char text[24];

	if (!i || revision_of(r->root) == revision)
		return;
	snprintf(text, sizeof(text), "%lld", (long long)revision);
	doc = reg_doc(kind(), i);
	set_annotation(doc, REVISION, text);
	write_object(c, kind(), i, doc);
}

static void make_new(struct controller *c, struct rollout *r)
{
	_cleanup_free_ char *name = str_printf("%s-%s", r->item->name, r->hash);
	_cleanup_(item_unrefp) struct item *made = NULL;
	yyjson_mut_doc *doc = obj_doc();
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc), *meta, *spec, *labels;
	yyjson_val *from = json_get(r->root, "spec");
	int64_t replicas = wanted_of_new(r, 0);
	char revision[24];

	obj_set_str(doc, root, "kind", "ReplicaSet");
	obj_set_str(doc, root, "apiVersion", "apps/v1");
	meta = obj_make(doc, root, "metadata");
	obj_set_str(doc, meta, "name", name);
	obj_set_str(doc, meta, "namespace", r->ns);
	snprintf(revision, sizeof(revision), "%lld", (long long)top_revision(r) + 1);
	set_annotation(doc, REVISION, revision);
	set_owner(doc, kind(), r->root);
	labels = yyjson_val_mut_copy(doc, val_at(from, "template", "metadata", "labels"));
	obj_set(doc, meta, "labels", labels ? labels : yyjson_mut_obj(doc));
	obj_set_str(doc, obj_get(meta, "labels"), HASH_LABEL, r->hash);
	spec = obj_make(doc, root, "spec");
	obj_set_int(doc, spec, "replicas", r->recreate && sum_old(r) > 0 ? 0 : replicas);
	if (json_get(from, "minReadySeconds"))
		obj_set_int(doc, spec, "minReadySeconds", json_int(json_get(from, "minReadySeconds"), 0));
	obj_set(doc, spec, "selector", yyjson_val_mut_copy(doc, json_get(from, "selector")));
	obj_set_str(doc, obj_make(doc, obj_get(spec, "selector"), "matchLabels"), HASH_LABEL, r->hash);
	obj_set(doc, spec, "template", yyjson_val_mut_copy(doc, json_get(from, "template")));
	obj_set_str(doc, obj_make(doc, obj_make(doc, obj_get(spec, "template"), "metadata"), "labels"), HASH_LABEL,
	            r->hash);
	if (create_object(c, set_kind(), r->ns, doc, &made) < 0)
		return;
	if (replicas > 0)
		tell(c, kind(), r->item, "Normal", "ScalingReplicaSet", "Scaled up replica set %s from 0 to %lld", name,
		     (long long)replicas);
	set_revision(c, r, top_revision(r) + 1);
}

/* A template that was there before is the newest again. */
static void renew_revision(struct controller *c, struct rollout *r)
{
	int64_t top = top_revision(r);
	yyjson_mut_doc *doc;
	char text[24];

	if (r->new->revision < top) {
		snprintf(text, sizeof(text), "%lld", (long long)top + 1);
		doc = reg_doc(set_kind(), r->new->item);
		set_annotation(doc, REVISION, text);
		if (write_object(c, set_kind(), r->new->item, doc) == 0)
			r->new->revision = top + 1;
	}
	set_revision(c, r, r->new->revision);
}

/* ---- shrinking the old ones ---- */

/* Those that do not work cost nothing. */
static int64_t remove_unhealthy(struct controller *c, struct rollout *r, int64_t most)
{
	int64_t removed = 0;

	for (size_t i = 0; i < r->n && removed < most; i++) {
		struct set *s = &r->sets[i];
		int64_t n = MIN_OF(most - removed, s->replicas - s->available);

		if (s->newest || s->replicas == 0 || n <= 0)
			continue;
		scale(c, r, s, s->replicas - n);
		removed += n;
	}
	return removed;
}

static void shrink_old(struct controller *c, struct rollout *r)
{
	int64_t least = r->replicas - r->unavailable, available = 0, most, unready_new;

	unready_new = r->new ? r->new->replicas - r->new->available : 0;
	most = sum_asked(r) - least - unready_new;
	if (most <= 0 || sum_old(r) == 0)
		return;
	remove_unhealthy(c, r, most);
	for (size_t i = 0; i < r->n; i++)
		available += MIN_OF(r->sets[i].available, r->sets[i].replicas);
	most = available - least;
	for (size_t i = 0; i < r->n && most > 0; i++) {
		struct set *s = &r->sets[i];
		int64_t n = MIN_OF(most, s->replicas);

		if (s->newest || n <= 0)
			continue;
		scale(c, r, s, s->replicas - n);
		most -= n;
	}
}

/* Recreate: first all of the old go, then the new come. */
static bool old_pods_left(struct controller *c, struct rollout *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (!r->sets[i].newest)
			VPODS_EACH(p, view_pods_of(c->control->view, item_uid(r->sets[i].root)))
	if (!pod_is_over(p->pod))
		return true;
	return false;
}

static void recreate(struct controller *c, struct rollout *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (!r->sets[i].newest)
			scale(c, r, &r->sets[i], 0);
	if (old_pods_left(c, r))
		return;
	if (!r->new)
		make_new(c, r);
	else
		scale(c, r, r->new, r->replicas);
}

static void roll(struct controller *c, struct rollout *r)
{
	if (!r->new) {
		make_new(c, r);
		return;
	}
	renew_revision(c, r);
	scale(c, r, r->new, wanted_of_new(r, r->new->replicas));
	shrink_old(c, r);
}

/* Old sets without Pods are kept for going back, but not without end. */
static void drop_history(struct controller *c, struct rollout *r)
{
	int64_t keep = json_int(val_at(r->root, "spec", "revisionHistoryLimit"), 10);

	for (;;) {
		struct set *oldest = NULL;
		int64_t n = 0;

		for (size_t i = 0; i < r->n; i++) {
			struct set *s = &r->sets[i];

			if (s->newest || s->replicas > 0 || s->has > 0 || !s->item)
				continue;
			n++;
			if (!oldest || s->revision < oldest->revision)
				oldest = s;
		}
		if (n <= keep || !oldest)
			return;
		delete_object(c, set_kind(), r->ns, oldest->item->name, &DELETE_USUAL);
		oldest->replicas = 1; /* not again */
	}
}

/* ---- status ---- */

static bool is_complete(const struct rollout *r, int64_t total, int64_t available)
{
	return r->new && r->new->has == r->replicas &&total == r->replicas &&available == r->replicas;
}

static void set_progress(struct controller *c, struct rollout *r, yyjson_mut_doc *doc, bool complete)
{
	const char *name = r->new ? r->new->item->name : "?";
	_cleanup_free_ char *done = str_printf("ReplicaSet \"%s\" has successfully progressed.", name);
	_cleanup_free_ char *going = str_printf("ReplicaSet \"%s\" is progressing.", name);
	_cleanup_free_ char *late = str_printf("ReplicaSet \"%s\" has timed out progressing.", name);
	int64_t limit = json_int(val_at(r->root, "spec", "progressDeadlineSeconds"), PROGRESS_S);
	usec_t now = lite_now(c->lite), since = 0;
	yyjson_mut_val *had = NULL;
	char text[TIME_TEXT_MAX];

	ARR_EACH (v, obj_at(yyjson_mut_doc_get_root(doc), "status", "conditions"))
		if (str_eq(obj_str(obj_get(v, "type")), "Progressing"))
			had = v;
	if (had && obj_str(obj_get(had, "lastUpdateTime")))
		time_parse_rfc3339(obj_str(obj_get(had, "lastUpdateTime")),
		                   strlen(obj_str(obj_get(had, "lastUpdateTime"))), &since);
	if (complete)
		set_condition(doc, "Progressing", "True", "NewReplicaSetAvailable", done, now);
	else if (had && since > 0 && now > since + limit * USEC_SEC && !r->paused)
		set_condition(doc, "Progressing", "False", "ProgressDeadlineExceeded", late, now);
	else
		set_condition(doc, "Progressing", "True", "ReplicaSetUpdated", going, now);
	ARR_EACH (v, obj_at(yyjson_mut_doc_get_root(doc), "status", "conditions"))
		if (!obj_get(v, "lastUpdateTime"))
			obj_set_str(doc, v, "lastUpdateTime", time_format(now, text));
}

/* The last time something moved: what the deadline counts from. */
static void touch_progress(struct controller *c, yyjson_mut_doc *doc)
{
	char text[TIME_TEXT_MAX];

	ARR_EACH (v, obj_at(yyjson_mut_doc_get_root(doc), "status", "conditions"))
		if (str_eq(obj_str(obj_get(v, "type")), "Progressing"))
			obj_set_str(doc, v, "lastUpdateTime", time_format(lite_now(c->lite), text));
}

static void set_or_leave_out(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *key, int64_t value)
{
	if (value != 0)
		obj_set_int(doc, obj, key, value);
	else
		obj_drop(obj, key);
}

static void write_rollout(struct controller *c, struct rollout *r)
{
	struct item *i = reg_get(c->lite, kind(), r->ns, r->item->name);
	int64_t total = 0, ready = 0, available = 0, least = r->replicas - r->unavailable;
	yyjson_mut_doc *doc;
	yyjson_mut_val *root, *status;
	bool moved;

	if (!i)
		return;
	for (size_t k = 0; k < r->n; k++) {
		total += r->sets[k].has;
		ready += r->sets[k].ready;
		available += r->sets[k].available;
	}
	doc = reg_doc(kind(), i);
	root = yyjson_mut_doc_get_root(doc);
	status = obj_make(doc, root, "status");
	moved = obj_int(obj_get(status, "updatedReplicas"), 0) != (r->new ? r->new->has : 0) ||
	        obj_int(obj_get(status, "availableReplicas"), 0) != available ||
	        obj_int(obj_get(status, "replicas"), 0) != total;
	obj_set_int(doc, status, "observedGeneration", obj_int(obj_at(root, "metadata", "generation"), 0));
	set_or_leave_out(doc, status, "replicas", total);
	set_or_leave_out(doc, status, "updatedReplicas", r->new ? r->new->has : 0);
	set_or_leave_out(doc, status, "readyReplicas", ready);
	set_or_leave_out(doc, status, "availableReplicas", available);
	set_or_leave_out(doc, status, "unavailableReplicas", MAX_OF(r->replicas - available, 0));
	if (available >= least)
		set_condition(doc, "Available", "True", "MinimumReplicasAvailable",
		              "Deployment has minimum availability.", lite_now(c->lite));
	else
		set_condition(doc, "Available", "False", "MinimumReplicasUnavailable",
		              "Deployment does not have minimum availability.", lite_now(c->lite));
	set_progress(c, r, doc, is_complete(r, total, available));
	if (moved)
		touch_progress(c, doc);
	write_status(c, kind(), i, doc);
}

static void look(struct controller *c, const char *key)
{
	_cleanup_(item_unrefp) struct item *i = item_ref(get_item(c->control->deployments, key));
	_cleanup_doc_ yyjson_doc *doc = i ? reg_read(i) : NULL;
	_cleanup_free_ struct rollout *r = NULL;

	if (!doc || is_deleting(yyjson_doc_get_root(doc)))
		return;
	r = NEW(struct rollout);
	r->item = i;
	r->root = yyjson_doc_get_root(doc);
	r->ns = mem_strndup(i->key, i->ns_len);
	hash_text(val_at(r->root, "spec", "template"), r->hash);
	read_strategy(r);
	find_sets(c, r);
	if (r->paused) {
		if (r->new && sum_old(r) == 0)
			scale(c, r, r->new, r->replicas);
	} else if (r->recreate) {
		recreate(c, r);
	} else {
		roll(c, r);
	}
	drop_history(c, r);
	write_rollout(c, r);
	rollout_done(r);
}

const struct controller_ops deployment_ops = { "deployment-controller", NULL, NULL, changed, look };
