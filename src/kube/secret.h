/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Memory that held a token or key is wiped before it is given back, so that it is in no later core dump or
 * allocation. Buffers that take secrets reserve their maximum first: growing would leave copies behind.
 */
#pragma once

#include <string.h>

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
