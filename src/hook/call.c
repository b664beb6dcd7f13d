/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/call.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/rand.h"
#include "base/str.h"
#include "hook/try.h"

#define BACKOFF_FIRST (50 * USEC_MSEC)
#define BACKOFF_MAX (2 * USEC_SEC)
#define ANSWER_MARGIN_MS 300 /* for the answer to arrive, and 1/20 of the wait */

int hook_read_token(const char *path, char **ret, struct err *err)
{
	_cleanup_buf_ struct buf b = BUF(HOOK_TOKEN_MAX);
	const char *from;
	size_t len;
	int r = buf_read_file(&b, path);

	if (r == -EFBIG)
		return err_set(err, r, "token file %s is larger than %d bytes", path, HOOK_TOKEN_MAX);
	if (r < 0)
		return err_errno(err, r, "token file %s", path);
	from = buf_text(&b) + strspn(buf_text(&b), " \t\r\n");
	len = strcspn(from, " \t\r\n");
	if (len == 0)
		return err_set(err, -EINVAL, "token file %s is empty", path);
	if (from[len + strspn(from + len, " \t\r\n")] || strlen(buf_text(&b)) != b.len || str_has_control(from, len))
		return err_set(err, -EINVAL, "token file %s holds more than one word", path);
	*ret = mem_strndup(from, len);
	explicit_bzero(b.data, b.len);
	return 0;
}

static int attempt(const struct hook_call *call, struct hook_answer *ret, struct err *err)
{
	usec_t now = clock_mono(clock_real()), left = call->deadline - now;
	_cleanup_free_ char *url = NULL;
	int64_t wait_ms;

	if (call->attempt_max && left > call->attempt_max)
		left = call->attempt_max;
	wait_ms = left / USEC_MSEC + 1;
	if (call->tell_time)
		url = str_printf("%s?timeoutMs=%" PRId64, call->url,
		                 MAX_OF(wait_ms - wait_ms / 20 - ANSWER_MARGIN_MS, (int64_t)1));
	return hook_try(call, url ? url : call->url, now + left, ret, err);
}

/* 504 is an answer: the hook waited as long as it may, and says what blocks. */
static bool worth_retrying(int status)
{
	return status == 429 || (status >= 500 && status != 504);
}

static void sleep_for(usec_t span)
{
	struct timespec ts = { .tv_sec = span / USEC_SEC, .tv_nsec = (span % USEC_SEC) * 1000 };

	nanosleep(&ts, NULL);
}

static int try_until_deadline(const struct hook_call *call, struct hook_answer *answer, struct err *err)
{
	struct rng rng = rng_from_kernel();
	struct err last = { 0 };

	for (;;) {
		usec_t wait = backoff_span(&rng, answer->attempts, BACKOFF_FIRST, BACKOFF_MAX);
		int r = attempt(call, answer, &last);

		answer->attempts++;
		if (r == 0 && !(call->retry && worth_retrying(answer->status)))
			return 0;
		if (r == 0)
			err_set(&last, -EAGAIN, "%s: answered %d", call->url, answer->status);
		buf_done(&answer->body);
		if (!call->retry || r == -EMSGSIZE || r == -EINVAL) {
			if (err)
				*err = last;
			return r;
		}
		if (clock_mono(clock_real()) + wait >= call->deadline)
			return err_set(err, -ETIMEDOUT, "gave up after %u tries: %s", answer->attempts,
			               err_text(&last));
		sleep_for(wait);
	}
}

int hook_call(const struct hook_call *call, struct hook_answer *ret, struct err *err)
{
	struct hook_answer answer = { 0 };
	int r = try_until_deadline(call, &answer, err);

	if (r == 0)
		*ret = answer;
	return r;
}
