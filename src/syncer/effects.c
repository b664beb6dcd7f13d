/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Looking at one name: gather, decide, do. On each side one effect at a time; each carries a precondition or can be repeated, and its
 * answer only says "look again".
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "base/str.h"
#include "policy/cleanup.h"
#include "policy/features.h"
#include "policy/nodeset.h"
#include "policy/slurm_conditions.h"
#include "policy/undrain.h"
#include "syncer/extra.h"
#include "syncer/inside.h"

#define RETRY_BASE (200 * USEC_MSEC)
#define RETRY_MAX (30 * USEC_SEC)
#define LOCK_NOTES_MAX 2
#define EPOCH_SHIFT 24 /* leaves 40 bits: enough to differ, few enough to read */

struct effect {
	struct syncer *s;
	struct sync_entry *e; /* busy on that side, and so there */
	enum sync_effect what;
	uint64_t term, epoch;
	usec_t asked;
	char text[DRAIN_REASON_MAX]; /* for the log */
};

static struct effect *begin(struct syncer *s, struct sync_entry *e, enum sync_effect what)
{
	struct effect *x = NEW(struct effect);

	x->s = s;
	x->e = e;
	x->what = what;
	x->term = s->term;
	return x;
}

/* Looked at again when there is room; who waits already keeps its place. */
static void wait_turn(struct link *turns, struct link *turn)
{
	if (list_empty(turn))
		list_add_tail(turns, turn);
}

/* ---- what is known of the Pod ---- */

static void remember(struct sync_entry *e, const struct pod *pod, usec_t now)
{
	const char *cordon = pod_cordon(pod);

	e->had_pod = true;
	if (!str_eq(e->pod_uid, pod->meta.uid)) {
		free(e->gone_uid);
		e->gone_uid = e->pod_uid;
		e->pod_uid = mem_strdup(pod->meta.uid);
		e->own_epoch = 0; /* another Pod counts anew */
		e->marked = 0;
	}
	if (!pair_get(pod->meta.annotations, pod->meta.n_annotations, ANNOTATION_PENDING_DELETION))
		e->marked = 0;
	else if (!e->marked)
		e->marked = now;
	e->cordoned = cordon != NULL;
	if (!str_eq(e->cordon, cordon)) {
		free(e->cordon);
		e->cordon = mem_strdup(cordon);
	}
}

/* Also after a restart: the node itself remembers that it had a Pod. */
static void view_presence(const struct syncer *s, const struct sync_entry *e, const struct pod *pod,
                          const struct extra_memory *memory, bool recalled, struct drain_view *v)
{
	if (!sync_pods_known(s))
		v->presence = PRESENCE_UNKNOWN;
	else if (pod) {
		v->presence = PRESENCE_THERE;
		v->pod = pod;
	} else if (e->had_pod) {
		v->presence = PRESENCE_GONE;
		v->was_cordoned = e->cordoned ? e->cordon : NULL;
	} else if (recalled && str_eq(memory->pod, e->name)) {
		v->presence = PRESENCE_GONE;
		v->was_cordoned = memory->cordoned ? memory->cordon : NULL;
	} else
		v->presence = PRESENCE_NEVER;
}

/* ---- Slurm's side ---- */

static const char *const slurm_outcomes[] = { "ok", "unchanged", "retry", "refused", "gone", "not_leader", "conflict" };

static void node_changed(void *arg, struct slurm_result *r)
{
	struct effect *x = arg;
	struct syncer *s = x->s;
	struct sync_entry *e = x->e;
	usec_t now = sync_now(s), wait = 0;

	e->slurm_busy = false;
	if (x->what == DID_WORDS)
		s->n_words--;
	e->slurm_wrote = now; /* whatever came of it: look at Slurm first */
	e->waits_for_news = true;
	sync_count(s, x->what, slurm_outcomes[r->outcome]);
	if (x->what == DID_DELETE)
		s->feeds[PART_NODES].as_of =
		        0; /* a node that is gone is no change to Slurm: "unchanged" would keep it here */
	switch (r->outcome) {
	case SLURM_GONE: wait = x->what == DID_DELETE ? USEC_SEC : 0; break;
	case SLURM_OK:
		e->slurm_tries = 0;
		if (x->what != DID_WORDS)
			log_info("node %s: %s", e->name, x->text);
		break;
	case SLURM_REFUSED:
		log_error("node %s: %s: %s", e->name, x->text, r->message);
		wait = SYNC_REFUSED;
		break;
	case SLURM_RETRY: wait = backoff_span(&s->rng, e->slurm_tries++, RETRY_BASE, RETRY_MAX); break;
	default: break;
	}
	if (wait)
		e->slurm_not_before = usec_add(now, wait);
	feeds_nodes_soon(s);
	sync_dirty(s, e, usec_add(now, wait));
	free(x);
}

