/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lite/proto.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/str.h"
#include "base/time.h"
#include "lite/obj.h"
#include "lite/types.h"

#define MAGIC "k8s\0"
#define MAGIC_LEN 4
#define NAME_MAX_LEN 128
#define NUMBERS_MAX 64 /* the highest field number any message has here */
#define VALUE_MAX ((size_t)8 << 20)

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

/* ---- the table ---- */

struct message {
	char *key;            /* "package Name" */
	char *names[NUMBERS_MAX + 1]; /* by number; "+Type" for one that stands in JSON with the one around it */
};

static struct map messages;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Takes the next word; NULL at the end. */
static char *word(char **at)
{
	return strtok_r(NULL, " \t\n", at);
}

static void add_fields(struct message *m, char **at)
{
	unsigned number = 0;
	char *w;

	while ((w = word(at)) && !str_eq(w, "}")) {
		if (str_eq(w, "{"))
			continue;
		number++;
		if (isdigit((unsigned char)*w)) {
			number = (unsigned)strtoul(w, NULL, 10);
			w = strchr(w, ':') + 1;
		}
		if (number <= NUMBERS_MAX)
			m->names[number] = w;
	}
}

/* Once, for the life of the process. */
static void compile(void)
{
	for (const struct proto_text *t = proto_texts; t->package; t++) {
		char *text = mem_strdup(t->text), *at = NULL, *w;

		for (w = strtok_r(text, " \t\n", &at); w; w = word(&at)) {
			struct message *m = NEW(struct message);

			m->key = str_printf("%s %s", t->package, w);
			add_fields(m, &at);
			map_put(&messages, m->key, m);
		}
	}
}

static const struct message *message_of(const struct type *type)
{
	char key[2 * NAME_MAX_LEN];

	pthread_once(&once, compile);
	if (!type || type->kind != TYPE_STRUCT || !type->name || !type->package)
		return NULL;
	snprintf(key, sizeof(key), "%s %s", type->package, type->name);
	return map_get(&messages, key);
}

/* ---- reading ---- */

struct input {
	const unsigned char *at, *end;
};

struct value {
	unsigned number;
	enum wire wire;
	uint64_t integer;
	struct input bytes;
};

static bool take_varint(struct input *in, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && in->at < in->end; shift += 7) {
		unsigned char b = *in->at++;

		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*ret = v;
			return true;
		}
	}
	return false;
}

static bool skip(struct input *in, size_t n)
{
	if ((size_t)(in->end - in->at) < n)
		return false;
	in->at += n;
	return true;
}

