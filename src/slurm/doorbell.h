/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The doorbell: slurmctld sends a message to the host and port that a job was submitted with when the job ends. We only
 * hear that someone rang: what the message says is sealed for the job's user, and anyone can connect. So a ring is a
 * hint to look, never a fact; lost ones are found by the poll (slurm/poll.h).
 *
 * Accepts, reads a little, closes; never answers; bounded in connections, bytes and time. Many rings close together are
 * one, and the last of them is never lost.
 */
#pragma once

#include <stdint.h>

#include "net/loop.h"

#define BELL_CONNECTIONS_MAX 64
#define BELL_BYTES_MAX (64 * 1024)         /* read from one connection */
#define BELL_PATIENCE (5 * USEC_SEC)       /* for one connection */
#define BELL_SPACING (20 * USEC_MSEC)      /* between two rings that are told */

struct bell;

/* Listens on a numeric address (NULL = all IPv4 addresses) and port (0 = any free one). */
struct bell *bell_new(struct loop *loop, const char *address, uint16_t port, void (*ring)(void *arg), void *arg,
                      struct err *err);
void bell_free(struct bell *b);
DEFINE_FREEP(struct bell, bell_free)

uint16_t bell_port(const struct bell *b);
