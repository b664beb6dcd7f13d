/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/reporter.h"

#include <stdio.h>

#include "base/list.h"
#include "base/str.h"
#include "kube/events.h"
#include "kube/resource.h"

#define SEND_TIMEOUT (10 * USEC_SEC)

struct reporter {
	const struct clock *clock;
	struct kube_client *client;
	const struct gate *gate;
	char *controller, *instance;
	struct recorder *recorder;
	struct loop_timer *timer;
	struct link sends;
	size_t n_sends;
};

/* One request under way. */
struct send {
	struct link link;
	struct reporter *reporter;
	struct kube_call *call;
	uint64_t id;
};

static void pump(void *arg);

static struct event_time times(const struct reporter *r)
{
	return (struct event_time) { .mono = clock_mono(r->clock), .wall = clock_wall(r->clock) };
}

static void send_free(struct send *s)
{
	link_remove(&s->link);
	s->reporter->n_sends--;
	free(s);
}

static void sent(void *arg, const struct kube_reply *reply)
{
	struct send *s = arg;
	struct reporter *r = s->reporter;
	uint64_t id = s->id;

	send_free(s);
	recorder_answered(r->recorder, id, reply->http->error ? 0 : reply->http->status, times(r));
	pump(r);
}

static void send_event(struct reporter *r, const struct event_request *e)
{
	struct kube_call_options o = { .gate = r->gate, .timeout = SEND_TIMEOUT, .lane = KUBE_LAZY };
	struct kube_request request = {
		.method = e->rest.method,
		.content_type = e->rest.content_type,
		.path = (char *)(uintptr_t)e->rest.path, /* copied */
		.body = (char *)(uintptr_t)e->rest.body,
		.body_len = e->rest.body_len,
		.effect = true,
		.what = "write an Event",
	};
	struct send *s = NEW(struct send);

	s->reporter = r;
	s->id = e->id;
	list_add_tail(&r->sends, &s->link);
	r->n_sends++;
	s->call = kube_call_start(r->client, &request, &o, sent, s);
}

static void pump(void *arg)
{
	struct reporter *r = arg;
	struct event_request request;

	if (!gate_open(r->gate, clock_mono(r->clock))) {
		reporter_forget(r);
		return;
	}
	while (recorder_take(r->recorder, times(r), &request))
		send_event(r, &request);
	loop_set_timer(r->timer, recorder_next(r->recorder));
}

void reporter_tell(struct reporter *r, const struct kube_event *event)
{
	char api_version[64];
	struct event e = {
		.api_version = kube_api_version(event->about.kind, api_version),
		.kind = kube_resource(event->about.kind)->kind,
		.ns = kube_resource(event->about.kind)->namespaced ? event->about.ns : NULL,
		.name = event->about.name,
		.uid = event->about.uid,
		.type = event->type,
		.reason = event->reason,
		.action = event->action,
		.note = event->message,
	};

	recorder_add(r->recorder, &e, times(r));
	loop_set_timer(r->timer, recorder_next(r->recorder)); /* later, together with what else is told now */
}

void reporter_forget(struct reporter *r)
{
	LIST_EACH (l, &r->sends) {
		struct send *s = LIST_ITEM(l, struct send, link);

		kube_call_cancel(s->call);
		send_free(s);
	}
	recorder_free(r->recorder);
	r->recorder = recorder_new(r->controller, r->instance);
	loop_set_timer(r->timer, USEC_NEVER);
}

struct reporter *reporter_new(struct loop *l, const struct clock *clock, struct kube_client *client,
                              const struct gate *gate, const char *controller, const char *instance)
{
	struct reporter *r = NEW(struct reporter);

	r->clock = clock;
	r->client = client;
	r->gate = gate;
	r->controller = mem_strdup(controller);
	r->instance = mem_strdup(instance);
	r->recorder = recorder_new(controller, instance);
	r->timer = loop_add_timer(l, pump, r);
	link_init(&r->sends);
	return r;
}

void reporter_free(struct reporter *r)
{
	if (!r)
		return;
	reporter_forget(r);
	recorder_free(r->recorder);
	loop_remove_timer(r->timer);
	free(r->controller);
	free(r->instance);
	free(r);
}

size_t reporter_under_way(const struct reporter *r)
{
	return r->n_sends;
}
