/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/http_incoming.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "net/http_target.h"

#define TEXT_MAX ((size_t)64 * 1024) /* a connection's own memory ends long before */
#define MESSAGE_MAX 1024
#define SHA256_BYTES 32

struct http_incoming *incoming_new(struct http_server *s, struct MHD_Connection *connection, size_t body_max)
{
	struct http_incoming *in = NEW(struct http_incoming);

	in->server = s;
	in->connection = connection;
	in->text = BUF(TEXT_MAX);
	in->body = BUF(body_max);
	link_init(&in->link);
	return in;
}

void incoming_free(struct http_incoming *in)
{
	if (!in)
		return;
	if (in->response)
		MHD_destroy_response(in->response);
	buf_done(&in->text);
	buf_done(&in->body);
	free(in->refused);
	free(in);
}

/* What the request says */

const char *http_in_method(const struct http_incoming *in)
{
	return in->method;
}

const char *http_in_path(const struct http_incoming *in)
{
	return buf_text(&in->text);
}

const char *http_in_query(const struct http_incoming *in, const char *key)
{
	return http_pairs_find(in->text.data + in->query_at, in->headers_at - in->query_at, key, false);
}

const char *http_in_header(const struct http_incoming *in, const char *name)
{
	return http_pairs_find(in->text.data + in->headers_at, in->text.len - in->headers_at, name, true);
}

const char *http_in_body(const struct http_incoming *in, size_t *ret_len)
{
	if (ret_len)
		*ret_len = in->body.len;
	return buf_text(&in->body);
}

const char *http_in_peer(const struct http_incoming *in)
{
	return in->peer;
}

static void hash(const char *text, unsigned char out[SHA256_BYTES])
{
	int r = EVP_Digest(text, strlen(text), out, NULL, EVP_sha256(), NULL);

	assert(r == 1);
}

bool http_in_bearer_is(const struct http_incoming *in, const char *token)
{
	static const char scheme[] = "Bearer ";
	const char *given = http_in_header(in, "Authorization");
	unsigned char a[SHA256_BYTES], b[SHA256_BYTES];

	if (str_empty(token) || !given || strncasecmp(given, scheme, strlen(scheme)) != 0)
		return false;
	given += strlen(scheme);
	given += strspn(given, " ");
	/* Hashes of the two, so that neither length nor a common beginning shows in the time. */
	hash(given, a);
	hash(token, b);
	return CRYPTO_memcmp(a, b, sizeof(a)) == 0;
}

/* Answers */

void incoming_answer(struct http_incoming *in, int status, const char *content_type, const void *body, size_t len)
{
	struct MHD_Response *r = MHD_create_response_from_buffer_copy(len, body);

	assert(r && !in->response && status >= 200 && status <= 599);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, str_or(content_type, "application/json"));
	if (status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
	if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
		MHD_add_response_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "1");
	in->response = r;
	in->status = (unsigned)status;
}

static void add_json_text(struct buf *out, const char *text)
{
	buf_add_char(out, '"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			buf_printf(out, "\\u%04x", c);
		else
			buf_add_char(out, *text);
	}
	buf_add_char(out, '"');
}

void incoming_answer_error(struct http_incoming *in, int status, const char *message)
{
	_cleanup_buf_ struct buf safe = BUF(MESSAGE_MAX * 4 + 16), json = BUF(MESSAGE_MAX * 32);

	if (str_is_utf8(message, strlen(message)))
		buf_add_str(&safe, message);
	else
		str_add_safe(&safe, message, strlen(message), MESSAGE_MAX * 4);
	buf_add_str(&json, "{\"error\": ");
	add_json_text(&json, buf_text(&safe));
	buf_add_char(&json, '}');
	incoming_answer(in, status, NULL, buf_text(&json), json.len);
}

void http_reply(struct http_incoming *in, int status, const char *content_type, const void *body, size_t len)
{
	incoming_answer(in, status, content_type, body, len);
	server_take_answered(in->server, in);
}

void http_reply_error(struct http_incoming *in, int status, const char *fmt, ...)
{
	char message[MESSAGE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	incoming_answer_error(in, status, message);
	server_take_answered(in->server, in);
}
