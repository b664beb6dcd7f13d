/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/leader.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/str.h"

#define DEFAULT_LEASE_DURATION (15 * USEC_SEC)
#define DEFAULT_RENEW_DEADLINE (10 * USEC_SEC)
#define DEFAULT_RETRY_PERIOD (2 * USEC_SEC)
#define LEASE_DURATION_MAX USEC_HOUR
#define RELEASE_TRIES_MAX 4 /* reads and writes */
#define TRIES_PER_DEADLINE 3 /* requests that may time out before the renew deadline does */

int leader_init(struct leader_state *s, const struct leader_options *o, uint64_t seed, struct err *err)
{
	struct leader_options all = *o;

	all.lease_duration = all.lease_duration ? all.lease_duration : DEFAULT_LEASE_DURATION;
	all.renew_deadline = all.renew_deadline ? all.renew_deadline : DEFAULT_RENEW_DEADLINE;
	all.retry_period = all.retry_period ? all.retry_period : DEFAULT_RETRY_PERIOD;
	if (str_empty(all.identity) || strlen(all.identity) > LEASE_HOLDER_MAX)
		return err_set(err, -EINVAL, "a candidate's identity must have 1 to %d bytes", LEASE_HOLDER_MAX);
	if (all.lease_duration < USEC_SEC || all.lease_duration > LEASE_DURATION_MAX || all.lease_duration % USEC_SEC)
		return err_set(err, -EINVAL, "the lease duration must be a whole number of seconds, at most an hour");
	if (all.renew_deadline <= 0 || all.renew_deadline >= all.lease_duration)
		return err_set(err, -EINVAL, "the renew deadline must be shorter than the lease duration");
	if (all.retry_period <= 0 || all.retry_period >= all.renew_deadline)
		return err_set(err, -EINVAL, "the retry period must be shorter than the renew deadline");
	*s = (struct leader_state) { .o = all, .rng = rng_seeded(seed) };
	return 0;
}

void leader_release(struct leader_state *s)
{
	s->releasing = true;
	s->gate.leader = false;
	s->next_try = 0;
}

static bool ours(const struct leader_state *s)
{
	return s->known && !s->absent && str_eq(s->observed.holder, s->o.identity);
}

/* When a lease that another holds, or held when it was deleted, may be taken. */
static usec_t expiry(const struct leader_state *s)
{
	usec_t duration = s->observed.duration_s > 0 ? s->observed.duration_s * USEC_SEC : s->o.lease_duration;

	if (!s->known || s->observed.holder[0] == 0 || str_eq(s->observed.holder, s->o.identity))
		return INT64_MIN;
	return usec_add(s->observed_at, duration);
}

/* Not before the others, not all together. */
static usec_t candidate_span(struct leader_state *s)
{
	return s->o.retry_period + (usec_t)rng_below(&s->rng, (uint64_t)s->o.retry_period);
}

static usec_t try_again_span(struct leader_state *s)
{
	return s->gate.leader ? s->o.retry_period / 2 + (usec_t)rng_below(&s->rng, (uint64_t)s->o.retry_period) / 2
	                      : candidate_span(s);
}

static void observe(struct leader_state *s, usec_t now, const struct lease *lease)
{
	if (!s->known || s->absent || !lease_record_eq(&s->observed, lease))
		s->observed_at = now;
	s->observed = *lease;
	s->known = true;
	s->absent = false;
	s->look = false;
	if (!ours(s))
		s->gate.leader = false;
}

/* Our own write went through. */
static void written(struct leader_state *s, usec_t now)
{
	usec_t until = usec_add(s->asked_at, s->o.renew_deadline);

	if (!ours(s) || s->releasing)
		return;
	s->next_try = s->asked_at + s->o.retry_period;
	if (now >= until) { /* the answer took so long that it proves nothing any more: renew at once */
		s->next_try = now;
		return;
	}
	if (!s->gate.leader)
		s->gate.term++;
	s->gate.leader = true;
	s->gate.until = until;
}

