/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What is known of Slurm's jobs. Slurm has no watch, so: one whole list at the beginning and now and then (it finds orphans,
 * doubles and reasons), the cheap list of states often, single jobs when something says that they changed. Only ever from
 * a whole answer, and only by one that was asked for later than what we know, does a job count as gone.
 */
#include "scheduler/inside.h"

#include <stdio.h>

#include "base/hostlist.h"
#include "base/log.h"
#include "base/str.h"
#include "policy/podjob.h"

#define LIST_SPAN (30 * USEC_SEC)  /* between two whole lists, at least; else 200 times what one takes */
#define LIST_SPAN_MAX                                                                                                  \
	(5 * USEC_MINUTE) /* one slow answer, or many that tell nothing new, must not put the next list off for long */
#define LIST_SHARE 200
#define LIST_SPAN_STIRRED                                                                                              \
	(10 * USEC_SEC) /* the same when jobs or nodes changed: so do reasons, of ours and of others' */
#define REASONS_SPAN (2 * USEC_SEC) /* the same when many Pods have begun to wait */
#define REASONS_SHARE 20
#define STATES_SHARE 50 /* asking for states takes at most this part of the time */
#define STATES_REST (2 * USEC_SEC) /* nothing happens: what nobody tells (a job is suspended) is seen within this */
#define STATES_REST_PENDING                                                                                            \
	(10 * USEC_SEC) /* the same when all of ours wait: scripts tell that they start, the doorbell the rest */
#define REST_SHARE 1000 /* and when many jobs make it dear, as long as nothing happens … */
#define STATES_REST_MAX (10 * USEC_SEC) /* … within this */
#define RING_SHARE 10 /* the same when the doorbell rings, which it does for every job that ends */
#define RING_PAUSE_MAX (250 * USEC_MSEC)
#define RING_PAUSE_KNOWN USEC_SEC /* the same when jobs end because we told them that their Pods are over: no news */
#define LET_GO_SPAN (3 * USEC_SEC) /* such a job has ended by then */
#define CONF_SPAN (5 * USEC_MINUTE)
#define CONF_RETRY USEC_SEC
#define RING_PAUSE (20 * USEC_MSEC)
#define RETRY_BASE (500 * USEC_MSEC)
#define RETRY_MAX (15 * USEC_SEC)

static uint64_t nodes_hash(const char *hostlist)
{
	_cleanup_hostlist_ struct hostlist h = HOSTLIST_INIT;
	uint64_t sum = 0;

	if (str_empty(hostlist))
		return 0;
	if (hostlist_parse(&h, hostlist, NULL) < 0)
		return hash_text(hostlist);
	hostlist_sort_unique(&h);
	for (size_t i = 0; i < h.n; i++)
		sum += hash_text(h.names[i]) | 1;
	return sum;
}

uint64_t jobs_nodes_hash(struct scheduler *s, const char *hostlist)
{
	if (str_empty(hostlist))
		return 0;
	if (!str_eq(s->memo_nodes, hostlist)) {
		free(s->memo_nodes);
		s->memo_nodes = mem_strdup(hostlist);
		s->memo_hash = nodes_hash(hostlist);
	}
	return s->memo_hash;
}

struct known_job *jobs_get(const struct scheduler *s, uint32_t id)
{
	char text[12];

	snprintf(text, sizeof(text), "%u", id);
	return map_get(&s->by_job, text);
}

bool jobs_known(const struct scheduler *s, const struct entry *e)
{
	return s->listed_at && s->listed_at >= s->term_since && s->listed_at >= e->doubt_since;
}

/* What is known is not what Slurm's last answers told any more: the same answers again would be news. */
static void knows_better(struct scheduler *s)
{
	s->list_digest = s->states_digest = 0;
}

void jobs_list_after(struct scheduler *s, usec_t after)
{
	s->list_wanted = MAX_OF(s->list_wanted, after);
	s->list_due = MIN_OF(s->list_due, MAX_OF(after, now_of(s)));
	wake(s);
}

void jobs_list_for_reasons(struct scheduler *s)
{
	usec_t due = usec_add(s->listed_at, MAX_OF(REASONS_SPAN, REASONS_SHARE * s->list_cost));

	if (s->list_failures) /* it is tried again in its own time */
		return;
	s->list_due = MIN_OF(s->list_due, MAX_OF(due, now_of(s)));
	wake(s);
}

