/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Continue tokens of paged lists: base64url of {"v":"meta.k8s.io/v1","rv":261,"start":"/p1\u0000"}, as the real server
 * writes them. Pure.
 */
#pragma once

#include <stdint.h>

#include "lite/status.h"

#define TOKEN_KEY_MAX 1024

struct page_token {
	int64_t rv; /* -1: go on with what is there now */
	char after[TOKEN_KEY_MAX + 1]; /* the last key that was sent, below the listed prefix */
};

char *token_make(int64_t rv, const char *after); /* the caller frees */
int token_parse(const char *text, struct page_token *ret, struct status *st); /* 400 */
