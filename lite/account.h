/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Tokens of service accounts (`kubectl create token`): account:EXPIRES:UID:NAMESPACE:NAME:MAC. Nothing is kept: the MAC, with a key of the
 * server's own, says that it was made here, also after a restart. A real server's are signed JWTs. Pure.
 */
#pragma once

#include "base/time.h"

#define ACCOUNT_PART_MAX 256

struct account {
	char uid[ACCOUNT_PART_MAX], ns[ACCOUNT_PART_MAX], name[ACCOUNT_PART_MAX];
	usec_t expires; /* wall time, whole seconds */
};

char *account_token(const char *key, const struct account *a); /* the caller frees */

/* -EINVAL: not one of ours. */
int account_read(const char *key, const char *token, struct account *ret);
