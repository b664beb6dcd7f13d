/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Compiles the texts of types_text.h into tables, once. The texts are ours, so a mistake in them is a bug: asserts.
 */
#include "lite/types.h"

#include <assert.h>
#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "lite/types_text.h"

#define TYPES_MAX 300
#define FIELDS_MAX 64 /* of one struct */

struct named {
	struct type type;
	const char *body; /* behind the '{' */
	bool done;
};

static struct named all[TYPES_MAX];
static const struct type *all_types[TYPES_MAX];
static size_t n_all;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const struct type simple[] = {
	{ .kind = TYPE_STRING, .name = "string" },     { .kind = TYPE_BOOL, .name = "bool" },
	{ .kind = TYPE_INT32, .name = "int32" },       { .kind = TYPE_INT64, .name = "int64" },
	{ .kind = TYPE_NUMBER, .name = "number" },     { .kind = TYPE_BYTES, .name = "bytes" },
	{ .kind = TYPE_TIME, .name = "Time" },         { .kind = TYPE_MICROTIME, .name = "MicroTime" },
	{ .kind = TYPE_QUANTITY, .name = "Quantity" }, { .kind = TYPE_INT_OR_STRING, .name = "IntOrString" },
	{ .kind = TYPE_ANY, .name = "any" },
};

static void fill(struct named *t);

/* ----------------------------------------------------------------------------------------------------------- words */

static const char *skip(const char *p)
{
	while (isspace((unsigned char)*p))
		p++;
	return p;
}

static bool name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '$';
}

/* Takes a name; the text is left behind it. */
static char *take_name(const char **p)
{
	const char *start = *p = skip(*p);

	while (name_char(**p))
		(*p)++;
	assert(*p > start);
	return mem_strndup(start, (size_t)(*p - start));
}

static bool take(const char **p, const char *word)
{
	const char *at = skip(*p);

	if (!str_starts(at, word))
		return false;
	*p = at + strlen(word);
	return true;
}

static void expect(const char **p, const char *word)
{
	bool there = take(p, word);

	assert(there);
}

/* A default is everything up to the ';', which no default contains. */
static char *take_json(const char **p)
{
	const char *start = *p = skip(*p), *end = strchr(start, ';');

	assert(end);
	*p = end;
	return mem_strndup(start, (size_t)(end - start));
}

/* ---------------------------------------------------------------------------------------------------------- lookup */

static const struct type *find(const char *package, const char *name)
{
	const struct type *other = NULL;

	for (size_t i = 0; i < ARRAY_LEN(simple); i++)
		if (str_eq(simple[i].name, name))
			return &simple[i];
	for (size_t i = 0; i < n_all; i++) {
		if (!str_eq(all[i].type.name, name))
			continue;
		if (str_eq(all[i].type.package, package))
			return &all[i].type;
		/* Names from elsewhere: metadata's and Pods' packages come first. */
		if (!other)
			other = &all[i].type;
	}
	return other;
}

/* ---------------------------------------------------------------------------------------------------------- fields */

static struct type *parse_type(const char *package, const char **p)
{
	struct type *t;
	_cleanup_free_ char *name = NULL;
	const struct type *known;

	if (take(p, "[]") || take(p, "map ")) {
		t = NEW(struct type);
		t->kind = (*p)[-1] == ']' ? TYPE_LIST : TYPE_MAP;
		t->merge = t->kind == TYPE_MAP ? MERGE_MAP : MERGE_ATOMIC;
		t->elem = parse_type(package, p);
		return t;
	}
	name = take_name(p);
	known = find(package, name);
	assert(known); /* every name in the texts is defined in one of them */
	return (struct type *)(uintptr_t)known;
}

static void parse_keys(struct type *t, const char **p)
{
	size_t n = 0;

	expect(p, "(");
	do {
		assert(n < TYPE_KEYS_MAX);
		t->keys[n++] = take_name(p);
	} while (take(p, ","));
	expect(p, ")");
}

static void parse_mods(struct field *f, struct type *t, const char **p)
{
	while (take(p, "@")) {
		if (take(p, "map")) {
			t->merge = MERGE_MAP;
			parse_keys(t, p);
			f->patch_merge = true;
			f->merge_key = t->keys[0];
		} else if (take(p, "nomerge")) {
			f->patch_merge = false;
			f->merge_key = NULL;
		} else if (take(p, "merge")) {
			f->patch_merge = true;
			if (take(p, "(")) {
				f->merge_key = take_name(p);
				expect(p, ")");
			}
		} else if (take(p, "set")) {
			t->merge = MERGE_SET;
		} else if (take(p, "replace")) {
			f->patch_replace = true;
		} else if (take(p, "atomic")) {
			t->merge = MERGE_ATOMIC;
		} else {
			expect(p, "retain");
			f->retain_keys = true;
		}
	}
}

