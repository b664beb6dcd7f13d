/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The whole scheduler between a Kubernetes and a Slurm that answer when they are told to: two Pods whose jobs have started on the
 * same node, what is known in the moment of binding, and what is told of it and of the end.
 */
#include <stdio.h>

#include "base/str.h"
#include "base/test.h"
#include "scheduler/inside.h"

#define ME "slurm"
#define PODS 2
#define JOBS (PODS + 1)
#define TEXT_MAX 512
#define CALLS_MAX 64
#define GI (INT64_C(1000) << 30)

struct kube_call {
	char what[TEXT_MAX]; /* "bind a k1" */
	kube_done done;
	void *arg;
};

struct slurm_call {
	enum slurm_verb verb;
	uint32_t job;
	slurm_done done;
	void *arg;
};

static struct world {
	struct scheduler *s;
	struct store *pods, *nodes;
	struct kube_call kube[CALLS_MAX];
	struct slurm_call slurm[CALLS_MAX];
	size_t n_kube, n_slurm;
	struct job jobs[JOBS]; /* 7 and 8 of Pods a and b: their scripts have started on n1; and what else there is */
	uint32_t n_jobs;
	bool silent; /* Slurm does not answer who asks for all jobs */
	char events[8 * TEXT_MAX]; /* a line each: "a Scheduled: Bound to …" */
	usec_t now;
} w;

/* ---- both sides ---- */

static usec_t hand_now(const struct clock *c)
{
	(void)c;
	return w.now;
}

static struct store *port_watch(struct kube_port *p, enum kube_kind kind, const char *ns, const char *labels,
                                const char *fields)
{
	(void)p;
	(void)ns;
	(void)labels;
	(void)fields;
	return kind == KUBE_PODS ? w.pods : w.nodes;
}

static void port_refresh(struct kube_port *p)
{
	(void)p;
}

static void kube_call(const char *verb, const char *name, const char *more, kube_done done, void *arg)
{
	struct kube_call *c = &w.kube[w.n_kube++];

	assert_true(w.n_kube < CALLS_MAX);
	*c = (struct kube_call) { .done = done, .arg = arg };
	snprintf(c->what, sizeof(c->what), "%s %s%s%s", verb, name, more ? " " : "", str_or(more, ""));
}

static void port_change(struct kube_port *p, const struct kube_change *change, kube_done done, void *arg)
{
	(void)p;
	kube_call("change", change->ref.name, NULL, done, arg);
}

static void port_bind(struct kube_port *p, const struct kube_ref *pod, const char *node, kube_done done, void *arg)
{
	(void)p;
	kube_call("bind", pod->name, node, done, arg);
}

static void port_remove(struct kube_port *p, const struct kube_ref *ref, int64_t grace_s, kube_done done, void *arg)
{
	(void)p;
	(void)grace_s;
	kube_call("delete", ref->name, NULL, done, arg);
}

static void port_event(struct kube_port *p, const struct kube_event *event)
{
	size_t len = strlen(w.events);

	(void)p;
	snprintf(w.events + len, sizeof(w.events) - len, "%s %s: %s\n", event->about.name, event->reason,
	         event->message);
}

static void slurm_call(struct slurm_port *p, const struct slurm_request *rq, slurm_done done, void *arg)
{
	(void)p;
	assert_true(w.n_slurm < CALLS_MAX);
	w.slurm[w.n_slurm++] = (struct slurm_call) { rq->verb, rq->job_id, done, arg };
}

static void on_ring(struct slurm_port *p, void (*ring)(void *arg), void *arg)
{
	(void)p;
	(void)ring;
	(void)arg;
}

static const struct clock hand = { .mono = hand_now, .wall = hand_now };
static const struct kube_port_ops kube_ops = { .watch = port_watch,
	                                       .refresh = port_refresh,
	                                       .change = port_change,
	                                       .bind = port_bind,
	                                       .remove = port_remove,
	                                       .event = port_event };
static const struct slurm_port_ops slurm_ops = { .call = slurm_call, .on_ring = on_ring };
static struct kube_port kube = { .ops = &kube_ops };
static struct slurm_port slurm = { .ops = &slurm_ops };