static void take_answer(struct leader_state *s, usec_t now, enum leader_seen seen, const struct lease *lease)
{
	enum leader_do did = s->under_way;

	s->under_way = LEADER_DO_NOTHING;
	if (seen == LEADER_SEEN_LEASE) {
		observe(s, now, lease);
		if (did != LEADER_DO_GET)
			written(s, now);
	} else if (seen == LEADER_SEEN_ABSENT) {
		s->absent = true;
		s->look = false;
		s->gate.leader = false;
		if (did != LEADER_DO_GET)
			s->next_try = now + try_again_span(s);
	} else {
		s->look = true;
		s->next_try = now + try_again_span(s);
	}
}

static struct lease record(const struct leader_state *s, usec_t wall)
{
	struct lease l = { .duration_s = (int32_t)(s->o.lease_duration / USEC_SEC), .acquired = wall, .renewed = wall };

	str_copy(l.holder, sizeof(l.holder), s->o.identity);
	if (!s->known)
		return l;
	if (!s->absent)
		str_copy(l.version, sizeof(l.version), s->observed.version);
	l.transitions = s->observed.transitions;
	if (ours(s))
		l.acquired = s->observed.acquired;
	else if (l.transitions < INT32_MAX)
		l.transitions++;
	return l;
}

/* As client-go leaves it: free at once for all who come. */
static struct lease released_record(const struct leader_state *s, usec_t wall)
{
	struct lease l = s->observed;

	l.holder[0] = 0;
	l.duration_s = 1;
	l.acquired = l.renewed = wall;
	return l;
}

static struct leader_action idle(const struct leader_state *s, usec_t wake)
{
	return (struct leader_action) { .wake = s->gate.leader ? MIN_OF(wake, s->gate.until) : wake };
}

static struct leader_action ask(struct leader_state *s, usec_t now, enum leader_do what, const struct lease *lease)
{
	struct leader_action a = idle(s, USEC_NEVER);

	a.what = what;
	a.timeout = s->o.renew_deadline / TRIES_PER_DEADLINE;
	if (lease)
		a.lease = *lease;
	s->under_way = what;
	s->asked_at = now;
	return a;
}

static struct leader_action step_release(struct leader_state *s, struct leader_time now)
{
	struct lease free_one;

	if ((!s->look && !ours(s)) || s->release_tries == RELEASE_TRIES_MAX)
		s->released = true;
	if (s->released)
		return idle(s, USEC_NEVER);
	if (now.mono < s->next_try)
		return idle(s, s->next_try);
	s->release_tries++;
	if (s->look)
		return ask(s, now.mono, LEADER_DO_GET, NULL);
	free_one = released_record(s, now.wall);
	return ask(s, now.mono, LEADER_DO_UPDATE, &free_one);
}

struct leader_action leader_step(struct leader_state *s, struct leader_time now, enum leader_seen seen,
                                 const struct lease *lease)
{
	enum leader_do asked = s->under_way;
	struct lease mine;

	/* First of all, and before a late answer could hide that there was a gap. */
	if (s->gate.leader && now.mono >= s->gate.until)
		s->gate.leader = false;
	if (seen != LEADER_SEEN_NOTHING) {
		assert(s->under_way != LEADER_DO_NOTHING);
		take_answer(s, now.mono, seen, lease);
	}
	if (s->under_way != LEADER_DO_NOTHING)
		return idle(s, USEC_NEVER);
	if (s->releasing)
		return step_release(s, now);
	/* What was just read is acted on at once; everything else waits for its turn. */
	if (now.mono < s->next_try && !(asked == LEADER_DO_GET && !s->look))
		return idle(s, s->next_try);
	if (s->look || (!s->known && !s->absent))
		return ask(s, now.mono, LEADER_DO_GET, NULL);
	if (now.mono < expiry(s)) {
		if (asked != LEADER_DO_GET)
			return ask(s, now.mono, LEADER_DO_GET, NULL);
		s->next_try = now.mono + candidate_span(s);
		s->next_try = MIN_OF(s->next_try, expiry(s));
		return idle(s, s->next_try);
	}
	mine = record(s, now.wall);
	return ask(s, now.mono, s->absent ? LEADER_DO_CREATE : LEADER_DO_UPDATE, &mine);
}
