/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * One probe of one box: run a command, open a port, or ask an HTTP path, again and again, and tell when the verdict
 * changes. Counts successes and failures in a row as the kubelet does. Runs on the shim's loop; the shim reaps children
 * and hands exec results in.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "lite/agent/box.h"
#include "net/loop.h"

struct probe;

/* `told` is called when the verdict changes: true = passing. It starts as not passing. cwd and env as the box's. */
struct probe *probe_new(struct loop *l, const struct probe_spec *spec, const struct box_spec *box,
                        void (*told)(void *arg, bool passing), void *arg);
void probe_free(struct probe *p); /* kills a command that runs */

/* A child ended: true when it was this probe's. */
bool probe_child_ended(struct probe *p, pid_t pid, int status);
