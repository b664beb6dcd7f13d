/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

static bool is_address(const char *text)
{
	unsigned char raw[16];

	return inet_pton(AF_INET, text, raw) == 1 || inet_pton(AF_INET6, text, raw) == 1;
}

int listen_parse(const char *text, struct listen *ret, struct err *err)
{
	const char *colon = strrchr(text, ':');
	_cleanup_free_ char *host = mem_strndup(text, colon ? (size_t)(colon - text) : 0);
	char *address = host;
	size_t len = strlen(host);
	int64_t port;

	if (!colon)
		return err_set(err, -EINVAL, "'%.60s' is no ADDRESS:PORT, as in 0.0.0.0:8080 or :8080", text);
	if (str_to_i64(colon + 1, 0, UINT16_MAX, &port) < 0)
		return err_set(err, -EINVAL, "'%.60s' has no port from 0 to 65535 behind its last colon", text);
	if (host[0] == '[' && host[len - 1] == ']') {
		host[len - 1] = 0;
		address++;
	} else if (strchr(host, ':'))
		return err_set(err, -EINVAL, "'%.60s': an IPv6 address needs brackets, as in [::1]:8080", text);
	if (*host && !is_address(address))
		return err_set(err, -EINVAL, "'%.60s': '%.60s' is no address in numbers", text, address);
	str_copy(ret->address, sizeof(ret->address), *host ? address : "0.0.0.0");
	ret->port = (uint16_t)port;
	return 0;
}

const char *listen_url(const char *scheme, const char *host, uint16_t port, char url[LISTEN_URL_MAX])
{
	bool ipv6 = strchr(host, ':') && host[0] != '[';

	snprintf(url, LISTEN_URL_MAX, "%s://%s%.253s%s:%u", scheme, ipv6 ? "[" : "", host, ipv6 ? "]" : "", port);
	return url;
}
