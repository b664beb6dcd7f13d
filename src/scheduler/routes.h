/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The routes of the scheduler's hook API (docs/hook-api.md): what placeholder jobs call. Looks at the form of a request —
 * path, method, bearer, query, body — and hands what has the right form to scheduler_hook(), which checks the token and
 * decides. A call is answered when the scheduler does, be it at once or a minute later; whether its client still waits
 * makes no difference. Core thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/metrics.h"
#include "net/http_server.h"
#include "scheduler/scheduler.h"

#define ROUTES_BODY_MAX ((size_t)4096) /* unless the options say another */
#define ROUTES_UID_MAX 128

struct routes;

/* Serves from now on. The options' texts are used only here. metrics may be NULL. NULL on failure. */
struct routes *routes_new(struct loop *l, const struct http_server_options *o, struct scheduler *s, struct metrics *m,
                          struct err *err);
/* Parked calls get 503. The scheduler may still answer calls it was given before, and be freed before or after. */
void routes_free(struct routes *r);
DEFINE_FREEP(struct routes, routes_free)

uint16_t routes_port(const struct routes *r);
size_t routes_parked(const struct routes *r);
