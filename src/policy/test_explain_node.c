/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/explain_node.h"

#include <string.h>

#include "base/str.h"
#include "base/test.h"
#include "policy/lock.h"
#include "policy/nodeset.h"
#include "policy/undrain.h"
#include "policy/whose.h"

#define NOW (1000000 * USEC_SEC)
#define AGO(s) (NOW - (s) * USEC_SEC)

static struct condition ready = { .type = "Ready", .status = COND_TRUE };
static struct condition unready = { .type = "Ready", .status = COND_FALSE };
static struct pair nodeset_label = { LABEL_NODESET, "gpu" };
static struct pair cordon_note = { ANNOTATION_CORDON, "loud fan" };
static struct pair leaving_note = { ANNOTATION_PENDING_DELETION, "scale down" };
static struct pair asks_lock[] = { { LOCK_REQUEST_ANNOTATION, "normal" }, { LOCK_EPOCH_ANNOTATION, "4" } };
static struct pair asks_strict[] = { { LOCK_REQUEST_ANNOTATION, "strict" }, { LOCK_EPOCH_ANNOTATION, "4" } };
static struct pair has_lock[] = { { LOCK_REQUEST_ANNOTATION, "normal" },
	                          { LOCK_EPOCH_ANNOTATION, "4" },
	                          { LOCK_ANNOTATION, "locked" },
	                          { LOCK_FOR_ANNOTATION, "4" } };

#define POD_META(...) .meta = { .ns = "slurm", .name = "n1", .labels = &nodeset_label, .n_labels = 1, __VA_ARGS__ }
#define READY .conditions = &ready, .n_conditions = 1
#define UNREADY .conditions = &unready, .n_conditions = 1
#define ON_K1 .node_name = "k1", .phase = POD_RUNNING

static const struct pod fine = { POD_META(0), READY, ON_K1 }, sick = { POD_META(0), UNREADY, ON_K1 },
                        cordoned = { POD_META(.annotations = &cordon_note, .n_annotations = 1), READY, ON_K1 },
                        leaving = { POD_META(.annotations = &leaving_note, .n_annotations = 1), READY, ON_K1 },
                        locking = { POD_META(.annotations = asks_lock, .n_annotations = 2), READY, ON_K1 },
                        strict = { POD_META(.annotations = asks_strict, .n_annotations = 2), READY, ON_K1 },
                        locked = { POD_META(.annotations = has_lock, .n_annotations = 4), READY, ON_K1 };

static const struct knode k1 = { .meta = { .name = "k1" }, READY }, k1_dead = { .meta = { .name = "k1" }, UNREADY },
                          k1_cordoned = { .meta = { .name = "k1" }, READY, .unschedulable = true };

#define NODE .name = "n1", .cpus = 64
#define DRAINED(why) NODE, .state = NODE_IDLE, .flags = NODEF_DRAIN, .reason = (why), .reason_set = AGO(303)

static const struct snode idle = { NODE, .state = NODE_IDLE }, mixed = { NODE, .state = NODE_MIXED, .cpus_alloc = 8 },
                          silent = { NODE, .state = NODE_IDLE, .flags = NODEF_NO_RESPOND },
                          down = { NODE, .state = NODE_DOWN, .flags = NODEF_NO_RESPOND, .reason = "Not responding",
	                           .reason_set = AGO(303) },
                          set_down = { NODE, .state = NODE_DOWN, .reason = "mine", .reason_set = AGO(303) },
                          cordon_drain = { DRAINED("k8s: cordon: loud fan") },
                          unready_drain = { DRAINED("k8s: pod not ready") },
                          gone_drain = { DRAINED("k8s: pod terminated") },
                          leaving_drain = { DRAINED("k8s: pod pending deletion") },
                          timeout_drain = { DRAINED("k8s: pod deletion timeout") },
                          person_drain = { DRAINED("bad gpu") }, prolog_drain = { DRAINED("Prolog error") },
                          verify_drain = { DRAINED(PROLOG_FAILED_REASON) }, draining = { NODE,
	                                                                                 .state = NODE_ALLOCATED,
	                                                                                 .flags = NODEF_DRAIN,
	                                                                                 .reason = "bad gpu",
	                                                                                 .reason_set = AGO(303),
	                                                                                 .cpus_alloc = 64 },
                          maint = { NODE, .state = NODE_IDLE, .flags = NODEF_MAINT },
                          reboots = { NODE, .state = NODE_ALLOCATED, .flags = NODEF_REBOOT_REQUESTED };

