/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Doing what was decided: one effect for one Pod at a time. Each carries a precondition (uid, resourceVersion) or can be
 * repeated; its answer only says "look again", unless it teaches something (the id of the job, that Slurm refuses).
 */
#include "scheduler/inside.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "base/str.h"
#include "net/token.h"

#define RETRY_BASE (200 * USEC_MSEC)
#define RETRY_MAX (30 * USEC_SEC)
#define REFUSED_BASE (15 * USEC_SEC)
#define REFUSED_MAX (5 * USEC_MINUTE)
#define DOUBT_SPAN (3 * USEC_SEC) /* what slurmctld had in hand when its answer was lost is done by then */
#define REASON_FRESH USEC_SEC
#define REASON_PAUSE (50 * USEC_MSEC)
#define REASON_AGAIN (500 * USEC_MSEC)
#define REASON_PATIENCE (5 * USEC_SEC)
#define OWED_SPAN (10 * USEC_SEC) /* so long a Pod that is gone can wait for a name */
#define STALE_TRIES_MAX 4
#define URL_MAX 1024
#define MUTE_SPAN (30 * USEC_SEC)

/* An effect under way. */
struct effect {
	struct scheduler *s;
	struct entry *e; /* busy, and so there */
	enum step step;
	uint32_t job;
	uint64_t term;
	char *node, *excluded, *rv, *volume, *claim_uid, *claim_rv;
	usec_t began;
	bool avoid, paced;
	void (*go)(struct effect *x); /* what comes once the job is surely the one that is meant */
	int state; /* of the job, as it was when this was decided */
	bool first; /* BIND, TAKE_VOLUME: no other one may have come through before */
};

static struct effect *begin(struct scheduler *s, struct entry *e, const struct pod *pod, enum step step, uint32_t job)
{
	struct effect *x = NEW(struct effect);

	*x = (struct effect) { .s = s, .e = e, .step = step, .job = job, .term = s->term, .began = now_of(s) };
	x->rv = pod ? mem_strdup(pod->meta.resource_version) : NULL;
	e->busy = true;
	return x;
}

/* The entry is free for the next step; `wait` until then. */
static void end(struct effect *x, usec_t wait)
{
	struct scheduler *s = x->s;
	struct entry *e = x->e;

	e->busy = false;
	if (wait)
		e->not_before = usec_add(now_of(s), wait);
	entry_dirty(s, e, e->not_before > now_of(s) ? e->not_before : 0);
	free(x->node);
	free(x->excluded);
	free(x->rv);
	free(x->volume);
	free(x->claim_uid);
	free(x->claim_rv);
	free(x);
}

static usec_t pause_of(struct effect *x, usec_t asked_for)
{
	usec_t span = backoff_span(&x->s->rng, x->e->tries, RETRY_BASE, RETRY_MAX);

	if (x->e->tries < 1000)
		x->e->tries++;
	count(x->s, COUNT_RETRIES);
	return MAX_OF(span, asked_for);
}

void effects_send(struct scheduler *s, const char *key, const char *uid, bool warning, const char *reason,
                  const char *text)
{
	const char *slash = strchr(key, '/');
	_cleanup_free_ char *ns = mem_strndup(key, (size_t)(slash - key));

	if (warning)
		log_info("Pod %s: %s: %s", key, reason, text);
	s->o.kube->ops->event(s->o.kube,
	                      &(struct kube_event) {
	                              .about = { .kind = KUBE_PODS, .ns = ns, .name = slash + 1, .uid = uid },
	                              .type = warning ? "Warning" : "Normal",
	                              .reason = reason,
	                              .action = "Scheduling",
	                              .message = text,
	                      });
}

static void send_event(struct scheduler *s, const struct entry *e, bool warning, const char *reason, const char *text)
{
	effects_send(s, e->key, e->uid, warning, reason, text);
}

void effects_event(struct scheduler *s, struct entry *e, enum said kind, bool warning, const char *reason,
                   const char *text)
{
	uint64_t said = hash_text(reason) * 31 + hash_text(text);

	if (e->said[kind] == said)
		return;
	e->said[kind] = said;
	send_event(s, e, warning, reason, text);
}

static void owe(struct entry *e, const char *reason, const char *text, uint32_t job)
{
	e->owed_job = job;
	free(e->owed);
	free(e->owed_reason);
	e->owed = mem_strdup(text);
	e->owed_reason = mem_strdup(reason);
}

