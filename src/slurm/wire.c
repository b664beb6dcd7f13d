/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm/wire.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdalign.h>
#include <string.h>

#include "slurm/shape.h"

#define MAGIC 0x316b6e73u /* "snk1" */
#define NO_TEXT UINT32_MAX

static const size_t kind_bytes[] = { [KIND_BOOL] = 1, [KIND_U16] = 2, [KIND_INT] = 4, [KIND_U32] = 4,
	                             [KIND_U64] = 8,  [KIND_I64] = 8, [KIND_TEXT] = 4 /* its length */ };

/* ---- out */

static void add_u8(struct buf *b, uint8_t v)
{
	buf_add(b, &v, sizeof(v));
}

static void add_u32(struct buf *b, uint32_t v)
{
	v = htole32(v);
	buf_add(b, &v, sizeof(v));
}

static void add_u64(struct buf *b, uint64_t v)
{
	v = htole64(v);
	buf_add(b, &v, sizeof(v));
}

static void add_text(struct buf *b, const char *s)
{
	size_t len = s ? strlen(s) : 0;

	if (len >= NO_TEXT) {
		b->error = -EMSGSIZE;
		return;
	}
	add_u32(b, s ? (uint32_t)len : NO_TEXT);
	if (len)
		buf_add(b, s, len);
}

/* memcpy: a field is read as what it is, whatever its alignment. */
#define READ(type, at)                                                                                                 \
	({                                                                                                             \
		type v_;                                                                                               \
		memcpy(&v_, (at), sizeof(type));                                                                       \
		v_;                                                                                                    \
	})

static const void *read_pointer(const void *at)
{
	const void *p;

	memcpy(&p, at, sizeof(p));
	return p;
}

static void write_pointer(void *at, const void *p)
{
	memcpy(at, &p, sizeof(p));
}

static void add_struct(struct buf *b, const struct shape *shape, const void *base)
{
	for (unsigned i = 0; i < shape->n; i++) {
		const char *at = (const char *)base + shape->fields[i].offset;
		uint16_t u16;

		switch ((enum kind)shape->fields[i].kind) {
		case KIND_BOOL: add_u8(b, READ(bool, at)); break;
		case KIND_U16:
			u16 = htole16(READ(uint16_t, at));
			buf_add(b, &u16, sizeof(u16));
			break;
		case KIND_INT: add_u32(b, (uint32_t)READ(int, at)); break;
		case KIND_U32: add_u32(b, READ(uint32_t, at)); break;
		case KIND_U64: add_u64(b, READ(uint64_t, at)); break;
		case KIND_I64: add_u64(b, (uint64_t)READ(int64_t, at)); break;
		case KIND_TEXT: add_text(b, read_pointer(at)); break;
		}
	}
}

static void add_array(struct buf *b, const struct shape *shape, const void *base, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add_struct(b, shape, (const char *)base + i * shape->size);
}

/* Room for a header that close_frame() fills in. */
static size_t open_frame(struct buf *b)
{
	size_t start = b->len;

	add_u32(b, MAGIC);
	add_u32(b, 0);
	add_u32(b, 0);
	return start;
}

static int close_frame(struct buf *b, size_t start, size_t max, const char *what, struct err *err)
{
	uint32_t body;

	if (b->error || b->len - start > max) {
		b->len = MIN_OF(start, b->len);
		b->error = 0;
		if (b->data)
			b->data[b->len] = '\0';
		return err_set(err, -EMSGSIZE, "%s is larger than %zu MiB", what, max >> 20);
	}
	body = htole32((uint32_t)(b->len - start - WIRE_HEADER));
	memcpy(b->data + start + 4, &body, sizeof(body));
	return 0;
}

