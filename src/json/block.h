/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Inside of json/decode.c: a block that is built without knowing its size. First all structs and arrays are placed in
 * the scratch memory, with zeros where pointers go, and each pointer is noted as a link: to another offset of the
 * scratch, or to a string of the document. At the end the size is known: the block is allocated and the links are made
 * in it. Equal strings of an object are stored once, the type's words not at all.
 */
#pragma once

#include "json/decode.h"

struct json_link {
	const char *text; /* a string of the document; NULL: the target is in the scratch */
	uint32_t len;     /* bytes of text; without text, the target's offset */
	uint32_t slot;    /* offset of the pointer */
};

void block_begin(struct json_scratch *s, const char *const *words);

/* These give -E2BIG at JSON_OBJECT_MAX. Offsets stay good while the scratch moves. Of two links of one slot the later
 * one counts. */
int block_place(struct json_scratch *s, size_t n, size_t size, size_t *ret_offset); /* zeroed, aligned */
int block_link(struct json_scratch *s, size_t slot, size_t offset);
int block_link_text(struct json_scratch *s, size_t slot, const char *text, size_t len);

void *block_build(struct json_scratch *s, size_t *ret_size);
