/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/answer.h"

#include <assert.h>
#include <errno.h>

#define WIRE_PER_BYTE 8 /* what a body of chunks may take on the wire for each byte of it */

static int got_head(llhttp_t *parser, const char *at, size_t len)
{
	struct answer *a = parser->data;

	(void)at;
	a->n_head += len;
	return a->n_head > ANSWER_HEAD_MAX ? -1 : 0;
}

/* 0 stands for "no answer" with all who ask. */
static int got_whole_head(llhttp_t *parser)
{
	return parser->status_code < 100 ? -1 : 0;
}

static int got_body(llhttp_t *parser, const char *at, size_t len)
{
	struct answer *a = parser->data;

	return buf_add(&a->body, at, len) < 0 ? -1 : 0;
}

static int got_all(llhttp_t *parser)
{
	struct answer *a = parser->data;

	if (parser->status_code < 200 && parser->status_code != 101)
		return 0;
	a->status = parser->status_code;
	a->over = true;
	return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
	.on_status = got_head,
	.on_header_field = got_head,
	.on_header_value = got_head,
	.on_chunk_extension_name = got_head,
	.on_chunk_extension_value = got_head,
	.on_headers_complete = got_whole_head,
	.on_body = got_body,
	.on_message_complete = got_all,
};

void answer_init(struct answer *a, size_t body_max)
{
	*a = (struct answer) { .body = BUF(body_max) };
	llhttp_init(&a->parser, HTTP_RESPONSE, &settings);
}

void answer_done(struct answer *a)
{
	buf_done(&a->body);
}

static int why_not(const struct answer *a, struct err *err)
{
	const char *reason = llhttp_get_error_reason(&a->parser);

	if (a->body.error)
		return err_set(err, -EMSGSIZE, "answer larger than %zu KiB", a->body.max >> 10);
	if (a->n_head > ANSWER_HEAD_MAX)
		return err_set(err, -EMSGSIZE, "headers of the answer larger than %u KiB", ANSWER_HEAD_MAX >> 10);
	return err_set(err, -EBADMSG, "the answer is no HTTP: %s", reason ? reason : "broken");
}

int answer_feed(struct answer *a, const char *data, size_t len, struct err *err)
{
	llhttp_errno_t e;

	assert(!a->over);
	a->n_bytes += len;
	if (a->n_bytes > a->body.max * WIRE_PER_BYTE + ANSWER_HEAD_MAX)
		return err_set(err, -EMSGSIZE, "answer larger than %zu KiB", a->body.max >> 10);
	a->parser.data = a;
	e = llhttp_execute(&a->parser, data, len);
	if (a->over) /* what is behind it answers nothing that was asked */
		return 0;
	return e == HPE_OK ? 0 : why_not(a, err);
}

int answer_end(struct answer *a, struct err *err)
{
	if (a->over)
		return 0;
	a->parser.data = a;
	llhttp_finish(&a->parser);
	if (a->over)
		return 0;
	return err_set(err, -ECONNRESET,
	               a->n_bytes ? "closed in the middle of the answer" : "closed without an answer");
}
