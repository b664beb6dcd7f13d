/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json/decode.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/quantity.h"
#include "base/str.h"
#include "json/block.h"

#define KEEP_SIZE ((size_t)1 << 20) /* a scratch that became larger is not kept */
#define PATH_MAX_BYTES 300
#define EXCERPT_MAX 40

struct decoder {
	struct json_scratch *s;
	struct err *err;
	unsigned depth;
	char path[PATH_MAX_BYTES]; /* of what was refused, written from the end; only filled on the way out */
	size_t path_at;
};

static int decode_object(struct decoder *d, const struct json_type *type, yyjson_val *object, size_t base);

/* ---- errors ---- */

static const char *kind_of(yyjson_val *v)
{
	static const char *const names[] = {
		[YYJSON_TYPE_NULL] = "null",    [YYJSON_TYPE_BOOL] = "a boolean", [YYJSON_TYPE_NUM] = "a number",
		[YYJSON_TYPE_STR] = "a string", [YYJSON_TYPE_ARR] = "an array",   [YYJSON_TYPE_OBJ] = "an object",
	};
	yyjson_type type = yyjson_get_type(v);

	return type < ARRAY_LEN(names) && names[type] ? names[type] : "nothing";
}

static int wrong_kind(struct decoder *d, const char *expected, yyjson_val *v)
{
	return err_set(d->err, -EBADMSG, "expected %s, got %s", expected, kind_of(v));
}

static int wrong_text(struct decoder *d, const char *expected, yyjson_val *v)
{
	_cleanup_buf_ struct buf shown = BUF(2 * EXCERPT_MAX);

	str_add_safe(&shown, yyjson_get_str(v), yyjson_get_len(v), EXCERPT_MAX);
	return err_set(d->err, -EBADMSG, "expected %s, got '%s'", expected, buf_text(&shown));
}

static int too_large(struct decoder *d)
{
	return err_set(d->err, -E2BIG, "the object is larger than %u MiB", JSON_OBJECT_MAX >> 20);
}

static void path_put(struct decoder *d, const char *text, size_t len)
{
	len = MIN_OF(len, d->path_at);
	d->path_at -= len;
	memcpy(d->path + d->path_at, text, len);
}

/* Adds the part before the path so far: a member's name or "[3]". Returns r, for the way out. */
static int path_add(struct decoder *d, int r, const char *part, size_t len)
{
	_cleanup_buf_ struct buf safe = BUF(2 * EXCERPT_MAX);

	if (d->path_at < PATH_MAX_BYTES && d->path[d->path_at] != '[')
		path_put(d, ".", 1);
	str_add_safe(&safe, part, len, EXCERPT_MAX);
	path_put(d, buf_text(&safe), safe.len);
	return r;
}

static int path_add_index(struct decoder *d, int r, size_t i)
{
	char text[32];

	snprintf(text, sizeof(text), "[%zu]", i);
	return path_add(d, r, text, strlen(text));
}

/* ---- memory ---- */

static int place(struct decoder *d, size_t n, size_t size, size_t *ret_offset)
{
	int r = block_place(d->s, n, size, ret_offset);

	return r < 0 ? too_large(d) : 0;
}

static int link_to(struct decoder *d, size_t slot, size_t offset)
{
	int r = block_link(d->s, slot, offset);

	return r < 0 ? too_large(d) : 0;
}

static int link_text(struct decoder *d, size_t slot, yyjson_val *v)
{
	int r = block_link_text(d->s, slot, unsafe_yyjson_get_str(v), unsafe_yyjson_get_len(v));

	return r < 0 ? too_large(d) : 0;
}

/* Places an array and links it, with its count, to a field. */
static int place_array(struct decoder *d, const struct json_field *f, size_t base, size_t n, size_t size,
                       size_t *ret_offset)
{
	uint32_t count = (uint32_t)n;
	int r = 0;

	if (n > 0) {
		r = place(d, n, size, ret_offset);
		if (r == 0)
			r = link_to(d, base + f->offset, *ret_offset);
	}
	if (r == 0)
		memcpy(d->s->data + base + f->count_offset, &count, sizeof(count));
	return r;
}

/* ---- one function for each kind of field ---- */

#define FIELD(d, base, f) ((d)->s->data + (base) + (f)->offset)

static int take_str(struct decoder *d, const struct json_field *f, size_t base, yyjson_val *v)
{
	return yyjson_is_str(v) ? link_text(d, base + f->offset, v) : wrong_kind(d, "a string", v);
}