/* What "omitempty" does not leave out. */
static bool is_struct_in_go(const struct type *t)
{
	return t->kind == TYPE_STRUCT || t->kind == TYPE_TIME || t->kind == TYPE_MICROTIME ||
	       t->kind == TYPE_QUANTITY || t->kind == TYPE_INT_OR_STRING;
}

static void parse_field(const char *package, struct field *f, const char **p)
{
	bool omit_zero = false;
	struct type *t;

	f->name = take_name(p);
	for (;; (*p)++) {
		if (**p == '!')
			f->required = f->always = true;
		else if (**p == '~')
			f->required = true;
		else if (**p == '+')
			f->always = true;
		else if (**p == '?')
			omit_zero = true;
		else
			break;
	}
	f->pointer = take(p, "*");
	t = parse_type(package, p);
	f->type = t;
	parse_mods(f, t, p);
	if (take(p, "="))
		f->fallback = take_json(p);
	if (!f->pointer && !omit_zero && is_struct_in_go(t))
		f->always = true;
	expect(p, ";");
}

static size_t inline_fields(const char *package, struct field *to, size_t n, const char **p)
{
	_cleanup_free_ char *name = take_name(p);
	struct named *t = CONTAINER_OF(find(package, name), struct named, type);

	fill(t);
	assert(n + t->type.n_fields <= FIELDS_MAX);
	memcpy(&to[n], t->type.fields, t->type.n_fields * sizeof(*to));
	expect(p, ";");
	return n + t->type.n_fields;
}

static void fill(struct named *t)
{
	struct field fields[FIELDS_MAX] = { 0 };
	const char *p = t->body;
	size_t n = 0;

	if (t->done)
		return;
	t->done = true;
	while (!take(&p, "}")) {
		assert(n < FIELDS_MAX);
		if (take(&p, "..."))
			n = inline_fields(t->type.package, fields, n, &p);
		else
			parse_field(t->type.package, &fields[n++], &p);
	}
	t->type.fields = mem_dup(fields, n * sizeof(*fields));
	t->type.n_fields = n;
}

/* ----------------------------------------------------------------------------------------------------------- texts */

/* Behind the type's closing brace; defaults may have braces of their own. */
static const char *skip_body(const char *p)
{
	for (int depth = 1; depth; p++) {
		assert(*p);
		depth += *p == '{' ? 1 : *p == '}' ? -1 : 0;
	}
	return p;
}

static void collect(const struct types_text *text)
{
	for (; text->package; text++) {
		const char *p = text->text;

		while (*skip(p)) {
			struct named *t = &all[n_all];

			assert(n_all < TYPES_MAX);
			t->type =
			        (struct type) { .kind = TYPE_STRUCT, .package = text->package, .name = take_name(&p) };
			t->type.merge = take(&p, "@atomic") ? MERGE_ATOMIC : MERGE_MAP;
			expect(&p, "{");
			t->body = p;
			p = skip_body(p);
			all_types[n_all++] = &t->type;
		}
	}
}

static void compile(void)
{
	collect(types_core);
	collect(types_pod);
	collect(types_groups);
	for (size_t i = 0; i < n_all; i++)
		fill(&all[i]);
}

/* ----------------------------------------------------------------------------------------------------------- asked */

const struct field *type_field(const struct type *t, const char *name, size_t len)
{
	for (size_t i = 0; i < t->n_fields; i++)
		if (strncmp(t->fields[i].name, name, len) == 0 && t->fields[i].name[len] == '\0')
			return &t->fields[i];
	return NULL;
}

const struct type *type_named(const char *package, const char *name)
{
	pthread_once(&once, compile);
	for (size_t i = 0; i < n_all; i++)
		if (str_eq(all[i].type.name, name) && str_eq(all[i].type.package, package))
			return &all[i].type;
	return NULL;
}

const struct type *const *types_all(size_t *ret_n)
{
	pthread_once(&once, compile);
	*ret_n = n_all;
	return all_types;
}
