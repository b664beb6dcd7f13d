/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/outcome.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define DEPTH_MAX 16

struct text {
	const char *at, *end;
};

static void skip_blank(struct text *t)
{
	while (t->at < t->end && strchr(" \t\r\n", *t->at) && *t->at)
		t->at++;
}

static bool take(struct text *t, char c)
{
	skip_blank(t);
	if (t->at == t->end || *t->at != c)
		return false;
	t->at++;
	return true;
}

/* A string as it is written, without its quotes; escapes stay as they are. */
static bool take_string(struct text *t, struct text *ret)
{
	if (!take(t, '"'))
		return false;
	ret->at = t->at;
	for (; t->at < t->end && (unsigned char)*t->at >= 0x20; t->at++) {
		if (*t->at == '"') {
			ret->end = t->at++;
			return true;
		}
		if (*t->at == '\\') {
			t->at++;
			if (t->at == t->end)
				return false;
		}
	}
	return false;
}

/* A number, true, false or null. */
static bool take_word(struct text *t, struct text *ret)
{
	ret->at = t->at;
	while (t->at < t->end && (isalnum((unsigned char)*t->at) || *t->at == '+' || *t->at == '-' || *t->at == '.'))
		t->at++;
	ret->end = t->at;
	return ret->end > ret->at;
}

/* Whatever stands inside an object or array, up to its end; strings may hold brackets. */
static bool skip_nested(struct text *t)
{
	struct text string;
	int depth = 0;

	do {
		skip_blank(t);
		if (t->at == t->end)
			return false;
		if (*t->at == '"') {
			if (!take_string(t, &string))
				return false;
			continue;
		}
		if (*t->at == '{' || *t->at == '[')
			depth++;
		else if (*t->at == '}' || *t->at == ']')
			depth--;
		t->at++;
	} while (depth > 0 && depth <= DEPTH_MAX);
	return depth == 0;
}

/* ret is a string's inside, a word, or empty for what is nested. */
static bool take_value(struct text *t, struct text *ret, bool *ret_is_string)
{
	skip_blank(t);
	*ret_is_string = t->at < t->end && *t->at == '"';
	if (*ret_is_string)
		return take_string(t, ret);
	if (t->at < t->end && (*t->at == '{' || *t->at == '[')) {
		ret->at = ret->end = t->at;
		return skip_nested(t);
	}
	return take_word(t, ret);
}

static bool is(struct text t, const char *word)
{
	return (size_t)(t.end - t.at) == strlen(word) && memcmp(t.at, word, strlen(word)) == 0;
}

static struct outcome of_phase(struct text phase)
{
	static const struct {
		const char *phase;
		int code;
	} phases[] = { { "Succeeded", 0 }, { "Failed", 1 }, { "Gone", -1 } };

	for (size_t i = 0; i < ARRAY_LEN(phases); i++)
		if (is(phase, phases[i].phase))
			return (struct outcome) { .exit_code = phases[i].code, .over = true };
	return (struct outcome) { .exit_code = -1 };
}

/* Beyond a byte it is some failure: never 0 by cutting. */
static int code_of(struct text number, int *ret)
{
	char word[24];
	int64_t n;

	if ((size_t)(number.end - number.at) >= sizeof(word))
		return -EINVAL;
	memcpy(word, number.at, (size_t)(number.end - number.at));
	word[number.end - number.at] = 0;
	if (str_to_i64(word, INT64_MIN, INT64_MAX, &n) < 0)
		return -EINVAL;
	*ret = n >= 0 && n <= 255 ? (int)n : 255;
	return 0;
}

int outcome_read(const char *text, size_t len, struct outcome *ret)
{
	struct text t = { text, text + len }, key, value;
	struct outcome o = { .exit_code = -1 };
	int told = -1;
	bool string;

	if (!take(&t, '{'))
		return -EINVAL;
	if (take(&t, '}'))
		goto end;
	do {
		skip_blank(&t);
		if (!take_string(&t, &key) || !take(&t, ':') || !take_value(&t, &value, &string))
			return -EINVAL;
		if (is(key, "phase") && string)
			o = of_phase(value);
		else if (is(key, "exitCode") && !is(value, "null") && (string || code_of(value, &told) < 0))
			return -EINVAL;
	} while (take(&t, ','));
	if (!take(&t, '}'))
		return -EINVAL;
end:
	skip_blank(&t);
	if (t.at != t.end)
		return -EINVAL;
	if (told >= 0)
		o.exit_code = told;
	*ret = o;
	return 0;
}
