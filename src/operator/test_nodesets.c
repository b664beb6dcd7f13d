/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "operator/nodesets.h"

#include <stdio.h>

#include "base/str.h"
#include "base/test.h"
#include "policy/nodeset_plan.h"
#include "port/kinds.h"

#define CALLS 32

/* A port that notes what is asked of it, and answers when the test says so. */
struct fake {
	struct kube_port port;
	struct store *stores[KUBE_KINDS];
	struct {
		char what[64];
		kube_done done;
		void *arg;
	} calls[CALLS];
	size_t n;
	char said[64]; /* the last event's reason */
	usec_t now;
	struct clock clock;
	struct nodesets *c;
};

static struct fake *fake_of(struct kube_port *p)
{
	return CONTAINER_OF(p, struct fake, port);
}

static struct store *fake_watch(struct kube_port *p, enum kube_kind kind, const char *ns, const char *labels,
                                const char *fields)
{
	(void)ns;
	(void)labels;
	(void)fields;
	return fake_of(p)->stores[kind];
}

static void note(struct fake *f, const char *verb, const struct kube_ref *ref, kube_done done, void *arg)
{
	assert_true(f->n < CALLS);
	snprintf(f->calls[f->n].what, sizeof(f->calls[0].what), "%s %s", verb, ref->name);
	f->calls[f->n].done = done;
	f->calls[f->n++].arg = arg;
}

static void fake_change(struct kube_port *p, const struct kube_change *c, kube_done done, void *arg)
{
	note(fake_of(p),
	     c->n_finalizers >= 0 ? "finalizer"
	     : c->nodeset_status  ? "status"
	                          : "change",
	     &c->ref, done, arg);
}

static void fake_make(struct kube_port *p, const struct kube_make *m, kube_done done, void *arg)
{
	note(fake_of(p), "make", &m->ref, done, arg);
}

static void fake_remove(struct kube_port *p, const struct kube_ref *ref, int64_t grace_s, kube_done done, void *arg)
{
	char verb[40];

	(void)grace_s;
	snprintf(verb, sizeof(verb), "remove %s of %s:", str_or(ref->resource_version, "any"), ref->uid);
	note(fake_of(p), verb, ref, done, arg);
}

static void fake_event(struct kube_port *p, const struct kube_event *e)
{
	str_copy(fake_of(p)->said, sizeof(fake_of(p)->said), e->reason);
}

static const struct kube_port_ops ops = {
	.watch = fake_watch, .change = fake_change, .make = fake_make, .remove = fake_remove, .event = fake_event
};

static void put_set(struct fake *f, const char *name, const char *version)
{
	static const char *finalizers[] = { NODESET_FINALIZER };
	struct nodeset *s = NEW(struct nodeset);

	s->meta = (struct meta) { .ns = "slurm",
		                  .name = name,
		                  .uid = name,
		                  .resource_version = version,
		                  .finalizers = finalizers,
		                  .n_finalizers = 1 };
	s->template_json = "{}";
	store_put(f->stores[KUBE_NODESETS], s, sizeof(*s));
}

static void put_node(struct fake *f, const char *name)
{
	static struct address address = { "InternalIP", "10.0.0.1" };
	struct knode *n = NEW(struct knode);

	n->meta = (struct meta) { .name = name, .resource_version = "1" };
	n->addresses = &address;
	n->n_addresses = 1;
	store_put(f->stores[KUBE_NODES], n, sizeof(*n));
}

static void answer(struct fake *f, enum kube_outcome outcome)
{
	const struct kube_result r = { .outcome = outcome, .message = "" };
	size_t n = f->n;

	f->n = 0;
	for (size_t i = 0; i < n; i++)
		f->calls[i].done(f->calls[i].arg, &r);
}

static usec_t fake_now(const struct clock *clock)
{
	return CONTAINER_OF(clock, struct fake, clock)->now;
}

