/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm/health.h"

#include <errno.h>

#include "base/str.h"

#define FIRST_PAUSE (250 * USEC_MSEC) /* between the first two probes that fail, doubling */

void health_init(struct health *h, usec_t silence_max, usec_t pause_max)
{
	*h = (struct health) { .silence_max = silence_max, .pause_max = pause_max, .rng = rng_from_kernel() };
}

void health_heard(struct health *h, usec_t now)
{
	h->state = HEALTH_UP;
	h->heard = now;
	h->failed = 0;
	h->next_probe = usec_add(now, h->silence_max);
}

void health_missed(struct health *h, usec_t asked, bool was_probe, const char *why, usec_t now)
{
	if (h->state == HEALTH_UP && h->heard > asked)
		return; /* another one was answered since */
	if (was_probe) {
		h->state = HEALTH_AWAY;
		h->why.code = -EHOSTDOWN;
		str_copy(h->why.text, sizeof(h->why.text), why);
		h->next_probe = usec_add(
		        now, backoff_span(&h->rng, h->failed++, MIN_OF(FIRST_PAUSE, h->pause_max), h->pause_max));
	} else if (h->state == HEALTH_UP) {
		h->state = HEALTH_DOUBT;
		h->next_probe = now;
	}
}

bool health_ready(const struct health *h, struct err *ret_why)
{
	if (h->state == HEALTH_UP || h->state == HEALTH_DOUBT)
		return true;
	if (h->state == HEALTH_UNKNOWN)
		err_set(ret_why, -EAGAIN, "Slurm has not answered yet");
	else if (ret_why)
		*ret_why = h->why;
	return false;
}
