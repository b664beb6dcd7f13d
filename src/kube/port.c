/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/port.h"

#include <assert.h>

#include "base/list.h"
#include "base/str.h"
#include "kube/change.h"
#include "kube/make.h"
#include "kube/objects.h"
#include "kube/reporter.h"
#include "port/kinds.h"
#include "json/json.h"

struct real_port {
	struct kube_port port;
	struct loop *loop;
	const struct clock *clock;
	struct kube_client *client;
	const struct gate *gate;
	struct reporter *reporter;
	struct informer *informers[KUBE_STORES_MAX];
	size_t n_informers;
	struct link effects;
	size_t n_effects;
};

/* One effect until it is answered. */
struct effect {
	struct link link;
	struct real_port *port;
	struct kube_call *call;
	uint64_t term;
	char *node;               /* of a binding */
	enum kube_lane lane;
	struct kube_request then; /* of a change, its conditions: sent after the rest of it; without a path, none */
	bool insist;              /* … only while the object is as the first request left it */
	struct loop_timer *timer; /* for `ready` */
	struct kube_answer *ready; /* an answer that no request is needed for */
	kube_done done;
	kube_got got; /* instead of `done`: a read */
	char *uid;    /* … of the object that is meant; NULL = whichever */
	enum kube_kind kind;
	void *arg;
};

static struct real_port *real(struct kube_port *p)
{
	return CONTAINER_OF(p, struct real_port, port);
}

static void effect_free(struct effect *e)
{
	kube_call_cancel(e->call);
	loop_remove_timer(e->timer);
	kube_request_done(&e->then);
	link_remove(&e->link);
	e->port->n_effects--;
	free(e->node);
	free(e->uid);
	free(e->ready);
	free(e);
}

static void effect_tell(struct effect *e, const struct kube_answer *a)
{
	_cleanup_free_ struct kube_answer *ready = TAKE_PTR(e->ready); /* `a` may be it */
	kube_done done = e->done;
	kube_got got = e->got;
	void *arg = e->arg;

	effect_free(e);
	if (got)
		got(arg, &a->result, NULL);
	else
		done(arg, &a->result);
}

static void effect_is_ready(void *arg)
{
	struct effect *e = arg;

	effect_tell(e, e->ready);
}

static struct effect *effect_new(struct real_port *p, kube_done done, void *arg)
{
	struct effect *e = NEW(struct effect);

	e->port = p;
	e->term = p->gate->term;
	e->timer = loop_add_timer(p->loop, effect_is_ready, e);
	e->done = done;
	e->arg = arg;
	list_add_tail(&p->effects, &e->link);
	p->n_effects++;
	return e;
}

/* Answers later, without a request. */
static void effect_answer(struct effect *e, enum kube_outcome outcome, bool maybe_done, const char *what,
                          const char *message)
{
	e->ready = NEW(struct kube_answer);
	kube_answer_set(e->ready, outcome, maybe_done, what, message);
	loop_set_timer(e->timer, 0);
}

static void effect_answered(void *arg, const struct kube_reply *reply);

/* Sends the request, or, when it could not be made (r), answers with why. */
static void effect_send(struct effect *e, int r, const struct kube_request *request, const struct err *err)
{
	struct kube_call_options o = { .gate = e->port->gate, .lane = e->lane };

	if (r < 0)
		effect_answer(e, KUBE_REFUSED, false, "nothing was sent", err_text(err));
	else
		e->call = kube_call_start(e->port->client, request, &o, effect_answered, e);
}

/* The first half of a change is done: now its conditions. */
static void effect_go_on(struct effect *e, const struct kube_answer *first)
{
	struct kube_request then = e->then;

	e->then = (struct kube_request) { 0 };
	if (e->term != e->port->gate->term) {
		effect_answer(e, KUBE_NOT_LEADER, true, then.what, "not the leader any more");
	} else {
		if (e->insist && first->result.resource_version) {
			char *body = kube_body_with_version(then.body, then.body_len, first->result.resource_version,
			                                    &then.body_len);

			free(then.body);
			then.body = body;
		}
		effect_send(e, 0, &then, NULL);
	}
	kube_request_done(&then);
}