/* What is owed to a Pod that has gone meanwhile: told as soon as more is known, or will not be. */
static void pay(struct scheduler *s, struct entry *e)
{
	const struct known_job *j = jobs_get(s, e->owed_job);
	usec_t due = usec_add(e->gone_since, OWED_SPAN);
	_cleanup_free_ char *text = NULL;

	if (j && j->entry != e)
		j = NULL;
	if (j && !j->p.preemptor_sought && now_of(s) < due) {
		entry_dirty(s, e, due);
		return;
	}
	if (j && j->preemptor)
		text = str_printf("%s. Preempted by Slurm job %s", e->owed, j->preemptor);
	send_event(s, e, true, e->owed_reason, text ? text : e->owed);
	owe(e, NULL, NULL, 0);
}

void effects_tell(struct scheduler *s, struct entry *e, const struct pod *pod, const struct decision *d)
{
	uint64_t said;

	if (!pod && e->owed)
		pay(s, e);
	if (!pod || !d->event)
		return;
	if (!d->event_job) {
		effects_event(s, e, SAID_STEP, d->warning, d->event, d->event_text);
		return;
	}
	said = hash_text(d->event) * 31 + d->event_job;
	if (e->said[SAID_END] == said)
		return;
	if (d->event_waits) {
		owe(e, d->event, d->event_text, d->event_job);
		return;
	}
	owe(e, NULL, NULL, 0);
	e->said[SAID_END] = said;
	if (!who_tell(s, e, d))
		send_event(s, e, d->warning, d->event, d->event_text);
}

static struct kube_ref ref_of(const struct pod *pod)
{
	return (struct kube_ref) {
		.kind = KUBE_PODS, .ns = pod->meta.ns, .name = pod->meta.name, .uid = pod->meta.uid
	};
}

/* ---- Kubernetes ---- */

/* Until the watch shows what we wrote, the store is older than the truth. */
static void settle(struct effect *x)
{
	free(x->e->settle_rv);
	x->e->settle_rv = TAKE_PTR(x->rv);
	x->e->settle_until = usec_add(now_of(x->s), SETTLE_SPAN);
}

static void bound(struct scheduler *s, struct entry *e, const char *node, uint32_t job)
{
	char text[512];

	count(s, COUNT_BOUND);
	s->moved_at = now_of(s);
	if (e->started_at) {
		latency(s, LATENCY_BIND, now_of(s) - e->started_at);
		e->started_at = 0;
	}
	snprintf(text, sizeof(text), "Bound to Node %s by Slurm job %u", node, job);
	log_info("Pod %s: %s", e->key, text);
	effects_event(s, e, SAID_STEP, false, "Scheduled", text);
}

void effects_unbind(struct entry *e)
{
	link_remove(&e->binding);
	free(e->bound_node);
	e->bound_node = NULL;
}

/* The answer was lost, and so nobody was told. As long as it may still come, it tells. */
void effects_shown(struct scheduler *s, struct entry *e, const char *node)
{
	if (e->busy)
		return;
	if (!e->bind_sure && str_eq(e->bound_node, node))
		bound(s, e, node, e->bind_job);
	effects_unbind(e);
}

static void bind_answered(struct effect *x, const struct kube_result *r)
{
	struct entry *e = x->e;

	if (x->term != x->s->term)
		return;
	if (r->outcome == KUBE_OK)
		e->bind_sure = true;
	else if (x->first && !(r->outcome == KUBE_RETRY && r->maybe_done))
		effects_unbind(e);
}

