/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "operator/nodesets.h"

#include <stdio.h>

#include "base/dirty.h"
#include "base/log.h"
#include "base/map.h"
#include "base/rand.h"
#include "base/str.h"
#include "policy/nodeset_plan.h"
#include "policy/nodeslice.h"
#include "port/kinds.h"

#define SETTLE_SPAN (3 * USEC_SEC) /* for the watch to show what we wrote */
#define RETRY_BASE (100 * USEC_MSEC)
#define RETRY_MAX (30 * USEC_SEC)
#define MISSED_BASE (20 * USEC_MSEC)
#define MISSED_TRIES 50u
#define LOOK_AGAIN (30 * USEC_SEC) /* for what only time changes */
#define TROUBLE_TELL (2 * USEC_SEC) /* what has passed by then is no trouble */
#define STEPS_MAX 64               /* at a time, of one set */
#define SLICES_MAX 8
#define FEATURES_TEXT_MAX 1024
#define TOLERATIONS_OURS 3
#define FINALIZER_ORPHAN "orphan" /* Kubernetes' own: its Pods are to stay */

/* What we wrote and have not seen yet. */
struct expect {
	enum kube_kind kind;
	char *name, *version; /* version NULL: it was made; else it was this before */
	char *node;           /* of a Pod that was made */
	bool answered;
};

struct set_entry {
	char *key; /* "ns/name" */
	struct expect *expects;
	size_t n_expects, n_busy;
	usec_t settle_until, not_before, trouble_since;
	uint64_t said, trouble; /* hashes of what was told, and of what is to be told if it lasts */
	unsigned tries;
	bool failed, missed; /* missed: something was not as it had been read */
	struct nodeset_status status; /* for metrics; no texts */
	bool counted;
};

struct nodesets {
	struct nodesets_options o;
	struct store *sets, *slices, *pods, *nodes;
	struct map entries;
	struct dirty dirty;
	struct rng rng;
	bool leading;
	double *steps, *retries;
};

/* What one look gathers. */
struct gathered {
	struct nodeset_node *nodes;
	const struct pod **pods;
	size_t n_nodes, n_pods;
	struct map taken; /* Node → something */
};

static usec_t now_of(const struct nodesets *c)
{
	return clock_mono(c->o.clock);
}

static void wake(struct nodesets *c)
{
	if (c->o.wake)
		c->o.wake(c->o.wake_arg);
}

static void mark(struct nodesets *c, const char *key, usec_t at)
{
	dirty_mark(&c->dirty, key, at);
	wake(c);
}

static void forget_expects(struct set_entry *e)
{
	for (size_t i = 0; i < e->n_expects; i++) {
		free(e->expects[i].name);
		free(e->expects[i].version);
		free(e->expects[i].node);
	}
	free(e->expects);
	e->expects = NULL;
	e->n_expects = 0;
}

static void entry_free(struct nodesets *c, struct set_entry *e)
{
	map_remove(&c->entries, e->key);
	forget_expects(e);
	free(e->key);
	free(e);
}

/* ---- what changed ---- */

static void mark_set_of(struct nodesets *c, const struct meta *m, const char *name)
{
	char key[STORE_KEY_MAX];

	if (!name || !m->ns)
		return;
	snprintf(key, sizeof(key), "%s/%s", m->ns, name);
	if (map_get(&c->entries, key))
		mark(c, key, 0);
}

static void set_changed(void *arg, enum store_event event, const void *was, const void *is)
{
	struct nodesets *c = arg;
	const struct meta *m = is ? is : was;
	char key[STORE_KEY_MAX];

	(void)event;
	meta_key(m, key);
	if (!map_get(&c->entries, key)) {
		struct set_entry *e = NEW(struct set_entry);

		e->key = mem_strdup(key);
		map_put(&c->entries, e->key, e);
	}
	mark(c, key, 0);
}

static void mark_all(struct nodesets *c)
{
	struct set_entry *e;
	size_t i = 0;

	while ((e = map_next(&c->entries, &i)))
		mark(c, e->key, 0);
}

