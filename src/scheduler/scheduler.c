/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scheduler/inside.h"

#include <errno.h>

#include "base/log.h"
#include "base/str.h"
#include "policy/validate.h"

usec_t now_of(const struct scheduler *s)
{
	return clock_mono(s->o.clock);
}

void wake(struct scheduler *s)
{
	if (s->o.wake)
		s->o.wake(s->o.wake_arg);
}

/* FNV-1a: only compared with itself. */
uint64_t hash_text(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; text && *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3u;
	return h;
}

/* ---- entries ---- */

struct entry *entry_get(struct scheduler *s, const char *uid)
{
	return map_get(&s->by_uid, uid);
}

struct entry *entry_make(struct scheduler *s, const char *uid, const char *ns, const char *name)
{
	struct entry *e = entry_get(s, uid);

	if (e || strlen(uid) >= sizeof(e->uid))
		return e;
	e = NEW(struct entry);
	str_copy(e->uid, sizeof(e->uid), uid);
	e->key = str_printf("%s/%s", ns, name);
	link_init(&e->asks);
	link_init(&e->submit_turn);
	link_init(&e->condition_turn);
	link_init(&e->binding);
	map_put(&s->by_uid, e->uid, e);
	return e;
}

static void entry_free(struct scheduler *s, struct entry *e)
{
	while (e->n_jobs)
		jobs_forget(s, e->jobs[e->n_jobs - 1]);
	hooks_close(s, e, 503, "{\"error\":\"the scheduler ends: ask again\"}");
	map_remove(&s->by_uid, e->uid);
	link_remove(&e->submit_turn);
	effects_no_wait(s, e);
	for (uint32_t i = 0; i < e->n_avoid; i++)
		free(e->avoid[i].node);
	free(e->avoid);
	free(e->jobs);
	free(e->key);
	free(e->refused);
	free(e->place_why);
	free(e->settle_rv);
	s->n_holds -= e->hold_node != NULL;
	free(e->hold_node);
	effects_unbind(e);
	free(e->selected);
	free(e->owed);
	free(e->owed_reason);
	free(e);
}

void entry_drop_unused(struct scheduler *s, struct entry *e)
{
	if (!e->busy && !e->n_jobs && !e->hold_node && list_empty(&e->asks) && !entry_pod(s, e))
		entry_free(s, e);
}

void entry_hurry(struct entry *e)
{
	e->not_before = 0;
	e->tries = 0;
}

void entry_dirty(struct scheduler *s, struct entry *e, usec_t at)
{
	dirty_mark(&s->dirty, e->uid, at);
	wake(s);
}

const struct pod *entry_pod(const struct scheduler *s, const struct entry *e)
{
	const struct pod *pod = store_get_key(s->pods, e->key);

	return pod && str_eq(pod->meta.uid, e->uid) ? pod : NULL;
}

/* ---- Pods ---- */

bool pod_in_scope(const struct scheduler *s, const struct pod *pod)
{
	return str_eq(pod->scheduler_name, s->rules.scheduler_name) && rules_have_namespace(&s->rules, pod->meta.ns);
}

static void note_end(struct entry *e, const struct pod *pod)
{
	if (!pod_is_over(pod))
		return;
	e->exit_code = pod_exit_code(pod);
	e->has_exit_code = true;
}

static void pod_changed(void *arg, enum store_event event, const void *was, const void *is)
{
	struct scheduler *s = arg;
	const struct pod *before = was, *pod = is ? is : was;
	struct entry *e;

	if (str_empty(pod->meta.uid))
		return;
	/* Another Pod under the same name: the old one is gone, whatever the watch left out. */
	if (event == STORE_CHANGED && !str_eq(before->meta.uid, pod->meta.uid)) {
		e = entry_get(s, before->meta.uid);
		if (e)
			entry_dirty(s, e, 0);
	}
	e = entry_get(s, pod->meta.uid);
	if (!e && is && pod_in_scope(s, pod)) {
		e = entry_make(s, pod->meta.uid, pod->meta.ns, pod->meta.name);
		if (e && store_synced(s->pods))
			e->seen_at = now_of(s);
	}
	if (!e)
		return;
	e->seen = true;
	if (is)
		note_end(e, pod); /* it may be gone before it is looked at */
	entry_dirty(s, e, 0);
}

