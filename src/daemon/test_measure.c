/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/measure.h"

#include <errno.h>
#include <string.h>

#include "base/test.h"

/* A clock that is set by hand. */
static usec_t now;

static usec_t read_clock(const struct clock *c)
{
	(void)c;
	return now;
}

static const struct clock hand = { read_clock, read_clock };

/* A Slurm and a Kubernetes that keep the last question. */

struct fake {
	struct slurm_port slurm;
	struct kube_port kube;
	slurm_done slurm_done;
	kube_done kube_done;
	void *arg, *ring_arg;
	void (*ring)(void *arg);
	enum slurm_verb verb;
	int told;
};

static void fake_call(struct slurm_port *p, const struct slurm_request *request, slurm_done done, void *arg)
{
	struct fake *f = CONTAINER_OF(p, struct fake, slurm);

	f->verb = request->verb;
	f->slurm_done = done;
	f->arg = arg;
}

static bool fake_ready(struct slurm_port *p, struct err *ret_why)
{
	(void)p;
	err_set(ret_why, -EAGAIN, "not now");
	return false;
}

static void fake_on_ring(struct slurm_port *p, void (*ring)(void *arg), void *arg)
{
	struct fake *f = CONTAINER_OF(p, struct fake, slurm);

	f->ring = ring;
	f->ring_arg = arg;
}

static const struct slurm_port_ops slurm_ops = { fake_call, fake_ready, fake_on_ring };

static void fake_bind(struct kube_port *p, const struct kube_ref *pod, const char *node, kube_done done, void *arg)
{
	struct fake *f = CONTAINER_OF(p, struct fake, kube);

	assert_string_equal(pod->name, "p");
	assert_string_equal(node, "n");
	f->kube_done = done;
	f->arg = arg;
}

static void fake_event(struct kube_port *p, const struct kube_event *event)
{
	(void)event;
	CONTAINER_OF(p, struct fake, kube)->told++;
}

static const struct kube_port_ops kube_ops = { .bind = fake_bind, .event = fake_event };

struct answers {
	int n;
	bool rang;
};

static void slurm_answer(void *arg, struct slurm_result *result)
{
	assert_int_equal(result->job_id, 7);
	((struct answers *)arg)->n++;
}

static void kube_answer(void *arg, const struct kube_result *result)
{
	assert_string_equal(result->message, "m");
	((struct answers *)arg)->n++;
}

static void ring(void *arg)
{
	((struct answers *)arg)->rang = true;
}

static void assert_metric(struct metrics *m, const char *line)
{
	_cleanup_buf_ struct buf out = BUF(1 << 20);

	metrics_write(m, &out);
	if (!strstr(buf_text(&out), line))
		fail_msg("no '%s' in:\n%s", line, buf_text(&out));
}

static void test_requests_to_slurm_are_passed_on_counted_and_timed(void **state)
{
	_cleanup_(metrics_freep) struct metrics *m = metrics_new();
	struct fake f = { .slurm.ops = &slurm_ops };
	struct slurm_port *p = slurm_measured_new(&f.slurm, &hand, m);
	struct answers a = { 0 };
	struct err why = { 0 };

	(void)state;
	now = 5 * USEC_SEC;
	p->ops->call(p, &(struct slurm_request) { .verb = SLURM_SUBMIT }, slurm_answer, &a);
	assert_int_equal(f.verb, SLURM_SUBMIT);
	assert_int_equal(slurm_measured_changes(p), 1);
	now += 15 * USEC_MSEC;
	f.slurm_done(f.arg, &(struct slurm_result) { .outcome = SLURM_REFUSED, .job_id = 7 });
	assert_int_equal(a.n, 1);
	assert_int_equal(slurm_measured_changes(p), 0);
	assert_metric(m, "sunk_slurm_requests_total{verb=\"submit\",outcome=\"refused\"} 1\n");
	assert_metric(m, "sunk_slurm_request_seconds_bucket{verb=\"submit\",le=\"0.01\"} 0\n");
	assert_metric(m, "sunk_slurm_request_seconds_bucket{verb=\"submit\",le=\"0.02\"} 1\n");
	assert_metric(m, "sunk_slurm_request_seconds_sum{verb=\"submit\"} 0.015\n");

	p->ops->call(p, &(struct slurm_request) { .verb = SLURM_CHANGE_NODE }, slurm_answer, &a);
	f.slurm_done(f.arg, &(struct slurm_result) { .outcome = SLURM_CONFLICT, .job_id = 7 });
	assert_metric(m, "sunk_slurm_requests_total{verb=\"change_node\",outcome=\"conflict\"} 1\n");

	p->ops->call(p, &(struct slurm_request) { .verb = SLURM_LOAD_JOBS }, slurm_answer, &a);
	assert_int_equal(slurm_measured_changes(p), 0); /* changes nothing */
	assert_false(p->ops->ready(p, &why));
	assert_string_equal(why.text, "not now");
	p->ops->on_ring(p, ring, &a);
	f.ring(f.ring_arg);
	assert_true(a.rang);
	assert_metric(m, "sunk_slurm_rings_total 1\n");
	slurm_measured_free(p); /* with a question that nobody answers any more */
}