static void pod_changed(void *arg, enum store_event event, const void *was, const void *is)
{
	const struct pod *pods[] = { was, is };

	for (size_t i = 0; i < ARRAY_LEN(pods); i++)
		if (pods[i])
			mark_set_of(arg, &pods[i]->meta,
			            pair_get(pods[i]->meta.labels, pods[i]->meta.n_labels, LABEL_NODESET));
	if (event == STORE_REMOVED && pods[0] && pair_get(pods[0]->meta.labels, pods[0]->meta.n_labels, LABEL_NODESET))
		mark_all(arg); /* its Node is another's now, perhaps */
}

static void slice_changed(void *arg, enum store_event event, const void *was, const void *is)
{
	const struct nodeslice *s = is ? is : was;

	(void)event;
	mark_set_of(arg, &s->meta, s->nodeset);
}

static bool same_pairs(const struct meta *a, const struct meta *b)
{
	if (a->n_labels != b->n_labels)
		return false;
	for (uint32_t i = 0; i < a->n_labels; i++)
		if (!str_eq(pair_get(b->labels, b->n_labels, a->labels[i].key), a->labels[i].value))
			return false;
	return true;
}

/* A kubelet writes its Node every few seconds: what no NodeSet looks at does not count. */
static void node_changed(void *arg, enum store_event event, const void *was, const void *is)
{
	const struct knode *a = was, *b = is;

	if (event == STORE_CHANGED && a->unschedulable == b->unschedulable && a->n_taints == b->n_taints &&
	    a->n_addresses == b->n_addresses && a->n_allocatable == b->n_allocatable && same_pairs(&a->meta, &b->meta))
		return;
	mark_all(arg);
}

/* ---- effects ---- */

struct effect {
	struct nodesets *c;
	struct set_entry *e;
	size_t expect;
	char what[64];
	const char *reason; /* NULL, or of what is told once it is done, perhaps */
	char text[512];
	char *forgets; /* a drain that goes with a Pod; may be NULL */
};

static struct kube_ref ref_of(enum kube_kind kind, const struct meta *m)
{
	return (struct kube_ref) {
		.kind = kind, .ns = m->ns, .name = m->name, .uid = m->uid, .resource_version = m->resource_version
	};
}

static void tell(struct nodesets *c, const struct nodeset *set, bool warning, const char *reason, const char *text)
{
	c->o.kube->ops->event(c->o.kube, &(struct kube_event) { .about = ref_of(KUBE_NODESETS, &set->meta),
	                                                        .type = warning ? "Warning" : "Normal",
	                                                        .reason = reason,
	                                                        .action = "Reconciling",
	                                                        .message = text });
}

static void answered(void *arg, const struct kube_result *r)
{
	struct effect *x = arg;
	struct nodesets *c = x->c;
	struct set_entry *e = x->e;
	const struct nodeset *set = store_get_key(c->sets, e->key);

	e->n_busy--;
	if ((r->outcome == KUBE_OK || r->maybe_done) && x->reason && set)
		tell(c, set, false, x->reason, x->text);
	if ((r->outcome == KUBE_OK || r->maybe_done) && x->forgets && set)
		tell(c, set, true, "DrainForgotten", x->forgets);
	free(x->forgets);
	e->expects[x->expect].answered = true;
	if (r->outcome != KUBE_OK) {
		/* nothing will show */
		free(e->expects[x->expect].name);
		e->expects[x->expect].name = NULL;
		if (r->outcome == KUBE_REFUSED || r->outcome == KUBE_FORBIDDEN)
			log_error("NodeSet %s: %s: %s", e->key, x->what, r->message);
		else
			log_debug("NodeSet %s: %s: %s", e->key, x->what, r->message);
		if (r->outcome == KUBE_CONFLICT || r->outcome == KUBE_NOT_FOUND)
			e->missed = true;
		else
			e->failed = true;
	}
	if (!e->n_busy) {
		usec_t wait = 0;

		if (e->failed)
			wait = MAX_OF(backoff_span(&c->rng, e->tries, RETRY_BASE, RETRY_MAX), r->retry_after);
		else if (e->missed) /* looked at again soon: a Pod that others write often is not to stay for that */
			wait = MIN_OF(e->tries + 1, MISSED_TRIES) * MISSED_BASE;
		e->tries = e->failed || e->missed ? e->tries + (e->tries < 100) : 0;
		if ((e->failed || e->missed) && c->retries)
			*c->retries += 1;
		e->failed = e->missed = false;
		e->not_before = wait ? usec_add(now_of(c), wait) : 0;
		e->settle_until = usec_add(now_of(c), SETTLE_SPAN);
		mark(c, e->key, e->not_before);
	}
	free(x);
}

