/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The daemon's end of one Slurm worker: starts the process, sends it a frame, collects the frame it answers and the
 * last line it wrote to its stderr. Never waits for it: all of it happens in the loop.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "net/loop.h"

struct child;

struct child_events {
	/* The number and the body of one frame; borrowed. The child may be freed in here. */
	void (*answer)(void *arg, uint32_t number, const void *body, size_t len);
	/* The process is gone, or sent what is no frame; `why` is a sentence, with the last line of its stderr when it
	 * had one. recycled: it asked to be replaced before it touched its request. The child must be freed in here. */
	void (*ended)(void *arg, const char *why, bool recycled);
};

/* Starts argv (NULL-terminated) with more environment (NULL = none); its descriptor 3 is the socket. */
struct child *child_new(struct loop *loop, const char *const *argv, const char *const *env,
                        const struct child_events *events, void *arg, struct err *err);

/* Ends the process if it still runs; the loop reaps it. Calls nobody. */
void child_free(struct child *c);

bool child_listens(const struct child *c); /* false when it has closed its end: its own end follows */

/* Sends a frame, taking its bytes. One at a time: the next after its answer. -EPIPE when it has left already and has
 * surely not read any of it. */
int child_send(struct child *c, struct buf *frame);

/* Appends the last lines of its stderr since its request was sent, on one line; nothing when there are none. */
void child_add_words(const struct child *c, struct buf *out);
int child_pid(const struct child *c);