/* Something in Slurm is not as it was, and why others wait may not be either. Lists have become rare while nothing happened. */
void jobs_stirred(struct scheduler *s)
{
	usec_t due = usec_add(s->listed_at, MAX_OF(LIST_SPAN_STIRRED, LIST_SHARE * s->list_cost));

	if (s->list_failures || !s->listed_at)
		return;
	s->list_due = MIN_OF(s->list_due, MAX_OF(due, now_of(s)));
}

void jobs_forget(struct scheduler *s, struct known_job *j)
{
	struct entry *e = j->entry;

	log_debug("Pod %s: job %u is not there any more", e->key, j->p.id);
	knows_better(s);
	for (uint32_t i = 0; i < e->n_jobs; i++)
		if (e->jobs[i] == j) {
			memmove(&e->jobs[i], &e->jobs[i + 1], (e->n_jobs - i - 1) * sizeof(struct known_job *));
			e->n_jobs--;
			break;
		}
	if (e->terminate_job == j->p.id)
		e->terminate_job = 0;
	map_remove(&s->by_job, j->id_text);
	free(j->node);
	free(j->reason);
	free(j->preemptor);
	free(j);
}

static struct known_job *job_make(struct scheduler *s, struct entry *e, uint32_t id)
{
	struct known_job *j = NEW(struct known_job);
	uint32_t at = e->n_jobs;

	knows_better(s);
	j->p.id = id;
	j->p.hook_restarts = -1;
	j->entry = e;
	snprintf(j->id_text, sizeof(j->id_text), "%u", id);
	map_put(&s->by_job, j->id_text, j);
	e->jobs = mem_realloc_n(e->jobs, e->n_jobs + 1, sizeof(struct known_job *));
	while (at > 0 && e->jobs[at - 1]->p.id > id) {
		e->jobs[at] = e->jobs[at - 1];
		at--;
	}
	e->jobs[at] = j;
	e->n_jobs++;
	return j;
}

/* Another job than the one of this number that we knew: a controller that lost its state counts from the beginning again. */
static void forget_namesake(struct scheduler *s, struct known_job *j)
{
	struct entry *e = j->entry;

	jobs_forget(s, j);
	entry_dirty(s, e, 0);
}

struct known_job *jobs_submitted(struct scheduler *s, struct entry *e, uint32_t id, const char *excluded)
{
	struct known_job *j = jobs_get(s, id);

	if (j && j->entry == e && !job_is_over(&j->p))
		return j; /* a list was faster than the answer */
	if (j && !job_is_over(&j->p)) { /* one of the two is of a controller that lost its state: a list tells */
		e->doubt_since = now_of(s);
		jobs_list_after(s, e->doubt_since);
		return j;
	}
	if (j)
		forget_namesake(s, j);
	j = job_make(s, e, id);
	j->p.state = JOB_PENDING;
	j->excluded = jobs_nodes_hash(s, excluded);
	j->known_at = now_of(s);
	return j;
}

static bool set_text(char **to, const char *from)
{
	if (str_eq(*to, from))
		return false;
	free(*to);
	*to = mem_strdup(from);
	return true;
}

static bool is_ours(struct scheduler *s, const struct job *job, const struct known_job *known, struct job_claim *ret)
{
	bool same = known && known->submitted && known->submitted == job->submitted;
	struct job_claim claim;
	bool claims = job_claim_of(job, &claim);
	struct extra_id was = { 0 };

	if (same) {
		const char *key = known->entry->key, *slash = strchr(key, '/');

		str_copy(was.ns, MIN_OF(sizeof(was.ns), (size_t)(slash - key) + 1), key);
		str_copy(was.name, sizeof(was.name), slash + 1);
		str_copy(was.uid, sizeof(was.uid), known->entry->uid);
	}
	return job_is_ours(job, claims ? &claim : NULL, same ? &was : NULL,
	                   claims ? store_get(s->pods, claim.id.ns, claim.id.name) : NULL, &s->rules, ret);
}

bool jobs_is_of(struct scheduler *s, const struct job *job, const struct entry *e)
{
	struct job_claim claim;

	return is_ours(s, job, jobs_get(s, job->id), &claim) && str_eq(claim.id.uid, e->uid);
}