static const struct job job7 = {
	.id = 7, .state = JOB_RUNNING, .name = "train", .user = "ann", .nodes = "n1", .started = AGO(60)
};
static struct pod stray = { .meta = { .ns = "web", .name = "a" }, .phase = POD_RUNNING, .node_name = "k1" };
static struct toleration any = { .op = TOLERATE_EXISTS };
static struct pod guest = { .meta = { .ns = "web", .name = "b" },
	                    .phase = POD_RUNNING,
	                    .node_name = "k1",
	                    .tolerations = &any,
	                    .n_tolerations = 1 };
static struct pod *const there[] = { &stray, &guest };

static const struct row {
	const struct snode *snode;
	const struct pod *pod;
	const struct knode *knode;
	const char *slurm_error, *kube_error;
	const struct job *job;
	bool pods, had_pod;
	const char *state, *summary, *waits_for, *todo; /* parts; NULL = none */
} rows[] = {
	{ .state = "absent", .summary = "Neither Slurm nor Kubernetes has a node n1" },
	{ .slurm_error = "munge is away",
	  .pod = &fine,
	  .state = "unknown",
	  .summary = "Slurm cannot be asked about n1",
	  .waits_for = "munge is away",
	  .todo = "sunk check" },
	{ .pod = &sick,
	  .knode = &k1,
	  .state = "unregistered",
	  .summary = "its NodeSet Pod is there and not ready",
	  .waits_for = "slurmd to register",
	  .todo = "kubectl describe pod -n slurm n1" },
	{ .knode = &k1, .state = "outside", .summary = "carries no NodeSet Pod", .todo = "nothing" },
	{ .snode = &reboots,
	  .job = &job7,
	  .state = "rebooting",
	  .waits_for = "its jobs to end",
	  .todo = "scontrol cancel_reboot n1" },
	{ .snode = &down,
	  .pod = &fine,
	  .knode = &k1_dead,
	  .state = "down",
	  .summary = "n1 has been down for 5m3s: Not responding.",
	  .waits_for = "slurmd to register",
	  .todo = "k1 is not Ready" },
	{ .snode = &down, .had_pod = true, .state = "down", .waits_for = "slurmd", .todo = "its NodeSet Pod is gone" },
	{ .snode = &down, .state = "down", .waits_for = "slurmd", .todo = "see whether slurmd runs on n1" },
	{ .snode = &down,
	  .pod = &fine,
	  .knode = &k1,
	  .state = "down",
	  .waits_for = "slurmd",
	  .todo = "its Pod is ready" },
	{ .snode = &down,
	  .kube_error = "refused",
	  .state = "down",
	  .waits_for = "slurmd",
	  .todo = "Kubernetes cannot be asked" },
	{ .snode = &set_down,
	  .pod = &fine,
	  .knode = &k1,
	  .state = "down",
	  .summary = "n1 has been down for 5m3s: mine.",
	  .waits_for = "slurmd",
	  .todo = "its Pod is ready" },
	{ .snode = &cordon_drain,
	  .pod = &cordoned,
	  .knode = &k1_cordoned,
	  .state = "drained",
	  .summary = "n1 has been drained for 5m3s because Node k1 is cordoned: loud fan.",
	  .waits_for = "k1 to be uncordoned",
	  .todo = "`kubectl uncordon k1`" },
	{ .snode = &unready_drain,
	  .pod = &sick,
	  .knode = &k1,
	  .state = "drained",
	  .summary = "because its NodeSet Pod is not ready",
	  .waits_for = "the Pod to be ready",
	  .todo = "kubectl describe pod" },
	{ .snode = &leaving_drain,
	  .pod = &leaving,
	  .state = "drained",
	  .summary = "about to be deleted",
	  .waits_for = "the Pod to be gone",
	  .todo = "kubectl describe nodesets -n slurm" },
	{ .snode = &gone_drain,
	  .had_pod = true,
	  .state = "drained",
	  .summary = "its NodeSet Pod is gone",
	  .waits_for = "a NodeSet Pod of that name",
	  .todo = "kubectl describe nodesets" },
	{ .snode = &unready_drain,
	  .pod = &fine,
	  .state = "drained",
	  .summary = "but that is over",
	  .waits_for = "the syncer to lift it",
	  .todo = "sunk syncer" },
	{ .snode = &cordon_drain,
	  .kube_error = "refused",
	  .state = "drained",
	  .summary = "which cannot be asked now",
	  .waits_for = "refused",
	  .todo = "sunk check" },
	{ .snode = &timeout_drain,
	  .pod = &fine,
	  .state = "drained",
	  .summary = "a Pod is still there whose job is over",
	  .waits_for = "that Pod to be gone",
	  .todo = "spec.nodeName=k1" },
	{ .snode = &person_drain,
	  .pod = &fine,
	  .state = "drained",
	  .summary = "for 5m3s by ann: bad gpu.",
	  .waits_for = "a person to undrain it",
	  .todo = "`scontrol update nodename=n1 state=undrain`" },
	{ .snode = &draining,
	  .pod = &fine,
	  .job = &job7,
	  .state = "draining",
	  .waits_for = "a person",
	  .todo = "undrain" },
	{ .snode = &prolog_drain,
	  .pod = &fine,
	  .state = "drained",
	  .summary = "by Slurm itself (Prolog error): a job's prolog failed",
	  .waits_for = "someone to repair it",
	  .todo = "slurmd's log on n1" },
	{ .snode = &verify_drain,
	  .pod = &fine,
	  .state = "drained",
	  .summary = "until it is verified",
	  .waits_for = "HPCVerification=True",
	  .todo = "by hand" },
	{ .snode = &silent,
	  .pod = &fine,
	  .knode = &k1,
	  .state = "silent",
	  .summary = "does not respond",
	  .waits_for = "slurmd to answer",
	  .todo = "its Pod is ready" },
	{ .snode = &idle,
	  .pod = &cordoned,
	  .knode = &k1_cordoned,
	  .state = "undrained",
	  .summary = "should be drained (k8s: cordon: loud fan), and is not yet",
	  .waits_for = "the syncer",
	  .todo = "sunk syncer" },
	{ .snode = &idle,
	  .pod = &fine,
	  .knode = &k1_cordoned,
	  .state = "undrained",
	  .summary = "k1 is cordoned, and is not yet",
	  .waits_for = "the operator",
	  .todo = "sunk operator" },
	{ .snode = &mixed,
	  .pod = &locking,
	  .knode = &k1,
	  .pods = true,
	  .job = &job7,
	  .state = "locking",
	  .summary = "its prolog waits until Kubernetes has left k1",
	  .waits_for = "1 Pod to go: web/a does not tolerate the lock",
	  .todo = "spec.nodeName=k1" },
	{ .snode = &mixed,
	  .pod = &strict,
	  .knode = &k1,
	  .pods = true,
	  .job = &job7,
	  .state = "locking",
	  .waits_for =
	          "2 Pods to go: web/a does not tolerate the lock and has not left yet; web/b tolerates the lock, but",
	  .todo = "nothing" },
	{ .snode = &mixed,
	  .pod = &locking,
	  .knode = &k1,
	  .job = &job7,
	  .state = "locking",
	  .waits_for = "the operator to lock it",
	  .todo = "sunk operator" },
	{ .snode = &maint,
	  .pod = &fine,
	  .state = "set-aside",
	  .summary = "for maintenance",
	  .todo = "show reservation" },
	{ .snode = &mixed,
	  .pod = &locked,
	  .job = &job7,
	  .state = "busy",
	  .summary = "Nothing holds n1: it runs 1 job, 8 of 64 CPUs are in use." },
	{ .snode = &idle,
	  .pod = &locked,
	  .knode = &k1,
	  .state = "unlocking",
	  .summary = "k1 is still locked",
	  .waits_for = "to unlock it",
	  .todo = "nothing" },
	{ .snode = &idle, .pod = &fine, .knode = &k1, .state = "idle", .summary = "free for jobs and Pods" },
	{ .snode = &idle, .state = "idle", .summary = "free for jobs." },
};