static uint64_t annotations_hash(const struct pod *pod)
{
	uint64_t h = 0;

	for (uint32_t i = 0; i < pod->meta.n_annotations; i++)
		if (!str_eq(pod->meta.annotations[i].key, ANNOTATION_JOB_ID))
			h = h * 31 +
			    (hash_text(pod->meta.annotations[i].key) ^ (hash_text(pod->meta.annotations[i].value) * 3));
	return h;
}

/* ---- looking at one ---- */

static void note_pod(struct scheduler *s, struct entry *e, const struct pod *pod, usec_t now)
{
	(void)s;
	if (!pod) {
		if (!e->gone_since)
			e->gone_since = now;
		return;
	}
	e->gone_since = 0;
	e->seen = true;
	if (pod_is_over(pod) && !e->over_since)
		e->over_since = now;
	note_end(e, pod);
	if (e->refused && e->annotations != annotations_hash(pod)) { /* changed by someone: Slurm may take it now */
		free(e->refused);
		e->refused = NULL;
		e->refusals = 0;
	}
	e->annotations = annotations_hash(pod);
}

static bool is_settling(struct entry *e, const struct pod *pod, usec_t now)
{
	if (!e->settle_rv)
		return false;
	if (pod && str_eq(pod->meta.resource_version, e->settle_rv) && now < e->settle_until)
		return true;
	free(e->settle_rv);
	e->settle_rv = NULL;
	return false;
}

static struct placeholder_job *view_jobs(struct scheduler *s, struct entry *e, const char *excluded)
{
	struct placeholder_job *jobs = mem_alloc_n(e->n_jobs, sizeof(*jobs));
	uint64_t want = jobs_nodes_hash(s, excluded);

	for (uint32_t i = 0; i < e->n_jobs; i++) {
		struct known_job *k = e->jobs[i];

		jobs[i] = k->p;
		jobs[i].node = k->node;
		jobs[i].reason = k->reason;
		jobs[i].preemptor = k->preemptor;
		jobs[i].kube_node = places_kube_node(s, k->node);
		jobs[i].excluded_is_current = k->excluded == want;
	}
	return jobs;
}

/* What we asked for counts as done until we know better: the watch may show it much later, and a job must not end under a Pod
 * that only we know of. */
static const struct pod *as_bound(struct scheduler *s, struct entry *e, const struct pod *pod, struct pod *copy)
{
	if (!pod || !e->bound_node)
		return pod;
	if (pod->node_name) {
		effects_shown(s, e, pod->node_name);
		return pod;
	}
	*copy = *pod;
	copy->node_name = e->bound_node;
	return copy;
}

static bool pod_needs_nodes(const struct pod *pod)
{
	return pod && !pod->node_name && !pod->meta.deletion && !pod_is_over(pod) && !pod->n_gates;
}

