/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <assert.h>

#include "base/list.h"
#include "daemon/measure.h"

#define LISTENERS_MAX 8

static const double bounds[] = { 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30 };

static const char *const verb_names[] = {
	[SLURM_PING] = "ping",
	[SLURM_LOAD_CONF] = "load_conf",
	[SLURM_LOAD_STATS] = "load_stats",
	[SLURM_LOAD_PARTITIONS] = "load_partitions",
	[SLURM_LOAD_JOB_STATES] = "load_job_states",
	[SLURM_LOAD_JOBS] = "load_jobs",
	[SLURM_LOAD_JOB] = "load_job",
	[SLURM_LOAD_RECORD] = "load_record",
	[SLURM_LOAD_NODES] = "load_nodes",
	[SLURM_LOAD_NODE] = "load_node",
	[SLURM_SUBMIT] = "submit",
	[SLURM_CANCEL] = "cancel",
	[SLURM_SIGNAL] = "signal",
	[SLURM_CHANGE_JOB] = "change_job",
	[SLURM_CHANGE_NODE] = "change_node",
	[SLURM_CREATE_NODE] = "create_node",
	[SLURM_DELETE_NODE] = "delete_node",
};
static_assert(ARRAY_LEN(verb_names) == SLURM_VERBS, "a name for each verb");

static const char *const outcome_names[] = {
	[SLURM_OK] = "ok",
	[SLURM_UNCHANGED] = "unchanged",
	[SLURM_RETRY] = "retry",
	[SLURM_REFUSED] = "refused",
	[SLURM_GONE] = "gone",
	[SLURM_NOT_LEADER] = "not_leader",
	[SLURM_CONFLICT] = "conflict",
};

struct listener {
	struct measured *m;
	void (*ring)(void *arg);
	void *arg;
};

struct measured {
	struct slurm_port port;
	struct slurm_port *inner;
	const struct clock *clock;
	struct metrics *metrics;
	struct histogram *seconds[SLURM_VERBS];                            /* made when first used */
	double *counts[SLURM_VERBS][ARRAY_LEN(outcome_names)]; /* likewise */
	double *rings;
	struct link requests;
	size_t n_changes;
	bool muted;
	struct listener listeners[LISTENERS_MAX];
	size_t n_listeners;
};

struct request {
	struct link link;
	struct measured *m;
	enum slurm_verb verb;
	usec_t began;
	slurm_done done;
	void *arg;
};

static struct measured *measured_of(const struct slurm_port *p)
{
	return CONTAINER_OF(p, struct measured, port);
}

static void count(struct measured *m, enum slurm_verb verb, enum slurm_outcome outcome, usec_t took)
{
	const struct metric_label by_verb[] = { { "verb", verb_names[verb] }, { NULL } };
	const struct metric_label by_both[] = { { "verb", verb_names[verb] },
		                                { "outcome", outcome_names[outcome] },
		                                { NULL } };

	if (!m->seconds[verb])
		m->seconds[verb] = metrics_histogram(m->metrics, "sunk_slurm_request_seconds",
		                                     "Time until Slurm answered, waiting for a worker included.",
		                                     by_verb, bounds, ARRAY_LEN(bounds));
	if (!m->counts[verb][outcome])
		m->counts[verb][outcome] = metrics_counter(m->metrics, "sunk_slurm_requests_total",
		                                           "Requests to Slurm that were answered.", by_both);
	histogram_observe(m->seconds[verb], (double)took / USEC_SEC);
	*m->counts[verb][outcome] += 1;
}

static void answered(void *arg, struct slurm_result *result)
{
	struct request *rq = arg;
	struct measured *m = rq->m;
	slurm_done done = rq->done;
	void *done_arg = rq->arg;

	count(m, rq->verb, result->outcome, clock_mono(m->clock) - rq->began);
	m->n_changes -= slurm_verb_changes(rq->verb);
	link_remove(&rq->link);
	free(rq);
	if (!m->muted)
		done(done_arg, result);
}

static void call(struct slurm_port *p, const struct slurm_request *request, slurm_done done, void *arg)
{
	struct measured *m = measured_of(p);
	struct request *rq = NEW(struct request);

	*rq = (struct request) {
		.m = m, .verb = request->verb, .began = clock_mono(m->clock), .done = done, .arg = arg
	};
	list_add_tail(&m->requests, &rq->link);
	m->n_changes += slurm_verb_changes(rq->verb);
	m->inner->ops->call(m->inner, request, answered, rq);
}

static bool ready(struct slurm_port *p, struct err *ret_why)
{
	struct measured *m = measured_of(p);

	return m->inner->ops->ready(m->inner, ret_why);
}

static void rang(void *arg)
{
	struct listener *l = arg;

	if (l == l->m->listeners)
		*l->m->rings += 1;
	if (!l->m->muted)
		l->ring(l->arg);
}

static void on_ring(struct slurm_port *p, void (*ring)(void *arg), void *arg)
{
	struct measured *m = measured_of(p);
	struct listener *l = &m->listeners[m->n_listeners];

	assert(m->n_listeners < LISTENERS_MAX);
	*l = (struct listener) { m, ring, arg };
	m->n_listeners++;
	m->inner->ops->on_ring(m->inner, rang, l);
}

static const struct slurm_port_ops ops = { .call = call, .ready = ready, .on_ring = on_ring };

struct slurm_port *slurm_measured_new(struct slurm_port *inner, const struct clock *clock, struct metrics *metrics)
{
	struct measured *m = NEW(struct measured);

	m->port.ops = &ops;
	m->inner = inner;
	m->clock = clock;
	m->metrics = metrics;
	link_init(&m->requests);
	m->rings = metrics_counter(metrics, "sunk_slurm_rings_total", "Times that Slurm's doorbell rang.", NULL);
	return &m->port;
}

void slurm_measured_free(struct slurm_port *port)
{
	struct measured *m;

	if (!port)
		return;
	m = measured_of(port);
	LIST_EACH (l, &m->requests) {
		free(LIST_ITEM(l, struct request, link));
	}
	free(m);
}

size_t slurm_measured_changes(const struct slurm_port *port)
{
	return measured_of(port)->n_changes;
}

void slurm_measured_mute(struct slurm_port *port)
{
	measured_of(port)->muted = true;
}
