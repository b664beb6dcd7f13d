/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy/undrain.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"
#include "policy/nodeset.h"

#define T0 (1000 * USEC_SEC) /* the drain */

struct case_row {
	const char *what;
	const char *node_reason;
	int verified; /* enum cond_status; -1 = no such condition */
	usec_t changed;
	bool not_ready;
	enum pod_presence presence;
	int state;
	uint32_t flags;
	enum drain_act act;
	const char *reason;
};

#define NHC "NHC: gpu check (verify-undrain)"
#define PASSED .verified = COND_TRUE, .changed = T0 + USEC_SEC

static void check(const struct case_row *c)
{
	struct condition conditions[2] = {
		{ .type = "Ready", .status = c->not_ready ? COND_FALSE : COND_TRUE },
		{ .type = CONDITION_VERIFIED, .status = c->verified, .changed = c->changed },
	};
	struct pod pod = { .conditions = conditions, .n_conditions = c->verified < 0 ? 1 : 2 };
	struct snode node = { .state = c->state ? c->state : NODE_IDLE,
		              .flags = c->flags ? c->flags : NODEF_DRAIN,
		              .reason = c->node_reason,
		              .reason_set = T0 };
	enum pod_presence presence = c->presence ? c->presence : PRESENCE_THERE;
	struct drain_view v = { .presence = presence, .pod = presence == PRESENCE_THERE ? &pod : NULL, .node = &node };
	struct drain_decision d = undrain_decide(&v);

	if (d.act != c->act)
		fail_msg("%s: act %d, want %d", c->what, d.act, c->act);
	if (c->reason && !str_eq(d.reason, c->reason))
		fail_msg("%s: reason '%s', want '%s'", c->what, d.reason, c->reason);
	/* what this lifts is nothing that the other rules would touch */
	assert_true(c->act == DRAIN_KEEP || drain_decide(&v).act == DRAIN_KEEP);
}

static void test_a_newer_verification_lifts_what_asks_for_it(void **state)
{
	static const struct case_row cases[] = {
		{ "passed since", NHC, PASSED, .act = DRAIN_LIFT },
		{ "the prolog's reason", PROLOG_FAILED_REASON, PASSED, .act = DRAIN_LIFT },
		{ "anywhere in the reason", "verify-undrain", PASSED, .act = DRAIN_LIFT },
		{ "also while jobs run", NHC, PASSED, .state = NODE_ALLOCATED, .act = DRAIN_LIFT },
		{ "Kubernetes wants it drained all the same", NHC, PASSED, .not_ready = true, .act = DRAIN_REWORD,
		  .reason = "k8s: pod not ready" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check(&cases[i]);
}

static void test_anything_less_lifts_nothing(void **state)
{
	static const struct case_row cases[] = {
		{ "an older verification", NHC, .verified = COND_TRUE, .changed = T0 - USEC_SEC },
		{ "of the same second", NHC, .verified = COND_TRUE, .changed = T0 },
		{ "a failed one", NHC, .verified = COND_FALSE, .changed = T0 + USEC_HOUR },
		{ "an unknown one", NHC, .verified = COND_UNKNOWN, .changed = T0 + USEC_HOUR },
		{ "none", NHC, .verified = -1 },
		{ "a drain that does not ask", "NHC: gpu check", PASSED },
		{ "a drain without a reason", NULL, PASSED },
		{ "not drained", NHC, PASSED, .flags = NODEF_PLANNED },
		{ "a drain of Kubernetes: its condition decides", "k8s: cordon: verify-undrain", PASSED },
		{ "a node that is down", NHC, PASSED, .state = NODE_DOWN },
		{ "a node about to reboot", NHC, PASSED, .flags = NODEF_DRAIN | NODEF_REBOOT_REQUESTED },
		{ "a silent node", NHC, PASSED, .flags = NODEF_DRAIN | NODEF_NO_RESPOND },
		{ "no Pod", NHC, PASSED, .presence = PRESENCE_GONE },
		{ "Pods not known", NHC, PASSED, .presence = PRESENCE_NEVER },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check(&cases[i]);
}

static void test_a_drain_of_unknown_age_is_not_lifted(void **state)
{
	struct condition conditions[2] = { { .type = "Ready", .status = COND_TRUE },
		                           { .type = CONDITION_VERIFIED, .status = COND_TRUE, .changed = T0 } };
	struct pod pod = { .conditions = conditions, .n_conditions = 2 };
	struct snode node = { .state = NODE_IDLE, .flags = NODEF_DRAIN, .reason = NHC };
	struct drain_view v = { .presence = PRESENCE_THERE, .pod = &pod, .node = &node };

	(void)state;
	assert_int_equal(undrain_decide(&v).act, DRAIN_KEEP);
}

TEST_MAIN(TEST(a_newer_verification_lifts_what_asks_for_it), TEST(anything_less_lifts_nothing),
          TEST(a_drain_of_unknown_age_is_not_lifted))
