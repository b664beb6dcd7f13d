/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What /version and /readyz answer. Pure.
 */
#pragma once

#include "base/err.h"
#include "net/http_client.h"

#define PROBE_VERSION_MAX 64

/* "v1.36.4". */
int probe_version(const struct http_answer *http, char version[PROBE_VERSION_MAX], struct err *err);

/* 0 when the server is ready; -EAGAIN with what it still lacks. */
int probe_ready(const struct http_answer *http, struct err *err);
