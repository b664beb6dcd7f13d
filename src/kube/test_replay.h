/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An API server for tests that answers by rules: recorded samples, or whatever a case needs, well-behaved or not. And
 * the client side of such a test: loop, credentials and client in one struct.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "kube/client.h"
#include "kube/test_samples.h"
#include "net/test_certs.h"
#include "net/test_peer.h"

struct replay;

enum replay_end {
	REPLAY_KEEP,  /* a whole answer; the connection is used again */
	REPLAY_HOLD,  /* what there is, and then silence until the client goes */
	REPLAY_CLOSE, /* what there is, and then the connection ends */
	REPLAY_RESET,
};

struct replay_rule {
	const char *match; /* in "GET /path"; NULL = any */
	int times;         /* how often it is used; 0 = always */
	int status;
	const char *content_type; /* NULL = application/json */
	const char *headers;      /* more of them, each with "\r\n"; may be NULL */
	const void *body;         /* borrowed */
	size_t len;               /* 0 = strlen(body) */
	size_t piece;             /* in HTTP chunks of this size; 0 = with Content-Length */
	bool echo;                /* instead of a body: what was sent, under a resourceVersion of its own */
	bool raw;                 /* the body is what comes behind "Transfer-Encoding: chunked" */
	enum replay_end end;
};

/* cert NULL = no TLS. */
struct replay *replay_start(const struct test_cert *cert);
/* HTTP/2. Of the rules, pieces and `raw` mean nothing here; REPLAY_CLOSE sends GOAWAY, ends the stream and closes. */
struct replay *replay_start_h2(const struct test_cert *cert);
void replay_stop(struct replay *r);

/* The first rule that fits and is not used up answers. None: 500. */
void replay_add(struct replay *r, const struct replay_rule *rule);
/* Answers with a sample, which must live as long. */
void replay_add_sample(struct replay *r, const char *match, int times, const struct sample *s);

int replay_count(struct replay *r, const char *match); /* requests so far; NULL = all */
/* The n-th request with this in it ("GET /path HTTP/1.1\r\n…", headers and body), NULL when it has not come. */
const char *replay_request(struct replay *r, const char *match, int n);
/* Notes a request ("GET /path …") and finds its rule. Any thread. */
struct replay_rule replay_find(struct replay *r, const char *request);
int replay_connections(struct replay *r);
int replay_port(const struct replay *r);

struct world {
	struct loop *loop;
	struct replay *replay;
	struct kube_config config;
	struct cred *cred;
	struct kube_client *client;
	char server[64];
};

void world_init(struct world *w); /* plain HTTP, token "secret" */
/* For other credentials: set up what the config holds, then world_connect(). */
void world_init_tls(struct world *w, const struct test_cert *cert, const char *ca_pem);
void world_init_h2(struct world *w, const struct test_cert *cert, const char *ca_pem);
void world_connect(struct world *w);
void world_done(struct world *w);

/* Runs the loop until the condition holds; fails the test after 20 s. */
#define WORLD_WAIT(w, condition)                                                                                       \
	do {                                                                                                           \
		usec_t end_ = clock_mono(clock_real()) + 20 * USEC_SEC;                                                \
		while (!(condition)) {                                                                                 \
			if (clock_mono(clock_real()) > end_)                                                           \
				fail_msg("%s:%d: waited in vain for %s", __FILE__, __LINE__, #condition);              \
			loop_run_once((w)->loop, 20 * USEC_MSEC);                                                      \
		}                                                                                                      \
	} while (0)