static void test_effects_on_kubernetes_are_passed_on_counted_and_timed(void **state)
{
	_cleanup_(metrics_freep) struct metrics *m = metrics_new();
	struct fake f = { .kube.ops = &kube_ops };
	struct kube_port *p = kube_measured_new(&f.kube, &hand, m);
	struct answers a = { 0 };

	(void)state;
	now = 0;
	p->ops->bind(p, &(struct kube_ref) { .name = "p" }, "n", kube_answer, &a);
	now = 4 * USEC_MSEC;
	f.kube_done(f.arg, &(struct kube_result) { .outcome = KUBE_CONFLICT, .message = "m" });
	assert_int_equal(a.n, 1);
	assert_metric(m, "sunk_kube_effects_total{verb=\"bind\",outcome=\"conflict\"} 1\n");
	assert_metric(m, "sunk_kube_effect_seconds_bucket{verb=\"bind\",le=\"0.002\"} 0\n");
	assert_metric(m, "sunk_kube_effect_seconds_bucket{verb=\"bind\",le=\"0.005\"} 1\n");
	p->ops->event(p, &(struct kube_event) { .type = "Normal", .reason = "Submitted" });
	p->ops->event(p, &(struct kube_event) { .type = "Normal", .reason = "Submitted" });
	assert_int_equal(f.told, 2);
	assert_metric(m, "sunk_kube_events_total{reason=\"Submitted\",type=\"Normal\"} 2\n");
	p->ops->bind(p, &(struct kube_ref) { .name = "p" }, "n", kube_answer, &a);
	kube_measured_free(p); /* with an effect that nobody answers any more */
}

static void test_those_who_are_going_away_are_not_answered(void **state)
{
	_cleanup_(metrics_freep) struct metrics *m = metrics_new();
	struct fake f = { .slurm.ops = &slurm_ops, .kube.ops = &kube_ops };
	struct slurm_port *slurm = slurm_measured_new(&f.slurm, &hand, m);
	struct kube_port *kube = kube_measured_new(&f.kube, &hand, m);
	struct answers a = { 0 };

	(void)state;
	slurm->ops->on_ring(slurm, ring, &a);
	slurm->ops->call(slurm, &(struct slurm_request) { .verb = SLURM_CANCEL }, slurm_answer, &a);
	slurm_measured_mute(slurm);
	f.slurm_done(f.arg, &(struct slurm_result) { .outcome = SLURM_RETRY });
	f.ring(f.ring_arg);
	kube->ops->bind(kube, &(struct kube_ref) { .name = "p" }, "n", kube_answer, &a);
	kube_measured_mute(kube);
	f.kube_done(f.arg, &(struct kube_result) { .outcome = KUBE_RETRY, .message = "m" });
	assert_int_equal(a.n, 0);
	assert_false(a.rang);
	slurm_measured_free(slurm);
	kube_measured_free(kube);
}

TEST_MAIN(TEST(requests_to_slurm_are_passed_on_counted_and_timed),
          TEST(effects_on_kubernetes_are_passed_on_counted_and_timed), TEST(those_who_are_going_away_are_not_answered))
