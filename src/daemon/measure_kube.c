/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <assert.h>

#include "base/list.h"
#include "base/str.h"
#include "daemon/measure.h"

static const double bounds[] = { 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30 };

enum verb { CHANGE, BIND, EVICT, REMOVE, CREATE, GET, VERBS };
static const char *const verb_names[] = { "change", "bind", "evict", "remove", "create", "get" };

static const char *const outcome_names[] = {
	[KUBE_OK] = "ok",         [KUBE_NOT_FOUND] = "not_found", [KUBE_CONFLICT] = "conflict",
	[KUBE_EXISTS] = "exists", [KUBE_REFUSED] = "refused",     [KUBE_FORBIDDEN] = "forbidden",
	[KUBE_BUDGET] = "budget", [KUBE_RETRY] = "retry",         [KUBE_NOT_LEADER] = "not_leader",
};

struct measured {
	struct kube_port port;
	struct kube_port *inner;
	const struct clock *clock;
	struct metrics *metrics;
	struct histogram *seconds[VERBS];                        /* made when first used */
	double *counts[VERBS][ARRAY_LEN(outcome_names)]; /* likewise */
	struct link effects;
	bool muted;
};

struct effect {
	struct link link;
	struct measured *m;
	enum verb verb;
	usec_t began;
	kube_done done;
	kube_got got; /* GET: instead of `done` */
	void *arg;
};

static struct measured *measured_of(const struct kube_port *p)
{
	return CONTAINER_OF(p, struct measured, port);
}

static void count(struct measured *m, enum verb verb, enum kube_outcome outcome, usec_t took)
{
	const struct metric_label by_verb[] = { { "verb", verb_names[verb] }, { NULL } };
	const struct metric_label by_both[] = { { "verb", verb_names[verb] },
		                                { "outcome", outcome_names[outcome] },
		                                { NULL } };

	if (!m->seconds[verb])
		m->seconds[verb] = metrics_histogram(m->metrics, "sunk_kube_effect_seconds",
		                                     "Time until Kubernetes answered a change.", by_verb, bounds,
		                                     ARRAY_LEN(bounds));
	if (!m->counts[verb][outcome])
		m->counts[verb][outcome] = metrics_counter(m->metrics, "sunk_kube_effects_total",
		                                           "Changes to Kubernetes that were answered.", by_both);
	histogram_observe(m->seconds[verb], (double)took / USEC_SEC);
	*m->counts[verb][outcome] += 1;
}

static void answered(void *arg, const struct kube_result *result)
{
	struct effect *e = arg;
	struct measured *m = e->m;
	kube_done done = e->done;
	void *done_arg = e->arg;

	count(m, e->verb, result->outcome, clock_mono(m->clock) - e->began);
	link_remove(&e->link);
	free(e);
	if (!m->muted)
		done(done_arg, result);
}

static struct effect *begin(struct measured *m, enum verb verb, kube_done done, void *arg)
{
	struct effect *e = NEW(struct effect);

	*e = (struct effect) { .m = m, .verb = verb, .began = clock_mono(m->clock), .done = done, .arg = arg };
	list_add_tail(&m->effects, &e->link);
	return e;
}

static struct store *watch(struct kube_port *p, enum kube_kind kind, const char *ns, const char *label_selector,
                           const char *field_selector)
{
	struct measured *m = measured_of(p);

	return m->inner->ops->watch(m->inner, kind, ns, label_selector, field_selector);
}

static void got(void *arg, const struct kube_result *result, const void *object)
{
	struct effect *e = arg;
	struct measured *m = e->m;
	kube_got done = e->got;
	void *done_arg = e->arg;

	count(m, e->verb, result->outcome, clock_mono(m->clock) - e->began);
	link_remove(&e->link);
	free(e);
	if (!m->muted)
		done(done_arg, result, object);
}

static void get(struct kube_port *p, const struct kube_ref *ref, kube_got done, void *arg)
{
	struct measured *m = measured_of(p);
	struct effect *e = begin(m, GET, NULL, arg);

	e->got = done;
	m->inner->ops->get(m->inner, ref, got, e);
}

static void change(struct kube_port *p, const struct kube_change *change, kube_done done, void *arg)
{
	struct measured *m = measured_of(p);

	m->inner->ops->change(m->inner, change, answered, begin(m, CHANGE, done, arg));
}

static void bind(struct kube_port *p, const struct kube_ref *pod, const char *node, kube_done done, void *arg)
{
	struct measured *m = measured_of(p);

	m->inner->ops->bind(m->inner, pod, node, answered, begin(m, BIND, done, arg));
}

static void evict(struct kube_port *p, const struct kube_ref *pod, int64_t grace_s, kube_done done, void *arg)
{
	struct measured *m = measured_of(p);

	m->inner->ops->evict(m->inner, pod, grace_s, answered, begin(m, EVICT, done, arg));
}

static void remove_object(struct kube_port *p, const struct kube_ref *ref, int64_t grace_s, kube_done done, void *arg)
{
	struct measured *m = measured_of(p);

	m->inner->ops->remove(m->inner, ref, grace_s, answered, begin(m, REMOVE, done, arg));
}

static void create(struct kube_port *p, enum kube_kind kind, const char *ns, const char *json, kube_done done,
                   void *arg)
{
	struct measured *m = measured_of(p);

	m->inner->ops->create(m->inner, kind, ns, json, answered, begin(m, CREATE, done, arg));
}

static void make(struct kube_port *p, const struct kube_make *what, kube_done done, void *arg)
{
	struct measured *m = measured_of(p);

	m->inner->ops->make(m->inner, what, answered, begin(m, CREATE, done, arg));
}

static void event(struct kube_port *p, const struct kube_event *event)
{
	struct measured *m = measured_of(p);
	const struct metric_label labels[] = { { "reason", event->reason }, { "type", event->type }, { NULL } };

	*metrics_counter(m->metrics, "sunk_kube_events_total",
	                 "Events told about objects, before they are counted into series.", labels) += 1;
	m->inner->ops->event(m->inner, event);
}

static void refresh(struct kube_port *p)
{
	struct measured *m = measured_of(p);

	m->inner->ops->refresh(m->inner);
}

static const struct kube_port_ops ops = {
	.watch = watch,
	.refresh = refresh,
	.get = get,
	.change = change,
	.bind = bind,
	.evict = evict,
	.remove = remove_object,
	.create = create,
	.make = make,
	.event = event,
};

struct kube_port *kube_measured_new(struct kube_port *inner, const struct clock *clock, struct metrics *metrics)
{
	struct measured *m = NEW(struct measured);

	m->port.ops = &ops;
	m->inner = inner;
	m->clock = clock;
	m->metrics = metrics;
	link_init(&m->effects);
	return &m->port;
}

void kube_measured_free(struct kube_port *port)
{
	struct measured *m;

	if (!port)
		return;
	m = measured_of(port);
	LIST_EACH (l, &m->effects) {
		free(LIST_ITEM(l, struct effect, link));
	}
	free(m);
}

void kube_measured_mute(struct kube_port *port)
{
	measured_of(port)->muted = true;
}
