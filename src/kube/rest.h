/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One request to the API server, as the parts of this room hand it to whoever sends it: the client, or a test's model
 * of a server.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/time.h"

struct rest_request {
	const char *method;       /* "GET" … */
	const char *path;         /* below the server's URL, with query, percent-encoded */
	const char *content_type; /* NULL without a body */
	const char *body;
	size_t body_len;
	usec_t timeout; /* of the whole request; 0 = the sender's default */
};

struct rest_answer {
	int status;      /* HTTP; 0 = no answer, it may have reached the server all the same */
	const char *body; /* borrowed; "" when there is none */
	size_t body_len;
	const struct err *error; /* set when status is 0 */
	usec_t retry_after;      /* a span, 0 when the server asked for none */
};

typedef void (*rest_done)(void *arg, const struct rest_answer *answer);

/* Sends; the request is borrowed for the call. `done` comes once, later, from the loop, never from within. */
struct rest {
	void *(*send)(const struct rest *rest, const struct rest_request *request, rest_done done, void *arg);
	void (*cancel)(const struct rest *rest, void *call); /* `done` is not called */
};
