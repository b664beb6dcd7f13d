/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/rand.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

struct rng rng_seeded(uint64_t seed)
{
	return (struct rng) { seed };
}

struct rng rng_from_kernel(void)
{
	struct rng rng;

	rand_secure(&rng.state, sizeof(rng.state));
	return rng;
}

uint64_t rng_u64(struct rng *rng) /* splitmix64 */
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

uint64_t rng_below(struct rng *rng, uint64_t n)
{
	uint64_t limit, v;

	assert(n > 0);
	limit = UINT64_MAX - UINT64_MAX % n;
	do
		v = rng_u64(rng);
	while (v >= limit);
	return v % n;
}

void rand_secure(void *out, size_t len)
{
	char *p = out;

	while (len > 0) {
		ssize_t n = getrandom(p, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			abort();
		p += n;
		len -= (size_t)n;
	}
}

usec_t backoff_span(struct rng *rng, unsigned attempt, usec_t base, usec_t max)
{
	usec_t span = base;

	assert(base > 0 && max >= base);
	for (unsigned i = 0; i < attempt && span < max; i++)
		span = span > max / 2 ? max : span * 2;
	return span / 2 + (usec_t)rng_below(rng, (uint64_t)(span - span / 2) + 1);
}