static void kube_answered(void *arg, const struct kube_result *r)
{
	struct effect *x = arg;
	usec_t wait = 0;

	if (x->step == STEP_BIND)
		bind_answered(x, r);
	if (x->paced)
		x->s->conditions--;
	if (x->term != x->s->term) {
		end(x, 0);
		return;
	}
	switch (r->outcome) {
	case KUBE_OK:
		x->e->tries = 0;
		if (x->step == STEP_BIND)
			bound(x->s, x->e, x->node, x->job);
		else if (x->step == STEP_DELETE) {
			count(x->s, COUNT_DELETED);
			if (x->e->ending_at)
				latency(x->s, LATENCY_TEARDOWN, now_of(x->s) - x->e->ending_at);
		}
		settle(x);
		break;
	case KUBE_NOT_FOUND: settle(x); break;
	case KUBE_CONFLICT:
	case KUBE_EXISTS:
		settle(x);
		x->e->settle_until = usec_add(now_of(x->s), 200 * USEC_MSEC);
		wait = x->e->tries ? pause_of(x, 0) : 0;
		x->e->tries = (uint16_t)MIN_OF(x->e->tries + 1, 1000);
		break;
	case KUBE_REFUSED:
	case KUBE_FORBIDDEN:
		log_error("Pod %s: %s: %s", x->e->key, step_name(x->step), r->message);
		if (x->step == STEP_REST) /* its conditions: what must be done is done all the same */
			x->e->mute_until = usec_add(now_of(x->s), MUTE_SPAN);
		else
			wait = pause_of(x, 5 * USEC_SEC);
		break;
	case KUBE_BUDGET:
	case KUBE_RETRY: wait = pause_of(x, r->retry_after); break;
	case KUBE_NOT_LEADER: wait = USEC_SEC; break;
	}
	if (wait)
		log_debug("Pod %s: %s: %s", x->e->key, step_name(x->step), r->message);
	end(x, wait);
}

/* About a claim: its own watch tells when it is there, the Pod does not change. */
static void claim_answered(void *arg, const struct kube_result *r)
{
	struct effect *x = arg;

	if (r->outcome == KUBE_OK) {
		volumes_selected(x->e, x->job, x->claim_uid, x->claim_rv);
		end(x, 200 * USEC_MSEC);
	} else {
		log_debug("Pod %s: %s: %s", x->e->key, step_name(x->step), r->message);
		end(x, pause_of(x, r->retry_after));
	}
}

/* About a volume: its own watch tells, too. Until then we know it ourselves. */
static void volume_answered(void *arg, const struct kube_result *r)
{
	struct effect *x = arg;

	if (x->term == x->s->term)
		volumes_given(x->s, x->volume, r, !x->first);
	if (r->outcome == KUBE_OK) {
		x->e->tries = 0;
		log_info("Pod %s: volume %s is given to its claim", x->e->key, x->volume);
		end(x, 0);
		return;
	}
	if (r->outcome == KUBE_FORBIDDEN || r->outcome == KUBE_REFUSED)
		log_error("Pod %s: %s: %s", x->e->key, step_name(x->step), r->message);
	else
		log_debug("Pod %s: %s: %s", x->e->key, step_name(x->step), r->message);
	end(x, pause_of(x, r->retry_after));
}

static void adopt(struct scheduler *s, struct entry *e, const struct pod *pod, const struct decision *d,
                  const struct wishes *w)
{
	struct effect *x = begin(s, e, pod, d->step, d->job);
	struct toleration *tolerations = NULL;
	struct kube_change change;
	struct pair annotation = { ANNOTATION_JOB_ID, NULL };
	char id[16];

	snprintf(id, sizeof(id), "%u", d->job);
	annotation.value = id;
	change = KUBE_CHANGE(ref_of(pod));
	change.annotations = &annotation;
	change.n_annotations = 1;
	if (!pod_tolerates_lock(pod)) { /* without it the next look would find the same to do */
		tolerations = mem_alloc_n(pod->n_tolerations + 1u, sizeof(*tolerations));
		for (uint32_t i = 0; i < pod->n_tolerations; i++)
			tolerations[i] = pod->tolerations[i];
		tolerations[pod->n_tolerations] =
		        (struct toleration) { .key = TAINT_LOCK, .op = TOLERATE_EXISTS, .effect = EFFECT_NO_EXECUTE };
		change.tolerations = tolerations;
		change.n_tolerations = (int)pod->n_tolerations + 1;
		change.ref.resource_version = pod->meta.resource_version;
	}
	if (w->timeout_min > 0 && !pod->active_deadline_s)
		change.active_deadline_s = w->timeout_min * 60;
	s->o.kube->ops->change(s->o.kube, &change, kube_answered, x);
	free(tolerations);
}

static usec_t patience(const struct scheduler *s)
{
	return s->n_waiting > WAITING_MANY ? CONDITION_PATIENCE_MANY : CONDITION_PATIENCE;
}

