/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm/pool.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "base/rand.h"
#include "base/str.h"
#include "slurm/child.h"
#include "slurm/health.h"
#include "slurm/wire.h"
#include "slurm/words.h"

#define RESTART_PAUSE (50 * USEC_MSEC) /* after a worker ended by itself, doubling */
#define RESTART_PAUSE_MAX (5 * USEC_SEC)
#define HANDED_ON_MAX 3 /* a request is given to so many workers that leave before they touch it */
#define SUBJECT_MAX 256
#define MESSAGE_MAX 16384

struct call {
	struct link link; /* pool.waiting, while it waits */
	enum slurm_verb verb;
	uint32_t number; /* of its frame */
	slurm_done done; /* NULL: one of our own pings */
	void *arg;
	struct buf frame;
	char subject[SUBJECT_MAX];
	usec_t came, timeout, deadline;
	usec_t asked;  /* when it left; 0 = not yet */
	uint64_t term; /* of the gate, when it came */
	int handed_on;
	enum slurm_outcome refusal; /* in pool.refused: what it will be told, and why */
	char *why;
};

struct slot {
	struct pool *pool;
	struct child *child; /* NULL: none runs */
	struct call *call;   /* what it is at; NULL: idle */
	unsigned failures;   /* ends in a row */
	usec_t not_before;   /* when another may be started */
	usec_t idle_since;   /* when its child answered last */
};

struct pool {
	struct loop *loop;
	struct pool_options o;
	char **argv, **env;
	struct link waiting, refused;
	size_t n_waiting, waiting_bytes;
	usec_t earliest; /* no deadline of a waiting one is before it */
	struct slot slots[POOL_WORKERS_MAX];
	struct loop_timer *timer; /* dispatch: at once, or at the next deadline */
	struct health health;
	bool probing;       /* a ping of ours waits or runs */
	bool again;         /* dispatch once more in the next round */
	bool closing;
	uint32_t last_number;
	struct rng rng;
	struct pool_counts counts;
};

static void dispatch(void *arg);

static void kick(struct pool *p)
{
	p->again = true;
	loop_set_timer(p->timer, loop_now(p->loop));
}

/* ---- answers */

static void call_free(struct call *c)
{
	link_remove(&c->link);
	buf_done(&c->frame);
	free(c->why);
	free(c);
}

enum turn { TURN_ONE_JOB, TURN_COMMON, TURN_SUBMIT };

static enum turn turn_of(const struct call *c)
{
	switch (c->verb) {
	case SLURM_PING:
	case SLURM_LOAD_JOB:
	case SLURM_LOAD_JOB_STATES:
	case SLURM_CANCEL:
	case SLURM_SIGNAL: return TURN_ONE_JOB;
	case SLURM_LOAD_RECORD:
	case SLURM_SUBMIT: return TURN_SUBMIT;
	default: return TURN_COMMON;
	}
}

/* Behind all whose turn is before its own or the same. */
static void add_in_turn(struct pool *p, struct call *c)
{
	struct link *after = p->waiting.prev;

	while (after != &p->waiting && turn_of(LIST_ITEM(after, struct call, link)) > turn_of(c))
		after = after->prev;
	list_add_head(after, &c->link);
}

static void add_waiting(struct pool *p, struct call *c, bool first)
{
	if (first)
		list_add_head(&p->waiting, &c->link);
	else
		add_in_turn(p, c);
	p->n_waiting++;
	p->waiting_bytes += c->frame.len;
	p->earliest = MIN_OF(p->earliest, c->deadline);
}

static void stop_waiting(struct pool *p, struct call *c)
{
	link_remove(&c->link);
	p->n_waiting--;
	p->waiting_bytes -= c->frame.len;
}

/* The one place where a request is answered. The call is in no list and at no worker. */
static void finish(struct pool *p, struct call *c, struct slurm_result *r)
{
	r->asked = c->asked;
	if (c->done) {
		p->counts.answered++;
		c->done(c->arg, r);
	} else
		p->probing = false;
	free(r->block);
	call_free(c);
}

static void finish_without(struct pool *p, struct call *c, enum slurm_outcome outcome, const char *why)
{
	_cleanup_buf_ struct buf text = BUF(MESSAGE_MAX);
	struct slurm_result r = { .outcome = outcome };

	buf_printf(&text, "%s: %s", c->subject, why);
	r.message = buf_text(&text);
	r.maybe_done = outcome == SLURM_RETRY && slurm_verb_changes(c->verb) && c->asked != 0;
	if (outcome == SLURM_RETRY && c->done)
		p->counts.failed++;
	finish(p, c, &r);
}

