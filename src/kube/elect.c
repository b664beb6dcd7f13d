/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/elect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "kube/resource.h"

struct elect {
	const struct clock *clock;
	const struct rest *rest;
	struct gate *gate;
	elect_changed changed;
	void *arg;
	char *identity, *ns, *name, *collection, *object;
	struct leader_state state;
	struct loop_timer *timer;
	void *call; /* the request under way */
	bool told, told_leading;
	char told_holder[LEASE_HOLDER_MAX + 1];
	struct err error;
	void (*release_done)(void *arg);
	void *release_arg;
};

static void step(struct elect *e, enum leader_seen seen, const struct lease *lease);

static void tell_changed(struct elect *e)
{
	const char *holder = elect_holder(e);

	if (!e->changed || (!e->told && !e->state.known) ||
	    (e->told && e->told_leading == e->gate->leader && str_eq(e->told_holder, holder)))
		return;
	e->told = true;
	e->told_leading = e->gate->leader;
	str_copy(e->told_holder, sizeof(e->told_holder), holder);
	e->changed(e->arg, e->told_leading, e->told_holder);
}

/* The last thing a step does: whom this calls may free us. */
static void tell_released(struct elect *e)
{
	void (*done)(void *) = e->release_done;

	e->release_done = NULL;
	if (done)
		done(e->release_arg);
}

static enum leader_seen seen_in(struct elect *e, const struct rest_answer *a, struct lease *lease)
{
	e->error = (struct err) { 0 };
	switch (a->status) {
	case 200:
	case 201:
		if (lease_decode(a->body, a->body_len, lease, &e->error) == 0)
			return LEADER_SEEN_LEASE;
		break;
	case 404: return LEADER_SEEN_ABSENT;
	case 409: return LEADER_SEEN_CONFLICT;
	case 0:
		if (a->error)
			e->error = *a->error;
		else
			err_set(&e->error, -EIO, "no answer");
		break;
	default: err_set(&e->error, -EPROTO, "the server answered %d", a->status);
	}
	err_wrap(&e->error, e->error.code, "lease %s/%s", e->ns, e->name);
	return LEADER_SEEN_FAILURE;
}

static void answered(void *arg, const struct rest_answer *a)
{
	struct elect *e = arg;
	struct lease lease = { 0 };
	enum leader_seen seen = seen_in(e, a, &lease);

	e->call = NULL;
	step(e, seen, &lease);
}

static void send_action(struct elect *e, const struct leader_action *a)
{
	static const char *const methods[] = {
		[LEADER_DO_GET] = "GET", [LEADER_DO_CREATE] = "POST", [LEADER_DO_UPDATE] = "PUT"
	};
	_cleanup_free_ char *body = NULL;
	struct rest_request q = {
		.method = methods[a->what],
		.path = a->what == LEADER_DO_CREATE ? e->collection : e->object,
		.timeout = a->timeout,
	};

	if (a->what != LEADER_DO_GET) {
		body = lease_encode(&a->lease, e->ns, e->name, &q.body_len);
		q.body = body;
		q.content_type = "application/json";
	}
	e->call = e->rest->send(e->rest, &q, answered, e);
}

static void step(struct elect *e, enum leader_seen seen, const struct lease *lease)
{
	struct leader_time now = { .mono = clock_mono(e->clock), .wall = clock_wall(e->clock) };
	struct leader_action a = leader_step(&e->state, now, seen, lease);

	*e->gate = e->state.gate;
	loop_set_timer(e->timer, a.wake);
	if (a.what != LEADER_DO_NOTHING)
		send_action(e, &a);
	tell_changed(e);
	if (e->state.released)
		tell_released(e);
}

static void woken(void *arg)
{
	step(arg, LEADER_SEEN_NOTHING, NULL);
}

/* The paths of the collection and of the object. */
static int make_paths(struct elect *e, const struct elect_options *o, struct err *err)
{
	struct kube_ref ref = { .kind = KUBE_LEASES, .ns = o->ns };
	_cleanup_buf_ KUBE_PATH(collection);
	_cleanup_buf_ KUBE_PATH(object);
	int r = kube_path(&collection, &ref, NULL, NULL, err);

	ref.name = o->name;
	if (r == 0)
		r = kube_path(&object, &ref, NULL, NULL, err);
	if (r < 0)
		return r;
	e->collection = buf_take(&collection);
	e->object = buf_take(&object);
	return 0;
}

struct elect *elect_new(struct loop *l, const struct clock *clock, const struct rest *rest,
                        const struct elect_options *o, struct gate *gate, struct err *err)
{
	_cleanup_(elect_freep) struct elect *e = NEW(struct elect);
	struct leader_options lo = o->leader;
	uint64_t seed;

	rand_secure(&seed, sizeof(seed));
	*gate = (struct gate) { 0 };
	e->gate = gate;
	e->clock = clock;
	e->rest = rest;
	e->changed = o->changed;
	e->arg = o->arg;
	e->ns = mem_strdup(o->ns);
	e->name = mem_strdup(o->name);
	lo.identity = e->identity = mem_strdup(o->leader.identity);
	if (leader_init(&e->state, &lo, seed, err) < 0 || make_paths(e, o, err) < 0)
		return NULL;
	e->timer = loop_add_timer(l, woken, e);
	loop_set_timer(e->timer, loop_now(l));
	return TAKE_PTR(e);
}

void elect_free(struct elect *e)
{
	if (!e)
		return;
	e->gate->leader = false;
	if (e->call)
		e->rest->cancel(e->rest, e->call);
	loop_remove_timer(e->timer);
	free(e->identity);
	free(e->ns);
	free(e->name);
	free(e->collection);
	free(e->object);
	free(e);
}

void elect_release(struct elect *e, void (*done)(void *arg), void *arg)
{
	e->release_done = done;
	e->release_arg = arg;
	leader_release(&e->state);
	e->gate->leader = false;
	loop_set_timer(e->timer, 0);
}

const char *elect_holder(const struct elect *e)
{
	return e->state.known && !e->state.absent ? e->state.observed.holder : "";
}

const struct err *elect_error(const struct elect *e)
{
	return e->error.code ? &e->error : NULL;
}