static void effect_answered(void *arg, const struct kube_reply *reply)
{
	struct effect *e = arg;
	struct kube_answer a;

	e->call = NULL;
	kube_reply_read(reply, &a);
	if (e->node && a.result.outcome == KUBE_CONFLICT && str_eq(a.assigned_to, e->node))
		a.result.outcome = KUBE_OK; /* ours, of an earlier try whose answer was lost */
	if (e->then.path && a.result.outcome == KUBE_OK)
		effect_go_on(e, &a);
	else
		effect_tell(e, &a);
}

/* The port's operations */

static struct store *port_watch(struct kube_port *port, enum kube_kind kind, const char *ns, const char *label_selector,
                                const char *field_selector)
{
	struct informer_options o = {
		.kind = kind,
		.ns = ns,
		.label_selector = label_selector,
		.field_selector = field_selector,
	};
	struct real_port *p = real(port);

	for (size_t n = 0; n < p->n_informers; n++)
		if (informer_is_for(p->informers[n], &o))
			return informer_store(p->informers[n]);
	assert(p->n_informers < KUBE_STORES_MAX);
	p->informers[p->n_informers] = informer_new(p->loop, p->clock, p->client, &o);
	return informer_store(p->informers[p->n_informers++]);
}

static void effect_got(void *arg, const struct kube_reply *reply)
{
	struct effect *e = arg;
	struct json_scratch scratch = { 0 };
	_cleanup_free_ void *object = NULL;
	yyjson_doc *doc = NULL;
	struct kube_answer a;
	struct err err = { 0 };
	kube_got got = e->got;

	e->call = NULL;
	kube_reply_read(reply, &a);
	if (a.result.outcome == KUBE_OK &&
	    (json_parse_copy(reply->http->body, reply->http->body_len, &doc, &err) < 0 ||
	     kube_decode(e->kind, yyjson_doc_get_root(doc), &scratch, &object, NULL, &err) < 0))
		kube_answer_set(&a, KUBE_RETRY, false, reply->what, err_text(&err));
	if (object && e->uid && !str_eq(((const struct meta *)object)->uid, e->uid)) {
		kube_answer_set(&a, KUBE_NOT_FOUND, false, reply->what, "another one has its name");
		free(TAKE_PTR(object));
	}
	json_scratch_done(&scratch);
	yyjson_doc_free(doc);
	arg = e->arg;
	effect_free(e);
	got(arg, &a.result, object);
}

static void port_get(struct kube_port *port, const struct kube_ref *ref, kube_got got, void *arg)
{
	struct effect *e = effect_new(real(port), NULL, arg);
	_cleanup_request_ struct kube_request request = { 0 };
	struct err err = { 0 };

	e->got = got;
	e->kind = ref->kind;
	e->uid = mem_strdup(ref->uid);
	if (kube_request_get(&request, ref, NULL, &err) < 0)
		effect_answer(e, KUBE_REFUSED, false, "nothing was sent", err_text(&err));
	else
		e->call = kube_call_start(e->port->client, &request, NULL, effect_got, e);
}

static int change_requests(const struct kube_change *c, usec_t now, struct kube_request *main,
                           struct kube_request *status, struct err *err)
{
	_cleanup_free_ char *main_body = NULL, *status_body = NULL;
	size_t main_len, status_len;
	int r = kube_change_main(c, &main_body, &main_len, err);

	if (r >= 0)
		r = kube_change_status(c, main_body ? NULL : c->ref.resource_version, now, &status_body, &status_len,
		                       err);
	if (r >= 0 && main_body)
		r = kube_request_patch(main, &c->ref, NULL, KUBE_PATCH_MERGE, main_body, main_len, err);
	if (r >= 0 && status_body)
		r = kube_request_patch(status, &c->ref, "status",
		                       kube_resource(c->ref.kind)->strategic ? KUBE_PATCH_STRATEGIC : KUBE_PATCH_MERGE,
		                       status_body, status_len, err);
	return r;
}

static void port_change(struct kube_port *port, const struct kube_change *c, kube_done done, void *arg)
{
	struct effect *e = effect_new(real(port), done, arg);
	_cleanup_request_ struct kube_request first = { 0 }, second = { 0 };
	char what[KUBE_WHAT_MAX];
	struct err err = { 0 };
	int r = change_requests(c, clock_wall(e->port->clock), &first, &second, &err);

	if (r < 0) {
		effect_send(e, r, &first, &err);
	} else if (first.path) {
		e->insist = !str_empty(c->ref.resource_version);
		e->then = second;
		second = (struct kube_request) { 0 };
		effect_send(e, 0, &first, NULL);
	} else if (second.path) {
		effect_send(e, 0, &second, NULL);
	} else {
		effect_answer(e, KUBE_OK, false, kube_what(&c->ref, what), "nothing to change");
	}
}