static const struct job begun[PODS] = {
	{ .id = 7,
	  .state = JOB_RUNNING,
	  .name = "ns.a",
	  .extra = "ns/a/a: started",
	  .nodes = "n1",
	  .partition = "main" },
	{ .id = 8,
	  .state = JOB_RUNNING,
	  .name = "ns.b",
	  .extra = "ns/b/b: started",
	  .nodes = "n1",
	  .partition = "main" },
};

/* ---- what is there ---- */

static void put_node(const char *name)
{
	static struct amount allocatable[] = { { "cpu", 16000 }, { "memory", 16 * GI }, { "pods", 110000 } };
	struct knode *n = NEW(struct knode);

	*n = (struct knode) { .meta = { .name = name, .uid = name, .resource_version = "1" },
		              .allocatable = allocatable,
		              .n_allocatable = ARRAY_LEN(allocatable) };
	store_put(w.nodes, n, sizeof(*n));
}

static void put_slurmd(const char *ns, const char *name, const char *node)
{
	static struct pair label = { LABEL_NODESET, "gpu" };
	struct pod *p = NEW(struct pod);

	*p = (struct pod) {
		.meta = { .ns = ns, .name = name, .uid = ns, .resource_version = "1", .labels = &label, .n_labels = 1 },
		.node_name = node,
		.phase = POD_RUNNING
	};
	store_put(w.pods, p, sizeof(*p));
}

static struct host_port port = { .port = 8080 };
static struct amount small[] = { { "cpu", 1000 }, { "memory", GI } };
static struct amount large[] = { { "cpu", 1000 }, { "memory", 9 * GI } };
static struct container with_port = { .name = "c", .requests = small, .n_requests = 2, .ports = &port, .n_ports = 1 };
static struct container plain = { .name = "c", .requests = small, .n_requests = 2 };
static struct container greedy = { .name = "c", .requests = large, .n_requests = 2 };

static void put_pod(const char *name, struct container *c, const char *node, const char *version)
{
	static struct toleration lock = { .key = TAINT_LOCK, .op = TOLERATE_EXISTS, .effect = EFFECT_NO_EXECUTE };
	static struct pair ids[PODS] = { { ANNOTATION_JOB_ID, "7" }, { ANNOTATION_JOB_ID, "8" } };
	struct pod *p = NEW(struct pod);

	*p = (struct pod) { .meta = { .ns = "ns",
		                      .name = name,
		                      .uid = name,
		                      .resource_version = version,
		                      .annotations = &ids[str_eq(name, "b")],
		                      .n_annotations = 1 },
		            .scheduler_name = ME,
		            .node_name = node,
		            .phase = POD_PENDING,
		            .containers = c,
		            .n_containers = 1,
		            .tolerations = &lock,
		            .n_tolerations = 1,
		            .grace_s = 5,
		            .has_grace = true };
	store_put(w.pods, p, sizeof(*p));
}

static struct store *full(enum kube_kind kind)
{
	struct store *s = store_new(store_kind_of(kind));

	store_replace_begin(s);
	store_replace_end(s);
	return s;
}

static int setup(void **state)
{
	(void)state;
	w = (struct world) { .pods = full(KUBE_PODS), .nodes = full(KUBE_NODES), .n_jobs = PODS, .now = USEC_HOUR };
	memcpy(w.jobs, begun, sizeof(begun));
	w.s = scheduler_new(&(struct scheduler_options) { .kube = &kube,
	                                                  .slurm = &slurm,
	                                                  .clock = &hand,
	                                                  .rules = { .scheduler_name = ME, .kill_wait = 30 * USEC_SEC },
	                                                  .nodeset_ns = "slurm",
	                                                  .kill_wait_given = true,
	                                                  .poll_min = 200 * USEC_MSEC,
	                                                  .poll_max = 10 * USEC_SEC,
	                                                  .seed = 1 });
	put_node("k1");
	put_slurmd("slurm", "n1", "k1");
	return 0;
}

/* ---- what happens ---- */