static void change_node(struct syncer *s, struct sync_entry *e, struct effect *x, const struct node_change *change)
{
	e->slurm_busy = true;
	s->o.slurm->ops->call(
	        s->o.slurm,
	        &(struct slurm_request) { .verb = SLURM_CHANGE_NODE, .node = e->name, .node_change = change },
	        node_changed, x);
}

static void do_drain(struct syncer *s, struct sync_entry *e, const struct drain_decision *d)
{
	static const struct {
		enum sync_effect what;
		const char *text;
	} acts[] = {
		[DRAIN_SET] = { DID_DRAIN, "drained: " },
		[DRAIN_REWORD] = { DID_REWORD, "drained, with another reason: " },
		[DRAIN_LIFT] = { DID_UNDRAIN, "undrained; the reason was: " },
	};
	struct effect *x = begin(s, e, acts[d->act].what);
	struct node_change change = drain_change(d, e->node);

	snprintf(x->text, sizeof(x->text), "%s%s", acts[d->act].text,
	         d->act == DRAIN_LIFT ? str_or(e->node->reason, "") : d->reason);
	str_mask_unsafe(x->text);
	change_node(s, e, x, &change);
}

/* Extra, Comment and features: what people read. True when something is under way or to come. */
static void look_words(struct syncer *s, struct sync_entry *e, const struct pod *pod, const struct extra_memory *memory)
{
	_cleanup_buf_ struct buf extra = BUF(EXTRA_TEXT_MAX);
	struct node_change change = { 0 };
	struct features features;
	struct err err = { 0 };
	struct effect *x;

	if (str_empty(pod->node_name))
		return; /* nothing to tell yet */
	features_decide(e->node->features, memory->features,
	                pair_get(pod->meta.annotations, pod->meta.n_annotations, ANNOTATION_FEATURES), &features);
	if (extra_merge(e->node->extra, pod, features.ours, &extra, &err)) {
		change.what |= NODE_CHANGE_EXTRA;
		change.extra = buf_text(&extra);
	}
	if (features.change && !err.code) { /* without Extra nobody would remember which are ours */
		change.what |= NODE_CHANGE_FEATURES;
		change.features = features.all;
	}
	if (!str_eq(e->node->comment, pod->node_name)) {
		change.what |= NODE_CHANGE_COMMENT;
		change.comment = pod->node_name;
	}
	if (!change.what)
		return;
	if (sync_now(s) < e->words_not_before) {
		sync_dirty(s, e, e->words_not_before);
		return;
	}
	if (s->n_parked && sync_now(s) < usec_add(s->last_hook, SYNC_LOCKING_SPAN)) { /* prologs first */
		sync_dirty(s, e, usec_add(s->last_hook, SYNC_LOCKING_SPAN));
		return;
	}
	if (s->n_words >= SYNC_WORDS_MAX) {
		wait_turn(&s->words_turns, &e->words_turn);
		return;
	}
	s->n_words++;
	e->words_not_before = usec_add(sync_now(s), SYNC_WORDS_PAUSE);
	change.expect_extra_is = true; /* a person who writes it at the same moment keeps their words */
	change.expect_extra = e->node->extra;
	x = begin(s, e, DID_WORDS);
	str_copy(x->text, sizeof(x->text), "Extra, Comment or features");
	change_node(s, e, x, &change);
}

