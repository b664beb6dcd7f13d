/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Watches: streams of changes. A watch is a place in a collection's history, not a queue: what is sent is read from
 * there when the client can take it, so a slow client costs nothing and is ended when the history passes it. A change
 * wakes only the watches whose selectors it meets.
 */
#pragma once

#include <stddef.h>

#include "base/mem.h"
#include "base/time.h"
#include "lite/kinds.h"
#include "lite/server.h"

struct watches;

struct watches *watches_new(struct lite *l);
void watches_free(struct watches *all); /* all streams have ended */
DEFINE_FREEP(struct watches, watches_free)

size_t watches_count(const struct watches *all);

/* Ends the watches of a kind that is no longer served as it was. */
void watches_end_kind(struct watches *all, const struct kind *k);

/* Faults, on the open watches that `pick` chooses: cut, told 410, or silent for a span. */
enum watch_fault { WATCH_DROP, WATCH_EXPIRE, WATCH_STALL };
struct watch;
void watch_fault(struct watch *w, enum watch_fault what, usec_t span);
size_t watches_fault(struct watches *all, enum watch_fault what, usec_t span,
                     bool (*pick)(void *arg, const struct kind *k, const char *ns), void *arg);