static int read_int(struct decoder *d, yyjson_val *v, int64_t min, int64_t max, int64_t *ret)
{
	if (!yyjson_is_int(v))
		return wrong_kind(d, "an integer", v);
	if (yyjson_is_uint(v) && yyjson_get_uint(v) > (uint64_t)max)
		return err_set(d->err, -ERANGE, "%" PRIu64 " is more than %" PRId64, yyjson_get_uint(v), max);
	if (yyjson_get_sint(v) < min)
		return err_set(d->err, -ERANGE, "%" PRId64 " is less than %" PRId64, yyjson_get_sint(v), min);
	*ret = yyjson_get_sint(v);
	return 0;
}

static int take_int32(struct decoder *d, const struct json_field *f, size_t base, yyjson_val *v)
{
	int64_t wide = 0;
	int32_t narrow;
	int r = read_int(d, v, INT32_MIN, INT32_MAX, &wide);

	if (r < 0)
		return r;
	narrow = (int32_t)wide;
	memcpy(FIELD(d, base, f), &narrow, sizeof(narrow));
	return 0;
}

static int take_int64(struct decoder *d, const struct json_field *f, size_t base, yyjson_val *v)
{
	int64_t value = 0;
	int r = read_int(d, v, INT64_MIN, INT64_MAX, &value);

	if (r < 0)
		return r;
	memcpy(FIELD(d, base, f), &value, sizeof(value));
	return 0;
}

static int take_bool(struct decoder *d, const struct json_field *f, size_t base, yyjson_val *v)
{
	bool value = yyjson_get_bool(v);

	if (!yyjson_is_bool(v))
		return wrong_kind(d, "a boolean", v);
	memcpy(FIELD(d, base, f), &value, sizeof(value));
	return 0;
}

static int take_time(struct decoder *d, const struct json_field *f, size_t base, yyjson_val *v)
{
	usec_t value;

	if (!yyjson_is_str(v))
		return wrong_kind(d, "a time", v);
	if (time_parse_rfc3339(yyjson_get_str(v), yyjson_get_len(v), &value) < 0)
		return wrong_text(d, "a time like 2026-11-15T18:15:55Z", v);
	memcpy(FIELD(d, base, f), &value, sizeof(value));
	return 0;
}

/* A fraction goes through its shortest text, so that 0.1 is 100m and not a little more. */
static int read_amount(struct decoder *d, yyjson_val *v, int64_t *ret)
{
	_cleanup_free_ char *number = yyjson_is_num(v) ? yyjson_val_write(v, 0, NULL) : NULL;
	const char *text = number ? number : yyjson_get_str(v);

	if (!text)
		return wrong_kind(d, "a quantity", v);
	if (quantity_parse(text, number ? strlen(number) : yyjson_get_len(v), ret) < 0)
		return wrong_text(d, "a quantity like 100m or 2Gi", v);
	return 0;
}

static int take_amount(struct decoder *d, const struct json_field *f, size_t base, yyjson_val *v)
{
	int64_t value = 0;
	int r = read_amount(d, v, &value);

	if (r < 0)
		return r;
	memcpy(FIELD(d, base, f), &value, sizeof(value));
	return 0;
}

static int take_enum(struct decoder *d, const struct json_field *f, size_t base, yyjson_val *v)
{
	int value = 0;

	if (!yyjson_is_str(v))
		return wrong_kind(d, "a string", v);
	for (int i = 0; f->names[i]; i++)
		if (yyjson_equals_str(v, f->names[i])) {
			value = i;
			break;
		}
	memcpy(FIELD(d, base, f), &value, sizeof(value));
	return 0;
}

static int take_present(struct decoder *d, const struct json_field *f, size_t base, yyjson_val *v)
{
	const bool yes = true;

	(void)v;
	memcpy(FIELD(d, base, f), &yes, sizeof(yes));
	return 0;
}

static int take_inside(struct decoder *d, const struct json_field *f, size_t base, yyjson_val *v)
{
	return decode_object(d, f->sub, v, base);
}

static int take_struct(struct decoder *d, const struct json_field *f, size_t base, yyjson_val *v)
{
	return decode_object(d, f->sub, v, base + f->offset);
}

static size_t count_kept(const struct json_field *f, yyjson_arr_iter iter)
{
	yyjson_val *element;
	size_t n = 0;

	while ((element = yyjson_arr_iter_next(&iter)))
		n += f->keep_item(element);
	return n;
}

