/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Calls of a hook API side by side, in a program with one thread that also listens to something else (signals): nothing
 * here blocks but requests_run(), and that ends when the other thing happens. A call is one try.
 */
#pragma once

#include "hook/call.h"

struct requests;
struct request;

struct requests *requests_new(void);
void requests_free(struct requests *rs); /* calls under way end without calling back */
DEFINE_FREEP(struct requests, requests_free)

/* status 0: no answer, err tells why. The body is good until it returns. May start and cancel others, not itself. */
typedef void (*request_done)(void *arg, int status, const struct buf *body, const struct err *err);

/* The call's texts are borrowed until it is over; its deadline counts, `retry` does not. Never calls back from within. */
struct request *request_start(struct requests *rs, const struct hook_call *call, request_done done, void *arg,
                              struct err *err);
void request_cancel(struct request *q); /* at once; NULL is fine */

/* Sends and receives what is possible now, without waiting. */
void requests_push(struct requests *rs);
/* Waits until something happens in a call, fd is readable or the span is over; calls back for what is done. */
void requests_run(struct requests *rs, int fd, usec_t wait_max);
