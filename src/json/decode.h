/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Decoding by table: a JSON object → one C struct, only the fields the table names, everything in ONE block of memory
 * (struct, nested arrays, strings) that a single free() returns. A kept object costs what it holds and no more; strings
 * that most objects have in common may be the program's own instead (`words`).
 *
 *	static const struct json_field port_fields[] = {
 *		JSON_STR("name", struct port, name),
 *		JSON_INT32("hostPort", struct port, host_port),
 *	};
 *	static const struct json_type port_type = JSON_TYPE(struct port, port_fields);
 *
 * Absent and null fields leave zero (NULL, 0, false). A value of the wrong kind is an error that names its path:
 * "spec.containers[1].ports: expected an array, got a string". Strings must be valid UTF-8 (yyjson refuses others); a NUL
 * in one, which people can put into most of what they write, becomes JSON_NUL: the object is readable all the same, and
 * whoever refuses control characters still finds one. Of equal keys in the JSON the last wins. A key that a table names several times, one right
 * after the other, fills each of these fields (a value and its JSON_PRESENT). Tables in the order of the JSON are
 * fastest.
 *
 * Nothing here keeps state between calls but the scratch memory, which belongs to one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/err.h"
#include "base/time.h"

enum json_kind {
	JSON_KIND_STR,      /* const char * */
	JSON_KIND_INT32,    /* int32_t; integers only, range-checked */
	JSON_KIND_INT64,    /* int64_t */
	JSON_KIND_BOOL,     /* bool */
	JSON_KIND_TIME,     /* usec_t from an RFC 3339 string */
	JSON_KIND_AMOUNT,   /* int64_t thousandths from a quantity: a string or a number */
	JSON_KIND_ENUM, /* int from a string, by `names`; a string that is none of them gives 0, so names[0] is the
	                       unknown or default */
	JSON_KIND_PRESENT, /* bool: the key is there and not null */
	JSON_KIND_INSIDE, /* an object whose fields go into the same struct: table in `sub`, offsets from the outer one */
	JSON_KIND_STRUCT, /* an object into a struct placed at the offset */
	JSON_KIND_ARRAY, /* array of objects → pointer to elements; count at `count_offset` (uint32_t) */
	JSON_KIND_STRS, /* array of strings → const char ** ; count as above */
	JSON_KIND_PAIRS, /* object of strings → struct json_pair *; count as above; `keep` may choose keys */
	JSON_KIND_AMOUNTS, /* object of quantities → struct json_amount *; count as above */
	JSON_KIND_RAW, /* any value → const char *, its JSON text */
};

struct json_type;

struct json_field { /* made by the macros below */
	const char *key;
	uint8_t key_len;
	uint8_t kind; /* enum json_kind */
	bool required; /* absent is an error */
	uint32_t offset, count_offset;
	const struct json_type *sub; /* INSIDE, STRUCT, ARRAY */
	const char *const *names; /* ENUM, NULL-terminated */
	bool (*keep)(const char *key); /* PAIRS: which keys to keep; NULL = all */
	bool (*keep_item)(yyjson_val *object); /* ARRAY: which elements to keep; NULL = all */
};

struct json_type {
	const char *name;
	size_t size;
	const struct json_field *fields;
	size_t n_fields;
	/* Strings that many objects have: these are not copied, they point to here. NULL-terminated, or NULL. Looked at in
	 * the outermost type only. */
	const char *const *words;
};

struct json_pair {
	const char *key, *value;
};

struct json_amount {
	const char *name;
	int64_t milli;
};

#define JSON_TYPE(type, table) { #type, sizeof(type), table, sizeof(table) / sizeof((table)[0]), NULL }
#define JSON_TYPE_WORDS(type, table, words) { #type, sizeof(type), table, sizeof(table) / sizeof((table)[0]), words }
#define JSON_FIELD(k, what) .key = (k), .key_len = sizeof(k) - 1, .kind = JSON_KIND_##what
#define JSON_AT(k, what, type, member) JSON_FIELD(k, what), .offset = offsetof(type, member)
#define JSON_STR(k, type, member) { JSON_AT(k, STR, type, member) }
#define JSON_STR_NEEDED(k, type, member) { JSON_AT(k, STR, type, member), .required = true }
#define JSON_INT32(k, type, member) { JSON_AT(k, INT32, type, member) }
#define JSON_INT64(k, type, member) { JSON_AT(k, INT64, type, member) }
#define JSON_BOOL(k, type, member) { JSON_AT(k, BOOL, type, member) }
#define JSON_TIME(k, type, member) { JSON_AT(k, TIME, type, member) }
#define JSON_AMOUNT(k, type, member) { JSON_AT(k, AMOUNT, type, member) }
#define JSON_PRESENT(k, type, member) { JSON_AT(k, PRESENT, type, member) }
#define JSON_RAW(k, type, member) { JSON_AT(k, RAW, type, member) }
#define JSON_ENUM(k, type, member, table) { JSON_AT(k, ENUM, type, member), .names = (table) }
#define JSON_INSIDE(k, t) { JSON_FIELD(k, INSIDE), .sub = &(t) }
#define JSON_STRUCT(k, type, member, t) { JSON_AT(k, STRUCT, type, member), .sub = &(t) }
#define JSON_STRUCT_NEEDED(k, type, member, t) { JSON_AT(k, STRUCT, type, member), .sub = &(t), .required = true }
#define JSON_ARRAY(k, type, member, n, t)                                                                              \
	{ JSON_AT(k, ARRAY, type, member), .count_offset = offsetof(type, n), .sub = &(t) }
#define JSON_ARRAY_SOME(k, type, member, n, t, f)                                                                      \
	{ JSON_AT(k, ARRAY, type, member), .count_offset = offsetof(type, n), .sub = &(t), .keep_item = (f) }
#define JSON_STRS(k, type, member, n) { JSON_AT(k, STRS, type, member), .count_offset = offsetof(type, n) }
#define JSON_PAIRS(k, type, member, n, f)                                                                              \
	{ JSON_AT(k, PAIRS, type, member), .count_offset = offsetof(type, n), .keep = (f) }
#define JSON_AMOUNTS(k, type, member, n) { JSON_AT(k, AMOUNTS, type, member), .count_offset = offsetof(type, n) }

#define JSON_OBJECT_MAX (8u << 20) /* bytes one decoded object may take */
#define JSON_DEPTH_MAX 64 /* nesting that a table may reach */
#define JSON_NUL '\x01' /* stands for a NUL in a string */

/* Scratch memory, reused from object to object; starts as { 0 }. */
struct json_scratch {
	char *data; /* structs and arrays of the object so far */
	size_t size, used;
	size_t text_bytes; /* its strings */
	struct json_link *links; /* the pointers in them: where, and to what */
	size_t n_links, size_links;
	const char *const *words; /* those of the last type, … */
	uint16_t *word_slots; /* … by hash */
};

void json_scratch_done(struct json_scratch *s);

/* Decodes `value` (must be an object). The result is one block: free() it. *ret_size gets its size when not NULL. */
int json_decode(const struct json_type *type, yyjson_val *value, struct json_scratch *s, void **ret, size_t *ret_size,
                struct err *err);
