/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One run of an exec credential plugin (client.authentication.k8s.io v1 and v1beta1): a child without a shell and
 * without a terminal, in a process group of its own that is gone, whatever it does, at the latest at the deadline. Its
 * output is bounded. Core thread; the loop watches it.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/time.h"
#include "kube/config.h"
#include "net/loop.h"

#define PLUGIN_OUTPUT_MAX (1u << 20)
#define PLUGIN_STDERR_MAX 2048 /* what is kept of it; the rest is read and forgotten */
#define PLUGIN_SAID_MAX 240    /* what is shown of it in an error */

struct plugin;

struct plugin_result {
	char *token;              /* NULL when it gave none */
	char *cert_pem, *key_pem; /* both or neither */
	usec_t expires;           /* wall time, 0 = never */
};

void plugin_result_done(struct plugin_result *r); /* wipes */

/* result is NULL when error is set. Its fields may be taken (set to NULL). The plugin is gone when this is called. */
typedef void (*plugin_done)(void *arg, struct plugin_result *result, const struct err *error);

/* config->exec must be set; it is borrowed for the run. ca_pem goes to plugins that want to know the cluster; may be
 * NULL. NULL with err when it could not be started. */
struct plugin *plugin_start(struct loop *l, const struct kube_config *config, const char *ca_pem, usec_t timeout,
                            plugin_done done, void *arg, struct err *err);
void plugin_free(struct plugin *p); /* kills it; `done` is not called */

/* An ExecCredential as a plugin prints it. Errors show nothing of it. */
int plugin_parse(const char *text, size_t len, const char *api_version, struct plugin_result *ret, struct err *err);