static void slurm_answers(struct slurm_call c)
{
	struct snode node = { .name = "n1", .state = NODE_MIXED };
	static struct spartition partitions[] = { { .name = "main", .priority_tier = 10 },
		                                  { .name = "high", .priority_tier = 100 },
		                                  { .name = "low", .priority_tier = 1 } };
	struct job_brief states[JOBS];
	struct slurm_conf conf = { .kill_wait_s = 30 };
	struct slurm_result r = { .outcome = SLURM_OK, .message = "", .asked = w.now, .n = w.n_jobs };
	struct job all[JOBS];

	memcpy(all, w.jobs, sizeof(all));
	for (uint32_t i = 0; i < w.n_jobs; i++)
		states[i] = (struct job_brief) { .id = all[i].id, .state = all[i].state, .flags = all[i].flags };
	switch (c.verb) {
	case SLURM_LOAD_CONF: r.conf = &conf; break;
	case SLURM_LOAD_JOBS: r.jobs = all; break;
	case SLURM_LOAD_JOB_STATES: r.states = states; break;
	case SLURM_LOAD_PARTITIONS:
		r.partitions = partitions;
		r.n = ARRAY_LEN(partitions);
		break;
	case SLURM_LOAD_JOB:
		r.jobs = &all[c.job - 7];
		r.n = 1;
		break;
	case SLURM_LOAD_NODE:
	case SLURM_LOAD_NODES:
		r.block = r.nodes = NEW(struct snode);
		r.nodes[0] = node;
		r.n = 1;
		break;
	default: r.n = 0;
	}
	c.done(c.arg, &r);
	free(r.block);
}

/* Slurm answers at once, Kubernetes does not. */
static void run_for(usec_t span)
{
	for (int i = 0; i < 8; i++) {
		size_t at = 0;

		w.now += span / 8;
		scheduler_step(w.s);
		while (at < w.n_slurm) {
			struct slurm_call c = w.slurm[at];

			if (w.silent && c.verb == SLURM_LOAD_JOBS) {
				at++;
				continue;
			}
			memmove(w.slurm + at, w.slurm + at + 1, (--w.n_slurm - at) * sizeof(c));
			slurm_answers(c);
		}
	}
}

static void run(void)
{
	run_for(8 * USEC_MSEC);
}

static void lead(void)
{
	scheduler_leading(w.s, true);
	run();
}

/* The call that Kubernetes has not answered yet; NULL = none such. */
static struct kube_call *asked(const char *what)
{
	for (size_t i = 0; i < w.n_kube; i++)
		if (str_starts(w.kube[i].what, what))
			return &w.kube[i];
	return NULL;
}

static void kube_says(const char *what, enum kube_outcome outcome, bool maybe_done)
{
	struct kube_call *at = asked(what), c;

	assert_non_null(at);
	c = *at;
	memmove(at, at + 1, (size_t)(&w.kube[w.n_kube--] - at - 1) * sizeof(c));
	c.done(c.arg, &(struct kube_result) { .outcome = outcome, .maybe_done = maybe_done, .message = "" });
}

static int teardown(void **state)
{
	(void)state;
	while (w.n_kube)
		kube_says("", KUBE_NOT_LEADER, false);
	scheduler_leading(w.s, false);
	for (size_t i = 0; i < w.n_slurm; i++)
		w.slurm[i].done(w.slurm[i].arg,
		                &(struct slurm_result) { .outcome = SLURM_RETRY, .message = "", .asked = w.now });
	scheduler_free(w.s);
	store_free(w.pods);
	store_free(w.nodes);
	return 0;
}

/* How often a text was said. */
static int said(const char *text)
{
	int n = 0;

	for (const char *p = w.events; (p = strstr(p, text)); p++)
		n++;
	return n;
}