static struct effect *begin(struct nodesets *c, struct set_entry *e, const struct kube_ref *ref, bool made,
                            const char *node, const char *what)
{
	struct effect *x = NEW(struct effect);

	e->expects = mem_realloc_n(e->expects, e->n_expects + 1, sizeof(*e->expects));
	e->expects[e->n_expects] = (struct expect) {
		.kind = ref->kind,
		.name = mem_strdup(ref->name),
		.version = made ? NULL : mem_strdup(str_or(ref->resource_version, "")),
		.node = node ? mem_strdup(node) : NULL,
	};
	*x = (struct effect) { .c = c, .e = e, .expect = e->n_expects++ };
	str_copy(x->what, sizeof(x->what), what);
	e->n_busy++;
	if (c->steps)
		*c->steps += 1;
	return x;
}

/* ---- has what we wrote shown? ---- */

static struct store *store_for(const struct nodesets *c, enum kube_kind kind)
{
	return kind == KUBE_PODS ? c->pods : kind == KUBE_NODESLICES ? c->slices : c->sets;
}

static bool has_shown(const struct nodesets *c, const struct expect *x, const char *ns)
{
	const struct meta *m = x->name ? store_get(store_for(c, x->kind), ns, x->name) : NULL;

	if (!x->name)
		return true;
	return x->version ? !m || !str_eq(m->resource_version, x->version) : m != NULL;
}

static bool is_settling(struct nodesets *c, struct set_entry *e, const char *ns)
{
	if (now_of(c) < e->settle_until)
		for (size_t i = 0; i < e->n_expects; i++)
			if (!has_shown(c, &e->expects[i], ns)) {
				mark(c, e->key, e->settle_until);
				return true;
			}
	forget_expects(e);
	return false;
}

/* ---- gathering ---- */

static void gather(const struct nodesets *c, const struct set_entry *e, const struct nodeset *set, struct gathered *g)
{
	const struct set_entry *other;
	const struct pod *pod;
	const struct knode *node;
	size_t i = 0;

	*g = (struct gathered) { .nodes = mem_alloc_n(store_count(c->nodes) + 1, sizeof(*g->nodes)),
		                 .pods = mem_alloc_n(store_count(c->pods) + 1, sizeof(*g->pods)) };
	while ((pod = store_next(c->pods, &i))) {
		const char *on = nodeset_pod_node(pod);

		if (str_eq(pod->meta.ns, set->meta.ns) && nodeset_has(set, pod))
			g->pods[g->n_pods++] = pod;
		else if (on && pair_get(pod->meta.labels, pod->meta.n_labels, LABEL_NODESET) &&
		         pod->phase != POD_SUCCEEDED && pod->phase != POD_FAILED)
			map_put(&g->taken, on, (void *)pod);
	}
	for (i = 0; (other = map_next(&c->entries, &i));)
		for (size_t n = 0; other != e && n < other->n_expects; n++)
			if (other->expects[n].node && other->expects[n].name)
				map_put(&g->taken, other->expects[n].node, (void *)other);
	for (i = 0; (node = store_next(c->nodes, &i));)
		g->nodes[g->n_nodes++] = (struct nodeset_node) { node, map_get(&g->taken, node->meta.name) != NULL };
}

static void gathered_done(struct gathered *g)
{
	free(g->nodes);
	free(g->pods);
	map_done(&g->taken);
}

struct name_asker {
	const struct nodesets *c;
	const char *ns;
};

static bool name_taken(void *arg, const char *name)
{
	const struct name_asker *a = arg;

	return store_get(a->c->pods, a->ns, name) != NULL;
}

/* ---- features ---- */

