/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The part of a kubelet that `kubectl logs` needs: GET /containerLogs/NAMESPACE/POD/CONTAINER over HTTPS on loopback,
 * for those who show the token. With follow it goes on until the container ends. Runs on the loop.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "lite/agent/run.h"
#include "net/loop.h"

struct logs;

struct log_source {
	struct run *(*named)(void *arg, const char *ns, const char *name); /* NULL: no such Pod here */
	struct run *(*of_uid)(void *arg, const char *uid);
	void *arg;
};

int logs_new(struct loop *l, const char *token_file, const struct log_source *source, struct logs **ret,
             struct err *err);
void logs_free(struct logs *l); /* before the runs */

uint16_t logs_port(const struct logs *l);