static void test_a_pod_that_is_being_bound_counts(void **state)
{
	static const struct {
		const char *what;
		struct container *a, *b;
		const char *why; /* NULL = both are bound */
	} cases[] = {
		{ "one host port for two", &with_port, &with_port, "8080" },
		{ "one of them has no port", &with_port, &plain, NULL },
		{ "memory for one of them", &greedy, &greedy, "memory" },
		{ "memory for both", &greedy, &plain, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		print_message("  %s\n", cases[i].what);
		setup(NULL);
		put_pod("a", cases[i].a, NULL, "1");
		put_pod("b", cases[i].b, NULL, "1");
		lead();
		assert_non_null(asked("bind a k1"));
		if (cases[i].why) {
			assert_null(asked("bind b"));
			assert_int_equal(said("b NodeRefused: Slurm chose n1"), 1);
			assert_non_null(strstr(w.events, cases[i].why));
		} else {
			assert_non_null(asked("bind b k1"));
			assert_int_equal(said("NodeRefused"), 0);
		}
		teardown(NULL);
	}
}

/* Its answer was lost, or yes, and the watch is late: it may be there. After a clear no it is not. */
static void test_a_pod_counts_until_it_is_known_where_it_is(void **state)
{
	(void)state;
	setup(NULL);
	put_pod("a", &with_port, NULL, "1");
	lead();
	kube_says("bind a", KUBE_OK, false);
	put_pod("b", &with_port, NULL, "1");
	run();
	assert_null(asked("bind b"));
	assert_int_equal(said("b NodeRefused"), 1);
	teardown(NULL);

	setup(NULL);
	put_pod("a", &with_port, NULL, "1");
	lead();
	kube_says("bind a", KUBE_RETRY, true);
	put_pod("b", &with_port, NULL, "1");
	run();
	assert_null(asked("bind b"));
	teardown(NULL);

	setup(NULL);
	put_pod("a", &with_port, NULL, "1");
	lead();
	kube_says("bind a", KUBE_REFUSED, false);
	put_pod("b", &with_port, NULL, "1");
	run();
	assert_non_null(asked("bind b k1"));
	teardown(NULL);

	setup(NULL);
	put_pod("a", &greedy, NULL, "1");
	lead();
	kube_says("bind a", KUBE_OK, false);
	put_pod("a", &greedy, "k1", "2"); /* it is there, and counts once */
	put_pod("b", &plain, NULL, "1");
	run();
	assert_non_null(asked("bind b k1"));
	teardown(NULL);
}

/* Anybody's Pod with the label: on another Node, or on the same one, before ours or after it. */
static void test_only_nodeset_pods_of_our_namespace_tell_where_a_node_is(void **state)
{
	(void)state;
	setup(NULL);
	put_node("k2");
	put_slurmd("default", "n1", "k2");
	put_slurmd("default", "n2", "k1");
	put_pod("a", &plain, NULL, "1");
	lead();
	assert_string_equal(places_kube_node(w.s, "n1"), "k1");
	assert_string_equal(places_slurm_node(w.s, "k1"), "n1");
	assert_null(places_slurm_node(w.s, "k2"));
	assert_non_null(asked("bind a k1"));
	store_remove(w.pods, "default", "n1");
	assert_string_equal(places_kube_node(w.s, "n1"), "k1");
	store_remove(w.pods, "slurm", "n1");
	assert_null(places_kube_node(w.s, "n1"));
	put_slurmd("default", "n1", "k2");
	assert_null(places_kube_node(w.s, "n1"));
	put_slurmd("slurm", "n1", "k2"); /* made again, elsewhere */
	assert_string_equal(places_kube_node(w.s, "n1"), "k2");
	assert_null(places_slurm_node(w.s, "k1"));
	teardown(NULL);
}

/* The answer is lost, before or after the watch showed what came of it; or it was yes. */
static void test_a_binding_is_told_once_whoever_tells_it(void **state)
{
	static const struct {
		enum kube_outcome outcome;
		bool watch_first;
	} cases[] = { { KUBE_OK, false }, { KUBE_OK, true }, { KUBE_RETRY, false }, { KUBE_RETRY, true } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		setup(NULL);
		put_pod("a", &plain, NULL, "1");
		lead();
		if (!cases[i].watch_first)
			kube_says("bind a", cases[i].outcome, true);
		put_pod("a", &plain, "k1", "2");
		run();
		if (cases[i].watch_first)
			kube_says("bind a", cases[i].outcome, true);
		run_for(USEC_SEC);
		put_pod("a", &plain, "k1", "3");
		run_for(USEC_SEC);
		assert_int_equal(said("a Scheduled: Bound to Node k1 by Slurm job 7"), 1);
		assert_null(asked("bind a"));
		teardown(NULL);
	}
}

/* Its job is over and it must go, also where nobody may write its status. */
static void test_a_condition_that_is_refused_does_not_stop_a_deletion(void **state)
{
	(void)state;
	setup(NULL);
	w.jobs[0].state = JOB_NODE_FAIL;
	put_pod("a", &plain, "k1", "1");
	lead();
	assert_non_null(asked("change a"));
	assert_null(asked("delete a"));
	kube_says("change a", KUBE_FORBIDDEN, false);
	run();
	assert_non_null(asked("delete a"));
	teardown(NULL);
}

/* Somebody else was faster, and put it elsewhere: that was not us. */
static void test_a_binding_of_others_is_not_told(void **state)
{
	(void)state;
	setup(NULL);
	put_pod("a", &plain, NULL, "1");
	lead();
	kube_says("bind a", KUBE_RETRY, true);
	put_pod("a", &plain, "k2", "2");
	run_for(USEC_SEC);
	assert_int_equal(said("Scheduled"), 0);
	teardown(NULL);
}

/* Pod a is on its node, its job is preempted, and job 9 waits for the place. */
static void preempt(void)
{
	put_pod("a", &plain, "k1", "1");
	lead();
	w.jobs[0].state = JOB_PREEMPTED;
	w.jobs[0].flags = JOBF_COMPLETING;
	w.jobs[0].ended = w.jobs[0].preempted = w.now;
	w.jobs[w.n_jobs++] = (struct job) { .id = 9,
		                            .state = JOB_PENDING,
		                            .reason = "Resources",
		                            .name = "train",
		                            .user = "alice",
		                            .partition = "high",
		                            .priority = 1 };
}

static void run_until_deleted(void)
{
	run_for(USEC_SEC);
	kube_says("delete a", KUBE_OK, false);
}

static void test_a_preempted_pod_hears_who_took_its_place(void **state)
{
	(void)state;
	setup(NULL);
	preempt();
	run_until_deleted();
	put_pod("a", &plain, "k1", "2"); /* it is on its way */
	run_for(USEC_SEC);
	assert_int_equal(said("a Preempted: Preempted by Slurm job 9 (train of alice): job 7 had to make room"), 1);
	assert_int_equal(said("Preempted"), 2);
	teardown(NULL);

	setup(NULL);
	preempt();
	w.jobs[2].partition = "low"; /* that is known before anybody is named */
	run_until_deleted();
	put_pod("a", &plain, "k1", "2");
	run_for(USEC_SEC);
	assert_int_equal(said("a Preempted: Slurm preempted job 7"), 1);
	assert_int_equal(said("train"), 0);
	teardown(NULL);
}

static void test_a_pod_that_is_gone_by_then_hears_it_all_the_same(void **state)
{
	(void)state;
	for (int late = 0; late < 2; late++) {
		setup(NULL);
		preempt();
		w.silent = true;
		run_until_deleted();
		store_remove(w.pods, "ns", "a");
		run_for(USEC_SEC);
		assert_int_equal(said("Preempted"), 0);
		if (late)
			run_for(20 * USEC_SEC);
		w.silent = false;
		run_for(USEC_SEC);
		assert_int_equal(said("a Preempted: Slurm preempted job 7"), 1);
		assert_int_equal(said("Preempted by Slurm job 9 (train of alice)"), !late);
		teardown(NULL);
	}
}

TEST_MAIN(TEST(a_condition_that_is_refused_does_not_stop_a_deletion), TEST(a_binding_is_told_once_whoever_tells_it),
          TEST(a_binding_of_others_is_not_told), TEST(a_preempted_pod_hears_who_took_its_place),
          TEST(a_pod_that_is_gone_by_then_hears_it_all_the_same),
          TEST(only_nodeset_pods_of_our_namespace_tell_where_a_node_is), TEST(a_pod_that_is_being_bound_counts),
          TEST(a_pod_counts_until_it_is_known_where_it_is))
