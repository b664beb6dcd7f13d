/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Tokens for placeholder jobs: HMAC-SHA256(secret, Pod uid) in hex. Nothing is stored: whoever has the secret can check one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define TOKEN_TEXT_MAX 65 /* 64 hex digits and NUL */
#define TOKEN_SECRET_MIN 16
#define TOKEN_SECRET_MAX 4096

void token_make(const void *secret, size_t len, const char *uid, char text[TOKEN_TEXT_MAX]);
/* In constant time for all tokens of the right length. NULL or empty: no. */
bool token_matches(const void *secret, size_t len, const char *uid, const char *token);