static void port_bind(struct kube_port *port, const struct kube_ref *pod, const char *node, kube_done done, void *arg)
{
	struct effect *e = effect_new(real(port), done, arg);
	_cleanup_request_ struct kube_request request = { 0 };
	struct err err = { 0 };

	e->node = mem_strdup(node);
	e->lane = KUBE_URGENT;
	effect_send(e, kube_request_bind(&request, pod, node, &err), &request, &err);
}

static void port_evict(struct kube_port *port, const struct kube_ref *pod, int64_t grace_s, kube_done done, void *arg)
{
	struct effect *e = effect_new(real(port), done, arg);
	_cleanup_request_ struct kube_request request = { 0 };
	struct err err = { 0 };

	e->lane = KUBE_URGENT;
	effect_send(e, kube_request_evict(&request, pod, grace_s, &err), &request, &err);
}

static void port_remove(struct kube_port *port, const struct kube_ref *ref, int64_t grace_s, kube_done done, void *arg)
{
	struct effect *e = effect_new(real(port), done, arg);
	_cleanup_request_ struct kube_request request = { 0 };
	struct err err = { 0 };

	e->lane = KUBE_URGENT;
	effect_send(e, kube_request_delete(&request, ref, grace_s, &err), &request, &err);
}

static void port_create(struct kube_port *port, enum kube_kind kind, const char *ns, const char *json, kube_done done,
                        void *arg)
{
	struct effect *e = effect_new(real(port), done, arg);
	_cleanup_request_ struct kube_request request = { 0 };
	struct err err = { 0 };

	effect_send(e, kube_request_create(&request, kind, ns, json, strlen(json), &err), &request, &err);
}

static void port_make(struct kube_port *port, const struct kube_make *m, kube_done done, void *arg)
{
	struct effect *e = effect_new(real(port), done, arg);
	_cleanup_request_ struct kube_request request = { 0 };
	_cleanup_free_ char *body = NULL;
	struct err err = { 0 };
	size_t len = 0;
	int r = kube_make_body(m, &body, &len, &err);

	if (r >= 0)
		r = kube_request_create(&request, m->ref.kind, m->ref.ns, body, len, &err);
	effect_send(e, r, &request, &err);
}

static void port_event(struct kube_port *port, const struct kube_event *event)
{
	reporter_tell(real(port)->reporter, event);
}

static void port_refresh(struct kube_port *port)
{
	struct real_port *p = real(port);

	for (size_t n = 0; n < p->n_informers; n++)
		informer_refresh(p->informers[n]);
}

static const struct kube_port_ops ops = {
	.watch = port_watch,
	.refresh = port_refresh,
	.get = port_get,
	.change = port_change,
	.bind = port_bind,
	.evict = port_evict,
	.remove = port_remove,
	.create = port_create,
	.make = port_make,
	.event = port_event,
};

struct kube_port *kube_port_new(const struct kube_port_options *o)
{
	struct real_port *p = NEW(struct real_port);

	p->port.ops = &ops;
	p->loop = o->loop;
	p->clock = o->clock;
	p->client = o->client;
	p->gate = o->gate;
	p->reporter = reporter_new(o->loop, o->clock, o->client, o->gate, o->controller, o->instance);
	link_init(&p->effects);
	return &p->port;
}

void kube_port_free(struct kube_port *port)
{
	struct real_port *p;

	if (!port)
		return;
	p = real(port);
	LIST_EACH (l, &p->effects) {
		effect_free(LIST_ITEM(l, struct effect, link));
	}
	for (size_t n = 0; n < p->n_informers; n++)
		informer_free(p->informers[n]);
	reporter_free(p->reporter);
	free(p);
}

void kube_port_gate_changed(struct kube_port *port)
{
	struct real_port *p = real(port);

	if (!gate_open(p->gate, clock_mono(p->clock)))
		reporter_forget(p->reporter);
	kube_client_gate_closed(p->client);
}

size_t kube_port_effects(const struct kube_port *port)
{
	return CONTAINER_OF(port, struct real_port, port)->n_effects;
}

const struct informer *kube_port_informer(const struct kube_port *port, size_t n)
{
	const struct real_port *p = CONTAINER_OF(port, struct real_port, port);

	return n < p->n_informers ? p->informers[n] : NULL;
}
