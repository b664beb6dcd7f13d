/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Memory that held a token or key is wiped before it is given back, so that it is in no later core dump or
 * allocation. Buffers that take secrets reserve their maximum first: growing would leave copies behind.
 */
#pragma once

#include <stdbool.h>
#include <string.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/mem.h"

static inline void secret_free(char *s)
{
	if (s)
		explicit_bzero(s, strlen(s));
	free(s);
}
DEFINE_FREEP(char, secret_free)

static inline void secret_buf_done(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->len);
	buf_done(b);
}

/* Without the blanks and line breaks at its end. */
static inline void secret_buf_trim(struct buf *b)
{
	while (b->len && memchr(" \r\n\t", b->data[b->len - 1], 4))
		b->data[--b->len] = 0;
}

void secret_doc_free(yyjson_doc *doc); /* wipes its strings */

/* What may stand in an Authorization header: no blanks, no line breaks, nothing but ASCII, not "". */
bool secret_is_token(const char *s);
bool secret_is_pem(const char *s); /* looks like it; TLS will tell */