static void features_text(const struct nodeset *set, const struct knode *node, char text[FEATURES_TEXT_MAX])
{
	size_t n = 0;

	text[0] = 0;
	for (uint32_t i = 0; i < set->n_features + set->n_feature_labels; i++) {
		const char *f = i < set->n_features ? set->features[i]
		                                    : pair_get(node->meta.labels, node->meta.n_labels,
		                                               set->feature_labels[i - set->n_features]);

		if (!str_empty(f) && n + strlen(f) + 2 < FEATURES_TEXT_MAX)
			n += (size_t)snprintf(text + n, FEATURES_TEXT_MAX - n, "%s%s", n ? "," : "", f);
	}
}

static bool write_features(struct nodesets *c, struct set_entry *e, const struct nodeset *set, const struct gathered *g)
{
	char text[FEATURES_TEXT_MAX];
	size_t before = e->n_busy;

	for (size_t i = 0; i < g->n_pods && e->n_busy < STEPS_MAX && !set->unreadable; i++) {
		const struct pod *pod = g->pods[i];
		const struct knode *node = store_get(c->nodes, NULL, str_or(nodeset_pod_node(pod), ""));
		struct kube_change change = KUBE_CHANGE(ref_of(KUBE_PODS, &pod->meta));
		struct pair annotation = { ANNOTATION_FEATURES, text };

		if (!node || pod->meta.deletion)
			continue;
		features_text(set, node, text);
		if (str_eq(text,
		           str_or(pair_get(pod->meta.annotations, pod->meta.n_annotations, ANNOTATION_FEATURES), "")))
			continue;
		annotation.value = *text ? text : NULL;
		change.annotations = &annotation;
		change.n_annotations = 1;
		c->o.kube->ops->change(c->o.kube, &change, answered,
		                       begin(c, e, &change.ref, false, NULL, "write features"));
	}
	return e->n_busy > before;
}

/* ---- the steps on Pods ---- */

static void make_pod(struct nodesets *c, struct set_entry *e, const struct nodeset *set, const struct nodeset_step *s,
                     const char *revision)
{
	static const struct toleration ours[TOLERATIONS_OURS] = {
		{ .key = TAINT_LOCK, .op = TOLERATE_EXISTS, .effect = EFFECT_NO_EXECUTE },
		{ .key = "node.kubernetes.io/not-ready", .op = TOLERATE_EXISTS, .effect = EFFECT_NO_EXECUTE },
		{ .key = "node.kubernetes.io/unreachable", .op = TOLERATE_EXISTS, .effect = EFFECT_NO_EXECUTE },
	};
	uint32_t n = set->select.n_tolerations;
	_cleanup_free_ struct toleration *tolerations = mem_alloc_n(n + TOLERATIONS_OURS, sizeof(*tolerations));
	const struct owner owner = { "NodeSet", set->meta.name, set->meta.uid, true };
	const struct pair labels[] = { { LABEL_NODESET, set->meta.name }, { LABEL_REVISION, revision } };
	char features[FEATURES_TEXT_MAX];
	const struct pair annotation = { ANNOTATION_FEATURES, features };
	struct effect *x;
	struct kube_make m = { .ref = { .kind = KUBE_PODS, .ns = set->meta.ns, .name = s->name },
		               .owner = &owner,
		               .labels = labels,
		               .n_labels = ARRAY_LEN(labels),
		               .annotations = &annotation,
		               .template_json = set->template_json,
		               .pin = s->node->meta.name,
		               .tolerations = tolerations,
		               .n_tolerations = (int)(n + TOLERATIONS_OURS) };

	for (uint32_t i = 0; i < n; i++)
		tolerations[i] = set->select.tolerations[i];
	memcpy(tolerations + n, ours, sizeof(ours));
	features_text(set, s->node, features);
	m.n_annotations = *features ? 1 : 0;
	x = begin(c, e, &m.ref, true, s->node->meta.name, "make a Pod");
	x->reason = "Created";
	snprintf(x->text, sizeof(x->text), "Made Pod %s for Node %s", s->name, s->node->meta.name);
	c->o.kube->ops->make(c->o.kube, &m, answered, x);
}