static int take_array(struct decoder *d, const struct json_field *f, size_t base, yyjson_val *v)
{
	yyjson_arr_iter iter;
	yyjson_val *element;
	size_t at = 0;
	int r;

	if (!yyjson_arr_iter_init(v, &iter))
		return wrong_kind(d, "an array", v);
	r = place_array(d, f, base, f->keep_item ? count_kept(f, iter) : iter.max, f->sub->size, &at);
	while (r == 0 && (element = yyjson_arr_iter_next(&iter))) {
		if (f->keep_item && !f->keep_item(element))
			continue;
		r = decode_object(d, f->sub, element, at);
		at += f->sub->size;
		if (r < 0)
			path_add_index(d, r, iter.idx - 1);
	}
	return r;
}

static int take_strs(struct decoder *d, const struct json_field *f, size_t base, yyjson_val *v)
{
	yyjson_arr_iter iter;
	yyjson_val *element;
	size_t at = 0;
	int r;

	if (!yyjson_arr_iter_init(v, &iter))
		return wrong_kind(d, "an array", v);
	r = place_array(d, f, base, iter.max, sizeof(char *), &at);
	while (r == 0 && (element = yyjson_arr_iter_next(&iter))) {
		size_t i = iter.idx - 1;

		r = yyjson_is_str(element) ? link_text(d, at + i * sizeof(char *), element)
		                           : wrong_kind(d, "a string", element);
		if (r < 0)
			path_add_index(d, r, i);
	}
	return r;
}

/* A map becomes an array of entries, each a key and a value. */
#define ENTRY_SIZE sizeof(struct json_pair)
#define ENTRY_VALUE offsetof(struct json_pair, value)
static_assert(sizeof(struct json_amount) == ENTRY_SIZE && offsetof(struct json_amount, milli) == ENTRY_VALUE,
              "pairs and amounts are laid out alike");

/* The entry that has this key already, or `otherwise`. `links` are those made for the map so far. */
static size_t find_entry(const struct json_link *links, const struct json_link *end, size_t at, yyjson_val *key,
                         size_t otherwise)
{
	for (; links < end; links++)
		if ((links->slot - at) % ENTRY_SIZE == 0 && links->len == unsafe_yyjson_get_len(key) &&
		    memcmp(links->text, unsafe_yyjson_get_str(key), links->len) == 0)
			return (links->slot - at) / ENTRY_SIZE;
	return otherwise;
}

static int take_map(struct decoder *d, const struct json_field *f, size_t base, yyjson_val *v,
                    int (*put)(struct decoder *d, size_t slot, yyjson_val *v))
{
	struct json_scratch *s = d->s;
	size_t at = 0, first_link = s->n_links + 1;
	uint32_t n = 0;
	const char *greatest = NULL;
	yyjson_obj_iter iter;
	yyjson_val *key;
	int r;

	if (!yyjson_obj_iter_init(v, &iter))
		return wrong_kind(d, "an object", v);
	r = place_array(d, f, base, iter.max, ENTRY_SIZE, &at);
	while (r == 0 && (key = yyjson_obj_iter_next(&iter))) {
		const char *text = unsafe_yyjson_get_str(key);
		yyjson_val *value = yyjson_obj_iter_get_val(key);
		size_t entry = n;

		if (yyjson_is_null(value) || (f->keep && !f->keep(text)))
			continue;
		/* servers send maps in order of their keys: then none can be there twice, and no search is needed */
		if (!greatest || strcmp(greatest, text) < 0)
			greatest = text;
		else
			entry = find_entry(s->links + first_link, s->links + s->n_links, at, key, n);
		if (entry == n) {
			r = link_text(d, at + n * ENTRY_SIZE, key);
			n++;
		}
		if (r == 0)
			r = put(d, at + entry * ENTRY_SIZE + ENTRY_VALUE, value);
		if (r < 0)
			path_add(d, r, text, unsafe_yyjson_get_len(key));
	}
	if (r == 0 && iter.max > 0) { /* give back the room of what was not kept */
		s->used = at + n * ENTRY_SIZE;
		memcpy(s->data + base + f->count_offset, &n, sizeof(n));
		if (n == 0)
			s->n_links = first_link - 1;
	}
	return r;
}

static int put_text(struct decoder *d, size_t slot, yyjson_val *v)
{
	return yyjson_is_str(v) ? link_text(d, slot, v) : wrong_kind(d, "a string", v);
}

static int put_amount(struct decoder *d, size_t slot, yyjson_val *v)
{
	int64_t value = 0;
	int r = read_amount(d, v, &value);

	if (r < 0)
		return r;
	memcpy(d->s->data + slot, &value, sizeof(value));
	return 0;
}

static int take_pairs(struct decoder *d, const struct json_field *f, size_t base, yyjson_val *v)
{
	return take_map(d, f, base, v, put_text);
}

static int take_amounts(struct decoder *d, const struct json_field *f, size_t base, yyjson_val *v)
{
	return take_map(d, f, base, v, put_amount);
}

