/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The routes of the syncer's hook API: POST /v1/nodes/{slurmNode}/pre-hook and …/reboot. Looks at the form of a request — path, method,
 * bearer token, body — and hands what has the right form to syncer_hook(), which decides. A call is answered when the syncer does, be it
 * at once or a minute later. Core thread.
 */
#pragma once

#include <stdint.h>

#include "base/metrics.h"
#include "net/http_server.h"
#include "syncer/syncer.h"

#define SYNCER_BODY_MAX ((size_t)4096)
#define SYNCER_NODE_MAX 253
#define SYNCER_WAIT_MAX USEC_HOUR /* the longest that a caller may ask us to wait */
#define SYNCER_TOKEN_MIN 16
#define SYNCER_TOKEN_MAX 4096
#define SYNCER_TOKEN_REREAD (10 * USEC_SEC) /* a token that was replaced counts by then */

struct syncer_routes_options {
	struct http_server_options http; /* its texts are used only in syncer_routes_new() */
	const char *token_file;
	struct syncer *syncer;
	const struct clock *clock;
};

struct syncer_routes;

/* Serves from now on. NULL on failure: the token cannot be read, or the address is taken. */
struct syncer_routes *syncer_routes_new(struct loop *l, const struct syncer_routes_options *o, struct err *err);
/* Parked calls get 503. The syncer may still answer calls it was given before, and be freed before or after. */
void syncer_routes_free(struct syncer_routes *r);
DEFINE_FREEP(struct syncer_routes, syncer_routes_free)

uint16_t syncer_routes_port(const struct syncer_routes *r);