/* Lists of all jobs are rare, and a job's reason says little until Slurm has looked at it: ask before telling people. Not
 * for many at once: starting jobs are asked for, too, and must not wait; they are told by a list. */
static bool ask_for_reason(struct scheduler *s, struct entry *e, usec_t now)
{
	const struct known_job *j = e->n_jobs ? e->jobs[e->n_jobs - 1] : NULL;

	if (!j || j->p.state != JOB_PENDING || usec_add(MAX_OF(j->known_at, e->reason_asked), REASON_FRESH) > now)
		return false;
	if (usec_add(s->reason_asked, REASON_PAUSE) > now) { /* others just did; after a while it is told as it is */
		if (usec_add(e->waiting_since, patience(s) + REASON_PATIENCE) <= now)
			return false;
		jobs_list_for_reasons(s);
		return true;
	}
	e->reason_asked = s->reason_asked = now;
	jobs_load_one(s, j->p.id);
	return true;
}

/* While its condition is written nothing else is done for a Pod, and its job may start any moment. So when many wait they are
 * told one after the other, and none stands in a queue for it. */
static bool is_its_turn(struct scheduler *s, struct entry *e)
{
	if (!e->may_tell && list_empty(&e->condition_turn))
		list_add_tail(&s->condition_turns, &e->condition_turn);
	return e->may_tell;
}

static void no_turn(struct entry *e)
{
	link_remove(&e->condition_turn);
	e->may_tell = false;
}

void effects_no_wait(struct scheduler *s, struct entry *e)
{
	s->n_waiting -= e->waiting_since != 0;
	e->waiting_since = 0;
	no_turn(e);
}

bool effects_conditions(struct scheduler *s, struct entry *e, const struct pod *pod, const struct decision *d,
                        usec_t now, usec_t *ret_again)
{
	struct condition conditions[2];
	const struct condition *is = condition_get(pod->conditions, pod->n_conditions, CONDITION_JOB_LIVE);
	struct kube_change change;
	struct effect *x;
	bool paced = false, told;
	int n = 0;

	if (d->lost && (!is || is->status != COND_FALSE))
		conditions[n++] = (struct condition) { .type = CONDITION_JOB_LIVE,
			                               .status = COND_FALSE,
			                               .reason = str_or(d->event, "JobLost"),
			                               .message = "the Pod's Slurm job is over: it has no allocation",
			                               .changed = clock_wall(s->o.clock) };
	else if (d->live && is && is->status == COND_FALSE) /* suspended, and resumed before the Pod was told to go */
		conditions[n++] = (struct condition) { .type = CONDITION_JOB_LIVE,
			                               .status = COND_TRUE,
			                               .reason = "JobRuns",
			                               .message = "the Pod's Slurm job runs again",
			                               .changed = clock_wall(s->o.clock) };
	is = condition_get(pod->conditions, pod->n_conditions, "PodScheduled");
	told = is && is->status == COND_FALSE && d->unscheduled && str_eq(is->reason, d->unscheduled) &&
	       str_eq(is->message, d->unscheduled_text);
	if (!d->unscheduled || told) {
		effects_no_wait(s, e);
	} else {
		usec_t due = 0;

		if (!e->waiting_since) {
			e->waiting_since = now;
			s->n_waiting++;
		}
		if (d->patient)
			due = usec_add(e->waiting_since, patience(s));
		if (e->condition_at)
			due = MAX_OF(due, usec_add(e->condition_at, d->patient ? CONDITION_PAUSE : USEC_SEC));
		if (now < due)
			*ret_again = MIN_OF(*ret_again, due);
		else if (d->patient && !is_its_turn(s, e))
			; /* looked at again when it is */
		else if (d->patient && ask_for_reason(s, e, now))
			*ret_again = MIN_OF(*ret_again, usec_add(now, REASON_AGAIN));
		else {
			conditions[n++] = (struct condition) { .type = "PodScheduled",
				                               .status = COND_FALSE,
				                               .reason = d->unscheduled,
				                               .message = d->unscheduled_text,
				                               .changed = is && is->status == COND_FALSE
				                                                  ? is->changed
				                                                  : clock_wall(s->o.clock) };
			e->condition_at = now;
			no_turn(e);
			paced = d->patient;
		}
	}
	if (!n)
		return false;
	if (now < e->mute_until) {
		*ret_again = MIN_OF(*ret_again, e->mute_until);
		return false;
	}
	change = KUBE_CHANGE(ref_of(pod));
	change.conditions = conditions;
	change.n_conditions = n;
	x = begin(s, e, pod, STEP_REST, 0);
	x->paced = paced;
	s->conditions += paced;
	s->o.kube->ops->change(s->o.kube, &change, kube_answered, x);
	return true;
}

