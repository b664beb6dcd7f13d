/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "syncer/syncer.h"

#include <errno.h>

#include "base/str.h"
#include "policy/nodeset.h"
#include "syncer/inside.h"

usec_t sync_now(const struct syncer *s)
{
	return clock_mono(s->o.clock);
}

void sync_wake(struct syncer *s)
{
	if (s->o.wake)
		s->o.wake(s->o.wake_arg);
}

/* FNV-1a: only compared with itself. */
uint64_t sync_hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; text && *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3u;
	return h;
}

/* ---- entries ---- */

struct sync_entry *sync_entry_make(struct syncer *s, const char *name)
{
	struct sync_entry *e = map_get(&s->entries, name);

	if (e)
		return e;
	e = NEW(struct sync_entry);
	e->name = mem_strdup(name);
	link_init(&e->parked);
	link_init(&e->pod_turn);
	link_init(&e->words_turn);
	map_put(&s->entries, e->name, e);
	return e;
}

static void entry_free(struct syncer *s, struct sync_entry *e)
{
	sync_hooks_close(s, e, 503, "{\"error\":\"the syncer ends: ask again\"}");
	link_remove(&e->pod_turn);
	link_remove(&e->words_turn);
	map_remove(&s->entries, e->name);
	free(e->name);
	free(e->pod_uid);
	free(e->gone_uid);
	free(e->cordon);
	free(e->settle_rv);
	free(e);
}

void sync_dirty(struct syncer *s, struct sync_entry *e, usec_t at)
{
	dirty_mark(&s->dirty, e->name, at);
	sync_wake(s);
}

const struct pod *sync_pod(const struct syncer *s, const struct sync_entry *e)
{
	return store_get(s->pods, s->o.ns, e->name);
}

static bool is_known(const struct syncer *s, const struct store *store)
{
	usec_t heard = store_seen_alive(store);

	return store_synced(store) && (!heard || sync_now(s) - heard <= s->o.stale_after);
}

bool sync_pods_known(const struct syncer *s)
{
	return is_known(s, s->pods);
}

bool sync_slices_known(const struct syncer *s)
{
	return s->slices && is_known(s, s->slices);
}

/* ---- Pods ---- */

static void pod_changed(void *arg, enum store_event event, const void *was, const void *is)
{
	struct syncer *s = arg;
	const struct pod *pod = is ? is : was;
	struct sync_entry *e = sync_entry_make(s, pod->meta.name);

	(void)event;
	if (is)
		e->seen[e->n_seen++ % SYNC_SEEN] = sync_hash(pod->meta.resource_version);
	sync_dirty(s, e, 0);
}

static void mark_names(struct syncer *s, const struct nodeslice *slice)
{
	struct sync_entry *e;

	for (uint32_t i = 0; slice && i < slice->n_nodes; i++)
		if ((e = map_get(&s->entries, str_or(slice->nodes[i], ""))))
			sync_dirty(s, e, 0);
}

static void slice_changed(void *arg, enum store_event event, const void *was, const void *is)
{
	const struct nodeslice *before = was;
	struct sync_entry *e;

	(void)event;
	for (uint32_t i = 0; before && i < before->n_nodes; i++)
		if ((e = map_get(&((struct syncer *)arg)->entries, str_or(before->nodes[i], ""))))
			e->was_listed = true; /* though it may have come and gone between two looks */
	mark_names(arg, was);
	mark_names(arg, is);
}

/* ---- the whole ---- */

/* As many as there is room for may look whether they still want to write. */
static void give_turns(struct syncer *s)
{
	struct link *l;

	for (unsigned n = s->n_pods; n < SYNC_PODS_MAX && (l = list_take_head(&s->pod_turns)); n++)
		sync_dirty(s, LIST_ITEM(l, struct sync_entry, pod_turn), 0);
	for (unsigned n = s->n_words; n < SYNC_WORDS_MAX && (l = list_take_head(&s->words_turns)); n++)
		sync_dirty(s, LIST_ITEM(l, struct sync_entry, words_turn), 0);
}

static bool has_turns(const struct syncer *s)
{
	return (s->n_pods < SYNC_PODS_MAX && !list_empty(&s->pod_turns)) ||
	       (s->n_words < SYNC_WORDS_MAX && !list_empty(&s->words_turns));
}

