/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The target of a request ("/jobs/7?wait=30s&x") split and decoded, and the plain form in which a request's texts are
 * kept: pairs of key and value, each ended by a NUL, one behind the other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

#define HTTP_QUERY_MAX 64 /* pairs in a query */

/* Appends the decoded path with its NUL, then the query's pairs. The path begins with a slash and holds no encoded
 * slash (it would be taken for a separator), no control character and only UTF-8; nothing holds a NUL. In the query "+"
 * is a blank, and a key without "=" has the value "". -EINVAL, or the buffer's error. */
int http_target_decode(const char *target, struct buf *out, struct err *err);

/* The value of the first pair with this key, NULL when there is none. */
const char *http_pairs_find(const char *pairs, size_t len, const char *key, bool any_case);
