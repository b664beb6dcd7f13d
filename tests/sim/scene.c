/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/sim/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "json/patch.h"

#define OURS "sunk.coreweave.com/"
#define SCENE_OBJECTS 16
#define SCENE_WORDS 16
#define SCENE_LIST 8
#define NOBODY "00000000-0000-4000-8000-000000000000"

struct object {
	char name[32];
	unsigned number; /* of those that had this name */
	char uid[64], first_uid[64], first_version[32];
	bool gone;
	char now[PLAY_LINE];
};

struct scene {
	const struct scene_stage *stage;
	struct store *pods, *nodes;
	struct object objects[SCENE_OBJECTS];
	size_t n_objects;
	struct scene_result *out;
	/* the request under way */
	bool answered;
	enum kube_outcome outcome;
	char version[32];
};

struct words { /* of a line */
	char text[PLAY_LINE];
	char *word[SCENE_WORDS];
	size_t n;
};

static bool is_node(const char *name)
{
	return name[0] == 'k';
}

/* ---- what is seen ---- */

static void note(struct scene *s, const char *who, const char *says)
{
	struct record *r = &s->out->seen;

	if (r->n < PLAY_LINES)
		snprintf(r->lines[r->n++], PLAY_LINE, "%.60s %.*s", who, PLAY_LINE - 70, says);
}

