/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where to listen, as a person writes it: "0.0.0.0:8080", ":8080", "[::1]:8080". Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define LISTEN_ADDRESS_MAX 46 /* of IPv6, and NUL */
#define LISTEN_URL_MAX 300

struct listen {
	char address[LISTEN_ADDRESS_MAX];
	uint16_t port; /* 0 = any free one */
};

/* Addresses are numeric; none means all of IPv4. */
int listen_parse(const char *text, struct listen *ret, struct err *err);

/* "http://10.0.0.7:8090"; brackets around IPv6. */
const char *listen_url(const char *scheme, const char *host, uint16_t port, char url[LISTEN_URL_MAX]);
