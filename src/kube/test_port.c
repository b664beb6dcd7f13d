/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kube/port.h"

#include <stdio.h>

#include "base/str.h"
#include "base/test.h"
#include "kube/kube.h"
#include "kube/test_replay.h"
#include "model/volume.h"
#include "port/kinds.h"

#define PODS "/api/v1/namespaces/ns/pods/p"
#define EVENTS "/apis/events.k8s.io/v1/namespaces/ns/events"
#define POD(version)                                                                                                   \
	"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"uid\":\"u-1\",\"resourceVersion\":\"" version "\"}}"
#define DONE "{\"kind\":\"Status\",\"metadata\":{},\"status\":\"Success\",\"code\":201}"

static const struct kube_ref pod = { KUBE_PODS, "ns", "p", "u-1", NULL };
static const struct kube_ref exact = { KUBE_PODS, "ns", "p", "u-1", "17" };

struct fixture {
	struct world w;
	struct gate gate;
	struct kube_port *port;
};

struct got {
	int n;
	enum kube_outcome outcome;
	bool maybe_done;
	char message[KUBE_MESSAGE_MAX], version[128];
};

static void done(void *arg, const struct kube_result *r)
{
	struct got *g = arg;

	g->n++;
	g->outcome = r->outcome;
	g->maybe_done = r->maybe_done;
	str_copy(g->message, sizeof(g->message), r->message);
	str_copy(g->version, sizeof(g->version), str_or(r->resource_version, ""));
}

static void begin(struct fixture *x)
{
	world_init(&x->w);
	x->gate = GATE_ALWAYS_OPEN;
	x->port = kube_port_new(&(struct kube_port_options) { .loop = x->w.loop,
	                                                      .clock = clock_real(),
	                                                      .client = x->w.client,
	                                                      .gate = &x->gate,
	                                                      .controller = "sunk.coreweave.com/test",
	                                                      .instance = "host-1" });
}

static void end(struct fixture *x)
{
	kube_port_free(x->port);
	world_done(&x->w);
}

static void rule(struct fixture *x, const char *match, int times, int status, const char *body)
{
	replay_add(x->w.replay,
	           &(struct replay_rule) { .match = match, .times = times, .status = status, .body = body });
}

#define WAIT(x, condition) WORLD_WAIT(&(x)->w, condition)
#define COUNT(x, match) replay_count((x)->w.replay, match)

static void test_a_binding_names_the_pod_by_uid(void **state)
{
	struct got g = { 0 };
	struct fixture x;

	(void)state;
	begin(&x);
	rule(&x, "POST " PODS "/binding", 0, 201, DONE);
	x.port->ops->bind(x.port, &pod, "n1", done, &g);
	assert_int_equal(g.n, 0);
	assert_int_equal(kube_port_effects(x.port), 1);
	WAIT(&x, g.n);
	assert_int_equal(g.outcome, KUBE_OK);
	assert_int_equal(kube_port_effects(x.port), 0);
	assert_non_null(strstr(replay_request(x.w.replay, NULL, 0), "\"uid\":\"u-1\""));
	end(&x);
}

static void test_a_binding_that_was_ours_already_is_done(void **state)
{
	_cleanup_(sample_freep) struct sample *twice = sample_read("11b-binding-twice-409.txt");
	struct got same = { 0 }, other = { 0 };
	struct fixture x;

	(void)state;
	begin(&x);
	replay_add_sample(x.w.replay, NULL, 0, twice);
	x.port->ops->bind(x.port, &pod, "n-s1794766553", done, &same);
	x.port->ops->bind(x.port, &pod, "n2", done, &other);
	WAIT(&x, same.n && other.n);
	assert_int_equal(same.outcome, KUBE_OK);
	assert_int_equal(other.outcome, KUBE_CONFLICT);
	assert_non_null(strstr(other.message, "bind Pod ns/p to n2: "));
	end(&x);
}