int wire_add_request(struct buf *out, const struct slurm_request *rq, struct err *err)
{
	size_t start = open_frame(out);

	add_u32(out, (uint32_t)rq->verb);
	add_struct(out, &shape_request, rq);
	add_u8(out, rq->spec != NULL);
	if (rq->spec) {
		add_struct(out, &shape_spec, rq->spec);
		for (uint32_t i = 0; i < rq->spec->n_env; i++)
			add_text(out, rq->spec->env[i]);
	}
	add_u8(out, rq->job_change != NULL);
	if (rq->job_change)
		add_struct(out, &shape_job_change, rq->job_change);
	add_u8(out, rq->node_change != NULL);
	if (rq->node_change)
		add_struct(out, &shape_node_change, rq->node_change);
	return close_frame(out, start, WIRE_REQUEST_MAX, "the request", err);
}

static void add_payload(struct buf *b, const struct payload *p, const char *elements, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const char *e = elements + i * (size_t)p->shape->size;

		add_struct(b, p->shape, e);
		if (p->inner)
			add_array(b, p->inner, read_pointer(e + p->inner_pointer), READ(uint32_t, e + p->inner_count));
	}
}

static uint64_t count_inner(const struct payload *p, const char *elements, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; p->inner && i < n; i++)
		sum += READ(uint32_t, elements + i * (size_t)p->shape->size + p->inner_count);
	return sum;
}

int wire_add_result(struct buf *out, const struct slurm_result *r, struct err *err)
{
	const char *elements = NULL;
	size_t start = open_frame(out), which = 0;

	while (which < PAYLOADS && !(elements = read_pointer((const char *)r + payloads[which].pointer)))
		which++;
	/* the numbers first: who reads can make one block for all */
	add_u8(out, (uint8_t)which);
	add_u32(out, which < PAYLOADS ? r->n : 0);
	add_u64(out, which < PAYLOADS ? count_inner(&payloads[which], elements, r->n) : 0);
	add_u32(out, (uint32_t)r->outcome);
	add_struct(out, &shape_result, r);
	if (which < PAYLOADS)
		add_payload(out, &payloads[which], elements, r->n);
	return close_frame(out, start, WIRE_ANSWER_MAX, "the answer", err);
}

/* ---- in */

/* Reads from bytes, writes texts and arrays into one block. Anything wrong sets `why`; after that every read gives
 * zeros, so that one check at the end is enough. */
struct in {
	const char *at, *end;
	char *block, *text, *text_end; /* texts fill the block's rear part */
	const char *why;
};

static const void *take(struct in *in, size_t n)
{
	const char *at = in->at;

	if (in->why)
		return NULL;
	if ((size_t)(in->end - at) < n) {
		in->why = "it ends too early";
		return NULL;
	}
	in->at += n;
	return at;
}

static uint8_t get_u8(struct in *in)
{
	const uint8_t *p = take(in, 1);

	return p ? *p : 0;
}

static uint32_t get_u32(struct in *in)
{
	const void *p = take(in, 4);

	return p ? le32toh(READ(uint32_t, p)) : 0;
}

static uint64_t get_u64(struct in *in)
{
	const void *p = take(in, 8);

	return p ? le64toh(READ(uint64_t, p)) : 0;
}

static bool get_bool(struct in *in)
{
	uint8_t v = get_u8(in);

	if (v > 1)
		in->why = "a flag is neither 0 nor 1";
	return v == 1;
}

static const char *get_text(struct in *in)
{
	uint32_t len = get_u32(in);
	const char *from;
	char *to = in->text;

	if (in->why || len == NO_TEXT)
		return NULL;
	from = take(in, len);
	if (!from)
		return NULL;
	if (memchr(from, 0, len)) {
		in->why = "a text holds a zero byte";
		return NULL;
	}
	assert(in->text_end - in->text >
	       (ptrdiff_t)len); /* every text brought four bytes of length, and needs one of NUL */
	memcpy(to, from, len);
	to[len] = '\0';
	in->text += len + 1;
	return to;
}

#define WRITE(type, at, value)                                                                                         \
	do {                                                                                                           \
		type w_ = (type)(value);                                                                               \
		memcpy((at), &w_, sizeof(type));                                                                       \
	} while (0)