static const char *short_key(const char *key)
{
	return str_starts(key, OURS) ? key + strlen(OURS) : key;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* " name=a,b,c", sorted: lists are not in the same order everywhere. */
static void add_list(struct buf *b, const char *name, char items[][PLAY_LINE / 4], size_t n)
{
	if (!n)
		return;
	qsort(items, n, sizeof(items[0]), by_text);
	for (size_t i = 0; i < n; i++)
		buf_printf(b, "%s%s%s", i ? "," : " ", i ? "" : name, items[i]);
}

static void add_pairs(struct buf *b, const char *name, const struct pair *pairs, uint32_t n)
{
	char items[SCENE_LIST][PLAY_LINE / 4];
	size_t k = 0;

	for (uint32_t i = 0; i < n && k < SCENE_LIST; i++)
		if (str_starts(pairs[i].key, OURS))
			snprintf(items[k++], sizeof(items[0]), "%s:%s", short_key(pairs[i].key), pairs[i].value);
	add_list(b, name, items, k);
}

static bool condition_shown(const char *type)
{
	static const char *const hidden[] = { "Ready",       "MemoryPressure", "DiskPressure",
		                              "PIDPressure", "Initialized",    "NetworkUnavailable" };

	for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
		if (str_eq(type, hidden[i]))
			return false;
	return true;
}

static void add_conditions(struct buf *b, const struct condition *c, uint32_t n)
{
	static const char *const statuses[] = { "Unknown", "True", "False" };
	char items[SCENE_LIST][PLAY_LINE / 4];
	size_t k = 0;

	for (uint32_t i = 0; i < n && k < SCENE_LIST; i++)
		if (condition_shown(c[i].type))
			snprintf(items[k++], sizeof(items[0]), "%s:%s%s%s", c[i].type, statuses[c[i].status],
			         str_empty(c[i].reason) ? "" : ":", str_or(c[i].reason, ""));
	add_list(b, "conditions=", items, k);
}

static const char *const effects[] = { "", "NoSchedule", "PreferNoSchedule", "NoExecute" };

static void add_tolerations(struct buf *b, const struct pod *p)
{
	char items[SCENE_LIST][PLAY_LINE / 4];
	size_t k = 0;

	for (uint32_t i = 0; i < p->n_tolerations && k < SCENE_LIST; i++) {
		const struct toleration *t = &p->tolerations[i];
		char seconds[32] = "";

		if (!str_starts(str_or(t->key, ""), OURS))
			continue;
		if (t->has_seconds)
			snprintf(seconds, sizeof(seconds), ":%lld", (long long)t->seconds);
		snprintf(items[k++], sizeof(items[0]), "%s:%s%s", short_key(t->key), effects[t->effect], seconds);
	}
	add_list(b, "tolerates=", items, k);
}

static void add_texts(struct buf *b, const char *name, const char *const *texts, uint32_t n)
{
	char items[SCENE_LIST][PLAY_LINE / 4];
	size_t k = 0;

	for (uint32_t i = 0; i < n && k < SCENE_LIST; i++)
		snprintf(items[k++], sizeof(items[0]), "%s", short_key(texts[i]));
	add_list(b, name, items, k);
}

static void describe_pod(struct buf *b, const struct pod *p)
{
	static const char *const phases[] = { "Unknown", "Pending", "Running", "Succeeded", "Failed" };

	bool over = p->phase > POD_RUNNING, told = over && p->meta.deletion;

	buf_printf(b, "%s node=%s", told ? "ended" : phases[p->phase], str_empty(p->node_name) ? "-" : p->node_name);
	if (!str_empty(p->reason))
		buf_printf(b, " reason=%s", p->reason);
	if (over && !told && p->n_statuses && p->statuses[0].terminated)
		buf_printf(b, " exit=%d", p->statuses[0].exit_code);
	if (p->meta.deletion)
		buf_printf(b, " deleted=%llds", (long long)p->meta.deletion_grace_s);
	add_texts(b, "finalizers=", p->meta.finalizers, p->meta.n_finalizers);
	add_texts(b, "gates=", p->gates, p->n_gates);
	if (p->active_deadline_s)
		buf_printf(b, " deadline=%lld", (long long)p->active_deadline_s);
	if (p->meta.n_owners)
		buf_printf(b, " owner=%s", p->meta.owners[0].name);
	add_pairs(b, "labels=", p->meta.labels, p->meta.n_labels);
	add_pairs(b, "annotations=", p->meta.annotations, p->meta.n_annotations);
	add_tolerations(b, p);
	add_conditions(b, p->conditions, p->n_conditions);
}

static void describe_node(struct buf *b, const struct knode *n)
{
	char items[SCENE_LIST][PLAY_LINE / 4];
	size_t k = 0;

	buf_add_str(b, n->unschedulable ? "unschedulable" : "schedulable");
	for (uint32_t i = 0; i < n->n_taints && k < SCENE_LIST; i++)
		snprintf(items[k++], sizeof(items[0]), "%s%s%s:%s", short_key(n->taints[i].key),
		         str_empty(n->taints[i].value) ? "" : "=", str_or(n->taints[i].value, ""),
		         effects[n->taints[i].effect]);
	add_list(b, "taints=", items, k);
	add_pairs(b, "labels=", n->meta.labels, n->meta.n_labels);
	add_pairs(b, "annotations=", n->meta.annotations, n->meta.n_annotations);
	add_conditions(b, n->conditions, n->n_conditions);
}

static struct object *object_named(struct scene *s, const char *name, bool make)
{
	for (size_t i = 0; i < s->n_objects; i++)
		if (str_eq(s->objects[i].name, name))
			return &s->objects[i];
	if (!make || s->n_objects == SCENE_OBJECTS)
		return NULL;
	str_copy(s->objects[s->n_objects].name, sizeof(s->objects[0].name), name);
	s->objects[s->n_objects].gone = true;
	return &s->objects[s->n_objects++];
}

static void object_says(struct scene *s, struct object *o, const char *says)
{
	char who[64];

	if (str_eq(o->now, says))
		return;
	str_copy(o->now, sizeof(o->now), says);
	if (is_node(o->name))
		snprintf(who, sizeof(who), "%s", o->name);
	else
		snprintf(who, sizeof(who), "%s#%u", o->name, o->number);
	note(s, who, says);
}

static void object_gone(struct scene *s, struct object *o)
{
	if (!o || o->gone)
		return;
	o->gone = true;
	object_says(s, o, "gone");
}

static void seen(void *arg, enum store_event event, const void *was, const void *is)
{
	struct scene *s = arg;
	const struct meta *m = is ? is : was;
	_cleanup_buf_ struct buf b = BUF(PLAY_LINE);
	struct object *o;

	(void)event;
	if (m->ns && !str_eq(m->ns, s->stage->ns))
		return;
	o = object_named(s, m->name, true);
	if (!o)
		return;
	if (!is) {
		object_gone(s, o);
		return;
	}
	if (!str_eq(o->uid, m->uid)) {
		object_gone(s, o);
		o->number++;
		str_copy(o->uid, sizeof(o->uid), m->uid);
		if (!*o->first_uid) {
			str_copy(o->first_uid, sizeof(o->first_uid), m->uid);
			str_copy(o->first_version, sizeof(o->first_version), m->resource_version);
		}
	}
	o->gone = false;
	if (m->ns)
		describe_pod(&b, is);
	else
		describe_node(&b, is);
	object_says(s, o, buf_text(&b));
}

/* ---- requests ---- */

static bool failed(struct scene *s, const char *what, const char *more)
{
	snprintf(s->out->why, sizeof(s->out->why), "%s: %s", what, more);
	return false;
}

static const char *option(const struct words *l, const char *key, size_t nth)
{
	size_t n = strlen(key);

	for (size_t i = 0; i < l->n; i++)
		if (strncmp(l->word[i], key, n) == 0 && l->word[i][n] == '=' && nth-- == 0)
			return l->word[i] + n + 1;
	return NULL;
}

static bool has_word(const struct words *l, const char *word)
{
	for (size_t i = 0; i < l->n; i++)
		if (str_eq(l->word[i], word))
			return true;
	return false;
}

static int64_t number(const struct words *l, const char *key, int64_t otherwise)
{
	const char *text = option(l, key, 0);
	int64_t n = otherwise;

	if (text)
		(void)str_to_i64(text, 0, 1000000, &n);
	return n;
}

static const struct meta *meta_now(struct scene *s, const char *name)
{
	return is_node(name) ? store_get(s->nodes, NULL, name) : store_get(s->pods, s->stage->ns, name);
}

/* The object with its preconditions, as the line has them. Texts are good until something happens. */
static struct kube_ref ref_of(struct scene *s, const struct words *l)
{
	const char *name = l->word[1], *uid = option(l, "uid", 0), *version = option(l, "version", 0);
	const struct meta *now = meta_now(s, name);
	const struct object *o = object_named(s, name, false);
	struct kube_ref ref = { .kind = is_node(name) ? KUBE_NODES : KUBE_PODS,
		                .ns = is_node(name) ? NULL : s->stage->ns,
		                .name = name };

	if (str_eq(uid, "now") && now)
		ref.uid = now->uid;
	else if (str_eq(uid, "old") && o)
		ref.uid = o->first_uid;
	else if (uid)
		ref.uid = NOBODY;
	if (str_eq(version, "now") && now)
		ref.resource_version = now->resource_version;
	else if (version && o)
		ref.resource_version = o->first_version;
	return ref;
}

static void answered(void *arg, const struct kube_result *result)
{
	struct scene *s = arg;

	s->answered = true;
	s->outcome = result->outcome;
	str_copy(s->version, sizeof(s->version), result->resource_version);
	if (result->outcome != KUBE_OK && getenv("SCENE_TALK"))
		fprintf(stderr, "%s\n", result->message);
}

static void got(void *arg, const struct kube_result *result, const void *object)
{
	(void)object;
	answered(arg, result);
}

static int64_t version_number(const char *version)
{
	int64_t n = 0;

	(void)str_to_i64(str_or(version, ""), 0, INT64_MAX, &n);
	return n;
}

/* Until it is answered, and the watch has shown what the answer told of. */
static bool await(struct scene *s, const struct words *l, const char *before)
{
	static const char *const words[] = {
		[KUBE_OK] = "ok",         [KUBE_NOT_FOUND] = "not found", [KUBE_CONFLICT] = "conflict",
		[KUBE_EXISTS] = "exists", [KUBE_REFUSED] = "refused",     [KUBE_FORBIDDEN] = "forbidden",
		[KUBE_BUDGET] = "budget", [KUBE_RETRY] = "retry",         [KUBE_NOT_LEADER] = "not leader",
	};
	usec_t end = s->stage->now(s->stage->arg) + s->stage->patience;
	bool change = str_eq(l->word[0], "change"), same;
	char says[PLAY_LINE];
	const struct meta *now;

	while (!s->answered)
		if (s->stage->now(s->stage->arg) > end || !s->stage->step(s->stage->arg))
			return failed(s, l->word[0], "no answer");
	same = change && s->outcome == KUBE_OK && str_eq(s->version, before);
	snprintf(says, sizeof(says), "%s %s: %s%s", l->word[0], l->word[1], words[s->outcome],
	         same ? ", unchanged" : "");
	note(s, "answer", says);
	if (s->outcome != KUBE_OK || !change)
		return true;
	while ((now = meta_now(s, l->word[1])) && version_number(now->resource_version) < version_number(s->version))
		if (s->stage->now(s->stage->arg) > end || !s->stage->step(s->stage->arg))
			return failed(s, l->word[0], "the watch does not show it");
	return true;
}

/* "KEY:REST" → key with our prefix, and the rest ("" without one). */
static const char *split(const char *text, char key[128])
{
	size_t n = strcspn(text, ":");

	snprintf(key, 128, OURS "%.*s", (int)MIN_OF(n, (size_t)80), text);
	return text[n] ? text + n + 1 : text + n;
}

static int effect_of(const char *text, const char **ret_rest)
{
	size_t n = strcspn(text, ":");

	*ret_rest = text[n] ? text + n + 1 : "";
	for (int i = 1; i < (int)ARRAY_LEN(effects); i++)
		if (strlen(effects[i]) == n && strncmp(effects[i], text, n) == 0)
			return i;
	return EFFECT_ANY;
}

struct lists { /* that a change points to */
	char keys[4][SCENE_LIST][128];
	struct pair annotations[SCENE_LIST], labels[SCENE_LIST];
	struct condition conditions[SCENE_LIST];
	struct taint taints[SCENE_LIST];
	struct toleration tolerations[SCENE_LIST];
	char types[SCENE_LIST][64], finalizer[128];
	const char *finalizers[1];
};

static int read_pairs(const struct words *l, const char *name, char keys[][128], struct pair *pairs)
{
	const char *text;
	int n = 0;

	for (; n < SCENE_LIST && (text = option(l, name, (size_t)n)); n++) {
		const char *value = split(text, keys[n]);

		pairs[n] = (struct pair) { keys[n], strchr(text, ':') ? value : NULL };
	}
	return n;
}

static int read_tolerations(const struct words *l, char keys[][128], struct toleration *list)
{
	const char *text, *rest;
	int n = 0;

	for (; n < SCENE_LIST && (text = option(l, "tolerates", (size_t)n)); n++) {
		text = split(text, keys[n]);
		list[n] =
		        (struct toleration) { .key = keys[n], .op = TOLERATE_EXISTS, .effect = effect_of(text, &rest) };
		list[n].has_seconds = *rest != 0;
		(void)str_to_i64(rest, 0, 100000, &list[n].seconds);
	}
	return n;
}

static int read_taints(const struct words *l, char keys[][128], struct taint *list)
{
	const char *text, *rest;
	int n = 0;

	for (; n < SCENE_LIST && (text = option(l, "taint", (size_t)n)); n++) {
		text = split(text, keys[n]);
		list[n] = (struct taint) { .key = keys[n], .value = "x", .effect = effect_of(text, &rest) };
	}
	return n;
}

static int read_conditions(const struct words *l, struct lists *lists)
{
	const char *text;
	int n = 0;

	for (; n < SCENE_LIST && (text = option(l, "condition", (size_t)n)); n++) {
		const char *status = strchr(text, ':'), *reason = status ? strchr(status + 1, ':') : NULL;

		snprintf(lists->types[n], sizeof(lists->types[n]), "%.*s", (int)MIN_OF(strcspn(text, ":"), (size_t)60),
		         text);
		lists->conditions[n] = (struct condition) {
			.type = lists->types[n],
			.status = status && str_starts(status, ":True") ? COND_TRUE : COND_FALSE,
			.reason = reason ? reason + 1 : NULL,
		};
	}
	return n;
}

static bool do_change(struct scene *s, const struct words *l)
{
	struct kube_change c = KUBE_CHANGE(ref_of(s, l));
	struct lists lists;
	const char *text, *schedulable = option(l, "unschedulable", 0);
	const struct meta *now = meta_now(s, l->word[1]);
	char before[32];

	str_copy(before, sizeof(before), now ? now->resource_version : "");
	c.annotations = lists.annotations;
	c.n_annotations = read_pairs(l, "annotation", lists.keys[0], lists.annotations);
	c.labels = lists.labels;
	c.n_labels = read_pairs(l, "label", lists.keys[1], lists.labels);
	c.conditions = lists.conditions;
	c.n_conditions = read_conditions(l, &lists);
	c.active_deadline_s = number(l, "deadline", 0);
	if (schedulable)
		c.unschedulable = str_eq(schedulable, "yes");
	if (option(l, "tolerates", 0)) {
		c.tolerations = lists.tolerations;
		c.n_tolerations = read_tolerations(l, lists.keys[2], lists.tolerations);
	}
	if (option(l, "taint", 0) || option(l, "taints", 0)) {
		c.taints = lists.taints;
		c.n_taints = read_taints(l, lists.keys[3], lists.taints);
	}
	text = option(l, "finalizers", 0);
	if (text) {
		(void)split(text, lists.finalizer);
		lists.finalizers[0] = lists.finalizer;
		c.finalizers = lists.finalizers;
		c.n_finalizers = str_eq(text, "none") ? 0 : 1;
	}
	s->stage->port->ops->change(s->stage->port, &c, answered, s);
	return await(s, l, before);
}

static void write_tolerations(struct patch *p, const struct words *l)
{
	char keys[SCENE_LIST][128];
	struct toleration list[SCENE_LIST];
	int n = read_tolerations(l, keys, list);

	for (int i = 0; i < n; i++) {
		struct patch *q = patch_add(p, PATH("spec", "tolerations"));

		patch_str(q, list[i].key, PATH("key"));
		patch_str(q, "Exists", PATH("operator"));
		patch_str(q, effects[list[i].effect], PATH("effect"));
		if (list[i].has_seconds)
			patch_int(q, list[i].seconds, PATH("tolerationSeconds"));
	}
}

static void write_container(struct patch *p, const struct words *l)
{
	struct patch *c = patch_add(p, PATH("spec", "containers"));
	char script[256];

	if (has_word(l, "stubborn"))
		snprintf(script, sizeof(script),
		         "trap '' TERM; i=0; while [ $i -lt %lld ]; do sleep 1; i=$((i+1)); done",
		         (long long)number(l, "run", 600));
	else
		snprintf(script, sizeof(script), "trap 'exit %lld' TERM; sleep %lld & wait; exit %lld",
		         (long long)number(l, "exit", 0), (long long)number(l, "run", 600),
		         (long long)number(l, "exit", 0));
	patch_str(c, "main", PATH("name"));
	patch_str(c, "none", PATH("image"));
	patch_add_str(c, "/bin/sh", PATH("command"));
	patch_add_str(c, "-c", PATH("command"));
	patch_add_str(c, script, PATH("command"));
}

static char *pod_text(struct scene *s, const struct words *l)
{
	_cleanup_(patch_freep) struct patch *p = patch_new();
	char keys[SCENE_LIST][128], key[128];
	struct pair labels[SCENE_LIST];
	const char *owner = option(l, "owner", 0);
	int n = read_pairs(l, "label", keys, labels);
	size_t len;

	patch_str(p, "v1", PATH("apiVersion"));
	patch_str(p, "Pod", PATH("kind"));
	patch_str(p, l->word[1], PATH("metadata", "name"));
	patch_str(p, s->stage->ns, PATH("metadata", "namespace"));
	for (int i = 0; i < n; i++)
		patch_str(p, labels[i].value, PATH("metadata", "labels", labels[i].key));
	if (option(l, "finalizer", 0)) {
		(void)split(option(l, "finalizer", 0), key);
		patch_add_str(p, key, PATH("metadata", "finalizers"));
	}
	if (owner && meta_now(s, owner)) {
		struct patch *o = patch_add(p, PATH("metadata", "ownerReferences"));

		patch_str(o, "v1", PATH("apiVersion"));
		patch_str(o, "Pod", PATH("kind"));
		patch_str(o, owner, PATH("name"));
		patch_str(o, meta_now(s, owner)->uid, PATH("uid"));
		patch_bool(o, true, PATH("controller"));
	}
	patch_str(p, "nobody", PATH("spec", "schedulerName"));
	patch_str(p, "Never", PATH("spec", "restartPolicy"));
	patch_bool(p, false, PATH("spec", "automountServiceAccountToken"));
	patch_int(p, number(l, "grace", 30), PATH("spec", "terminationGracePeriodSeconds"));
	if (option(l, "node", 0))
		patch_str(p, option(l, "node", 0), PATH("spec", "nodeName"));
	if (option(l, "gate", 0)) {
		(void)split(option(l, "gate", 0), key);
		patch_str(patch_add(p, PATH("spec", "schedulingGates")), key, PATH("name"));
	}
	write_tolerations(p, l);
	write_container(p, l);
	return patch_text(p, &len);
}

static bool until(struct scene *s, const char *name, const char *text)
{
	usec_t end = s->stage->now(s->stage->arg) + s->stage->patience;
	const struct object *o;

	for (;;) {
		o = object_named(s, name, false);
		if (o && (str_eq(text, "gone") ? o->gone : !o->gone && strstr(o->now, text)))
			return true;
		if (!o && str_eq(text, "gone"))
			return true;
		if (s->stage->now(s->stage->arg) > end || !s->stage->step(s->stage->arg)) {
			snprintf(s->out->why, sizeof(s->out->why), "%s says '%s', and not '%s'", name,
			         o ? o->now : "nothing", text);
			return false;
		}
	}
}

static bool do_create(struct scene *s, const struct words *l)
{
	_cleanup_free_ char *text = pod_text(s, l);

	if (s->stage->will_make)
		s->stage->will_make(s->stage->arg, l->word[1], number(l, "run", 600), (int)number(l, "exit", 0),
		                    has_word(l, "stubborn"));
	s->stage->port->ops->create(s->stage->port, KUBE_PODS, s->stage->ns, text, answered, s);
	return await(s, l, "") && (s->outcome != KUBE_OK || until(s, l->word[1], "node="));
}

static bool do_bind(struct scene *s, const struct words *l)
{
	struct kube_ref ref = ref_of(s, l);

	if (l->n < 3)
		return failed(s, l->word[0], "to which Node?");
	s->stage->port->ops->bind(s->stage->port, &ref, l->word[2], answered, s);
	return await(s, l, "");
}

static bool do_delete(struct scene *s, const struct words *l)
{
	struct kube_ref ref = ref_of(s, l);

	s->stage->port->ops->remove(s->stage->port, &ref, number(l, "grace", -1), answered, s);
	return await(s, l, "");
}

static bool do_evict(struct scene *s, const struct words *l)
{
	struct kube_ref ref = ref_of(s, l);

	s->stage->port->ops->evict(s->stage->port, &ref, number(l, "grace", -1), answered, s);
	return await(s, l, "");
}

static bool do_get(struct scene *s, const struct words *l)
{
	struct kube_ref ref = ref_of(s, l);

	s->stage->port->ops->get(s->stage->port, &ref, got, s);
	return await(s, l, "");
}

static bool synced(struct scene *s)
{
	usec_t end = s->stage->now(s->stage->arg) + s->stage->patience;

	while (!store_synced(s->pods) || !store_synced(s->nodes))
		if (s->stage->now(s->stage->arg) > end || !s->stage->step(s->stage->arg))
			return failed(s, "list", "nothing came");
	return true;
}

static bool do_refresh(struct scene *s, const struct words *l)
{
	(void)l;
	s->stage->port->ops->refresh(s->stage->port);
	return synced(s);
}

static bool do_until(struct scene *s, const struct words *l)
{
	return l->n < 3 ? failed(s, l->word[0], "until what?") : until(s, l->word[1], l->word[2]);
}

static bool do_kubelets(struct scene *s, const struct words *l)
{
	s->stage->kubelets(s->stage->arg, !str_eq(l->word[1], "stop"));
	return true;
}

static bool do_passes(struct scene *s, const struct words *l)
{
	int64_t n = 0;

	(void)str_to_i64(l->word[1], 0, 1000, &n);
	s->stage->passes(s->stage->arg, n * USEC_SEC);
	return true;
}

static bool play_line(struct scene *s, const char *line)
{
	static const struct {
		const char *verb;
		size_t words;
		bool (*play)(struct scene *s, const struct words *l);
	} verbs[] = {
		{ "create", 2, do_create },   { "change", 2, do_change }, { "bind", 2, do_bind },
		{ "delete", 2, do_delete },   { "evict", 2, do_evict },   { "get", 2, do_get },
		{ "refresh", 1, do_refresh }, { "until", 2, do_until },   { "kubelets", 2, do_kubelets },
		{ "passes", 2, do_passes },
	};
	struct words l = { 0 };
	char *rest = NULL;

	str_copy(l.text, sizeof(l.text), line);
	for (char *w = strtok_r(l.text, " ", &rest); w && l.n < SCENE_WORDS; w = strtok_r(NULL, " ", &rest))
		l.word[l.n++] = w;
	s->answered = false;
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (l.n >= verbs[i].words && str_eq(l.word[0], verbs[i].verb))
			return verbs[i].play(s, &l);
	return failed(s, line, "what is that?");
}

/* ---- */

static bool read_scene(const char *path, struct scene_result *r)
{
	char line[PLAY_LINE];
	FILE *f = fopen(path, "re");

	if (!f) {
		snprintf(r->why, sizeof(r->why), "%s cannot be read", path);
		return false;
	}
	while (fgets(line, sizeof(line), f)) {
		struct record *to = *line == '>' ? &r->script : &r->recorded;
		const char *text = *line == '>' ? line + 2 : line;

		line[strcspn(line, "\n")] = 0;
		if (*line && *line != '#' && to->n < PLAY_LINES)
			str_copy(to->lines[to->n++], PLAY_LINE, text);
	}
	fclose(f);
	return true;
}

bool scene_play(const struct scene_stage *stage, const char *path, struct scene_result *ret)
{
	struct scene *s = NEW(struct scene);
	bool ok;

	*ret = (struct scene_result) { .scene = s };
	s->stage = stage;
	s->out = ret;
	s->pods = stage->port->ops->watch(stage->port, KUBE_PODS, NULL, NULL, NULL);
	s->nodes = stage->port->ops->watch(stage->port, KUBE_NODES, NULL, NULL, NULL);
	store_listen(s->pods, seen, s);
	store_listen(s->nodes, seen, s);
	ok = read_scene(path, ret) && synced(s);
	for (size_t i = 0; ok && i < ret->script.n; i++)
		ok = play_line(s, ret->script.lines[i]);
	return ok;
}

void scene_done(struct scene_result *r)
{
	free(r->scene);
	r->scene = NULL;
}

/* The next line of `who` at or after *i. */
static const char *line_of(const struct record *r, const char *who, size_t *i)
{
	size_t n = strcspn(who, " ");

	for (; *i < r->n; ++*i)
		if (strncmp(r->lines[*i], who, n) == 0 && r->lines[*i][n] == ' ')
			return r->lines[(*i)++];
	return "nothing more";
}

static bool compare_one(const struct scene_result *r, const char *subject, const char *who)
{
	const char *a, *b, *before = "nothing";
	size_t i = 0, k = 0;

	do {
		a = line_of(&r->recorded, subject, &i);
		b = line_of(&r->seen, subject, &k);
		if (!str_eq(a, b)) {
			printf("  after '%s' Kubernetes says\n    '%s', and %s\n    '%s'\n", before, a, who, b);
			return false;
		}
		before = a;
	} while (!str_eq(a, "nothing more"));
	return true;
}

bool scene_compare(const struct scene_result *r, const char *who)
{
	bool ok = r->recorded.n > 0;

	if (!ok)
		printf("  nothing is recorded\n");
	for (size_t i = 0; ok && i < r->recorded.n; i++)
		ok = compare_one(r, r->recorded.lines[i], who);
	for (size_t i = 0; ok && i < r->seen.n; i++)
		ok = compare_one(r, r->seen.lines[i], who);
	return ok;
}