/* ---- Slurm ---- */

static void refused(struct effect *x, const char *why)
{
	struct entry *e = x->e;
	usec_t span = REFUSED_BASE << MIN_OF(e->refusals, 5);

	free(e->refused);
	e->refused = mem_strdup(why);
	e->refusals = (uint16_t)MIN_OF(e->refusals + 1, 1000);
	e->refused_until = usec_add(now_of(x->s), MIN_OF(span, REFUSED_MAX));
	count(x->s, COUNT_REFUSED);
}

static void submitted(void *arg, struct slurm_result *r)
{
	struct effect *x = arg;
	struct scheduler *s = x->s;
	struct entry *e = x->e;
	usec_t wait = 0;

	s->submits--;
	switch (r->outcome) {
	case SLURM_OK:
		e->tries = 0;
		e->started_at = e->ending_at = 0; /* of an earlier job */
		free(e->refused);
		e->refused = NULL;
		jobs_submitted(s, e, r->job_id, x->excluded);
		count(s, COUNT_SUBMITTED);
		if (e->seen_at) {
			latency(s, LATENCY_SUBMIT, now_of(s) - e->seen_at);
			e->seen_at = 0;
		}
		jobs_stir(s);
		log_info("Pod %s: Slurm job %u", e->key, r->job_id);
		break;
	case SLURM_REFUSED:
	case SLURM_GONE:
		/* A node that we exclude may have been deleted since we listed them. */
		if (x->excluded && e->tries < STALE_TRIES_MAX && strstr(r->message, "nvalid node name")) {
			places_refresh(s);
			wait = pause_of(x, 500 * USEC_MSEC);
		} else
			refused(x, r->message);
		break;
	default:
		if (r->maybe_done) {
			e->doubt_since = usec_add(now_of(s), DOUBT_SPAN);
			jobs_list_after(s, e->doubt_since);
		}
		wait = r->outcome == SLURM_NOT_LEADER ? USEC_SEC : pause_of(x, 0);
	}
	end(x, wait);
}

/* The script gets all it needs from its environment; nothing that a Pod says goes through a shell. */
static bool submit(struct scheduler *s, struct entry *e, const struct pod *pod, const struct feasible *f,
                   const struct wishes *w)
{
	_cleanup_free_ char *script = NULL, *excluded = NULL;
	char token[TOKEN_TEXT_MAX], identity[POD_IDENTITY_MAX];
	char pod_env[POD_IDENTITY_MAX + 16], token_env[TOKEN_TEXT_MAX + 32], url_env[URL_MAX + 32],
	        ca_env[URL_MAX + 32];
	char wait_env[64];
	const char *env[8] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" };
	struct podjob job;
	struct effect *x;
	uint32_t n = 1;

	if (s->submits >= SUBMITS_MAX)
		return false;
	token_make(s->o.secret, s->o.secret_len, e->uid, token);
	snprintf(pod_env, sizeof(pod_env), "SUNK_POD=%s", pod_identity(pod, identity));
	snprintf(token_env, sizeof(token_env), "SUNK_HOOK_TOKEN=%s", token);
	snprintf(url_env, sizeof(url_env), "SUNK_HOOK_URL=%s", s->o.hook_url);
	snprintf(wait_env, sizeof(wait_env), "SUNK_KILL_WAIT=%" PRId64, s->rules.kill_wait / USEC_SEC);
	env[n++] = pod_env;
	env[n++] = token_env;
	env[n++] = url_env;
	env[n++] = wait_env;
	if (s->o.hook_ca_file) {
		snprintf(ca_env, sizeof(ca_env), "SUNK_HOOK_CA=%s", s->o.hook_ca_file);
		env[n++] = ca_env;
	}
	excluded = places_excluded(s, e, f, w);
	podjob_make(pod, w, &s->rules, excluded, &job);
	podjob_narrow(&job);
	script = str_printf("#!/bin/sh\nexec %s placeholder\n", s->o.hook_program);
	job.spec.script = script;
	job.spec.env = env;
	job.spec.n_env = n;
	job.spec.bell_host = s->o.bell_host;
	job.spec.bell_port = s->o.bell_port;
	x = begin(s, e, pod, STEP_SUBMIT, 0);
	x->excluded = mem_strdup(job.spec.excluded);
	s->submits++;
	s->o.slurm->ops->call(s->o.slurm, &(struct slurm_request) { .verb = SLURM_SUBMIT, .spec = &job.spec },
	                      submitted, x);
	podjob_done(&job);
	explicit_bzero(token, sizeof(token));
	explicit_bzero(token_env, sizeof(token_env));
	return true;
}