static void assert_has(size_t row, const char *said, const char *part)
{
	if (part && !strstr(said, part))
		fail_msg("row %zu: no '%s' in '%s'", row, part, said);
}

static struct node_facts facts_of(const struct row *r)
{
	return (struct node_facts) { .name = "n1",
		                     .snode = r->snode,
		                     .pod = r->pod,
		                     .knode = r->knode,
		                     .slurm_error = r->slurm_error,
		                     .kube_error = r->kube_error,
		                     .jobs = r->job,
		                     .n_jobs = r->job ? 1 : 0,
		                     .pods = r->pods ? there : NULL,
		                     .n_pods = r->pods ? ARRAY_LEN(there) : 0,
		                     .had_pod = r->had_pod,
		                     .reason_user = "ann",
		                     .now = NOW };
}

static void test_each_way_a_node_can_be_is_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];
		const struct node_facts f = facts_of(r);
		struct explanation e;

		explain_node(&f, &e);
		if (!str_eq(e.state, r->state))
			fail_msg("row %zu is '%s', not '%s': %s", i, e.state, r->state, e.summary);
		assert_has(i, e.summary, r->summary);
		assert_true(*e.summary);
		assert_has(i, e.waits_for, r->waits_for);
		if (!r->waits_for && *e.waits_for)
			fail_msg("row %zu waits for: %s", i, e.waits_for);
		assert_has(i, e.n_todo ? e.todo[0] : "", r->todo);
		if (!r->todo && e.n_todo)
			fail_msg("row %zu has to do: %s", i, e.todo[0]);
	}
}

