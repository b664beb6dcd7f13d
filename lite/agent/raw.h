/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Requests whose objects stay JSON: what a node agent reads and writes is more than the daemons' structs hold.
 */
#pragma once

#include <yyjson.h>

#include "kube/client.h"

struct raw;

/* object: the answer's body, NULL when it is none; good until the call returns. */
typedef void (*raw_done)(void *arg, const struct kube_result *result, yyjson_val *object);

#define RAW_MERGE "application/merge-patch+json"
#define RAW_STRATEGIC "application/strategic-merge-patch+json"

/* body may be NULL. Everything is copied. `done` comes once, later, from the loop. */
struct raw *raw_send(struct kube_client *c, const char *method, const char *path, const char *content_type,
                     const char *body, raw_done done, void *arg);
void raw_cancel(struct raw *r); /* `done` is not called; NULL is fine */