/* ---- readiness */

/* Everything that waits is told. The list is taken first: whoever is told may ask again, and that waits its turn. */
static void fail_waiting(struct pool *p)
{
	struct link taken, *l;

	link_init(&taken);
	while ((l = list_take_head(&p->waiting)))
		list_add_tail(&taken, l);
	p->n_waiting = 0;
	p->waiting_bytes = 0;
	while ((l = list_take_head(&taken))) {
		struct call *c = LIST_ITEM(l, struct call, link);

		if (c->done) {
			finish_without(p, c, SLURM_RETRY, p->health.why.text);
			continue;
		}
		add_waiting(p, c, true);
	}
}

/* A request got no answer from Slurm. */
static void missed(struct pool *p, const struct call *c, const char *why)
{
	if (c->verb == SLURM_LOAD_RECORD)
		return; /* slurmdbd's silence is not the controller's */
	health_missed(&p->health, c->asked ? c->asked : c->came, !c->done, why, loop_now(p->loop));
}

bool pool_ready(const struct pool *p, struct err *ret_why)
{
	return health_ready(&p->health, ret_why);
}

/* ---- workers */

static void worker_failed(struct slot *s)
{
	usec_t now = loop_now(s->pool->loop);

	child_free(TAKE_PTR(s->child));
	s->not_before = usec_add(now, backoff_span(&s->pool->rng, s->failures++, RESTART_PAUSE, RESTART_PAUSE_MAX));
}

/* What the controller says besides the error number, and what libslurm knows of the cause, libslurm only prints. Put
 * behind the message, unless it says the same. Such an answer has no other content, so its block is made anew. */
static void add_words(struct slurm_result *r, const struct child *child)
{
	_cleanup_buf_ struct buf text = BUF(MESSAGE_MAX), words = BUF(MESSAGE_MAX / 2);

	child_add_words(child, &words);
	if ((r->outcome != SLURM_REFUSED && r->outcome != SLURM_RETRY) || !words.len ||
	    strstr(r->message, buf_text(&words)))
		return;
	if (buf_printf(&text, "%s (%s)", r->message, buf_text(&words)) < 0)
		return;
	free(r->block);
	r->block = buf_take(&text);
	r->message = r->block;
}

static void got_answer(void *arg, uint32_t number, const void *body, size_t len)
{
	struct slot *s = arg;
	struct pool *p = s->pool;
	struct call *c = TAKE_PTR(s->call);
	struct slurm_result r;
	struct err err = { 0 };

	if (!c) {
		worker_failed(s); /* an answer that nobody asked for */
		kick(p);
		return;
	}
	if (number != c->number)
		err_set(&err, -EBADMSG, "an answer to another question");
	if (err.code || wire_get_result(body, len, &r, &err) < 0) {
		worker_failed(s);
		missed(p, c, err.text);
		finish_without(p, c, SLURM_RETRY, err.text);
		kick(p);
		return;
	}
	s->failures = 0;
	s->idle_since = loop_now(p->loop);
	if (r.outcome == SLURM_OK && (c->verb == SLURM_LOAD_JOBS || c->verb == SLURM_LOAD_JOB_STATES))
		r.digest = wire_digest(body, len);
	add_words(&r, s->child);
	if (r.outcome == SLURM_RETRY && words_is_transport(r.code)) {
		if (c->done)
			p->counts.failed++;
		missed(p, c, r.message);
	} else if (c->verb != SLURM_LOAD_RECORD)
		health_heard(&p->health, loop_now(p->loop));
	finish(p, c, &r);
	kick(p);
}

/* To the next worker: this one has surely not touched it. */
static void hand_on(struct pool *p, struct call *c)
{
	c->handed_on++;
	c->asked = 0;
	add_waiting(p, c, true);
	kick(p);
}

static void worker_ended(void *arg, const char *why, bool recycled)
{
	struct slot *s = arg;
	struct pool *p = s->pool;
	struct call *c = TAKE_PTR(s->call);

	if (recycled && c && c->handed_on < HANDED_ON_MAX) {
		child_free(TAKE_PTR(s->child));
		hand_on(p, c);
	} else if (c) {
		missed(p, c, why);
		finish_without(p, c, SLURM_RETRY, why);
		worker_failed(s);
	} else if (recycled) {
		child_free(TAKE_PTR(s->child));
	} else
		worker_failed(s);
	kick(p);
}

static const struct child_events child_events = { .answer = got_answer, .ended = worker_ended };

/* A worker that is idle; one that has to be started first only if there is none. */
static struct slot *free_slot(struct pool *p, usec_t now)
{
	struct slot *empty = NULL;

