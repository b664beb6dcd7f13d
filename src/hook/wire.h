/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One request and its answer over plain http, without blocking: the caller polls and steps. Connects to each of a name's
 * addresses in turn, or uses a connection that an exchange before it left; when the other side has closed that one meanwhile, and
 * only then, it asks again on a new one. No redirects, no proxies.
 */
#pragma once

#include <poll.h>

#include "hook/call.h"

struct wire;

/* A connection that stayed. */
struct spare {
	int fd; /* -1: none */
	char *authority; /* with whom */
};

#define SPARE_NONE ((struct spare) { .fd = -1 })
void spare_done(struct spare *s);

/* Asks for url; errors name call->url. Both must stay; the spare is used when the call takes it, NULL is fine. Nothing is sent
 * before the first step. NULL: url is none. */
struct wire *wire_new(const struct hook_call *call, const char *url, usec_t deadline, struct spare *spare,
                      struct err *err);
void wire_free(struct wire *w);
DEFINE_FREEP(struct wire, wire_free)

/* All that can be done now. True: it is over. */
bool wire_step(struct wire *w);
/* What to wait for before the next step, and until when (monotonic). */
usec_t wire_waits_for(const struct wire *w, struct pollfd *ret);

/* Once it is over: 0 with the status, or the error. */
int wire_result(const struct wire *w, int *ret_status, struct err *err);
struct buf *wire_body(struct wire *w); /* the caller may take what is in it */
/* Leaves the connection there, instead of the one that was, when it is good for another request. */
void wire_leave(struct wire *w, struct spare *spare);