static void job_changed(void *arg, struct slurm_result *r)
{
	struct effect *x = arg;
	struct scheduler *s = x->s;
	struct known_job *j = jobs_get(s, x->job);
	usec_t wait = 0;

	switch (r->outcome) {
	case SLURM_OK:
		x->e->tries = 0;
		if (x->step == STEP_EXCLUDE && j)
			j->excluded = jobs_nodes_hash(s, x->excluded);
		if (x->step == STEP_IDENTIFY) /* whoever changed it may do so again */
			wait = USEC_SEC;
		break;
	case SLURM_NOT_LEADER: wait = USEC_SEC; break;
	case SLURM_GONE: break;
	case SLURM_REFUSED:
		log_warn("Pod %s: %s job %u: %s", x->e->key, step_name(x->step), x->job, r->message); /* fallthrough */
	default: wait = pause_of(x, r->outcome == SLURM_REFUSED ? 5 * USEC_SEC : 0);
	}
	jobs_load_one(s, x->job);
	end(x, wait);
}

static void call_slurm(struct effect *x, const struct slurm_request *request)
{
	x->s->o.slurm->ops->call(x->s->o.slurm, request, job_changed, x);
}

static void cancel(struct effect *x)
{
	call_slurm(x, &(struct slurm_request) { .verb = SLURM_CANCEL, .job_id = x->job });
}

/* First the mark, so that whoever sees the cancelled job later knows that it was us. */
static void released(void *arg, struct slurm_result *r)
{
	struct effect *x = arg;
	struct known_job *j = jobs_get(x->s, x->job);

	if (r->outcome != SLURM_OK) {
		job_changed(x, r);
		return;
	}
	if (j) {
		j->p.released = true;
		if (x->avoid)
			places_avoid(x->s, x->e, j->node);
	}
	cancel(x);
}

static void mark_released(struct effect *x)
{
	_cleanup_free_ char *comment = str_printf(RELEASED_MARK "%s/%s", x->e->key, x->e->uid);
	const struct job_change change = { .what = JOB_CHANGE_ADMIN_COMMENT, .admin_comment = comment };

	x->s->o.slurm->ops->call(
	        x->s->o.slurm,
	        &(struct slurm_request) { .verb = SLURM_CHANGE_JOB, .job_id = x->job, .job_change = &change }, released,
	        x);
}

/* Slurm's cancels and changes take a number, and a controller that lost its state gives the same number to another Pod's job. So
 * the job is looked at once more, right before: it must be the one that was decided on, in the state of then. */
static void verified(void *arg, struct slurm_result *r)
{
	struct effect *x = arg;
	struct scheduler *s = x->s;
	struct known_job *j;
	bool same = false;

	if (r->outcome == SLURM_OK && r->n) {
		jobs_learn(s, &r->jobs[0], r->asked);
		same = jobs_is_of(s, &r->jobs[0], x->e) && r->jobs[0].state == x->state &&
		       !(r->jobs[0].flags & JOBF_COMPLETING);
	}
	j = jobs_get(s, x->job);
	if (r->outcome == SLURM_GONE && j && j->entry == x->e && j->known_at <= r->asked)
		jobs_forget(s, j);
	if (r->outcome != SLURM_OK)
		end(x, r->outcome == SLURM_GONE ? 0 : pause_of(x, 0));
	else if (!same)
		end(x, 0);
	else
		x->go(x);
}

static void with_job(struct effect *x, void (*go)(struct effect *x))
{
	const struct known_job *j = jobs_get(x->s, x->job);

	x->go = go;
	x->state = j ? j->p.state : JOB_UNKNOWN;
	loads_ask(x->s, x->job, verified, x);
}

