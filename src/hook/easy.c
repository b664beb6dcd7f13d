/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/easy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define AUTHORIZATION_MAX (HOOK_TOKEN_MAX + 32)

static size_t got_body(char *data, size_t size, size_t n, void *arg)
{
	return buf_add(arg, data, size * n) < 0 ? CURL_WRITEFUNC_ERROR : size * n;
}

static struct curl_slist *headers_of(const struct hook_call *call)
{
	struct curl_slist *headers = NULL;
	char authorization[AUTHORIZATION_MAX];

	if (call->token) {
		snprintf(authorization, sizeof(authorization), "Authorization: Bearer %s", call->token);
		headers = curl_slist_append(headers, authorization);
		explicit_bzero(authorization, sizeof(authorization));
	}
	if (call->body)
		headers = curl_slist_append(headers, "Content-Type: application/json");
	return curl_slist_append(headers, "Expect:");
}

int easy_init(struct easy *e, const struct hook_call *call, struct err *err)
{
	const char *body = call->body;

	*e = (struct easy) { .body = BUF(HOOK_ANSWER_MAX) };
	if (!str_starts(call->url, "http://") && !str_starts(call->url, "https://"))
		return err_set(err, -EINVAL, "'%.100s' is no address: it must begin with http:// or https://",
		               str_or(call->url, ""));
	curl_global_init(CURL_GLOBAL_DEFAULT);
	e->curl = curl_easy_init();
	if (!e->curl)
		return err_set(err, -ENOMEM, "libcurl could not start");
	e->headers = headers_of(call);
	curl_easy_setopt(e->curl, CURLOPT_URL, call->url);
	curl_easy_setopt(e->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e->curl, CURLOPT_PROXY, "");
	curl_easy_setopt(e->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e->curl, CURLOPT_QUICK_EXIT, 1L); /* the end does not wait for a name server */
	curl_easy_setopt(e->curl, CURLOPT_USERAGENT, "sunk-hook/" SUNK_VERSION);
	curl_easy_setopt(e->curl, CURLOPT_CUSTOMREQUEST, call->method);
	curl_easy_setopt(e->curl, CURLOPT_HTTPHEADER, e->headers);
	curl_easy_setopt(e->curl, CURLOPT_WRITEFUNCTION, got_body);
	curl_easy_setopt(e->curl, CURLOPT_WRITEDATA, &e->body);
	curl_easy_setopt(e->curl, CURLOPT_ERRORBUFFER, e->detail);
	curl_easy_setopt(e->curl, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(e->curl, CURLOPT_TCP_KEEPIDLE, 15L);
	curl_easy_setopt(e->curl, CURLOPT_TCP_KEEPINTVL, 5L);
	if (!body && str_eq(call->method, "POST"))
		body = ""; /* an empty one, with its length */
	if (body) {
		curl_easy_setopt(e->curl, CURLOPT_POSTFIELDS, body);
		curl_easy_setopt(e->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
	}
	if (call->ca_file)
		curl_easy_setopt(e->curl, CURLOPT_CAINFO, call->ca_file);
	return 0;
}

void easy_done(struct easy *e)
{
	if (e->curl)
		curl_easy_cleanup(e->curl);
	curl_slist_free_all(e->headers);
	buf_done(&e->body);
	e->curl = NULL;
	e->headers = NULL;
}

int easy_result(struct easy *e, const struct hook_call *call, CURLcode code, int *ret_status, struct err *err)
{
	long status = 0;

	if (code == CURLE_WRITE_ERROR && e->body.error)
		return err_set(err, -EMSGSIZE, "%s: answer larger than %u KiB", call->url, HOOK_ANSWER_MAX >> 10);
	if (code != CURLE_OK)
		return err_set(err, code == CURLE_OPERATION_TIMEDOUT ? -ETIMEDOUT : -ECONNREFUSED, "%s: %s", call->url,
		               *e->detail ? e->detail : curl_easy_strerror(code));
	curl_easy_getinfo(e->curl, CURLINFO_RESPONSE_CODE, &status);
	*ret_status = (int)status;
	return 0;
}
