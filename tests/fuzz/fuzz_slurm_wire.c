/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a Slurm worker may send, and what it may be sent: any bytes give a whole value or an error; a value packed again
 * gives the same bytes. The first byte chooses: even, an answer; odd, a request.
 */
#include "slurm/wire.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_same(const struct buf *b, const uint8_t *body, size_t len)
{
	assert(b->len == WIRE_HEADER + len);
	assert(len == 0 || memcmp(b->data + WIRE_HEADER, body, len) == 0);
}

static void try_result(const uint8_t *body, size_t len)
{
	_cleanup_buf_ struct buf b = BUF(WIRE_ANSWER_MAX);
	struct slurm_result r;
	struct err err = { 0 };

	if (wire_get_result(body, len, &r, &err) < 0) {
		assert(err.code < 0 && err.text[0]);
		return;
	}
	assert(r.message);
	assert(wire_add_result(&b, &r, &err) == 0);
	check_same(&b, body, len);
	free(r.block);
}

static void try_request(const uint8_t *body, size_t len)
{
	_cleanup_buf_ struct buf b = BUF(WIRE_REQUEST_MAX);
	_cleanup_free_ struct slurm_request *rq = NULL;
	struct err err = { 0 };

	if (wire_get_request(body, len, &rq, &err) < 0) {
		assert(err.code < 0 && err.text[0]);
		return;
	}
	assert(rq->verb < SLURM_VERBS);
	assert(wire_add_request(&b, rq, &err) == 0);
	check_same(&b, body, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = { 0 };
	uint32_t number;
	size_t body;

	if (size >= WIRE_HEADER && wire_get_header(data, WIRE_ANSWER_MAX, &body, &number, &err) == 0)
		assert(body <= WIRE_ANSWER_MAX - WIRE_HEADER);
	if (size == 0)
		return 0;
	if (data[0] & 1)
		try_request(data + 1, size - 1);
	else
		try_result(data + 1, size - 1);
	return 0;
}