static void change_job(struct scheduler *s, struct entry *e, const struct pod *pod, const struct decision *d,
                       const struct job_change *change, slurm_done done, const char *excluded)
{
	struct effect *x = begin(s, e, pod, d->step, d->job);

	x->excluded = mem_strdup(excluded);
	s->o.slurm->ops->call(
	        s->o.slurm,
	        &(struct slurm_request) { .verb = SLURM_CHANGE_JOB, .job_id = d->job, .job_change = change }, done, x);
}

static void release(struct scheduler *s, struct entry *e, const struct pod *pod, const struct decision *d)
{
	struct effect *x = begin(s, e, pod, d->step, d->job);

	x->avoid = d->avoid;
	with_job(x, mark_released);
}

static void identify(struct scheduler *s, struct entry *e, const struct pod *pod, const struct decision *d)
{
	_cleanup_free_ char *extra = str_printf("%s/%s", e->key, e->uid);

	log_warn("Pod %s: someone changed the extra of its job %u, by which prologs know it: writing it anew", e->key,
	         d->job);
	change_job(s, e, pod, d, &(struct job_change) { .what = JOB_CHANGE_EXTRA, .extra = extra }, job_changed, NULL);
}

static void exclude(struct scheduler *s, struct entry *e, const struct pod *pod, const struct decision *d,
                    const struct feasible *f, const struct wishes *w)
{
	_cleanup_free_ char *excluded = places_excluded(s, e, f, w);
	struct podjob job;

	podjob_make(pod, w, &s->rules, excluded, &job); /* with the Pod's own */
	change_job(s, e, pod, d,
	           &(struct job_change) { .what = JOB_CHANGE_EXCLUDED, .excluded = str_or(job.spec.excluded, "") },
	           job_changed, job.spec.excluded);
	podjob_done(&job);
}

/* ---- */

static void bind(struct scheduler *s, struct entry *e, const struct pod *pod, const struct decision *d)
{
	const struct known_job *j = jobs_get(s, d->job);
	const char *node = e->bound_node ? e->bound_node : j ? places_kube_node(s, j->node) : NULL;
	struct kube_ref ref = ref_of(pod);
	struct effect *x;

	if (!node)
		return;
	x = begin(s, e, pod, d->step, d->job);
	x->node = mem_strdup(node);
	x->first = !e->bound_node;
	e->bind_job = d->job;
	if (x->first) {
		e->bound_node = mem_strdup(node);
		e->bind_sure = false;
		list_add_tail(&s->bindings, &e->binding);
	}
	s->o.kube->ops->bind(s->o.kube, &ref, x->node, kube_answered, x);
}

static void take_volume(struct scheduler *s, struct entry *e, const struct pod *pod, const struct decision *d,
                        const struct pod_volumes *volumes)
{
	static const struct pair by_us = { ANNOTATION_BOUND_BY_CONTROLLER, "yes" };
	const struct known_job *j = jobs_get(s, d->job);
	const char *name = j ? places_kube_node(s, j->node) : NULL;
	const struct knode *node = name ? store_get(s->nodes, NULL, name) : NULL;
	const struct pvc *claim = e->placing_claim < volumes->n ? volumes->claims[e->placing_claim] : NULL;
	const struct pv *volume = node && claim ? volumes_choice(pod, volumes, node, e->placing_claim) : NULL;
	const struct pv *is = volume ? store_get(s->volumes, NULL, volume->meta.name) : NULL;
	struct kube_change change;
	struct effect *x;

	if (!is)
		return;
	change = KUBE_CHANGE(((struct kube_ref) { .kind = KUBE_VOLUMES,
	                                          .name = is->meta.name,
	                                          .uid = is->meta.uid,
	                                          .resource_version = is->meta.resource_version }));
	change.claim = &claim->meta;
	change.annotations = &by_us;
	change.n_annotations = str_empty(is->claim_name); /* a person's choice stays one */
	x = begin(s, e, pod, d->step, d->job);
	x->volume = mem_strdup(is->meta.name);
	x->first = !volumes_is_given(s, is->meta.name);
	volumes_give(s, is, claim);
	s->o.kube->ops->change(s->o.kube, &change, volume_answered, x);
}

