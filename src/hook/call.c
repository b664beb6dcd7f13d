/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/call.h"

#include <curl/curl.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/rand.h"
#include "base/str.h"

#define BACKOFF_FIRST (50 * USEC_MSEC)
#define BACKOFF_MAX (2 * USEC_SEC)
#define CONNECT_TIMEOUT (5 * USEC_SEC)
#define AUTHORIZATION_MAX (HOOK_TOKEN_MAX + 32)

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

static size_t got_body(char *data, size_t size, size_t n, void *arg)
{
	return buf_add(arg, data, size * n) < 0 ? CURL_WRITEFUNC_ERROR : size * n;
}

static long ms_until(usec_t deadline, usec_t most)
{
	usec_t left = deadline - clock_mono(clock_real());

	if (most && left > most)
		left = most;
	return left <= 0 ? 1 : (long)(left / USEC_MSEC + 1);
}

/* One try. 0 with a status, or an error. */
static int attempt(CURL *curl, const struct hook_call *call, struct hook_answer *answer, struct err *err)
{
	char detail[CURL_ERROR_SIZE] = "";
	long status = 0;
	CURLcode r;

	buf_clear(&answer->body);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, ms_until(call->deadline, call->attempt_max));
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, ms_until(call->deadline, CONNECT_TIMEOUT));
	r = curl_easy_perform(curl);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, NULL);
	if (r == CURLE_WRITE_ERROR && answer->body.error)
		return err_set(err, -EMSGSIZE, "%s: answer larger than %u KiB", call->url, HOOK_ANSWER_MAX >> 10);
	if (r != CURLE_OK)
		return err_set(err, r == CURLE_OPERATION_TIMEDOUT ? -ETIMEDOUT : -ECONNREFUSED, "%s: %s", call->url,
		               *detail ? detail : curl_easy_strerror(r));
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	answer->status = (int)status;
	return 0;
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

static int try_until_deadline(CURL *curl, const struct hook_call *call, struct hook_answer *answer, struct err *err)
{
	struct rng rng = rng_from_kernel();
	struct err last = { 0 };

	for (;;) {
		usec_t wait = backoff_span(&rng, answer->attempts, BACKOFF_FIRST, BACKOFF_MAX);
		int r = attempt(curl, call, answer, &last);

		answer->attempts++;
		if (r == 0 && !(call->retry && worth_retrying(answer->status)))
			return 0;
		if (r == 0)
			err_set(&last, -EAGAIN, "%s: answered %d", call->url, answer->status);
		if (!call->retry || r == -EMSGSIZE) {
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
	struct hook_answer answer = { .body = BUF(HOOK_ANSWER_MAX) };
	struct curl_slist *headers = NULL;
	char authorization[AUTHORIZATION_MAX];
	CURL *curl;
	int r;

	if (!str_starts(call->url, "http://") && !str_starts(call->url, "https://"))
		return err_set(err, -EINVAL, "'%.100s' is no address: it must begin with http:// or https://",
		               str_or(call->url, ""));
	curl_global_init(CURL_GLOBAL_DEFAULT);
	curl = curl_easy_init();
	if (!curl)
		return err_set(err, -ENOMEM, "libcurl could not start");
	if (call->token) {
		snprintf(authorization, sizeof(authorization), "Authorization: Bearer %s", call->token);
		headers = curl_slist_append(headers, authorization);
		explicit_bzero(authorization, sizeof(authorization));
	}
	if (call->body)
		headers = curl_slist_append(headers, "Content-Type: application/json");
	headers = curl_slist_append(headers, "Expect:");
	curl_easy_setopt(curl, CURLOPT_URL, call->url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "sunk-hook/" SUNK_VERSION);
	curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call->method);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, got_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer.body);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPIDLE, 15L);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPINTVL, 5L);
	if (call->body) {
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, call->body);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(call->body));
	}
	if (call->ca_file)
		curl_easy_setopt(curl, CURLOPT_CAINFO, call->ca_file);
	r = try_until_deadline(curl, call, &answer, err);
	curl_easy_cleanup(curl);
	curl_slist_free_all(headers);
	if (r < 0)
		buf_done(&answer.body);
	else
		*ret = answer;
	return r;
}
