/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Who is asking, and may they? Users come from bearer tokens: the admin's, those of a file in the format of
 * kube-apiserver's static tokens (token,user,uid,"group1,group2"), and those made for service accounts. Tokens are kept
 * as digests and compared in constant time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/time.h"

#define AUTH_GROUPS_MAX 16
#define AUTH_TOKENS_MAX 10000
#define AUTH_TOKEN_MAX 4096 /* bytes of one token */

struct user {
	char *name, *uid;
	char *groups[AUTH_GROUPS_MAX + 1]; /* NULL-terminated */
};

struct auth;

struct auth *auth_new(void);
void auth_free(struct auth *a);
DEFINE_FREEP(struct auth, auth_free)

/* groups: "a,b", or NULL. system:authenticated is added. expires: wall time, or USEC_NEVER. */
int auth_add(struct auth *a, const char *token, const char *user, const char *uid, const char *groups, usec_t expires,
             struct err *err);
int auth_add_file(struct auth *a, const char *path, struct err *err);

/* The user behind an Authorization header: anonymous when there is none, NULL (401) when it is wrong. Borrowed; valid until
 * the next auth_add(). */
const struct user *auth_user(struct auth *a, const char *header, usec_t now);

bool user_in_group(const struct user *u, const char *group);

struct user *user_new(const char *name); /* in no group */
void user_free(struct user *u);
DEFINE_FREEP(struct user, user_free)
void user_add_group(struct user *u, const char *group); /* what is over AUTH_GROUPS_MAX is dropped */

/* The key that tokens of service accounts (account.h) are made with. Without one there are none. */
void auth_set_key(struct auth *a, const char *key);
const char *auth_key(const struct auth *a); /* "" = none */

/* A new random token, as text; the caller frees. */
char *auth_make_token(void);
