/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The worker process: reads requests from a socket, carries them out through libslurm one after the other, writes the
 * answers. It owns all that can go wrong with libslurm: it may hang or be ended at any time, and the pool
 * (slurm/pool.h) goes on without it. It ends by itself when the socket closes or its parent dies.
 */
#pragma once

#define WORKER_CONF_DEFAULT "/etc/slurm/slurm.conf" /* without SLURM_CONF in the environment */

/* Ends so when slurm.conf has changed since libslurm read it, or after it told much, to give the memory back. A request that it was
 * given and did not answer has surely not been carried out. */
#define WORKER_RECYCLE 75

/* Never returns before the end; the value is for exit(). */
int slurm_worker_main(int fd);