/* Everything about one Pod, once: gather, decide, do. */
static void look(struct scheduler *s, struct entry *e)
{
	usec_t now = now_of(s), again = USEC_NEVER;
	const struct pod *pod = entry_pod(s, e);
	bool in_scope = pod && pod_in_scope(s, pod);
	_cleanup_problems_ struct problems problems = PROBLEMS_INIT;
	_cleanup_free_ char *excluded = NULL;
	_cleanup_free_ struct placeholder_job *jobs = NULL;
	const struct feasible *feasible = NULL;
	_cleanup_volumes_ struct pod_volumes volumes = { 0 };
	char volume_why[FIT_WHY_MAX] = "its volumes are not known yet";
	struct wishes wishes = { 0 };
	uint32_t claim = 0;
	const struct placeholder_job *j;
	struct pod copy;
	struct placeholder_view view;
	struct decision d;

	note_pod(s, e, pod, now);
	pod = as_bound(s, e, pod, &copy);
	hooks_answer(s, e, pod, now);
	if (e->busy)
		return;
	if (is_settling(e, pod, now)) {
		entry_dirty(s, e, e->settle_until);
		return;
	}
	if (now < e->not_before) {
		entry_dirty(s, e, e->not_before);
		return;
	}
	if (in_scope && pod_needs_nodes(pod)) {
		validate_pod(pod, &s->rules, &wishes, &problems);
		bool known = volumes_find(s, pod, &volumes);

		if (known &&
		    (!pod->n_volumes || volumes_before_bind(pod, &volumes, NULL, &claim, volume_why) == VOLUMES_READY))
			volume_why[0] = '\0';
		if (known || !pod->n_volumes) /* else nobody knows where it can reach them */
			feasible = places_feasible(s, pod, &volumes);
		excluded = places_excluded(s, e, feasible, &wishes);
	}
	jobs = view_jobs(s, e, excluded);
	view = (struct placeholder_view) {
		.pod = pod,
		.pod_was_seen = e->seen,
		.in_scope = in_scope,
		.pod_since = pod ? e->over_since : e->gone_since,
		.jobs = jobs,
		.n_jobs = e->n_jobs,
		.jobs_known = jobs_known(s, e),
		.bind_unsure = e->bound_node && !e->bind_sure,
		.problems = &problems,
		.feasible = feasible,
		.waits_for = volume_why[0] && pod && pod->n_volumes ? volume_why : NULL,
		.place_why = e->place_why,
		.refused = e->refused,
		.refused_until = e->refused_until,
		.rules = &s->rules,
		.now = now,
	};
	j = placeholder_job_of(&view);
	view.terminate = j && j->id == e->terminate_job && j->restarts == e->terminate_restarts;
	placeholder_decide(&view, &d);
	if (d.step == STEP_PLACE) { /* looked at in the moment of binding, not before */
		places_try(s, e, pod, &volumes, jobs_get(s, d.job));
		view.placing = e->placing;
		view.place_why = e->place_why;
		view.placing_since = e->placing_since;
		placeholder_decide(&view, &d);
	}
	places_hold(s, e, pod, &d);
	if (d.step != STEP_REST)
		log_debug("Pod %s: %s job %u", e->key, step_name(d.step), d.job);
	effects_tell(s, e, pod, &d);
	if (problems.n_warnings && pod && !e->n_jobs) {
		struct buf text = BUF(DECISION_TEXT_MAX - 1);

		problems_join(&problems, true, "`sunk validate` tells all of them", &text);
		effects_event(s, e, SAID_WARNING, true, "ValidationWarning", buf_text(&text));
		buf_done(&text);
	}
	if (pod && effects_conditions(s, e, pod, &d, now, &again))
		return;
	if (d.step == STEP_PLACE) /* the node is not known yet */
		d.again = usec_add(now, 200 * USEC_MSEC);
	if (d.step != STEP_REST && effects_do(s, e, pod, &d, feasible, &wishes, &volumes))
		return;
	again = MIN_OF(again, d.again);
	if (again != USEC_NEVER)
		entry_dirty(s, e, again);
	entry_drop_unused(s, e);
}

/* ---- the whole ---- */

void look_at_all(struct scheduler *s)
{
	struct entry *e;
	size_t i = 0;

	while ((e = map_next(&s->by_uid, &i)))
		entry_dirty(s, e, 0);
}

/* Pods are refused by it, and scripts keep what they were given: no guess. */
static bool kill_wait_known(const struct scheduler *s)
{
	return s->o.kill_wait_given || s->conf_known;
}