static int take_raw(struct decoder *d, const struct json_field *f, size_t base, yyjson_val *v)
{
	_cleanup_free_ char *text = NULL;
	size_t len, at = 0;
	int r;

	text = yyjson_val_write(v, 0, &len);
	if (!text)
		abort();
	r = place(d, len + 1, 1, &at);
	if (r < 0)
		return r;
	memcpy(d->s->data + at, text, len);
	return link_to(d, base + f->offset, at);
}

static int (*const take[])(struct decoder *d, const struct json_field *f, size_t base, yyjson_val *v) = {
	[JSON_KIND_STR] = take_str,       [JSON_KIND_INT32] = take_int32,     [JSON_KIND_INT64] = take_int64,
	[JSON_KIND_BOOL] = take_bool,     [JSON_KIND_TIME] = take_time,       [JSON_KIND_AMOUNT] = take_amount,
	[JSON_KIND_ENUM] = take_enum,     [JSON_KIND_PRESENT] = take_present, [JSON_KIND_INSIDE] = take_inside,
	[JSON_KIND_STRUCT] = take_struct, [JSON_KIND_ARRAY] = take_array,     [JSON_KIND_STRS] = take_strs,
	[JSON_KIND_PAIRS] = take_pairs,   [JSON_KIND_AMOUNTS] = take_amounts, [JSON_KIND_RAW] = take_raw,
};

/* ---- objects ---- */

static bool is_key(const struct json_field *f, const char *key, size_t len)
{
	return f->key_len == len && memcmp(f->key, key, len) == 0;
}

/* The field of a key, looked for from `hint` on: JSON and table mostly go in the same order. NULL when not named. */
static const struct json_field *find_field(const struct json_type *type, const char *key, size_t len,
                                           const struct json_field *hint)
{
	const struct json_field *end = type->fields + type->n_fields;

	for (const struct json_field *f = hint; f < end; f++)
		if (is_key(f, key, len))
			return f;
	for (const struct json_field *f = type->fields; f < hint; f++)
		if (is_key(f, key, len))
			return f;
	return NULL;
}

static int check_required(struct decoder *d, const struct json_type *type, uint64_t seen)
{
	for (size_t i = 0; i < type->n_fields; i++)
		if (type->fields[i].required && !(seen >> i & 1))
			return path_add(d, err_set(d->err, -EBADMSG, "required, but missing"), type->fields[i].key,
			                type->fields[i].key_len);
	return 0;
}

static int decode_object(struct decoder *d, const struct json_type *type, yyjson_val *object, size_t base)
{
	const struct json_field *f = type->fields, *end = type->fields + type->n_fields, *found;
	uint64_t seen = 0;
	yyjson_obj_iter iter;
	yyjson_val *key;

	assert(type->n_fields <= 64);
	if (!yyjson_obj_iter_init(object, &iter))
		return wrong_kind(d, "an object", object);
	if (d->depth == JSON_DEPTH_MAX)
		return err_set(d->err, -E2BIG, "nested deeper than %d levels", JSON_DEPTH_MAX);
	d->depth++;
	while ((key = yyjson_obj_iter_next(&iter))) {
		const char *text = unsafe_yyjson_get_str(key);
		size_t len = unsafe_yyjson_get_len(key);
		yyjson_val *value = yyjson_obj_iter_get_val(key);

		found = find_field(type, text, len, f);
		if (!found || yyjson_is_null(value))
			continue;
		for (f = found; f < end && is_key(f, text, len); f++) {
			int r = take[f->kind](d, f, base, value);

			if (r < 0)
				return path_add(d, r, text, len);
			seen |= UINT64_C(1) << (f - type->fields);
		}
	}
	d->depth--;
	return check_required(d, type, seen);
}

int json_decode(const struct json_type *type, yyjson_val *value, struct json_scratch *s, void **ret, size_t *ret_size,
                struct err *err)
{
	struct decoder d = { .s = s, .err = err, .path_at = PATH_MAX_BYTES };
	size_t base = 0, size;
	int r;

	block_begin(s, type->words);
	r = place(&d, 1, type->size, &base);
	if (r == 0)
		r = decode_object(&d, type, value, base);
	if (r == 0) {
		*ret = block_build(s, &size);
		if (ret_size)
			*ret_size = size;
	} else if (d.path_at < PATH_MAX_BYTES)
		err_wrap(err, r, "%.*s", (int)(PATH_MAX_BYTES - d.path_at), d.path + d.path_at);
	if (s->size > KEEP_SIZE)
		json_scratch_done(s);
	return r;
}
