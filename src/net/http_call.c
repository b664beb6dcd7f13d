/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/http_call.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/str.h"

#define CONNECT_TIMEOUT_DEFAULT (5 * USEC_SEC)
#define TIMEOUT_DEFAULT (30 * USEC_SEC)
#define ERROR_BODY_MAX ((size_t)1024 * 1024) /* of a streamed call that was refused */
#define PADDING_MAX 4
#define NAME_URL_MAX 200 /* bytes of the URL in an error: the cause must still fit behind */
#define HEADER_LINE_MAX ((size_t)64 * 1024)
#define KEEPALIVE_S 30L
#define NO_CERTIFICATES "/dev/null" /* as a directory: one in which nothing can be found */

/* An option that does not fit this libcurl is a bug of ours, and out of memory ends us anyway. */
#define SET_EASY(easy, option, value)                                                                                  \
	do {                                                                                                           \
		CURLcode r_ = curl_easy_setopt((easy), CURLOPT_##option, (value));                                     \
		assert(r_ == CURLE_OK);                                                                                \
	} while (0)
#define SET(call, option, value) SET_EASY((call)->easy, option, value)

int call_fail(struct http_call *call, int code, const char *fmt, ...)
{
	char text[ERR_TEXT_MAX];
	va_list ap;

	if (call->error.code)
		return call->error.code;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(&call->error, code, "%s: %s", call->name, text);
}

int call_status(const struct http_call *call)
{
	long status = call->status;

	if (call->easy)
		curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
	return status >= 200 && status < 1000 ? (int)status : 0;
}

/* What curl calls back */

/* Before each sending, also when curl sends again because a kept connection closed under it. */
static int on_sending(void *arg, char *remote, char *local, int remote_port, int local_port)
{
	struct http_call *call = arg;

	(void)remote, (void)local, (void)remote_port, (void)local_port;
	if (call->state != CALL_RUNNING)
		return CURL_PREREQFUNC_ABORT;
	if (call->sent && !call->resendable) {
		call_fail(call, -ECONNRESET, "the connection was closed before an answer came");
		return CURL_PREREQFUNC_ABORT;
	}
	call->sent = true;
	return CURL_PREREQFUNC_OK;
}

static size_t on_header(char *data, size_t size, size_t n, void *arg)
{
	struct http_call *call = arg;

	(void)data;
	call->last_byte = loop_now(call->loop);
	call->n_header += size * n;
	if (call->n_header <= ANSWER_HEADERS_MAX)
		return size * n;
	call_fail_headers(call);
	return CURL_WRITEFUNC_ERROR;
}

int call_fail_headers(struct http_call *call)
{
	return call_fail(call, -EMSGSIZE, "headers of the answer larger than %zu KiB", ANSWER_HEADERS_MAX / 1024);
}

static void fail_too_large(struct http_call *call, size_t max)
{
	static const size_t kib = 1024, mib = 1024 * 1024;

	if (max % mib == 0)
		call_fail(call, -EMSGSIZE, "answer larger than %zu MiB", max / mib);
	else if (max % kib == 0)
		call_fail(call, -EMSGSIZE, "answer larger than %zu KiB", max / kib);
	else
		call_fail(call, -EMSGSIZE, "answer larger than %zu bytes", max);
}

static int stream(struct http_call *call, const char *data, size_t len)
{
	struct err err = { 0 };
	int r;

	if (call->body_max && len > call->body_max - call->n_streamed) {
		fail_too_large(call, call->body_max);
		return -EMSGSIZE;
	}
	call->n_streamed += len;
	r = call->chunk(call->arg, data, len, &err);
	if (r < 0)
		call_fail(call, r, "%s", err.code ? err.text : strerrordesc_np(-r));
	return r;
}

int call_collect(struct http_call *call, const char *data, size_t len, int64_t expected)
{
	size_t max = call->answer.max - PADDING_MAX;

	if (len > max - call->answer.len || expected > (int64_t)max) {
		fail_too_large(call, max);
		return -EMSGSIZE;
	}
	if (expected > (int64_t)len && call->answer.len == 0)
		buf_reserve(&call->answer, (size_t)expected + PADDING_MAX);
	return buf_add(&call->answer, data, len);
}

static int collect(struct http_call *call, const char *data, size_t len)
{
	curl_off_t expected = -1;

	if (call->answer.len == 0)
		curl_easy_getinfo(call->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &expected);
	return call_collect(call, data, len, expected);
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
	struct http_call *call = arg;
	int status = call_status(call), r;

	call->last_byte = loop_now(call->loop);
	if (call->state != CALL_RUNNING) /* curl may still flush while the call is taken from it */
		return CURL_WRITEFUNC_ERROR;
	r = call->chunk && status / 100 == 2 ? stream(call, data, size * n) : collect(call, data, size * n);
	return r < 0 ? CURL_WRITEFUNC_ERROR : size * n;
}

/* Deadlines */

usec_t call_late_at(const struct http_call *call)
{
	return MIN_OF(usec_add(call->started, call->timeout), usec_add(call->last_byte, call->idle_timeout));
}

void call_fail_late(struct http_call *call, usec_t now)
{
	char span[TIME_TEXT_MAX];

	if (now < usec_add(call->started, call->timeout))
		call_fail(call, -ETIMEDOUT, "no byte for %s", duration_format(call->idle_timeout, span));
	else if (!call->sent)
		call_fail(call, -ETIMEDOUT, "no connection within %s", duration_format(call->timeout, span));
	else if (call_status(call) == 0)
		call_fail(call, -ETIMEDOUT, "no answer within %s", duration_format(call->timeout, span));
	else
		call_fail(call, -ETIMEDOUT, "the answer did not end within %s", duration_format(call->timeout, span));
}

/* The request */

static char *name_of(const struct http_request *request)
{
	_cleanup_buf_ struct buf b = BUF(NAME_URL_MAX + 100);

	buf_printf(&b, "%.20s ", request->method);
	str_add_safe(&b, request->url, strnlen(request->url, HTTP_URL_MAX), NAME_URL_MAX);
	return buf_take(&b);
}

int call_check_header(struct http_call *call, const char *line, const char *what)
{
	size_t len = strlen(line);

	if (len > HEADER_LINE_MAX || str_has_control(line, len))
		return call_fail(call, -EINVAL, "%s has a control character in it or is too long; not sent", what);
	return 0;
}

static int add_header(struct http_call *call, const char *line, const char *what)
{
	struct curl_slist *more;
	int r = call_check_header(call, line, what);

	if (r < 0)
		return r;
	more = curl_slist_append(call->headers, line);
	assert(more);
	call->headers = more;
	return 0;
}

static bool is_header(const char *line, const char *name)
{
	size_t len = strlen(name);

	return strncasecmp(line, name, len) == 0 && line[len] == ':';
}

static int set_headers(struct http_call *call, const struct http_request *request)
{
	bool typed = false;
	int r;

	for (size_t i = 0; i < HTTP_HEADERS_MAX && request->headers[i]; i++) {
		typed = typed || is_header(request->headers[i], "Content-Type");
		r = add_header(call, request->headers[i], "a header");
		if (r < 0)
			return r;
	}
	if (request->bearer) {
		_cleanup_free_ char *line = str_printf("Authorization: Bearer %s", request->bearer);

		r = add_header(call, line, "the bearer token");
		if (r < 0)
			return r;
	}
	if (!typed)
		add_header(call, "Content-Type:", ""); /* curl's own would be a form */
	add_header(call, "Expect:", "");               /* nor does it wait for leave to send */
	return 0;
}

static void set_method(struct http_call *call, const struct http_request *request)
{
	if (request->body_len || str_eq(request->method, "POST") || str_eq(request->method, "PUT") ||
	    str_eq(request->method, "PATCH")) {
		call->body = mem_dup(request->body, request->body_len);
		SET(call, POSTFIELDS, call->body);
		SET(call, POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
	}
	if (str_eq(request->method, "HEAD"))
		SET(call, NOBODY, 1L);
	else
		SET(call, CUSTOMREQUEST, request->method);
}

/* Under another name: curl takes the name to verify from the URL, so the URL gets that one, and CONNECT_TO and Host
 * keep the real. */
static int set_url_renamed(struct http_call *call, CURLU *u, const char *name)
{
	char *host = NULL, *port = NULL, *shown = NULL, *url = NULL;
	_cleanup_free_ char *to = NULL, *header = NULL, *bracketed = NULL;
	int r = 0;

	curl_url_get(u, CURLUPART_HOST, &host, 0);
	curl_url_get(u, CURLUPART_PORT, &shown, CURLU_NO_DEFAULT_PORT);
	curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
	bracketed = strchr(name, ':') ? str_printf("[%s]", name) : mem_strdup(name);
	if (curl_url_set(u, CURLUPART_HOST, bracketed, 0) || curl_url_get(u, CURLUPART_URL, &url, 0))
		r = call_fail(call, -EINVAL, "'%.100s' is no name that a certificate could be for", name);
	else {
		to = str_printf("::%s:%s", host, port);
		header = shown ? str_printf("Host: %s:%s", host, shown) : str_printf("Host: %s", host);
		call->connect_to = curl_slist_append(NULL, to);
		assert(call->connect_to);
		add_header(call, header, "the host");
		SET(call, CONNECT_TO, call->connect_to);
		SET(call, URL, url);
	}
	curl_free(host);
	curl_free(port);
	curl_free(shown);
	curl_free(url);
	return r;
}

char *plain_host(const char *url)
{
	const char *host = str_starts(url, "https://") ? url + 8 : str_starts(url, "http://") ? url + 7 : NULL, *end;
	size_t len = host ? strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789.-") : 0;

	if (!len)
		return NULL;
	end = host + len;
	if (*end == ':') {
		size_t digits = strspn(end + 1, "0123456789");

		if (!digits || digits > 5 || strtol(end + 1, NULL, 10) > UINT16_MAX)
			return NULL;
		end += 1 + digits;
	}
	if (*end != '/' || strnlen(url, HTTP_URL_MAX + 1) > HTTP_URL_MAX)
		return NULL;
	for (; *end; end++)
		if (*end <= ' ' || *end > '~')
			return NULL;
	return mem_strndup(host, len);
}

static int set_url(struct http_call *call, const struct http_request *request)
{
	const char *name = request->tls ? request->tls->server_name : NULL;
	char *scheme = NULL, *host = NULL;
	CURLUcode code;
	CURLU *u;
	int r = 0;

	call->host = str_empty(name) ? plain_host(request->url) : NULL;
	if (call->host) {
		SET(call, URL, request->url);
		return 0;
	}
	u = curl_url();
	assert(u);
	code = curl_url_set(u, CURLUPART_URL, request->url, CURLU_DISALLOW_USER | CURLU_PATH_AS_IS);
	if (code == CURLUE_USER_NOT_ALLOWED) {
		free(call->name); /* it would show the password */
		call->name = str_printf("%.20s", request->method);
		r = call_fail(call, -EINVAL, "a URL with a user or password in it is refused");
	} else if (strnlen(request->url, HTTP_URL_MAX + 1) > HTTP_URL_MAX)
		r = call_fail(call, -EINVAL, "the URL is longer than %d bytes", HTTP_URL_MAX);
	else if (code || curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) || curl_url_get(u, CURLUPART_HOST, &host, 0))
		r = call_fail(call, -EINVAL, "this is no http or https URL (%s)", curl_url_strerror(code));
	else if (!str_eq(scheme, "http") && !str_eq(scheme, "https"))
		r = call_fail(call, -EINVAL, "this is no http or https URL");
	else if (!str_empty(name)) {
		call->host = mem_strdup(name);
		r = set_url_renamed(call, u, name);
	} else {
		call->host = mem_strdup(host);
		SET(call, URL, request->url);
	}
	curl_free(scheme);
	curl_free(host);
	curl_url_cleanup(u);
	return r;
}

static struct curl_blob blob(const char *pem)
{
	return (struct curl_blob) { .data = (void *)pem, .len = strlen(pem), .flags = CURL_BLOB_COPY };
}

static bool set_tls(CURL *easy, const struct http_tls *tls)
{
	struct curl_blob b;

	/* A resumed session would carry over whom it was made as, and skip the certificate's check. */
	SET_EASY(easy, SSL_SESSIONID_CACHE, 0L);
	SET_EASY(easy, SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (!tls)
		return false;
	SET_EASY(easy, SSL_VERIFYPEER, tls->insecure ? 0L : 1L);
	SET_EASY(easy, SSL_VERIFYHOST, tls->insecure ? 0L : 2L);
	if (tls->ca_pem) {
		b = blob(tls->ca_pem);
		SET_EASY(easy, CAINFO_BLOB, &b);
		/* else the system's directory counts as well, as with NULL since 8.17 */
		SET_EASY(easy, CAPATH, NO_CERTIFICATES);
	}
	if (tls->cert_pem && tls->key_pem) {
		b = blob(tls->cert_pem);
		SET_EASY(easy, SSLCERT_BLOB, &b);
		b = blob(tls->key_pem);
		SET_EASY(easy, SSLKEY_BLOB, &b);
	}
	return tls->ca_pem != NULL;
}

bool easy_set_connection(CURL *easy, const struct http_tls *tls, const char *proxy, usec_t connect_timeout)
{
	usec_t connect_ms = connect_timeout / USEC_MSEC;

	SET_EASY(easy, NOSIGNAL, 1L);
	SET_EASY(easy, QUICK_EXIT, 1L); /* do not wait for a resolver thread when a call ends early */
	SET_EASY(easy, NETRC, (long)CURL_NETRC_IGNORED);
	SET_EASY(easy, PROTOCOLS_STR, "http,https");
	SET_EASY(easy, TCP_KEEPALIVE, 1L);
	SET_EASY(easy, TCP_KEEPIDLE, KEEPALIVE_S);
	SET_EASY(easy, TCP_KEEPINTVL, KEEPALIVE_S);
	SET_EASY(easy, PROXY, str_or(proxy, "")); /* never from the environment */
	SET_EASY(easy, NOPROXY, "");
	SET_EASY(easy, SUPPRESS_CONNECT_HEADERS, 1L);
	SET_EASY(easy, CONNECTTIMEOUT_MS, (long)MAX_OF(1, MIN_OF(connect_ms, INT_MAX)));
	return set_tls(easy, tls);
}

static void set_rest(struct http_call *call, const struct http_request *request, const char *user_agent)
{
	SET(call, PRIVATE, call);
	SET(call, USERAGENT, user_agent);
	SET(call, HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	/* Rather a stream of the connection being made than another connection. Without TLS there are none, and curl would
	 * wait for the first call's answer to find that out. It also does when the server turns out to speak HTTP/1.1
	 * only: a call that streams (a watch) may never end, and those behind it would never begin. */
	SET(call, PIPEWAIT, str_starts(request->url, "https:") && !call->chunk ? 1L : 0L);
	SET(call, PATH_AS_IS, 1L);
	SET(call, FOLLOWLOCATION, 0L);
	SET(call, HEADEROPT, (long)CURLHEADER_SEPARATE);
	if (request->compressed)
		SET(call, ACCEPT_ENCODING, "gzip");
	SET(call, HTTPHEADER, call->headers);
	SET(call, ERRORBUFFER, call->curl_says);
	SET(call, PREREQFUNCTION, on_sending);
	SET(call, PREREQDATA, call);
	SET(call, HEADERFUNCTION, on_header);
	SET(call, HEADERDATA, call);
	SET(call, WRITEFUNCTION, on_body);
	SET(call, WRITEDATA, call);
}

void call_begin(struct http_call *call, const struct http_request *request)
{
	assert(request->body_max || call->chunk);
	assert(request->body_len == 0 || request->body);
	call->name = name_of(request);
	call->timeout = request->timeout ? request->timeout : TIMEOUT_DEFAULT;
	call->idle_timeout = request->idle_timeout ? request->idle_timeout : USEC_NEVER;
	call->connect_timeout = request->connect_timeout ? request->connect_timeout : CONNECT_TIMEOUT_DEFAULT;
	call->body_max = request->body_max;
	call->answer = BUF((call->chunk ? ERROR_BODY_MAX : request->body_max) + PADDING_MAX);
	call->resendable = str_eq(request->method, "GET") || str_eq(request->method, "HEAD");
}

int call_prepare(struct http_call *call, const struct http_request *request, const char *user_agent)
{
	int r;

	r = set_headers(call, request);
	if (r < 0)
		return r;
	r = set_url(call, request);
	if (r < 0)
		return r;
	set_method(call, request);
	call->own_ca = easy_set_connection(call->easy, request->tls, request->proxy, call->connect_timeout);
	set_rest(call, request, user_agent);
	return 0;
}

void call_done(struct http_call *call)
{
	loop_remove_timer(call->alarm);
	curl_slist_free_all(call->headers);
	curl_slist_free_all(call->connect_to);
	buf_done(&call->answer);
	free(call->body);
	free(call->name);
	free(call->host);
	if (call->out.data)
		explicit_bzero(call->out.data, call->out.len);
	buf_done(&call->out);
	free(call->content_type);
}