static bool has_fact(const struct explanation *e, const char *about, const char *part)
{
	for (size_t i = 0; i < e->n_facts; i++)
		if (str_eq(e->facts[i].about, about) && strstr(e->facts[i].text, part))
			return true;
	return false;
}

static void test_what_comes_after_a_persons_drain_is_told(void **state)
{
	const struct node_facts f = { .name = "n1",
		                      .snode = &person_drain,
		                      .pod = &cordoned,
		                      .knode = &k1_cordoned,
		                      .reason_user = "ann",
		                      .now = NOW };
	struct explanation e;

	(void)state;
	explain_node(&f, &e);
	assert_string_equal(e.state, "drained");
	assert_int_equal(e.n_todo, 2);
	assert_non_null(strstr(e.todo[1], "drained again by Kubernetes: k8s: cordon: loud fan"));
}

static void test_the_facts_are_told_too(void **state)
{
	const struct node_facts f = { .name = "n1",
		                      .snode = &draining,
		                      .pod = &locking,
		                      .knode = &k1_cordoned,
		                      .jobs = &job7,
		                      .n_jobs = 1,
		                      .pods = there,
		                      .n_pods = 2,
		                      .reason_user = "ann",
		                      .now = NOW };
	struct explanation e;

	(void)state;
	explain_node(&f, &e);
	assert_true(has_fact(&e, "Slurm node", "n1 is draining, 64 of 64 CPUs in use"));
	assert_true(has_fact(&e, "Reason", "\"bad gpu\", set 5m3s ago by ann: drain of person"));
	assert_true(has_fact(&e, "Job", "7 (train) of ann is running, began 1m ago"));
	assert_true(has_fact(&e, "NodeSet Pod", "slurm/n1 is ready, NodeSet gpu, on k1"));
	assert_true(has_fact(&e, "Lock", "asked for (normal); k1 says false"));
	assert_true(has_fact(&e, "Lock", "in its way: web/a"));
	assert_true(has_fact(&e, "Node", "k1 is Ready, cordoned, 2 Pods on it"));
}

static void test_whose_a_drain_is_shows_in_its_reason(void **state)
{
	static const struct {
		const struct snode *node;
		enum whose whose;
	} table[] = {
		{ &idle, WHOSE_NOBODY },
		{ &cordon_drain, WHOSE_KUBERNETES },
		{ &timeout_drain, WHOSE_SCHEDULER },
		{ &verify_drain, WHOSE_VERIFIER },
		{ &prolog_drain, WHOSE_SLURM },
		{ &person_drain, WHOSE_PERSON },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		assert_int_equal(whose_drain(table[i].node), table[i].whose);
	assert_non_null(slurm_finding_of("gres/gpu count reported lower than configured (0 < 8)"));
	assert_null(slurm_finding_of(NULL));
}

TEST_MAIN(TEST(each_way_a_node_can_be_is_told), TEST(what_comes_after_a_persons_drain_is_told),
          TEST(the_facts_are_told_too), TEST(whose_a_drain_is_shows_in_its_reason))