static void change_pod(struct nodesets *c, struct set_entry *e, const struct nodeset *set, const struct nodeset_step *s)
{
	struct kube_change change = KUBE_CHANGE(ref_of(KUBE_PODS, &s->pod->meta));
	struct pair annotation = { ANNOTATION_PENDING_DELETION, s->act == NODESET_MARK ? s->why : NULL };
	const struct owner owner = { "NodeSet", set->meta.name, set->meta.uid, true };
	struct effect *x = begin(c, e, &change.ref, false, NULL, "change a Pod");

	if (s->act == NODESET_ADOPT) {
		change.owner = &owner;
	} else {
		change.annotations = &annotation;
		change.n_annotations = 1;
		x->reason = s->act == NODESET_MARK ? "Draining" : "Kept";
		snprintf(x->text, sizeof(x->text), "%s %s: %s",
		         s->act == NODESET_MARK ? "Draining Slurm node" : "Keeping Slurm node", s->pod->meta.name,
		         s->act == NODESET_MARK ? s->why : "it may stay after all");
	}
	c->o.kube->ops->change(c->o.kube, &change, answered, x);
}

static void delete_pod(struct nodesets *c, struct set_entry *e, const struct nodeset_step *s)
{
	struct kube_ref ref = ref_of(KUBE_PODS, &s->pod->meta);
	const char *drain = s->replaced ? NULL : nodeset_foreign_drain(s->pod);
	struct effect *x = begin(c, e, &ref, false, NULL, "delete a Pod");

	x->reason = "Deleted";
	snprintf(x->text, sizeof(x->text), "Deleted Pod %s: %s", s->pod->meta.name, s->why);
	if (drain) { /* Slurm forgets it together with the node */
		const char *node = str_or(nodeset_pod_node(s->pod), "?");

		x->forgets = str_printf("Slurm node %s leaves Slurm, and its drain with it: '%.512s'. When Node %s is "
		                        "not to be used, cordon it: a Slurm node that comes back there is not drained",
		                        s->pod->meta.name, drain, node);
		str_mask_unsafe(x->forgets);
	}
	if (s->forced)
		ref.resource_version = NULL;
	c->o.kube->ops->remove(c->o.kube, &ref, -1, answered, x);
}

static void take(struct nodesets *c, struct set_entry *e, const struct nodeset *set, const struct nodeset_step *s,
                 const char *revision)
{
	switch (s->act) {
	case NODESET_CREATE: make_pod(c, e, set, s, revision); break;
	case NODESET_ADOPT:
	case NODESET_MARK:
	case NODESET_UNMARK: change_pod(c, e, set, s); break;
	case NODESET_DELETE: delete_pod(c, e, s); break;
	}
}

/* ---- slices ---- */

static void take_slice(struct nodesets *c, struct set_entry *e, const struct nodeset *set,
                       const struct nodeslice_step *s)
{
	const struct owner owner = { "NodeSet", set->meta.name, set->meta.uid, true };

	if (s->act == NODESLICE_CREATE) {
		struct kube_make m = { .ref = { .kind = KUBE_NODESLICES, .ns = set->meta.ns, .name = s->name },
			               .owner = &owner,
			               .nodeset = set->meta.name,
			               .nodes = s->nodes,
			               .n_nodes = (int)s->n_nodes };

		c->o.kube->ops->make(c->o.kube, &m, answered, begin(c, e, &m.ref, true, NULL, "make a NodeSlice"));
	} else if (s->act == NODESLICE_CHANGE) {
		struct kube_change change = KUBE_CHANGE(ref_of(KUBE_NODESLICES, &s->slice->meta));

		change.nodes = s->nodes;
		change.n_nodes = (int)s->n_nodes;
		c->o.kube->ops->change(c->o.kube, &change, answered,
		                       begin(c, e, &change.ref, false, NULL, "change a NodeSlice"));
	} else {
		struct kube_ref ref = ref_of(KUBE_NODESLICES, &s->slice->meta);

		c->o.kube->ops->remove(c->o.kube, &ref, -1, answered,
		                       begin(c, e, &ref, false, NULL, "delete a NodeSlice"));
	}
}

