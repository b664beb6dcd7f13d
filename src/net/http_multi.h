/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Inside of the HTTP client: one of curl's multi handles, with its sockets and its timer on the loop.
 */
#pragma once

#include <curl/curl.h>

#include "net/loop.h"

struct http_multi;

/* `ran` is called each time curl has been called because of a socket or its timer: there may be messages. Nothing of the handle
 * is touched after it, so it may free it. While curl is being called *in_curl is true. */
struct http_multi *http_multi_new(struct loop *l, bool *in_curl, void (*ran)(void *arg), void *arg);
void http_multi_free(struct http_multi *m);
CURLM *http_multi_curl(const struct http_multi *m);
void http_multi_patient(struct http_multi *m); /* its sockets are, from now on (net/loop.h) */