	for (int i = 0; i < p->o.workers; i++) {
		struct slot *s = &p->slots[i];

		if (s->call || (s->child && !child_listens(s->child)))
			continue;
		if (s->child)
			return s;
		if (!empty && s->not_before <= now)
			empty = s;
	}
	return empty;
}

static bool is_bulk(const struct call *c)
{
	return c->verb == SLURM_LOAD_JOBS || c->verb == SLURM_LOAD_NODES || c->verb == SLURM_LOAD_RECORD;
}

static int bulk_running(const struct pool *p)
{
	int n = 0;

	for (int i = 0; i < p->o.workers; i++)
		n += p->slots[i].call && is_bulk(p->slots[i].call);
	return n;
}

/* Our own ping first, then in order; nothing but pings unless Slurm is there. */
static struct call *next_call(struct pool *p)
{
	bool bulk_full = bulk_running(p) >= p->o.workers - 1;

	LIST_EACH (l, &p->waiting) {
		struct call *c = LIST_ITEM(l, struct call, link);

		if (!c->done)
			return c;
		if (!pool_ready(p, NULL))
			return NULL; /* a ping stands at the head */
		if (!bulk_full || !is_bulk(c))
			return c;
	}
	return NULL;
}

/* By the clock, not by the round, which may have been a long one. */
static bool gate_lets_pass(const struct pool *p, const struct call *c)
{
	if (!slurm_verb_changes(c->verb) || !p->o.gate)
		return true;
	return gate_open(p->o.gate, clock_mono(clock_real())) && p->o.gate->term == c->term;
}

static void start(struct pool *p, struct slot *s, struct call *c, usec_t now)
{
	_cleanup_buf_ struct buf frame = BUF(WIRE_REQUEST_MAX);
	struct err err = { 0 };

	stop_waiting(p, c);
	if (!gate_lets_pass(p, c)) {
		finish_without(p, c, SLURM_NOT_LEADER, "not the leader, nothing was sent");
		return;
	}
	if (!s->child) {
		s->child = child_new(p->loop, (const char *const *)p->argv, (const char *const *)p->env, &child_events,
		                     s, &err);
		p->counts.started++;
	}
	if (!s->child) {
		worker_failed(s);
		missed(p, c, err.text);
		finish_without(p, c, SLURM_RETRY, err.text);
		return;
	}
	c->asked = now;
	s->call = c;
	c->number = ++p->last_number;
	buf_add(&frame, c->frame.data, c->frame.len); /* a copy: a worker may leave before it read it */
	wire_set_number(frame.data, c->number);
	if (child_send(s->child, &frame) < 0) {
		s->call = NULL;
		child_free(TAKE_PTR(s->child));
		hand_on(p, c);
	}
}

/* ---- time */

/* Each costs megabytes. The first stays, and is always asked first. */
static bool may_go(const struct pool *p, const struct slot *s)
{
	return s != &p->slots[0] && s->child && !s->call;
}

static void retire_idle(struct pool *p, usec_t now)
{
	for (int i = 0; i < p->o.workers; i++) {
		struct slot *s = &p->slots[i];

		if (may_go(p, s) && usec_add(s->idle_since, p->o.idle_span) <= now)
			child_free(TAKE_PTR(s->child));
	}
}

static void too_late(struct pool *p, struct slot *s)
{
	struct call *c = TAKE_PTR(s->call);
	_cleanup_buf_ struct buf why = BUF(MESSAGE_MAX);
	char span[TIME_TEXT_MAX];
	size_t len;

	buf_printf(&why, "%s did not answer within %s", c->verb == SLURM_LOAD_RECORD ? "slurmdbd" : "the controller",
	           duration_format(c->timeout, span));
	len = why.len;
	buf_add_str(&why, "; libslurm: ");
	child_add_words(s->child, &why);
	if (why.len == len + strlen("; libslurm: "))
		why.data[len] = '\0';
	child_free(TAKE_PTR(s->child)); /* it may hang for long; a new one costs milliseconds */
	missed(p, c, buf_text(&why));
	finish_without(p, c, SLURM_RETRY, buf_text(&why));
}

