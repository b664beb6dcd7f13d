/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The placeholders' calls. `started` and `terminate` say "look now" about a job. All but `drain` are parked until the Pod is over
 * or gone, for a minute or as long as the caller says: then the placeholder asks again. `started` is so only for a caller that
 * says how long; older ones want their answer at once. The token is checked before anything else.
 */
#include "scheduler/inside.h"

#include <stdio.h>

#include "base/log.h"
#include "base/str.h"
#include "net/token.h"

static void park(struct scheduler *s, struct entry *e, const struct hook_ask *ask)
{
	struct parked_ask *a = NEW(struct parked_ask);

	*a = (struct parked_ask) { .hook = ask->hook, .job_id = ask->job_id, .reply = ask->reply, .arg = ask->arg };
	a->until = usec_add(now_of(s), ask->park ? MIN_OF(ask->park, ASK_PARK_MAX) : ASK_PARK);
	list_add_tail(&e->asks, &a->link);
	entry_dirty(s, e, 0);
}

static void answer(struct parked_ask *a, int status, const char *json)
{
	link_remove(&a->link);
	a->reply(a->arg, status, json);
	free(a);
}

void hooks_close(struct scheduler *s, struct entry *e, int status, const char *json)
{
	(void)s;
	LIST_EACH (l, &e->asks)
		answer(CONTAINER_OF(l, struct parked_ask, link), status, json);
}

void hooks_answer(struct scheduler *s, struct entry *e, const struct pod *pod, usec_t now)
{
	static const char *const phases[] = { "Unknown", "Pending", "Running", "Succeeded", "Failed" };
	bool gone = !pod, over = pod && pod_is_over(pod) && !pod->meta.deletion;
	bool unbound = pod && !pod->node_name;
	usec_t next = USEC_NEVER;
	char json[128], code[32] = "";

	if (list_empty(&e->asks))
		return;
	/* A Pod that never came to a node has nothing to wait for, and a node that is gone has nothing left on it. */
	if (e->has_exit_code)
		snprintf(code, sizeof(code), ",\"exitCode\":%d", e->exit_code);
	snprintf(json, sizeof(json), "{\"phase\":\"%s\"%s}", gone ? "Gone" : phases[pod->phase], code);
	LIST_EACH (l, &e->asks) {
		struct parked_ask *a = CONTAINER_OF(l, struct parked_ask, link);

		if (gone || over || (unbound && a->hook == HOOK_TERMINATE)) {
			s->let_go_at = now;
			answer(a, 200, json);
		} else if (now >= a->until)
			answer(a, 204, "");
		else
			next = MIN_OF(next, a->until);
	}
	if (next != USEC_NEVER)
		entry_dirty(s, e, next);
}

/* ---- drain ---- */

struct drain_ask {
	struct hook_ask ask;
};

static void drained(void *arg, bool ok, const char *why)
{
	struct drain_ask *d = arg;
	char json[512];
	_cleanup_buf_ struct buf text = BUF(400);

	if (ok)
		snprintf(json, sizeof(json), "{\"drained\":true}");
	else {
		str_add_safe(&text, why, strlen(why), 300);
		snprintf(json, sizeof(json), "{\"error\":\"cannot drain the node now\"}");
		log_warn("cannot drain for job %u: %s", d->ask.job_id, buf_text(&text));
	}
	d->ask.reply(d->ask.arg, ok ? 200 : 503, json);
	free(d);
}

/* ---- a call whose job is known and whose caller may ask ---- */

/* The script of this very run speaks. */
static void hear_start(struct known_job *j, const struct hook_ask *ask)
{
	/* Else it is late and of an earlier run, or the script of another job of that number, which Slurm forgot. */
	if (j->p.state == JOB_RUNNING && ask->run == j->p.restarts)
		j->p.hook_restarts = ask->run;
}

static void serve(struct scheduler *s, struct known_job *j, const struct hook_ask *ask, usec_t arrived)
{
	struct entry *e = j->entry;

	switch (ask->hook) {
	case HOOK_STARTED:
		hear_start(j, ask);
		if (!e->started_at)
			e->started_at = arrived;
		if (ask->park) {
			park(s, e, ask);
			break;
		}
		ask->reply(ask->arg, 200, "{}");
		entry_dirty(s, e, 0);
		break;
	case HOOK_WAIT:
		if (j->p.misnamed) /* its mark is gone, and it will not say it again */
			hear_start(j, ask);
		park(s, e, ask);
		break;
	case HOOK_TERMINATE:
		if (e->terminate_job != ask->job_id || e->terminate_restarts != ask->run)
			entry_hurry(e);
		e->terminate_job = ask->job_id;
		e->terminate_restarts = ask->run;
		e->terminate_at = now_of(s);
		if (j->p.state == JOB_PENDING) /* it has started meanwhile, or this is none of its scripts */
			jobs_load_one(s, ask->job_id);
		if (!e->ending_at)
			e->ending_at = arrived;
		park(s, e, ask);
		break;
	case HOOK_DRAIN: {
		const struct pod *pod = entry_pod(s, e);
		struct drain_ask *d;

		const char *on = pod ? str_or(pod->node_name, e->bound_node) : NULL;
		const char *node = places_kube_node(s, j->node);

		/* On another node it is by a later job: this one's node failed, and only its script does not know. */
		if (!on || pod_is_over(pod) || !j->node || ask->run != job_run(&j->p) || (node && !str_eq(on, node))) {
			ask->reply(ask->arg, 200, "{\"drained\":false}"); /* nothing is left that would be in the way */
			break;
		}
		d = NEW(struct drain_ask);
		d->ask = *ask;
		if (!e->hold_node) {
			e->hold_node = mem_strdup(j->node);
			s->n_holds++;
		}
		effects_event(s, e, SAID_HOOK, true, "Drained",
		              "The Pod is still there just before KillWait: its node is drained");
		places_drain(s, j->node, drained, d);
		break;
	}
	case SCHEDULER_HOOKS: break;
	}
}

