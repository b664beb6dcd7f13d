/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/auth.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/buf.h"
#include "base/rand.h"
#include "base/str.h"
#include "lite/account.h"

#define DIGEST 32
#define TOKEN_BYTES 32
#define FILE_MAX ((size_t)16 << 20)
#define FIELDS 4

struct entry {
	unsigned char digest[DIGEST];
	struct user user;
	usec_t expires;
};

struct auth {
	struct entry *list;
	size_t n, size;
	struct user anonymous;
	char *key; /* of service accounts' tokens; NULL = none */
};

static void digest_of(const char *token, size_t len, unsigned char out[DIGEST])
{
	EVP_Digest(token, len, out, NULL, EVP_sha256(), NULL);
}

static void user_done(struct user *u)
{
	free(u->name);
	free(u->uid);
	for (size_t i = 0; u->groups[i]; i++)
		free(u->groups[i]);
}

struct user *user_new(const char *name)
{
	struct user *u = NEW(struct user);

	u->name = mem_strdup(name);
	u->uid = mem_strdup("");
	return u;
}

void user_free(struct user *u)
{
	if (!u)
		return;
	user_done(u);
	free(u);
}

void user_add_group(struct user *u, const char *group)
{
	size_t n = 0;

	while (u->groups[n])
		n++;
	if (n < AUTH_GROUPS_MAX)
		u->groups[n] = mem_strdup(group);
}

struct auth *auth_new(void)
{
	struct auth *a = NEW(struct auth);

	a->anonymous.name = mem_strdup("system:anonymous");
	a->anonymous.uid = mem_strdup("");
	a->anonymous.groups[0] = mem_strdup("system:unauthenticated");
	return a;
}

void auth_free(struct auth *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->n; i++)
		user_done(&a->list[i].user);
	user_done(&a->anonymous);
	free(a->list);
	if (a->key)
		OPENSSL_cleanse(a->key, strlen(a->key));
	free(a->key);
	free(a);
}

struct adding {
	struct user *user;
	size_t n;
	bool too_many;
};

static void add_group(void *arg, const char *s, size_t len)
{
	struct adding *g = arg;

	if (g->n == AUTH_GROUPS_MAX - 1)
		g->too_many = true;
	else
		g->user->groups[g->n++] = mem_strndup(s, len);
}

int auth_add(struct auth *a, const char *token, const char *user, const char *uid, const char *groups, usec_t expires,
             struct err *err)
{
	struct entry e = { .expires = expires };
	struct adding g = { .user = &e.user };

	if (str_empty(token) || strlen(token) > AUTH_TOKEN_MAX || str_empty(user))
		return err_set(err, -EINVAL, "a token and a user name are needed");
	if (a->n == AUTH_TOKENS_MAX)
		return err_set(err, -E2BIG, "more than %d tokens", AUTH_TOKENS_MAX);
	e.user.name = mem_strdup(user);
	e.user.uid = mem_strdup(str_or(uid, ""));
	if (groups)
		str_each(groups, ',', add_group, &g);
	if (g.too_many) {
		user_done(&e.user);
		return err_set(err, -E2BIG, "user '%s' has more than %d groups", user, AUTH_GROUPS_MAX - 1);
	}
	e.user.groups[g.n] = mem_strdup("system:authenticated");
	digest_of(token, strlen(token), e.digest);
	if (a->n == a->size) {
		a->size = a->size ? a->size * 2 : 8;
		a->list = mem_realloc_n(a->list, a->size, sizeof(*a->list));
	}
	a->list[a->n++] = e;
	return 0;
}

/* Takes one field of a CSV line, quotes removed; *s moves behind it. */
static char *take_field(char **s)
{
	char *p = *s, *to = p, *start = p;
	bool quoted = *p == '"';

	if (quoted)
		p++;
	for (; *p && (quoted || *p != ','); p++) {
		if (quoted && *p == '"') {
			if (p[1] != '"') {
				quoted = false;
				continue;
			}
			p++;
		}
		*to++ = *p;
	}
	*s = *p ? p + 1 : p;
	*to = '\0';
	return start;
}

static int add_line(struct auth *a, char *line, struct err *err)
{
	char *fields[FIELDS];

	for (size_t i = 0; i < FIELDS; i++)
		fields[i] = take_field(&line);
	return auth_add(a, fields[0], fields[1], fields[2], fields[3], USEC_NEVER, err);
}

int auth_add_file(struct auth *a, const char *path, struct err *err)
{
	_cleanup_buf_ struct buf text = BUF(FILE_MAX);
	char *line, *next;
	unsigned number = 0;
	int r;

	r = buf_read_file(&text, path);
	if (r < 0)
		return err_errno(err, r, "%s", path);
	for (line = text.data; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		number++;
		line[strcspn(line, "\r")] = '\0';
		if (!*line || *line == '#')
			continue;
		r = add_line(a, line, err);
		if (r < 0)
			break;
	}
	if (text.data)
		OPENSSL_cleanse(text.data, text.len);
	return r < 0 ? err_wrap(err, r, "%s:%u", path, number) : 0;
}

void auth_set_key(struct auth *a, const char *key)
{
	free(a->key);
	a->key = mem_strdup(key);
}

const char *auth_key(const struct auth *a)
{
	return str_or(a->key, "");
}

/* A service account's token that was not seen since we started. */
static const struct user *admit_account(struct auth *a, const char *token, usec_t now)
{
	_cleanup_free_ char *user = NULL, *groups = NULL;
	struct account who;

	if (!a->key || account_read(a->key, token, &who) < 0 || now >= who.expires)
		return NULL;
	user = str_printf("system:serviceaccount:%s:%s", who.ns, who.name);
	groups = str_printf("system:serviceaccounts,system:serviceaccounts:%s", who.ns);
	if (auth_add(a, token, user, who.uid, groups, who.expires, NULL) < 0)
		return NULL;
	return &a->list[a->n - 1].user;
}

const struct user *auth_user(struct auth *a, const char *header, usec_t now)
{
	unsigned char digest[DIGEST];
	const struct user *found = NULL;
	size_t len;

	if (!header)
		return &a->anonymous;
	if (strncasecmp(header, "Bearer ", 7) != 0)
		return NULL;
	header += 7;
	header += strspn(header, " ");
	len = strlen(header);
	if (len == 0 || len > AUTH_TOKEN_MAX)
		return NULL;
	digest_of(header, len, digest);
	for (size_t i = 0; i < a->n; i++)
		if (CRYPTO_memcmp(a->list[i].digest, digest, DIGEST) == 0 && now < a->list[i].expires)
			found = &a->list[i].user;
	return found ? found : admit_account(a, header, now);
}

bool user_in_group(const struct user *u, const char *group)
{
	for (size_t i = 0; u->groups[i]; i++)
		if (str_eq(u->groups[i], group))
			return true;
	return false;
}

char *auth_make_token(void)
{
	_cleanup_buf_ struct buf text = BUF(2 * TOKEN_BYTES + 1);
	unsigned char raw[TOKEN_BYTES];

	rand_secure(raw, sizeof(raw));
	str_add_hex(&text, raw, sizeof(raw));
	OPENSSL_cleanse(raw, sizeof(raw));
	return buf_take(&text);
}