static bool differs(const struct placeholder_job *a, const struct placeholder_job *b)
{
	return a->state != b->state || a->flags != b->flags || a->restarts != b->restarts || a->mark != b->mark ||
	       a->mark_restarts != b->mark_restarts || a->released != b->released || a->misnamed != b->misnamed ||
	       a->launch_failed != b->launch_failed;
}

static bool is_ending(const struct placeholder_job *p)
{
	return job_is_over(p) || p->flags & JOBF_COMPLETING;
}

struct load {
	struct scheduler *s;
	uint32_t id;
	uint64_t term;
};

static void ask(struct scheduler *s, const struct slurm_request *request, slurm_done done)
{
	struct load *l = NEW(struct load);

	*l = (struct load) { s, 0, s->term };
	s->o.slurm->ops->call(s->o.slurm, request, done, l);
}

/* ---- who took the place of a preempted job? ---- */

static void partitions_told(void *arg, struct slurm_result *r)
{
	_cleanup_free_ struct load *l = arg;
	struct scheduler *s = l->s;

	s->asking_partitions = false;
	if (r->outcome == SLURM_OK) {
		free(s->partitions_block);
		s->partitions_block = TAKE_PTR(r->block);
		s->partitions = r->partitions;
		s->n_partitions = r->n;
		s->partitions_due = usec_add(now_of(s), CONF_SPAN);
	}
	knows_better(s); /* the same list again would tell more now */
	jobs_list_after(s, now_of(s));
}

/* What a list of all jobs tells needs the partitions' tiers; nobody else does, so they are asked for when they are needed. */
static void seek_preemptor(struct scheduler *s)
{
	if (s->asking_partitions)
		return; /* a list follows */
	if (now_of(s) < s->partitions_due) {
		jobs_list_after(s, now_of(s));
		return;
	}
	s->asking_partitions = true;
	ask(s, &(struct slurm_request) { .verb = SLURM_LOAD_PARTITIONS }, partitions_told);
}

struct known_job *jobs_learn(struct scheduler *s, const struct job *job, usec_t asked)
{
	struct known_job *j = jobs_get(s, job->id);
	struct job_claim claim;
	struct entry *e;
	struct placeholder_job was;
	uint64_t excluded;
	bool changed;

	if (j && j->known_at > asked) { /* what we know may be newer; and if it is not, it is asked for once more */
		if (job->state != j->p.state || job->flags != j->p.flags || job->restarts != j->p.restarts)
			jobs_load_one(s, job->id);
		s->list_passed_over = true;
		return j;
	}
	if (!is_ours(s, job, j, &claim)) {
		if (j)
			forget_namesake(s, j);
		return NULL;
	}
	e = entry_make(s, claim.id.uid, claim.id.ns, claim.id.name);
	if (!e)
		return NULL;
	if (j && (j->entry != e || (j->submitted && j->submitted != job->submitted))) {
		forget_namesake(s, j);
		j = NULL;
	}
	if (!j)
		j = job_make(s, e, job->id);
	j->submitted = job->submitted;
	was = j->p;
	excluded = jobs_nodes_hash(s, job->excluded);
	j->p.state = job->state;
	j->p.flags = job->flags;
	j->p.restarts = job->restarts;
	j->p.released |= claim.released;
	j->p.misnamed = claim.misnamed;
	j->p.mark = claim.id.mark;
	j->p.mark_restarts = claim.id.restarts;
	j->p.launch_failed = job->prolog_failed;
	if (job->state == JOB_PENDING && !job->flags && e->terminate_job == job->id &&
	    e->terminate_restarts == job->restarts && asked >= e->terminate_at)
		e->terminate_job = 0; /* that run has not begun: it was a script of an earlier job of that number */
	changed = differs(&was, &j->p) || !j->known_at || excluded != j->excluded;
	j->excluded = excluded;
	j->known_at = now_of(s);
	changed |= set_text(&j->node, str_empty(job->nodes) ? NULL : job->nodes);
	changed |= set_text(&j->reason, str_or(job->reason_detail, job->reason));
	if (job_is_over(&j->p) && !j->p.over_since)
		j->p.over_since = now_of(s);
	if (is_ending(&j->p) && !is_ending(&was))
		entry_hurry(e);
	if (is_ending(&j->p) && !e->ending_at)
		e->ending_at = now_of(s);
	if (j->p.state == JOB_PREEMPTED && was.state != JOB_PREEMPTED)
		seek_preemptor(s);
	if (changed) {
		knows_better(s);
		entry_dirty(s, e, 0);
	}
	return j;
}

