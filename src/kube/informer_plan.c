/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/informer_plan.h"

#include <assert.h>

#include "base/str.h"

void plan_init(struct plan *p)
{
	*p = (struct plan) { .step = PLAN_DO_LIST, .limit = PLAN_PAGE_LIMIT, .silent = PLAN_SILENT };
}

void plan_done(struct plan *p)
{
	free(p->token);
	p->token = NULL;
}

void plan_seen(struct plan *p, const char *version)
{
	if (!str_empty(version) && strlen(version) <= PLAN_VERSION_MAX)
		str_copy(p->version, sizeof(p->version), version);
}

static void set_token(struct plan *p, const char *token)
{
	free(p->token);
	p->token = mem_strdup(token);
}

static void do_list(struct plan *p)
{
	p->step = PLAN_DO_LIST;
	p->first[0] = '\0';
	set_token(p, NULL);
}

static void do_watch(struct plan *p, struct rng *rng)
{
	p->step = PLAN_DO_WATCH;
	p->watch_s = PLAN_WATCH_S - PLAN_WATCH_JITTER_S + (unsigned)rng_below(rng, 2 * PLAN_WATCH_JITTER_S + 1);
}

static void wait(struct plan *p, const struct plan_news *news, usec_t now, struct rng *rng)
{
	bool away = news->event == PLAN_LIST_FAILED || news->event == PLAN_WATCH_ENDED;
	usec_t span = away ? backoff_span(rng, p->away++, PLAN_BACKOFF_BASE, PLAN_AWAY_MAX)
	                   : backoff_span(rng, p->attempt++, PLAN_BACKOFF_BASE, PLAN_BACKOFF_MAX);

	p->at = usec_add(now, MAX_OF(span, news->retry_after));
}

static void page_came(struct plan *p, const struct plan_news *news, usec_t now)
{
	/* All pages of a list are of one version, but for those behind an inconsistent token, which are newer. */
	if (!p->first[0])
		str_copy(p->first, sizeof(p->first), news->version);
	p->step = PLAN_DO_PAGE;
	p->at = now;
	set_token(p, news->token);
}

static void list_ended(struct plan *p, const struct plan_news *news, usec_t now, struct rng *rng)
{
	plan_seen(p, p->first[0] ? p->first : news->version);
	set_token(p, NULL);
	p->heard = now;
	p->at = now;
	do_watch(p, rng);
}

static void list_expired(struct plan *p, const struct plan_news *news, usec_t now, struct rng *rng)
{
	/* A list so long that it expires every time is better finished inconsistently than never: what is missed
	 * comes with the watch, which starts from the first page. */
	if (++p->expired >= PLAN_EXPIRED_MAX && p->first[0] && news->token)
		set_token(p, news->token);
	else
		do_list(p);
	wait(p, news, now, rng);
}

static void list_too_large(struct plan *p, const struct plan_news *news, usec_t now, struct rng *rng)
{
	if (p->limit > 1)
		p->limit = MAX_OF(p->limit / 4, 1u);
	else
		do_list(p);
	wait(p, news, now, rng);
}

static void watch_ended(struct plan *p, const struct plan_news *news, usec_t now, struct rng *rng)
{
	bool healthy = news->accepted && now - p->at >= PLAN_HEALTHY;
	bool clean = news->event == PLAN_WATCH_ENDED || news->event == PLAN_WATCH_EXPIRED;
	bool early = news->accepted && now - p->at < p->watch_s * USEC_SEC;

	if (healthy) {
		p->away = 0;
		p->attempt = 0;
		p->expired = 0;
	}
	if (news->event == PLAN_WATCH_BAD)
		p->bad++;
	else if (healthy)
		p->bad = 0;

	if (news->event == PLAN_WATCH_EXPIRED || news->event == PLAN_WATCH_TOO_LARGE || p->bad >= PLAN_BAD_MAX ||
	    now - p->heard >= p->silent || (p->custom && early)) {
		p->bad = 0;
		do_list(p);
	} else {
		do_watch(p, rng);
	}
	if (healthy && clean)
		p->at = usec_add(now, news->retry_after);
	else
		wait(p, news, now, rng);
}

void plan_next(struct plan *p, const struct plan_news *news, usec_t now, struct rng *rng)
{
	switch (news->event) {
	case PLAN_START:
		do_list(p);
		p->at = now;
		return;
	case PLAN_PAGE: page_came(p, news, now); return;
	case PLAN_LISTED: list_ended(p, news, now, rng); return;
	case PLAN_LIST_FAILED: wait(p, news, now, rng); return;
	case PLAN_LIST_REFUSED:
		do_list(p);
		wait(p, news, now, rng);
		return;
	case PLAN_LIST_TOO_LARGE: list_too_large(p, news, now, rng); return;
	case PLAN_LIST_EXPIRED: list_expired(p, news, now, rng); return;
	case PLAN_WATCH_ENDED:
	case PLAN_WATCH_BAD:
	case PLAN_WATCH_TOO_LARGE:
	case PLAN_WATCH_EXPIRED: watch_ended(p, news, now, rng); return;
	}
	assert(!"a kind of news without its branch");
}
