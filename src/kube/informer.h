/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Keeps a store like a collection of the API server: lists it page by page, watches it, and does both again whenever
 * the plan (informer_plan.h) says so. The I/O around three parts that have none: the plan, lines.h and feed.h. Core
 * thread.
 *
 * What holds: the store is never emptied because the server cannot be heard; store_alive() tells how old the news are.
 */
#pragma once

#include <stdint.h>

#include "kube/client.h"
#include "port/store.h"

#define INFORMER_PAGE_BYTES_MAX ((size_t)64 << 20) /* a larger page is asked for again in smaller ones */
#define INFORMER_PAGES_MAX 100000
#define INFORMER_LINE_BYTES_MAX ((size_t)8 << 20)
#define INFORMER_PAGE_TIMEOUT (60 * USEC_SEC)
#define INFORMER_WATCH_GRACE (30 * USEC_SEC) /* a watch may last this much longer than was asked of the server */

struct informer;

struct informer_options {
	enum kube_kind kind; /* PODS, NODES, LEASES */
	const char *ns;      /* NULL = all */
	const char *label_selector, *field_selector; /* NULL = all */
	usec_t silent; /* no byte of a watch for this long is suspicious; 0 = PLAN_SILENT */
};

/* Counters since the start. */
struct informer_stats {
	uint64_t lists, pages, list_failures;
	uint64_t watches, watch_failures, expired;
	uint64_t events, bytes;
	uint64_t unreadable; /* objects that could not be decoded */
};

/* Starts at once. All borrowed; options are copied. */
struct informer *informer_new(struct loop *l, const struct clock *clock, struct kube_client *client,
                              const struct informer_options *o);
void informer_free(struct informer *i); /* and its store */
DEFINE_FREEP(struct informer, informer_free)

/* Lists everything again, now; its store is not synced until then. */
void informer_refresh(struct informer *i);

struct store *informer_store(const struct informer *i);
struct informer_options informer_about(const struct informer *i); /* what it keeps; text borrowed from it */
void informer_read_stats(const struct informer *i, struct informer_stats *ret);

/* What went wrong last, NULL once it goes well again. -ENOENT: the server does not know such objects. */
const struct err *informer_error(const struct informer *i);
/* The last object that could not be decoded, NULL when none was. */
const struct err *informer_unreadable(const struct informer *i);

bool informer_is_for(const struct informer *i, const struct informer_options *o);