struct hook_load {
	struct scheduler *s;
	struct hook_ask ask;
	char uid[POD_UID_MAX];
	uint64_t term;
	usec_t arrived;
};

static void hook_loaded(void *arg, struct slurm_result *r)
{
	_cleanup_free_ struct hook_load *h = arg;
	struct known_job *j = NULL;
	struct job_claim claim;

	if (h->term != h->s->term || (r->outcome != SLURM_OK && r->outcome != SLURM_GONE)) {
		/* `terminate` must not wait for a Slurm that is away: what we know already will do. */
		j = h->term == h->s->term ? jobs_get(h->s, h->ask.job_id) : NULL;
		if (j && h->ask.hook == HOOK_TERMINATE && str_eq(j->entry->uid, h->uid)) {
			serve(h->s, j, &h->ask, h->arrived);
			return;
		}
		h->ask.reply(h->ask.arg, 503, "{\"error\":\"Slurm cannot be asked now: ask again\"}");
		return;
	}
	if (r->outcome == SLURM_OK && r->n) {
		jobs_learn(h->s, &r->jobs[0], r->asked);
		j = jobs_get(h->s, h->ask.job_id);
	}
	if (!j && r->outcome == SLURM_OK && r->n && job_claim_of(&r->jobs[0], &claim) && str_eq(claim.id.uid, h->uid))
		/* A 404 would end it, and its Pod may run. */
		h->ask.reply(h->ask.arg, 403, "{\"error\":\"the Pod is not in this scheduler's scope\"}");
	else if (!j)
		h->ask.reply(h->ask.arg, 404, "{\"error\":\"no such job of a Pod\"}");
	else if (!str_eq(j->entry->uid, h->uid))
		h->ask.reply(h->ask.arg, 403, "{\"error\":\"the token is another job's\"}");
	else
		serve(h->s, j, &h->ask, h->arrived);
}

/* Slurm told us that this very run of the job is on the node that the caller is on: nothing to ask for. That its script lives is
 * the caller's word, and no question to Slurm would tell more. */
static bool is_as_known(const struct known_job *j, const struct hook_ask *ask)
{
	return j->p.state == JOB_RUNNING && !(j->p.flags & JOBF_COMPLETING) && ask->node &&
	       str_eq(ask->node, j->node) && ask->run == j->p.restarts;
}

void scheduler_hook(struct scheduler *s, const struct hook_ask *ask)
{
	static const char *const names[SCHEDULER_HOOKS] = {
		[HOOK_STARTED] = "started", [HOOK_WAIT] = "wait", [HOOK_TERMINATE] = "terminate", [HOOK_DRAIN] = "drain"
	};
	struct known_job *j = jobs_get(s, ask->job_id);
	const char *uid = ask->uid ? ask->uid : j ? j->entry->uid : NULL;
	struct hook_load *h;

	if (!uid || !ask->token || strlen(uid) >= POD_UID_MAX ||
	    !token_matches(s->o.secret, s->o.secret_len, uid, ask->token)) {
		ask->reply(ask->arg, 401, "{\"error\":\"missing or wrong token\"}");
		return;
	}
	if (!s->leading || !s->listed_at || !store_synced(s->pods)) {
		ask->reply(ask->arg, 503, "{\"error\":\"not ready, or not the leader: ask again\"}");
		return;
	}
	log_debug("job %u calls: %s", ask->job_id, names[ask->hook]);
	/* A job that we know as another Pod's may be a new one of the same number: asked for again below. */
	if (j && str_eq(j->entry->uid, uid) &&
	    (ask->hook == HOOK_WAIT || ask->hook == HOOK_DRAIN || (ask->hook == HOOK_STARTED && is_as_known(j, ask)))) {
		serve(s, j, ask, now_of(s));
		return;
	}
	h = NEW(struct hook_load);
	*h = (struct hook_load) { .s = s, .ask = *ask, .term = s->term, .arrived = now_of(s) };
	str_copy(h->uid, sizeof(h->uid), uid);
	h->ask.uid = h->uid;
	h->ask.token = h->ask.node = NULL;
	loads_ask(s, ask->job_id, hook_loaded, h);
}