static struct fake *begin(void)
{
	static const enum kube_kind kinds[] = { KUBE_PODS, KUBE_NODES, KUBE_NODESETS, KUBE_NODESLICES };
	struct fake *f = NEW(struct fake);

	f->port.ops = &ops;
	f->now = USEC_SEC;
	f->clock = (struct clock) { .mono = fake_now, .wall = fake_now };
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		f->stores[kinds[i]] = store_new(store_kind_of(kinds[i]));
		store_replace_begin(f->stores[kinds[i]]);
		store_replace_end(f->stores[kinds[i]]);
	}
	f->c = nodesets_new(&(struct nodesets_options) { .kube = &f->port, .clock = &f->clock });
	nodesets_leading(f->c, true);
	return f;
}

static void end(struct fake *f)
{
	answer(f, KUBE_NOT_LEADER);
	nodesets_free(f->c);
	for (size_t i = 0; i < KUBE_KINDS; i++)
		store_free(f->stores[i]);
	free(f);
}

static void test_two_nodesets_never_both_make_a_pod_for_one_node(void **state)
{
	struct fake *f = begin();

	(void)state;
	put_node(f, "k1");
	put_set(f, "a", "1");
	put_set(f, "b", "1");
	nodesets_step(f->c);
	assert_string_equal(f->calls[0].what, "make a-000-001");
	for (size_t i = 1; i < f->n; i++)
		assert_false(str_starts(f->calls[i].what, "make"));
	end(f);
}

static void test_a_pod_that_was_made_is_not_made_again_before_it_shows(void **state)
{
	struct fake *f = begin();

	(void)state;
	put_node(f, "k1");
	put_set(f, "a", "1");
	nodesets_step(f->c);
	assert_int_equal(f->n, 1);
	answer(f, KUBE_OK);
	nodesets_step(f->c);
	assert_int_equal(f->n, 0);
	f->now += 10 * USEC_SEC; /* it never showed: someone deleted it at once */
	nodesets_step(f->c);
	assert_int_equal(f->n, 1);
	answer(f, KUBE_RETRY); /* a failure is tried again, later */
	nodesets_step(f->c);
	assert_int_equal(f->n, 0);
	f->now += 60 * USEC_SEC;
	nodesets_step(f->c);
	assert_string_equal(f->calls[0].what, "make a-000-001");
	end(f);
}

/* One of the set, on k2, that runs a job; somebody else looks after k1. */
static void put_busy_pod(struct fake *f, const char *version, const char *mark)
{
	static struct pair labels[] = { { LABEL_NODESET, "a" }, { "sunk.coreweave.com/revision", "0000000000000000" } };
	static struct owner owner = { "NodeSet", "a", "a", true };
	static struct condition running = { .type = CONDITION_RUNNING, .status = COND_TRUE };
	static struct pair annotation = { ANNOTATION_PENDING_DELETION, "x" };
	struct pod *p = NEW(struct pod);

	p->meta = (struct meta) { .ns = "slurm",
		                  .name = "a-000-002",
		                  .uid = "p",
		                  .resource_version = version,
		                  .labels = labels,
		                  .n_labels = 2,
		                  .annotations = &annotation,
		                  .n_annotations = mark ? 1 : 0,
		                  .owners = &owner,
		                  .n_owners = 1 };
	p->node_name = "k2";
	p->phase = POD_RUNNING;
	p->conditions = &running;
	p->n_conditions = 1;
	store_put(f->stores[KUBE_PODS], p, sizeof(*p));
}

static void test_a_node_that_is_gone_under_a_job_is_told_at_once_while_other_work_goes_on(void **state)
{
	struct fake *f = begin();

	(void)state;
	put_node(f, "k1"); /* a Pod is made there in the same round */
	put_busy_pod(f, "1", NULL);
	put_set(f, "a", "1");
	nodesets_step(f->c);
	assert_int_equal(f->n, 3);
	assert_string_equal(f->calls[0].what, "change a-000-002");
	assert_string_equal(f->calls[1].what, "make a-000-001");
	assert_string_equal(f->calls[2].what, "status a");
	put_busy_pod(f, "2", "x");
	answer(f, KUBE_OK);
	put_set(f, "a", "2");
	f->now += 4 * USEC_SEC; /* what we made does not show: a look all the same */
	nodesets_step(f->c);
	assert_string_equal(f->said, "NodeGone");
	end(f);
}

