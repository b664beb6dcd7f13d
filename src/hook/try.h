/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One try of a call, with blocking. There are two of these and of what is in requests.h, and a program has the one or the other:
 * try.c and requests.c speak plain http over sockets of our own and start in a millisecond (sunk-hook); try_curl.c and
 * requests_curl.c speak https too, and libcurl brings three dozen libraries to load (sunk-hook-tls).
 */
#pragma once

#include "hook/call.h"

extern const bool hook_speaks_tls;

/* Asks for url, until then; errors name call->url. 0 with status and body (the caller frees it), else -errno: -EINVAL for an
 * address that is none, -EMSGSIZE for an answer that is too large, others may go away by themselves. */
int hook_try(const struct hook_call *call, const char *url, usec_t until, struct hook_answer *ret, struct err *err);