static void select_node(struct scheduler *s, struct entry *e, const struct pod *pod, const struct decision *d,
                        const struct pod_volumes *volumes)
{
	const struct known_job *j = jobs_get(s, d->job);
	const char *node = j ? places_kube_node(s, j->node) : NULL;
	const struct pvc *claim = e->placing_claim < volumes->n ? volumes->claims[e->placing_claim] : NULL;
	const struct pair annotation = { ANNOTATION_SELECTED_NODE, node };
	struct kube_change change;
	struct effect *x;

	if (!node || !claim)
		return;
	change = KUBE_CHANGE(((struct kube_ref) { .kind = KUBE_CLAIMS,
	                                          .ns = claim->meta.ns,
	                                          .name = claim->meta.name,
	                                          .uid = claim->meta.uid,
	                                          .resource_version = claim->meta.resource_version }));
	change.annotations = &annotation;
	change.n_annotations = 1;
	x = begin(s, e, pod, d->step, d->job);
	x->claim_uid = mem_strdup(str_or(claim->meta.uid, ""));
	x->claim_rv = mem_strdup(str_or(claim->meta.resource_version, ""));
	s->o.kube->ops->change(s->o.kube, &change, claim_answered, x);
}

/* A crowd whose jobs start one after the other: who is next need not be told why it waits. Until when the first in turn is not. */
static usec_t conditions_due(const struct scheduler *s)
{
	const struct entry *first = CONTAINER_OF(s->condition_turns.next, const struct entry, condition_turn);
	usec_t moves = s->moved_at && s->n_waiting > WAITING_MANY ? usec_add(s->moved_at, MOVES_SPAN) : 0;

	return MAX_OF(s->condition_next, MIN_OF(moves, usec_add(first->waiting_since, CONDITION_PATIENCE_MOVING)));
}

/* As many as there is room for; one that does not submit after all leaves it to the next, in the next step. */
void effects_step(struct scheduler *s, usec_t now)
{
	struct link *l;

	for (unsigned n = s->submits; n < SUBMITS_MAX && (l = list_take_head(&s->submit_turns)); n++)
		entry_dirty(s, LIST_ITEM(l, struct entry, submit_turn), 0);
	if (effects_next(s) <= now && (l = list_take_head(&s->condition_turns))) {
		struct entry *e = LIST_ITEM(l, struct entry, condition_turn);

		e->may_tell = true;
		s->condition_next = usec_add(now, CONDITION_SPACING);
		entry_dirty(s, e, 0);
	}
}

usec_t effects_next(const struct scheduler *s)
{
	return s->conditions < CONDITIONS_MAX && !list_empty(&s->condition_turns) ? conditions_due(s) : USEC_NEVER;
}

bool effects_do(struct scheduler *s, struct entry *e, const struct pod *pod, const struct decision *d,
                const struct feasible *f, const struct wishes *w, const struct pod_volumes *volumes)
{
	struct kube_ref ref;

	switch (d->step) {
	case STEP_LIST_JOBS: jobs_list_after(s, MAX_OF(e->doubt_since, now_of(s))); return false;
	case STEP_SUBMIT:
		if (!submit(s, e, pod, f, w) && list_empty(&e->submit_turn)) /* the others first */
			list_add_tail(&s->submit_turns, &e->submit_turn);
		return e->busy;
	case STEP_ADOPT: adopt(s, e, pod, d, w); return true;
	case STEP_IDENTIFY: identify(s, e, pod, d); return true;
	case STEP_EXCLUDE: exclude(s, e, pod, d, f, w); return true;
	case STEP_TAKE_VOLUME: take_volume(s, e, pod, d, volumes); return e->busy;
	case STEP_SELECT_NODE: select_node(s, e, pod, d, volumes); return e->busy;
	case STEP_BIND: bind(s, e, pod, d); return e->busy;
	case STEP_RELEASE: release(s, e, pod, d); return true;
	case STEP_CANCEL:
		if (!pod)
			count(s, COUNT_ORPHANS);
		with_job(begin(s, e, pod, d->step, d->job), cancel);
		return true;
	case STEP_DELETE:
		ref = ref_of(pod);
		s->o.kube->ops->remove(s->o.kube, &ref, -1, kube_answered, begin(s, e, pod, d->step, 0));
		return true;
	default: return false;
	}
}