static void test_evictions_and_deletions_are_answered_in_the_ports_words(void **state)
{
	_cleanup_(sample_freep) struct sample *budget = sample_read("13d-eviction-429-pdb.txt");
	_cleanup_(sample_freep) struct sample *other = sample_read("09c-delete-precondition-409.txt");
	struct got evict = { 0 }, remove = { 0 };
	struct fixture x;

	(void)state;
	begin(&x);
	replay_add_sample(x.w.replay, "POST " PODS "/eviction", 0, budget);
	replay_add_sample(x.w.replay, "DELETE " PODS, 0, other);
	x.port->ops->evict(x.port, &pod, 30, done, &evict);
	x.port->ops->remove(x.port, &pod, -1, done, &remove);
	WAIT(&x, evict.n && remove.n);
	assert_int_equal(evict.outcome, KUBE_BUDGET);
	assert_int_equal(remove.outcome, KUBE_NOT_FOUND);
	assert_non_null(strstr(replay_request(x.w.replay, "DELETE", 0), "\"preconditions\":{\"uid\":\"u-1\"}"));
	end(&x);
}

static void test_a_created_object_is_told_with_its_version(void **state)
{
	struct got g = { 0 }, bad = { 0 };
	struct fixture x;

	(void)state;
	begin(&x);
	rule(&x, "POST /api/v1/namespaces/ns/pods", 0, 201, POD("255"));
	x.port->ops->create(x.port, KUBE_PODS, "ns", "{\"metadata\":{\"name\":\"p\"}}", done, &g);
	x.port->ops->create(x.port, KUBE_PODS, "ns", "kind: Pod", done, &bad);
	assert_int_equal(bad.n, 0); /* never from within, also when nothing is sent */
	WAIT(&x, g.n && bad.n);
	assert_int_equal(g.outcome, KUBE_OK);
	assert_string_equal(g.version, "255");
	assert_int_equal(bad.outcome, KUBE_REFUSED);
	assert_non_null(strstr(bad.message, "not JSON"));
	assert_int_equal(COUNT(&x, NULL), 1);
	end(&x);
}

static struct kube_change both_halves(struct kube_ref ref)
{
	static const struct pair annotations[] = { { "a", "b" } };
	static const struct condition conditions[] = { { .type = "PodScheduled", .status = COND_FALSE } };
	struct kube_change c = KUBE_CHANGE(ref);

	c.annotations = annotations;
	c.n_annotations = 1;
	c.conditions = conditions;
	c.n_conditions = 1;
	return c;
}

static void test_a_change_is_metadata_first_then_conditions_on_what_that_left(void **state)
{
	struct kube_change c = both_halves(exact);
	const char *first, *second;
	struct got g = { 0 };
	struct fixture x;

	(void)state;
	begin(&x);
	rule(&x, "PATCH " PODS "/status", 0, 200, POD("19"));
	rule(&x, "PATCH " PODS, 0, 200, POD("18"));
	x.port->ops->change(x.port, &c, done, &g);
	WAIT(&x, g.n);
	assert_int_equal(g.outcome, KUBE_OK);
	assert_string_equal(g.version, "19");
	first = replay_request(x.w.replay, NULL, 0);
	second = replay_request(x.w.replay, NULL, 1);
	assert_non_null(strstr(first, "Content-Type: application/merge-patch+json\r\n"));
	assert_non_null(strstr(first, "\"resourceVersion\":\"17\""));
	assert_true(str_starts(second, "PATCH " PODS "/status HTTP"));
	assert_non_null(strstr(second, "Content-Type: application/strategic-merge-patch+json\r\n"));
	assert_non_null(strstr(second, "\"resourceVersion\":\"18\""));
	assert_non_null(strstr(second, "\"type\":\"PodScheduled\""));
	end(&x);
}

