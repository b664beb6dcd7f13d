/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The only way that threads talk: messages into a queue, from any thread, taken by the loop's thread (eventfd). Messages
 * are pointers whose ownership moves with them. Order is kept per sender. Bounded: a full mailbox refuses.
 */
#pragma once

#include "net/loop.h"

struct mailbox;

/* `got` is called on the loop's thread for each message. */
struct mailbox *mailbox_new(struct loop *l, size_t max, void (*got)(void *arg, void *message), void *arg);
/* From now on every post is refused with -ESHUTDOWN; messages inside are handed to `drop` (NULL: forgotten). For an owner
 * that must answer what was posted before its sender can end. */
void mailbox_close(struct mailbox *m, void (*drop)(void *message));
/* Messages still inside are handed to `drop` (NULL: forgotten). No sender may be left. */
void mailbox_free(struct mailbox *m, void (*drop)(void *message));

int mailbox_post(struct mailbox *m, void *message); /* any thread; -ENOBUFS when full, -ESHUTDOWN when closed */