static void pod_looked_for(void *arg, const struct kube_result *r, const void *object)
{
	struct effect *x = arg;
	struct sync_entry *e = x->e;

	(void)object;
	e->asks_pod = false;
	e->no_pod = r->outcome == KUBE_NOT_FOUND ? x->asked : 0;
	if (r->outcome == KUBE_OK)
		e->missing = 0; /* what the watch does not show yet */
	else if (r->outcome == KUBE_FORBIDDEN)
		log_error("node %s is not deleted: %s", e->name, r->message);
	sync_dirty(x->s, e, e->no_pod ? 0 : usec_add(sync_now(x->s), MAX_OF(USEC_SEC, r->retry_after)));
	free(x);
}

static void look_for_pod(struct syncer *s, struct sync_entry *e)
{
	struct effect *x;

	if (e->asks_pod)
		return;
	x = begin(s, e, DID_DELETE);
	x->asked = sync_now(s);
	e->asks_pod = true;
	s->o.kube->ops->get(s->o.kube, &(struct kube_ref) { .kind = KUBE_PODS, .ns = s->o.ns, .name = e->name },
	                    pod_looked_for, x);
}

/* A node that no NodeSet has any more leaves Slurm. */
static void look_cleanup(struct syncer *s, struct sync_entry *e, const struct pod *pod,
                         const struct extra_memory *memory)
{
	bool known = sync_slices_known(s) && sync_pods_known(s);
	struct cleanup_view v = { .node = e->node,
		                  .known = known,
		                  .listed = s->slices && store_find_count(s->slices, NODESLICE_BY_NODE, e->name) > 0,
		                  .pod = pod != NULL,
		                  .now = sync_now(s),
		                  .asked = s->feeds[PART_NODES].asked,
		                  .missing = e->missing,
		                  .no_pod = e->no_pod };
	struct cleanup_decision d;
	struct effect *x;

	if (!s->slices)
		return;
	e->was_listed |= v.listed;
	v.ours = e->was_listed || (*memory->nodeset && str_eq(memory->pod, e->name) && str_eq(memory->ns, s->o.ns));
	d = cleanup_decide(&v);
	e->missing = d.missing;
	e->waits_for_news |= d.wants_news;
	if (!known && v.ours && !pod)
		d.again = usec_add(v.now, USEC_SEC); /* nothing was decided */
	if (d.again != USEC_NEVER)
		sync_dirty(s, e, d.again);
	if (d.ask_pod)
		look_for_pod(s, e);
	if (!d.remove)
		return;
	x = begin(s, e, DID_DELETE);
	snprintf(x->text, sizeof(x->text), "deleted, no NodeSet has it any more; it was drained: %s",
	         e->node->flags & NODEF_DRAIN ? str_or(e->node->reason, "") : "no");
	str_mask_unsafe(x->text);
	e->slurm_busy = true;
	s->o.slurm->ops->call(s->o.slurm, &(struct slurm_request) { .verb = SLURM_DELETE_NODE, .node = e->name },
	                      node_changed, x);
}

static void look_slurm(struct syncer *s, struct sync_entry *e, const struct pod *pod)
{
	usec_t now = sync_now(s), asked = s->feeds[PART_NODES].asked;
	struct drain_view v = { .node = e->node };
	struct extra_memory memory = { 0 };
	struct drain_decision d;
	bool recalled;

	if (!e->node || e->slurm_busy)
		return;
	if (asked <= e->slurm_wrote || asked <= s->term_since) {
		e->waits_for_news = true;
		return;
	}
	if (now < e->slurm_not_before) {
		sync_dirty(s, e, e->slurm_not_before);
		return;
	}
	recalled = extra_recall(e->node->extra, &memory);
	view_presence(s, e, pod, &memory, recalled, &v);
	d = drain_decide(&v);
	if (d.act == DRAIN_KEEP)
		d = undrain_decide(&v);
	if (d.act != DRAIN_KEEP)
		do_drain(s, e, &d);
	else if (v.presence == PRESENCE_THERE)
		look_words(s, e, pod, &memory);
	if (!e->slurm_busy)
		look_cleanup(s, e, pod, &memory);
}