static bool write_slices(struct nodesets *c, struct set_entry *e, const struct nodeset *set, const struct gathered *g)
{
	_cleanup_free_ const struct nodeslice **slices =
	        mem_alloc_n(store_count(c->slices) + 1, sizeof(struct nodeslice *));
	_cleanup_free_ const char **names = mem_alloc_n(g->n_pods + 1, sizeof(char *));
	_cleanup_free_ struct nodeslice_step *steps = mem_alloc_n(SLICES_MAX, sizeof(*steps));
	const struct nodeslice *s;
	size_t i = 0, n = 0, n_steps;

	while ((s = store_next(c->slices, &i)))
		if (str_eq(s->meta.ns, set->meta.ns) && str_eq(s->nodeset, set->meta.name) && !s->meta.deletion)
			slices[n++] = s;
	for (i = 0; i < g->n_pods; i++)
		names[i] = g->pods[i]->meta.name;
	n_steps = nodeslice_plan(set->meta.name, slices, n, names, g->n_pods, steps, SLICES_MAX);
	for (i = 0; i < n_steps; i++)
		take_slice(c, e, set, &steps[i]);
	return n_steps > 0;
}

/* ---- the set itself ---- */

static bool has_finalizer(const struct meta *m, const char *name)
{
	for (uint32_t i = 0; i < m->n_finalizers; i++)
		if (str_eq(m->finalizers[i], name))
			return true;
	return false;
}

static void write_finalizer(struct nodesets *c, struct set_entry *e, const struct nodeset *set, bool there)
{
	_cleanup_free_ const char **list = mem_alloc_n(set->meta.n_finalizers + 1, sizeof(char *));
	struct kube_change change = KUBE_CHANGE(ref_of(KUBE_NODESETS, &set->meta));

	change.n_finalizers = 0;
	for (uint32_t i = 0; i < set->meta.n_finalizers; i++)
		if (!str_eq(set->meta.finalizers[i], NODESET_FINALIZER))
			list[change.n_finalizers++] = set->meta.finalizers[i];
	if (there)
		list[change.n_finalizers++] = NODESET_FINALIZER;
	change.finalizers = list;
	c->o.kube->ops->change(c->o.kube, &change, answered,
	                       begin(c, e, &change.ref, false, NULL, "write the finalizer"));
}

static bool same_status(const struct nodeset_status *a, const struct nodeset_status *b)
{
	return a->observed_generation == b->observed_generation && a->desired == b->desired &&
	       a->feasible == b->feasible && a->current == b->current && a->ready == b->ready &&
	       a->updated == b->updated && a->drained == b->drained && a->misscheduled == b->misscheduled &&
	       a->unavailable == b->unavailable && a->leaving == b->leaving && a->replicas == b->replicas &&
	       str_eq(a->selector, b->selector) && str_eq(a->revision, b->revision);
}

/* What a person has to do something about. */
static bool is_trouble(const char *reason)
{
	static const char *const troubles[] = {
		"NodeGone",       "LaterVersion",   "SlurmUnknown", "NameClash",
		"NoFeasibleNode", "NotEnoughNodes", "NodesTaken",   "UnknownUpdateStrategy",
	};

	for (size_t i = 0; i < ARRAY_LEN(troubles); i++)
		if (str_eq(reason, troubles[i]))
			return true;
	return false;
}

static void tell_trouble(struct nodesets *c, struct set_entry *e, const struct nodeset *set, const char *reason,
                         const char *message)
{
	uint64_t trouble = map_hash(reason) * 31u + map_hash(message);
	usec_t now = now_of(c);

	if (e->trouble != trouble) {
		e->trouble = trouble;
		e->trouble_since = now;
	}
	if (!is_trouble(reason)) {
		e->said = 0;
	} else if (e->said != trouble && now >= usec_add(e->trouble_since, TROUBLE_TELL)) {
		e->said = trouble;
		tell(c, set, true, reason, message);
	} else if (e->said != trouble) {
		mark(c, e->key, usec_add(e->trouble_since, TROUBLE_TELL));
	}
}

