/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/token.h"

#include <string.h>

#include "base/test.h"

#define UID "0f4b3c1e-5f0a-4c57-9d5e-3a1b2c3d4e5f"

static const char secret[] = "a secret of enough bytes";

/* RFC 4231, test cases 1, 2 and 6: the key as bytes, shorter and longer than a block; the data as text. */
static void test_tokens_are_hmac_sha256_as_published(void **state)
{
	unsigned char key[131];
	char text[TOKEN_TEXT_MAX];

	(void)state;
	memset(key, 0x0b, 20);
	token_make(key, 20, "Hi There", text);
	assert_string_equal(text, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	token_make("Jefe", 4, "what do ya want for nothing?", text);
	assert_string_equal(text, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, sizeof(key));
	token_make(key, sizeof(key), "Test Using Larger Than Block-Size Key - Hash Key First", text);
	assert_string_equal(text, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void test_a_token_opens_its_own_pod_and_no_other(void **state)
{
	char text[TOKEN_TEXT_MAX];

	(void)state;
	token_make(secret, strlen(secret), UID, text);
	assert_true(token_matches(secret, strlen(secret), UID, text));
	assert_false(token_matches(secret, strlen(secret), "1f4b3c1e-5f0a-4c57-9d5e-3a1b2c3d4e5f", text));
	assert_false(token_matches("another secret of enough", strlen(secret), UID, text));
	assert_false(token_matches(secret, strlen(secret) - 1, UID, text));
}

static void test_what_is_no_token_never_matches(void **state)
{
	char text[TOKEN_TEXT_MAX + 1] = "", changed[TOKEN_TEXT_MAX];

	(void)state;
	token_make(secret, strlen(secret), UID, text);
	for (size_t i = 0; i < TOKEN_TEXT_MAX - 1; i++) {
		memcpy(changed, text, sizeof(changed));
		changed[i] ^= 1;
		assert_false(token_matches(secret, strlen(secret), UID, changed));
	}
	memcpy(changed, text, sizeof(changed));
	changed[TOKEN_TEXT_MAX - 2] = 0;
	assert_false(token_matches(secret, strlen(secret), UID, changed));
	text[TOKEN_TEXT_MAX - 1] = 'x';
	assert_false(token_matches(secret, strlen(secret), UID, text));
	assert_false(token_matches(secret, strlen(secret), UID, ""));
	assert_false(token_matches(secret, strlen(secret), UID, NULL));
}

static void test_no_uid_has_a_token(void **state)
{
	char text[TOKEN_TEXT_MAX];

	(void)state;
	token_make(secret, strlen(secret), "", text);
	assert_false(token_matches(secret, strlen(secret), "", text));
	assert_false(token_matches(secret, strlen(secret), NULL, text));
}

TEST_MAIN(TEST(tokens_are_hmac_sha256_as_published), TEST(a_token_opens_its_own_pod_and_no_other),
          TEST(what_is_no_token_never_matches), TEST(no_uid_has_a_token))