static void test_a_claim_is_watched_and_told_its_node(void **state)
{
	static const char claims[] = "{\"kind\":\"PersistentVolumeClaimList\",\"apiVersion\":\"v1\",\"metadata\":"
	                             "{\"resourceVersion\":\"9\"},\"items\":[{\"metadata\":{\"name\":\"data\","
	                             "\"namespace\":\"ns\",\"uid\":\"c-1\",\"resourceVersion\":\"8\"},\"spec\":"
	                             "{\"storageClassName\":\"fast\"},\"status\":{\"phase\":\"Pending\"}}]}";
	const struct pair node = { ANNOTATION_SELECTED_NODE, "n1" };
	struct kube_change c = KUBE_CHANGE(((struct kube_ref) { KUBE_CLAIMS, "ns", "data", "c-1", "8" }));
	struct got g = { 0 };
	const struct pvc *found;
	struct store *store;
	struct fixture x;

	(void)state;
	begin(&x);
	rule(&x, "GET /api/v1/persistentvolumeclaims?limit", 0, 200, claims);
	rule(&x, "PATCH /api/v1/namespaces/ns/persistentvolumeclaims/data", 0, 200, POD("10"));
	store = x.port->ops->watch(x.port, KUBE_CLAIMS, NULL, NULL, NULL);
	WAIT(&x, store_synced(store));
	found = store_get(store, "ns", "data");
	assert_non_null(found);
	assert_int_equal(found->phase, PVC_PENDING);
	c.annotations = &node;
	c.n_annotations = 1;
	x.port->ops->change(x.port, &c, done, &g);
	WAIT(&x, g.n);
	assert_int_equal(g.outcome, KUBE_OK);
	assert_non_null(strstr(replay_request(x.w.replay, "PATCH", 0),
	                       "\"annotations\":{\"volume.kubernetes.io/selected-node\":\"n1\"}"));
	assert_non_null(strstr(replay_request(x.w.replay, "PATCH", 0), "\"resourceVersion\":\"8\""));
	end(&x);
}

static void test_a_change_without_a_version_insists_on_none(void **state)
{
	struct kube_change c = both_halves(pod);
	struct got g = { 0 };
	struct fixture x;

	(void)state;
	begin(&x);
	rule(&x, "PATCH", 0, 200, POD("18"));
	x.port->ops->change(x.port, &c, done, &g);
	WAIT(&x, g.n);
	assert_int_equal(g.outcome, KUBE_OK);
	assert_null(strstr(replay_request(x.w.replay, NULL, 1), "resourceVersion"));
	end(&x);
}

static void test_conditions_wait_for_the_first_half_to_succeed(void **state)
{
	_cleanup_(sample_freep) struct sample *conflict = sample_read("09b-patch-rv-conflict-409.txt");
	struct kube_change c = both_halves(exact);
	struct got g = { 0 };
	struct fixture x;

	(void)state;
	begin(&x);
	replay_add_sample(x.w.replay, NULL, 0, conflict);
	x.port->ops->change(x.port, &c, done, &g);
	WAIT(&x, g.n);
	assert_int_equal(g.outcome, KUBE_CONFLICT);
	assert_int_equal(COUNT(&x, NULL), 1);
	end(&x);
}

static void test_a_change_that_changes_nothing_or_cannot_be_is_answered_without_a_request(void **state)
{
	struct kube_change nothing = KUBE_CHANGE(pod), impossible = KUBE_CHANGE(pod);
	struct got g = { 0 }, h = { 0 };
	struct fixture x;

	(void)state;
	begin(&x);
	impossible.n_tolerations = 0;
	x.port->ops->change(x.port, &nothing, done, &g);
	x.port->ops->change(x.port, &impossible, done, &h);
	assert_int_equal(g.n + h.n, 0);
	WAIT(&x, g.n && h.n);
	assert_int_equal(g.outcome, KUBE_OK);
	assert_int_equal(h.outcome, KUBE_REFUSED);
	assert_non_null(strstr(h.message, "needs its resourceVersion"));
	assert_int_equal(COUNT(&x, NULL), 0);
	end(&x);
}

