/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/token.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#define SHA256_BYTES 32
static_assert(TOKEN_TEXT_MAX == 2 * SHA256_BYTES + 1, "a token is the hex of one hash");

void token_make(const void *secret, size_t len, const char *uid, char text[TOKEN_TEXT_MAX])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char mac[SHA256_BYTES];
	unsigned n = 0;

	assert(len <= TOKEN_SECRET_MAX);
	HMAC(EVP_sha256(), secret, (int)len, (const unsigned char *)uid, strlen(uid), mac, &n);
	assert(n == sizeof(mac));
	for (size_t i = 0; i < sizeof(mac); i++) {
		text[2 * i] = digits[mac[i] >> 4];
		text[2 * i + 1] = digits[mac[i] & 15];
	}
	text[TOKEN_TEXT_MAX - 1] = 0;
	OPENSSL_cleanse(mac, sizeof(mac));
}

bool token_matches(const void *secret, size_t len, const char *uid, const char *token)
{
	char right[TOKEN_TEXT_MAX];
	bool same;

	if (!uid || !*uid || !token || strnlen(token, TOKEN_TEXT_MAX) != TOKEN_TEXT_MAX - 1)
		return false;
	token_make(secret, len, uid, right);
	same = CRYPTO_memcmp(right, token, TOKEN_TEXT_MAX - 1) == 0;
	OPENSSL_cleanse(right, sizeof(right));
	return same;
}
