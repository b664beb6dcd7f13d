/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Requests and answers as bytes, between the daemon and its Slurm workers. A frame is a header (magic, length of the
 * body, number) and a body: fields in a fixed order, numbers little-endian, text with its length before it. Which
 * fields a struct has is one table per struct, used in both directions.
 *
 * Nothing here knows libslurm. Whatever bytes come in, unpacking stays inside them, allocates no more than a small
 * multiple of them, and either gives a whole answer or an error.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "port/slurm.h"

#define WIRE_HEADER 12
#define WIRE_REQUEST_MAX ((size_t)4 << 20)  /* bytes of a frame, header included */
#define WIRE_ANSWER_MAX ((size_t)256 << 20)

/* Append one frame. -EMSGSIZE with a sentence when it would be larger than its maximum or than the buffer's; the buffer
 * is then as before. A result's `asked`, `digest` and `block` do not travel. */
int wire_add_request(struct buf *out, const struct slurm_request *rq, struct err *err);
int wire_add_result(struct buf *out, const struct slurm_result *r, struct err *err);

/* The same for the same answer; never 0. Of the body of a frame. */
uint64_t wire_digest(const void *body, size_t len);

/* A frame's number, 0 at first. An answer carries that of its request, so that it is never taken for another's. */
void wire_set_number(char *frame, uint32_t number);

/* Reads a header; gives the length of the body. -EBADMSG when it is none, -EMSGSIZE when the frame is over max. */
int wire_get_header(const void *header, size_t max, size_t *ret_body, uint32_t *ret_number, struct err *err);

/* The body of a request; the caller frees *ret with free(), everything it points to lies in the same block. */
int wire_get_request(const void *body, size_t len, struct slurm_request **ret, struct err *err);

/* The body of an answer; everything points into ret->block, which the caller frees. */
int wire_get_result(const void *body, size_t len, struct slurm_result *ret, struct err *err);