/* While other writes are under way, what they change is not worth a status of its own: only a new trouble is. */
static void write_status(struct nodesets *c, struct set_entry *e, const struct nodeset *set,
                         const struct nodeset_outlook *o, bool others)
{
	char selector[LABEL_KEY_MAX], message[NODESET_MESSAGE_MAX];
	struct nodeset_status status = o->status;
	struct condition ready = { .type = "Ready", .message = message };
	const struct condition *was = condition_get(set->conditions, set->n_conditions, "Ready");
	struct kube_change change = KUBE_CHANGE(ref_of(KUBE_NODESETS, &set->meta));

	status.selector = label_key(LABEL_NODESET, set->meta.name, selector);
	ready.status = nodeset_ready(set, o, &ready.reason, message) ? COND_TRUE : COND_FALSE;
	tell_trouble(c, e, set, ready.reason, message);
	if (others && (!is_trouble(ready.reason) || (was && str_eq(was->reason, ready.reason))))
		return;
	if (same_status(&status, &set->status) && was && was->status == ready.status &&
	    str_eq(was->reason, ready.reason) && str_eq(was->message, message))
		return;
	ready.changed = was && was->status == ready.status && was->changed ? was->changed : clock_wall(c->o.clock);
	change.nodeset_status = &status;
	change.conditions = &ready;
	change.n_conditions = 1;
	c->o.kube->ops->change(c->o.kube, &change, answered, begin(c, e, &change.ref, false, NULL, "write the status"));
}

static void work(struct nodesets *c, struct set_entry *e, const struct nodeset *set, const struct gathered *g)
{
	struct name_asker asker = { c, set->meta.ns };
	const struct nodeset_view v = { .set = set,
		                        .nodes = g->nodes,
		                        .n_nodes = g->n_nodes,
		                        .pods = g->pods,
		                        .n_pods = g->n_pods,
		                        .now = clock_wall(c->o.clock),
		                        .name_taken = name_taken,
		                        .arg = &asker };
	_cleanup_free_ struct nodeset_step *steps = mem_alloc_n(STEPS_MAX, sizeof(*steps));
	struct nodeset_outlook o;
	size_t n = nodeset_plan(&v, steps, STEPS_MAX, &o);
	bool others;

	e->status = o.status;
	e->status.revision = NULL; /* of `o` */
	e->counted = true;
	for (size_t i = 0; i < n; i++)
		take(c, e, set, &steps[i], o.revision);
	others = n || write_features(c, e, set, g) || write_slices(c, e, set, g);
	if (!others && set->meta.deletion && g->n_pods == 0)
		write_finalizer(c, e, set, false);
	else
		write_status(c, e, set, &o, others);
}

static void look(struct nodesets *c, struct set_entry *e)
{
	const struct nodeset *set = store_get_key(c->sets, e->key);
	struct gathered g;
	bool ours;

	if (e->n_busy)
		return;
	if (!set) {
		entry_free(c, e);
		return;
	}
	if (is_settling(c, e, set->meta.ns))
		return;
	if (now_of(c) < e->not_before) {
		mark(c, e->key, e->not_before);
		return;
	}
	ours = has_finalizer(&set->meta, NODESET_FINALIZER);
	if (set->meta.deletion && (!ours || has_finalizer(&set->meta, FINALIZER_ORPHAN))) {
		if (ours)
			write_finalizer(c, e, set, false);
		return;
	}
	if (!ours) {
		write_finalizer(c, e, set, true);
		return;
	}
	gather(c, e, set, &g);
	work(c, e, set, &g);
	gathered_done(&g);
	mark(c, e->key, usec_add(now_of(c), LOOK_AGAIN));
}

/* ---- */

usec_t nodesets_step(struct nodesets *c)
{
	usec_t now = now_of(c);
	size_t n = dirty_count(&c->dirty);
	char *key;

	if (!c->leading)
		return USEC_NEVER;
	/* without the definitions there are no NodeSets, and never will be a list of them */
	if (!store_synced(c->sets) || !store_synced(c->slices) || !store_synced(c->pods) || !store_synced(c->nodes))
		return usec_add(now, USEC_SEC);
	while (n-- > 0 && (key = dirty_take(&c->dirty, now))) {
		struct set_entry *e = map_get(&c->entries, key);

		if (e)
			look(c, e);
		free(key);
	}
	return dirty_next(&c->dirty);
}

