/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/kube.h"

#include <inttypes.h>

#include "base/rand.h"
#include "base/str.h"

struct kube {
	struct loop *loop;
	struct kube_config *config;
	struct cred *cred;
	struct kube_client *client;
	struct kube_client *lease_client; /* its own: thousands of effects under way must not hold up a renewal */
	struct gate gate;
	struct elect *elect;
	struct kube_port *port;
	elect_changed changed;
	void *arg;
};

static void leadership_changed(void *arg, bool leading, const char *holder)
{
	struct kube *k = arg;

	kube_port_gate_changed(k->port);
	if (k->changed)
		k->changed(k->arg, leading, holder);
}

static int start_election(struct kube *k, const struct clock *clock, const struct kube_options *o, struct err *err)
{
	_cleanup_free_ char *identity = NULL;
	uint64_t random;
	struct elect_options eo = {
		.leader = { .lease_duration = o->lease_duration,
		            .renew_deadline = o->renew_deadline,
		            .retry_period = o->retry_period },
		.ns = str_or(o->lease_ns, k->config->ns),
		.name = o->lease,
		.changed = leadership_changed,
		.arg = k,
	};

	/* Two processes of one name are two candidates. */
	rand_secure(&random, sizeof(random));
	identity = str_printf("%.200s_%016" PRIx64, o->instance, random);
	eo.leader.identity = identity;
	k->elect = elect_new(k->loop, clock, kube_client_rest(k->lease_client), &eo, &k->gate, err);
	return k->elect ? 0 : err->code;
}

int kube_open_config(struct loop *l, const struct clock *clock, const struct kube_options *o,
                     struct kube_config *config, struct kube **ret, struct err *err)
{
	_cleanup_(kube_closep) struct kube *k = NEW(struct kube);
	struct err local = { 0 };
	int r;

	k->loop = l;
	k->config = config;
	k->changed = o->changed;
	k->arg = o->arg;
	k->gate = GATE_ALWAYS_OPEN;
	k->cred = cred_new(l, clock, config, 0);
	k->client = kube_client_new(l, clock, k->cred);
	k->lease_client = kube_client_new(l, clock, k->cred);
	k->port = kube_port_new(&(struct kube_port_options) {
	        .loop = l,
	        .clock = clock,
	        .client = k->client,
	        .gate = &k->gate,
	        .controller = o->controller,
	        .instance = o->instance,
	});
	if (o->lease) {
		r = start_election(k, clock, o, &local);
		if (r < 0)
			return err_set(err, r, "%s", local.text);
	}
	*ret = TAKE_PTR(k);
	return 0;
}

int kube_open(struct loop *l, const struct clock *clock, const struct kube_options *o, struct kube **ret,
              struct err *err)
{
	struct kube_config *config;
	int r = kube_config_load(&o->config, &config, err);

	return r < 0 ? r : kube_open_config(l, clock, o, config, ret, err);
}

void kube_close(struct kube *k)
{
	if (!k)
		return;
	elect_free(k->elect);
	kube_port_free(k->port);
	kube_client_free(k->client);
	kube_client_free(k->lease_client);
	cred_free(k->cred);
	kube_config_free(k->config);
	free(k);
}

struct kube_port *kube_port(struct kube *k)
{
	return k->port;
}

struct kube_client *kube_client(struct kube *k)
{
	return k->client;
}

const struct gate *kube_gate(const struct kube *k)
{
	return &k->gate;
}

const struct kube_config *kube_config(const struct kube *k)
{
	return k->config;
}

const struct elect *kube_elect(const struct kube *k)
{
	return k->elect;
}

void kube_release(struct kube *k, void (*done)(void *arg), void *arg)
{
	if (!k->elect) {
		k->gate.leader = false;
		kube_port_gate_changed(k->port);
		loop_defer(k->loop, done, arg);
		return;
	}
	elect_release(k->elect, done, arg);
	kube_port_gate_changed(k->port);
}