/* ---- Kubernetes' side ---- */

static const char *const kube_outcomes[] = { "ok",        "not_found", "conflict", "exists",    "refused",
	                                     "forbidden", "budget",    "retry",    "not_leader" };

static bool shown(const struct sync_entry *e, const char *version)
{
	for (int i = 0; i < SYNC_SEEN; i++)
		if (e->seen[i] && e->seen[i] == sync_hash(version))
			return true;
	return false;
}

static void pod_written(void *arg, const struct kube_result *r)
{
	struct effect *x = arg;
	struct syncer *s = x->s;
	struct sync_entry *e = x->e;
	usec_t now = sync_now(s), wait = 0;

	e->kube_busy = false;
	s->n_pods--;
	sync_count(s, x->what, kube_outcomes[r->outcome]);
	switch (r->outcome) {
	case KUBE_OK:
		e->kube_tries = 0;
		if (x->epoch && x->term == s->term)
			e->own_epoch = x->epoch;
		if (r->resource_version && !shown(e, r->resource_version)) {
			free(e->settle_rv);
			e->settle_rv = mem_strdup(r->resource_version);
			e->settle_until = usec_add(now, SYNC_SETTLE);
		}
		break;
	case KUBE_NOT_FOUND:
		e->own_epoch = 0; /* the Pod that we see is no more, and its lock neither */
		/* fall through */
	case KUBE_CONFLICT:
	case KUBE_EXISTS:
		wait = MIN_OF(e->kube_tries, 20u) * 20 * USEC_MSEC;
		e->kube_tries++;
		break;
	case KUBE_REFUSED:
		log_error("Pod %s/%s: %s", s->o.ns, e->name, r->message);
		wait = SYNC_REFUSED;
		break;
	case KUBE_FORBIDDEN: /* to everybody, for a moment, by an API server that has just started and not read its roles yet */
		log_error("Pod %s/%s: %s", s->o.ns, e->name, r->message);
		/* fall through */
	case KUBE_BUDGET:
	case KUBE_RETRY:
		wait = backoff_span(&s->rng, e->kube_tries++, RETRY_BASE, RETRY_MAX);
		wait = MAX_OF(wait, r->retry_after);
		break;
	case KUBE_NOT_LEADER: wait = USEC_SEC; break;
	}
	e->kube_not_before = usec_add(now, wait);
	sync_dirty(s, e, wait ? e->kube_not_before : 0);
	free(x);
}

static void write_pod(struct syncer *s, struct sync_entry *e, const struct pod *pod, const struct slurm_conditions *c,
                      const struct lock_ask_decision *lock)
{
	struct kube_change change = KUBE_CHANGE(((struct kube_ref) {
	        .kind = KUBE_PODS, .ns = pod->meta.ns, .name = pod->meta.name, .uid = pod->meta.uid }));
	struct pair notes[LOCK_NOTES_MAX];
	struct effect *x = begin(s, e, DID_POD);
	char epoch[24];

	change.annotations = notes;
	if (lock->act == LOCK_ASK_REQUEST) {
		snprintf(epoch, sizeof(epoch), "%" PRIu64, lock->epoch);
		notes[change.n_annotations++] = (struct pair) { LOCK_REQUEST_ANNOTATION, lock_level_text(lock->level) };
		notes[change.n_annotations++] = (struct pair) { LOCK_EPOCH_ANNOTATION, epoch };
		x->epoch = lock->epoch;
	} else if (lock->act == LOCK_ASK_WITHDRAW) {
		notes[change.n_annotations++] = (struct pair) { LOCK_REQUEST_ANNOTATION, NULL };
		e->own_epoch = 0; /* from now on the lock may go at any moment: who asks next gets a new one */
	}
	if (change.n_annotations)
		change.ref.resource_version = pod->meta.resource_version;
	change.labels = c->labels;
	change.n_labels = c->n_labels;
	/* Conditions are a request of their own, whose failure would hide that the lock's was written: they follow. */
	change.conditions = c->conditions;
	change.n_conditions = lock->act == LOCK_ASK_KEEP ? c->n_conditions : 0;
	e->kube_busy = true;
	s->n_pods++;
	s->o.kube->ops->change(s->o.kube, &change, pod_written, x);
}

