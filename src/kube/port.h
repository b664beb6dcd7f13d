/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The real kube_port (port/kube.h): stores filled by informers, effects sent by the client through the gate, events by
 * the reporter. Core thread.
 *
 * What holds: nothing that changes something is sent unless the gate is open in the moment of sending and has been
 * since the shell asked (the same term). Each effect is answered once, also when it never could be sent.
 */
#pragma once

#include "kube/client.h"
#include "kube/informer.h"
#include "port/gate.h"
#include "port/kube.h"

#define KUBE_STORES_MAX 32

struct kube_port_options {
	struct loop *loop;
	const struct clock *clock;
	struct kube_client *client;
	const struct gate *gate;
	const char *controller; /* who Events say reports: "sunk.coreweave.com/scheduler" */
	const char *instance;   /* the Pod or host we run on */
};

struct kube_port *kube_port_new(const struct kube_port_options *o); /* all borrowed, the strings copied */
void kube_port_free(struct kube_port *p); /* and its stores; effects under way are not answered */
DEFINE_FREEP(struct kube_port, kube_port_free)

/* Leadership began or ended: what is under way in a gate that closed is cut off now. */
void kube_port_gate_changed(struct kube_port *p);

size_t kube_port_effects(const struct kube_port *p); /* under way */

/* The n-th informer, NULL behind the last; for metrics and status pages. */
const struct informer *kube_port_informer(const struct kube_port *p, size_t n);
