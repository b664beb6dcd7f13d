/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/try.h"

#include "hook/wire.h"

#define WAIT_MAX_MS 60000 /* looks at the clock now and then */

const bool hook_speaks_tls = false;

int hook_try(const struct hook_call *call, const char *url, usec_t until, struct hook_answer *ret, struct err *err)
{
	_cleanup_(wire_freep) struct wire *w = NULL;
	struct err why = { 0 };
	int r;

	w = wire_new(call, url, until, &why);
	if (!w) {
		if (err)
			*err = why;
		return why.code;
	}
	while (!wire_step(w)) {
		struct pollfd p;
		usec_t left = wire_waits_for(w, &p) - clock_mono(clock_real());

		(void)poll(&p, 1, (int)MIN_OF(MAX_OF(left, 0) / USEC_MSEC + 1, WAIT_MAX_MS));
	}
	r = wire_result(w, &ret->status, err);
	if (r == 0) {
		ret->body = *wire_body(w);
		*wire_body(w) = BUF(HOOK_ANSWER_MAX);
	}
	return r;
}