/* Who waits past its deadline is told why it had to. */
static void expire_waiting(struct pool *p, usec_t now)
{
	struct link late, *l;
	struct err why = { 0 };

	if (p->earliest > now)
		return;
	p->earliest = USEC_NEVER;
	link_init(&late);
	LIST_EACH (w, &p->waiting) {
		struct call *c = LIST_ITEM(w, struct call, link);

		if (c->deadline > now) {
			p->earliest = MIN_OF(p->earliest, c->deadline);
			continue;
		}
		stop_waiting(p, c);
		list_add_tail(&late, &c->link);
	}
	while ((l = list_take_head(&late))) {
		struct call *c = LIST_ITEM(l, struct call, link);

		if (!c->done) /* all workers hang: as good as a ping without an answer */
			missed(p, c, "the controller does not answer");
		if (pool_ready(p, &why))
			str_copy(why.text, sizeof(why.text), "it waited too long behind other requests");
		finish_without(p, c, SLURM_RETRY, why.text);
	}
}

/* libslurm tries for long to reach a controller that is away. A change must not leave then, when someone else may lead. */
static void cut_off(struct pool *p, struct slot *s)
{
	struct call *c = TAKE_PTR(s->call);

	child_free(TAKE_PTR(s->child));
	finish_without(p, c, SLURM_RETRY, "leadership ended while it was under way");
}

static void expire(struct pool *p, usec_t now)
{
	for (int i = 0; i < p->o.workers; i++) {
		struct slot *s = &p->slots[i];

		if (s->call && s->call->deadline <= now)
			too_late(p, s);
		else if (s->call && !gate_lets_pass(p, s->call))
			cut_off(p, s);
	}
	expire_waiting(p, now);
}

static void add_probe(struct pool *p)
{
	static const struct slurm_request ping = { .verb = SLURM_PING };
	struct call *c = NEW(struct call);

	c->verb = SLURM_PING;
	c->frame = BUF(WIRE_REQUEST_MAX);
	wire_add_request(&c->frame, &ping, NULL);
	str_copy(c->subject, sizeof(c->subject), "ping");
	c->timeout = p->o.probe_timeout;
	c->came = loop_now(p->loop);
	c->deadline = usec_add(c->came, c->timeout);
	p->probing = true;
	add_waiting(p, c, true);
}

static void arm(struct pool *p)
{
	usec_t now = loop_now(p->loop), next = p->probing ? USEC_NEVER : p->health.next_probe;

	for (int i = 0; i < p->o.workers; i++) {
		const struct slot *s = &p->slots[i];

		if (s->call)
			next = MIN_OF(next, s->call->deadline);
		if (may_go(p, s))
			next = MIN_OF(next, usec_add(s->idle_since, p->o.idle_span));
		if (s->call && slurm_verb_changes(s->call->verb) && p->o.gate)
			next = MIN_OF(next, p->o.gate->until);
		if (!s->call && !s->child && p->n_waiting && s->not_before > now)
			next = MIN_OF(next, s->not_before);
	}
	next = MIN_OF(next, p->earliest);
	loop_set_timer(p->timer, p->again ? now : next);
}

static void answer_refused(struct pool *p)
{
	struct link taken, *l;

	link_init(&taken);
	while ((l = list_take_head(&p->refused)))
		list_add_tail(&taken, l);
	while ((l = list_take_head(&taken))) {
		struct call *c = LIST_ITEM(l, struct call, link);

		finish_without(p, c, c->refusal, c->why);
	}
}

/* Everything that happens by itself goes through here, once per round at most. */
static void dispatch(void *arg)
{
	struct pool *p = arg;
	usec_t now = loop_now(p->loop);
	struct slot *s;
	struct call *c;

	p->again = false;
	answer_refused(p);
	expire(p, now);
	retire_idle(p, now);
	if (!p->probing && p->health.next_probe <= now)
		add_probe(p);
	if (p->health.state == HEALTH_AWAY)
		fail_waiting(p);
	/* what is asked from within an answer waits for the next round */
	for (size_t n = p->n_waiting; n > 0 && (s = free_slot(p, now)) && (c = next_call(p)); n--)
		start(p, s, c, now);
	arm(p);
}

/* ---- from outside */

static void refuse(struct pool *p, struct call *c, enum slurm_outcome outcome, const char *why)
{
	buf_done(&c->frame);
	c->refusal = outcome;
	c->why = mem_strdup(why);
	list_add_tail(&p->refused, &c->link);
}

static bool is_full(const struct pool *p, const struct call *c)
{
	return p->n_waiting >= POOL_WAITING_MAX || p->waiting_bytes + c->frame.len > POOL_WAITING_BYTES;
}