usec_t scheduler_step(struct scheduler *s)
{
	usec_t now = now_of(s), next, volumes;
	unsigned n = 0;
	char *uid;

	if (!s->leading)
		return USEC_NEVER;
	jobs_step(s, now);
	places_step(s, now);
	who_step(s, now);
	effects_step(s, now);
	volumes = volumes_step(s, now);
	if (store_synced(s->pods) && store_synced(s->nodes) && s->listed_at && kill_wait_known(s)) {
		while (n++ < ENTRIES_PER_STEP && (uid = dirty_take(&s->dirty, now))) {
			struct entry *e = entry_get(s, uid);

			if (e)
				look(s, e);
			free(uid);
		}
		next = dirty_next(&s->dirty);
	} else {
		next = usec_add(now, 100 * USEC_MSEC); /* until both sides have been read */
	}
	loads_step(s);
	next = MIN_OF(next, MIN_OF(jobs_next(s), who_next(s)));
	next = MIN_OF(next, MIN_OF(effects_next(s), volumes));
	return MIN_OF(next, places_next(s));
}

void scheduler_leading(struct scheduler *s, bool leading)
{
	struct entry *e;
	size_t i = 0;

	if (s->leading == leading)
		return;
	s->leading = leading;
	s->term++;
	s->term_since = now_of(s);
	s->listed_at = 0;
	s->list_digest = s->states_digest = 0;
	s->list_due = s->states_due = s->conf_due = 0;
	s->list_wanted = s->term_since;
	loads_give_up(s);
	volumes_forget_given(s);
	who_forget(s);
	if (leading) /* another one led meanwhile, and the watches may not have shown what it did */
		s->o.kube->ops->refresh(s->o.kube);
	while ((e = map_next(&s->by_uid, &i))) {
		if (leading && !e->busy) /* the fresh stores will show whether a binding of then came through */
			effects_unbind(e);
		if (leading)
			entry_dirty(s, e, 0);
		else
			hooks_close(s, e, 503, "{\"error\":\"not the leader: ask again\"}");
	}
	wake(s);
}

/* What has not been read yet; NULL when all has. Who does not lead reads Kubernetes only. */
static const char *not_read(const struct scheduler *s)
{
	if (!store_synced(s->pods))
		return "Pods have";
	if (!store_synced(s->nodes))
		return "Nodes have";
	if (s->leading && !s->listed_at)
		return "Slurm's jobs have";
	if (s->leading && !kill_wait_known(s))
		return "Slurm's settings have";
	if (s->leading && !places_known(s))
		return "Slurm's nodes have";
	return NULL;
}

bool scheduler_ready(const struct scheduler *s, struct err *ret_why)
{
	const char *what = not_read(s);

	if (what)
		err_set(ret_why, -EAGAIN, "%s not been listed yet", what);
	return !what;
}

struct scheduler *scheduler_new(const struct scheduler_options *o)
{
	struct scheduler *s = NEW(struct scheduler);
	const struct kube_port_ops *kube = o->kube->ops;

	s->o = *o;
	s->rules = o->rules;
	s->by_uid = MAP_INIT;
	s->by_job = MAP_INIT;
	s->given = MAP_INIT;
	s->dirty = DIRTY_INIT;
	link_init(&s->submit_turns);
	link_init(&s->condition_turns);
	link_init(&s->bindings);
	link_init(&s->wants);
	link_init(&s->list_wants);
	link_init(&s->who);
	s->rng = o->seed ? rng_seeded(o->seed) : rng_from_kernel();
	s->pods = kube->watch(o->kube, KUBE_PODS, NULL, NULL, NULL);
	s->nodes = kube->watch(o->kube, KUBE_NODES, NULL, NULL, NULL);
	s->places = places_new(s);
	s->numbers = numbers_new(s);
	store_listen(s->pods, pod_changed, s);
	o->slurm->ops->on_ring(o->slurm, jobs_ring, s);
	return s;
}

void scheduler_free(struct scheduler *s)
{
	struct entry *e;
	size_t i = 0;

	if (!s)
		return;
	s->o.wake = NULL;
	loads_done(s);
	who_forget(s);
	while ((e = map_next(&s->by_uid, &i)))
		entry_free(s, e);
	map_done(&s->by_uid);
	map_done(&s->by_job);
	volumes_forget_given(s);
	dirty_done(&s->dirty);
	free(s->memo_nodes);
	free(s->partitions_block);
	places_free(s->places);
	numbers_free(s->numbers);
	free(s);
}
