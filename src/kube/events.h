/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Recording Kubernetes Events (events.k8s.io/v1), the pure part: what is told goes in, requests to send come out, time
 * is a value. The same thing told again about the same object becomes a series of one Event object (count, last time),
 * written at once the first time and then at most once a minute. Writes about one object come from a bucket; what finds
 * it empty waits. Best effort and bounded: what does not fit is forgotten, oldest first. Core thread.
 *
 *	recorder_add(r, &event, now);
 *	while (recorder_take(r, now, &request))
 *		send(&request.rest);               later: recorder_answered(r, request.id, status, now);
 *	wake_at(recorder_next(r));                 and after every answer
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/time.h"
#include "kube/rest.h"

#define EVENT_ENTRIES_MAX 4096
#define EVENT_PER_OBJECT_MAX 64 /* of these about one object for one reason */
#define EVENT_IN_FLIGHT_MAX 16
#define EVENT_NOTE_MAX 1024  /* bytes, the server's limit */
#define EVENT_WORD_MAX 128   /* reason, action, reportingInstance: the server's limit */
#define EVENT_SERIES_SPAN (30 * USEC_MINUTE) /* without a repeat, a series is over */
#define EVENT_PATCH_SPAN USEC_MINUTE         /* between two writes of one series */
#define EVENT_BURST 25                /* writes about one object for one reason … */
#define EVENT_REFILL_SPAN (5 * USEC_MINUTE)    /* … and one more per this span */
#define EVENT_TRIES_MAX 5                    /* of one write that finds the server away */

struct recorder;

struct event {
	/* regarding: a cluster-wide object has no ns (its events go to "default"); uid may be NULL */
	const char *api_version, *kind, *ns, *name, *uid;
	const char *type;   /* "Normal" or "Warning" */
	const char *reason; /* CamelCase, "Submitted" */
	const char *action; /* what was done or tried, "Scheduling" */
	const char *note;   /* cut at EVENT_NOTE_MAX */
};

struct event_time {
	usec_t mono, wall;
};

struct event_request {
	struct rest_request rest; /* body and path are good until the next call with this recorder */
	uint64_t id;
};

/* controller: "sunk.coreweave.com/scheduler"; instance: the Pod or host we run on. Copied. */
struct recorder *recorder_new(const char *controller, const char *instance);
void recorder_free(struct recorder *r);
DEFINE_FREEP(struct recorder, recorder_free)

void recorder_add(struct recorder *r, const struct event *e, struct event_time now);

/* The next request that is due, false when there is none. */
bool recorder_take(struct recorder *r, struct event_time now, struct event_request *ret);

/* How a request taken before went: the HTTP status, 0 = no answer. An id that is no longer known is fine. */
void recorder_answered(struct recorder *r, uint64_t id, int status, struct event_time now);

usec_t recorder_next(const struct recorder *r); /* monotonic, when recorder_take() may next give one */

size_t recorder_count(const struct recorder *r);    /* series that are open */
uint64_t recorder_dropped(const struct recorder *r); /* told and never written, since the start */
