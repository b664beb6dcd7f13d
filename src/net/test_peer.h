/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A server for tests that behaves as badly as its script says: a thread for each connection runs `serve` on it.
 * Reading and writing block, and end when the client goes or the peer is stopped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "net/test_certs.h"

#define PEER_CONNECTIONS_MAX 64

struct peer;
struct peer_conn;

struct peer_options {
	void (*serve)(struct peer_conn *c, void *arg);
	void *arg;
	const struct test_cert *cert;      /* TLS when set */
	const struct test_cert *client_ca; /* asks for a client certificate signed by it */
	const char *alpn;                  /* the one protocol it picks when the client offers it */
};

struct peer *peer_start(const struct peer_options *o);
void peer_stop(struct peer *p);
int peer_port(const struct peer *p);
int peer_accepted(struct peer *p); /* connections so far */
int peer_ended(struct peer *p);    /* those of them that it closed */

/* Return what came, 0 at the end. */
size_t peer_read(struct peer_conn *c, void *data, size_t size);
/* A whole request, headers and body, as text; false when the client went. */
bool peer_read_request(struct peer_conn *c, char *text, size_t size);
bool peer_send(struct peer_conn *c, const void *data, size_t len); /* false when the client went */
bool peer_say(struct peer_conn *c, const char *text);
void peer_wait_gone(struct peer_conn *c); /* reads until the client goes */
void peer_reset(struct peer_conn *c);     /* the connection ends with a TCP reset */
int peer_number(const struct peer_conn *c); /* 0 = the first connection */
const char *peer_client_name(const struct peer_conn *c); /* CN of the client's certificate, "" without */