/* ---- one job ---- */

static void job_loaded(void *arg, struct slurm_result *r)
{
	_cleanup_free_ struct load *l = arg;
	struct scheduler *s = l->s;
	struct known_job *j = jobs_get(s, l->id);
	struct entry *e = j ? j->entry : NULL;
	bool again = j && j->load_again;

	if (j)
		j->loading = j->load_again = false;
	if (l->term != s->term)
		return;
	if (r->outcome == SLURM_OK && r->n) {
		jobs_learn(s, &r->jobs[0], r->asked);
	} else if (r->outcome == SLURM_GONE && j && j->known_at <= r->asked) {
		jobs_forget(s, j);
		entry_dirty(s, e, 0);
	} else if (r->outcome == SLURM_RETRY) {
		s->states_due = MIN_OF(s->states_due, usec_add(now_of(s), RETRY_BASE));
	}
	if (again)
		jobs_load_one(s, l->id);
	wake(s);
}

void jobs_load_one(struct scheduler *s, uint32_t id)
{
	struct known_job *j = jobs_get(s, id);
	struct load *l;

	if (j && j->loading) {
		j->load_again = true;
		return;
	}
	if (j)
		j->loading = true;
	l = NEW(struct load);
	*l = (struct load) { s, id, s->term };
	loads_ask(s, id, job_loaded, l);
}

/* ---- all jobs ---- */

/* Only a list of after the preemption tells; which partitions stand above which must be known first. */
static void find_preemptors(struct scheduler *s, const struct slurm_result *r)
{
	for (uint32_t i = 0; i < r->n && !s->asking_partitions; i++) {
		const struct job *lost = &r->jobs[i], *taker;
		struct known_job *j = lost->state == JOB_PREEMPTED ? jobs_get(s, lost->id) : NULL;

		if (!j || j->p.state != JOB_PREEMPTED || j->p.preemptor_sought)
			continue;
		taker = j->node ? preemptor_find(&(struct preemption) { .lost = lost,
		                                                        .node = j->node,
		                                                        .jobs = r->jobs,
		                                                        .n_jobs = r->n,
		                                                        .by = s->preempts,
		                                                        .partitions = s->partitions,
		                                                        .n_partitions = s->n_partitions })
		                : NULL;
		j->p.preemptor_sought = true;
		if (taker)
			j->preemptor = str_printf("%u (%s of %s)", taker->id, str_or(taker->name, "?"),
			                          str_or(taker->user, "?"));
		entry_dirty(s, j->entry, 0);
	}
}

static void list_next(struct scheduler *s, usec_t asked, bool news)
{
	usec_t now = now_of(s), span = news ? LIST_SPAN : MIN_OF(2 * s->list_span, LIST_SPAN_MAX);

	s->list_span = span;
	s->list_failures = 0;
	s->list_cost = now - asked;
	s->listed_at = asked;
	s->list_due = usec_add(now, MIN_OF(MAX_OF(span, LIST_SHARE * s->list_cost), LIST_SPAN_MAX));
	if (s->list_wanted > asked)
		s->list_due = s->list_wanted;
	else
		s->list_wanted = 0;
	for (size_t i = 0; i < s->by_uid.n_entries; i++)
		if (s->by_uid.entries[i].key) {
			struct entry *e = s->by_uid.entries[i].value;

			if (e->doubt_since && e->doubt_since <= asked)
				entry_dirty(s, e, 0);
		}
	wake(s);
}

/* All is still as the last list told it, and that is all we know. */
static void list_unchanged(struct scheduler *s, const struct slurm_result *r)
{
	struct known_job *j;
	size_t i = 0;

	while ((j = map_next(&s->by_job, &i)))
		if (j->known_at <= r->asked) {
			j->known_at = now_of(s);
			j->listed = r->asked;
		}
	list_next(s, r->asked, false);
}

