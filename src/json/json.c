/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json/json.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/str.h"

#define PIECES 2 /* yyjson wants at most two: a copy of the text, and the values */
#define SMALL_ENOUGH ((size_t)256 << 10) /* what is always worth keeping */
#define FAR_LARGER 4 /* kept / needed from which on memory counts as too much */
#define PATIENCE 16 /* parses in a row that need so little before it is given back */
#define EXCERPT_MAX 48

struct piece {
	void *data;
	size_t size;
	bool used;
};

struct json_parser {
	struct piece pieces[PIECES];
	size_t needed; /* by the last document */
	unsigned n_small;
};

struct json_parser *json_parser_new(void)
{
	return NEW(struct json_parser);
}

static void drop_pieces(struct json_parser *p)
{
	for (size_t i = 0; i < PIECES; i++) {
		free(p->pieces[i].data);
		p->pieces[i] = (struct piece) { 0 };
	}
}

void json_parser_free(struct json_parser *p)
{
	if (!p)
		return;
	drop_pieces(p);
	free(p);
}

size_t json_parser_memory(const struct json_parser *p)
{
	size_t sum = 0;

	for (size_t i = 0; i < PIECES; i++)
		sum += p->pieces[i].size;
	return sum;
}

static void *piece_resize(struct json_parser *p, struct piece *piece, size_t size)
{
	if (size > JSON_PARSER_MAX || p->needed > JSON_PARSER_MAX - size)
		return NULL;
	if (piece->size < size) {
		if (!piece->used) { /* nothing in it to keep */
			free(piece->data);
			piece->data = NULL;
		}
		piece->data = mem_realloc_n(piece->data, size, 1);
		piece->size = size;
	}
	piece->used = true;
	return piece->data;
}

static void *parser_malloc(void *ctx, size_t size)
{
	struct json_parser *p = ctx;
	struct piece *piece = NULL;
	void *data;

	for (size_t i = 0; i < PIECES; i++) {
		struct piece *c = &p->pieces[i];

		if (!c->used && (!piece || (piece->size < size && c->size > piece->size)))
			piece = c;
	}
	assert(piece);
	data = piece_resize(p, piece, size);
	if (data)
		p->needed += size;
	return data;
}

static struct piece *piece_of(struct json_parser *p, const void *data)
{
	for (size_t i = 0; i < PIECES; i++)
		if (p->pieces[i].used && p->pieces[i].data == data)
			return &p->pieces[i];
	abort();
}

static void *parser_realloc(void *ctx, void *old, size_t old_size, size_t size)
{
	struct json_parser *p = ctx;
	void *data;

	p->needed -= old_size;
	data = piece_resize(p, piece_of(p, old), size);
	p->needed += data ? size : old_size;
	return data;
}

static void parser_free(void *ctx, void *data)
{
	piece_of(ctx, data)->used = false;
}

/* The document before is no longer valid: its memory is free for the next, or given back when it is far too much. */
static void parser_begin(struct json_parser *p)
{
	size_t kept = json_parser_memory(p);

	p->n_small = kept > SMALL_ENOUGH && kept / FAR_LARGER > p->needed ? p->n_small + 1 : 0;
	if (p->n_small >= PATIENCE) {
		drop_pieces(p);
		p->n_small = 0;
	}
	for (size_t i = 0; i < PIECES; i++)
		p->pieces[i].used = false;
	p->needed = 0;
}

int json_refuse(const char *text, size_t len, size_t pos, const char *what, struct err *err)
{
	_cleanup_buf_ struct buf excerpt = BUF(4 * EXCERPT_MAX);

	if (pos >= len)
		return err_set(err, -EBADMSG, "not JSON: it ends in the middle, after %zu bytes", len);
	str_add_safe(&excerpt, text + pos, MIN_OF(len - pos, (size_t)EXCERPT_MAX), EXCERPT_MAX);
	return err_set(err, -EBADMSG, "not JSON at byte %zu: %s, found '%s%s'", pos, what, buf_text(&excerpt),
	               len - pos > EXCERPT_MAX && !str_ends(buf_text(&excerpt), "…") ? "…" : "");
}

static int parse(char *text, size_t len, size_t at, yyjson_read_flag flags, const yyjson_alc *alc, yyjson_doc **ret,
                 struct err *err)
{
	yyjson_read_err e = { .code = YYJSON_READ_ERROR_EMPTY_CONTENT, .pos = 0 };
	yyjson_doc *doc = at < len ? yyjson_read_opts(text + at, len - at, flags, alc, &e) : NULL;

	if (doc) {
		*ret = doc;
		return 0;
	}
	if (e.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		return err_set(err, -E2BIG, "JSON of %zu bytes needs more than %zu MiB to parse", len,
		               JSON_PARSER_MAX >> 20);
	if (e.code == YYJSON_READ_ERROR_EMPTY_CONTENT && at == 0)
		return err_set(err, -EBADMSG, "not JSON: it is empty");
	return json_refuse(text, len, at + e.pos, e.msg, err);
}

int json_parse(struct json_parser *p, char *text, size_t len, bool in_place, yyjson_doc **ret, struct err *err)
{
	const yyjson_alc alc = { parser_malloc, parser_realloc, parser_free, p };

	parser_begin(p);
	if (in_place)
		memset(text + len, 0, YYJSON_PADDING_SIZE);
	return parse(text, len, 0, in_place ? YYJSON_READ_INSITU : YYJSON_READ_NOFLAG, &alc, ret, err);
}

int json_parse_next(struct json_parser *p, char *text, size_t len, size_t *at, yyjson_doc **ret, struct err *err)
{
	const yyjson_alc alc = { parser_malloc, parser_realloc, parser_free, p };
	int r;

	parser_begin(p);
	memset(text + len, 0, YYJSON_PADDING_SIZE);
	r = parse(text, len, *at, YYJSON_READ_INSITU | YYJSON_READ_STOP_WHEN_DONE, &alc, ret, err);
	if (r == 0)
		*at += yyjson_doc_get_read_size(*ret);
	return r;
}

int json_parse_copy(const char *text, size_t len, yyjson_doc **ret, struct err *err)
{
	/* not in place, so yyjson only reads */
	return parse((char *)(uintptr_t)text, len, 0, YYJSON_READ_NOFLAG, NULL, ret, err);
}

yyjson_val *json_get(yyjson_val *object, const char *key)
{
	return yyjson_obj_get(object, key);
}

const char *json_str(yyjson_val *value)
{
	const char *s = yyjson_get_str(value);

	return s && strlen(s) == yyjson_get_len(value) ? s : NULL;
}

int64_t json_int(yyjson_val *value, int64_t otherwise)
{
	if (yyjson_is_sint(value))
		return yyjson_get_sint(value);
	if (yyjson_is_uint(value) && yyjson_get_uint(value) <= INT64_MAX)
		return (int64_t)yyjson_get_uint(value);
	return otherwise;
}

bool json_bool(yyjson_val *value, bool otherwise)
{
	return yyjson_is_bool(value) ? yyjson_get_bool(value) : otherwise;
}
