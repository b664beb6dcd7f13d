/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * All it takes to work with one API server: configuration, credentials, client, leader election with its gate, and the
 * port. What a daemon opens at its start. Core thread.
 *
 * What holds: the moment leadership ends, for whatever reason, no effect is sent any more and those under way are cut
 * off, before `changed` is called. Renewals of the lease have connections of their own.
 */
#pragma once

#include "kube/config.h"
#include "kube/elect.h"
#include "kube/port.h"

struct kube;

struct kube_options {
	struct kube_config_options config;
	const char *controller; /* "sunk.coreweave.com/scheduler" */
	const char *instance;   /* the Pod or host we run on; also who we are in elections, with something random */
	const char *lease;      /* its name; NULL = no election, we always may act */
	const char *lease_ns;   /* NULL = the configuration's */
	usec_t lease_duration, renew_deadline, retry_period; /* 0 = the usual, see leader.h */
	elect_changed changed; /* may be NULL; must not free the kube */
	void *arg;
};

/* Reads the configuration and starts; the server need not be there. Strings are copied, loop and clock borrowed. */
int kube_open(struct loop *l, const struct clock *clock, const struct kube_options *o, struct kube **ret,
              struct err *err);
/* The same with a configuration that was read before, which is taken over also on failure. */
int kube_open_config(struct loop *l, const struct clock *clock, const struct kube_options *o,
                     struct kube_config *config, struct kube **ret, struct err *err);
void kube_close(struct kube *k);
DEFINE_FREEP(struct kube, kube_close)

struct kube_port *kube_port(struct kube *k);
struct kube_client *kube_client(struct kube *k);
const struct gate *kube_gate(const struct kube *k);
const struct kube_config *kube_config(const struct kube *k);
const struct elect *kube_elect(const struct kube *k); /* NULL without an election */

/* Stops acting, gives the lease back, then calls done. For a clean end: what was sent should have been answered. */
void kube_release(struct kube *k, void (*done)(void *arg), void *arg);
