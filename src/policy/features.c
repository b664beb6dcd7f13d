/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/features.h"

#include <ctype.h>
#include <string.h>

#include "base/str.h"

static bool has(const char *list, const char *s, size_t len)
{
	for (const char *p = list; p && *p; p += *p == ',') {
		size_t n = strcspn(p, ",");

		if (n == len && memcmp(p, s, len) == 0)
			return true;
		p += n;
	}
	return false;
}

static void append(char *list, size_t size, const char *s, size_t len)
{
	size_t at = strlen(list), comma = at > 0;

	if (has(list, s, len) || at + comma + len + 1 > size)
		return;
	if (comma)
		list[at++] = ',';
	memcpy(list + at, s, len);
	list[at + len] = 0;
}

/* Slurm reads "a&b|[c]*2" as an expression. */
static bool is_name(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr("_-.:=/", s[i]))
			return false;
	return len > 0 && len <= FEATURE_NAME_MAX;
}

struct making {
	struct features *ret;
	const char *ours, *wanted;
};

static void keep(void *arg, const char *s, size_t len)
{
	struct making *m = arg;

	if (!has(m->ours, s, len))
		append(m->ret->all, sizeof(m->ret->all), s, len);
}

static void want(void *arg, const char *s, size_t len)
{
	struct making *m = arg;

	if (!is_name(s, len) || has(m->ret->all, s, len))
		return; /* the node has it by itself: not ours to take away one day */
	append(m->ret->ours, sizeof(m->ret->ours), s, len);
}

static void add_ours(void *arg, const char *s, size_t len)
{
	struct making *m = arg;

	append(m->ret->all, sizeof(m->ret->all), s, len);
}

struct comparing {
	const char *other;
	bool all_there;
};

static void look(void *arg, const char *s, size_t len)
{
	struct comparing *c = arg;

	c->all_there &= has(c->other, s, len);
}

static bool same_set(const char *a, const char *b)
{
	struct comparing in_b = { b, true }, in_a = { a, true };

	str_each(a, ',', look, &in_b);
	str_each(b, ',', look, &in_a);
	return in_b.all_there && in_a.all_there;
}

void features_decide(const char *now, const char *ours, const char *wanted, struct features *ret)
{
	struct making m = { ret, ours, wanted };

	*ret = (struct features) { 0 };
	if (strlen(str_or(now, "")) >= FEATURES_MAX)
		return; /* more than we could write back: left as it is */
	str_each(now, ',', keep, &m);
	str_each(wanted, ',', want, &m);
	str_each(ret->ours, ',', add_ours, &m);
	ret->change = !same_set(now, ret->all);
}