void pool_call(struct pool *p, const struct slurm_request *rq, slurm_done done, void *arg)
{
	struct call *c = NEW(struct call);
	_cleanup_buf_ struct buf subject = BUF(SUBJECT_MAX - 1);
	struct err err = { 0 };

	assert(done && rq->verb < SLURM_VERBS && !p->closing);
	link_init(&c->link);
	c->verb = rq->verb;
	c->done = done;
	c->arg = arg;
	c->term = p->o.gate ? p->o.gate->term : 0;
	c->came = loop_now(p->loop);
	c->timeout = rq->timeout > 0 ? rq->timeout : p->o.timeout;
	c->deadline = usec_add(c->came, c->timeout);
	words_add_subject(&subject, rq);
	str_copy(c->subject, sizeof(c->subject), buf_text(&subject));
	c->frame = BUF(WIRE_REQUEST_MAX);
	if (wire_add_request(&c->frame, rq, &err) < 0)
		refuse(p, c, SLURM_REFUSED, err.text);
	else if (is_full(p, c))
		refuse(p, c, SLURM_RETRY, "too many requests wait for Slurm");
	else
		add_waiting(p, c, false);
	kick(p);
}

struct pool_counts pool_counts(const struct pool *p)
{
	struct pool_counts n = p->counts;

	n.waiting = p->n_waiting;
	for (int i = 0; i < p->o.workers; i++) {
		n.running += p->slots[i].call != NULL;
		n.workers += p->slots[i].child != NULL;
	}
	return n;
}

static char **copy_argv(const char *const *argv)
{
	static const char *const ourselves[] = { "/proc/self/exe", "slurm-worker", NULL };
	size_t n = 0;
	char **copy;

	if (!argv)
		argv = ourselves;
	while (argv[n])
		n++;
	copy = mem_alloc_n(n + 1, sizeof(char *));
	for (size_t i = 0; i < n; i++)
		copy[i] = mem_strdup(argv[i]);
	return copy;
}

static void free_argv(char **argv)
{
	for (size_t i = 0; argv && argv[i]; i++)
		free(argv[i]);
	free(argv);
}

static usec_t or_default(usec_t v, usec_t otherwise)
{
	return v > 0 ? v : otherwise;
}

struct pool *pool_new(struct loop *loop, const struct pool_options *o)
{
	struct pool *p = NEW(struct pool);
	static const char *const no_env[] = { NULL };
	char **env;

	p->loop = loop;
	p->o = *o;
	p->o.workers = o->workers ? MIN_OF(MAX_OF(o->workers, 2), POOL_WORKERS_MAX) : 3;
	p->o.timeout = or_default(o->timeout, 15 * USEC_SEC);
	p->o.probe_timeout = or_default(o->probe_timeout, 5 * USEC_SEC);
	p->o.idle_probe = or_default(o->idle_probe, 10 * USEC_SEC);
	p->o.idle_span = or_default(o->idle_span, 10 * USEC_SEC);
	p->o.probe_pause_max = or_default(o->probe_pause_max, 5 * USEC_SEC);
	p->argv = copy_argv(o->argv);
	env = copy_argv(o->env ? o->env : no_env);
	p->env = env;
	if (o->conf) {
		size_t n = 0;

		while (env[n])
			n++;
		p->env = env = mem_realloc_n(env, n + 2, sizeof(char *));
		env[n] = str_printf("SLURM_CONF=%s", o->conf);
		env[n + 1] = NULL;
	}
	link_init(&p->waiting);
	link_init(&p->refused);
	p->earliest = USEC_NEVER;
	p->rng = rng_from_kernel();
	health_init(&p->health, p->o.idle_probe, p->o.probe_pause_max);
	p->timer = loop_add_timer(loop, dispatch, p);
	for (int i = 0; i < p->o.workers; i++)
		p->slots[i].pool = p;
	kick(p);
	return p;
}

/* Told from here, because there will be no other round: everyone is answered once, whatever happens. */
static void answer_all(struct pool *p)
{
	struct link all, *l;

	link_init(&all);
	for (int i = 0; i < p->o.workers; i++)
		if (p->slots[i].call)
			list_add_tail(&all, &TAKE_PTR(p->slots[i].call)->link);
	while ((l = list_take_head(&p->refused)))
		list_add_tail(&all, l);
	while ((l = list_take_head(&p->waiting)))
		list_add_tail(&all, l);
	while ((l = list_take_head(&all)))
		finish_without(p, LIST_ITEM(l, struct call, link), SLURM_RETRY, "the program is ending");
}

void pool_free(struct pool *p)
{
	if (!p)
		return;
	p->closing = true;
	for (int i = 0; i < p->o.workers; i++)
		child_free(p->slots[i].child);
	answer_all(p);
	loop_remove_timer(p->timer);
	free_argv(p->argv);
	free_argv(p->env);
	free(p);
}
