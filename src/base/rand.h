/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Random numbers: a small seeded generator (jitter, simulation: the same seed gives the same run) and the kernel's for
 * what must not be guessed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

struct rng {
	uint64_t state;
};

struct rng rng_seeded(uint64_t seed);
struct rng rng_from_kernel(void);

uint64_t rng_u64(struct rng *rng);
uint64_t rng_below(struct rng *rng, uint64_t n); /* 0 … n-1, evenly; n > 0 */

/* Kernel randomness; aborts when there is none. */
void rand_secure(void *out, size_t len);

/* A wait before try number `attempt` (0 = first retry): base * 2^attempt, at most max, then evenly between half of it
 * and the whole, so that many clients do not come back together. */
usec_t backoff_span(struct rng *rng, unsigned attempt, usec_t base, usec_t max);