/* Until the watch shows what we wrote, the store is older than the truth. */
static bool is_settling(struct sync_entry *e, usec_t now)
{
	if (!e->settle_rv)
		return false;
	if (now < e->settle_until && !shown(e, e->settle_rv))
		return true;
	free(e->settle_rv);
	e->settle_rv = NULL;
	return false;
}

static struct lock_ask_decision view_lock(struct syncer *s, struct sync_entry *e, const struct pod *pod)
{
	struct lock_ask_view v = { .asked = sync_hooks_level(e, pod),
		                   .own_epoch = e->epoch_term == s->term ? e->own_epoch : 0,
		                   .first_epoch = sync_hash(pod->meta.uid) >> EPOCH_SHIFT };
	bool busy = e->node && snode_is_running(e->node);

	lock_read(&pod->meta, &v.pod);
	v.may_clear = lock_may_clear(busy, s->feeds[PART_NODES].asked, e->hook, s->term_since);
	if (v.pod.request && !busy && !v.may_clear)
		e->waits_for_news = true;
	return lock_ask_decide(&v);
}

/* While the operator locks the node for a prolog, nobody else writes the Pod: each write would cost the other one a conflict. */
static bool is_being_locked(struct syncer *s, struct sync_entry *e, const struct pod *pod, usec_t now)
{
	usec_t until = usec_add(e->hook, SYNC_LOCKING_SPAN);

	if (sync_hooks_level(e, pod) == LEVEL_NONE || now >= until)
		return false;
	sync_dirty(s, e, until);
	return true;
}

static void look_kube(struct syncer *s, struct sync_entry *e, const struct pod *pod)
{
	usec_t now = sync_now(s), asked = s->feeds[PART_NODES].asked;
	struct slurm_conditions_view v = { .pod = pod,
		                           .node = e->node,
		                           .now = clock_wall(s->o.clock),
		                           .mono = now,
		                           .node_asked = asked,
		                           .undrained = e->undrained,
		                           .marked = e->marked,
		                           .hook = e->hook };
	struct slurm_conditions c;
	struct lock_ask_decision lock;

	if (e->epoch_term != s->term) {
		e->epoch_term = s->term;
		e->own_epoch = 0;
	}
	lock = view_lock(s, e, pod);
	sync_hooks_look(s, e, pod, lock.holds);
	if (e->kube_busy)
		return;
	if (is_settling(e, now)) {
		sync_dirty(s, e, e->settle_until);
		return;
	}
	if (now < e->kube_not_before) {
		sync_dirty(s, e, e->kube_not_before);
		return;
	}
	if (asked <= s->term_since) {
		e->waits_for_news = true;
		return;
	}
	if ((e->hook && asked <= e->hook) || (e->marked && asked <= e->marked))
		e->waits_for_news = true;
	slurm_conditions_decide(&v, &c);
	if (c.again != USEC_NEVER)
		sync_dirty(s, e, c.again);
	if (lock.act == LOCK_ASK_KEEP && ((!c.n_conditions && !c.n_labels) || is_being_locked(s, e, pod, now)))
		return;
	if (s->n_pods >= SYNC_PODS_MAX && lock.act != LOCK_ASK_REQUEST)
		wait_turn(&s->pod_turns, &e->pod_turn); /* a prolog does not wait for its turn */
	else
		write_pod(s, e, pod, &c, &lock);
}

void sync_look(struct syncer *s, struct sync_entry *e)
{
	const struct pod *pod = sync_pod(s, e);

	if (pod) {
		remember(e, pod, sync_now(s));
		look_kube(s, e, pod);
	} else if (sync_pods_known(s))
		sync_hooks_look(s, e, NULL, LEVEL_NONE);
	look_slurm(s, e, pod);
	if (!sync_pods_known(s))
		sync_dirty(s, e, usec_add(sync_now(s), USEC_SEC)); /* nothing was decided: look again */
}
