/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Requests whose objects stay JSON: what a node agent reads and writes is more than the daemons' structs hold.
 *
 * They go through a lane, a few at a time and in order: thousands of Nodes and Pods that all have something to say must not
 * make as many connections.
 */
#pragma once

#include <yyjson.h>

#include "base/list.h"
#include "kube/client.h"

#define LANE_WIDTH 24 /* requests under way; below the connections that the HTTP client keeps */

struct raw;

struct lane {
	struct kube_client *client;
	struct link waiting, running;
	size_t n_running;
};

void lane_init(struct lane *l, struct kube_client *c); /* borrowed, must outlive it */
void lane_done(struct lane *l); /* what is left of it is dropped without a word */

/* object: the answer's body, NULL when it is none; good until the call returns. */
typedef void (*raw_done)(void *arg, const struct kube_result *result, yyjson_val *object);

#define RAW_MERGE "application/merge-patch+json"
#define RAW_STRATEGIC "application/strategic-merge-patch+json"

/* body may be NULL. Everything is copied. `done` comes once, later, from the loop. */
struct raw *raw_send(struct lane *l, const char *method, const char *path, const char *content_type, const char *body,
                     raw_done done, void *arg);
void raw_cancel(struct raw *r); /* `done` is not called; NULL is fine */