static void test_without_leadership_every_effect_is_answered_and_none_is_sent(void **state)
{
	struct kube_change c = both_halves(pod);
	struct got g[5] = { 0 };
	struct fixture x;

	(void)state;
	begin(&x);
	x.gate.leader = false;
	x.port->ops->change(x.port, &c, done, &g[0]);
	x.port->ops->bind(x.port, &pod, "n1", done, &g[1]);
	x.port->ops->evict(x.port, &pod, -1, done, &g[2]);
	x.port->ops->remove(x.port, &pod, -1, done, &g[3]);
	x.port->ops->create(x.port, KUBE_PODS, "ns", "{}", done, &g[4]);
	x.port->ops->event(
	        x.port,
	        &(struct kube_event) { .about = pod, .type = "Normal", .reason = "R", .action = "A", .message = "m" });
	WAIT(&x, g[0].n && g[1].n && g[2].n && g[3].n && g[4].n);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(g[i].outcome, KUBE_NOT_LEADER);
		assert_false(g[i].maybe_done);
	}
	assert_int_equal(COUNT(&x, NULL), 0);
	end(&x);
}

/* Leadership lost and won again between the two halves: the second belongs to a decision of the older term. */
static void test_the_second_half_of_a_change_is_not_sent_in_a_later_term(void **state)
{
	struct kube_change c = both_halves(pod);
	struct got g = { 0 };
	struct fixture x;

	(void)state;
	begin(&x);
	rule(&x, "PATCH", 0, 200, POD("18"));
	x.port->ops->change(x.port, &c, done, &g);
	x.gate.term++; /* the first half is on its way */
	WAIT(&x, g.n);
	assert_int_equal(g.outcome, KUBE_NOT_LEADER);
	assert_true(g.maybe_done);
	assert_int_equal(COUNT(&x, "status"), 0);
	end(&x);
}

static void test_the_same_watch_is_the_same_store(void **state)
{
	struct store *all, *again, *one, *nodes;
	struct fixture x;

	(void)state;
	begin(&x);
	rule(&x, "/pods?", 0, 200,
	     "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"5\"},\"items\":["
	     "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"p\",\"labels\":{\"app\":\"x\"}},"
	     "\"spec\":{\"nodeName\":\"n1\"}}]}");
	all = x.port->ops->watch(x.port, KUBE_PODS, NULL, NULL, NULL);
	again = x.port->ops->watch(x.port, KUBE_PODS, NULL, NULL, NULL);
	one = x.port->ops->watch(x.port, KUBE_PODS, "ns", NULL, NULL);
	nodes = x.port->ops->watch(x.port, KUBE_NODES, NULL, NULL, NULL);
	assert_ptr_equal(all, again);
	assert_ptr_not_equal(all, one);
	assert_ptr_not_equal(all, nodes);
	WAIT(&x, store_synced(all) && store_synced(one));
	assert_int_equal(store_find_count(all, POD_BY_NODE, "n1"), 1);
	assert_int_equal(store_find_count(one, POD_BY_LABEL, "app=x"), 1);
	assert_non_null(kube_port_informer(x.port, 2));
	assert_null(kube_port_informer(x.port, 3));
	end(&x);
}

