/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/elect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/test.h"

#define WAIT_MAX (30 * USEC_SEC)

/* A server with one lease, which answers in the next round. */
struct server {
	struct rest rest;
	struct loop *loop;
	bool exists, away, silent;
	struct lease lease;
	unsigned version, n_calls, n_writes;
	char last_path[200];
};

struct call {
	struct server *server;
	struct loop_timer *timer;
	int status;
	char *body;
	size_t body_len;
	rest_done done;
	void *arg;
};

struct candidate {
	struct elect *elect;
	struct gate gate;
	int n_changes, n_leading;
	char holder[64];
	bool released;
};

static void call_free(struct call *c)
{
	loop_remove_timer(c->timer);
	free(c->body);
	free(c);
}

static void call_answer(void *arg)
{
	struct call *c = arg;
	struct rest_answer a = { .status = c->status, .body = c->body ? c->body : "", .body_len = c->body_len };

	c->done(c->arg, &a);
	call_free(c);
}

static void take_write(struct server *s, struct call *c, const struct rest_request *q)
{
	struct lease l;
	struct err err;

	if (lease_decode(q->body, q->body_len, &l, &err) < 0)
		fail_msg("%s", err_text(&err));
	if (str_eq(q->method, "POST") ? s->exists : !str_eq(l.version, s->lease.version)) {
		c->status = 409;
		return;
	}
	s->n_writes++;
	s->exists = true;
	s->lease = l;
	snprintf(s->lease.version, sizeof(s->lease.version), "%u", ++s->version);
	c->status = str_eq(q->method, "POST") ? 201 : 200;
}

static void *server_send(const struct rest *rest, const struct rest_request *q, rest_done done, void *arg)
{
	struct server *s = CONTAINER_OF(rest, struct server, rest);
	struct call *c = NEW(struct call);

	*c = (struct call) { .server = s, .status = 200, .done = done, .arg = arg };
	assert_true(q->timeout > 0);
	s->n_calls++;
	str_copy(s->last_path, sizeof(s->last_path), q->path);
	c->timer = loop_add_timer(s->loop, call_answer, c);
	if (s->away)
		c->status = 503;
	else if (!str_eq(q->method, "POST") && !s->exists)
		c->status = 404;
	else if (!str_eq(q->method, "GET"))
		take_write(s, c, q);
	if (c->status < 300)
		c->body = lease_encode(&s->lease, "ns", "l", &c->body_len);
	if (!s->silent)
		loop_set_timer(c->timer, 0);
	return c;
}

static void server_cancel(const struct rest *rest, void *call)
{
	(void)rest;
	call_free(call);
}

static void changed(void *arg, bool leading, const char *holder)
{
	struct candidate *c = arg;

	assert_int_equal(leading, c->gate.leader);
	c->n_changes++;
	c->n_leading += leading;
	str_copy(c->holder, sizeof(c->holder), holder);
}

static void released(void *arg)
{
	((struct candidate *)arg)->released = true;
}

/* Looks often, so that the real clock will do. The lease is short only where its end is waited for: a busy machine must
 * not lose a leadership that a test is about. */
static void candidate_start(struct candidate *c, struct server *s, const char *identity, bool short_lease)
{
	struct elect_options o = {
		.leader = { identity, short_lease ? USEC_SEC : 0, short_lease ? 600 * USEC_MSEC : 0, 50 * USEC_MSEC },
		.ns = "ns",
		.name = "l",
		.changed = changed,
		.arg = c,
	};
	struct err err;

	c->elect = elect_new(s->loop, clock_real(), &s->rest, &o, &c->gate, &err);
	if (!c->elect)
		fail_msg("%s", err_text(&err));
	assert_false(c->gate.leader);
}

static bool is_open(const struct candidate *c)
{
	return gate_open(&c->gate, clock_mono(clock_real()));
}

#define RUN_UNTIL(server, condition)                                                                                   \
	for (usec_t end_ = clock_mono(clock_real()) + WAIT_MAX; !(condition);) {                                       \
		assert_true(clock_mono(clock_real()) < end_);                                                          \
		loop_run_once((server)->loop, 10 * USEC_MSEC);                                                         \
	}

static int setup(void **state)
{
	struct server *s = NEW(struct server);

	s->rest = (struct rest) { server_send, server_cancel };
	s->loop = loop_new();
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct server *s = *state;

	loop_free(s->loop);
	free(s);
	return 0;
}

