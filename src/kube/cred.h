/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Live credentials: a kube_config and, at any time, the server, TLS texts and bearer token to use now. Token files are
 * read again every minute, certificates and CAs when their file is another one (rotation by symlink), exec plugins are
 * run again shortly before what they gave expires; all of it at once after a 401.
 *
 * Runs on the core thread and never waits: a plugin is a child that the loop watches, all who ask meanwhile share its
 * one run. Secrets are wiped before their memory is freed and are in no error text.
 *
 *	view = cred_now(c);
 *	if (!view)
 *		wait = cred_get(c, ready, arg);
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/time.h"
#include "kube/config.h"
#include "net/http_client.h"
#include "net/loop.h"

#define CRED_TOKEN_SPAN USEC_MINUTE           /* between two looks at a token file */
#define CRED_FILE_SPAN (5 * USEC_SEC)         /* between two looks at whether another file changed */
#define CRED_EXPIRY_SPAN (30 * USEC_SEC)      /* a plugin is run again this long before its credentials expire */
#define CRED_PLUGIN_TIMEOUT (30 * USEC_SEC)   /* default deadline of a plugin */
#define CRED_REFRESH_SPAN (10 * USEC_SEC)     /* 401s run a plugin at most this often */
#define CRED_WAITERS_MAX 10000

struct cred;
struct cred_wait;

/* All borrowed: good until the next call with this cred or the next round of the loop. */
struct cred_view {
	const char *server; /* no slash at its end */
	const char *proxy;  /* NULL = none */
	const char *bearer; /* NULL = none */
	struct http_tls tls;
	uint64_t serial;     /* of all of it: another number, other credentials */
	uint64_t tls_serial; /* of `tls`: when it differs, connections made before must not be used again */
};

/* Exactly one of view and error is set. Must not free the cred. */
typedef void (*cred_ready)(void *arg, const struct cred_view *view, const struct err *error);

/* config is borrowed and must outlive the cred. plugin_timeout 0 = the default. Reads nothing yet. */
struct cred *cred_new(struct loop *l, const struct clock *clock, const struct kube_config *config,
                      usec_t plugin_timeout);
void cred_free(struct cred *c); /* kills a plugin that runs; those who wait are not called */
DEFINE_FREEP(struct cred, cred_free)

/* What is at hand and good, or NULL: then ask with cred_get(). Looks at files when it is time to. */
const struct cred_view *cred_now(struct cred *c);

/* Calls back once, from the loop, never from within. NULL (and no call) when CRED_WAITERS_MAX are waiting. */
struct cred_wait *cred_get(struct cred *c, cred_ready ready, void *arg);
void cred_cancel(struct cred_wait *w); /* `ready` is not called; NULL is fine */

/* The server answered 401 to the credentials with this serial. True: others are at hand or can be had, ask again and
 * try once more. False: nothing better is to be had now. */
bool cred_refresh(struct cred *c, uint64_t serial);

/* What went wrong when files were last read, or the plugin last run, while what they gave before may still be used; NULL
 * when all is well. */
const char *cred_problem(const struct cred *c);
