/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/try.h"

#include "hook/easy.h"

#define CONNECT_MAX_MS 5000L

const bool hook_speaks_tls = true;

int hook_try(const struct hook_call *call, const char *url, usec_t until, struct hook_answer *ret, struct err *err)
{
	usec_t left = until - clock_mono(clock_real());
	long wait_ms = left <= 0 ? 1 : (long)(left / USEC_MSEC + 1);
	struct easy e;
	int r = easy_init(&e, call, err);

	if (r == 0) {
		curl_easy_setopt(e.curl, CURLOPT_URL, url);
		curl_easy_setopt(e.curl, CURLOPT_TIMEOUT_MS, wait_ms);
		curl_easy_setopt(e.curl, CURLOPT_CONNECTTIMEOUT_MS, MIN_OF(wait_ms, CONNECT_MAX_MS));
		r = easy_result(&e, call, curl_easy_perform(e.curl), &ret->status, err);
	}
	if (r == 0) {
		ret->body = e.body;
		e.body = BUF(HOOK_ANSWER_MAX);
	}
	easy_done(&e);
	return r;
}