static void test_events_are_written_once_and_only_by_the_leader(void **state)
{
	struct kube_event event = { .about = pod,
		                    .type = "Warning",
		                    .reason = "Invalid",
		                    .action = "Validating",
		                    .message = "no CPU request" };
	const char *request;
	struct fixture x;

	(void)state;
	begin(&x);
	rule(&x, "POST " EVENTS, 0, 201, "{\"kind\":\"Event\",\"metadata\":{}}");
	for (int i = 0; i < 3; i++)
		x.port->ops->event(x.port, &event);
	WAIT(&x, COUNT(&x, "POST " EVENTS) == 1);
	request = replay_request(x.w.replay, EVENTS, 0);
	assert_non_null(strstr(request, "\"reason\":\"Invalid\""));
	assert_non_null(strstr(request, "\"note\":\"no CPU request\""));
	assert_non_null(strstr(request, "\"reportingController\":\"sunk.coreweave.com/test\""));
	assert_non_null(strstr(request, "\"reportingInstance\":\"host-1\""));
	assert_non_null(strstr(request, "\"kind\":\"Pod\""));
	end(&x);
}

static void test_freed_with_effects_under_way_it_calls_nobody(void **state)
{
	struct kube_change c = both_halves(pod);
	struct got g = { 0 };
	struct fixture x;

	(void)state;
	begin(&x);
	replay_add(x.w.replay, &(struct replay_rule) { .end = REPLAY_HOLD });
	x.port->ops->change(x.port, &c, done, &g);
	x.port->ops->create(x.port, KUBE_PODS, "ns", "no JSON", done, &g);
	x.port->ops->event(
	        x.port,
	        &(struct kube_event) { .about = pod, .type = "Normal", .reason = "R", .action = "A", .message = "m" });
	x.port->ops->watch(x.port, KUBE_PODS, NULL, NULL, NULL);
	WAIT(&x, COUNT(&x, NULL) >= 3);
	end(&x);
	assert_int_equal(g.n, 1); /* the one that needed no request */
	kube_port_free(NULL);
}

/* With an election */

struct elected {
	int n;
	bool leading;
	struct kube *kube;
	bool open_when_told;
};

static void changed(void *arg, bool leading, const char *holder)
{
	struct elected *e = arg;

	(void)holder;
	e->n++;
	e->leading = leading;
	e->open_when_told = gate_open(kube_gate(e->kube), clock_mono(clock_real()));
}

static void released(void *arg)
{
	*(bool *)arg = true;
}

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/default/leases"

/* A config of its own for kube_open_config(), which takes it over. */
static struct kube_config *config_of(const struct world *w)
{
	struct kube_config *c = NEW(struct kube_config);

	c->origin = mem_strdup("a test");
	c->ns = mem_strdup("default");
	c->server = mem_strdup(w->server);
	c->token = mem_strdup("secret");
	return c;
}

static void test_a_lost_lease_stops_all_effects_at_once(void **state)
{
	struct elected elected = { 0 };
	struct kube_options o = {
		.controller = "sunk.coreweave.com/test",
		.instance = "host-1",
		.lease = "l",
		.lease_duration = 4 * USEC_SEC,
		.renew_deadline = 2 * USEC_SEC,
		.retry_period = 100 * USEC_MSEC,
		.changed = changed,
		.arg = &elected,
	};
	struct got early = { 0 }, before = { 0 }, under_way = { 0 }, after = { 0 };
	struct kube_port *port;
	struct world w;
	int sent;

	(void)state;
	world_init(&w);
	replay_add(w.replay,
	           &(struct replay_rule) { .match = "GET " LEASES,
	                                   .times = 1,
	                                   .status = 404,
	                                   .body = "{\"kind\":\"Status\",\"code\":404,\"details\":{\"name\":\"l\"}}" });
	replay_add(w.replay, &(struct replay_rule) { .match = "POST " LEASES, .status = 201, .echo = true });
	replay_add(w.replay, &(struct replay_rule) { .match = "PUT " LEASES, .times = 3, .status = 200, .echo = true });
	replay_add(w.replay, &(struct replay_rule) { .match = LEASES, .status = 503, .content_type = "text/plain" });
	replay_add(w.replay, &(struct replay_rule) { .match = "DELETE", .end = REPLAY_HOLD });
	replay_add(w.replay, &(struct replay_rule) { .match = "POST " PODS "/binding", .status = 201, .body = DONE });
	assert_int_equal(kube_open_config(w.loop, clock_real(), &o, config_of(&w), &elected.kube, NULL), 0);
	port = kube_port(elected.kube);
	port->ops->bind(port, &pod, "n1", done, &early); /* nobody has been elected yet */
	WORLD_WAIT(&w, early.n && elected.leading);
	assert_int_equal(early.outcome, KUBE_NOT_LEADER);
	assert_true(elected.open_when_told);
	port->ops->bind(port, &pod, "n1", done, &before);
	port->ops->remove(port, &pod, -1, done, &under_way);
	WORLD_WAIT(&w, before.n && replay_count(w.replay, "DELETE") == 1);
	assert_int_equal(before.outcome, KUBE_OK);
	assert_int_equal(under_way.n, 0);
	WORLD_WAIT(&w, !elected.leading); /* three renewals, and then the server is away */
	assert_false(elected.open_when_told);
	WORLD_WAIT(&w, under_way.n);
	assert_int_equal(under_way.outcome, KUBE_NOT_LEADER);
	assert_true(under_way.maybe_done);
	sent = replay_count(w.replay, "binding");
	port->ops->bind(port, &pod, "n1", done, &after);
	WORLD_WAIT(&w, after.n);
	assert_int_equal(after.outcome, KUBE_NOT_LEADER);
	assert_int_equal(replay_count(w.replay, "binding"), sent);
	kube_close(elected.kube);
	world_done(&w);
}

