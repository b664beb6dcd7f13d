/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Any bytes as an HTTP answer, in pieces whose size the first byte says: an answer or an error, the same when it comes in one
 * piece, and never more than its limit.
 */
#include "hook/answer.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BODY_MAX 4096

static int read_pieces(struct answer *a, const uint8_t *data, size_t size, size_t piece)
{
	struct err err = { 0 };
	int r = 0;

	answer_init(a, BODY_MAX);
	for (size_t at = 0; at < size && r == 0 && !a->over; at += piece) {
		char *bytes = mem_dup(data + at, MIN_OF(piece, size - at)); /* a byte read too far is seen */

		r = answer_feed(a, bytes, MIN_OF(piece, size - at), &err);
		free(bytes);
	}
	if (r == 0)
		r = answer_end(a, &err);
	assert(r == 0 || r == -EMSGSIZE || r == -EBADMSG || r == -ECONNRESET);
	assert(r == 0 ? a->over && a->status >= 100 && a->status <= 999 : err.code == r);
	assert(a->body.len <= BODY_MAX);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct answer whole, pieces;
	int r, s;

	if (size < 1)
		return 0;
	r = read_pieces(&whole, data + 1, size - 1, size);
	s = read_pieces(&pieces, data + 1, size - 1, (size_t)data[0] + 1);
	assert((r == 0) == (s == 0));
	if (r == 0) {
		assert(whole.status == pieces.status && whole.body.len == pieces.body.len);
		assert(memcmp(buf_text(&whole.body), buf_text(&pieces.body), whole.body.len) == 0);
	}
	answer_done(&whole);
	answer_done(&pieces);
	return 0;
}
