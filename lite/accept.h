/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The Accept header: which form of the answer is wanted. Only JSON is spoken; a client that prefers protobuf and takes
 * JSON gets JSON.
 */
#pragma once

#include <stdbool.h>

struct accept {
	char as[64], group[64], version[16]; /* parameters of the chosen entry; "" where there is none */
};

/* Takes the first entry that can be served: JSON in one of the known forms. False: none can (406). NULL and "" take
 * anything. */
bool accept_parse(const char *header, struct accept *ret);

/* "application/json; charset=utf-8" → is the media type `type`? */
bool media_is(const char *content_type, const char *type);
