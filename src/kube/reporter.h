/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Writes Kubernetes Events: drives the recorder (events.h) over the client, through the gate. Best effort: what was
 * told without leadership, or was not written when it ended, is forgotten. Core thread.
 */
#pragma once

#include "kube/client.h"
#include "port/kube.h"

struct reporter;

/* controller: "sunk.coreweave.com/scheduler"; instance: the Pod or host we run on. Both copied, the rest borrowed. */
struct reporter *reporter_new(struct loop *l, const struct clock *clock, struct kube_client *client,
                              const struct gate *gate, const char *controller, const char *instance);
void reporter_free(struct reporter *r);
DEFINE_FREEP(struct reporter, reporter_free)

void reporter_tell(struct reporter *r, const struct kube_event *event);
void reporter_forget(struct reporter *r); /* leadership has ended */

size_t reporter_under_way(const struct reporter *r);
