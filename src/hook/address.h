/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where an http:// URL leads. Numbers are read at once. A name is looked up in a child process, since libc's resolver blocks and
 * cannot be stopped: who waits polls a descriptor beside others, and ends the child when it waits no longer.
 */
#pragma once

#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/err.h"

#define ADDRESSES_MAX 16 /* of one name; more are not tried */
#define ADDRESS_HOST_MAX 255

struct address {
	char *host, *port; /* an IPv6 address without its brackets */
	char *authority;   /* as the Host header has it */
	char *path;        /* with the query */
};

/* -EINVAL for what is no http:// URL, or has in it what would break a request. */
int address_split(const char *url, struct address *ret, struct err *err);
void address_done(struct address *a);

struct lookup {
	pid_t pid; /* 0: nobody looks any more */
	int fd;    /* readable when the child has it; -1 without one */
	struct found {
		int code; /* of getaddrinfo() */
		size_t n;
		struct {
			socklen_t len;
			struct sockaddr_storage to;
		} at[ADDRESSES_MAX];
	} found;
};

#define LOOKUP_NONE ((struct lookup) { .fd = -1 })

int lookup_start(struct lookup *l, const struct address *a, struct err *err);
/* 0 with at least one address in `found`; -EAGAIN: not yet. */
int lookup_look(struct lookup *l, const struct address *a, struct err *err);
void lookup_stop(struct lookup *l);