static void test_a_lease_that_another_took_stops_effects_before_it_would_have_run_out(void **state)
{
	static const char theirs[] =
	        "{\"kind\":\"Lease\",\"metadata\":{\"name\":\"l\",\"resourceVersion\":\"9\"},\"spec\":{"
	        "\"holderIdentity\":\"another\",\"leaseDurationSeconds\":15,"
	        "\"renewTime\":\"2026-11-15T18:16:45.000000Z\"}}";
	struct elected elected = { 0 };
	struct kube_options o = { .controller = "c",
		                  .instance = "i",
		                  .lease = "l",
		                  .lease_duration = 60 * USEC_SEC,
		                  .renew_deadline = 50 * USEC_SEC,
		                  .retry_period = 100 * USEC_MSEC,
		                  .changed = changed,
		                  .arg = &elected };
	struct got under_way = { 0 };
	struct kube_port *port;
	struct world w;

	(void)state;
	world_init(&w);
	replay_add(w.replay, &(struct replay_rule) { .match = "GET " LEASES, .times = 1, .status = 404, .body = "{}" });
	replay_add(w.replay, &(struct replay_rule) { .match = "POST " LEASES, .status = 201, .echo = true });
	replay_add(w.replay, &(struct replay_rule) { .match = "PUT " LEASES, .times = 5, .status = 200, .echo = true });
	replay_add(w.replay, &(struct replay_rule) { .match = "PUT " LEASES, .status = 409, .body = "{}" });
	replay_add(w.replay, &(struct replay_rule) { .match = "GET " LEASES, .status = 200, .body = theirs });
	replay_add(w.replay, &(struct replay_rule) { .match = "DELETE", .end = REPLAY_HOLD });
	assert_int_equal(kube_open_config(w.loop, clock_real(), &o, config_of(&w), &elected.kube, NULL), 0);
	port = kube_port(elected.kube);
	WORLD_WAIT(&w, elected.leading);
	port->ops->remove(port, &pod, -1, done, &under_way);
	WORLD_WAIT(&w, under_way.n); /* long before 50 s */
	assert_int_equal(under_way.outcome, KUBE_NOT_LEADER);
	assert_true(under_way.maybe_done);
	assert_false(elected.leading);
	kube_close(elected.kube);
	world_done(&w);
}

