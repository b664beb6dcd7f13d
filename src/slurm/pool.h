/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The pool of Slurm workers: requests wait here, go to a worker process each, and are answered exactly once, from the
 * loop. A worker that is too slow, ends or sends nonsense is replaced and its request answered RETRY. Owns the worker
 * processes and the queue; runs on the loop's thread; never blocks, never calls libslurm.
 *
 * Order: first come, first served, but questions about single jobs, states and cancels go before all else (somebody's job has
 * just started or is to end) and submissions after it; lists of all jobs or nodes leave one worker free for the short requests.
 *
 * What changes something leaves only while the gate is open, and one that is under way when the lease runs out is cut off
 * with its worker: libslurm would go on trying to reach the controller, and might succeed under another leader.
 *
 * While Slurm is away (slurm/health.h) everything waiting and everything new is answered RETRY with the reason; before its
 * first answer requests wait.
 */
#pragma once

#include <stdbool.h>

#include "net/loop.h"
#include "port/gate.h"
#include "port/slurm.h"

#define POOL_WORKERS_MAX 16
#define POOL_WAITING_MAX 10000              /* requests that wait for a worker */
#define POOL_WAITING_BYTES ((size_t)64 << 20) /* and their bytes */

struct pool_options {
	const struct gate *gate;   /* passed by what changes something, when it is sent; NULL = always open */
	const char *conf;          /* slurm.conf; NULL = SLURM_CONF of the environment, or /etc/slurm/slurm.conf */
	const char *const *argv;   /* how to start a worker; NULL = this program with the verb slurm-worker */
	const char *const *env;    /* more of its environment; NULL = none */
	int workers;               /* 0 = 3; at least 2 */
	usec_t timeout;            /* of a request that names none; 0 = 15 s */
	usec_t probe_timeout;      /* of a ping; 0 = 5 s */
	usec_t idle_probe;         /* ping when nothing has been heard for so long; 0 = 10 s */
	usec_t idle_span;          /* a worker that was not needed for so long goes, but for one; 0 = 10 s */
	usec_t probe_pause_max;    /* the longest pause between pings while Slurm is away; 0 = 5 s */
};

struct pool;

struct pool *pool_new(struct loop *loop, const struct pool_options *o); /* texts are copied, the gate is borrowed */
/* Ends the workers. Requests without an answer are answered RETRY, here and now; nothing may be asked from within those
 * answers. Not from within an answer itself. */
void pool_free(struct pool *p);
DEFINE_FREEP(struct pool, pool_free)

void pool_call(struct pool *p, const struct slurm_request *rq, slurm_done done, void *arg);
bool pool_ready(const struct pool *p, struct err *ret_why);

struct pool_counts {
	uint64_t answered, failed; /* requests; failed are those without an answer of Slurm's */
	uint64_t started; /* workers, ever */
	size_t workers; /* of them now */
	size_t waiting, running;
};
struct pool_counts pool_counts(const struct pool *p);