static void test_the_first_leads_and_keeps_leading(void **state)
{
	struct server *s = *state;
	struct candidate a = { 0 }, b = { 0 };

	candidate_start(&a, s, "a", false);
	RUN_UNTIL(s, is_open(&a));
	assert_string_equal(a.holder, "a");
	assert_string_equal(s->last_path, "/apis/coordination.k8s.io/v1/namespaces/ns/leases");
	candidate_start(&b, s, "b", false);
	RUN_UNTIL(s, s->n_writes > 10 && *b.holder);
	assert_true(is_open(&a));
	assert_false(b.gate.leader);
	assert_string_equal(b.holder, "a");
	assert_string_equal(elect_holder(b.elect), "a");
	assert_int_equal(a.gate.term, 1);
	assert_int_equal(a.n_leading, 1);
	assert_int_equal(b.n_changes, 1);
	assert_null(elect_error(a.elect));
	assert_string_equal(s->last_path, "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l");
	elect_free(a.elect);
	assert_false(is_open(&a));
	elect_free(b.elect);
}

static void test_a_released_lease_is_taken_over_at_once(void **state)
{
	struct server *s = *state;
	struct candidate a = { 0 }, b = { 0 };
	unsigned calls;

	candidate_start(&a, s, "a", false);
	RUN_UNTIL(s, is_open(&a));
	candidate_start(&b, s, "b", false);
	RUN_UNTIL(s, *b.holder);
	elect_release(a.elect, released, &a);
	assert_false(is_open(&a)); /* before anything is sent */
	assert_false(a.released);
	RUN_UNTIL(s, a.released);
	assert_string_equal(s->lease.holder, "");
	calls = s->n_calls;
	RUN_UNTIL(s, is_open(&b));
	assert_true(s->n_calls - calls <= 4); /* its next look, not an expiry */
	assert_int_equal(s->lease.transitions, 1);
	assert_false(is_open(&a));
	elect_free(a.elect);
	elect_free(b.elect);
}

static void test_a_leader_that_cannot_renew_closes_and_the_other_takes_over(void **state)
{
	struct server *s = *state;
	struct candidate a = { 0 }, b = { 0 };

	candidate_start(&a, s, "a", true);
	RUN_UNTIL(s, is_open(&a));
	s->away = true;
	RUN_UNTIL(s, !a.gate.leader); /* told, not only passed */
	assert_true(a.n_changes >= 2);
	assert_non_null(elect_error(a.elect));
	assert_non_null(strstr(elect_error(a.elect)->text, "lease ns/l: the server answered 503"));
	elect_free(a.elect);
	s->away = false;
	candidate_start(&b, s, "b", true);
	RUN_UNTIL(s, is_open(&b));
	assert_string_equal(b.holder, "b");
	elect_free(b.elect);
}

static void test_a_silent_server_does_not_keep_the_gate_open(void **state)
{
	struct server *s = *state;
	struct candidate a = { 0 };

	candidate_start(&a, s, "a", true);
	RUN_UNTIL(s, is_open(&a));
	s->silent = true;
	RUN_UNTIL(s, !a.gate.leader);
	elect_free(a.elect); /* with a call under way */
}

static void test_names_that_cannot_be_sent_are_refused(void **state)
{
	struct server *s = *state;
	struct gate gate = { .leader = true };
	struct elect_options o = { .leader = { .identity = "a" }, .ns = "../x", .name = "l" };
	struct err err = { 0 };

	assert_null(elect_new(s->loop, clock_real(), &s->rest, &o, &gate, &err));
	assert_int_not_equal(err.code, 0);
	assert_false(gate.leader);
	o = (struct elect_options) { .leader = { .identity = "" }, .ns = "ns", .name = "l" };
	assert_null(elect_new(s->loop, clock_real(), &s->rest, &o, &gate, &err));
	assert_int_equal(s->n_calls, 0);
}

#define WITH_SERVER(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

TEST_MAIN(WITH_SERVER(the_first_leads_and_keeps_leading), WITH_SERVER(a_released_lease_is_taken_over_at_once),
          WITH_SERVER(a_leader_that_cannot_renew_closes_and_the_other_takes_over),
          WITH_SERVER(a_silent_server_does_not_keep_the_gate_open), WITH_SERVER(names_that_cannot_be_sent_are_refused))