static void jobs_listed(void *arg, struct slurm_result *r)
{
	_cleanup_free_ struct load *l = arg;
	struct scheduler *s = l->s;
	struct known_job *j;
	usec_t now = now_of(s);
	size_t i = 0;

	s->listing = false;
	if (l->term != s->term) {
		loads_listed(s, r);
		return;
	}
	if (r->outcome == SLURM_UNCHANGED) {
		list_unchanged(s, r);
		return;
	}
	if (r->outcome != SLURM_OK) {
		loads_listed(s, r);
		s->list_due = usec_add(now, backoff_span(&s->rng, s->list_failures++, RETRY_BASE, RETRY_MAX));
		log_debug("cannot list Slurm's jobs: %s", r->message);
		wake(s);
		return;
	}
	s->n_slurm_jobs = r->n;
	s->list_passed_over = false;
	for (uint32_t n = 0; n < r->n; n++) {
		j = jobs_learn(s, &r->jobs[n], r->asked);
		if (j)
			j->listed = r->asked;
	}
	while ((j = map_next(&s->by_job, &i))) {
		struct entry *e = j->entry;

		if (j->known_at <= r->asked &&
		    j->listed != r->asked) { /* not in the list, and that is newer than what we knew */
			jobs_forget(s, j);
			entry_dirty(s, e, 0);
		}
	}
	find_preemptors(s, r);
	if (!s->listed_at)
		log_info("Slurm has %u jobs, %zu of them stand for Pods", r->n, map_count(&s->by_job));
	s->list_digest = s->list_passed_over ? 0 : r->digest;
	list_next(s, r->asked, true);
	loads_listed(s, r);
}

/* ---- states of all ---- */

