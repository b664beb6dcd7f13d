/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What an informer does next, given what just happened: the decision, pure (time and chance come in as values). The
 * informer does what the plan says and comes back with the news.
 *
 * What holds:
 *  - A watch goes on from the resourceVersion last seen, however the one before ended, unless the server said that it
 *    is too old, or the silence was longer than any healthy server's: after a restored etcd a watch from "the future"
 *    is answered with 200 and nothing. Then everything is listed again.
 *  - So it is when a watch of a custom kind ends before its time: its definition may have changed, and until the server
 *    ends the watches of the old one they leave out what only the new one knows.
 *  - What is watched from is never newer than the oldest page of the list before it.
 *  - Two requests in a row without a healthy watch between them are further and further apart (no hot loop). A server that
 *    is away, or busy, is asked every few seconds all the same: it may be back, and nobody acts on what we do not hear. Rare
 *    is only what costs it something and hardly goes better the next time; how long it was away does not count there.
 */
#pragma once

#include <stdbool.h>

#include "base/mem.h"
#include "base/rand.h"
#include "base/time.h"

#define PLAN_VERSION_MAX 127                 /* bytes of a resourceVersion */
#define PLAN_PAGE_LIMIT 500                  /* objects in a page, until one is too large */
#define PLAN_WATCH_S 300                     /* asked of the server, ± PLAN_WATCH_JITTER_S */
#define PLAN_WATCH_JITTER_S 30
#define PLAN_SILENT (90 * USEC_SEC)          /* bookmarks come about every 60 s */
#define PLAN_HEALTHY (10 * USEC_SEC)         /* a watch that was accepted and lived this long was a good one */
#define PLAN_BACKOFF_BASE (250 * USEC_MSEC)
#define PLAN_BACKOFF_MAX (30 * USEC_SEC)
#define PLAN_AWAY_MAX (4 * USEC_SEC)         /* the same while nobody answers, or with "not now" only */
#define PLAN_BAD_MAX 3                /* watches in a row answered with nonsense before a new list */
#define PLAN_EXPIRED_MAX 2                   /* lists in a row that expired half-way before going on regardless */

enum plan_event {
	PLAN_START,         /* nothing happened yet */
	PLAN_PAGE,          /* a page came, with a token for the next */
	PLAN_LISTED,        /* the last page came */
	PLAN_LIST_FAILED,   /* no answer, or "not now" */
	PLAN_LIST_REFUSED,  /* an answer that will not get better by asking for the same page again */
	PLAN_LIST_TOO_LARGE,/* a page over the maximum */
	PLAN_LIST_EXPIRED,  /* 410; the token, if any, goes on inconsistently */
	PLAN_WATCH_ENDED,   /* closed, timed out, cut off, unreachable, "not now": says nothing against the version */
	PLAN_WATCH_BAD,     /* refused, or garbage in the stream */
	PLAN_WATCH_TOO_LARGE, /* a line over the maximum */
	PLAN_WATCH_EXPIRED, /* 410, as a status or in the stream */
};

struct plan_news {
	enum plan_event event;
	const char *version; /* PAGE, LISTED: the list's resourceVersion */
	const char *token;   /* PAGE, LIST_EXPIRED */
	usec_t retry_after;  /* what the server asked for, or 0 */
	bool accepted;       /* WATCH_…: it had been answered with 200 */
};

enum plan_step {
	PLAN_DO_LIST,  /* from the beginning */
	PLAN_DO_PAGE,  /* go on with `token` */
	PLAN_DO_WATCH, /* from `version` */
};

struct plan {
	enum plan_step step; /* what is to be done or being done … */
	usec_t at;           /* … not before this (monotonic) */
	unsigned limit, watch_s; /* for the list, for the watch */
	char version[PLAN_VERSION_MAX + 1];
	char *token;
	/* memory */
	char first[PLAN_VERSION_MAX + 1]; /* of the list's first page */
	bool custom;               /* of a kind that a definition may change */
	usec_t silent;                    /* PLAN_SILENT, unless a test cannot wait that long */
	usec_t heard;                     /* when the server last sent something of this collection */
	unsigned away, attempt, bad, expired; /* in a row */
};

void plan_init(struct plan *p);
void plan_done(struct plan *p);

/* Takes the news in and sets step and at. */
void plan_next(struct plan *p, const struct plan_news *news, usec_t now, struct rng *rng);

/* A byte came on the watch. */
static inline void plan_heard(struct plan *p, usec_t now)
{
	p->heard = now;
}

/* An event or bookmark with this resourceVersion came. */
void plan_seen(struct plan *p, const char *version);