static void test_a_lease_is_renewed_however_many_effects_wait(void **state)
{
	enum { MANY = 300 };
	struct elected elected = { 0 };
	struct kube_options o = { .controller = "c",
		                  .instance = "i",
		                  .lease = "l",
		                  .lease_duration = 60 * USEC_SEC,
		                  .renew_deadline = 50 * USEC_SEC,
		                  .retry_period = 100 * USEC_MSEC,
		                  .changed = changed,
		                  .arg = &elected };
	struct got got = { 0 };
	struct kube_port *port;
	struct world w;
	int before;

	(void)state;
	world_init(&w);
	replay_add(w.replay, &(struct replay_rule) { .match = "GET " LEASES, .times = 1, .status = 404, .body = "{}" });
	replay_add(w.replay, &(struct replay_rule) { .match = LEASES, .status = 200, .echo = true });
	replay_add(w.replay, &(struct replay_rule) { .match = "DELETE", .end = REPLAY_HOLD });
	assert_int_equal(kube_open_config(w.loop, clock_real(), &o, config_of(&w), &elected.kube, NULL), 0);
	port = kube_port(elected.kube);
	WORLD_WAIT(&w, elected.leading);
	for (int i = 0; i < MANY; i++)
		port->ops->remove(port, &pod, -1, done, &got);
	WORLD_WAIT(&w, replay_count(w.replay, "DELETE") > 0);
	before = replay_count(w.replay, "PUT " LEASES);
	WORLD_WAIT(&w, replay_count(w.replay, "PUT " LEASES) >= before + 15);
	assert_true(elected.leading);
	assert_true(replay_count(w.replay, "DELETE") < MANY); /* the rest waits for its turn */
	assert_int_equal(got.n, 0);
	kube_close(elected.kube);
	world_done(&w);
}

static void got_pod(void *arg, const struct kube_result *r, const void *object)
{
	struct got *g = arg;
	const struct pod *p = object;

	done(arg, r);
	str_copy(g->version, sizeof(g->version), p ? str_or(p->node_name, "-") : "");
}

static void test_one_object_is_read_as_it_is_now(void **state)
{
	static const char is[] = "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u-1\"},"
	                         "\"spec\":{\"nodeName\":\"k1\"}}";
	static const char other[] =
	        "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u-2\"}}";
	static const char gone[] =
	        "{\"kind\":\"Status\",\"code\":404,\"reason\":\"NotFound\",\"details\":{\"name\":\"p\"}}";
	static const struct {
		const char *body;
		int status;
		enum kube_outcome outcome;
		const char *node;
	} cases[] = {
		{ is, 200, KUBE_OK, "k1" },    { other, 200, KUBE_NOT_FOUND, "" }, { gone, 404, KUBE_NOT_FOUND, "" },
		{ "{}", 200, KUBE_RETRY, "" }, { "{}", 503, KUBE_RETRY, "" },
	};
	struct fixture x;

	(void)state;
	begin(&x);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct got got = { 0 };

		replay_add(x.w.replay, &(struct replay_rule) { .match = "GET " PODS,
		                                               .times = 1,
		                                               .status = cases[i].status,
		                                               .body = cases[i].body });
		x.port->ops->get(x.port, &pod, got_pod, &got);
		WORLD_WAIT(&x.w, got.n);
		assert_int_equal(got.outcome, cases[i].outcome);
		assert_string_equal(got.version, cases[i].node);
	}
	end(&x);
}

