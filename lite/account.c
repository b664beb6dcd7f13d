/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/account.h"

#include <assert.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#define PREFIX "account:"
#define MAC 32
#define TOKEN_MAX 1024
#define PARTS 4

static void add_mac(struct buf *out, const char *key, const char *text, size_t len)
{
	unsigned char mac[MAC];
	unsigned size = 0;

	if (!HMAC(EVP_sha256(), key, (int)strlen(key), (const unsigned char *)text, len, mac, &size))
		abort();
	assert(size == MAC);
	str_add_hex(out, mac, sizeof(mac));
}

char *account_token(const char *key, const struct account *a)
{
	_cleanup_buf_ struct buf text = BUF(TOKEN_MAX), mac = BUF(2 * MAC + 1);

	buf_printf(&text, PREFIX "%llu:%s:%s:%s", (unsigned long long)(a->expires / USEC_SEC), a->uid, a->ns, a->name);
	add_mac(&mac, key, buf_text(&text), text.len);
	buf_printf(&text, ":%s", buf_text(&mac));
	return buf_take(&text);
}

int account_read(const char *key, const char *token, struct account *ret)
{
	_cleanup_buf_ struct buf mac = BUF(2 * MAC + 1);
	const char *end = strrchr(token, ':'), *p = token + strlen(PREFIX);
	char parts[PARTS][ACCOUNT_PART_MAX];
	int64_t expires;

	if (!str_starts(token, PREFIX) || strlen(token) > TOKEN_MAX || strlen(end + 1) != 2 * (size_t)MAC)
		return -EINVAL;
	add_mac(&mac, key, token, (size_t)(end - token));
	if (CRYPTO_memcmp(buf_text(&mac), end + 1, 2 * (size_t)MAC) != 0)
		return -EINVAL;
	for (size_t i = 0; i < PARTS; i++) { /* ours: it has all its parts */
		size_t len = strcspn(p, ":");

		if (len >= ACCOUNT_PART_MAX)
			return -EINVAL;
		memcpy(parts[i], p, len);
		parts[i][len] = '\0';
		p += len + (p[len] == ':');
	}
	if (str_to_i64(parts[0], 0, INT64_MAX / (int64_t)USEC_SEC, &expires) < 0)
		return -EINVAL;
	ret->expires = (usec_t)expires * USEC_SEC;
	memcpy(ret->uid, parts[1], ACCOUNT_PART_MAX);
	memcpy(ret->ns, parts[2], ACCOUNT_PART_MAX);
	memcpy(ret->name, parts[3], ACCOUNT_PART_MAX);
	return 0;
}