static void get_struct(struct in *in, const struct shape *shape, void *base)
{
	for (unsigned i = 0; i < shape->n && !in->why; i++) {
		char *at = (char *)base + shape->fields[i].offset;
		const void *p;

		switch ((enum kind)shape->fields[i].kind) {
		case KIND_BOOL: WRITE(bool, at, get_bool(in)); break;
		case KIND_U16:
			p = take(in, 2);
			WRITE(uint16_t, at, p ? le16toh(READ(uint16_t, p)) : 0);
			break;
		case KIND_INT: WRITE(int, at, (int32_t)get_u32(in)); break;
		case KIND_U32: WRITE(uint32_t, at, get_u32(in)); break;
		case KIND_U64: WRITE(uint64_t, at, get_u64(in)); break;
		case KIND_I64: WRITE(int64_t, at, get_u64(in)); break;
		case KIND_TEXT: write_pointer(at, get_text(in)); break;
		}
	}
}

static void get_array(struct in *in, const struct shape *shape, void *base, size_t n)
{
	for (size_t i = 0; i < n && !in->why; i++)
		get_struct(in, shape, (char *)base + i * shape->size);
}

/* The fewest bytes that n of a shape take on the wire. */
static bool can_hold(const struct in *in, const struct shape *shape, uint64_t n)
{
	size_t least = 0;

	for (unsigned i = 0; i < shape->n; i++)
		least += kind_bytes[shape->fields[i].kind];
	assert(least > 0);
	return n <= (size_t)(in->end - in->at) / least;
}

