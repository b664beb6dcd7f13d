/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * For tests: where the other end of a call listens, on loopback.
 */
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/test.h"

/* On that port; 0: on any, and *port says which. */
static inline int test_listen(uint16_t *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		                 .sin_port = htons(*port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	socklen_t len = sizeof(a);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	*port = ntohs(a.sin_port);
	return fd;
}

static inline bool test_readable(int fd, int wait_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, wait_ms) == 1;
}