static void test_a_lease_is_given_back_at_a_clean_end(void **state)
{
	struct elected elected = { 0 };
	struct kube_options o = {
		.controller = "c", .instance = "i", .lease = "l", .changed = changed, .arg = &elected
	};
	struct got after = { 0 };
	struct kube_port *port;
	bool is_released = false;
	struct world w;

	(void)state;
	world_init(&w);
	replay_add(w.replay,
	           &(struct replay_rule) { .match = "GET " LEASES, .status = 404, .body = "{\"kind\":\"Status\"}" });
	replay_add(w.replay, &(struct replay_rule) { .match = LEASES, .status = 200, .echo = true });
	assert_int_equal(kube_open_config(w.loop, clock_real(), &o, config_of(&w), &elected.kube, NULL), 0);
	port = kube_port(elected.kube);
	WORLD_WAIT(&w, elected.leading);
	kube_release(elected.kube, released, &is_released);
	port->ops->bind(port, &pod, "n1", done, &after);
	WORLD_WAIT(&w, is_released && after.n);
	assert_int_equal(after.outcome, KUBE_NOT_LEADER);
	assert_non_null(strstr(replay_request(w.replay, "PUT " LEASES, replay_count(w.replay, "PUT " LEASES) - 1),
	                       "\"holderIdentity\":\"\""));
	kube_close(elected.kube);
	world_done(&w);
}

static void test_without_an_election_we_always_may_act_until_we_stop(void **state)
{
	struct kube_options o = { .controller = "c", .instance = "i" };
	struct got before = { 0 }, after = { 0 };
	bool is_released = false;
	struct kube_port *port;
	struct kube *k = NULL;
	struct world w;

	(void)state;
	world_init(&w);
	replay_add(w.replay, &(struct replay_rule) { .status = 201, .body = DONE });
	assert_int_equal(kube_open_config(w.loop, clock_real(), &o, config_of(&w), &k, NULL), 0);
	port = kube_port(k);
	port->ops->bind(port, &pod, "n1", done, &before);
	WORLD_WAIT(&w, before.n);
	assert_int_equal(before.outcome, KUBE_OK);
	kube_release(k, released, &is_released);
	port->ops->bind(port, &pod, "n1", done, &after);
	WORLD_WAIT(&w, after.n && is_released);
	assert_int_equal(after.outcome, KUBE_NOT_LEADER);
	kube_close(k);
	world_done(&w);
}

static void test_a_lease_that_cannot_be_named_is_refused_at_the_start(void **state)
{
	struct kube_options o = { .controller = "c", .instance = "i", .lease = "a/b" };
	struct kube *k = NULL;
	struct err err = { 0 };
	struct world w;

	(void)state;
	world_init(&w);
	assert_true(kube_open_config(w.loop, clock_real(), &o, config_of(&w), &k, &err) < 0);
	assert_null(k);
	assert_non_null(strstr(err.text, "\"a/b\" cannot be the name"));
	world_done(&w);
}

TEST_MAIN(TEST(a_binding_names_the_pod_by_uid), TEST(a_binding_that_was_ours_already_is_done),
          TEST(evictions_and_deletions_are_answered_in_the_ports_words),
          TEST(a_created_object_is_told_with_its_version),
          TEST(a_change_is_metadata_first_then_conditions_on_what_that_left),
          TEST(a_change_without_a_version_insists_on_none), TEST(a_claim_is_watched_and_told_its_node),
          TEST(conditions_wait_for_the_first_half_to_succeed),
          TEST(a_change_that_changes_nothing_or_cannot_be_is_answered_without_a_request),
          TEST(without_leadership_every_effect_is_answered_and_none_is_sent),
          TEST(the_second_half_of_a_change_is_not_sent_in_a_later_term), TEST(the_same_watch_is_the_same_store),
          TEST(events_are_written_once_and_only_by_the_leader), TEST(freed_with_effects_under_way_it_calls_nobody),
          TEST(a_lost_lease_stops_all_effects_at_once),
          TEST(a_lease_that_another_took_stops_effects_before_it_would_have_run_out),
          TEST(a_lease_is_renewed_however_many_effects_wait), TEST(one_object_is_read_as_it_is_now),
          TEST(a_lease_is_given_back_at_a_clean_end), TEST(without_an_election_we_always_may_act_until_we_stop),
          TEST(a_lease_that_cannot_be_named_is_refused_at_the_start))