usec_t syncer_step(struct syncer *s)
{
	usec_t now = sync_now(s), next;
	unsigned n = 0;
	char *name;

	if (!s->leading)
		return USEC_NEVER;
	feeds_step(s, now);
	if (!store_synced(s->pods) || !s->feeds[PART_NODES].asked)
		return MIN_OF(usec_add(now, 100 * USEC_MSEC), feeds_next(s)); /* until both sides have been read */
	give_turns(s);
	next = sync_holds_step(s, now);
	while (n++ < SYNC_PER_STEP && (name = dirty_take(&s->dirty, now))) {
		struct sync_entry *e = map_get(&s->entries, name);

		free(name);
		if (!e)
			continue;
		sync_look(s, e);
		if (!e->node && !e->slurm_busy && !e->kube_busy && !e->asks_pod && list_empty(&e->parked) &&
		    !sync_pod(s, e))
			entry_free(s, e);
	}
	if (has_turns(s))
		return now; /* some had nothing to write any more: the next */
	return MIN_OF(next, MIN_OF(dirty_next(&s->dirty), feeds_next(s)));
}

void syncer_leading(struct syncer *s, bool leading)
{
	struct sync_entry *e;
	size_t i = 0;

	if (s->leading == leading)
		return;
	s->leading = leading;
	s->term++;
	s->term_since = sync_now(s);
	feeds_term(s);
	while ((e = map_next(&s->entries, &i))) {
		if (leading)
			sync_dirty(s, e, 0);
		else
			sync_hooks_close(s, e, 503, "{\"error\":\"not the leader: ask again\"}");
	}
	if (!leading)
		sync_holds_close(s, "{\"error\":\"not the leader: ask again\"}");
	sync_wake(s);
}

bool syncer_ready(const struct syncer *s, struct err *ret_why)
{
	if (!store_synced(s->pods))
		err_set(ret_why, -EAGAIN, "NodeSet Pods have not been listed yet");
	else if (s->leading && !s->feeds[PART_NODES].asked)
		err_set(ret_why, -EAGAIN, "Slurm's nodes have not been read yet");
	else
		return true;
	return false;
}

void syncer_export(const struct syncer *s, struct buf *out)
{
	struct slurm_snapshot snapshot = { 0 };

	if (s->leading)
		feeds_snapshot(s, &snapshot);
	exporter_write(&snapshot, clock_wall(s->o.clock), out);
}

static usec_t or_else(usec_t given, usec_t otherwise)
{
	return given ? given : otherwise;
}

struct syncer *syncer_new(const struct syncer_options *o)
{
	struct syncer *s = NEW(struct syncer);

	s->o = *o;
	s->o.poll_min = or_else(o->poll_min, 500 * USEC_MSEC);
	s->o.poll_max = or_else(o->poll_max, 30 * USEC_SEC);
	s->o.metrics_interval = or_else(o->metrics_interval, 5 * USEC_SEC);
	s->o.stale_after = or_else(o->stale_after, 2 * USEC_MINUTE);
	s->o.hook_timeout = or_else(o->hook_timeout, 85 * USEC_SEC);
	s->o.reboot_condition = str_or(o->reboot_condition, "PhaseState");
	s->o.reboot_reason = str_or(o->reboot_reason, "production-powerreset");
	s->rng = o->seed ? rng_seeded(o->seed) : rng_from_kernel();
	link_init(&s->holds);
	link_init(&s->pod_turns);
	link_init(&s->words_turns);
	feeds_start(s);
	s->pods = o->kube->ops->watch(o->kube, KUBE_PODS, o->ns, LABEL_NODESET, NULL);
	store_listen(s->pods, pod_changed, s);
	if (o->node_cleanup) {
		s->slices = o->kube->ops->watch(o->kube, KUBE_NODESLICES, o->ns, NULL, NULL);
		store_listen(s->slices, slice_changed, s);
	}
	s->numbers = sync_numbers_new(s);
	return s;
}

void syncer_free(struct syncer *s)
{
	struct sync_entry *e;
	size_t i = 0;

	if (!s)
		return;
	sync_holds_done(s);
	while ((e = map_next(&s->entries, &i)))
		entry_free(s, e);
	map_done(&s->entries);
	dirty_done(&s->dirty);
	feeds_done(s);
	sync_numbers_free(s->numbers);
	free(s);
}
