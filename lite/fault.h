/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Faults on command. A rule names calls (verb, resource, namespace), a share of them, and what happens to those. Which
 * ones are hit is drawn from a seeded generator: the same seed and the same order of calls give the same faults.
 *
 *	POST   /lite/faults   {"seed":7,"rules":[{"verb":"update","resource":"pods","share":0.1,"kind":"error","code":409}]}
 *	GET    /lite/faults   the rules that are on, with how often they hit
 *	DELETE /lite/faults   all off
 *
 * kind: latency (seconds), error (code 409, 410, 429, 500, 503, 504), lose-answer (the effect happens, the connection
 * ends without an answer), drop-watch, stall-watch (seconds), expire-watch, compact (the history is forgotten), restart
 * (the server is away for `seconds`). "for" (seconds) and "count" (hits) end a rule. Faults of watches happen at
 * once to those that are open, and with "for" also to those that come; compact and restart happen once.
 */
#pragma once

#include "base/mem.h"
#include "base/time.h"
#include "lite/call.h"
#include "lite/status.h"

#define FAULT_RULES_MAX 100

struct faults;

struct faults *faults_new(struct lite *l);
void faults_free(struct faults *f); /* calls that were delayed are forgotten */
DEFINE_FREEP(struct faults, faults_free)

enum fault_act {
	FAULT_NONE,
	FAULT_ANSWERED, /* with an error */
	FAULT_DELAYED,  /* the call is kept, and run later */
};

/* Before a call runs. When delayed, `run` is called with it later. */
enum fault_act fault_call(struct faults *f, struct call *c, void (*run)(struct call *c));

struct watch;
void fault_new_watch(struct lite *l, struct watch *w, const struct kind *k, const char *ns);

/* The endpoint. */
int fault_endpoint(struct call *c, struct status *st);