/* The same, of a set that wants none: its Slurm node is down. */
static void put_pod_to_go(struct fake *f, const char *version, const char *note, const char *value)
{
	static struct pair labels[] = { { LABEL_NODESET, "a" } };
	static struct owner owner = { "NodeSet", "a", "a", true };
	static struct condition conditions[] = {
		{ .type = CONDITION_RUNNING, .status = COND_FALSE },
		{ .type = CONDITION_DRAIN, .status = COND_FALSE, .reason = REASON_DOWN_TO_GO }
	};
	static struct pair annotations[2] = { { ANNOTATION_PENDING_DELETION, "x" } };
	struct pod *p = NEW(struct pod);

	annotations[1] = (struct pair) { note, value };
	p->meta = (struct meta) { .ns = "slurm",
		                  .name = "a-000-002",
		                  .uid = "p",
		                  .resource_version = version,
		                  .labels = labels,
		                  .n_labels = 1,
		                  .annotations = annotations,
		                  .n_annotations = note ? 2 : 1,
		                  .owners = &owner,
		                  .n_owners = 1 };
	p->node_name = "k2";
	p->phase = POD_RUNNING;
	p->conditions = conditions;
	p->n_conditions = 2;
	store_put(f->stores[KUBE_PODS], p, sizeof(*p));
}

static bool has_removed(const struct fake *f, const char *what)
{
	for (size_t i = 0; i < f->n; i++)
		if (str_starts(f->calls[i].what, "remove"))
			return what && str_eq(f->calls[i].what, what);
	return !what;
}

static void test_a_pod_is_deleted_as_it_was_read_and_looked_at_again_when_it_is_not_so(void **state)
{
	struct fake *f = begin();

	(void)state;
	put_pod_to_go(f, "7", NULL, NULL);
	put_set(f, "a", "1");
	nodesets_step(f->c);
	assert_true(has_removed(f, "remove 7 of p: a-000-002"));
	answer(f, KUBE_CONFLICT);
	nodesets_step(f->c);
	assert_int_equal(f->n, 0);
	put_pod_to_go(f, "8", ANNOTATION_LOCK_REQUEST, "normal"); /* a prolog came before it */
	f->now += 10 * USEC_SEC;
	nodesets_step(f->c);
	assert_true(has_removed(f, NULL));
	answer(f, KUBE_OK);
	put_pod_to_go(f, "9", NULL, NULL);
	f->now += 10 * USEC_SEC;
	nodesets_step(f->c);
	assert_true(has_removed(f, "remove 9 of p: a-000-002"));
	answer(f, KUBE_OK);
	put_pod_to_go(f, "10", ANNOTATION_FORCE_DELETE, ""); /* by force: whatever it is by now */
	f->now += 10 * USEC_SEC;
	nodesets_step(f->c);
	assert_true(has_removed(f, "remove any of p: a-000-002"));
	end(f);
}

static void test_nothing_is_written_without_leadership(void **state)
{
	struct fake *f = begin();

	(void)state;
	nodesets_leading(f->c, false);
	put_node(f, "k1");
	put_set(f, "a", "1");
	assert_int_equal(nodesets_step(f->c), USEC_NEVER);
	assert_int_equal(f->n, 0);
	end(f);
}

TEST_MAIN(TEST(a_pod_is_deleted_as_it_was_read_and_looked_at_again_when_it_is_not_so),
          TEST(two_nodesets_never_both_make_a_pod_for_one_node),
          TEST(a_pod_that_was_made_is_not_made_again_before_it_shows), TEST(nothing_is_written_without_leadership),
          TEST(a_node_that_is_gone_under_a_job_is_told_at_once_while_other_work_goes_on))