static int by_id(const void *a, const void *b)
{
	const struct job_brief *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

/* Its Pod is over or gone (and not only unseen), and now the job ends, too: how does not matter to anyone any more. */
static bool ends_quietly(const struct scheduler *s, const struct known_job *j, const struct job_brief *b)
{
	const struct pod *pod = entry_pod(s, j->entry);

	return b->state >= JOB_COMPLETE && !(b->flags & ~(uint32_t)JOBF_COMPLETING) && j->p.state != JOB_PENDING &&
	       (pod ? pod_is_over(pod) : j->entry->seen && store_synced(s->pods));
}

static void learn_end(struct scheduler *s, struct known_job *j, const struct job_brief *b)
{
	knows_better(s);
	j->p.state = b->state;
	j->p.flags = b->flags;
	j->known_at = now_of(s);
	if (job_is_over(&j->p) && !j->p.over_since)
		j->p.over_since = j->known_at;
	entry_dirty(s, j->entry, 0);
}

/* Whether any of ours has changed. */
static bool states_learn(struct scheduler *s, struct slurm_result *r)
{
	bool changed = false, passed_over = false;
	struct known_job *j;
	size_t i = 0;

	s->n_slurm_jobs = r->n;
	s->only_pending = true;
	qsort(r->states, r->n, sizeof(*r->states), by_id);
	while ((j = map_next(&s->by_job, &i))) {
		const struct job_brief *b =
		        bsearch(&(struct job_brief) { .id = j->p.id }, r->states, r->n, sizeof(*b), by_id);
		struct entry *e = j->entry;

		s->only_pending &= j->p.state == JOB_PENDING;
		if (j->known_at > r->asked) {
			passed_over = true;
			continue;
		}
		if (!b) {
			passed_over = true;
			jobs_forget(s, j);
			entry_dirty(s, e, 0);
		} else if (b->state != j->p.state || b->flags != j->p.flags) {
			changed = true;
			if (ends_quietly(s, j, b))
				learn_end(s, j, b);
			else
				jobs_load_one(s, j->p.id);
		}
	}
	s->states_digest = changed || passed_over ? 0 : r->digest;
	return changed;
}

static void states_told(void *arg, struct slurm_result *r)
{
	_cleanup_free_ struct load *l = arg;
	struct scheduler *s = l->s;
	usec_t now = now_of(s), cost = now - r->asked, rest;
	bool changed;

	s->asking_states = false;
	if (l->term != s->term)
		return;
	if (r->outcome != SLURM_OK && r->outcome != SLURM_UNCHANGED) {
		s->states_due = usec_add(now, backoff_span(&s->rng, s->states_failures++, RETRY_BASE, RETRY_MAX));
		wake(s);
		return;
	}
	s->states_failures = 0;
	s->states_cost = cost;
	changed = r->outcome == SLURM_OK && states_learn(s, r);
	if (r->outcome == SLURM_OK)
		jobs_stirred(s);
	rest = s->only_pending && s->o.bell_port ? STATES_REST_PENDING : STATES_REST;
	rest = MAX_OF(rest, MIN_OF(REST_SHARE * cost, STATES_REST_MAX));
	s->states_span = changed ? s->o.poll_min
	                         : MAX_OF(MIN_OF(2 * MAX_OF(s->states_span, s->o.poll_min), rest), s->o.poll_min);
	s->states_due = usec_add(now, MIN_OF(MAX_OF(s->states_span, STATES_SHARE * cost), s->o.poll_max));
	if (s->ring_due) /* it rang meanwhile, and may have done so after Slurm answered */
		s->states_due = MIN_OF(s->states_due, s->ring_due);
	s->ring_due = 0;
	wake(s);
}

/* Something happened to a job of ours: one of those that changed in the states. */
void jobs_ring(void *arg)
{
	struct scheduler *s = arg;
	usec_t now = now_of(s), pause = MIN_OF(MAX_OF(RING_PAUSE, RING_SHARE * s->states_cost), RING_PAUSE_MAX), due;

	if (s->let_go_at && now < usec_add(s->let_go_at, LET_GO_SPAN))
		pause = RING_PAUSE_KNOWN;
	due = usec_add(now, pause);
	if (s->asking_states)
		s->ring_due = s->ring_due ? MIN_OF(s->ring_due, due) : due;
	else
		s->states_due = MIN_OF(s->states_due, due);
	wake(s);
}

void jobs_stir(struct scheduler *s)
{
	usec_t due = usec_add(now_of(s), MIN_OF(MAX_OF(s->o.poll_min, STATES_SHARE * s->states_cost), s->o.poll_max));

	s->states_span = s->o.poll_min;
	s->states_due = MIN_OF(s->states_due, due);
}

/* ---- settings of the controller ---- */

static void conf_told(void *arg, struct slurm_result *r)
{
	_cleanup_free_ struct load *l = arg;
	struct scheduler *s = l->s;
	usec_t theirs;

	s->asking_conf = false;
	if (r->outcome != SLURM_OK) {
		s->conf_due = usec_add(now_of(s), CONF_RETRY);
		wake(s);
		return;
	}
	s->conf_due = usec_add(now_of(s), CONF_SPAN);
	s->conf_known = true;
	s->accounting = r->conf->accounting;
	s->preempts = preempts_of(r->conf->preempt_type);
	theirs = (usec_t)r->conf->kill_wait_s * USEC_SEC;
	wake(s);
	if (!s->o.kill_wait_given) {
		if (s->rules.kill_wait != theirs) {
			log_info("Slurm's KillWait is %u s", r->conf->kill_wait_s);
			look_at_all(s);
		}
		s->rules.kill_wait = theirs;
	} else if (s->rules.kill_wait != theirs && !s->told_kill_wait) {
		s->told_kill_wait = true;
		log_warn("--slurm-kill-wait is %lld s, but Slurm's KillWait is %u s: Pods may be killed before they "
		         "are gone, or refused "
		         "without need",
		         (long long)(s->rules.kill_wait / USEC_SEC), r->conf->kill_wait_s);
	}
}

/* ---- when to ask ---- */

static void ask_list(struct scheduler *s)
{
	s->listing = true;
	if (loads_want_list(s)) {
		loads_list_began(s);
		s->list_digest = 0; /* they want to be told */
	}
	ask(s, &(struct slurm_request) { .verb = SLURM_LOAD_JOBS, .lean = true, .digest = s->list_digest },
	    jobs_listed);
}

void jobs_step(struct scheduler *s, usec_t now)
{
	if (!s->asking_conf && now >= s->conf_due) {
		s->asking_conf = true;
		ask(s, &(struct slurm_request) { .verb = SLURM_LOAD_CONF }, conf_told);
	}
	if (!s->listing && (now >= s->list_due || loads_want_list(s)))
		ask_list(s);
	if (!s->asking_states && now >= s->states_due && s->listed_at && map_count(&s->by_job)) {
		s->asking_states = true;
		ask(s, &(struct slurm_request) { .verb = SLURM_LOAD_JOB_STATES, .digest = s->states_digest },
		    states_told);
	}
}

usec_t jobs_next(const struct scheduler *s)
{
	usec_t next = s->asking_conf ? USEC_NEVER : s->conf_due;

	if (!s->listing)
		next = MIN_OF(next, loads_want_list(s) ? 0 : s->list_due);
	if (!s->asking_states && s->listed_at && map_count(&s->by_job))
		next = MIN_OF(next, s->states_due);
	return next;
}
