/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What all daemons share: settings, the loop, both ports, leader election, one HTTP listener for /healthz, /readyz and /metrics,
 * signals and a clean end. A daemon is a table of parts (scheduler, syncer, operator) that run over the same loop and ports;
 * `sunk all` has several. Core thread.
 *
 * What holds: once it has started, it ends only when it is told to. Slurm or Kubernetes being away makes it not ready, nothing
 * more. When it ends, no part is stepped any more, what was sent is awaited for a bounded time, and then the lease is given back.
 */
#pragma once

#include "base/args.h"
#include "base/metrics.h"
#include "net/loop.h"
#include "port/kube.h"
#include "port/slurm.h"

enum { DAEMON_OK = 0, DAEMON_FAILED = 1, DAEMON_USAGE = 2 }; /* exit statuses */

struct daemon;

/* One of the things that a daemon does. Functions that may be NULL say so; all are called on the core thread. */
struct part {
	const char *name; /* "scheduler" */
	void *arg;        /* of the functions below */
	const struct arg *
	        rows; /* its settings: read together with the daemon's own, and freed with them. A flag that another part of
	                         * the program has too gets the part's name before it: --syncer-hook-listen */
	size_t n_rows;
	bool bell; /* it submits jobs, and wants Slurm's doorbell */
	usec_t patience; /* for what Kubernetes tells, under load (net/loop.h); of several parts the shortest counts */

	/* The settings are in: completes and checks them. Nothing runs yet, and Kubernetes' configuration has been read. May be
	 * NULL. */
	int (*prepare)(void *arg, struct daemon *d, struct err *err);
	/* The ports are there, the loop does not run yet. */
	int (*start)(void *arg, struct daemon *d, struct err *err);
	/* Does what is due; returns when (monotonic) it wants to be called again at the latest. Called soon after part_wake(), and
	 * then. */
	usec_t (*step)(void *arg);
	void (*leading)(void *arg, bool leading); /* leadership began or ended */
	bool (*ready)(void *arg, struct err *ret_why);
	/* Metrics of its own, beside those of daemon_metrics(), as text. May be NULL. */
	void (*metrics)(void *arg, struct buf *out);
	/* The end begins: no more steps will come; refuse what is new. May be NULL. */
	void (*stop)(void *arg);
	/* Frees what start() made, also when it failed half-way. No answers of the ports come any more. */
	void (*done)(void *arg);

	void *driver; /* the daemon's */
};

/* Asks for a step soon: an argument of type struct part *, so that it fits the parts' own wake callbacks. From anywhere on the
 * core thread, as often as one likes. */
void part_wake(void *part);

struct daemon_program {
	const char *name; /* the verb: "scheduler" */
	const char *about; /* a paragraph for --help */
	struct part *const *parts;
	size_t n_parts;
	bool no_slurm; /* none of them needs it: daemon_slurm() is NULL */
};

/* Reads the settings and runs until SIGTERM or SIGINT; returns the exit status. */
int daemon_main(const struct daemon_program *program, int argc, char **argv);

/* For parts, from prepare() on. */
bool daemon_given(const struct daemon *d, const char *flag); /* set by flag or config file, not by default */
const char *daemon_namespace(const struct daemon *d); /* the one we run in */
const char *daemon_host(const struct daemon *d); /* how others reach us: the Pod's address, or the host's name */
const char *daemon_slurm_conf(const struct daemon *d); /* NULL = not given */
/* The lease's name, unless the settings name one; the first part to say so wins. */
void daemon_lease_is(struct daemon *d, const char *name);

/* From start() on. */
struct loop *daemon_loop(const struct daemon *d);
const struct clock *daemon_clock(const struct daemon *d);
struct metrics *daemon_metrics(const struct daemon *d);
struct kube_port *daemon_kube(const struct daemon *d);
struct slurm_port *daemon_slurm(const struct daemon *d);
const char *daemon_bell_host(const struct daemon *d); /* the doorbell as slurmctld reaches it; NULL = none */
uint16_t daemon_bell_port(const struct daemon *d);
/* Says where a part listens: in the log, and in the file of --listen-file. */
void daemon_listens(struct daemon *d, const char *what, const char *url);