/* 1: a field, 0: the end, -1: broken. */
static int take_field(struct input *in, struct value *v)
{
	uint64_t tag, len;

	*v = (struct value) { 0 };
	if (in->at == in->end)
		return 0;
	if (!take_varint(in, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX)
		return -1;
	v->number = (unsigned)(tag >> 3);
	v->wire = (enum wire)(tag & 7);
	switch (v->wire) {
	case WIRE_VARINT: return take_varint(in, &v->integer) ? 1 : -1;
	case WIRE_64: return skip(in, 8) ? 1 : -1;
	case WIRE_32: return skip(in, 4) ? 1 : -1;
	case WIRE_BYTES:
		v->bytes.at = in->at + 0;
		if (!take_varint(in, &len) || len > (size_t)(in->end - in->at))
			return -1;
		v->bytes = (struct input) { in->at, in->at + len };
		in->at += len;
		return 1;
	}
	return -1;
}

/* ---- values ---- */

struct writer_ctx {
	yyjson_mut_doc *doc;
	unsigned depth;
	bool broken;
};

static yyjson_mut_val *value_of(struct writer_ctx *c, const struct type *type, const struct value *v);

static yyjson_mut_val *text_of(struct writer_ctx *c, struct input in)
{
	size_t len = (size_t)(in.end - in.at);

	if (!str_is_utf8((const char *)in.at, len)) {
		c->broken = true;
		return NULL;
	}
	return yyjson_mut_strncpy(c->doc, (const char *)in.at, len);
}

/* A message of a few numbers: its integers and its one text. */
struct small {
	int64_t integers[4];
	struct input text;
};

static void read_small(struct writer_ctx *c, struct input in, struct small *s)
{
	struct value v;
	int r;

	*s = (struct small) { 0 };
	while ((r = take_field(&in, &v)) > 0) {
		if (v.wire == WIRE_VARINT && v.number < 4)
			s->integers[v.number] = (int64_t)v.integer;
		else if (v.wire == WIRE_BYTES)
			s->text = v.bytes;
	}
	if (r < 0)
		c->broken = true;
}

static yyjson_mut_val *time_of(struct writer_ctx *c, struct input in, bool micro)
{
	char text[TIME_TEXT_MAX];
	struct small s;
	usec_t at;

	read_small(c, in, &s);
	if (s.integers[1] == 0 && s.integers[2] == 0)
		return NULL;
	if (s.integers[1] > INT64_MAX / USEC_SEC / 2 || s.integers[1] < -(INT64_MAX / USEC_SEC / 2)) {
		c->broken = true;
		return NULL;
	}
	at = s.integers[1] * USEC_SEC + s.integers[2] / 1000;
	return yyjson_mut_strcpy(c->doc, micro ? time_format_micro(at, text) : time_format(at, text));
}

static yyjson_mut_val *int_or_text(struct writer_ctx *c, struct input in)
{
	struct small s;

	read_small(c, in, &s);
	return s.integers[1] == 1 ? text_of(c, s.text) : yyjson_mut_sint(c->doc, (int32_t)s.integers[2]);
}

/* FieldsV1 and RawExtension: JSON inside. */
static yyjson_mut_val *json_inside(struct writer_ctx *c, struct input in)
{
	_cleanup_doc_ yyjson_doc *doc = NULL;
	struct small s;

	read_small(c, in, &s);
	if (s.text.at == s.text.end)
		return NULL;
	doc = yyjson_read((const char *)s.text.at, (size_t)(s.text.end - s.text.at), 0);
	if (!doc)
		c->broken = true;
	return doc ? yyjson_val_mut_copy(c->doc, yyjson_doc_get_root(doc)) : NULL;
}

static yyjson_mut_val *base64_of(struct writer_ctx *c, struct input in)
{
	_cleanup_buf_ struct buf b = BUF(VALUE_MAX);

	str_add_base64(&b, in.at, (size_t)(in.end - in.at));
	return yyjson_mut_strcpy(c->doc, buf_text(&b));
}

/* ---- containers ---- */

static void add_to_map(struct writer_ctx *c, yyjson_mut_val *map, const struct type *elem, struct input in)
{
	yyjson_mut_val *key = NULL, *value = NULL;
	struct value v;
	int r;

	while ((r = take_field(&in, &v)) > 0) {
		if (v.number == 1 && v.wire == WIRE_BYTES)
			key = text_of(c, v.bytes);
		else if (v.number == 2)
			value = value_of(c, elem, &v);
	}
	if (r < 0 || !key) {
		c->broken = true;
		return;
	}
	if (!value && elem->kind == TYPE_STRING)
		value = yyjson_mut_str(c->doc, "");
	if (value)
		yyjson_mut_obj_put(map, key, value);
}

static bool is_number(const struct type *t)
{
	return t->kind == TYPE_INT32 || t->kind == TYPE_INT64 || t->kind == TYPE_BOOL;
}

static void add_to_list(struct writer_ctx *c, yyjson_mut_val *list, const struct type *elem, const struct value *v)
{
	struct input in = v->bytes;
	struct value one = { .wire = WIRE_VARINT };
	yyjson_mut_val *e;

	if (v->wire == WIRE_BYTES && is_number(elem)) { /* packed */
		while (in.at < in.end && take_varint(&in, &one.integer))
			yyjson_mut_arr_append(list, value_of(c, elem, &one));
		return;
	}
	e = value_of(c, elem, v);
	if (e)
		yyjson_mut_arr_append(list, e);
}

/* Reads a message of `m` into an object of `type`; for one that stands in JSON with another, that other's. */
static void read_message(struct writer_ctx *c, const struct message *m, const struct type *type, struct input in,
                         yyjson_mut_val *obj)
{
	struct value v;
	int r;

	if (++c->depth > PROTO_DEPTH_MAX)
		c->broken = true;
	while (!c->broken && (r = take_field(&in, &v)) != 0) {
		const char *name = r > 0 && v.number <= NUMBERS_MAX ? m->names[v.number] : NULL;
		const struct field *f = name ? type_field(type, name, strlen(name)) : NULL;
		yyjson_mut_val *value;

		if (r < 0) {
			c->broken = true;
		} else if (name && *name == '+') {
			const struct message *inner = message_of(type_named("io.k8s.api.core.v1", name + 1));

			if (inner && v.wire == WIRE_BYTES)
				read_message(c, inner, type, v.bytes, obj);
		} else if (!f) {
			continue;
		} else if (f->type->kind == TYPE_LIST) {
			add_to_list(c, obj_make_arr(c->doc, obj, name), f->type->elem, &v);
		} else if (f->type->kind == TYPE_MAP && v.wire == WIRE_BYTES) {
			add_to_map(c, obj_make(c->doc, obj, name), f->type->elem, v.bytes);
		} else if ((value = value_of(c, f->type, &v))) {
			obj_set(c->doc, obj, name, value);
		}
	}
	c->depth--;
}

static yyjson_mut_val *struct_of(struct writer_ctx *c, const struct type *type, struct input in)
{
	const struct message *m = message_of(type);
	yyjson_mut_val *obj = yyjson_mut_obj(c->doc);

	if (m)
		read_message(c, m, type, in, obj);
	return obj;
}

static yyjson_mut_val *value_of(struct writer_ctx *c, const struct type *type, const struct value *v)
{
	if (v->wire == WIRE_VARINT) {
		switch (type->kind) {
		case TYPE_INT32: return yyjson_mut_sint(c->doc, (int32_t)v->integer);
		case TYPE_INT64: return yyjson_mut_sint(c->doc, (int64_t)v->integer);
		case TYPE_BOOL: return yyjson_mut_bool(c->doc, v->integer != 0);
		default: c->broken = true; return NULL;
		}
	}
	if (v->wire != WIRE_BYTES)
		return NULL;
	switch (type->kind) {
	case TYPE_STRING: return text_of(c, v->bytes);
	case TYPE_TIME: return time_of(c, v->bytes, false);
	case TYPE_MICROTIME: return time_of(c, v->bytes, true);
	case TYPE_INT_OR_STRING: return int_or_text(c, v->bytes);
	case TYPE_BYTES: return base64_of(c, v->bytes);
	case TYPE_ANY: return json_inside(c, v->bytes);
	case TYPE_STRUCT: return struct_of(c, type, v->bytes);
	case TYPE_QUANTITY: {
		struct small s;

		read_small(c, v->bytes, &s);
		return text_of(c, s.text);
	}
	default: c->broken = true; return NULL;
	}
}

/* ---- the envelope ---- */

struct envelope {
	struct input kind, api_version, raw;
	bool encoded;
};

static bool read_type_meta(struct input in, struct envelope *e)
{
	struct value v;
	int r;

	while ((r = take_field(&in, &v)) > 0) {
		if (v.number == 1 && v.wire == WIRE_BYTES)
			e->api_version = v.bytes;
		else if (v.number == 2 && v.wire == WIRE_BYTES)
			e->kind = v.bytes;
	}
	return r == 0;
}

static bool read_envelope(struct input in, struct envelope *e)
{
	struct value v;
	int r;

	*e = (struct envelope) { 0 };
	while ((r = take_field(&in, &v)) > 0) {
		if (v.wire != WIRE_BYTES)
			return false;
		if (v.number == 1 && !read_type_meta(v.bytes, e))
			return false;
		if (v.number == 2)
			e->raw = v.bytes;
		if (v.number == 3 && v.bytes.at != v.bytes.end)
			e->encoded = true;
	}
	return r == 0;
}

int proto_to_json(const struct type *type, const char *data, size_t len, char **ret, size_t *ret_len, struct err *err)
{
	_cleanup_mut_doc_ yyjson_mut_doc *doc = obj_doc();
	struct writer_ctx c = { .doc = doc };
	const struct message *m = message_of(type);
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
	struct envelope e;

	if (!m)
		return err_set(err, -ENOTSUP, "no protobuf form of this kind is known here");
	if (len < MAGIC_LEN || memcmp(data, MAGIC, MAGIC_LEN) != 0)
		return err_set(
		        err, -EINVAL,
		        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
	if (!read_envelope(
	            (struct input) { (const unsigned char *)data + MAGIC_LEN, (const unsigned char *)data + len },
	            &e) ||
	    e.encoded)
		return err_set(err, -EINVAL, "the protobuf envelope is broken");
	obj_set(doc, root, "kind", text_of(&c, e.kind));
	obj_set(doc, root, "apiVersion", text_of(&c, e.api_version));
	if (!c.broken)
		read_message(&c, m, type, e.raw, root);
	if (c.broken)
		return err_set(err, -EINVAL, "the protobuf message is broken or nested too deep");
	*ret = obj_text(root, ret_len);
	return 0;
}
