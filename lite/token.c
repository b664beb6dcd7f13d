/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/token.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "lite/obj.h"
#include "json/json.h"

#define TEXT_MAX (8 * TOKEN_KEY_MAX)

char *token_make(int64_t rv, const char *after)
{
	_cleanup_buf_ struct buf json = BUF(TEXT_MAX), text = BUF(2 * TEXT_MAX);
	_cleanup_free_ char *start = str_printf("/%s", after);

	buf_printf(&json, "{\"v\":\"meta.k8s.io/v1\",\"rv\":%lld,\"start\":", (long long)rv);
	obj_add_quoted(&json, start);
	json.data[--json.len] = '\0'; /* the closing quote: the key ends in a NUL, which a C string cannot hold */
	buf_add_str(&json, "\\u0000\"}");
	str_add_base64(&text, json.data, json.len);
	for (char *p = text.data; *p; p++) {
		if (*p == '+')
			*p = '-';
		else if (*p == '/')
			*p = '_';
		else if (*p == '=')
			*p = '\0';
	}
	return buf_take(&text);
}

static int bad(struct status *st, const char *why)
{
	return status_bad_request(st, "invalid continue token: continue key is not valid: %s", why);
}

static int decode_base64(const char *text, struct buf *out, struct status *st)
{
	_cleanup_buf_ struct buf padded = BUF(TEXT_MAX);

	buf_add_str(&padded, text);
	for (size_t i = 0; i < padded.len; i++)
		padded.data[i] = padded.data[i] == '-' ? '+' : padded.data[i] == '_' ? '/' : padded.data[i];
	while (padded.len % 4 != 0)
		if (buf_add_char(&padded, '=') < 0)
			break;
	if (padded.error || str_add_unbase64(out, buf_text(&padded), padded.len) < 0)
		return bad(st, "illegal base64 data at input byte 0");
	return 0;
}

int token_parse(const char *text, struct page_token *ret, struct status *st)
{
	_cleanup_buf_ struct buf json = BUF(TEXT_MAX);
	_cleanup_doc_ yyjson_doc *doc = NULL;
	yyjson_val *root, *start;
	const char *key;
	size_t len;
	char why[80];
	int r;

	r = decode_base64(text, &json, st);
	if (r < 0)
		return r;
	if (json_parse_copy(buf_text(&json), json.len, &doc, NULL) < 0 || !yyjson_is_obj(yyjson_doc_get_root(doc))) {
		snprintf(why, sizeof(why), "invalid character '%c' looking for beginning of value",
		         json.len ? json.data[0] : ' ');
		return bad(st, why);
	}
	root = yyjson_doc_get_root(doc);
	start = json_get(root, "start");
	if (!str_eq(json_str(json_get(root, "v")), "meta.k8s.io/v1"))
		return bad(st, "server does not recognize this encoded version");
	key = yyjson_get_str(start);
	len = yyjson_get_len(start);
	if (!key || len == 0)
		return bad(st, "encoded start key empty (meta.k8s.io/v1)");
	if (*key == '/') {
		key++;
		len--;
	}
	if (len > 0 && key[len - 1] == '\0')
		len--;
	if (len > TOKEN_KEY_MAX || memchr(key, '\0', len))
		return bad(st, "start key is too long");
	memcpy(ret->after, key, len);
	ret->after[len] = '\0';
	ret->rv = json_int(json_get(root, "rv"), 0);
	return 0;
}