static size_t aligned(size_t n)
{
	return (n + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
}

/* One block: `front` bytes of structs and arrays, then room for all texts that can follow. */
static void open_block(struct in *in, size_t front)
{
	size_t texts = (size_t)(in->end - in->at) + 1;

	in->block = mem_alloc(front + texts);
	in->text = in->block + front;
	in->text_end = in->text + texts;
}

static int bad(struct in *in, const char *what, struct err *err)
{
	free(in->block);
	return err_set(err, -EBADMSG, "%s makes no sense: %s", what, in->why);
}

/* Eight bytes at a time: answers have megabytes. Only ever compared with itself. */
uint64_t wire_digest(const void *body, size_t len)
{
	const char *at = body;
	uint64_t h = 0x9e3779b97f4a7c15u ^ len;

	for (; len; at += MIN_OF(len, sizeof(h)), len -= MIN_OF(len, sizeof(h))) {
		uint64_t word = 0;

		memcpy(&word, at, MIN_OF(len, sizeof(word)));
		h = (h ^ word) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	return h ? h : 1;
}

void wire_set_number(char *frame, uint32_t number)
{
	number = htole32(number);
	memcpy(frame + 8, &number, sizeof(number));
}

int wire_get_header(const void *header, size_t max, size_t *ret_body, uint32_t *ret_number, struct err *err)
{
	uint32_t magic = le32toh(READ(uint32_t, header)), body = le32toh(READ(uint32_t, (const char *)header + 4));

	if (magic != MAGIC)
		return err_set(err, -EBADMSG, "what should be a frame begins with 0x%08x", magic);
	if (body > max - WIRE_HEADER)
		return err_set(err, -EMSGSIZE, "a frame of %u bytes, the maximum is %zu", body, max);
	*ret_body = body;
	*ret_number = le32toh(READ(uint32_t, (const char *)header + 8));
	return 0;
}

struct request_block {
	struct slurm_request request;
	struct job_spec spec;
	struct job_change job_change;
	struct node_change node_change;
};

static void get_spec(struct in *in, struct job_spec *spec, const char **env, uint32_t env_max)
{
	get_struct(in, &shape_spec, spec);
	if (spec->n_env > env_max)
		in->why = "more variables than bytes for them";
	for (uint32_t i = 0; i < spec->n_env && !in->why; i++) {
		env[i] = get_text(in);
		if (!env[i] && !in->why)
			in->why = "a variable is missing";
	}
	spec->env = spec->n_env ? env : NULL;
}

int wire_get_request(const void *body, size_t len, struct slurm_request **ret, struct err *err)
{
	struct in in = { .at = body, .end = (const char *)body + len };
	/* each variable brings at least the four bytes of its length */
	uint32_t env_max = (uint32_t)MIN_OF(len / 4, WIRE_REQUEST_MAX / 4), verb;
	struct request_block *b;

	open_block(&in, aligned(sizeof(*b)) + env_max * sizeof(char *));
	b = (void *)in.block;
	verb = get_u32(&in);
	if (verb >= SLURM_VERBS && !in.why)
		in.why = "an unknown verb";
	get_struct(&in, &shape_request, &b->request);
	b->request.verb = (enum slurm_verb)verb;
	if (get_bool(&in)) {
		get_spec(&in, &b->spec, (const char **)(void *)(in.block + aligned(sizeof(*b))), env_max);
		b->request.spec = &b->spec;
	}
	if (get_bool(&in)) {
		get_struct(&in, &shape_job_change, &b->job_change);
		b->request.job_change = &b->job_change;
	}
	if (get_bool(&in)) {
		get_struct(&in, &shape_node_change, &b->node_change);
		b->request.node_change = &b->node_change;
	}
	if (!in.why && in.at != in.end)
		in.why = "bytes are left over";
	if (in.why)
		return bad(&in, "the request", err);
	*ret = &b->request;
	return 0;
}

/* Elements, and behind them all the arrays in them. */
static void get_payload(struct in *in, const struct payload *p, char *elements, uint32_t n, char *inner, uint64_t left)
{
	for (uint32_t i = 0; i < n && !in->why; i++) {
		char *e = elements + i * (size_t)p->shape->size;
		uint32_t here;

		get_struct(in, p->shape, e);
		if (!p->inner || in->why)
			continue;
		here = READ(uint32_t, e + p->inner_count);
		if (here > left) {
			in->why = "more inner elements than announced";
			return;
		}
		write_pointer(e + p->inner_pointer, here ? inner : NULL);
		get_array(in, p->inner, inner, here);
		inner += here * (size_t)p->inner->size;
		left -= here;
	}
	if (left && !in->why)
		in->why = "fewer inner elements than announced";
}

static enum slurm_outcome get_outcome(struct in *in)
{
	uint32_t v = get_u32(in);

	if (v <= SLURM_CONFLICT)
		return (enum slurm_outcome)v;
	in->why = "an unknown outcome";
	return SLURM_RETRY;
}

int wire_get_result(const void *body, size_t len, struct slurm_result *ret, struct err *err)
{
	struct in in = { .at = body, .end = (const char *)body + len };
	struct slurm_result r = { 0 };
	const struct payload *p = NULL;
	uint8_t which = get_u8(&in);
	uint32_t n = get_u32(&in);
	enum slurm_outcome outcome;
	uint64_t n_inner = get_u64(&in);
	size_t front = 0;

	if (which < PAYLOADS && !in.why) {
		p = &payloads[which];
		if (!can_hold(&in, p->shape, n) || (p->inner ? !can_hold(&in, p->inner, n_inner) : n_inner != 0))
			in.why = "more elements than bytes for them";
		else
			front = aligned(n * (size_t)p->shape->size) +
			        (p->inner ? aligned(n_inner * p->inner->size) : 0);
	} else if (which != PAYLOADS || n || n_inner)
		in.why = in.why ? in.why : "an unknown kind of element";
	if (in.why)
		return bad(&in, "the answer", err);
	open_block(&in, front);
	outcome = get_outcome(&in);
	get_struct(&in, &shape_result, &r);
	if (p)
		get_payload(&in, p, in.block, n, in.block + aligned(n * (size_t)p->shape->size), n_inner);
	if (!in.why && in.at != in.end)
		in.why = "bytes are left over";
	if (!in.why && !r.message)
		in.why = "the message is missing";
	if (in.why)
		return bad(&in, "the answer", err);
	r.outcome = outcome;
	r.n = n;
	r.block = in.block;
	if (p)
		write_pointer((char *)&r + p->pointer, in.block);
	*ret = r;
	return 0;
}
