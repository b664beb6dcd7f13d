/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The real Slurm behind port/slurm.h: pool of workers and doorbell under one roof. The one header of this room that the
 * programs need, besides slurm/worker.h (the hidden verb `slurm-worker`) and slurm/poll.h.
 */
#pragma once

#include "net/loop.h"
#include "port/slurm.h"
#include "slurm/pool.h"

struct slurm_options {
	struct pool_options pool;
	const char *bell_address; /* numeric, to listen on; NULL = no doorbell */
	uint16_t bell_port;       /* fixed, because jobs keep it for life; 0 = any (tests) */
};

/* Starts at once; fails only when the doorbell cannot be hung up. */
struct slurm_port *slurm_open(struct loop *loop, const struct slurm_options *options, struct err *err);
/* As pool_free(): what has no answer yet gets one. A poll over this port is freed before, its open question dropped. */
void slurm_close(struct slurm_port *port);
DEFINE_FREEP(struct slurm_port, slurm_close)

uint16_t slurm_bell_port(const struct slurm_port *port); /* 0 = none */
struct pool_counts slurm_counts(const struct slurm_port *port);
