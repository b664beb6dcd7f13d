/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slurm/open.h"

#include <assert.h>

#include "base/mem.h"
#include "slurm/doorbell.h"

#define LISTENERS_MAX 8 /* parts of the program that want to hear the doorbell */

struct real {
	struct slurm_port port;
	struct pool *pool;
	struct bell *bell;
	struct {
		void (*ring)(void *arg);
		void *arg;
	} listeners[LISTENERS_MAX];
	size_t n_listeners;
};

static struct real *real_of(const struct slurm_port *p)
{
	return CONTAINER_OF(p, struct real, port);
}

static void call(struct slurm_port *p, const struct slurm_request *rq, slurm_done done, void *arg)
{
	pool_call(real_of(p)->pool, rq, done, arg);
}

static bool ready(struct slurm_port *p, struct err *ret_why)
{
	return pool_ready(real_of(p)->pool, ret_why);
}

static void on_ring(struct slurm_port *p, void (*ring)(void *arg), void *arg)
{
	struct real *r = real_of(p);

	assert(r->n_listeners < LISTENERS_MAX);
	r->listeners[r->n_listeners].ring = ring;
	r->listeners[r->n_listeners++].arg = arg;
}

static const struct slurm_port_ops ops = { .call = call, .ready = ready, .on_ring = on_ring };

static void rang(void *arg)
{
	struct real *r = arg;

	for (size_t i = 0; i < r->n_listeners; i++)
		r->listeners[i].ring(r->listeners[i].arg);
}

struct slurm_port *slurm_open(struct loop *loop, const struct slurm_options *o, struct err *err)
{
	struct real *r = NEW(struct real);

	r->port.ops = &ops;
	if (o->bell_address) {
		r->bell = bell_new(loop, o->bell_address, o->bell_port, rang, r, err);
		if (!r->bell) {
			free(r);
			return NULL;
		}
	}
	r->pool = pool_new(loop, &o->pool);
	return &r->port;
}

void slurm_close(struct slurm_port *p)
{
	struct real *r;

	if (!p)
		return;
	r = real_of(p);
	bell_free(r->bell);
	pool_free(r->pool);
	free(r);
}

uint16_t slurm_bell_port(const struct slurm_port *p)
{
	const struct real *r = real_of(p);

	return r->bell ? bell_port(r->bell) : 0;
}

struct pool_counts slurm_counts(const struct slurm_port *p)
{
	return pool_counts(real_of(p)->pool);
}
