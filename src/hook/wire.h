/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One request and its answer over plain http, without blocking: the caller polls and steps. Connects to each of a name's
 * addresses in turn. No redirects, no proxies; a connection is for one request.
 */
#pragma once

#include <poll.h>

#include "hook/call.h"

struct wire;

/* Asks for url; errors name call->url. Both must stay. Nothing is sent before the first step. NULL: url is none. */
struct wire *wire_new(const struct hook_call *call, const char *url, usec_t deadline, struct err *err);
void wire_free(struct wire *w);
DEFINE_FREEP(struct wire, wire_free)

/* All that can be done now. True: it is over. */
bool wire_step(struct wire *w);
/* What to wait for before the next step, and until when (monotonic). */
usec_t wire_waits_for(const struct wire *w, struct pollfd *ret);

/* Once it is over: 0 with the status, or the error. */
int wire_result(const struct wire *w, int *ret_status, struct err *err);
struct buf *wire_body(struct wire *w); /* the caller may take what is in it */