void nodesets_leading(struct nodesets *c, bool leading)
{
	if (c->leading == leading)
		return;
	c->leading = leading;
	if (leading)
		mark_all(c);
	wake(c);
}

static const struct {
	const char *name, *help;
	size_t offset;
} gauges[] = {
	{ "kube_sunk_nodeset_desired", "Pods that a NodeSet should have.", offsetof(struct nodeset_status, desired) },
	{ "kube_sunk_nodeset_feasible", "Nodes that fit a NodeSet.", offsetof(struct nodeset_status, feasible) },
	{ "kube_sunk_nodeset_current", "Pods of a NodeSet that stay.", offsetof(struct nodeset_status, current) },
	{ "kube_sunk_nodeset_ready", "Of these, those that are ready.", offsetof(struct nodeset_status, ready) },
	{ "kube_sunk_nodeset_updated", "Of these, those of the template as it is now.",
	  offsetof(struct nodeset_status, updated) },
	{ "kube_sunk_nodeset_drained", "Pods of a NodeSet whose Slurm node is drained.",
	  offsetof(struct nodeset_status, drained) },
	{ "kube_sunk_nodeset_misscheduled", "Pods of a NodeSet on Nodes that no longer match.",
	  offsetof(struct nodeset_status, misscheduled) },
	{ "kube_sunk_nodeset_unavailable", "Desired Pods that are missing, not ready or leaving.",
	  offsetof(struct nodeset_status, unavailable) },
	{ "kube_sunk_nodeset_leaving", "Pods of a NodeSet that are drained to be deleted.",
	  offsetof(struct nodeset_status, leaving) },
};

static void fill_numbers(void *arg)
{
	struct nodesets *c = arg;
	const struct set_entry *e;
	size_t i = 0;

	for (size_t k = 0; k < ARRAY_LEN(gauges); k++)
		metrics_clear(c->o.metrics, gauges[k].name);
	while ((e = map_next(&c->entries, &i))) {
		const struct nodeset *set = store_get_key(c->sets, e->key);
		const struct metric_label labels[] = { { "namespace", set ? set->meta.ns : "" },
			                               { "nodeset", set ? set->meta.name : "" },
			                               { NULL, NULL } };

		for (size_t k = 0; set && e->counted && k < ARRAY_LEN(gauges); k++)
			*metrics_gauge(c->o.metrics, gauges[k].name, gauges[k].help, labels) =
			        (double)*(const int32_t *)((const char *)&e->status + gauges[k].offset);
	}
}

struct nodesets *nodesets_new(const struct nodesets_options *o)
{
	struct nodesets *c = NEW(struct nodesets);

	c->o = *o;
	c->rng = o->seed ? rng_seeded(o->seed) : rng_from_kernel();
	c->sets = o->kube->ops->watch(o->kube, KUBE_NODESETS, NULL, NULL, NULL);
	c->slices = o->kube->ops->watch(o->kube, KUBE_NODESLICES, NULL, NULL, NULL);
	c->pods = o->kube->ops->watch(o->kube, KUBE_PODS, NULL, NULL, NULL);
	c->nodes = o->kube->ops->watch(o->kube, KUBE_NODES, NULL, NULL, NULL);
	store_listen(c->sets, set_changed, c);
	store_listen(c->slices, slice_changed, c);
	store_listen(c->pods, pod_changed, c);
	store_listen(c->nodes, node_changed, c);
	if (o->metrics) {
		c->steps = metrics_counter(o->metrics, "sunk_nodeset_writes_total",
		                           "Writes for NodeSets: Pods, NodeSlices and status.", NULL);
		c->retries = metrics_counter(o->metrics, "sunk_nodeset_retries_total",
		                             "Rounds of writes that had to be tried again.", NULL);
		metrics_on_write(o->metrics, fill_numbers, c);
	}
	return c;
}

void nodesets_free(struct nodesets *c)
{
	struct set_entry *e;
	size_t i = 0;

	if (!c)
		return;
	while ((e = map_next(&c->entries, &i)))
		entry_free(c, e);
	map_done(&c->entries);
	dirty_done(&c->dirty);
	free(c);
}
