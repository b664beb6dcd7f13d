/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The answer to one HTTP request, from bytes as they come. llhttp reads them; what is kept is the status and the body, each with
 * a limit. Answers that only say that another follows (1xx) are passed over.
 */
#pragma once

#include <llhttp.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

#define ANSWER_HEAD_MAX (64u << 10) /* of all header and trailer names and values together */

struct answer {
	llhttp_t parser;
	struct buf body;
	size_t n_bytes, n_head;
	int status; /* once it is over */
	bool over;
};

void answer_init(struct answer *a, size_t body_max);
void answer_done(struct answer *a);

/* The next bytes; none are welcome after `over`. -EMSGSIZE over a limit, -EBADMSG when this is no HTTP. */
int answer_feed(struct answer *a, const char *data, size_t len, struct err *err);
/* No more will come: 0 when it is over by that, else -ECONNRESET. */
int answer_end(struct answer *a, struct err *err);
