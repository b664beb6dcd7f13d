/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The core thread's loop: descriptors (epoll), timers, signals, and work put off to the next round. Everything here is
 * called on the thread that runs the loop. A callback may remove any watch or timer, its own included.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/time.h"

struct loop;
struct loop_fd;
struct loop_timer;

struct loop *loop_new(void);
void loop_free(struct loop *l); /* frees what was not removed, calls nobody */
DEFINE_FREEP(struct loop, loop_free)

usec_t loop_now(const struct loop *l); /* monotonic, as of the start of this round */

/* events are EPOLLIN, EPOLLOUT … The descriptor stays the caller's. */
struct loop_fd *loop_add_fd(struct loop *l, int fd, uint32_t events, void (*ready)(void *arg, uint32_t events),
                            void *arg);
void loop_change_fd(struct loop_fd *f, uint32_t events);
/* What comes here may wait for the loop's patience when much comes: it is then looked at together with others, which is much
 * cheaper than waking up for each. The first few after a silence do not wait, nor does a stream that has more. */
void loop_fd_patient(struct loop_fd *f);
void loop_set_patience(struct loop *l, usec_t span); /* 0, as at first: none. Before the first fd is patient */
void loop_remove_fd(struct loop_fd *f); /* NULL is fine */

/* A timer is made unarmed; it fires once at `at` (monotonic) and can then be set again. USEC_NEVER disarms. */
struct loop_timer *loop_add_timer(struct loop *l, void (*fire)(void *arg), void *arg);
void loop_set_timer(struct loop_timer *t, usec_t at);
void loop_remove_timer(struct loop_timer *t); /* NULL is fine */

/* Calls once in the next round. */
void loop_defer(struct loop *l, void (*call)(void *arg), void *arg);

/* Calls on the given signal, from the loop (signalfd); blocks it for the process. Call before threads start. */
int loop_add_signal(struct loop *l, int signal, void (*got)(void *arg, int signal), void *arg, struct err *err);

/* Calls once when the child ends; status as from waitpid(). The loop reaps it. */
int loop_add_child(struct loop *l, int pid, void (*ended)(void *arg, int pid, int status), void *arg, struct err *err);

void loop_run(struct loop *l); /* until loop_stop() */
void loop_run_once(struct loop *l, usec_t wait_max); /* one round, waiting at most this span; for tests */
void loop_stop(struct loop *l);
